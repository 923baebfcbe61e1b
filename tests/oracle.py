"""The slow specification: both vbNMF models in dense float64, written straight from the paper.

Nothing of ``vbnmf`` is imported and nothing is made fast: arrays are dense, q(S) is kept as its
(documents, terms, components) multinomial probabilities, and every function names its equation.
Equation numbers are those of the paper; (A.x) are its appendix and Table A3. Documents are rows
here (the paper has them as columns), so X is (D, W), T is (W, K), V is (D, K), Λ is (L, K).

    x_dw = Σ_k s_dwk         s_dwk ~ Poisson(t_wk v_dk)                           (5), (6)
    t_wk ~ Gamma(a_t, b_t)   v_dk ~ Gamma(1, 1/λ_{z_d k})    λ_lk ~ Gamma(a_λ, b_λ)  (4) (7) (8)

Gamma(shape, scale). The unsupervised model, v_dk ~ Gamma(a_v, b_v), is the case of L = 0 labels.
Misprints of the paper are put right: ln Γ for ln Ψ in the densities, the sum over documents in
α^λ, matrix products with Δ in B_λ. Optimisation settings, validation and speed are elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, entr, gammaln, logsumexp, softmax

Array = NDArray[np.float64]


# --- Gamma(a, b), shape and scale (appendix A.2) -----------------------------------------------


def gamma_mean(a: Array, b: Array) -> Array:
    """⟨x⟩ = a b."""
    return a * b


def gamma_mean_log(a: Array, b: Array) -> Array:
    """⟨ln x⟩ = ψ(a) + ln b."""
    return np.asarray(digamma(a) + np.log(b))


def gamma_entropy(a: Array, b: Array) -> Array:
    """H = a + ln b + ln Γ(a) + (1 − a) ψ(a)."""
    return np.asarray(a + np.log(b) + gammaln(a) + (1 - a) * digamma(a))


# --- State ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oracle:
    """Data, hyperparameters and q(S) q(T) q(V) q(Λ); updates return a new one.

    Attributes
    ----------
    X : (D, W) data.
    Delta : (D, L) labels, Δ of Table A1 transposed to our orientation; L = 0: unsupervised. Rows
        sum to one: one-hot, equal parts of several labels, or q(z_d) where the label is unknown.
    a_t, b_t, a_v, b_v, a_lam, b_lam : tied hyperparameters; with labels a_v is 1 and b_v is unused.
        a_lam and b_lam may be columns (L, 1): one for each label.
    alpha_t, beta_t : (W, K) shape and scale of q(t).
    alpha_v, beta_v : (D, K) shape and scale of q(v).
    alpha_lam, beta_lam : (L, K) shape and scale of q(λ).
    P : (D, W, K) multinomial probabilities of q(s_dw:), each cell summing to one over k.
    unknown : (D,) whether z_d is unknown, and p_z : (L,) its prior; None: all labels are known.
    """

    X: Array
    Delta: Array
    a_t: float
    b_t: float
    a_v: float
    b_v: float
    a_lam: float | Array
    b_lam: float | Array
    alpha_t: Array
    beta_t: Array
    alpha_v: Array
    beta_v: Array
    alpha_lam: Array
    beta_lam: Array
    P: Array
    unknown: Array | None = None
    p_z: Array | None = None

    @property
    def supervised(self) -> bool:
        return bool(self.Delta.shape[1])

    @property
    def E_t(self) -> Array:
        return gamma_mean(self.alpha_t, self.beta_t)

    @property
    def E_v(self) -> Array:
        return gamma_mean(self.alpha_v, self.beta_v)

    @property
    def E_lam(self) -> Array:
        return gamma_mean(self.alpha_lam, self.beta_lam)

    @property
    def logL_t(self) -> Array:
        return gamma_mean_log(self.alpha_t, self.beta_t)

    @property
    def logL_v(self) -> Array:
        return gamma_mean_log(self.alpha_v, self.beta_v)

    @property
    def logL_lam(self) -> Array:
        return gamma_mean_log(self.alpha_lam, self.beta_lam)

    @property
    def S(self) -> Array:
        """⟨s_dwk⟩ = x_dw p_dwk, (D, W, K)."""
        return self.X[:, :, None] * self.P

    @property
    def Sigma_t(self) -> Array:
        """Σ_d ⟨s_dwk⟩, (W, K)."""
        return np.asarray(self.S.sum(axis=0))

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s_dwk⟩, (D, K)."""
        return np.asarray(self.S.sum(axis=1))

    @property
    def rate_v(self) -> Array:
        """Expected 1/scale of the prior of v: ⟨λ_{z_d k}⟩, or 1/b_v without labels; (D, K)."""
        return (
            self.Delta @ self.E_lam if self.supervised else np.full_like(self.beta_v, 1 / self.b_v)
        )

    @property
    def log_rate_v(self) -> Array:
        """Expected log of the same: ⟨ln λ_{z_d k}⟩, or −ln b_v; (D, K)."""
        if self.supervised:
            return self.Delta @ self.logL_lam
        return np.full_like(self.beta_v, -math.log(self.b_v))


