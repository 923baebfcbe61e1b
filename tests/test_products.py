"""Products of dense arrays: right, without BLAS, and in one room."""

from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import vbnmf
from vbnmf.core import products

RNG = np.random.default_rng(0)
A, B = RNG.random((300, 400)), RNG.random((400, 200))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: products.product(A, B), lambda: A @ B),
        (lambda: products.product_with_rows(A, B.T), lambda: A @ B),
        (lambda: products.row_products(A, A), lambda: (A * A).sum(axis=1)),
        (lambda: products.row_products(A, B[:, 0]), lambda: A @ B[:, 0]),
        (lambda: products.dot(A[0], B[:, 0]), lambda: A[0] @ B[:, 0]),
    ],
)
def test_products(found, expected):
    np.testing.assert_allclose(found(), expected(), rtol=1e-12)
    bits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            bits.append(np.asarray(found()).tobytes())
    assert bits[0] == bits[1]


def test_row_products_in_double_precision():
    x = np.full((1, 3), 0.1, np.float32)
    assert products.row_products(x, x, np.float64).dtype == np.float64


def test_every_blas_uses_one_thread_inside():
    def n_threads():
        found = [one for one in threadpool_info() if one["user_api"] == "blas"]
        return [one["num_threads"] for one in found]

    with threadpool_limits(2):
        before = n_threads()
        with products.one_blas_thread():
            with products.one_blas_thread():
                assert set(n_threads()) == {1}
            assert set(n_threads()) == {1}
        assert n_threads() == before


def test_einsum_is_used_in_one_room():
    source = Path(vbnmf.__file__).parent
    users = [path for path in source.rglob("*.py") if "einsum(" in path.read_text(encoding="utf-8")]
    assert users == [source / "core" / "products.py"]
