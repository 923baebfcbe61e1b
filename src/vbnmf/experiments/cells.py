"""List the runs: a cell for each fold, method, setting and seed, and the cells of each item."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from vbnmf.experiments.folds import FOLDS
from vbnmf.experiments.specification import METHODS, Specification

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
    start, seed : initialisation of vbNMF: "drawn" (see ``random_start``) or "random" (that of the
        estimators), and its seed.
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
        cells += _pca(specification)
    if "svm" in groups:
        # the terms that the other methods use, and all terms
        cells += [Cell("svm", "test", specification.corpus.terms), Cell("svm", "test", 0)]
    for method in ("unsupervised", "supervised"):
        if method in groups:
            cells += _factorised(specification, method)
    if "free" in groups:
        cells += _free(specification)
    if not VALIDATED & set(items):
        cells = [cell for cell in cells if cell.fold == "test"]
    # by seed, so that an interrupted run has results for all settings
    return sorted(cells, key=lambda cell: cell.seed or 0)


def _pca(specification: Specification) -> Iterator[Cell]:
    for fold in FOLDS:
        for dimension in specification.pca.dimension:
            yield Cell("pca", fold, dimension, heads=fold == "test")


def _factorised(specification: Specification, method: str) -> Iterator[Cell]:
    grid, seeds = specification.grid(method), specification.seeds
    for fold, n_seeds in (("test", seeds.test), ("validation", seeds.validation)):
        for seed in range(n_seeds):
            for dimension in grid.dimension:
                for parameter in grid.parameter:
                    yield Cell(
                        method, fold, dimension, parameter, grid.term_shape, grid.iterations,
                        grid.burn_in, grid.start, seed, heads=fold == "test" and seed < seeds.heads,
                    )  # fmt: skip


def _free(specification: Specification) -> Iterator[Cell]:
    for method in ("unsupervised", "supervised"):
        grid = specification.grid(method)
        for dimension in specification.free.dimension:
            for parameter in grid.parameter:
                for seed in range(specification.free.seeds):
                    yield Cell(
                        method, "test", dimension, parameter, "free", grid.iterations,
                        grid.burn_in, grid.start, seed,
                    )  # fmt: skip
