"""Draw the displays with matplotlib: fonts, layout, heat maps, bars and curves.

``report.displays`` computes the data, and ``report.drawing`` has the style of all drawings. Only
code that draws imports this module, because it needs matplotlib.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import ceil
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm, to_rgb
from matplotlib.font_manager import fontManager
from matplotlib.gridspec import GridSpecFromSubplotSpec
from matplotlib.ticker import MaxNLocator
from sklearn.preprocessing import normalize

from vbnmf.core.model import Array
from vbnmf.description.components import MATTERS
from vbnmf.report.drawing import COLOURS, COLUMN, FURTHER_FONTS, PAGE, look, style, text
from vbnmf.report.explorer.ordering import map_blocks, order_map, runs

if TYPE_CHECKING:
    from vbnmf.report.displays import BoundDisplay, ComponentTermsDisplay, LabelMapDisplay

_TALL = 9.0  # height of a printed page in inches
_LINE = 1.15  # line spacing, relative to the font size
_WIDEST, _HIGHEST = 0.4, 0.17  # inches of a cell, if the page has room
_LEAST_WIDE, _LEAST_HIGH = 2.0, 0.25  # inches of a whole map
_PHASES = {"burn-in": "#d0d0d0", "annealing": "#f7dfae"}
_LONGEST_TERM, _LONGEST_NAME = 20, 36  # letters; longer names are cut


@contextmanager
def look_of(ax: Any) -> Iterator[None]:
    """Use our style for a new figure, and the user's style on given axes; add fonts to both.

    Fonts are listed by name. Text stores its fonts and is drawn after this context ends, and
    "sans-serif" stands for a single font, without a fallback for missing letters.
    """
    installed = set(fontManager.get_font_names())
    further = [name for name in FURTHER_FONTS if name in installed]
    with style() if ax is None else nullcontext():
        family = ["DejaVu Sans"] if ax is None else list(mpl.rcParams["font.family"])
        with mpl.rc_context({"font.family": [*family, *further]}):
            yield


def own_figure(width: float, height: float) -> Any:
    """Create a figure with pyplot, so that notebooks show it, in a resolution for print."""
    return plt.figure(figsize=(width, height), dpi=200, layout="constrained")


def places(display: "LabelMapDisplay", order: bool) -> tuple[Array, Array]:
    """Return rows and columns of the activations in the order of the map."""
    values = np.asarray(display.activations)
    if not order:
        return np.arange(values.shape[0]), np.arange(values.shape[1])
    parts = normalize(values, norm="l1")
    labels, components = order_map(parts, MATTERS, display.kinds, display.faded)
    return np.array(labels), np.array(components)


def heat_map(
    display: "LabelMapDisplay",
    ax: Axes | None,
    in_blocks: bool,
    include_values: bool | str,
    values_format: str,
    colorbar: bool,
    im_kw: Mapping[str, Any],
    text_kw: Mapping[str, Any],
) -> tuple[Axes, Any, Any, Array | None, list[Any]]:
    """Draw a map with names on both axes; return axes, image, colour bar, texts and titles."""
    rows, columns = display.label_order_, display.component_order_
    values = np.asarray(display.activations)[np.ix_(rows, columns)]
    labels = [text(display.labels[i], _LONGEST_NAME) for i in rows.tolist()]
    names = [text(display.components[k], _LONGEST_NAME) for k in columns.tolist()]
    own = ax is None
    if ax is None:
        ax = own_figure(2 * PAGE, 2 * PAGE).add_subplot()  # the size is fitted later
    kw = dict(im_kw)
    if "norm" not in kw:  # more colours for the small values, which are most of them
        top = kw.pop("vmax", None) or float(values.max()) or 1.0
        kw["norm"] = PowerNorm(0.5, vmin=kw.pop("vmin", 0.0), vmax=top)
    figure: Any = ax.figure
    image = ax.imshow(values, **({"aspect": "auto", "interpolation": "none"} | kw))
    bar = None
    if colorbar:
        n_rows, n_columns = values.shape
        shape: dict[str, Any] = {"location": "bottom", "shrink": 0.6, "aspect": 30}
        shape |= {"pad": 0.02 if n_rows > 8 else 0.12}  # part of the map's height, below its titles
        shape |= {"ticks": MaxNLocator(5 if n_columns > 8 else 2)}
        bar = figure.colorbar(image, ax=ax, **shape)
        bar.outline.set_linewidth(0.4)
        bar.ax.grid(visible=False)
        bar.ax.tick_params(length=2, width=0.4, **tick_fonts())
        bar.set_label(text(display.quantity))
    ax.xaxis.tick_top()
    ax.tick_params(length=0, pad=3, **tick_fonts())
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(labels)), labels)
    titles = _set_apart(ax, _blocks(display)) if in_blocks and display.kinds is not None else []
    if own:
        _fit_page(ax, *values.shape)
    figure.draw_without_rendering()
    _part_titles(ax, titles)
    wide, high = _points(ax) / values.shape[::-1]
    longest = max(name.get_window_extent().height for name in ax.get_xticklabels())
    if longest * 72 / figure.dpi < 0.95 * wide:
        ax.tick_params(axis="x", rotation=0)
    else:
        _thin(ax.set_xticks, ax.set_xlabel, names, wide, "components", rotation=90)
    ax.xaxis.set_label_position("top")
    _thin(ax.set_yticks, ax.set_ylabel, labels, high, "labels")
    if min(wide, high) > 3:  # lines between the cells
        ax.set_xticks(np.arange(len(names) - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(len(labels) - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="#dfe3e8", linewidth=0.4)
        ax.tick_params(which="minor", length=0)
    if include_values == "auto":
        most = max(len(format(float(value), values_format)) for value in values.flat)
        size = mpl.rcParams["font.size"]
        include_values = wide > 0.65 * size * most + 2 and high > _LINE * size
    texts = _write_values(ax, image, values, values_format, text_kw) if include_values else None
    return ax, image, bar, texts, titles


def _blocks(display: "LabelMapDisplay") -> list[tuple[str, int]]:
    """Return the blocks of the map from left to right, with their numbers of columns."""
    n = len(display.components)
    faded = np.zeros(n, bool) if display.faded is None else np.asarray(display.faded)
    blocks = map_blocks(display.kinds, faded)
    return runs([blocks[k] for k in display.component_order_])


def _set_apart(ax: Axes, blocks: list[tuple[str, int]]) -> list[Any]:
    """Draw lines between the blocks of columns, and their titles below the map."""
    ends = np.cumsum([n for _, n in blocks])
    for end in ends[:-1]:
        ax.axvline(end - 0.5, color="black", linewidth=0.8)
    return [
        ax.annotate(
            name, (end - n / 2 - 0.5, 0), xycoords=("data", "axes fraction"), xytext=(0, -3),
            textcoords="offset points", ha="center", va="top", annotation_clip=False,
        )
        for (name, n), end in zip(blocks, ends, strict=True)
    ]  # fmt: skip


def _part_titles(ax: Axes, titles: list[Any]) -> None:
    """Move titles of narrow blocks to the right if they would overlap."""
    figure: Any = ax.figure
    free = -np.inf  # pixels
    for title in titles:
        box = title.get_window_extent()
        shift = max(free - box.x0, 0.0)
        title.xyann = (shift * 72 / figure.dpi, title.xyann[1])
        free = box.x1 + shift + 4 * figure.dpi / 72


def _fit_page(ax: Axes, n_rows: int, n_columns: int) -> None:
    """Set the size of the figure such that cells have their size, at most that of a page."""
    figure: Any = ax.figure
    for _ in range(2):  # repeated, because margins change with the size of the figure
        figure.draw_without_rendering()
        around_x, around_y = figure.get_size_inches() - _points(ax) / 72
        wide = max(min(n_columns * _WIDEST, PAGE - around_x), _LEAST_WIDE)
        high = max(min(n_rows * _HIGHEST, _TALL - around_y), _LEAST_HIGH)
        figure.set_size_inches(around_x + wide, around_y + high)


def _points(ax: Axes) -> Array:
    """Return width and height of the axes in points."""
    box = ax.get_window_extent()
    return np.array([box.width, box.height]) * 72 / ax.figure.dpi


def _thin(
    set_ticks: Any, set_label: Any, names: list[str], room: float, what: str, **options: Any
) -> None:
    """Show only as many names of rows or columns as there is room for, and note it."""
    step = ceil(_LINE * mpl.rcParams["font.size"] / room - 0.02)
    set_ticks(range(0, len(names), step), names[::step], **options)
    if step > 1:
        set_label(f"{len(names)} {what}, one in {step} is named")


def _write_values(
    ax: Axes, image: Any, values: Array, values_format: str, text_kw: Mapping[str, Any]
) -> Array:
    """Write numbers into the cells, in a contrasting colour; leave out zeros."""
    texts = np.full(values.shape, None, dtype=object)
    for (i, j), value in np.ndenumerate(values):
        shown = format(float(value), values_format)
        if shown.strip("0.") == "":
            continue
        red, green, blue = to_rgb(image.cmap(image.norm(value)))
        is_light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
        options = {"ha": "center", "va": "center", "color": "black" if is_light else "white"}
        texts[i, j] = ax.text(j, i, shown, **(options | dict(text_kw)))
    return texts


def bar_charts(
    display: "ComponentTermsDisplay",
    ax: Any,
    n_columns: int,
    bar_kw: Mapping[str, Any],
    error_kw: Mapping[str, Any],
) -> tuple[Array, list[Any], list[Any]]:
    """Draw a chart of horizontal bars for each component; return axes, bars and intervals."""
    terms = display.terms
    n = len(terms)
    every_axes = _grid(ax, n, n_columns, 2.33, 0.13 * max(map(len, terms)) + 0.5)
    all_bars, all_errors = [], []
    for i, axes in enumerate(every_axes):
        at = np.arange(len(terms[i]))
        look_of_bars: dict[str, Any] = {"height": 0.72, "color": COLOURS[-1]} | dict(bar_kw)
        all_bars.append(axes.barh(at, display.weights[i], **look_of_bars))
        errors = None
        if display.intervals is not None:
            # around the middle, because the mean of a skewed posterior may be outside the interval
            low, high = display.intervals[i]
            looks: dict[str, Any] = {"ecolor": "black", "elinewidth": 0.8, "capsize": 1.6}
            looks = {"fmt": "none"} | looks | dict(error_kw)
            errors = axes.errorbar((low + high) / 2, at, xerr=(high - low) / 2, **looks)
        all_errors.append(errors)
        axes.set_yticks(at, [text(term, _LONGEST_TERM) for term in terms[i]])
        axes.set_ylim(len(at) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.tick_params(**tick_fonts())
        axes.xaxis.set_major_locator(MaxNLocator(3))
        axes.set_title(
            text(display.titles[i]), loc="right", fontsize=mpl.rcParams["axes.labelsize"]
        )
    right = max(axes.get_xlim()[1] for axes in every_axes)
    for i, axes in enumerate(every_axes):
        axes.set_xlim(0, right)
        if i >= n - n_columns:  # the last chart of each column
            said = "" if display.level is None else f"\n({100 * display.level:g} % intervals)"
            axes.set_xlabel(f"part of the component{said}", loc="right")
    return every_axes, all_bars, all_errors


def _grid(ax: Any, n: int, n_columns: int, width: float, height: float) -> Array:
    """Return n axes: new ones, the given ones, or a grid in place of a single given one."""
    if ax is not None and (n == 1 or not isinstance(ax, Axes)):
        given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(given) != n:
            raise ValueError(
                f"`ax` has {len(given)} axes for {n} components. Pass one axes for each, a single "
                "one to be divided, or None for a new figure."
            )
        return given
    n_columns = min(n, n_columns)
    n_rows = ceil(n / n_columns)
    if ax is None:
        figure = own_figure(n_columns * width, n_rows * height)
        places: Any = figure.add_gridspec(n_rows, n_columns)
    else:
        figure, place = ax.figure, ax.get_subplotspec()
        if place is None:
            raise ValueError(
                "`ax` cannot be divided among several components, because it is no subplot. Make "
                f"it by plt.subplots(), or give {n} axes."
            )
        ax.set_axis_off()
        places = GridSpecFromSubplotSpec(n_rows, n_columns, place, wspace=0.8, hspace=0.5)
    made = [figure.add_subplot(places[i // n_columns, i % n_columns]) for i in range(n)]
    return np.array(made, dtype=object)


def curves(
    display: "BoundDisplay", ax: Axes | None, line_kw: Mapping[str, Any]
) -> tuple[Axes, list[Any], list[Any]]:
    """Draw bounds over iterations with shaded phases; return axes, lines and shades."""
    names, iterations = display.names, display.iterations
    if ax is None:
        ax = own_figure(1.2 * COLUMN, 2.8).add_subplot()
    lines: list[Any] = []
    first = sum(line.get_gid() == "bound" for line in ax.lines)  # from an earlier display
    for i, (x, y, name) in enumerate(zip(iterations, display.bounds, names, strict=True)):
        label = text(f"{name}: {_number(y[-1])} after {x[-1]:,} iterations")
        looks = look(first + i) | {"gid": "bound", "label": label, "zorder": 3}
        lines += ax.plot(x, y, **(looks | dict(line_kw)))
    shades: list[Any] = []
    said = set(ax.get_legend_handles_labels()[1])
    columns = iterations, display.bounds, display.burn_in, display.annealing
    for x, y, burn_in, annealing in zip(*columns, strict=True):
        start, end = (min(n, int(x[-1])) for n in (burn_in, burn_in + annealing))
        for phase, first, last in (("burn-in", 0, start), ("annealing", start, end)):
            if first < last:
                at = np.array([first, *(i for i in x if first < i < last), last])
                wide: dict[str, Any] = {
                    "color": _PHASES[phase],
                    "linewidth": 8,
                    "solid_capstyle": "butt",
                }
                label = "_" if phase in said else phase
                shades += ax.plot(at, np.interp(at, x, y), label=label, zorder=2, **wide)
                said.add(phase)
    ax.set_xlabel("iteration")
    ax.set_ylabel("bound")
    ax.yaxis.set_major_formatter(lambda value, _: _number(value))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.tick_params(**tick_fonts())
    ax.legend()
    return ax, lines, shades


def _number(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 1000 else 1}f}".replace("-", "−")


def tick_fonts() -> dict[str, Any]:
    """Set the fonts of tick labels, many of which are created only when the figure is drawn."""
    rc = mpl.rcParams
    return {"labelsize": rc["xtick.labelsize"], "labelfontfamily": rc["font.family"]}
