"""Measure how well wrong labels are found: errors are planted, and the documents are reviewed.

A part of the labels is moved, at random to any other label or to the nearest one (by the cosine of
mean TF-IDF weights). The model is fitted to the documents with these labels, and
``find_label_errors`` ranks the documents. The same is done with the margins of a linear SVM that is
fitted five times, each time to four of five folds. Printed are the average precision of both
rankings, the part of the planted errors for which the suggested label is the true one, the
estimated number of errors, and CPU seconds from texts to a ranking. The seconds of the model are
those of a review after the fit, which needs no folds; those of the fit are in a column of their
own.

The last rows plant 51 errors in 1,700 documents and count those among the first 60. Beside it is
what the margins of an SVM find that is fitted to all other documents of the corpus, with right
labels: more than this can hardly be expected of 1,700 documents. ``--few`` prints only these rows.
"""

import argparse
import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.measure import markdown

_SHARE = 0.05  # of the labels that are moved
_FEW, _PLANTED, _FIRST = 1700, 51, 60
_FEWEST = 8  # documents that a label needs


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus, kind of error and seed."""
    parser = argparse.ArgumentParser(prog="benchmarks review", description=__doc__)
    parser.add_argument("--source", default="auto", help="where 20 Newsgroups is; see load_corpus")
    parser.add_argument("--files", nargs="*", type=Path, default=[],
                        help="more corpora: CSV files with the columns text and label")  # fmt: skip
    parser.add_argument("--documents", type=int, help="number of documents drawn of each corpus")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--few", action="store_true", help="only errors in 1,700 documents")
    parser.add_argument("--no-newsgroups", action="store_true", help="only the other corpora")
    options = parser.parse_args(argv)
    corpora = [] if options.no_newsgroups else [newsgroups(options.source)]
    corpora += [table(path) for path in options.files]
    rows, few = [], []
    for corpus in corpora:
        for seed in range(options.seeds):
            some = corpus.drawn(options.documents, seed)
            for kind in () if options.few else ("random", "nearest"):
                n_wrong = round(_SHARE * len(some.texts))
                rows.append(row(some, kind, n_wrong, seed))
            few.append(found_first(corpus, seed))
    if rows:
        print(markdown(rows), end="\n\n")
    print(markdown(few))


@dataclass(frozen=True)
class Labelled:
    """Texts and labels of a corpus."""

    name: str
    texts: list[str]
    labels: np.ndarray

    def drawn(self, number: int | None, seed: int) -> "Labelled":
        """Draw documents, and leave out labels of fewer than eight."""
        at = np.random.default_rng(seed).permutation(len(self.texts))[:number]
        code = np.unique(self.labels[at], return_inverse=True)[1]
        at = np.sort(at[np.bincount(code)[code] >= _FEWEST])
        return Labelled(self.name, [self.texts[i] for i in at], self.labels[at])


def newsgroups(source: str) -> Labelled:
    """Load the training part of 20 Newsgroups."""
    from vbnmf.data import load_corpus

    corpus = load_corpus("20newsgroups", subset="train", source=source)
    return Labelled("20newsgroups", list(corpus.texts), np.asarray(corpus.labels, dtype=str))


def table(path: Path) -> Labelled:
    """Read a CSV file, which may be gzipped."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    csv.field_size_limit(1 << 30)
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    name = path.name.split(".")[0]
    return Labelled(name, [row["text"] for row in rows], np.array([row["label"] for row in rows]))


