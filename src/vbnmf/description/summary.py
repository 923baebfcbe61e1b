"""Describe a model as plain data: components, their terms and labels.

The weight of a component is the part of all term weight that it explains. Its *use* by a label is
its part in the label's expected weight (``components.label_use``): an expectation of the model, not
a count of documents. Its terms are those that describe it (``metrics.describing``). Components are
sorted by scope: those common to all labels, those shared by several, those that join different
terms of several, those of one label. Within a scope, and without scopes, they are sorted by weight.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import (
    FADED,
    MATTERS,
    NAME_TERMS,
    PassageOfComponent,
    alike_components,
    component_passages,
    estimator_of,
    label_use,
    names_of_terms,
    naming_terms,
)
from vbnmf.description.scopes import BLOCKS, Scope, by_block, scopes_of

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Component:
    """One component.

    Attributes
    ----------
    number : int
        Column of the coefficients.
    weight : float
        Part of all term weight that it explains.
    terms : list of (str, float)
        The terms that describe it, with the part of the component that each makes up; none if it
        has faded.
    labels : list of (str, float)
        The labels that use it most, with its part of each label's expected weight; empty without
        labels.
    scope : Scope or None
        The labels that it serves; None without scopes.
    background : bool
        Whether it was initialised as a background of terms common to all documents.
    faded : bool
        Whether it has faded: its terms come from the prior, not from documents.
    alike : list of (int, float)
        Numbers of the components that are alike, and the cosines of their terms.
    passage : PassageOfComponent or None
        The passage that recurs, such as a signature, if the component is mostly that.
    given_name : str
        The name that a person gave it; empty without one.
    """

    number: int
    weight: float
    terms: list[tuple[str, float]]
    labels: list[tuple[str, float]]
    scope: Scope | None
    background: bool
    faded: bool
    alike: list[tuple[int, float]]
    passage: PassageOfComponent | None = None
    given_name: str = ""

    @property
    def name(self) -> str:
        """The terms that describe it, or "(faded)"; after the name that a person gave it."""
        terms = self.first_terms(len(self.terms))
        return f"{self.given_name}: {terms}" if self.given_name else terms

    def first_terms(self, n: int = NAME_TERMS) -> str:
        """Return the first terms that describe it, or "(faded)"."""
        return FADED if self.faded else " ".join(term for term, _ in self.terms[:n])


@dataclass(frozen=True)
class Summary:
    """Components and labels of a model.

    Attributes
    ----------
    components : list of Component
        Sorted by scope, then by decreasing weight.
    labels : list of str
        The labels, sorted; empty without labels.
    use : ndarray of shape (n_labels, n_components)
        Use of each component by each label, columns in the order of ``components``; rows sum to
        one.
    documents : list of int
        Number of training documents of each label.
    blocks : dict of str to float, or None
        Sum of the weights of components that are "common", "shared", "joined" and "own"; None
        without scopes.
    """

    components: list[Component]
    labels: list[str]
    use: Array
    documents: list[int]
    blocks: dict[str, float] | None


def summarise(model: Any, *, n_terms: int = 10, n_labels: int = 3) -> Summary:
    """Describe a fitted model by its components, each by its terms and labels.

    ``model`` is a DocumentModel, VBNMF or SupervisedVBNMF.
    """
    estimator, known = estimator_of(model), names_of_terms(model)
    mass, sums = estimator.component_mass_, np.maximum(estimator.component_sums_, _TINY)
    naming = naming_terms(model, n_terms)
    scopes, alike = scopes_of(estimator), alike_components(estimator)
    passages, order = component_passages(model), _reading_order(mass, scopes)
    has_labels = hasattr(estimator, "label_activations_")
    labels = [str(label) for label in estimator.classes_] if has_labels else []
    use = label_use(estimator)[:, order]
    components = []
    for position, k in enumerate(order):
        strongest = np.argsort(-use[:, position], kind="stable")[:n_labels]
        components.append(
            Component(
                number=int(k),
                weight=float(mass[k]),
                terms=[
                    (str(known[w]), float(estimator.components_[k, w] / sums[k])) for w in naming[k]
                ],
                labels=[(labels[i], float(use[i, position])) for i in strongest],
                scope=None if scopes is None else scopes[k],
                background=bool(k == estimator.background_),
                faded=bool(estimator.faded_[k]),
                alike=alike[k],
                passage=passages[k],
            )
        )
    documents = estimator.label_counts_.tolist() if labels else []
    blocks = None
    if scopes is not None:
        blocks = {name: float(part) for name, part in by_block(mass, scopes).items()}
    return Summary(components, labels, use, documents, blocks)


def _reading_order(mass: Array, scopes: list[Scope] | None) -> Array:
    """Sort components by scope, then by decreasing weight."""
    blocks = list(BLOCKS)
    rank = [0] * len(mass) if scopes is None else [blocks.index(scope.block) for scope in scopes]
    return np.lexsort((-mass, np.array(rank)))


def components_of_label(summary: Summary, label: str) -> list[tuple[Component, float]]:
    """Return the components of at least ``MATTERS`` of a label's expected weight, largest first."""
    row = summary.use[summary.labels.index(label)]
    order = [i for i in np.argsort(-row, kind="stable") if row[i] >= MATTERS]
    return [(summary.components[i], float(row[i])) for i in order]


def blocks_of_label(summary: Summary, label: str) -> dict[str, float] | None:
    """Return the parts of a label's expected weight by block; None without scopes."""
    scopes = [component.scope for component in summary.components]
    known = [scope for scope in scopes if scope is not None]
    if len(known) < len(scopes):
        return None
    row = summary.use[summary.labels.index(label)]
    return {name: float(part) for name, part in by_block(row, known).items()}
