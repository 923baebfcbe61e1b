"""Compute the tables of the report from the results: Table 1, sparsities, classifiers, grid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

from vbnmf.paper.results import (
    Choice,
    ResultRow,
    choose_peak,
    choose_validated,
    distinct,
    guarded,
    rows_of,
    spread,
    where,
)
from vbnmf.paper.specification import METHODS, Specification

NAMES = {
    "pca": "PCA",
    "unsupervised": "unsupervised vbNMF",
    "supervised": "supervised vbNMF",
    "svm": "linear SVM on TF-IDF",
}
SELECTIONS = {
    "test": "peak on the test split",
    "paper": "the same, at the paper's K",
    "validation": "chosen on validation documents",
}

NOTHING = "–"


@dataclass(frozen=True)
class ResultTable:
    """A table; cells are text, and ``right`` lists the columns of numbers."""

    key: str
    title: str
    caption: str
    columns: list[str]
    rows: list[list[str]]
    right: tuple[int, ...] = ()


def all_tables(rows: list[ResultRow], specification: Specification) -> list[ResultTable]:
    """Return all tables for which there are rows."""
    tables = [
        table1(rows, specification),
        sparsities(rows, specification),
        classifiers(rows),
        grid(rows),
    ]
    return [table for table in tables if table.rows]


def table1(rows: list[ResultRow], specification: Specification) -> ResultTable:
    """Return Table 1: accuracies of the three methods, ours and the paper's, for two selections."""
    lines = []
    for metric in ("micro", "macro"):
        for method in METHODS:
            reported = specification.reported[method]
            paper = reported[metric]
            lines.append(
                [
                    f"{metric}-averaged", NAMES[method], "paper: peak on the test split",
                    str(reported["dimension"]), "", number(paper["mean"]), "",
                    between(paper.get("least"), paper.get("most")), "",
                ]
            )  # fmt: skip
            for choice in chosen(rows, method, at=reported["dimension"]):
                ours = spread(rows_of(rows, choice), metric)
                lines.append(
                    [
                        "", "", SELECTIONS[choice.fold], str(choice.dimension), parameter(choice),
                        number(ours.mean), difference(ours.mean, paper["mean"]),
                        between(ours.least, ours.most) if ours.n > 1 else "", str(ours.n),
                    ]
                )  # fmt: skip
    found = any(line[-1] for line in lines)
    return ResultTable(
        "table1",
        "Table 1: accuracy of k-NN in the three spaces",
        "k-NN with cosine similarity and k = √N, among the training coefficients. Dimension and "
        "parameter are selected in two ways: by the best single run on the test split, as in the "
        "paper, and by the best mean on held-out training documents. Mean, lowest and highest "
        "accuracy are over the random starts, on the test split.",
        ["accuracy", "method", "selected by", "K", "parameter", "mean", "− paper",
         "[lowest, highest]", "starts"],
        lines if found else [],
        right=(3, 4, 5, 6, 7, 8),
    )  # fmt: skip


def sparsities(rows: list[ResultRow], specification: Specification) -> ResultTable:
    """Return the two sparsities of Figures 4 and 5, as means over the random starts."""
    dimension = specification.figures.map_dimension
    lines = []
    for method in ("unsupervised", "supervised"):
        reported = specification.reported[method]
        for choice in chosen(rows, method, dimension=dimension):
            found = rows_of(rows, choice)
            line = [NAMES[method], SELECTIONS[choice.fold], str(dimension), parameter(choice)]
            for metric in ("sparsity", "inter_label_sparsity"):
                ours = spread(found, metric).mean
                paper = reported[metric]
                line += [number(paper), number(ours), difference(ours, paper)]
            lines.append([*line, number(spread(found, "micro").mean)])
    return ResultTable(
        "sparsities",
        f"Sparsity of the decompositions with K = {dimension}",
        "Hoyer's sparsity of the coefficients (12) and of their sums by label (13), means over the "
        "random starts. The paper's numbers are of single decompositions, its Figures 4 and 5.",
        ["method", "selected by", "K", "parameter", "coefficients: paper", "coefficients: ours",
         "difference", "inter-label: paper", "inter-label: ours", "difference", "accuracy"],
        lines,
        right=(2, 3, 4, 5, 6, 7, 8, 9, 10),
    )  # fmt: skip


