"""Set the fitted attributes about labels from the posterior of a supervised model."""

from typing import Any

import numpy as np

from vbnmf.core.model import State, Statistics, column

_TINY = np.finfo(float).tiny


def set_label_posterior(model: Any, state: State, stats: Statistics) -> None:
    """Set rates, activations and scopes of the labels in ``classes_``."""
    rates, prior, labels = state.rates, state.prior, state.labels
    assert rates is not None
    assert labels is not None
    assert prior.a_lam is not None
    assert prior.b_lam is not None
    sums = stats.label_sums
    model.label_activations_ = sums / np.maximum(column(stats.n_docs), _TINY)
    scopes = labels.scopes
    model.scopes_ = np.ones(sums.shape, dtype=bool) if scopes is None else scopes.mask
    model.label_rates_ = np.where(model.scopes_, rates.E, np.inf)
    model.label_rate_shapes_ = np.broadcast_to(column(rates.shape), rates.scale.shape).copy()
    model.label_rate_scales_ = rates.scale
    model.label_shapes_ = np.broadcast_to(prior.a_lam, (len(sums),)).copy()
    model.hyperparameters_ |= {
        "label_shape": float(np.mean(prior.a_lam)),
        "label_scale": float(np.mean(prior.b_lam)),
    }
