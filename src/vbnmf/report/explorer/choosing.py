"""Choose the documents that a page shows, and count all documents, also those that it leaves out.

A page that cannot hold all documents holds the wrong predictions first. Documents are chosen by
*cells*, which the lists of the page show: a true label with a predicted one, or, where documents
have several labels, a label that was missed or wrongly predicted. All documents of a small cell are
chosen, and equally many of each larger one. The counts are how many documents a list would have if
none were left out.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array

_FOR_WRONG = 0.8  # part of the room for wrong predictions, if there is not enough for all documents

Labels = list[int] | None
Mark = tuple[str, int, int]


def choose(
    truth: list[Labels] | None,
    given: list[list[int]] | None,
    n_docs: int,
    most: int,
    always: Iterable[int] = (),
) -> Array:
    """Choose the documents to show.

    Parameters
    ----------
    truth : list of (list of int or None) of length n_docs, or None
        True labels of each document; None if unknown.
    given : list of lists of int of length n_docs, or None
        Predicted labels of each document; None if there are no predictions.
    n_docs : int
        Number of documents.
    most : int
        Largest number of documents to choose.
    always : iterable of int
        Rows of documents that are chosen in any case, the most important first.

    Returns
    -------
    ndarray of int of shape (min(n_docs, most),)
        Rows of the documents, in the order of the file.
    """
    if n_docs <= most:
        return np.arange(n_docs)
    fixed = np.array(list(dict.fromkeys(always))[:most], dtype=np.int64)
    if len(fixed):
        others = np.setdiff1d(np.arange(n_docs), fixed)
        some = [
            None if labels is None else [labels[d] for d in others.tolist()]
            for labels in (truth, given)
        ]
        rest = choose(some[0], some[1], len(others), most - len(fixed))
        return np.sort(np.concatenate([fixed, others[rest]]))
    truths, givens = truth or [None] * n_docs, given or [[]] * n_docs
    marks = [_marks(*labels) for labels in zip(truths, givens, strict=True)]
    frequency = Counter(mark for some in marks for mark in some)
    cells = [min(some, key=lambda mark: (frequency[mark], mark)) for some in marks]
    number = {cell: i for i, cell in enumerate(sorted(set(cells)))}
    cell = np.array([number[one] for one in cells])
    wrong = is_wrong(truth, given, n_docs)
    n_wrong = int(wrong.sum())
    n_of_them = max(min(n_wrong, int(_FOR_WRONG * most)), most - (n_docs - n_wrong))
    parts = [(np.flatnonzero(wrong), n_of_them), (np.flatnonzero(~wrong), most - n_of_them)]
    return np.sort(np.concatenate([rows[_spread(cell[rows], n)] for rows, n in parts]))


def is_wrong(truth: list[Labels] | None, given: list[list[int]] | None, n_docs: int) -> Array:
    """Return whether the predicted labels differ from the true ones, (n_docs,) of bool."""
    if truth is None or given is None:
        return np.zeros(n_docs, dtype=bool)
    pairs = zip(truth, given, strict=True)
    return np.array([true is not None and set(true) != set(some) for true, some in pairs])


def count_documents(
    indicators: sparse.csr_array, given: list[list[int]] | None, *, by_pair: bool
) -> dict[str, Any]:
    """Count all documents by their true and predicted labels.

    Parameters
    ----------
    indicators : csr_array of shape (n_docs, n_names)
        Indicators of the true labels. The row of a document with unknown labels is zero.
    given : list of lists of int of length n_docs, or None
        Predicted labels; None if there are no predictions.
    by_pair : bool
        Whether to count pairs of a true and a predicted label.

    Returns
    -------
    dict
        ``all``, and ``truth`` and ``given`` for each label: the numbers of documents that are
        right, wrong, of unknown labels, that miss a true label (this one, in ``truth``), and that
        have a wrongly predicted label (this one, in ``given``). ``pairs``: [true label, predicted
        label, right, wrong, …] of pairs that occur.
    """
    n_names = indicators.shape[1]
    Y = sparse.csr_array(indicators > 0, dtype=np.int64)
    G = sparse.csr_array(Y.shape, dtype=np.int64)
    known = np.diff(Y.indptr) > 0
    missed = wrongly = G
    if given is not None:
        lengths = np.cumsum([0, *map(len, given)])
        flat = np.array([label for some in given for label in some], dtype=np.int64)
        G = sparse.csr_array((np.ones(len(flat), np.int64), flat, lengths), Y.shape)
        of_known = G.multiply(known[:, None].astype(np.int64)).tocsr()
        missed, wrongly = Y - Y * G, of_known - Y * G
    n_missed, n_wrongly = missed.sum(axis=1), wrongly.sum(axis=1)
    wrong = (n_missed + n_wrongly) > 0
    kinds = np.stack([known & ~wrong, wrong, ~known]).astype(np.int64)
    of_all = [*kinds.sum(axis=1), (n_missed > 0).sum(), (n_wrongly > 0).sum()]
    nothing = np.zeros(n_names, np.int64)
    of_truth = [*(kinds @ Y), missed.sum(axis=0), nothing]
    of_given = [*(kinds @ G), nothing, wrongly.sum(axis=0)]
    pairs: list[int] = []
    if by_pair and given is not None:
        right, wrongs = (Y[rows].T @ G[rows] for rows in map(np.flatnonzero, kinds[:2]))
        cells = sparse.coo_array(right + wrongs)
        at = cells.row, cells.col
        columns = [*at, *(np.asarray(part.tocsr()[at]).ravel() for part in (right, wrongs))]
        pairs = np.stack(columns, axis=1).ravel().tolist()
    return {
        "all": [int(n) for n in of_all],
        "truth": np.stack(of_truth, axis=1).tolist(),
        "given": np.stack(of_given, axis=1).tolist(),
        "pairs": pairs,
    }


def _marks(true: Labels, given: list[int]) -> list[Mark]:
    """Return the cells that a document belongs to."""
    if true is None:
        return [("unknown", -1, label) for label in given] or [("unknown", -1, -1)]
    if len(true) == len(given) == 1:
        return [("pair", true[0], given[0])]
    missed = [("missed", label, -1) for label in true if label not in given]
    wrongly = [("wrongly", -1, label) for label in given if label not in true]
    return missed + wrongly or [("right", label, label) for label in true]


def _spread(cells: Array, n: int) -> Array:
    """Choose n documents: all of small cells, equally many of large ones, spread evenly in each."""
    sizes = np.unique(cells, return_counts=True)[1]
    members = np.split(np.argsort(cells, kind="stable"), np.cumsum(sizes)[:-1])
    chosen = []
    for left, at in zip(range(len(sizes), 0, -1), np.argsort(sizes, kind="stable"), strict=True):
        share = min(int(sizes[at]), n // left)
        n -= share
        places = np.linspace(0, sizes[at] - 1, share).round().astype(int)
        chosen.append(members[at][places])
    return np.concatenate(chosen) if chosen else np.zeros(0, int)
