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
    """
    p, hit = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
    at = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    n = np.bincount(at, minlength=n_bins)
    sums = [np.bincount(at, values, minlength=n_bins) for values in (p, hit)]
    used = n > 0
    return np.column_stack([*(s[used] / n[used] for s in sums), n[used]])


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
    mean, hit, n = calibration_bins(probability, right, n_bins).T
    return float(np.average(abs(mean - hit), weights=n)) if len(n) else 0.0
