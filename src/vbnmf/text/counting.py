"""Documents to counts: how often each term occurs in each document.

Tokens come from scikit-learn's ``CountVectorizer.build_analyzer`` or from ``splitting``. Stems are
merged on the vocabulary, as a product with a 0/1 matrix, because a corpus has far fewer distinct
words than words. What a count is worth is in ``weighting``.
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
    """Return the documents, unless they are a single one."""
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
    counts : csr_matrix of int32, shape (n_documents, n_terms)
    terms : list of str, length n_terms
        In the order in which they were first met.
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
    """Add up the columns of `counts` that have the same term, in the columns asked for.

    Parameters
    ----------
    counts : csr_matrix, shape (n_documents, len(terms))
    terms : sequence of str
        The term of each column; several may be equal (stems), and those not in `columns` go.
    columns : mapping of str to int
        The wanted terms, numbered 0 to ``len(columns) - 1``.

    Returns
    -------
    csr_matrix of int32, shape (n_documents, len(columns)), with sorted indices
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
    """Return the number of documents with each term, shape (n_terms,)."""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)


def commonest_forms(
    counts: sp.csr_matrix, forms: Sequence[str], stems: Sequence[str]
) -> dict[str, str]:
    """Return for each stem the form that occurs most often, the alphabetically first if several.

    A form has one stem, so that the chosen forms of different stems are different.

    Parameters
    ----------
    counts : csr_matrix, shape (n_documents, len(forms))
    forms, stems : sequences of str
        The column's term before and after stemming.
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
