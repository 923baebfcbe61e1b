"""Measure how far labels agree on a component: whether they take the same terms from it.

With s_dwk, the part of x_dw that component k explains (``vbnmf.core.explained``), the sum over the
documents of a label shows which terms the label takes from the component. Two labels *agree* on a
component if they take the same terms:

    agreement(l, m) = cos(s_l, s_m) / mean of cos(s_A, s_B)

where s_l is the sum over the documents of l, and A, B are random halves of the documents of l and
m, as large as l and m. Few documents of one topic differ by chance, and so do their halves, so the
ratio is near one if the labels mean the same, whatever their sizes. The mean over halves is
sampled (``sampled_agreement``), or computed from sums (``LabelTerms.agreement``). Sums of different
parts of a corpus can be added.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.explained import coefficients, ratios
from vbnmf.core.model import Array
from vbnmf.core.rows import mass, mass_of_squares, parts
from vbnmf.shards.shard import cut

_SHARES_AT_ONCE = 1 << 18  # unless one label has more
_LEAST_DOCS = 64  # documents that are fitted together, if label sets are rarer
_LEAST = 1e-12  # cosine of halves, at least
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class LabelTerms:
    """What the documents of each label take from one component.

    Those of different parts of a corpus can be added.

    Attributes
    ----------
    sums : csr_array of shape (n_labels, n_terms)
        Sums of s_dwk over the documents of each label.
    squares : ndarray of shape (n_labels, 2)
        Sums over the documents of each label of |s_d|², and of the square of Σ_w s_dwk.
    n_docs : ndarray of shape (n_labels,)
        Numbers of documents of each label.
    """

    sums: sparse.csr_array
    squares: Array
    n_docs: Array

    @classmethod
    def of(
        cls, shares: sparse.csr_array, label: Array, n_labels: int, weight: Array | None = None
    ) -> "LabelTerms":
        """Sum the shares of documents by label.

        Parameters
        ----------
        shares : csr_array of shape (n_docs, n_terms)
            What the component explains of each term of each document, s_dwk.
        label : ndarray of int of shape (n_docs,)
            Code of the label of each document.
        n_labels : int
            Number of labels.
        weight : ndarray of shape (n_docs,) or None
            Sample weights: how many documents each document counts as. None: one.
        """
        n = len(label)
        weight = np.ones(n) if weight is None else weight
        # in 32 bits, so that the product does not copy the indices of the shares
        where = (label.astype(np.int32), np.arange(n, dtype=np.int32))
        members = sparse.csr_array((weight, where), shape=(n_labels, n))
        squares = np.column_stack([mass_of_squares(shares), mass(shares) ** 2])
        return cls(
            sums=sparse.csr_array(members @ shares),
            squares=members @ squares,
            n_docs=np.bincount(label, weight, minlength=n_labels),
        )

    def __add__(self, other: "LabelTerms") -> "LabelTerms":
        return LabelTerms(
            sparse.csr_array(self.sums + other.sums),
            self.squares + other.squares,
            self.n_docs + other.n_docs,
        )

    def agreement(self, labels: Array | None = None) -> Array:
        """Compute the agreement of all pairs of labels, or of some labels, (n, n).

        Halves A and B are not sampled. Instead, the cosine of the means of s_A · s_B, |s_A|² and
        |s_B|² over all halves is computed from the sums. It is divided by the same quotient for
        Σ_w s_dwk, because halves of unequal weight are not further apart by direction. The result
        is near the mean of cosines: within 0.01 in labels of a hundred documents.

        Returns
        -------
        ndarray of shape (n, n)
            Symmetric; one on the diagonal. NaN for labels that take nothing from the component.
        """
        if labels is not None:
            return LabelTerms(
                self.sums[labels], self.squares[labels], self.n_docs[labels]
            ).agreement()
        found = np.full((len(self.n_docs),) * 2, np.nan)
        taking = np.flatnonzero(mass(self.sums) > 0)
        if len(taking):
            some = LabelTerms(self.sums[taking], self.squares[taking], self.n_docs[taking])
            found[np.ix_(taking, taking)] = some._of_all()
        return found

    def _of_all(self) -> Array:
        """Compute the agreement of labels that all take something from the component."""
        G = (self.sums @ self.sums.T).toarray()  # of sparse arrays, so without BLAS
        totals = mass(self.sums)
        halves = self._halves(G, self.squares[:, 0])
        halves /= np.maximum(self._halves(totals[:, None] * totals, self.squares[:, 1]), _LEAST)
        own = G.diagonal()
        length = np.sqrt(np.maximum(own[:, None] * own, _TINY))
        found = G / (length * np.clip(halves, _LEAST, 1.0))
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    def _halves(self, G: Array, squares: Array) -> Array:
        """Compute mean(a · b) / √(mean |a|² mean |b|²) over all halves of each pair of labels.

        ``G`` has the inner products of the sums of labels, and ``squares`` the sums of squares of
        documents.
        """
        n_a, n_b = np.broadcast_arrays(self.n_docs[:, None], self.n_docs)
        n = n_a + n_b
        own, squares = G.diagonal(), squares[:, None] + squares
        # mean of s_d · s_e over pairs d ≠ e of the documents of both labels
        of_pair = np.maximum(own[:, None] + own + 2 * G - squares, 0) / np.maximum(n * (n - 1), 1)
        of_one = squares / np.maximum(n, 1)
        means = [size * of_one + size * (size - 1) * of_pair for size in (n_a, n_b)]
        return np.asarray(n_a * n_b * of_pair / np.sqrt(np.maximum(means[0] * means[1], _TINY)))


def sampled_agreement(
    shares: sparse.csr_array, is_second: Array, n_halves: int, rng: np.random.Generator
) -> float:
    """Compute the agreement of two labels on one component, with random halves.

    Parameters
    ----------
    shares : csr_array of shape (n_docs, n_terms)
        What the component explains of each term of the documents of both labels, s_dwk.
    is_second : ndarray of bool of shape (n_docs,)
        Whether a document has the second label.
    n_halves : int
        Number of random halves.
    rng : numpy.random.Generator
        Draws the halves.

    Returns
    -------
    float
        NaN if one of the labels takes nothing from the component.
    """
    sides = [is_second, *(rng.permutation(is_second) for _ in range(n_halves))]
    S = np.column_stack(sides).astype(np.float64)
    first, second = shares.T @ (1 - S), shares.T @ S
    lengths = np.sqrt(np.square(first).sum(axis=0) * np.square(second).sum(axis=0))
    if lengths[0] <= 0:
        return float("nan")
    cosines = (first * second).sum(axis=0) / np.maximum(lengths, _TINY)
    return float(cosines[0] / max(cosines[1:].mean(), _LEAST))


@dataclass(frozen=True, eq=False)
class Explained:
    """Documents with known labels, and what components explain of them inside their scopes.

    Attributes
    ----------
    ratio : csr_array of shape (n_docs, n_terms)
        x_dw / Σ_k V_dk T_wk.
    V : csc_array or ndarray of shape (n_docs, K)
        Coefficients of shared components.
    T : ndarray or MeanTerms of shape (n_terms, K)
        Components.
    Y : csr_array of shape (n_docs, n_labels)
        Label indicators.
    mask : ndarray of bool of shape (n_labels, K)
        Scopes.
    weight : ndarray of shape (n_docs,)
        Sample weights.
    """

    ratio: sparse.csr_array
    V: sparse.csc_array | Array
    T: "Array | MeanTerms"
    Y: sparse.csr_array
    mask: Array
    weight: Array

    @classmethod
    def of(cls, X: sparse.csr_array, Y: sparse.csr_array, T: Array, mask: Array) -> "Explained":
        """Fit coefficients inside the scopes by maximum likelihood, with fixed components.

        Documents with the same labels are fitted together, with the components in their scope
        only. Parameters are as the attributes, and X of shape (n_docs, n_terms).
        """
        T = T / np.maximum(T.sum(axis=0), _TINY)
        data = np.zeros(X.nnz)
        parts: list[tuple[Array, ...]] = [(np.empty(0), np.empty(0, int), np.empty(0, int))]
        for rows in label_sets(Y):
            in_scope = (Y[rows] @ mask.astype(np.float64)) > 0
            columns = np.flatnonzero(in_scope.any(axis=0))
            documents, some = X[rows], np.ascontiguousarray(T[:, columns])
            V = coefficients(documents, some, in_scope[:, columns])
            data[entries(X, rows)] = ratios(documents, V, some).data
            d, k = np.nonzero(V)
            parts.append((V[d, k], rows[d], columns[k]))
        value, d, k = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(
            sparse.csr_array((data, X.indices, X.indptr), shape=X.shape),
            sparse.csc_array((value, (d, k)), shape=(X.shape[0], mask.shape[1])),
            T,
            Y,
            mask,
            np.ones(X.shape[0]),
        )

    @cached_property
    def _by_label(self) -> sparse.csc_array:
        return sparse.csc_array(self.Y)

    @cached_property
    def _only_label(self) -> Array | None:
        """Label of each document, if all documents have exactly one."""
        return self.Y.indices if (np.diff(self.Y.indptr) == 1).all() else None

    def shares(self, k: int) -> tuple[sparse.csr_array, Array, Array]:
        """Return what component k explains of documents with exactly one label of its scope.

        Returns
        -------
        shares : csr_array of shape (n_docs, n_terms)
            s_dwk of these documents.
        label : ndarray of int of shape (n_docs,)
            Their labels in the scope.
        rows : ndarray of int of shape (n_docs,)
            Their rows in ``ratio``.
        """
        rows, label = self._of_one_label(k)
        return self._shares_of(k, rows), label, rows

    def label_terms(self, k: int) -> LabelTerms:
        """Return what each label takes from component k.

        Few labels are looked at together, so that memory holds few shares.
        """
        rows, label = self._of_one_label(k)
        sizes = np.bincount(label, np.diff(self.ratio.indptr)[rows], len(self.mask))
        found = []
        for begin, end in pairwise(cut(sizes.astype(np.int64), _SHARES_AT_ONCE).tolist()):
            at = np.flatnonzero((label >= begin) & (label < end))
            shares, weight = self._shares_of(k, rows[at]), self.weight[rows[at]]
            found.append(LabelTerms.of(shares, label[at] - begin, end - begin, weight))
        return LabelTerms(
            sparse.vstack([terms.sums for terms in found], format="csr"),
            np.concatenate([terms.squares for terms in found]),
            np.concatenate([terms.n_docs for terms in found]),
        )

    def coefficients(self, k: int) -> Array:
        """Return the coefficients of component k, (n_docs,) in float64."""
        if isinstance(self.V, np.ndarray):
            return self.V[:, k].astype(np.float64)
        out, at = np.zeros(len(self.weight)), slice(*self.V.indptr[k : k + 2])
        out[self.V.indices[at]] = self.V.data[at]
        return out

    def _of_one_label(self, k: int) -> tuple[Array, Array]:
        """Return the documents with exactly one label of the scope of k, and their labels."""
        if self._only_label is None:
            labels = np.flatnonzero(self.mask[:, k])
            members = self._by_label[:, labels].tocsr()
            rows = np.flatnonzero(np.diff(members.indptr) == 1)
            return rows, labels[members[rows].indices]
        rows = np.flatnonzero(self.mask[self._only_label, k])
        return rows, self._only_label[rows]

    def _shares_of(self, k: int, rows: Array) -> sparse.csr_array:
        """Return what component k explains of some documents, (n, n_terms)."""
        found, of_documents = self.ratio[rows], self.coefficients(k)[rows]
        for at, part in parts(found):
            v = np.repeat(of_documents[at], np.diff(part.indptr))
            begin, end = found.indptr[[at.start, at.stop]]
            found.data[begin:end] *= v * self.T[part.indices, k]
        return found


@dataclass(frozen=True, eq=False)
class MeanTerms:
    """Expected terms of components, (n_terms, K), computed from counts where they are looked up."""

    counts: Array  # (n_terms, K)
    a_t: Any  # in the type of the counts, as are the scales
    scale: Array  # (K,)

    def __getitem__(self, at: tuple[Any, Any]) -> Array:
        return np.asarray((self.counts[at] + self.a_t) * self.scale[at[1]])


def label_sets(Y: sparse.csr_array) -> Iterator[Array]:
    """Yield the rows of documents with the same labels; rare label sets are taken together."""
    together: list[Array] = []
    for rows in _equal_rows(Y):
        together.append(rows)
        if sum(map(len, together)) >= _LEAST_DOCS:
            yield np.concatenate(together)
            together = []
    if together:
        yield np.concatenate(together)


def _equal_rows(Y: sparse.csr_array) -> list[Array]:
    """Return the rows of each set of labels, in the order of the sorted sets."""
    if (np.diff(Y.indptr) == 1).all():
        order = np.argsort(Y.indices, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(Y.indices[order])) + 1)
    sets: dict[tuple[int, ...], list[int]] = {}
    for d in range(Y.shape[0]):
        labels = tuple(sorted(Y.indices[Y.indptr[d] : Y.indptr[d + 1]].tolist()))
        sets.setdefault(labels, []).append(d)
    return [np.array(sets[labels]) for labels in sorted(sets)]


def entries(X: sparse.csr_array, rows: Array) -> Array:
    """Return the places in ``X.data`` of the entries of some rows, in their order."""
    lengths = X.indptr[rows + 1] - X.indptr[rows]
    before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    return np.asarray(np.repeat(X.indptr[rows] - before, lengths) + np.arange(lengths.sum()))


def shared(mask: Any) -> Array:
    """Return the components that two or more labels share, but not all, as sorted numbers."""
    size = np.asarray(mask).sum(axis=0)
    return np.flatnonzero((size > 1) & (size < len(mask)))
