"""The oracle with scopes, a scalar at a time: a component serves some labels and no other.

    v_dk = 0 where no label of d is in the scope of k; else as before, by the labels that are
    parts of the labels of d:   δ_dl B_lk / Σ_j δ_dj B_jk      where z_d is known
                                δ_dl = q(z_d = l)              where it is not

Where z_d is unknown, the rate under a label out of scope is the constant ``outside``. Nothing of
``vbnmf`` is imported.
"""

import math
from dataclasses import replace

import numpy as np
import oracle
from scipy.special import entr, gammaln, logsumexp, softmax


def parts(o, B, d, k):
    """Parts of the labels of document d as far as component k is concerned; None out of scope."""
    if o.unknown is not None and o.unknown[d]:
        return o.Delta[d]
    inside = o.Delta[d] * B[:, k]
    return inside / inside.sum() if inside.sum() > 0 else None


def cells(o, B):
    """All (d, k) in scope, with the parts of their labels."""
    D, K = o.alpha_v.shape
    for d in range(D):
        for k in range(K):
            of_labels = parts(o, B, d, k)
            if of_labels is not None:
                yield d, k, of_labels


def E_v(o, B):
    """⟨v⟩, zero out of scope."""
    out = np.zeros_like(o.alpha_v)
    for d, k, _ in cells(o, B):
        out[d, k] = o.alpha_v[d, k] * o.beta_v[d, k]
    return out


def logL_v(o, B):
    """⟨ln v⟩, −∞ out of scope."""
    out = np.full_like(o.alpha_v, -np.inf)
    for d, k, _ in cells(o, B):
        out[d, k] = oracle.gamma_mean_log(o.alpha_v[d, k], o.beta_v[d, k])
    return out


def update_s(o, B):
    """q(s_dw:) over the components in scope."""
    return replace(o, P=softmax(o.logL_t[None] + logL_v(o, B)[:, None], axis=2))


def update_t(o, B):
    """q(t), with coefficients in scope."""
    scale = 1 / (1 / o.b_t + E_v(o, B).sum(axis=0))
    return replace(o, alpha_t=o.a_t + o.Sigma_t, beta_t=np.broadcast_to(scale, o.beta_t.shape))


def update_lam(o, B):
    """q(λ_lk) from the documents that have label l, as far as component k is concerned."""
    N, sums, V = np.zeros(B.shape), np.zeros(B.shape), E_v(o, B)
    for d, k, of_labels in cells(o, B):
        N[:, k] += of_labels * B[:, k]
        sums[:, k] += of_labels * B[:, k] * V[d, k]
    return replace(o, alpha_lam=o.a_lam + o.a_v * N, beta_lam=1 / (1 / o.b_lam + sums))


def update_b_lam(o, B):
    """b_λ = mean(E_λ) / a_λ over what is in scope."""
    return replace(o, b_lam=float(o.E_lam[B].mean()) / o.a_lam)


def update_v(o, B, outside):
    """q(v) in scope."""
    beta = np.zeros_like(o.alpha_v)
    for d, k, of_labels in cells(o, B):
        rate = sum(
            p * (o.E_lam[m, k] if B[m, k] else outside) for m, p in enumerate(of_labels) if p
        )
        beta[d, k] = 1 / (rate + o.E_t[:, k].sum())
    return replace(o, alpha_v=o.a_v + o.Sigma_v, beta_v=beta)


def update_z(o, B, outside):
    """q(z) of documents of unknown label."""
    Delta, V = o.Delta.copy(), E_v(o, B)
    for d in np.flatnonzero(o.unknown):
        evidence = np.zeros(len(B))
        for m in range(len(B)):
            for k in range(B.shape[1]):
                mean, log = (o.E_lam[m, k], o.logL_lam[m, k]) if B[m, k] else (
                    outside, math.log(outside))  # fmt: skip
                evidence[m] += o.a_v * log - mean * V[d, k]
        Delta[d] = softmax(np.log(o.p_z) + evidence)
    return replace(o, Delta=Delta)


def bound(o, B, outside):
    """The lower bound with q(S) at its optimum, over what is in scope."""
    V, log_V = E_v(o, B), logL_v(o, B)
    log_sum = logsumexp(o.logL_t[None] + log_V[:, None], axis=2)
    total = np.sum((o.X * log_sum - gammaln(o.X + 1))[o.X > 0])
    total -= np.sum(o.E_t.sum(axis=0) * V.sum(axis=0))
    terms = (o.a_t - 1) * o.logL_t - o.E_t / o.b_t - o.a_t * math.log(o.b_t) - gammaln(o.a_t)
    total += np.sum(terms + oracle.gamma_entropy(o.alpha_t, o.beta_t))
    for d, k, of_labels in cells(o, B):
        total += (o.a_v - 1) * log_V[d, k] - gammaln(o.a_v)
        total += oracle.gamma_entropy(o.alpha_v[d, k], o.beta_v[d, k])
        for m, part in enumerate(of_labels):
            if part and B[m, k]:
                total += part * (o.a_v * o.logL_lam[m, k] - o.E_lam[m, k] * V[d, k])
            elif part:
                total += part * (o.a_v * math.log(outside) - outside * V[d, k])
    rates = (o.a_lam - 1) * o.logL_lam - o.E_lam / o.b_lam
    rates = rates - o.a_lam * math.log(o.b_lam) - gammaln(o.a_lam)
    total += (rates + oracle.gamma_entropy(o.alpha_lam, o.beta_lam))[B].sum()
    if o.unknown is not None:
        q = o.Delta[o.unknown]
        total += np.sum(q * np.log(o.p_z)) + np.sum(entr(q))
    return float(total)
