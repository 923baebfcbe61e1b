"""Stochastic variational inference: steps on q(T) and q(Λ) from one batch of documents at a time.

The sums over documents that the updates of q(T) and q(Λ) need are estimated from batches:

    sums ← (1 − ρ) (D / D') sums + ρ (D / B) sums of the batch        ρ = (t + τ)^−κ

B is the number of documents of the batch. D is the number of documents of the corpus, and D' what
it was before the step; it is given, or it grows with the documents seen. t is the number of
documents seen before, in batches of this size. q(T) and q(Λ) then follow from the sums by the
equations of ``updates``. The natural parameters of q(T) and q(Λ) are linear in these sums, so this
is a step along their natural gradient (Hoffman et al., 2013). With ρ = 1 and D = B it is the global
step of a fit. With τ = κ = 1 and a growing corpus, the sums of all batches are added up.

The posteriors hold the sums, so nothing else is kept between batches:

    Sigma_t = shape(t) − a_t             Σ_d E_v = 1 / scale(t) − 1 / b_t
    N_l = (shape(λ) − a_λ) / a_v         Σ_d δ_dl E_v = 1 / scale(λ) − 1 / b_λ
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from vbnmf.core import updates
from vbnmf.core.fit import learn_coefs_prior, learn_terms_prior
from vbnmf.core.model import (
    Array,
    Engine,
    Kernel,
    Prior,
    Rates,
    State,
    Statistics,
    Terms,
    column,
)
from vbnmf.core.starts import Knobs, terms_of


class OnlineEngine(Engine, Protocol):
    """An engine that can also find coefficients alone."""

    def relax(self, state: State) -> Statistics:
        """Update the coefficients, without sums over terms."""
        ...


@dataclass(frozen=True)
class BatchStep:
    """How far a step goes from the sums so far to those of a batch.

    ``rho`` and ``factor`` are numbers, or one for each component, (K,).
    """

    rho: float | Array  # ρ
    growth: float  # D / D'
    factor: float | Array  # D / B

    def blended(self, sums: Array, of_batch: Array) -> Array:
        """Return the sums over the corpus after the step."""
        return self.kept * sums + self.taken * of_batch

    @property
    def kept(self) -> Array:
        """Factor of the sums so far."""
        return np.asarray((1 - self.rho) * self.growth)

    @property
    def taken(self) -> Array:
        """Factor of the sums of the batch."""
        return np.asarray(self.rho * self.factor)

    def with_new(self, n_new: int, K: int) -> "BatchStep":
        """Return the same step, but the last of K components begin with the sums of the batch.

        They had no documents before, so those of the batch count once each.
        """
        new = np.arange(K) >= K - n_new
        return BatchStep(np.where(new, 1.0, self.rho), self.growth, np.where(new, 1.0, self.factor))


def step_size(seen: float, n_docs: float, offset: float, decay: float) -> float:
    """ρ = (t + τ)^−κ, at most one, after ``seen`` documents, for a batch of ``n_docs``."""
    return float(min(1.0, max(seen / n_docs + offset, 1e-300) ** -decay))


def settle(engine: OnlineEngine, state: State, *, max_iter: int, tol: float) -> None:
    """Find q(v) and q(z) of a batch with T and Λ fixed.

    It ends when an iteration changes the sums of coefficients by less than ``tol`` of their size.
    """
    # documents of unknown label have no coefficients yet from which q(z) would follow
    sums = engine.relax(replace(state, inverse_temperature=0.0)).label_sums
    for _ in range(max_iter):
        before, sums = sums, engine.relax(state).label_sums
        if np.abs(sums - before).sum() <= tol * sums.sum():
            return


def expected_counts(a_t: float, shapes: Array) -> Array:
    """Sigma_t from the shapes of q(T), both (n_terms, K)."""
    return np.maximum(shapes - shapes.dtype.type(a_t), 0)


def coefficient_sums(prior: Prior, scale: Array) -> Array:
    """Σ_d E_v from the scales of q(T), both (K,)."""
    return np.maximum(1 / scale - 1 / prior.b_t, 0.0)


def label_sizes(prior: Prior, rates: Rates) -> Array:
    """N_l from the shapes of q(Λ), (n_labels, K)."""
    assert prior.a_lam is not None
    return np.maximum(rates.shape - column(prior.a_lam), 0.0) / prior.a_v


def label_coefficient_sums(prior: Prior, rates: Rates) -> Array:
    """Σ_d δ_dl E_v from the scales of q(Λ), both (n_labels, K)."""
    assert prior.b_lam is not None
    return np.maximum(1 / rates.scale - column(1 / np.asarray(prior.b_lam)), 0.0)


def blended_shapes(
    a_t: float, shapes: Array, used: Array | slice, Sigma_t: Array, step: BatchStep
) -> Array:
    """Compute the shapes of q(T), (n_terms, K), after the step.

    They follow from the shapes before it and the Sigma_t of the terms of the batch.
    """
    counts = expected_counts(a_t, shapes)
    counts *= step.kept.astype(shapes.dtype)
    counts[used] += step.taken.astype(shapes.dtype) * Sigma_t
    counts += shapes.dtype.type(a_t)
    return counts


def global_step(
    kernel: Kernel,
    state: State,
    shapes: Array,
    used: Array | slice,
    stats: Statistics,
    n_docs: float,
    step: BatchStep,
    knobs: Knobs,
) -> tuple[State, Statistics]:
    """T, Λ and hyperparameters after a batch, and the estimated sums that they follow from.

    Parameters
    ----------
    kernel : Kernel
        Needed only where a_t is learned.
    state : State
        What the sweep of the batch was given. Its terms are those of the batch.
    shapes : array of shape (n_terms, K)
        Shapes of q(T) of all terms; not changed.
    used : array of int, or slice
        Terms of the batch.
    stats : Statistics
        Sums over the batch.
    n_docs : float
        D.
    step : BatchStep
        How far to go.
    knobs : Knobs
        Which hyperparameters are learned. If ``a_lam`` is None, a_λ of each label is the number of
        its documents, at least one.
    """
    prior, K = state.prior, shapes.shape[1]
    assert stats.R_t is not None
    Sigma_t = state.terms.L[:, :K] * stats.R_t[:, :K]
    E_sums = step.blended(coefficient_sums(prior, state.terms.scale), stats.E_sums)
    label_sums, sizes = E_sums[None], np.array([n_docs])
    if state.rates is not None:
        label_sums = step.blended(label_coefficient_sums(prior, state.rates), stats.label_sums)
        sizes = step.blended(label_sizes(prior, state.rates), column(stats.n_docs))
        scopes = None if state.labels is None else state.labels.scopes
        if scopes is not None:  # differences of posterior and prior are not exactly zero there
            label_sums, sizes = (np.where(scopes.mask, a, 0.0) for a in (label_sums, sizes))
    sums = Statistics(None, E_sums, float(E_sums.sum()), label_sums, sizes, None)
    terms = _terms(
        kernel,
        blended_shapes(prior.a_t, shapes, used, Sigma_t, step),
        updates.terms_scale(prior, E_sums),
        tally=knobs.a_t is None,
    )
    state = replace(state, terms=terms)
    prior = learn_terms_prior(prior, terms, knobs, burning_in=False)
    if state.rates is not None:
        a_lam = np.maximum(sizes.max(axis=1), 1.0) if knobs.a_lam is None else knobs.a_lam
        prior = replace(prior, a_lam=a_lam)
        state = replace(state, rates=updates.rates(prior, sizes, label_sums))
    return replace(state, prior=learn_coefs_prior(prior, state, sums, n_docs, knobs)), sums


def _terms(kernel: Kernel, shapes: Array, scale: Array, *, tally: bool) -> Terms:
    """Return q(T) without L, which the next batch needs of its own terms alone."""
    psi = float("nan")
    if tally:
        padded = kernel.zeros(len(shapes), len(scale), shapes.dtype)
        padded[:, : len(scale)] = shapes
        psi = terms_of(kernel, padded, scale).psi
    sums = shapes.sum(axis=0, dtype=np.float64)
    return Terms(shapes, scale, shapes[:0], np.zeros(len(shapes)), sums, psi, float("nan"))
