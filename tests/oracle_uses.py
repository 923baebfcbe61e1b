"""The slow specification of what is done with a fitted model: projection of documents, sparsity.

As in ``oracle``, nothing of ``vbnmf`` is imported and nothing is made fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from oracle import Array, gamma_mean, gamma_mean_log
from scipy.special import softmax


def naming_terms(estimator: Any, n: int) -> list[list[int]]:
    """First n describing terms of each component whose shape is at least twice that of the prior.

    Without any, a component has its heaviest term; if it has faded, it has none.
    """
    least = 2 * estimator.hyperparameters_["term_shape"]
    lists = []
    for k, terms in enumerate(estimator.describing_terms_):
        kept = [int(w) for w in terms if estimator.component_shapes_[k, w] >= least]
        heaviest = [] if estimator.faded_[k] else [int(estimator.components_[k].argmax())]
        lists.append(kept[:n] or heaviest)
    return lists


def project(
    X: ArrayLike, alpha_t: Array, beta_t: Array, a_v: float, b_v: float, n_iter: int
) -> tuple[Array, Array, Array]:
    """Coefficients of `X` (D, W) with q(t) fixed and prior v ~ Gamma(a_v, b_v).

    Starts from Σ_v = row sum / K; an iteration sets q(v) from Σ_v and then Σ_v from the ratios.

    Returns
    -------
    alpha_v, beta_v, Sigma_v : (D, K) arrays
        The q(v) of the last iteration and the Σ_v computed from it.
    """
    X = np.asarray(X, dtype=np.float64)
    D, K = X.shape[0], alpha_t.shape[1]
    logL_t = gamma_mean_log(alpha_t, beta_t)
    Sigma_v = np.repeat(X.sum(axis=1)[:, None] / K, K, axis=1)
    beta_v = np.broadcast_to(1 / (1 / b_v + gamma_mean(alpha_t, beta_t).sum(axis=0)), (D, K))
    for _ in range(n_iter):
        alpha_v = a_v + Sigma_v
        logL_v = gamma_mean_log(alpha_v, beta_v)
        P = softmax(logL_t[None, :, :] + logL_v[:, None, :], axis=2)
        Sigma_v = np.asarray((X[:, :, None] * P).sum(axis=1))
    return alpha_v, beta_v, Sigma_v


def project_to_mode(
    X: ArrayLike, alpha_t: Array, beta_t: Array, a_v: Array, n_iter: int
) -> tuple[Array, Array]:
    """Mode of ln v for `X` (D, W) with q(t) fixed and v_dk s_k ~ Gamma(a_v[d, k], any scale).

    Starts from Σ_v = row sum / K; an iteration sets v from Σ_v and then Σ_v from the ratios.

    Returns
    -------
    shares, Sigma_v : (D, K) arrays
        v_dk s_k up to a factor of the document, in the last iteration and after it.
    """
    X = np.asarray(X, dtype=np.float64)
    K = alpha_t.shape[1]
    s = gamma_mean(alpha_t, beta_t).sum(axis=0)
    L_t = np.exp(gamma_mean_log(alpha_t, beta_t))
    Sigma_v = np.repeat(X.sum(axis=1)[:, None] / K, K, axis=1)
    for _ in range(n_iter):
        shares = a_v + Sigma_v
        for d in range(len(X)):
            v = shares[d] / s
            Sigma_v[d] = sum(x * L_t[w] * v / (L_t[w] @ v) for w, x in enumerate(X[d]))
    return a_v + Sigma_v, Sigma_v


def expected_shares(
    X: ArrayLike, components: Array, activations: Array, frequencies: Array, everywhere: float
) -> Array:
    """m_dk: the shares of components (K, W) that the terms of documents suggest through labels.

    `activations` (L, K) are coefficients of labels, up to a factor of each label.
    """
    s = components.sum(axis=1)
    p = np.array([row * s / (row @ s) for row in activations])
    words = np.array([row @ components / (row @ s) for row in activations])
    prior = frequencies / frequencies.sum()
    out = []
    for x in np.asarray(X, dtype=np.float64):
        n = max(x.sum() ** 2 / (x @ x), 1.0) if x.any() else 0.0
        weight = x.sum() or 1.0
        logs = [math.log(prior[i]) + n * (x @ np.log(words[i])) / weight for i in range(len(p))]
        q = softmax(logs)
        out.append(((1 - everywhere) * q + everywhere * prior) @ p)
    return np.array(out)


def hoyer_sparsity(x: ArrayLike) -> float:
    """(12), of a vector or of a matrix as one long vector; at least two elements, not all zero."""
    values = np.asarray(x, dtype=np.float64).ravel()
    l1 = squares = 0.0
    for value in values:
        l1 += abs(value)
        squares += value * value
    root_n = math.sqrt(len(values))
    return (root_n - l1 / math.sqrt(squares)) / (root_n - 1)


def inter_label_sparsity(V: ArrayLike, y: Sequence[object]) -> float:
    """(13): Hoyer sparsity of the (L, K) sums of the rows of V (D, K) that share a label."""
    sums: dict[object, list[float]] = {}
    for row, label in zip(np.asarray(V, dtype=np.float64), y, strict=True):
        held = sums.setdefault(label, [0.0] * len(row))
        for k, value in enumerate(row):
            held[k] += value
    return hoyer_sparsity([sums[label] for label in sums])


def relevance(
    components: ArrayLike, idf: ArrayLike | None, faded: ArrayLike, lam: float = 1.0
) -> Array:
    """q(w|k)^λ ln(q(w|k) / q(w)), (K, W), where q are weights divided by √idf, as parts of a row.

    Idf is at least 0.1, or 1 where it is not known. q(w) is the mean over components that have not
    faded, or over all if all have. If there is only one, it is 1/W.
    """
    T = np.asarray(components, dtype=np.float64)
    gone = np.asarray(faded, dtype=bool)
    K, W = T.shape
    q = np.zeros((K, W))
    for k in range(K):
        for w in range(W):
            q[k, w] = T[k, w] / (
                1.0 if idf is None else math.sqrt(max(float(np.asarray(idf)[w]), 0.1))
            )
        q[k] /= q[k].sum()
    kept = [k for k in range(K) if not gone[k]] or list(range(K))
    scores = np.zeros((K, W))
    for w in range(W):
        average = sum(q[k, w] for k in kept) / len(kept) if len(kept) > 1 else 1 / W
        for k in range(K):
            if q[k, w] > 0:
                scores[k, w] = q[k, w] ** lam * math.log(q[k, w] / average)
    return scores


def describing_terms(
    components: ArrayLike, X: ArrayLike, n: int, weight: Sequence[float] | None = None
) -> list[list[int]]:
    """Lists of terms that begin with the most relevant one, and grow by the largest score.

    The score is ln r + 6 · (mean NPMI with the list, by n − 2 √n of the n documents that have both
    terms) − 5 ln(1 + number of lists with the term), over the 80 terms with the largest
    relevance r. The relevance is by weights that are divided by the root of the term's mean weight
    in documents that have it.
    """
    T, X = np.asarray(components, dtype=np.float64), np.asarray(X, dtype=np.float64)
    K, W = T.shape
    of_document = [1.0] * len(X) if weight is None else [float(value) for value in weight]
    n_docs = sum(of_document)

    def documents_with(*terms: int) -> float:
        return sum(o for row, o in zip(X, of_document, strict=True) if all(row[list(terms)] > 0))

    sums = [sum(o * row[w] for row, o in zip(X, of_document, strict=True)) for w in range(W)]
    have = [documents_with(w) for w in range(W)]
    overall = sum(sums) / sum(have)
    unit = [math.sqrt(sums[w] / have[w] if have[w] else overall) for w in range(W)]
    q = [[T[k, w] / unit[w] for w in range(W)] for k in range(K)]
    q = [[value / sum(row) for value in row] for row in q]
    mean = [sum(row[w] for row in q) / K if K > 1 else 1 / W for w in range(W)]
    r = [[row[w] * math.log(row[w] / mean[w]) if row[w] else 0.0 for w in range(W)] for row in q]
    candidates = [
        sorted(range(W), key=lambda w: (-max(row[w], 0), -parts[w], w))[:80]
        for row, parts in zip(r, q, strict=True)
    ]

    def together(v: int, w: int) -> float:
        p_v, p_w = have[v] / n_docs, have[w] / n_docs
        n_both = documents_with(v, w)
        both = max(n_both - 2 * math.sqrt(n_both), 0.0) / n_docs
        if both == 0:
            return -1.0 if p_v * p_w > 0 else 0.0
        return math.log(both / (p_v * p_w)) / -math.log(both) if both < 1 else 0.0

    lists = [[row[0]] for row in candidates]

    def score(k: int, w: int) -> float:
        relevant = math.log(r[k][w]) if r[k][w] > 0 else -1000 * (1 + candidates[k].index(w))
        agreement = sum(together(v, w) for v in lists[k]) / len(lists[k])
        return relevant + 6 * agreement - 5 * math.log(1 + sum(w in row for row in lists))

    def best(k: int) -> tuple[float, int]:
        left = [w for w in candidates[k] if w not in lists[k]]
        return max(((score(k, w), w) for w in left), key=lambda scored: scored[0])

    for _ in range(min(n, W) - 1):
        for k in sorted(range(K), key=lambda k: -best(k)[0]):
            lists[k].append(best(k)[1])
    return lists


def share_by_chance(
    inside: Sequence[int], N: int, outside: Sequence[int], M: int, totals: Sequence[int]
) -> list[float]:
    """For each term, the share of terms as unlikely in a label that may be there by chance.

    Straight from the definition, with binomial tails as sums.
    """
    q = N / (N + M)

    def tail(n: int, total: int) -> float:
        return sum(math.comb(total, i) * q**i * (1 - q) ** (total - i) for i in range(n, total + 1))

    near = 1 + 1e-9  # equal probabilities may differ by rounding
    P = [tail(n, n + m) for n, m in zip(inside, outside, strict=True)]

    def share(p: float) -> float:
        reachable = sum(q**total <= p * near for total in totals)
        return p * reachable / sum(other <= p * near for other in P)

    return [min(1.0, *(share(other) for other in P if other * near >= p)) for p in P]


def npmi_of_lists(lists: Sequence[Sequence[int]], X: ArrayLike) -> list[float]:
    """Mean NPMI over the pairs of each list of terms by documents, 0 for lists of one term."""
    has = np.asarray(X) > 0

    def of_pair(i: int, j: int) -> float:
        p_i, p_j, both = has[:, i].mean(), has[:, j].mean(), (has[:, i] & has[:, j]).mean()
        if both in (0, 1):
            return both - 1 if p_i * p_j else 0.0
        return float(np.log(both / (p_i * p_j)) / -np.log(both))

    pairs = [[of_pair(i, j) for a, i in enumerate(row) for j in row[a + 1 :]] for row in lists]
    return [float(np.mean(of)) if of else 0.0 for of in pairs]


def as_weights(lists: ArrayLike, n_terms: int) -> Array:
    """Components (K, n_terms) whose heaviest terms are those of the lists, in their order."""
    rows = np.asarray(lists)
    components = np.zeros((len(rows), n_terms))
    for component, terms in zip(components, rows, strict=True):
        for place, w in enumerate(terms):
            component[w] = len(terms) - place
    return components
