"""Labels of new documents: the regression on coefficients, its probabilities, its files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import normalize

from vbnmf import SupervisedVBNMF, load
from vbnmf.estimators.heads import Head, features, fit_head


def drawn(n_labels=3, n_docs=90, seed=0):
    """Documents of labels with words of their own, and some that all share."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % n_labels
    rates = np.full((n_labels, 6 * n_labels + 8), 0.05)
    for label in range(n_labels):
        rates[label, 6 * label : 6 * label + 6] = 1.5
    rates[:, -8:] = 1.0
    return sparse.csr_array(rng.poisson(rates[y]).astype(float)), y


def model(**parameters):
    return SupervisedVBNMF(**{"n_components": 6, "random_state": 0, "max_iter": 60} | parameters)


def test_probabilities_are_those_of_a_regression_on_projected_documents():
    X, y = drawn()
    fitted = model().fit(X, y)
    rows = normalize(np.sqrt(fitted.transform(X)))
    expected = LogisticRegression(C=10, max_iter=300).fit(rows, y).predict_proba(rows)
    assert_allclose(fitted.predict_proba(X), expected, atol=1e-6)
    assert_allclose(fitted.predict_log_proba(X), np.log(expected), atol=1e-4)
    assert_array_equal(fitted.predict(X), expected.argmax(axis=1))


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


def test_a_document_of_no_known_term_gets_the_frequencies():
    X, y = drawn()
    y[y == 2] = 0
    fitted = model().fit(X, y)
    nothing = sparse.csr_array((2, X.shape[1]))
    assert_allclose(fitted.predict_proba(nothing), [[2 / 3, 1 / 3]] * 2)
    assert fitted.predict(nothing).tolist() == [0, 0]


def test_documents_of_unknown_label_do_not_train_it():
    X, y = drawn()
    partly = [label if i < 45 else None for i, label in enumerate(y.tolist())]
    fitted = model().fit(X, partly)
    head = fit_head(fitted.transform(X[:45]), sparse.csr_array(np.eye(3)[y[:45]]), multilabel=False)
    assert_allclose(fitted.head_weights_, head.weights, atol=1e-8)
    assert_allclose(fitted.label_frequencies_, [1 / 3] * 3)
    assert fitted.score(X[45:], y[45:]) > 0.8


def test_several_labels():
    X, _ = drawn(4, 160)
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 160, (160, 2))
    both = sparse.csr_array(X[pairs[:, 0]] + X[pairs[:, 1]])
    Y = np.zeros((160, 4), dtype=int)
    np.put_along_axis(Y, pairs % 4, 1, axis=1)
    fitted = model(n_components=8).fit(both[:120], Y[:120])
    predicted = fitted.predict(both[120:])
    assert predicted.shape == (40, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    assert (predicted == Y[120:]).mean() > 0.85
    P = fitted.predict_proba(both[120:])
    assert abs(P.sum(axis=1) - 1).max() > 0.1  # each label has a probability of its own
    assert_array_equal(predicted, fitted.threshold_ <= P)


def test_a_label_of_all_documents_is_always_given():
    X, y = drawn()
    Y = np.column_stack([np.ones(90, int), y == 1, y == 2])
    fitted = model().fit(X, Y)
    assert fitted.predict(X)[:, 0].all()
    assert (fitted.predict(X)[:, 1] == (y == 1)).mean() > 0.9


@pytest.mark.parametrize("several", [False, True])
def test_a_saved_model_predicts_the_same_bits(tmp_path, several):
    X, y = drawn()
    fitted = model().fit(X, np.column_stack([y == 0, y != 1]).astype(int) if several else y)
    fitted.save(tmp_path / "m.vbnmf")
    loaded = load(tmp_path / "m.vbnmf")
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.multilabel_ is several


def test_the_same_bits_at_any_number_of_threads():
    X, y = drawn()
    one, two = (model(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    assert_array_equal(one, two)


def test_features_do_not_depend_on_length():
    V = np.array([[4.0, 1.0], [8.0, 2.0]])
    assert_allclose(features(V), np.array([[2, 1], [2, 1]]) / np.sqrt(5))
    head = Head(np.array([[0.0, 0.0], [1.0, -1.0]]), np.zeros(2))
    assert_allclose(head.probabilities(V)[0], head.probabilities(V)[1])
