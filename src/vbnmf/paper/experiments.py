"""Run the experiments: prepare the matrices, calibrate, run the cells, compute label maps.

Cells run in separate processes, each with a part of the cores. The table of results is written
every few seconds by this process only, and is always complete. So an interrupted run can be
resumed.
"""

import hashlib
import json
import os
import signal
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import ConvergenceWarning

from vbnmf.estimators.validation import count_threads
from vbnmf.files import replacing
from vbnmf.paper.folds import (
    KINDS,
    Matrices,
    count,
    find_corpus,
    kind_of,
    prepare,
    read_matrices,
    write_matrices,
)
from vbnmf.paper.measure import ImpossibleError, LabelMap, Metrics, label_map, measure
from vbnmf.paper.result_tables import number
from vbnmf.paper.results import (
    CELL,
    METRICS,
    VERSIONS,
    Choice,
    Key,
    ResultRow,
    distinct,
    guarded,
    key_of,
    peak,
    read_results,
    rows_of,
    spread,
    write_results,
)
from vbnmf.paper.specification import FOLDS, ITEMS, Cell, Specification, list_cells
from vbnmf.versions import versions

MAP_ITEMS = {"fig4", "fig5"}

Report = Callable[[str], None]
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


@dataclass(frozen=True)
class ChosenMap:
    """A label map, its run and why that run was chosen, and the numbers of the paper."""

    method: str
    dimension: int
    parameter: float
    seed: int
    reason: str
    reported_sparsity: float
    reported_inter_label_sparsity: float
    map: LabelMap


@dataclass(frozen=True)
class Experiment:
    """Results of the experiments.

    Attributes
    ----------
    specification : Specification
    about : str
        The copy of the corpus, and its size.
    calibration : str
        The accuracy of PCA on it, and that of the paper.
    rows : list of rows
        Rows of the requested cells.
    maps : dict
        Label maps of Figures 4 and 5, if requested.
    """

    specification: Specification
    about: str
    calibration: str
    rows: list[ResultRow]
    maps: dict[str, ChosenMap]


