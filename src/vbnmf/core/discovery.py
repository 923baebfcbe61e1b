"""Find components and their scopes: many of single labels first, then fewer that labels share.

1. The documents of each label are clustered, and each cluster begins a component whose scope is
   that label. A few sweeps let them settle.
2. A *background* that all labels share joins them, or does not; so does a component for each group
   of a label tree.
3. Components that say the same are merged until as many are left as were asked for, or as the bound
   says. The scope of a merged component is the union of the scopes, or the least group of the label
   tree that holds both.
4. Shared components are split by label, without labels that hardly use them, and merged again, as
   long as the bound rises.

Each step makes a *draft*, which says where a fit begins. Drafts are judged by the bound after the
same few sweeps: how many clusters to begin with, whether there is a background, how many components
there are, which scopes are narrower. Nothing here is random unless ``rng`` is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.merging import merge_order
from vbnmf.core.model import Array, Engine, Labels, Scopes, State
from vbnmf.core.starts import Knobs

WIDE = 2  # times as many components at first as are asked for,
OF_A_LABEL = (3, 7)  # but as many as this for each label, whichever the bound prefers,
APART = 1.5  # times as many are worth a second try
DOCUMENTS_OF_A_COMPONENT = 5  # as long as a label has so many documents for each
LEAST_CLUSTERS = 24  # at first, where the number of components is to be found,
MOST_OF_A_LABEL = 3  # which is at most so many for each label, or as many as these clusters

ROUNDS = 2  # of splitting and merging again, at most
SWEEPS = 15  # to judge a draft by
BACKGROUND_PART = 0.25  # of a document's weight begins on the background and on each group,
_MOST_SHARED = 0.5  # but no more than this on all of them
SMOOTHING = 0.2  # part of a cluster's terms that begins as the label's average
LEAST_USE = 0.01  # of a label's weight: a component with less is not for that label
OUTSIDE_PART = 0.1  # of the average coefficient is what the rate outside a scope allows for
_LEAST_COUNT = 1.0  # what says less than one occurrence of a term widens no scope
_EVEN_PART = 0.05  # of a label's weight is spread evenly over its components at each step
_TINY = np.finfo(float).tiny

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Draft:
    """Where a fit begins: what each component says, and which labels use it how much."""

    counts: Array  # (n_terms, K): expected counts of the terms, with ``prior_in`` added
    portions: Array  # (n_labels, K): parts of a label's weight; rows sum to one
    mask: Array  # (n_labels, K) of bool: scopes
    background: int | None = None  # which component began as the background
    bound: float = -np.inf  # after some sweeps
    prior_in: float = 0.0  # what the counts hold of the prior shape

    @property
    def K(self) -> int:
        """Number of components."""
        return self.counts.shape[1]


@dataclass(frozen=True)
class Plan:
    """What is asked for.

    ``groups``, (n_groups, n_labels) of bool, are the inner nodes of a label tree, without the root.
    """

    n_components: int | None  # None: as many as the bound says
    groups: Array
    background: bool  # whether to try one
    scoped: bool = True  # False: every component may serve every label in the end


@dataclass(frozen=True)
class Found:
    """A draft, and why it has as many components as it has."""

    draft: Draft
    tried: dict[int, float]  # the bound by number of components, where that was searched for


def begin(
    engine: Engine, draft: Draft, knobs: Knobs, labels: Labels | None, dtype: np.dtype[Any]
) -> State:
    """Bring the documents to where the draft says, and return the state that goes with it."""
    a_t = knobs.a_t or starts.FIRST_TERM_SHAPE
    shapes = engine.kernel.zeros(len(draft.counts), draft.K, dtype)
    shapes[:, : draft.K] = draft.counts
    if draft.prior_in != a_t:
        shapes[:, : draft.K] += shapes.dtype.type(a_t - draft.prior_in)
    in_scope = None
    portions = draft.portions
    if labels is not None:
        if not draft.mask.all():
            labels = replace(labels, scopes=Scopes(draft.mask, _rate_outside(engine, draft, knobs)))
        in_scope = labels.in_scope
        portions = _by_group(labels, portions)
    engine.begin(portions, in_scope)
    return starts.state(engine.kernel, shapes, draft.K, engine.totals, knobs, labels)


def discover(
    engine: Engine,
    labels: Labels | None,
    knobs: Knobs,
    plan: Plan,
    dtype: np.dtype[Any],
    rng: np.random.Generator | None,
    watch: Watch = lambda stage, sweep, of: None,
) -> Found:
    """Find a draft for documents whose labels are all known, or that have none.

    ``watch(stage, sweep, of)`` is told of each sweep.
    """
    explorer = _Explorer(engine, labels, knobs, dtype, watch)
    found = [
        _merged_best(explorer, draft, plan, n_kept)
        for counts in starting_counts(explorer.n_docs, plan)
        for draft, n_kept in _wide_drafts(explorer, plan, counts, rng)
    ]
    best = max(found, key=lambda candidate: candidate.draft.bound)
    for _ in range(ROUNDS if plan.scoped else 0):
        again = _merged_again(explorer, best.draft, plan)
        if again is None or again.bound <= best.draft.bound:
            break
        best = replace(best, draft=again)
    return replace(best, draft=_in_order(best.draft))


@dataclass(frozen=True)
class _Explorer:
    """What all steps share."""

    engine: Engine
    labels: Labels | None
    knobs: Knobs
    dtype: np.dtype[Any]
    watch: Watch

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
        """Sweep a few times from a draft; the result knows its bound."""
        state = begin(self.engine, draft, self.knobs, self.labels, self.dtype)
        schedule = Schedule(max_iter=SWEEPS, tol=0.0, burn_in=0, bound_every=SWEEPS)
        result = fit(
            self.engine,
            state,
            self.knobs,
            schedule,
            lambda iteration, bound, rise: self.watch(stage, iteration, SWEEPS),
        )
        terms, sums = result.state.terms, result.stats.E_sums
        counts = np.maximum(terms.shape[:, : draft.K] - np.float32(result.state.prior.a_t), 0)
        labels = result.state.labels
        weight = (sums if labels is None else labels.by_label(sums)) * terms.E_sums
        portions = spread(weight, draft.mask)
        return replace(draft, counts=counts, portions=portions, bound=result.bound)


def starting_counts(n_docs: Array, plan: Plan) -> list[Array]:
    """Numbers of components that each label may begin with, (n_labels,) each, at least one.

    ``n_docs`` are the documents of each label, (n_labels,).
    """
    n_docs = np.round(n_docs, 6)  # rounding of weights must not break ties
    n_labels = len(n_docs)
    most = np.maximum(n_docs // DOCUMENTS_OF_A_COMPONENT, 1)
    least = LEAST_CLUSTERS if plan.n_components is None else WIDE * plan.n_components
    few, many = (max(least, each * n_labels) for each in OF_A_LABEL)
    totals = (few, many) if many >= APART * few else (few,)
    choices = {tuple(starts.allotted(n_docs, total, most).tolist()) for total in totals}
    if plan.n_components is not None:  # where documents are few, still as many as were asked for
        enough = starts.allotted(n_docs, plan.n_components)
        choices = {tuple(np.maximum(c, enough if sum(c) < sum(enough) else 1)) for c in choices}
    return [np.array(counts) for counts in sorted(choices)]


def _wide_drafts(
    explorer: _Explorer, plan: Plan, counts: Array, rng: np.random.Generator | None
) -> Iterator[tuple[Draft, int]]:
    """Components of single labels, without and with a background, and how many are not to merge."""
    own = explorer.settle(_of_single_labels(explorer, counts, rng), "components of single labels")
    if len(plan.groups):
        yield (
            explorer.settle(
                _with_groups(own, explorer.label_mass, plan.groups), "groups of labels"
            ),
            len(plan.groups),
        )
    else:
        yield own, 0
    if plan.background:
        groups = np.vstack([np.ones((1, len(counts)), dtype=bool), plan.groups])
        draft = _with_groups(own, explorer.label_mass, groups, background=True)
        yield explorer.settle(draft, "a background"), len(groups)


def _merged_best(explorer: _Explorer, draft: Draft, plan: Plan, n_kept: int) -> Found:
    """Merge components until there are as many as were asked for, or as the bound says."""
    merges = merge_order(draft.counts[:, n_kept:], explorer.a_t, 1, _families(draft, plan, n_kept))
    drafts: dict[int, Draft] = {}

    def bound(n: int) -> float:
        if n not in drafts:
            merged = _merged(draft, merges.groups(n - n_kept), n_kept, plan)
            drafts[n] = explorer.settle(merged, f"{n} components")
        return drafts[n].bound

    if plan.n_components is not None:
        bound(plan.n_components)
        return Found(drafts[plan.n_components], {})
    most = max(LEAST_CLUSTERS, MOST_OF_A_LABEL * len(draft.mask))
    best = _best_number(bound, n_kept + 1, min(n_kept + merges.n, most))
    return Found(drafts[best], {n: drafts[n].bound for n in sorted(drafts)})


def _best_number(bound: Callable[[int], float], least: int, most: int) -> int:
    """Find the number of components with the best bound: on a coarse grid, then ever nearer."""
    grid = np.unique(np.round(np.geomspace(least, most, 7)).astype(int)).tolist()
    best = max(grid, key=bound)
    step = max((abs(n - best) for n in grid[max(grid.index(best) - 1, 0) :][:3]), default=1)
    while step > 1:
        step = (step + 1) // 2
        best = max((n for n in (best, best - step, best + step) if least <= n <= most), key=bound)
    return int(best)


def _of_single_labels(explorer: _Explorer, counts: Array, rng: np.random.Generator | None) -> Draft:
    """Clusters of the documents of each label, as many as ``counts``."""
    n_docs, labels = explorer.n_docs, explorer.labels
    known = Labels.one_each(n_docs).known if labels is None else labels.known
    sums = explorer.engine.cluster_term_sums(known, counts, rng)
    owner = np.repeat(np.arange(len(n_docs)), counts)
    of_label = np.add.reduceat(sums, np.concatenate([[0], np.cumsum(counts)[:-1]]), axis=1)
    of_label += 1e-3 * explorer.engine.totals.term_sums[:, None] * (of_label.sum(axis=0) == 0)
    _fill_empty(sums, of_label[:, owner], counts[owner], rng or np.random.default_rng(0))
    parts = sums.sum(axis=0) / np.maximum(of_label.sum(axis=0)[owner], _TINY)
    smoothed = (1 - SMOOTHING) * sums + SMOOTHING * of_label[:, owner] * parts
    mask = owner == np.arange(len(n_docs))[:, None]
    return Draft(smoothed, spread(mask * sums.sum(axis=0), mask), mask)


def _fill_empty(sums: Array, of_label: Array, n: Array, rng: np.random.Generator) -> None:
    """Begin components that no documents are left for with a noisy part of their label's terms."""
    empty = np.flatnonzero(sums.sum(axis=0) <= 0)
    noise = rng.standard_exponential((len(sums), len(empty)))
    sums[:, empty] = of_label[:, empty] * noise / (10.0 * n[empty])


