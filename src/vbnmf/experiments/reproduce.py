"""Run all experiments: prepare the matrices, calibrate, run the cells, compute label maps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from vbnmf.estimators.validation import count_threads
from vbnmf.experiments.cells import ITEMS, Cell, list_cells
from vbnmf.experiments.folds import (
    FOLDS,
    KINDS,
    count,
    find_corpus,
    kind_of,
    prepare,
    write_matrices,
)
from vbnmf.experiments.maps import ChosenMap, make_maps
from vbnmf.experiments.result_tables import number
from vbnmf.experiments.results import ResultRow
from vbnmf.experiments.runner import Source, Tally, run
from vbnmf.experiments.specification import Specification

MAP_ITEMS = {"fig4", "fig5"}

Tell = Callable[[str], None]


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
    jobs: int | None = None,
    tell: Tell = lambda text: None,
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
    jobs : int, optional
        Number of parallel runs; by default the number of cores.
    tell, progress : callable
        Called with messages, and with a ``Tally``.
    """
    items = list(items)
    cells = list_cells(specification, items)
    folder.mkdir(parents=True, exist_ok=True)
    prepared, about = prepare_source(specification, source, folder, tell=tell)
    table = folder / "results.csv"
    tell("Calibrating with PCA and k-NN, which depend only on the words …")
    calibration = calibrate(specification, prepared, table)
    tell(calibration)
    rows = run(cells, prepared, table, jobs=jobs, tell=progress)
    maps: dict[str, ChosenMap] = {}
    if MAP_ITEMS & set(items):
        maps = make_maps(
            rows,
            specification,
            prepared,
            folder / "maps.json",
            keys=items,
            threads=count_threads(jobs),
            tell=tell,
        )
    return Experiment(specification, about, calibration, rows, maps)


def prepare_source(
    specification: Specification, source: str, folder: Path, *, tell: Tell = lambda text: None
) -> tuple[Source, str]:
    """Compute the matrices of both folds, unless they exist; describe the copy of the corpus."""
    choice = specification.corpus
    tell(f"Looking for {choice.name} …")
    corpus = find_corpus(choice.name, source)
    kind = kind_of(corpus)
    words = specification.words[kind]
    tell(f"Preparing {len(corpus):,} documents from {corpus.source} …")
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
