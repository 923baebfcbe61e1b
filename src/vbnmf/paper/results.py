"""Read, write and query the table of results, a CSV file with one row per cell.

Columns are those of ``Cell`` (the settings), ``SOURCE`` (the data), ``OUTCOME`` (success or
failure), ``METRICS`` (the results) and ``VERSIONS``. A field is empty if the column does not apply.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from vbnmf.files import replacing
from vbnmf.paper.specification import Cell

ResultRow = dict[str, Any]
Key = tuple[Any, ...]

CELL = tuple(field.name for field in fields(Cell))
SOURCE = ("source", "data")  # kind of copy, and a hash of its matrices
OUTCOME = ("status", "reason")  # "done" and what did not converge; "failed" or "impossible" and why
METRICS = (
    "micro", "macro", "micro_projected", "macro_projected", "micro_logistic", "macro_logistic",
    "micro_svm", "macro_svm", "sparsity", "inter_label_sparsity", "learned_term_shape", "n_iter",
    "bound", "seconds_fit", "seconds",
)  # fmt: skip
VERSIONS = ("vbnmf", "kernel", "python", "numpy", "scipy", "scikit-learn")
COLUMNS = (*SOURCE, *CELL, *OUTCOME, *METRICS, *VERSIONS)

_WHOLE = ("dimension", "iterations", "burn_in", "seed", "n_iter")
_TEXT = (*SOURCE, "method", "fold", "start", *OUTCOME, *VERSIONS)


@dataclass(frozen=True)
class Spread:
    """Mean, minimum and maximum of a metric over random starts with the same parameters."""

    mean: float
    least: float
    most: float
    n: int


@dataclass(frozen=True)
class Choice:
    """Selected parameters, and the fold on which they were selected."""

    method: str
    dimension: int
    parameter: float | None
    fold: str


def key_of(row: ResultRow) -> Key:
    """Return what identifies a row: its source and the settings of its cell.

    ``heads`` is not part of it, because further classifiers add columns to the same run.
    """
    return tuple(row[name] for name in (*SOURCE, *CELL) if name != "heads")


def write_results(rows: Sequence[ResultRow], path: Path) -> None:
    """Write the table. An incomplete file is never left behind."""
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({n: "" if v is None else v for n, v in row.items()} for row in rows)


def read_results(path: Path) -> list[ResultRow]:
    """Read a table; return no rows if the file does not exist.

    Raises
    ------
    ValueError
        The file is damaged or not a table of results.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            names, *lines = list(csv.reader(file)) or [[]]
        if tuple(names) != COLUMNS:
            raise ValueError("its columns are not those of this version")
        return [
            {name: _value(name, text) for name, text in zip(COLUMNS, line, strict=True)}
            for line in lines
        ]
    except (csv.Error, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged or not a table of results: {error}. Move it away to start again, "
            "or choose another folder."
        ) from error


def where(rows: Iterable[ResultRow], **conditions: Any) -> list[ResultRow]:
    """Return rows with results and with these values; a tuple matches any of its values."""
    return [
        row
        for row in rows
        if row["status"] == "done"
        and all(
            row[name] in wanted if isinstance(wanted, tuple) else row[name] == wanted
            for name, wanted in conditions.items()
        )
    ]


def guarded(rows: Iterable[ResultRow], **conditions: Any) -> list[ResultRow]:
    """Return rows as ``where``, without cells that learn T's shape without a lower limit."""
    return [row for row in where(rows, **conditions) if row["term_shape"] != "free"]


def values(rows: Iterable[ResultRow], name: str) -> list[float]:
    """Return the values of a column, without empty fields."""
    return [float(row[name]) for row in rows if row[name] is not None]


def spread(rows: Iterable[ResultRow], name: str) -> Spread:
    """Compute mean, minimum and maximum of a metric; NaN if there are no values."""
    found = values(rows, name)
    if not found:
        return Spread(nan, nan, nan, 0)
    return Spread(float(np.mean(found)), min(found), max(found), len(found))


def distinct(rows: Iterable[ResultRow], name: str) -> list[Any]:
    """Return the distinct values of a column, sorted."""
    return sorted({row[name] for row in rows if row[name] is not None})


def rows_of(rows: Iterable[ResultRow], choice: Choice, fold: str = "test") -> list[ResultRow]:
    """Return the rows with the selected parameters, by default those of the test split."""
    return guarded(
        rows,
        method=choice.method,
        fold=fold,
        dimension=choice.dimension,
        parameter=choice.parameter,
    )


def peak(
    rows: Iterable[ResultRow], method: str, metric: str = "micro", **conditions: Any
) -> ResultRow | None:
    """Return the best single run on the test split, by which the paper selects parameters."""
    found = [
        row
        for row in guarded(rows, method=method, fold="test", **conditions)
        if row[metric] is not None
    ]
    return max(found, key=lambda row: row[metric], default=None)


def choose_peak(rows: Sequence[ResultRow], method: str, **conditions: Any) -> Choice | None:
    """Select the parameters of the best single run on the test split."""
    best = peak(rows, method, **conditions)
    return None if best is None else Choice(method, best["dimension"], best["parameter"], "test")


def choose_validated(rows: Sequence[ResultRow], method: str, **conditions: Any) -> Choice | None:
    """Select the parameters with the best mean on held-out training documents."""
    held = guarded(rows, method=method, fold="validation", **conditions)
    sets = {(row["dimension"], row["parameter"]) for row in held}
    choices = [Choice(method, *parameters, "validation") for parameters in sets]
    if not choices:
        return None
    # of equally good ones, the smaller dimension and parameter
    choices.sort(key=lambda choice: (choice.dimension, choice.parameter or 0.0))
    return max(choices, key=lambda c: spread(rows_of(held, c, "validation"), "micro").mean)


def rank_correlation(rows: Iterable[ResultRow], one: str, other: str) -> float:
    """Compute Spearman's rank correlation of two metrics; NaN if there are too few rows."""
    pairs = [(row[one], row[other]) for row in rows if None not in (row[one], row[other])]
    if len(pairs) < 3 or any(len(set(column)) < 2 for column in zip(*pairs, strict=True)):
        return nan
    return float(spearmanr(np.array(pairs)).statistic)


def _value(name: str, text: str) -> Any:
    if text == "":
        return "" if name in OUTCOME else None
    if name in _TEXT:
        return text
    if name == "heads":
        return {"True": True, "False": False}[text]
    if name in _WHOLE:
        return int(text)
    return text if name == "term_shape" and text == "free" else float(text)
