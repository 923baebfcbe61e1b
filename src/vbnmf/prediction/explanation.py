"""Explain a predicted label by the contributions of terms and components to its score.

The scores of all prediction heads are sums over the terms of a document, so contributions are
exact. Their sum is the difference between the score of a label and the mean score of all labels, as
far as it comes from the document's terms. If documents may have several labels, it is the
difference between the score and its intercept. Only components that the label uses are listed. The
contributions of other components are included in those of terms.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.prediction.evidence import blocks

if TYPE_CHECKING:
    from vbnmf.prediction.head import Head, Posterior

_NUMBERS_AT_ONCE = 1 << 23  # of the evidence of terms that is held


class TermPart(NamedTuple):
    """A term, by name or number, and its contribution to a score."""

    term: str | int
    part: float


class ComponentPart(NamedTuple):
    """A component, its contribution to a score, and those of its terms, the largest first."""

    component: int
    part: float
    terms: list[TermPart]


class Explanation(NamedTuple):
    """Largest contributions to the score of a label of a document.

    Attributes
    ----------
    label : object
        The label.
    probability : float
        Its predicted probability.
    components : list of ComponentPart
        Contributions of components, the largest first.
    terms : list of TermPart
        Contributions of terms, through components and as single words, the largest first.
    words : list of TermPart
        Contributions of terms as single words, the largest first.
    component_share : float
        Share of components in the score, from 0 to 1; the rest is from single words.
    against : list of TermPart
        Contributions of terms that speak against the label, which are negative, the strongest
        first.
    """

    label: object
    probability: float
    components: list[ComponentPart]
    terms: list[TermPart]
    words: list[TermPart]
    component_share: float
    against: list[TermPart]


class ExplainedLabel(NamedTuple):
    """All contributions to the score of a label of one document."""

    label: object
    probability: float
    parts: Array  # (n_terms_of_the_document, K + 1): by components, and by single words
    uses: Array  # (K,) of bool: components that the label uses
    names: Array  # (n_terms_of_the_document,)


def explain_documents(
    head: "Head",
    posterior: "Posterior",
    X: sparse.csr_array,
    P: Array,
    labels: list[Any],
    names: Array,
    also: Sequence[Iterable[int]] | None,
    *,
    n_terms: int,
    n_components: int,
    regroup: Sequence[Callable[[Array, Array], tuple[sparse.csr_array, Array]]] | None = None,
) -> list[list[Explanation]]:
    """Explain the two most probable labels of documents, and others on request.

    Parameters
    ----------
    head : Head
        Prediction head.
    posterior : Posterior
        The fitted model.
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    P : ndarray of shape (n_docs, n_labels)
        Their probabilities.
    labels : list of length n_labels
        The labels.
    names : ndarray of shape (n_terms,)
        Names of the terms.
    also : sequence of iterables of int, of length n_docs, or None
        Further labels of each document, as indices.
    n_terms, n_components : int
        Maximum number of terms and of components to list.
    regroup : sequence of callables, of length n_docs, or None
        Each gets the columns of a document and their names. It returns the share of each column in
        each item that is shown instead, (n_items, n_columns), and the names of the items.

    Returns
    -------
    list of lists of Explanation
        None for a document without any term.
    """
    best = np.argsort(-P, axis=1, kind="stable")[:, :2].tolist()
    explained: list[list[Explanation]] = [[] for _ in best]
    for begin, end in blocks(X.indptr, max(1, _NUMBERS_AT_ONCE // len(posterior.scales))):
        # the evidence of the terms of these documents is computed once
        used = np.unique(X.indices[X.indptr[begin] : X.indptr[end]])
        of_some = posterior.with_evidence(used[used < posterior.n_terms])
        for d in range(begin, end):
            terms, x = _terms_of(X, d)
            codes = dict.fromkeys([*best[d], *(() if also is None else also[d])])
            shares, shown = (
                (None, names[terms]) if regroup is None else regroup[d](terms, names[terms])
            )
            for code in codes if len(terms) else ():
                parts, uses = head.contributions(terms, x, of_some, code)
                parts = parts if shares is None else shares @ parts
                whole = ExplainedLabel(labels[code], float(P[d, code]), parts, uses, shown)
                explained[d].append(summed_up(whole, n_terms=n_terms, n_components=n_components))
    return explained


def _terms_of(X: sparse.csr_array, d: int) -> tuple[Array, Array]:
    """Return the terms of a document and their weights."""
    at = slice(X.indptr[d], X.indptr[d + 1])
    occurs = X.data[at] > 0
    return X.indices[at][occurs], X.data[at][occurs]


def summed_up(whole: ExplainedLabel, *, n_terms: int, n_components: int) -> Explanation:
    """Return the largest contributions by component and by term."""
    totals = whole.parts.sum(axis=0)
    by_component = np.where(whole.uses, totals[:-1], 0.0)
    components = [
        ComponentPart(
            int(k), float(by_component[k]), _largest(whole.parts[:, k], whole.names, n_terms)
        )
        for k in np.argsort(-by_component, kind="stable")[:n_components]
        if by_component[k] > 0
    ]
    by_term = whole.parts.sum(axis=1)
    terms = _largest(by_term, whole.names, n_terms)
    against = [TermPart(term, -part) for term, part in _largest(-by_term, whole.names, n_terms)]
    words = _largest(whole.parts[:, -1], whole.names, n_terms)
    share = float(component_share(totals[:-1].sum(), totals[-1]))
    return Explanation(whole.label, whole.probability, components, terms, words, share, against)


def component_share(by_components: Array | float, by_words: Array | float) -> Array:
    """Compute the share of components in scores, |c| / (|c| + |w|); 1 if both are zero."""
    of_components, total = np.abs(by_components), np.abs(by_components) + np.abs(by_words)
    return np.divide(
        of_components, total, out=np.ones(np.shape(total)), where=np.asarray(total > 0)
    )


def _largest(parts: Array, names: Array, n: int) -> list[TermPart]:
    """Return the n largest positive contributions."""
    best = np.argsort(-parts, kind="stable")[:n]
    return [TermPart(names[i], float(parts[i])) for i in best if parts[i] > 0]
