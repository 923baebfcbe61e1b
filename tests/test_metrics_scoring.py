"""The one scorer of predictions: by hand, and against its definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from vbnmf.metrics import calibration_error, score_predictions, score_probabilities

Y = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]])
Z = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_one_label_by_hand():
    scores = score_predictions(["a", "a", "a", "b"], ["a", "a", "c", "c"], ["a", "b", "c", "d"])
    assert not scores.multilabel
    assert scores.n_docs == 4
    assert scores.accuracy == scores.micro_f1 == 0.5
    assert scores.macro_accuracy == scores.macro == pytest.approx((2 / 3 + 0) / 2)
    assert scores.macro_f1 == pytest.approx((0.8 + 0) / 2)
    assert scores.support.tolist() == [3, 1, 0, 0]
    assert_allclose(scores.recall, [2 / 3, 0, np.nan, np.nan])
    assert_allclose(scores.precision, [1, np.nan, 0, np.nan])
    assert scores.confusion.tolist() == [[2, 0, 1, 0], [0, 0, 1, 0], [0] * 4, [0] * 4]


@pytest.mark.filterwarnings("error")
def test_a_single_label():
    """Nothing is said of it: there is nothing to confuse it with."""
    assert score_predictions(["a", "a"], ["a", "a"]).confusion.tolist() == [[2]]
    assert score_predictions(["a", "a"], ["a", "b"], ["a"]).confusion.tolist() == [[1]]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_several_labels_by_hand(form):
    """The last label is given to a document, but no document has it: it has no part in the mean."""
    scores = score_predictions(form(Y), form(Z))
    assert scores.multilabel
    assert scores.n_docs == 4
    assert scores.accuracy == 0.25
    assert scores.micro_f1 == pytest.approx(2 * 3 / (5 + 4))
    assert scores.macro_f1 == scores.macro == pytest.approx((1 + 0.5) / 2)
    assert_allclose(scores.recall, [1, 1 / 3, np.nan])
    assert_allclose(scores.precision, [1, 1, 0])
    assert scores.confusion is None


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_standard_error_is_how_much_scores_vary(multilabel):
    rng = np.random.default_rng(0)

    def drawn():
        y = np.eye(3, dtype=int)[rng.integers(3, size=400)]
        z = np.where(rng.random((400, 1)) < 0.7, y, y[:, ::-1])
        if multilabel:
            return score_predictions(y, z | (rng.random(z.shape) < 0.1))
        return score_predictions(y.argmax(axis=1), z.argmax(axis=1))

    found = [drawn() for _ in range(200)]
    spread = np.std([scores.micro_f1 for scores in found])
    assert np.mean([scores.standard_error for scores in found]) == pytest.approx(spread, rel=0.15)


def test_the_standard_error_is_no_less_than_one_document():
    assert score_predictions([0, 1, 1, 0], [0, 1, 1, 0]).standard_error == 0.25


def test_probabilities_of_one_label():
    P = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    scores = score_probabilities(np.array([0, 1, 1]), P)
    assert scores.probability.tolist() == [0.9, 0.6, 0.7]
    assert scores.right.tolist() == [True, True, False]
    assert scores.calibration_error == calibration_error([0.9, 0.6, 0.7], [True, True, False])
    assert scores.log_loss == pytest.approx(-np.log([0.9, 0.6, 0.3]).mean())
    assert score_probabilities(np.array([0, 0]), np.ones((2, 1))).log_loss == 0


def test_probabilities_of_several_labels():
    P = np.array([[0.9, 0.2], [0.4, 0.6]])
    scores = score_probabilities(sparse.csr_array([[1, 0], [1, 1]]), P)
    assert scores.probability.tolist() == [0.9, 0.2, 0.4, 0.6]
    assert scores.right.tolist() == [True, False, True, True]
    assert scores.log_loss == pytest.approx(-np.log([0.9, 0.8, 0.4, 0.6]).mean())


@pytest.mark.parametrize("y", [np.array([0, 2]), np.array([0, -1]), np.eye(3, dtype=int)[[0, 2]]])
def test_a_label_without_probability_is_wrong_and_has_no_loss(y):
    scores = score_probabilities(y, np.array([[0.9, 0.1], [0.8, 0.2]]))
    assert scores.log_loss is None
    assert scores.right.tolist() == [True, False, False, False][: scores.right.size]
