"""Update q(T), q(Λ), q(z) and the scale of q(V): one function for each equation.

    q(t):  shape a_t + Sigma_t,      scale 1 / (1/b_t + Σ_d E_v[d,k])
    q(v):  shape a_v + Sigma_v,      scale 1 / (Σ_l δ_dl E_λ[l,k] + Σ_w E_t[w,k]), or 0 out of scope
    q(λ):  shape a_λ + a_v N_l,      scale 1 / (1/b_λ + Σ_d δ_dl E_v[d,k]),    N_l = Σ_d δ_dl
    q(z):  δ_dl ∝ p(l) exp Σ_k [ a_v ⟨ln λ_lk⟩ − E_λ[l,k] E_v[d,k] ]           where z_d is unknown

In the paper's supervised model a_v = 1, and all z are known. The shapes of q(t) and q(v), and the
ratios from which they are computed, are the only O(nnz · K) part. They are in ``vbnmf.kernels``.

References
----------
A. T. Cemgil (2009). Bayesian inference for nonnegative matrix factorisation models. Computational
Intelligence and Neuroscience.

I. Ivek (2014). Interpretable low-rank document representations with label-dependent sparsity
patterns.
"""

import numpy as np
from scipy.special import softmax

from vbnmf.core.model import (
    Array,
    Kernel,
    Labels,
    Prior,
    Rates,
    State,
    Statistics,
    Terms,
    column,
)
from vbnmf.core.products import product_with_rows


def terms_scale(prior: Prior, E_v_sums: Array) -> Array:
    """Compute the scale of q(t) by component, (K,), from Σ_d E_v, (K,)."""
    return 1.0 / (1.0 / prior.b_t + E_v_sums)


def coefs_scale(state: State, labels: Labels | None) -> Array:
    """Compute the scale of q(v), (n_groups, K), for the groups of a shard.

    ``labels`` are those of the shard. None means one group of all documents.
    """
    rate = np.full((1, 1), 1.0 / state.prior.b_v)
    if state.rates is not None:
        assert labels is not None
        rate = labels.by_group(state.rates.E)
        if labels.in_scope is not None:
            return np.where(labels.in_scope, 1.0 / (rate + state.terms.E_sums), 0.0)
    return 1.0 / (rate + state.terms.E_sums)


def rates(prior: Prior, n_docs: Array, label_sums: Array) -> Rates:
    """Compute q(Λ) from the number of documents of each label and Σ_d δ_dl E_v.

    ``n_docs`` is (n_labels,), or (n_labels, K) with scopes.
    """
    assert prior.a_lam is not None
    assert prior.b_lam is not None
    shape = rates_shape(prior.a_lam, prior.a_v, n_docs)
    return Rates(shape, 1.0 / (column(1.0 / prior.b_lam) + label_sums))


def rates_shape(a_lam: float | Array, a_v: float, n_docs: Array) -> Array:
    """Compute the shape of q(λ), (n_labels,), or (n_labels, K) with scopes; as ``n_docs``."""
    return (a_lam if n_docs.ndim == 1 else column(a_lam)) + a_v * n_docs


def latent_labels(
    prior: Prior, labels: Labels, rates: Rates, E_v: Array, inverse_temperature: float = 1.0
) -> Array:
    """Compute q(z), (n_docs, n_labels), of documents with unknown labels from E_v, (n_docs, K).

    With an ``inverse_temperature`` below one, q(z) is closer to p(z).
    """
    evidence = label_evidence(prior.a_v, labels, rates, E_v)
    return np.asarray(softmax(labels.log_prior + inverse_temperature * evidence, axis=1))


def label_evidence(a_v: float, labels: Labels, rates: Rates, E_v: Array) -> Array:
    """Compute ⟨ln p(v | λ_l)⟩ up to a term common to all labels, (n_docs, n_labels)."""
    E, mean_log = rates.E, rates.mean_log
    if labels.scopes is not None:
        mask, outside = labels.scopes.mask, labels.scopes.outside
        E, mean_log = np.where(mask, E, outside), np.where(mask, mean_log, np.log(outside))
    return a_v * mean_log.sum(axis=1) - product_with_rows(E_v, E)


def terms(
    kernel: Kernel, state: State, stats: Statistics, *, tally: bool, shapes_only: bool = False
) -> Terms:
    """Compute q(T) from the sums of a sweep. The arrays of both arguments are reused."""
    assert stats.R_t is not None
    scale, a_t = terms_scale(state.prior, stats.E_sums), state.prior.a_t
    return kernel.gamma_rows(
        stats.R_t, state.terms.L, scale, a_t, tally=tally, shapes_only=shapes_only
    )
