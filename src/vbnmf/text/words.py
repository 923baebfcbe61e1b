"""What depends on the language: stop-word lists and stems.

Neither is written here: English stop words come with scikit-learn, those of other languages with
the optional package ``stop-words``, stems with snowballstemmer, which hands over to PyStemmer (the
same algorithms in C) when that is installed. Tokenising is scikit-learn's, see ``counting``.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import snowballstemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

StopWords = str | os.PathLike[str] | Iterable[str] | None

_WAYS_OUT = (
    "Give a list of words, a file with one word a line (as a path with a folder or an extension, "
    "such as './words' or 'words.txt'), or leave common words out with max_df"
)


def stop_word_list(stop_words: StopWords) -> list[str]:
    """Return the words that `stop_words` stands for.

    Parameters
    ----------
    stop_words : None, str, path or iterable of str
        A string is a file when it has a folder or an extension in it, otherwise a language; the
        rule does not look at which files exist, so that it means the same everywhere.
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
            raise TypeError(
                f"stop_words must hold strings; found {word!r} ({type(word).__name__})."
            )
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
    """Stem each word of each term; a term is one word or an n-gram joined by single spaces.

    Every distinct word is stemmed once. With `language` None the terms come back as they are.
    """
    if language is None:
        return list(terms)
    stemmer = snowballstemmer.stemmer(language)
    stemmer.maxCacheSize = 0  # PyStemmer's cache only costs time when no word comes twice
    words = list({word: None for term in terms for word in term.split(" ")})
    stems = dict(zip(words, stemmer.stemWords(words), strict=True))
    return [" ".join(map(stems.__getitem__, term.split(" "))) for term in terms]


def _from_file(path: Path) -> list[str]:
    """Read one word a line, UTF-8; blank lines are skipped."""
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
    """Return the list of a language: scikit-learn's for English, else that of ``stop-words``."""
    if language == "english":
        return sorted(ENGLISH_STOP_WORDS)
    try:
        import stop_words
    except ImportError as error:
        raise ValueError(
            f"stop_words={language!r}: only the English list is always there; other languages "
            f"need the package stop-words (pip install 'vbnmf[text]'). {_WAYS_OUT}."
        ) from error
    try:
        return list(stop_words.get_stop_words(language))
    except stop_words.StopWordError as error:
        raise ValueError(f"stop_words={language!r}: {error}. {_WAYS_OUT}.") from error
