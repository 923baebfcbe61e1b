"""Scopes of a supervised model: whether to search for them, and the matching priors and start."""

from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.core.starts import Knobs
from vbnmf.estimators.labeltree import as_masks, check_label_tree
from vbnmf.estimators.targets import Targets, sums_by_group
from vbnmf.estimators.validation import (
    check_label_shape,
    check_scopes,
    check_shape_or_scale,
    check_term_shape,
)

SHAPES_WITH_SCOPES = (0.1, 0.2)  # shapes of the priors of terms and of coefficients
SHAPES_WITHOUT = (0.5, 1.0)  # the second as in the paper
_ENOUGH_KNOWN = 0.5  # minimum part of documents with known labels to search for scopes
_LEAST_LABEL_SHAPE = 1.0  # label shape of a label that no document is known to have


def is_scoped(model: Any, targets: Targets) -> bool:
    """Return whether components may be restricted to some labels."""
    if not isinstance(model.scopes, str):
        return True
    looks = isinstance(model.init, str) and model.init == "auto"
    return model.scopes == "auto" and looks and bool(targets.known.mean() >= _ENOUGH_KNOWN)


def knobs(model: Any, targets: Targets, weight: Array | None) -> Knobs:
    """Check the hyperparameters and resolve "auto" for documents with these labels and weights."""
    scoped = is_scoped(model, targets)
    of_terms, of_coefs = SHAPES_WITH_SCOPES if scoped else SHAPES_WITHOUT
    a_t, least_a_t = check_term_shape(of_terms if model.term_shape is None else model.term_shape)
    coef_shape = of_coefs if model.coef_shape is None else model.coef_shape
    a_lam: Any = check_label_shape(model.label_shape)
    if a_lam is None and scoped:
        a_lam = 1.0
    elif a_lam is None:
        n_docs = sums_by_group(targets.group, weight, targets.n_groups)
        a_lam = np.maximum(targets.labels.documents(n_docs), _LEAST_LABEL_SHAPE)
    return Knobs(
        a_t=a_t,
        least_a_t=least_a_t,
        b_t=check_shape_or_scale("term_scale", model.term_scale),
        a_v=check_shape_or_scale("coef_shape", coef_shape, auto=False) or 0.0,
        b_v=None,
        a_lam=a_lam,
        b_lam=check_shape_or_scale("label_scale", model.label_scale),
    )


def check_start(
    model: Any, init: Array | str, K: int | None, targets: Targets
) -> tuple[Array | str, Array | None, Array]:
    """Check ``init``, ``scopes`` and ``label_tree``; return init, scopes and groups as masks."""
    n_labels = len(targets.classes)
    scopes = check_scopes(model.scopes, n_labels, K)
    groups = as_masks(check_label_tree(model.label_tree, targets.classes), n_labels)
    auto = isinstance(init, str) and init == "auto"
    if not isinstance(scopes, str) and auto:
        raise ValueError(
            'an array of scopes cannot be combined with init="auto". Use init="label", "random" '
            'or an array, or scopes="auto".'
        )
    if len(groups) and not auto:
        raise ValueError('label_tree needs init="auto".')
    if len(groups) and K is not None and len(groups) >= K:
        raise ValueError(
            f"n_components={K} is too few for label_tree: each of its {len(groups)} groups needs "
            f"a component besides those of the labels. Use at least {len(groups) + 1}."
        )
    if not isinstance(scopes, str):
        return init, scopes, groups
    looks = scopes == "all" or is_scoped(model, targets)
    if auto and not looks and K is not None and not len(groups):
        init = "label"
    return init, None, groups
