"""Rank terms by relevance: frequent in a component, and more frequent there than elsewhere.

    q(w|k)  part of term w in component k, by weights divided by √idf
    q(w)    = mean of q(w|k) over the components that have not faded; 1/W of a single component

    relevance of w in k = q(w|k)^λ ln(q(w|k) / q(w))

With λ = 1, the default, it is the contribution of the term to the Kullback-Leibler divergence of
the component from the average component. Smaller λ prefers terms that are specific to the
component, larger λ prefers frequent terms.

TF-IDF gives rare terms large weights. The relevance prefers rare terms once more, because they are
specific. With full IDF, names of persons from a few documents would come first. Without IDF, words
such as "her" and "the" would come first in some components, if stop words are kept. So weights are
divided by the square root of IDF (docs/benchmarks.md, "What the components say").
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from vbnmf.core.model import Array

BALANCE = 1.0
"""λ of the relevance that ranks terms in lists and names."""
_LEAST_IDF = 0.1  # of terms in nearly all documents, whose weights come mostly from the prior
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class TermParts:
    """Shares of terms in components, by weights divided by the square root of IDF.

    Attributes
    ----------
    unit : ndarray of shape (n_terms,)
        Divisor of the weights of each term: √idf, or 1.
    in_component : ndarray of shape (K, n_terms)
        q(w|k). Rows sum to one.
    average : ndarray of shape (n_terms,)
        q(w).
    """

    unit: Array
    in_component: Array
    average: Array

    @classmethod
    def of(cls, model: Any) -> Self:
        """Compute the parts of a fitted DocumentModel, VBNMF or SupervisedVBNMF."""
        estimator = getattr(model, "estimator_", model)
        return cls.of_weights(estimator.components_, term_units(model), estimator.faded_)

    @classmethod
    def of_weights(cls, components: Array, unit: Array, faded: Array) -> Self:
        """Compute the parts from weights, (K, n_terms), and units, (n_terms,)."""
        q = row_parts(np.asarray(components, dtype=np.float64) / unit)
        lasting = q if faded.all() else q[~faded]
        # a single component is the average itself: its terms are ranked by frequency
        average = lasting.mean(axis=0) if len(lasting) > 1 else np.full(q.shape[1], 1 / q.shape[1])
        return cls(unit, q, average)

    def relevance(self, k: int, balance: float = BALANCE) -> Array:
        """Return the relevance of each term in component k, (n_terms,)."""
        return relevance(self.in_component[k], self.average, balance)

    def scores(self) -> Array:
        """Return the relevance of each term in each component, (K, n_terms)."""
        return np.array([self.relevance(k) for k in range(len(self.in_component))])

    def most_relevant(self, k: int, n: int, balance: float = BALANCE) -> Array:
        """Return the n most relevant terms of component k, the most relevant first."""
        return np.argsort(-self.relevance(k, balance), kind="stable")[:n]


def relevance(q: Array, average: Array, balance: float = BALANCE) -> Array:
    """Return q^λ ln(q / average) of each term; 0 for terms that do not occur.

    Parameters
    ----------
    q : array of shape (n_terms,)
        Parts of a component.
    average : array of shape (n_terms,)
        Parts of the average component.
    balance : float, default=1
        λ.
    """
    logs = np.log(np.maximum(q, _TINY)) - np.log(np.maximum(average, _TINY))
    return np.asarray(np.where(q > 0, q**balance * logs, 0.0))


def term_units(model: Any) -> Array:
    """Return the square root of each term's IDF, (n_terms,); 1 if the model has no IDF.

    It is also 1 with ``weighting="counts"``, which does not use IDF.
    """
    vectorizer = getattr(model, "vectorizer_", None)
    if vectorizer is None or vectorizer.weighting == "counts":
        estimator = getattr(model, "estimator_", model)
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.maximum(vectorizer.idf_, _LEAST_IDF))


def row_parts(rows: Array) -> Array:
    """Return rows, or one vector, divided by their sums in float64; zeros stay zeros."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), _TINY)
