"""Compute the first screen of the page: four numbers, and what is counted of each label.

    accepted(t) = predictions with a probability of at least t
    right(t)    = those of them that are given labels

Both are those of ``review.acceptance``. The page shows them at thresholds t in hundredths, for all
labels and for each. In these and in the accuracy, predictions of training documents are left-out
ones.

Documents *to check* are the most suspicious ones of ``review.labelerrors``: as many as the upper
end of the interval of the estimated number of label errors.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.evaluation.parts import Part
from vbnmf.metrics import score_predictions
from vbnmf.metrics.shares import REACH, share_interval
from vbnmf.report.explorer.packing import probability, rounded
from vbnmf.reviewing.acceptance import FEWEST, Acceptance
from vbnmf.reviewing.labelerrors import MISSING, LabelErrors, Suspect, find_label_errors
from vbnmf.reviewing.structure import confusions

GOAL = 0.95
"""Share of accepted predictions that must be right on the first screen."""
_STEPS = 100  # thresholds are hundredths


@dataclass(frozen=True, eq=False)
class Overview:
    """What is found in labelled documents: likely label errors, and confusions of labels.

    Attributes
    ----------
    part : Part
        All documents of the page, of a model with labels; at least one has a known label.
    """

    part: Part

    @cached_property
    def errors(self) -> LabelErrors:
        """Labels that are probably wrong, and their estimated number."""
        return find_label_errors(self.part)

    @cached_property
    def to_check(self) -> list[Suspect]:
        """The most suspicious documents, as many as there are probably errors of each kind.

        There are none if predictions are right by chance, because they cannot tell errors.
        """
        found: list[Suspect] = []
        if self.errors.by_chance:
            return found
        for kind, estimate in self.errors.estimates.items():
            mine = [one for one in self.errors.suspects if one.kind == kind]
            found += mine[: ceil(estimate.high)]
        return found

    @cached_property
    def confusions(self) -> Array:
        """Number of documents by given and predicted label; see ``review.structure.confusions``."""
        return confusions(self.part)

    def payload(self) -> dict[str, Any]:
        """Return the numbers of the first screen."""
        judged = self.errors.judged
        acceptance = Acceptance.of(self.part, judged.probabilities)
        curves = accept_curves(acceptance)
        wrong = self.errors.estimates
        return {
            "predictions": len(acceptance.label),
            "score": _score(self.part.judged_by(judged.probabilities).labelled),
            "by_chance": self.errors.by_chance,
            "goal": GOAL,
            "accept": curves,
            "best": best_threshold(curves[0]),
            "confused": [self._most_confused(label) for label in range(len(self.confusions))],
            "confusions": [
                [[int(m), int(row[m])] for m in np.flatnonzero(row)] for row in self.confusions
            ],
            "check": self._to_check_by_label(),
            "errors": {kind: rounded([e.number, e.low, e.high], 3) for kind, e in wrong.items()},
            "at_most": [kind for kind, e in wrong.items() if e.at_most],
            "trained": int(judged.left_out.sum()),
            "are_training": judged.are_training,
            "matched": judged.matched,
            "judged": self.errors.in_words(),
        }

    def _most_confused(self, label: int) -> list[int] | None:
        """Return the label that was predicted most often in place of this one, and how often."""
        best = int(self.confusions[label].argmax())
        n = int(self.confusions[label, best])
        return [best, n] if n else None

    def _to_check_by_label(self) -> list[int]:
        """Count the documents to check of each label: those that have it, or might lack it."""
        found: list[set[int]] = [set() for _ in self.part.subject.names]
        for one in self.to_check:
            found[of_label(one)].add(one.row)
        return [len(rows) for rows in found]


def of_label(suspect: Suspect) -> int:
    """Return the label under which a suspect is listed: the given one, or the missing one."""
    label = suspect.suggested if suspect.kind == MISSING else suspect.given
    assert label is not None
    return label


def suspect_rows(
    overview: Overview, number: dict[int, int]
) -> tuple[list[list[float | None]], list[int]]:
    """Return the suspects whose documents are on the page, and which of them are to check.

    Parameters
    ----------
    overview : Overview
    number : dict of int to int
        Number on the page of each document that is shown.

    Returns
    -------
    suspects : list of [document, given, suggested, probability of each]
        The most suspicious first; -1 for a label that is missing, or that has no substitute.
    to_check : list of int
        Positions in this list.
    """
    chosen = set(map(id, overview.to_check))
    shown = [one for one in overview.errors.suspects if one.row in number]

    def label(at: int | None) -> int:
        return -1 if at is None else at

    def share(p: float | None) -> float | None:
        return None if p is None else probability(p)

    rows: list[list[float | None]] = [
        [
            number[one.row], label(one.given), label(one.suggested),
            share(one.p_given), share(one.p_suggested),
        ]
        for one in shown
    ]  # fmt: skip
    return rows, [i for i, one in enumerate(shown) if id(one) in chosen]


def accept_curves(acceptance: Acceptance) -> list[list[int]]:
    """Count the predictions that each threshold accepts, and those of them that are right.

    Returns
    -------
    list of lists of int of length 202
        [accepted, right, …] for thresholds 0, 0.01, …, 1; of all predictions first, then of each
        label.
    """
    thresholds = np.arange(_STEPS + 1) / _STEPS

    def curve(chosen: Array) -> list[int]:
        accepted = acceptance.probability[chosen, None] >= thresholds
        right = accepted & acceptance.right[chosen, None]
        return np.stack([accepted.sum(axis=0), right.sum(axis=0)], axis=1).ravel().tolist()

    label = acceptance.label
    every = np.arange(len(label))
    return [curve(every), *(curve(every[label == at]) for at in range(acceptance.n_labels))]


def best_threshold(curve: list[int], goal: float = GOAL) -> int | None:
    """Return the smallest threshold, in hundredths, at which the goal is reached; None if none.

    It accepts at least as many predictions as ``Acceptance.for_share`` requires.
    """
    accepted, right = np.array(curve[0::2]), np.array(curve[1::2])
    least = max(min(FEWEST, int(accepted[0])), 1)
    enough = (accepted >= least) & (right >= goal * accepted)
    return int(np.argmax(enough)) if enough.any() else None


def _score(part: Part) -> list[float | None]:
    """Return accuracy, or micro F1 where documents have several labels, and its interval."""
    several = part.subject.has_several_labels
    labels = None if several else np.arange(part.Y.shape[1])
    scores = score_predictions(part.truth, part.predicted, labels)
    if several:
        half = REACH * scores.standard_error
        return rounded(
            [scores.micro_f1, max(scores.micro_f1 - half, 0), min(scores.micro_f1 + half, 1)]
        )
    low, high = share_interval(round(scores.accuracy * part.n_docs), part.n_docs)
    return rounded([scores.accuracy, float(low), float(high)])
