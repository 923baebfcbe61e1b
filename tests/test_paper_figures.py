"""Figures by the data that they plot, from tables made by hand."""

import re

import numpy as np
import pytest
from paper_rows import PAPER, free, led, paper, pca, sparse_runs

from vbnmf.paper.experiments import ChosenMap, choose_runs
from vbnmf.paper.figures import PlotMark, all_figures, label_map
from vbnmf.paper.measure import LabelMap

FIGURES = paper(hull_dimensions=(20, 60), zoom=(10.0, 1000.0), map_dimension=40)

DONT_COUNT = [
    pca(30, 0.99, fold="validation"),
    pca(900, None, status="impossible"),
    free(30, 0.3, 0.99, fold="validation", inter_label_sparsity=0.9),
    free(30, 0.3, 0.99, term_shape="free", inter_label_sparsity=0.9),
    led(30, 100.0, 0.99, fold="validation", inter_label_sparsity=0.9),
    led(30, 100.0, 0.99, term_shape="free", inter_label_sparsity=0.9),
    led(30, 100.0, None, status="failed"),
]
PCA = [pca(200, 0.63, macro=0.61), pca(20, 0.50, macro=0.45), pca(100, 0.64, macro=0.60)]
UNSUPERVISED = [
    free(20, 1.0, 0.40, seed=0, inter_label_sparsity=0.3, sparsity=0.5),
    free(20, 1.0, 0.50, seed=1, inter_label_sparsity=0.5, sparsity=0.6),
    free(40, 1.0, 0.55, seed=0, inter_label_sparsity=0.4, sparsity=0.6),
    free(40, 0.1, 0.52, seed=0, inter_label_sparsity=0.6, sparsity=0.8),
]
SUPERVISED = [
    led(20, 1.0, 0.50, seed=0, inter_label_sparsity=0.2),
    led(20, 1.0, 0.60, seed=1, inter_label_sparsity=0.3),
    led(20, 100.0, 0.66, seed=0, inter_label_sparsity=0.5),
    led(40, 100.0, 0.72, seed=0, inter_label_sparsity=0.8),
    led(40, 100.0, 0.70, seed=1, inter_label_sparsity=0.9),
    led(40, 10000.0, 0.71, seed=0, inter_label_sparsity=0.7),
]
ROWS = [*DONT_COUNT, *SUPERVISED, *UNSUPERVISED, *PCA]


def chosen(method="unsupervised", **others):
    label_map = LabelMap(
        labels=["cat", "dog", "eel"],
        components=["bark stick", "milk purr", "water mud", "food bowl"],
        sums=[[1.0, 8.0, 0.0, 1.0], [6.0, 0.0, 0.0, 2.0], [0.0, 0.5, 0.25, 0.25]],
        sparsity=0.71234,
        inter_label_sparsity=0.51234,
        micro=0.61234,
    )
    return ChosenMap(method, 4, 0.5, 0, "A good reason.", 0.6862, 0.5784, label_map, **others)


MAPS = {"fig5": chosen("supervised"), "fig4": chosen()}


@pytest.fixture(scope="module")
def figures():
    made = all_figures(ROWS, MAPS, FIGURES)
    keys = [figure.key for figure in made]
    assert keys == ["fig1", "fig2", "fig3a", "fig3b", "fig4", "fig5", "fig6", "fig7a", "fig7b"]
    return dict(zip(keys, made, strict=True))


def curves(figure):
    return {curve.name: curve for curve in figure.curves}


def test_every_figure_says_what_it_is(figures):
    for figure in figures.values():
        assert figure.title
        assert figure.caption.endswith(".")


# --- curves


def test_figure_1_is_accuracy_by_dimension(figures):
    figure = figures["fig1"]
    micro, macro = figure.curves
    assert (micro.x, micro.y) == ([20, 100, 200], [0.50, 0.64, 0.63])
    assert (macro.x, macro.y) == ([20, 100, 200], [0.45, 0.60, 0.61])
    assert "micro" in micro.name
    assert "macro" in macro.name
    assert micro.low == micro.high == []  # one run has no bar
    assert not figure.log_x
    assert figure.marks == [PlotMark(100, 0.64, "0.6400, K = 100")]
    (level,) = figure.levels
    assert (level.x, level.y) == (None, 0.6330)
    assert "paper" in level.text
    assert "200" in level.text


def test_figure_2_has_a_curve_for_each_shape(figures):
    figure = figures["fig2"]
    shapes = curves(figure)
    assert list(shapes) == ["shape 0.1", "shape 1"]
    assert shapes["shape 1"].x == [20, 40]
    assert shapes["shape 1"].y == pytest.approx([0.45, 0.55])
    assert (shapes["shape 0.1"].x, shapes["shape 0.1"].y) == ([40], [0.52])
    assert [level.y for level in figure.levels] == [0.5532]
    assert "2 random starts" in figure.caption


