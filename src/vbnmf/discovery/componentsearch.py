"""Find components and their scopes: components of single labels first, then better ones in rounds.

1. Cluster the documents of each label. Each cluster initialises a component whose scope is that
   label. Run a few sweeps. If the number of components may vary, factors of the documents replace
   clusters, because another sample of the documents has nearly the same ones.
2. Try a *background*, a component that all labels share. Add a component for each group of a label
   tree.
3. Merge components down to the requested number. The scope of a merged component is the union of
   the scopes. Components of different labels are merged only if they are alike. With a label tree,
   components of different top groups are merged last.
4. In rounds: split components from which labels take different terms, add what is left unexplained
   in each label, offer components to labels that they explain in part, drop labels that hardly use
   a component, and reduce the number again (``vbnmf.discovery.moves``). A round is kept if fewer
   components are two topics under one name, or else if the bound is higher. If the number may vary,
   nothing is added, because another sample leaves other things unexplained, and rounds end as soon
   as one gains little.
5. If the number may vary, drop components that explain less than a document.

Each step makes a *draft*, an initial state of a fit. Drafts are compared by the bound after the
same few sweeps. The search is deterministic unless ``rng`` is given.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.fit import Fit, Schedule, fit
from vbnmf.core.model import Array, ClusteringEngine, Labels
from vbnmf.core.pages import release, zeros
from vbnmf.core.rows import is_empty, mass
from vbnmf.core.starts import Knobs
from vbnmf.discovery.clusters import spherical_clusters
from vbnmf.discovery.drafts import (
    Draft,
    Plan,
    begin,
    families,
    in_order,
    merged,
    narrowed,
    spread,
    with_groups,
)
from vbnmf.discovery.merging import merge_order
from vbnmf.discovery.moves import (
    Look,
    filled,
    look_at,
    reduced,
    split_by_agreement,
    widened,
    with_residuals,
    without_unused,
)

WIDE = 2  # initial components per requested component, at least
OF_A_LABEL = 3  # initial components per label, at least
STEADY = (1, 2)  # the same two numbers of a steady search
DOCUMENTS_OF_A_COMPONENT = 5  # documents per initial component of a label, at least
MOST_LABELS = 600  # labels that get initial components of their own, at most
ROUNDS = (2, 8)  # rounds of moves: fewest and most
WORK_OF_ROUNDS = 32_000_000  # non-zeros times components times rounds, beyond the fewest
SOFT = 1.25  # components per requested component, at most, if there may be more
LEAST_RISE = 2e-4  # of the bound in a round, relative to it, for another round
STEADY_RISE = 1e-3  # the same of a steady search in which no component is two topics
SWEEPS = 10  # before the bound of a draft is computed
SWEEPS_TO_LOOK = 3  # before what components explain is computed
SMOOTHING = 0.2  # weight of the label's average in the terms of a cluster
_ROWS_AT_ONCE = 1 << 10  # rows of a product that are held in double precision
_TINY = np.finfo(float).tiny

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Found:
    """The draft that the search found."""

    draft: Draft
    asked: int  # number of components that the search aimed at


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
    explorer = _Explorer(engine, labels, knobs, dtype, watch)
    best: Draft | None = None
    for draft, n_kept in _wide_drafts(explorer, plan, _first_draft(explorer, plan, rng)):
        n_left = plan.n_components - n_kept
        scopes = draft.mask[:, n_kept:] if plan.scoped else None
        family = families(draft, plan, n_kept)
        merges = merge_order(draft.counts[:, n_kept:], explorer.a_t, n_left, family, scopes=scopes)
        fewer = merged(draft, merges.groups(n_left), n_kept, plan)
        fewer = explorer.settle(fewer, f"{fewer.K} components")
        if best is None or fewer.bound > best.bound:
            best = fewer
        del draft, fewer  # before the next ones are made
    assert best is not None
    return Found(in_order(_improved(explorer, best, plan)), plan.n_components)


def _improved(explorer: "_Explorer", best: Draft, plan: Plan) -> Draft:
    """Improve a draft by moves, in rounds, and bring it to the requested number of components."""
    n_labels = len(best.mask)
    if n_labels > MOST_LABELS:
        return best
    n_kept = n_fixed(best, plan)
    # with fewer components than labels, unrelated labels must share some
    may_split = plan.scoped and plan.n_components - n_kept >= n_labels
    best, split = _after_rounds(explorer, best, plan, n_kept, may_split=may_split)
    if split is None:
        return best
    if may_split:
        if split.K > best.K:  # otherwise the sweeps of the fit are enough
            best.let_go()
            split = explorer.settle(split, "components that labels agree on")
        best = split
        most = int(SOFT * plan.n_components) if plan.soft else plan.n_components
        if most < best.K:
            look = explorer.look(best, "worth of components")
            best = reduced(look, explorer.a_t, most, n_kept, plan)
            best = explorer.settle(best, "fewer components")
    if plan.soft:
        best = without_unused(best, float(explorer.engine.totals.n_docs.sum()), n_kept, plan)
    if plan.n_components > best.K and not plan.soft:
        look = explorer.look(best, "what is left unexplained", residual=True)
        best = filled(look, plan.n_components, explorer.label_mass)
        best = explorer.settle(best, "as many components as requested")
    return best


def _after_rounds(
    explorer: "_Explorer", best: Draft, plan: Plan, n_kept: int, *, may_split: bool
) -> tuple[Draft, Draft | None]:
    """Return the draft after rounds of moves, and the same split where labels do not agree.

    The second is None if what components explain is not finite, which rounds cannot improve.
    """
    work = max(explorer.engine.nnz * plan.n_components, 1)
    n_rounds = int(np.clip(WORK_OF_ROUNDS // work, *ROUNDS))
    adds = not plan.steady  # what is left unexplained; if that fails, a round adds nothing
    look = explorer.look(replace(best), "agreement of labels", residual=adds)
    if not np.isfinite(look.worth).all():
        return best, None
    glued = look.glued(n_kept) if may_split else 0
    # of the best draft; a round begins with both, and so does the end
    split = split_by_agreement(look, n_kept) if may_split else look.draft
    residual = look.residual
    del look  # large
    for number in range(1, n_rounds + 1):
        stage = f"round {number} of at most {n_rounds}"
        draft = replace(split)
        if not plan.scoped:  # no other round begins with it
            split.let_go()
        if adds and residual is not None:
            draft = with_residuals(draft, residual, explorer.label_mass)
            draft = explorer.settle(draft, f"{stage}: what is left unexplained")
        if plan.scoped:
            draft = widened(draft, explorer.label_sums, n_kept, plan)
            draft = explorer.settle(draft, f"{stage}: wider scopes")
            draft = narrowed(draft, plan) or draft
        look = explorer.look(draft, f"{stage}: worth of components")
        draft = reduced(look, explorer.a_t, plan.n_components, n_kept, plan)
        del look
        draft, look = explorer.settle_and_look(
            draft, f"{stage}: fewer components", residual=not plan.steady
        )
        now_glued = look.glued(n_kept) if may_split else 0
        rise = draft.bound - best.bound
        if now_glued < glued or rise > 0:
            fewer_glued = now_glued < glued
            best.let_go()
            best, glued, adds = draft, now_glued, not plan.steady
            split = split_by_agreement(look, n_kept) if may_split else replace(look.draft)
            residual = look.residual
            del look
            if rise < _least_rise(plan, now_glued, fewer_glued=fewer_glued) * abs(best.bound):
                break
            continue
        del look
        if not (adds and plan.scoped):
            break
        adds = False
    return best, split


def _least_rise(plan: Plan, glued: int, *, fewer_glued: bool) -> float:
    """Return how much the bound must rise in a round for another one, relative to it.

    ``glued`` components are two topics after the round. With fewer of them, the bound may fall.
    """
    if plan.steady and not glued:
        return STEADY_RISE
    return -np.inf if fewer_glued else LEAST_RISE


def n_fixed(draft: Draft, plan: Plan) -> int:
    """Return the number of first components, background and groups, that moves do not change."""
    return len(plan.groups) + (draft.background is not None)


@dataclass(frozen=True)
class _Explorer:
    """Data and settings of all steps."""

    engine: ClusteringEngine
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
    def label_sums(self) -> sparse.csr_array:
        """Σ_d x_dw by label, (n_labels, n_terms)."""
        of_group = self.engine.group_term_sums()
        if self.labels is None:
            return of_group
        return sparse.csr_array(self.labels.known.T @ of_group[: self.labels.known.shape[0]])

    @cached_property
    def label_mass(self) -> Array:
        """Weight of the documents of each label, (n_labels,)."""
        return mass(self.label_sums)

    def settle(self, draft: Draft, stage: str) -> Draft:
        """Run a few sweeps from a draft, and return the result as a draft with its bound."""
        settled = _settled(draft, self._run(draft, stage, SWEEPS))
        self.engine.rest()
        return settled

    def look(self, draft: Draft, stage: str, *, residual: bool = False) -> Look:
        """Run a few sweeps from a draft, and see what its components explain."""
        return self._look(draft, self._run(draft, stage, SWEEPS_TO_LOOK), residual)[1]

    def settle_and_look(
        self, draft: Draft, stage: str, *, residual: bool = False
    ) -> tuple[Draft, Look]:
        """Return what ``settle`` does, and see what the components of the result explain."""
        return self._look(draft, self._run(draft, stage, SWEEPS), residual)

    def _look(self, draft: Draft, result: Fit, residual: bool) -> tuple[Draft, Look]:
        """Return the draft after sweeps, and see what its components explain of the documents.

        The result gets no name in the caller, so that each large array is freed before the next.
        """
        settled, terms = _settled(draft, result), result.state.terms
        state = replace(result.state, terms=replace(terms, shape=np.empty((0, draft.K))))
        del result, terms
        with np.errstate(all="ignore"):  # the caller refuses results that are not finite
            V = self.engine.coefficients(state)
            self.engine.rest()
            release()
            look = look_at(self.engine.documents, settled, state, V, residual=residual)
        return settled, look

    def _run(self, draft: Draft, stage: str, sweeps: int) -> Fit:
        release()
        state = begin(self.engine, draft, self.knobs, self.labels, self.dtype)
        release()
        return _without_L(
            fit(
                self.engine,
                state,
                self.knobs,
                Schedule(sweeps, tol=0.0, burn_in=0, bound_every=sweeps, extrapolate=False),
                lambda iteration, bound, rise: self.watch(stage, iteration, sweeps),
            )
        )


def _without_L(result: Fit) -> Fit:
    """Free the array that only sweeps need."""
    terms = result.state.terms
    terms = replace(terms, L=np.empty((0, len(terms.scale))))
    return replace(result, state=replace(result.state, terms=terms))


def _settled(draft: Draft, result: Fit) -> Draft:
    """Return the draft with counts, portions and bound of a fit that began from it."""
    terms, a_t = result.state.terms, result.state.prior.a_t
    portions = spread(result.stats.label_sums * terms.E_sums, draft.mask)
    counts = _without_padding(terms.shape, draft.K)
    np.subtract(counts, np.float32(a_t), out=counts)
    np.maximum(counts, 0, out=counts)
    return replace(draft, counts=counts, portions=portions, bound=result.bound)


def _without_padding(rows: Array, K: int) -> Array:
    """Return the first K columns as a contiguous array, in the memory of the rows."""
    n = len(rows)
    out = rows.reshape(-1)[: n * K].reshape(n, K)
    for start in range(0, n, _ROWS_AT_ONCE):
        at = slice(start, start + _ROWS_AT_ONCE)
        out[at] = rows[at, :K]  # NumPy copies rows that overlap
    return out


def starting_counts(n_docs: Array, plan: Plan) -> Array:
    """Return the number of initial components of each label, (n_labels,).

    ``n_docs`` are the documents of each label, (n_labels,). Each label gets one component or more.
    """
    n_docs = np.round(n_docs, 6)  # rounding errors of weights must not break ties
    most = np.maximum(n_docs // DOCUMENTS_OF_A_COMPONENT, 1)
    counts = starts.allotted(n_docs, most_initial(plan, len(n_docs)), most)
    enough = starts.allotted(n_docs, plan.n_components)  # with few documents
    return np.maximum(counts, enough if counts.sum() < enough.sum() else 1)


def most_initial(plan: Plan, n_labels: int) -> int:
    """Return the largest number of initial components that the search may try."""
    wide, of_a_label = STEADY if plan.steady else (WIDE, OF_A_LABEL)
    return max(wide * plan.n_components, of_a_label * n_labels)


def _first_draft(explorer: _Explorer, plan: Plan, rng: np.random.Generator | None) -> Draft:
    """Return a draft with components of single labels, or of similar labels if labels are many."""
    if len(explorer.n_docs) > MOST_LABELS:
        draft = _of_alike_labels(explorer, MOST_LABELS, rng)
        if plan.n_components <= draft.K:
            return draft
    return _of_single_labels(explorer, starting_counts(explorer.n_docs, plan), rng, plan.steady)


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


def _of_single_labels(
    explorer: _Explorer, counts: Array, rng: np.random.Generator | None, steady: bool = False
) -> Draft:
    """Make a draft from ``counts`` factors, or clusters, of the documents of each label."""
    n_docs, labels = explorer.n_docs, explorer.labels
    known = Labels.one_each(n_docs).known if labels is None else labels.known
    if steady and rng is None:
        sums = explorer.engine.factor_term_sums(known, counts)
    else:
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
