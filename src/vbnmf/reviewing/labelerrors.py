"""Find documents whose label is probably wrong, the most suspicious first.

    p_dl    probability of label l of document d, by a model that was fitted without d's fold
    g       the given label of d;   s = argmax over l ≠ g of p_dl, the suggested label

**Score.** A wrong label has a low probability where another label has a high one. But p_dg is never
zero: if some documents of s are labelled g by mistake, the model expects g for all documents of s.
So the median of q_dg over documents that are predicted as s is subtracted, m_sg:

    score = 4 ln q_ds − ln(max(q_dg − m_sg, 0) + 0.003),    q_dl = √p_dl / Σ_k √p_dk

Of self-confidence (p_dg), margin (p_ds − p_dg), ratio, ratios with other constants, ratios relative
to the frequency or the mean of a label, and posteriors of a noise channel, this was among the best
by mean average precision over training parts of ten corpora, with 5 % of the labels moved at random
or to the nearest label, and better than its equals for the latter. Self-confidence is as good for
random errors and much worse for errors towards a similar label; the margin is the reverse. ``python
-m benchmarks review`` measures the score on one or more corpora.

Other scores were tried again with left-out probabilities of folds. Other constants change little.
So do the labels of the nearest documents as further evidence, at the cost of all their cosines. The
frequency of s among sure disagreements with g helps for errors towards a similar label, and costs
more for random ones.

**Number of errors.** Of the documents that the model is surest of, those that disagree with their
label are mostly errors. If errors are as frequent in other documents, the share of errors is the
share of these. Of the surest 5, 10, 20 and 30 %, the most documents are used whose interval is not
above that of fewer. If the model is not sure of them, the estimate is an upper limit.

**Labels by chance.** Where texts say nothing about labels, the most probable label is the commonest
one, and all others would be suspects. So the predicted labels are counted that are given, and those
expected if labels were drawn by their frequencies in training. If they are not clearly more, labels
cannot be judged: the estimate is an upper limit from zero on.

Training documents are judged by left-out probabilities, and others by predictions
(``evaluation.judging``).
"""

from dataclasses import dataclass

import numpy as np

from vbnmf.core.model import Array
from vbnmf.evaluation.judging import Judged
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.shares import right_by_chance, share_interval

WRONG, MISSING, SUPERFLUOUS = "wrong", "missing", "superfluous"
"""Kinds of label errors. With one label a document, all are wrong labels."""

SURE = (0.05, 0.1, 0.2, 0.3)
"""Shares of the documents that are tried as the documents which the model is sure of."""

