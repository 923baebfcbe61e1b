"""The regression from evidence to labels: weights, several labels, thresholds, odd labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score
from test_evidence import left_out

from vbnmf import SupervisedVBNMF
from vbnmf.estimators import heads
from vbnmf.estimators.heads import Head, fit_head


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


def seen(n_labels=3, n_docs=90, K=5, seed=0):
    """Evidence, (n_docs, K), that tells labels apart, but not for sure; and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % n_labels
    means = rng.normal(0, 1, (n_labels, K))
    return means[y] + rng.normal(0, 0.7, (n_docs, K)) + 3.0, y


def indicators(y, n_labels=None):
    return sparse.csr_array(np.eye(n_labels or y.max() + 1)[y])


@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_probabilities_are_those_of_a_regression(n_labels):
    A, y = seen(n_labels)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y))
    centre = np.average(A, axis=0, weights=weight)
    expected = LogisticRegression(C=10, max_iter=300).fit(A - centre, y, sample_weight=weight)
    head = fit_head(A.copy(), indicators(y), weight, multilabel=False)
    assert head.weights.shape == (n_labels, 5)
    assert head.weights.flags.c_contiguous
    assert not head.multilabel
    assert_allclose(head.probabilities(A), expected.predict_proba(A - centre), rtol=1e-9)


def test_weights_count_documents():
    A, y = seen()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    a = fit_head(A.copy(), indicators(y), weight.astype(float), multilabel=False)
    b = fit_head(A[repeated], indicators(y[repeated]), np.ones(len(repeated)), multilabel=False)
    assert_allclose(a.probabilities(A), b.probabilities(A), atol=1e-4)
    assert_allclose(a.weights, b.weights, atol=2e-3)


def test_a_head_is_linear():
    rng = np.random.default_rng(0)
    weights, intercepts, A = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=(7, 4))
    scores = A @ weights.T + intercepts
    assert_allclose(Head(weights, intercepts).probabilities(A), softmax(scores, axis=1))
    assert_allclose(Head(weights, intercepts, True).probabilities(A), expit(scores))


def test_the_model_trains_it_on_documents_left_out():
    X, y = drawn()
    fitted = model(classifier="components")
    V = fitted.fit_coefficients(X, y)
    shapes, scales = fitted.component_shapes_.T, fitted.component_scales_
    A = left_out(X, V, shapes, scales, fitted.smoothing_)
    head = fit_head(A.copy(), indicators(y), np.ones(90), multilabel=False)
    assert_allclose(fitted.head_weights_, head.weights, rtol=1e-12)
    assert_allclose(fitted.head_intercepts_, head.intercepts, rtol=1e-12)
    assert fitted.smoothing_ == pytest.approx(X.data.mean())


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


def test_documents_of_unknown_label_do_not_train_it():
    X, y = drawn()
    partly = [label if i < 45 else None for i, label in enumerate(y.tolist())]
    fitted = model(classifier="components")
    V = fitted.fit_coefficients(X, partly)[:45]
    shapes, scales = fitted.component_shapes_.T, fitted.component_scales_
    A = left_out(X[:45], V, shapes, scales, fitted.smoothing_)
    head = fit_head(A.copy(), indicators(y[:45]), np.ones(45), multilabel=False)
    assert_allclose(fitted.head_weights_, head.weights, rtol=1e-12)
    assert_allclose(fitted.label_frequencies_, [1 / 3] * 3)
    assert fitted.score(X[45:], y[45:]) > 0.8


def pairs_of_documents():
    """Documents made of two each, and the labels of both."""
    X, _ = drawn(4, 160)
    pairs = np.random.default_rng(1).integers(0, 160, (160, 2))
    Y = np.zeros((160, 4), dtype=int)
    np.put_along_axis(Y, pairs % 4, 1, axis=1)
    return sparse.csr_array(X[pairs[:, 0]] + X[pairs[:, 1]]), Y


def test_several_labels():
    X, Y = pairs_of_documents()
    fitted = model(n_components=8).fit(X[:120], Y[:120])
    predicted = fitted.predict(X[120:])
    assert predicted.shape == (40, 4)
    assert set(np.unique(predicted)) <= {0, 1}
    assert (predicted == Y[120:]).mean() > 0.85
    P = fitted.predict_proba(X[120:])
    assert abs(P.sum(axis=1) - 1).max() > 0.1  # each label has a probability of its own
    assert_array_equal(predicted, fitted.threshold_ <= P)


def several(y, seed=1):
    """A second label for some of the documents."""
    rng = np.random.default_rng(seed)
    Y = np.eye(y.max() + 1, dtype=int)[y]
    Y[np.arange(len(y)), rng.integers(0, Y.shape[1], len(y))] = 1
    return Y


def test_each_of_several_labels_has_a_regression():
    A, y = seen()
    Y, weight = several(y), np.linspace(0.5, 2, len(y))
    head = fit_head(A.copy(), sparse.csr_array(Y), weight, multilabel=True)
    centred = A - np.average(A, axis=0, weights=weight)
    for label in range(3):
        alone = LogisticRegression(C=10, max_iter=300)
        alone.fit(centred, Y[:, label], sample_weight=weight)
        expected = alone.predict_proba(centred)[:, 1]
        assert_allclose(head.probabilities(A)[:, label], expected, rtol=1e-9)


def test_the_threshold_is_nearly_the_best_for_new_documents():
    A, y = seen(4, 600)
    Y = several(y)
    head = fit_head(A[:300], sparse.csr_array(Y[:300]), np.ones(300), multilabel=True)
    P = head.probabilities(A[300:])
    scores = {t: f1_score(Y[300:], t <= P, average="micro") for t in heads._THRESHOLDS}
    assert scores[head.threshold] > max(scores.values()) - 0.02
    assert scores[head.threshold] > scores[heads._THRESHOLDS[-1]] + 0.1


def test_the_threshold_follows_the_labels():
    """Labels that the evidence cannot tell: giving all of a common one is what scores best."""
    rng = np.random.default_rng(0)
    A, Y = rng.normal(size=(300, 2)), (rng.random((300, 2)) < 0.4).astype(int)
    head = fit_head(A.copy(), sparse.csr_array(Y), np.ones(300), multilabel=True)
    assert head.threshold < 0.4


def test_few_documents_have_the_usual_threshold():
    A, y = seen(2, 5)
    assert (
        fit_head(A.copy(), sparse.csr_array(several(y)), np.ones(5), multilabel=True).threshold
        == 0.5
    )


def test_a_label_of_all_documents_is_always_given_and_one_of_none_never():
    X, y = drawn()
    Y = np.column_stack([np.ones(90, int), y == 1, np.zeros(90, int), y == 2])
    fitted = model().fit(X, Y)
    predicted = fitted.predict(X)
    assert predicted[:, 0].all()
    assert not predicted[:, 2].any()
    assert (predicted[:, 1] == (y == 1)).mean() > 0.9


def test_one_label_is_certain():
    A, y = seen(1)
    for multilabel in (False, True):
        head = fit_head(A.copy(), indicators(y), np.ones(90), multilabel=multilabel)
        assert_allclose(head.probabilities(A), 1, atol=1e-8)


def test_a_label_without_documents_has_a_row_too():
    A, y = seen(2)
    head = fit_head(A.copy(), indicators(y, 3), np.ones(90), multilabel=False)
    assert head.probabilities(A).shape == (90, 3)


def test_only_one_of_the_labels_occurs():
    A, y = seen(1)
    P = fit_head(A.copy(), indicators(y, 2), np.ones(90), multilabel=False).probabilities(A)
    assert P[:, 0].min() > 0.9
