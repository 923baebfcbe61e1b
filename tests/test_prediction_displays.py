"""Displays of labels and predictions draw the numbers of the commands and of the page."""

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from cliruns import LABELS, TEXTS, fitted, make_corpus
from numpy.testing import assert_allclose, assert_array_equal

from vbnmf import (
    AcceptanceDisplay,
    ContrastDisplay,
    ReliabilityDisplay,
    accept,
    contrast,
)
from vbnmf.evaluation.truth import read_part
from vbnmf.metrics import calibration_error
from vbnmf.report.explorer.quality import calibration_points

OTHERS = make_corpus(1, n_each=30, mixed=0.6)


@pytest.fixture(autouse=True)
def no_trace():
    """Settings of matplotlib are as before, and nothing is warned of."""
    mpl.use("Agg")
    before = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted()


class TestContrast:
    @pytest.mark.parametrize("second", ["tea", None])
    def test_words_of_both_sides(self, model, second):
        display = ContrastDisplay.from_estimator(model, TEXTS, LABELS, "bike", second, n_terms=4)
        found = contrast(model, TEXTS, LABELS, "bike", second, n_terms=4)
        rows = [*found["more_in_first"], *found["more_in_second"]]
        assert len(rows) == (8 if second else 4)  # too few documents against all others
        shown = [tick.get_text() for tick in display.ax_.get_yticklabels()]
        assert shown == [row["term"] for row in rows]
        points = [one for one in display.points_ if one is not None]
        drawn = np.concatenate([one[0].get_xdata() for one in points])
        assert_allclose(drawn, [row["log_odds"] for row in rows])
        ends = np.concatenate([lines.get_segments() for one in points for lines in one[2]])
        assert_allclose(ends[:, :, 0], [(row["low"], row["high"]) for row in rows])
        counts = [text.get_text() for text in display.text_]
        assert counts == [f"{n} : {m}" for n, m in (row["documents"] for row in rows)]
        low, high = display.ax_.get_xlim()
        assert low == -high

    def test_one_side_alone_and_nothing(self, model):
        found = contrast(model, TEXTS, LABELS, "bike", "tea")
        found["more_in_second"] = found["more_in_second"][:0]
        display = ContrastDisplay.from_findings(found)
        assert display.points_[1] is None
        found["more_in_first"] = found["more_in_first"][:0]
        with pytest.raises(ValueError, match="no word is significantly more frequent in bike or"):
            ContrastDisplay.from_findings(found)

    def test_hostile_and_long_names(self):
        row = {"term": "$x^$\n" * 20, "documents": [3, 0], "log_odds": 1.0, "low": 0.5, "high": 2.0}
        ContrastDisplay(
            names=("$a" * 40, "é" * 40),
            documents=(3, 4),
            first=[row],
            second=[row | {"term": "ß"}],
        ).plot().figure_.canvas.draw()


class TestReliability:
    def test_numbers_of_the_page(self, model):
        display = ReliabilityDisplay.from_estimator(model, *OTHERS)
        P = model.predict_proba(OTHERS[0])
        right = model.classes_[P.argmax(axis=1)] == OTHERS[1]
        points = np.array(calibration_points(P.max(axis=1), right))
        assert len(points) > 2
        assert_allclose(display.probability, points[:, 0], rtol=1e-3)
        assert_allclose(display.share_right, points[:, 1], rtol=1e-3)
        assert_array_equal(display.number, points[:, 2])
        assert_allclose(display.low, points[:, 3], rtol=1e-2, atol=1e-4)
        assert display.error == calibration_error(P.max(axis=1), right)
        assert_allclose(display.points_[0].get_xydata()[:, 1], display.share_right)
        heights = [bar.get_height() for bar in display.bars_]
        assert_allclose(heights / np.max(heights), display.number / display.number.max())

    def test_bars_are_at_their_bins(self):
        p = [0.0, 0.05, 0.55, 0.999, 1.0]
        display = ReliabilityDisplay.from_predictions([1, 0, 1, 1, 1], p, n_bins=2)
        assert [bar.get_x() for bar in display.bars_] == [0.0, 0.5]
        assert display.number.tolist() == [2, 3]

    def test_unknown_labels_are_left_out(self, model):
        labels = [None, *OTHERS[1][1:]]
        display = ReliabilityDisplay.from_estimator(model, OTHERS[0], labels)
        assert display.number.sum() == len(labels) - 1

    @pytest.mark.parametrize("display", [ReliabilityDisplay, AcceptanceDisplay])
    def test_refusals(self, display, model):
        with pytest.raises(ValueError, match="shapes \\(1,\\) and \\(2,\\)"):
            display.from_predictions([True], [0.5, 0.6])
        with pytest.raises(ValueError, match="from 0 to 1"):
            display.from_predictions([True], [1.5])
        with pytest.raises(ValueError, match="nothing to draw"):
            display.from_predictions([], [])
        with pytest.raises(ValueError, match="nothing to draw"):
            display.from_estimator(model, TEXTS[:2], [None, None])


class TestAcceptance:
    def test_numbers_of_the_command(self, model):
        display = AcceptanceDisplay.from_estimator(model, *OTHERS, wanted=0.9)
        found = accept(model, *OTHERS, right=0.9)
        assert found["threshold"] is not None
        assert display.chosen.threshold == found["threshold"]
        assert display.point_.get_xydata().tolist() == [
            [found["share_accepted"], found["share_right"]]
        ]
        at = np.flatnonzero(display.threshold == found["threshold"])[0]
        assert display.accepted[at] == found["share_accepted"]
        assert display.share_right[at] == found["share_right"]
        assert display.low[at] == found["low"]
        assert_array_equal(display.line_.get_xdata(), display.accepted)

    def test_equal_probabilities_are_accepted_together(self):
        display = AcceptanceDisplay.from_predictions(
            [1, 0, 1, 0], [0.9, 0.9, 0.5, 0.5], wanted=None
        )
        assert display.accepted.tolist() == [0.5, 1.0]
        assert display.share_right.tolist() == [0.5, 0.5]
        assert display.point_ is None

    def test_no_threshold(self):
        display = AcceptanceDisplay.from_predictions([False] * 30, [0.9] * 30)
        assert display.chosen is None

    def test_a_long_curve_is_thinned_and_keeps_its_ends(self):
        rng = np.random.default_rng(0)
        p = rng.random(5000)
        display = AcceptanceDisplay.from_predictions(rng.random(5000) < p, p)
        assert len(display.accepted) <= 500
        assert display.accepted[0] == 1 / 5000
        assert display.accepted[-1] == 1
        part = AcceptanceDisplay.from_predictions(rng.random(9) < 0.5, p[:9])
        assert len(part.accepted) == 9


def test_on_given_axes(model):
    _, axes = plt.subplots(1, 3)
    ContrastDisplay.from_estimator(model, TEXTS, LABELS, "bike", ax=axes[0])
    ReliabilityDisplay.from_estimator(model, *OTHERS, ax=axes[1])
    display = AcceptanceDisplay.from_estimator(model, *OTHERS, ax=axes[2])
    assert display.ax_ is axes[2]
    assert len(plt.get_fignums()) == 1


def test_documents_of_training_are_judged_without_them(model):
    """Their own predictions would be right too often."""
    part = read_part(model, TEXTS, LABELS)
    display = AcceptanceDisplay.from_estimator(model, TEXTS, LABELS)
    assert display.threshold[0] != part.probabilities.max()
