"""Standard errors of ratios of sums: by loops, by leaving documents out, and by drawing again."""

from math import sqrt

import numpy as np
import pytest
from scipy import sparse

from vbnmf.metrics.likelihood import document_log_sums, half_log_sums, split_documents
from vbnmf.metrics.ratios import ratio, ratio_difference
from vbnmf.metrics.scoring import document_matches, score_predictions


def drawn(rng, n):
    """Scores of two models on the same documents, and the weights of the documents."""
    weight = rng.gamma(2.0, 3.0, n)
    hard = rng.normal(-6, 1, n)  # what makes a document hard for both models
    first, second = (weight * (hard + rng.normal(gain, 0.2, n)) for gain in (0.05, 0.0))
    return first, second, weight


def by_loops(first, second, weight):
    total = sum(weight)
    R, S = sum(first) / total, sum(second) / total
    squares = 0.0
    for a, c, b in zip(first, second, weight, strict=True):
        squares += (((a - c) - (R - S) * b) / total) ** 2
    return R - S, sqrt(len(weight) / (len(weight) - 1) * squares)


def test_difference_is_the_formula():
    """With the same weights, it is the ratio estimator of the differences of documents."""
    first, second, weight = drawn(np.random.default_rng(0), 37)
    found = ratio_difference((first, weight), (second, weight))
    assert found == pytest.approx(by_loops(first, second, weight))
    alone = ratio(first, weight)
    assert alone == pytest.approx(by_loops(first, np.zeros(37), weight))
    assert found.error < alone.error / 3  # hard documents are hard for both


def test_difference_is_that_of_leaving_documents_out():
    """The jackknife needs no formula. Here denominators differ, as in micro F1."""
    rng = np.random.default_rng(1)
    n = 300
    b, c = rng.integers(2, 7, n).astype(float), rng.integers(2, 7, n).astype(float)
    first, second = (b * rng.random(n), b), (c * rng.random(n), c)
    found = ratio_difference(first, second)
    left = [np.arange(n) != d for d in range(n)]
    values = [
        first[0][kept].sum() / first[1][kept].sum() - second[0][kept].sum() / second[1][kept].sum()
        for kept in left
    ]
    jackknife = sqrt((n - 1) / n * np.square(values - np.mean(values)).sum())
    assert found.error == pytest.approx(jackknife, rel=0.02)
    assert found.value == first[0].sum() / first[1].sum() - second[0].sum() / second[1].sum()


def test_error_is_the_spread_over_samples():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(2000):
        first, second, weight = drawn(rng, 60)
        found.append(ratio_difference((first, weight), (second, weight)))
    values, errors = np.transpose(found)
    assert np.std(values) == pytest.approx(sqrt(np.mean(errors**2)), rel=0.06)


def test_one_document_says_nothing():
    assert ratio([1.0], [2.0]) == (0.5, float("inf"))
    assert ratio_difference(([1.0], [2.0]), ([1.0], [2.0])) == (0.0, float("inf"))


def test_log_sums_of_documents_are_those_of_dense_algebra():
    rng = np.random.default_rng(3)
    X = rng.poisson(0.8, (12, 9)).astype(np.float32)
    X[4] = 0
    X[5] = np.eye(9)[2]  # nothing is left for its second half

    class Model:
        components_ = rng.gamma(1.0, size=(3, 9))
        component_sums_ = components_.sum(axis=1)

    V = rng.gamma(1.0, size=(12, 3))
    _, second = split_documents(sparse.csr_array(X), 1)
    score, weight = document_log_sums(Model(), second, V)
    p = V @ Model.components_
    dense = second.toarray() * np.log(p / p.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(score, dense.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(weight, second.toarray().sum(axis=1))
    assert score[4] == score[5] == weight[4] == weight[5] == 0
    assert half_log_sums(Model(), second, V) == pytest.approx((dense.sum(), second.sum()))


@pytest.mark.parametrize("several", [False, True])
def test_matches_of_documents_give_the_score_and_its_error(several):
    rng = np.random.default_rng(4)
    if several:
        truth, predicted = rng.random((80, 4)) < 0.4, rng.random((80, 4)) < 0.4
        truth[:, 0] |= ~truth.any(axis=1)
    else:
        truth, predicted = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    found = ratio(*document_matches(truth, predicted))
    scores = score_predictions(truth, predicted)
    assert found.value == pytest.approx(scores.micro_f1)
    assert found.error == pytest.approx(scores.standard_error * sqrt(80 / 79))
