"""Draw the figures of the paper with matplotlib, from the records of ``figures``.

The page around a figure shows its title and caption. Only code that draws imports this module,
because it needs matplotlib.
"""

from io import BytesIO
from itertools import pairwise
from math import ceil, log10, radians, sin
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import fontManager
from matplotlib.transforms import Transform, offset_copy

from vbnmf.files import replacing
from vbnmf.paper.figures import Figure, Lines, Map, PlotMark, Scatter
from vbnmf.report.drawing import COLUMN, FONT, FURTHER_FONTS, GREY, PAGE, look, style, text


def save_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write ``<key>.png`` and ``<key>.svg``. The same figure gives the same bytes."""
    drawn = draw(figure)
    installed = set(fontManager.get_font_names())
    picture, vectors = BytesIO(), BytesIO()
    with style(*(name for name in FURTHER_FONTS if name in installed)):
        drawn.savefig(picture, format="png", dpi=200, metadata={"Software": None})
    with style():
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn.savefig(vectors, format="svg", metadata=nothing)
    # formulas name only this font; if it is not installed, any sans-serif font is used
    svg = vectors.getvalue().replace(b"'DejaVu Sans'\"", b"'DejaVu Sans', sans-serif\"")
    contents = {"png": picture.getvalue(), "svg": svg}
    for kind, content in contents.items():
        with replacing(folder / f"{figure.key}.{kind}") as temporary:
            temporary.write_bytes(content)
    return [folder / f"{figure.key}.{kind}" for kind in contents]


def draw(figure: Figure) -> Drawing:
    """Draw a figure without pyplot, so that it has no window and no global state changes."""
    with style():
        if isinstance(figure, Lines):
            return _draw_lines(figure)
        if isinstance(figure, Scatter):
            return _draw_scatter(figure)
        return _draw_map(figure)


def _draw_lines(figure: Lines) -> Drawing:
    drawing, axes = _axes(figure)
    if figure.log_x:
        axes.set_xscale("log")
    transforms = [
        offset_copy(axes.transData, drawing, x=shift, units="points") for shift in _shifts(figure)
    ]
    for place, (curve, transform) in enumerate(zip(figure.curves, transforms, strict=True)):
        looks = look(place if curve.style is None else curve.style)
        parts: list[Artist] = [*axes.plot(curve.x, curve.y, label=text(curve.name), **looks)]
        if curve.low:
            thin = {"color": looks["color"], "alpha": 0.8}
            parts.append(axes.vlines(curve.x, curve.low, curve.high, linewidth=0.7, **thin))
            for end in (curve.low, curve.high):
                parts += axes.plot(curve.x, end, "_", markersize=3.5, markeredgewidth=0.7, **thin)
        for part in parts:
            part.set_transform(transform)  # after the curves, when the limits of the axes are known
    for level in figure.levels:
        name = f"{level.text} ({level.y:.4f})"
        axes.axhline(level.y, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), label=text(name))
    for mark in figure.marks:
        _draw_mark(axes, mark, figure, transforms)
    axes.margins(x=0.04, y=0.12 if figure.marks else 0.05)
    _legend(drawing, axes)
    return drawing


def _shifts(figure: Lines) -> list[float]:
    """Return the horizontal offset of each curve in points, so that bars do not overlap."""
    n = len(figure.curves)
    places = _places(figure)
    if not any(curve.low for curve in figure.curves) or len(places) < 2:
        return [0.0] * n
    nearest = min(b - a for a, b in pairwise(places))
    gap = nearest / (places[-1] - places[0]) * 72 * (COLUMN - 0.7)  # in points
    step = min(1.2, 0.5 * gap / n)
    return [step * (i - (n - 1) / 2) for i in range(n)]


def _places(figure: Lines) -> list[float]:
    """Return all x in order, in units of the axis."""
    at = sorted({x for curve in figure.curves for x in curve.x})
    return [log10(x) for x in at if x > 0] if figure.log_x else at


def _draw_mark(axes: Axes, mark: PlotMark, figure: Lines, transforms: list[Transform]) -> None:
    """Draw a circle with its text above, shifted like the curve it belongs to."""
    assert mark.x is not None  # only levels have x = None
    own = (
        transform
        for curve, transform in zip(figure.curves, transforms, strict=True)
        if (mark.x, mark.y) in zip(curve.x, curve.high or curve.y, strict=True)
    )
    (circle,) = axes.plot([mark.x], [mark.y], "o", color="black", fillstyle="none", zorder=4)
    circle.set(markersize=7, markeredgewidth=1.0, transform=next(own, axes.transData))
    places = _places(figure)
    place = log10(mark.x) if figure.log_x else mark.x
    part = (place - places[0]) / ((places[-1] - places[0]) or 1)
    axes.annotate(
        text(mark.text),
        (mark.x, mark.y),
        xytext=(0, 5.5),
        textcoords="offset points",
        horizontalalignment="left" if part < 0.22 else "right" if part > 0.78 else "center",
        verticalalignment="bottom",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        zorder=5,
    )


def _draw_scatter(figure: Scatter) -> Drawing:
    drawing, axes = _axes(figure)
    for place, cloud in enumerate(figure.clouds):
        looks = look(place)
        if cloud.hull:
            line = {"edgecolor": looks["color"], "linestyle": looks["linestyle"], "linewidth": 1.0}
            axes.fill(*zip(*cloud.hull, strict=True), facecolor="none", **line, zorder=3)
            axes.fill(*zip(*cloud.hull, strict=True), color=looks["color"], alpha=0.06, zorder=1)
        points = looks | {"linestyle": "none", "markersize": 2.6, "alpha": 0.75}
        axes.plot(cloud.x, cloud.y, label=text(cloud.name), markeredgewidth=0, **points)
    _legend(drawing, axes)
    return drawing


def _draw_map(figure: Map) -> Drawing:
    """Draw components as rows, because their names are long, and labels as columns."""
    labels = [text(label, 40) for label in figure.labels]
    components = [text(component) for component in figure.components]
    slope = 60
    label_length, name_length = _inches(labels), _inches(components)
    width = name_length + 0.12 * len(labels) + label_length / 2 + 0.5
    height = label_length * sin(radians(slope)) + 0.125 * len(components) + 0.8
    drawing = Drawing(figsize=(max(PAGE, width), height), layout="constrained")
    axes = drawing.add_subplot()
    values = list(zip(*figure.values, strict=True))  # rows are components
    # more colours for the small parts, which are most of them
    scale = PowerNorm(0.5, vmin=0, vmax=1)
    image = axes.imshow(values, cmap="Blues", norm=scale, aspect="auto", interpolation="none")
    axes.set_yticks(range(len(components)), components)
    axes.set_xticks(range(len(labels)), labels, rotation=slope, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=3)
    axes.spines[:].set_visible(False)
    # lines between the cells
    axes.set_xticks([i + 0.5 for i in range(len(labels) - 1)], minor=True)
    axes.set_yticks([i + 0.5 for i in range(len(components) - 1)], minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color="#dfe3e8", linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    shape: dict[str, Any] = {"location": "bottom", "shrink": 0.5, "aspect": 30, "pad": 0.015}
    bar = drawing.colorbar(image, ax=axes, ticks=[0, 0.05, 0.2, 0.4, 0.6, 0.8, 1], **shape)
    bar.ax.grid(visible=False)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(length=2, width=0.4)
    bar.set_label("part of the label's coefficients", fontsize=FONT)
    return drawing


def _inches(names: list[str]) -> float:
    """Estimate the printed length of the longest name in inches."""
    wide = max((sum(1.1 if c > "\u1100" else 0.62 for c in name) for name in names), default=0)
    return wide * FONT / 72


def _axes(figure: Lines | Scatter) -> tuple[Drawing, Axes]:
    drawing = Drawing(figsize=(COLUMN, 2.8), layout="constrained")
    axes = drawing.add_subplot()
    axes.set_xlabel(text(figure.x_label))
    axes.set_ylabel(text(figure.y_label))
    return drawing, axes


def _legend(drawing: Drawing, axes: Axes) -> None:
    """Draw the legend above the axes, in as many columns as fit."""
    handles, names = axes.get_legend_handles_labels()
    for n in range(min(4, len(names)), 0, -1):
        columns = np.array_split(names, n)
        if n == 1 or sum(_inches(list(column)) + 0.48 for column in columns) < COLUMN:
            even = ceil(len(names) / ceil(len(names) / n))  # no more columns than needed
            drawing.legend(handles, names, loc="outside upper center", ncols=even)
            return
