"""Compare thresholds of documents with several labels, beside SVMs whose thresholds are tuned.

Rows are the aims of vbnmf, which is fitted once, and linear SVMs with their own zero, with one
threshold of all labels, and with one of each label. Those of the SVMs are chosen for micro F1, and
for the F1 of the label, on scores of documents that are left out of training, in three folds.
Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from benchmarks import labelled
from benchmarks.accuracy import SEPARATOR
from benchmarks.classifiers import DEFAULTS, Array, Method
from benchmarks.measure import markdown
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.prediction.thresholds import AIMS
from vbnmf.text import DocumentVectorizer

PEERS = ("svm", "svm-pairs", "svm-pieces")
FOLDS = 3

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus, method and choice of thresholds."""
    parser = argparse.ArgumentParser(prog="benchmarks several", description=__doc__)
    add = parser.add_argument
    add("--folder", type=Path, required=True, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", default=["debtags", "netflix"])
    add("--documents", type=int, help="train on about so many documents, evenly spaced")
    add("--peers", nargs="*", choices=PEERS, default=["svm", "svm-pieces"])
    add("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    methods = [method for method in DEFAULTS if method.key in options.peers]
    rows: list[Row] = []
    for name in options.corpora:
        (texts, y), (new, y_new) = (
            labelled.read_table(options.folder / f"{name}-{part}.csv.gz")
            for part in ("train", "test")
        )
        every = -(-len(texts) // options.documents) if options.documents else 1
        texts, y = texts[::every], y[::every]
        table = MultiLabelBinarizer().fit([label.split(SEPARATOR) for label in y])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that only test documents have
            Y, Y_new = (table.transform([s.split(SEPARATOR) for s in part]) for part in (y, y_new))
            found = [*ours(texts, Y, new, Y_new, options.threads)]
            for method in methods:
                found += peer(method, texts, Y, new, Y_new)
        rows += [{"corpus": name, "documents": len(texts), **row} for row in found]
    print(markdown(rows))


def ours(texts: list[str], Y: Array, new: list[str], Y_new: Array, threads: int) -> Iterator[Row]:
    """Fit a model with its defaults, and score its labels for each aim."""
    begin = time.process_time()
    model = DocumentModel(SupervisedVBNMF(random_state=0, n_jobs=threads)).fit(texts, Y)
    seconds = time.process_time() - begin
    P = model.predict_proba(new)
    for aim in AIMS:
        given = model.estimator_.head_.predicted(P, aim)
        yield {"method": "vbnmf", "thresholds": aim, **scores(Y_new, given), "seconds": seconds}


def peer(method: Method, texts: list[str], Y: Array, new: list[str], Y_new: Array) -> Iterator[Row]:
    """Train a linear SVM, and choose its thresholds in three folds."""
    counted = DocumentVectorizer(weighting="counts", dtype=np.float64)
    steps = method.make(0, 0, 1)
    first = [] if method.of_texts else [counted]
    model: Pipeline = make_pipeline(*first, *steps[:-1], OneVsRestClassifier(steps[-1]))
    begin = time.process_time()
    S_new = model.fit(texts, Y).decision_function(new)
    at_zero = time.process_time() - begin
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    S = cross_val_predict(model, texts, Y, cv=folds, method="decision_function")
    seconds = time.process_time() - begin
    one = best(S.ravel(), Y.ravel())
    each = np.array([best(s, y) for s, y in zip(S.T, Y.T, strict=True)])
    for how, least, spent in (("zero", 0.0, at_zero), ("one, tuned", one, seconds),
                              ("each label, tuned", each, seconds)):  # fmt: skip
        row = {"method": method.name, "thresholds": how}
        yield row | scores(Y_new, (S_new >= least).astype(int)) | {"seconds": spent}


def best(scores: Array, y: Array) -> float:
    """Return the threshold with the highest F1, between two scores."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    F1 = 2 * np.cumsum(y[order]) / (y.sum() + np.arange(1, len(y) + 1))
    at = int(np.argmax(F1))
    return float((ranked[at] + ranked[min(at + 1, len(ranked) - 1)]) / 2)


def scores(Y: Array, given: Array) -> Row:
    """Compute F1 of all pairs, mean F1 of labels, and mean F1 of documents."""
    return {
        f"{average} F1": float(f1_score(Y, given, average=average, zero_division=0))
        for average in AIMS
    }
