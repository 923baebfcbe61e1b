"""Scopes of a model with labels: whether to search for them, and the groups of a label tree.

The tree is a separator in the names of labels ("comp.graphics" and "comp.windows" are in the group
"comp"), or a mapping from each label or group to its parent group. The root, which has all labels,
has no name.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.validation import check_scopes

_ENOUGH_KNOWN = 0.5  # minimum part of documents with known labels to search for scopes


def is_scoped(scopes: Any, init: Any, targets: Targets) -> bool:
    """Return whether components may be restricted to some labels."""
    if not isinstance(scopes, str):
        return True
    searches = isinstance(init, str) and init == "auto"
    return scopes == "auto" and searches and bool(targets.known.mean() >= _ENOUGH_KNOWN)


def check_start(
    scopes: Any, label_tree: Any, init: Array | str, K: int, targets: Targets
) -> tuple[Array | str, Array | None, Array]:
    """Check ``scopes`` and ``label_tree``; return init, scopes and groups as masks.

    Parameters
    ----------
    scopes, label_tree
        Parameters of the model.
    init : array or str
        Checked initialisation.
    K : int
        Number of components.
    targets : Targets
        Labels of the documents.
    """
    n_labels = len(targets.classes)
    checked = check_scopes(scopes, n_labels, K)
    groups = as_masks(check_label_tree(label_tree, targets.classes), n_labels)
    auto = isinstance(init, str) and init == "auto"
    if not isinstance(checked, str) and auto:
        raise ValueError(
            'an array of scopes cannot be combined with init="auto". Use init="label", "random" '
            'or an array, or scopes="auto".'
        )
    if len(groups) and not auto:
        raise ValueError('label_tree needs init="auto".')
    if len(groups) >= K:
        raise ValueError(
            f"n_components={K} is too few for label_tree: each of its {len(groups)} groups needs "
            f"a component besides those of the labels. Use at least {len(groups) + 1}."
        )
    if not isinstance(checked, str):
        return init, checked, groups
    searches = checked == "all" or is_scoped(scopes, init, targets)
    if auto and not searches and K is not None and not len(groups):
        init = "label"
    return init, None, groups


def labels_of_groups(tree: Any, classes: Array) -> dict[str, Array]:
    """Return the labels of each group of a label tree."""
    return {name: classes[at] for name, at in check_label_tree(tree, classes).items()}


def check_label_tree(tree: Any, classes: Array) -> dict[str, Array]:
    """Return the groups of a label tree as indices into ``classes``.

    Groups of one label, of all labels, and of the same labels as an earlier group are omitted.

    Raises
    ------
    ValueError
        The tree does not match the labels.
    """
    if tree is None:
        return {}
    labels = classes.tolist()
    if isinstance(tree, str):
        paths = [_prefixes(label, tree) for label in labels]
        if not any(paths):
            raise ValueError(
                f"label_tree={tree!r} occurs in the name of no label; the labels are "
                f"{_some(labels)}. Pass the separator of the levels in the names of labels."
            )
    elif isinstance(tree, Mapping):
        paths = _paths(tree, labels)
    else:
        raise ValueError(
            "label_tree must be a separator in the names of labels, a mapping from labels to "
            f"their parent groups, or None; got {tree!r}."
        )
    members: dict[str, list[int]] = {}
    for place, groups in enumerate(paths):
        for group in groups:
            members.setdefault(group, []).append(place)
    found: dict[str, Array] = {}
    seen: set[tuple[int, ...]] = set()
    for name, places in members.items():
        if 1 < len(places) < len(labels) and tuple(places) not in seen:
            seen.add(tuple(places))
            found[name] = np.array(places)
    return found


def as_masks(groups: dict[str, Array], n_labels: int) -> Array:
    """Convert groups to rows of a matrix, (n_groups, n_labels) of bool."""
    masks = np.zeros((len(groups), n_labels), dtype=bool)
    for row, places in zip(masks, groups.values(), strict=True):
        row[places] = True
    return masks


def as_mapping(groups: dict[str, Array]) -> dict[Any, str]:
    """Convert groups to a mapping from indices of labels, and from groups, to parent groups."""
    by_size = sorted(groups.items(), key=lambda group: len(group[1]))
    above: dict[Any, str] = {}
    for n, (name, places) in enumerate(by_size):
        for place in places.tolist():
            above.setdefault(place, name)
        holds = (other for other, more in by_size[n + 1 :] if np.isin(places, more).all())
        if (parent := next(holds, None)) is not None:
            above[name] = parent
    return above


def _prefixes(label: Any, separator: str) -> list[str]:
    """Return the ancestors of a label: the parts of its name before each separator."""
    if not isinstance(label, str) or not separator:
        raise ValueError(
            "a separator as label_tree must not be empty, and needs labels that are strings; got "
            f"{separator!r} and the label {label!r}."
        )
    parts = label.split(separator)
    prefixes = [separator.join(parts[:n]) for n in range(1, len(parts))]
    return [prefix for prefix in prefixes if prefix]


def _paths(parents: Mapping[Any, Any], labels: list[Any]) -> list[list[str]]:
    """Return the ancestors of each label, parents first."""
    odd = [name for name in parents.values() if not isinstance(name, Hashable)]
    if odd:
        raise ValueError(
            f"label_tree must map each label or group to the name of one group; got {_some(odd)}."
        )
    paths = [_path(parents, label) for label in labels]
    known = set(labels).union(*paths)
    unknown = [name for name in parents if name not in known]
    if unknown:
        raise ValueError(
            f"label_tree has {_some(unknown)}, which is neither a label nor a group of labels; "
            f"the labels are {_some(labels)}."
        )
    return [[str(name) for name in path] for path in paths]


def _path(parents: Mapping[Any, Any], label: Any) -> list[Any]:
    """Return the ancestors of a label, parents first. The parent of a root is None."""
    way = [label]
    while (above := parents.get(way[-1])) is not None:
        if above in way:
            loop = [*way[way.index(above) + 1 :], above]
            raise ValueError(
                f"label_tree has a cycle: {above!r} is its own ancestor through {_some(loop)}. "
                "Remove one of these parents."
            )
        way.append(above)
    return way[1:]


def _some(names: list[Any]) -> str:
    """Format the first few names."""
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, … ({len(names)} in all)"
