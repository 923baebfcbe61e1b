"""Compute measures of a fitted model, for ``vbnmf evaluate`` and the explorer.

Measures of components ignore faded components. NPMI and diversity are computed from the
terms that describe each component, which ``vbnmf topics`` and the page show. Whether statements
about labels hold is counted from documents (``metrics.agreement``, ``metrics.fidelity``).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.components import lasting, lasting_terms
from vbnmf.description.labels import COMPONENT_TERMS, TermOfLabel, describe_labels
from vbnmf.estimators.reservoir import Reservoir
from vbnmf.metrics import agreement, completion_log_likelihood, exclusivity, share_that_holds
from vbnmf.metrics.agreement import AGREES, GLUED, MOST_DOCUMENTS
from vbnmf.metrics.coherence import window_npmi_of_terms
from vbnmf.metrics.diversity import distinct_share
from vbnmf.metrics.fidelity import SAID, DescribedDocuments
from vbnmf.pipeline import DocumentModel
from vbnmf.text.sequences import token_sequences

TOP, DIVERSE, WINDOW = 10, 25, 10
"""Usual numbers of top terms, of top terms for diversity, and of tokens in a window."""


def distinctness(model: DocumentModel) -> dict[str, float]:
    """Compute diversity and exclusivity of the components."""
    components = model.estimator_.components_[lasting(model.estimator_)]
    return {
        "diversity": distinct_share(lasting_terms(model, DIVERSE)),
        "exclusivity": float(exclusivity(components, TOP).mean()),
    }


def npmi_by_windows(model: DocumentModel, texts: Iterable[str] | None) -> float | None:
    """Compute NPMI by windows of tokens, as a mean over components.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    texts : iterable of str, or None
        Texts; None if documents are rows of a matrix.

    Returns
    -------
    float or None
        None without texts, if the texts have no tokens, or if terms are not words in sequence.
    """
    if texts is None or model.vectorizer_ is None:
        return None
    documents = token_sequences(model.vectorizer_, texts)
    if documents is None or not any(documents):
        return None
    terms = list(model.vectorizer_.vocabulary_)
    top = lasting_terms(model, TOP)
    return float(window_npmi_of_terms(top, documents, terms, WINDOW).mean())


def held_out_log_likelihood(estimator: Any, X: Any) -> float | None:
    """Compute the log-likelihood by document completion; None if no document has two terms."""
    n_terms = (sparse.csr_array(X) > 0).sum(axis=1)
    return completion_log_likelihood(estimator, X) if (n_terms > 1).any() else None


@dataclass(frozen=True, eq=False)
class Said:
    """What is said of labels: their terms, and the components that make them up with their terms.

    Attributes
    ----------
    terms : list of ndarray of int
        Columns of the terms of each label.
    label, component : ndarrays of int of shape (n_pairs,)
        Pairs of a label and a component that makes up a tenth of it or more.
    share : ndarray of shape (n_pairs,)
        Part of the label that the component makes up, expected by the model.
    component_terms : list of ndarray of int, of length n_pairs
        Columns of the terms that are said of the component in the label.
    """

    terms: list[Array]
    label: Array
    component: Array
    share: Array
    component_terms: list[Array]


def said_of_labels(
    model: Any, n_terms: int = TOP, n_component_terms: int = COMPONENT_TERMS
) -> Said | None:
    """Return what ``description.labels`` says of each label.

    Parameters
    ----------
    model : DocumentModel or SupervisedVBNMF
        Model fitted with labels.
    n_terms : int, default=10
        Maximum number of terms of a label.
    n_component_terms : int, default=20
        Maximum number of terms of each of its components.

    Returns
    -------
    Said or None
        None if the model is from an older file, in which no documents were counted.
    """
    estimator = getattr(model, "estimator_", model)
    if getattr(estimator, "label_term_documents_", None) is None:
        return None
    described = describe_labels(model, n_terms=n_terms, n_component_terms=n_component_terms)
    pairs = [
        (label, part)
        for label, one in enumerate(described)
        for part in one.components
        if part.share >= SAID
    ]
    return Said(
        terms=[_columns(one.terms) for one in described],
        label=np.array([label for label, _ in pairs], dtype=np.intp),
        component=np.array([part.component for _, part in pairs], dtype=np.intp),
        share=np.array([part.share for _, part in pairs]),
        component_terms=[_columns(part.terms) for _, part in pairs],
    )


def _columns(terms: list[TermOfLabel]) -> Array:
    return np.array([term.column for term in terms], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Recounted:
    """Documents counted again for the statements about labels. Those of parts can be added.

    Attributes
    ----------
    said : Said or None
        The statements; None if the model is from an older file.
    described : DescribedDocuments
        Of the terms of each label, and then of those of each pair of label and component.
    sample : Reservoir
        At most ``MOST_DOCUMENTS`` documents, for the agreement of labels on components.
    """

    said: Said | None
    described: DescribedDocuments
    sample: Reservoir

    @classmethod
    def of(cls, said: Said | None, X: Any, Y: sparse.csr_array) -> "Recounted":
        """Count documents.

        Parameters
        ----------
        said : Said or None
            From ``said_of_labels``.
        X : matrix of shape (n_docs, n_terms)
            Weights of terms.
        Y : csr_array of shape (n_docs, n_labels)
            Indicators of the labels that the model knows.
        """
        rows = sparse.csr_array(X)
        sample = Reservoir(rows, Y, np.ones(rows.shape[0])).cut(MOST_DOCUMENTS)
        lists = [] if said is None else [*said.terms, *said.component_terms]
        return cls(said, DescribedDocuments.count(rows, Y, lists), sample)

    def __add__(self, other: "Recounted") -> "Recounted":
        return Recounted(
            self.said,
            self.described + other.described,
            self.sample.add(other.sample, MOST_DOCUMENTS),
        )

    def scores(self, estimator: Any) -> dict[str, Any]:
        """Compute agreement and fidelity, as ``vbnmf evaluate --json`` prints them.

        Values are None if they are undefined: without shared components, without documents, or for
        a model from an older file.
        """
        found = agreement(
            self.sample.X, self.sample.indicators, estimator.components_, estimator.scopes_
        )
        shared = found[~np.isnan(found)]
        inside, elsewhere = np.array(self.of_labels(), dtype=float).T
        held, n_said = float("nan"), 0
        if self.said is not None:
            label = self.said.label
            of_pairs = self.described.inside[label, len(inside) + np.arange(len(label))]
            held, n_said = share_that_holds(self.said.share, of_pairs)
        return {
            "agreement": [number(value) for value in found],
            "shared_components": len(shared),
            "shared_that_agree": number(_mean(shared >= AGREES)),
            "shared_that_are_glued": number(_mean(shared < GLUED)),
            "label_fidelity": number(_mean(inside)),
            "label_fidelity_elsewhere": number(_mean(elsewhere)),
            "component_fidelity": number(held),
            "components_said": n_said,
        }

    def of_labels(self) -> list[tuple[float | None, float | None]]:
        """Return the fidelity of the description of each label, and the share elsewhere."""
        counted = self.described
        if self.said is None:
            return [(None, None)] * len(counted.of_label)
        pairs = zip(counted.inside.diagonal(), counted.elsewhere.diagonal(), strict=True)
        return [(number(inside), number(elsewhere)) for inside, elsewhere in pairs]


def number(value: float) -> float | None:
    """Convert NaN, which JSON does not have, to None."""
    return None if value != value else float(value)


def _mean(values: Array) -> float:
    """Return the mean of values that are not NaN; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
