"""Compute the first screen of the page: four numbers, and what is counted of each label.

A *decision* is a predicted label of a document whose labels are known. With one label a document
there is one for each; where documents have several, there is one for each predicted label.

    accepted(t) = decisions with a probability of at least t
    right(t)    = those of them whose label the document has

The page shows both at thresholds t in hundredths, for all labels and for each. A share of
documents has the interval of Wilson (1927).

A document is *to check* if its given label looks like an error: another label is predicted, with a
probability that is at least the mean probability of that label in the documents that have it. This
is the rule of Northcutt, Jiang and Chuang (2021) for the most probable label. Where documents have
several labels, it is applied to each label: one that is missing or superfluous.

C. G. Northcutt, L. Jiang and I. L. Chuang (2021). Confident learning: estimating uncertainty in
dataset labels. Journal of Artificial Intelligence Research 70, 1373-1411.
"""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.evaluation.parts import Part
from vbnmf.metrics import score_predictions
from vbnmf.report.explorer.packing import sig

GOAL = 0.95
"""Share of accepted decisions that must be right on the first screen."""
_STEPS = 100  # thresholds are hundredths
_Z = 1.959963984540054  # quantile of the normal distribution, for intervals of 95 %


def share_interval(n: float, of: float) -> tuple[float, float]:
    """Return Wilson's interval of 95 % of a share n / of."""
    if of <= 0:
        return 0.0, 1.0
    p, z2 = n / of, _Z**2
    middle = (p + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z * np.sqrt(p * (1 - p) / of + z2 / (4 * of**2)) / (1 + z2 / of)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def overview_payload(part: Part, suspects: list[tuple[int, int, int]]) -> dict[str, Any]:
    """Return the numbers of the first screen, of the labelled documents of a part.

    Parameters
    ----------
    part : Part
        All documents of the page, of a model with labels.
    suspects : list of (document, given label, suggested label)
        The documents to check, as ``to_check`` finds them.
    """
    labelled, n_names = part.labelled, part.Y.shape[1]
    label, probability, right = decisions(labelled)
    curves = accept_curves(label, probability, right, n_names)
    return {
        "decisions": len(right),
        "score": _score(labelled),
        "goal": GOAL,
        "accept": [curve.ravel().tolist() for curve in curves],
        "best": best_threshold(curves[0]),
        "confused": most_confused(labelled),
        "check": _number_to_check(suspects, n_names),
        "suspects": len({d for d, _, _ in suspects}),
    }


def _score(part: Part) -> list[float | None]:
    """Return accuracy, or micro F1 where documents have several labels, and its interval."""
    scores = score_predictions(
        part.truth,
        part.predicted,
        None if part.subject.has_several_labels else np.arange(part.Y.shape[1]),
    )
    low, high = share_interval(scores.accuracy * part.n_docs, part.n_docs)
    if part.subject.has_several_labels:
        half = _Z * scores.standard_error
        low, high = max(scores.micro_f1 - half, 0.0), min(scores.micro_f1 + half, 1.0)
    return [sig(scores.micro_f1), sig(low), sig(high)]


def decisions(part: Part) -> tuple[Array, Array, Array]:
    """Return label, probability and whether it is right, of each decision.

    Parameters
    ----------
    part : Part
        Documents whose labels are all known.
    """
    n_labels = part.subject.n_labels
    if part.subject.has_several_labels:
        found = sparse.coo_array(part.predicted)
        rows, labels = found.row, found.col
    else:
        rows, labels = np.arange(part.n_docs), part.best
    inside = labels < n_labels
    rows, labels = rows[inside], labels[inside]
    has = np.asarray(sparse.csr_array(part.Y > 0)[rows, labels]).ravel()
    return labels, part.probabilities[rows, labels], has


def accept_curves(label: Array, probability: Array, right: Array, n_names: int) -> list[Array]:
    """Count decisions that are accepted at each threshold, and those of them that are right.

    Returns
    -------
    list of arrays of int of shape (101, 2)
        Of all decisions first, then of each label.
    """
    # whether p ≥ i / 100, compared as numbers of the page: not by products that round
    thresholds = np.arange(_STEPS + 1) / _STEPS

    def curve(chosen: Array) -> Array:
        accepted = probability[chosen, None] >= thresholds
        return np.stack([accepted.sum(axis=0), (accepted & right[chosen, None]).sum(axis=0)], 1)

    return [curve(np.arange(len(label))), *(curve(label == at) for at in range(n_names))]


def best_threshold(curve: Array, goal: float = GOAL) -> int | None:
    """Return the smallest threshold, in hundredths, at which the goal is reached; None if none."""
    enough = (curve[:, 0] > 0) & (curve[:, 1] >= goal * curve[:, 0])
    return int(np.argmax(enough)) if enough.any() else None


def most_confused(part: Part) -> list[list[int] | None]:
    """Return the label that was predicted most often in place of each label, and how often.

    The document has the label, which was not predicted; another label was, which it does not have.
    """
    given = sparse.csr_array(part.Y > 0, dtype=np.int64)
    predicted = part.predicted
    if not part.subject.has_several_labels:
        ones = np.ones(part.n_docs, np.int64)
        predicted = sparse.csr_array((ones, (np.arange(part.n_docs), predicted)), given.shape)
    both = given * predicted
    counts = ((given - both).T @ (predicted - both)).toarray()
    best = counts.argmax(axis=1)
    return [
        [int(at), int(n)] if (n := counts[row, at]) > 0 else None for row, at in enumerate(best)
    ]


def to_check(part: Part) -> list[tuple[int, int, int]]:
    """Return the documents to check: row, given label, suggested label; -1 for no label.

    The most suspicious come first: those whose suggested label is the most probable, as compared
    with the given one.
    """
    P, Y = part.probabilities, part.Y[:, : part.subject.n_labels].toarray() > 0
    known = np.diff(part.Y.indptr) > 0
    has, has_not = Y & known[:, None], ~Y & known[:, None]
    with np.errstate(invalid="ignore"):
        present = np.where(has.any(axis=0), (P * has).sum(axis=0) / has.sum(axis=0), np.inf)
        absent = np.where(
            has_not.any(axis=0), ((1 - P) * has_not).sum(axis=0) / has_not.sum(axis=0), np.inf
        )
    if not part.subject.has_several_labels:
        best = part.best
        rows = np.arange(part.n_docs)
        found = np.flatnonzero(known & ~Y[rows, best] & (P[rows, best] >= present[best]))
        given = np.array([part.Y.indices[part.Y.indptr[d]] for d in found], dtype=np.int64)
        inside = given < P.shape[1]
        p_given = np.where(inside, P[found, np.where(inside, given, 0)], 0.0)
        order = np.argsort(p_given - P[found, best[found]], kind="stable")
        return [(int(found[i]), int(given[i]), int(best[found[i]])) for i in order]
    missing = np.argwhere(has_not & (np.maximum(present, 0.5) <= P))
    superfluous = np.argwhere(has & (np.maximum(absent, 0.5) <= 1 - P))
    every = [(P[d, at], int(d), -1, int(at)) for d, at in missing.tolist()]
    every += [(1 - P[d, at], int(d), int(at), -1) for d, at in superfluous.tolist()]
    return [(d, given, other) for _, d, given, other in sorted(every, key=lambda one: -one[0])]


def _number_to_check(suspects: list[tuple[int, int, int]], n_names: int) -> list[int]:
    """Count the documents to check of each label: those that have it, or might lack it."""
    of_label: list[set[int]] = [set() for _ in range(n_names)]
    for d, given, suggested in suspects:
        of_label[given if given >= 0 else suggested].add(d)
    return [len(found) for found in of_label]
