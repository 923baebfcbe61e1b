"""Labels by the model itself: how probable a document is under the rates of each label.

    g_dl = Σ_w x_dw ln p_wl / Σ_w x_dw,    p_wl ∝ Σ_k ⟨t_wk⟩ / ⟨λ_lk⟩

It is the log-likelihood of a document whose coefficients are in the proportions that its label
leads one to expect, and costs one product for all labels. Fitting the coefficients to the document
as well, by q(v) and an annealed q(z), is dearer and predicts worse (docs/deviations.md): a document
that may use any mixture is explained by wrong labels too well.

Terms are far from independent, so that g is too sure of itself. A temperature and a bias for each
label are found under which the documents of training are most likely to have their labels, each of
them as if it had been left out of the fit.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

from vbnmf.core.model import Array
from vbnmf.estimators.evidence import left_out
from vbnmf.estimators.validation import is_empty

_USUAL_TEMPERATURE = 10.0
_TERMS_AT_ONCE = 1 << 10


def term_log_odds(components: Array, rates: Array, totals: Array) -> Array:
    """ln p_wl, (n_terms, n_labels).

    Parameters
    ----------
    components : array of shape (K, n_terms)
        Expected weights of the terms that are asked for.
    rates : array of shape (n_labels, K)
        Expected rates of the labels.
    totals : array of shape (K,)
        Sums of the components over all terms.
    """
    expected = 1.0 / rates
    logs = np.empty((components.shape[1], len(rates)))
    for begin in range(0, len(logs), _TERMS_AT_ONCE):
        at = slice(begin, begin + _TERMS_AT_ONCE)
        # not a product by BLAS, which would be rounded by its number of threads
        logs[at] = np.log(np.einsum("kw,lk->wl", components[:, at], expected))
    return logs - np.log(np.einsum("k,lk->l", totals, expected))


def log_odds_left_out(
    X: sparse.csr_array,
    V: Array,
    shapes: Array,
    scales: Array,
    rates: Array,
    weight: Array,
    n_threads: int,
) -> Array:
    """g of documents of training, (n_docs, n_labels), each as if it had been left out of the fit.

    Parameters are those of ``evidence_left_out``, and the expected rates of labels.
    """
    expected = (scales[:, None] / rates.T).astype(shapes.dtype)  # (K, n_labels)
    least = np.finfo(shapes.dtype).tiny

    def logs(left: Array) -> Array:
        # not a product by BLAS, which would be rounded by its number of threads
        return np.log(np.maximum(np.einsum("wk,kl->wl", left, expected), least))

    out = left_out(X, V, shapes, scales, logs, weight, n_threads)
    totals = np.einsum("k,kl->l", shapes.sum(axis=0, dtype=np.float64), expected)
    return np.subtract(out, np.log(totals), out=out, where=~is_empty(X)[:, None])


@dataclass(frozen=True)
class Calibration:
    """How evidence becomes probabilities: softmax(biases + temperature · g)."""

    temperature: float
    biases: Array  # (n_labels,)

    def probabilities(self, evidence: Array) -> Array:
        """Probabilities of labels, (n_docs, n_labels)."""
        return np.asarray(softmax(self.biases + self.temperature * evidence, axis=1))


def calibrate(
    evidence: Array,
    log_prior: Array,
    y: Array,
    weight: Array | None = None,
    usual: float = _USUAL_TEMPERATURE,
) -> Calibration:
    """The calibration under which the labels y, codes of (n_docs,), are most probable.

    Biases stay near ``log_prior`` and the logarithm of the temperature near that of ``usual``, by
    normal priors of variance one: few documents tell little of them.
    """
    n = len(y)
    weight = np.ones(n) if weight is None else weight
    is_label = np.eye(len(log_prior))[y]

    def loss(free: Array) -> tuple[float, Array]:
        temperature, shift = np.exp(free[0]), free[1:]
        logs = log_softmax(log_prior + shift + temperature * evidence, axis=1)
        excess = weight[:, None] * (np.exp(logs) - is_label)
        slope = np.concatenate([[temperature * (excess * evidence).sum()], excess.sum(axis=0)])
        away = free - start
        return -float((weight * logs[np.arange(n), y]).sum()) + float(away @ away) / 2, slope + away

    start = np.zeros(1 + len(log_prior))
    start[0] = np.log(usual)
    with threadpool_limits(1):  # the same bits on any machine's BLAS
        found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return Calibration(float(np.exp(found[0])), log_prior + found[1:])
