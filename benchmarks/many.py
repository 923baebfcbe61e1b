"""Measure many labels: accuracy, seconds and memory of drawn documents with up to 10,000 labels.

Each label has a few words of its own, which it shares with other labels by chance. Half of the
words of a document are of its label, and the others of all labels with frequencies as in Zipf's
law. ``LinearSVC`` is measured on the same features in the same run, unless there are too many
labels for it.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from benchmarks.measure import markdown
from vbnmf import SupervisedVBNMF

LABELS = (450, 550, 5_000)
OWN, LENGTH, N_TERMS = 8, 12, 10_000  # words of a label, of a document, and in all
MOST_LABELS_OF_SVC = 1_000


@dataclass(frozen=True, eq=False)
class Corpus:
    """Drawn documents, with TF-IDF weights."""

    X: sp.csr_array
    y: NDArray[np.int64]
    X_test: sp.csr_array
    y_test: NDArray[np.int64]


def draw(
    n_labels: int,
    n_docs: int = 20_000,
    n_test: int = 4_000,
    n_terms: int = N_TERMS,
    own: int = OWN,
    seed: int = 0,
) -> Corpus:
    """Draw documents of ``LENGTH`` words. Labels have equal numbers of documents."""
    rng = np.random.default_rng(seed)
    of_label = np.array([rng.choice(n_terms, own, replace=False) for _ in range(n_labels)])
    zipf = 1 / (np.arange(n_terms) + 2.7)
    zipf /= zipf.sum()

    def drawn(n: int) -> tuple[sp.csr_matrix, NDArray[np.int64]]:
        y = rng.permutation(n) % n_labels
        half = LENGTH // 2
        mine = np.take_along_axis(of_label[y], rng.integers(0, own, (n, half)), axis=1)
        common = rng.choice(n_terms, (n, LENGTH - half), p=zipf)
        words, rows = np.hstack([mine, common]), np.repeat(np.arange(n), LENGTH)
        counts = sp.coo_array((np.ones(words.size, np.float32), (rows, words.ravel())),
                              (n, n_terms)).tocsr()  # fmt: skip
        return sp.csr_matrix(counts), y

    X, y = drawn(n_docs)
    X_test, y_test = drawn(n_test)
    weights = TfidfTransformer().fit(X)
    return Corpus(
        sp.csr_array(weights.transform(X)), y, sp.csr_array(weights.transform(X_test)), y_test
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each number of labels."""
    parser = argparse.ArgumentParser(prog="benchmarks many", description=__doc__)
    add = parser.add_argument
    add("--labels", nargs="+", type=int, default=list(LABELS))
    add("--documents", type=int, default=20_000)
    add("--own", type=int, default=OWN, help="words of a label")
    add("--terms", type=int, default=N_TERMS, help="words in all")
    options = parser.parse_args(argv)
    rows = []
    for n_labels in options.labels:
        corpus = draw(n_labels, options.documents, n_terms=options.terms, own=options.own)
        rows.append({"labels": n_labels, **measured(corpus, n_labels <= MOST_LABELS_OF_SVC)})
    print(markdown(rows))


def measured(corpus: Corpus, with_svc: bool) -> dict[str, object]:
    """Measure the default model, and ``LinearSVC`` if asked for."""
    begin, cpu = time.perf_counter(), time.process_time()
    model = SupervisedVBNMF(random_state=0).fit(corpus.X, corpus.y)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    row: dict[str, object] = {
        "components": model.n_components_,
        "head": model.classifier_,
        "accuracy": model.score(corpus.X_test, corpus.y_test),
        "seconds": seconds,
        "CPU seconds": cpu,
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if with_svc:
        cpu = time.process_time()
        machine = LinearSVC().fit(_with_small_integers(corpus.X), corpus.y)
        row["LinearSVC"] = float(
            (machine.predict(_with_small_integers(corpus.X_test)) == corpus.y_test).mean()
        )
        row["its CPU seconds"] = time.process_time() - cpu
    else:
        row |= {"LinearSVC": "", "its CPU seconds": ""}
    return row


def _with_small_integers(X: sp.csr_array) -> sp.csr_matrix:
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