def _with_groups(
    draft: Draft, label_mass: Array, groups: Array, *, background: bool = False
) -> Draft:
    """Put a component for each group of labels, (n_groups, n_labels) of bool, before the others."""
    profiles = draft.counts / np.maximum(draft.counts.sum(axis=0, dtype=np.float64), _TINY)
    by_label = np.einsum("wk,lk->wl", profiles, draft.portions * label_mass[:, None])
    levels = np.maximum(groups.sum(axis=0), 1)
    part = np.minimum(BACKGROUND_PART, _MOST_SHARED / levels) * groups  # (n_groups, n_labels)
    kept = 1 - part.sum(axis=0)
    of_component = (draft.mask * kept[:, None]).sum(axis=0) / draft.mask.sum(axis=0)
    return Draft(
        counts=np.hstack([by_label @ part.T, draft.counts * of_component]),
        portions=np.hstack([part.T, kept[:, None] * draft.portions]),
        mask=np.hstack([groups.T, draft.mask]),
        background=0 if background else None,
    )


def _merged(draft: Draft, groups: list[list[int]], n_kept: int, plan: Plan) -> Draft:
    """Add up the components of each group; the first ``n_kept`` stay as they are."""
    joined = np.zeros((draft.K, n_kept + len(groups)))
    joined[np.arange(n_kept), np.arange(n_kept)] = 1
    for new, members in enumerate(groups, start=n_kept):
        joined[np.array(members) + n_kept, new] = 1
    says_something = draft.counts.sum(axis=0, dtype=np.float64) >= _LEAST_COUNT
    mask = ((draft.mask & says_something).astype(float) @ joined) > 0
    widest = (draft.mask.astype(float) @ joined) > 0
    mask |= widest & (~mask.any(axis=0) | ~mask.any(axis=1)[:, None])  # none is left without
    mask = _closed(mask, plan.groups) if plan.scoped else np.ones_like(mask)
    return replace(
        draft,
        counts=np.stack([draft.counts[:, column > 0].sum(axis=1) for column in joined.T], axis=1),
        portions=spread(np.einsum("lp,pk->lk", draft.portions, joined), mask),
        mask=mask,
    )


