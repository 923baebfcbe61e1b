"""Rank the terms of components, by weight or by relevance.

A relevant term is frequent in a component, and more frequent there than elsewhere:

    q(w|k)  part of term w in component k, by weights divided by a unit for each term
    q(w)    = mean of q(w|k) over components; 1 / n_terms if there is one component

    relevance of w in k = q(w|k)^λ ln(q(w|k) / q(w))

With λ = 1, the default, it is the contribution of the term to the Kullback-Leibler divergence of
the component from the average component. Smaller λ prefers terms that are specific to the
component, larger λ prefers frequent terms.

TF-IDF gives rare terms large weights. The relevance prefers rare terms once more, because they are
specific. With full IDF, names of persons from a few documents would come first. Without IDF, words
such as "her" and "the" would come first in some components, if stop words are kept. So the unit of
a term is the square root of its IDF, or of something proportional to it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from vbnmf.core.model import Array

BALANCE = 1.0
"""λ of the relevance that ranks terms in lists and names."""
_TINY = np.finfo(float).tiny


def strongest_terms(components: ArrayLike, top: int, *, least: int = 1) -> Array:
    """Return the terms of each component with the largest weights.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    top : int
        Number of terms of each component. All terms are returned if there are fewer.
    least : int, default=1
        Minimum of `top`.

    Returns
    -------
    ndarray of int of shape (K, min(top, n_terms))
        Columns of the terms in descending order of weight. Ties are in the order of columns.
    """
    array = as_components(components)
    if top < least:
        raise ValueError(
            f"top must be at least {least}; got {top}. It is the number of top terms, usually 10."
        )
    return np.argsort(-array, axis=1, kind="stable")[:, :top]


@dataclass(frozen=True)
class TermParts:
    """Shares of terms in components, by weights divided by units.

    They are computed one component at a time, because there may be very many terms.

    Attributes
    ----------
    weights : ndarray of shape (K, n_terms)
        Weights of terms in components.
    unit : ndarray of shape (n_terms,)
        What the weight of each term is divided by.
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
    def of_weights(cls, weights: Array, unit: Array, faded: Array | None = None) -> Self:
        """Compute the parts.

        Parameters
        ----------
        weights : array of shape (K, n_terms)
            Weights of terms in components.
        unit : array of shape (n_terms,)
            Units of terms.
        faded : array of bool of shape (K,) or None
            Components that do not count in the average, unless all have faded; None if all count.
        """
        n_terms = len(unit)
        average, sizes = np.zeros(n_terms), np.zeros(len(weights))
        counts = np.ones(len(weights), bool) if faded is None or faded.all() else ~faded
        for k, row in enumerate(weights):
            in_units = row / unit
            sizes[k] = in_units.sum()
            if counts[k]:
                average += in_units / max(sizes[k], _TINY) / counts.sum()
        if counts.sum() == 1:  # it is the average itself: its terms are ranked by their parts
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


def as_components(components: ArrayLike, name: str = "components") -> Array:
    """Convert components to an array of shape (K, n_terms)."""
    array = np.asarray(components)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have the shape (K, n_terms) and must not be empty; got an array of the "
            f"shape {array.shape}. Pass the `components_` of a fitted model."
        )
    return array


def as_nonnegative(components: ArrayLike) -> Array:
    """Convert components to an array of shape (K, n_terms), and refuse negative weights."""
    array = as_components(components)
    if (array < 0).any():
        raise ValueError(
            f"components must not have negative weights; the smallest is "
            f"{array.min():.4g}. Pass the `components_` of a non-negative model."
        )
    return array
