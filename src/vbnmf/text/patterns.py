r"""Check that regular expressions from files of unknown origin are safe.

The time of some patterns doubles with each character of a text: ``(a+)+!`` needs years for fifty
letters. A pattern is *simple* if at most one part of it may match a varying number of times (``+``,
``*``, ``?``, ``{2,}``), that part is a single character or set, and there are no references to
groups and no assertions other than ``\b``, ``\B``, ``^`` and ``$``. At each position of a text, a
simple pattern tries every length of one run at most once. Its time is therefore at most quadratic
in the length of the longest run.
"""

import re

_LONGEST = 1000  # characters

# Pieces begin with different characters, so that there is one way to cut a pattern into them.
_PIECE = re.compile(
    r"""
      (?P<repeat> [*+?][?+]? | \{\d*,\d*\}[?+]? )
    | \{\d+\}                          # a fixed number of times
    | \\[^\d]                          # \w, \b, \., but no reference to a group
    | \[\^?\]?(?:\\.|[^\]\\])*\]         # a set
    | \((?:\?:|(?!\?))                 # a group, of no other kind
    | \)(?![*+?{])                     # which is not repeated
    | [^\\\[\](){}*+?]                  # a character, . | ^ $
    """,
    re.VERBOSE | re.DOTALL,
)
_FLAGS = re.compile(r"\(\?[aimsu]+\)")


class UnsafePatternError(ValueError):
    """Error about a pattern whose matching could take very long."""


def is_simple(pattern: str) -> bool:
    r"""Return whether a pattern is simple, so that its time is bounded.

    Examples
    --------
    >>> [is_simple(p) for p in (r"(?u)\b\w\w+\b", r"[a-z]{3,}", r"(a+)+!", r"\w+(?:-\w+)*")]
    [True, True, False, False]
    """
    if len(pattern) > _LONGEST:
        return False
    flags = _FLAGS.match(pattern)
    at, repeats = flags.end() if flags else 0, 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            return False
        repeats += piece["repeat"] is not None
        at = piece.end()
    return repeats <= 1


def check_simple(pattern: str) -> None:
    """Raise ``UnsafePatternError`` unless a pattern is simple."""
    if not is_simple(pattern):
        raise UnsafePatternError(
            f"token_pattern is {pattern[:80]!r}, which could take very long, because it is not a "
            "simple pattern with at most one repetition."
        )
