"""Warnings about documents, words and stems that look wrong, and about omitted terms."""

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.callers import callers_level
from vbnmf.text.words import stem_terms

_STEMS_CHECKED_ON_LOADING = 1000

_FEWEST_DOCUMENTS = 50
"""Minimum number of documents for the check of words that occur once."""

_MOST_ONCE = 0.8
"""Share of all words that are in only one document, above which there is a warning. A hundred short
texts have 0.6, and more texts have less. Chinese titles split at spaces and punctuation have
0.94."""

_LONG_WORD = 12
"""Mean number of characters of words, which no language reaches."""


class EmptyDocumentWarning(UserWarning):
    """Warning about documents without any term of non-zero weight, whose rows are zero.

    Attributes
    ----------
    rows : sequence of int
        Rows of these documents, from 0; none if all are zero because all have the same terms.

    Examples
    --------
    >>> import warnings
    >>> from vbnmf.text import DocumentVectorizer
    >>> vectorizer = DocumentVectorizer().fit(["green tea", "tea leaves", "black coffee"])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     _ = vectorizer.transform(["green coffee", "?"])
    >>> list(caught[0].message.rows)
    [1]
    """

    rows: Sequence[int] = ()


class StemmerChangedWarning(UserWarning):
    """Warning that the installed stemmer gives other stems than in training.

    Examples
    --------
    Refuse a model whose stems have changed:

    >>> import warnings
    >>> from vbnmf import DocumentModel, load
    >>> from vbnmf.text import DocumentVectorizer, StemmerChangedWarning
    >>> texts = ["green tea", "tea leaves", "coffee beans"] * 3
    >>> labels = ["tea", "tea", "coffee"] * 3
    >>> model = DocumentModel(vectorizer=DocumentVectorizer(stem="english")).fit(texts, labels)
    >>> model.save("tea.vbnmf")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StemmerChangedWarning)
    ...     model = load("tea.vbnmf")
    """


class SuspiciousWordsWarning(UserWarning):
    """Warning about documents that do not seem to be split into words, or about endless words.

    Examples
    --------
    >>> import warnings
    >>> from vbnmf.text import DocumentVectorizer
    >>> identifiers = [f"a7f3b9e2c4d8{n}" for n in range(60)]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     _ = DocumentVectorizer().fit(identifiers)
    >>> caught[0].category.__name__
    'SuspiciousWordsWarning'
    """


class LabelsOfMarksWarning(UserWarning):
    """Warning that labels differ more in punctuation and other marks than in words.

    Examples
    --------
    >>> import random, warnings
    >>> from vbnmf import DocumentModel
    >>> rng, words = random.Random(0), ["tea", "cup", "leaf", "water", "hot", "green", "steep"]
    >>> texts = [" ".join(rng.choices(words, k=6)) + " !…"[1 + i % 2] for i in range(200)]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     model = DocumentModel().fit(texts, [i % 2 for i in range(200)])
    >>> caught[0].category.__name__
    'LabelsOfMarksWarning'
    """


class VocabularyCutWarning(UserWarning):
    """Warning that terms were omitted, because there are more than the default `max_terms`.

    Examples
    --------
    Ask for all terms, and there is no warning:

    >>> from vbnmf.text import DocumentVectorizer
    >>> len(DocumentVectorizer(max_terms=None).fit(["green tea", "tea leaves"]).vocabulary_)
    3
    """


def report_empty(X: sp.csr_matrix, *, all_alike: bool = False) -> int:
    """Warn of rows without any entry, and return their number.

    Parameters
    ----------
    X : csr_matrix of shape (n_documents, n_terms)
        Weights of terms.
    all_alike : bool
        Whether the rows are zero because every training document has every term.
    """
    (rows,) = np.nonzero(np.diff(X.indptr) == 0)
    if rows.size:
        first = ", ".join(map(str, rows[:5])) + (", …" if rows.size > 5 else "")
        have = "has" if rows.size == 1 else "have"
        warning = EmptyDocumentWarning(
            "every document has every term, so all weights are zero: ln(N / n) = ln 1 = 0. Use "
            "weighting='counts' (--weighting counts), or documents with different terms."
            if all_alike
            else f"{rows.size:,} of {X.shape[0]:,} documents {have} no known term of non-zero "
            f"weight (rows {first}), from which a label could be predicted, so the result is zero "
            "there. Check the text, its language and the options, or leave out such documents."
        )
        warning.rows = () if all_alike else rows.tolist()
        warnings.warn(warning, stacklevel=callers_level())
    return int(rows.size)