def one_hot(y: ArrayLike | None, n_docs: int) -> Array:
    """Δ (D, L) of a vector of codes 0…L−1, of a one-hot matrix, or (D, 0) of None."""
    if y is None:
        return np.zeros((n_docs, 0))
    y = np.asarray(y)
    Delta = np.eye(int(y.max()) + 1)[y.astype(int)] if y.ndim == 1 else y.astype(np.float64)
    if Delta.shape[0] != n_docs or not np.allclose(Delta.sum(1), 1):
        raise ValueError("labels must give every document weights that sum to one")
    return np.asarray(Delta, dtype=np.float64)


def random_start(X: ArrayLike, y: ArrayLike | None, K: int, seed: int, **hyper: float) -> Oracle:
    """Random posteriors of T and V, all λ equal (the paper's burn-in), uniform P.

    `hyper` replaces any of the starting hyperparameters a_t, b_t, a_v, b_v, a_lam, b_lam.
    """
    X = np.asarray(X, dtype=np.float64)
    D, W = X.shape
    Delta = one_hot(y, D)
    L = Delta.shape[1]
    h = {"a_t": 0.8, "b_t": 1.0, "a_v": 0.5, "b_v": 1.0, "a_lam": 2.0, "b_lam": 1.0} | hyper
    h["a_v"] = 1.0 if L else h["a_v"]
    draw = np.random.default_rng(seed).uniform
    return Oracle(
        X=X,
        Delta=Delta,
        alpha_t=draw(0.5, 2.0, (W, K)),
        beta_t=draw(0.5, 2.0, (W, K)),
        alpha_v=draw(0.5, 2.0, (D, K)),
        beta_v=draw(0.5, 2.0, (D, K)),
        alpha_lam=np.full((L, K), h["a_lam"]),
        beta_lam=np.full((L, K), h["b_lam"]),
        P=np.full((D, W, K), 1.0 / K),
        **h,
    )


# --- Updates (11), each with the newest value of everything else (appendix B) -------------------


def update_s(o: Oracle) -> Oracle:
    """q(s_dw:) = M(x_dw, p),  p_dwk = L_t L_v / Σ_k L_t L_v with L = exp⟨ln ·⟩."""
    return replace(o, P=softmax(o.logL_t[None, :, :] + o.logL_v[:, None, :], axis=2))


def update_t(o: Oracle) -> Oracle:
    """q(t_wk) = G(a_t + Σ_d⟨s⟩, 1 / (1/b_t + Σ_d⟨v_dk⟩))."""
    scale = 1 / (1 / o.b_t + o.E_v.sum(axis=0))
    return replace(o, alpha_t=o.a_t + o.Sigma_t, beta_t=np.broadcast_to(scale, o.beta_t.shape))


def update_lam(o: Oracle) -> Oracle:
    """q(λ_lk) = G(a_λ + N_l, 1 / (1/b_λ + Σ_{d: z_d = l}⟨v_dk⟩)); N_l counts the documents of l."""
    N = o.Delta.sum(axis=0)
    shape = np.broadcast_to(o.a_lam + N[:, None], o.alpha_lam.shape)
    return replace(o, alpha_lam=shape, beta_lam=1 / (1 / o.b_lam + o.Delta.T @ o.E_v))


def update_v(o: Oracle) -> Oracle:
    """q(v_dk) = G(a_v + Σ_w⟨s⟩, 1 / (⟨λ_{z_d k}⟩ + Σ_w⟨t_wk⟩)); a_v = 1 with labels."""
    return replace(o, alpha_v=o.a_v + o.Sigma_v, beta_v=1 / (o.rate_v + o.E_t.sum(axis=0)))


