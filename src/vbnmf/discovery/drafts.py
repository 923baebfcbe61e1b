"""Drafts, the candidate initial states of a fit, and the moves from one draft to another.

A draft consists of term counts of components, portions of components in labels, and scopes.
``discovery`` decides by the bound which moves are taken.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.model import Array, Engine, Labels, Scopes, State
from vbnmf.core.pages import zeros
from vbnmf.core.products import product
from vbnmf.core.starts import Knobs

BACKGROUND_PART = 0.25  # initial share of the background, and of each group, in a document
MOST_SHARED = 0.5  # initial share of the background and all groups together, at most
LEAST_USE = 0.01  # share of a label below which a component loses the label from its scope
OUTSIDE_PART = 0.1  # expected coefficient outside a scope, in parts of the average coefficient
_LEAST_COUNT = 1.0  # components with smaller total counts widen no scope
_EVEN_PART = 0.05  # share of a label that is spread evenly over its components at each step
_TERMS_AT_ONCE = 1 << 10  # terms whose counts are mixed at a time, to stay in the cache
_TINY = np.finfo(float).tiny


@dataclass
class Draft:
    """A candidate initial state: the terms of components, and their use by labels.

    Counts are large. The last user of a draft frees them with ``let_go``.
    """

    counts: Array  # (n_terms, K): expected counts of the terms, plus ``prior_in``
    portions: Array  # (n_labels, K): shares of components in each label; rows sum to one
    mask: Array  # (n_labels, K) of bool: scopes
    background: int | None = None  # number of the component that began as the background
    bound: float = -np.inf  # after a few sweeps
    prior_in: float = 0.0  # prior shape that is already added to the counts

    @property
    def K(self) -> int:
        """Number of components."""
        return self.counts.shape[1]

    def let_go(self) -> None:
        """Free the memory of the counts."""
        self.counts = np.empty((0, self.K))


@dataclass(frozen=True)
class Plan:
    """The requested components and scopes.

    ``groups``, (n_groups, n_labels) of bool, are the inner nodes of a label tree, without the root.
    """

    n_components: int
    groups: Array
    background: bool  # whether to try a background
    scoped: bool = True  # False: all labels are in the scope of every component
    soft: bool = False  # there may be more components, so that labels agree on shared ones

    @property
    def steady(self) -> bool:
        """Whether to prefer components that are found again in other samples of the documents.

        This needs a number that may vary: to reach a given number, some components are divided in
        one of many ways that are about equally good.
        """
        return self.soft and self.scoped


def begin(
    engine: Engine, draft: Draft, knobs: Knobs, labels: Labels | None, dtype: np.dtype[Any]
) -> State:
    """Initialise the documents from a draft, and return the initial state of the fit.

    The draft's counts are freed.
    """
    a_t = knobs.a_t or starts.FIRST_TERM_SHAPE
    shapes = engine.kernel.zeros(len(draft.counts), draft.K, dtype)
    shapes[:, : draft.K] = draft.counts
    draft.let_go()
    if draft.prior_in != a_t:
        shapes[:, : draft.K] += shapes.dtype.type(a_t - draft.prior_in)
    in_scope = None
    portions = draft.portions
    if labels is not None:
        if not draft.mask.all():
            labels = replace(labels, scopes=Scopes(draft.mask, _rate_outside(engine, draft, knobs)))
        in_scope = labels.in_scope
        portions = by_group(labels, portions)
    engine.begin(portions, in_scope)
    return starts.state(engine.kernel, shapes, draft.K, engine.totals, knobs, labels)


def with_groups(
    draft: Draft, label_mass: Array, groups: Array, *, background: bool = False
) -> Draft:
    """Prepend a component for each group of labels, (n_groups, n_labels) of bool."""
    levels = np.maximum(groups.sum(axis=0), 1)
    part = np.minimum(BACKGROUND_PART, MOST_SHARED / levels) * groups  # (n_groups, n_labels)
    kept = 1 - part.sum(axis=0)
    totals = draft.counts.sum(axis=0, dtype=np.float64)
    taken = part @ sparse.csr_array(draft.portions * label_mass[:, None])
    taken = np.divide(taken, totals, out=np.zeros_like(taken), where=totals > 0)
    of_component = (draft.mask * kept[:, None]).sum(axis=0) / draft.mask.sum(axis=0)
    return Draft(
        counts=_mixed(draft.counts, sparse.hstack([taken.T, sparse.diags_array(of_component)])),
        portions=np.hstack([part.T, kept[:, None] * draft.portions]),
        mask=np.hstack([groups.T, draft.mask]),
        background=0 if background else None,
    )


def merged(draft: Draft, groups: list[list[int]], n_kept: int, plan: Plan) -> Draft:
    """Merge the components of each group into one; keep the first ``n_kept`` unchanged."""
    members = np.concatenate([np.arange(n_kept), *(n_kept + np.array(group) for group in groups)])
    new = np.repeat(np.arange(n_kept + len(groups)), [1] * n_kept + [len(g) for g in groups])
    shape = (draft.K, n_kept + len(groups))
    joined = sparse.csr_array((np.ones(len(members)), (members.astype(np.int64), new)), shape)
    says_something = draft.counts.sum(axis=0, dtype=np.float64) >= _LEAST_COUNT
    mask = ((draft.mask & says_something).astype(float) @ joined) > 0
    widest = (draft.mask.astype(float) @ joined) > 0
    mask |= widest & (~mask.any(axis=0) | ~mask.any(axis=1)[:, None])  # no empty row or column
    mask = mask if plan.scoped else np.ones_like(mask)
    return replace(
        draft,
        counts=_mixed(draft.counts, joined),
        portions=spread((draft.portions @ joined) * mask, mask),
        mask=mask,
    )


def with_terms(draft: Draft, has: Array) -> Draft:
    """Add terms to a draft of those in ``has``, (n_terms,) of bool, and free its counts.

    The new terms have no counts, so the first sweeps divide them by the components of their
    documents.
    """
    counts = zeros((len(has), draft.K), draft.counts.dtype)
    counts[has] = draft.counts
    draft.let_go()
    return replace(draft, counts=counts)


def narrowed(draft: Draft, plan: Plan) -> Draft | None:
    """Remove labels that hardly use a component from its scope.

    The background and the components of groups, which come first, keep their scopes. Return None
    if no scope changes.
    """
    use = np.where(draft.mask, draft.portions, 0.0)
    keep = draft.mask & (use >= LEAST_USE + _EVEN_PART / draft.mask.sum(axis=1, keepdims=True))
    n_kept = len(plan.groups) + (draft.background is not None)
    keep[use.argmax(axis=0), np.arange(draft.K)] = True  # every component has a label,
    keep[np.arange(len(use)), use.argmax(axis=1)] = True  # and every label a component
    keep[:, :n_kept] = draft.mask[:, :n_kept]
    if (keep == draft.mask).all():
        return None
    return replace(draft, mask=keep, portions=spread(use * keep, keep))


def families(draft: Draft, plan: Plan, n_kept: int) -> Array | None:
    """Return the top group of the label tree that each component belongs to.

    Components of different groups are merged last. None: there are no groups.
    """
    if not len(plan.groups):
        return None
    return top_groups(plan, len(draft.mask))[draft.mask[:, n_kept:].argmax(axis=0)]


def top_groups(plan: Plan, n_labels: int) -> Array:
    """Return the first label of the top group of each label, (n_labels,).

    Labels outside all groups are groups of their own.
    """
    of_label = np.arange(n_labels)
    for group in sorted(plan.groups, key=lambda group: int(group.sum())):
        of_label[group] = np.flatnonzero(group)[0]
    return of_label


def in_order(draft: Draft) -> Draft:
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
    """Normalise weights of components in labels to portions, smoothed over each label's scope."""
    parts = weight / np.maximum(weight.sum(axis=1, keepdims=True), _TINY)
    parts = np.where(weight.sum(axis=1, keepdims=True) > 0, parts, mask / mask.sum(axis=1)[:, None])
    return (1 - _EVEN_PART) * parts + _EVEN_PART * mask / mask.sum(axis=1, keepdims=True)


