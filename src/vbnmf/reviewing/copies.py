"""Find what contradicts itself: copies of a document with different labels, and labels spelt twice.

Copies are documents of the same terms and weights, and near-duplicates, as folds define them
(``prediction.dividing``). At most one of two different labels of a copy is right, whatever a model
says, if each document has one label.

Two labels are spelt alike if they are equal after case, accents, punctuation, spaces and a plural s
are removed ("Billing ", "billing", "Billings"), or if one letter is changed, added or lost inside
a word of at least five letters, or two neighbouring letters change places ("Biling"). A label that
differs by such a slip must be rare beside the other one. Digits are never ignored: "class 1" and
"class 2" are two labels.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from vbnmf.core.model import Array
from vbnmf.core.rows import content_keys, is_empty
from vbnmf.evaluation.parts import Part
from vbnmf.prediction.dividing import near_duplicates

_SHORTEST_SLIP = 5  # letters of a label that may have a slip
_RARE = 0.2  # documents of a label with a slip, relative to those of the other label


@dataclass(frozen=True)
class Copies:
    """Copies of one document that have different labels.

    Attributes
    ----------
    rows : list of int
        The documents, in the order of the file.
    labels : list of list of int
        Labels of each, as positions in ``part.subject.names``.
    identical : bool
        Whether all have the same terms and weights.
    """

    rows: list[int]
    labels: list[list[int]]
    identical: bool


def copies_that_differ(part: Part) -> list[Copies]:
    """List the groups of copies that have different labels, the largest first.

    Documents without a label or without a known term are ignored.
    """
    rows = np.flatnonzero((np.diff(part.Y.indptr) > 0) & ~is_empty(part.X))
    X, Y = part.X[rows], part.Y[rows]
    Y.sort_indices()
    _, key = np.unique(content_keys(X), return_inverse=True)
    group = _joined(near_duplicates(X, np.ones(len(rows))), key)
    order = np.argsort(group, kind="stable")
    found = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if len(members) < 2:
            continue
        labels = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in members]
        if any(one != labels[0] for one in labels):
            same = len(np.unique(key[members])) == 1
            found.append(Copies(rows[members].tolist(), labels, bool(same)))
    return sorted(found, key=lambda one: (-len(one.rows), one.rows))


def _joined(first: Array, second: Array) -> Array:
    """Number the groups of documents that are together in either of two partitions."""
    n = len(first)
    ends = (np.concatenate([first, first.max(initial=-1) + 1 + second]), np.tile(np.arange(n), 2))
    links = sparse.coo_array((np.ones(2 * n), ends), (int(ends[0].max(initial=0)) + 1, n)).tocsr()
    return np.asarray(connected_components(links.T @ links, directed=False)[1])


@dataclass(frozen=True)
class Spellings:
    """Labels that are probably one label in several spellings.

    Attributes
    ----------
    labels : list of str
        The spellings, the commonest first. The first one is suggested for all.
    documents : list of int
        Documents of each.
    """

    labels: list[str]
    documents: list[int]


def spelt_alike(labels: Sequence[str], documents: Sequence[int]) -> list[Spellings]:
    """List the labels that differ in case, spaces or spelling only.

    Parameters
    ----------
    labels : sequence of str of length n_labels
        Names of labels.
    documents : sequence of int of length n_labels
        Documents of each label; labels without any are ignored.

    Returns
    -------
    list of Spellings
        Groups of at least two labels, those with the most documents first.

    Examples
    --------
    >>> found = spelt_alike(["Billing", "billing", "Biling", "Travel"], [60, 9, 2, 70])
    >>> found[0].labels
    ['Billing', 'billing', 'Biling']
    """
    used = [i for i, n in enumerate(documents) if n > 0]
    used.sort(key=lambda i: (-documents[i], labels[i]))
    groups: dict[str, list[int]] = {}
    for i in used:
        groups.setdefault(_plain(labels[i]), []).append(i)
    total = {key: sum(documents[i] for i in places) for key, places in groups.items()}
    into = {key: key for key in groups}
    for one, other in combinations(sorted(groups, key=lambda key: (-total[key], key)), 2):
        if total[other] <= _RARE * total[one] and into[other] == other and _is_slip(one, other):
            into[other] = into[one]
    joined: dict[str, list[int]] = {}
    for key, places in groups.items():
        joined.setdefault(into[key], []).extend(places)
    found = [sorted(places, key=used.index) for places in joined.values() if len(places) > 1]
    found.sort(key=lambda places: (-sum(documents[i] for i in places), labels[places[0]]))
    return [
        Spellings([labels[i] for i in places], [int(documents[i]) for i in places])
        for places in found
    ]


def _plain(label: str) -> str:
    """Remove case, accents, punctuation, spaces and a plural s; keep letters and digits."""
    letters = unicodedata.normalize("NFKD", label.casefold())
    words = re.findall(r"[^\W_]+", "".join(c for c in letters if not unicodedata.combining(c)))
    cut = [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words]
    return "".join(cut) or label


def _is_slip(one: str, other: str) -> bool:
    """Return whether two plain labels differ by one letter, or by two that changed places."""
    if min(len(one), len(other)) < _SHORTEST_SLIP or abs(len(one) - len(other)) > 1:
        return False
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    end = 0
    while end < min(len(one), len(other)) - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[begin : len(one) - end], other[begin : len(other) - end]
    if begin == 0 or any(c.isdigit() for c in left + right):
        return False
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])
