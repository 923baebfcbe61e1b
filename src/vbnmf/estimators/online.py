"""``partial_fit``: learn from one batch of documents after the other.

The equations are in ``vbnmf.core.stochastic``. They need only the posterior of a fitted model. So a
batch can follow a fit, another batch, or a model file.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from vbnmf.core import starts, stochastic
from vbnmf.core.model import Array, Labels, Prior, Rates, Scopes, State, Statistics
from vbnmf.core.rows import without_unused_terms
from vbnmf.core.starts import Knobs
from vbnmf.core.stochastic import BatchStep
from vbnmf.discovery import drafts
from vbnmf.engines.local import LocalEngine
from vbnmf.estimators.outcome import check_finite
from vbnmf.estimators.streaming import batches, is_source
from vbnmf.estimators.validation import (
    check_matrix,
    check_nonnegative,
    check_positive,
    check_shape_or_scale,
    check_term_shape,
    check_terms_left,
    check_weights,
    count_threads,
)
from vbnmf.kernels import open_kernel
from vbnmf.metrics.passages import Passages

LOCAL_ITERATIONS, LOCAL_TOL = 50, 1e-3
"""Most iterations over a batch with fixed components, and the change of sums at which they end."""

_TINY = np.finfo(float).tiny


class LearnsOnline(TransformerMixin):  # type: ignore[misc]
    """Mixin with ``partial_fit``, for both models."""

    describing_terms_: Array | None
    passages_: Passages | None

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of documents, in addition to those before.

        The first batch of a model that is not fitted is fitted as by ``fit``, so it should not be
        small: the components are found on it. Later batches move the components towards their own
        by a step of ``(t + learning_offset) ** -learning_decay``, where t is the number of
        documents seen before, in batches of this size.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms), or Shards
            Weights of terms, with the columns and the weighting of the first batch. Each shard of
            ``Shards`` is a batch, and only one of them is in memory.
        y : ignored
            Present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights.

        Returns
        -------
        VBNMF
            The model itself.
        """
        with self._all_or_nothing():
            check_schedule(self)
            parts: Iterable[tuple[Any, Any, Any]] = [(X, y, sample_weight)]
            if is_source(X):
                parts = batches(X, y, sample_weight, labelled=self._uses_labels)
            for part in parts:
                if hasattr(self, "components_"):
                    self._learn_batch(*part)
                else:
                    self._learn_first(*part)
        return self

    _uses_labels = False

    def _learn_first(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit the model to its first batch."""
        self.fit(X, y, sample_weight)

    def _learn_batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from a later batch."""
        X, weight = check_batch(self, X, sample_weight)
        step_on(self, X, np.zeros(X.shape[0], np.int32), 1, weight, None, batch_knobs(self))


def note_fit(model: Any, n_docs: float) -> None:
    """Note the number of documents of a fit, from which batches go on."""
    model.n_samples_seen_ = model.n_samples_total_ = n_docs
    model.n_steps_ = 0


def check_schedule(model: Any) -> tuple[float, float, float | None]:
    """Check the parameters of steps: offset, decay and total number of documents."""
    offset = check_nonnegative("learning_offset", model.learning_offset)
    decay = check_nonnegative("learning_decay", model.learning_decay)
    if decay > 1:
        raise ValueError(f"learning_decay must be between 0 and 1; got {model.learning_decay!r}.")
    if model.total_samples is None:
        return offset, decay, None
    return offset, decay, check_positive("total_samples", model.total_samples)


def check_batch(model: Any, X: Any, sample_weight: Any) -> tuple[sparse.csr_array, Array | None]:
    """Check the documents of a later batch, and their weights."""
    X = check_matrix(model, X, reset=False).astype(model.component_shapes_.dtype, copy=False)
    weight = check_weights(sample_weight, X.shape[0])
    if not X.data.any():
        raise ValueError(
            "no document of this batch has a term that the model knows, so there is nothing to "
            "learn from. Check that the batch was vectorized with the vocabulary of the model."
        )
    check_terms_left(X, weight)
    return X, weight


def next_step(model: Any, n_docs: float) -> tuple[BatchStep, float]:
    """Return the step for a batch of so many documents, and the size of the corpus."""
    offset, decay, total = check_schedule(model)
    rho = stochastic.step_size(model.n_samples_seen_, n_docs, offset, decay)
    D = total or model.n_samples_seen_ + n_docs
    return BatchStep(rho, D / model.n_samples_total_, D / n_docs), D


def batch_knobs(model: Any) -> Knobs:
    """Return which hyperparameters batches learn; others stay as they are."""
    learns_a_t = isinstance(model.term_shape, str)
    least = check_term_shape(model.term_shape)[1] if learns_a_t else 0.0
    labelled = hasattr(model, "label_shapes_")
    a_lam = None
    if labelled and (model.scoped_ or not isinstance(model.label_shape, str)):
        a_lam = model.label_shapes_
    return Knobs(
        a_t=None if learns_a_t else model.hyperparameters_["term_shape"],
        least_a_t=least,
        b_t=check_shape_or_scale("term_scale", model.term_scale),
        a_v=model.hyperparameters_["coef_shape"],
        b_v=None if labelled else check_shape_or_scale("coef_scale", model.coef_scale),
        a_lam=a_lam,
        b_lam=check_shape_or_scale("label_scale", model.label_scale) if labelled else None,
    )


def prior_of(model: Any) -> Prior:
    """Return the hyperparameters of a fitted model."""
    values = model.hyperparameters_
    prior = Prior(*(values[f"{of}_{what}"] for of in ("term", "coef") for what in _KINDS))
    if not hasattr(model, "label_shapes_"):
        return prior
    a_lam, b_lam = model.label_shapes_, values["label_scale"]
    if isinstance(model.label_scale, str):  # labels share the mean of the prior, a b
        b_lam = b_lam / np.mean(1 / a_lam) / a_lam
    return replace(prior, a_lam=a_lam, b_lam=b_lam)


_KINDS = ("shape", "scale")


def batch_labels(model: Any, targets: Any) -> Labels:
    """Return the labels of the groups of a batch, with frequencies and scopes of the model."""
    frequency = model.label_frequencies_ / max(model.label_frequencies_.sum(), _TINY)
    latent = np.repeat(frequency[None], len(targets.labels.latent), axis=0)
    labels = Labels(targets.labels.known, latent, np.log(np.maximum(frequency, _TINY)))
    if model.scopes_.all():
        return labels
    # an average document has about this weight on each component
    weight = model.label_activations_ * model.component_sums_
    mean = float((frequency @ weight).mean())
    outside = drafts.rate_outside(
        model.hyperparameters_["coef_shape"], float(model.component_sums_.mean()), mean
    )
    return replace(labels, scopes=Scopes(model.scopes_, outside))


class Batch:
    """A batch in an engine, with the part of a model that it needs; use as a context manager.

    Parameters
    ----------
    model : VBNMF or SupervisedVBNMF
        Fitted model.
    X : csr_array of shape (n_docs, n_terms)
        Documents, in the precision of the model.
    group, n_groups, weight
        As in ``LocalEngine``.
    labels : Labels or None
        Labels of the groups.
    """

    def __init__(
        self,
        model: Any,
        X: sparse.csr_array,
        group: Array,
        n_groups: int,
        weight: Array | None,
        labels: Labels | None,
    ) -> None:
        K, dtype = model.n_components_, X.dtype
        X, self.used = without_unused_terms(X)
        self._kernel = open_kernel(count_threads(model.n_jobs))
        self.kernel = self._kernel.__enter__()
        unknown = labels is not None and len(labels.latent) > 0
        self.engine = LocalEngine(
            self.kernel, X, group, n_groups, K, weight=weight, unknown=unknown
        )
        shapes = self.kernel.zeros(X.shape[1], K, dtype)
        shapes[:, :K] = model.component_shapes_.T[self.used]
        terms = starts.terms_of(self.kernel, shapes, model.component_scales_, tally=False)
        # components are sums over all terms, not over those of the batch
        sums = model.component_sums_ / model.component_scales_
        rates = None
        if labels is not None:
            rates = Rates(model.label_rate_shapes_, model.label_rate_scales_)
        self.state = State(prior_of(model), replace(terms, shape_sums=sums), rates, labels, 1.0)
        portions, in_scope = _portions(model, labels)
        self.engine.begin(portions, in_scope)
        stochastic.settle(self.engine, self.state, max_iter=LOCAL_ITERATIONS, tol=LOCAL_TOL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._kernel.__exit__(*exc)


def _portions(model: Any, labels: Labels | None) -> tuple[Array, Array | None]:
    """Return the parts of a document's weight on each component, by group, and scopes."""
    if labels is None:
        return np.atleast_2d(model.component_mass_ + 1e-3 / model.n_components_), None
    weight = model.label_activations_ * model.component_sums_
    return drafts.by_group(labels, drafts.spread(weight, model.scopes_)), labels.in_scope


def step_on(
    model: Any,
    X: sparse.csr_array,
    group: Array,
    n_groups: int,
    weight: Array | None,
    labels: Labels | None,
    knobs: Knobs,
    n_new: int = 0,
) -> tuple[State, Statistics]:
    """Take a step on a batch, and set the attributes about components.

    The last ``n_new`` components are new.
    """
    n_docs = float(X.shape[0] if weight is None else weight.sum())
    step, D = next_step(model, n_docs)
    if n_new:
        step = step.with_new(n_new, model.n_components_)
    with Batch(model, X, group, n_groups, weight, labels) as batch, np.errstate(over="ignore"):
        stats = batch.engine.sweep(batch.state, bound=False)
        state, sums = stochastic.global_step(
            batch.kernel, batch.state, model.component_shapes_.T, batch.used, stats, D, step, knobs
        )
    model.component_shapes_ = state.terms.shape.T
    model.component_scales_ = state.terms.scale
    model.component_sums_ = state.terms.E_sums
    model.components_ = model.component_shapes_ * state.terms.scale.astype(X.dtype)[:, None]
    check_finite(model.components_, model.component_scales_, model.component_sums_)
    prior = state.prior
    model.hyperparameters_ = model.hyperparameters_ | {
        "term_shape": prior.a_t, "term_scale": prior.b_t, "coef_scale": prior.b_v,
    }  # fmt: skip
    model.n_components_ = len(model.components_)
    model.describing_terms_ = None  # they described the previous components
    model.n_samples_seen_ += n_docs
    model.n_samples_total_ = D
    model.n_steps_ += 1
    return state, sums
