"""How well a model does on documents: accuracy, confusions, calibration, measures of components."""

from typing import Any

import numpy as np
from sklearn.metrics import f1_score, precision_recall_fscore_support

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.metrics import (
    calibration_bins,
    calibration_error,
    document_npmi,
    hoyer_sparsity,
    inter_label_sparsity,
)
from vbnmf.pipeline import DocumentModel
from vbnmf.report import measures
from vbnmf.report.explorer.documents import Looked
from vbnmf.report.explorer.numbers import rounded, sig

_BINS = 10  # of the picture


def quality_payload(model: DocumentModel, looked: Looked) -> dict[str, Any]:
    """Return measures over all documents; scores of predictions only if labels are known."""
    estimator = model.estimator_
    npmi = document_npmi(estimator.components_, looked.X, measures.TOP)
    found = {
        "npmi_documents": float(npmi[measures.lasting(estimator)].mean()),
        "npmi_windows": measures.npmi_by_windows(model, looked.texts),
        "held_out_log_likelihood": measures.held_out_log_likelihood(estimator, looked.X),
        "coefficient_sparsity": hoyer_sparsity(looked.V),
        "component_share": _component_share(model, looked.X),
    }
    scores: dict[str, Any] = {}
    labels = looked.truth or []
    known = [d for d, true in enumerate(labels) if true is not None]
    if known:
        truth = [true for true in labels if true is not None]
        repeated = np.repeat(looked.V[known], [len(true) for true in truth], axis=0)
        flat = [label for true in truth for label in true]
        found["inter_label_sparsity"] = inter_label_sparsity(repeated, flat)
        if looked.given is not None and looked.P is not None:
            given = [looked.given[d] for d in known]
            score = _several if model.has_several_labels else _single
            commonest = int(np.argmax(estimator.label_counts_))
            scores = score(truth, given, looked.P[known], looked.names, commonest)
    return {
        "documents": len(looked.ids),
        "labelled": len(known),
        "empty": int(is_empty(looked.X).sum()),
        "npmi_documents": rounded(npmi, 3),
        "measures": {name: None if value is None else sig(value) for name, value in found.items()},
        **scores,
    }


def _component_share(model: DocumentModel, X: Any) -> float | None:
    """Mean share of the decisions that components carry; None without labels."""
    return float(model.estimator_.component_share(X).mean()) if model.has_labels else None


def _single(
    truth: list[list[int]], given: list[list[int]], P: Array, names: list[str], commonest: int
) -> dict[str, Any]:
    y, z = (np.array([labels[0] for labels in lists]) for lists in (truth, given))
    found, right, _, support = _by_label(y, z, len(names))
    had = support > 0
    confusion = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(confusion, (y, z), 1)
    return {
        "accuracy": {
            "accuracy": sig(np.mean(y == z)),
            "macro accuracy": sig(found[had].mean()),
            "baseline: commonest label": sig(np.mean(y == commonest)),
        },
        "by_label": _rows(support, found, right, np.bincount(z, minlength=len(names))),
        "confusion": confusion.tolist(),
        **_calibrated(P.max(axis=1), y == z),
    }


def _several(
    truth: list[list[int]], given: list[list[int]], P: Array, names: list[str], commonest: int
) -> dict[str, Any]:
    Y, Z = (np.zeros((len(truth), len(names)), dtype=int) for _ in range(2))
    for table, lists in ((Y, truth), (Z, given)):
        for row, labels in zip(table, lists, strict=True):
            row[labels] = 1
    found, right, f1, support = _by_label(Y, Z, None)
    had = support > 0
    simplest = np.zeros_like(Y)
    simplest[:, commonest] = 1
    return {
        "accuracy": {
            "micro F1": sig(f1_score(Y, Z, average="micro", zero_division=0)),
            "macro F1": sig(f1[had].mean()),
            "subset accuracy": sig(np.mean((Y == Z).all(axis=1))),
            "baseline: commonest label": sig(
                f1_score(Y, simplest, average="micro", zero_division=0)
            ),
        },
        "by_label": _rows(support, found, right, Z.sum(axis=0)),
        **_calibrated(P.ravel(), (Y[:, : P.shape[1]] == 1).ravel()),
    }


def _by_label(y: Array, z: Array, n_labels: int | None) -> tuple[Array, Array, Array, Array]:
    """Recall, precision, F1 and number of documents of each label."""
    labels = None if n_labels is None else range(n_labels)
    precision, recall, f1, support = precision_recall_fscore_support(
        y, z, labels=labels, zero_division=0.0
    )
    return recall, precision, f1, support


def _rows(support: Array, found: Array, right: Array, given: Array) -> list[list[float | None]]:
    """[documents, part found, part right] of each label; None for a part of no documents."""
    return [
        [int(n), sig(r) if n else None, sig(p) if g else None]
        for n, r, p, g in zip(support, found, right, given, strict=True)
    ]


def _calibrated(p: Array, right: Array) -> dict[str, Any]:
    """Bins of the picture, and the expected calibration error."""
    bins = calibration_bins(p, right, _BINS)
    return {
        "calibration": [[sig(mean), sig(hit), int(n)] for mean, hit, n in bins],
        "calibration_error": sig(calibration_error(p, right)),
    }
