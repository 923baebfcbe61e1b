"""Score fitted models on the validation documents, and compare them on the same documents.

The score of predictions is accuracy if each document has one label, and micro F1 if documents may
have several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators import SupervisedVBNMF
from vbnmf.metrics import inter_label_sparsity, score_predictions
from vbnmf.metrics.agreement import AGREES, GLUED, agreement
from vbnmf.metrics.coherence import counts_together, npmi_of_counts
from vbnmf.metrics.fidelity import component_fidelity, share_that_holds
from vbnmf.metrics.likelihood import document_log_sums, split_documents
from vbnmf.metrics.ratios import ratio, ratio_difference
from vbnmf.metrics.scoring import document_matches
from vbnmf.selection.advice import Candidate, Trial, best_of
from vbnmf.selection.holdout import Split

_TOP = 10  # describing terms of a component for fidelity and NPMI


class DocumentScores(NamedTuple):
    """Sums of each validation document, (n_validation,), from which models are compared.

    The log-likelihood per unit of weight is Σ log_probability / Σ weight. The accuracy or micro F1
    is Σ matches / Σ labels; see ``document_matches``.
    """

    log_probability: Array
    weight: Array
    matches: Array
    labels: Array


def score(model: SupervisedVBNMF, split: Split) -> tuple[dict[str, Any], DocumentScores]:
    """Score a model that was fitted to the training part.

    Parameters
    ----------
    model : SupervisedVBNMF
        Fitted to ``split.X`` and ``split.y``.
    split : Split
        Training and validation documents.

    Returns
    -------
    scores : dict
        Fields of ``Trial`` by name: the number of components, and all scores.
    documents : DocumentScores
        The sums of each validation document.
    """
    X, Y = split.X_validation, split.Y_validation
    truth = Y if split.multilabel else Y.indices
    predicted = model.predict(X)
    predictions = score_predictions(truth, predicted)
    first, second = split_documents(X)
    documents = DocumentScores(
        *document_log_sums(model, second, model.transform(first)),
        *document_matches(truth, predicted),
    )
    likelihood = ratio(documents.log_probability, documents.weight)
    return {
        "n_found": model.n_components_,
        "log_likelihood": likelihood.value,
        "log_likelihood_error": likelihood.error,
        "accuracy": predictions.micro_f1,
        "accuracy_error": predictions.standard_error,
        "macro_accuracy": predictions.macro,
        **_sharing(model, split),
        "fidelity": _fidelity(model, X, Y),
        "inter_label_sparsity": inter_label_sparsity(model.transform(X), Y),
        "npmi": _npmi(model, X),
    }, documents


def compare(
    rows: Sequence[Trial], documents: Mapping[Candidate, DocumentScores]
) -> tuple[Trial, ...]:
    """Return the rows with their differences from the one with the best log-likelihood.

    Parameters
    ----------
    rows : sequence of Trial
        All candidates.
    documents : mapping from candidates to DocumentScores
        Sums of the same validation documents.
    """
    best = documents[best_of(rows).candidate]
    compared = []
    for row in rows:
        own = documents[row.candidate]
        likelihood = ratio_difference(best[:2], own[:2])
        accuracy = ratio_difference(best[2:], own[2:])
        compared.append(
            replace(
                row,
                likelihood_below=likelihood.value,
                likelihood_below_error=likelihood.error,
                accuracy_below=accuracy.value,
                accuracy_below_error=accuracy.error,
            )
        )
    return tuple(compared)


def _sharing(model: SupervisedVBNMF, split: Split) -> dict[str, int]:
    """Count shared components, those that agree, and those that are glued.

    Agreement is computed from the training documents, because a shared component needs many
    documents of each label.
    """
    if not model.scoped_:  # then all labels use all components
        return dict.fromkeys(("shared", "agreeing", "glued"), 0)
    labelled = np.flatnonzero(np.diff(split.Y.indptr))
    found = agreement(split.X[labelled], split.Y[labelled], model.components_, model.scopes_)
    found = found[~np.isnan(found)]
    return {
        "shared": len(found),
        "agreeing": int((found >= AGREES).sum()),
        "glued": int((found < GLUED).sum()),
    }


def _fidelity(model: SupervisedVBNMF, X: Any, Y: Any) -> float:
    """Compute how often documents confirm that a component makes up a tenth of a label."""
    assert model.describing_terms_ is not None
    weight = model.label_activations_ * model.component_sums_
    use = weight / np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    found = component_fidelity(X, Y, list(model.describing_terms_[:, :_TOP]))
    return share_that_holds(use, found)[0]


def _npmi(model: SupervisedVBNMF, X: Any) -> float:
    """Compute the mean NPMI of describing terms in whole documents, as ``vbnmf evaluate``."""
    assert model.describing_terms_ is not None
    kept = ~model.faded_ if not model.faded_.all() else model.faded_
    top = model.describing_terms_[kept, :_TOP]
    return float(npmi_of_counts(counts_together(top, X), X.shape[0]).mean())
