"""Compute the hyperparameters that maximise the bound, one for a whole matrix.

    b = mean(E) / a                                    (b_t, b_v, b_λ; closed form)
    b_l = m / a_l,  m = Σ_lk a_l E_lk / (K Σ_l a_l)    (b_λ if each label has its own a_λ; the sums
                                                       are over components in scope)
    ln a − ψ(a) = ln mean(E) − mean⟨ln ·⟩              (a_t with b_t learned; Newton)
    ψ(a) = mean⟨ln ·⟩ − ln b                           (a_t with b_t fixed; Newton)

Without a limit, the learned a_t falls far below one and T becomes sparse, which makes coefficients
less sparse (the paper's closing remark; docs/explanation/deviations.md has our measurement).
Therefore a_t is fixed during burn-in, when all components are still similar and their best a_t is
large, and never falls below ``LEAST_TERM_SHAPE``. The bound has a single peak in a_t, so moving
towards the peak up to the limit still increases the bound.
"""

import math

import numpy as np
from scipy.special import polygamma, psi

from vbnmf.core.model import Array

LEAST_TERM_SHAPE = 0.35
"""Lower limit of a learned a_t, unless ``term_shape="free"``."""

_LARGEST_SHAPE = 1e8  # of variables that are all equal and certain
_NEWTON_STEPS = 100
_NEWTON_TOL = 1e-13


def scale(mean: float, shape: float) -> float:
    """Compute the scale of a gamma prior from the average of posterior means."""
    return mean / shape


def scale_of_rates(E: Array, shape: float | Array, in_scope: Array | None = None) -> float | Array:
    """Compute the scale of the prior of rates from their posterior means E, (n_labels, K).

    If each label has its own shape, (n_labels,), it has its own scale, and all labels share the
    mean of the prior. Rates that are not ``in_scope``, (n_labels, K) of bool, are ignored.
    """
    if in_scope is None:
        means = E.mean(axis=1)
        return np.average(means, weights=np.broadcast_to(shape, means.shape)) / shape
    weights = np.broadcast_to(np.reshape(shape, (-1, 1)), E.shape) * in_scope
    return float((weights * E).sum() / weights.sum()) / shape


def shape(mean: float, mean_log: float, *, least: float = 0.0) -> float:
    """Compute the shape of a gamma prior whose scale is learned too.

    Parameters
    ----------
    mean, mean_log : float
        Averages of ⟨x⟩ and ⟨ln x⟩ over the matrix.
    least : float
        Lower limit of the result.
    """
    gap = math.log(mean) - mean_log
    if gap <= 1 / (2 * _LARGEST_SHAPE):
        return _LARGEST_SHAPE
    a = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(_NEWTON_STEPS):
        # Newton's method in 1/a, in which the equation is almost linear
        excess = math.log(a) - float(psi(a)) - gap
        previous, a = a, 1 / (1 / a + excess / (a * (1 - a * float(polygamma(1, a)))))
        if abs(a - previous) <= _NEWTON_TOL * a:
            break
    return max(a, least)


def shape_at_scale(mean_log: float, scale: float, *, least: float = 0.0) -> float:
    """Compute the shape of a gamma prior whose scale is given."""
    target = mean_log - math.log(scale)
    # initialise with ψ(a) ≈ ln(a − 1/2) above one and ψ(a) ≈ −1/a − γ below
    a = math.exp(target) + 0.5 if target >= -2.22 else -1 / (target + 0.5772156649015329)
    for _ in range(_NEWTON_STEPS):
        previous, a = a, a - (float(psi(a)) - target) / float(polygamma(1, a))
        if abs(a - previous) <= _NEWTON_TOL * a:
            break
    return max(min(a, _LARGEST_SHAPE), least)
