"""In which order labels and components stand on the map, so that its blocks show.

Leaves of a hierarchical clustering, ordered so that neighbours are alike
(``scipy.cluster.hierarchy``). What is compared is decided here, how it is drawn is not.
"""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from vbnmf.core.model import Array

_MOST_OPTIMAL = 1000  # leaves; the best order of more takes seconds, and looks much the same
_TINY = np.finfo(float).tiny


def order_map(use: Array, matters: float) -> tuple[list[int], list[int]]:
    """Order of labels and of components on the map.

    Labels are compared by the components they use (Hellinger's distance). Components are compared
    by how far the labels they serve lie apart in the order of labels just found (Wasserstein's
    distance), which puts blocks on the diagonal. Components that matter to no label, and so lie
    nowhere, come last.

    Parameters
    ----------
    use : array of shape (n_labels, K)
        Part of each component in each label.
    matters : float
        Part of a label from which a component matters to it.

    Returns
    -------
    labels, components : lists of int
        Permutations of the rows and columns.
    """
    labels = order_rows(np.sqrt(use), "euclidean")
    matter = use.max(axis=0) >= matters
    served, others = np.flatnonzero(matter), np.flatnonzero(~matter)
    profiles = use[labels][:, served]
    profiles = profiles / np.maximum(profiles.sum(axis=0), _TINY)
    components = order_rows(np.cumsum(profiles, axis=0).T, "cityblock")
    places = np.arange(len(labels)) @ profiles  # mean place of the labels that a component serves
    return labels, [*served[_rising(components, places)].tolist(), *others.tolist()]


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


def _rising(order: list[int], places: Array) -> list[int]:
    """The order or its reverse, whichever leads from the first places to the last."""
    if not order:
        return order
    along = places[order]
    rises = np.arange(len(order)) @ (along - along.mean())
    return order if rises >= 0 else order[::-1]
