"""Draw the displays of labels and predictions with matplotlib.

``report.predictiondisplays`` computes the data. Only code that draws imports this module, because
it needs matplotlib.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from vbnmf.report.canvas import look_of, own_figure, tick_fonts
from vbnmf.report.drawing import COLOURS, COLUMN, GREY, text

if TYPE_CHECKING:
    from vbnmf.report.predictiondisplays import (
        AcceptanceDisplay,
        ContrastDisplay,
        ReliabilityDisplay,
    )

__all__ = ["acceptance", "contrasted", "look_of", "reliability"]

_LONGEST_WORD, _LONGEST_LABEL = 24, 22  # letters; longer names are cut
_ROW = 0.155  # inches of a word
_FEW = 0.05  # share of the predictions from which on a curve is in the picture
_BAND = 0.18  # part of the height that the numbers of predictions have


def contrasted(
    display: "ContrastDisplay", ax: Axes | None, error_kw: Mapping[str, Any]
) -> tuple[Axes, list[Any], list[Any]]:
    """Draw the words of two sides with their log-odds; return axes, points and texts."""
    sides = [list(display.first), list(display.second)]
    n = sum(map(len, sides))
    if ax is None:
        ax = own_figure(1.35 * COLUMN, _ROW * (n + 1) + 0.75).add_subplot()
    gap = 0.6 if all(sides) else 0.0
    places = [np.arange(len(sides[0])), len(sides[0]) + gap + np.arange(len(sides[1]))]
    names = [text(name, _LONGEST_LABEL) for name in display.names]
    points: list[Any] = []
    texts: list[Any] = []
    for at, rows, colour, name in zip(places, sides, COLOURS[:2], names, strict=True):
        if not rows:
            points.append(None)
            continue
        odds, low, high = (
            np.array([row[key] for row in rows]) for key in ("log_odds", "low", "high")
        )
        looks: dict[str, Any] = {"fmt": "o", "color": colour, "elinewidth": 1.4, "capsize": 0}
        looks |= {"markersize": 4, "label": f"more in {name}", "zorder": 3} | dict(error_kw)
        points.append(ax.errorbar(odds, at, xerr=(odds - low, high - odds), **looks))
        for place, row in zip(at, rows, strict=True):
            counts = " : ".join(f"{k:,}" for k in row["documents"])
            texts.append(
                ax.annotate(
                    counts, (1, place), xycoords=("axes fraction", "data"), xytext=(6, 0),
                    textcoords="offset points", va="center", ha="left", color=GREY,
                    annotation_clip=False, fontsize=mpl.rcParams["xtick.labelsize"],
                )
            )  # fmt: skip
    ax.axvline(0, color="black", linewidth=0.8, zorder=2)
    terms = [text(str(row["term"]), _LONGEST_WORD) for rows in sides for row in rows]
    ax.set_yticks(np.concatenate(places), terms)
    ax.set_ylim(float(np.concatenate(places).max()) + 0.7, -0.7)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(**tick_fonts())
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    reach = 1.04 * max(abs(row[key]) for rows in sides for row in rows for key in ("low", "high"))
    ax.set_xlim(-reach, reach)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    totals = " : ".join(f"{k:,}" for k in display.documents)
    ax.annotate(
        f"documents\nof {totals}", (1, 1), xycoords="axes fraction", xytext=(6, 2),
        textcoords="offset points", va="bottom", ha="left", color=GREY, annotation_clip=False,
        fontsize=mpl.rcParams["xtick.labelsize"],
    )  # fmt: skip
    for side, (name, colour) in enumerate(zip(names, COLOURS[:2], strict=True)):
        arrow = f"{name} →" if side == 0 else f"← {name}"
        ax.annotate(
            arrow, (1 - side, 1), xycoords="axes fraction", xytext=(0, 2),
            textcoords="offset points", va="bottom", ha="left" if side else "right", color=colour,
            fontweight="bold", annotation_clip=False,
        )  # fmt: skip
    ax.set_xlabel("log-odds of a document with the word (95 % intervals)")
    return ax, points, texts


def reliability(
    display: "ReliabilityDisplay", ax: Axes | None, error_kw: Mapping[str, Any]
) -> tuple[Axes, Any, Any]:
    """Draw shares that are right by probability; return axes, points and bars."""
    if ax is None:
        ax = own_figure(COLUMN, COLUMN).add_subplot()
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    width = 1 / display.n_bins
    tallest = max(int(display.number.max()), 1)
    left = np.minimum(np.floor(display.probability / width), display.n_bins - 1) * width
    bars = ax.bar(
        left, _BAND * display.number / tallest, width=width, align="edge", color="#d9e6ef",
        edgecolor="white", linewidth=0.8, zorder=0.5,
    )  # fmt: skip
    looks: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "markersize": 5, "clip_on": False}
    looks |= {"elinewidth": 1.4, "capsize": 0, "zorder": 3} | dict(error_kw)
    y, low, high = display.share_right, display.low, display.high
    errors = (np.maximum(y - low, 0), np.maximum(high - y, 0))
    points = ax.errorbar(display.probability, y, yerr=errors, **looks)
    for bar, number in zip(bars, display.number, strict=True):
        ax.annotate(
            f"{number:,}", (bar.get_x() + width / 2, bar.get_height()), xytext=(0, 1),
            textcoords="offset points", ha="center", va="bottom", color=GREY,
            fontsize=0.85 * mpl.rcParams["font.size"],
        )  # fmt: skip
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
    _in_percent(ax)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share that is right (95 % intervals)")
    said = f"{display.number.sum():,} predictions, calibration error {display.error:.3f}"
    ax.set_title(said, loc="left", fontsize="medium")  # points may be anywhere inside
    return ax, points, bars


def acceptance(
    display: "AcceptanceDisplay", ax: Axes | None, line_kw: Mapping[str, Any]
) -> tuple[Axes, Any, Any, Any]:
    """Draw the share that is right by the share that is accepted; return axes and artists."""
    if ax is None:
        ax = own_figure(1.15 * COLUMN, 2.7).add_subplot()
    x, y = display.accepted, display.share_right
    band = ax.fill_between(
        x, display.low, display.high, color=COLOURS[0], alpha=0.15, linewidth=0, zorder=1
    )
    looks: dict[str, Any] = {"color": COLOURS[0], "linewidth": 1.5, "zorder": 3} | dict(line_kw)
    (line,) = ax.plot(x, y, **looks)
    at, point = display.chosen, None
    many = x >= min(_FEW, x[-1])  # the first predictions alone are no share to speak of
    lowest = min(float(y[many].min()), float(display.low[-1]), display.wanted or 1.0)
    bottom = max(0.0, lowest - 0.25 * (1 - lowest) - 0.01)
    if display.wanted is not None:
        ax.axhline(display.wanted, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    if at is not None:
        (point,) = ax.plot(
            [at.share], [at.share_right], "o", color=COLOURS[1], markersize=6, zorder=5,
            clip_on=False,
        )  # fmt: skip
        ax.plot([at.share, at.share], [bottom, at.share_right], color=COLOURS[1], linewidth=0.9,
                zorder=2)  # fmt: skip
        right = at.share > 0.5
        ax.annotate(
            f"probability ≥ {at.threshold:.2f}:\n{100 * at.share:.0f} % accepted,\n"
            f"{100 * at.share_right:.1f} % of them right",
            (at.share, bottom), xytext=(-5 if right else 5, 6), textcoords="offset points",
            ha="right" if right else "left", va="bottom", color=COLOURS[1],
        )  # fmt: skip
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    _in_percent(ax)
    ax.set_xlabel("share of the predictions that is accepted")
    ax.set_ylabel("share of these that is right")
    return ax, line, band, point


def _in_percent(ax: Axes) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol=" %"))
    ax.tick_params(**tick_fonts())