def update_z(o: Oracle, inverse_temperature: float = 1.0) -> Oracle:
    """q(z_d = l) ∝ p(l) exp(inverse_temperature Σ_k ⟨ln p(v_dk | λ_lk)⟩), z_d unknown."""
    assert o.unknown is not None
    Delta = o.Delta.copy()
    for d in np.flatnonzero(o.unknown):
        evidence = (o.a_v * o.logL_lam - o.E_lam * o.E_v[d]).sum(axis=1)
        Delta[d] = softmax(np.log(o.p_z) + inverse_temperature * evidence)
    return replace(o, Delta=Delta)


def iterate(
    o: Oracle, *, learn_lam: bool = True, hyper: Sequence[str] = (), scale_free: bool = True
) -> Oracle:
    """One iteration S → T → Λ → V, then the hyperparameters named in `hyper`.

    `learn_lam=False` is the burn-in. `hyper` holds any of "a_t", "b_t", "b_v", "b_lam"; a_t moves
    b_t with it where `scale_free` (see `update_a_t`).
    """
    o = update_t(update_s(o))
    o = update_lam(o) if learn_lam else o
    o = update_v(o)
    if "a_t" in hyper:
        o = update_a_t(o, scale_free=scale_free)
    elif "b_t" in hyper:
        o = update_b_t(o)
    o = update_b_v(o) if "b_v" in hyper else o
    return update_b_lam(o) if "b_lam" in hyper and o.supervised else o


def table_a3(o: Oracle) -> Oracle:
    """One pass of Table A3 as printed: B_t from the old E_v, B_v from the old E_t and old E_λ.

    Only Λ, which comes last, sees the new E_v. The bound may fall (`test_oracle` has a case). The
    misprinted B_λ is put right (a matrix product with Δ); without labels a_v, b_v stand for V's
    prior as in `update_v`.
    """
    L_t, L_v = np.exp(o.logL_t), np.exp(o.logL_v)
    Xi = o.X / (L_v @ L_t.T)
    Sigma_v = L_v * (Xi @ L_t)
    Sigma_t = L_t * (Xi.T @ L_v)
    new = replace(
        o,
        P=L_v[:, None, :] * L_t[None, :, :] / (L_v @ L_t.T)[:, :, None],
        alpha_t=o.a_t + Sigma_t,
        beta_t=1 / (1 / o.b_t + np.ones_like(Sigma_t) * o.E_v.sum(axis=0)),
        alpha_v=o.a_v + Sigma_v,
        beta_v=1 / (o.rate_v + o.E_t.sum(axis=0)),
    )
    A_lam = o.a_lam + o.Delta.T @ np.ones_like(Sigma_v)
    return replace(new, alpha_lam=A_lam, beta_lam=1 / (1 / o.b_lam + o.Delta.T @ new.E_v))


# --- Hyperparameters that maximise the bound, tied over a matrix --------------------------------


def update_b_t(o: Oracle) -> Oracle:
    """b_t = mean(E_t) / a_t."""
    return replace(o, b_t=float(o.E_t.mean()) / o.a_t)


def update_b_v(o: Oracle) -> Oracle:
    """b_v = mean(E_v) / a_v (unsupervised; with labels λ has this place)."""
    return replace(o, b_v=float(o.E_v.mean()) / o.a_v)


def update_b_lam(o: Oracle) -> Oracle:
    """b_λ = mean(E_λ) / a_λ; where each label has its own a_λ, m / a_l with the best mean m."""
    if np.ndim(o.a_lam):
        # Σ_lk (−a_l ln m − a_l E_λ / m) is largest there
        return replace(
            o, b_lam=(o.a_lam * o.E_lam).sum() / o.E_lam.shape[1] / o.a_lam.sum() / o.a_lam
        )
    return replace(o, b_lam=float(o.E_lam.mean()) / o.a_lam)


def update_a_t(o: Oracle, *, scale_free: bool = True) -> Oracle:
    """Maximise the bound over a_t, together with b_t where `scale_free`, else with b_t held.

    Free: ln a − ψ(a) = c with c = ln mean(E_t) − mean⟨ln t⟩ ≥ 0, then b_t = mean(E_t) / a. The left
    side lies between 1/(2a) and 1/a, which brackets the root. Held: ψ(a) = mean⟨ln t⟩ − ln b_t.
    """
    mean_log = float(o.logL_t.mean())
    if scale_free:
        c = math.log(o.E_t.mean()) - mean_log
        a = _root(lambda a: math.log(a) - float(digamma(a)) - c, 0.5 / c, 1 / c)
        return update_b_t(replace(o, a_t=a))
    target = mean_log - math.log(o.b_t)
    low = high = 1.0
    while digamma(low) > target:
        low /= 2
    while digamma(high) < target:
        high *= 2
    return replace(o, a_t=_root(lambda a: float(digamma(a)) - target, low, high))


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(f, low, high, xtol=1e-15, rtol=4 * np.finfo(float).eps))


