"""Diversity and exclusivity against loops, and cases that can be worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import examples

from vbnmf.metrics import exclusivity, topic_diversity

WEIGHTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)


def ranked(weights, top):
    return sorted(range(len(weights)), key=lambda w: -weights[w])[:top]


def exclusivity_by_loops(components, top):
    sums = [sum(row) for row in components]
    found = []
    for row, total in zip(components, sums, strict=True):
        shares = []
        for w in ranked(row, top):
            everyone = sum(other[w] / s for other, s in zip(components, sums, strict=True) if s)
            shares.append(row[w] / total / everyone if everyone and total else 0.0)
        found.append(sum(shares) / len(shares))
    return found


@examples(100)
@given(components=WEIGHTS, top=st.integers(1, 8))
def test_both_equal_loops(components, top):
    expected = exclusivity_by_loops(components.tolist(), top)
    np.testing.assert_allclose(exclusivity(components, top), expected, atol=1e-12)
    terms = [w for row in components.tolist() for w in ranked(row, top)]
    assert topic_diversity(components, top) == pytest.approx(len(set(terms)) / len(terms))


def test_diversity():
    assert topic_diversity(np.eye(4), top=1) == 1
    assert topic_diversity(np.tile([4.0, 3.0, 2.0, 1.0], (5, 1)), top=2) == pytest.approx(1 / 5)
    assert topic_diversity([[3, 2, 1, 0], [0, 3, 2, 1]], top=3) == pytest.approx(4 / 6)
    assert topic_diversity([[3.0, 2.0], [2.0, 3.0]]) == 0.5  # fewer terms than asked for


def test_exclusivity():
    np.testing.assert_array_equal(exclusivity(np.eye(3), top=1), [1, 1, 1])
    np.testing.assert_allclose(exclusivity(np.ones((4, 7)), top=3), [1 / 4] * 4)
    np.testing.assert_array_equal(exclusivity([[2.0, 1.0]]), [1])  # one component
    np.testing.assert_array_equal(exclusivity([[2.0], [6.0]]), [1 / 2, 1 / 2])  # one term
    np.testing.assert_array_equal(exclusivity([[2.0, 0.0]], top=2), [1 / 2])  # nobody has one
    np.testing.assert_array_equal(exclusivity(np.zeros((2, 3))), [0, 0])


def test_scales_of_components_do_not_matter():
    components = np.random.default_rng(0).random((4, 9)).astype(np.float32)
    scales = np.array([1e-6, 1, 3, 1e5], np.float32)[:, None]
    expected = exclusivity(components, 3)
    np.testing.assert_allclose(exclusivity(scales * components, 3), expected, rtol=1e-5)


@pytest.mark.parametrize("measure", [topic_diversity, exclusivity])
def test_refused(measure):
    for components in (np.ones(3), np.ones((0, 3)), np.ones((3, 0))):
        with pytest.raises(ValueError, match=r"shape \(K, n_terms\).* got an array of the shape"):
            measure(components)
    with pytest.raises(ValueError, match="top must be at least 1; got 0"):
        measure(np.eye(2), top=0)


def test_components_with_signs_have_no_shares():
    with pytest.raises(ValueError, match=r"negative weights.* the smallest is -2"):
        exclusivity([[1.0, -2.0]])
