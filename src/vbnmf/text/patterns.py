r"""Check that regular expressions from files of unknown origin are safe.

The time of some patterns doubles with each character of a text: ``(a+)+!`` needs years for fifty
letters. A pattern is *simple* if at most one part of it may match a varying number of times (``+``,
``*``, ``?``, ``{2,}``), that part is a single character or set, and there are no references to
groups and no assertions other than ``\b``, ``\B``, ``^`` and ``$``. At each position of a text, a
simple pattern tries every length of one run at most once. Its time is therefore at most quadratic
in the length of the longest run.

A pattern that the user gives need not be simple. It is tried on short texts of repeated characters,
on which the patterns that take very long already take long.
"""

import re
import time
from functools import cache

_LONGEST = 1000  # characters
_TRIED = "aA0_-.' é"  # characters of the texts on which a pattern is tried, with those it names
_LENGTHS = (*range(2, 32, 2), 300)
_MOST_SECONDS = 0.05  # of the processor for one of these texts; a usual pattern takes microseconds

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


@cache
def check_time(pattern: str) -> None:
    """Raise ``UnsafePatternError`` if a pattern takes very long for short texts."""
    if is_simple(pattern):
        return
    compiled = re.compile(pattern)
    named = "".join(dict.fromkeys(re.sub(r"\W", "", pattern)))[:12]
    for unit in dict.fromkeys([*_TRIED, *named, named]):
        for length in _LENGTHS if unit else ():
            begin = time.thread_time()
            compiled.findall(unit * length + "\0")
            if time.thread_time() - begin > _MOST_SECONDS:
                raise UnsafePatternError(
                    f"token_pattern={pattern[:80]!r} could take very long: more than "
                    f"{1000 * _MOST_SECONDS:.0f} ms for {length} times {unit[:20]!r}. Do not "
                    "repeat a group that contains a repetition of the same characters."
                )
