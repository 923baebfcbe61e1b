"""Say which components and terms are passages that recur, such as signatures.

A component is mostly a passage if at least half of its ten most relevant terms
(``metrics.relevance``) are in one passage (``metrics.passages``). This is a count of terms: the
documents of the component may say more than the passage.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.report.terms import passage_of_terms, term_parts

MOST_RELEVANT = 10
"""Number of most relevant terms of a component among which those of a passage are counted."""


@dataclass(frozen=True)
class PassageOfComponent:
    """The passage that a component mostly is.

    Attributes
    ----------
    number : int
        Its number in ``passages_``.
    documents : int
        Documents that have at least half of its terms.
    examined : int
        Documents in which it was counted.
    terms : int
        Number of its terms.
    among : int
        Number of its terms among the most relevant terms of the component.
    of : int
        Number of most relevant terms that were looked at.
    """

    number: int
    documents: int
    examined: int
    terms: int
    among: int
    of: int

    @property
    def in_words(self) -> str:
        """What is said beside the component: "recurring passage, 52 documents"."""
        return f"recurring passage, {self.documents:,} documents"


def component_passages(model: Any) -> list[PassageOfComponent | None]:
    """Return the passage that each component mostly is; None for most components.

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        Fitted model. One from an older file has no passages.
    """
    estimator = getattr(model, "estimator_", model)
    K, passages = len(estimator.components_), estimator.passages_
    if passages is None or not len(passages):
        return [None] * K
    of_term, relevant = passage_of_terms(estimator), term_parts(model)
    found: list[PassageOfComponent | None] = []
    for k, faded in enumerate(estimator.faded_):
        top = of_term[relevant.most_relevant(k, MOST_RELEVANT)]
        counts = np.bincount(top[top >= 0], minlength=len(passages))
        best = int(counts.argmax())
        if faded or 2 * counts[best] < len(top):
            found.append(None)
            continue
        found.append(
            PassageOfComponent(
                number=best,
                documents=passages.documents[best],
                examined=passages.examined,
                terms=len(passages.terms[best]),
                among=int(counts[best]),
                of=len(top),
            )
        )
    return found
