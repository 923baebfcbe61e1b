"""The picture of a search by ``tune``: accuracy and sparsity along the path of label shapes.

Importing this module needs matplotlib, so only those import it who draw.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from vbnmf.experiments.advice import Trial
from vbnmf.experiments.tuning import Tuning
from vbnmf.report.drawing import _look, _style
from vbnmf.store import replacing

_WIDTH = 4.2  # inches
_PALE = "#b4b4b4"  # of candidates that were dropped
_SIDEWAYS = 0.05  # part of a label shape by which lines are apart


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
        with _style():
            drawing.savefig(content, format=kind, **options)
        paths.append(folder / f"{name}.{kind}")
        with replacing(paths[-1]) as temporary:
            temporary.write_bytes(content.getvalue())
    return paths


def draw(tuning: Tuning) -> Drawing:
    """Draw accuracy with its standard error above, inter-label sparsity below.

    A line is a number of components. What was dropped on the way is grey and has no error, because
    it stands where it was when it was dropped, not where it would have come to.
    """
    latest = {row.candidate: row for row in tuning.rows}  # rows are in the order of the rungs
    ks, shapes = (sorted(set(values)) for values in zip(*latest, strict=True))
    last = max(row.rung for row in tuning.rows)
    with _style():
        drawing = Drawing(figsize=(_WIDTH, 4.8), layout="constrained")
        above, below = drawing.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        above.set_xscale("log")
        for place, k in enumerate(ks):
            rows = [latest[k, shape] for shape in shapes]
            # a little sideways, so that bars do not hide each other
            shift = 1 + _SIDEWAYS * (place - (len(ks) - 1) / 2)
            for axes, name in ((above, "accuracy"), (below, "inter_label_sparsity")):
                _line(axes, [row.label_shape * shift for row in rows], rows, name, place, last)
                if k == tuning.recommended["n_components"]:
                    chosen = latest[tuple(tuning.recommended.values())]
                    at = [chosen.label_shape * shift], [getattr(chosen, name)]
                    (circle,) = axes.plot(*at, "o", color="black", fillstyle="none", zorder=5)
                    circle.set(markersize=8, markeredgewidth=1.0)
        circle.set_label("recommended")
        if last > 0:
            below.plot([], [], "o", color=_PALE, label="dropped on the way")
        below.set_xticks(shapes, [f"{shape:g}" for shape in shapes])
        below.minorticks_off()
        below.set_xlabel("label_shape")
        above.set_ylabel(f"{tuning.measure} on {tuning.n_validation:,} documents")
        below.set_ylabel("inter-label sparsity")
        above.margins(x=0.06)
        drawing.legend(*below.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawing


def _line(
    axes: Axes, x: Sequence[float], rows: Sequence[Trial], name: str, place: int, last: int
) -> None:
    """One number of components: a line through all, and colour for those that converged."""
    look = _look(place)
    y = [getattr(row, name) for row in rows]
    label = f"{rows[0].n_components} components"
    axes.plot(x, y, label=label, linewidth=0.9, alpha=0.8, zorder=2, **look)
    dropped = [i for i, row in enumerate(rows) if row.rung < last]
    at = [x[i] for i in dropped], [y[i] for i in dropped]
    axes.plot(*at, color=_PALE, marker=look["marker"], linestyle="none", zorder=3)
    if name == "accuracy":
        kept = [i for i, row in enumerate(rows) if row.rung == last]
        at = [x[i] for i in kept], [y[i] for i in kept]
        errors = [rows[i].standard_error for i in kept]
        style: dict[str, Any] = {"elinewidth": 0.9, "capsize": 2, "linestyle": "none", "zorder": 4}
        axes.errorbar(*at, errors, color=look["color"], marker=look["marker"], **style)
