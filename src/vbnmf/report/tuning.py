"""Draw the results of ``tune``: accuracy and sparsity by label shape.

This module needs matplotlib.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from vbnmf.files import replacing
from vbnmf.report.drawing import look, style
from vbnmf.selection.advice import Trial, order, shown
from vbnmf.selection.search import Tuning

_WIDTH = 4.2  # inches
_PALE = "#b4b4b4"  # of candidates that were stopped early
_SIDEWAYS = 0.06  # offset between lines, as part of the distance of label shapes


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
    """Draw accuracy with its standard error above, inter-label sparsity below.

    Each line is a number of components. Label shapes are evenly spaced; "auto" is not a number, so
    no line leads to it. Candidates that were stopped early are grey and have no error bars: their
    values are those at the time they were stopped.
    """
    latest = {row.candidate: row for row in tuning.rows}  # rows are in the order of the rungs
    candidates = sorted(latest, key=order)
    ks, shapes = (list(dict.fromkeys(values)) for values in zip(*candidates, strict=True))
    last = max(row.rung for row in tuning.rows)
    with style():
        drawing = Drawing(figsize=(_WIDTH, 4.8), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        for place, k in enumerate(ks):
            rows = [latest[k, shape] for shape in shapes]
            # shifted sideways, so that error bars do not overlap
            shift = _SIDEWAYS * (place - (len(ks) - 1) / 2)
            x = [i + shift for i in range(len(shapes))]
            for axes, name in ((above, "accuracy"), (below, "inter_label_sparsity")):
                _line(axes, x, rows, name, place, last)
                if k == tuning.recommended["n_components"]:
                    chosen = latest[tuple(tuning.recommended.values())]
                    at = [x[shapes.index(chosen.label_shape)]], [getattr(chosen, name)]
                    (circle,) = axes.plot(*at, "o", color="black", fillstyle="none", zorder=5)
                    circle.set(markersize=8, markeredgewidth=1.0)
        circle.set_label("recommended")
        if last > 0:
            below.plot([], [], "o", color=_PALE, label="stopped early")
        below.set_xticks(range(len(shapes)), [shown(shape) for shape in shapes])
        below.set_xlabel("label_shape")
        above.set_ylabel(f"{tuning.measure} on {tuning.n_validation:,} documents")
        below.set_ylabel("inter-label sparsity")
        above.margins(x=0.06)
        drawing.legend(*below.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawing


def _line(
    axes: Axes, x: Sequence[float], rows: Sequence[Trial], name: str, place: int, last: int
) -> None:
    """Draw one number of components: a line, in colour where candidates converged."""
    looks = look(place)
    y = [getattr(row, name) for row in rows]
    label = f"{rows[0].n_components} components"
    first = int(rows[0].label_shape == "auto" and len(rows) > 1)
    axes.plot(x[first:], y[first:], label=label, linewidth=0.9, alpha=0.8, zorder=2, **looks)
    if first:
        axes.plot(x[:1], y[:1], alpha=0.8, zorder=2, **looks)
    dropped = [i for i, row in enumerate(rows) if row.rung < last]
    at = [x[i] for i in dropped], [y[i] for i in dropped]
    axes.plot(*at, color=_PALE, marker=looks["marker"], linestyle="none", zorder=3)
    if name == "accuracy":
        kept = [i for i, row in enumerate(rows) if row.rung == last]
        at = [x[i] for i in kept], [y[i] for i in kept]
        errors = [rows[i].standard_error for i in kept]
        bars: dict[str, Any] = {"elinewidth": 0.9, "capsize": 2, "linestyle": "none", "zorder": 4}
        axes.errorbar(*at, errors, color=looks["color"], marker=looks["marker"], **bars)
