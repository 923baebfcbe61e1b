"""Stop words and stems, which depend on the language.

English stop words come from scikit-learn, those of other languages from the optional package
``stop-words``. Stems come from snowballstemmer, which uses PyStemmer (the same algorithms in C) if
that is installed.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import snowballstemmer

StopWords = str | os.PathLike[str] | Iterable[str] | None

_WAYS_OUT = (
    "Pass a list of words, a file with one word per line (as a path with a folder or an "
    "extension, such as './words' or 'words.txt'), or remove common words with max_df"
)


def stop_word_list(stop_words: StopWords) -> list[str]:
    """Return the list of stop words.

    Parameters
    ----------
    stop_words : None, str, path or iterable of str
        A string with a folder or an extension is a file, any other string is a language. The rule
        does not depend on which files exist.
    """
    if stop_words is None:
        return []
    if isinstance(stop_words, os.PathLike):
        return _from_file(Path(stop_words))
    if isinstance(stop_words, str):
        path = Path(stop_words)
        if path.suffix or path.name != stop_words:
            return _from_file(path)
        return _from_language(stop_words.lower())
    words = list(stop_words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"stop_words must be strings; found {word!r} ({type(word).__name__}).")
    return words


def check_stemmer(language: str | None) -> None:
    """Raise ValueError unless `language` is None or names a Snowball algorithm."""
    known = snowballstemmer.algorithms()
    if language is not None and language not in known:
        raise ValueError(
            f"stem={language!r} is not a Snowball algorithm. "
            f"Use None for no stemming or one of: {', '.join(sorted(known))}."
        )


def stem_terms(terms: Sequence[str], language: str | None) -> list[str]:
    """Stem each word of each term. A term is a word, or an n-gram joined by single spaces.

    Every distinct word is stemmed once. If `language` is None, terms are returned unchanged.
    """
    if language is None:
        return list(terms)
    stemmer = snowballstemmer.stemmer(language)
    stemmer.maxCacheSize = 0  # each word is stemmed once, so a cache only costs time
    words = list({word: None for term in terms for word in term.split(" ")})
    stems = dict(zip(words, stemmer.stemWords(words), strict=True))
    return [" ".join(map(stems.__getitem__, term.split(" "))) for term in terms]


def _from_file(path: Path) -> list[str]:
    """Read a UTF-8 file with one word per line. Blank lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"The stop-word file {path} is not UTF-8: {error}. Convert it.") from error
    except OSError as error:
        raise type(error)(
            f"Cannot read the stop-word file {path}: {error.strerror}. {_WAYS_OUT}."
        ) from error
    return [word for line in lines if (word := line.strip())]


def _from_language(language: str) -> list[str]:
    """Return the stop words of a language, from scikit-learn or the package ``stop-words``."""
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import

        return sorted(ENGLISH_STOP_WORDS)
    try:
        import stop_words
    except ImportError as error:
        raise ValueError(
            f"stop_words={language!r}: languages other than English need the package stop-words "
            f"(pip install 'vbnmf[text]'). {_WAYS_OUT}."
        ) from error
    try:
        return list(stop_words.get_stop_words(language))
    except stop_words.StopWordError as error:
        raise ValueError(f"stop_words={language!r}: {error}. {_WAYS_OUT}.") from error