def _families(draft: Draft, plan: Plan, n_kept: int) -> Array | None:
    """Which components may merge: those under one top group of the label tree; None: all."""
    if not len(plan.groups):
        return None
    by_size = sorted(plan.groups, key=lambda group: -int(group.sum()))
    of_label = np.arange(len(draft.mask))  # labels outside of all groups are by themselves
    for group in reversed(by_size):
        of_label[group] = np.flatnonzero(group)[0]
    return of_label[draft.mask[:, n_kept:].argmax(axis=0)]


def _closed(mask: Array, groups: Array) -> Array:
    """Widen scopes of several labels to the least group of the label tree that holds them."""
    if not len(groups):
        return mask
    by_size = sorted(groups, key=lambda group: int(group.sum()))
    everyone = np.ones(len(mask), dtype=bool)
    closed = mask.copy()
    for k in np.flatnonzero(mask.sum(axis=0) > 1):
        closed[:, k] = next((g for g in by_size if g[mask[:, k]].all()), everyone)
    return closed


def _merged_again(explorer: _Explorer, draft: Draft, plan: Plan) -> Draft | None:
    """Split shared components by label and merge them again, now that they say what they say.

    What was merged too early, or not at all, gets a second chance, and scopes lose the labels that
    hardly use a component. None where there is nothing to split.
    """
    n_kept = len(plan.groups) + (draft.background is not None)
    split = _split_by_label(_narrowed(draft, plan) or draft, explorer.label_mass, n_kept)
    if split.K == draft.K:
        return None
    split = explorer.settle(split, "shared components, split by label")
    families = _families(split, plan, n_kept)
    merges = merge_order(split.counts[:, n_kept:], explorer.a_t, draft.K - n_kept, families)
    merged = _merged(split, merges.groups(draft.K - n_kept), n_kept, plan)
    return explorer.settle(merged, "merged again")


