"""Train linear support vector machines for many labels, each on a part of the documents.

The machine of a label hardly depends on documents that have nothing in common with it. So labels
that are alike are trained together, ``machines.TOGETHER`` at a time, on

- all documents with one of these labels,
- other documents that are nearest to one of these labels, ``NEAREST`` of each,
- a sample of the rest, ``SAMPLE`` documents, whose weights are raised to those of the rest.

Then all documents are scored. Documents of the rest that the machines take for one of their own are
added, ``MISTAKEN`` of each label at most, and the machines are trained again. The work is about
proportional to the labels, and memory does not hold an array of documents times labels.

Held-out scores come from machines that are trained without one fold. They are only of documents of
this fold.

A machine of very few documents knows too little about the frequencies of its words. So a multiple
of the log-odds of naive Bayes is added to its weights (``log_odds``), if the held-out documents
are predicted better with it. Labels have few documents each where they are many.

References
----------
Prabhu et al. (2018), Parabel: partitioned label trees for extreme classification.
Wang and Manning (2012), Baselines and bigrams: simple, good sentiment and topic classification.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import one_blas_thread, row_products
from vbnmf.core.rows import of_unit_length, without_unused_terms
from vbnmf.discovery.clusters import spherical_clusters
from vbnmf.kernels import kernel_name
from vbnmf.prediction.machines import TOGETHER, Machines, Report, solve_together, stretch

NEAREST = 60
"""Number of other documents nearest to a label on which its machine is trained."""

SAMPLE = 1_000
"""Number of documents that stand for all others."""

MISTAKEN = 30
"""Maximum number of documents that are added for each label, because they were mistaken for it."""

MULTIPLES = (0.1, 0.3, 1.0, 3.0)
"""Multiples of the log-odds of naive Bayes that are tried on held-out documents."""

HELD_OUT_SCORES = 40_000_000
"""Maximum number of held-out documents times labels."""

_ROWS_AT_ONCE = 500  # documents whose scores of all labels are copied, and labels whose weights are
_FOLD = 0  # the fold that is held out
_NEAR = -0.9  # score above which a document of the rest is mistaken for one of the label


def train(
    X: sparse.csr_array,
    dense: Array,
    labels: sparse.csr_array,
    weight: Array,
    fold: Array,
    *,
    n_threads: int = 1,
    report: Report | None = None,
    known: Array | None = None,
    most_weights: int,
) -> Machines:
    """Train a machine for each label, and one without the documents of a fold.

    Parameters are as for ``machines.train``. If there are more weights of sparse features than
    ``most_weights``, the result has only the largest of each label, in a sparse array. It has
    held-out scores of some documents only.
    """
    n_labels, n_terms = labels.shape[1], X.shape[1]
    words = _Words(n_labels, n_terms, most_weights)
    of_dense, intercepts = np.zeros((n_labels, dense.shape[1])), np.zeros(n_labels)
    held = held_out_documents(fold, n_labels)
    left_out = np.zeros((len(held), n_labels), np.float32)
    X_held = sparse.csr_array(sparse.diags_array(stretch(known, len(fold))[held]) @ X[held])
    task = _Task(X, dense, sparse.csc_array(labels), weight, fold, held)

    def run(own: Array) -> tuple[bool, Array]:
        weights, converged = task.solved(own, np.arange(len(weight)))
        words.set(own, weights[:, :n_terms])
        of_dense[own], intercepts[own] = weights[:, n_terms:-1], weights[:, -1]
        rows = np.flatnonzero(fold != _FOLD)
        if len(rows) == 0 or len(held) == 0:
            return converged, np.zeros(2)
        without, also = task.solved(own, rows)
        left_out[:, own] = scores(X_held, dense[held], without)
        squares = [float(np.square(w[:, :-1], dtype=np.float64).sum()) for w in (weights, without)]
        return converged and also, np.array(squares)

    if kernel_name() != "native":
        n_threads = 1  # the random numbers of liblinear belong to the whole process
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        tiles = list(alike(task.sums, np.asarray(weight @ labels)))
        converged, squares = True, np.zeros(2)
        for done, (ended, of_tile) in enumerate(pool.map(run, tiles), 1):
            converged &= ended
            squares += of_tile
            if report is not None:
                report(done, len(tiles))
    others = fold != _FOLD
    odds = [log_odds(X, labels, w) for w in (weight, np.where(others, weight, 0.0))]
    by_odds = sparse.csr_array(X_held @ odds[1].T)
    multiple = _best_multiple(left_out, by_odds, labels[held], weight[held])
    if multiple:
        words.add(multiple * odds[0])
        _add(left_out, by_odds, multiple)
        squares += [float(np.square(multiple * of.data, dtype=np.float64).sum()) for of in odds]
    growth = float(np.sqrt(squares[0] / squares[1])) if squares.all() else 1.0
    return Machines(words.array(), of_dense, intercepts, left_out, growth, converged, held)


def held_out_documents(fold: Array, n_labels: int) -> Array:
    """Return the documents that are held out, or a sample of them if there are very many."""
    held = np.flatnonzero(fold == _FOLD)
    most = max(HELD_OUT_SCORES // max(n_labels, 1), 1)
    return held[:: -(-len(held) // most)] if len(held) else held


def log_odds(X: sparse.csr_array, labels: sparse.csr_array, weight: Array) -> sparse.csr_array:
    """Compute the log-odds of naive Bayes, (n_labels, n_features) in float32.

        log(1 + p(feature | label) / p(feature))

    This is a mixture, in equal parts, of the features of the label and of all documents, compared
    with all documents. A constant that all labels have in common is left out. So features that do
    not occur with the label have zeros.
    """
    sums = sparse.csr_array(sparse.csr_array(labels.T * weight) @ X)
    of_label = np.repeat(np.asarray(sums.sum(axis=1)), np.diff(sums.indptr))
    of_all = np.asarray(weight @ X, dtype=np.float64)
    expected = of_label * (of_all / max(of_all.sum(), np.finfo(float).tiny))[sums.indices]
    ratio = np.divide(sums.data, expected, out=np.zeros(sums.nnz), where=expected > 0)
    return sparse.csr_array(
        (np.log1p(ratio).astype(np.float32), sums.indices, sums.indptr), sums.shape
    )


def _best_multiple(
    scores: Array, by_odds: sparse.csr_array, labels: sparse.csr_array, weight: Array
) -> float:
    """Return the multiple of log-odds with which most held-out documents get a label of theirs.

    It is zero unless they are more by one standard error than without log-odds.
    """
    tried = np.array([0.0, *MULTIPLES])
    right = np.zeros((len(tried), len(scores)))
    for begin in range(0, len(scores), _ROWS_AT_ONCE):
        at = slice(begin, begin + _ROWS_AT_ONCE)
        truth = labels[at].toarray() > 0
        for place, multiple in enumerate(tried):
            found = scores[at].copy()
            _add(found, by_odds[at], multiple)
            right[place, at] = np.take_along_axis(truth, found.argmax(axis=1)[:, None], 1)[:, 0]
    gains = right - right[0]
    gain = row_products(gains, weight)
    clear = gain > np.sqrt(row_products(gains**2, weight))
    return float(tried[np.argmax(np.where(clear, gain, 0.0))])


def _add(scores: Array, more: sparse.csr_array, multiple: float) -> None:
    """Add a multiple of a sparse array to scores, in place."""
    for begin in range(0, len(scores), _ROWS_AT_ONCE):
        part = more[begin : begin + _ROWS_AT_ONCE]
        rows = np.repeat(np.arange(begin, begin + part.shape[0]), np.diff(part.indptr))
        scores[rows, part.indices] += np.float32(multiple) * part.data


def alike(sums: sparse.csr_array, n_docs: Array) -> Iterator[Array]:
    """Divide labels into parts of ``TOGETHER``, so that labels with similar terms are together."""
    n_labels = sums.shape[0]
    cluster = spherical_clusters(sums, n_docs, -(-n_labels // TOGETHER), None)
    order = np.argsort(cluster, kind="stable")
    for begin in range(0, n_labels, TOGETHER):
        yield np.sort(order[begin : begin + TOGETHER])


def scores(X: sparse.csr_array, dense: Array, weights: Array) -> Array:
    """Compute the scores of documents by machines with the intercept last, (n_docs, n)."""
    n_terms = X.shape[1]
    by_words = X @ np.ascontiguousarray(weights[:, :n_terms].T)
    return np.asarray(by_words + dense @ weights[:, n_terms:-1].T + weights[:, -1])


class _Words:
    """Weights of sparse features: a dense array, or the largest of each label in a sparse one."""

    def __init__(self, n_labels: int, n_terms: int, most: int) -> None:
        self.shape = n_labels, n_terms
        self.kept = n_terms if n_labels * n_terms <= most else max(most // n_labels, 1)
        is_dense = self.kept == n_terms
        self.dense = np.zeros(self.shape, np.float32) if is_dense else None
        self.rows: dict[int, tuple[Array, Array]] = {}

    def set(self, labels: Array, weights: Array) -> None:
        """Set the weights of some labels."""
        if self.dense is not None:
            self.dense[labels] = weights
            return
        for label, row in zip(labels.tolist(), weights, strict=True):
            self._keep(label, row)

    def add(self, more: sparse.csr_array) -> None:
        """Add weights of all labels, (n_labels, n_terms)."""
        if self.dense is not None:
            _add(self.dense, more, 1.0)
            return
        for label, (terms, values) in self.rows.items():
            row = more[[label]].toarray()[0]
            row[terms] += values
            self._keep(label, row)

    def _keep(self, label: int, row: Array) -> None:
        """Keep the largest weights of a label."""
        terms = np.flatnonzero(row)
        if len(terms) > self.kept:
            order = np.argsort(-np.abs(row[terms]), kind="stable")
            terms = np.sort(terms[order[: self.kept]])
        self.rows[label] = terms.astype(np.int32), row[terms]

    def array(self) -> Any:
        """Return all weights, (n_labels, n_terms)."""
        if self.dense is not None:
            return self.dense
        rows = [self.rows[label] for label in range(self.shape[0])]
        indptr = np.cumsum([0, *(len(terms) for terms, _ in rows)])
        terms, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return sparse.csc_array(sparse.csr_array((values, terms, indptr), self.shape))


class _Task:
    """Documents with their labels, and the centres of the labels."""

    def __init__(
        self,
        X: sparse.csr_array,
        dense: Array,
        labels: sparse.csc_array,
        weight: Array,
        fold: Array,
        held: Array,
    ) -> None:
        self.X, self.dense, self.labels, self.weight = X, dense, labels, weight
        self.fold, self.held = fold, held
        # the sums of terms tell which labels are alike, and which documents are near to a label
        self.of_terms = X if X.shape[1] else sparse.csr_array(np.maximum(dense, 0))
        idf = _rarity(self.of_terms, weight)
        self.of_terms = of_unit_length(_scaled(self.of_terms, idf), np.float32)
        self.sums = sparse.csr_array(sparse.csr_array(labels.T * weight) @ self.of_terms)
        self.centres = of_unit_length(self.sums, np.float32)

    def solved(self, own: Array, rows: Array) -> tuple[Array, bool]:
        """Train the machines of some labels on a part of the documents ``rows``.

        Returns weights with the intercept last, and whether the training converged.
        """
        labels = sparse.csr_array(self.labels[:, own])[rows]
        X, dense, weight = self.X, self.dense, self.weight[rows]
        positive = np.diff(labels.indptr) > 0
        everything = len(rows) == X.shape[0]
        near = (self.of_terms if everything else self.of_terms[rows]) @ self.centres[own].T
        chosen = positive | _highest(near.toarray(), positive, NEAREST, 0.0)
        rest = np.flatnonzero(~chosen)
        drawn = rest[np.random.default_rng(int(own[0])).permutation(len(rest))[:SAMPLE]]
        for again in (False, True):
            used = np.union1d(np.flatnonzero(chosen), drawn)
            stands_for = weight.copy()
            sampled = drawn[~chosen[drawn]]
            part = weight[sampled].sum()
            if part > 0:
                stands_for[sampled] *= weight[~chosen].sum() / part
            at = rows[used]
            some, terms = without_unused_terms(X[at])
            part_of, converged = solve_together(some, dense[at], labels[used], stands_for[used])
            found = np.zeros((len(own), X.shape[1] + dense.shape[1] + 1), np.float32)
            found[:, : X.shape[1]][:, terms] = part_of[:, : some.shape[1]]
            found[:, X.shape[1] :] = part_of[:, some.shape[1] :]
            if again or len(used) == len(rows):
                break
            s = scores(X if everything else X[rows], dense if everything else dense[rows], found)
            more = _highest(s, chosen, MISTAKEN, _NEAR)
            if not more.any():
                break
            chosen |= more
        return found, converged


def _highest(values: Array, without: Array, n: int, least: float) -> Array:
    """Return the rows with the n highest values of each column above the least, (n_rows,)."""
    found = np.zeros(len(values), dtype=bool)
    rows = np.flatnonzero(~without)
    n = min(n, len(rows))
    for column in values[rows].T:
        some = np.argsort(-column, kind="stable")[:n]
        found[rows[some[column[some] > least]]] = True
    return found


def _rarity(X: sparse.csr_array, weight: Array) -> Array:
    """Compute the inverse document frequencies of features, (n_features,)."""
    occurs = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    return np.asarray(np.log((1 + weight.sum()) / (1 + occurs.T @ weight)) + 1)


def _scaled(X: sparse.csr_array, by: Array) -> sparse.csr_array:
    return sparse.csr_array((X.data * by[X.indices], X.indices, X.indptr), X.shape)
