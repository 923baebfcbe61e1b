"""Recount in documents what is said of labels: their terms, and the components that make them up.

Terms and components of labels are those of ``description.labels``. Whether labels that share a
component take the same terms from it is estimated by ``metrics.agreement``, and how many documents
have the terms that are said of their label by ``metrics.fidelity``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.labels import COMPONENT_TERMS, TermOfLabel, describe_labels
from vbnmf.estimators.posterior import Reservoir
from vbnmf.metrics import agreement, share_that_holds
from vbnmf.metrics.agreement import AGREES, GLUED, MOST_DOCUMENTS
from vbnmf.metrics.fidelity import SAID, DescribedDocuments

LABEL_TERMS = 10
"""Number of terms of a label that are recounted."""


@dataclass(frozen=True, eq=False)
class Statements:
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


def statements_of_labels(
    model: Any, n_terms: int = LABEL_TERMS, n_component_terms: int = COMPONENT_TERMS
) -> Statements:
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
    Statements
        What is said.
    """
    described = describe_labels(model, n_terms=n_terms, n_component_terms=n_component_terms)
    pairs = [
        (label, part)
        for label, one in enumerate(described)
        for part in one.components
        if part.share >= SAID
    ]
    return Statements(
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
    estimator : SupervisedVBNMF
        The fitted model.
    statements : Statements
        The statements.
    described : DescribedDocuments
        Of the terms of each label, and then of those of each pair of label and component.
    sample : Reservoir
        At most ``MOST_DOCUMENTS`` documents, for the agreement of labels on components.
    """

    estimator: Any
    statements: Statements
    described: DescribedDocuments
    sample: Reservoir

    @classmethod
    def of(cls, estimator: Any, statements: Statements, X: Any, Y: sparse.csr_array) -> "Recounted":
        """Count documents.

        Parameters
        ----------
        estimator : SupervisedVBNMF
            The fitted model.
        statements : Statements
            From ``statements_of_labels``.
        X : matrix of shape (n_docs, n_terms)
            Weights of terms.
        Y : csr_array of shape (n_docs, n_labels)
            Indicators of the labels that the model knows.
        """
        rows = sparse.csr_array(X)
        sample = Reservoir(rows, Y, np.ones(rows.shape[0])).cut(MOST_DOCUMENTS)
        lists = [*statements.terms, *statements.component_terms]
        return cls(estimator, statements, DescribedDocuments.count(rows, Y, lists), sample)

    def __add__(self, other: "Recounted") -> "Recounted":
        return Recounted(
            self.estimator,
            self.statements,
            self.described + other.described,
            self.sample.add(other.sample, MOST_DOCUMENTS),
        )

    @cached_property
    def agreement(self) -> Array:
        """Agreement of the labels of each component, (K,); NaN if it is not defined."""
        return agreement(
            self.sample.X,
            self.sample.indicators,
            self.estimator.components_,
            self.estimator.scopes_,
        )

    @property
    def sharing(self) -> "Sharing":
        """Shared components, those that agree, and those that are glued."""
        return Sharing.of(self.agreement)

    @cached_property
    def by_label(self) -> Array:
        """Fidelity of the description of each label, and the share elsewhere, (n_labels, 2)."""
        counted = self.described
        return np.stack([counted.inside.diagonal(), counted.elsewhere.diagonal()], axis=1)

    @cached_property
    def of_components(self) -> tuple[float, int]:
        """Share of the components that documents confirm, and the number that is said."""
        label = self.statements.label
        n_labels = len(self.described.of_label)
        of_pairs = self.described.inside[label, n_labels + np.arange(len(label))]
        return share_that_holds(self.statements.share, of_pairs)


@dataclass(frozen=True)
class Sharing:
    """Numbers of components by the agreement of their labels.

    Attributes
    ----------
    shared : int
        Components that several labels share, but not all, and whose agreement is known.
    agreeing : int
        Those of them whose agreement is at least 0.8: their labels use the same terms of it.
    glued : int
        Those of them whose agreement is below 0.5: two topics under one name.
    """

    shared: int
    agreeing: int
    glued: int

    @classmethod
    def of(cls, agreements: Array) -> "Sharing":
        """Count components by their agreement, (K,); NaN if it is not defined."""
        known = agreements[~np.isnan(agreements)]
        return cls(len(known), int((known >= AGREES).sum()), int((known < GLUED).sum()))
