"""What a model found, as plain data: components, their terms and labels; drawn elsewhere.

The weight of a component is the part of all term weight that it explains. Its *use* by a label is
its part in the expected weight of that label's documents taken together, prior included.
Terms stand by their relevance, so that those common to many components do not name them all.
"""

from dataclasses import dataclass

import numpy as np

from vbnmf.core.model import Array
from vbnmf.documents import DocumentModel

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
        Its most relevant terms, with the part of the component that each makes up.
    labels : list of (str, float)
        The labels that use it most, with its part in each; empty without labels.
    """

    number: int
    weight: float
    terms: list[tuple[str, float]]
    labels: list[tuple[str, float]]

    @property
    def name(self) -> str:
        """The most relevant terms in a row."""
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
    """Describe a fitted model by its components, each by its most relevant terms and labels."""
    estimator = model.estimator_
    mass, sums = estimator.component_mass_, np.maximum(estimator.component_sums_, _TINY)
    p_w = (component_probabilities(model) / sums) @ estimator.components_
    order = np.argsort(-mass, kind="stable")
    labels = [str(label) for label in estimator.classes_] if model.has_labels else []
    use = np.zeros((0, len(order)))
    if labels:
        use = (estimator.label_activations_ * estimator.component_sums_)[:, order]
        # no document may have a label that is a column of an indicator matrix
        use = use / np.maximum(use.sum(axis=1, keepdims=True), _TINY)
    components = []
    for position, k in enumerate(order):
        parts = estimator.components_[k] / sums[k]
        top = np.argsort(-relevance(parts, p_w), kind="stable")[:n_terms]
        strongest = np.argsort(-use[:, position], kind="stable")[:n_labels]
        components.append(
            Component(
                number=int(k),
                weight=float(mass[k]),
                terms=[(str(model.terms_[w]), float(parts[w])) for w in top],
                labels=[(labels[i], float(use[i, position])) for i in strongest],
            )
        )
    documents = estimator.label_counts_.tolist() if labels else []
    return Summary(components, labels, use, documents)


BALANCE = 0.6
"""λ of relevance by which components are named; Sievert and Shirley's, found with readers."""


def relevance(part: Array, p_w: Array, balance: float = BALANCE) -> Array:
    """λ ln p(w|k) + (1 − λ) ln (p(w|k) / p(w)): how well terms describe a component.

    Parameters
    ----------
    part : array of shape (n_terms,)
        p(w|k), the part of the component that each term makes up.
    p_w : array of shape (n_terms,)
        p(w) = Σ_k p(k) p(w|k), the same of all documents.
    balance : float, default=0.6
        λ: at 1 the most frequent terms are the most relevant, at 0 those most its own.
    """
    log_part, log_p = (np.log(np.maximum(p, _TINY, dtype=np.float64)) for p in (part, p_w))
    return np.asarray(log_part - (1 - balance) * log_p)


def component_probabilities(model: DocumentModel) -> Array:
    """p(k), (K,): the weight of each component; where none has any, the same of all."""
    mass = np.asarray(model.estimator_.component_mass_)
    return mass if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))


MATTERS = 0.02
"""A component of less than this part of a label is left out of lists."""


def components_of_label(summary: Summary, label: str) -> list[tuple[Component, float]]:
    """The components that matter to a label, the strongest first, with their part in it."""
    row = summary.use[summary.labels.index(label)]
    order = [i for i in np.argsort(-row, kind="stable") if row[i] >= MATTERS]
    return [(summary.components[i], float(row[i])) for i in order]
