"""Equations (12) and (13) against naive loops and by their definition."""

import numpy as np
import oracle_uses
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from vbnmf import hoyer_sparsity, inter_label_sparsity

values = st.floats(0, 1e6).filter(lambda x: x == 0 or x > 1e-6)


@given(arrays(float, st.integers(2, 30), elements=values).filter(np.any), st.floats(1e-9, 1e9))
def test_hoyer(x, factor):
    assert hoyer_sparsity(x) == pytest.approx(oracle_uses.hoyer_sparsity(x), abs=1e-9)
    assert hoyer_sparsity(-factor * x) == pytest.approx(hoyer_sparsity(x), abs=1e-9)


def test_hoyer_at_its_ends():
    assert hoyer_sparsity([0, 5, 0, 0]) == 1
    assert hoyer_sparsity(np.full((3, 4), 0.1)) == pytest.approx(0, abs=1e-12)
    assert hoyer_sparsity([7.0]) == 0
    assert hoyer_sparsity([]) == 0
    assert hoyer_sparsity(np.zeros(5)) == 0
    assert hoyer_sparsity([1e300, 0.0]) == 1


def test_hoyer_of_a_sparse_matrix_counts_its_zeros():
    x = np.array([[0, 2.0, 0], [1.0, 0, 0]])
    assert hoyer_sparsity(sparse.csr_array(x)) == pytest.approx(hoyer_sparsity(x))


@given(st.integers(0, 10**6))
def test_inter_label(seed):
    rng = np.random.default_rng(seed)
    V = rng.gamma(0.3, 1, (12, 4))
    y = rng.choice(["b", "a", "c"], 12)
    y[:3] = ["a", "b", "c"]
    expected = oracle_uses.inter_label_sparsity(V, y.tolist())
    assert inter_label_sparsity(V, y) == pytest.approx(expected)
    assert inter_label_sparsity(V.tolist(), y.tolist()) == pytest.approx(expected)


def test_inter_label_is_that_of_the_sums():
    V = [[1, 0, 0], [2, 0, 0], [0, 5, 0], [0, 0, 4]]
    assert inter_label_sparsity(V, [0, 0, 1, 2]) == pytest.approx(
        hoyer_sparsity([3, 0, 0, 0, 5, 0, 0, 0, 4])
    )


def test_inter_label_wants_a_label_for_each_row():
    with pytest.raises(ValueError, match=r"shape \(2, 1\) and 3 labels"):
        inter_label_sparsity([[1], [2]], [0, 1, 2])
