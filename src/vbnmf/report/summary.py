"""What a model found, as plain data: components, their terms and labels; drawn elsewhere.

The weight of a component is the part of all term weight that it explains. Its *use* by a label is
its part in the expected weight of that label's documents taken together, prior included.
"""

from dataclasses import dataclass

import numpy as np

from vbnmf.core.model import Array
from vbnmf.documents import DocumentModel


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
        Its strongest terms, with the part of the component that each makes up.
    labels : list of (str, float)
        The labels that use it most, with its part in each; empty without labels.
    """

    number: int
    weight: float
    terms: list[tuple[str, float]]
    labels: list[tuple[str, float]]

    @property
    def name(self) -> str:
        """The strongest terms in a row."""
        return " ".join(term for term, _ in self.terms)


@dataclass(frozen=True)
class Summary:
    """All of it.

    Attributes
    ----------
    components : list of Component
        By falling weight.
    labels : list of str
        The labels, sorted; empty without labels.
    use : ndarray of shape (n_labels, n_components)
        Use of each component, in the order of ``components``, by each label; rows sum to one.
    documents : list of int
        Training documents of each label.
    """

    components: list[Component]
    labels: list[str]
    use: Array
    documents: list[int]


def summarise(model: DocumentModel, *, n_terms: int = 10, n_labels: int = 3) -> Summary:
    """Describe a fitted model by its components, each by its strongest terms and labels."""
    estimator = model.estimator_
    a_t = estimator.hyperparameters_["term_shape"]
    mass = np.maximum((estimator.component_shapes_ - a_t).sum(axis=1, dtype=np.float64), 0)
    order = np.argsort(-mass, kind="stable")
    labels = [str(label) for label in estimator.classes_] if model.has_labels else []
    use = np.zeros((0, len(order)))
    if labels:
        use = (estimator.label_activations_ * estimator.component_sums_)[:, order]
        # no document may have a label that is a column of an indicator matrix
        use = use / np.maximum(use.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    components = []
    for position, k in enumerate(order):
        weights = estimator.components_[k]
        total = max(float(weights.sum(dtype=np.float64)), np.finfo(float).tiny)
        top = np.argsort(-weights, kind="stable")[:n_terms]
        strongest = np.argsort(-use[:, position], kind="stable")[:n_labels]
        components.append(
            Component(
                number=int(k),
                weight=float(mass[k] / max(mass.sum(), np.finfo(float).tiny)),
                terms=[(str(model.terms_[w]), float(weights[w] / total)) for w in top],
                labels=[(labels[i], float(use[i, position])) for i in strongest],
            )
        )
    documents = estimator.label_counts_.tolist() if labels else []
    return Summary(components, labels, use, documents)


MATTERS = 0.02
"""A component of less than this part of a label is left out of lists."""


def components_of_label(summary: Summary, label: str) -> list[tuple[Component, float]]:
    """The components that matter to a label, the strongest first, with their part in it."""
    row = summary.use[summary.labels.index(label)]
    order = [i for i in np.argsort(-row, kind="stable") if row[i] >= MATTERS]
    return [(summary.components[i], float(row[i])) for i in order]
