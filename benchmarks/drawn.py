"""Draw documents with known components and scopes: from the model itself, and harder ones.

Easy corpora have labels of the same size, documents of about the same length and few terms. Hard
corpora are more like real ones. Labels have 20 to 1,000 documents. There are 5,000 words with
frequencies as in Zipf's law. Each label has one or two components of its own, and two thirds as
many components as there are labels are shared by two to six labels. Components are of unequal
strength. The second kind adds a *background* that makes up about 45 % of each document. The third
kind adds document lengths from 5 to 500 words, *bursts* (a word that occurs once is likely to occur
again), and near-copies of documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

KINDS = ("mixed", "mixed and common", "own, group and all")
HARD = ("unequal labels", "and background", "and lengths, bursts, copies")
N_LABELS, N_DOCS, N_TERMS, WEIGHT = 12, 2400, 600, 80.0
SMALLEST, LARGEST, WORDS = 20, 1000, 5000  # of hard corpora: documents of a label, and words
ZIPF_SHIFT, ZIPF_POWER = 2.7, 0.6  # frequency 1 / (rank + shift), to this power in components
BACKGROUND = (9.0, 11.0)  # parameters of the Beta distribution of the background's part
LENGTH, SHORTEST, LONGEST = 60, 5, 500  # median and limits of the numbers of words
BURST = 200.0  # concentration of the words of a document: with less, there are more repetitions
COPIES, LOST = 0.05, 0.1  # near-copies per document, and the part of their words that lose one
_ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Drawn:
    """A corpus with its true components and scopes.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Counts.
    y : ndarray of shape (n_docs,)
        Codes of the labels.
    components : ndarray of shape (K, n_terms)
        Rows sum to one, or a little less if some terms are in no document of a hard corpus.
    scopes : ndarray of bool of shape (n_labels, K)
        Which labels use which component.
    """

    X: sp.csr_array
    y: NDArray[np.int64]
    components: NDArray[np.float64]
    scopes: NDArray[np.bool_]


def draw(
    kind: str,
    seed: int,
    n_docs: int | None = None,
    n_labels: int = N_LABELS,
    n_terms: int | None = None,
) -> Drawn:
    """Draw a corpus.

    Parameters
    ----------
    kind : str
        "mixed": each label mixes three components, which other labels may use too. "mixed and
        common": in addition, there is a component that all labels use. "own, group and all": each
        label has a component of its own, each group of three labels has one or two, and there is
        one for all labels. The kinds in ``HARD`` each add to the one before.
    seed : int
    n_docs : int
        Number of documents. By default, hard corpora have labels of 20 to 1,000 documents.
    n_labels, n_terms : int
    """
    if kind in HARD:
        return _draw_hard(HARD.index(kind), seed, n_docs, n_labels, n_terms or WORDS)
    n_docs, n_terms = n_docs or N_DOCS, n_terms or N_TERMS
    rng = np.random.default_rng(seed)
    scopes = _own_group_all(n_labels) if kind == KINDS[2] else _mixed(rng, n_labels)
    if kind == KINDS[1]:
        scopes = np.column_stack([scopes, np.ones(n_labels, dtype=bool)])
    K = scopes.shape[1]
    T = rng.gamma(0.1, 1.0, (K, n_terms)) + 1e-12
    T /= T.sum(axis=1, keepdims=True)
    y = np.arange(n_docs) % n_labels
    means = rng.gamma(5.0, 0.2, (n_labels, K)) * scopes
    means /= means.sum(axis=1, keepdims=True)
    V = WEIGHT * rng.exponential(1.0, (n_docs, K)) * means[y]
    return Drawn(sp.csr_array(rng.poisson(V @ T).astype(np.float32)), y, T, scopes)


def match(found: NDArray[np.float64], corpus: Drawn) -> tuple[NDArray[np.float64], ...]:
    """Match components with the true ones; return their cosines and the matching."""
    a, b = (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        for rows in (np.asarray(found, dtype=np.float64), corpus.components)
    )
    cosines = a @ b.T
    ours, true = linear_sum_assignment(-cosines)
    return cosines[ours, true], ours, true


@dataclass(frozen=True)
class Recovery:
    """How much of a drawn corpus was found.

    Attributes
    ----------
    found : float
        Part of the true components whose match has a cosine above 0.9.
    precision, recall : float
        Of the labels of true shared components whose match has a cosine above 0.8: part of the
        labels found that are true, and part of the true labels that were found. NaN if there are
        none.
    """

    found: float
    precision: float
    recall: float


def recovery(found: NDArray[np.float64], scopes: NDArray[np.bool_], corpus: Drawn) -> Recovery:
    """Compare components and scopes with the true ones."""
    cosines, ours, true = match(found, corpus)
    size = corpus.scopes.sum(axis=0)[true]
    judged = (cosines > 0.8) & (size > 1) & (size < len(corpus.scopes))
    mine, right = scopes[:, ours[judged]], corpus.scopes[:, true[judged]]
    hits = (mine & right).sum()
    return Recovery(
        float((cosines > 0.9).sum() / len(corpus.components)),
        float(hits / mine.sum()) if mine.any() else float("nan"),
        float(hits / right.sum()) if right.any() else float("nan"),
    )


def _draw_hard(level: int, seed: int, n_docs: int | None, n_labels: int, n_terms: int) -> Drawn:
    """Draw a hard corpus; level 1 adds a background, level 2 also lengths, bursts and copies."""
    rng = np.random.default_rng([seed, level])
    y = np.repeat(np.arange(n_labels), rng.permutation(_unequal_sizes(n_labels, n_docs)))
    scopes = _own_and_shared(rng, n_labels)
    K = scopes.shape[1]
    zipf = 1 / (np.arange(n_terms) + ZIPF_SHIFT)
    T = rng.gamma(0.05, 1.0, (K, n_terms)) * zipf**ZIPF_POWER + 1e-12
    strength = rng.gamma(1.0, 1.0, K) + 0.1
    means = _to_one(scopes * (rng.gamma(0.7, 1.0, (n_labels, K)) + 0.05) * strength)
    V = _to_one((rng.gamma(np.maximum(2 * means[y], 1e-9)) + 1e-12) * scopes[y])
    if level >= 1:
        T = np.vstack([T, zipf / zipf.sum() * rng.gamma(1.0, 1.0, n_terms)])
        scopes = np.column_stack([scopes, np.ones(n_labels, dtype=bool)])
        part = rng.beta(*BACKGROUND, (len(y), 1))
        V = np.hstack([(1 - part) * V, part])
    T = _to_one(T)
    lengths = np.full(len(y), int(WEIGHT))
    if level >= 2:
        lengths = np.exp(rng.normal(np.log(LENGTH), 1.0, len(y))).clip(SHORTEST, LONGEST)
        lengths = lengths.round().astype(int)
    parts = []
    for begin in range(0, len(y), _ROWS_AT_ONCE):
        at = slice(begin, begin + _ROWS_AT_ONCE)
        p = V[at] @ T
        p = _to_one(rng.gamma(BURST * p)) if level >= 2 else p
        parts.append(sp.csr_array(rng.multinomial(lengths[at], _to_one(p)).astype(np.float32)))
    X = sp.csr_array(sp.vstack(parts))
    if level >= 2:
        X, y = _with_copies(rng, X, y)
    seen = np.flatnonzero(X.sum(axis=0) > 0)
    return Drawn(sp.csr_array(X[:, seen]), y, T[:, seen], scopes)


def _unequal_sizes(n_labels: int, n_docs: int | None) -> NDArray[np.int64]:
    """Sizes of labels in equal ratios; ``n_docs`` in all, if given."""
    sizes = np.geomspace(SMALLEST, LARGEST, n_labels)
    if n_docs is not None:
        sizes = np.maximum(sizes * n_docs / sizes.sum(), 5)
    return sizes.round().astype(np.int64)


def _own_and_shared(rng: np.random.Generator, n_labels: int) -> NDArray[np.bool_]:
    """One or two components of each label, and fewer that two to six labels share."""
    own = np.repeat(np.eye(n_labels, dtype=bool), rng.integers(1, 3, n_labels), axis=1)
    columns = [own]
    for n in rng.integers(2, min(7, n_labels), 2 * n_labels // 3):
        column = np.zeros((n_labels, 1), dtype=bool)
        column[rng.choice(n_labels, n, replace=False)] = True
        columns.append(column)
    return np.hstack(columns)


def _with_copies(
    rng: np.random.Generator, X: sp.csr_array, y: NDArray[np.int64]
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Add documents that are those of others, with a few words less."""
    source = rng.choice(len(y), int(COPIES * len(y)))
    copies = X[source]
    copies.data -= (rng.random(copies.nnz) < LOST).astype(np.float32)
    copies.eliminate_zeros()
    return sp.csr_array(sp.vstack([X, copies])), np.concatenate([y, y[source]])


def _to_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide rows by their sums."""
    return rows / rows.sum(axis=1, keepdims=True)


def _mixed(rng: np.random.Generator, n_labels: int) -> NDArray[np.bool_]:
    """Three of four thirds as many components as labels for each label, all of them used."""
    K = 4 * n_labels // 3
    while True:
        scopes = np.zeros((n_labels, K), dtype=bool)
        for row in scopes:
            row[rng.choice(K, 3, replace=False)] = True
        if scopes.any(axis=0).all():
            return scopes


def _own_group_all(n_labels: int) -> NDArray[np.bool_]:
    groups = np.arange(n_labels) // 3
    columns = [np.eye(n_labels, dtype=bool)]
    for group in range(groups[-1] + 1):
        columns += [(groups == group)[:, None]] * (1 + group % 2)
    return np.hstack([*columns, np.ones((n_labels, 1), dtype=bool)])
