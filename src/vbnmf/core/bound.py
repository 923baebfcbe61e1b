"""Compute the lower bound of ln p(X), with q(S) at its optimum. It never falls during a fit.

      Σ_{x>0} [ x ln Σ_k L_t L_v − ln Γ(x+1) ]  −  Σ_k (Σ_w E_t)(Σ_d E_v)
    + Σ_wk [ (a_t−1)⟨ln t⟩ − E_t/b_t − a_t ln b_t − ln Γ(a_t) + H(q(t)) ]
    + Σ_dk [ (a_v−1)⟨ln v⟩ + Σ_l δ_dl (a_v ⟨ln λ_lk⟩ − E_λ E_v) − ln Γ(a_v) + H(q(v)) ]
    + Σ_lk [ (a_λ−1)⟨ln λ⟩ − E_λ/b_λ − a_λ ln b_λ − ln Γ(a_λ) + H(q(λ)) ]
    + Σ_dl [ δ_dl (ln p(l) − ln δ_dl) ]                                     where z_d is unknown

Without labels, λ is the constant 1/b_v and the last two lines are absent. Sums over dk and lk are
over pairs in scope; coefficients outside a scope are exactly zero and add nothing. All sums over
documents and terms come from a sweep or from the update of T, so little is computed here. The
references are in ``updates``.
"""

import numpy as np
from scipy.special import entr, gammaln

from vbnmf.core import gamma
from vbnmf.core.model import (
    Array,
    Labels,
    Prior,
    Rates,
    State,
    Statistics,
    Terms,
    Totals,
    column,
)
from vbnmf.core.products import dot


def bound(state: State, stats: Statistics, totals: Totals) -> float:
    """Compute the lower bound of a state, whose q(v) the sweep has just completed."""
    assert stats.tally is not None
    return float(
        data_term(state.terms, stats, totals)
        + terms_term(state.prior, state.terms)
        + coefs_term(state, stats)
        + (0.0 if state.rates is None else rates_term(state.prior, state.rates, state.labels))
        + stats.tally.labels
    )


def data_term(terms: Terms, stats: Statistics, totals: Totals) -> float:
    """Compute ⟨ln p(X, S | T, V)⟩ + H(q(S)), with q(S) at its optimum."""
    assert stats.tally is not None
    log_mean = stats.tally.log_mean + dot(terms.offset, totals.term_sums)
    return log_mean - totals.log_factorials - dot(terms.E_sums, stats.E_sums)


def terms_term(prior: Prior, terms: Terms) -> float:
    """Compute ⟨ln p(T)⟩ + H(q(T))."""
    n_terms, K = len(terms.offset), len(terms.scale)
    log_scales = n_terms * float(np.log(terms.scale).sum())
    return float(
        (prior.a_t - 1) * (terms.psi + log_scales)
        - float(terms.E_sums.sum()) / prior.b_t
        - n_terms * K * (prior.a_t * np.log(prior.b_t) + gammaln(prior.a_t))
        + (terms.entropy + log_scales)
    )


def coefs_term(state: State, stats: Statistics) -> float:
    """Compute ⟨ln p(V | Λ, z)⟩ + H(q(V))."""
    prior, rates, labels, tally = state.prior, state.rates, state.labels, stats.tally
    assert tally is not None
    if rates is None or labels is None:
        mean_log_rates = -tally.n_cells * np.log(prior.b_v)
        expected = stats.E_total / prior.b_v
    else:
        mean_log_rates = float((column(stats.n_docs) * rates.mean_log).sum())
        expected = float((rates.E * stats.label_sums).sum())
        if labels.scopes is not None and len(labels.latent):
            mean_log_rates += np.log(labels.scopes.outside) * tally.docs_outside
            expected += labels.scopes.outside * tally.E_outside
    return float(
        (prior.a_v - 1) * (tally.psi + tally.log_scales)
        + prior.a_v * mean_log_rates
        - expected
        - tally.n_cells * gammaln(prior.a_v)
        + (tally.entropy + tally.log_scales)
    )


def cells(scale: Array, n_docs: Array) -> tuple[float, float]:
    """Count the coefficients in scope, and sum ln scale over them; arguments are by group."""
    counts = scale > 0
    logs = np.log(scale, out=np.zeros_like(scale), where=counts)
    return dot(n_docs, counts.sum(axis=1)), dot(n_docs, logs.sum(axis=1))


def rates_term(prior: Prior, rates: Rates, labels: Labels | None = None) -> float:
    """Compute ⟨ln p(Λ)⟩ + H(q(Λ))."""
    assert prior.a_lam is not None
    assert prior.b_lam is not None
    a_lam, b_lam = column(prior.a_lam), column(prior.b_lam)
    each = (
        (a_lam - 1) * rates.mean_log
        - rates.E / b_lam
        - (a_lam * np.log(b_lam) + gammaln(a_lam))
        + gamma.entropy(column(rates.shape), rates.scale)
    )
    in_scope = True if labels is None or labels.scopes is None else labels.scopes.mask
    return float((each * in_scope).sum())


def labels_term(labels: Labels, n_docs: Array) -> float:
    """Compute ⟨ln p(z)⟩ + H(q(z)) of documents with unknown labels, each a group of its own."""
    each = (labels.latent * labels.log_prior + entr(labels.latent)).sum(axis=1)
    return dot(n_docs[labels.known.shape[0] :], each)
