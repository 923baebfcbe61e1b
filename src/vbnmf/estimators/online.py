"""``partial_fit``: learn from one batch of documents after the other.

The equations are in ``vbnmf.core.stochastic``. They need only the posterior of a fitted model. So a
batch can follow a fit, another batch, or a model file.

The prediction head of a model with labels is trained on a bounded sample of the labelled documents
seen (``posterior.Reservoir``). A model that was fitted by ``fit`` has no such sample, and a head
trained on new documents alone would forget the others. Such a model keeps its head until the sample
of new documents has enough of each label, and a head trained on it is as accurate on them.

``newlabels`` adds labels that a batch meets for the first time.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from vbnmf.core import starts, stochastic
from vbnmf.core.model import Array, Labels, Prior, Scopes, State, Statistics
from vbnmf.core.rows import leading, without_unused_terms
from vbnmf.core.starts import Knobs
from vbnmf.core.stochastic import BatchStep
from vbnmf.discovery import drafts
from vbnmf.engines.local import LocalEngine
from vbnmf.estimators import componentterms
from vbnmf.estimators.heads import HeadTrainer
from vbnmf.estimators.labels import Targets, grouped, moved_columns
from vbnmf.estimators.newlabels import add_labels
from vbnmf.estimators.posterior import (
    Components,
    Fitted,
    FittedLabels,
    HeadSample,
    LabelPosterior,
    Reservoir,
    Seen,
    TrainedHead,
    of_label_prior,
)
from vbnmf.estimators.running import Reporter
from vbnmf.estimators.starting import FitData
from vbnmf.estimators.validation import (
    check_count,
    check_finite,
    check_nonnegative,
    check_positive,
    check_scale,
    check_term_shape,
    check_terms_left,
    learns_term_shape,
)
from vbnmf.kernels import open_kernel
from vbnmf.prediction.training import head_to_state

ENOUGH_OF_A_LABEL = 20
"""Number of documents of each label from which the sample may replace a head of ``fit``."""

LOCAL_ITERATIONS, LOCAL_TOL = 50, 1e-3
"""Most iterations over a batch with fixed components, and the change of sums at which they end."""

_KINDS = ("shape", "scale")
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Batches:
    """Settings of ``partial_fit``.

    Parameters
    ----------
    learning_offset : float, default=1.0
        Offset τ of the step. Larger values make the first steps smaller.
    learning_decay : float, default=0.7
        Exponent κ of the step, from 0 to 1. With 1 and the default offset, all documents count
        alike; with smaller values recent documents count more.
    total_samples : float or None, default=None
        Number of documents of the corpus. None is the number seen so far.
    head_samples : int, default=20000
        Maximum number of labelled documents that are kept in the model, to train the prediction
        head on. They are saved with the model.

    Examples
    --------
    >>> from vbnmf import Batches, VBNMF
    >>> model = VBNMF(20, batches=Batches(total_samples=1_000_000))
    """

    learning_offset: float = 1.0
    learning_decay: float = 0.7
    total_samples: float | None = None
    head_samples: int = 20_000

    def next(self, seen: Seen, n_docs: float) -> tuple[BatchStep, float]:
        """Return the step for a batch of so many documents, and the size of the corpus.

        Examples
        --------
        >>> from vbnmf import Batches
        >>> from vbnmf.estimators.posterior import Seen
        >>> step, total = Batches().next(Seen(n_docs=1000, total=1000), 500)
        >>> total
        1500
        """
        rho = stochastic.step_size(seen.n_docs, n_docs, self.learning_offset, self.learning_decay)
        D = self.total_samples or seen.n_docs + n_docs
        return BatchStep(rho, D / seen.total, D / n_docs), D


def check_batches(value: Any) -> Batches:
    """Check the parameter ``batches``."""
    of = Batches() if value is None else value
    if not isinstance(of, Batches):
        raise ValueError(f"batches must be a vbnmf.Batches or None; got {value!r}.")
    check_nonnegative("learning_offset", of.learning_offset)
    if check_nonnegative("learning_decay", of.learning_decay) > 1:
        raise ValueError(f"learning_decay must be between 0 and 1; got {of.learning_decay!r}.")
    if of.total_samples is not None:
        check_positive("total_samples", of.total_samples)
    check_count("head_samples", of.head_samples)
    return of


def check_batch(X: sparse.csr_array, weight: Array | None) -> None:
    """Refuse a later batch from which nothing can be learned."""
    if not X.data.any():
        raise ValueError(
            "no document of this batch has a term that the model knows, so there is nothing to "
            "learn from. Check that the batch was vectorized with the vocabulary of the model."
        )
    check_terms_left(X, weight)


def batch_knobs(
    components: Components, term_shape: Any, term_scale: Any, coef_scale: Any = "auto"
) -> Knobs:
    """Return which hyperparameters batches learn, by parameters; others stay as they are."""
    learns_a_t = learns_term_shape(term_shape)
    usual = components.hyperparameters["term_shape"]
    return Knobs(
        a_t=None if learns_a_t else usual,
        least_a_t=check_term_shape(term_shape, usual)[1] if learns_a_t else 0.0,
        b_t=check_scale("term_scale", term_scale),
        a_v=components.hyperparameters["coef_shape"],
        b_v=check_scale("coef_scale", coef_scale),
    )


def prior_of(
    components: Components, labels: LabelPosterior | None = None, label_scale: Any = "auto"
) -> Prior:
    """Return the hyperparameters of a fitted model; ``label_scale`` is its parameter."""
    values = components.hyperparameters
    prior = Prior(*(values[f"{of}_{what}"] for of in ("term", "coef") for what in _KINDS))
    if labels is None:
        return prior
    a_lam, b_lam = labels.shapes, values["label_scale"]
    if isinstance(label_scale, str):  # labels share the mean of the prior, a b
        b_lam = b_lam / np.mean(1 / a_lam) / a_lam
    return replace(prior, a_lam=a_lam, b_lam=b_lam)


class Batch:
    """A batch in an engine, with the part of a model that it needs; use as a context manager.

    Parameters
    ----------
    components : Components
        Posterior of the components.
    labels : LabelPosterior or None
        Posterior of the labels.
    prior : Prior
        Hyperparameters.
    data : FitData
        Documents in the precision of the model, with the labels of their groups.
    n_threads : int
        Number of threads.
    """

    def __init__(
        self,
        components: Components,
        labels: LabelPosterior | None,
        prior: Prior,
        data: FitData,
        n_threads: int,
    ) -> None:
        K = components.number
        X, self.used = without_unused_terms(data.X)
        self._kernel = open_kernel(n_threads)
        self.kernel = self._kernel.__enter__()
        self.engine = LocalEngine(
            self.kernel, X, data.group, data.n_groups, K, weight=data.weight, unknown=data.unknown
        )
        shapes = self.kernel.zeros(X.shape[1], K, X.dtype)
        shapes[:, :K] = components.shapes[self.used]
        terms = starts.terms_of(self.kernel, shapes, components.scales, tally=False)
        # components are sums over all terms, not over those of the batch
        terms = replace(terms, shape_sums=components.sums / components.scales)
        rates = None if labels is None else labels.q
        self.state = State(prior, terms, rates, data.labels, 1.0)
        self.engine.begin(*_portions(components, labels, data.labels))
        stochastic.settle(self.engine, self.state, max_iter=LOCAL_ITERATIONS, tol=LOCAL_TOL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._kernel.__exit__(*exc)


def _portions(
    components: Components, of_labels: LabelPosterior | None, labels: Labels | None
) -> tuple[Array, Array | None]:
    """Return the parts of a document's weight on each component, by group, and scopes."""
    if labels is None or of_labels is None:
        return np.atleast_2d(components.mass + 1e-3 / components.number), None
    weight = of_labels.activations * components.sums
    return drafts.by_group(labels, drafts.spread(weight, of_labels.scopes)), labels.in_scope


