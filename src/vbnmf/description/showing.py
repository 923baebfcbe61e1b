"""Methods of all models that show what was found: as tables, as text and in notebooks.

``DocumentModel``, ``VBNMF`` and ``SupervisedVBNMF`` inherit them. A model that is not fitted is
shown as scikit-learn shows it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty, leading
from vbnmf.description.components import column_names, estimator_of
from vbnmf.description.modeltables import (
    counted_documents,
    label_components_table,
    labels_of,
    topics_of,
)
from vbnmf.description.scopes import scopes_of
from vbnmf.tabular import Table

_MOST_NAMED = 8  # labels and components in the summary
_IN_SUMMARY = ("component", "name", "share", "scope", "terms")


class ShowsComponents:
    """Mixin: the components of a fitted model, and the model itself, shown."""

    def topics(self, X: Any = None, *, n_terms: int = 10) -> Table:
        """Return a table of the components.

        Components are in the order of ``vbnmf topics``: those common to all labels first, then
        those shared by several labels, then those of one label; the largest of each first.

        Parameters
        ----------
        X : documents, as for ``transform``, or None, default=None
            Documents in which components are counted.
        n_terms : int, default=10
            Number of terms of each component.

        Returns
        -------
        Table
            A row for each component: its number (``component``), ``name`` and ``terms``; its
            ``share`` of the weight of the training documents, and how many documents this share
            amounts to (``documents_expected``, which is not a count); its ``scope`` in words, and
            the ``labels`` that use it most with its expected parts of them (``label_shares``). With
            X, ``documents`` is the number of these documents of which it is the largest part.

        Examples
        --------
        >>> from vbnmf import DocumentModel, SupervisedVBNMF
        >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
        >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
        >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
        >>> table = model.topics(texts, n_terms=1)
        >>> sorted(zip(table["name"], table["scope"], table["documents"]))
        [('coffee', 'only coffee 100 %', 10), ('tea', 'only tea 100 %', 10)]
        >>> list(table.to_frame("pandas").columns[:3])
        ['component', 'name', 'share']
        """
        check_is_fitted(self)
        table = topics_of(self, n_terms)
        if X is None:
            return table
        counts = counted_documents(self, self._coefficients_of_known(X))
        rows = [row | {"documents": counts[row["component"]]} for row in table]
        at = table.columns.index("documents_expected")
        columns = [*table.columns[:at], "documents", *table.columns[at:]]
        return Table([{name: row[name] for name in columns} for row in rows], columns)

    def _coefficients_of_known(self, X: Any) -> Array:
        """Return the coefficients of documents that have a known term."""
        estimator: Any = estimator_of(self)
        weights = self.vectorize(X) if hasattr(self, "vectorize") else X
        weights = check_array(weights, accept_sparse="csr", ensure_min_samples=0)
        known = ~is_empty(leading(weights, estimator.components_.shape[1]))
        if not known.any():
            return np.empty((0, len(estimator.components_)))
        return np.asarray(estimator.transform(weights))[known]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of ``transform``: "component_17_mail_imap".

        A name has the number of the component and its first two terms, or the number alone if the
        names of terms are not known.

        Parameters
        ----------
        input_features : ignored
            Only for scikit-learn.

        Returns
        -------
        ndarray of str of shape (n_components,)
            The names.

        Examples
        --------
        >>> from vbnmf import VBNMF, DocumentModel
        >>> model = DocumentModel(VBNMF(1, random_state=0)).fit(["tea pot", "green pot"] * 2)
        >>> model.get_feature_names_out().tolist()
        ['component_0_green_tea']
        >>> VBNMF(1, random_state=0).fit([[1, 2], [3, 4]]).get_feature_names_out().tolist()
        ['component_0']
        """
        check_is_fitted(self)
        return np.array(column_names(self), dtype=object)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        if not _is_fitted(self):
            return shown
        return f"{shown} {fitted_in_words(self)}"

    def _repr_html_inner(self) -> str:
        """Return what notebooks show: a summary of a fitted model."""
        if not _is_fitted(self):
            found: str = super()._repr_html_inner()  # type: ignore[misc]
            return found
        return summary_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not _is_fitted(self) or get_config()["display"] != "diagram":
            found: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
            return found
        return {"text/plain": repr(self), "text/html": summary_html(self)}


