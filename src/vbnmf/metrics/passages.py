"""Find passages that recur in documents: signatures, quoted headers, boilerplate.

The terms of a passage come and go together: all of them are in nearly the same documents, whatever
else these documents say. The terms of a topic are not, because each document on it uses some.

    D(w)    documents that have term w
    C       core of a set of terms: the documents that have at least half of them
    J(w, C) = |D(w) ∩ C| / |D(w) ∪ C|, Jaccard index

A passage is a set of at least ``LEAST_TERMS`` terms with J(w, C) ≥ ``SAME`` and a core of at least
``LEAST_DOCUMENTS`` different documents, and the number of its terms times that of these documents
is at least ``LEAST_EVIDENCE``. Then terms with J(w, C) ≥ ``NEAR`` join it: those of the passage
that some other documents have as well.

The sets are found in a time proportional to the non-zeros of X. The min-hash of D(w) is the same
for two terms with the probability J of their documents. Terms with several equal min-hashes are
candidates, and are then compared with their core. The hash of a document is computed from its
terms, so the order of documents does not matter, and identical documents count as one.

Frequent words of a second language, or fragments of encoded files, may be in the same documents as
well, but not equally often. In the documents of a passage, most of its terms have the same value,
up to a factor of the document. Sets of which this does not hold are left out.

A. Z. Broder (1997). On the resemblance and containment of documents. Proceedings of Compression and
Complexity of Sequences, 21-29.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import parts

LEAST_TERMS, LEAST_DOCUMENTS = 5, 3
"""Fewest terms and fewest different documents of a passage."""

LEAST_EVIDENCE = 40
"""Smallest product of both.

