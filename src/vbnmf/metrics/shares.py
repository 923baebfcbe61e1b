"""Intervals of shares of documents and of their differences, and correction for many tests.

    k of n documents,   p = k / n,   z = quantile of the normal distribution

The interval of a share is that of Wilson (1927), which stays between 0 and 1 and is not of length
zero for 0 of n. The interval of a difference of two shares combines the ends of both (Newcombe
1998, method 10). Among many tests, some are below any level by chance: ``adjusted`` returns the
p-values of Benjamini and Hochberg (1995). Of the tests that are below 0.05 then, about one in
twenty is there by chance.

E. B. Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal
of the American Statistical Association 22, 209-212.
R. G. Newcombe (1998). Interval estimation for the difference between independent proportions:
comparison of eleven methods. Statistics in Medicine 17, 873-890.
Y. Benjamini and Y. Hochberg (1995). Controlling the false discovery rate. Journal of the Royal
Statistical Society B 57, 289-300.
"""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from vbnmf.core.model import Array

LEVEL = 0.95
"""Probability of the intervals."""

REACH = 1.959963984540054
"""Standard errors from the middle of an interval of 95 % to its ends."""

_CLEARLY = 3.0  # standard errors by which predictions are right more often than by chance
_FEWEST = 50  # predictions of which it is said whether they are right by chance
_FEWEST_OF_LABEL = 10  # documents of a label that counts
_LEAST = 1e-6  # probability whose logarithm is taken
_ROWS_AT_ONCE = 1 << 12


def share_interval(part: Any, whole: Any, *, level: float = LEVEL) -> tuple[Array, Array]:
    """Compute the interval of a share of documents.

    Parameters
    ----------
    part : array-like of float
        Number of documents that count.
    whole : array-like of float
        Number of all documents; if it is zero, the interval is from 0 to 1.
    level : float, default=0.95
        Probability of the interval.

    Returns
    -------
    low, high : ndarrays
        Ends of the interval.

    Examples
    --------
    >>> low, high = share_interval(95, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.888, 0.978)
    """
    k, n = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    z = float(ndtri((1 + level) / 2))
    p = k / np.maximum(n, 1)
    middle = (k + z**2 / 2) / (n + z**2)
    reach = z * np.sqrt(n * p * (1 - p) + z**2 / 4) / (n + z**2)
    low = np.where(k <= 0, 0.0, np.maximum(middle - reach, 0.0))
    return low, np.where(k >= n, 1.0, np.minimum(middle + reach, 1.0))


def difference_interval(
    part: Any, whole: Any, other_part: Any, other_whole: Any, *, level: float = LEVEL
) -> tuple[Array, Array]:
    """Compute the interval of the difference of two shares, the second minus the first.

    Parameters
    ----------
    part, whole, other_part, other_whole : array-likes of float
        Numbers of documents, as for ``share_interval``.
    level : float, default=0.95
        Probability of the interval.

    Returns
    -------
    low, high : ndarrays
        Ends of the interval.

    Examples
    --------
    >>> low, high = difference_interval(10, 100, 30, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.09, 0.306)
    """
    p, q = (
        np.asarray(part) / np.maximum(whole, 1),
        np.asarray(other_part) / np.maximum(other_whole, 1),
    )
    low_p, high_p = share_interval(part, whole, level=level)
    low_q, high_q = share_interval(other_part, other_whole, level=level)
    return (
        q - p - np.hypot(q - low_q, high_p - p),
        q - p + np.hypot(high_q - q, p - low_p),
    )


def two_sided(z: Any) -> Array:
    """Convert deviations in standard errors to two-sided p-values."""
    return np.asarray(2 * ndtr(-np.abs(np.asarray(z, np.float64))))


def adjusted(p: Any) -> Array:
    """Adjust p-values for the number of tests, by the false discovery rate.

    Parameters
    ----------
    p : array-like of shape (n_tests,)
        P-values.

    Returns
    -------
    ndarray of shape (n_tests,)
        Adjusted p-values, not below the given ones.

    Examples
    --------
    >>> adjusted([0.01, 0.5, 0.02]).round(2).tolist()
    [0.03, 0.5, 0.03]
    """
    p = np.asarray(p, np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found


def right_by_chance(labels: Array, right: Array, frequencies: Array) -> bool:
    """Return whether predicted labels are given no more often than by chance.

    With fewer than 50 predictions, nothing is said.

    Parameters
    ----------
    labels : array of int of shape (n,)
        Predicted labels.
    right : array of bool of shape (n,)
        Whether each of them is given.
    frequencies : array of shape (n_labels,)
        Share of the training documents that have each label.
    """
    p = np.asarray(frequencies, np.float64)[labels]
    excess = right.sum() - p.sum()
    return len(p) >= _FEWEST and bool(excess <= _CLEARLY * np.sqrt((p * (1 - p)).sum()))


def predicted_by_chance(P: Array, given: Array, frequencies: Array) -> bool:
    """Return whether probabilities tell no more of the given labels than of labels drawn by lot.

    The sum of ln (p / f) of the given labels is compared with its mean and standard error if each
    label was drawn by its frequency f. So rare labels count, which may never be the most probable
    ones. Labels of fewer than ten documents are left out, because a document that is left out
    changes their frequency. If fewer than 50 documents remain, ``right_by_chance`` is asked.

    Parameters
    ----------
    P : array of shape (n_docs, n_labels)
        Probabilities of documents on which nothing was trained.
    given : array of int of shape (n_docs,)
        Their labels.
    frequencies : array of shape (n_labels,)
        Share of the training documents that have each label.
    """
    common = np.bincount(given, minlength=len(frequencies)) >= _FEWEST_OF_LABEL
    rows = np.flatnonzero(common[given])
    if len(rows) < _FEWEST or common.sum() < 2:
        best = P.argmax(axis=1)
        return right_by_chance(best, best == given, frequencies)
    f = np.asarray(frequencies, np.float64)[common]
    f /= f.sum()
    place = np.cumsum(common) - 1
    excess = variance = 0.0
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[begin : begin + _ROWS_AT_ONCE]
        told = np.log(np.maximum(P[some][:, common], _LEAST, dtype=np.float64)) - np.log(f)
        mean = told @ f
        excess += float((told[np.arange(len(some)), place[given[some]]] - mean).sum())
        variance += float((told**2 @ f - mean**2).sum())
    return bool(excess <= _CLEARLY * np.sqrt(max(variance, 0.0)))