class ShowsLabels:
    """Mixin: the labels of a fitted model, as tables."""

    def labels(
        self,
        labels: Iterable[Any] | None = None,
        *,
        n_terms: int = 10,
        scores: Mapping[str, Any] | None = None,
    ) -> Table:
        """Return a table of what makes each label.

        Parameters
        ----------
        labels : iterable of labels, or None, default=None
            The labels; None for all.
        n_terms : int, default=10
            Maximum number of terms of each label.
        scores : mapping or None, default=None
            The result of ``vbnmf.evaluate``. It adds the columns ``recall`` and ``precision``.

        Returns
        -------
        Table
            A row for each label: its training documents (``documents``) and those it is compared
            with (``elsewhere``); its characteristic ``terms``, with the numbers of documents that
            have each, here and elsewhere, log-odds, and ``term_by_chance``, the share of terms as
            unlikely that could be there by chance; its ``components`` and the shares of its weight
            that the model expects from each; and the ``nearest`` labels by terms. Terms that may be
            chance, with a share of 1/2 or more, come last.

        Examples
        --------
        >>> from vbnmf import DocumentModel, SupervisedVBNMF, evaluate
        >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
        >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
        >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
        >>> tea = model.labels(["tea"])[0]
        >>> tea["documents"], tea["terms"][0], tea["term_documents"][0], tea["term_elsewhere"][0]
        (10, 'tea', 10, 0)
        >>> model.labels(scores=evaluate(model, ["green tea"], ["tea"]))["recall"]
        [None, 1.0]
        """
        check_is_fitted(self)
        return labels_of(self, n_terms, labels, scores)

    def label_components(self, labels: Iterable[Any] | None = None) -> Table:
        """Return a table of labels × components.

        Parameters
        ----------
        labels : iterable of labels, or None, default=None
            The labels; None for all.

        Returns
        -------
        Table
            A row for each label. Each component is a column, with the name that
            ``get_feature_names_out`` gives it: its part of the label's weight, expected by the
            model. The parts of a label sum to one.

        Examples
        --------
        >>> from vbnmf import DocumentModel, SupervisedVBNMF
        >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
        >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
        >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
        >>> table = model.label_components()
        >>> table["label"], sorted(name.split("_")[2] for name in table.columns[1:])
        (['coffee', 'tea'], ['coffee', 'tea'])
        """
        check_is_fitted(self)
        return label_components_table(self, labels)


def _is_fitted(model: Any) -> bool:
    return "fitted_" in vars(model) or "estimator_" in vars(model)


def fitted_in_words(model: Any) -> str:
    """Return what a fitted model is, in a line: "fitted to 24 documents: 2 labels, …"."""
    estimator = estimator_of(model)
    K, n_terms = estimator.components_.shape
    n_labels = len(estimator.classes_) if hasattr(estimator, "label_activations_") else None
    parts = [] if n_labels is None else [_counted(n_labels, "label")]
    parts += [_counted(K, "component"), _counted(n_terms, "term")]
    documents = _counted(round(float(estimator.n_samples_seen_)), "document")
    return f"fitted to {documents}: {', '.join(parts)}"


def summary_html(model: Any) -> str:
    """Return a short summary of a fitted model for notebooks; all names are escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left;vertical-align:top;padding:1px 12px 1px 0">{name}</th>'
        f'<td style="text-align:left">{escape(said)}</td></tr>'
        for name, said in summary_facts(model).items()
    )
    largest = sorted(topics_of(model, 6), key=lambda row: -row["share"])[:_MOST_NAMED]
    has_scopes = any(row["scope"] for row in largest)
    columns = [name for name in _IN_SUMMARY if has_scopes or name != "scope"]
    topics = Table([{name: row[name] for name in columns} for row in largest], columns)
    return (
        f"<div><p><b>{escape(type(model).__name__)}</b> {escape(fitted_in_words(model))}</p>"
        f"<table>{rows}</table><details><summary>The largest components</summary>"
        f"{topics._repr_html_()}</details></div>"
    )


def summary_facts(model: Any) -> dict[str, str]:
    """Return what the summary of a fitted model says, by name."""
    estimator = estimator_of(model)
    faded = int(estimator.faded_.sum())
    scopes = scopes_of(estimator)
    kinds = Counter() if scopes is None else Counter(scope.block for scope in scopes)
    said = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    components = f"{len(estimator.components_)}{f' ({said})' if said else ''}"
    facts = {"components": components + (f", {faded} faded" if faded else "")}
    if hasattr(estimator, "label_activations_"):
        order = np.argsort(-estimator.label_counts_, kind="stable")
        named = [f"{estimator.classes_[i]} ({estimator.label_counts_[i]:,.0f})" for i in order]
        more = len(named) - _MOST_NAMED
        listed = ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        facts = {"labels (documents)": listed} | facts
        facts["prediction head"] = f"{estimator.classifier_}: {estimator.classifier_reason_}"
        if getattr(model, "features_", ()):
            facts["features of texts"] = f"{', '.join(model.features_)}: {model.features_reason_}"
    return facts


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