Names of players or of a cast are often together in three or four documents, of which each lists
them by itself. In 116 of 120 sets with this product, the terms stood in the same order in the
texts, in at least 80 % of their pairs: they were repeated text. The sets were of two versions of 20
Newsgroups, and of descriptions of Debian packages with two kinds of labels.
"""

SAME, NEAR = 0.8, 0.65
"""Jaccard indices from which on terms make up a passage, and from which on others join it."""

LARGEST_SHARE = 0.3
"""Terms in a larger share of the documents are left out: common words are together by chance."""

_BANDS, _HASHES = 6, 2  # of J = 0.8, 0.998 of the pairs agree in both hashes of a band
_ROUNDS = 3  # of comparing the terms of a candidate with their core, and of a median polish
_ALIKE, _CONSTANT = 0.2, 0.7  # tolerance of a value, and share of values within it
_NONZEROS_AT_ONCE = 1 << 17  # whose hashes are in memory
_U = np.uint64


@dataclass(frozen=True)
class Passages:
    """Passages that recur, those in most documents first.

    Attributes
    ----------
    terms : tuple of tuples of int
        Columns of the terms of each passage, ascending. A term is in one passage only.
    documents : tuple of int
        Number of documents that have at least half of the terms of each passage.
    examined : int
        Number of documents in which they were searched and counted.

    Examples
    --------
    >>> from vbnmf.metrics import Passages
    >>> found = Passages(terms=((3, 4, 5, 6),), documents=(12,), examined=100)
    >>> len(found)
    1
    """

    terms: tuple[tuple[int, ...], ...]
    documents: tuple[int, ...]
    examined: int

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self.terms)

    def of_terms(self, n_terms: int) -> Array:
        """Return the number of each term's passage, (n_terms,) of int; -1 for all other terms.

        Examples
        --------
        >>> from vbnmf.metrics import Passages
        >>> Passages(terms=((1, 2),), documents=(12,), examined=100).of_terms(4).tolist()
        [-1, 0, 0, -1]
        """
        found = np.full(n_terms, -1)
        for number, columns in enumerate(self.terms):
            found[list(columns)] = number
        return found


def first_of_each(passage: Array) -> Array:
    """Return which terms of a ranked list to show: one of each passage, the first in the list.

    Parameters
    ----------
    passage : array of int of shape (n,)
        Number of the passage of each term in the list; -1 if it is in none.

    Returns
    -------
    ndarray of bool of shape (n,)

    Examples
    --------
    >>> first_of_each(np.array([-1, 2, 2, -1, 0, 2])).tolist()
    [True, True, False, True, True, False]
    """
    shown = passage < 0
    shown[np.unique(passage, return_index=True)[1]] = True
    return np.asarray(shown)


def find_passages(X: Any, *, sample_weight: Array | None = None) -> Passages:
    """Find passages that recur in documents.

    Parameters
    ----------
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents. A document has a term if its weight is positive.
    sample_weight : ndarray of shape (n_docs,) or None
        Weights of documents. Those of weight zero are left out; otherwise weights do not matter.

    Returns
    -------
    Passages
        The passages that were found.

    Examples
    --------
    Eight of forty documents end with the same five terms, whatever else they have.

    >>> X = np.eye(40, 25) + np.eye(40, 25, k=-20) + np.eye(40, 25, k=1)
    >>> X[:, 20:] = 0
    >>> X[::5, 20:] = 1
    >>> found = find_passages(X)
    >>> found.terms, found.documents
    (((20, 21, 22, 23, 24),), (8,))
    """
    rows = sparse.csr_array(X)
    if sample_weight is not None and not sample_weight.all():
        rows = rows[np.flatnonzero(sample_weight)]
    if rows.nnz and rows.data.min() <= 0:
        rows = sparse.csr_array(rows, copy=True)
        rows.eliminate_zeros()
    different, hashes = _different(rows)
    n_docs = np.bincount(different.indices, minlength=rows.shape[1])
    most = LARGEST_SHARE * different.shape[0]
    columns = np.flatnonzero((n_docs >= LEAST_DOCUMENTS) & (n_docs <= most))
    if len(columns) < LEAST_TERMS:
        return Passages((), (), rows.shape[0])
    by_term = sparse.csc_array(different)
    del different  # large, as is each of the next
    by_term = by_term[:, columns]
    sets = _candidates(by_term, hashes)
    sets = _settled(by_term, sets)
    sets = _constant(by_term, sets)
    sets = _joined(by_term, sets)
    del by_term
    return _counted(rows, [columns[sets.terms[sets.group == g]] for g in range(sets.n_groups)])


@dataclass(frozen=True)
class _Sets:
    """Disjoint sets of terms: the terms, and the set of each, from 0 without gaps."""

    terms: Array
    group: Array

    @classmethod
    def of(cls, terms: Array, group: Array) -> Self:
        return cls(terms, np.unique(group, return_inverse=True)[1].astype(np.int64))

    def where(self, kept: Array) -> "_Sets":
        return _Sets.of(self.terms[kept], self.group[kept])

    @property
    def sizes(self) -> Array:
        return np.bincount(self.group)

    @property
    def n_groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1


def _mixed(values: Array) -> Array:
    """Compute hashes of integers, by the finaliser of splitmix64."""
    v = values.astype(_U) + _U(0x9E3779B97F4A7C15)
    v = (v ^ (v >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    v = (v ^ (v >> _U(27))) * _U(0x94D049BB133111EB)
    return np.asarray(v ^ (v >> _U(31)))


def _different(X: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """Return the different documents in an order of their content, and their hashes."""
    of_term, hashes = _mixed(np.arange(X.shape[1])), np.zeros(X.shape[0], _U)
    for at, part in parts(X):
        sums = np.append(_U(0), np.cumsum(of_term[part.indices], dtype=_U))
        hashes[at] = np.diff(sums[part.indptr])
    hashes, first = np.unique(hashes, return_index=True)
    return X[first], hashes


def _candidates(by_term: sparse.csc_array, hashes: Array) -> _Sets:
    """Find sets of terms with equal min-hashes whose documents are nearly the same."""
    from scipy.sparse.csgraph import connected_components  # slow to import

    n_terms = by_term.shape[1]
    links = []
    for band in range(_BANDS):
        key = np.zeros(n_terms, _U)
        for number in range(_HASHES):
            seed = _mixed(np.array([1 + band * _HASHES + number]))
            of_document = _mixed(hashes ^ seed)
            key = _mixed(key) ^ _least(by_term, of_document)
        _, group, n = np.unique(key, return_inverse=True, return_counts=True)
        enough = np.flatnonzero(n[group] >= LEAST_TERMS)
        sets = _Sets.of(enough, group[enough])
        for _ in range(_ROUNDS):
            same = _Cores.of(by_term, sets).jaccard >= SAME
            sets = sets.where(same)
            sets = sets.where(sets.sizes[sets.group] >= LEAST_TERMS)
        first = np.full(sets.n_groups, n_terms)
        np.minimum.at(first, sets.group, sets.terms)
        links.append(np.array([first[sets.group], sets.terms]))
    pairs = np.hstack(links).astype(np.int64)
    graph = sparse.coo_array((np.ones(pairs.shape[1]), tuple(pairs)), (n_terms, n_terms))
    terms = np.unique(pairs)
    return _Sets.of(terms, connected_components(graph, directed=False)[1][terms])


def _least(by_term: sparse.csc_array, of_document: Array) -> Array:
    """Return the least number of the documents of each term, (n_terms,); each has documents."""
    indptr, out = by_term.indptr, np.empty(by_term.shape[1], of_document.dtype)
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], _NONZEROS_AT_ONCE))
    for begin, end in pairwise(np.unique(np.append(cuts, len(out))).tolist()):
        at = slice(indptr[begin], indptr[end])
        starts = indptr[begin:end] - at.start
        out[begin:end] = np.minimum.reduceat(of_document[by_term.indices[at]], starts)
    return out


@dataclass(frozen=True)
class _Cores:
    """The cores of sets of terms.

    Attributes
    ----------
    sizes : ndarray of int of shape (n_groups,)
        Documents of each core.
    pairs : ndarray of int of shape (n,)
        Number of the set times that of all documents, plus the document; ascending.
    jaccard : ndarray of shape (n_terms,)
        J of each term with the core of its set.
    """

    sizes: Array
    pairs: Array
    jaccard: Array

    @classmethod
    def of(cls, by_term: sparse.csc_array, sets: _Sets) -> Self:
        n_docs = by_term.shape[0]
        some = by_term[:, sets.terms]
        n_of_term = np.diff(some.indptr)
        group = np.repeat(sets.group, n_of_term)
        pairs, place, n = np.unique(
            group * n_docs + some.indices, return_inverse=True, return_counts=True
        )
        of_pair = pairs // max(n_docs, 1)
        core = 2 * n >= sets.sizes[of_pair]
        sizes = np.bincount(of_pair[core], minlength=sets.n_groups)
        sums = np.concatenate([[0], np.cumsum(core[place])])
        common = sums[some.indptr[1:]] - sums[some.indptr[:-1]]
        jaccard = common / np.maximum(n_of_term + sizes[sets.group] - common, 1)
        return cls(sizes, pairs[core], jaccard)


def _settled(by_term: sparse.csc_array, sets: _Sets) -> _Sets:
    """Remove terms until all are in nearly the same documents as the core, and are enough."""
    while True:
        cores = _Cores.of(by_term, sets)
        enough = (
            (sets.sizes >= LEAST_TERMS)
            & (cores.sizes >= LEAST_DOCUMENTS)
            & (sets.sizes * cores.sizes >= LEAST_EVIDENCE)
        )
        kept = (cores.jaccard >= SAME) & enough[sets.group]
        if kept.all():
            return sets
        sets = sets.where(kept)


def _constant(by_term: sparse.csc_array, sets: _Sets) -> _Sets:
    """Keep sets whose terms have the same values in most documents of the core."""
    n_docs = by_term.shape[0]
    pairs = _Cores.of(by_term, sets).pairs
    kept = np.zeros(sets.n_groups, bool)
    for g in range(sets.n_groups):
        begin, end = np.searchsorted(pairs, [g * n_docs, (g + 1) * n_docs])
        values = by_term[:, sets.terms[sets.group == g]].tocsr()[pairs[begin:end] - g * n_docs]
        kept[g] = constancy(values.toarray()) >= _CONSTANT
    return sets.where(kept[sets.group])


def constancy(values: Array) -> float:
    """Compute how constant the values of terms are in documents, up to a factor of each document.

    Parameters
    ----------
    values : array of shape (n_docs, n_terms)
        Weights of terms. A zero is missing.

    Returns
    -------
    float
        Share of the positive values within 20 % of the product of a factor of their document and
        one of their term. The factors are those of a median polish of the logarithms.
    """
    has = values > 0
    logs = np.where(has, np.log(np.where(has, values, 1.0)), np.nan)
    for axis in (0, 1) * _ROUNDS:
        logs -= np.nanmedian(logs, axis=axis, keepdims=True)
    return float((np.abs(logs[has]) <= np.log1p(_ALIKE)).mean())


def _joined(by_term: sparse.csc_array, sets: _Sets) -> _Sets:
    """Let terms join the set with the nearest core, if it is near enough."""
    n_docs, n_terms = by_term.shape
    cores = _Cores.of(by_term, sets)
    group, document = np.divmod(cores.pairs, max(n_docs, 1))
    of_sets = sparse.csr_array(
        (np.ones(len(group), np.int32), (document, group)), (n_docs, sets.n_groups)
    )
    w, g, common = _common(sparse.csr_array(by_term.T, copy=False), of_sets)
    jaccard = common / (np.diff(by_term.indptr)[w] + cores.sizes[g] - common)
    of_term = np.full(n_terms, -1)
    near = np.flatnonzero(jaccard >= NEAR)
    near = near[np.lexsort((-g[near], jaccard[near]))]  # the last one counts: the nearest core
    of_term[w[near]] = g[near]
    of_term[sets.terms] = sets.group
    terms = np.flatnonzero(of_term >= 0)
    return _Sets.of(terms, of_term[terms])


def _counted(X: sparse.csr_array, found: list[Array]) -> Passages:
    """Count the documents that have at least half of the terms of each passage, and sort."""
    if not found:
        return Passages((), (), X.shape[0])
    sizes = np.array([len(columns) for columns in found])
    member = sparse.csr_array(
        (
            np.ones(sizes.sum(), np.int32),
            (np.concatenate(found), np.repeat(np.arange(len(found)), sizes)),
        ),
        (X.shape[1], len(found)),
    )
    _, passage, common = _common(X, member)
    half = 2 * common >= sizes[passage]
    documents = np.bincount(passage[half], minlength=len(found)).tolist()
    columns = [tuple(terms.tolist()) for terms in found]
    order = sorted(range(len(found)), key=lambda i: (-documents[i], columns[i]))
    return Passages(
        tuple(columns[i] for i in order), tuple(documents[i] for i in order), X.shape[0]
    )


def _common(X: sparse.csr_array, member: sparse.csr_array) -> tuple[Array, Array, Array]:
    """Count the columns that each row of X has in common with each set of them.

    ``member``, (n_columns, n_sets) of int32, has ones. Returns the rows and sets with common
    columns, and their numbers. Rows are visited in parts, because their ones are large.
    """
    found = [(np.zeros(0, np.int64),) * 3]
    for at, part in parts(X):
        has = sparse.csr_array(
            (np.ones_like(part.indices, np.int32), part.indices, part.indptr), part.shape
        )
        common = sparse.coo_array(has @ member)
        found.append((at.start + common.row, common.col, common.data))
    row, group, number = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return row, group, number
