"""Data of a page in few bytes: compressed JSON in base64, and documents laid out to compress well.

Where the terms of a text stand is written into the text itself: MARK stands before and after each.
The same word then comes with the same marks, and both compress as one. Which term a mark means
follows from the words before it in most cases, so that few numbers are left to store.
"""

import gzip
import json
import re
from base64 import b64encode
from typing import Any

MARK = "\x7f"
"""Stands before and after each term of a text; no text of a page has it otherwise."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def pack(value: Any) -> str:
    """Return a value as compressed JSON in base64; the same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(mended(text).encode(), 9, mtime=0)).decode("ascii")


def mended(text: str) -> str:
    """Return text that can be written in UTF-8: halves of characters are replaced."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def compact(details: dict[str, Any]) -> dict[str, Any]:
    """Return what ``document_payload`` found in the layout of the page.

    ``texts`` have marks in them. ``marks`` replaces ``spans`` and has a number for each marked term
    of a text. The number is 0 if the term is the one that the same characters meant the last time
    in this text, or the next new term if the characters are new. Otherwise it is the term's place
    in ``terms`` plus one. ``terms`` and ``owed`` are the terms of each document and the component
    that each is owed to.
    """
    texts, spans = details["texts"], details["spans"]
    marks = None
    if texts is not None:
        texts = [text.replace(MARK, "\ufffd") for text in texts]
    if texts is not None and spans is not None:
        marked = [_marked(text, flat) for text, flat in zip(texts, spans, strict=True)]
        texts, marks = [text for text, _ in marked], [codes for _, codes in marked]
    kept = {name: value for name, value in details.items() if name != "spans"}
    return kept | {
        "texts": texts,
        "marks": marks,
        "terms": [flat[0::2] for flat in details["terms"]],
        "owed": [flat[1::2] for flat in details["terms"]],
    }


def _marked(text: str, flat: list[int]) -> tuple[str, list[int]]:
    """A text with marks in it, and the number of each; see ``compact``."""
    pieces, codes = [], []
    meant: dict[str, int] = {}
    at = new = 0
    for gap, length, number in zip(flat[0::3], flat[1::3], flat[2::3], strict=True):
        begin, end = at + gap, at + gap + length
        form = text[begin:end]
        codes.append(0 if meant.get(form, new) == number else number + 1)
        meant[form], new = number, max(new, number + 1)
        pieces += [text[at:begin], form]
        at = end
    return MARK.join([*pieces, text[at:]]), codes
