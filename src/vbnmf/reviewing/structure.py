"""Rank pairs of labels that could be one label, and labels that could be two.

**One label.** Two labels could be one if their documents are confused, and if they have the same
words and components:

    score = (c_ij + c_ji) / (N_i + N_j) · (w_ij + u_ij) / 2

    c_ij    documents of label i that are predicted as j and not as i;   N_i   documents of label i
    w_ij    cosine of their words (``description.labels.similarities``)
    u_ij    Σ_k min(p(k|i), p(k|j)), what their shares of components have in common

Without labelled documents there are no confusions, and the score is the second factor alone.

**Two labels.** A label could be two if its documents fall into two parts that are less similar to
each other than each is to some other label. The parts are those of spherical 2-means. Documents are
vectors of unit length with the IDF of each term that occurs. The similarity of two sets of
documents is the mean cosine of their pairs, relative to the pairs inside each set, so that it does
not depend on their numbers:

    s(A, B) = mean cos(a, b) / √(mean cos(a, a′) · mean cos(b, b′))
    ratio   = s(A, B) / min(max_l s(A, l), max_l s(B, l)),    l all other labels

Only labels of at least 20 documents count. Every label can be divided somewhere. It is flagged if
the ratio is below 0.9 and below three quarters of the median over labels. Of eleven measures (cuts
of graphs of neighbours, similarities of halves, relative to other labels or not), this one
separated labels that were fused from others best, on average over five corpora.

The limits were set by looking at fused labels of 20 Newsgroups. There, no other label was flagged,
and two labels that are hard to tell apart anyway (guns and politics) were not flagged when fused.
In corpora of short texts, a fifth to two fifths of the labels that were not fused are flagged too:
read the ranking, and then the documents.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import content_keys, is_empty, of_unit_length
from vbnmf.description.components import label_use
from vbnmf.description.labels import similarities
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.logodds import characteristic_terms

FEWEST_DOCUMENTS = 20
"""Documents that a label needs to be examined for two parts."""
APART = 0.9
"""Ratio of similarities below which a label is flagged as two."""
UNUSUAL = 0.75
"""Part of the median ratio over labels below which the ratio of a flagged label must also be."""

_LEAST_SHARE = 0.1  # of the documents of a label in each part
_STARTS, _ROUNDS = 5, 20  # of 2-means
_N_TERMS = 10  # of each part
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class LabelMerge:
    """Two labels that could be one.

    Attributes
    ----------
    first, second : int
        The labels, as positions in ``part.subject.names``; the one with more documents first.
    score : float
        The larger, the more similar.
    documents : tuple of two int
        Labelled documents of each.
    confused : tuple of two int, or None
        Documents of the first that are predicted as the second and not as the first, and the
        reverse; None without labelled documents.
    words, components : float
        What their words and their components have in common, from 0 to 1.
    """

    first: int
    second: int
    score: float
    documents: tuple[int, int]
    confused: tuple[int, int] | None
    words: float
    components: float


def labels_to_merge(part: Part, probabilities: Array | None = None) -> list[LabelMerge]:
    """Rank all pairs of labels by how much they look like one label.

    Parameters
    ----------
    part : Part
        Documents, and a model that was fitted with labels.
    probabilities : array of shape (n_docs, n_labels) or None
        Probabilities of labels, such as left-out ones (``labelerrors.judge``); None for
        predictions.

    Returns
    -------
    list of LabelMerge
        The pair that looks most like one label first. Pairs without anything in common are left
        out.
    """
    estimator, n = part.subject.estimator, part.subject.n_labels
    use = label_use(estimator)
    words = np.zeros((n, n))
    if getattr(estimator, "label_term_documents_", None) is not None:
        words = similarities(estimator, range(n))
    counts = np.asarray(part.Y[:, :n].sum(axis=0)).ravel().astype(int)
    confused = confusions(part, probabilities) if part.labelled.n_docs else None
    found = []
    for i, j in combinations(range(n), 2):
        if (counts[j], -j) > (counts[i], -i):
            i, j = j, i
        common = float(np.minimum(use[i], use[j]).sum())
        score, both = (float(words[i, j]) + common) / 2, None
        if confused is not None:
            both = (int(confused[i, j]), int(confused[j, i]))
            score *= sum(both) / max(int(counts[i] + counts[j]), 1)
        if score > 0:
            n_docs = (int(counts[i]), int(counts[j]))
            found.append(LabelMerge(i, j, score, n_docs, both, float(words[i, j]), common))
    return sorted(found, key=lambda one: -one.score)


def confusions(part: Part, probabilities: Array | None = None) -> Array:
    """Count documents by a given label that is not predicted and a predicted one that is not given.

    If each document has one label, these are the confusions of labels. Parameters are as for
    ``labels_to_merge``.

    Returns
    -------
    ndarray of int of shape (n_labels, n_labels)
        Given labels are rows, and predicted labels columns.
    """
    rows = np.flatnonzero(np.diff(part.Y.indptr))
    P = part.labelled.probabilities if probabilities is None else probabilities[rows]
    given = part.Y[rows][:, : part.subject.n_labels].toarray() > 0
    predicted = part.subject.estimator.indicators_from(P) > 0
    missed, other = (sparse.csr_array(a, dtype=np.int64) for a in
                     (given & ~predicted, predicted & ~given))  # fmt: skip
    return np.asarray((missed.T @ other).toarray())


@dataclass(frozen=True, eq=False)
class LabelSplit:
    """A label that could be two.

    Attributes
    ----------
    label : int
        The label, as a position in ``part.subject.names``.
    ratio : float
        Similarity of its two parts, relative to that of each part to its nearest other label; the
        smaller, the more separate they are.
    flagged : bool
        Whether the ratio is below ``APART``, and ``UNUSUAL`` beside other labels.
    nearest : tuple of two int
        The other label that is most similar to each part.
    parts : tuple of two ndarrays of int
        The documents of each part, as rows, the most typical first; the larger part first.
    terms : tuple of two lists of (int, int, int)
        Terms that are characteristic of each part: column, documents of this part that have it, and
        documents of the other part.
    """

    label: int
    ratio: float
    flagged: bool
    nearest: tuple[int, int]
    parts: tuple[Array, Array]
    terms: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]


def labels_to_split(part: Part) -> list[LabelSplit]:
    """Divide the documents of each label into two parts; the most separate parts first.

    Labels of fewer than ``FEWEST_DOCUMENTS`` documents with known terms are left out, and labels
    whose documents cannot be divided. There must be at least two labels.

    Parameters
    ----------
    part : Part
        Documents with labels.
    """
    rows = np.flatnonzero((np.diff(part.Y.indptr) > 0) & ~np.asarray(is_empty(part.X)))
    if not len(rows):
        return []
    present = sparse.csr_array(part.X[rows] > 0, dtype=np.float64)
    idf = np.log(len(rows) / np.maximum(np.asarray(present.sum(axis=0)).ravel(), 1))
    weighted = present.copy()
    weighted.data = idf[weighted.indices]
    A, keys = of_unit_length(weighted), content_keys(part.X[rows])
    Y = sparse.csc_array(part.Y[rows], dtype=np.float64)
    labels = _Sets.of(sparse.csr_array(Y.T), A)
    enough = (labels.sizes >= FEWEST_DOCUMENTS) & (labels.within > 0)
    found = []
    for label in range(Y.shape[1]):
        mine = np.sort(Y.indices[Y.indptr[label] : Y.indptr[label + 1]])
        side = _divided(A[mine], keys[mine]) if len(mine) >= FEWEST_DOCUMENTS else None
        others = np.flatnonzero(enough & (np.arange(Y.shape[1]) != label))
        if side is None or not len(others):
            continue
        both = sparse.csr_array(np.stack([side > 0, side <= 0]), dtype=np.float64)
        halves = _Sets.of(both, A[mine])
        if (halves.within <= 0).any():
            continue
        near = labels.some(others).similarity(halves)
        ratio = float(halves.similarity(halves)[0, 1] / max(near.max(axis=0).min(), _TINY))
        closest = others[near.argmax(axis=0)]
        parts = [mine[np.argsort(-s, kind="stable")][: int(n)] for s, n in
                 ((side, (side > 0).sum()), (-side, (side <= 0).sum()))]  # fmt: skip
        order = [0, 1] if len(parts[0]) >= len(parts[1]) else [1, 0]
        first, second = (parts[i] for i in order)
        found.append(
            LabelSplit(
                label,
                ratio,
                False,
                (int(closest[order[0]]), int(closest[order[1]])),
                (rows[first], rows[second]),
                (_terms(present, first, second), _terms(present, second, first)),
            )
        )
    usual = float(np.median([one.ratio for one in found])) if found else 0.0
    limit = min(APART, UNUSUAL * usual) if len(found) > 2 else APART
    found = [replace(one, flagged=one.ratio < limit) for one in found]
    return sorted(found, key=lambda one: one.ratio)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets of documents: sums of their vectors, numbers, and mean cosines of pairs inside."""

    sums: sparse.csr_array
    sizes: Array
    within: Array

    @classmethod
    def of(cls, members: sparse.csr_array, A: sparse.csr_array) -> "_Sets":
        """Sum the rows of A in each set; ``members`` has a row for each set."""
        sums = sparse.csr_array(members @ A)
        sizes = np.asarray(members.sum(axis=1)).ravel()
        squares = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()
        return cls(sums, sizes, (squares - sizes) / np.maximum(sizes * (sizes - 1), 1))

    def some(self, at: Array) -> "_Sets":
        """Return some of the sets."""
        return _Sets(self.sums[at], self.sizes[at], self.within[at])

    def similarity(self, other: "_Sets") -> Array:
        """Return the similarities with other sets, (n_sets, n_other)."""
        products = np.asarray((self.sums @ other.sums.T).toarray())
        means = products / np.outer(self.sizes, other.sizes)
        return np.asarray(means / np.sqrt(np.outer(self.within, other.within)))


