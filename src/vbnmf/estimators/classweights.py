"""Sample weights of documents, multiplied with class weights."""

from numbers import Real
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators.streaming import check_source_left, is_source
from vbnmf.estimators.targets import Targets
from vbnmf.estimators.validation import check_terms_left, check_weights


def with_class_weights(class_weight: Any, targets: Targets, weight: Array | None) -> Array | None:
    """Multiply sample weights with class weights.

    A document with several labels gets the mean of their class weights. A document with unknown
    labels gets class weight one.
    """
    if class_weight is None:
        return weight
    each = np.ones(len(targets.group)) if weight is None else weight
    sizes = targets.sums(each)
    if isinstance(class_weight, str) and class_weight == "balanced":
        has_any = sizes > 0
        by_label = np.where(has_any, sizes.sum() / np.where(has_any, sizes, 1) / has_any.sum(), 1.0)
    elif isinstance(class_weight, dict):
        listed = [class_weight.get(label, 1.0) for label in targets.classes.tolist()]
        if not all(isinstance(value, Real) for value in listed):
            raise ValueError(f"class_weight must have numbers as values; got {class_weight!r}.")
        by_label = np.array(listed, dtype=np.float64)
        unknown = set(class_weight) - set(targets.classes.tolist())
        if unknown:
            raise ValueError(
                f"class_weight has labels that y does not have: {sorted(map(str, unknown))}. y "
                f"has {', '.join(map(str, targets.classes[:5]))}, …"
            )
    else:
        raise ValueError(
            'class_weight must be a dict from labels to weights, "balanced" or None; got '
            f"{class_weight!r}."
        )
    of_groups = targets.of_groups
    n_labels = np.diff(of_groups.indptr)
    by_group = np.where(n_labels > 0, (of_groups @ by_label) / np.maximum(n_labels, 1), 1.0)
    of_labels = by_group[targets.group]
    return check_weights(each * of_labels, len(each), "class_weight, times sample_weight,")


def check_weight_left(X: Any, targets: Targets, weight: Array | None) -> None:
    """Refuse weights that leave no document with a known label, or no term."""
    if weight is None:
        return
    if not weight[targets.known].any():
        raise ValueError(
            "all documents with known labels have weight zero, so there is nothing to learn labels "
            "from. Check sample_weight and class_weight."
        )
    (check_source_left if is_source(X) else check_terms_left)(X, weight)
