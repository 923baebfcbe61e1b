"""Remove HTML from documents: tags, comments, scripts and styles; convert entities to characters.

``html.parser`` is not used, because in current versions of Python it takes quadratic time on some
broken markup, and documents are not trusted. Instead, one pattern reads a document from beginning
to end. A tag that is not closed ends at the next "<". Comments, scripts and styles that are not
closed end with the document, as in a browser.
"""

import html
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal

from vbnmf.callers import callers_level

Strip = Literal["auto", "html"] | None
STRIPS: tuple[Strip, ...] = ("auto", "html", None)
DEFAULT_STRIP: Strip = "auto"

LOOKED_AT = 1000
"""Number of first documents that are examined, so that a generator is not kept in memory."""

# Tags that can be inside a word; all other tags separate words.
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
# The lengths are limited, so that a number of a million digits is not parsed.
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_TELLING = re.compile(
    rf"</?(?:{_INLINE}|{_BLOCK})(?:\s[^<>]*)?/?>|<!(?:--|doctype\b)|&(?:nbsp|amp|lt|gt|quot|#\d{{1,7}});",
    re.IGNORECASE,
)


class MarkupWarning(UserWarning):
    """Warning that many documents look like HTML, which was removed if they are most of them.

    Examples
    --------
    >>> import warnings
    >>> from vbnmf.text import DocumentVectorizer
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     vectorizer = DocumentVectorizer().fit(["<b>green</b> tea", "<p>tea leaves</p>"])
    >>> caught[0].category.__name__, sorted(vectorizer.vocabulary_)
    ('MarkupWarning', ['green', 'leaves', 'tea'])
    """


def strip_html(document: str) -> str:
    """Return the text of an HTML document or fragment.

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
    """Return whether a document has an HTML tag or entity."""
    return _TELLING.search(document) is not None


def decide(documents: Iterable[str], strip: Strip) -> tuple[Iterator[str], Literal["html"] | None]:
    """Decide whether to remove HTML from documents, with a warning if a quarter looks like HTML.

    Returns
    -------
    documents : iterator of str
        All documents, unchanged.
    stripped : "html" or None
        Markup to remove.
    """
    if strip != "auto":
        return iter(documents), strip
    rest = iter(documents)
    seen = list(islice(rest, LOOKED_AT))
    n_html = sum(isinstance(document, str) and looks_like_html(document) for document in seen)
    documents = chain(seen, rest)
    if 4 * n_html <= len(seen):
        return documents, None
    first = "first " if len(seen) == LOOKED_AT else ""
    if 2 * n_html <= len(seen):
        warnings.warn(
            f"{n_html:,} of the {first}{len(seen):,} documents look like HTML. Names of tags are "
            "counted as words. To remove tags and convert entities such as &amp;, use strip='html' "
            "(--strip html). To keep them without this message, use strip=None (--strip none).",
            MarkupWarning,
            stacklevel=callers_level(),
        )
        return documents, None
    warnings.warn(
        f"{n_html:,} of the {first}{len(seen):,} documents look like HTML. Tags, comments, scripts "
        "and styles were removed, and entities such as &amp; were converted to characters. To do "
        "so without this message, use strip='html' (--strip html). To keep them, use strip=None "
        "(--strip none).",
        MarkupWarning,
        stacklevel=callers_level(),
    )
    return documents, "html"
