"""Displays are checked by what they show: the numbers of the model, in the order they claim."""

import subprocess
import sys
import warnings
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from oracle_uses import naming_terms
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

from vbnmf import (
    VBNMF,
    BoundDisplay,
    ComponentTermsDisplay,
    DocumentModel,
    LabelMapDisplay,
    SupervisedVBNMF,
)
from vbnmf.core.fit import FITTING

WORDS = ["leaf", "green", "steep", "bean", "roast", "crema", "milk", "sweet", "warm"]
LABELS = ["cocoa", "coffee", "tea"]


@pytest.fixture(autouse=True)
def no_trace():
    """Settings of matplotlib are as before, and nothing is warned of."""
    mpl.use("Agg")
    before = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([2, 1, 0], 20)
    X = rng.poisson(np.kron(np.eye(3), np.full((20, 3), 4.0)) + 0.05)
    return X, np.array(LABELS)[y]


@pytest.fixture(scope="module", params=["scopes", "faded"])
def model(request, data):
    """A model of the defaults, whose components have scopes, and one of which some have faded."""
    if request.param == "scopes":
        fitted = SupervisedVBNMF(6).fit(*data)
        assert not fitted.scopes_.all()
        return fitted
    fitted = SupervisedVBNMF(6, init="label", coef_shape=1, term_shape=0.5, random_state=0)
    assert 0 < fitted.fit(*data).faded_.sum() < 4
    return fitted


