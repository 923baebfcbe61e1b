"""Compute the figures of the paper as records, from the table of results and two label maps.

``plots`` draws them.
"""

from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from vbnmf.paper.experiments import ChosenMap
from vbnmf.paper.results import (
    ResultRow,
    distinct,
    guarded,
    peak,
    rank_correlation,
    spread,
)
from vbnmf.paper.specification import Specification

MICRO = "micro-averaged accuracy"
INTER_LABEL = "inter-label sparsity"
DIMENSION = "dimension"
LABEL_SHAPE = "a^λ"

FADED = 0.01
"""A component has faded if it is less than this part of every label."""


@dataclass(frozen=True)
class Curve:
    """A curve: y is the mean over random starts, low and high are the minimum and maximum."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    style: int | None = None  # number of its style; None for the position among the curves


@dataclass(frozen=True)
class PlotMark:
    """A named point, or a named horizontal line if x is None."""

    x: float | None
    y: float
    text: str


@dataclass(frozen=True)
class Lines:
    """A figure of curves."""

    key: str
    title: str
    caption: str
    x_label: str
    y_label: str
    curves: list[Curve]
    log_x: bool = False
    marks: list[PlotMark] = field(default_factory=list)  # ours
    levels: list[PlotMark] = field(default_factory=list)  # the paper's, as horizontal lines


@dataclass(frozen=True)
class Cloud:
    """Points of one kind; ``hull`` is a closed polygon around them, or empty."""

    name: str
    x: list[float]
    y: list[float]
    hull: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Scatter:
    """A figure of points."""

    key: str
    title: str
    caption: str
    x_label: str
    y_label: str
    clouds: list[Cloud]


@dataclass(frozen=True)
class Map:
    """A map of labels × components, with values from 0 to 1 in the order of display."""

    key: str
    title: str
    caption: str
    labels: list[str]
    components: list[str]
    values: list[list[float]]


Figure = Lines | Scatter | Map


def all_figures(
    rows: list[ResultRow], maps: dict[str, ChosenMap], specification: Specification
) -> list[Figure]:
    """Return all figures for which there are rows, in the order of the paper."""
    figures: list[Figure | None] = [
        accuracy_of_pca(rows, specification),
        accuracy_of_unsupervised(rows, specification),
        *accuracy_of_supervised(rows, specification),
        *(label_map(key, maps[key]) for key in sorted(maps)),
        accuracy_by_sparsity(rows, specification),
        sparsity_of_unsupervised(rows),
        sparsity_of_supervised(rows),
    ]
    return [figure for figure in figures if figure is not None and not _is_empty(figure)]


def accuracy_of_pca(rows: list[ResultRow], specification: Specification) -> Lines:
    """Figure 1."""
    found = guarded(rows, method="pca", fold="test")
    best = peak(rows, "pca")
    curves = [
        _curve(name, found, "dimension", metric, bars=False)
        for name, metric in ((MICRO, "micro"), ("macro-averaged accuracy", "macro"))
    ]
    reported = specification.reported["pca"]
    return Lines(
        "fig1",
        "PCA: accuracy by dimension",
        "k-NN accuracy on the test split in the space of principal components.",
        DIMENSION,
        "accuracy",
        curves,
        marks=[] if best is None else [_mark(best, "dimension")],
        levels=[PlotMark(None, reported["micro"]["mean"], f"paper, K = {reported['dimension']}")],
    )


def accuracy_of_unsupervised(rows: list[ResultRow], specification: Specification) -> Lines:
    """Figure 2."""
    found = guarded(rows, method="unsupervised", fold="test")
    reported = specification.reported["unsupervised"]
    return Lines(
        "fig2",
        "Unsupervised vbNMF: accuracy by dimension and shape",
        f"Means of {_starts(found)} random starts. Each curve is a shape of the coefficients.",
        DIMENSION,
        MICRO,
        _curves_by_shape(found, "micro", bars=False),
        levels=[PlotMark(None, reported["micro"]["mean"], f"paper, K = {reported['dimension']}")],
    )


def accuracy_of_supervised(
    rows: list[ResultRow], specification: Specification
) -> tuple[Lines, Lines]:
    """Return Figures 3 a (the whole grid) and 3 b (the interesting range, fewer dimensions)."""
    found = guarded(rows, method="supervised", fold="test")
    choices = specification.figures
    low, high = choices.zoom
    near = [row for row in found if low <= row["parameter"] <= high]
    best = peak(rows, "supervised")
    mark = [] if best is None else [_mark(best, "parameter")]
    shown = [d for d in distinct(near, "dimension") if d in choices.hull_dimensions]
    is_near = best in near and best is not None and best["dimension"] in shown
    reported = specification.reported["supervised"]
    levels = [PlotMark(None, reported["micro"]["mean"], f"paper, K = {reported['dimension']}")]
    bars = f"means of {_starts(found)} random starts; bars from the lowest to the highest"
    return (
        Lines(
            "fig3a",
            "Supervised vbNMF: accuracy by a^λ and dimension",
            f"Whole range of a^λ: {bars}. The circle marks the best single run.",
            LABEL_SHAPE,
            MICRO,
            _curves_by_dimension(found, "micro"),
            log_x=True,
            marks=mark,
            levels=levels,
        ),
        Lines(
            "fig3b",
            "Supervised vbNMF: accuracy over the interesting range of a^λ",
            f"Some dimensions: {bars}. The circle marks the best single run.",
            LABEL_SHAPE,
            MICRO,
            [
                # the same style as in Figure 3 a
                replace(
                    _curve(f"K = {d}", _with(near, dimension=d), "parameter", "micro"),
                    style=distinct(found, "dimension").index(d),
                )
                for d in shown
            ],
            log_x=True,
            marks=mark if is_near else [],
            levels=levels,
        ),
    )  # fmt: skip


def label_map(key: str, chosen: ChosenMap) -> Map:
    """Return Figure 4 or 5, with components ordered by the label that uses them most.

    Faded components come last. Their terms come from the prior and have no meaning.
    """
    sums = np.array(chosen.map.sums)
    part = sums / np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    faded = part.max(axis=0) < FADED
    order = sorted(
        range(part.shape[1]),
        key=lambda k: (bool(faded[k]), int(part[:, k].argmax()), -float(part[:, k].max())),
    )
    gone = f" {faded.sum()} of {len(faded)} components have faded." if faded.any() else ""
    kind = "Unsupervised" if chosen.method == "unsupervised" else "Supervised"
    return Map(
        key,
        f"{kind} vbNMF: labels and components, K = {chosen.dimension}",
        f"Part of each component in the coefficients of a label. Components are named by their "
        f"{len(chosen.map.components[0].split())} top terms. Coefficient sparsity is "
        f"{chosen.map.sparsity:.4f}, inter-label sparsity is "
        f"{chosen.map.inter_label_sparsity:.4f} (paper: {chosen.reported_sparsity:.4f} and "
        f"{chosen.reported_inter_label_sparsity:.4f}). Micro-averaged accuracy is "
        f"{chosen.map.micro:.4f}.{gone} {chosen.reason}",
        chosen.map.labels,
        ["(faded)" if faded[k] else chosen.map.components[k] for k in order],
        part[:, order].tolist(),
    )


def accuracy_by_sparsity(rows: list[ResultRow], specification: Specification) -> Scatter:
    """Figure 6."""
    found = guarded(rows, method="supervised", fold="test")
    clouds, correlations = [], []
    for d in distinct(found, "dimension"):
        points = _with(found, dimension=d)
        x = [float(row["inter_label_sparsity"]) for row in points]
        y = [float(row["micro"]) for row in points]
        hull = _hull(x, y) if d in specification.figures.hull_dimensions else []
        clouds.append(Cloud(f"K = {d}", x, y, hull))
        r = rank_correlation(points, "inter_label_sparsity", "micro")
        if not isnan(r):
            correlations.append(f"{r:.2f} (K = {d})")
    said = f" Rank correlations: {', '.join(correlations)}." if correlations else ""
    return Scatter(
        "fig6",
        "Supervised vbNMF: accuracy against inter-label sparsity",
        f"Each point is one decomposition. Hulls enclose K = "
        f"{', '.join(map(str, specification.figures.hull_dimensions))}.{said}",
        INTER_LABEL,
        MICRO,
        clouds,
    )


def sparsity_of_unsupervised(rows: list[ResultRow]) -> Lines:
    """Figure 7 a."""
    found = guarded(rows, method="unsupervised", fold="test")
    return Lines(
        "fig7a",
        "Unsupervised vbNMF: inter-label sparsity by dimension and shape",
        f"Means of {_starts(found)} random starts; bars from the lowest to the highest.",
        DIMENSION,
        INTER_LABEL,
        _curves_by_shape(found, "inter_label_sparsity"),
    )


def sparsity_of_supervised(rows: list[ResultRow]) -> Lines:
    """Figure 7 b."""
    found = guarded(rows, method="supervised", fold="test")
    return Lines(
        "fig7b",
        "Supervised vbNMF: inter-label sparsity by a^λ and dimension",
        f"Means of {_starts(found)} random starts; bars from the lowest to the highest.",
        LABEL_SHAPE,
        INTER_LABEL,
        _curves_by_dimension(found, "inter_label_sparsity"),
        log_x=True,
    )


def _curves_by_shape(rows: list[ResultRow], metric: str, *, bars: bool = True) -> list[Curve]:
    """Return a curve over dimensions for each shape of the coefficients."""
    return [
        _curve(f"shape {a:g}", _with(rows, parameter=a), "dimension", metric, bars=bars)
        for a in distinct(rows, "parameter")
    ]


def _curves_by_dimension(rows: list[ResultRow], metric: str) -> list[Curve]:
    """Return a curve over a^λ for each dimension."""
    return [
        _curve(f"K = {d}", _with(rows, dimension=d), "parameter", metric)
        for d in distinct(rows, "dimension")
    ]


def _curve(name: str, rows: list[ResultRow], x: str, metric: str, *, bars: bool = True) -> Curve:
    at = distinct(rows, x)
    summaries = [spread(_with(rows, **{x: value}), metric) for value in at]
    return Curve(
        name,
        [float(value) for value in at],
        [s.mean for s in summaries],
        [s.least for s in summaries] if bars else [],
        [s.most for s in summaries] if bars else [],
    )


def _mark(row: ResultRow, x: str) -> PlotMark:
    return PlotMark(
        float(row[x]), float(row["micro"]), f"{row['micro']:.4f}, K = {row['dimension']}"
    )


def _hull(x: list[float], y: list[float]) -> list[tuple[float, float]]:
    """Return a closed polygon around points, or an empty list if they span no area."""
    points: NDArray[np.float64] = np.column_stack([x, y])
    try:
        corners = ConvexHull(points).vertices
    except (QhullError, ValueError):
        return []
    polygon = [(float(a), float(b)) for a, b in points[corners]]
    return [*polygon, polygon[0]]


def _with(rows: list[ResultRow], **conditions: object) -> list[ResultRow]:
    return [row for row in rows if all(row[n] == v for n, v in conditions.items())]


def _starts(rows: list[ResultRow]) -> int:
    return len(distinct(rows, "seed"))


def _is_empty(figure: Figure) -> bool:
    if isinstance(figure, Lines):
        return not any(curve.x for curve in figure.curves)
    return isinstance(figure, Scatter) and not figure.clouds
