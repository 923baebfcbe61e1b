"""Figures are checked by what they plot: the record, number by number, and nothing else."""

import xml.etree.ElementTree as ET
from math import nan

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon
from matplotlib.text import Annotation

from vbnmf.paper.figures import Cloud, Curve, Lines, Map, PlotMark, Scatter
from vbnmf.paper.plots import draw, save_figure
from vbnmf.report.drawing import FONT, text

HOSTILE = [
    "$x$",
    "one $ only",
    r"\$ and \\$ and $\frac{",
    "under_score^2 & <b> -- >",
    "a^λ costs $5",
    "中文 слово λόγος عربى",
    "new\nline \x00 \ud800 \u202e",
    "",
]


def curves(n=3, bars=True):
    x = [0.1, 10.0, 1000.0, 100000.0]
    made = []
    for i in range(n):
        y = [0.5 + 0.01 * i, 0.6, 0.7 + 0.01 * i, 0.4]
        low, high = [v - 0.02 for v in y], [v + 0.03 for v in y]
        made.append(Curve(f"K = {20 * (i + 1)}", x, y, low if bars else [], high if bars else []))
    return made


def lines(**changes):
    given = {"curves": curves(), "log_x": True, **changes}
    return Lines("fig", "title", "caption", "a^λ", "accuracy", **given)


def label_map(labels, components, key="map"):
    values = np.random.default_rng(0).dirichlet(np.ones(len(components)), len(labels))
    return Map(key, "title", "caption", labels, components, values.tolist())


def named(axes, name):
    (line,) = (line for line in axes.lines if line.get_label() == name)
    return line


def legend_texts(drawing):
    return [entry.get_text() for entry in drawing.legends[0].get_texts()]


def svg_texts(path):
    """All text of an SVG file, which must be sound XML."""
    elements = ET.parse(path).iter("{http://www.w3.org/2000/svg}text")  # noqa: S314, it is ours
    return [" ".join("".join(element.itertext()).split()) for element in elements]


