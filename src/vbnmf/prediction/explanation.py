"""Why a label was predicted: the parts that terms and components had in it.

All classifiers add up what each term of a document says, so that parts are exact: their sum over
terms and components is how much the document's terms raised a label's score above the mean of all
labels (with several labels a document: above its intercept). Named are only components that the
label uses: that a document is unlike those of other labels is part of the sum, and of the parts of
terms, but a component that a document is not about is no good answer to why.
"""

from typing import NamedTuple

import numpy as np

from vbnmf.core.model import Array


class TermPart(NamedTuple):
    """A term, by its name or number, and its part in a score."""

    term: str | int
    part: float


class ComponentPart(NamedTuple):
    """A component, its part in a score, and the terms it was by, the largest parts first."""

    component: int
    part: float
    terms: list[TermPart]


class Explanation(NamedTuple):
    """What spoke for a label of a document, the largest parts first.

    Attributes
    ----------
    label : object
    probability : float
    components : list of ComponentPart
    terms : list of TermPart
        By components and by themselves together.
    words : list of TermPart
        By themselves alone, beyond the components.
    component_share : float
        How much of what spoke for the label, or against it, was by components: from 0 to 1.
    """

    label: object
    probability: float
    components: list[ComponentPart]
    terms: list[TermPart]
    words: list[TermPart]
    component_share: float


class Explained(NamedTuple):
    """All parts in the score of a label of one document."""

    label: object
    probability: float
    parts: Array  # (n_terms_of_the_document, K + 1): by components, and by words alone
    uses: Array  # (K,) of bool: components that the label uses
    names: Array  # (n_terms_of_the_document,)


def summed_up(whole: Explained, *, n_terms: int, n_components: int) -> Explanation:
    """The largest parts by component and by term."""
    totals = whole.parts.sum(axis=0)
    by_component = np.where(whole.uses, totals[:-1], 0.0)
    components = [
        ComponentPart(
            int(k), float(by_component[k]), _largest(whole.parts[:, k], whole.names, n_terms)
        )
        for k in np.argsort(-by_component, kind="stable")[:n_components]
        if by_component[k] > 0
    ]
    terms = _largest(whole.parts.sum(axis=1), whole.names, n_terms)
    words = _largest(whole.parts[:, -1], whole.names, n_terms)
    share = float(component_share(totals[:-1].sum(), totals[-1]))
    return Explanation(whole.label, whole.probability, components, terms, words, share)


def component_share(by_components: Array | float, by_words: Array | float) -> Array:
    """Part of scores that components carry, by the sizes of both parts; 1 where there is none."""
    of_components, total = np.abs(by_components), np.abs(by_components) + np.abs(by_words)
    return np.divide(
        of_components, total, out=np.ones(np.shape(total)), where=np.asarray(total > 0)
    )


def _largest(parts: Array, names: Array, n: int) -> list[TermPart]:
    """The n largest parts that speak for the label."""
    best = np.argsort(-parts, kind="stable")[:n]
    return [TermPart(names[i], float(parts[i])) for i in best if parts[i] > 0]
