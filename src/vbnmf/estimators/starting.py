"""Initialise a fit as ``init`` says, and choose the number of components for "auto".

``init="auto"`` finds components and their scopes (``vbnmf.discovery``) on the documents with known
labels, or on a sample of them. The other initialisations are in ``vbnmf.core.starts``.

With ``n_components="auto"``, every fifth document of each label is held out. A search on the other
documents finds components for several numbers. Each is scored by the likelihood of held-out
documents by document completion (``metrics.likelihood``). The fewest components within one standard
error of the best are chosen; the standard error is that of the paired difference over documents
(``metrics.ratios``).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.model import Array, Labels, State
from vbnmf.core.products import row_products
from vbnmf.core.rows import mass
from vbnmf.core.starts import Knobs
from vbnmf.discovery import componentsearch, drafts
from vbnmf.discovery.clusters import content_hashes
from vbnmf.discovery.componentsearch import Found, Watch
from vbnmf.discovery.drafts import Draft, Plan
from vbnmf.engines.backends import PlacedSource
from vbnmf.engines.local import LocalEngine
from vbnmf.engines.mapping import ShardEngine
from vbnmf.engines.stream import StreamEngine
from vbnmf.estimators.labels import sums_by_group
from vbnmf.metrics.likelihood import document_log_sums, split_documents
from vbnmf.metrics.ratios import ratio, ratio_difference
from vbnmf.shards.shard import ShardSource

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

_AT_ONCE = 1 << 16  # documents whose places are found at a time

TIMES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Numbers of components that are tried, in parts of the number of labels."""
FEWEST_LABELS = 10
"""Fewer labels count as this number."""
MOST = 600
"""Largest number that is tried."""
HELD_OUT = 5
"""Every n-th document of a label is held out."""

_MAX_ITER, _TOL = 50, 1e-3  # of the coefficients of held-out documents


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

    def of_terms(self, kept: Array) -> "FitData":
        """Return the documents with some of the terms only."""
        assert not isinstance(self.X, ShardSource)
        return replace(self, X=sparse.csr_array(self.X[:, np.flatnonzero(kept)]))


@dataclass(frozen=True)
class Start:
    """Settings of an initialisation."""

    init: Array | str  # "auto", "label", "random" or components (K, n_terms)
    n_components: int | None  # None: chosen on held-out documents
    soft: bool  # whether "auto" may find more components, so that labels agree on shared ones
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
        tried: dict[int, float] = {}
        K = self.n_components
        if K is None:
            n_labels = 1 if looked_at.labels is None else looked_at.labels.known.shape[1]
            K, tried = choose_number(
                looked_at,
                numbers_to_try(n_labels, len(self.groups)),
                lambda some, n: (
                    self._search(
                        kernel, some, n, knobs, rng, _naming(watch, f"trying {n} components")
                    ).draft
                ),
                kernel,
                knobs,
            )
        return replace(self._search(kernel, looked_at, K, knobs, rng, watch), tried=tried)

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
        assert self.n_components is not None
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


def _naming(watch: Watch, what: str) -> Watch:
    """Return a function that tells ``watch`` of stages, with what they are part of."""
    return lambda stage, sweep, of: watch(f"{what}: {stage}", sweep, of)


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
    """Numbers of the documents whose places in the order of groups are taken, ascending."""
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


def numbers_to_try(n_labels: int, n_groups: int = 0) -> list[int]:
    """Return the numbers to try, ascending; ``n_groups`` is that of a label tree."""
    base = max(n_labels, FEWEST_LABELS)
    most = max(MOST, n_labels)
    return sorted({min(round(times * base), most) + n_groups for times in TIMES})