def classifiers(rows: list[ResultRow]) -> ResultTable:
    """Return the accuracy of stronger classifiers on the same representations."""
    lines = []
    for method in METHODS:
        for choice in chosen(rows, method):
            found = [row for row in rows_of(rows, choice) if row["heads"]]
            if found:
                metrics = ("micro", "micro_projected", "micro_logistic", "micro_svm")
                about = [NAMES[method], SELECTIONS[choice.fold], str(choice.dimension)]
                means = [number(spread(found, metric).mean) for metric in metrics]
                lines.append([*about, parameter(choice), *means])
    for row in where(rows, method="svm", fold="test"):
        terms = f"{row['dimension']:,} terms" if row["dimension"] else "all terms"
        lines.append([NAMES["svm"], terms, "", "", "", "", "", number(row["micro_svm"])])
    return ResultTable(
        "classifiers",
        "A stronger classifier on the same representations",
        "Micro-averaged accuracy on the test split. The first k-NN uses the training coefficients, "
        "as the paper does. The other three classifiers are trained on training documents "
        "projected without their labels. Means over the random starts with all classifiers.",
        ["method", "selected by", "K", "parameter", "k-NN", "k-NN, projected",
         "logistic regression", "linear SVM"],
        lines,
        right=(2, 3, 4, 5, 6, 7),
    )  # fmt: skip


def grid(rows: list[ResultRow]) -> ResultTable:
    """Return accuracy and inter-label sparsity at each point of the supervised grid."""
    found = guarded(rows, method="supervised", fold="test")
    dimensions = distinct(found, "dimension")
    lines = []
    for a in distinct(found, "parameter"):
        line = [f"{a:g}"]
        for metric in ("micro", "inter_label_sparsity"):
            for d in dimensions:
                at = rows_of(rows, Choice("supervised", d, a, "test"))
                line.append(number(spread(at, metric).mean, 3))
        lines.append(line)
    return ResultTable(
        "grid",
        "Supervised vbNMF over the whole grid",
        "Micro-averaged accuracy and inter-label sparsity, means over the random starts.",
        ["a^λ", *(f"accuracy, K = {d}" for d in dimensions),
         *(f"sparsity, K = {d}" for d in dimensions)],
        lines,
        right=tuple(range(1 + 2 * len(dimensions))),
    )  # fmt: skip


def chosen(
    rows: Sequence[ResultRow], method: str, *, at: int | None = None, **conditions: object
) -> list[Choice]:
    """Return both selections of a method, and the peak at a dimension, if there are rows."""
    rows = list(rows)
    peak = choose_peak(rows, method, **conditions)
    choices = [peak]
    if peak is not None and at not in (None, peak.dimension):
        there = choose_peak(rows, method, dimension=at)
        choices.append(there and replace(there, fold="paper"))
    choices.append(choose_validated(rows, method, **conditions))
    return [choice for choice in choices if choice is not None and rows_of(rows, choice)]


def parameter(choice: Choice) -> str:
    """Format the parameter of a method with its name."""
    if choice.parameter is None:
        return ""
    name = "a^λ" if choice.method == "supervised" else "shape"
    return f"{name} = {choice.parameter:g}"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number; a dash if there is none."""
    return NOTHING if value is None or isnan(value) else f"{value:.{digits}f}"


def difference(ours: float, paper: float) -> str:
    """Format the difference between our value and the paper's, with its sign."""
    return NOTHING if isnan(ours) else f"{ours - paper:+.4f}".replace("-", "−")


def between(least: float | None, most: float | None) -> str:
    """Format a range; empty if there is none."""
    return "" if least is None or most is None else f"[{least:.4f}, {most:.4f}]"
