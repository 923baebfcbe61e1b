"""Read the specification of the experiments, and list their runs.

The specification is a TOML file such as ``paper.toml``. A ``Cell`` is one run: there is one for
each fold, method, setting and seed. An item of the report, such as a figure, needs some of them.
"""

import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")
METHODS = ("pca", "unsupervised", "supervised")
STARTS = ("drawn", "random")
FOLDS = ("test", "validation")  # see ``folds``

ITEMS = {
    "fig1": ("pca",),
    "fig2": ("unsupervised",),
    "fig3": ("supervised",),
    "fig4": ("unsupervised",),
    "fig5": ("supervised",),
    "fig6": ("supervised",),
    "fig7": ("unsupervised", "supervised"),
    "table1": METHODS,
    "sparsities": ("unsupervised", "supervised"),
    "grid": ("supervised",),
    "classifiers": (*METHODS, "svm"),
    "claims": (*METHODS, "free"),
}
"""The items of the report, each with the groups of cells that it needs."""

VALIDATED = {"table1", "sparsities", "classifiers", "claims"}
"""The items that show parameters selected on validation documents."""


@dataclass(frozen=True)
class Words:
    """Which words of a copy of the corpus are terms; ``min_df`` is in training documents."""

    stop_words: str | None = None
    stem: str | None = None
    min_df: int = 1


@dataclass(frozen=True)
class CorpusChoice:
    """The corpus, and how it is converted to a matrix."""

    name: str
    terms: int  # kept
    documents: str  # "corpus" or "train": what N and n of (3) count
    validation: float  # held-out part of the training documents

    def __post_init__(self) -> None:
        if self.documents not in ("corpus", "train"):
            raise ValueError(f"documents must be 'corpus' or 'train'; got {self.documents!r}")
        if not 0 < self.validation < 1:
            raise ValueError(f"validation must be between 0 and 1; got {self.validation!r}")


@dataclass(frozen=True)
class MethodGrid:
    """Grid of one method: all pairs of dimension and parameter."""

    dimension: tuple[int, ...]
    parameter: tuple[float, ...] = ()
    term_shape: float = 1.0
    iterations: int = 0
    burn_in: int = 10
    start: str = "drawn"  # see ``measure.drawn_components``

    def __post_init__(self) -> None:
        if self.term_shape == 0:
            raise ValueError("term_shape must be a positive number; got 0")
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}; got {self.start!r}")


@dataclass(frozen=True)
class Seeds:
    """Numbers of random starts: on the test split, on validation, and with more classifiers."""

    test: int
    validation: int
    heads: int


@dataclass(frozen=True)
class Free:
    """Cells that learn T's shape without a lower limit."""

    dimension: tuple[int, ...]
    seeds: int


@dataclass(frozen=True)
class FigureChoices:
    """Parts of the grid that the figures show."""

    map_dimension: int
    hull_dimensions: tuple[int, ...]
    zoom: tuple[float, float]


@dataclass(frozen=True)
class Specification:
    """All runs, and the numbers that the paper reports."""

    corpus: CorpusChoice
    words: dict[str, Words]
    seeds: Seeds
    pca: MethodGrid
    unsupervised: MethodGrid
    supervised: MethodGrid
    free: Free
    figures: FigureChoices
    reported: dict[str, dict[str, Any]]

    def grid(self, method: str) -> MethodGrid:
        """Return the grid of a method."""
        grid = getattr(self, method)
        assert isinstance(grid, MethodGrid)
        return grid


def read_specification(
    path: Path | None = None, *, quick: bool = False, seeds: int | None = None
) -> Specification:
    """Read a specification.

    Parameters
    ----------
    path : Path, optional
        A TOML file; by default ``paper.toml``.
    quick : bool
        Whether to replace values by those of the table ``[quick]``.
    seeds : int, optional
        Number of random starts of each cell. Smaller numbers of validation runs and of runs with
        further classifiers are kept.
    """
    source = files(__package__).joinpath("paper.toml") if path is None else path
    try:
        values = tomllib.loads(source.read_text(encoding="utf-8"))
        smaller = values.pop("quick", {})
        specification = _records(_merged(values, smaller) if quick else values)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{source}: not a specification of the experiments: {error}. Begin with a copy of "
            "paper.toml, which comes with vbnmf.paper."
        ) from error
    return specification if seeds is None else _with_seeds(specification, seeds)


