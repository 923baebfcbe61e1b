"""Generative prediction head: the log-likelihood of a document under the rates of each label.

    g_dl = Σ_w x_dw ln p_wl / Σ_w x_dw,    p_wl ∝ Σ_k ⟨t_wk⟩ / ⟨λ_lk⟩

It is the log-likelihood of a document whose coefficients have the expected proportions of its
label. One matrix product computes it for all labels. Fitting the coefficients to the document, by
q(v) and an annealed q(z), is slower and predicts worse (docs/deviations.md), because any mixture of
components explains a document too well under wrong labels.

Terms are not independent, so g alone is overconfident. ``calibration`` fits a factor to values of g
that are computed as if each training document had been left out.

The rate of a label outside a component's scope is infinite, so the inverse rates are a sparse
matrix. Its products take time proportional to the scopes, and unlike those of BLAS they are rounded
in the same way for any number of threads.
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
    """Compute the log-probabilities of terms by label, ln p_wl, (n_terms, n_labels).

    Parameters
    ----------
    components : array of shape (K, n_terms)
        Expected weights of the terms.
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
    """Compute g of training documents as if each had been left out, (n_docs, n_labels).

    Parameters are those of ``evidence_left_out``, and the expected rates of labels.
    """
    expected = sparse.csr_array((scales / rates).astype(shapes.dtype))  # (n_labels, K)
    least = np.finfo(shapes.dtype).tiny

    def logs(left: Array) -> Array:
        return np.log(np.maximum(expected @ np.ascontiguousarray(left.T), least)).T

    out = left_out(X, V, shapes, scales, logs, weight, n_threads)
    totals = expected @ shapes.sum(axis=0, dtype=np.float64)
    return np.subtract(out, np.log(totals), out=out, where=~is_empty(X)[:, None])