# --- The lower bound (10) -----------------------------------------------------------------------


def bound(o: Oracle) -> float:
    """(10) with q(S) at its optimum for the present q(T), q(V); o.P is not used."""
    log_sum = logsumexp(o.logL_t[None, :, :] + o.logL_v[:, None, :], axis=2)
    present = o.X > 0
    data = np.sum((o.X * log_sum - gammaln(o.X + 1))[present])
    data -= np.sum(o.E_t.sum(axis=0) * o.E_v.sum(axis=0))
    term = (o.a_t - 1) * o.logL_t - o.E_t / o.b_t - o.a_t * math.log(o.b_t) - gammaln(o.a_t)
    term = term + gamma_entropy(o.alpha_t, o.beta_t)
    coef = (o.a_v - 1) * o.logL_v - o.rate_v * o.E_v + o.a_v * o.log_rate_v - gammaln(o.a_v)
    coef = coef + gamma_entropy(o.alpha_v, o.beta_v)
    label = (o.a_lam - 1) * o.logL_lam - o.E_lam / o.b_lam
    label = label - o.a_lam * np.log(o.b_lam) - gammaln(o.a_lam)
    label = label + gamma_entropy(o.alpha_lam, o.beta_lam)
    return float(data + term.sum() + coef.sum() + label.sum() + _unknown_labels(o))


def _unknown_labels(o: Oracle) -> float:
    """⟨ln p(z)⟩ + H(q(z)) of the documents whose label is unknown."""
    if o.unknown is None:
        return 0.0
    q = o.Delta[o.unknown]
    return float(np.sum(q * np.log(o.p_z)) + np.sum(entr(q)))


def full_bound(o: Oracle) -> float:
    """(10) for any q(S): ⟨ln p⟩ of (9) plus the entropies, added up one scalar at a time.

    ⟨ln p(X|S)⟩ cancels against the δ in the entropy of q(S). ⟨ln Γ(s+1)⟩ appears as −⟨ln Γ(s+1)⟩
    in the Poisson terms of (5) and as + in the entropy of the multinomial, so it is written in
    neither: what is left of both is finite for the real-valued X of TF-IDF as well.
    """
    D, W, K = o.P.shape
    E_t, logL_t, E_v, logL_v = o.E_t, o.logL_t, o.E_v, o.logL_v
    E_lam, logL_lam = o.E_lam, o.logL_lam
    z = o.Delta.argmax(axis=1) if o.supervised else None
    total = 0.0
    for d in range(D):
        for w in range(W):
            x = o.X[d, w]
            total += -float(gammaln(x + 1))  # entropy of q(s_dw:): −ln Γ(x+1) − Σ_k ⟨s⟩ ln p
            for k in range(K):
                total += x * float(entr(o.P[d, w, k]))
                # (5): −⟨t⟩⟨v⟩ + ⟨s⟩ ⟨ln t + ln v⟩
                total += -E_t[w, k] * E_v[d, k]
                total += x * o.P[d, w, k] * (logL_t[w, k] + logL_v[d, k])
    for w in range(W):
        for k in range(K):
            total += _log_gamma_density(E_t[w, k], logL_t[w, k], o.a_t, o.b_t)  # (4)
            total += float(gamma_entropy(o.alpha_t[w, k], o.beta_t[w, k]))
    for d in range(D):
        for k in range(K):
            if z is None:
                total += _log_gamma_density(E_v[d, k], logL_v[d, k], o.a_v, o.b_v)
            else:  # (7): ⟨ln λ − λ v⟩, exact with one label a document
                total += logL_lam[z[d], k] - E_lam[z[d], k] * E_v[d, k]
            total += float(gamma_entropy(o.alpha_v[d, k], o.beta_v[d, k]))
    for m in range(o.Delta.shape[1]):
        for k in range(K):
            total += _log_gamma_density(E_lam[m, k], logL_lam[m, k], o.a_lam, o.b_lam)  # (8)
            total += float(gamma_entropy(o.alpha_lam[m, k], o.beta_lam[m, k]))
    return float(total)


def _log_gamma_density(mean: float, mean_log: float, a: float, b: float) -> float:
    """⟨ln G(x | a, b)⟩ = (a − 1)⟨ln x⟩ − ⟨x⟩/b − a ln b − ln Γ(a)."""
    return (a - 1) * mean_log - mean / b - a * math.log(b) - math.lgamma(a)