def names_on(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


class TestLabelMap:
    @pytest.mark.parametrize("order", [True, False])
    @pytest.mark.parametrize("normalize", ["label", None])
    def test_cells_are_the_activations(self, model, order, normalize):
        display = LabelMapDisplay.from_estimator(
            model, names=WORDS, order=order, normalize=normalize, n_terms=2
        )
        A = model.label_activations_
        if normalize:  # as the explorer and the terminal have it
            A = A * model.component_sums_
            A = A / A.sum(axis=1, keepdims=True)
        rows, columns = display.label_order_, display.component_order_
        assert sorted(rows) == [0, 1, 2]
        assert sorted(columns) == list(range(6))
        np.testing.assert_allclose(display.im_.get_array(), A[np.ix_(rows, columns)])
        top = naming_terms(model, 2)
        called = [
            f"{k} (faded)" if model.faded_[k] else " ".join([str(k), *(WORDS[w] for w in top[k])])
            for k in columns
        ]
        assert names_on(display.ax_.xaxis) == called
        assert names_on(display.ax_.yaxis) == [LABELS[i] for i in rows]
        assert display.figure_ is display.ax_.figure
        if not order:
            assert rows.tolist() == [0, 1, 2]
            assert columns.tolist() == list(range(6))

    def test_order_shows_blocks_and_puts_faded_last(self):
        values = np.kron(np.eye(4), [[0.5, 0.5], [0.6, 0.4]])  # labels and components in pairs
        values = np.hstack([np.full((8, 1), 0.01), values])
        faded = np.arange(9) == 0
        shuffle = np.random.default_rng(0).permutation(8)
        display = LabelMapDisplay(
            activations=values[shuffle], labels=list("abcdefgh"), components=list("fABCDEFGH"),
            faded=faded,
        ).plot()  # fmt: skip
        shown = display.im_.get_array()
        assert names_on(display.ax_.xaxis)[-1] == "f"
        for block in range(4):
            at = slice(2 * block, 2 * block + 2)
            assert (shown[at, at] > 0.3).all()

    @pytest.mark.parametrize(
        ("n_labels", "K", "thin"),
        [
            (1, 1, (1, 1)),
            (1, 30, (1, 1)),
            (30, 1, (1, 1)),
            (12, 10, (1, 1)),
            pytest.param(200, 500, (4, 10), marks=pytest.mark.slow),
        ],
    )
    def test_any_size_is_legible(self, n_labels, K, thin):
        values = np.random.default_rng(0).dirichlet(np.full(K, 0.1), n_labels)
        labels = [f"comp.sys.{i}" for i in range(n_labels)]
        components = [f"{k} one two three" for k in range(K)]
        display = LabelMapDisplay(activations=values, labels=labels, components=components).plot()
        figure, ax = display.figure_, display.ax_
        figure.draw_without_rendering()
        assert max(figure.get_size_inches() - (7, 9)) < 0.01
        page = figure.bbox
        for axis, every, step in ((ax.yaxis, labels, thin[0]), (ax.xaxis, components, thin[1])):
            order = display.label_order_ if axis is ax.yaxis else display.component_order_
            assert names_on(axis) == [every[i] for i in order[::step]]
            assert axis.get_ticklocs().tolist() == list(range(0, len(every), step))
            boxes = [tick.get_window_extent() for tick in axis.get_ticklabels()]
            for box in boxes:
                assert page.x0 <= box.x0 < box.x1 <= page.x1
                assert page.y0 <= box.y0 < box.y1 <= page.y1
            assert not any(a.overlaps(b) for a, b in pairwise(boxes))
        if max(thin) > 1:
            assert ax.get_xlabel() == "500 components, one in 10 is named"
            assert ax.get_ylabel() == "200 labels, one in 4 is named"
            assert display.text_ is None

    def test_values_in_cells(self):
        values = np.array([[0.98, 0.02, 0.0], [0.004, 0.3, 0.696]])
        kinds = {"activations": values, "labels": ["a", "b"], "components": ["x", "y", "z"]}
        display = LabelMapDisplay(**kinds).plot(order=False, text_kw={"fontsize": 6})
        shown = [[t and t.get_text() for t in row] for row in display.text_]
        assert shown == [["0.98", "0.02", None], [None, "0.30", "0.70"]]
        assert display.text_[0, 0].get_color() == "white"
        assert display.text_[0, 1].get_color() == "black"
        assert display.text_[0, 0].get_fontsize() == 6
        assert LabelMapDisplay(**kinds).plot(include_values=False).text_ is None
        narrow = plt.figure(figsize=(0.8, 3)).add_subplot()
        assert LabelMapDisplay(**kinds).plot(ax=narrow).text_ is None

    def test_colours(self, model):
        display = LabelMapDisplay.from_estimator(
            model, cmap="viridis", colorbar=False, im_kw={"vmax": 2.0}
        )
        assert display.im_.get_cmap().name == "viridis"
        assert display.im_.get_clim() == (0, 2)
        assert display.colorbar_ is None
        empty = LabelMapDisplay(activations=[[0.0, 0.0]], labels=["a"], components=["x", "y"])
        assert empty.plot().im_.get_clim() == (0, 1)

    def test_long_and_foreign_names_stay_within_the_page(self):
        names = ["緑茶" * 40, "قهوة عربية", "$x$ \\frac{", "a" * 200, "new\nline"]
        display = LabelMapDisplay(activations=np.eye(5), labels=names, components=names)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # where no font has it
            display.plot().figure_.draw_without_rendering()
            page = display.figure_.bbox
            for name in (*display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()):
                box = name.get_window_extent()
                assert page.x0 <= box.x0 < box.x1 <= page.x1
                assert page.y0 <= box.y0 < box.y1 <= page.y1

    def test_without_labels(self, data):
        with pytest.raises(
            ValueError, match=r"needs a model with labels; got a VBNMF\. Fit a Super"
        ):
            LabelMapDisplay.from_estimator(VBNMF(2, max_iter=5).fit(data[0]))


class TestComponentTerms:
    def test_bars_and_intervals(self, model):
        display = ComponentTermsDisplay.from_estimator(
            model, [4, 0], n_terms=3, level=0.8, names=WORDS
        )
        low, high = model.component_interval(0.8)
        assert len(display.axes_) == 2
        for k, ax, bars, errors in zip(
            [4, 0], display.axes_, display.bars_, display.errors_, strict=True
        ):
            top, total = np.argsort(-model.components_[k])[:3], model.component_sums_[k]
            assert names_on(ax.yaxis) == [WORDS[w] for w in top]
            widths = [bar.get_width() for bar in bars]
            np.testing.assert_allclose(widths, model.components_[k, top] / total)
            (lines,) = errors.lines[2]
            ends = np.array([segment[:, 0] for segment in lines.get_segments()])
            expected = np.c_[low[k, top], high[k, top]] / total
            np.testing.assert_allclose(ends, expected, rtol=1e-6, atol=1e-12)
            said = "faded" if model.faded_[k] else f"{100 * model.component_mass_[k]:.1f} %"
            assert ax.get_title(loc="right") == f"component {k} ({said})"
            assert "80 %" in ax.get_xlabel()
            assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the strongest on top
        assert len({ax.get_xlim() for ax in display.axes_}) == 1

    def test_the_heaviest_by_default_and_no_intervals(self, model):
        display = ComponentTermsDisplay.from_estimator(model, level=None, n_terms=50)
        heaviest = np.argsort(-model.component_mass_)
        assert [title.split()[1] for title in display.titles] == [str(k) for k in heaviest]
        assert display.errors_ == [None] * 6
        assert len(display.terms[0]) == 9
        assert display.terms[0][0].startswith("term ")

    def test_axes_of_the_user(self, model):
        figure, axes = plt.subplots(2)
        display = ComponentTermsDisplay.from_estimator(model, [1, 2], ax=axes)
        assert list(display.axes_) == list(axes)
        alone = ComponentTermsDisplay.from_estimator(model, 1, ax=axes[0])
        assert alone.ax_ is axes[0]
        divided = ComponentTermsDisplay.from_estimator(model, [0, 1, 2], ax=axes[0])
        assert divided.figure_ is figure
        assert len(divided.axes_) == 3
        assert not axes[0].axison
        with pytest.raises(ValueError, match="2 axes for 3 components"):
            ComponentTermsDisplay.from_estimator(model, [0, 1, 2], ax=axes)
        with pytest.raises(ValueError, match="no subplot"):
            ComponentTermsDisplay.from_estimator(model, [0, 1], ax=figure.add_axes((0, 0, 1, 1)))

    @pytest.mark.parametrize("wrong", [6, [], [0.5], "tea"])
    def test_components_that_are_not(self, model, wrong):
        with pytest.raises(ValueError, match="components must be numbers from 0 to 5"):
            ComponentTermsDisplay.from_estimator(model, wrong)


class TestBound:
    @pytest.mark.parametrize(("every", "most"), [(1, 7), (5, 43), (5, 40), (10, 3)])
    def test_iterations_are_those_of_the_fit(self, data, every, most):
        told, stages = {}, set()

        def hear(progress):
            stages.add(progress.stage)
            if progress.stage == FITTING:
                told.setdefault(progress.bound, progress.iteration - 1)

        fitted = VBNMF(
            2, random_state=0, tol=0, max_iter=most, bound_every=every, burn_in=2, callback=hear
        ).fit(data[0])
        assert "components of single labels" in stages  # before the fit, without a bound
        (line,) = BoundDisplay.from_estimator(fitted).lines_
        x, y = line.get_data()
        assert dict(zip(y[:-1], x[:-1], strict=True)) == told
        assert (x[-1], y[-1]) == (most, fitted.bound_)

    def test_phases(self, data):
        random = SupervisedVBNMF(3, init="random", random_state=0, max_iter=60, tol=0).fit(*data)
        display = BoundDisplay.from_estimator(random, annealing=30)
        burn_in, annealing = display.phases_
        assert burn_in.get_xdata()[[0, -1]].tolist() == [0, 10]
        assert annealing.get_xdata()[[0, -1]].tolist() == [10, 40]
        x, y = display.lines_[0].get_data()
        np.testing.assert_allclose(annealing.get_ydata(), np.interp(annealing.get_xdata(), x, y))
        assert x[0] == 0

    def test_several_models(self, model, data):
        other = VBNMF(2, random_state=0, max_iter=6, burn_in=10).fit(data[0])
        display = BoundDisplay.from_estimator({"one": model, 2: other})
        again = BoundDisplay.from_estimator(other, ax=display.ax_)
        assert again.ax_ is display.ax_
        lines = [*display.lines_, *again.lines_]
        assert len({line.get_color() for line in lines}) == 3
        said = [entry.get_text() for entry in display.ax_.get_legend().get_texts()]
        assert [name.split(":")[0] for name in said] == ["one", "2", "burn-in", "VBNMF"]
        assert f"after {model.n_iter_} iterations" in said[0]
        assert display.phases_[0].get_xdata()[-1] == 6  # no longer than the fit

    def test_another_bound_every(self, model):
        changed = SupervisedVBNMF()
        changed.__dict__.update(model.__dict__)
        with pytest.raises(
            ValueError, match="bound_every is 7, but the model was fitted with another"
        ):
            BoundDisplay.from_estimator(changed.set_params(bound_every=7))


@pytest.mark.parametrize("kind", [LabelMapDisplay, ComponentTermsDisplay, BoundDisplay])
class TestAll:
    def test_models_that_are_none(self, kind, model):
        with pytest.raises(TypeError, match=r"got a Pipeline\. For a Pipeline, pass the step"):
            kind.from_estimator(make_pipeline(model))
        for unfitted in (SupervisedVBNMF(), DocumentModel()):
            with pytest.raises(NotFittedError):
                kind.from_estimator(unfitted)

    def test_document_models_and_axes(self, kind):
        texts = ["green tea leaf", "tea leaf", "roast bean", "bean crema roast"]
        fitted = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, ["t", "t", "c", "c"])
        with mpl.rc_context({"font.size": 15, "axes.labelsize": 15}):
            _, ax = plt.subplots(layout="constrained")
            display = kind.from_estimator(fitted, ax=ax)
        assert display.figure_ is ax.figure
        names = [text.get_text() for text in ax.figure.findobj(mpl.text.Text)]
        if kind is not BoundDisplay:
            assert any("leaf" in name for name in names)
        else:
            assert ax.xaxis.label.get_fontsize() == 15  # the user's, on the user's axes

    def test_without_matplotlib(self, kind, model, monkeypatch):
        for name in [n for n in sys.modules if n.startswith("vbnmf.report.canvas")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr("vbnmf.report.canvas", raising=False)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=rf'{kind.__name__}.* install "vbnmf\[plot\]"'):
            kind.from_estimator(model)


@pytest.mark.parametrize("kind", [LabelMapDisplay, ComponentTermsDisplay])
def test_names_of_terms(kind, data):
    X = pd.DataFrame(data[0], columns=WORDS)
    fitted = SupervisedVBNMF(1, random_state=0, max_iter=5).fit(X, data[1])
    known, given = kind.from_estimator(fitted), kind.from_estimator(fitted, names=WORDS[::-1])
    first = WORDS[fitted.components_[0].argmax()]
    for display, name in ((known, first), (given, WORDS[::-1][WORDS.index(first)])):
        axis = display.ax_.xaxis if kind is LabelMapDisplay else display.ax_.yaxis
        assert name in names_on(axis)[0]
    with pytest.raises(ValueError, match="9 names, one for each term; got 2"):
        kind.from_estimator(fitted, names=["a", "b"])


def test_importing_needs_no_matplotlib():
    code = "import sys, vbnmf; vbnmf.BoundDisplay; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)  # noqa: S603
    assert run.stdout.strip() == "False", run.stderr
