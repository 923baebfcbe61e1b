"""Functions shared by benchmarks: seconds per iteration, copy bandwidth, tables, result files."""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from vbnmf.files import replacing

Row = Mapping[str, object]


Samples = list[float]


def clock(threads: int) -> Callable[[], float]:
    """Return the clock for a number of threads: of the processor for one, of the wall for more."""
    return time.process_time if threads == 1 else time.perf_counter


def seconds_per_iteration(
    run: Callable[[int], object],
    few: int,
    many: int,
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> Samples:
    """Sample (time of run(many) − that of run(few)) / (many − few), `repeats` times.

    The difference does not include preparation, transposition and process pools. One run before is
    not timed, so that imports and caches do not count.
    """
    run(few)
    return [
        (_seconds(run, many, clock) - _seconds(run, few, clock)) / (many - few)
        for _ in range(repeats)
    ]


def middle(samples: Samples | None) -> float | None:
    """Return the median, or None if nothing was measured.

    A difference of two fits that is not positive means that another program disturbed it. Leaving
    out only such samples would favour slow ones, so then the result is None.
    """
    return statistics.median(samples) if samples and min(samples) > 0 else None


def ratio(samples: Samples | None, reference: Samples | None) -> float | None:
    """Return the quotient of the medians, or None if either was not measured."""
    above, below = middle(samples), middle(reference)
    return above / below if above and below else None


def milliseconds(samples: Samples | None) -> dict[str, object]:
    """Return two cells of a table: the median and the range."""
    seconds = middle(samples)
    if samples is None:
        note = "not installed"
    else:
        note = f"{1e3 * min(samples):.3g}–{1e3 * max(samples):.3g} ({len(samples)})"
        note += "" if seconds else " too disturbed to time"
    return {"ms an iteration": seconds and 1e3 * seconds, "lowest–highest (runs)": note}


def machine(threads: int) -> str:
    """Describe the machine: threads used, and load before the run."""
    load = (
        f", load average {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    )
    return f"{threads} threads of {os.cpu_count()} cores{load}"


def copy_bandwidth(threads: int, megabytes: int = 256, repeats: int = 5) -> float:
    """Measure bytes per second, read plus written, of copying `megabytes` in each thread."""
    arrays = [np.ones(megabytes << 17) for _ in range(2 * threads)]
    pairs = [(arrays[2 * i], arrays[2 * i + 1]) for i in range(threads)]
    with ThreadPoolExecutor(threads) as pool:

        def copy_all(_: int) -> None:
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))

        copy_all(0)  # touches every page first
        best = min(_seconds(copy_all, 0) for _ in range(repeats))
    return sum(a.nbytes + b.nbytes for a, b in pairs) / best


def both_orders(X: sp.csr_matrix) -> int:
    """Compute the bytes of X by rows and by columns."""
    cells = X.nnz * (X.data.itemsize + X.indices.itemsize)
    return int(2 * cells + (sum(X.shape) + 2) * X.indptr.itemsize)


def markdown(rows: Sequence[Row]) -> str:
    """Format rows with the same keys as a Markdown table, with numbers to the right."""
    names = list(rows[0])
    right = [all(not isinstance(row[name], str) for row in rows) for name in names]
    lines = [names, ["---:" if r else "---" for r in right]]
    lines += [[_cell(row[name]) for name in names] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rounded_table(rows: Sequence[Row]) -> str:
    """Format rows as a Markdown table, with numbers rounded to three places, None left empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = [
        {name: "" if (value := row.get(name)) is None else _rounded(value) for name in names}
        for row in rows
    ]
    return markdown(shown)


def _rounded(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


def write_all(rows: Sequence[Row], path: Path) -> None:
    """Write rows of several kinds to one CSV table; cells that a row lacks are empty."""
    write_rows(rows, list(dict.fromkeys(name for row in rows for name in row)), path)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add --quick, --threads, --json and --out."""
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repetitions")
    parser.add_argument("--threads", type=int, default=2, help="threads for everyone (default 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers here")
    parser.add_argument("--out", type=Path, metavar="TABLE.md", help="also write the table here")


def report(options: argparse.Namespace, text: str, results: Row) -> None:
    """Print the Markdown and write the files that the options name."""
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _seconds(
    run: Callable[[int], object], argument: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    begin = clock()
    run(argument)
    return clock() - begin


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def write_rows(rows: Sequence[Mapping[str, object]], columns: Sequence[str], path: Path) -> None:
    """Write a CSV table, completely or not at all."""
    with replacing(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
