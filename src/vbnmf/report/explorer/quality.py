"""Compute measures of a model on documents, and scores of each label, for the page."""

from typing import Any

import numpy as np

from vbnmf.core.rows import is_empty
from vbnmf.description.components import row_parts
from vbnmf.evaluation import Evaluation, measures
from vbnmf.evaluation.parts import Part
from vbnmf.evaluation.statements import LABEL_TERMS
from vbnmf.metrics import calibration_bins, score_predictions, score_probabilities
from vbnmf.metrics.shares import share_interval
from vbnmf.report.explorer.packing import rounded, sig

_BINS = 10  # of the picture


def measure_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the measures that are known, with their names, documents and meanings.

    An evaluation without documents has only measures of the model.
    """
    facts, values = evaluation.facts(), evaluation.values()
    return [
        {
            "key": one.key,
            "name": one.name[0].upper() + one.name[1:],
            "value": sig(value),
            "of": measures.documents_of(one.of, facts),
            "meaning": one.explained(facts | values),
            "about": one.about,
            "percent": one.percent,
            "out_of": None if one.out_of is None else facts[one.out_of],
        }
        for one in evaluation.measures
        if (value := values[one.key]) is not None
    ]


def quality_payload(evaluation: Evaluation, part: Part) -> dict[str, Any]:
    """Return scores by component and by label; the latter only if labels are known.

    Parameters
    ----------
    evaluation : Evaluation
        Of all documents of the page.
    part : Part
        The same documents.
    """
    facts = evaluation.facts()
    together = evaluation.total(measures.terms_together, measures.ALL)
    payload = {
        "documents": facts["documents"],
        "labelled": facts["labelled_documents"],
        "empty": facts["documents_without_known_term"],
        "npmi_documents": rounded(together.npmi, 3),
        "label_terms": LABEL_TERMS,
    }
    if not part.subject.has_labels:
        return payload
    payload["label_parts"] = _label_parts(part)
    if part.labelled.n_docs:
        by_label = evaluation.total(measures.recounted).by_label
        payload["label_fidelity"] = [rounded(shares) for shares in by_label]
        payload |= _predictions(part.labelled)
    return payload


def _label_parts(part: Part) -> list[list[float | None]]:
    """Estimate how much of each label's documents a component makes up, (n_labels, K).

    It is the component's part of the weight of these documents, by coefficients that were estimated
    without their labels. The list of a label is empty if no document has the label and a known
    term.
    """
    Y = part.Y[:, : part.subject.n_labels]
    has_terms = np.flatnonzero(~is_empty(part.X))
    sums = Y[has_terms].T @ part.coefficients[has_terms]
    parts = row_parts(sums * part.subject.estimator.component_sums_)
    return [rounded(row, 3) if row.any() else [] for row in parts]


def _predictions(part: Part) -> dict[str, Any]:
    """Compute recall and precision of labels, confusions, and the bins of the calibration."""
    labels = None if part.subject.has_several_labels else np.arange(part.Y.shape[1])
    scores = score_predictions(part.truth, part.predicted, labels)
    rows = zip(scores.support, scores.recall, scores.precision, strict=True)
    of = score_probabilities(part.truth, part.probabilities)
    payload = {
        "by_label": [[int(n), sig(recall), sig(precision)] for n, recall, precision in rows],
        "calibration": calibration_points(of.probability, of.right),
    }
    if scores.confusion is not None:
        payload["confusion"] = scores.confusion.tolist()
    return payload


def calibration_points(probability: Any, right: Any) -> list[list[float | None]]:
    """Return the points of the chart: mean probability, share right with its interval, number.

    Each is [mean probability, share right, number, low, high].
    """
    bins = calibration_bins(probability, right, _BINS)
    low, high = share_interval(bins[:, 1] * bins[:, 2], bins[:, 2])
    return [
        [sig(mean), sig(hit), int(n), sig(least), sig(most)]
        for (mean, hit, n), least, most in zip(bins, low, high, strict=True)
    ]