def reproduce(
    specification: Specification,
    source: str,
    folder: Path,
    *,
    items: Iterable[str] = tuple(ITEMS),
    jobs: int = -1,
    report: Report = lambda text: None,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> Experiment:
    """Run the experiments that the items need. Results in the folder are not computed again.

    Parameters
    ----------
    specification : Specification
    source : str
        "auto", "pypi", or a path to a copy of the corpus.
    folder : Path
        Folder for the matrices, ``results.csv`` and ``maps.json``. Created if it does not exist.
    items : iterable of str
        Some of ``ITEMS``.
    jobs : int, default=-1
        Number of parallel runs; -1 is the number of cores.
    report, progress : callable
        Called with messages, and with a ``Tally``.
    """
    items = list(items)
    cells = list_cells(specification, items)
    folder.mkdir(parents=True, exist_ok=True)
    prepared, about = prepare_source(specification, source, folder, report=report)
    table = folder / "results.csv"
    report("Calibrating with PCA and k-NN, which depend only on the words …")
    calibration = calibrate(specification, prepared, table)
    report(calibration)
    rows = run(cells, prepared, table, jobs=jobs, progress=progress)
    maps: dict[str, ChosenMap] = {}
    if MAP_ITEMS & set(items):
        maps = make_maps(
            rows,
            specification,
            prepared,
            folder / "maps.json",
            keys=items,
            threads=count_threads(jobs),
            report=report,
        )
    return Experiment(specification, about, calibration, rows, maps)


def prepare_source(
    specification: Specification, source: str, folder: Path, *, report: Report = lambda text: None
) -> tuple[Source, str]:
    """Compute the matrices of both folds, and describe the copy of the corpus."""
    choice = specification.corpus
    report(f"Looking for {choice.name} …")
    corpus = find_corpus(choice.name, source)
    kind = kind_of(corpus)
    words = specification.words[kind]
    report(f"Preparing {len(corpus):,} documents from {corpus.source} …")
    counts = count(corpus, words)
    files = {fold: folder / "data" / f"{kind}-{fold}.npz" for fold in FOLDS}
    (folder / "data").mkdir(exist_ok=True)
    for fold, file in files.items():
        write_matrices(prepare(counts, choice, words, fold), file)
    train = int(counts.train.sum())
    copy = KINDS[kind] if choice.name == "20newsgroups" else corpus.source
    about = (
        f"{copy}: {train:,} training and {len(corpus) - train:,} test documents, "
        f"{len(corpus.label_names)} labels"
    )
    return Source(kind, files), about


def calibrate(specification: Specification, source: Source, table: Path) -> str:
    """Measure PCA at the paper's dimension, which depends only on preprocessing."""
    reported = specification.reported["pca"]
    planned = specification.pca.dimension
    # a corpus too small for the paper's dimension uses the largest dimension of the grid
    dimension = reported["dimension"] if reported["dimension"] in planned else max(planned)
    cell = Cell("pca", "test", dimension, heads=True)
    (row,) = run([cell], source, table, jobs=1)
    paper = f"{number(reported['micro']['mean'])} / {number(reported['macro']['mean'])}"
    if row["status"] != "done":
        return f"PCA with {dimension} dimensions: {row['status']}, {row['reason']}; paper {paper}."
    return (
        f"PCA-{dimension} with k-NN: accuracy {number(row['micro'])} / {number(row['macro'])} "
        f"(micro / macro); paper, PCA-{reported['dimension']}: {paper}."
    )


def run(
    cells: Sequence[Cell],
    source: Source,
    table: Path,
    *,
    jobs: int = -1,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> list[ResultRow]:
    """Run the cells that are not in the table yet.

    Parameters
    ----------
    cells : sequence of Cell
    source : Source
    table : Path
        The CSV file. Rows of other cells and sources are kept.
    jobs : int, default=-1
        Number of parallel runs; -1 is the number of cores.
    progress : callable
        Called with a ``Tally`` after each cell.

    Returns
    -------
    list of rows
        Rows of the cells, in their order. A failed cell is run again next time; an impossible cell
        is not.
    """
    jobs = count_threads(jobs)
    threads = max(1, count_threads(-1) // jobs)
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
            progress(Tally(done, len(open_), cost[0], cost[1], failed, now - begin))
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


def choose_runs(
    rows: list[ResultRow], specification: Specification
) -> dict[str, tuple[ResultRow, str]]:
    """Choose an unsupervised and a supervised run for Figures 4 and 5, with the reasons."""
    dimension = specification.figures.map_dimension
    chosen = {}
    if best := peak(rows, "unsupervised", dimension=dimension):
        chosen["fig4"] = (
            best,
            f"The best unsupervised run on the test split with K = {dimension}.",
        )
    matching = guarded(rows, method="supervised", fold="test", dimension=dimension)
    means = {
        a: spread(rows_of(rows, Choice("supervised", dimension, a, "test")), "micro").mean
        for a in distinct(matching, "parameter")
    }
    if means:
        # not the best run: the first random start at the parameter that is best on average
        parameter = max(means, key=lambda a: means[a])
        row = min((r for r in matching if r["parameter"] == parameter), key=lambda r: r["seed"])
        chosen["fig5"] = (
            row,
            f"The first random start at the a^λ that is best on average with K = {dimension}.",
        )
    return chosen


def make_maps(
    rows: list[ResultRow],
    specification: Specification,
    source: Source,
    path: Path,
    *,
    keys: Collection[str] = ("fig4", "fig5"),
    threads: int,
    report: Report = lambda text: None,
) -> dict[str, ChosenMap]:
    """Compute the label maps of the requested figures. Maps in the file are not computed again."""
    known = _read_maps(path)
    maps = {}
    for key, (row, reason) in choose_runs(rows, specification).items():
        if key not in keys:
            continue
        reported = specification.reported[row["method"]]
        about: dict[str, Any] = {
            "method": row["method"],
            "dimension": row["dimension"],
            "parameter": row["parameter"],
            "seed": row["seed"],
            "reason": reason,
            "reported_sparsity": reported["sparsity"],
            "reported_inter_label_sparsity": reported["inter_label_sparsity"],
        }
        stamp = about | {name: row[name] for name in ("data", *CELL)}
        old = known.get(key, {})
        if {name: old.get(name) for name in stamp} == stamp:
            maps[key] = ChosenMap(**about, map=LabelMap(**old["map"]))
            continue
        report(f"Fitting the decomposition of {key} again …")
        matrices = read_matrices(source.files["test"])
        cell = Cell(**{name: row[name] for name in CELL})
        maps[key] = ChosenMap(**about, map=label_map(cell, matrices, threads))
        known[key] = stamp | {"map": asdict(maps[key].map)}
        with replacing(path) as temporary:
            Path(temporary).write_text(json.dumps(known, indent=1), encoding="utf-8")
    return maps


def _read_maps(path: Path) -> dict[str, dict[str, Any]]:
    """Read the maps in the file; empty if it does not exist or is not valid."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        names = {field.name for field in fields(LabelMap)}
        return {key: value for key, value in known.items() if set(value["map"]) == names}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