class TestLines:
    def test_curves_and_bars_are_the_record(self):
        figure = lines()
        (axes,) = draw(figure).axes
        bars = [c for c in axes.collections if isinstance(c, LineCollection)]
        assert len(bars) == len(figure.curves)
        for curve, bar in zip(figure.curves, bars, strict=True):
            line = named(axes, curve.name)
            assert list(line.get_xdata()) == curve.x
            assert list(line.get_ydata()) == curve.y
            ends = [
                [(x, low), (x, high)]
                for x, low, high in zip(curve.x, curve.low, curve.high, strict=True)
            ]
            np.testing.assert_array_equal(bar.get_segments(), ends)
            caps = [
                list(cap.get_ydata())
                for cap in axes.lines
                if cap.get_marker() == "_" and cap.get_color() == line.get_color()
            ]
            assert caps == [curve.low, curve.high]

    @pytest.mark.parametrize("log_x", [True, False])
    def test_axis(self, log_x):
        (axes,) = draw(lines(log_x=log_x)).axes
        assert axes.get_xscale() == ("log" if log_x else "linear")
        assert axes.get_yscale() == "linear"
        assert axes.get_xlabel() == r"$a^\lambda$"
        assert axes.get_ylabel() == "accuracy"

    def test_all_data_are_in_sight(self):
        figure = lines()
        drawing = draw(figure)
        (axes,) = drawing.axes
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        for curve in figure.curves:
            assert x0 < min(curve.x) <= max(curve.x) < x1
            assert y0 < min(curve.low) <= max(curve.high) < y1

    def test_bars_at_one_place_are_side_by_side(self):
        """In print they are apart by a little, always less than from the next place."""
        drawing = draw(lines())
        drawing.draw_without_rendering()
        (axes,) = drawing.axes
        shown = [
            line.get_transform().transform(line.get_xydata())[:, 0] * 72 / drawing.dpi
            for line in (named(axes, curve.name) for curve in curves())
        ]
        steps = np.diff(shown, axis=0)
        assert (steps > 1).all()
        assert (steps < 3).all()
        np.testing.assert_allclose(
            shown[1], axes.transData.transform([(x, 0) for x in curves()[0].x])[:, 0] * 0.72
        )

    def test_curves_without_bars_stay_in_place(self):
        (axes,) = draw(lines(curves=curves(bars=False))).axes
        assert not axes.collections
        points = named(axes, "K = 20").get_xydata()
        np.testing.assert_allclose(
            named(axes, "K = 20").get_transform().transform(points),
            axes.transData.transform(points),
        )

    def test_mark_is_an_open_circle_on_its_curve(self):
        best = PlotMark(1000.0, curves()[2].high[2], "0.7500, K = 60")
        (axes,) = draw(lines(marks=[best])).axes
        (circle,) = (line for line in axes.lines if line.get_fillstyle() == "none")
        assert (*circle.get_xdata(), *circle.get_ydata()) == (best.x, best.y)
        at = [(best.x, best.y)]
        own = named(axes, "K = 60").get_transform()
        np.testing.assert_allclose(circle.get_transform().transform(at), own.transform(at))
        (note,) = (child for child in axes.get_children() if isinstance(child, Annotation))
        assert note.get_text() == best.text
        assert note.xy == (best.x, best.y)

    @pytest.mark.parametrize("x", [0.1, 100000.0])
    def test_text_of_a_mark_is_inside(self, x):
        drawing = draw(lines(marks=[PlotMark(x, 0.9, "0.9000, K = 100")]))
        drawing.draw_without_rendering()
        (axes,) = drawing.axes
        (note,) = (child for child in axes.get_children() if isinstance(child, Annotation))
        box, page = note.get_window_extent(), drawing.bbox
        assert page.x0 <= box.x0 < box.x1 <= page.x1
        assert page.y0 <= box.y0 < box.y1 <= page.y1

    def test_level_of_the_paper(self):
        drawing = draw(lines(levels=[PlotMark(None, 0.633, "paper, K = 200")]))
        (axes,) = drawing.axes
        level = named(axes, "paper, K = 200 (0.6330)")
        assert list(level.get_ydata()) == [0.633, 0.633]
        assert legend_texts(drawing)[-1] == "paper, K = 200 (0.6330)"

    def test_curves_are_told_apart_without_colour_too(self):
        figure = lines(curves=curves(8, bars=False))
        drawing = draw(figure)
        (axes,) = drawing.axes
        drawn = [named(axes, curve.name) for curve in figure.curves]
        assert len({(line.get_marker(), line.get_linestyle()) for line in drawn[:7]}) == 7
        kinds = {(x.get_color(), x.get_marker(), x.get_linestyle()) for x in drawn}
        assert len(kinds) == 8
        assert legend_texts(drawing) == [curve.name for curve in figure.curves]

    @pytest.mark.parametrize("n", [1, 2, 5, 9])
    @pytest.mark.parametrize("name", ["K = {}", "micro-averaged accuracy {}", "x" * 70 + "{}"])
    def test_legend_is_inside_and_covers_nothing(self, n, name):
        made = [Curve(name.format(i), c.x, c.y) for i, c in enumerate(curves(n))]
        drawing = draw(lines(curves=made))
        drawing.draw_without_rendering()
        legend, axes = drawing.legends[0].get_window_extent(), drawing.axes[0].get_window_extent()
        assert legend.y0 >= axes.y1
        assert legend.y1 <= drawing.bbox.y1
        if len(name) < 70:
            assert 0 <= legend.x0 < legend.x1 <= drawing.bbox.x1

    @pytest.mark.parametrize("log_x", [True, False])
    def test_one_point_and_none(self, log_x, tmp_path):
        made = [
            Curve("one", [3.0], [0.5], [0.5], [0.5]),
            Curve("none", [], []),
            Curve("nothing known", [3.0], [nan], [nan], [nan]),
        ]
        mark = [PlotMark(3.0, 0.5, "best")]
        assert save_figure(lines(curves=made, log_x=log_x, marks=mark), tmp_path)


