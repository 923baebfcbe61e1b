"""Reduce the number of components: merge two, or drop one, in the order of their cost in the bound.

Two components with expected counts c_i and c_j of the terms (Sigma_t) are merged to one with the
sum of counts. With q(S) otherwise unchanged, the terms' part of the bound changes by
g(c_i + c_j) − g(c_i) − g(c_j), where

    g(c) = Σ_w [ ln Γ(a_t + c_w) − ln Γ(a_t) ] − ln Γ(W a_t + Σ_w c_w) + ln Γ(W a_t)

is the log marginal likelihood of counts under a symmetric Dirichlet prior. If no document uses both
components, this is the whole change, because coefficients stay the same. What documents that use
both gain is computed from the documents (``vbnmf.discovery.moves.gains_of_joint_use``). Only
neighbours are compared, whose distributions overlap most (Bhattacharyya coefficient).

If a component is dropped, its documents are left to the other components. The bound loses at most
what the component is worth to the documents, less its complexity Σ_w c_w ln(c_w / Σ c) − g(c).

Merging two unrelated components of different labels costs the bound least, because the labels keep
their documents apart. But the result would be two topics under one name. So components of different
scopes are merged only if they are alike, and unlike ones only if nothing else is left.

References
----------
K. A. Heller, Z. Ghahramani (2005). Bayesian hierarchical clustering. Proceedings of the 22nd
International Conference on Machine Learning, 297-304.
"""

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from vbnmf.core.model import Array
from vbnmf.core.rows import as_narrow, mass, of_unit_length

ALIKE = 0.6
"""Cosine of expected counts from which on components of different scopes may be merged."""

_NEIGHBOURS = 8  # of each component, to compare it with
_LEAST = 0.05  # smaller expected counts are left out of comparisons

# Kinds of pairs, in the order in which they are merged.
_FREE, _UNLIKE, _OTHER_FAMILY = range(3)
_COMPONENTS_AT_ONCE = 16  # a cache line of single precision
_TINY = np.finfo(float).tiny

# kind, cost, negative sum of counts, and the pair; the second is -1 if the first is dropped. Costs
# of empty components are all zero, so the sums decide, and not the order of components.
_Candidate = tuple[int, float, float, int, int]


@dataclass(frozen=True)
class Merges:
    """A sequence of merges and drops. Merged components get the next numbers."""

    n: int  # number of components before merging
    pairs: list[tuple[int, int]]  # merged to components n, n + 1, …; (k, -1) drops component k
    n_unlike: int = 0  # merges of unlike components of different scopes

    def groups(self, n_left: int | None = None) -> list[list[int]]:
        """Return the groups of original components when ``n_left``, or the last, are left."""
        members: dict[int, list[int]] = {k: [k] for k in range(self.n)}
        new = self.n
        n_steps = len(self.pairs) if n_left is None else max(self.n - n_left, 0)
        for i, j in self.pairs[:n_steps]:
            if j < 0:
                del members[i]
            else:
                members[new] = sorted(members.pop(i) + members.pop(j))
                new += 1
        return sorted(members.values())


def merge_order(
    counts: Array,
    a_t: float,
    n_left: int = 1,
    family: Array | None = None,
    *,
    scopes: Array | None = None,
    worth: Array | None = None,
    joint: Mapping[tuple[int, int], float] | None = None,
) -> Merges:
    """Find the order in which to merge or drop components until ``n_left`` are left.

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
    scopes : array of bool of shape (n_labels, K) or None
        Labels that each component serves. Unlike components of different scopes are merged only if
        nothing else is left. None: all components serve the same labels.
    worth : array of shape (K,) or None
        What the documents lose without each component. None: components are only merged. A label
        keeps at least one component.
    joint : mapping of (i, j), i < j, to float, or None
        What documents that use components i and j gain if these are merged. Pairs that are
        missing gain nothing. Gains of merged components are added.

    With ``scopes``, alike components of different scopes are also merged beyond ``n_left``, as long
    as the bound rises: several labels then share one component.
    """
    left = _Components.of(counts, a_t, family, scopes, worth, joint)
    pairs: list[tuple[int, int]] = []
    n_unlike = 0
    while len(left.alive) > 1:
        kind, cost, i, j = left.best()
        gains = kind == _FREE and j >= 0 and cost < 0 and not left.serve_the_same(i, j)
        if len(left.alive) <= n_left and not gains:
            break
        if j < 0:
            if left.is_last_of_a_label(i):
                continue
            left.drop(i)
        else:
            n_unlike += kind != _FREE
            left.merge(i, j)
        pairs.append((i, j))
    return Merges(counts.shape[1], pairs, n_unlike)


