"""Credible intervals of term weights and label activations from the gamma posteriors.

    t_wk ~ Gamma(shape_wk, scale_k)                     weight of a term
    a_v / λ_lk,  λ_lk ~ Gamma(a_v N_l, 1/Σ_d E_v)       mean of a coefficient in a label

The posterior of λ is taken without its prior. The prior controls sparsity (``label_shape`` = 100
counts as a hundred documents) and is not a belief about λ: with it, intervals would not contain the
mean of the label's own documents. The coverage of the intervals is in docs/algorithm.md.
"""

from typing import Any

import numpy as np
from scipy.special import gammaincinv

from vbnmf.core.model import Array
from vbnmf.estimators.validation import check_nonnegative


def component_interval(model: Any, level: float, components: Any) -> tuple[Array, Array]:
    """Compute quantiles of q(T), (n, n_terms) each; see ``BaseVBNMF.component_interval``."""
    shapes, scales = model.component_shapes_, model.component_scales_
    try:
        chosen = slice(None) if components is None else np.atleast_1d(components)
        shapes, scales = shapes[chosen], scales[chosen]
    except IndexError as error:
        raise ValueError(f"components must be indices of components: {error}.") from None
    return gamma_interval(shapes, scales[:, None], level)


def gamma_interval(shapes: Array, scales: Array, level: float) -> tuple[Array, Array]:
    """Compute the central intervals of gamma distributions.

    Parameters
    ----------
    shapes, scales : arrays
        Shapes and scales of the distributions. Scales are broadcast.
    level : float
        Probability of the intervals, between 0 and 1.

    Returns
    -------
    low, high : arrays of the shape of `shapes`
    """
    tails = _tails(level)
    scales = scales.astype(shapes.dtype)
    low, high = (gammaincinv(shapes, shapes.dtype.type(tail)) * scales for tail in tails)
    return low, high


def label_interval(model: Any, level: float) -> tuple[Array, Array]:
    """Compute quantiles by label, (n_labels, K) each; see ``SupervisedVBNMF.label_interval``."""
    a_v = model.hyperparameters_["coef_shape"]
    n_docs = (model.label_rate_shapes_ - model.label_shapes_[:, None]) / a_v
    known = n_docs >= _LEAST_DOCS
    shape = np.where(known, a_v * n_docs, 1.0)
    with np.errstate(divide="ignore"):  # the quantile of a tiny shape is zero, and 1/λ unbounded
        high, low = (shape / gammaincinv(shape, tail) for tail in _tails(level))
    E_v = np.where(known, model.label_activations_, 1.0)
    low, high = E_v * np.where(known, low, 0.0), E_v * np.where(known, high, np.inf)
    return np.where(model.scopes_, low, 0.0), np.where(model.scopes_, high, 0.0)


_LEAST_DOCS = 0.99
"""Labels with less than one document, up to rounding, have no finite interval."""


def _tails(level: Any) -> tuple[float, float]:
    """Return the probabilities below the two ends of a central interval."""
    if not 0 < check_nonnegative("level", level) < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.9; got {level!r}.")
    return (1 - level) / 2, (1 + level) / 2
