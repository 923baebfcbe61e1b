"""Convert scores to probabilities by a slope, a bend, growth with length, biases and label noise.

    one label per document:   p_d = (1 − ε) softmax(β + τ n_d^γ h(s_d)) + ε π
                              h(s) = s − κ min(s, 0)²
    several labels:           p_dl = 1 / (1 + exp(−β_l − τ_l n_d^γ s_dl))

n_d is the effective number of terms of a document (``core.rows``). With γ > 0, predictions of long
documents are more certain. The bend κ ≥ 0 stretches negative scores: a support vector machine pulls
the scores of all other labels towards −1, so small differences there are important. The bend does
not change the order of labels. ε is the share of documents whose label is unrelated to the scores.
It limits the certainty of predictions. π are the frequencies of the labels. Biases β can change the
most probable label; they are used only if they increase the accuracy by more than one standard
error, and if labels have ``LEAST_OF_A_LABEL`` held-out documents on average. With fewer, each bias
would fit single documents. The parameters are the maximum a posteriori estimate from held-out
scores, with normal priors for small corpora.

References
----------
Platt (1999), Probabilistic outputs for support vector machines.
Guo et al. (2017), On calibration of modern neural networks.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from vbnmf.core.model import Array
from vbnmf.core.pages import large_heaps
from vbnmf.core.products import dot, one_blas_thread
from vbnmf.store import LARGEST, LARGEST_WEIGHT, check_doubles, check_number

LEAST_OF_A_LABEL = 5
"""Held-out documents for each label, on average, with which biases are tried."""

_MOST_SCORES = 1_000_000  # that calibration looks at; of more, it takes every n-th document
_THRESHOLDS = np.linspace(0.1, 0.9, 33)
_ENOUGH_FOR_A_THRESHOLD = 50  # documents
_USUAL_NOISE, _LEAST_NOISE = -4.0, -9.0  # logits of the label noise
_LARGEST_LOG_SLOPE = 50.0  # steps of the search must not overflow
_HOPELESS = 25.0  # logits below the best one
_FTOL = 1e-6  # relative change of the loss at which the optimisation stops
_TINY = np.finfo(float).tiny
_LARGEST_EXPONENT = 10.0  # of the length of documents, in a model file


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted calibration.

    Attributes
    ----------
    slopes : ndarray of shape (n_labels,)
        Slopes τ; the same for all labels if each document has one label.
    biases : ndarray of shape (n_labels,)
        Biases β.
    length_exponent : float
        Exponent γ.
    noise : float
        Label noise ε; zero if documents may have several labels.
    frequencies : ndarray of shape (n_labels,)
        Frequencies π of labels.
    multilabel : bool
        Whether documents may have several labels.
    converged : bool
        Whether the optimisation converged.
    bend : float
        Bend κ of negative scores; zero if documents may have several labels.
    """

    slopes: Array
    biases: Array
    frequencies: Array
    length_exponent: float = 0.0
    noise: float = 0.0
    multilabel: bool = False
    converged: bool = True
    bend: float = 0.0

    def logits(self, scores: Array, n_terms: Array) -> Array:
        """Compute the logits of labels, (n_docs, n_labels), before label noise.

        Parameters
        ----------
        scores : array of shape (n_docs, n_labels)
            Scores of labels.
        n_terms : array of shape (n_docs,)
            Effective number of terms of each document.
        """
        bent = _bent(scores, self.bend) if self.bend else scores
        return self.biases + self.slopes * (n_terms**self.length_exponent)[:, None] * bent

    def probabilities(self, scores: Array, n_terms: Array) -> Array:
        """Compute the probabilities of labels, (n_docs, n_labels); parameters as for ``logits``."""
        logits = self.logits(scores, n_terms)
        if self.multilabel:
            return np.asarray(expit(logits))
        if self.noise > 0:  # smaller logits differ from the noise only by rounding
            logits = np.maximum(logits, logits.max(axis=1, keepdims=True) - _HOPELESS)
        return np.asarray(
            (1 - self.noise) * softmax(logits, axis=1) + self.noise * self.frequencies
        )

    def with_labels(self, new: int, bias: float, order: Array) -> "Calibration":
        """Return the calibration with more labels, of this bias, in another order."""
        return replace(
            self,
            slopes=np.append(self.slopes, np.full(new, self.slopes[0]))[order],
            biases=np.append(self.biases, np.full(new, bias))[order],
            frequencies=np.append(self.frequencies, np.zeros(new))[order],
        )

    def to_state(self) -> tuple[dict[str, float], dict[str, Array]]:
        """Return entries of a header, and arrays. The frequencies are those of the model."""
        header = {
            "length_exponent": self.length_exponent, "noise": self.noise, "bend": self.bend,
        }  # fmt: skip
        return header, {"slopes": self.slopes, "biases": self.biases}

    @classmethod
    def from_state(
        cls, header: Any, arrays: dict[str, Array], frequencies: Array, multilabel: bool
    ) -> "Calibration":
        """Rebuild a calibration. Damaged content raises ``ModelFileError`` or similar errors."""
        n, most = len(frequencies), LARGEST_WEIGHT
        return cls(
            check_doubles(arrays, "slopes", (n,), least=1 / LARGEST),
            check_doubles(arrays, "biases", (n,), least=-most, most=most),
            frequencies,
            check_number(header, "length_exponent", least=0, most=_LARGEST_EXPONENT),
            check_number(header, "noise", least=0, most=1),
            multilabel,
            bend=check_number(header, "bend", least=0, most=most),
        )