class Stepped(NamedTuple):
    """The result of a step: components, documents seen, the state, and its sums."""

    components: Components
    seen: Seen
    state: State
    sums: Statistics


def step_on(
    components: Components,
    labels: LabelPosterior | None,
    seen: Seen,
    prior: Prior,
    data: FitData,
    knobs: Knobs,
    batches: Batches,
    n_threads: int,
    n_new: int = 0,
) -> Stepped:
    """Take a step on a batch. The last ``n_new`` components are new; see ``Batch`` for others."""
    assert isinstance(data.X, sparse.csr_array)
    n_docs = float(data.X.shape[0] if data.weight is None else data.weight.sum())
    step, D = batches.next(seen, n_docs)
    if n_new:
        step = step.with_new(n_new, components.number)
    with (
        Batch(components, labels, prior, data, n_threads) as batch,
        np.errstate(over="ignore"),
    ):
        stats = batch.engine.sweep(batch.state, bound=False)
        state, sums = stochastic.global_step(
            batch.kernel,
            batch.state,
            np.asarray(components.shapes),
            batch.used,
            stats,
            D,
            step,
            knobs,
        )
    values = components.hyperparameters | {
        "term_shape": state.prior.a_t,
        "term_scale": state.prior.b_t,
        "coef_scale": state.prior.b_v,
    }
    after = replace(
        components,
        shapes=state.terms.shape,
        scales=state.terms.scale,
        sums=state.terms.E_sums,
        hyperparameters=values | of_label_prior(state.prior),
    )
    check_finite(after.means, after.scales, after.sums)
    return Stepped(after, Seen(seen.n_docs + n_docs, D, seen.n_steps + 1), state, sums)


