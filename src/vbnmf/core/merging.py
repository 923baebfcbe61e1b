"""Merge components that say the same: which pairs, in which order, and what the bound says of it.

Two components with expected counts c_i and c_j of the terms (Sigma_t) become one with their sum.
With q(S) otherwise as it was, the terms' part of the bound rises by
g(c_i + c_j) − g(c_i) − g(c_j), where

    g(c) = Σ_w [ ln Γ(a_t + c_w) − ln Γ(a_t) ] − ln Γ(W a_t + Σ_w c_w) + ln Γ(W a_t)

is the log marginal likelihood of counts under a symmetric Dirichlet prior. For components that no
document uses together that is all: their coefficients do not change. The pair that gains most, or
loses least, is merged first (Heller & Ghahramani, 2005, cluster by the same comparison).

Only pairs of neighbours are compared: those whose distributions overlap most (Bhattacharyya).
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


@dataclass(frozen=True)
class Merges:
    """An order of merges: components are numbered on from those at the beginning."""

    n: int  # components at the beginning
    pairs: list[tuple[int, int]]  # which two become component n, n + 1, …

    def groups(self, n_left: int) -> list[list[int]]:
        """Which of the first components are one when ``n_left`` are left, or as few as can be."""
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
        Stop when so many are left. Components without common terms merge last.
    family : array of int, shape (K,), or None
        Components of different families merge only when all of each family have become one.
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
    heap: list[tuple[float, int, int]] = []

    def compare(i: int, others: list[int]) -> None:
        for j, gain in zip(others, _gains(columns, i, others, a_t, n_terms), strict=True):
            heapq.heappush(heap, (-gain, i, j))

    for i in range(K):
        compare(i, sorted(j for j in near[i] if j < i))
    pairs: list[tuple[int, int]] = []
    while len(alive) > max(n_left, 1):
        i, j = _next_pair(heap, alive, families)
        new = len(columns)
        families.append(families[i])
        pairs.append((i, j))
        columns.append(columns[i].plus(columns[j], a_t, n_terms))
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
    """A component's expected counts where they are not negligible."""

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
    """Expected counts by component, (K, n_terms), without the smallest."""
    term, component = np.nonzero(counts > _LEAST)
    values = counts[term, component].astype(np.float64)
    return sparse.csr_array((values, (component, term)), counts.shape[::-1])


def _gains(
    columns: list[_Column], i: int, others: list[int], a_t: float, n_terms: int
) -> list[float]:
    """What the bound gains if component i is merged with each of the others."""
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
    """The components of the same family that overlap most with each, both ways."""
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
    heap: list[tuple[float, int, int]], alive: dict[int, None], families: list[int]
) -> tuple[int, int]:
    """The best pair of components that are still there; where none was compared, the first two.

    These are of one family, if there are two of one.
    """
    while heap:
        _gain, i, j = heapq.heappop(heap)
        if i in alive and j in alive:
            return i, j
    last: dict[int, int] = {}
    for k in alive:
        if families[k] in last:
            return last[families[k]], k
        last[families[k]] = k
    first, second, *_ = alive
    return first, second
