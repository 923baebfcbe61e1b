"""Labels by the model itself: how probable a document is under the rates of each label.

    g_dl = Σ_w x_dw ln p_wl / Σ_w x_dw,    p_wl ∝ Σ_k ⟨t_wk⟩ / ⟨λ_lk⟩

It is the log-likelihood of a document whose coefficients are in the proportions that its label
leads one to expect, and costs one product for all labels. Fitting the coefficients to the document
as well, by q(v) and an annealed q(z), is dearer and predicts worse (docs/deviations.md): a document
that may use any mixture is explained by wrong labels too well.

Terms are far from independent, so g alone is too sure of itself: ``calibration`` finds what to
multiply it by, from the training documents, each as if it had been left out of the fit.
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.prediction.evidence import left_out

USUAL_SLOPE = 10.0
"""Slope from scores to logits that calibration starts from."""

_TERMS_AT_ONCE = 1 << 10


def term_log_probabilities(components: Array, rates: Array, totals: Array) -> Array:
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


def log_likelihoods_left_out(
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