@dataclass(frozen=True)
class _Component:
    """A component before or after merges."""

    column: "_Column"
    weight: float  # Σ_w c_w
    family: int
    labels: frozenset[int]  # that it serves
    near: set[int]  # components that it is compared with; of later merges, too
    joint: dict[int, float]  # what documents that use another one as well gain by a merge
    drop: float | None  # cost of dropping it; None: it is not dropped

    def merged(self, other: "_Component", near: set[int], a_t: float, n_terms: int) -> "_Component":
        """Return what this component and another one are together."""
        keys = [*self.joint, *other.joint]
        return _Component(
            self.column.plus(other.column, a_t, n_terms),
            self.weight + other.weight,
            self.family,
            self.labels | other.labels,
            near,
            {key: self.joint.get(key, 0.0) + other.joint.get(key, 0.0) for key in keys},
            None if self.drop is None or other.drop is None else self.drop + other.drop,
        )


class _Components:
    """All components so far, those that are left, and the candidates for the next step."""

    def __init__(self, components: list[_Component], a_t: float, n_terms: int) -> None:
        self._all, self._a_t, self._n_terms = components, a_t, n_terms
        self.alive = dict.fromkeys(range(len(components)))  # in order
        self._served = Counter(label for one in components for label in one.labels)
        self._heap: list[_Candidate] = []
        for i, one in enumerate(components):
            self._offer(i, [j for j in sorted(one.near) if j < i])

    @classmethod
    def of(
        cls,
        counts: Array,
        a_t: float,
        family: Array | None,
        scopes: Array | None,
        worth: Array | None,
        joint: Mapping[tuple[int, int], float] | None,
    ) -> "_Components":
        n_terms, K = counts.shape
        kept = _not_negligible(counts)
        columns = [
            _Column.of(kept.indices[begin:end], kept.data[begin:end], a_t)
            for begin, end in pairwise(kept.indptr.tolist())
        ]
        weights = counts.sum(axis=0, dtype=np.float64).tolist()
        family = np.zeros(K, dtype=int) if family is None else np.asarray(family)
        serves = np.ones((1, K), dtype=bool) if scopes is None else scopes
        labels = [frozenset(np.flatnonzero(column).tolist()) for column in serves.T]
        near = _neighbours(kept, min(_NEIGHBOURS, K - 1), family, labels)
        drops: list[float | None] = [None] * K
        if worth is not None:
            drops = [float(worth[k]) - columns[k].complexity(a_t, n_terms) for k in range(K)]
        gains: list[dict[int, float]] = [{} for _ in range(K)]
        for (i, j), gain in (joint or {}).items():
            gains[i][j] = gains[j][i] = gain
        of_each = zip(columns, weights, family.tolist(), labels, near, gains, drops, strict=True)
        return cls([_Component(*parts) for parts in of_each], a_t, n_terms)

    def best(self) -> tuple[int, float, int, int]:
        """Return kind, cost and pair of the best candidate; the second of a drop is -1.

        If no remaining pair was compared, return the first two, of the same family if possible.
        """
        while self._heap:
            kind, cost, _total, i, j = heapq.heappop(self._heap)
            if i in self.alive and (j in self.alive or j < 0):
                return kind, cost, i, j
        last: dict[int, int] = {}
        for k in self.alive:
            family = self._all[k].family
            if family in last:
                return _UNLIKE, np.inf, last[family], k
            last[family] = k
        first, second, *_ = self.alive
        return _OTHER_FAMILY, np.inf, first, second

    def serve_the_same(self, i: int, j: int) -> bool:
        """Return whether two components serve the same labels."""
        return self._all[i].labels == self._all[j].labels

    def is_last_of_a_label(self, i: int) -> bool:
        """Return whether a label is served by this component alone."""
        return any(self._served[label] < 2 for label in self._all[i].labels)

    def drop(self, i: int) -> None:
        """Drop a component."""
        self._served.subtract(self._all[i].labels)
        del self.alive[i]

    def merge(self, i: int, j: int) -> None:
        """Merge two components to one with the next number."""
        one, other, new = self._all[i], self._all[j], len(self._all)
        del self.alive[i], self.alive[j]
        near = sorted(k for k in one.near | other.near if k in self.alive)
        both = one.merged(other, set(near), self._a_t, self._n_terms)
        self._all.append(both)
        self.alive[new] = None
        self._served.subtract(one.labels & other.labels)
        for k, gain in both.joint.items():
            self._all[k].joint[new] = gain
        for k in near:
            self._all[k].near.add(new)
        self._offer(new, near)

    def _offer(self, i: int, others: list[int]) -> None:
        """Add a drop of a component, and its merges with others, to the candidates."""
        one = self._all[i]
        if one.drop is not None:
            heapq.heappush(self._heap, (_FREE, one.drop, -one.weight, i, -1))
        rest = [self._all[j] for j in others]
        columns = [other.column for other in rest]
        gains, cosines = _gains(one.column, columns, self._a_t, self._n_terms)
        for j, other, gain, cosine in zip(
            others, rest, gains.tolist(), cosines.tolist(), strict=True
        ):
            kind = _FREE if one.labels == other.labels or cosine >= ALIKE else _UNLIKE
            kind = kind if one.family == other.family else _OTHER_FAMILY
            gain += one.joint.get(j, 0.0)
            heapq.heappush(self._heap, (kind, -gain, -(one.weight + other.weight), i, j))


