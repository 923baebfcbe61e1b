"""Name components, and compute how much of each label they make up.

The terminal, the page and the displays use these functions.

    p(w|k)  part of term w in component k          p(k)    part of the documents' weight
    p(w)    = Σ_k p(k) p(w|k)                      p(k|l)  part of component k in label l

A component is named by its most relevant terms, so that terms common to many components do not
name them all. A faded component has no name: its terms come from the prior, not from documents.

References
----------
Sievert and Shirley (2014), LDAvis: A method for visualizing and interpreting topics.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vbnmf.core.model import Array

BALANCE = 0.6
"""λ of the relevance that ranks terms in names; the value that Sievert and Shirley found best."""
NAME_TERMS = 3
"""Terms in the name of a component."""
FADED = "(faded)"
"""What a faded component is called."""
MATTERS = 0.02
"""Lists leave out components that make up less than this part of a label."""
_TINY = np.finfo(float).tiny


def label_use(estimator: Any) -> Array:
    """Return p(k|l), (n_labels, K): the part of each component in a label's expected weight.

    Rows sum to one; the row of a label without documents is zero. Without labels there are no rows.
    """
    if not hasattr(estimator, "label_activations_"):
        return np.zeros((0, len(estimator.component_sums_)))
    return row_parts(estimator.label_activations_ * estimator.component_sums_)


def component_probabilities(estimator: Any) -> Array:
    """Return p(k), (K,): the weight of each component; uniform if none has any weight."""
    mass = np.asarray(estimator.component_mass_)
    return mass if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))


def relevance(part: Array, p_w: Array, balance: float = BALANCE) -> Array:
    """Return λ ln p(w|k) + (1 − λ) ln (p(w|k) / p(w)): how well terms describe a component.

    Parameters
    ----------
    part : array of shape (n_terms,) or (K, n_terms)
        p(w|k), the part of the component that each term makes up.
    p_w : array of shape (n_terms,)
        p(w), the part of all documents that each term makes up.
    balance : float, default=0.6
        λ: 1 ranks terms by frequency in the component, 0 by how exclusive they are to it.
    """
    log_part, log_p = (np.log(np.maximum(p, _TINY, dtype=np.float64)) for p in (part, p_w))
    return np.asarray(log_part - (1 - balance) * log_p)


def naming_terms(estimator: Any, n_terms: int) -> list[list[int]]:
    """Return the most relevant terms of each component, the first first; none if it has faded."""
    parts = row_parts(estimator.components_)
    p_w = component_probabilities(estimator) @ parts
    return [
        [] if faded else np.argsort(-relevance(row, p_w), kind="stable")[:n_terms].tolist()
        for row, faded in zip(parts, estimator.faded_, strict=True)
    ]


def component_names(
    estimator: Any, terms: Sequence[str] | Array, n_terms: int = NAME_TERMS
) -> list[str]:
    """Return the name of each component: its most relevant terms, or "(faded)"."""
    found = naming_terms(estimator, n_terms)
    return [
        FADED if faded else " ".join(str(terms[w]) for w in chosen)
        for chosen, faded in zip(found, estimator.faded_, strict=True)
    ]


def row_parts(rows: Array) -> Array:
    """Return rows, or one vector, divided by their sums in float64; zeros stay zeros."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), _TINY)