def choose_number(
    corpus: FitData,
    numbers: list[int],
    search: Callable[[FitData, int], Draft],
    kernel: Any,
    knobs: Knobs,
) -> tuple[int, dict[int, float]]:
    """Choose the number of components.

    Numbers are tried in ascending order, until two in a row are worse than the best by more than
    one standard error.

    Parameters
    ----------
    corpus : FitData
        Documents in memory.
    numbers : list of int
        Numbers to try, ascending.
    search : callable
        ``search(corpus, number)`` finds components in documents.
    kernel : kernel
        Computes coefficients.
    knobs : Knobs
        Hyperparameters.

    Returns
    -------
    number : int
        The chosen number.
    tried : dict
        Log-likelihood per unit of weight by number.
    """
    training, held = _divided(corpus)
    first, second = split_documents(held)
    scored = first.nnz > 0 and second.nnz > 0
    scores: dict[int, tuple[Array, Array]] = {}
    worse = 0
    for number in numbers:
        if not scored:
            return number, {}
        draft = search(training, number)
        model = _Components.of(draft, training, knobs)
        scores[number] = document_log_sums(model, second, model.coefficients(kernel, first))
        best = max(scores, key=lambda n: ratio(*scores[n]).value)
        difference = ratio_difference(scores[best], scores[number])
        worse = worse + 1 if difference.value > difference.error else 0
        if worse == 2:
            break
    tried = {number: ratio(*sums).value for number, sums in scores.items()}
    best = max(tried, key=lambda n: tried[n])
    for number in sorted(scores):
        difference = ratio_difference(scores[best], scores[number])
        if difference.value <= difference.error:
            return number, tried
    return best, tried


def _divided(corpus: FitData) -> tuple[FitData, sparse.csr_array]:
    """Return the corpus without the held-out documents, and these documents.

    Documents of a group are sorted by their contents, so that their order does not matter.
    """
    assert not isinstance(corpus.X, ShardSource)
    order = np.lexsort((content_hashes(corpus.X), corpus.group))
    sizes = np.bincount(corpus.group, minlength=corpus.n_groups)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = place % HELD_OUT == HELD_OUT - 1
    rows = np.sort(order[~out])
    weight = None if corpus.weight is None else corpus.weight[rows]
    training = replace(corpus, X=corpus.X[rows], group=corpus.group[rows], weight=weight)
    return training, corpus.X[order[out]]


@dataclass(frozen=True)
class _Components:
    """Components of a draft, as ``metrics.likelihood`` uses them; they sum to one."""

    shapes: Array  # of q(T), (n_terms, K)
    mean: Array  # mean coefficients, (K,)
    a_v: float  # shape of the prior of coefficients

    @classmethod
    def of(cls, draft: Draft, corpus: FitData, knobs: Knobs) -> Self:
        n_docs = np.bincount(corpus.group, minlength=corpus.n_groups).astype(float)
        n_docs = n_docs if corpus.labels is None else corpus.labels.documents(n_docs)
        parts = row_products(draft.portions.T, n_docs / n_docs.sum())
        a_t = draft.counts.dtype.type(knobs.a_t or starts.FIRST_TERM_SHAPE)
        return cls(draft.counts + a_t, parts * mass(corpus.X).mean(), knobs.a_v)

    @property
    def components_(self) -> Array:
        return self.shapes.T / self.shapes.sum(axis=0)[:, None]

    @property
    def component_sums_(self) -> Array:
        return np.ones(len(self.mean))

    def coefficients(self, kernel: Any, X: sparse.csr_array) -> Array:
        """Compute the coefficients of documents, (n_docs, K)."""
        n_terms, K = self.shapes.shape
        shapes = kernel.zeros(n_terms, K, X.dtype)
        shapes[:, :K] = self.shapes
        totals = self.shapes.sum(axis=0, dtype=np.float64)
        terms = starts.terms_of(kernel, shapes, 1 / totals, tally=False)
        scale = 1 / (self.a_v / np.maximum(self.mean, np.finfo(float).tiny) + 1)
        V, _ = kernel.project(X, terms.L, scale, self.a_v, max_iter=_MAX_ITER, tol=_TOL)
        return np.asarray(V)
