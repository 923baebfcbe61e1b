"""Matched cosines against every way to match components."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from vbnmf.metrics import matched_similarity, seed_stability


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def best_by_permutations(A, B):
    """The largest mean cosine over all ways to give each component of A its own of B."""
    return max(
        np.mean([cosine(a, B[j]) for a, j in zip(A, order, strict=True)])
        for order in itertools.permutations(range(len(B)), len(A))
    )


@examples(60)
@given(seed=st.integers(0, 999), K=st.integers(1, 4), more=st.integers(0, 2), n=st.integers(1, 6))
def test_matching_is_the_best_of_all(seed, K, more, n):
    rng = np.random.default_rng(seed)
    A, B = rng.gamma(0.5, size=(K, n)), rng.gamma(0.5, size=(K + more, n))
    found = matched_similarity(A, B)
    assert found.shape == (K,)
    assert found.mean() == pytest.approx(best_by_permutations(A, B))
    assert matched_similarity(B, A).sum() == pytest.approx(found.sum())


def test_a_greedy_choice_is_not_the_best():
    A = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    B = np.array([[0.95, 0.0, 0.3], [1.0, 0.1, 0.0]])
    assert cosine(A[0], B[1]) > max(cosine(A[0], B[0]), cosine(A[1], B[1]))  # the nearest pair
    expected = [cosine(A[0], B[0]), cosine(A[1], B[1])]
    np.testing.assert_allclose(matched_similarity(A, B), expected)
    np.testing.assert_allclose(matched_similarity(A[::-1], B), expected[::-1])  # in A's order


def test_order_and_scale_do_not_matter():
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(6, 40)).astype(np.float32)
    B = A[rng.permutation(6)] * rng.gamma(1.0, size=(6, 1))
    np.testing.assert_allclose(matched_similarity(A, B), np.ones(6), atol=1e-6)
    assert (matched_similarity(A, B) <= 1).all()
    assert seed_stability([A, B, 3 * A]) == pytest.approx(1, abs=1e-6)


def test_zeros_are_like_nothing():
    np.testing.assert_array_equal(matched_similarity([[0, 0], [1, 0]], [[1, 0], [0, 1]]), [0, 1])


def test_stability_is_the_mean_over_pairs():
    rng = np.random.default_rng(1)
    A, B, C = (rng.gamma(0.5, size=(3, 8)) for _ in range(3))
    pairs = [matched_similarity(*pair).mean() for pair in ((A, B), (A, C), (B, C))]
    assert seed_stability([A, B, C]) == pytest.approx(np.mean(pairs))
    assert seed_stability([A, B]) == pytest.approx(pairs[0])
    assert seed_stability(np.stack([A, B])) == pytest.approx(pairs[0])
    assert np.ptp(pairs) > 0.01


def test_refused():
    with pytest.raises(ValueError, match=r"A has 2 and B has 3\. Fit both to the same columns"):
        matched_similarity(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match=r"B must have the shape \(K, n_terms\)"):
        matched_similarity(np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="at least two fits; got 1"):
        seed_stability([np.eye(2)])
