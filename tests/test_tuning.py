"""tune: the ladder, what is tried and said about it, and going on after a stop."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf import SupervisedVBNMF, tune
from vbnmf.selection.holdout import prepare, score
from vbnmf.selection.search import default_grid

SMALL = {"n_components": [3, 4, 6, 8], "label_shapes": [100, "auto", 1], "random_state": 3}


def drawn(n_each=25, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.4, 1.5, (n_labels, 30)) + 0.05
    y = np.repeat(np.arange(n_labels), n_each)
    return sparse.csr_array(rng.poisson(means[y]).astype(float)), y


X, y = drawn()
QUICK = SupervisedVBNMF(max_iter=60)


def without_time(tuning):
    return [replace(row, seconds=0.0) for row in tuning.rows]


@pytest.fixture(scope="module")
def found():
    return tune(X, y, estimator=QUICK, **SMALL)


# the ladder


def test_halves_until_few_are_left(found):
    sizes = [sum(row.rung == rung for row in found.rows) for rung in range(3)]
    assert sizes[0] == 12
    assert 6 <= sizes[1] <= 6 + 4  # the better half, and one of each number of components
    assert (sizes[1] + 1) // 2 <= sizes[2] <= (sizes[1] + 1) // 2 + 4
    assert sizes[2] < sizes[1]
    for rung in (0, 1):
        survivors = {r.candidate for r in found.rows if r.rung == rung and r.survived}
        assert survivors == {r.candidate for r in found.rows if r.rung == rung + 1}
    iterations = {row.candidate: row.iterations for row in found.rows if row.rung == 0}
    assert all(r.iterations > iterations[r.candidate] for r in found.rows if r.rung == 1)
    assert all(row.survived for row in found.rows if row.rung == 2)


def test_the_last_rung_is_what_the_estimator_gives(found):
    """What is recommended can be had: the score is that of a fit with these parameters."""
    split = prepare(X, y, QUICK, None, 0.25, 3)
    last = [row for row in found.rows if row.rung == 2]
    chosen = next(row for row in last if row.parameters == found.recommended)
    model = SupervisedVBNMF(**found.recommended, max_iter=60, random_state=3)
    model.fit(split.X, split.y)
    assert tuple(score(model, split)) == (
        chosen.accuracy, chosen.standard_error, chosen.macro_accuracy, chosen.bound,
        chosen.inter_label_sparsity,
    )  # fmt: skip
    assert found.estimator.get_params() == model.get_params()
    assert found.best in [row.parameters for row in last]


def test_warm_rungs_begin_from_components(monkeypatch):
    """And within the scopes that they had, so that the same model goes on."""
    starts, scopes = [], {}
    fit = SupervisedVBNMF.fit

    def spy(self, X, y):
        warm = not isinstance(self.init, str)
        starts.append(("array" if warm else self.init, self.burn_in))
        candidate = self.n_components, self.label_shape
        if warm:
            np.testing.assert_array_equal(self.scopes, scopes.get(candidate, "all"))
        fit(self, X, y)
        if not warm and self.init == "auto":
            scopes[candidate] = self.scopes_
        return self

    monkeypatch.setattr(SupervisedVBNMF, "fit", spy)
    for init in ("auto", "label"):
        starts.clear()
        scopes.clear()
        rows = tune(X, y, estimator=clone(QUICK).set_params(init=init), **SMALL).rows
        kinds = {0: (init, QUICK.burn_in), 1: ("array", 0), 2: (init, QUICK.burn_in)}
        assert starts == [kinds[row.rung] for row in rows]
        assert bool(scopes) == (init == "auto")


def test_a_label_tree_is_no_hindrance():
    names = np.array(["a/x", "a/y", "b"])[y]
    tree = clone(QUICK).set_params(label_tree="/")
    found = tune(X, names, estimator=tree, **SMALL)
    assert {row.rung for row in found.rows} == {0, 1, 2}
    assert found.estimator.label_tree == "/"


# what is tried


@pytest.mark.parametrize("shapes", ["auto", ["auto"], np.array(["auto"]), ("auto", "auto")])
def test_auto_is_the_estimators_own(shapes):
    found = tune(X, y, n_components=4, label_shapes=shapes)
    assert [r.candidate for r in found.rows] == [(4, "auto")]
    assert found.recommended == {"n_components": 4, "label_shape": "auto"}
    split = prepare(X, y, QUICK, None, 0.25, 0)
    model = SupervisedVBNMF(4, random_state=0).fit(split.X, split.y)
    assert found.rows[0].bound == score(model, split).bound
    assert found.estimator.get_params() == model.get_params()


def test_label_shapes_in_order():
    shapes = [30, "auto", np.float32(2.5), 100, 30.0]
    found = tune(X, y, n_components=[5, 3], label_shapes=shapes, estimator=QUICK)
    first = [r.candidate for r in found.rows if r.rung == 0]
    assert first == [(k, shape) for k in (3, 5) for shape in ("auto", 2.5, 30.0, 100.0)]
    default = tune(X, y, n_components=3, estimator=QUICK)
    assert {r.label_shape for r in default.rows} == {"auto", 30, 100, 300, 1000}


@pytest.mark.parametrize(
    ("n_labels", "n_docs", "grid"),
    [(20, 10_000, [20, 40, 80]), (2, 10_000, [10, 20]), (3, 15, [10, 12, 15]),
     (500, 10_000, [200, 300])],
)  # fmt: skip
def test_grid_by_the_number_of_labels(n_labels, n_docs, grid):
    assert default_grid(n_labels, n_docs) == grid


# stopping and going on


@pytest.mark.parametrize("after", [1, 7, 14, 19])
def test_goes_on_after_a_stop(tmp_path, found, after):
    """Stopped in the midst of a fit, a second search ends as one that was never stopped."""
    path = tmp_path / "tune.csv"

    def stop(step):
        finished = step.done + sum(sizes[: step.rung])
        if finished >= after and step.part * step.n_rungs * step.total % 1 > 0:
            raise KeyboardInterrupt

    sizes = [sum(row.rung == rung for row in found.rows) for rung in range(3)]
    with pytest.raises(KeyboardInterrupt):
        tune(X, y, estimator=QUICK, checkpoint=path, progress=stop, **SMALL)
    with open(path, newline="") as file:
        assert len(list(csv.DictReader(file))) == after
    assert not list(tmp_path.rglob("*.part"))
    fitted = set()

    def watch(step):
        if step.done < step.total:
            fitted.add((step.rung, step.n_components, step.label_shape))

    second = tune(X, y, estimator=QUICK, checkpoint=path, progress=watch, **SMALL)
    assert without_time(second) == without_time(found)
    assert second.recommendation == found.recommendation
    assert list(tmp_path.iterdir()) == [path]
    done = tune(X, y, estimator=QUICK, checkpoint=path, **SMALL)
    assert done.rows == second.rows  # to the second, for nothing was run again


def test_other_data_and_settings_are_refused(tmp_path):
    path = tmp_path / "tune.csv"
    few = {"n_components": [3], "label_shapes": [10]}
    tune(X, y, checkpoint=path, **few)
    before = path.read_bytes()
    tune(X, y, checkpoint=path, estimator=SupervisedVBNMF(n_jobs=1), **few)  # no matter to results
    for other in (
        lambda: tune(2 * X, y, checkpoint=path, **few),
        lambda: tune(X, y[::-1], checkpoint=path, **few),
        lambda: tune(X, y, checkpoint=path, random_state=1, **few),
        lambda: tune(X, y, checkpoint=path, estimator=SupervisedVBNMF(tol=1e-3), **few),
        lambda: tune(X, y, checkpoint=path, n_components=[4], label_shapes=[10]),
    ):
        with pytest.raises(ValueError, match="results of other documents or settings"):
            other()
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", None])
def test_damaged_tables_are_refused(tmp_path, content):
    path = tmp_path / "tune.csv"
    few = {"n_components": [3], "label_shapes": [10]}
    tune(X, y, checkpoint=path, **few)
    path.write_text(path.read_text().replace("0.", "O.") if content is None else content)
    with pytest.raises(ValueError, match=r"tune\.csv is not a table of `tune`, or is damaged"):
        tune(X, y, checkpoint=path, **few)


def test_lost_components_are_told(tmp_path, found):
    path = tmp_path / "tune.csv"

    def stop(step):
        if step.rung == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(X, y, estimator=QUICK, checkpoint=path, progress=stop, **SMALL)
    for file in (tmp_path / "tune.csv.parts").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match="missing or damaged"):
        tune(X, y, estimator=QUICK, checkpoint=path, **SMALL)


# what users pass


def test_texts_are_vectorised_without_the_validation_documents():
    texts = [f"word{label} common only{i}" for i, label in enumerate(y)]
    seen = []

    class Spy(CountVectorizer):
        def fit_transform(self, raw, y=None):
            seen.extend(raw)
            return super().fit_transform(raw, y)

    found = tune(texts, y, vectorizer=Spy(), n_components=3, label_shapes=10)
    assert len(seen) == len(texts) - found.n_validation
    assert found.rows[0].accuracy == 1


def test_missing_labels_train_and_do_not_validate():
    some = np.array([None if i % 2 else str(label) for i, label in enumerate(y)], dtype=object)
    found = tune(X, some, n_components=3, label_shapes=10)
    assert found.n_validation == pytest.approx(
        0.25 * sum(label is not None for label in some), abs=1
    )
    assert found.measure == "accuracy"
    marked = tune(
        X, [-7 if label is None else label for label in some],
        estimator=SupervisedVBNMF(unlabelled=-7), n_components=3, label_shapes=10,
    )  # fmt: skip
    assert [r.accuracy for r in marked.rows] == [r.accuracy for r in found.rows]
    assert marked.estimator.unlabelled == -7


def test_class_weights_are_by_the_labels_as_given():
    X, y = drawn(60, seed=1)
    names = np.array(["x", "b", "m"])[y]  # in another order than their codes
    weights = {"x": 30.0, "b": 0.1, "m": 0.1}
    found = tune(
        X, names, estimator=SupervisedVBNMF(class_weight=weights), n_components=3, label_shapes=10
    )
    split = prepare(X, names, QUICK, None, 0.25, 0)
    model = SupervisedVBNMF(3, label_shape=10, class_weight=weights, random_state=0)
    model.fit(split.X, np.array(split.classes)[split.y])
    truth = np.array(split.classes)[split.Y_validation.indices]
    assert found.rows[0].accuracy == model.score(split.X_validation, truth)
    assert found.rows[0].bound != tune(X, names, n_components=3, label_shapes=10).rows[0].bound
    assert found.estimator.class_weight == weights


def test_several_labels_and_labels_of_one_document():
    sets = [[str(label), "all"] if i % 3 else [str(label)] for i, label in enumerate(y)]
    sets[5] = ["lonely"]
    assert tune(X, sets, n_components=4, label_shapes=10).measure == "micro F1"
    single = y.astype(object)
    single[5] = 99
    assert tune(X, single, n_components=4, label_shapes=10).n_validation > 15


def test_progress_rises_to_the_end():
    steps = []
    tune(X, y, estimator=QUICK, progress=steps.append, **SMALL)
    parts = [step.part for step in steps]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert {step.rung for step in steps} == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": [0]}, "n_components must be an integer of at least 1"),
        ({"n_components": []}, "at least one value"),
        ({"label_shapes": [-1]}, "label_shape must be a positive number"),
        ({"label_shapes": ["auto", "free"]}, "label_shape must be .* got 'free'"),
        ({"label_shapes": []}, "at least one value"),
        ({"validation": 1.5}, "validation must be a fraction of the documents"),
        ({"random_state": None}, "random_state must be an integer"),
        ({"estimator": SupervisedVBNMF(init=np.ones((3, 30)))}, "init must be a name"),
        ({"checkpoint": "no/such/folder/tune.csv"}, "there is no folder"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises((ValueError, OSError), match=message):
        tune(X, y, **options)


def test_bad_data():
    with pytest.raises(ValueError, match="vectorizer="):
        tune(["a text", "another"], ["a", "b"])
    with pytest.raises(ValueError, match="no document is left for validation"):
        tune(X[:3], ["a", "b", "c"])
    with pytest.raises(TypeError, match="must be a SupervisedVBNMF; got str"):
        tune(X, y, estimator="nmf")
    with pytest.raises(ValueError, match="same length"):
        tune(X, y[:-1])
