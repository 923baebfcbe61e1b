"""Choose which labels to predict from probabilities, if documents may have several labels.

What is best depends on the aim:

    "micro"     micro F1: all pairs of documents and labels count the same. One threshold.
    "macro"     mean F1 of the labels: rare labels count as much as common ones. One threshold for
                each label.
    "samples"   mean F1 of the documents. One threshold.

Thresholds are chosen on held-out probabilities. Those of rare labels would follow chance, so in
"macro" the labels y of n documents are shrunk towards the calibrated probabilities p,

    y* = (n y + m p) / (n + m),    F_l(t) = 2 Σ_{p ≥ t} y* / (Σ y* + #{p ≥ t})

with m = ``SHRINKAGE``. The threshold is the geometric mean of ``PARTS`` choices, each without a
part of the documents, because a single choice often depends on few documents. In "micro" and
"samples", a document without any label above the threshold gets the most probable one, if this is
better on the held-out documents.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.store import LARGEST, check_doubles, check_number

AIMS = ("micro", "macro", "samples")

SHRINKAGE = 100.0
"""Documents with a label that its calibrated probabilities count as, in the choice for "macro".

Chosen on held-out training documents of debtags and netflix.
"""

PARTS = 5
"""Number of choices whose mean is the threshold of a label."""

_TRIED = np.linspace(0.1, 0.9, 33)
_ENOUGH = 50  # documents; with fewer, thresholds are 0.5
_MOST_CELLS = 4_000_000  # probabilities that are looked at; of more, every n-th document


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds for each aim.

    Attributes
    ----------
    micro, samples : float
        Thresholds of all labels for the aims "micro" and "samples".
    labels : ndarray of shape (n_labels,)
        Threshold of each label for the aim "macro".
    micro_one, samples_one : bool
        Whether a document gets its most probable label, if none is above the threshold.
    """

    micro: float
    samples: float
    labels: Array
    micro_one: bool = False
    samples_one: bool = False

    @classmethod
    def of(cls, P: Array, Y: Array, weight: Array) -> "Thresholds":
        """Choose the thresholds on held-out documents.

        Parameters
        ----------
        P : array of shape (n_docs, n_labels)
            Held-out probabilities.
        Y : array of bool of shape (n_docs, n_labels)
            Label indicators.
        weight : array of shape (n_docs,)
            Sample weights.
        """
        if len(P) < _ENOUGH:
            return cls(0.5, 0.5, np.full(P.shape[1], 0.5))
        every = -(-P.size // _MOST_CELLS)
        P, Y, weight = P[::every].astype(np.float64), Y[::every], weight[::every]
        best = P.argmax(axis=1)
        of_best, n_true = Y[np.arange(len(Y)), best], Y.sum(axis=1)
        found: dict[str, tuple[float, float, bool]] = {}
        for least in _TRIED.tolist():
            given = least <= P
            hits, n_given = (given & Y).sum(axis=1), given.sum(axis=1)
            none = n_given == 0
            for one in (False, True):
                both = hits + none * of_best if one else hits
                size = n_true + n_given + none if one else n_true + n_given
                micro = 2 * (weight @ both) / max(weight @ size, 1e-300)
                samples = float(np.average(2 * both / np.maximum(size, 1), weights=weight))
                for aim, score in (("micro", float(micro)), ("samples", samples)):
                    if aim not in found or score > found[aim][0]:
                        found[aim] = score, least, one
        return cls(
            found["micro"][1], found["samples"][1], _by_label(P, Y, weight),
            found["micro"][2], found["samples"][2],
        )  # fmt: skip

    def predicted(self, P: Array, aim: str | float) -> Array:
        """Return the labels for an aim or a threshold, (n_docs, n_labels) of bool."""
        if not isinstance(aim, str):
            return np.asarray(aim <= P)
        if aim == "macro":
            return np.asarray(self.labels <= P)
        least, one = (
            (self.micro, self.micro_one) if aim == "micro" else (self.samples, self.samples_one)
        )
        given = least <= P
        if one and P.shape[1]:
            none = np.flatnonzero(~given.any(axis=1))
            given[none, P[none].argmax(axis=1)] = True
        return np.asarray(given)

    def with_labels(self, new: int, order: Array) -> "Thresholds":
        """Return the thresholds with more labels, whose own is that of "micro", in an order."""
        labels = np.append(self.labels, np.full(new, self.micro))[order]
        return Thresholds(self.micro, self.samples, labels, self.micro_one, self.samples_one)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return entries of a header, and arrays."""
        header = {
            "micro": self.micro, "samples": self.samples,
            "micro_one": float(self.micro_one), "samples_one": float(self.samples_one),
        }  # fmt: skip
        return header, {"labels": self.labels}

    @classmethod
    def from_state(cls, header: Any, arrays: dict[str, Array], n_labels: int) -> "Thresholds":
        """Rebuild thresholds. Damaged content raises ``ModelFileError`` or similar errors."""
        least = 1 / LARGEST
        micro, samples = (
            check_number(header, aim, least=least, most=1) for aim in ("micro", "samples")
        )
        one = [check_number(header, f"{a}_one", least=0, most=1) > 0 for a in ("micro", "samples")]
        labels = check_doubles(arrays, "labels", (n_labels,), least=least, most=1)
        return cls(micro, samples, labels, *one)


def _by_label(P: Array, Y: Array, weight: Array) -> Array:
    """Choose the threshold of each label, (n_labels,), as the mean of choices without a part."""
    part = np.arange(len(P)) % PARTS
    logs = np.zeros(P.shape[1])
    for number in range(PARTS):
        left = part != number
        logs += np.log(_best_by_label(P[left], Y[left], weight[left])) / PARTS
    return np.exp(logs)


def _best_by_label(P: Array, Y: Array, weight: Array) -> Array:
    """Choose the threshold of each label with the best F1 of shrunk labels, (n_labels,)."""
    found = np.empty(P.shape[1])
    for label, (p, y) in enumerate(zip(P.T, Y.T, strict=True)):
        n = float(weight @ y)
        shrunk = weight * (n * y + SHRINKAGE * p) / (n + SHRINKAGE)
        order = np.argsort(-p, kind="stable")
        ranked = p[order]
        F1 = 2 * np.cumsum(shrunk[order]) / (shrunk.sum() + np.cumsum(weight[order]))
        last = np.append(ranked[1:] < ranked[:-1], True)  # equal probabilities are given together
        best = int(np.argmax(np.where(last, F1, -1)))
        following = ranked[best + 1] if best + 1 < len(ranked) else 0.0
        found[label] = (ranked[best] + following) / 2
    return np.clip(found, 1e-6, 1.0)
