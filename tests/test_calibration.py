"""From scores to probabilities: known parameters are found, and the most probable ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit, softmax

from vbnmf.prediction.calibration import _Problem, best_threshold, calibrate


def drawn(P, seed=1):
    """Labels drawn with probabilities, as indicators."""
    y = (np.random.default_rng(seed).random((len(P), 1)) > P.cumsum(axis=1)).sum(axis=1)
    return np.eye(P.shape[1], dtype=bool)[np.minimum(y, P.shape[1] - 1)]


@pytest.mark.parametrize("slope", [0.8, 7.0, 40.0])
@pytest.mark.parametrize("exponent", [0.0, 0.3])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_known_parameters_are_found(slope, exponent, noise):
    rng = np.random.default_rng(0)
    n_terms = rng.uniform(4, 200, 30_000)
    shift = np.array([0.9, -0.6, 0.2, -0.5])
    s = rng.normal(0, 3 / slope / 40**exponent, (30_000, 4))
    P = softmax(shift + slope * n_terms[:, None] ** exponent * s, axis=1)
    P = (1 - noise) * P + noise * P.mean(axis=0)
    Y = drawn(P)
    found = calibrate(s, Y, n_terms, np.ones(30_000), usual_slope=10.0)
    assert found.length_exponent == pytest.approx(exponent, abs=0.04)
    assert found.slopes[0] * 40**exponent == pytest.approx(slope * 40**exponent, rel=0.12)
    assert_allclose(found.biases - found.biases.mean(), shift - shift.mean(), atol=0.1)
    assert found.noise == pytest.approx(noise, abs=0.02)
    assert_allclose(found.probabilities(s, n_terms), P, atol=0.05)


def test_it_is_the_most_probable_one():
    """Under normal priors around the usual slope, no bias, no growth and little noise."""
    rng = np.random.default_rng(0)
    s, y = rng.normal(0, 0.3, (60, 3)), rng.integers(0, 3, 60)
    s[np.arange(60), y] += 0.3
    Y, n_terms, weight = np.eye(3, dtype=bool)[y], rng.uniform(2, 60, 60), rng.uniform(0.5, 2, 60)
    log_prior = np.log([0.05, 0.35, 0.6])
    frequencies = weight @ Y / weight.sum()

    def loss(slope, exponent, biases, noise):
        P = softmax(biases + slope * n_terms[:, None] ** exponent * s, axis=1)
        p = ((1 - noise) * P + noise * frequencies)[np.arange(60), y]
        centre = np.average(np.log(n_terms), weights=weight)
        away = [*(biases - log_prior), np.log(slope / 10) + exponent * centre, exponent]
        away += [logit(noise) + 4]
        return -(weight @ np.log(p)) + np.square(away).sum() / 2

    c = _Problem(s, Y, n_terms, weight, 10.0, log_prior, multilabel=False, biased=True).solved()
    assert abs(c.biases - log_prior).max() > 0.1
    found = (c.slopes[0], c.length_exponent, c.biases, c.noise)
    least = loss(*found)
    for place, value in enumerate(found):
        steps = 0.03 * np.vstack([np.eye(3), -np.eye(3)]) if place == 2 else [0.03, -0.03]
        for step in steps:
            moved = value + step if place == 2 else value * (1 + step) + (value == 0) * 0.01
            assert loss(*found[:place], moved, *found[place + 1 :]) > least - 1e-3


@pytest.mark.parametrize("bend", [0.0, 1.5])
def test_a_bend_of_negative_scores_is_found(bend):
    """Like that of machines: all other labels are pulled towards -1."""
    rng = np.random.default_rng(0)
    s = rng.normal(-0.6, 0.4, (20_000, 6))
    P = softmax(3.0 * (s - bend * np.minimum(s, 0) ** 2), axis=1)
    Y, n_terms, weight = drawn(P), np.full(20_000, 9.0), np.ones(20_000)
    found = calibrate(s, Y, n_terms, weight, usual_slope=3.0, bent=True)
    assert found.bend == pytest.approx(bend, abs=0.15)
    assert_allclose(found.probabilities(s, n_terms), P, atol=0.05)
    plain = calibrate(s, Y, n_terms, weight, usual_slope=3.0)
    assert plain.bend == 0
    places = np.arange(20_000), Y.argmax(axis=1)
    gain = np.log(found.probabilities(s, n_terms)[places]).mean()
    gain -= np.log(plain.probabilities(s, n_terms)[places]).mean()
    assert (gain > 0.01) == (bend > 0)


def test_the_gradient_of_the_bend():
    rng = np.random.default_rng(0)
    s, Y = rng.normal(-0.5, 1, (50, 3)), np.eye(3, dtype=bool)[rng.integers(0, 3, 50)]
    n_terms, weight = rng.uniform(2, 60, 50), rng.uniform(0.5, 2, 50)
    problem = _Problem(
        s, Y, n_terms, weight, 3.0, np.zeros(3), multilabel=False, biased=True, bent=True
    )
    free = problem.start + rng.uniform(0.1, 0.5, len(problem.start))
    for place in range(len(free)):
        step = np.eye(len(free))[place] * 1e-5
        slope = (problem.loss(free + step)[0] - problem.loss(free - step)[0]) / 2e-5
        assert problem.loss(free)[1][place] == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_biases_that_make_fewer_documents_right_are_left_out():
    """Few documents of a rare label lie where many of a common one do."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [900, 100])
    s = np.where(y == 1, 1.0, -1.0) + rng.normal(0, 1.2, 1000)
    scores, Y = np.column_stack([-s, s]), np.eye(2, dtype=bool)[y]
    c = calibrate(scores, Y, np.full(1000, 9.0), np.ones(1000), usual_slope=3.0)
    right = (c.probabilities(scores, np.full(1000, 9.0)).argmax(axis=1) == y).mean()
    plain = (scores.argmax(axis=1) == y).mean()
    assert right > plain + 0.02  # here they help
    flat = np.column_stack([-s, s]) * 1e-9
    none = calibrate(flat, Y, np.full(1000, 9.0), np.ones(1000), usual_slope=3.0)
    assert (none.probabilities(flat, np.full(1000, 9.0)).argmax(axis=1) == y).mean() >= 0.9


