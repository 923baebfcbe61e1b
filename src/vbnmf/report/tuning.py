"""Draw the results of ``tune`` by the number of components.

This module needs matplotlib.
"""

from io import BytesIO
from math import isfinite
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from vbnmf.evaluation.measures import TUNE, measures_for
from vbnmf.files import replacing
from vbnmf.report.drawing import GREY, look, style
from vbnmf.selection.advice import Trial, best_of, order, recommended_of, shown
from vbnmf.selection.search import Tuning

_WIDTH = 4.2  # inches


def save_picture(tuning: Tuning, folder: Path, name: str = "tune") -> list[Path]:
    """Write ``tune.png`` and ``tune.svg``; the same search gives the same bytes."""
    drawing = draw(tuning)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    kinds: dict[str, dict[str, Any]] = {
        "png": {"dpi": 200, "metadata": {"Software": None}},
        "svg": {"metadata": nothing},
    }
    paths = []
    for kind, options in kinds.items():
        content = BytesIO()
        with style():
            drawing.savefig(content, format=kind, **options)
        paths.append(folder / f"{name}.{kind}")
        with replacing(paths[-1]) as temporary:
            temporary.write_bytes(content.getvalue())
    return paths


def draw(tuning: Tuning) -> Drawing:
    """Draw likelihood, accuracy and the other measures of ``tune`` by the number of components.

    In the two upper charts, each label shape is a line. The error bars are standard errors of the
    difference from the best candidate, whose value is the grey line. So a candidate is within one
    standard error if its bar reaches this line. The lower chart shows the recommended label shape.
    """
    best, chosen = best_of(tuning.rows), recommended_of(tuning.rows)
    rows = sorted(tuning.rows, key=lambda row: order(row.candidate))
    shapes = sorted({row.label_shape for row in rows}, key=lambda shape: order((0, shape)))
    with style():
        drawing = Drawing(figsize=(_WIDTH, 6.0), layout="constrained")
        above, middle, below = drawing.subplots(3, 1, sharex=True, height_ratios=(3, 2, 3))
        for place, shape in enumerate(shapes):
            of_shape = [row for row in rows if row.label_shape == shape]
            label = f"label_shape {shown(shape)}" if len(shapes) > 1 else None
            _line(above, of_shape, "log_likelihood", "likelihood_below_error", place, label)
            _line(middle, of_shape, "accuracy", "accuracy_below_error", place, label)
        for axes, name in ((above, "log_likelihood"), (middle, "accuracy")):
            axes.axhline(getattr(best, name), color=GREY, linewidth=0.8, zorder=1)
            (circle,) = axes.plot(
                [chosen.n_found], [getattr(chosen, name)], "o", color="black", fillstyle="none"
            )
            circle.set(markersize=8, markeredgewidth=1.0, zorder=5, label="recommended")
        of_shape = [row for row in rows if row.label_shape == chosen.label_shape]
        for place, (name, values) in enumerate(_shares(of_shape).items()):
            points = [(row.n_found, v) for row, v in zip(of_shape, values, strict=True)]
            points = [point for point in points if isfinite(point[1])]
            if points:
                below.plot(*zip(*points, strict=True), label=name, linewidth=0.9, **look(place))
        above.set_ylabel("log-likelihood")
        middle.set_ylabel(tuning.measure)
        below.set_ylabel("share or index")
        below.set_xlabel("components")
        below.set_xscale("log")
        numbers = sorted({row.n_found for row in rows})
        below.set_xticks(numbers, [str(n) for n in numbers])
        below.minorticks_off()
        above.legend(loc="best")
        drawing.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return drawing


def _shares(rows: list[Trial]) -> dict[str, list[float]]:
    """Return the shares of agreeing and glued components, and the measures, of each row."""
    return {
        "agreeing": [_share(row.agreeing, row) for row in rows],
        "glued": [_share(row.glued, row) for row in rows],
        **{
            measure.column or measure.name: [row.measures[measure.key] for row in rows]
            for measure in measures_for(TUNE)
            if all(measure.key in row.measures for row in rows)
        },
    }


def _share(count: int, row: Trial) -> float:
    """Return the share of the shared components; NaN if there are none."""
    return count / row.shared if row.shared else float("nan")


def _line(
    axes: Axes, rows: list[Trial], name: str, error: str, place: int, label: str | None
) -> None:
    """Draw the candidates of one label shape, with error bars."""
    rows = sorted(rows, key=lambda row: row.n_found)
    # the standard error is infinite with one validation document, and cannot be drawn then
    errors = [e if isfinite(e) else 0.0 for e in (getattr(row, error) for row in rows)]
    axes.errorbar(
        [row.n_found for row in rows],
        [getattr(row, name) for row in rows],
        errors,
        elinewidth=0.9,
        capsize=2,
        linewidth=0.9,
        label=label,
        **look(place),
    )
