"""Split texts of any script into tokens, with the position of each token.

There are three kinds of tokens:

- **Words** in scripts with spaces, including Hangul: two or more letters, digits and underscores,
  with the marks that belong to them (vowel signs, accents).
- **Pairs of characters** in scripts without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar, …): every
  two neighbours in a run of such characters. A character is a letter with its marks and, in Thai
  and Lao, with the vowels before and after it. The first and the last character of a run are paired
  with the punctuation beside them, or with "_" for anything else. A Han character, which has a
  meaning of its own, is a token too, and so is the only character of a run.
- **Emoji**, one token each, without skin tone.

Texts of ordinary letters (``is_plain``) are split by scikit-learn's pattern, which gives the same
words faster. ``words`` has stems and stop words.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

# Blocks of scripts that are written without spaces between words. Digits and punctuation in them
# are left out by their Unicode category. Tibetan marks the end of a syllable: its words are those.
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A00, 0x1AAF),  # Buginese, Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x1BC0, 0x1BFF),  # Batak
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x303C),  # Kana repeat marks
    (0x3041, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo
    (0x31F0, 0x31FF),  # Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA000, 0xA48F),  # Yi
    (0xA980, 0xA9FF),  # Javanese, Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9D),  # Katakana of half width
    (0x1B000, 0x1B16F),  # Kana
    (0x20000, 0x323AF),  # Han
)
_LETTERS = {"Lo", "Lm", "Nl", "So"}  # So: radicals

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"

# Joins the next letter to the character before it: Khmer, Myanmar, Tai Tham, Balinese, Javanese.
_JOINERS = "\u17d2\u1039\u1a60\u1b44\ua9c0"
# Vowels of Thai and Lao that are written before or behind their consonant.
_VOWELS_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
_VOWELS_BEHIND = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
# They have no width and no meaning: soft hyphen, (non-)joiners, byte order mark.
_IGNORED = "\u00ad\u180e\u200c\u200d\u2060\ufeff"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"
# Other forms of the same letters, made one by NFKC: radicals, Hebrew and Arabic forms, full width.
_COMPATIBLE = "\u2e80-\u2fdf\ufb1d-\ufdff\ufe70-\ufefc\uff00-\uffef"
_EMOJI = (
    "\u2600-\u26ff\u2705\u270a-\u270d\u2728\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2b50\u2b55"
    "\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001faff"
)
_FLAG = "\U0001f1e6-\U0001f1ff"
# Conjoining Hangul, and the capital I with a dot, which in lower case is a letter and a mark.
_COMPOSED = "\u0130\u1100-\u11ff"


class Token(NamedTuple):
    """A token and its position in the text.

    Attributes
    ----------
    form : str
        The normalised token, in lower case if `lowercase` is True.
    start, end : int
        Positions of its first character and after its last character.
    tail : str
        Last character of a pair that overlaps the token before it, otherwise empty. The text of a
        run is its first pair followed by the tails of the other pairs.
    is_part : bool
        Whether it is inside another token or at the edge of a run. Such tokens form no n-grams.
    """

    form: str
    start: int
    end: int
    tail: str = ""
    is_part: bool = False


_WORD, _RUN = 1, 2  # groups of the pattern of tokens
_ORDINARY: set[str] = set()  # characters that are known not to be special: the search is slow


class _Patterns(NamedTuple):
    special: re.Pattern[str]  # a character that only this module understands
    token: re.Pattern[str]  # groups: a word, a run of unspaced characters, an emoji
    composed: re.Pattern[str]  # what makes characters of more than one code point, or other ones
    character: re.Pattern[str]  # one of a run, with its marks
    han: re.Pattern[str]
    ignored: re.Pattern[str]
    compatible: re.Pattern[str]
    variant: re.Pattern[str]  # of an emoji
    sequence: re.Pattern[str]  # a word of any length, an emoji or another sign


def is_plain(text: str) -> bool:
    """Return whether a text has only characters that the default pattern splits correctly."""
    if text.isascii() or not unicodedata.is_normalized("NFC", text):
        return text.isascii()
    unknown = set(text) - _ORDINARY
    if unknown and _patterns().special.search("".join(unknown)):
        return False
    _ORDINARY.update(unknown)
    return True


def tokens(text: str, *, lowercase: bool = True) -> Iterator[Token]:
    """Yield the tokens of a text in order.

    Examples
    --------
    >>> [token.form for token in tokens("Python 3.12 北京大学 👍🏽")]
    ['python', '12', '_北', '北', '北京', '京', '京大', '大', '大学', '学', '学_', '👍']
    """
    for match in _patterns().token.finditer(text):
        start, end = match.span()
        if match.lastindex == _RUN:
            yield from _pairs(text, start, end)
        elif match.lastindex == _WORD:
            form = _normalised(match[0])
            if lowercase:
                form = form.lower().replace("i\u0307", "i")  # of a capital I with a dot
            if len(form) > 1:
                yield Token(form, start, end)
        else:
            yield Token(_patterns().variant.sub("", match[0]), start, end)


_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def words_and_marks(text: str) -> list[str]:
    """Return the words of a text in lower case and all signs between them, in their order.

    Examples
    --------
    >>> words_and_marks("Don't panic!! 👍🏽")
    ['don', "'", 't', 'panic', '!', '!', '👍']
    """
    if is_plain(text):
        return _WORD_OR_MARK.findall(text.lower())
    patterns = _patterns()
    found = patterns.sequence.findall(unicodedata.normalize("NFC", text).lower())
    return [
        _normalised(token) if token[0].isalnum() else patterns.variant.sub("", token) or token
        for token in found
    ]


def joined(run: Iterable[Token]) -> str:
    """Join consecutive tokens to one term: words with spaces, pairs without.

    Examples
    --------
    >>> joined(tokens("big apple"))
    'big apple'
    >>> joined(token for token in tokens("北京大学") if not token.is_part)
    '北京大学'
    """
    term = ""
    for token in run:
        if not term:
            term = token.form
        else:
            term += token.tail or f" {token.form}"
    return term


def without(found: Iterable[Token], stop_words: frozenset[str]) -> list[Token]:
    """Remove stop words. A pair after a stop word does not continue the pair before it."""
    kept, gap = [], False
    for token in found:
        if token.form in stop_words:
            gap = gap or not token.is_part
        elif token.is_part:
            kept.append(token)
        else:
            kept.append(token._replace(tail="") if gap else token)
            gap = False
    return kept


def analyzer(
    *,
    lowercase: bool,
    ngram_range: tuple[int, int],
    stop_words: Iterable[str],
) -> Callable[[str], list[str]]:
    """Return a function that splits a document in any script into terms.

    Parameters
    ----------
    lowercase : bool
        Whether to convert to lower case.
    ngram_range : (int, int)
        Minimum and maximum number of tokens of a term.
    stop_words : iterable of str
        Tokens to remove.
    """
    stop = frozenset(stop_words)
    shortest, longest = ngram_range

    def analyze(document: str) -> list[str]:
        found = without(tokens(document, lowercase=lowercase), stop)
        if longest == 1:
            return [token.form for token in found]
        parts = [token.form for token in found if token.is_part and shortest == 1]
        found = [token for token in found if not token.is_part]
        return parts + [
            joined(found[first : first + length])
            for length in range(shortest, longest + 1)
            for first in range(len(found) - length + 1)
        ]

    return analyze


def _pairs(text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the overlapping pairs of a run of unspaced characters, or its only character."""
    patterns = _patterns()
    if patterns.composed.search(text, start, end):
        found = list(patterns.character.finditer(text, start, end))
        forms = [_normalised(match[0]) for match in found]
        edges = [*(match.start() for match in found), end]
    else:
        forms, edges = list(text[start:end]), list(range(start, end + 1))
    yield Token(_beside(text, start - 1) + forms[0], start, edges[1], is_part=True)
    if len(forms) == 1:
        yield Token(forms[0], start, end)
    for number, (form, second) in enumerate(zip_longest(forms, forms[1:])):
        if len(forms) > 1 and patterns.han.match(form):
            yield Token(form, edges[number], edges[number + 1], is_part=True)
        if second:
            tail = second if number else ""
            yield Token(form + second, edges[number], edges[number + 2], tail)
    yield Token(forms[-1] + _beside(text, end), edges[-2], end, is_part=True)


