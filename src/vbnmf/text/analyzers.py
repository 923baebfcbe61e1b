"""Build the function that splits a document into terms, from the parameters of the vectorizer.

scikit-learn's ``CountVectorizer`` splits texts in scripts with spaces. With the default pattern and
without n-grams, ``_words`` finds the same words faster. ``splitting`` splits texts in all other
scripts.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from vbnmf.text import splitting
from vbnmf.text.counting import Analyzer

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
        analyze = _words(lowercase, frozenset(stop_words))
    else:
        analyze = _of_sklearn(analyzer, token_pattern, lowercase, ngram_range, stop_words)
    if not splits_by_script(analyzer, token_pattern):
        return analyze
    return splitting.analyzer(
        analyze, lowercase=lowercase, ngram_range=ngram_range, stop_words=stop_words
    )


def _words(lowercase: bool, stop_words: frozenset[str]) -> Analyzer:
    """Return a function that finds the words of ``TOKEN_PATTERN``.

    In texts of ASCII characters, all characters outside of words are replaced by spaces. In others,
    the pattern needs no word boundaries, because a match is as long as possible.
    """
    table = _ascii_words(lowercase)

    def analyze(document: str) -> list[str]:
        if document.isascii():
            found = document.translate(table).split()
        else:
            found = _WORD.findall(document.lower() if lowercase else document)
        if stop_words:
            return [word for word in found if len(word) > 1 and word not in stop_words]
        return [word for word in found if len(word) > 1]

    return analyze


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
