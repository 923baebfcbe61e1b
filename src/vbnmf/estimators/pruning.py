"""Find and remove components without weight.

Σ_w (shape_wk − a_t) = Σ_dw ⟨s_dwk⟩     weight of the documents that component k explains
shape_wk < 2 a_t for all w              faded: all terms depend more on the prior than on documents
"""

from copy import copy
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.model import Array
from vbnmf.estimators.validation import check_matrix, check_nonnegative

Model = TypeVar("Model", bound=Any)


class Pruning(NamedTuple):
    """Result of pruning.

    Attributes
    ----------
    removed : ndarray of int
        Indices of the removed components in the original model.
    bound_before, bound_after : float
        Lower bound before and after pruning.
    """

    removed: Array
    bound_before: float
    bound_after: float


def component_mass(model: Any) -> Array:
    """Compute the part of the documents' weight that each component explains, (K,)."""
    shapes, a_t = model.component_shapes_, model.hyperparameters_["term_shape"]
    explained = shapes.sum(axis=1, dtype=np.float64) - shapes.shape[1] * a_t
    explained = np.maximum(explained, 0.0)  # negative by rounding, or if a_t is learned
    return explained / max(explained.sum(), np.finfo(float).tiny)


def faded(model: Any) -> Array:
    """Return whether each component has faded, (K,) of bool."""
    return np.asarray(
        model.component_shapes_.max(axis=1) < 2 * model.hyperparameters_["term_shape"]
    )


def prune(model: Model, X: Any, y: Any, sample_weight: Any, least: float | None) -> Model:
    """Fit again without components; see ``BaseVBNMF.prune``."""
    check_is_fitted(model, "components_")
    check_matrix(model, X, reset=False)
    removed = (
        faded(model) if least is None else model.component_mass_ < check_nonnegative("least", least)
    )
    if removed.all():
        raise ValueError(_nothing_left(model, least))
    if hasattr(model, "scopes_"):
        use = model.label_activations_ * model.component_sums_
        alone = ~(model.scopes_ & ~removed).any(axis=1)  # labels with no other component
        removed[use[alone].argmax(axis=1)] = False
    if not removed.any():
        pruned = copy(model)
    else:
        kept = np.flatnonzero(~removed)
        explained = model.component_shapes_[kept] - model.hyperparameters_["term_shape"]
        start = {"n_components": len(kept), "init": np.maximum(explained, 0.0), "n_init": 1}
        # adapt parameters to the remaining components, so that the model can be fitted again
        after = {"n_init": model.n_init}
        after["init"] = model.init if isinstance(model.init, str) else np.asarray(model.init)[kept]
        if hasattr(model, "scopes_"):
            scopes = model.scopes_[:, kept] if model.scoped_ else "all"
            start |= {"scopes": scopes, "label_tree": None}
            named = isinstance(model.scopes, str)
            after["scopes"] = model.scopes if named else np.asarray(model.scopes)[:, kept]
            after["label_tree"] = model.label_tree
        pruned = clone(model).set_params(**start).fit(X, y, sample_weight=sample_weight)
        pruned.set_params(**after)
        if model.background_ in kept.tolist():
            pruned.background_ = kept.tolist().index(model.background_)
        if hasattr(model, "scopes_"):
            pruned.label_groups_ = model.label_groups_
    pruned.pruning_ = Pruning(np.flatnonzero(removed), model.bound_, pruned.bound_)
    return pruned


def _nothing_left(model: Any, least: float | None) -> str:
    if least is None:
        return (
            "all components have faded: they are the same as in the prior. The values of X may be "
            "too small; multiply X by a constant and fit again."
        )
    return (
        f"least={least!r} would remove all components; the largest one has "
        f"{model.component_mass_.max():.3g} of the weight. Use a smaller value."
    )
