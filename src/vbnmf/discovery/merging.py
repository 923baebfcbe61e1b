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
    n_terms, K = counts.shape
    kept = _not_negligible(counts)
    columns = [
        _Column.of(kept.indices[begin:end], kept.data[begin:end], a_t)
        for begin, end in pairwise(kept.indptr.tolist())
    ]
    families = [0] * K if family is None else family.tolist()
    serves = np.ones((1, K), dtype=bool) if scopes is None else scopes
    scope = [frozenset(np.flatnonzero(column).tolist()) for column in serves.T]
    near = _neighbours(kept, min(_NEIGHBOURS, K - 1), np.array(families), scope)
    alive = dict.fromkeys(range(K))
    served = Counter(label for labels in scope for label in labels)
    weights = counts.sum(axis=0, dtype=np.float64).tolist()
    heap: list[_Candidate] = []
    costs: dict[int, float] = {}
    if worth is not None:
        costs = {k: float(worth[k]) - columns[k].complexity(a_t, n_terms) for k in range(K)}
        heap = [(_FREE, cost, -weights[k], k, -1) for k, cost in costs.items()]
        heapq.heapify(heap)

    documents: list[dict[int, float]] = [{} for _ in range(K)]  # gains, by the other component
    for (i, j), gain in (joint or {}).items():
        documents[i][j] = documents[j][i] = gain

    def compare(i: int, others: list[int]) -> None:
        gains, alike = _gains(columns, i, others, a_t, n_terms)
        for j, of_terms, cosine in zip(others, gains.tolist(), alike.tolist(), strict=True):
            gain = of_terms + documents[i].get(j, 0.0)
            kind = _FREE if scope[i] == scope[j] or cosine >= ALIKE else _UNLIKE
            kind = kind if families[i] == families[j] else _OTHER_FAMILY
            heapq.heappush(heap, (kind, -gain, -(weights[i] + weights[j]), i, j))

    for i in range(K):
        compare(i, sorted(j for j in near[i] if j < i))
    pairs: list[tuple[int, int]] = []
    n_unlike = 0
    while len(alive) > 1:
        kind, cost, i, j = _next(heap, alive, families)
        gains = kind == _FREE and j >= 0 and cost < 0 and scope[i] != scope[j]
        if len(alive) <= n_left and not gains:
            break
        if j < 0:
            if any(served[label] < 2 for label in scope[i]):
                continue  # a label keeps its last component
            pairs.append((i, j))
            served.subtract(scope[i])
            del alive[i]
            continue
        n_unlike += kind != _FREE
        new = len(columns)
        documents.append(_added(documents[i], documents[j]))
        for other, gain in documents[new].items():
            documents[other][new] = gain
        families.append(families[i])
        scope.append(scope[i] | scope[j])
        served.subtract(scope[i] & scope[j])
        pairs.append((i, j))
        columns.append(columns[i].plus(columns[j], a_t, n_terms))
        weights.append(weights[i] + weights[j])
        if costs:
            costs[new] = costs[i] + costs[j]
            heapq.heappush(heap, (_FREE, costs[new], -weights[new], new, -1))
        del alive[i], alive[j]
        others = sorted(k for k in near[i] | near[j] if k in alive)
        near.append(set(others))
        for k in others:
            near[k].add(new)
        alive[new] = None
        compare(new, others)
    return Merges(K, pairs, n_unlike)


def _added(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    """Add up two mappings."""
    return {key: one.get(key, 0.0) + other.get(key, 0.0) for key in [*one, *other]}


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


def _gains(
    columns: list[_Column], i: int, others: list[int], a_t: float, n_terms: int
) -> tuple[Array, Array]:
    """Compute the gain in the bound of merging component i with each of the others.

    Returns the gains and the cosines of the counts, (n_others,) each.
    """
    if not others:
        return np.zeros(0), np.zeros(0)
    one, rest = columns[i], [columns[j] for j in others]
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


def _next(
    heap: list[_Candidate], alive: dict[int, None], families: list[int]
) -> tuple[int, float, int, int]:
    """Return kind, cost and the best remaining pair of components; -1 as the second for a drop.

    If no remaining pair was compared, return the first two, of the same family if possible.
    """
    while heap:
        kind, cost, _total, i, j = heapq.heappop(heap)
        if i in alive and (j in alive or j < 0):
            return kind, cost, i, j
    last: dict[int, int] = {}
    for k in alive:
        if families[k] in last:
            return _UNLIKE, np.inf, last[families[k]], k
        last[families[k]] = k
    first, second, *_ = alive
    return _OTHER_FAMILY, np.inf, first, second
