"""Fidelity: whether the documents of a label have the terms that are said of it.

A list of terms *describes* a document if the document has at least two of the terms. The fidelity
of a label's description is the share of its documents that the list describes, beside the share of
all other documents. The fidelity of a component in a label is the share of the label's documents
that the component's terms describe. Both are counted from documents, and use no model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.model import Array

LEAST_TERMS = 2
"""Terms of a list that a document must have."""
SAID = 0.1
"""A component is said to be in a label if it makes up at least this part of it."""
HOLDS = 0.5
"""What is said of a component holds if its terms describe this part of what is said."""

_LISTS_AT_ONCE = 64  # lists whose documents are counted at a time


@dataclass(frozen=True, eq=False)
class DescribedDocuments:
    """Numbers of documents that lists of terms describe. Those of different parts can be added.

    Attributes
    ----------
    described : ndarray of int of shape (n_labels, n_lists)
        Documents of each label that each list describes.
    described_in_all : ndarray of int of shape (n_lists,)
        Documents with any label, or none, that each list describes.
    of_label : ndarray of int of shape (n_labels,)
        Documents of each label.
    n_docs : int
        All documents.
    """

    described: Array
    described_in_all: Array
    of_label: Array
    n_docs: int

    @classmethod
    def count(cls, X: Any, Y: Any, lists: Sequence[ArrayLike]) -> "DescribedDocuments":
        """Count documents.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_docs, n_terms)
            Documents. A document has a term if its weight is positive.
        Y : {array_like, sparse matrix} of shape (n_docs, n_labels)
            Label indicators; non-zero where a document has a label.
        lists : sequence of arrays of int
            Columns of the terms of each list. Repeated terms count once.
        """
        has, members = _indicators(X), _indicators(Y)
        if has.shape[0] != members.shape[0]:
            raise ValueError(
                f"X has {has.shape[0]} documents, but Y has {members.shape[0]}. Pass the label "
                "indicators of the same documents."
            )
        described, in_all = [np.zeros((members.shape[1], 0), int)], [np.zeros(0, int)]
        for begin in range(0, len(lists), _LISTS_AT_ONCE):
            some = _indicators_of_lists(lists[begin : begin + _LISTS_AT_ONCE], has.shape[1])
            found = (has @ some).toarray() >= LEAST_TERMS
            described.append(np.asarray(members.T @ found.astype(np.int64)))
            in_all.append(found.sum(axis=0))
        return cls(
            np.hstack(described),
            np.concatenate(in_all),
            np.asarray(members.sum(axis=0)).ravel(),
            has.shape[0],
        )

    def __add__(self, other: "DescribedDocuments") -> "DescribedDocuments":
        return DescribedDocuments(
            self.described + other.described,
            self.described_in_all + other.described_in_all,
            self.of_label + other.of_label,
            self.n_docs + other.n_docs,
        )

    @property
    def inside(self) -> Array:
        """Share of a label's documents that a list describes, (n_labels, n_lists)."""
        return _shares(self.described, self.of_label)

    @property
    def elsewhere(self) -> Array:
        """Share of the documents without a label that a list describes, (n_labels, n_lists)."""
        return _shares(self.described_in_all - self.described, self.n_docs - self.of_label)


def label_fidelity(X: Any, Y: Any, terms: Sequence[ArrayLike]) -> tuple[Array, Array]:
    """Compute the share of documents that have at least two of the terms said of their label.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents. A document has a term if its weight is positive.
    Y : {array_like, sparse matrix} of shape (n_docs, n_labels)
        Label indicators; non-zero where a document has a label.
    terms : sequence of arrays of int, of length n_labels
        Columns of the terms that are said of each label.

    Returns
    -------
    inside : ndarray of shape (n_labels,)
        Share of the label's documents; NaN if it has none. Zero if fewer than two terms are said.
    elsewhere : ndarray of shape (n_labels,)
        Share of the documents without the label; NaN if there are none.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 2, 1, 0], [1, 0, 1, 1], [0, 0, 1, 1]]
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> [share.tolist() for share in label_fidelity(X, Y, [[0, 1], [0, 2, 3]])]
    [[1.0, 1.0], [0.0, 0.5]]
    """
    counted = DescribedDocuments.count(X, Y, terms)
    if len(terms) != len(counted.of_label):
        raise ValueError(
            f"there are {len(counted.of_label)} labels, but {len(terms)} lists of terms. Pass one "
            "list for each column of Y; it may be empty."
        )
    return counted.inside.diagonal().copy(), counted.elsewhere.diagonal().copy()


def component_fidelity(X: Any, Y: Any, terms: Sequence[ArrayLike]) -> Array:
    """Compute the share of a label's documents that have at least two of a component's terms.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents. A document has a term if its weight is positive.
    Y : {array_like, sparse matrix} of shape (n_docs, n_labels)
        Label indicators; non-zero where a document has a label.
    terms : sequence of arrays of int, of length K
        Columns of the terms of each component.

    Returns
    -------
    ndarray of shape (n_labels, K)
        NaN for labels without documents.

    See Also
    --------
    share_that_holds : Compare it with the parts of components in labels.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [1, 2, 1, 0], [1, 0, 1, 1], [0, 0, 1, 1]]
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> component_fidelity(X, Y, [[0, 1], [2, 3]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return DescribedDocuments.count(X, Y, terms).inside


def share_that_holds(use: ArrayLike, fidelity: ArrayLike) -> tuple[float, int]:
    """Compute how often documents confirm that a component makes up a tenth of a label, or more.

    Let a component make up the part u of a label. This holds if at least u / 2 of the label's
    documents have two of the component's terms.

    Parameters
    ----------
    use : array_like of shape (n_labels, K), or (n_pairs,)
        Parts of components in labels.
    fidelity : array_like of the same shape
        Shares of the label's documents that have two of the component's terms, as from
        ``component_fidelity``. Pairs that are NaN are left out.

    Returns
    -------
    share : float
        Share of such pairs of label and component for which it holds; NaN if there are none.
    n_said : int
        Number of such pairs.

    Examples
    --------
    >>> share_that_holds([[0.9, 0.1], [0.3, 0.7]], [[0.8, 0.0], [0.2, 0.1]])
    (0.5, 4)
    """
    use, fidelity = np.asarray(use), np.asarray(fidelity)
    said = (use >= SAID) & ~np.isnan(fidelity)
    n_said = int(said.sum())
    holds = fidelity[said] >= HOLDS * use[said]
    return (float(holds.mean()) if n_said else float("nan")), n_said


def _indicators(X: Any) -> sparse.csr_array:
    """Return one where X is positive."""
    rows = sparse.csr_array(X)
    positive = (rows.data > 0).astype(np.int64)
    has = sparse.csr_array((positive, rows.indices, rows.indptr), rows.shape)
    has.eliminate_zeros()
    return has


def _indicators_of_lists(lists: Sequence[ArrayLike], n_terms: int) -> sparse.csc_array:
    """Return one where a list has a term, (n_terms, n_lists)."""
    terms = [np.unique(np.asarray(terms, dtype=np.int64)) for terms in lists]
    number = np.repeat(np.arange(len(terms)), [len(some) for some in terms])
    return sparse.csc_array(
        (np.ones(len(number), np.int64), (np.concatenate(terms), number)), (n_terms, len(terms))
    )


def _shares(counts: Array, of: Array) -> Array:
    """Divide the counts of each label, (n_labels, n_lists), by its documents, (n_labels,)."""
    return np.where(of[:, None] > 0, counts / np.maximum(of[:, None], 1), np.nan)
