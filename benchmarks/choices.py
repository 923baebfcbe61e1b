"""Measure how results depend on what the paper leaves open: words, start, iterations, T's shape.

For each given copy of 20 Newsgroups, the cells of Table 1 (PCA-200, unsupervised K = 40, supervised
K = 100) are run as paper.toml specifies, and then with one choice changed at a time. Scores are
those of the test split, as in the paper. They show how far its numbers depend on choices that it
does not state. They were not used to choose defaults of the library.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import markdown
from vbnmf.paper.experiments import Source, prepare_source, run
from vbnmf.paper.result_tables import between, number
from vbnmf.paper.results import Spread, spread, where
from vbnmf.paper.specification import Cell, Specification, read_specification

LABEL_SHAPE, COEF_SHAPE = 300.0, 0.5  # in the middle of where the grid of paper.toml is best
CHANGES: dict[str, dict[str, object]] = {
    "as specified": {},
    "start of the estimators": {"start": "random"},
    "100 iterations": {"iterations": 100},
    "1000 iterations": {"iterations": 1000},
    "a_t = 0.35": {"term_shape": 0.35},
    "a_t = 0.5": {"term_shape": 0.5},
    "a_t = 0.7": {"term_shape": 0.7},
    "a_t = 1": {"term_shape": 1.0},
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table for each copy and each way to count documents."""
    parser = argparse.ArgumentParser(prog="benchmarks choices", description=__doc__)
    parser.add_argument("sources", nargs="+", help="copies of the corpus: pypi, or paths")
    parser.add_argument("--changes", nargs="*", default=list(CHANGES), choices=list(CHANGES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--spec", type=Path, help="another specification than paper.toml")
    options = parser.parse_args(argv)
    specification = read_specification(options.spec)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sources:
            for documents in ("corpus", "train"):
                choice = replace(specification.corpus, documents=documents)
                changed = replace(specification, corpus=choice)
                place = Path(folder) / documents
                place.mkdir(exist_ok=True)
                source, about_source = prepare_source(changed, name, place)
                about = "the corpus" if documents == "corpus" else "training documents only"
                print(f"\n{about_source}; N and n of (3) are of {about}\n")
                names = options.changes if documents == "corpus" else ["as specified"]
                rows = list(lines(changed, source, place / "results.csv", names, options.seeds))
                print(markdown(rows), flush=True)


def lines(
    specification: Specification, source: Source, table: Path, names: list[str], seeds: int
) -> Iterator[dict[str, object]]:
    """Return a row for each change: accuracies and sparsities over the seeds."""
    plain = {
        "supervised": _cell(specification, "supervised", LABEL_SHAPE),
        "unsupervised": _cell(specification, "unsupervised", COEF_SHAPE),
    }
    pca = Cell("pca", "test", specification.reported["pca"]["dimension"])
    (read,) = run([pca], source, table)
    for name in names:
        cells = [
            replace(cell, seed=seed, **CHANGES[name])
            for cell in plain.values()
            for seed in range(seeds)
        ]
        rows = run(cells, source, table)
        line: dict[str, object] = {"choice": name}
        for method in plain:
            found = where(rows, method=method)
            line[f"{method}: accuracy"] = _with_range(spread(found, "micro"))
            for metric in ("sparsity", "inter_label_sparsity"):
                line[f"{method}: {metric.replace('_', ' ')}"] = spread(found, metric).mean
        micro = "impossible" if read["micro"] is None else f"{read['micro']:.4f}"
        yield line | {"PCA": micro}


def _with_range(summary: Spread) -> str:
    """Format a mean with its range, if it is of several seeds."""
    mean = number(summary.mean)
    return mean if summary.n < 2 else f"{mean} {between(summary.least, summary.most)}"


def _cell(specification: Specification, method: str, parameter: float) -> Cell:
    grid, dimension = specification.grid(method), specification.reported[method]["dimension"]
    return Cell(
        method, "test", dimension, parameter, grid.term_shape, grid.iterations, grid.burn_in,
        grid.start,
    )  # fmt: skip
