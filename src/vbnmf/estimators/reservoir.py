"""A bounded sample of the labelled documents of a stream, on which a prediction head is trained.

Each document has a number between zero and one, which follows from its terms. The documents with
the largest numbers are kept. So the sample does not depend on the order of the documents, and it is
a random one as far as labels are concerned. Of each label some documents are kept in any case.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

MOST_NONZEROS = 1 << 22
"""Maximum number of non-zeros of the sample, 8 bytes each in single precision."""

LEAST_OF_A_LABEL = 50
"""Number of documents of each label that are kept first."""

_ROOT, _SPREAD = 0.41421356237309503, 997.0  # other numbers than those of the folds of machines


@dataclass(frozen=True, eq=False)
class Reservoir:
    """A sample of labelled documents.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    indicators : csr_array of shape (n_docs, n_labels)
        Their labels.
    weight : ndarray of shape (n_docs,)
        Their sample weights.
    """

    X: sparse.csr_array
    indicators: sparse.csr_array
    weight: Array

    def with_labels(self, places: Array, n_labels: int) -> "Reservoir":
        """Return the sample with label l in column ``places[l]`` of ``n_labels`` columns."""
        return Reservoir(self.X, moved_columns(self.indicators, places, n_labels), self.weight)

    def add(self, other: "Reservoir", most: int) -> "Reservoir":
        """Return a sample of both, of at most ``most`` documents."""
        both = Reservoir(
            sparse.vstack([self.X, other.X], format="csr"),
            sparse.vstack([self.indicators, other.indicators], format="csr"),
            np.concatenate([self.weight, other.weight]),
        )
        return both.cut(most)

    def cut(self, most: int) -> "Reservoir":
        """Return a sample of at most ``most`` documents with ``MOST_NONZEROS`` non-zeros."""
        if self.X.shape[0] <= most and self.X.nnz <= MOST_NONZEROS:
            return self
        order = np.argsort(-_numbers(self.X), kind="stable")
        n_labels = self.indicators.shape[1]
        quota = max(1, min(LEAST_OF_A_LABEL, most // n_labels))
        by_label = sparse.csc_array(self.indicators[order])
        ranks = np.full(len(order), len(order))
        for begin, end in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True):
            of_label = np.sort(by_label.indices[begin:end])
            ranks[of_label] = np.minimum(ranks[of_label], np.arange(end - begin))
        order = order[np.argsort(np.where(ranks < quota, 0, 1), kind="stable")][:most]
        fits = np.cumsum(np.diff(self.X.indptr)[order]) <= MOST_NONZEROS
        rows = np.sort(order[fits])
        return Reservoir(self.X[rows], self.indicators[rows], self.weight[rows])


def moved_columns(matrix: sparse.csr_array, places: Array, n_columns: int) -> sparse.csr_array:
    """Return a matrix with its columns at other places among ``n_columns``."""
    moved = sparse.csr_array(
        (matrix.data, places[matrix.indices], matrix.indptr), shape=(matrix.shape[0], n_columns)
    )
    moved.sort_indices()
    return moved


def _numbers(X: sparse.csr_array) -> Array:
    """Return a number in [0, 1) for each document, the same for identical documents."""
    mixed = np.modf(np.arange(1, X.shape[1] + 1) * _ROOT)[0]
    return np.asarray(np.modf(X @ mixed * _SPREAD)[0])
