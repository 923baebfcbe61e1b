"""Name components, and compute how much of each label they make up.

The terminal, the page and the displays use these functions.

    p(k)    part of the documents' weight          p(k|l)  part of component k in label l

A component is named by the terms that describe it (``metrics.describing``), so that terms common to
many components do not name them all. A faded component has no name: its terms come from the prior,
not from documents.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.report.terms import row_parts, shown_terms

NAME_TERMS = 3
"""Terms in the name of a component."""
FADED = "(faded)"
"""What a faded component is called."""
MATTERS = 0.02
"""Lists leave out components that make up less than this part of a label."""


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


def naming_terms(model: Any, n_terms: int) -> list[list[int]]:
    """Return the first terms that describe each component; none if it has faded.

    ``model`` is a DocumentModel, or an estimator.
    """
    faded = getattr(model, "estimator_", model).faded_
    terms = shown_terms(model, n_terms).tolist()
    return [[] if gone else row for row, gone in zip(terms, faded, strict=True)]


def component_names(
    model: Any, terms: Sequence[str] | Array, n_terms: int = NAME_TERMS
) -> list[str]:
    """Return the name of each component: the terms that describe it, or "(faded)"."""
    return [
        FADED if faded else " ".join(str(terms[w]) for w in chosen)
        for chosen, faded in zip(
            naming_terms(model, n_terms), getattr(model, "estimator_", model).faded_, strict=True
        )
    ]