def _merged(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return values, with those of ``over`` replaced, table by table."""
    merged = dict(values)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(value, dict) and isinstance(old, dict)
        merged[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _records(values: dict[str, Any]) -> Specification:
    if unknown := set(values) - {field.name for field in fields(Specification)}:
        raise ValueError(f"it has unknown tables: {', '.join(sorted(unknown))}")
    if missing := {field.name for field in fields(Specification)} - set(values):
        raise ValueError(f"it lacks the tables {', '.join(sorted(missing))}")
    words = values["words"]
    return Specification(
        corpus=_record(CorpusChoice, "corpus", values["corpus"]),
        words={name: _record(Words, f"words.{name}", table) for name, table in words.items()},
        seeds=_record(Seeds, "seeds", values["seeds"]),
        **{method: _record(MethodGrid, method, values[method]) for method in METHODS},
        free=_record(Free, "free", values["free"]),
        figures=_record(FigureChoices, "figures", values["figures"]),
        reported=values["reported"],
    )


def _record(kind: type[Kind], name: str, table: Any) -> Kind:
    """Convert a table of the file to a record; raise an error if the table is not valid."""
    if not isinstance(table, dict):
        raise ValueError(f"[{name}] must be a table; got {table!r}")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(table) - set(known)):
        raise ValueError(f"[{name}] has {unknown[0]!r}; it can have {', '.join(known)}")
    needed = [key for key, field in known.items() if field.default is MISSING]
    if missing := [key for key in needed if key not in table]:
        raise ValueError(f"[{name}] lacks {', '.join(missing)}")
    types = get_type_hints(kind)
    return kind(**{key: _converted(key, types[key], value) for key, value in table.items()})


def _converted(key: str, kind: Any, value: Any) -> Any:
    """Check that a value of the file has the type of its field, and convert lists to tuples."""
    if get_origin(kind) is tuple:
        kinds = get_args(kind)  # (int, ...) or one for each value
        if not isinstance(value, list):
            raise ValueError(f"{key} must be a list; got {value!r}")
        if Ellipsis not in kinds and len(value) != len(kinds):
            raise ValueError(f"{key} must have {len(kinds)} values; got {value!r}")
        return tuple(_converted(f"each value of {key}", kinds[0], item) for item in value)
    accepted, in_words = _TYPES.get(kind, ((str,), "a string"))
    if type(value) not in accepted:
        raise ValueError(f"{key} must be {in_words}; got {value!r}")
    if not isinstance(value, str) and not 0 <= value < math.inf:
        raise ValueError(f"{key} must be at least 0 and finite; got {value!r}")
    return value


_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _with_seeds(specification: Specification, seeds: int) -> Specification:
    if seeds < 1:
        raise ValueError(f"the number of seeds must be at least 1; got {seeds}.")
    planned = specification.seeds
    return replace(
        specification,
        seeds=Seeds(seeds, min(planned.validation, seeds), min(planned.heads, seeds)),
        free=replace(specification.free, seeds=min(specification.free.seeds, seeds)),
    )


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    method : "pca", "unsupervised", "supervised", or "svm" (a linear SVM on the weights of terms).
    fold : "test" or "validation"; see ``folds``.
    dimension : K; for "svm" the number of terms, or 0 for all terms.
    parameter : shape of the coefficients (unsupervised) or a^λ (supervised).
    term_shape : a number, or "free" if it is learned without a lower limit.
    iterations, burn_in : numbers of iterations of vbNMF.
    start, seed : initialisation of vbNMF: "drawn" (see ``measure.drawn_components``) or "random"
        (that of the estimators), and its seed.
    heads : whether logistic regression and a linear SVM are also trained on the coefficients.
    """

    method: str
    fold: str
    dimension: int
    parameter: float | None = None
    term_shape: float | str | None = None
    iterations: int | None = None
    burn_in: int | None = None
    start: str | None = None
    seed: int | None = None
    heads: bool = False

    @property
    def cost(self) -> float:
        """Estimated time in arbitrary units, to estimate the remaining time."""
        sweeps = self.dimension * (self.iterations or 0) / 200
        return 20 + sweeps + (100 if self.heads else 0)

    def as_row(self) -> dict[str, Any]:
        """Return the columns of the cell in the table of results."""
        return asdict(self)


def list_cells(specification: Specification, items: Iterable[str] = tuple(ITEMS)) -> list[Cell]:
    """List the cells that the items need, in the order in which they are run.

    Raises
    ------
    ValueError
        An item is not one of ``ITEMS``.
    """
    items = list(items)
    groups: set[str] = set()
    for item in items:
        if item not in ITEMS:
            raise ValueError(f"no item is called {item!r}; there are {', '.join(ITEMS)}.")
        groups.update(ITEMS[item])
    cells: list[Cell] = []
    if "pca" in groups:
        cells += _pca_cells(specification)
    if "svm" in groups:
        # the terms that the other methods use, and all terms
        cells += [Cell("svm", "test", specification.corpus.terms), Cell("svm", "test", 0)]
    for method in ("unsupervised", "supervised"):
        if method in groups:
            cells += _vbnmf_cells(specification, method)
    if "free" in groups:
        cells += _free_cells(specification)
    if not VALIDATED & set(items):
        cells = [cell for cell in cells if cell.fold == "test"]
    # by seed, so that an interrupted run has results for all settings
    return sorted(cells, key=lambda cell: cell.seed or 0)


def _pca_cells(specification: Specification) -> Iterator[Cell]:
    for fold in FOLDS:
        for dimension in specification.pca.dimension:
            yield Cell("pca", fold, dimension, heads=fold == "test")


def _vbnmf_cells(specification: Specification, method: str) -> Iterator[Cell]:
    grid, seeds = specification.grid(method), specification.seeds
    for fold, n_seeds in (("test", seeds.test), ("validation", seeds.validation)):
        for seed in range(n_seeds):
            for dimension in grid.dimension:
                for parameter in grid.parameter:
                    yield Cell(
                        method, fold, dimension, parameter, grid.term_shape, grid.iterations,
                        grid.burn_in, grid.start, seed, heads=fold == "test" and seed < seeds.heads,
                    )  # fmt: skip


def _free_cells(specification: Specification) -> Iterator[Cell]:
    for method in ("unsupervised", "supervised"):
        grid = specification.grid(method)
        for dimension in specification.free.dimension:
            for parameter in grid.parameter:
                for seed in range(specification.free.seeds):
                    yield Cell(
                        method, "test", dimension, parameter, "free", grid.iterations,
                        grid.burn_in, grid.start, seed,
                    )  # fmt: skip