def test_scatter():
    hull = [(0.1, 0.2), (0.5, 0.1), (0.6, 0.7), (0.1, 0.2)]
    clouds = [
        Cloud("K = 20", [0.1, 0.5, 0.6, 0.4], [0.2, 0.1, 0.7, 0.3], hull),
        Cloud("K = 40", [0.2, 0.3], [0.4, 0.6]),
    ]
    drawing = draw(Scatter("fig6", "title", "caption", "sparsity", "accuracy", clouds))
    (axes,) = drawing.axes
    for cloud in clouds:
        line = named(axes, cloud.name)
        assert (list(line.get_xdata()), list(line.get_ydata())) == (cloud.x, cloud.y)
        assert line.get_linestyle() == "None"
    polygons = [patch for patch in axes.patches if isinstance(patch, Polygon)]
    assert polygons
    for polygon in polygons:  # an outline and a fill
        np.testing.assert_array_equal(polygon.get_xy(), hull)
    assert legend_texts(drawing) == ["K = 20", "K = 40"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("sparsity", "accuracy")


class TestMap:
    @pytest.mark.parametrize(("n_labels", "K"), [(20, 40), (2, 100), (60, 20), (1, 1)])
    def test_values_and_names(self, n_labels, K):
        labels = [f"comp.sys.label.{i}" for i in range(n_labels)]
        components = [f"one two three four five{k}" for k in range(K)]
        figure = label_map(labels, components)
        drawing = draw(figure)
        axes, bar = drawing.axes
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), np.array(figure.values).T)
        assert image.get_clim() == (0, 1)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == labels
        assert [tick.get_text() for tick in axes.get_yticklabels()] == components
        assert list(axes.get_xticks()) == list(range(n_labels))
        assert list(axes.get_yticks()) == list(range(K))
        assert "coefficients" in bar.get_xlabel()

        drawing.draw_without_rendering()
        page = drawing.bbox
        # names are within the page, are large enough, and no line of them touches the next
        ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
        for tick in ticks:
            box = tick.get_window_extent()
            assert page.x0 <= box.x0 < box.x1 <= page.x1
            assert page.y0 <= box.y0 < box.y1 <= page.y1
            assert tick.get_fontsize() >= FONT
        cells = axes.get_window_extent()
        assert cells.height / K * 72 / drawing.dpi >= FONT
        assert cells.width / n_labels * 72 / drawing.dpi >= FONT

    def test_a_name_is_never_a_formula(self, tmp_path):
        names = [*HOSTILE, "long " * 100]
        save_figure(label_map(names, names), tmp_path)
        shown = svg_texts(tmp_path / "map.svg")
        for name in ("$x$", "one $ only", r"\$ and \\$ and $\frac{", "under_score^2 & <b> -- >"):
            assert shown.count(name) == 2
        assert shown.count("中文 слово λόγος عربى") == 2
        assert shown.count("new line") == 2


def test_text_of_figures():
    assert text("a^λ") == r"$a^\lambda$"
    assert text("50 $ for a^λ") == r"50 \$ for $a^\lambda$"
    assert text("y" * 100, 10) == "y" * 9 + "…"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_strings_everywhere(name, tmp_path, recwarn):
    made = [Curve(name, c.x, c.y, c.low, c.high) for c in curves(2)]
    marks = {"marks": [PlotMark(10.0, 0.6, name)], "levels": [PlotMark(None, 0.6, name)]}
    for path in save_figure(Lines("fig", name, name, name, name, made, **marks), tmp_path):
        assert path.stat().st_size > 1000
    assert svg_texts(tmp_path / "fig.svg")
    assert not recwarn.list


@pytest.mark.parametrize(
    "figure",
    [
        lines(marks=[PlotMark(10.0, 0.6, "best")], levels=[PlotMark(None, 0.6, "paper")]),
        Scatter("fig", "", "", "x", "y", [Cloud("c", [0.1, 0.2], [0.3, 0.4])]),
        label_map(["l", "m"], ["c", "d"], key="fig"),
    ],
)
def test_same_figure_same_bytes(figure, tmp_path):
    """Whatever the user has set, which is left as it was; and only the two files are there."""
    kept = []
    for settings in ({}, {"font.size": 20, "svg.hashsalt": None, "text.parse_math": False}):
        with matplotlib.rc_context(settings):
            before = dict(matplotlib.rcParams)
            paths = save_figure(figure, tmp_path)
            assert dict(matplotlib.rcParams) == before
        assert paths == [tmp_path / "fig.png", tmp_path / "fig.svg"]
        assert sorted(tmp_path.iterdir()) == paths
        kept.append([path.read_bytes() for path in paths])
    assert kept[0] == kept[1]
    png, svg = kept[0]
    assert png.startswith(b"\x89PNG")
    assert b"Software" not in png
    assert b"<text" in svg  # text can be searched and read aloud
    assert b"date" not in svg.lower()
