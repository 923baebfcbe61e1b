"""Make a calibrated prediction head from machines and the scores of held-out documents."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vbnmf.core.model import Array
from vbnmf.prediction.calibration import Calibration, best_threshold, calibrate
from vbnmf.prediction.heads import Head
from vbnmf.prediction.scaling import Scaling

CERTAIN = 20.0
"""Logit of a label that all documents have. Its negative is that of a label that none has."""

_USUAL_SLOPE = 3.0  # usual factor from scores of machines to logits
_DOCUMENTS_AT_ONCE = 1 << 12  # documents whose probabilities are held in double precision


class Linear(NamedTuple):
    """Weights of linear machines for scaled features.

    Attributes
    ----------
    words : ndarray of float32 of shape (n_labels, n_terms), or (n_labels, 0)
        Weights of terms, for documents of unit length.
    dense : ndarray of shape (n_labels, K)
        Weights of scaled evidence.
    intercepts : ndarray of shape (n_labels,)
    scaling : Scaling
        Map from evidence to scaled evidence.
    """

    words: Array
    dense: Array
    intercepts: Array
    scaling: Scaling

    @property
    def length(self) -> float:
        """Euclidean length of all weights without the intercepts."""
        return float(np.sqrt(sum(np.square(w, dtype=np.float64).sum() for w in self[:2])))


class HeldOut(NamedTuple):
    """Documents on which the machines were not trained.

    Attributes
    ----------
    scores : ndarray of shape (n_docs, n_labels)
        Their scores.
    Y : ndarray of bool of shape (n_docs, n_labels)
        Their labels.
    n_terms : ndarray of shape (n_docs,)
        Their effective number of terms.
    weight : ndarray of shape (n_docs,)
        Sample weights.
    """

    scores: Array
    Y: Array
    n_terms: Array
    weight: Array


class Assembled(NamedTuple):
    """A calibrated head.

    Attributes
    ----------
    head : Head
        The head, with weights for unscaled evidence.
    calibration : Calibration
        Calibration of the head. Its slopes are one, because the weights include them.
    probabilities : ndarray of float32 of shape (n_docs, n_labels)
        Calibrated probabilities of the held-out documents.
    threshold : float
        Probability from which a label is predicted, if documents may have several.
    """

    head: Head
    calibration: Calibration
    probabilities: Array
    threshold: float


def assemble(
    machine: Linear, held: HeldOut, growth: float, occurs: Array, *, multilabel: bool
) -> Assembled:
    """Calibrate machines on held-out documents.

    Parameters
    ----------
    machine : Linear
        Machines that were trained on all documents.
    held : HeldOut
        Documents with scores of machines that were trained without them.
    growth : float
        Length of the weights of ``machine``, divided by that of the machines that were trained
        without the held-out documents. Scores of ``machine`` are larger by about this factor. Part
        of the growth is justified, because machines that are trained on more documents predict
        better. So slopes are divided by the square root of the factor.
    occurs : array of bool of shape (n_labels,)
        Labels that at least one training document has; others are never predicted.
    multilabel : bool
        Whether documents may have several labels.
    """
    fitted = calibrate(
        held.scores, held.Y, held.n_terms, held.weight, usual_slope=_USUAL_SLOPE,
        multilabel=multilabel, bent=True,
    )  # fmt: skip
    probabilities = _in_parts(fitted, held)
    threshold = best_threshold(probabilities, held.Y, held.weight)[0] if multilabel else 0.5
    slopes = fitted.slopes / np.sqrt(growth)
    weights, intercepts = machine.scaling.unscaled(
        machine.dense * slopes[:, None], machine.intercepts * slopes
    )
    biases = np.where(occurs, fitted.biases, -CERTAIN)
    bend = fitted.bend / float(fitted.slopes[0])  # of scores that include the slope
    calibration = replace(fitted, slopes=np.ones(len(slopes)), biases=biases, bend=bend)
    words = machine.words
    words = (words * slopes[:, None].astype(np.float32)) if words.size else words
    return Assembled(
        Head(weights, intercepts, calibration, words), calibration, probabilities, threshold
    )


def _in_parts(calibration: Calibration, held: HeldOut) -> Array:
    """Compute the probabilities of many documents in parts, (n_docs, n_labels) in float32."""
    out = np.empty(held.scores.shape, np.float32)
    for begin in range(0, len(out), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        out[at] = calibration.probabilities(held.scores[at], held.n_terms[at])
    return out
