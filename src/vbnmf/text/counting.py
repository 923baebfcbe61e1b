"""Count the terms of documents.

Tokens come from scikit-learn's ``CountVectorizer.build_analyzer`` or from ``splitting``. Counts of
words with the same stem are added by a product with a 0/1 matrix, so that only distinct words are
stemmed. ``weighting`` converts counts to weights.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Analyzer = Callable[[str], Iterable[str]]


def check_iterable(documents: Iterable[str]) -> Iterable[str]:
    """Return the documents; raise ValueError for a single string."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            f"Expected an iterable of documents; got a single {type(documents).__name__}. "
            "Put it in a list: [text]."
        )
    return documents


def count_documents(documents: Iterable[str], analyze: Analyzer) -> tuple[sp.csr_matrix, list[str]]:
    """Count the terms of each document in one pass over an iterable.

    Returns
    -------
    counts : csr_matrix of int32 of shape (n_documents, n_terms)
        Counts of terms.
    terms : list of str of length n_terms
        Terms in the order of their first occurrence.
    """
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    indices, values, indptr = array("i"), array("i"), array("q", [0])
    for row, document in enumerate(check_iterable(documents)):
        if not isinstance(document, str):
            raise TypeError(
                f"Documents must be strings; number {row} (from 0) is "
                f"{type(document).__name__}. Decode bytes, and replace missing text by ''."
            )
        counts = Counter(analyze(document))
        indices.extend(map(vocabulary.__getitem__, counts))
        values.extend(counts.values())
        indptr.append(len(indices))
    terms = list(vocabulary)
    for term in terms:
        if not isinstance(term, str):
            raise TypeError(f"The analyzer must return strings; got {type(term).__name__}.")
    matrix = sp.csr_matrix(
        (np.asarray(values, np.int32), np.asarray(indices, np.int32), np.asarray(indptr)),
        shape=(len(indptr) - 1, len(terms)),
    )
    return matrix, terms


def merge_columns(
    counts: sp.csr_matrix, terms: Sequence[str], columns: Mapping[str, int]
) -> sp.csr_matrix:
    """Add the columns of `counts` that have the same term.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, len(terms))
        Counts of terms.
    terms : sequence of str
        Term of each column. Several columns may have the same term (a stem). Terms that are not in
        `columns` are dropped.
    columns : mapping of str to int
        Column of each term in the result, from 0 to ``len(columns) - 1``.

    Returns
    -------
    csr_matrix of int32 of shape (n_documents, len(columns))
        Sums of counts, with sorted indices.
    """
    merged = counts @ merging_matrix(terms, columns)
    merged.sort_indices()
    return merged


def merging_matrix(terms: Sequence[str], columns: Mapping[str, int]) -> sp.csr_matrix:
    """Return the 0/1 matrix, shape (len(terms), len(columns)), that adds up columns of counts."""
    target = np.fromiter((columns.get(term, -1) for term in terms), np.int64, len(terms))
    (known,) = np.nonzero(target >= 0)
    return sp.csr_matrix(
        (np.ones(len(known), np.int32), (known, target[known])), shape=(len(terms), len(columns))
    )


def document_frequencies(counts: sp.csr_matrix) -> NDArray[np.int64]:
    """Count the documents with each term, (n_terms,)."""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)


def commonest_forms(
    counts: sp.csr_matrix, forms: Sequence[str], stems: Sequence[str]
) -> dict[str, str]:
    """Return the commonest form of each stem. Ties are broken alphabetically.

    A form has only one stem, so the forms of different stems are different.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, len(forms))
        Counts of forms.
    forms, stems : sequences of str
        Term of each column before and after stemming.
    """
    totals = np.bincount(counts.indices, weights=counts.data, minlength=len(forms))
    return commonest_of(forms, stems, totals)


def commonest_of(
    forms: Sequence[str], stems: Sequence[str], totals: NDArray[np.number[Any]]
) -> dict[str, str]:
    """Return the same from how often each form occurs, shape (len(forms),)."""
    best: dict[str, tuple[float, str]] = {}
    for stem, form, total in zip(stems, forms, totals.tolist(), strict=True):
        rival = (-total, form)
        if stem not in best or rival < best[stem]:
            best[stem] = rival
    return {stem: form for stem, (_, form) in best.items()}
