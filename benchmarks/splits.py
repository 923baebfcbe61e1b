"""Split labelled corpora into training and test parts, as counts of the same words for all methods.

Words have at least two letters, stop words are removed, and words with the same stem are one term.
Terms of at least two training documents are kept, without a maximum number. Texts are split into
words once. Each method applies its own weighting to the counts (``classifiers``).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from vbnmf.data import load_corpus
from vbnmf.text import DocumentVectorizer, EmptyDocumentWarning

CORPORA = ("20newsgroups", "thinned", "scipy-docs", "drawn")
LARGEST, SMALLEST = 500, 5  # documents of the first and the last label of "thinned"
MIN_DF = 2


@dataclass(frozen=True, eq=False)
class Split:
    """Documents to train on and documents to score, over the same terms.

    Attributes
    ----------
    X, X_new : csr_matrix of float64, shape (n_docs, n_terms)
        Counts.
    y, y_new : ndarray of int, shape (n_docs,)
        Codes of the labels.
    """

    X: sp.csr_matrix
    y: NDArray[np.int64]
    X_new: sp.csr_matrix
    y_new: NDArray[np.int64]

    def __str__(self) -> str:
        return (
            f"{self.X.shape[0]:,} training and {self.X_new.shape[0]:,} test documents, "
            f"{self.X.shape[1]:,} terms, {len(np.unique(self.y))} labels"
        )

    def validation(self, part: float = 0.25) -> Split:
        """Split the training documents, and hold out a part for selecting parameters."""
        rows, held = train_test_split(
            np.arange(len(self.y)), test_size=part, stratify=self.y, random_state=0
        )
        return _trimmed(Split(self.X[rows], self.y[rows], self.X[held], self.y[held]))


def load(name: str, seed: int = 0, source: str | Path = "wheel") -> Split:
    """Load a corpus of ``CORPORA``.

    Parameters
    ----------
    name : str
    seed : int
        Seed of the random selection for "thinned". Other corpora do not depend on it.
    source : str or Path
        Source of 20 Newsgroups, as for ``vbnmf.data.load_corpus``.
    """
    if name == "thinned":
        return thinned(_read("20newsgroups", source), seed)
    return drawn() if name == "drawn" else _read(name, source)


def thinned(split: Split, seed: int, *, largest: int = LARGEST, smallest: int = SMALLEST) -> Split:
    """Select documents such that label sizes in training fall geometrically.

    Sizes are assigned at random to labels that have enough documents, and documents are drawn at
    random. Test documents are selected in the same proportions, as if both parts were drawn from
    one population, so that the accuracy over all documents is meaningful. Every label keeps at
    least ``smallest`` test documents (or all of them, if it has fewer), so that the accuracy by
    label is meaningful too.
    """
    rng = np.random.default_rng(seed)
    have, have_new = np.bincount(split.y), np.bincount(split.y_new)
    rows: list[NDArray[np.int64]] = []
    rows_new: list[NDArray[np.int64]] = []
    left = list(range(len(have)))
    for size in np.geomspace(largest, smallest, len(have)).round().astype(int):
        enough = [label for label in left if have[label] >= size]
        if not enough:
            raise ValueError(
                f"`largest` must leave a label for each size; none of the labels left has {size} "
                f"training documents. Use less than {largest}."
            )
        label = int(rng.choice(enough))
        left.remove(label)
        size_new = max(smallest, round(have_new[label] * size / have[label]))
        for y, n, kept in ((split.y, size, rows), (split.y_new, size_new, rows_new)):
            of_label = rng.permutation(np.flatnonzero(y == label))
            kept.append(of_label[:n])
    train, new = np.sort(np.concatenate(rows)), np.sort(np.concatenate(rows_new))
    return _trimmed(Split(split.X[train], split.y[train], split.X_new[new], split.y_new[new]))


@cache
def drawn() -> Split:
    """Draw a small corpus of six labels, for quick runs."""
    rng = np.random.default_rng(0)
    n_labels, n_terms = 6, 300
    words = rng.dirichlet(np.full(n_terms, 0.1), n_labels) + 1.0 / n_terms
    words /= words.sum(axis=1, keepdims=True)
    parts = []
    for n_docs in (360, 120):
        y = np.arange(n_docs) % n_labels
        X = rng.multinomial(rng.integers(10, 60, n_docs), words[y])
        parts += [sp.csr_matrix(X, dtype=np.float64), y]
    return _trimmed(Split(*parts))


@cache
def _read(name: str, source: str | Path) -> Split:
    """Count the words of a corpus that has a training and a test part."""
    place = "auto" if name == "scipy-docs" else source
    train, new = (load_corpus(name, subset=subset, source=place) for subset in ("train", "test"))
    vectorizer = DocumentVectorizer(
        weighting="counts", stop_words="english", stem="english", min_df=MIN_DF, dtype=np.float64
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # they are scored like the others
        X = vectorizer.fit_transform(train.texts or [])
        X_new = vectorizer.transform(new.texts or [])
    code = {label: number for number, label in enumerate(train.label_names)}
    y, y_new = (np.array([code[label] for label in part.labels]) for part in (train, new))
    return Split(X, y, X_new, y_new)


def _trimmed(split: Split) -> Split:
    """Remove terms that are rare in the training documents."""
    frequent = np.bincount(split.X.indices, minlength=split.X.shape[1]) >= MIN_DF
    return Split(split.X[:, frequent], split.y, split.X_new[:, frequent], split.y_new)
