"""Count the passes over the non-zeros until the bound is near its limit.

A pass is a sweep over all documents, also one whose extrapolated state was rejected. Each problem
is fitted twice from the same start, with plain and with extrapolated sweeps. The limit is the
highest bound of both. Columns count the passes until the bound is within 1e-3, 1e-4 and 1e-5 of it,
relative to its size. The last columns are for the default ``tol``: passes until the fit ends, how
far its bound is from its own limit, and CPU seconds of the passes.
"""

from __future__ import annotations

import argparse
import inspect
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import measure

LEVELS = (1e-3, 1e-4, 1e-5)


def main(argv: list[str]) -> None:
    """Print and write the table of passes."""
    parser = argparse.ArgumentParser(prog="benchmarks convergence", description=__doc__)
    measure.add_output_options(parser)
    parser.add_argument(
        "--source", default="auto", help="of 20 Newsgroups, as for load_corpus; default: auto"
    )
    parser.add_argument(
        "--tables", type=Path, nargs="*", default=[], metavar="FILE",
        help="tables with columns text and label, instead of scipy-docs",
    )  # fmt: skip
    parser.add_argument("--passes", type=int, default=300, help="of each fit; default: 300")
    parser.add_argument("--documents", type=int, help="of each corpus, at most; default: all")
    options = parser.parse_args(argv)
    if options.quick:
        options.passes, options.documents = min(options.passes, 60), options.documents or 500
    rows = [
        row for name, model, X, y in _problems(options) for row in _rows(name, model, X, y, options)
    ]
    machine = measure.machine(options.threads)
    measure.report(options, f"{machine}\n\n{measure.markdown(rows)}", {"rows": rows})


def _problems(options: argparse.Namespace) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield a name, an estimator, a matrix and labels, or None, of each problem."""
    from vbnmf import VBNMF, SupervisedVBNMF
    from vbnmf.text import DocumentVectorizer

    settings = {"random_state": 0, "n_jobs": options.threads}
    for name, texts, y in _corpora(options):
        keep = np.arange(len(texts))
        if options.documents:
            keep = np.sort(np.random.default_rng(0).permutation(keep)[: options.documents])
        X = DocumentVectorizer().fit_transform([texts[i] for i in keep])
        yield f"{name}, labels, K = 60", SupervisedVBNMF(60, **settings), X, np.asarray(y)[keep]
        yield f"{name}, no labels, K = 60", VBNMF(60, **settings), X, None
        random = VBNMF(60, init="random", **settings)
        yield f"{name}, random start, K = 60", random, X, None


def _corpora(options: argparse.Namespace) -> Iterator[tuple[str, list[str], Any]]:
    from vbnmf.data import load_corpus, read_documents

    found = load_corpus("20newsgroups", subset="train", source=options.source)
    yield "20 Newsgroups", list(found.texts or []), found.labels
    for path in options.tables:
        table = read_documents(path, text="text", label="label")
        yield path.name.partition(".")[0], list(table.texts or []), table.labels
    if not options.tables:
        found = load_corpus("scipy-docs", subset="train")
        yield "scipy-docs", list(found.texts or []), found.labels


def _rows(
    name: str, model: Any, X: Any, y: Any, options: argparse.Namespace
) -> list[dict[str, object]]:
    from vbnmf.core.fit import Schedule

    every, tol = (
        inspect.signature(type(model)).parameters[p].default for p in ("bound_every", "tol")
    )
    found = {}
    for sweeps, extrapolate in (("plain", False), ("extrapolated", True)):
        times: list[float] = []

        def watch(progress: Any, times: list[float] = times) -> None:
            if progress.stage == "fitting":
                times.append(time.process_time())

        model.set_params(max_iter=options.passes, tol=0, bound_every=1, callback=watch)
        schedule = partial(Schedule, extrapolate=extrapolate)
        with warnings.catch_warnings(), patch("vbnmf.estimators.base.Schedule", schedule):
            warnings.simplefilter("ignore")  # they do not converge, as was asked for
            model.fit(X, y) if y is not None else model.fit(X)
        found[sweeps] = np.array(model.bound_history_), np.array(times)
    limit = max(bounds.max() for bounds, _ in found.values())
    rows = []
    for sweeps, (bounds, times) in found.items():
        end = _end(bounds, every, tol)
        row: dict[str, object] = {"problem": name, "sweeps": sweeps}
        row |= {f"{level:.0e}": _passes(bounds, limit - level * abs(limit)) for level in LEVELS}
        row |= {
            f"passes with tol={tol:g}": end,
            "from its limit": f"{(bounds.max() - bounds[end]) / abs(limit):.1e}",
            "CPU seconds": round(float(times[end - 1] - times[0]) * end / max(end - 1, 1), 2),
        }
        rows.append(row)
    return rows


def _passes(bounds: Any, level: float) -> int | None:
    """Return the number of passes until a bound is reached; None if it is not."""
    reached = np.flatnonzero(bounds >= level)
    return int(reached[0]) + 1 if len(reached) else None


def _end(bounds: Any, every: int, tol: float) -> int:
    """Return the pass at which a fit with this tolerance ends."""
    for i in range(2 * every, len(bounds) - 1, every):
        if bounds[i] - bounds[i - every] < tol * every * abs(bounds[i]):
            return i
    return len(bounds) - 1
