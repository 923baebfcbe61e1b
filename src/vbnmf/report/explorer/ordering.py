"""In which order labels and components stand on the map, so that its blocks show.

Leaves of a hierarchical clustering, ordered so that neighbours are alike
(``scipy.cluster.hierarchy``), inside blocks of components by scope. What is compared is decided
here, how it is drawn is not. The page and ``LabelMapDisplay`` both stand in this order.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from vbnmf.core.model import Array

_MOST_OPTIMAL = 1000  # leaves; the best order of more takes seconds, and looks much the same
_TINY = np.finfo(float).tiny
_RANKS = {"background": 0, "common": 1, "shared": 2, "own": 3, "": 4, "faded": 5}


def map_blocks(kinds: Sequence[str] | None, faded: Array) -> list[str]:
    """Block of the map that each component stands in.

    Parameters
    ----------
    kinds : sequence of str or None
        Kinds of scope, as of ``report.scopes.Scope``; None where scopes say nothing.
    faded : array of bool of shape (K,)
        Components that serve nobody, whatever their scope.

    Returns
    -------
    list of str
        "common", "shared", "own", "faded"; "" for those of no known kind.
    """
    known = [""] * len(faded) if kinds is None else kinds
    known = ["common" if kind == "background" else kind for kind in known]
    return ["faded" if gone else kind for kind, gone in zip(known, faded, strict=True)]


def runs(blocks: Sequence[str]) -> list[tuple[str, int]]:
    """Blocks beside each other with how many columns each has."""
    return [(name, len(list(members))) for name, members in groupby(blocks)]


def order_map(
    use: Array, matters: float, kinds: Sequence[str] | None = None, faded: Array | None = None
) -> tuple[list[int], list[int]]:
    """Order of labels and of components on the map.

    Labels are compared by the components they use (Hellinger's distance). Components stand in
    blocks: what is common to all labels, the background first, what some share, what one has
    alone, and what has faded. Common ones stand by how much they are used, shared ones and those of
    one label by the first label they matter to in the order just found, then by the next, so that
    those of the same labels are neighbours. Where kinds are not known, components are compared by
    how far the labels they serve lie apart (Wasserstein's distance), which puts blocks on the
    diagonal; those that matter to no label, and so lie nowhere, come last.

    Parameters
    ----------
    use : array of shape (n_labels, K)
        Part of each component in each label.
    matters : float
        Part of a label from which a component matters to it.
    kinds, faded
        As of ``map_blocks``; None: no component has faded.

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
        elif block in ("shared", "own"):
            members = members[_stairs(use[labels][:, members], matters)]
        elif block != "faded":
            members = members[_along_labels(use[labels][:, members], matters)]
        components += members.tolist()
    return labels, components


def order_components(parts: Array) -> list[int]:
    """Order of components without labels, compared by their terms, (K, n_terms)."""
    return order_rows(np.sqrt(parts), "euclidean")


def order_rows(rows: Array, metric: str) -> list[int]:
    """Order in which neighbouring rows are alike."""
    n = len(rows)
    if n < 3:  # no order is better than another
        return list(range(n))
    distances = pdist(rows, metric)
    tree = linkage(distances, "average", optimal_ordering=n <= _MOST_OPTIMAL)
    return [int(i) for i in leaves_list(tree)]


def _stairs(use: Array, matters: float) -> list[int]:
    """Components by the places of the labels they matter to, then by how much they are used."""
    least = np.minimum(matters, use.max(axis=0))
    keys = [
        (np.flatnonzero(row >= low).tolist(), -row.sum())
        for row, low in zip(use.T, least, strict=True)
    ]
    return sorted(range(len(keys)), key=keys.__getitem__)


def _along_labels(use: Array, matters: float) -> Array:
    """Order of components by where the labels they serve stand; rows are in the order of labels."""
    matter = use.max(axis=0) >= matters
    served, others = np.flatnonzero(matter), np.flatnonzero(~matter)
    profiles = use[:, served] / np.maximum(use[:, served].sum(axis=0), _TINY)
    components = order_rows(np.cumsum(profiles, axis=0).T, "cityblock")
    places = np.arange(len(use)) @ profiles  # mean place of the labels that a component serves
    return np.concatenate([served[_rising(components, places)], others])


def _rising(order: list[int], places: Array) -> list[int]:
    """The order or its reverse, whichever leads from the first places to the last."""
    if not order:
        return order
    along = places[order]
    rises = np.arange(len(order)) @ (along - along.mean())
    return order if rises >= 0 else order[::-1]
