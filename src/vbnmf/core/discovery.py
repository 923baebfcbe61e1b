"""Initialise components and their scopes: many of single labels first, then fewer shared ones.

1. Cluster the documents of each label. Each cluster initialises a component whose scope is that
   label. Run a few sweeps.
2. Try a *background*, a component that all labels share. Add a component for each group of a label
   tree.
3. Merge similar components down to the requested number, or to the number with the best bound. The
   scope of a merged component is the union of the scopes. With a label tree, components of
   different top groups are merged last.
4. Split shared components by label, drop labels that hardly use them, and merge again, as long as
   the bound increases.

Each step makes a *draft*, an initial state of a fit. Drafts are compared by the bound after the
same few sweeps. This decides the number of clusters, the background, the number of components and
the scopes. The search is deterministic unless ``rng`` is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.clusters import spherical_clusters
from vbnmf.core.drafts import (
    Draft,
    Plan,
    begin,
    families,
    in_order,
    merged,
    narrowed,
    split_by_label,
    spread,
    with_groups,
)
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.merging import merge_order
from vbnmf.core.model import Array, ClusteringEngine, Labels
from vbnmf.core.pages import release, zeros
from vbnmf.core.rows import is_empty, mass
from vbnmf.core.starts import Knobs

WIDE = 2  # initial components per requested component, at least
OF_A_LABEL = (3, 7)  # initial components per label, at least; the bound chooses between the two
APART = 1.5  # factor between two initial numbers from which both are tried
DOCUMENTS_OF_A_COMPONENT = 5  # documents per initial component of a label, at least
LEAST_CLUSTERS = 24  # initial components if their number is "auto", at least
MOST_OF_A_LABEL = 3  # components per label if their number is "auto", at most
MOST_LABELS = 600  # labels that get initial components of their own, at most
ROUNDS = 2  # rounds of splitting and merging again, at most
SWEEPS = (10, 20)  # sweeps before the bound of a draft is computed: least and most
NONZEROS_SWEPT = 5_000_000  # non-zeros times sweeps that a draft may take beyond the least
SMOOTHING = 0.2  # weight of the label's average in the terms of a cluster
_ROWS_AT_ONCE = 1 << 10  # rows of a product that are held in double precision
_TINY = np.finfo(float).tiny

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Found:
    """The best draft, and the bounds that decided its number of components."""

    draft: Draft
    tried: dict[int, float]  # bound by number of components; empty if the number was given


def discover(
    engine: ClusteringEngine,
    labels: Labels | None,
    knobs: Knobs,
    plan: Plan,
    dtype: np.dtype[Any],
    rng: np.random.Generator | None,
    watch: Watch = lambda stage, sweep, of: None,
) -> Found:
    """Find the best draft for documents whose labels are all known, or that have no labels.

    ``watch(stage, sweep, of)`` is called after each sweep.
    """
    sweeps = int(np.clip(NONZEROS_SWEPT // max(engine.nnz, 1), *SWEEPS))
    explorer = _Explorer(engine, labels, knobs, dtype, watch, sweeps)
    best: Found | None = None
    for first in _first_drafts(explorer, plan, rng):
        for draft, n_kept in _wide_drafts(explorer, plan, first):
            found = _merged_best(explorer, draft, plan, n_kept)
            if best is None or found.draft.bound > best.draft.bound:
                best = found
            del draft, found  # before the next ones are made
    assert best is not None
    may_split = plan.scoped and len(explorer.n_docs) <= MOST_LABELS
    for _ in range(ROUNDS if may_split else 0):
        again = _merged_again(explorer, best.draft, plan)
        if again is None or again.bound <= best.draft.bound:
            break
        best = replace(best, draft=again)
    return replace(best, draft=in_order(best.draft))


@dataclass(frozen=True)
class _Explorer:
    """Data and settings of all steps."""

    engine: ClusteringEngine
    labels: Labels | None
    knobs: Knobs
    dtype: np.dtype[Any]
    watch: Watch
    sweeps: int

    @property
    def a_t(self) -> float:
        return self.knobs.a_t or starts.FIRST_TERM_SHAPE

    @property
    def n_docs(self) -> Array:
        """Documents of each label, (n_labels,)."""
        n_docs = self.engine.totals.n_docs
        return n_docs if self.labels is None else self.labels.documents(n_docs)

    @cached_property
    def label_mass(self) -> Array:
        """Weight of the documents of each label, (n_labels,)."""
        of_group = np.asarray(self.engine.group_term_sums().sum(axis=1)).ravel()
        return of_group if self.labels is None else self.labels.documents(of_group)

    def settle(self, draft: Draft, stage: str) -> Draft:
        """Run a few sweeps from a draft, and return the result as a draft with its bound."""
        release()
        state = begin(self.engine, draft, self.knobs, self.labels, self.dtype)
        release()
        schedule = Schedule(self.sweeps, tol=0.0, burn_in=0, bound_every=self.sweeps)
        result = fit(
            self.engine,
            state,
            self.knobs,
            schedule,
            lambda iteration, bound, rise: self.watch(stage, iteration, self.sweeps),
        )
        self.engine.rest()
        terms, bound, a_t = result.state.terms, result.bound, result.state.prior.a_t
        portions = spread(result.stats.label_sums * terms.E_sums, draft.mask)
        shapes = terms.shape
        del state, result, terms  # other large arrays
        counts = np.ascontiguousarray(shapes[:, : draft.K])  # without padding
        np.subtract(counts, np.float32(a_t), out=counts)
        np.maximum(counts, 0, out=counts)
        return replace(draft, counts=counts, portions=portions, bound=bound)


def starting_counts(n_docs: Array, plan: Plan) -> list[Array]:
    """Return the candidate numbers of initial components of each label, (n_labels,) each.

    ``n_docs`` are the documents of each label, (n_labels,). Each label gets one component or more.
    """
    n_docs = np.round(n_docs, 6)  # rounding errors of weights must not break ties
    n_labels = len(n_docs)
    most = np.maximum(n_docs // DOCUMENTS_OF_A_COMPONENT, 1)
    least = LEAST_CLUSTERS if plan.n_components is None else WIDE * plan.n_components
    few, many = (max(least, each * n_labels) for each in OF_A_LABEL)
    totals = (few, many) if many >= APART * few else (few,)
    choices = {tuple(starts.allotted(n_docs, total, most).tolist()) for total in totals}
    if plan.n_components is not None:  # with few documents, still the requested number
        enough = starts.allotted(n_docs, plan.n_components)
        choices = {tuple(np.maximum(c, enough if sum(c) < sum(enough) else 1)) for c in choices}
    return [np.array(counts) for counts in sorted(choices)]


def most_initial(plan: Plan, n_labels: int) -> int:
    """Return the largest number of initial components that the search may try."""
    least = LEAST_CLUSTERS if plan.n_components is None else WIDE * plan.n_components
    return max(least, OF_A_LABEL[-1] * n_labels)


def _first_drafts(
    explorer: _Explorer, plan: Plan, rng: np.random.Generator | None
) -> Iterator[Draft]:
    """Yield drafts with components of single labels, or of similar labels if labels are many."""
    if len(explorer.n_docs) > MOST_LABELS:
        draft = _of_alike_labels(explorer, MOST_LABELS, rng)
        if (plan.n_components or 1) <= draft.K:
            yield draft
            return
    for counts in starting_counts(explorer.n_docs, plan):
        yield _of_single_labels(explorer, counts, rng)


def _wide_drafts(explorer: _Explorer, plan: Plan, first: Draft) -> Iterator[tuple[Draft, int]]:
    """Yield the first draft without and with a background, and the number of fixed components.

    Fixed components, the background and those of groups, come first and are not merged.
    """
    own = explorer.settle(first, "components of single labels")
    everyone = np.ones((1, len(own.mask)), dtype=bool)
    for background in (False, True) if plan.background else (False,):
        groups = np.vstack([everyone, plan.groups]) if background else plan.groups
        if not len(groups):
            yield own, 0
            continue
        draft = with_groups(own, explorer.label_mass, groups, background=background)
        if background == plan.background:
            own.let_go()
        stage = "a background" if background else "groups of labels"
        yield explorer.settle(draft, stage), len(groups)


def _merged_best(explorer: _Explorer, draft: Draft, plan: Plan, n_kept: int) -> Found:
    """Merge components down to the requested number, or to the number with the best bound."""
    n_left = 1 if plan.n_components is None else plan.n_components - n_kept
    may_merge = families(draft, plan, n_kept)
    merges = merge_order(draft.counts[:, n_kept:], explorer.a_t, n_left, may_merge)
    best: Draft | None = None
    bounds: dict[int, float] = {}

    def bound(n: int) -> float:
        nonlocal best
        if n not in bounds:
            fewer = merged(draft, merges.groups(n - n_kept), n_kept, plan)
            tried = explorer.settle(fewer, f"{n} components")
            bounds[n] = tried.bound
            if best is None or tried.bound > best.bound:
                best = tried
        return bounds[n]

    if plan.n_components is not None:
        bound(plan.n_components)
    else:
        most = max(LEAST_CLUSTERS, MOST_OF_A_LABEL * len(draft.mask))
        _search(bound, n_kept + 1, min(n_kept + merges.n, most))
    assert best is not None
    return Found(best, bounds if plan.n_components is None else {})


def _search(bound: Callable[[int], float], least: int, most: int) -> None:
    """Search the number of components with the best bound: on a coarse grid, then on finer ones."""
    grid = np.unique(np.round(np.geomspace(least, most, 7)).astype(int)).tolist()
    best = max(grid, key=bound)
    step = max((abs(n - best) for n in grid[max(grid.index(best) - 1, 0) :][:3]), default=1)
    while step > 1:
        step = (step + 1) // 2
        best = max((n for n in (best, best - step, best + step) if least <= n <= most), key=bound)


def _of_single_labels(explorer: _Explorer, counts: Array, rng: np.random.Generator | None) -> Draft:
    """Make a draft from ``counts`` clusters of the documents of each label."""
    n_docs, labels = explorer.n_docs, explorer.labels
    known = Labels.one_each(n_docs).known if labels is None else labels.known
    sums = explorer.engine.cluster_term_sums(known, counts, rng)
    owner = np.repeat(np.arange(len(n_docs)), counts)
    belongs = sparse.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))))
    of_label = _of_labels(belongs @ sums, explorer.engine.totals.term_sums)
    sums = _without_empty(sums, of_label, owner, counts, rng or np.random.default_rng(0))
    totals = mass(sums)
    parts = totals / np.maximum(mass(of_label)[owner], _TINY)
    mixing = sparse.vstack(
        [sparse.eye_array(len(owner)) * (1 - SMOOTHING), belongs * SMOOTHING * parts]
    )
    both = sparse.vstack([sums, of_label])
    del sums, of_label  # large
    smoothed = _dense_product(both.T.tocsr(), mixing.tocsr(), explorer.dtype)
    mask = owner == np.arange(len(n_docs))[:, None]
    return Draft(smoothed, spread(mask * totals, mask), mask)


def _of_alike_labels(explorer: _Explorer, n: int, rng: np.random.Generator | None) -> Draft:
    """Make a draft from at most ``n`` clusters of labels; each is the scope of a component."""
    assert explorer.labels is not None
    known = explorer.labels.known
    sums = sparse.csr_array(known.T @ explorer.engine.group_term_sums()[: known.shape[0]])
    _, cluster = np.unique(spherical_clusters(sums, explorer.n_docs, n, rng), return_inverse=True)
    mask = cluster[:, None] == np.arange(cluster.max() + 1)
    belongs = sparse.csr_array(mask, dtype=np.float64)
    counts = _dense_product(sparse.csr_array(sums.T), belongs, explorer.dtype)
    return Draft(counts, spread(mask * mass(sums)[:, None], mask), mask)


def _dense_product(A: sparse.csr_array, B: sparse.csr_array, dtype: np.dtype[Any]) -> Array:
    """Compute A @ B as a dense array, without a sparse array of the same size."""
    out = zeros((A.shape[0], B.shape[1]), dtype)
    for start in range(0, len(out), _ROWS_AT_ONCE):
        at = slice(start, start + _ROWS_AT_ONCE)
        out[at] = (A[at] @ B).toarray()
    return out


def _of_labels(sums: sparse.csr_array, term_sums: Array) -> sparse.csr_array:
    """Return the terms of each label, (n_labels, n_terms); of all documents if it has none."""
    empty = sparse.csr_array(is_empty(sums)[:, None] * 1e-3)
    return sparse.csr_array(sums + empty @ sparse.csr_array(term_sums[None]))


def _without_empty(
    sums: sparse.csr_array,
    of_label: sparse.csr_array,
    owner: Array,
    counts: Array,
    rng: np.random.Generator,
) -> sparse.csr_array:
    """Initialise components without documents with a noisy part of their label's terms."""
    empty = np.flatnonzero(is_empty(sums))
    noisy = of_label[owner[empty]]
    noisy.data *= rng.standard_exponential(noisy.nnz)
    noisy.data /= 10.0 * np.repeat(counts[owner[empty]], np.diff(noisy.indptr))
    into = sparse.csr_array(
        (np.ones(len(empty)), (empty, np.arange(len(empty)))), (len(owner), len(empty))
    )
    return sparse.csr_array(sums + into @ noisy)


def _merged_again(explorer: _Explorer, draft: Draft, plan: Plan) -> Draft | None:
    """Split shared components by label and merge them again.

    This corrects early merges, and removes labels from the scopes of components that they hardly
    use. Return None if no component is shared.
    """
    n_kept = len(plan.groups) + (draft.background is not None)
    split = split_by_label(narrowed(draft, plan) or draft, explorer.label_mass, n_kept)
    if split.K == draft.K:
        return None
    split = explorer.settle(split, "shared components, split by label")
    may_merge = families(split, plan, n_kept)
    merges = merge_order(split.counts[:, n_kept:], explorer.a_t, draft.K - n_kept, may_merge)
    again = merged(split, merges.groups(draft.K - n_kept), n_kept, plan)
    split.let_go()
    return explorer.settle(again, "merged again")
