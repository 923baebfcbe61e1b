"""Warn of documents, words and stems that look wrong, and of terms that were left out.

Each warning says what was seen and what can be done. Nothing is changed here.
"""

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.text.words import stem_terms

_STEMS_CHECKED_ON_LOADING = 1000

_FEWEST_DOCUMENTS = 50
"""Below this number, words that occur once are no sign of anything."""

_MOST_ONCE = 0.8
"""Share of all words that stand in one document only. Short texts have 0.6 if there are a hundred
of them and less if there are more; Chinese titles split at spaces and punctuation have 0.94."""

_LONG_WORD = 12
"""Characters of a word; the words of no language have as many on average."""


class EmptyDocumentWarning(UserWarning):
    """Some documents have no term of non-zero weight, so that their rows are zero.

    Attributes
    ----------
    rows : sequence of int
        Their places among the documents, from 0.
    """

    rows: Sequence[int] = ()


class StemmerChangedWarning(UserWarning):
    """The stemmer installed gives other stems than the one of training did."""


class SuspiciousWordsWarning(UserWarning):
    """The documents do not seem to be split into words, so that little can be learned from them."""


class VocabularyCutWarning(UserWarning):
    """The corpus has more terms than are kept by default."""


def report_empty(X: sp.csr_matrix) -> int:
    """Warn of rows without any entry, and return how many there are."""
    (rows,) = np.nonzero(np.diff(X.indptr) == 0)
    if rows.size:
        first = ", ".join(map(str, rows[:5])) + (", …" if rows.size > 5 else "")
        warning = EmptyDocumentWarning(
            f"{rows.size} of {X.shape[0]} documents have no known term of non-zero weight (rows "
            f"{first}); their rows are zero and say nothing about a label. Check the text, its "
            "language and the options, or leave these documents out."
        )
        warning.rows = rows.tolist()
        warnings.warn(warning, stacklevel=3)
    return int(rows.size)


def report_suspicious(
    counts: sp.csr_matrix, terms: Sequence[str], frequencies: NDArray[np.int64]
) -> None:
    """Warn if most words are in one document only, or most documents are one long word.

    Parameters
    ----------
    counts : csr_matrix, shape (n_documents, n_terms)
        Before any term is left out.
    terms : sequence of str
    frequencies : ndarray of int, shape (n_terms,)
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
        seen += (" and " if seen else "") + f"{once:.0%} of all words stand in one document only"
    rare = np.nonzero(frequencies == frequencies.min())[0][:3]
    examples = ", ".join(repr(_shortened(terms[column])) for column in rare)
    warnings.warn(
        f"The words look wrong: {seen} (for example {examples}). Words that are not shared by "
        "documents say nothing about new ones. Check the column and the encoding of the text; "
        "where words are not separated by spaces, use analyzer='auto' (--analyzer auto) or a "
        "function that finds words; where token_pattern was given, check what it finds.",
        SuspiciousWordsWarning,
        stacklevel=3,
    )


def report_cut(frequencies: NDArray[np.int64], columns: NDArray[np.intp]) -> None:
    """Warn that the default number of terms was not enough for all.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_terms,)
        Number of documents with each term.
    columns : ndarray of int
        The terms that are kept.
    """
    left_out = np.delete(frequencies, columns)
    warnings.warn(
        f"Kept {len(columns):,} of {len(frequencies):,} terms, to save memory: those in most "
        f"documents. No term left out is in more than {left_out.max():,} documents. Use "
        "max_terms=None (--max-terms all) to keep all of them, or raise min_df (--min-df).",
        VocabularyCutWarning,
        stacklevel=3,
    )


def report_changed_stems(stems: Sequence[str], forms: Sequence[str], language: str) -> None:
    """Warn if the forms do not have the stems that they had in training.

    A thousand of them show it and are quick to stem; Snowball's rules differ between versions.
    """
    step = max(1, len(stems) // _STEMS_CHECKED_ON_LOADING)
    now = stem_terms(forms[::step], language)
    changed = sum(a != b for a, b in zip(stems[::step], now, strict=True))
    if changed:
        warnings.warn(
            f"{changed} of {len(now)} words have another stem than when the model was fitted: the "
            f"{language} stemmer installed is of another version, and those words will be missed "
            "in documents. Install the snowballstemmer (and PyStemmer) of that time, or fit again.",
            StemmerChangedWarning,
            stacklevel=3,
        )


def _shortened(term: str, most: int = 24) -> str:
    return term if len(term) <= most else term[: most - 1] + "…"