def _divided(A: sparse.csr_array, keys: Array) -> Array | None:
    """Divide documents into two parts by spherical 2-means.

    Starts are documents spread over the order of ``keys``, each with the document that is least
    similar to it. So the result does not depend on the order of documents.

    Returns
    -------
    ndarray of shape (n_docs,), or None
        Positive in one part, and larger for documents that are more typical of it. None if all
        starts leave less than a tenth of the documents in a part.
    """
    order = np.argsort(keys, kind="stable")
    A = A[order]
    n = A.shape[0]
    best, most = None, -np.inf
    for start in np.linspace(0, n - 1, _STARTS).astype(int).tolist():
        first = A[[start]].toarray().ravel()
        far = int(np.argmin(A @ first))
        centres = np.stack([first, A[[far]].toarray().ravel()])
        last = None
        for _ in range(_ROUNDS):
            near = A @ centres.T
            chosen = near[:, 0] > near[:, 1]
            if last is not None and (chosen == last).all():
                break
            last = chosen
            sums = [np.asarray(A[np.flatnonzero(c)].sum(axis=0)).ravel() for c in (chosen, ~chosen)]
            centres = np.stack(sums)
            centres /= np.maximum(np.sqrt((centres**2).sum(axis=1, keepdims=True)), _TINY)
        value = float(near.max(axis=1).sum())
        if min(chosen.sum(), (~chosen).sum()) >= _LEAST_SHARE * n and value > most:
            best, most = near[:, 0] - near[:, 1], value
    if best is None:
        return None
    side = np.empty(n)
    side[order] = best
    return side


def _terms(present: sparse.csr_array, rows: Array, others: Array) -> list[tuple[int, int, int]]:
    """Return the terms that are characteristic of some documents against others, with counts."""
    n, m = (np.asarray(present[some].sum(axis=0)).ravel().astype(int) for some in (rows, others))
    best = characteristic_terms(n, len(rows), m, len(others), _N_TERMS)
    return [(int(w), int(n[w]), int(m[w])) for w in best]
