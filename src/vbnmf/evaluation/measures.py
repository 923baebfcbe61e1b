"""All measures of a model: what each is called, which documents it is of, and what it means.

To add a measure, append a ``Measure`` to ``MEASURES``. ``vbnmf evaluate``, the page and ``tune``
then compute and print it. A measure has two functions. ``count`` computes sums over the documents
of a ``Part``, which are added with ``+`` over all parts. ``value`` computes the measure from the
total. Measures with the same ``count`` share its sums.

A measure that needs no labels is of all documents, also of those without a label.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.description.components import label_use, naming_terms
from vbnmf.description.labels import COMPONENT_TERMS
from vbnmf.evaluation.parts import TOP, Part, Subject
from vbnmf.evaluation.statements import LABEL_TERMS, Recounted
from vbnmf.metrics import exclusivity, share_that_holds
from vbnmf.metrics.agreement import AGREES, GLUED
from vbnmf.metrics.coherence import WindowCounts, counts_together, npmi_of_counts
from vbnmf.metrics.diversity import distinct_share
from vbnmf.metrics.fidelity import SAID, DescribedDocuments
from vbnmf.metrics.scoring import PredictionScores, PredictionTally, ProbabilityTally
from vbnmf.metrics.sparsity import hoyer_of_sums, hoyer_sparsity
from vbnmf.text.vectorizer import token_sequences

DIVERSE, WINDOW = 25, 10
"""Usual numbers of top terms for diversity, and of tokens in a window."""

LABELLED, ALL, MODEL = "labelled documents", "all documents", "the model"
"""Which documents a measure is of. A measure of the model needs none."""

EVALUATE, PAGE, TUNE = "evaluate", "page", "tune"
"""Where a measure is printed."""

PREDICTIONS, COMPONENTS, STATEMENTS = "predictions", "components", "statements"
"""What a measure is about; sections of the page."""


@dataclass(frozen=True)
class Measure:
    """A measure of a model.

    Attributes
    ----------
    key : str
        Its name in JSON and in CSV files.
    name : str
        Its name in tables.
    meaning : str
        What it means, in a phrase or a sentence. ``{key}`` stands for another score.
    value : callable
        Called with the ``Subject`` and the total of the sums (None for a measure of the model).
        Returns a number; None or NaN if it is not defined.
    of : str
        Which documents it is of: ``LABELLED``, ``ALL`` or ``MODEL``.
    count : callable or None
        Called with a ``Part``. Returns sums, which are added with ``+``; None if there are none.
    about : str
        ``PREDICTIONS``, ``COMPONENTS`` or ``STATEMENTS``.
    where : tuple of str
        Where it is printed: ``EVALUATE``, ``PAGE``, ``TUNE``.
    percent : bool
        Whether the page prints it in per cent. The terminal prints four decimals.
    column : str or None
        Its name in the table of ``tune``; None for ``name``.
    out_of : str or None
        Key of the number that it is a part of, such as the number of shared components.
    applies : callable
        Called with the ``Subject``; whether the model has this measure at all.
    """

    key: str
    name: str
    meaning: str
    value: Callable[[Subject, Any], Any]
    of: str = ALL
    count: Callable[[Part], Any] | None = None
    about: str = COMPONENTS
    where: tuple[str, ...] = (EVALUATE, PAGE, TUNE)
    percent: bool = False
    column: str | None = None
    out_of: str | None = None
    applies: Callable[[Subject], bool] = lambda _: True

    def explained(self, scores: Mapping[str, Any]) -> str:
        """Return the meaning, with numbers from other scores."""
        return self.meaning.format_map(scores)


def documents_of(of: str, scores: Mapping[str, Any]) -> str:
    """Return which documents a measure is of, in words: "240 labelled documents"."""
    if of == MODEL:
        return "the model"
    n = scores["labelled_documents" if of == LABELLED else "documents"]
    noun = "document" if n == 1 else "documents"
    if of == LABELLED:
        return f"{n:,} labelled {noun}"
    return f"all {n:,} {noun}" if n != 1 else "the only document"


# Sums over the documents of a part


def predictions(part: Part) -> PredictionTally:
    """Count predictions by label."""
    return PredictionTally.of(part.truth, part.predicted, np.arange(part.Y.shape[1]))


def probabilities(part: Part) -> ProbabilityTally:
    """Sum over the probabilities of predictions."""
    return ProbabilityTally.of(part.truth, part.probabilities)


def component_shares(part: Part) -> Array:
    """Count documents and sum shares of components by predicted label, (2, n_names)."""
    n_names = len(part.subject.names)
    weights = (None, part.component_shares)
    return np.array([np.bincount(part.best, w, minlength=n_names) for w in weights])


def empty_documents(part: Part) -> int:
    """Count documents without any known term."""
    return int(is_empty(part.X).sum())


def coefficients(part: Part) -> Array:
    """Count coefficients, and sum their magnitudes and their squares, (3,)."""
    V = part.coefficients.astype(np.float64)
    return np.array([V.size, np.abs(V).sum(), np.square(V).sum()])


def coefficients_by_label(part: Part) -> Array:
    """Count documents and sum their coefficients by label, (n_names, 1 + K)."""
    sums = part.Y.T @ part.coefficients.astype(np.float64)
    return np.column_stack([np.asarray(part.Y.sum(axis=0)).ravel(), sums])


def terms_together(part: Part) -> "Together":
    """Count documents that have two of the terms that describe a component."""
    return Together(counts_together(part.subject.top_terms, part.X), part.n_docs)


def terms_in_windows(part: Part) -> WindowCounts | None:
    """Count windows of tokens that have such terms; None if terms are not words in sequence."""
    vectorizer = getattr(part.subject.model, "vectorizer_", None)
    if part.texts is None or vectorizer is None:
        return None
    documents = token_sequences(vectorizer, part.texts)
    if documents is None:
        return None
    return WindowCounts.of(part.subject.top_terms, documents, list(vectorizer.vocabulary_), WINDOW)


def half_documents(part: Part) -> Array:
    """Sum x ln p and x over the second halves of documents, (2,)."""
    return np.array([float(sums.sum()) for sums in part.log_sums])


def recounted(part: Part) -> Recounted:
    """Count documents again for the statements about labels."""
    subject = part.subject
    known = sparse.csr_array(part.Y[:, : subject.n_labels])
    return Recounted.of(subject.estimator, subject.statements, part.X, known)


def documents_described(part: Part) -> DescribedDocuments:
    """Count documents that have two of the terms that describe a component, by label."""
    return DescribedDocuments.count(part.X, part.Y, part.subject.top_terms)


@dataclass(frozen=True, eq=False)
class Together:
    """Documents that have both of two terms of a component, for each, and all documents."""

    counts: list[Array]
    n_docs: int

    def __add__(self, other: "Together") -> "Together":
        counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        return Together(counts, self.n_docs + other.n_docs)

    @property
    def npmi(self) -> Array:
        """NPMI of each component, (K,)."""
        return npmi_of_counts(self.counts, self.n_docs)


# Values of the measures


def _one_label(subject: Subject) -> bool:
    return subject.has_labels and not subject.has_several_labels


def _several_labels(subject: Subject) -> bool:
    return subject.has_several_labels


def _labels(subject: Subject) -> bool:
    return subject.has_labels


def _of_predictions(name: str) -> Callable[[Subject, PredictionTally], float]:
    def value(_: Subject, tally: PredictionTally) -> float:
        scores: PredictionScores = tally.scores(np.arange(len(tally.support)))
        return float(getattr(scores, name))

    return value


def _commonest_accuracy(subject: Subject, tally: PredictionTally) -> float:
    return _with_commonest(subject, tally) / tally.n_docs


def _commonest_f1(subject: Subject, tally: PredictionTally) -> float:
    return 2 * _with_commonest(subject, tally) / int(tally.support.sum() + tally.n_docs)


def _with_commonest(subject: Subject, tally: PredictionTally) -> int:
    """Count the documents that have the label that was commonest in training."""
    return int(tally.support[int(np.argmax(subject.estimator.label_counts_))])


def _component_share(_: Subject, sums: Array) -> float:
    n_predicted, shares = sums
    return float(shares.sum() / n_predicted.sum())


def _coefficient_sparsity(_: Subject, sums: Array) -> float:
    return hoyer_of_sums(int(sums[0]), *sums[1:].tolist())


def _inter_label_sparsity(_: Subject, sums: Array) -> float:
    return hoyer_sparsity(sums[sums[:, 0] > 0, 1:])


def _fitted_inter_label_sparsity(subject: Subject, _: None) -> float:
    of = subject.estimator
    return hoyer_sparsity(of.label_activations_ * of.label_counts_[:, None])


def _npmi(subject: Subject, together: Together) -> float:
    return float(together.npmi[subject.lasting].mean())


def _window_npmi(subject: Subject, windows: WindowCounts) -> float | None:
    if not windows.n_windows:
        return None
    return float(windows.npmi(subject.top_terms)[subject.lasting].mean())


def _held_out(_: Subject, sums: Array) -> float | None:
    score, weight = sums
    return float(score / weight) if weight else None


def _diversity(subject: Subject, _: None) -> float:
    lists = naming_terms(subject.model, DIVERSE)
    return distinct_share(np.concatenate(lists)) if any(lists) else 0.0  # all have faded


def _exclusivity(subject: Subject, _: None) -> float:
    return float(exclusivity(subject.estimator.components_[subject.lasting], TOP).mean())


def _component_sparsity(subject: Subject, _: None) -> float:
    rows = subject.estimator.components_[subject.lasting]
    return float(np.mean([hoyer_sparsity(row) for row in rows]))


def _agreeing(_: Subject, counted: Recounted) -> float | None:
    found = counted.sharing
    return found.agreeing / found.shared if found.shared else None


def _glued(_: Subject, counted: Recounted) -> float | None:
    found = counted.sharing
    return found.glued / found.shared if found.shared else None


def _label_fidelity(column: int) -> Callable[[Subject, Recounted], float | None]:
    def value(_: Subject, counted: Recounted) -> float | None:
        shares = counted.by_label[:, column]
        known = shares[~np.isnan(shares)]
        return float(known.mean()) if len(known) else None

    return value


def _component_fidelity(_: Subject, counted: Recounted) -> float:
    return counted.of_components[0]


def _term_fidelity(subject: Subject, counted: DescribedDocuments) -> float:
    return share_that_holds(label_use(subject.estimator), counted.inside)[0]


_SHARED = "part of the components shared by some labels ({shared_components}) whose two main labels"
_HOYER = "Hoyer's measure: 0 if all are equal, 1 if only one is not zero"
_TENTH = f"part of the components of {100 * SAID:.0f} % of a label or more"
_HALF = "for which half as many of its documents have two of the"

_measure = partial(Measure, where=(EVALUATE, PAGE))
_prediction = partial(_measure, of=LABELLED, count=predictions, about=PREDICTIONS, percent=True)
_probability = partial(_measure, of=LABELLED, count=probabilities, about=PREDICTIONS)
_statement = partial(
    _measure, of=LABELLED, count=recounted, about=STATEMENTS, percent=True, applies=_labels
)

MEASURES: list[Measure] = [
    _prediction(
        "micro_accuracy", "micro accuracy",
        "part of the documents whose label was predicted correctly",
        _of_predictions("accuracy"), applies=_one_label,
    ),
    _prediction(
        "macro_accuracy", "macro accuracy", "mean recall over the labels of documents",
        _of_predictions("macro_accuracy"), applies=_one_label,
    ),
    _prediction(
        "most_frequent_label_accuracy", "baseline: commonest label",
        "micro accuracy of always predicting the label that was commonest in training",
        _commonest_accuracy, applies=_one_label,
    ),
    _prediction(
        "micro_f1", "micro F1", "F1 over all pairs of document and label",
        _of_predictions("micro_f1"), applies=_several_labels,
    ),
    _prediction(
        "macro_f1", "macro F1", "mean F1 over the labels of documents",
        _of_predictions("macro_f1"), applies=_several_labels,
    ),
    _prediction(
        "subset_accuracy", "subset accuracy",
        "part of the documents for which exactly the true labels were predicted",
        _of_predictions("accuracy"), applies=_several_labels,
    ),
    _prediction(
        "most_frequent_label_f1", "baseline: commonest label",
        "micro F1 of always predicting the label that was commonest in training",
        _commonest_f1, applies=_several_labels,
    ),
    _probability(
        "calibration_error", "calibration error",
        "mean distance between predicted probability and observed frequency; 0 is best",
        lambda _, tally: tally.calibration_error, percent=True, applies=_labels,
    ),
    _probability(
        "log_loss", "log loss",
        "mean of −ln p, where p is the probability of the true label; 0 is best",
        lambda _, tally: tally.log_loss, applies=_labels,
    ),
    _statement(
        "fidelity", "fidelity of component terms",
        f"{_TENTH} {_HALF} {TOP} terms that describe the component",
        _term_fidelity, count=documents_described, where=(TUNE,), column="fidelity",
    ),
    Measure(
        "inter_label_sparsity", "inter-label sparsity",
        "Hoyer's measure of coefficients summed by label: near 1 if each label uses few components",
        _inter_label_sparsity, of=LABELLED, count=coefficients_by_label, column="sparsity",
    ),
    _measure(
        "component_share", "component share",
        "part of the predicted label's score that comes from components; the rest is from words "
        "themselves",
        _component_share, count=component_shares, applies=_labels,
    ),
    _measure(
        "coefficient_sparsity", "coefficient sparsity", _HOYER,
        _coefficient_sparsity, count=coefficients,
    ),
    Measure(
        "npmi_documents", "NPMI by documents",
        f"how often the first {TOP} terms of a component occur together: -1 never, 0 by chance, "
        "1 always",
        _npmi, count=terms_together, column="NPMI",
    ),
    _measure(
        "npmi_windows", f"NPMI by windows of {WINDOW} tokens", "the same in windows",
        _window_npmi, count=terms_in_windows,
    ),
    _measure(
        "held_out_log_likelihood", "held-out log-likelihood",
        "per unit of weight, of one half of each document given the other half; higher is better",
        _held_out, count=half_documents,
    ),
    _measure(
        "diversity", "diversity",
        f"share of distinct terms among the first {DIVERSE} terms of all components",
        _diversity, of=MODEL,
    ),
    _measure(
        "exclusivity", "exclusivity",
        f"mean share of a component in the weight of its {TOP} heaviest terms",
        _exclusivity, of=MODEL,
    ),
    Measure(
        "component_sparsity", "component sparsity", f"{_HOYER}; mean over components",
        _component_sparsity, of=MODEL, where=(PAGE,),
    ),
    Measure(
        "fitted_inter_label_sparsity", "inter-label sparsity of the fit",
        "Hoyer's measure of the coefficients that the model expects of its training documents, "
        "summed by label",
        _fitted_inter_label_sparsity, of=MODEL, where=(PAGE,), applies=_labels,
    ),
    _statement(
        "shared_that_agree", "components that agree",
        f"{_SHARED} take the same terms from them (agreement ≥ {AGREES})",
        _agreeing, out_of="shared_components",
    ),
    _statement(
        "shared_that_are_glued", "components that are glued",
        f"{_SHARED} take other terms from them: two topics under one name (agreement < {GLUED})",
        _glued, out_of="shared_components",
    ),
    _statement(
        "label_fidelity", "fidelity of labels",
        f"part of a label's documents with two of the {LABEL_TERMS} terms said of it; mean over "
        "labels",
        _label_fidelity(0),
    ),
    _statement(
        "label_fidelity_elsewhere", "fidelity elsewhere",
        "the same for documents without the label; it should be much smaller", _label_fidelity(1),
    ),
    _statement(
        "component_fidelity", "fidelity of components",
        f"{_TENTH} ({{components_said}} pairs of both) {_HALF} {COMPONENT_TERMS} terms there",
        _component_fidelity, out_of="components_said",
    ),
]  # fmt: skip
"""The measures, in the order of tables."""


def measures_for(place: str) -> list[Measure]:
    """Return the measures that are printed by ``EVALUATE``, on the ``PAGE`` or by ``TUNE``."""
    return [measure for measure in MEASURES if place in measure.where]


def number(value: Any) -> float | None:
    """Convert NaN, which JSON does not have, to None."""
    return None if value is None or value != value else float(value)
