"""Log-odds of terms, against a calculation by hand."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_uses import share_by_chance as by_definition

from vbnmf.metrics import characteristic_terms, log_odds, share_by_chance


def by_hand(n, N, m, M, level):
    """One term, straight from the definition."""
    p = (n + m) / (N + M)
    alpha, beta = 1 / 2 + p, 1 / 2 + (1 - p)
    inside = (n + alpha) / (N - n + beta)
    outside = (m + alpha) / (M - m + beta)
    delta = math.log(inside) - math.log(outside)
    variance = 1 / (n + alpha) + 1 / (N - n + beta) + 1 / (m + alpha) + 1 / (M - m + beta)
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    return delta, delta / math.sqrt(variance), delta - reach, delta + reach


@given(
    st.integers(1, 50).flatmap(lambda N: st.tuples(st.integers(0, N), st.just(N))),
    st.integers(0, 500).flatmap(lambda M: st.tuples(st.integers(0, M), st.just(M))),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_the_definition(inside, outside, level):
    found = log_odds(*inside, *outside, level=level)
    assert [float(x) for x in found] == pytest.approx(by_hand(*inside, *outside, level))
    if outside[1]:
        swapped = log_odds(*outside, *inside, level=level)
        assert float(swapped.log_odds) == pytest.approx(-float(found.log_odds))
        assert float(swapped.low) == pytest.approx(-float(found.high))


def test_more_documents_are_more_certain():
    few, many = log_odds(2, 4, 10, 100), log_odds(200, 400, 1000, 10000)
    assert few.low < many.low < many.log_odds < many.high < few.high
    assert many.log_odds == pytest.approx(math.log(0.5 / 0.5) - math.log(0.1 / 0.9), abs=0.02)
    assert 0 < few.log_odds < many.log_odds  # the prior draws towards no difference


def test_intervals_cover_the_truth():
    """Drawn documents with known shares; the intervals have about their probability."""
    rng = np.random.default_rng(0)
    n, m = rng.binomial(40, 0.3, 4000), rng.binomial(300, 0.1, 4000)
    found = log_odds(n, 40, m, 300, level=0.9)
    truth = math.log(0.3 / 0.7) - math.log(0.1 / 0.9)
    assert np.mean((found.low <= truth) & (truth <= found.high)) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 0, 5), "between 0 and all documents"),
        ((1, 2, 6, 5), "between 0 and all documents"),
        ((-1, 2, 0, 5), "between 0 and all documents"),
        ((float("nan"), 2, 0, 5), "between 0 and all documents"),
    ],
)
def test_counts_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        log_odds(*arguments)
    with pytest.raises(ValueError, match=r"level must be between 0 and 1; got 1\.5"):
        log_odds(1, 2, 1, 3, level=1.5)


class TestCharacteristicTerms:
    def test_terms_that_do_not_count(self):
        #        once, as often elsewhere, rarer here, everywhere, characteristic, absent
        n, m = [1, 5, 2, 10, 6, 0], [0, 50, 60, 100, 5, 3]
        assert characteristic_terms(n, 10, m, 100, 9).tolist() == [4]

    def test_order(self):
        n, N, m, M = [90, 8, 30, 95, 3], 100, [20, 0, 4, 5000, 0], 9000
        scores = []
        for a, b in zip(n, m, strict=True):
            low = by_hand(a, N, b, M, 0.95)[2]
            scores.append((a / N) ** (1 / 3) * low if low > 0 else low)
        expected = sorted(range(5), key=lambda w: -scores[w])
        assert characteristic_terms(n, N, m, M, 9).tolist() == expected
        assert expected[0] == 0
        assert characteristic_terms(n, N, m, M, 2).tolist() == expected[:2]

    def test_terms_of_uncertain_difference_come_last(self):
        found = characteristic_terms([2, 2], 3, [2, 0], 4, 9).tolist()
        assert found == [1, 0]
        assert log_odds(2, 3, 2, 4).low < log_odds(2, 3, 0, 4).low < 0

    @pytest.mark.parametrize(("n_label", "expected"), [(1, [0]), (2, [1])])
    def test_tiny_labels(self, n_label, expected):
        """One document is enough if there is only one."""
        n = np.array([1, n_label]) if n_label > 1 else np.array([1, 0])
        assert characteristic_terms(n, n_label, [0, 0], 20, 9).tolist() == expected

    def test_no_elsewhere(self):
        assert characteristic_terms([3, 9, 1, 5], 9, [0, 0, 0, 0], 0, 3).tolist() == [1, 3, 0]

    def test_a_label_without_documents(self):
        assert characteristic_terms([0, 0], 0, [4, 5], 10, 3).tolist() == []


class TestChance:
    @given(st.data())
    def test_the_definition(self, data):
        N, M = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 30))
        n = data.draw(st.lists(st.integers(0, N), min_size=1, max_size=12))
        m = [data.draw(st.integers(int(a == 0), M)) for a in n]
        elsewhere = data.draw(st.lists(st.integers(1, M), max_size=20))
        totals = [a + b for a, b in zip(n, m, strict=True)] + elsewhere
        found = share_by_chance(n, N, m, M, totals)
        assert found.tolist() == pytest.approx(by_definition(n, N, m, M, totals))

    def test_terms_of_random_labels_are_chance(self):
        rng = np.random.default_rng(0)
        frequency = np.minimum(3 / (1 + np.arange(2000)), 0.5)
        X = rng.random((600, 2000)) < frequency
        for label in (np.arange(600) < 60, np.arange(600) < 300):
            n, m = X[label].sum(axis=0), X[~label].sum(axis=0)
            found = share_by_chance(n, label.sum(), m, (~label).sum(), n + m)
            assert found.min() > 0.3

    def test_terms_of_a_topic_are_not(self):
        rng = np.random.default_rng(0)
        X = rng.random((600, 2000)) < 0.01
        X[:60, :5] = rng.random((60, 5)) < 0.3
        n, m = X[:60].sum(axis=0), X[60:].sum(axis=0)
        found = share_by_chance(n, 60, m, 540, n + m)
        assert found[:5].max() < 0.01
        assert found[5:].min() > 0.3

    def test_of_random_labels_at_most_half_have_a_term_that_is_not_chance(self):
        """And fewer have one, because counts are whole numbers."""
        rng = np.random.default_rng(1)
        X = rng.random((300, 400)) < np.minimum(3 / (1 + np.arange(400)), 0.5)
        said = []
        for _ in range(200):
            label = rng.permutation(300) < 100
            n, m = X[label].sum(axis=0), X[~label].sum(axis=0)
            said.append((share_by_chance(n, 100, m, 200, n + m) < 0.5).any())
        assert 0.05 < np.mean(said) < 0.4

    def test_counts_that_cannot_be(self):
        for n, m in (([-1], [0]), ([5], [0]), ([0], [9])):
            with pytest.raises(ValueError, match="Pass counts of documents, not of words"):
                share_by_chance(n, 4, m, 8, [9])

    def test_there_is_nothing_to_compare_with(self):
        assert share_by_chance([3, 0], 4, [0, 0], 0, [3, 0]).tolist() == [0, 0]
        assert share_by_chance([0, 0], 0, [3, 1], 4, [3, 1]).tolist() == [0, 0]
        assert share_by_chance([], 2, [], 4, [1]).tolist() == []