_WEIGHT, _LEAST = 4.0, 0.003  # of the score; see above
_SURE_ENOUGH = 0.9  # mean probability of predictions below which an estimate is an upper limit
_FEWEST_SURE = 50  # documents
_FEWEST_PREDICTED = 5  # documents of which a median is taken
_TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Suspect:
    """A label that is probably wrong, missing or superfluous.

    Attributes
    ----------
    row : int
        The document.
    kind : {"wrong", "missing", "superfluous"}
        With one label a document: "wrong". With several: a label that is missing has no ``given``,
        and one that is superfluous has no ``suggested``.
    given, suggested : int or None
        Positions of the labels in ``part.subject.names``.
    p_given, p_suggested : float or None
        The probability of each.
    score : float
        The larger, the more suspicious; comparable within one kind only.
    left_out : bool
        Whether these are left-out probabilities of a training document.
    """

    row: int
    kind: str
    given: int | None
    suggested: int | None
    p_given: float | None
    p_suggested: float | None
    score: float
    left_out: bool


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Labels that are probably wrong, and an estimate of their number.

    Attributes
    ----------
    suspects : list of Suspect
        The most suspicious first; of several kinds, those of each kind in turn.
    estimates : dict of str to Estimated
        Estimated number of errors of each kind.
    scores : ndarray of shape (n_docs,), or None
        Score of each document; −∞ if it cannot be judged. None with several labels a document.
    judged : Judged
        What documents are judged by.
    n_judged : int
        Documents that are judged: labelled, with a known term, and a label of the model.
    by_chance : bool
        Whether predictions are right no more often than by chance, so that no label can be judged.
    n_alone : int
        Labels that no other training document has, and that are therefore not judged: a model
        that did not see the document does not know them.
    """

    suspects: list[Suspect]
    estimates: "dict[str, Estimated]"
    scores: Array | None
    judged: Judged
    n_judged: int
    by_chance: bool = False
    n_alone: int = 0

    def in_words(self) -> str:
        """Say what documents are judged by, and whether they can be judged."""
        said = self.judged.in_words()
        if self.n_alone == 1:
            said += " One label that no other training document has is not judged."
        elif self.n_alone:
            said += f" {self.n_alone:,} labels that no other training document has are not judged."
        if not self.by_chance:
            return said
        return (
            f"{said} These are right no more often than by chance, so they cannot tell wrong "
            "labels from right ones."
        )


@dataclass(frozen=True)
class Estimated:
    """An estimated number of label errors, with its interval of 95 %.

    It is an upper limit (``at_most``) if the model is not sure of the documents it is from: then it
    is often the model that is wrong.
    """

    number: float
    low: float
    high: float
    at_most: bool = False

    def times(self, n: int) -> "Estimated":
        """Convert a share to a number."""
        return Estimated(n * self.number, n * self.low, n * self.high, self.at_most)

    def unknown(self) -> "Estimated":
        """Return what remains if labels cannot be judged: an upper limit, from zero on."""
        return Estimated(self.number, 0.0, self.high, at_most=True)


def find_label_errors(part: Part) -> LabelErrors:
    """List the labels of documents that are probably wrong, the most suspicious first.

    Suspects are all documents for which another label is more probable than the given one. If
    documents may have several labels, they are labels that are predicted and not given (missing),
    and labels that are given and not predicted (superfluous).

    Parameters
    ----------
    part : Part
        Documents with labels, and a model that was fitted with labels.
    """
    judged = part.judged
    if part.subject.has_several_labels:
        return _several(part, judged)
    given = np.full(part.n_docs, -1)
    labelled = np.diff(part.Y.indptr) > 0
    given[labelled] = part.Y.indices
    rows = np.flatnonzero(labelled & (given < part.subject.n_labels) & ~judged.empty)
    alone = judged.left_out[rows] & _of_one_document(part)[given[rows]]
    rows, n_alone = rows[~alone], int(alone.sum())
    scores = np.full(part.n_docs, -np.inf)
    if len(rows) == 0 or part.subject.n_labels < 2:
        none = {WRONG: Estimated(0, 0, 0)}
        return LabelErrors([], none, scores, judged, len(rows), n_alone=n_alone)
    P, g = judged.probabilities[rows], given[rows]
    scores[rows], suggested = suspicion(P, g)
    at = np.arange(len(rows))
    p_given, p_suggested = P[at, g], P[at, suggested]
    suspects = [
        Suspect(
            row=int(rows[i]),
            kind=WRONG,
            given=int(g[i]),
            suggested=int(suggested[i]),
            p_given=float(p_given[i]),
            p_suggested=float(p_suggested[i]),
            score=float(scores[rows[i]]),
            left_out=bool(judged.left_out[rows[i]]),
        )
        for i in np.argsort(-scores[rows], kind="stable").tolist()
        if p_suggested[i] > p_given[i]
    ]
    predicted = P.argmax(axis=1)
    frequencies = part.subject.estimator.label_frequencies_
    by_chance = right_by_chance(predicted, predicted == g, frequencies)
    rate = error_rate(P.max(axis=1), predicted != g).times(len(rows))
    estimates = {WRONG: rate.unknown() if by_chance else rate}
    return LabelErrors(suspects, estimates, scores, judged, len(rows), by_chance, n_alone)


def _of_one_document(part: Part) -> Array:
    """Return whether each label of the model has one training document, (n_labels,) of bool."""
    return np.asarray(part.subject.estimator.label_counts_) == 1


def suspicion(P: Array, given: Array) -> tuple[Array, Array]:
    """Score how probably each document has a wrong label, and suggest another one.

    Parameters
    ----------
    P : array of shape (n_docs, n_labels)
        Probabilities of at least two labels.
    given : array of int of shape (n_docs,)
        Given labels.

    Returns
    -------
    scores : ndarray of shape (n_docs,)
        The larger, the more suspicious.
    suggested : ndarray of int of shape (n_docs,)
        The most probable label apart from the given one.
    """
    Q = np.sqrt(np.maximum(P, _TINY, dtype=np.float64))
    Q /= Q.sum(axis=1, keepdims=True)
    usual = _usual(Q)
    at = np.arange(len(Q))
    of_given = Q[at, given]
    Q[at, given] = -1
    suggested = Q.argmax(axis=1)
    excess = np.maximum(of_given - usual[suggested, given], 0)
    return _WEIGHT * np.log(Q[at, suggested]) - np.log(excess + _LEAST), suggested


def _usual(P: Array) -> Array:
    """Return the medians of the probabilities of documents predicted as each label, (L, L).

    Labels that fewer than five documents are predicted as get the medians of all documents.
    """
    predicted = P.argmax(axis=1)
    order = np.argsort(predicted, kind="stable")
    ends = np.searchsorted(predicted[order], np.arange(P.shape[1] + 1))
    found = np.repeat(np.median(P, axis=0)[None], P.shape[1], axis=0)
    for label in range(P.shape[1]):
        rows = order[ends[label] : ends[label + 1]]
        if len(rows) >= _FEWEST_PREDICTED:
            found[label] = np.median(P[rows], axis=0)
    return found


def error_rate(sure: Array, differs: Array) -> Estimated:
    """Estimate the share of errors by the labels that the model is surest of.

    Parameters
    ----------
    sure : array of shape (n,)
        Probability of the prediction.
    differs : array of bool of shape (n,)
        Whether the given label differs from the prediction.
    """
    n = len(sure)
    if n == 0:
        return Estimated(0.0, 0.0, 0.0)
    order = np.argsort(-sure, kind="stable")
    found = []
    for share in SURE:
        some = order[: min(max(int(share * n), _FEWEST_SURE), n)]
        wrong = int(differs[some].sum())
        low, high = share_interval(wrong, len(some))
        unsure = bool(sure[some].mean() < _SURE_ENOUGH)
        found.append(Estimated(wrong / len(some), float(low), float(high), unsure))
    least = min(one.high for one in found)
    return next(one for one in reversed(found) if one.low <= least)


def _several(part: Part, judged: Judged) -> LabelErrors:
    """List missing and superfluous labels of documents that may have several."""
    rows = np.flatnonzero((np.diff(part.Y.indptr) > 0) & ~judged.empty)
    n_labels = part.subject.n_labels
    P = judged.probabilities[rows]
    given = part.Y[rows][:, :n_labels].toarray() > 0
    alone = given & judged.left_out[rows, None] & _of_one_document(part)
    predicted = part.subject.estimator.indicators_from(P) > 0
    pairs = np.nonzero(predicted)
    frequencies = part.subject.estimator.label_frequencies_
    by_chance = right_by_chance(pairs[1], given[pairs], frequencies)
    suspects, estimates = [], {}
    for kind, differs, among in (
        (MISSING, predicted & ~given, predicted),
        (SUPERFLUOUS, ~predicted & given & ~alone, ~predicted & ~alone),
    ):
        sure = P if kind == MISSING else 1 - P
        at, labels = np.nonzero(differs)
        order = np.argsort(-sure[at, labels], kind="stable")
        for i in order.tolist():
            p, label, row = float(P[at[i], labels[i]]), int(labels[i]), int(rows[at[i]])
            missing = kind == MISSING
            suspects.append(
                Suspect(
                    row=row,
                    kind=kind,
                    given=None if missing else label,
                    suggested=label if missing else None,
                    p_given=None if missing else p,
                    p_suggested=p if missing else None,
                    score=float(sure[at[i], labels[i]]),
                    left_out=bool(judged.left_out[row]),
                )
            )
        rate = error_rate(sure[among], differs[among]).times(int(among.sum()))
        estimates[kind] = rate.unknown() if by_chance else rate
    n_alone = int(alone.sum())
    return LabelErrors(suspects, estimates, None, judged, len(rows), by_chance, n_alone)
