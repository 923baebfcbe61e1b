"""Sums over the terms of documents: computed in parts, they are the same to the bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from vbnmf.core import rows


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    found = sparse.random_array((90, 40), density=0.2, rng=rng, dtype=np.float32, format="csr")
    some = np.ones(90, np.float32)
    some[[0, 7, 8, 89]] = 0  # documents without terms, also the first and the last
    found = sparse.csr_array(sparse.diags_array(some) @ found)
    found.eliminate_zeros()
    return found


@pytest.mark.parametrize("at_once", [1, 9, 50, 10_000])
def test_parts_cover_all_documents_once(monkeypatch, X, at_once):
    monkeypatch.setattr(rows, "_NONZEROS_AT_ONCE", at_once)
    found = list(rows.parts(X))
    assert_array_equal(np.concatenate([np.arange(90)[at] for at, _ in found]), np.arange(90))
    assert_array_equal(sparse.vstack([part for _, part in found]).toarray(), X.toarray())
    assert len(found) == 1 if at_once > X.nnz else len(found) > 1


@pytest.mark.parametrize("at_once", [1, 9, 50])
@pytest.mark.parametrize(
    "of", [rows.mass, rows.mass_of_squares, rows.lengths, rows.effective_terms]
)
def test_parts_do_not_change_a_bit(monkeypatch, X, at_once, of):
    whole, unit = of(X), rows.of_unit_length(X, np.float32)
    monkeypatch.setattr(rows, "_NONZEROS_AT_ONCE", at_once)
    assert_array_equal(of(X), whole)
    assert_array_equal(rows.of_unit_length(X, np.float32).data, unit.data)


def test_sums_are_those_of_dense_arrays(X):
    dense = X.toarray().astype(np.float64)
    np.testing.assert_allclose(rows.mass(X), dense.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(rows.lengths(X), np.linalg.norm(dense, axis=1), rtol=1e-13)


def test_indices_are_not_widened(X):
    kept = np.arange(40) % 3 > 0
    found = rows.of_columns(X, kept)
    assert_array_equal(found.toarray(), X.toarray() * kept)
    assert found.indices.dtype == found.indptr.dtype == X.indices.dtype == np.int32
    assert rows.as_narrow(np.array([0, 2**31])).dtype == np.int64


def test_effective_terms_are_fewer_if_one_dominates():
    X = sparse.csr_array(np.array([[2.0, 2, 2], [3, 1, 0], [0, 0, 0]]))
    np.testing.assert_allclose(rows.effective_terms(X), [3, 16 / 10, 1])


@pytest.mark.parametrize("at_once", [1, 10_000])
def test_the_first_columns_are_the_same_for_few_and_many_documents(monkeypatch, X, at_once):
    monkeypatch.setattr(rows, "_NONZEROS_AT_ONCE", at_once)
    found = rows.leading(X, 13)
    assert_array_equal(found.toarray(), X.toarray()[:, :13])
    assert rows.leading(X, 40) is X


@pytest.mark.parametrize("n_docs", [0, 1, 2, 90])
def test_side_by_side(X, n_docs):
    left, right = X[:n_docs], X[90 - n_docs :, :7]
    found = rows.side_by_side(left, right)
    assert_array_equal(found.toarray(), np.hstack([left.toarray(), right.toarray()]), strict=True)


@pytest.mark.parametrize("of", [slice(1, 3), slice(7, 8), slice(None)])
def test_terms_that_no_document_has_are_removed(X, of):
    wide = sparse.csr_array(sparse.hstack([X[of], sparse.csr_array((X[of].shape[0], 500))]))
    found, used = rows.without_unused_terms(wide)
    assert_array_equal(found.toarray(), wide.toarray()[:, used])
    assert_array_equal(used, np.flatnonzero(wide.toarray().any(axis=0)))


def test_no_documents():
    assert not len(rows.mass(sparse.csr_array((0, 3))))
    assert_array_equal(rows.mass(sparse.csr_array((3, 0))), np.zeros(3))
