"""tune: what is tried and measured, and going on after a stop."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf import SupervisedVBNMF, store, tune
from vbnmf.estimators.validation import default_components
from vbnmf.metrics import completion_log_likelihood
from vbnmf.selection import search
from vbnmf.selection.heldout import prepare, score
from vbnmf.selection.search import default_grid

SMALL = {"n_components": [3, 4, 6], "label_shapes": [100, "auto"], "random_state": 3}


def drawn(n_each=25, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.4, 1.5, (n_labels, 30)) + 0.05
    y = np.repeat(np.arange(n_labels), n_each)
    return sparse.csr_array(rng.poisson(means[y]).astype(float)), y


X, y = drawn()
QUICK = SupervisedVBNMF(max_iter=60)


def without_time(tuning):
    return [repr(replace(row, seconds=0.0)) for row in tuning.rows]  # NaN equals NaN


@pytest.fixture(scope="module")
def found():
    return tune(X, y, estimator=QUICK, **SMALL)


# the candidates


def test_each_row_is_what_the_estimator_gives(found):
    """What is recommended can be had: the scores are those of a fit with these parameters."""
    split = prepare(X, y, QUICK, None, 0.25, 3)
    assert [row.candidate for row in found.rows] == [
        (k, s) for k in (3, 4, 6) for s in ("auto", 100)
    ]
    documents = {}
    for row in found.rows:
        model = SupervisedVBNMF(**row.parameters, max_iter=60, random_state=3)
        model.fit(split.X, split.y)
        scores, documents[row.candidate] = score(model, split)
        assert row.measures == pytest.approx(scores.pop("measures"), nan_ok=True)
        assert {name: getattr(row, name) for name in scores} == pytest.approx(scores, nan_ok=True)
        assert row.iterations == model.n_iter_
        assert row.log_likelihood == completion_log_likelihood(model, split.X_validation)
        if row.parameters == found.recommended:
            assert found.estimator.get_params() == model.get_params()
    best = max(found.rows, key=lambda row: row.log_likelihood)
    assert found.best == best.parameters
    for row in found.rows:
        assert row.likelihood_below == pytest.approx(best.log_likelihood - row.log_likelihood)
        assert row.accuracy_below == pytest.approx(best.accuracy - row.accuracy)
        own, of_best = documents[row.candidate], documents[best.candidate]
        weight = own.weight
        lost = of_best.log_probability - own.log_probability
        n = found.n_validation
        residuals = lost - row.likelihood_below * weight
        error = np.sqrt(n / (n - 1) * (residuals**2).sum()) / weight.sum()
        assert row.likelihood_below_error == pytest.approx(error, abs=1e-12)
        lost = (of_best.matches - own.matches) / 2
        error = np.sqrt(((lost - lost.mean()) ** 2).sum() / (n - 1) / n)
        assert row.accuracy_below_error == pytest.approx(error, abs=1e-12)
    assert found.recommendation.count("Recommended") == 1


def test_more_structure_needs_more_components():
    """Each of two labels has three topics, so two components are clearly too few."""
    rng = np.random.default_rng(5)
    topics = 6 * np.kron(np.eye(6), np.ones(8)) + 0.1
    topic = np.repeat(np.arange(6), 120)
    drawn = sparse.csr_array(rng.poisson(topics[topic] / 4).astype(float))
    found = tune(drawn, topic // 3, n_components=[2, 4, 6, 12])
    assert found.recommended["n_components"] == 6
    two, four, six, _ = found.rows
    assert not two.is_likely
    assert not four.is_likely
    assert six.log_likelihood > four.log_likelihood > two.log_likelihood
    assert six.is_likely


def test_a_label_tree_is_no_hindrance():
    names = np.array(["a/x", "a/y", "b"])[y]
    tree = clone(QUICK).set_params(label_tree="/")
    found = tune(X, names, estimator=tree, n_components=[4, 6])
    assert len(found.rows) == 2
    assert found.estimator.label_tree == "/"


# what is tried


@pytest.mark.parametrize("shapes", ["auto", ["auto"], np.array(["auto"]), ("auto", "auto")])
def test_auto_is_the_estimators_own(shapes):
    found = tune(X, y, n_components=4, label_shapes=shapes)
    assert [r.candidate for r in found.rows] == [(4, "auto")]
    assert found.recommended == {"n_components": 4, "label_shape": "auto"}
    split = prepare(X, y, QUICK, None, 0.25, 0)
    model = SupervisedVBNMF(4, random_state=0).fit(split.X, split.y)
    assert found.rows[0].log_likelihood == score(model, split)[0]["log_likelihood"]
    assert found.estimator.get_params() == model.get_params()


def test_label_shapes_in_order():
    shapes = [30, "auto", np.float32(2.5), 100, 30.0]
    found = tune(X, y, n_components=[5, 3], label_shapes=shapes, estimator=QUICK)
    assert [r.candidate for r in found.rows] == [
        (k, shape) for k in (3, 5) for shape in ("auto", 2.5, 30.0, 100.0)
    ]
    default = tune(X, y, n_components=3, estimator=QUICK)
    assert [r.candidate for r in default.rows] == [(3, "auto")]


@pytest.mark.parametrize(
    ("n_labels", "n_docs", "grid"),
    [(20, 10_000, [20, 30, 40, 60, 80, 120]), (2, 10_000, [10, 15, 20, 30, 40, 60]),
     (3, 25, [10, 15, 20, 25]), (150, 10_000, [150, 225, 300, 450, 600]),
     (500, 10_000, [500, 501, 600])],
)  # fmt: skip
def test_grid_by_the_number_of_labels(n_labels, n_docs, grid):
    assert default_grid(n_labels, n_docs) == grid
    assert min(default_components(n_labels), n_docs) in grid


# stopping and going on


@pytest.mark.parametrize("after", [1, 4, 5])
def test_goes_on_after_a_stop(tmp_path, found, monkeypatch, after):
    """Stopped in the midst of a fit, a second search ends as one that was never stopped."""
    path = tmp_path / "tune.csv"

    def stop(step):
        if step.done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(X, y, estimator=QUICK, checkpoint=path, progress=stop, **SMALL)
    with open(path, newline="") as file:
        assert len(list(csv.DictReader(file))) == after
    assert not list(tmp_path.rglob("*.part"))
    fitted, run = [], search.CandidateFits.run

    def spy(self, candidate):
        fitted.append(candidate)
        return run(self, candidate)

    monkeypatch.setattr(search.CandidateFits, "run", spy)
    second = tune(X, y, estimator=QUICK, checkpoint=path, **SMALL)
    assert fitted == [row.candidate for row in found.rows[after:]]
    assert without_time(second) == without_time(found)
    assert second.recommendation == found.recommendation
    assert list(tmp_path.iterdir()) == [path]
    done = tune(X, y, estimator=QUICK, checkpoint=path, **SMALL)
    assert repr(done.rows) == repr(second.rows)  # to the second, for nothing was run again
    assert len(fitted) == len(found.rows) - after


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


@pytest.mark.parametrize("lost", ["missing", "other"])
def test_lost_scores_of_documents_are_told(tmp_path, lost):
    path = tmp_path / "tune.csv"

    def stop(step):
        if step.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(X, y, estimator=QUICK, checkpoint=path, progress=stop, **SMALL)
    for file in (tmp_path / "tune.csv.parts").iterdir():
        if lost == "missing":
            file.unlink()
        else:
            store.write(file, {}, {"something": np.ones(3)})
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
    even = tune(X, names, n_components=3, label_shapes=10)
    assert found.rows[0].log_likelihood != even.rows[0].log_likelihood
    assert found.estimator.class_weight == weights


def test_several_labels_and_labels_of_one_document():
    sets = [[str(label), "all"] if i % 3 else [str(label)] for i, label in enumerate(y)]
    sets[5] = ["lonely"]
    assert tune(X, sets, n_components=4, label_shapes=10).measure == "micro F1"
    single = y.astype(object)
    single[5] = 99
    assert tune(X, single, n_components=4, label_shapes=10).n_validation > 15


def test_one_validation_document_cannot_tell_candidates_apart(tmp_path):
    path = tmp_path / "tune.csv"
    options = {"n_components": [4, 6], "validation": 0.02, "estimator": QUICK, "checkpoint": path}
    found = tune(X, y, **options)
    assert found.n_validation == 1
    assert {row.likelihood_below_error for row in found.rows} == {np.inf}
    assert found.recommended["n_components"] == 4
    assert repr(tune(X, y, **options).rows) == repr(found.rows)


def test_progress_rises_to_the_end():
    steps = []
    tune(X, y, estimator=QUICK, progress=steps.append, **SMALL)
    parts = [step.part for step in steps]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert {step.done for step in steps} == set(range(7))
    assert {step.total for step in steps} == {6}
    assert all(np.isnan(step.seconds_left) for step in steps if step.done == 0)
    assert any(step.seconds_left > 0 for step in steps if step.done == 5)


def test_seconds_left_are_those_of_the_whole_search(monkeypatch):
    """A clock by hand: the candidates take 60, 70 and 80 seconds, as their costs say."""
    now, steps = [1000.0], []
    monkeypatch.setattr(search.time, "monotonic", lambda: now[0])
    candidates = [(10, "auto"), (20, "auto"), (30, "auto")]
    reports = search._Reports(steps.append, candidates)
    reports.begin(candidates)

    def at(seconds, report, *args):
        now[0] = 1000.0 + seconds
        report(*args)
        return steps[-1].seconds_left

    assert np.isnan(at(30, reports.tell, candidates[0], 0.5))  # nothing is known yet
    assert at(60, reports.finish, candidates[0]) == pytest.approx(150)
    assert at(90, reports.tell, candidates[1], 0.5) == pytest.approx(120)
    assert at(130, reports.finish, candidates[1]) == pytest.approx(80)
    assert np.isnan(at(220, reports.tell, candidates[2], 0.9))  # overdue
    assert steps[-1].part < 1
    at(230, reports.finish, candidates[2])
    assert (steps[-1].part, steps[-1].done) == (1, 3)
    # of a search that goes on, only what was fitted since is timed
    reports = search._Reports(steps.append, candidates)
    now[0] = 1000.0
    reports.begin(candidates[1:])
    assert np.isnan(at(10, reports.tell, candidates[1], 0.1))
    assert (steps[-1].done, steps[-1].total) == (1, 3)
    assert at(35, reports.finish, candidates[1]) == pytest.approx(40)


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
    with pytest.raises(ValueError, match="of 2 validation documents, none has two known terms"):
        tune(np.eye(8), [0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="same length"):
        tune(X, y[:-1])
