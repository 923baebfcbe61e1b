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

Parts that were chosen by some words are always apart in these words. So the ratio is computed a
second time with parts that one half of the words has chosen and similarities of the other half, in
both ways. The measure is the geometric mean of both. Only labels of at least 20 documents count.

Every label can be divided somewhere, and in some corpora all labels have many topics. So the
measure is tried on the documents themselves: pairs of labels are fused, and their ratios are
compared with those of all labels as they are. The *separation* is the probability that a fused
label has a smaller ratio than another (0.5 is chance). A label is flagged if the separation is at
least 0.8 and its ratio is not above the median of fused labels (or 0.3, if that is more): about
half of fused labels are flagged then. Otherwise none is. Below 0.65 the ranking is hardly better
than chance. On training parts of eight corpora with fused labels (2,500 to 5,000 documents, means
over three draws), the separation was 0.90 to 0.97 on clinc150, thucnews and 20 Newsgroups, where 20
to 39 % of fused labels and at most 2 % of the others were flagged, and 0.60 to 0.76 on trec,
debian, booktitles, cuisine and healthtweets, where nothing is flagged. What the test said before
was at most 0.15 away, mostly below.

Other measures were tried on the same corpora, and none was better: words weighted by how much they
say about labels, the second eigenvalue of the graph of nearest documents inside a label, its rank
and that of this measure together, and parts by left-out probabilities of other labels, by
components or by latent semantic analysis.
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
SEPARATES = 0.8
"""Separation of fused labels from others, from which on labels are flagged."""
APART = 0.3
"""Ratio below which parts are apart, even if those of fused labels are more so."""
NEAR_CHANCE = 0.65
"""Separation below which the ranking says too little to be shown."""

_ENDS = 0.01, 100.0  # of a ratio, where sets have hardly a word in common
_FUSED = 30  # pairs of labels that are fused for a test
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
        Probabilities of labels, such as left-out ones (``evaluation.judging``); None for
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
        Whether the ratio is as small as those of fused labels, where these can be told apart.
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


@dataclass(frozen=True, eq=False)
class LabelSplits:
    """Labels that could be two, and how far the ranking can be trusted.

    Attributes
    ----------
    labels : list of LabelSplit
        The most separate parts first.
    separation : float or None
        Probability that the ratio of two fused labels is smaller than that of a label; None if
        there are too few labels to try.
    """

    labels: list[LabelSplit]
    separation: float | None


def labels_to_split(part: Part) -> LabelSplits:
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
        return LabelSplits([], None)
    present = sparse.csr_array(part.X[rows] > 0, dtype=np.float64)
    Y = sparse.csr_array(part.Y[rows].T, dtype=np.float64)
    halves = np.random.default_rng(0).permutation(present.shape[1]) % 2 == 0
    views = [_View.of(present, Y, chosen) for chosen in (None, halves, ~halves)]
    keys = content_keys(part.X[rows])
    members = [np.sort(Y.indices[Y.indptr[i] : Y.indptr[i + 1]]) for i in range(Y.shape[0])]
    enough = [i for i, mine in enumerate(members) if len(mine) >= FEWEST_DOCUMENTS]
    found = []
    for label in enough:
        divided = _measured(members[label], [label], views, keys)
        if divided is None:
            continue
        ratio, closest, (first, second) = divided
        found.append(
            LabelSplit(
                label,
                ratio,
                False,
                closest,
                (rows[first], rows[second]),
                (_terms(present, first, second), _terms(present, second, first)),
            )
        )
    fused = _fused(members, enough, views, keys)
    separation = _separation(fused, np.array([one.ratio for one in found]))
    if separation is not None and separation >= SEPARATES:
        limit = max(float(np.median(fused)), APART)
        found = [replace(one, flagged=one.ratio <= limit) for one in found]
    return LabelSplits(sorted(found, key=lambda one: one.ratio), separation)


def _fused(
    members: list[Array], enough: list[int], views: "list[_View]", keys: Array
) -> list[float]:
    """Return the ratios of pairs of labels that are taken as one label."""
    order = np.random.default_rng(0).permutation(enough)
    pairs = list(zip(order, np.roll(order, 1), strict=True))[: _FUSED if len(order) > 2 else 0]
    found = []
    for a, b in pairs:
        both = np.union1d(members[a], members[b])
        if np.intersect1d(members[a], members[b]).size == 0:
            divided = _measured(both, [int(a), int(b)], views, keys)
            found += [] if divided is None else [divided[0]]
    return found


def _separation(fused: list[float], others: Array) -> float | None:
    """Return the probability that a fused label has a smaller ratio than another label."""
    if not fused or not len(others):
        return None
    few = np.array(fused)[:, None]
    return float(np.mean(few < others) + np.mean(few == others) / 2)


@dataclass(frozen=True, eq=False)
class _View:
    """Documents as vectors of some of the words, and the sets of documents of labels."""

    A: sparse.csr_array
    labels: "_Sets"

    @classmethod
    def of(cls, present: sparse.csr_array, Y: sparse.csr_array, words: Array | None) -> "_View":
        """Compute vectors of all words, or of the chosen ones."""
        weighted = present.copy() if words is None else present[:, np.flatnonzero(words)]
        idf = np.log(present.shape[0] / np.maximum(np.asarray(weighted.sum(axis=0)).ravel(), 1))
        weighted.data = idf[weighted.indices]
        A = of_unit_length(weighted)
        return cls(A, _Sets.of(Y, A))

    def ratio(self, mine: Array, side: Array, own: list[int]) -> tuple[float, Array] | None:
        """Return the ratio of two parts of documents, and the nearest other label of each."""
        sets = self.labels
        usable = (sets.sizes >= FEWEST_DOCUMENTS) & (sets.within > 0)
        usable[own] = False
        others = np.flatnonzero(usable)
        both = sparse.csr_array(np.stack([side > 0, side <= 0]), dtype=np.float64)
        halves = _Sets.of(both, self.A[mine])
        if not len(others) or (halves.within <= 0).any():
            return None
        near = sets.some(others).similarity(halves)
        ratio = float(halves.similarity(halves)[0, 1] / max(near.max(axis=0).min(), _TINY))
        return float(np.clip(ratio, *_ENDS)), others[near.argmax(axis=0)]


def _measured(
    mine: Array, own: list[int], views: list[_View], keys: Array
) -> tuple[float, tuple[int, int], tuple[Array, Array]] | None:
    """Divide documents; return the ratio, the nearest labels and both parts, the larger first."""
    whole, *halves = views
    side = _divided(whole.A[mine], keys[mine])
    found = None if side is None else whole.ratio(mine, side, own)
    if side is None or found is None:
        return None
    logs = [np.log(found[0])]
    for chosen, other in (halves, halves[::-1]):
        by_half = _divided(chosen.A[mine], keys[mine])
        again = None if by_half is None else other.ratio(mine, by_half, own)
        logs += [] if again is None else [np.log(again[0])]
    first = logs[0] if len(logs) == 1 else (logs[0] + np.mean(logs[1:])) / 2
    sizes = int((side > 0).sum()), int((side <= 0).sum())
    parts = [
        mine[np.argsort(s, kind="stable")][:n] for s, n in zip((-side, side), sizes, strict=True)
    ]
    order = [0, 1] if len(parts[0]) >= len(parts[1]) else [1, 0]
    near = (int(found[1][order[0]]), int(found[1][order[1]]))
    return float(np.exp(first)), near, (parts[order[0]], parts[order[1]])


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
