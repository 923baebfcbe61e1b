"""Predictions that are accepted without a look, and the intervals of shares."""

import numpy as np
import pytest

from vbnmf.metrics.shares import adjusted, difference_interval, share_interval, two_sided
from vbnmf.reviewing.acceptance import FEWEST, Acceptance


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    p = rng.beta(3, 1, 500).round(2)
    return Acceptance(p, rng.random(500) < p, rng.integers(0, 3, 500), 3)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.8, 0.95, 1.01])
def test_thresholds_equal_a_recount(drawn, threshold):
    rows = [i for i in range(500) if drawn.probability[i] >= threshold]
    found = drawn.at(threshold)
    assert (found.predictions, found.accepted) == (500, len(rows))
    assert found.right == sum(bool(drawn.right[i]) for i in rows)
    by_label = drawn.by_label(threshold)
    assert [one.label for one in by_label] == [0, 1, 2]
    assert sum(one.accepted for one in by_label) == found.accepted
    assert sum(one.right for one in by_label) == found.right
    assert found.share == len(rows) / 500


@pytest.mark.parametrize("right", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("label", [None, 1])
def test_the_threshold_for_a_share_accepts_most(drawn, right, label):
    found = drawn.for_share(right, label)
    assert found.share_right >= right
    for threshold in np.unique(drawn.probability[drawn.probability < found.threshold]):
        more = drawn.at(threshold, label)
        assert more.accepted == found.accepted or more.share_right < right
    low, high = found.interval
    assert low < found.share_right < high


def test_no_threshold_reaches_the_share():
    nothing = Acceptance(np.full(50, 0.9), np.zeros(50, bool), np.zeros(50, int), 1)
    assert nothing.for_share(0.5) is None
    assert nothing.at(0.95).share_right is None
    few = Acceptance(np.linspace(0.5, 1, 50), np.arange(50) >= 51 - FEWEST, np.zeros(50, int), 1)
    assert few.for_share(1.0) is None  # one fewer than FEWEST are right
    assert few.for_share((FEWEST - 1) / FEWEST).accepted == FEWEST
    assert Acceptance(np.zeros(0), np.zeros(0, bool), np.zeros(0, int), 2).for_share(0.5) is None


def test_intervals_of_published_examples():
    # R. G. Newcombe (1998), methods 3 and 10
    low, high = share_interval(81, 263)
    assert (round(float(low), 4), round(float(high), 4)) == (0.2553, 0.3662)
    low, high = share_interval([0, 20], [20, 20])
    assert (low[0], high[1]) == (0, 1)
    assert (round(float(high[0]), 4), round(float(low[1]), 4)) == (0.1611, 0.8389)
    low, high = difference_interval(48, 80, 56, 70)
    assert (round(float(low), 4), round(float(high), 4)) == (0.0524, 0.3339)
    low, high = share_interval(0, 0)
    assert (low, high) == (0, 1)


def test_adjusted_p_values_are_those_of_scipy():
    from scipy.stats import false_discovery_control, norm

    p = np.random.default_rng(0).random(40) ** 3
    np.testing.assert_allclose(adjusted(p), false_discovery_control(p))
    assert len(adjusted([])) == 0
    np.testing.assert_allclose(two_sided([-2.0, 1.0]), 2 * norm.sf([2.0, 1.0]))
