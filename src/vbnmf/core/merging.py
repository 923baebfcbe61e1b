"""Merge similar components in the order of their gain in the bound.

Two components with expected counts c_i and c_j of the terms (Sigma_t) are merged to one with the
sum of counts. With q(S) otherwise unchanged, the terms' part of the bound changes by
g(c_i + c_j) − g(c_i) − g(c_j), where

    g(c) = Σ_w [ ln Γ(a_t + c_w) − ln Γ(a_t) ] − ln Γ(W a_t + Σ_w c_w) + ln Γ(W a_t)

is the log marginal likelihood of counts under a symmetric Dirichlet prior. If no document uses both
components, this is the whole change, because coefficients stay the same. The pair with the largest
gain is merged first. Only neighbours are compared, whose distributions overlap most (Bhattacharyya
coefficient).

References
----------
K. A. Heller, Z. Ghahramani (2005). Bayesian hierarchical clustering. Proceedings of the 22nd
International Conference on Machine Learning, 297-304.
"""

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from vbnmf.core.model import Array
from vbnmf.core.rows import mass

_NEIGHBOURS = 8  # of each component, to compare it with
_LEAST = 0.05  # smaller expected counts are left out of comparisons


# negative gain, negative sum of counts, and the pair. Gains of empty components are all zero, so
# the sums decide, and not the order of components.
_Candidate = tuple[float, float, int, int]


@dataclass(frozen=True)
class Merges:
    """A sequence of merges. Merged components get the next numbers."""

    n: int  # number of components before merging
    pairs: list[tuple[int, int]]  # the pairs that are merged to components n, n + 1, …

    def groups(self, n_left: int) -> list[list[int]]:
        """Return the groups of original components when ``n_left`` components are left."""
        members: dict[int, list[int]] = {k: [k] for k in range(self.n)}
        for new, (i, j) in enumerate(self.pairs[: max(self.n - n_left, 0)], start=self.n):
            members[new] = sorted(members.pop(i) + members.pop(j))
        return sorted(members.values())


def merge_order(counts: Array, a_t: float, n_left: int = 1, family: Array | None = None) -> Merges:
    """Find the order in which to merge components until ``n_left`` are left.

    Parameters
    ----------
    counts : array of shape (n_terms, K)
        Expected counts of the terms in each component.
    a_t : float
        Prior shape of the terms.
    n_left : int
        Number of components at which to stop. Components without common terms are merged last.
    family : array of int of shape (K,) or None
        Families of components. Components of different families are merged only after all
        components of each family.
    """
    n_terms, K = counts.shape
    kept = _not_negligible(counts)
    columns = [
        _Column.of(kept.indices[begin:end], kept.data[begin:end], a_t)
        for begin, end in pairwise(kept.indptr.tolist())
    ]
    families = [0] * K if family is None else family.tolist()
    near = _neighbours(kept, min(_NEIGHBOURS, K - 1), np.array(families))
    alive = dict.fromkeys(range(K))
    weights = counts.sum(axis=0, dtype=np.float64).tolist()
    heap: list[_Candidate] = []

    def compare(i: int, others: list[int]) -> None:
        for j, gain in zip(others, _gains(columns, i, others, a_t, n_terms), strict=True):
            heapq.heappush(heap, (-gain, -(weights[i] + weights[j]), i, j))

    for i in range(K):
        compare(i, sorted(j for j in near[i] if j < i))
    pairs: list[tuple[int, int]] = []
    while len(alive) > max(n_left, 1):
        i, j = _next_pair(heap, alive, families)
        new = len(columns)
        families.append(families[i])
        pairs.append((i, j))
        columns.append(columns[i].plus(columns[j], a_t, n_terms))
        weights.append(weights[i] + weights[j])
        del alive[i], alive[j]
        others = sorted(k for k in near[i] | near[j] if k in alive)
        near.append(set(others))
        for k in others:
            near[k].add(new)
        alive[new] = None
        compare(new, others)
    return Merges(K, pairs)


@dataclass(frozen=True)
class _Column:
    """Expected counts of a component that are not negligible."""

    terms: Array
    counts: Array
    logs: Array  # ln Γ(a_t + c) − ln Γ(a_t)
    total: float

    @classmethod
    def of(cls, terms: Array, counts: Array, a_t: float) -> "_Column":
        return cls(terms, counts, gammaln(a_t + counts) - gammaln(a_t), float(counts.sum()))

    def plus(self, other: "_Column", a_t: float, n_terms: int) -> "_Column":
        both = np.zeros(n_terms)
        both[self.terms] = self.counts
        both[other.terms] += other.counts
        terms = np.flatnonzero(both)
        return _Column.of(terms, both[terms], a_t)


def _not_negligible(counts: Array) -> sparse.csr_array:
    """Return the expected counts by component, (K, n_terms), without the smallest."""
    term, component = np.nonzero(counts > _LEAST)
    values = counts[term, component].astype(np.float64)
    return sparse.csr_array((values, (component, term)), counts.shape[::-1])


def _gains(
    columns: list[_Column], i: int, others: list[int], a_t: float, n_terms: int
) -> list[float]:
    """Compute the gain in the bound of merging component i with each of the others."""
    own = np.zeros(n_terms)
    logs = np.zeros(n_terms)
    own[columns[i].terms], logs[columns[i].terms] = columns[i].counts, columns[i].logs

    def of_total(total: float) -> float:
        return float(gammaln(n_terms * a_t) - gammaln(n_terms * a_t + total))

    gains = []
    for j in others:
        other = columns[j]
        mine = own[other.terms]
        common = mine > 0  # other terms are in one component only, before and after
        joint = gammaln(a_t + mine[common] + other.counts[common]) - gammaln(a_t)
        apart = logs[other.terms[common]] + other.logs[common]
        totals = columns[i].total, other.total
        gains.append(
            float((joint - apart).sum()) + of_total(sum(totals)) - sum(map(of_total, totals))
        )
    return gains


def _neighbours(counts: sparse.csr_array, n: int, family: Array) -> list[set[int]]:
    """Find the components of the same family that overlap most, as a symmetric relation."""
    K = counts.shape[0]
    total = np.repeat(np.maximum(mass(counts), np.finfo(float).tiny), np.diff(counts.indptr))
    roots = sparse.csr_array(
        (np.sqrt(counts.data / total), counts.indices, counts.indptr), shape=counts.shape
    )
    overlap = (roots @ roots.T).toarray()  # not by BLAS, which rounds by its number of threads
    overlap[family[:, None] != family] = -1.0
    np.fill_diagonal(overlap, -1.0)
    order = np.argsort(-overlap, axis=1, kind="stable")[:, :n]
    near = [{k for k in row.tolist() if overlap[i, k] >= 0} for i, row in enumerate(order)]
    for k in range(K):
        for other in list(near[k]):
            near[other].add(k)
    return near


def _next_pair(
    heap: list[_Candidate], alive: dict[int, None], families: list[int]
) -> tuple[int, int]:
    """Return the best remaining pair of components.

    If no remaining pair was compared, return the first two, of the same family if possible.
    """
    while heap:
        _gain, _total, i, j = heapq.heappop(heap)
        if i in alive and j in alive:
            return i, j
    last: dict[int, int] = {}
    for k in alive:
        if families[k] in last:
            return last[families[k]], k
        last[families[k]] = k
    first, second, *_ = alive
    return first, second
