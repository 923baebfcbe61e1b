"""Tables of what a model has found: components, labels, and labels × components.

``topics()``, ``labels()`` and ``label_components()`` of the models return them, and ``vbnmf
topics`` and ``vbnmf labels`` print them. Numbers are those of ``summary`` and ``labels``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import (
    MATTERS,
    column_names,
    component_titles,
    estimator_of,
    label_use,
)
from vbnmf.description.labels import LabelDescription, check_counted, describe_labels, places_of
from vbnmf.description.summary import Summary, summarise
from vbnmf.tabular import Table, percent

TOPICS = (
    "component", "name", "share", "documents_expected", "scope", "terms", "term_shares", "labels",
    "label_shares", "scope_kind", "scope_labels", "agreement", "alike", "alike_cosines",
    "passage_documents", "background", "faded",
)  # fmt: skip
"""Columns of the table of components."""

LABELS = (
    "label", "documents", "elsewhere", "terms", "term_documents", "term_elsewhere",
    "term_log_odds", "term_by_chance", "components", "component_shares", "component_names",
    "nearest", "nearest_cosines",
)  # fmt: skip
"""Columns of the table of labels."""

SCORES = ("recall", "precision")
"""Further columns of the table of labels, if scores are known."""


def topics_table(summary: Summary, n_docs: float) -> Table:
    """Return a row for each component, in the order of the summary.

    Parameters
    ----------
    summary : Summary
        The components.
    n_docs : float
        Number of training documents.
    """
    rows = []
    for place, one in enumerate(summary.components):
        scope = one.scope
        rows.append(
            {
                "component": one.number,
                "name": one.given_name or one.first_terms(),
                "share": one.weight,
                "documents_expected": one.weight * n_docs,
                "scope": scope_in_words(summary, place),
                "scope_kind": None if scope is None else scope.kind,
                "scope_labels": None if scope is None else scope.names,
                "agreement": None if scope is None else scope.agreement,
                "labels": [label for label, _ in one.labels],
                "label_shares": [share for _, share in one.labels],
                "terms": [term for term, _ in one.terms],
                "term_shares": [share for _, share in one.terms],
                "alike": [k for k, _ in one.alike],
                "alike_cosines": [cosine for _, cosine in one.alike],
                "passage_documents": None if one.passage is None else one.passage.documents,
                "background": one.background,
                "faded": one.faded,
            }
        )
    return Table(rows, TOPICS)


def scope_in_words(summary: Summary, place: int) -> str:
    """Return the scope of a component in words, or the labels that use it most."""
    component = summary.components[place]
    if component.scope is None:
        strong = (f"{label} {percent(use)}" for label, use in component.labels if use >= MATTERS)
        return ", ".join(strong)
    parts = [percent(summary.use[i, place]) for i in component.scope.labels]
    agreement = component.scope.agreement_as_text
    return component.scope.in_words(parts) + (f" ({agreement})" if agreement else "")


def labels_table(
    model: Any, described: Sequence[LabelDescription], scores: Mapping[str, Any] | None = None
) -> Table:
    """Return a row for each label that was described.

    Parameters
    ----------
    model : DocumentModel or SupervisedVBNMF
        The model.
    described : sequence of LabelDescription
        The labels.
    scores : mapping or None, default=None
        The result of ``vbnmf.evaluate``, for recall and precision.
    """
    titles = component_titles(model)
    by_label = {row["label"]: row for row in (scores or {}).get("labels", ())}
    rows = []
    for one in described:
        row = {
            "label": one.label,
            "documents": one.documents,
            "elsewhere": one.elsewhere,
            "terms": [term.term for term in one.terms],
            "term_documents": [term.documents for term in one.terms],
            "term_elsewhere": [term.elsewhere for term in one.terms],
            "term_log_odds": [term.log_odds for term in one.terms],
            "term_by_chance": [term.by_chance for term in one.terms],
            "components": [part.component for part in one.components],
            "component_shares": [part.share for part in one.components],
            "component_names": [titles[part.component] for part in one.components],
            "nearest": [label for label, _ in one.nearest],
            "nearest_cosines": [cosine for _, cosine in one.nearest],
        }
        if scores is not None:
            known = by_label.get(str(one.label), {})
            row |= {name: known.get(name) for name in SCORES}
        rows.append(row)
    return Table(rows, [*LABELS, *(() if scores is None else SCORES)])


def label_components_table(model: Any, labels: Iterable[Any] | None = None) -> Table:
    """Return a row for each label and a column for each component, with their expected parts."""
    estimator = check_counted(model)
    use, names, known = label_use(estimator), column_names(model), estimator.classes_.tolist()
    rows = [
        {"label": known[i], **dict(zip(names, use[i].tolist(), strict=True))}
        for i in places_of(estimator, labels)
    ]
    return Table(rows, ["label", *names])


def counted_documents(model: Any, coefficients: Array) -> list[int]:
    """Count the documents of which each component is the largest part, (K,).

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        The model.
    coefficients : array of shape (n_docs, K)
        Result of ``transform`` for documents that have a known term.
    """
    sums = np.asarray(estimator_of(model).component_sums_)
    largest = (np.asarray(coefficients, dtype=np.float64) * sums).argmax(axis=1)
    return np.bincount(largest, minlength=len(sums)).tolist()


def topics_of(model: Any, n_terms: int) -> Table:
    """Return the table of the components of a fitted model."""
    estimator = estimator_of(model)
    return topics_table(summarise(model, n_terms=n_terms), float(estimator.n_samples_seen_))


def labels_of(
    model: Any, n_terms: int, labels: Iterable[Any] | None, scores: Mapping[str, Any] | None
) -> Table:
    """Return the table of the labels of a fitted model."""
    return labels_table(model, describe_labels(model, n_terms=n_terms, labels=labels), scores)