def test_figure_3a_has_bars_and_the_peak(figures):
    figure = figures["fig3a"]
    assert figure.log_x
    at = curves(figure)
    assert list(at) == ["K = 20", "K = 40"]
    assert at["K = 20"].x == [1, 100]
    assert at["K = 20"].y == pytest.approx([0.55, 0.66])
    assert (at["K = 20"].low, at["K = 20"].high) == ([0.50, 0.66], [0.60, 0.66])
    assert at["K = 40"].x == [100, 10000]
    assert at["K = 40"].y == pytest.approx([0.71, 0.71])
    assert (at["K = 40"].low, at["K = 40"].high) == ([0.70, 0.71], [0.72, 0.71])
    assert figure.marks == [PlotMark(100, 0.72, "0.7200, K = 40")]
    assert [(level.x, level.y) for level in figure.levels] == [(None, 0.7141)]


def test_figure_3b_is_a_part_of_it(figures):
    figure = figures["fig3b"]
    assert figure.log_x
    (curve,) = figure.curves  # K = 40 is not among the dimensions shown, nor a^λ = 1 in the range
    assert (curve.name, curve.x, curve.y) == ("K = 20", [100], [0.66])
    assert figure.marks == []  # the peak is at K = 40


def test_figure_3b_marks_a_peak_that_it_shows():
    for zoom, marks in ((10.0, 1000.0), 1), ((1000.0, 10000.0), 0):
        made = all_figures(SUPERVISED, {}, paper(hull_dimensions=(40,), zoom=zoom))
        (figure,) = (figure for figure in made if figure.key == "fig3b")
        assert [curve.name for curve in figure.curves] == ["K = 40"]
        assert len(figure.marks) == marks


@pytest.mark.parametrize(
    ("zoom", "x"),
    [((100.0, 10000.0), [100, 10000]), ((100.0, 9999.0), [100]), ((101.0, 10000.0), [10000])],
)
def test_figure_3b_ends_where_it_is_told_to(zoom, x):
    made = all_figures(SUPERVISED, {}, paper(hull_dimensions=(40,), zoom=zoom))
    (figure,) = (figure for figure in made if figure.key == "fig3b")
    assert figure.curves[0].x == x


def test_figure_7_is_sparsity_with_bars(figures):
    shapes = curves(figures["fig7a"])
    assert list(shapes) == ["shape 0.1", "shape 1"]
    assert shapes["shape 1"].x == [20, 40]
    assert shapes["shape 1"].y == pytest.approx([0.4, 0.4])
    assert (shapes["shape 1"].low, shapes["shape 1"].high) == ([0.3, 0.4], [0.5, 0.4])
    assert not figures["fig7a"].log_x
    at = curves(figures["fig7b"])
    assert list(at) == ["K = 20", "K = 40"]
    assert at["K = 20"].x == [1, 100]
    assert at["K = 20"].y == pytest.approx([0.25, 0.5])
    assert at["K = 40"].y == pytest.approx([0.85, 0.7])
    assert (at["K = 40"].low, at["K = 40"].high) == ([0.8, 0.7], [0.9, 0.7])
    assert figures["fig7b"].log_x
    for key in ("fig7a", "fig7b"):
        assert "inter-label" in figures[key].y_label


# --- points


def test_figure_6_has_every_run(figures):
    clouds = {cloud.name: cloud for cloud in figures["fig6"].clouds}
    assert list(clouds) == ["K = 20", "K = 40"]
    assert (clouds["K = 20"].x, clouds["K = 20"].y) == ([0.2, 0.3, 0.5], [0.50, 0.60, 0.66])
    assert sorted(clouds["K = 20"].hull[:-1]) == [(0.2, 0.50), (0.3, 0.60), (0.5, 0.66)]
    assert clouds["K = 40"].hull == []  # not among the dimensions with hulls
    caption = figures["fig6"].caption
    assert "1.00 (K = 20)" in caption
    assert "-0.50 (K = 40)" in caption  # ranks 2 3 1 against 3 1 2
    assert "inter-label" in figures["fig6"].x_label
    assert "accuracy" in figures["fig6"].y_label


def scattered(points):
    rows = [
        led(20, 1.0, y, seed=i, inter_label_sparsity=x, sparsity=x)
        for i, (x, y) in enumerate(points)
    ]
    (figure,) = (f for f in all_figures(rows, {}, FIGURES) if f.key == "fig6")
    return figure.clouds[0], figure.caption


def test_a_hull_goes_around_a_square():
    corners = [(0.2, 0.2), (0.6, 0.6), (0.6, 0.2), (0.2, 0.6)]
    cloud, _ = scattered([*corners, (0.4, 0.5)])
    assert (0.4, 0.5) in zip(cloud.x, cloud.y, strict=True)
    assert cloud.hull[0] == cloud.hull[-1]
    assert sorted(cloud.hull[:-1]) == sorted(corners)
    for a, b in zip(cloud.hull, cloud.hull[1:], strict=False):
        assert np.hypot(a[0] - b[0], a[1] - b[1]) == pytest.approx(0.4)  # sides, no diagonals