def learn_batch(
    fitted: Fitted,
    X: sparse.csr_array,
    weight: Array | None,
    knobs: Knobs,
    batches: Batches,
    n_threads: int,
) -> Fitted:
    """Return a model without labels after a batch of documents, (n_docs, n_terms)."""
    data = FitData(X, np.zeros(X.shape[0], np.int32), 1, None, weight)
    stepped = step_on(
        fitted.components, None, fitted.seen, prior_of(fitted.components), data, knobs, batches,
        n_threads,
    )  # fmt: skip
    # the terms described the previous components
    terms = replace(fitted.terms, describing=None)
    return replace(fitted, components=stepped.components, seen=stepped.seen, terms=terms)


@dataclass(frozen=True)
class LabelStream:
    """Settings of a stream of documents with labels; the first ones are parameters of the model."""

    term_shape: Any
    term_scale: Any
    label_shape: Any
    label_scale: Any
    label_tree: Any
    batches: Batches
    classifier: str
    n_threads: int
    reporter: Reporter

    def knobs(self, components: Components, labels: LabelPosterior) -> Knobs:
        """Return which hyperparameters batches learn; others stay as they are."""
        given = labels.scoped or not isinstance(self.label_shape, str)
        return replace(
            batch_knobs(components, self.term_shape, self.term_scale),
            b_v=None,
            a_lam=labels.shapes if given else None,
            b_lam=check_scale("label_scale", self.label_scale),
        )

    def prior(self, components: Components, labels: LabelPosterior) -> Prior:
        """Return the hyperparameters of a fitted model."""
        return prior_of(components, labels, self.label_scale)

    def learn(
        self, fitted: FittedLabels, X: sparse.csr_array, given: Targets, weight: Array | None
    ) -> FittedLabels:
        """Return a model after a batch of documents with their labels.

        X, (n_docs, n_terms + n_features), also has the further features of the head.
        """
        K = fitted.components.number
        of_head, X = X, leading(X, len(fitted.components.shapes))
        fitted, targets = self._placed(fitted, given, X, weight)
        labels = _counted(fitted.labels, targets, weight)
        counts = componentterms.add_counts(fitted.counts, X, targets)
        components = fitted.components
        of_groups = batch_labels(components, labels, targets)
        stepped = step_on(
            components, labels, fitted.seen, self.prior(components, labels),
            FitData(X, targets.group, targets.n_groups, of_groups, weight),
            self.knobs(components, labels), self.batches, self.n_threads,
            n_new=components.number - K,
        )  # fmt: skip
        fitted = replace(
            fitted,
            components=stepped.components,
            seen=stepped.seen,
            labels=labels.updated(stepped.state, stepped.sums),
            counts=counts,
            terms=replace(fitted.terms, describing=None),  # they described earlier components
        )
        if targets.indicators.nnz:
            new, before = sample_of(of_head, targets.indicators, weight), fitted.sample
            if before is not None:
                documents = before.documents.add(new, self.batches.head_samples)
                sample = replace(before, documents=documents)
            else:
                sample = HeadSample(new.cut(self.batches.head_samples), follows=False)
            fitted = self._with_head(replace(fitted, sample=sample), sample)
        if fitted.sample is not None:
            of = fitted.sample.documents
            X = leading(of.X, len(fitted.components.shapes))
            terms = componentterms.term_view(fitted.components, X, of.weight)
            fitted = replace(fitted, terms=terms)
        return fitted

    def _placed(
        self, fitted: FittedLabels, given: Targets, X: sparse.csr_array, weight: Array | None
    ) -> tuple[FittedLabels, Targets]:
        """Return the labels of a batch in the order of the model, to which new ones are added."""
        n_docs, known = X.shape[0], fitted.labels.classes
        multilabel = fitted.labels.multilabel
        if not given.indicators.nnz:
            nothing = sparse.csr_array((n_docs, len(known)))
            return fitted, grouped(known, [nothing], multilabel, named=True)
        several = int((np.diff(given.indicators.indptr) > 1).sum())
        if several and not multilabel:
            raise ValueError(
                f"{several} documents of this batch have several labels, but the model was fitted "
                "to documents with one label each. Pass one label per document, or fit a new model."
            )
        indicators, labels = given.placed(known)
        indicators = sparse.csr_array(indicators, dtype=np.float64)
        names = labels[len(known) :]
        if names:
            parts = indicators[:, len(known) :] / np.diff(indicators.indptr).clip(1)[:, None]
            if weight is not None:
                parts = parts * weight[:, None]
            parts = sparse.csr_array(parts)
            prior = self.prior(fitted.components, fitted.labels)
            fitted, places = add_labels(fitted, names, X, parts, prior, self.label_tree)
            indicators = moved_columns(indicators, places, len(places))
        return fitted, grouped(fitted.labels.classes, [indicators], multilabel, named=True)

    def _with_head(self, fitted: FittedLabels, sample: HeadSample) -> FittedLabels:
        """Train the prediction head, unless it knows documents that the sample lacks."""
        if sample.follows:
            return replace(fitted, head=self._trained(fitted, sample.documents))
        of = sample.documents
        enough = np.minimum(fitted.labels.counts, ENOUGH_OF_A_LABEL)
        if (np.bincount(of.indicators.indices, minlength=len(enough)) < enough).any():
            return fitted
        now = fitted.head.head
        accuracy = _agreement(of, now.predicted(now.probabilities(of.X, fitted.for_prediction)))
        new = self._trained(fitted, of)
        judged = of if new.documents is None else of.at(new.documents)
        if _agreement(judged, new.head.predicted(new.left_out)) < accuracy:
            return fitted
        return replace(fitted, head=new, sample=replace(sample, follows=True))

    def _trained(self, fitted: FittedLabels, of: Reservoir) -> TrainedHead:
        """Train a prediction head on the sample, with the components as they are now."""
        components, labels = fitted.components, fitted.labels
        targets = grouped(labels.classes, [of.indicators], labels.multilabel, named=True)
        of_groups = batch_labels(components, labels, targets)
        X = leading(of.X, len(components.shapes))
        data = FitData(X, targets.group, targets.n_groups, of_groups, of.weight)
        batch = Batch(components, labels, self.prior(components, labels), data, self.n_threads)
        with batch, np.errstate(over="ignore"):
            V = batch.engine.coefficients(batch.state)
        trainer = HeadTrainer(components, labels, self.classifier, self.n_threads, self.reporter)
        trained = trainer.train(of.X, V, targets, of.weight)
        check_finite(*head_to_state(trained.head)[1].values(), trained.left_out)
        return trained


