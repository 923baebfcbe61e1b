"""Weights of labels, and which weights are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from test_weights import assert_same_model, corpus, make

from vbnmf import SupervisedVBNMF
from vbnmf.estimators.labels import check_targets, with_class_weights

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("classifier", ["components", "generative"])
def test_balanced_is_the_weight_that_makes_labels_equal(classifier):
    X, y = corpus()
    counts = np.bincount(y)
    weight = (len(y) / (3 * counts))[y]
    shared = {"n_components": 7, "classifier": classifier}  # two components a label, and one
    balanced = make(True, class_weight="balanced").set_params(**shared).fit(X, y)
    by_hand = make(True).set_params(**shared).fit(X, y, sample_weight=weight)
    assert_same_model(balanced, by_hand, X)
    assert_allclose(balanced.label_frequencies_, 1 / 3)
    assert_array_equal(balanced.label_counts_, counts)


def test_a_dict_of_weights():
    X, y = corpus()
    names = np.array(["a", "b", "c"])[y]
    given = make(True, class_weight={"a": 2, "c": 0.5}).fit(X, names)
    by_hand = make(True).fit(X, names, sample_weight=np.array([2, 1, 0.5])[y])
    assert_same_model(given, by_hand, X, rtol=1e-12)


def weights(class_weight, y, weight=None):
    n_docs = y.shape[0] if isinstance(y, np.ndarray) else len(y)
    return with_class_weights(class_weight, check_targets(SupervisedVBNMF(), y, n_docs), weight)


def test_both_kinds_of_weight_multiply():
    y = np.array([0, 0, 1, 1])
    weight = np.array([1.0, 2.0, 3.0, 1.0])
    assert_allclose(weights({0: 3}, y, weight), [3, 6, 3, 1])
    assert_allclose(weights("balanced", y, np.array([1.0, 1.0, 4.0, 2.0])), [2, 2, 8 / 3, 4 / 3])


def test_documents_of_several_labels_have_the_mean_and_of_none_one():
    Y = np.array([[1, 0], [1, 1], [0, 0]])
    assert_allclose(weights({0: 2, 1: 8}, Y), [2, 5, 1])
    assert_allclose(weights({0: 2, 1: 8}, [0, 1, None]), [2, 8, 1])


def test_small_weights_are_balanced_too():
    y = np.array([0, 0, 0, 1])
    got = weights("balanced", y, np.full(4, 0.01))
    assert got[:3].sum() == pytest.approx(got[3:].sum())


def test_a_rare_label_matters_more_with_balance():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [190, 10])
    rates = np.where(y[:, None] == np.arange(10) // 5, 0.5, 0.3)
    X = rng.poisson(rates)
    recall = [
        (make(True, class_weight=class_weight).fit(X, y).predict(X)[y == 1] == 1).mean()
        for class_weight in (None, "balanced")
    ]
    assert recall[1] > recall[0]


# What is refused


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize(
    ("weight", "told"),
    [
        (np.full(45, -1.0), "non-negative"),
        (np.zeros(45), "not all zero"),
        (0.0, "not all zero"),
        (np.full(45, np.nan), "finite"),
        (np.full(45, np.inf), "finite"),
        (np.ones(44), "each of the 45 documents; got the shape \\(44,\\)"),
        (np.ones((45, 1)), "got the shape \\(45, 1\\)"),
        (["heavy"] * 45, "must hold numbers"),
    ],
)  # fmt: skip
def test_weights_that_are_none(labels, weight, told):
    X, y = corpus()
    fitted = make(labels, max_iter=2)
    with pytest.raises(ValueError, match=told):
        fitted.fit(X, y, sample_weight=weight)
    assert not hasattr(fitted, "components_")


@pytest.mark.parametrize(
    ("class_weight", "told"),
    [
        ("even", "class_weight must be a dict"),
        ([1, 2, 3], "class_weight must be a dict"),
        ({7: 1}, "labels that y does not have: \\['7'\\]"),
        ({0: -1}, "non-negative"),
        ({0: np.nan}, "finite"),
    ],
)
def test_class_weights_that_are_none(class_weight, told):
    X, y = corpus()
    with pytest.raises(ValueError, match=told):
        make(True, class_weight=class_weight, max_iter=2).fit(X, y)


@pytest.mark.parametrize("odd", ["heavy", None])
def test_class_weights_that_are_no_numbers(odd):
    X, y = corpus()
    with pytest.raises(ValueError, match="class_weight"):
        make(True, class_weight={0: odd}, max_iter=2).fit(X, y)


def test_a_label_of_no_weight_is_never_predicted():
    X, y = corpus()
    fitted = make(True).fit(X, y, sample_weight=(y != 1).astype(float))
    assert fitted.predict_proba(X).shape == (45, 3)
    assert 1 not in fitted.predict(X)


def test_all_labels_of_no_weight_are_refused():
    X, y = corpus()
    labels = [None if d < 20 else label for d, label in enumerate(y.tolist())]
    with pytest.raises(ValueError, match="weight"), np.errstate(invalid="ignore"):
        make(True).fit(X, labels, sample_weight=(np.arange(45) < 20).astype(float))


@pytest.mark.parametrize("labels", [True, False])
def test_weight_on_empty_documents_alone_is_refused(labels):
    X, y = corpus()
    X[20:] = 0
    with pytest.raises(ValueError, match="nothing to learn from"):
        make(labels).fit(sparse.csr_array(X), y, sample_weight=(np.arange(45) >= 20).astype(float))
