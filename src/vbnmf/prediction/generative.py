"""Generative prediction head: the log-likelihood of a document under the rates of each label.

    g_dl = Σ_w x_dw ln p_wl / Σ_w x_dw,    p_wl ∝ Σ_k ⟨t_wk⟩ / ⟨λ_lk⟩

It is the log-likelihood of a document whose coefficients have the expected proportions of its
label. One matrix product computes it for all labels. Fitting the coefficients to the document, by
q(v) and an annealed q(z), is slower and predicts worse (docs/explanation/deviations.md), because
any mixture of components explains a document too well under wrong labels.

Terms are not independent, so g alone is overconfident. ``calibration`` fits a factor to values of g
that are computed as if each training document had been left out.

The rate of a label outside a component's scope is infinite, so the inverse rates are a sparse
matrix. Its products take time proportional to the scopes, and unlike those of BLAS they are rounded
in the same way for any number of threads.
"""

from functools import partial

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty, leading, without_unused_terms
from vbnmf.prediction.calibration import calibrate
from vbnmf.prediction.evidence import left_out, mean_over_terms
from vbnmf.prediction.head import Head, Posterior, Trained, unfinished_calibration
from vbnmf.prediction.novelty import Novelty
from vbnmf.prediction.trainingdata import Training

USUAL_SLOPE = 10.0
"""Slope from scores to logits that calibration starts from."""

_LOGS_AT_ONCE = 1 << 20


class GenerativeHead(Head):
    """The likelihood of a document under each label, calibrated.

    It has hardly any parameters to train, so it is suitable for small corpora.
    """

    name = "generative"
    predicts_several = False

    @classmethod
    def train(cls, training: Training, reason: str) -> Trained:
        """Calibrate the log-likelihoods of documents under each label."""
        of, model, fold = training.documents, training.posterior, training.fold
        if training.without is not None:
            scores = training.by_folds(lambda model, terms: _logs(terms, model), of.n_labels)
        else:
            scores = log_likelihoods_left_out(
                training.terms, of.V, model.shapes, model.scales, model.rates, of.weight,
                training.n_threads,
            )  # fmt: skip
        Y, n_terms = of.labels.toarray() > 0, training.n_effective_terms
        group = fold if training.without is not None else np.arange(len(fold))
        _without_other_documents(scores, Y, group)
        fit = partial(calibrate, usual_slope=USUAL_SLOPE, log_prior=model.log_prior)
        left_out = np.empty(Y.shape, np.float32)
        for number in np.unique(fold):
            rows, held = fold != number, fold == number
            found = fit(scores[rows], Y[rows], n_terms[rows], of.weight[rows])
            left_out[held] = found.probabilities(scores[held], n_terms[held])
        calibration = fit(scores, Y, n_terms, of.weight)
        # by the calibration that new documents get, and not by those of the folds
        novelty = Novelty.of(calibration.probabilities(scores, n_terms).max(axis=1), of.weight)
        head = cls(calibration=calibration, novelty=novelty)
        return Trained(head, reason, left_out, unfinished_calibration(calibration))

    def scores(self, X: sparse.csr_array, posterior: Posterior) -> Array:
        """Compute the log-likelihoods g of documents, (n_docs, n_labels)."""
        X, used = without_unused_terms(leading(X, posterior.n_terms))
        return mean_over_terms(X, _logs(used, posterior))

    def term_parts(self, terms: Array, posterior: Posterior, label: int) -> tuple[Array, Array]:
        """Compute what an occurrence of each term adds to the score of a label above the mean."""
        logs = _logs(terms, posterior)
        shares = posterior.components(terms).T / posterior.rates[label]
        shares = shares / shares.sum(axis=1, keepdims=True)
        scale = float(self.calibration.slopes[0])
        parts = scale * (logs[:, label] - logs.mean(axis=1))[:, None] * shares
        return parts, np.ones(shares.shape[1], dtype=bool)

    def bias_of_new_labels(self) -> float:
        """Return the least bias: a new label can be predicted at once, from its rates."""
        return float(self.calibration.biases.min())


def _without_other_documents(scores: Array, Y: Array, group: Array) -> None:
    """Give labels of which no other document is left the lowest score of each document.

    Such a label has the rates of the prior, under which any document is rather likely. So documents
    with a label of their own seemed to be predicted right: 42 % of 300 of them.
    """
    _, group = np.unique(group, return_inverse=True)
    total, here = Y.sum(axis=0), np.zeros((group.max(initial=-1) + 1, Y.shape[1]), np.int64)
    np.add.at(here, group, Y)
    lowest = scores.min(axis=1, initial=np.inf)
    for number in np.flatnonzero((here == total).any(axis=1) & (here > 0).any(axis=1)).tolist():
        rows = np.flatnonzero(group == number)
        empty = np.flatnonzero((here[number] == total) & (total > 0))
        scores[np.ix_(rows, empty)] = lowest[rows, None]


def _logs(terms: Array | slice, posterior: Posterior) -> Array:
    """Compute the log-probabilities of some of the terms by label, (n, n_labels)."""
    return term_log_probabilities(posterior.components(terms), posterior.rates, posterior.sums)


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