@dataclass(frozen=True)
class _Column:
    """Expected counts of a component that are not negligible."""

    terms: Array
    counts: Array
    logs: Array  # ln Γ(a_t + c) − ln Γ(a_t)
    total: float
    length: float

    @classmethod
    def of(cls, terms: Array, counts: Array, a_t: float) -> "_Column":
        logs = gammaln(a_t + counts) - gammaln(a_t)
        length = float(np.sqrt(np.square(counts).sum()))
        return cls(terms, counts, logs, float(counts.sum()), length)

    def plus(self, other: "_Column", a_t: float, n_terms: int) -> "_Column":
        both = np.zeros(n_terms)
        both[self.terms] = self.counts
        both[other.terms] += other.counts
        terms = np.flatnonzero(both)
        return _Column.of(terms, both[terms], a_t)

    def complexity(self, a_t: float, n_terms: int) -> float:
        """Compute Σ_w c_w ln(c_w / Σ c) − g(c), which the bound gains without the component."""
        if not self.total:
            return 0.0
        likelihood = float((self.counts * np.log(self.counts / self.total)).sum())
        of_total = gammaln(n_terms * a_t) - gammaln(n_terms * a_t + self.total)
        return likelihood - float(self.logs.sum() + of_total)


def cosines(counts: Array) -> Array:
    """Compute the cosines of the expected counts of all pairs of components, (K, K)."""
    unit = of_unit_length(_not_negligible(counts))
    return np.asarray((unit @ unit.T).toarray())  # of sparse arrays, so without BLAS


def _not_negligible(counts: Array) -> sparse.csr_array:
    """Return the expected counts by component, (K, n_terms), without the smallest."""
    K = counts.shape[1]
    blocks = [slice(k, k + _COMPONENTS_AT_ONCE) for k in range(0, K, _COMPONENTS_AT_ONCE)]
    sizes = [np.count_nonzero(counts[:, at] > _LEAST, axis=0) for at in blocks]
    ends = np.cumsum(np.concatenate([[0], *sizes]))
    values, terms = np.empty(ends[-1]), np.empty(ends[-1], np.int32)
    for at in blocks:  # the places of all at once would be larger than the result
        some = np.ascontiguousarray(counts[:, at].T)
        component, term = np.nonzero(some > _LEAST)
        to = slice(ends[at.start], ends[min(at.stop, K)])
        values[to], terms[to] = some[component, term], term
    return sparse.csr_array((values, terms, as_narrow(ends)), counts.shape[::-1])


def _gains(one: _Column, rest: list[_Column], a_t: float, n_terms: int) -> tuple[Array, Array]:
    """Compute the gain in the bound of merging a component with each of the others.

    Returns the gains and the cosines of the counts, (n_others,) each.
    """
    if not rest:
        return np.zeros(0), np.zeros(0)
    own, logs = np.zeros(n_terms), np.zeros(n_terms)
    own[one.terms], logs[one.terms] = one.counts, one.logs
    terms = np.concatenate([other.terms for other in rest])
    common = np.flatnonzero(own[terms])  # others are in one component only, before and after
    terms = terms[common]
    of_other = np.repeat(np.arange(len(rest)), [len(other.terms) for other in rest])[common]
    counts, apart = (
        np.concatenate(parts)[common]
        for parts in ([other.counts for other in rest], [other.logs for other in rest])
    )
    gained = gammaln(a_t + own[terms] + counts) - gammaln(a_t) - logs[terms] - apart
    totals = np.array([other.total for other in rest])

    def of_total(total: Any) -> Any:
        return gammaln(n_terms * a_t) - gammaln(n_terms * a_t + total)

    of_totals = of_total(one.total + totals) - of_total(one.total) - of_total(totals)
    gains = of_totals + np.bincount(of_other, gained, len(rest))
    inner = np.bincount(of_other, own[terms] * counts, len(rest))
    lengths = one.length * np.array([other.length for other in rest])
    return gains, inner / np.maximum(lengths, _TINY)


def _neighbours(
    counts: sparse.csr_array, n: int, family: Array, scope: list[frozenset[int]]
) -> list[set[int]]:
    """Find the components of the same family that overlap most, as a symmetric relation.

    Each component has n neighbours of its own scope, and n of any.
    """
    K = counts.shape[0]
    total = np.repeat(np.maximum(mass(counts), _TINY), np.diff(counts.indptr))
    roots = sparse.csr_array(
        (np.sqrt(counts.data / total), counts.indices, counts.indptr), shape=counts.shape
    )
    overlap = (roots @ roots.T).toarray()  # not by BLAS, which rounds by its number of threads
    overlap[family[:, None] != family] = -1.0
    np.fill_diagonal(overlap, -1.0)
    number = {labels: at for at, labels in enumerate(dict.fromkeys(scope))}
    of_scope = np.array([number[labels] for labels in scope])
    near: list[set[int]] = []
    for i, row in enumerate(overlap):
        order = np.argsort(-row, kind="stable")
        order = order[row[order] >= 0]
        same = order[of_scope[order] == of_scope[i]]
        near.append({*order[:n].tolist(), *same[:n].tolist()})
    for k in range(K):
        for other in list(near[k]):
            near[other].add(k)
    return near