def planted(corpus: Labelled, kind: str, n_wrong: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Move labels; return the labels that are given now, and which documents were moved."""
    rng = np.random.default_rng([seed, n_wrong])
    names, code = np.unique(corpus.labels, return_inverse=True)
    wrong = rng.permutation(len(code))[:n_wrong]
    given = code.copy()
    if kind == "random":
        given[wrong] = (code[wrong] + rng.integers(1, len(names), n_wrong)) % len(names)
    else:
        given[wrong] = nearest(corpus.texts, code)[code[wrong]]
    moved = np.zeros(len(code), bool)
    moved[wrong] = True
    return names[given], moved


def nearest(texts: list[str], code: np.ndarray) -> np.ndarray:
    """Return the nearest label of each label, by the cosine of mean TF-IDF weights."""
    X = tfidf(texts)
    means = np.stack([np.asarray(X[code == one].mean(axis=0)).ravel() for one in np.unique(code)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    cosines = means @ means.T
    np.fill_diagonal(cosines, -1)
    return np.asarray(cosines.argmax(axis=1))


def tfidf(texts: list[str]) -> Any:
    """Compute the weights for the SVM."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(texts)


def row(corpus: Labelled, kind: str, n_wrong: int, seed: int) -> dict[str, Any]:
    """Return the scores of both rankings."""
    from sklearn.metrics import average_precision_score

    given, moved = planted(corpus, kind, n_wrong, seed)
    found, seconds_fit, seconds = reviewed(corpus.texts, given)
    begun = process_time()
    margins, other = svm_margins(corpus.texts, given)
    seconds_svm = process_time() - begun
    best = suggestions(found, given)
    estimate = found.estimates["wrong"]
    return {
        "corpus": corpus.name,
        "errors": f"{kind}, {n_wrong}",
        "vbnmf": average_precision_score(moved, np.maximum(found.scores, -1e9)),
        "SVM": average_precision_score(moved, margins),
        "suggestions right": float((best[moved] == corpus.labels[moved]).mean()),
        "SVM's": float((other[moved] == corpus.labels[moved]).mean()),
        "estimated": f"{estimate.number:.0f} ({estimate.low:.0f} to {estimate.high:.0f})",
        "seconds of the fit": f"{seconds_fit:.1f}",
        "of the review": f"{seconds:.2f}",
        "of the SVM": f"{seconds_svm:.1f}",
    }


def reviewed(texts: list[str], given: np.ndarray) -> tuple[Any, float, float]:
    """Fit a model and rank its documents; return the result and the seconds of both."""
    from vbnmf import DocumentModel
    from vbnmf.evaluation.truth import read_part
    from vbnmf.reviewing.labelerrors import find_label_errors

    begun = process_time()
    model = DocumentModel().fit(texts, given)
    fitted = process_time()
    found = find_label_errors(read_part(model, texts, given))
    return found, fitted - begun, process_time() - fitted


def suggestions(found: Any, given: np.ndarray) -> np.ndarray:
    """Return the most probable label apart from the given one, for all documents."""
    names, code = np.unique(given, return_inverse=True)
    others = found.judged.probabilities.copy()
    others[np.arange(len(code)), code] = -1
    return np.asarray(names[others.argmax(axis=1)])


def svm_margins(texts: list[str], given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins of the best other label in five folds, and these labels."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    X, (names, code) = tfidf(texts), np.unique(given, return_inverse=True)
    scores = np.zeros((len(code), len(names)))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, code):
        values = LinearSVC().fit(X[train], code[train]).decision_function(X[test])
        scores[test] = values if values.ndim == 2 else np.stack([-values, values], axis=1)
    margins, other = _margins(scores, code)
    return margins, names[other]


def margins_of_others(corpus: Labelled, texts: list[str], given: np.ndarray) -> np.ndarray | None:
    """Return the margins of some documents by an SVM of all others; None if there are none."""
    from sklearn.svm import LinearSVC

    mine = set(texts)
    others = [i for i, text in enumerate(corpus.texts) if text not in mine]
    if not others:
        return None
    X = tfidf([*texts, *(corpus.texts[i] for i in others)])
    n, names = len(texts), np.unique(corpus.labels)
    svm = LinearSVC().fit(X[n:], np.searchsorted(names, corpus.labels[others]))
    values = svm.decision_function(X[:n])
    scores = values if values.ndim == 2 else np.stack([-values, values], axis=1)
    return _margins(scores, np.searchsorted(names, given))[0]


def _margins(scores: np.ndarray, code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of the best other label minus that of the given one, and this label."""
    at = np.arange(len(code))
    own = scores[at, code]
    scores[at, code] = -np.inf
    return scores.max(axis=1) - own, scores.argmax(axis=1)


def found_first(corpus: Labelled, seed: int) -> dict[str, Any]:
    """Plant errors in few documents, and count those among the first suspects."""
    few = corpus.drawn(_FEW, seed)
    given, moved = planted(few, "random", _PLANTED, seed)
    first = [suspect.row for suspect in reviewed(few.texts, given)[0].suspects[:_FIRST]]

    def found(margins: np.ndarray | None) -> int | None:
        if margins is None:
            return None
        return int(moved[np.argsort(-margins, kind="stable")[:_FIRST]].sum())

    return {
        "corpus": f"{few.name}, {len(few.texts)} documents",
        f"of {_PLANTED} errors among the first {_FIRST}": int(moved[first].sum()),
        "SVM": found(svm_margins(few.texts, given)[0]),
        "SVM of all other documents": found(margins_of_others(corpus, few.texts, given)),
    }


if __name__ == "__main__":
    main()