def _bent(scores: Array, bend: float) -> Array:
    """Compute h(s)."""
    return np.asarray(scores - bend * np.minimum(scores, 0) ** 2)


def calibrate(
    scores: Array,
    Y: Array,
    n_terms: Array,
    weight: Array,
    *,
    usual_slope: float,
    log_prior: Array | float = 0.0,
    multilabel: bool = False,
    bent: bool = False,
) -> Calibration:
    """Fit the calibration by maximum a posteriori.

    Parameters
    ----------
    scores : array of shape (n_docs, n_labels)
        Held-out scores.
    Y : array of bool of shape (n_docs, n_labels)
        Label indicators.
    n_terms : array of shape (n_docs,)
        Effective number of terms of each document.
    weight : array of shape (n_docs,)
        Sample weights.
    usual_slope : float
        Centre of the prior of slopes. All priors are normal with variance one: of the logarithm of
        a slope around that of ``usual_slope``, of biases around ``log_prior``, of the length
        exponent and the bend around zero (restricted to non-negative values), and of the logit of
        the noise around that of 0.018.
    log_prior : array of shape (n_labels,) or float
        Centre of the prior of biases.
    multilabel : bool
        Whether documents may have several labels.
    bent : bool
        Whether to fit the bend, which is for scores of support vector machines. Ignored if
        documents may have several labels.
    """
    prior = np.broadcast_to(log_prior, scores.shape[1:])
    if not len(scores):
        usual = np.full(len(prior), usual_slope)
        return Calibration(usual, prior.copy(), softmax(prior), multilabel=multilabel)
    every = -(-scores.size // _MOST_SCORES)
    scores, Y, n_terms, weight = (a[::every] for a in (scores, Y, n_terms, weight))
    scores = scores.astype(np.float64)
    problem = partial(
        _Problem, scores, Y, n_terms, weight, usual_slope, prior, multilabel=multilabel,
        bent=bent and not multilabel,
    )  # fmt: skip
    with large_heaps(), one_blas_thread():
        if multilabel:
            return problem(biased=True).solved()
        without = problem(biased=False)
        plain = without.solved()
        if weight.sum() < LEAST_OF_A_LABEL * scores.shape[1]:
            return plain
        found = problem(biased=True, guess=without.found).solved()
    right, right_plain = (
        (c.logits(scores, n_terms).argmax(axis=1) == Y.argmax(axis=1)).astype(float)
        for c in (found, plain)
    )
    gain = right - right_plain
    return found if weight @ gain > np.sqrt(weight @ gain**2) else plain


Likelihood = tuple[float, Array, float]
"""Negative log-likelihood, and its gradients by logits, (n_labels, n_docs), and by the noise."""


class _Problem:
    """Loss as a function of log-slopes, length exponent, biases, logit of the noise, and bend."""

    def __init__(
        self,
        scores: Array,
        Y: Array,
        n_terms: Array,
        weight: Array,
        usual_slope: float,
        log_prior: Array,
        *,
        multilabel: bool,
        biased: bool,
        bent: bool = False,
        guess: Array | None = None,
    ) -> None:
        n_labels = scores.shape[1]
        # documents last, so that operations on a label are long
        self.scores, self.Y = np.ascontiguousarray(scores.T), np.ascontiguousarray(Y.T)
        self.squares = np.minimum(self.scores, 0) ** 2 if bent else None
        self.weight, self.log_prior = weight, log_prior
        self.multilabel = multilabel
        self.n_slopes, self.biased = n_labels if self.multilabel else 1, biased
        log_n = np.log(n_terms)
        self.centre = float(np.average(log_n, weights=weight))
        self.log_n = log_n - self.centre  # makes slope and exponent independent
        self.frequencies = weight @ Y / max((weight @ Y).sum(), _TINY)
        self.of_label = (Y.argmax(axis=1), np.arange(len(Y)))
        self.start = np.zeros(self.n_slopes + n_labels + 3)
        self.start[: self.n_slopes] = np.log(usual_slope)
        self.start[-2] = _USUAL_NOISE
        self.found = self.start if guess is None else guess

    def solved(self) -> Calibration:
        """Minimise the loss."""
        from scipy.optimize import minimize  # slow to import, and not needed to predict

        n_labels = len(self.scores)
        free, fixed = (None, None), (0.0, 0.0)
        noise = (_USUAL_NOISE,) * 2 if self.multilabel else (_LEAST_NOISE, 0.0)
        bias = free if self.biased else fixed
        bend = fixed if self.squares is None else (0.0, None)
        bounds = [*[free] * self.n_slopes, (0.0, None), *[bias] * n_labels, noise, bend]
        result = minimize(
            self.loss,
            self.found,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": _FTOL},
        )
        self.found = found = result.x
        exponent = float(found[self.n_slopes])
        slopes = np.exp(found[: self.n_slopes] - exponent * self.centre)
        return Calibration(
            np.broadcast_to(slopes, n_labels).copy(),
            self.log_prior + found[self.n_slopes + 1 : -2],
            self.frequencies,
            exponent,
            0.0 if self.multilabel else float(expit(found[-2])),
            self.multilabel,
            bool(result.success),
            float(found[-1]),
        )

    def loss(self, free: Array) -> tuple[float, Array]:
        """Compute the negative log-posterior and its gradient."""
        log_slope = free[: self.n_slopes, None] + free[self.n_slopes] * self.log_n
        slope = np.exp(np.minimum(log_slope, _LARGEST_LOG_SLOPE))
        scaled = slope * self.scores
        if self.squares is not None:
            squares = slope * self.squares
            scaled -= free[-1] * squares
        biases = self.log_prior + free[self.n_slopes + 1 : -2]
        logits = scaled + biases[:, None]
        value, by_logit, by_noise = (
            self._several_labels(logits) if self.multilabel else self._one_label(logits, free[-2])
        )
        by_bend = 0.0
        if self.squares is not None:
            squares *= by_logit
            by_bend = -float(squares.sum())
        by_bias = by_logit.sum(axis=1)
        by_slope = np.multiply(by_logit, scaled, out=scaled)
        by_document = by_slope.sum(axis=0)
        of_slopes = by_slope.sum(axis=1) if self.multilabel else by_document.sum()
        by_exponent = (by_document * self.log_n).sum()
        gradient = np.concatenate(
            [np.append(of_slopes, by_exponent), by_bias, np.array([by_noise, by_bend])]
        )
        away = free - self.start
        return value + float(away @ away) / 2, gradient + away

    def _one_label(self, logits: Array, noise: float) -> Likelihood:
        """Compute the likelihood of documents with one label each, in the memory of the logits."""
        logits -= logits.max(axis=0)
        P = np.exp(logits, out=logits)
        P /= P.sum(axis=0)
        epsilon = expit(noise)
        p, prior = P[self.of_label], self.frequencies[self.of_label[0]]
        total = np.maximum((1 - epsilon) * p + epsilon * prior, _TINY)
        explained = self.weight * (1 - epsilon) * p / total  # weight that the scores explain
        by_noise = -float((self.weight * (prior - p) / total).sum() * epsilon * (1 - epsilon))
        P[self.of_label] -= 1
        P *= explained
        return -float(self.weight @ np.log(total)), P, by_noise

    def _several_labels(self, logits: Array) -> Likelihood:
        small = np.exp(-np.abs(logits))
        logs = np.minimum(np.where(self.Y, logits, -logits), 0) - np.log1p(small)
        P = np.where(logits < 0, small, 1.0) / (1 + small)
        by_logit = self.weight * (P - self.Y)
        return -float(self.weight @ logs.sum(axis=0)), by_logit, 0.0


def best_threshold(P: Array, Y: Array, weight: Array) -> tuple[float, float]:
    """Find the probability threshold with the highest micro F1, and return it with that F1.

    If there are only few documents, the threshold is 0.5.
    """
    tried = _THRESHOLDS if len(P) >= _ENOUGH_FOR_A_THRESHOLD else np.array([0.5])
    n_true = dot(weight, Y.sum(axis=1))
    scores = []
    for least in tried:
        given = least <= P
        size = n_true + dot(weight, given.sum(axis=1))
        scores.append(2 * dot(weight, (given & Y).sum(axis=1)) / size if size > 0 else 0.0)
    best = int(np.argmax(scores))
    return float(tried[best]), float(scores[best])
