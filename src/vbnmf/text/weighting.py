"""Counts to weights: equations (1)-(3) of the paper and two alternatives; the choice of terms.

For the count c_dw of term w in document d, N training documents of which n_w have the term:

    "paper"    c_dw / max_w' c_dw' · ln(N / n_w)                               (1)-(3)
    "counts"   c_dw
    "log"      ln(1 + c_dw) · ln(N / n_w), each document scaled to one Euclidean length

Which documents and terms are counted is decided in ``counting`` and ``vectorizer``.
"""

from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

Weighting = Literal["paper", "counts", "log"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)

# Chosen on validation data: python -m benchmarks weighting, whose table is in docs/deviations.md.
DEFAULT_WEIGHTING: Weighting = "log"

MEAN_WEIGHT = 3.0
"""What a term weighs in a training document that has it, in "log", on average."""


def inverse_document_frequency(
    frequencies: NDArray[np.int64], n_documents: int
) -> NDArray[np.float64]:
    """Return ln(N / n) (3) for each term; 0 for a term in all documents. Shape (n_terms,)."""
    return np.log(n_documents / frequencies)


def weigh(
    counts: sp.csr_matrix,
    idf: NDArray[np.float64],
    weighting: Weighting,
    length: float | None = None,
) -> tuple[sp.csr_matrix, float]:
    """Weight counts.

    Parameters
    ----------
    counts : csr_matrix, shape (n_documents, n_terms)
        Positive counts only.
    idf : ndarray, shape (n_terms,)
    weighting : {"paper", "counts", "log"}
    length : float, optional
        Euclidean length of the documents in "log"; None finds it from `counts`.

    Returns
    -------
    weights : csr_matrix of float64, shape (n_documents, n_terms)
        With the structure of `counts`: a term in all documents leaves explicit zeros.
    length : float
        As given or found; 1 where there is nothing to scale.
    """
    if weighting == "log":
        data = np.log1p(counts.data) * idf[counts.indices]
    elif weighting == "paper":
        largest = counts.max(axis=1).toarray().ravel()
        data = counts.data / np.repeat(largest, np.diff(counts.indptr)) * idf[counts.indices]
    else:
        data = counts.data.astype(np.float64)
    weights = sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
    if weighting != "log":
        return weights, 1.0
    directions = normalize(weights, norm="l2") if weights.shape[0] else weights
    if length is None:
        length = _length_of_documents(directions)
    return directions * length, length


def choose_terms(
    weights: sp.csr_matrix, frequencies: NDArray[np.int64], n_kept: int, weighting: Weighting
) -> NDArray[np.intp]:
    """Choose the terms that get a column: the paper's for its weights, otherwise the commonest.

    The largest weights belong to rare words. A model that is to predict labels needs those that
    many documents share.

    Returns
    -------
    ndarray of int, shape (min(n_kept, n_terms),)
        Chosen columns in ascending order.
    """
    if weighting == "paper":
        return largest_scores(weights, frequencies, n_kept)
    return np.sort(np.argsort(-frequencies, kind="stable")[:n_kept])


def largest_scores(
    weights: sp.csr_matrix, frequencies: NDArray[np.int64], n_kept: int
) -> NDArray[np.intp]:
    """Choose the terms with the largest weight in any document.

    Ties are frequent (a word that is the commonest of its document and in no other has the weight
    ln N in "paper"). They go to the term in more documents, then to the lower column.

    Returns
    -------
    ndarray of int, shape (min(n_kept, n_terms),)
        Chosen columns in ascending order.
    """
    scores = weights.max(axis=0).toarray().ravel()
    order = np.lexsort((-frequencies, -scores))  # stable: remaining ties stay in column order
    return np.sort(order[:n_kept])


def _length_of_documents(directions: sp.csr_matrix) -> float:
    """Return the factor that brings the mean of non-zero weights to ``MEAN_WEIGHT``.

    A Poisson model takes the size of a row as an amount of evidence: documents scaled to length 1
    would all but vanish beside the priors, and texts of three words that weigh as much as long ones
    would be taken for certain. The length is Euclidean and not a sum, because a few words should
    not count as much as a long text: at one Euclidean length, a document of n terms of equal weight
    has a sum in proportion to √n.
    """
    occurring = directions.data[directions.data > 0]
    return float(MEAN_WEIGHT / occurring.mean()) if len(occurring) else 1.0