def _beside(text: str, place: int) -> str:
    """Return the punctuation mark at a position of the text, or "_" if there is none."""
    mark = text[place] if 0 <= place < len(text) else " "
    return _normalised(mark) if unicodedata.category(mark)[0] == "P" else "_"


def _normalised(form: str) -> str:
    """Normalise a token, so that characters that look the same are the same."""
    if form.isascii():
        return form
    patterns = _patterns()
    form = patterns.ignored.sub("", form)
    return unicodedata.normalize("NFKC" if patterns.compatible.search(form) else "NFC", form)


@cache
def _patterns() -> _Patterns:
    """Compile the patterns on first use, because looking up categories is slow."""
    marks = _as_set(c for c in range(0x300, 0x1E95B) if unicodedata.category(chr(c))[0] == "M")
    marks += f"{_SELECTORS}\uff9e\uff9f"  # the last two: voicing of Katakana of half width
    unspaced = "".join(map(_letters, _UNSPACED_BLOCKS))
    inside = f"{marks}{_IGNORED}"
    picture = f"[{_EMOJI}][{_SKIN_TONES}{_SELECTORS}]*"
    vowels = f"{_VOWELS_BEFORE}{_VOWELS_BEHIND}"
    return _Patterns(
        special=re.compile(f"[{inside}{unspaced}{_COMPATIBLE}{_COMPOSED}{_EMOJI}{_FLAG}]"),
        # Neighbouring sets have nothing in common, so that no text takes more than linear time.
        token=re.compile(
            rf"([^\W{unspaced}]+(?:[{inside}]+[^\W{unspaced}]*)*)"
            f"|([{unspaced}][{unspaced}{inside}]*)"
            f"|({picture}(?:\u200d{picture})*|[{_FLAG}]{{1,2}})"
        ),
        composed=re.compile(f"[{inside}{vowels}{_COMPATIBLE}\uf900-\ufaff\U0002f800-\U0002fa1f]"),
        character=re.compile(
            f"[{_VOWELS_BEFORE}]?[{unspaced}](?:[{_JOINERS}][{unspaced}]|[{inside}{_VOWELS_BEHIND}])*"
        ),
        han=re.compile(f"[{_HAN}]"),
        ignored=re.compile(f"[{_IGNORED}{_SELECTORS}]"),
        compatible=re.compile(f"[{_COMPATIBLE}]"),
        variant=re.compile(f"[{_SELECTORS}{_SKIN_TONES}]"),
        sequence=re.compile(
            rf"\w[\w{marks}]*|{picture}(?:\u200d{picture})*|[{_FLAG}]{{1,2}}|[^\w\s]"
        ),
    )


def _letters(block: tuple[int, int]) -> str:
    """Return the letters of a block as the inside of a set. Large blocks have only letters."""
    first, last = block
    if last - first > 0x100:
        return f"{chr(first)}-{chr(last)}"
    return _as_set(c for c in range(first, last + 1) if unicodedata.category(chr(c)) in _LETTERS)


def _as_set(points: Iterable[int]) -> str:
    """Return code points as ranges, the inside of a set of a regular expression."""
    ranges: list[list[int]] = []
    for point in points:
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
