"""Build the function that splits a document into terms, from the parameters of the vectorizer.

scikit-learn's ``CountVectorizer`` splits texts in scripts with spaces. With the default pattern and
without n-grams, ``SplitWords`` finds the same words faster. ``splitting`` splits texts in all other
scripts.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

from vbnmf.text import splitting
from vbnmf.text.counting import Analyzer, Splitter, compiled, count_with
from vbnmf.text.markup import strip_html

TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # noqa: S105 - scikit-learn's default: words of two letters or more
_WORD = re.compile(r"\w\w+")


def splits_by_script(analyzer: str | Analyzer | None, token_pattern: str) -> bool:
    """Return whether texts are split by script (``splitting``)."""
    return bool(analyzer == "auto" and token_pattern == TOKEN_PATTERN)


def build_analyzer(
    analyzer: str | Analyzer | None,
    token_pattern: str,
    lowercase: bool,
    ngram_range: tuple[int, int],
    stop_words: Sequence[str],
) -> Analyzer:
    """Return the function from a text without markup to its terms, not stemmed.

    Parameters
    ----------
    analyzer, token_pattern, lowercase, ngram_range
        As in ``DocumentVectorizer``.
    stop_words : sequence of str
        Tokens to remove.
    """
    by_words = analyzer in (None, "auto", "word")
    if by_words and token_pattern == TOKEN_PATTERN and tuple(ngram_range) == (1, 1):
        analyze: Analyzer = SplitWords(lowercase, stop_words)
    else:
        analyze = _of_sklearn(analyzer, token_pattern, lowercase, ngram_range, stop_words)
    if not splits_by_script(analyzer, token_pattern):
        return analyze
    return ByScript(
        analyze,
        splitting.analyzer(lowercase=lowercase, ngram_range=ngram_range, stop_words=stop_words),
    )


class SplitWords(Splitter):
    """Split texts into the words of ``TOKEN_PATTERN``.

    In texts of ASCII characters, all characters outside of words are replaced by spaces. In others,
    the pattern needs no word boundaries, because a match is as long as possible.
    """

    def __init__(self, lowercase: bool, stop_words: Iterable[str]) -> None:
        self._lowercase, self._stop_words = bool(lowercase), frozenset(stop_words)

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text that are no stop words."""
        if text.isascii():
            found = text.translate(_ascii_words(self._lowercase)).split()
        else:
            found = _WORD.findall(text.lower() if self._lowercase else text)
        stop_words = self._stop_words
        if stop_words:
            return [word for word in found if len(word) > 1 and word not in stop_words]
        return [word for word in found if len(word) > 1]

    @cached_property
    def _stop(self) -> Any:
        return compiled().Terms(self._stop_words) if self._stop_words else None

    def count(self, text: str, counts: Any) -> None:
        """Count the words of a text with compiled code."""
        if self._lowercase and not text.isascii():
            text = text.lower()
        counts.words(text, self._lowercase, self._stop)


class ByScript(Splitter):
    """Split texts of ordinary letters in one way, and texts in other scripts in another."""

    def __init__(self, plain: Analyzer, other: Analyzer) -> None:
        self._plain, self._other = plain, other

    def __call__(self, text: str) -> Iterable[str]:
        """Return the terms of a text."""
        return self._plain(text) if splitting.is_plain(text) else self._other(text)

    def count(self, text: str, counts: Any) -> None:
        """Count the terms of a text with compiled code."""
        count_with(self._plain if splitting.is_plain(text) else self._other, text, counts)


class WithoutMarkup(Splitter):
    """Remove HTML from texts before they are split."""

    def __init__(self, analyze: Analyzer) -> None:
        self._analyze = analyze

    def __call__(self, text: str) -> Iterable[str]:
        """Return the terms of a text."""
        return self._analyze(strip_html(text))

    def count(self, text: str, counts: Any) -> None:
        """Count the terms of a text with compiled code."""
        count_with(self._analyze, strip_html(text), counts)


@cache
def _ascii_words(lowercase: bool) -> dict[int, str]:
    """Return a table that replaces ASCII characters outside of words by spaces."""
    letters = {code: chr(code) for code in range(128) if _WORD.fullmatch(chr(code) * 2)}
    table = dict.fromkeys(range(128), " ") | letters
    if lowercase:
        table = {code: character.lower() for code, character in table.items()}
    return table


def _of_sklearn(
    analyzer: str | Analyzer | None,
    token_pattern: str,
    lowercase: bool,
    ngram_range: tuple[int, int],
    stop_words: Sequence[str],
) -> Analyzer:
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import

    counter = CountVectorizer(
        lowercase=lowercase,
        token_pattern=token_pattern,
        ngram_range=ngram_range,
        stop_words=list(stop_words) or None,
        analyzer="word" if analyzer in (None, "auto") else analyzer,
    )
    analyze: Analyzer = counter.build_analyzer()
    return analyze


def split_stop_words(
    words: Iterable[str], analyzer: str | Analyzer | None, token_pattern: str, lowercase: bool
) -> list[str]:
    """Return stop words as tokens of documents, sorted."""
    if splits_by_script(analyzer, token_pattern):
        found = (token for word in words for token in splitting.tokens(word, lowercase=lowercase))
        return sorted({token.form for token in found if not token.is_part})
    split = build_analyzer(analyzer, token_pattern, lowercase, (1, 1), ())
    return sorted({token for word in words for token in split(word)})
