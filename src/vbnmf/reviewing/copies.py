"""Find what contradicts itself: copies of a document with different labels, and labels spelt twice.

Copies are documents of the same terms and weights, and near-duplicates, as folds define them
(``prediction.dividing``). At most one of two different labels of a copy is right, whatever a model
says, if each document has one label.

Two labels are spelt alike if they are equal after case, accents, punctuation, spaces and a plural s
are removed ("Billing ", "billing", "Billings"), or if one letter is changed, added or lost inside
a word of at least five letters, or two neighbouring letters change places ("Biling"). A label that
differs by such a slip must be rare beside the other one. What tells labels apart is never ignored:

- digits, a sign before them, and what stands between them: "class 1" and "class 2", "-1" and "1",
  "<18" and ">18", "1.5" and "15";
- signs after a word: "A", "A+" and "A-", "C", "C++" and "C#";
- emoji and currencies;
- marks that make another letter: vowels of Hindi and Thai, voice marks of Japanese, the bow of "й".
  Accents of Latin and Greek letters, the dots of "ё", and points of Arabic and Hebrew are ignored.
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
from vbnmf.tabular import width

_SHORTEST_SLIP = 5  # letters of a word that may have a slip
_RARE = 0.2  # documents of a label with a slip, relative to those of the other label
_ACCENTED = ("LATIN", "GREEK", "ARABIC", "HEBREW")  # scripts whose letters may lose their marks
_DIAERESIS = "\u0308"  # of the Cyrillic "ё", which is often written without it
_WORD = re.compile(
    r"((?<!\S)[-+](?=\w)|[<>=≤≥~±]\s*(?=\d))?"  # a sign before it
    r"(?:[^\W_]|(?<=\d)[\W_]+(?=\d))+"  # letters and digits, with all between two digits
    r"([+#]+|(?<=\b[^\W_])-(?!\S))?"  # signs after it
)
_SPACED = re.compile(r"\s*([^\w\s]+)\s*|(?<=\s)\s+")  # a sign with the spaces around it


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
        groups.setdefault("".join(_words(labels[i])), []).append(i)
    total = {key: sum(documents[i] for i in places) for key, places in groups.items()}
    words = {key: _words(labels[places[0]]) for key, places in groups.items()}
    into = {key: key for key in groups}
    for one, other in combinations(sorted(groups, key=lambda key: (-total[key], key)), 2):
        is_rare = total[other] <= _RARE * total[one] and into[other] == other
        if is_rare and _have_a_slip(words[one], words[other]):
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


def _words(label: str) -> list[str]:
    """Split into words without case, accents, punctuation and a plural s; see the file's head."""
    letters = "".join(map(_as_letters, _without_accents(label.casefold())))
    words = [_SPACED.sub(r"\1", found[0]) for found in _WORD.finditer(letters)]
    cut = [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words]
    return cut or [label]


def _without_accents(text: str) -> str:
    """Remove the marks that do not make another letter, and invisible characters."""
    kept, base = [], ""
    for c in unicodedata.normalize("NFKD", text):
        if unicodedata.category(c)[0] != "M":
            base = c
        elif unicodedata.name(base, "").startswith(_ACCENTED) or c == _DIAERESIS:
            continue
        if unicodedata.category(c) != "Cf" and not "\ufe00" <= c <= "\ufe0f":
            kept.append("-" if c == "\u2212" else c)
    return "".join(kept)


def _as_letters(c: str) -> str:
    """Write a mark, an emoji or a currency as its number between letters."""
    return f"ˣ{ord(c)}ˣ" if unicodedata.category(c) in ("Mn", "Mc", "Me", "So", "Sc") else c


def _have_a_slip(one: list[str], other: list[str]) -> bool:
    """Return whether all words are the same but one, in which there is a slip."""
    if len(one) != len(other):
        return False
    differ = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(differ) == 1 and _is_slip(*differ[0])


def _is_slip(one: str, other: str) -> bool:
    """Return whether two words differ by one letter, or by two that changed places."""
    if min(len(one), len(other)) < _SHORTEST_SLIP or abs(len(one) - len(other)) > 1:
        return False
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    end = 0
    while end < min(len(one), len(other)) - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[begin : len(one) - end], other[begin : len(other) - end]
    if begin == 0 or not all(c.isalpha() and width(c) == 1 for c in left + right):
        return False  # a digit, a sign, or a letter that is a word of its own
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])
