"""Labels of new documents by the estimator: one, several, odd ones."""

import numpy as np
import pytest
from cliruns import make_corpus, ok, write_csv
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from smallfits import drawn, model, pairs_of_documents

from vbnmf.prediction import machines

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_labels_are_found(n_labels):
    X, y = drawn(n_labels)
    names = np.array([f"label {i}" for i in range(n_labels)])
    fitted = model(n_components=2 * n_labels).fit(X[:45], names[y[:45]])
    P = fitted.predict_proba(X[45:])
    assert P.shape == (45, n_labels)
    assert_allclose(P.sum(axis=1), 1)
    assert fitted.score(X[45:], names[y[45:]]) > 0.9


def test_it_works_in_cross_validation():
    X, y = drawn()
    assert cross_val_score(model(), X, y, cv=3).min() > 0.8


def test_several_labels():
    X, Y = pairs_of_documents()
    fitted = model(n_components=8).fit(X[:120], Y[:120])
    predicted = fitted.predict(X[120:])
    assert predicted.shape == (40, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    assert (predicted == Y[120:]).mean() > 0.85
    P = fitted.predict_proba(X[120:])
    assert abs(P.sum(axis=1) - 1).max() > 0.1  # each label has a probability of its own
    assert_array_equal(predicted, fitted.head_.threshold <= P)


def test_a_label_of_all_documents_is_always_given_and_one_of_none_never():
    X, y = drawn()
    Y = np.column_stack([np.ones(90, int), y == 1, np.zeros(90, int), y == 2])
    fitted = model().fit(X, Y)
    predicted = fitted.predict(X)
    assert predicted[:, 0].all()
    assert not predicted[:, 2].any()
    assert (predicted[:, 1] == (y == 1)).mean() > 0.9


@pytest.mark.parametrize("several", [False, True])
def test_one_label_is_certain(several):
    X, _ = drawn(1)
    fitted = model().fit(X, np.ones((90, 1), int) if several else ["only"] * 90)
    assert_allclose(fitted.predict_proba(X), 1, atol=1e-8)
    assert fitted.classifier_reason_ == "there is only one label"


def test_documents_of_unknown_label_do_not_train_it():
    """Their coefficients help to find components; the head sees the others alone."""
    X, y = drawn()
    partly = [label if i < 45 else None for i, label in enumerate(y.tolist())]
    told = []
    fitted = model(classifier="components", callback=told.append).fit(X, partly)
    assert {progress.stage for progress in told} >= {"prediction head"}
    assert_allclose(fitted.label_frequencies_, [1 / 3] * 3)
    assert fitted.score(X[45:], y[45:]) > 0.8
    assert fitted.left_out_proba_.shape == (90, 3)
    assert_allclose(fitted.left_out_proba_[45:], fitted.predict_proba(X[45:]), rtol=1e-5)


def stop_early(monkeypatch, part):
    """Let the training of machines, or the search for a calibration, end too soon."""
    if part == "machines":
        monkeypatch.setattr(machines, "max_epochs", lambda n_docs: 1)
        return
    minimize = optimize.minimize
    monkeypatch.setattr(
        optimize, "minimize", lambda *a, **k: minimize(*a, **k | {"options": {"maxiter": 1}})
    )


@pytest.mark.parametrize(
    ("part", "classifier", "told"),
    [
        ("machines", "auto", "its machines in 1 epochs"),
        ("machines", "components", "its machines in 1 epochs"),
        ("calibration", "components", "its calibration"),
        ("calibration", "generative", "its calibration"),
    ],
)
def test_a_head_that_does_not_converge_is_told_to_the_caller(part, classifier, told, monkeypatch):
    stop_early(monkeypatch, part)
    with pytest.warns(ConvergenceWarning, match="the prediction head did not converge") as caught:
        model(classifier=classifier).fit(*drawn())
    assert f"({told})" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_the_command_line_tells_of_a_head_that_does_not_converge(monkeypatch, tmp_path):
    stop_early(monkeypatch, "machines")
    source = tmp_path / "some.csv"
    write_csv(source, *make_corpus(0, n_each=25))
    run = ok("fit", source, "--label", "label", "--out", tmp_path / "model")
    assert "Note: the prediction head did not converge (its machines in 1 epochs)" in run.err