def test_each_of_several_labels_has_a_slope():
    rng = np.random.default_rng(0)
    s = rng.normal(size=(4000, 2))
    Y = rng.random((4000, 2)) < expit(s * [3, 0.5] + [1, -1])
    c = calibrate(s, Y, np.full(4000, 5.0), np.ones(4000), usual_slope=3.0, multilabel=True)
    P = c.probabilities(s, np.full(4000, 5.0))
    assert_allclose(logit(P), s * [3, 0.5] + [1, -1], atol=0.5)


def test_the_threshold_is_the_best():
    rng = np.random.default_rng(0)
    P = rng.random((4000, 3))
    Y = rng.random((4000, 3)) < P**2
    threshold, score = best_threshold(P, Y, np.ones(4000))
    given = threshold <= P
    assert score == pytest.approx(2 * (given & Y).sum() / (given.sum() + Y.sum()))
    assert 0.3 < threshold < 0.75
    times = rng.integers(1, 4, 4000)
    repeated = best_threshold(
        np.repeat(P, times, axis=0), np.repeat(Y, times, axis=0), np.ones(times.sum())
    )
    assert best_threshold(P, Y, times.astype(float)) == repeated
    assert best_threshold(P, np.zeros_like(Y), np.ones(4000))[1] == 0
    assert best_threshold(P[:10], Y[:10], np.ones(10))[0] == 0.5


def test_biases_of_more_labels_than_documents_are_left_out():
    """They would raise the labels of these few documents above all others."""
    rng = np.random.default_rng(0)
    Y = np.eye(300, dtype=bool)[rng.permutation(300)[:100]]
    s = rng.normal(size=Y.shape) + 2.5 * Y
    n_terms, weight = np.ones(100), np.ones(100)
    found = calibrate(s, Y, n_terms, weight, usual_slope=1.0)
    assert np.ptp(found.biases) == 0
    fitted = _Problem(s, Y, n_terms, weight, 1.0, np.zeros(300), multilabel=False, biased=True)
    gain = [(c.logits(s, n_terms).argmax(axis=1) == Y.argmax(axis=1)).sum()
            for c in (found, fitted.solved())]  # fmt: skip
    assert gain[1] > gain[0] + 5  # they seem to pay on the documents that they were fitted to


def test_biases_of_chance_are_left_out():
    """All labels are alike, so biases fit chance: a gain within the standard error is none."""
    kept = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 8, 2000)
        s = rng.normal(0, 1, (2000, 8))
        s[np.arange(2000), y] += 1.0
        Y = np.eye(8, dtype=bool)[y]
        found = calibrate(s, Y, np.full(2000, 9.0), np.ones(2000), usual_slope=3.0)
        kept += np.ptp(found.biases) > 0
    assert kept <= 4  # most of them, if any gain would do


def test_a_weight_of_three_is_three_copies():
    """Also in the decision on biases, which compares a gain with its standard error."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 4, 150)
        s = rng.normal([0.3, 0, 0, -0.3], 1, (150, 4))
        s[np.arange(150), y] += 1.0
        Y, n_terms = np.eye(4, dtype=bool)[y], np.full(150, 9.0)
        weighted = calibrate(s, Y, n_terms, np.full(150, 3.0), usual_slope=3.0)
        copies = (np.repeat(a, 3, axis=0) for a in (s, Y, n_terms))
        copied = calibrate(*copies, np.ones(450), usual_slope=3.0)
        np.testing.assert_allclose(weighted.biases, copied.biases, atol=1e-4)
