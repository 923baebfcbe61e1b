"""Convert counts to weights by equations (1)-(3) of the paper or two alternatives; choose terms.

For the count c_dw of term w in document d, N training documents of which n_w have the term:

    "paper"    c_dw / max_w' c_dw' · ln(N / n_w)                               (1)-(3)
    "counts"   c_dw
    "log"      ln(1 + c_dw) · ln(N / n_w), each document scaled to one Euclidean length

"""

from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.core.rows import unit_values

Weighting = Literal["paper", "counts", "log"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)

# Chosen on validation data by `python -m benchmarks weighting` (docs/explanation/deviations.md).
DEFAULT_WEIGHTING: Weighting = "log"

MEAN_WEIGHT = 3.0
"""Mean non-zero weight in the training documents with "log" weighting."""

_HIGH, _LOW = 2**32, 2**30  # a weight is a sum of two whole numbers, in units of 2⁻³² and 2⁻⁶²
_BLOCK = 1 << 20  # weights that are summed at a time, to save memory


def inverse_document_frequency(
    frequencies: NDArray[np.int64], n_documents: int
) -> NDArray[np.float64]:
    """Compute ln(N / n) of each term by equation (3), (n_terms,). It is 0 if n = N."""
    return np.log(n_documents / frequencies)


def weigh(
    counts: sp.csr_matrix,
    idf: NDArray[np.float64],
    weighting: Weighting,
    length: float | None = None,
) -> tuple[sp.csr_matrix, float]:
    """Convert counts to weights.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_terms)
        Counts of terms, without explicit zeros.
    idf : ndarray of shape (n_terms,)
        Inverse document frequencies.
    weighting : {"paper", "counts", "log"}
        Kind of weighting.
    length : float or None, default=None
        Euclidean length of documents with "log". None computes it from `counts`.

    Returns
    -------
    weights : csr_matrix of float64 of shape (n_documents, n_terms)
        Weights with the sparsity structure of `counts`. A term in all documents has explicit zeros.
    length : float
        The given or computed length; 1 for other weightings.
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
    weights.data = unit_values(weights)
    if length is None:
        length = length_of_documents(*summed(weights.data))
    weights.data *= length
    return weights, length


def squared_lengths(
    counts: sp.csr_matrix, idf: NDArray[np.float64], weighting: Weighting
) -> NDArray[np.float64]:
    """Compute the squared Euclidean lengths of documents before they are scaled, (n_documents,).

    With "paper", counts are not divided by the largest one.
    """
    data = counts.data.astype(np.float64)
    data = np.log1p(data) if weighting == "log" else data
    data = data if weighting == "counts" else data * idf[counts.indices]
    squares = sp.csr_matrix((data**2, counts.indices, counts.indptr), shape=counts.shape)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def choose_terms(
    weights: sp.csr_matrix, frequencies: NDArray[np.int64], n_kept: int, weighting: Weighting
) -> NDArray[np.intp]:
    """Choose the terms to keep: those in most documents, or with "paper" of the largest weight.

    Rare words have the largest weights, but predicting labels needs words that many documents
    share.

    Returns
    -------
    ndarray of int of shape (min(n_kept, n_terms),)
        Chosen columns in ascending order.
    """
    if weighting == "paper":
        return largest_scores(weights, frequencies, n_kept)
    return np.sort(np.argsort(-frequencies, kind="stable")[:n_kept])


def largest_scores(
    weights: sp.csr_matrix, frequencies: NDArray[np.int64], n_kept: int
) -> NDArray[np.intp]:
    """Choose the terms with the largest weight in any document.

    Ties are frequent: with "paper", a word that is the commonest of its document and in no other
    document has the weight ln N. Ties are broken by the number of documents, then by the column.

    Returns
    -------
    ndarray of int, shape (min(n_kept, n_terms),)
        Chosen columns in ascending order.
    """
    scores = weights.max(axis=0).toarray().ravel()
    order = np.lexsort((-frequencies, -scores))  # stable: remaining ties stay in column order
    return np.sort(order[:n_kept])


def summed(weights: NDArray[np.float64]) -> tuple[int, int]:
    """Return the sum of weights from 0 to 1 in units of 2⁻⁶², and how many are not zero.

    Whole numbers add up to the same sum in any order, so that documents in parts have the same
    length as all documents at once.
    """
    total = occurring = 0
    for first in range(0, len(weights), _BLOCK):
        block = weights[first : first + _BLOCK]
        high = np.floor(block * _HIGH)
        low = np.rint((block * _HIGH - high) * _LOW)
        total += _LOW * int(high.astype(np.int64).sum()) + int(low.astype(np.int64).sum())
        occurring += int(np.count_nonzero(block))
    return total, occurring


def length_of_documents(total: int, occurring: int) -> float:
    """Return the length of documents at which the mean of non-zero weights is ``MEAN_WEIGHT``.

    In a Poisson model the sum of a row is an amount of evidence. Documents of length 1 would have
    almost no weight compared with the priors. The length is Euclidean and not a sum, because a few
    words should not weigh as much as a long text: at equal Euclidean length, the sum of a document
    of n terms with equal weights is proportional to √n.

    Parameters
    ----------
    total, occurring : int
        The result of ``summed`` for the weights of documents of length 1.
    """
    return MEAN_WEIGHT / (total / (_HIGH * _LOW * occurring)) if total else 1.0