def _split_by_label(draft: Draft, label_mass: Array, n_kept: int) -> Draft:
    """Give labels copies of their own of what they share, but for the first ``n_kept``."""
    label, component = np.nonzero(draft.mask[:, n_kept:])
    order = np.argsort(component, kind="stable")
    label, component = label[order], component[order] + n_kept
    mass = draft.portions * label_mass[:, None]
    part = mass / np.maximum(mass.sum(axis=0), _TINY)
    mask = np.zeros((len(mass), len(label)), dtype=bool)
    mask[label, np.arange(len(label))] = True
    return replace(
        draft,
        counts=np.hstack(
            [draft.counts[:, :n_kept], draft.counts[:, component] * part[label, component]]
        ),
        portions=np.hstack([draft.portions[:, :n_kept], mask * draft.portions[:, component]]),
        mask=np.hstack([draft.mask[:, :n_kept], mask]),
    )


def _narrowed(draft: Draft, plan: Plan) -> Draft | None:
    """Take labels that hardly use a component out of its scope; None where there are none.

    The background and the components of groups, which come first, keep their scopes.
    """
    use = np.where(draft.mask, draft.portions, 0.0)
    keep = draft.mask & (use >= LEAST_USE + _EVEN_PART / draft.mask.sum(axis=1, keepdims=True))
    keep[use.argmax(axis=0), np.arange(draft.K)] = True  # every component has a label,
    keep[np.arange(len(use)), use.argmax(axis=1)] = True  # and every label a component
    n_kept = len(plan.groups) + (draft.background is not None)
    keep[:, :n_kept] = draft.mask[:, :n_kept]
    keep = _closed(keep, plan.groups)
    if (keep == draft.mask).all():
        return None
    return replace(draft, mask=keep, portions=spread(use * keep, keep))


def _in_order(draft: Draft) -> Draft:
    """Sort components: those of most labels first, then by label, then by weight."""
    mass = draft.counts.sum(axis=0)
    size = draft.mask.sum(axis=0)
    first = draft.mask.argmax(axis=0)
    is_background = np.arange(draft.K) == draft.background
    order = np.lexsort((-mass, first, -size, ~is_background))
    return replace(
        draft,
        counts=draft.counts[:, order],
        portions=draft.portions[:, order],
        mask=draft.mask[:, order],
        background=None if draft.background is None else 0,
    )


def spread(weight: Array, mask: Array) -> Array:
    """Turn weights of components in labels into portions, a little of them even over the scope."""
    parts = weight / np.maximum(weight.sum(axis=1, keepdims=True), _TINY)
    parts = np.where(weight.sum(axis=1, keepdims=True) > 0, parts, mask / mask.sum(axis=1)[:, None])
    return (1 - _EVEN_PART) * parts + _EVEN_PART * mask / mask.sum(axis=1, keepdims=True)


def _by_group(labels: Labels, portions: Array) -> Array:
    """Portions of each group of documents: the mean over its labels, latent ones by p(z)."""
    known = labels.known @ portions
    latent = np.asarray(np.einsum("dl,lk->dk", labels.latent, portions))
    return np.vstack([known, latent])


def _rate_outside(engine: Engine, draft: Draft, knobs: Knobs) -> float:
    """The rate under labels out of scope, for documents of unknown label."""
    totals = engine.totals
    weight = totals.mass / (float(totals.n_docs.sum()) * draft.K)
    a_t = knobs.a_t or starts.FIRST_TERM_SHAPE
    component = starts.sum_of_a_component(knobs, a_t, len(draft.counts), weight)
    return knobs.a_v * component / (OUTSIDE_PART * max(weight, _TINY))