def _mixed(counts: Array, mixing: Any) -> Array:
    """Compute counts (n_terms, K) times ``mixing`` (K, K_new)."""
    by_new = sparse.csr_array(sparse.coo_array(mixing).T, dtype=counts.dtype)
    out = zeros((len(counts), by_new.shape[0]), counts.dtype)
    for begin in range(0, len(counts), _TERMS_AT_ONCE):
        at = slice(begin, begin + _TERMS_AT_ONCE)
        out[at] = (by_new @ counts[at].T).T
    return out


def by_group(labels: Labels, portions: Array) -> Array:
    """Return the portions of each group of documents: the mean over its labels, or by p(z)."""
    known = labels.known @ portions
    latent = product(labels.latent, portions)
    return np.vstack([known, latent])


def _rate_outside(engine: Engine, draft: Draft, knobs: Knobs) -> float:
    """Return the rate outside a scope, for documents of unknown label."""
    totals = engine.totals
    weight = totals.mass / (float(totals.n_docs.sum()) * draft.K)
    a_t = knobs.a_t or starts.FIRST_TERM_SHAPE
    component = starts.sum_of_a_component(knobs, a_t, len(totals.term_sums), weight)
    return rate_outside(knobs.a_v, component, weight)


def rate_outside(a_v: float, component_sum: float, weight: float) -> float:
    """Return the rate out of scope; components have ``weight`` in a document on average."""
    return a_v * component_sum / (OUTSIDE_PART * max(weight, _TINY))