def batch_labels(components: Components, labels: LabelPosterior, targets: Targets) -> Labels:
    """Return the labels of the groups of a batch, with frequencies and scopes of the model."""
    frequency = labels.frequencies / max(labels.frequencies.sum(), _TINY)
    latent = np.repeat(frequency[None], len(targets.labels.latent), axis=0)
    of_groups = Labels(targets.labels.known, latent, np.log(np.maximum(frequency, _TINY)))
    if labels.scopes.all():
        return of_groups
    # an average document has about this weight on each component
    weight = labels.activations * components.sums
    mean = float((frequency @ weight).mean())
    outside = drafts.rate_outside(
        components.hyperparameters["coef_shape"], float(components.sums.mean()), mean
    )
    return replace(of_groups, scopes=Scopes(labels.scopes, outside))


def sample_of(X: sparse.csr_array, indicators: sparse.csr_array, weight: Array | None) -> Reservoir:
    """Return the documents with known labels, with their weights."""
    counts_as = np.ones(X.shape[0]) if weight is None else weight
    rows = np.flatnonzero((np.diff(indicators.indptr) > 0) & (counts_as > 0))
    return Reservoir(X[rows], sparse.csr_array(indicators[rows]), counts_as[rows])


def batch_class_weight(class_weight: Any, targets: Targets) -> Any:
    """Return the class weights of the labels of a batch."""
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} is not supported by partial_fit, because it depends on "
            "all documents. Pass a dict of weights, or sample_weight."
        )
    if isinstance(class_weight, dict):
        return {label: class_weight[label] for label in targets.classes if label in class_weight}
    return class_weight


def _counted(labels: LabelPosterior, targets: Targets, weight: Array | None) -> LabelPosterior:
    """Add the labels of a batch to counts and frequencies."""
    counts_as = np.ones(len(targets.group)) if weight is None else weight
    n_seen = labels.n_seen + float(counts_as[targets.known].sum())
    sums = labels.n_seen * labels.frequencies + counts_as @ targets.indicators
    counts = labels.counts + targets.counts
    return replace(labels, counts=counts, n_seen=n_seen, frequencies=sums / n_seen)


def _agreement(of: Reservoir, predicted: Array) -> float:
    """Return the part of the sample whose labels are those predicted, (n_docs, n_labels)."""
    right = (predicted == of.indicators.toarray()).all(axis=1)
    return float(np.average(right, weights=of.weight))
