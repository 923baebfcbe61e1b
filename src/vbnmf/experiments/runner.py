"""Run cells in parallel, and write their results to a table. An interrupted run can be resumed.

Cells run in separate processes, each with a part of the cores. The table is written every few
seconds by this process only, and is always complete.
"""

import hashlib
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import ConvergenceWarning

from vbnmf.estimators.info import versions
from vbnmf.estimators.validation import count_threads
from vbnmf.experiments.cells import Cell
from vbnmf.experiments.folds import Matrices, read_matrices
from vbnmf.experiments.measure import ImpossibleError, Metrics, measure
from vbnmf.experiments.results import (
    METRICS,
    VERSIONS,
    Key,
    ResultRow,
    key_of,
    read_results,
    write_results,
)

CellOutcome = tuple[str, str, Metrics]  # status, reason, metrics

_SECONDS_BETWEEN_WRITES = 5.0


@dataclass(frozen=True)
class Source:
    """Data of the cells: the kind of copy, and a file of matrices for each fold."""

    kind: str
    files: dict[str, Path]

    def data(self, fold: str) -> str:
        """Return a short hash of the matrices of a fold, which identifies them."""
        return _hash(self.files[fold])


@dataclass(frozen=True)
class Tally:
    """Progress of a run; costs are in the units of ``Cell.cost``."""

    done: int
    total: int
    cost_done: float
    cost_total: float
    failed: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """Estimated remaining time, from the costs; infinite before the first cell is done."""
        if self.cost_done == 0:
            return float("inf")
        return self.seconds * (self.cost_total - self.cost_done) / self.cost_done


def run(
    cells: Sequence[Cell],
    source: Source,
    table: Path,
    *,
    jobs: int | None = None,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> list[ResultRow]:
    """Run the cells that are not in the table yet.

    Parameters
    ----------
    cells : sequence of Cell
    source : Source
    table : Path
        The CSV file. Rows of other cells and sources are kept.
    jobs : int, optional
        Number of parallel runs; by default the number of cores.
    tell : callable
        Called with a ``Tally`` after each cell.

    Returns
    -------
    list of rows
        Rows of the cells, in their order. A failed cell is run again next time; an impossible cell
        is not.
    """
    jobs = count_threads(jobs)
    threads = max(1, count_threads(None) // jobs)
    rows = {key_of(row): row for row in read_results(table)}
    wanted = {key_of(_row(cell, source)): cell for cell in cells}
    open_ = [
        (key, cell)
        for key, cell in wanted.items()
        if key not in rows
        or rows[key]["status"] == "failed"
        or (cell.heads and not rows[key]["heads"])
    ]
    facts = {name: value for name, value in versions().items() if name in VERSIONS}
    begin = last = time.monotonic()
    cost = [0.0, sum(cell.cost for _, cell in open_)]
    failed = 0
    try:
        for done, (key, outcome) in enumerate(_outcomes(open_, source, jobs, threads), 1):
            rows[key] = _row(wanted[key], source, outcome) | facts
            failed += outcome[0] == "failed"
            cost[0] += wanted[key].cost
            now = time.monotonic()
            if now - last > _SECONDS_BETWEEN_WRITES:
                last = now
                write_results(list(rows.values()), table)
            tell(Tally(done, len(open_), cost[0], cost[1], failed, now - begin))
    finally:
        if open_:
            order = {key: place for place, key in enumerate(wanted)}
            ordered = sorted(rows.values(), key=lambda row: order.get(key_of(row), len(order)))
            write_results(ordered, table)
    return [rows[key] for key in wanted]


def _outcomes(
    cells: Sequence[tuple[Key, Cell]], source: Source, jobs: int, threads: int
) -> Iterator[tuple[Key, CellOutcome]]:
    """Yield outcomes as soon as they are available."""
    here = os.getpid()
    tasks = (
        delayed(_attempt)(key, cell, source.files[cell.fold], threads, here) for key, cell in cells
    )
    n_jobs = min(jobs, max(1, len(cells)))
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=threads):
        try:
            yield from Parallel(return_as="generator_unordered", batch_size=1)(tasks)
        except BrokenExecutor as error:
            raise MemoryError(
                "a process of a run was killed, most likely because memory ran out. Finished runs "
                f"are kept. Repeat the command with --n-jobs below {n_jobs}."
            ) from error


def _attempt(
    key: Key, cell: Cell, file: Path, threads: int, gatherer: int
) -> tuple[Key, CellOutcome]:
    """Run one cell, usually in a worker process, and return its outcome."""
    before = signal.getsignal(signal.SIGINT)
    if os.getpid() != gatherer:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    try:
        metrics, warned = _measured(cell, _matrices(file, _hash(file)), threads)
        return key, ("done", warned, metrics)
    except ImpossibleError as error:
        return key, ("impossible", str(error), {})
    except Exception as error:  # an error in a cell must not stop the others
        return key, ("failed", f"{type(error).__name__}: {error}".replace("\n", " "), {})
    finally:
        if os.getpid() != gatherer:  # the worker may be used for other work
            signal.signal(signal.SIGINT, before)


def _measured(cell: Cell, matrices: Matrices, threads: int) -> tuple[Metrics, str]:
    """Run one cell; also return what did not converge, as one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        metrics = measure(cell, matrices, threads)
    unfinished = []
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            unfinished.append(str(warning.message).splitlines()[0])
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return metrics, "; ".join(dict.fromkeys(unfinished))


def _row(cell: Cell, source: Source, outcome: CellOutcome = ("", "", {})) -> ResultRow:
    status, reason, metrics = outcome
    return {
        "source": source.kind,
        "data": source.data(cell.fold),
        **cell.as_row(),
        "status": status,
        "reason": reason,
        **dict.fromkeys(METRICS),
        **metrics,
    }


@lru_cache(maxsize=4)
def _matrices(file: Path, _: str) -> Matrices:
    return read_matrices(file)


def _hash(file: Path) -> str:
    stat = file.stat()
    return _hash_of(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _hash_of(file: Path, *_: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
