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

from collections.abc import Iterable
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

    They are computed one component at a time, because there may be very many terms.

    Attributes
    ----------
    weights : ndarray of shape (K, n_terms)
        Weights of terms in components.
    unit : ndarray of shape (n_terms,)
        What the weight of each term is divided by: √idf, or 1.
    sizes : ndarray of shape (K,)
        Sum of each component in these units.
    average : ndarray of shape (n_terms,)
        q(w).
    """

    weights: Array
    unit: Array
    sizes: Array
    average: Array

    @classmethod
    def of(cls, model: Any) -> Self:
        """Compute the parts of a fitted DocumentModel, VBNMF or SupervisedVBNMF."""
        estimator = getattr(model, "estimator_", model)
        return cls.of_weights(estimator.components_, term_units(model), estimator.faded_)

    @classmethod
    def of_weights(cls, weights: Array, unit: Array, faded: Array) -> Self:
        """Compute the parts from weights, (K, n_terms), and units, (n_terms,)."""
        n_terms = len(unit)
        average, sizes = np.zeros(n_terms), np.zeros(len(weights))
        lasting = np.arange(len(weights)) if faded.all() else np.flatnonzero(~faded)
        for k, row in enumerate(weights):
            in_units = row / unit
            sizes[k] = in_units.sum()
            if k in lasting:
                average += in_units / max(sizes[k], _TINY) / len(lasting)
        if len(lasting) == 1:  # it is the average itself: its terms are ranked by their parts
            average = np.full(n_terms, 1 / n_terms)
        return cls(weights, unit, sizes, average)

    def of_component(self, k: int) -> Array:
        """Return q(w|k), (n_terms,). It sums to one."""
        return np.asarray(self.weights[k] / self.unit / max(self.sizes[k], _TINY))

    def relevance(self, k: int, balance: float = BALANCE) -> Array:
        """Return the relevance of each term in component k, (n_terms,)."""
        return relevance(self.of_component(k), self.average, balance)

    def most_relevant(self, k: int, n: int, balance: float = BALANCE) -> Array:
        """Return the n most relevant terms of component k, the most relevant first."""
        return np.argsort(-self.relevance(k, balance), kind="stable")[:n]

    def top_terms(self, n: int, components: Iterable[int] | None = None) -> Array:
        """Return the n most relevant terms of each of these components, or of all, (K, n)."""
        chosen = range(len(self.weights)) if components is None else components
        return np.array([self.most_relevant(k, n) for k in chosen])


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
    idf = getattr(vectorizer, "idf_", None)
    if idf is None or getattr(vectorizer, "weighting", None) == "counts":
        estimator = getattr(model, "estimator_", model)
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.maximum(idf, _LEAST_IDF))


def row_parts(rows: Array) -> Array:
    """Return rows, or one vector, divided by their sums in float64; zeros stay zeros."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), _TINY)