LINE = [(0.1, 0.1), (0.5, 0.5), (0.75, 0.75)]


@pytest.mark.parametrize("points", [LINE[:1], LINE[:2], LINE, LINE[:1] * 4])
def test_points_that_span_no_area_have_no_hull(points):
    cloud, caption = scattered(points)
    assert (len(cloud.x), cloud.hull) == (len(points), [])
    assert ("Rank correlation" in caption) == (points is LINE)


# --- maps


@pytest.mark.parametrize("key", MAPS)
def test_maps_are_parts_of_labels(figures, key):
    figure = figures[key]
    assert figure.labels == ["cat", "dog", "eel"]
    values = np.array(figure.values)
    np.testing.assert_allclose(values.sum(axis=1), 1)
    assert values.shape == (3, 4)
    assert values.min() >= 0
    # each beside the label that has most of it; cat's first, and of those of one label the larger
    # food: 0.1 of cat, 0.25 of dog, 0.25 of eel, the first of equals
    assert figure.components == ["milk purr", "bark stick", "food bowl", "water mud"]
    np.testing.assert_allclose(
        values, [[0.8, 0.1, 0.1, 0.0], [0.0, 0.75, 0.25, 0.0], [0.5, 0.0, 0.25, 0.25]]
    )


def test_maps_say_both_sparsities_and_why(figures):
    caption = figures["fig4"].caption
    assert re.search(r"0\.7123.*0\.5123.*0\.6862.*0\.5784.*0\.6123.*A good reason\.", caption)
    assert "2 top terms" in caption
    assert "Unsupervised" in figures["fig4"].title
    assert "Supervised" in figures["fig5"].title


def test_a_label_without_coefficients_is_a_row_of_zeros():
    label_map = LabelMap(["a", "b"], ["x", "y"], [[0.0, 0.0], [1.0, 3.0]], 0.0, 0.0, 0.0)
    made = {"fig4": ChosenMap("unsupervised", 2, 1.0, 0, "", 0.0, 0.0, label_map)}
    (figure,) = all_figures([], made, FIGURES)
    by_name = dict(zip(figure.components, np.array(figure.values).T.tolist(), strict=True))
    assert by_name == {"x": [0.0, 0.25], "y": [0.0, 0.75]}


def test_which_runs_are_shown_as_maps():
    rows = [
        *ROWS,
        led(40, 1.0, 0.74, seed=1, inter_label_sparsity=0.1),  # with the other the best mean
        led(40, 1.0, 0.69, seed=0, inter_label_sparsity=0.1),
    ]
    runs = choose_runs(rows, FIGURES)
    assert runs["fig4"][0] == UNSUPERVISED[2]  # the best of K = 40
    supervised = runs["fig5"][0]
    assert (supervised["parameter"], supervised["seed"]) == (1.0, 0)  # not the best run of it
    assert choose_runs(PCA, FIGURES) == {}
    assert set(choose_runs(SUPERVISED, FIGURES)) == {"fig5"}


# --- what is missing


def test_no_rows_no_figures():
    assert all_figures([], {}, PAPER) == []
    assert all_figures(DONT_COUNT, {}, PAPER) == []


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        (PCA, ["fig1"]),
        (UNSUPERVISED, ["fig2", "fig7a"]),
        (SUPERVISED, ["fig3a", "fig3b", "fig6", "fig7b"]),
        ([*PCA, *UNSUPERVISED], ["fig1", "fig2", "fig7a"]),
        (sparse_runs(30, [(100.0, 0.5)]), ["fig3a", "fig6", "fig7b"]),  # nothing within the range
    ],
)
def test_a_part_of_the_rows_gives_a_part_of_the_figures(rows, keys):
    assert [figure.key for figure in all_figures(rows, {}, FIGURES)] == keys


def test_the_order_of_rows_does_not_matter():
    one, other = (all_figures(rows, MAPS, FIGURES) for rows in (ROWS, ROWS[::-1]))
    for a, b in zip(one, other, strict=True):
        if a.key != "fig6":
            assert a == b


def test_components_that_have_faded_come_last_and_without_terms():
    sums = [[8.0, 0.001, 2.0], [0.0, 0.001, 5.0]]
    map_ = LabelMap(["cat", "dog"], ["milk purr", "of the", "bark stick"], sums, 0.5, 0.5, 0.5)
    chosen = ChosenMap("supervised", 3, 1.0, 0, "A reason.", 0.8, 0.8, map_)
    figure = label_map("fig5", chosen)
    assert figure.components == ["milk purr", "bark stick", "(faded)"]
    assert "1 of 3 components have faded." in figure.caption
