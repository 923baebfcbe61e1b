"""Hold out validation documents, score candidates on them, and compare the candidates.

The split is stratified by label. The score of predictions is accuracy if each document has one
label, and micro F1 if documents may have several. Measures are those of ``vbnmf.evaluation``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vbnmf.core.model import Array
from vbnmf.estimators import SupervisedVBNMF
from vbnmf.estimators.labels import Targets, check_targets
from vbnmf.estimators.labeltree import as_mapping, check_label_tree
from vbnmf.estimators.validation import check_matrix
from vbnmf.evaluation import Evaluation, measures
from vbnmf.evaluation.parts import Subject
from vbnmf.evaluation.statements import Sharing
from vbnmf.metrics import agreement
from vbnmf.metrics.likelihood import split_documents
from vbnmf.metrics.ratios import ratio, ratio_difference
from vbnmf.selection.advice import Candidate, Trial, best_of, count


@dataclass(frozen=True)
class Split:
    """Training and validation documents, with their labels as indicators."""

    X: sparse.csr_array  # (n_docs, n_terms)
    Y: sparse.csr_array  # (n_docs, n_labels); an empty row is a document with unknown labels
    X_validation: sparse.csr_array
    Y_validation: sparse.csr_array
    multilabel: bool
    classes: list[Any]  # the labels, by their columns

    unlabelled = -1

    @property
    def y(self) -> Any:
        """Training labels. With one label per document, unknown ones are ``unlabelled``."""
        return self.Y if self.multilabel else _codes(self.Y, self.unlabelled)

    def adapted(self, estimator: SupervisedVBNMF) -> SupervisedVBNMF:
        """Return the estimator with its parameters adapted to ``y``.

        In ``y``, labels are indices of columns.
        """
        parameters: dict[str, Any] = {"unlabelled": self.unlabelled}
        weights = estimator.get_params().get("class_weight")
        if isinstance(weights, dict):
            codes = {label: code for code, label in enumerate(self.classes)}
            parameters["class_weight"] = {codes.get(key, key): w for key, w in weights.items()}
        if estimator.label_tree is not None:
            groups = check_label_tree(estimator.label_tree, np.array(self.classes, dtype=object))
            parameters["label_tree"] = as_mapping(groups)
        return clone(estimator).set_params(**parameters)

    @property
    def n_labels(self) -> int:
        """Number of labels, all of which occur in training."""
        return int(self.Y.shape[1])

    @property
    def n_validation(self) -> int:
        """Number of validation documents."""
        return int(self.Y_validation.shape[0])

    @property
    def measure(self) -> str:
        """Name of the score of predictions."""
        return "micro F1" if self.multilabel else "accuracy"


def prepare(
    X: Any, y: Any, estimator: SupervisedVBNMF, vectorizer: Any, validation: Any, seed: int
) -> Split:
    """Check and split documents and labels. A vectorizer is fitted to the training part only."""
    if not isinstance(validation, Real) or not 0 < float(validation) < 1:
        raise ValueError(
            f"validation must be a fraction of the documents between 0 and 1; got {validation!r}."
        )
    checker = clone(estimator)
    if vectorizer is None:
        if not sparse.issparse(X) and np.ndim(X) == 1:
            raise ValueError(
                "X must be a matrix of documents by terms; got a list. If it has texts, pass "
                "vectorizer=DocumentVectorizer() too."
            )
        X = check_matrix(checker, X, reset=True)
        n_docs = X.shape[0]
    else:
        X = list(X)
        n_docs = len(X)
    targets = check_targets(checker, y, n_docs, estimator.unlabelled)
    Y, classes = _used_labels(targets)
    train, held = hold_out(Y, float(validation), seed)
    if vectorizer is None:
        parts = X[train], X[held]
    else:
        fitted = clone(vectorizer)
        matrix = fitted.fit_transform([X[i] for i in train])
        parts = (
            check_matrix(checker, matrix, reset=True),
            check_matrix(checker, fitted.transform([X[i] for i in held]), reset=False),
        )
    if not split_documents(parts[1])[1].nnz:
        raise ValueError(
            f"of {count(len(held), 'validation document')}, none has two known terms: one for the "
            "coefficients, and one to score. Use documents with more terms, or more documents."
        )
    return Split(parts[0], Y[train], parts[1], Y[held], targets.multilabel, classes)


def hold_out(Y: sparse.csr_array, validation: float, seed: int) -> tuple[Array, Array]:
    """Return the rows for training and for validation, in order.

    The split is stratified by label; a document with several labels is in the stratum of its rarest
    label. Documents without a label are for training. Each label keeps at least one document for
    training.

    Parameters
    ----------
    Y : csr_array of shape (n_docs, n_labels)
        Label indicators.
    validation : float
        Fraction to hold out.
    seed : int
        Random seed.
    """
    rng = np.random.default_rng(seed)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    known = np.flatnonzero(np.diff(Y.indptr))
    rarest = np.argsort(np.argsort(counts, kind="stable"))  # rank of each label by size
    stratum = np.minimum.reduceat(rarest[Y.indices], Y.indptr[known])
    shuffled = rng.permutation(len(known))
    order = known[shuffled[np.argsort(stratum[shuffled], kind="stable")]]
    # take every n-th document in the order of labels, which takes the same part of each label
    steps = np.floor(np.arange(len(order) + 1) * validation + rng.random())
    taken = np.zeros(Y.shape[0], dtype=bool)
    taken[order[np.diff(steps) > 0]] = True
    by_label = Y.tocsc()
    left = counts - by_label.T @ taken
    for label in np.flatnonzero((left < 1) & (counts > 0)):
        members = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        taken[members[0]] = False
    if not taken.any():
        raise ValueError(
            f"no document is left for validation: of {count(len(known), 'document')} with "
            f"{count(len(counts), 'label')}, the fraction is {validation:g}, and each label needs "
            "a training document. Use more documents, or a larger fraction."
        )
    return np.flatnonzero(~taken), np.flatnonzero(taken)


def _used_labels(targets: Targets) -> tuple[sparse.csr_array, list[Any]]:
    """Return the indicators and names of the labels that at least one document has."""
    used = np.flatnonzero(np.asarray(targets.indicators.sum(axis=0)).ravel())
    return targets.indicators[:, used], targets.classes[used].tolist()


def _codes(Y: sparse.csr_array, unlabelled: int) -> Array:
    codes = np.full(Y.shape[0], unlabelled)
    codes[np.diff(Y.indptr) > 0] = Y.indices
    return codes


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
    evaluation = Evaluation(Subject(model, list(map(str, split.classes))), measures.TUNE)
    part = evaluation.add(split.X_validation, split.Y_validation)
    tally = measures.predictions(part)
    predictions = tally.scores(np.arange(split.n_labels))
    documents = DocumentScores(*part.log_sums, *part.matches)
    likelihood = ratio(documents.log_probability, documents.weight)
    return {
        "n_found": model.n_components_,
        "log_likelihood": likelihood.value,
        "log_likelihood_error": likelihood.error,
        "accuracy": predictions.micro_f1,
        "accuracy_error": predictions.standard_error,
        "macro_accuracy": predictions.macro,
        **asdict(_sharing(model, split)),
        "measures": {
            key: float("nan") if value is None else value
            for key, value in evaluation.values().items()
        },
    }, documents


def _sharing(model: SupervisedVBNMF, split: Split) -> Sharing:
    """Count shared components, those that agree, and those that are glued.

    Agreement is computed from the training documents, because a shared component needs many
    documents of each label.
    """
    if not model.fitted_.labels.scoped:  # then all labels use all components
        return Sharing(0, 0, 0)
    labelled = np.flatnonzero(np.diff(split.Y.indptr))
    found = agreement(split.X[labelled], split.Y[labelled], model.components_, model.scopes_)
    return Sharing.of(found)


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
