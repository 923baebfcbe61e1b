"""The updates of q(T), q(Λ) and of the scale of q(V): one function an equation.

    q(t):  shape a_t + Sigma_t,      scale 1 / (1/b_t + Σ_d E_v[d,k])
    q(v):  shape a_v + Sigma_v,      scale 1 / (E_λ[z_d,k] + Σ_w E_t[w,k])
    q(λ):  shape a_λ + a_v N_l,      scale 1 / (1/b_λ + Σ_{d: z_d = l} E_v[d,k])

The paper has a_v = 1 in the supervised model. The shapes of q(t) and q(v), and the ratios they are
made of, are the only O(nnz · K) part: ``vbnmf.kernels``.
"""

import numpy as np

from vbnmf.core.model import Array, Kernel, Prior, Rates, State, Statistics, Terms


def terms_scale(prior: Prior, E_v_sums: Array) -> Array:
    """Scale of q(t) by component, (K,), from Σ_d E_v, (K,)."""
    return 1.0 / (1.0 / prior.b_t + E_v_sums)


def coefs_scale(prior: Prior, rates: Rates | None, E_t_sums: Array) -> Array:
    """Scale of q(v) by group and component, (n_groups, K), from Σ_w E_t, (K,)."""
    rate = np.full((1, 1), 1.0 / prior.b_v) if rates is None else rates.E
    return 1.0 / (rate + E_t_sums)


def rates(prior: Prior, n_docs: Array, E_v_sums: Array) -> Rates:
    """q(Λ) from the number of documents of each label and Σ_d E_v by label."""
    assert prior.a_lam is not None
    assert prior.b_lam is not None
    return Rates(prior.a_lam + prior.a_v * n_docs, 1.0 / (1.0 / prior.b_lam + E_v_sums))


def terms(kernel: Kernel, state: State, stats: Statistics, *, tally: bool) -> Terms:
    """q(T) from the sums of a sweep; takes over the arrays of both arguments."""
    assert stats.R_t is not None
    scale = terms_scale(state.prior, stats.E_sums.sum(axis=0))
    return kernel.gamma_rows(stats.R_t, state.terms.L, scale, state.prior.a_t, tally=tally)
