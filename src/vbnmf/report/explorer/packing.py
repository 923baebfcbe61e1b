"""Pack the data of a page into few bytes: rounded numbers, and compressed JSON in base64.

The positions of terms are marked in the text itself, by a MARK before and after each term. Equal
words then have equal marks and compress well. In most cases the term of a mark follows from the
words before it, so few numbers have to be stored.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from math import floor, log10
from typing import Any

import numpy as np

MARK = "\x7f"
"""Character before and after each term of a text. Texts that contain it get U+FFFD instead."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Round numbers to significant digits; replace values that are not finite by None."""
    return [sig(value, digits) for value in values]


def sig(value: float, digits: int = 4) -> float | None:
    """Round a number to significant digits; return None if it is not finite.

    A number below one stays below one, so that a part never becomes the whole by rounding.
    """
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    if value < 1 <= number:
        number = 1 - 10.0 ** -(digits + 1)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def probability(value: float) -> float | None:
    """Round a probability to four significant digits.

    It is rounded down where it would else reach a hundredth: a threshold, such as 0.7, is reached
    by the rounded number only if it is by the probability.
    """
    number = sig(value)
    if number is None or number <= value or round(100 * number, 9) % 1:
        return number
    return sig(number - 10.0 ** (floor(log10(number)) - 3))


def thousandths(part: float) -> float:
    """Return a part as per mille, rounded; a part below one stays below 1000."""
    return 999.9 if 1000 * part >= 999.5 and part < 1 else round(1000 * float(part))


def fine(value: float) -> float:
    """Round a contribution to thousandths; a smaller one keeps its first digit, and so its sign."""
    return round(float(value), 3) if abs(value) >= 0.001 else float(sig(value, 1) or 0)


def hundredths(part: float) -> float:
    """Return a part as per cent, rounded; with a decimal from 99.5 on, and below 100 if below one.

    The decimal costs no room on the page, because few parts are so large.
    """
    whole = round(100 * float(part))
    return whole if whole < 100 or part >= 1 else 100 * float(sig(part, 3) or 0)


def pack(value: Any) -> str:
    """Convert a value to compressed JSON in base64. The same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(mended(text).encode(), 9, mtime=0)).decode("ascii")


def mended(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def compact(details: dict[str, Any]) -> dict[str, Any]:
    """Convert the result of ``document_payload`` to the layout of the page.

    ``texts`` contain marks. ``marks`` replaces ``spans``: it has a number for each marked term of a
    text. The number is 0 in two cases: the same characters occurred before in this text and had the
    same term, or the characters are new and have the next new term. Otherwise it is the position of
    the term in ``terms`` plus one. ``terms`` and ``owed`` are the terms of each document and the
    components to which they are assigned. Terms of the evidence, ``why``, become positions in the
    terms of their document; a term w ≥ 0 that is not among them becomes −2 − w.
    """
    texts, spans = details["texts"], details["spans"]
    marks = None
    if texts is not None:
        texts = [text.replace(MARK, "\ufffd") for text in texts]
    if texts is not None and spans is not None:
        marked = [_marked(text, flat) for text, flat in zip(texts, spans, strict=True)]
        texts, marks = [text for text, _ in marked], [codes for _, codes in marked]
    kept = {name: value for name, value in details.items() if name != "spans"}
    terms = [flat[0::2] for flat in details["terms"]]
    if details["why"] is not None:
        kept["why"] = list(map(_placed, details["why"], terms))
    return kept | {
        "texts": texts,
        "marks": marks,
        "terms": terms,
        "owed": [flat[1::2] for flat in details["terms"]],
    }


def _placed(whys: list[list[Any]], terms: list[int]) -> list[list[Any]]:
    """Return the evidence of a document with positions of terms in its list; see ``compact``."""
    place = {term: at for at, term in reversed(list(enumerate(terms))) if term >= 0}

    def code(term: Any) -> Any:
        return term if isinstance(term, str) or term < 0 else place.get(term, -2 - term)

    def coded(flat: list[Any]) -> list[Any]:
        return [
            n for term, part in zip(flat[0::2], flat[1::2], strict=True) for n in (code(term), part)
        ]

    return [[*why[:3], coded(why[3]), why[4], coded(why[5])] for why in whys]


def _marked(text: str, flat: list[int]) -> tuple[str, list[int]]:
    """Return a text with marks, and the number of each mark; see ``compact``."""
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
