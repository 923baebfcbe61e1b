"""Compute measures of a model on documents, and recount what is said of labels."""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.rows import is_empty
from vbnmf.description.components import row_parts, shown_terms
from vbnmf.description.labels import COMPONENT_TERMS
from vbnmf.metrics import (
    ProbabilityScores,
    calibration_bins,
    hoyer_sparsity,
    inter_label_sparsity,
)
from vbnmf.metrics.agreement import AGREES, GLUED
from vbnmf.metrics.coherence import counts_together, npmi_of_counts
from vbnmf.metrics.fidelity import SAID
from vbnmf.pipeline import DocumentModel
from vbnmf.report import measures
from vbnmf.report.explorer.documents import Looked
from vbnmf.report.explorer.numbers import rounded, sig
from vbnmf.report.truth import LabelScores, score_labels

_BINS = 10  # of the picture
_LIMITS = {
    "agrees": AGREES,
    "glued": GLUED,
    "said": SAID,
    "terms": measures.TOP,
    "component_terms": COMPONENT_TERMS,
}
"""What the page says of the statements that are recounted."""


def quality_payload(model: DocumentModel, looked: Looked) -> dict[str, Any]:
    """Compute measures over all documents, and scores of predictions if labels are known."""
    estimator = model.estimator_
    top = shown_terms(model, measures.TOP)
    npmi = npmi_of_counts(counts_together(top, looked.X), looked.X.shape[0])
    found = {
        "npmi_documents": float(npmi[measures.lasting(estimator)].mean()),
        "npmi_windows": measures.npmi_by_windows(model, looked.texts),
        "held_out_log_likelihood": measures.held_out_log_likelihood(estimator, looked.X),
        "coefficient_sparsity": hoyer_sparsity(looked.V),
        "component_share": _component_share(model, looked),
    }
    scores: dict[str, Any] = {}
    truth: dict[str, Any] = {}
    if model.has_labels:
        scores["label_parts"] = _label_parts(model, looked)
    Y = looked.indicators
    known = np.flatnonzero(np.diff(Y.indptr))
    if len(known):
        found["inter_label_sparsity"] = inter_label_sparsity(looked.V[known], Y[known])
        if looked.P is not None:
            scores |= _scores(score_labels(model, Y[known], looked.P[known]))
            of_model = sparse.csr_array(Y[known][:, : len(model.classes_)])
            said = measures.said_of_labels(model)
            recounted = measures.Recounted.of(said, looked.X[known], of_model)
            truth = recounted.scores(estimator)
            scores["label_fidelity"] = [
                [None if share is None else sig(share) for share in shares]
                for shares in recounted.of_labels()
            ]
    return {
        "documents": len(looked.ids),
        "labelled": len(known),
        "empty": int(is_empty(looked.X).sum()),
        "npmi_documents": rounded(npmi, 3),
        "measures": {name: None if value is None else sig(value) for name, value in found.items()},
        "truth": truth,
        "limits": _LIMITS,
        **scores,
    }


def _label_parts(model: DocumentModel, looked: Looked) -> list[list[float | None]]:
    """Estimate how much of each label's documents a component makes up, (n_labels, K).

    It is the component's part of the weight of these documents, by coefficients that were estimated
    without their labels. The list of a label is empty if no document has the label and a known
    term.
    """
    Y = looked.indicators[:, : len(model.estimator_.classes_)]
    has_terms = np.flatnonzero(~is_empty(looked.X))
    sums = (Y[has_terms].T @ looked.V[has_terms]) * model.estimator_.component_sums_
    parts = row_parts(sums)
    return [rounded(row, 3) if row.any() else [] for row in parts]


def _component_share(model: DocumentModel, looked: Looked) -> float | None:
    """Compute the mean share of components in the scores; None without labels."""
    if looked.P is None:
        return None
    return float(model.estimator_.component_share(looked.X, looked.P).mean())


def _scores(found: LabelScores) -> dict[str, Any]:
    """Compute scores of predictions, in total and by label, confusions and calibration."""
    scores = found.predictions
    simplest = {"baseline: commonest label": sig(found.commonest)}
    rows = zip(scores.support, scores.recall, scores.precision, strict=True)
    payload = {
        "by_label": [[int(n), sig(recall), sig(precision)] for n, recall, precision in rows],
        **_calibrated(found.probabilities),
    }
    if scores.confusion is None:
        accuracy = {
            "micro F1": sig(scores.micro_f1),
            "macro F1": sig(scores.macro_f1),
            "subset accuracy": sig(scores.accuracy),
        }
        return {"accuracy": accuracy | simplest, **payload}
    accuracy = {"accuracy": sig(scores.accuracy), "macro accuracy": sig(scores.macro_accuracy)}
    return {"accuracy": accuracy | simplest, "confusion": scores.confusion.tolist(), **payload}


def _calibrated(scores: ProbabilityScores) -> dict[str, Any]:
    """Compute the bins of the chart, and the expected calibration error."""
    bins = calibration_bins(scores.probability, scores.right, _BINS)
    return {
        "calibration": [[sig(mean), sig(hit), int(n)] for mean, hit, n in bins],
        "calibration_error": sig(scores.calibration_error),
    }
