"""Initialise a fit as ``init``, ``scopes`` and ``label_tree`` say.

``init="auto"`` finds components and their scopes (``vbnmf.discovery``) on the documents with known
labels, or on a sample of them. The other initialisations are in ``vbnmf.core.starts``.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.model import Array, Labels, State
from vbnmf.core.starts import Knobs
from vbnmf.discovery import componentsearch, drafts
from vbnmf.discovery.componentsearch import Found, Watch
from vbnmf.discovery.drafts import Draft, Plan
from vbnmf.engines.backends import PlacedSource
from vbnmf.engines.local import LocalEngine
from vbnmf.engines.mapping import ShardEngine
from vbnmf.engines.stream import StreamEngine
from vbnmf.estimators.labels import Targets, sums_by_group
from vbnmf.estimators.labeltree import as_masks, check_label_tree
from vbnmf.estimators.validation import check_scopes
from vbnmf.shards.shard import ShardSource
from vbnmf.shards.values import fit_type

MOST_DOCUMENTS = 15_000
"""Maximum number of documents in the search for components. The fit uses all documents."""

LEAST_OF_A_LABEL = 100
"""Minimum number of documents of each label in the search, if the label has as many."""

MOST_TERMS = 30_000
"""Maximum number of terms in the search, which are those of most documents. The fit uses all."""

MOST_NUMBERS = 8_000_000
"""Terms times initial components up to which the search uses all terms."""

LEAST_DOCUMENTS = 2
"""Minimum number of documents of a term in the search, if there are more than ``MOST_TERMS``."""

LEAST_WEIGHT = 0.5
"""Minimum share of these terms in the weight of all. The search uses all terms otherwise."""

LEAST_WITH_TERMS = 0.1
"""Part of a sample that must have terms. Otherwise only documents with terms are sampled."""

_ENOUGH_KNOWN = 0.5  # minimum part of documents with known labels to search for scopes
_AT_ONCE = 1 << 16  # documents whose places are found at a time


@dataclass(frozen=True)
class FitData:
    """Validated documents with their groups and labels (None for a fit without labels)."""

    X: sparse.csr_array | ShardSource
    group: Array
    n_groups: int
    labels: Labels | None
    weight: Array | None

    @property
    def unknown(self) -> bool:
        """Whether the labels of some documents are unknown."""
        return self.labels is not None and len(self.labels.latent) > 0

    def engine(self, kernel: Any) -> ShardEngine:
        """Make the documents ready for sweeps: in memory, from disk, or on a cluster."""
        if isinstance(self.X, PlacedSource):
            return self.X.engine(
                kernel, self.group, self.n_groups, self.weight, unknown=self.unknown
            )
        if isinstance(self.X, ShardSource):
            return StreamEngine(
                kernel, self.X, self.group, self.n_groups, self.weight, unknown=self.unknown
            )
        return self.in_memory(kernel)

    def in_memory(self, kernel: Any) -> LocalEngine:
        """Hold the documents in memory for sweeps."""
        return LocalEngine(
            kernel, self.X, self.group, self.n_groups, weight=self.weight, unknown=self.unknown
        )

    def to_look_at(self) -> "FitData":
        """Return the documents with known labels, or a sample if there are very many."""
        n_known = 1 if self.labels is None else self.labels.known.shape[0]
        rows = self._sampled(self.group, n_known)
        X = self.X.take(rows) if isinstance(self.X, ShardSource) else self.X[rows]
        is_sample = len(rows) < np.count_nonzero(self.group < n_known)
        if is_sample and (np.diff(X.indptr) > 0).mean() < LEAST_WITH_TERMS:
            group = np.where(_have_terms(self.X), self.group, np.int64(self.n_groups))
            rows = self._sampled(group, n_known)
            X = self.X.take(rows) if isinstance(self.X, ShardSource) else self.X[rows]
        if len(rows) == self.X.shape[0] and not isinstance(self.X, ShardSource):
            return self
        labels = self.labels
        if labels is not None:
            labels = replace(labels, latent=np.zeros((0, labels.known.shape[1])))
        weight = None if self.weight is None else self.weight[rows]
        return FitData(X, self.group[rows], n_known, labels, weight)

    def _sampled(self, group: Array, n_known: int) -> Array:
        """Return the documents of the first ``n_known`` groups, or a sample of them."""
        sizes = sums_by_group(group, None, self.n_groups + 1)[:n_known].astype(np.int64)
        if sizes.sum() <= MOST_DOCUMENTS:
            return np.flatnonzero(group < n_known)
        return _sample(group, sizes, None if self.labels is None else self.labels.known)

    def common_terms(self) -> Array:
        """Return whether each term is in enough documents for the search, (n_terms,) of bool.

        A document of weight two counts as two documents.
        """
        assert not isinstance(self.X, ShardSource)
        X, every = self.X, np.ones(self.X.shape[1], dtype=bool)
        if len(every) <= MOST_TERMS:
            return every
        weight = np.ones(X.shape[0]) if self.weight is None else self.weight
        occurs = sparse.csr_array((X.data > 0, X.indices, X.indptr), X.shape)
        n_docs = np.round(occurs.T @ weight, 6)  # rounding errors of weights must not break ties
        too_many = np.partition(n_docs, -MOST_TERMS - 1)[-MOST_TERMS - 1]
        common = (n_docs >= LEAST_DOCUMENTS) & (n_docs > too_many)
        by_term = X.T @ weight
        return common if by_term[common].sum() >= LEAST_WEIGHT * by_term.sum() else every

    def in_single_precision(self) -> "FitData":
        """Return the documents in float32, if that holds their values (``values.fit_type``).

        Rounding turns decisions of the search. So the search computes in the same precision for
        documents of both types, and finds the same components.
        """
        assert not isinstance(self.X, ShardSource)
        dtype = fit_type(np.float32, float(self.X.data.max(initial=0.0)))
        return replace(self, X=self.X.astype(dtype, copy=False))

    def of_terms(self, kept: Array) -> "FitData":
        """Return the documents with some of the terms only."""
        assert not isinstance(self.X, ShardSource)
        return replace(self, X=sparse.csr_array(self.X[:, np.flatnonzero(kept)]))


@dataclass(frozen=True)
class Start:
    """Settings of an initialisation."""

    init: Array | str  # "auto", "label", "random" or components (K, n_terms)
    n_components: int
    soft: bool  # whether the search may find more components, so that labels agree on shared ones
    burn_in: int
    scopes: Array | None  # (n_labels, K) of bool, if given
    scoped: bool  # whether "auto" finds scopes
    groups: Array  # groups of the label tree, (n_groups, n_labels) of bool

    def find(
        self,
        kernel: Any,
        corpus: FitData,
        knobs: Knobs,
        rng: np.random.Generator | None,
        watch: Watch,
    ) -> Found | None:
        """Search for components if ``init`` is "auto"; return None otherwise."""
        if not isinstance(self.init, str) or self.init != "auto":
            return None
        looked_at = corpus.to_look_at()
        if knobs.a_lam is not None:  # scopes make labels differ here, not the prior of the rates
            knobs = replace(knobs, a_lam=1.0)
        return self._search(kernel, looked_at, self.n_components, knobs, rng, watch)

    def _search(
        self,
        kernel: Any,
        looked_at: FitData,
        K: int,
        knobs: Knobs,
        rng: np.random.Generator | None,
        watch: Watch,
    ) -> Found:
        """Search for K components, or a few more if ``soft``, in documents with known labels."""
        labels = looked_at.labels
        n_labels = 1 if labels is None else labels.known.shape[1]
        plan = Plan(K, self.groups, self._has_room(K, n_labels), self.scoped, self.soft)
        looked_at = looked_at.in_single_precision()
        dtype, common = looked_at.X.dtype, looked_at.common_terms()
        if (
            common.all()
            or len(common) * componentsearch.most_initial(plan, n_labels) <= MOST_NUMBERS
        ):
            engine = looked_at.in_memory(kernel)
            return componentsearch.discover(engine, labels, knobs, plan, dtype, rng, watch)
        engine = looked_at.of_terms(common).in_memory(kernel)
        found = componentsearch.discover(engine, labels, knobs, plan, dtype, rng, watch)
        return replace(found, draft=drafts.with_terms(found.draft, common))

    def _has_room(self, K: int, n_labels: int) -> bool:
        """Return whether there may be a background beside a component for each label.

        With fewer components than labels, labels share components in any case.
        """
        left = K - len(self.groups) - 1
        return left >= 1 and (left >= n_labels or left + 1 < n_labels)

    def begin(
        self,
        engine: ShardEngine,
        draft: Draft | None,
        knobs: Knobs,
        labels: Labels | None,
        rng: np.random.Generator,
        dtype: np.dtype[Any],
    ) -> State:
        """Initialise the coefficients of documents, and return the initial state."""
        draft = draft or self._draft(engine, knobs, labels, rng, dtype)
        return drafts.begin(engine, draft, knobs, labels, dtype)

    def _draft(
        self,
        engine: ShardEngine,
        knobs: Knobs,
        labels: Labels | None,
        rng: np.random.Generator,
        dtype: np.dtype[Any],
    ) -> Draft:
        """Return the initialisation for ``init`` other than "auto"."""
        K = self.n_components
        n_labels = 1 if labels is None else labels.known.shape[1]
        a_t = knobs.a_t or starts.FIRST_TERM_SHAPE
        shapes = np.empty((len(engine.totals.term_sums), K), dtype)
        portions = np.repeat(starts.even_portions(K), n_labels, axis=0)
        if isinstance(self.init, np.ndarray):
            starts.given_shapes(self.init, engine.totals, a_t, shapes)
            if labels is not None and not self.burn_in:
                sums = labels.known.T @ engine.group_term_sums()[: labels.known.shape[0]]
                portions = starts.fitted_portions(sums.tocsr(), shapes)
        elif self.init == "label":
            assert labels is not None
            portions = starts.label_portions(labels.documents(engine.totals.n_docs), K)
            n_known = labels.known.shape[0]
            sums = engine.group_term_sums()[:n_known]
            starts.label_shapes(rng, sums, labels.known @ portions, a_t, shapes)
        else:
            starts.random_shapes(rng, engine.totals, a_t, shapes)
        mask = np.ones((n_labels, K), dtype=bool) if self.scopes is None else self.scopes
        if not mask.all():
            portions = drafts.spread(portions * mask, mask)
        return Draft(shapes, portions, mask, prior_in=a_t)


def _have_terms(X: sparse.csr_array | ShardSource) -> Array:
    """Return whether each document has a non-zero value, (n_docs,) of bool."""
    shards = map(X.rows, range(len(X.entries))) if isinstance(X, ShardSource) else [X]
    return np.concatenate([np.diff(shard.indptr) > 0 for shard in shards])


def _sample(group: Array, sizes: Array, known: sparse.csr_array | None) -> Array:
    """Sample every n-th document evenly over the groups, and more documents of rare labels.

    Documents are taken by their places in the order of groups. Memory holds a byte for each
    document, and no longer numbers, because there may be very many.

    Parameters
    ----------
    group : array of shape (n_docs,)
        Group of each document. Groups from ``len(sizes)`` on are not sampled from.
    sizes : array of int of shape (n_known,)
        Number of documents of each group.
    known : csr_array of shape (n_known, n_labels) or None
        Labels of each group.
    """
    n_docs, ends = int(sizes.sum()), np.cumsum(sizes)
    taken = np.empty(n_docs, dtype=bool)
    for begin in range(0, n_docs, _AT_ONCE):
        place = np.arange(begin, min(begin + _AT_ONCE, n_docs)) * (MOST_DOCUMENTS / n_docs)
        taken[begin : begin + len(place)] = np.floor(place + MOST_DOCUMENTS / n_docs) > np.floor(
            place
        )
    if known is not None:
        by_label = sparse.csc_array(known)
        by_label.sort_indices()
        for of_label in np.split(by_label.indices, by_label.indptr[1:-1]):
            spans = [(ends[g] - sizes[g], ends[g]) for g in of_label]
            lacking = min(int(sizes[of_label].sum()), LEAST_OF_A_LABEL)
            lacking -= sum(int(taken[a:b].sum()) for a, b in spans)
            for a, b in spans:
                if lacking > 0:
                    more = a + np.flatnonzero(~taken[a:b])[:lacking]
                    taken[more] = True
                    lacking -= len(more)
    return _at_places(group, ends - sizes, taken)


def _at_places(group: Array, first: Array, taken: Array) -> Array:
    """Return the documents whose places in the order of groups are taken, ascending."""
    found, following = [], first.copy()
    for begin in range(0, len(group), _AT_ONCE):
        here = group[begin : begin + _AT_ONCE]
        rows = np.flatnonzero(here < len(first))
        order = np.argsort(here[rows], kind="stable")
        of = here[rows[order]]
        place = np.empty(len(rows), np.int64)
        place[order] = following[of] + np.arange(len(of)) - np.searchsorted(of, of)
        following += np.bincount(of, minlength=len(first))
        found.append(begin + rows[taken[place]])
    return np.concatenate(found)


# Scopes


def is_scoped(scopes: Any, init: Any, targets: Targets) -> bool:
    """Return whether components may be restricted to some labels."""
    if not isinstance(scopes, str):
        return True
    searches = isinstance(init, str) and init == "auto"
    return scopes == "auto" and searches and bool(targets.known.mean() >= _ENOUGH_KNOWN)


def check_start(
    scopes: Any, label_tree: Any, init: Array | str, K: int, targets: Targets
) -> tuple[Array | str, Array | None, Array]:
    """Check ``scopes`` and ``label_tree``; return init, scopes and groups as masks.

    Parameters
    ----------
    scopes, label_tree
        Parameters of the model.
    init : array or str
        Checked initialisation.
    K : int
        Number of components.
    targets : Targets
        Labels of the documents.
    """
    n_labels = len(targets.classes)
    checked = check_scopes(scopes, n_labels, K)
    groups = as_masks(check_label_tree(label_tree, targets.classes), n_labels)
    auto = isinstance(init, str) and init == "auto"
    if not isinstance(checked, str) and auto:
        raise ValueError(
            'an array of scopes cannot be combined with init="auto". Use init="label", "random" '
            'or an array, or scopes="auto".'
        )
    if len(groups) and not auto:
        raise ValueError('label_tree needs init="auto".')
    if len(groups) >= K:
        raise ValueError(
            f"n_components={K} is too few for label_tree: each of its {len(groups)} groups needs "
            f"a component besides those of the labels. Use at least {len(groups) + 1}."
        )
    if not isinstance(checked, str):
        return init, checked, groups
    searches = checked == "all" or is_scoped(scopes, init, targets)
    if auto and not searches and not len(groups):
        init = "label"
    return init, None, groups
