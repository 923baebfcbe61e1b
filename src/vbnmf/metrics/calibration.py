"""Calibration of predicted probabilities."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_BINS = 15


def calibration_bins(
    probability: ArrayLike, right: ArrayLike, n_bins: int = N_BINS
) -> NDArray[np.float64]:
    """Compare predicted probabilities with observed frequencies, in bins of equal width.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Predicted probabilities, for example of the most probable label of each document.
    right : array-like of bool of shape (n,)
        Whether each prediction was correct.
    n_bins : int, default=15
        Number of bins between 0 and 1.

    Returns
    -------
    ndarray of shape (n_bins_in_use, 3)
        Mean probability, share of correct predictions, and number of predictions of each bin that
        is not empty.

    Examples
    --------
    >>> from vbnmf.metrics import calibration_bins
    >>> calibration_bins([0.25, 0.25, 0.75, 0.75], [False, True, True, True], n_bins=2).tolist()
    [[0.25, 0.5, 2.0], [0.75, 1.0, 2.0]]
    """
    return bin_means(bin_sums(probability, right, n_bins))


def bin_sums(probability: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> NDArray[np.float64]:
    """Sum predictions by bin: probabilities, correct predictions and number, (n_bins, 3).

    Sums of several parts of the predictions can be added. Parameters are as for
    ``calibration_bins``.
    """
    p, hit = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    at = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    sums = [np.bincount(at, values, minlength=n_bins) for values in (p, hit)]
    return np.column_stack([*sums, np.bincount(at, minlength=n_bins)])


def bin_means(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert the result of ``bin_sums`` to that of ``calibration_bins``."""
    used = sums[sums[:, 2] > 0]
    return np.column_stack([used[:, 0] / used[:, 2], used[:, 1] / used[:, 2], used[:, 2]])


def calibration_error(probability: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> float:
    """Compute the expected calibration error.

    It is the mean distance between probability and share of correct predictions over the bins,
    weighted by the number of predictions.

    Parameters
    ----------
    probability : array-like of shape (n,)
        Predicted probabilities.
    right : array-like of bool of shape (n,)
        Whether each prediction was correct.
    n_bins : int, default=15
        Number of bins between 0 and 1.

    Returns
    -------
    float
        Expected calibration error between 0 and 1; 0 is best.

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht (2015). Obtaining well calibrated probabilities using
    Bayesian binning. Proceedings of the 29th AAAI Conference on Artificial Intelligence, 2901-2907.

    Examples
    --------
    >>> from vbnmf.metrics import calibration_error
    >>> calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    """
    return error_of_bins(bin_sums(probability, right, n_bins))


def error_of_bins(sums: NDArray[np.float64]) -> float:
    """Compute the expected calibration error from the result of ``bin_sums``."""
    mean, hit, n = bin_means(sums).T
    return float(np.average(abs(mean - hit), weights=n)) if len(n) else 0.0
