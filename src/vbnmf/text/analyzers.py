"""Build the function that splits a document into terms, from the parameters of the vectorizer.

scikit-learn's ``CountVectorizer`` splits texts in scripts with spaces. ``splitting`` splits texts
in all other scripts.
"""

from collections.abc import Iterable, Sequence

from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import splitting
from vbnmf.text.counting import Analyzer

TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # noqa: S105 - scikit-learn's default: words of two letters or more


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
    counter = CountVectorizer(
        lowercase=lowercase,
        token_pattern=token_pattern,
        ngram_range=ngram_range,
        stop_words=list(stop_words) or None,
        analyzer="word" if analyzer in (None, "auto") else analyzer,
    )
    analyze: Analyzer = counter.build_analyzer()
    if not splits_by_script(analyzer, token_pattern):
        return analyze
    return splitting.analyzer(
        analyze, lowercase=lowercase, ngram_range=ngram_range, stop_words=stop_words
    )


def split_stop_words(
    words: Iterable[str], analyzer: str | Analyzer | None, token_pattern: str, lowercase: bool
) -> list[str]:
    """Return stop words as tokens of documents, sorted."""
    if splits_by_script(analyzer, token_pattern):
        found = (token for word in words for token in splitting.tokens(word, lowercase=lowercase))
        return sorted({token.form for token in found if not token.is_part})
    split = build_analyzer(analyzer, token_pattern, lowercase, (1, 1), ())
    return sorted({token for word in words for token in split(word)})
