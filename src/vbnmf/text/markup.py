"""Drop HTML from documents: tags, comments, scripts and styles go, entities become characters.

Not done with ``html.parser``: it takes quadratic time on some broken markup in the versions of
Python that are in use, and documents come from strangers. One pattern reads a document from its
beginning to its end; what is not closed ends at the next "<" (tags) or with the document (comments,
scripts and styles, as in a browser).
"""

import html
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal

Strip = Literal["auto", "html"] | None
STRIPS: tuple[Strip, ...] = ("auto", "html", None)
DEFAULT_STRIP: Strip = "auto"

_LOOKED_AT = 1000
"""Documents of which most must look like HTML; a generator need not be kept in memory."""

# These stand inside words; all others part them.
_INLINE = "a|abbr|acronym|b|big|code|em|font|i|kbd|mark|s|small|span|strike|strong|sub|sup|tt|u|wbr"
_BLOCK = (
    "article|blockquote|body|br|center|dd|div|dl|dt|footer|form|h[1-6]|head|header|hr|html|img|input"
    "|label|li|link|main|meta|nav|ol|option|p|pre|script|section|select|style|table|tbody|td|th"
    "|thead|title|tr|ul"
)
_MARKUP = re.compile(
    r"<!--(?:.*?-->|.*)"
    r"|<(script|style)\b[^<>]*>(?:.*?</\1\s*>|.*)"
    rf"|(</?(?:{_INLINE})(?:\s[^<>]*)?/?>)"
    r"|</?[a-z][^<>]*>|<[!?][^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_INLINE_GROUP = 2
# The lengths keep a number of a million digits from being read as one.
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_TELLING = re.compile(
    rf"</?(?:{_INLINE}|{_BLOCK})(?:\s[^<>]*)?/?>|<!(?:--|doctype\b)|&(?:nbsp|amp|lt|gt|quot|#\d{{1,7}});",
    re.IGNORECASE,
)


class MarkupWarning(UserWarning):
    """Most documents look like HTML, which was dropped from them."""


def strip_html(document: str) -> str:
    """Return the text of an HTML document or of a piece of one.

    Examples
    --------
    >>> strip_html("<p>caf&eacute; <b>c</b>losed<br>see&nbsp;note<!-- not me --></p>").split()
    ['café', 'closed', 'see', 'note']
    """
    if "<" in document:
        document = _MARKUP.sub(lambda match: "" if match[_INLINE_GROUP] else " ", document)
    if "&" in document:
        document = _ENTITY.sub(lambda match: html.unescape(match[0]), document)
    return document


def looks_like_html(document: str) -> bool:
    """Tell whether there is a tag or an entity of HTML in a document."""
    return _TELLING.search(document) is not None


def decide(documents: Iterable[str], strip: Strip) -> tuple[Iterator[str], Literal["html"] | None]:
    """Decide whether HTML is dropped from the documents, and warn if it is a guess.

    Returns
    -------
    documents : iterator of str
        All of them, as they were.
    stripped : "html" or None
    """
    if strip != "auto":
        return iter(documents), strip
    rest = iter(documents)
    seen = list(islice(rest, _LOOKED_AT))
    n_html = sum(isinstance(document, str) and looks_like_html(document) for document in seen)
    documents = chain(seen, rest)
    if 2 * n_html <= len(seen):
        return documents, None
    first = "first " if len(seen) == _LOOKED_AT else ""
    warnings.warn(
        f"{n_html:,} of the {first}{len(seen):,} documents look like HTML. Tags, comments, scripts "
        "and styles were dropped, and entities such as &amp; became characters. Use strip='html' "
        "(--strip html) to do so without this message, or strip=None (--strip none) to keep them.",
        MarkupWarning,
        stacklevel=3,
    )
    return documents, "html"
