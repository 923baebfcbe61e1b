"""Labels by the model itself: how probable a document is under the rates of each label.

    g_dl = Σ_w x_dw ln p_wl / Σ_w x_dw,    p_wl ∝ Σ_k ⟨t_wk⟩ / ⟨λ_lk⟩

It is the log-likelihood of a document whose coefficients are in the proportions that its label
leads one to expect, and costs one product for all labels. Fitting the coefficients to the document
as well, by q(v) and an annealed q(z), is dearer and predicts worse (docs/deviations.md): a document
that may use any mixture is explained by wrong labels too well.

Terms are far from independent, so g alone is too sure of itself: ``calibration`` finds what to
multiply it by, from the training documents, each as if it had been left out of the fit.

A rate is infinite where a label is out of a component's scope, so the inverse rates are a sparse
matrix. Its products take time in proportion to the scopes, not to labels times components, and
unlike those of BLAS they are rounded in the same way on any number of threads.
"""

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.prediction.evidence import left_out

USUAL_SLOPE = 10.0
"""Slope from scores to logits that calibration starts from."""

_LOGS_AT_ONCE = 1 << 20


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
    expected = sparse.csr_array(1.0 / rates)
    logs = np.empty((components.shape[1], len(rates)))
    at_once = max(1, _LOGS_AT_ONCE // len(rates))
    for begin in range(0, len(logs), at_once):
        at = slice(begin, begin + at_once)
        logs[at] = np.log(expected @ components[:, at].astype(np.float64)).T
    logs -= np.log(expected @ totals)
    return logs


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
    expected = sparse.csr_array((scales / rates).astype(shapes.dtype))  # (n_labels, K)
    least = np.finfo(shapes.dtype).tiny

    def logs(left: Array) -> Array:
        return np.log(np.maximum(expected @ np.ascontiguousarray(left.T), least)).T

    out = left_out(X, V, shapes, scales, logs, weight, n_threads)
    totals = expected @ shapes.sum(axis=0, dtype=np.float64)
    return np.subtract(out, np.log(totals), out=out, where=~is_empty(X)[:, None])
