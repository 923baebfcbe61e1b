"""Label trees: the groups of a hierarchy of labels.

A label tree is a separator in the names of labels ("comp.graphics" and "comp.windows" are in the
group "comp"), or a mapping from each label or group to its parent group. The root, which has all
labels, has no name.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators.labels import some_of


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
                f"{some_of(labels)}. Pass the separator of the levels in the names of labels."
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
            f"label_tree must map each label or group to the name of one group; got {some_of(odd)}."
        )
    paths = [_path(parents, label) for label in labels]
    known = set(labels).union(*paths)
    unknown = [name for name in parents if name not in known]
    if unknown:
        raise ValueError(
            f"label_tree has {some_of(unknown)}, which is neither a label nor a group of labels; "
            f"the labels are {some_of(labels)}."
        )
    return [[str(name) for name in path] for path in paths]


def _path(parents: Mapping[Any, Any], label: Any) -> list[Any]:
    """Return the ancestors of a label, parents first. The parent of a root is None."""
    way = [label]
    while (above := parents.get(way[-1])) is not None:
        if above in way:
            loop = [*way[way.index(above) + 1 :], above]
            raise ValueError(
                f"label_tree has a cycle: {above!r} is its own ancestor through {some_of(loop)}. "
                "Remove one of these parents."
            )
        way.append(above)
    return way[1:]
