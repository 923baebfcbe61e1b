"""Order the labels and components of the map such that similar ones are neighbours.

The order is that of the leaves of a hierarchical clustering with optimal leaf ordering
(``scipy.cluster.hierarchy``). Components are grouped into blocks by scope. The page and
``LabelMapDisplay`` use this order.

References
----------
Z. Bar-Joseph, D. K. Gifford, T. S. Jaakkola (2001). Fast optimal leaf ordering for hierarchical
clustering. Bioinformatics 17, S22-S29.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from vbnmf.core.model import Array

_MOST_OPTIMAL = 1000  # leaves; optimal ordering of more takes seconds, and hardly changes the map
_TINY = np.finfo(float).tiny
_RANKS = {
    name: rank
    for rank, name in enumerate(
        ("background", "common", "shared", "joined", "own", "", "faded"),
    )
}


def map_blocks(kinds: Sequence[str] | None, faded: Array) -> list[str]:
    """Return the block of the map to which each component belongs.

    Parameters
    ----------
    kinds : sequence of str or None
        Kinds of scope, as in ``description.scopes.Scope``; None without scopes.
    faded : array of bool of shape (K,)
        Components that have faded.

    Returns
    -------
    list of str
        "common", "shared", "joined", "own" or "faded"; "" without scopes.
    """
    known = [""] * len(faded) if kinds is None else kinds
    known = ["common" if kind == "background" else kind for kind in known]
    return ["faded" if gone else kind for kind, gone in zip(known, faded, strict=True)]


def runs(blocks: Sequence[str]) -> list[tuple[str, int]]:
    """Return adjacent blocks with their numbers of columns."""
    return [(name, len(list(members))) for name, members in groupby(blocks)]


def order_map(
    use: Array, matters: float, kinds: Sequence[str] | None = None, faded: Array | None = None
) -> tuple[list[int], list[int]]:
    """Order the labels and components of the map.

    Labels are compared by the components they use (Hellinger's distance). Components are in blocks:
    common (the background first), shared, joined, own, and faded. Common components are sorted by
    how much they are used. Shared, joined and own components are sorted by the first label to which
    they matter, in the order of labels, then by the second, and so on. Components of the same
    labels are then neighbours.

    Without scopes, components are compared by the distance between the labels they serve
    (Wasserstein's distance), which puts blocks on the diagonal. Components that matter to no label
    come last.

    Parameters
    ----------
    use : array of shape (n_labels, K)
        Part of each component in each label.
    matters : float
        A component matters to a label if it is at least this part of the label.
    kinds, faded
        As in ``map_blocks``; None if no component has faded.

    Returns
    -------
    labels, components : lists of int
        Permutations of the rows and columns.
    """
    faded = np.zeros(use.shape[1], dtype=bool) if faded is None else np.asarray(faded, dtype=bool)
    blocks = np.array(map_blocks(kinds, faded), dtype=object)
    labels = order_rows(np.sqrt(use[:, ~faded]), "euclidean")
    components: list[int] = []
    for block in sorted(set(blocks), key=_RANKS.__getitem__):
        members = np.flatnonzero(blocks == block)
        if block == "common":
            rank = np.array([_RANKS[kind] for kind in kinds or ()])[members]
            members = members[np.lexsort((-use[:, members].sum(axis=0), rank))]
        elif block in ("shared", "joined", "own"):
            members = members[_stairs(use[labels][:, members], matters)]
        elif block != "faded":
            members = members[_along_labels(use[labels][:, members], matters)]
        components += members.tolist()
    return labels, components


def order_components(parts: Array) -> list[int]:
    """Order components without labels by the similarity of their terms, (K, n_terms)."""
    return order_rows(np.sqrt(parts), "euclidean")


def order_rows(rows: Array, metric: str) -> list[int]:
    """Order rows such that neighbours are similar."""
    n = len(rows)
    if n < 3:  # all orders are equally good
        return list(range(n))
    distances = pdist(rows, metric)
    tree = linkage(distances, "average", optimal_ordering=n <= _MOST_OPTIMAL)
    return [int(i) for i in leaves_list(tree)]


def _stairs(use: Array, matters: float) -> list[int]:
    """Sort components by the positions of the labels they matter to, then by their use."""
    least = np.minimum(matters, use.max(axis=0))
    keys = [
        (np.flatnonzero(row >= low).tolist(), -row.sum())
        for row, low in zip(use.T, least, strict=True)
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _along_labels(use: Array, matters: float) -> Array:
    """Order components by the positions of the labels they serve; rows are in label order."""
    matter = use.max(axis=0) >= matters
    served, others = np.flatnonzero(matter), np.flatnonzero(~matter)
    profiles = use[:, served] / np.maximum(use[:, served].sum(axis=0), _TINY)
    components = order_rows(np.cumsum(profiles, axis=0).T, "cityblock")
    places = np.arange(len(use)) @ profiles  # mean position of the labels that a component serves
    return np.concatenate([served[_rising(components, places)], others])


def _rising(order: list[int], places: Array) -> list[int]:
    """Return the order or its reverse, such that positions increase."""
    if not order:
        return order
    along = places[order]
    rises = np.arange(len(order)) @ (along - along.mean())
    return order if rises >= 0 else order[::-1]