def report_suspicious(
    counts: sp.csr_matrix, terms: Sequence[str], frequencies: NDArray[np.int64]
) -> None:
    """Warn if most words are in only one document, or most documents are one long word.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_terms)
        Counts of all terms, before any are omitted.
    terms : sequence of str
        The terms.
    frequencies : ndarray of int of shape (n_terms,)
        Number of documents with each term.
    """
    n_words = np.asarray(counts.sum(axis=1)).ravel()
    n_documents = int((n_words > 0).sum())
    if n_documents < _FEWEST_DOCUMENTS:
        return
    n_single = int((n_words == 1).sum())
    lengths = np.fromiter(map(len, terms), np.int64, len(terms))
    mean_length = (counts.data * lengths[counts.indices]).sum() / n_words.sum()
    once = counts.data[frequencies[counts.indices] == 1].sum() / n_words.sum()
    is_unsplit = 2 * n_single > n_documents and mean_length > _LONG_WORD
    if not is_unsplit and once <= _MOST_ONCE:
        return
    seen = f"{n_single:,} of {n_documents:,} documents have a single word" if is_unsplit else ""
    if once > _MOST_ONCE:
        seen += " and " if seen else ""
        seen += f"{int(100 * once)}% of all words are in only one document"
    rare = np.nonzero(frequencies == frequencies.min())[0][:3]
    examples = ", ".join(repr(_shortened(terms[column])) for column in rare)
    warnings.warn(
        f"The words look wrong: {seen} (for example {examples}). Nothing can be learned from words "
        "that documents do not share. Check the column and the encoding of the text. If words are "
        "not separated by spaces, use analyzer='auto' (--analyzer auto) or a callable analyzer. If "
        "token_pattern was given, check what it matches.",
        SuspiciousWordsWarning,
        stacklevel=callers_level(),
    )


def report_long(omitted: str | None, most: int) -> None:
    """Warn that terms of more than ``most`` characters were left out.

    Parameters
    ----------
    omitted : str or None
        One of them; None if there is none, of which nothing is said.
    most : int
        Number of characters of a term at most.
    """
    if omitted is not None:
        warnings.warn(
            f"Left out words of more than {most} characters, such as {_shortened(omitted)!r} of "
            f"{len(omitted):,} characters. Check whether the texts have data in them.",
            SuspiciousWordsWarning,
            stacklevel=callers_level(),
        )


def report_cut(frequencies: NDArray[np.int64], columns: NDArray[np.intp]) -> None:
    """Warn that terms were omitted by the default `max_terms`.

    Parameters
    ----------
    frequencies : ndarray of int of shape (n_terms,)
        Number of documents with each term.
    columns : ndarray of int of shape (n_kept,)
        Terms that are kept.
    """
    left_out = np.delete(frequencies, columns)
    warnings.warn(
        f"Kept {len(columns):,} of {len(frequencies):,} terms, those in most documents, to save "
        f"memory. The omitted terms are in at most {left_out.max():,} documents. To keep all "
        "terms, use max_terms=None (--max-terms all). To omit rare terms without this message, "
        "increase min_df (--min-df).",
        VocabularyCutWarning,
        stacklevel=callers_level(),
    )


def report_marks(measure: str, marks: float, words: float, n_documents: int) -> str:
    """Warn that marks alone predict labels better than words alone, and return the message.

    Parameters
    ----------
    measure : str
        What was measured, such as "accuracy".
    marks, words : float
        The measure on held-out documents, with marks alone and with words alone.
    n_documents : int
        Number of documents on which it was measured.
    """
    message = (
        f"labels differ mostly in punctuation and other marks: {measure} on held-out documents, of "
        f"a sample of {n_documents:,}, is {marks:.3f} with marks alone and {words:.3f} with words "
        "alone"
    )
    warnings.warn(
        f"{message}. Components are made of words, so they describe these labels only in part. "
        "Check whether the marks are part of the texts, or markup that only some labels have.",
        LabelsOfMarksWarning,
        stacklevel=callers_level(),
    )
    return message


def report_changed_stems(stems: Sequence[str], forms: Sequence[str], language: str) -> None:
    """Warn if the installed stemmer gives other stems than in training.

    The rules of Snowball differ between versions. About a thousand words are checked.
    """
    step = max(1, len(stems) // _STEMS_CHECKED_ON_LOADING)
    now = stem_terms(forms[::step], language)
    changed = sum(a != b for a, b in zip(stems[::step], now, strict=True))
    if changed:
        warnings.warn(
            f"{changed} of {len(now)} words have another stem than in training, because the "
            f"installed {language} stemmer has another version. These words will not be found in "
            "documents. Install the version of snowballstemmer (and PyStemmer) used in training, "
            "or fit again.",
            StemmerChangedWarning,
            stacklevel=callers_level(),
        )


def _shortened(term: str, most: int = 24) -> str:
    return term if len(term) <= most else term[: most - 1] + "…"
