"""Compute moments of Gamma(shape, scale): mean, mean logarithm, entropy (appendix A.2)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, psi

Array = NDArray[Any]


def mean(shape: ArrayLike, scale: ArrayLike) -> Array:
    """⟨x⟩ = shape · scale."""
    return np.multiply(shape, scale)


def mean_log(shape: ArrayLike, scale: ArrayLike) -> Array:
    """⟨ln x⟩ = ψ(shape) + ln scale."""
    return np.asarray(psi(shape) + np.log(scale))


def entropy(shape: ArrayLike, scale: ArrayLike) -> Array:
    """H = shape + ln scale + ln Γ(shape) + (1 − shape) ψ(shape)."""
    shape = np.asarray(shape)
    return np.asarray(shape + np.log(scale) + gammaln(shape) + (1 - shape) * psi(shape))
