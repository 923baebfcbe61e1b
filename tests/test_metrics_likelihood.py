"""Document completion: halves that are halves, and probabilities by dense algebra."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import examples
from scipy import sparse

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.metrics import completion_log_likelihood, likelihood, split_documents

DOCUMENTS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 9)),
    elements=st.sampled_from([0.0, 1.0, 2.5]),
)


class Given:
    """A model whose coefficients are given."""

    def __init__(self, V, T):
        self.V = np.asarray(V, dtype=np.float32)
        self.components_ = np.asarray(T, dtype=np.float32)
        self.component_sums_ = self.components_.sum(axis=1)

    def transform(self, X):
        self.seen = X
        return self.V


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(rng.gamma(0.3, 2, (60, 3)) @ rng.gamma(0.3, 1, (3, 25))))
    X = X[np.diff(X.indptr) > 0].astype(np.float32)
    return VBNMF(3, random_state=0, max_iter=60).fit(X), X


@examples(80)
@given(X=DOCUMENTS, seed=st.integers(0, 50))
def test_halves(X, seed):
    first, second = split_documents(X, seed)
    np.testing.assert_array_equal((first + second).toarray(), X)
    assert not ((first.toarray() > 0) & (second.toarray() > 0)).any()
    n_terms = (X > 0).sum(axis=1)
    np.testing.assert_array_equal(np.diff(second.indptr), n_terms // 2)
    assert first.shape == second.shape == X.shape
    assert (first.data > 0).all()


def test_halves_are_random_and_go_by_the_seed():
    X = np.ones((400, 6))
    first, _ = split_documents(X, seed=3)
    again, _ = split_documents(sparse.csr_matrix(X), seed=3)
    np.testing.assert_array_equal(first.toarray(), again.toarray())
    other, _ = split_documents(X, seed=4)
    assert (first != other).nnz > 400
    # each term is in the first half of half of the documents, and so is each pair in a fifth
    np.testing.assert_allclose(first.toarray().mean(axis=0), 1 / 2, atol=0.1)
    together = (first.T @ first).toarray() / 400
    np.testing.assert_allclose(together[~np.eye(6, dtype=bool)], 1 / 5, atol=0.08)


def test_halves_do_not_depend_on_how_documents_are_stored():
    tidy = sparse.csr_array(np.array([[1.0, 2.0, 0.0, 3.0], [0.0, 4.0, 5.0, 0.0]]))
    untidy = sparse.csr_array(
        ([3.0, 0.5, 0.5, 0.0, 2.0, 5.0, 4.0], [3, 0, 0, 2, 1, 2, 1], [0, 5, 7]), shape=(2, 4)
    )
    before = untidy.data.copy()
    for a, b in zip(split_documents(tidy, 1), split_documents(untidy, 1), strict=True):
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    np.testing.assert_array_equal(untidy.data, before)


@examples(60)
@given(X=DOCUMENTS, K=st.integers(1, 4), seed=st.integers(0, 50), at_once=st.integers(1, 30))
def test_log_likelihood_equals_dense_algebra(X, K, seed, at_once):
    rng = np.random.default_rng(seed)
    model = Given(rng.gamma(1.0, size=(len(X), K)), rng.gamma(1.0, size=(K, X.shape[1])))
    first, second = (half.toarray() for half in split_documents(X, seed))
    if not second.any():
        with pytest.raises(ValueError, match=f"none of {len(X)} documents has two terms"):
            completion_log_likelihood(model, X, seed)
        return
    p = model.V.astype(float) @ model.components_.astype(float)
    p /= p.sum(axis=1, keepdims=True)
    expected = (second * np.log(p)).sum() / second.sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood, "_AT_ONCE", at_once)
        found = completion_log_likelihood(model, X, seed)
    assert found == pytest.approx(expected, rel=1e-5)
    np.testing.assert_array_equal(model.seen.toarray(), first)  # and nothing of the second half


def test_of_a_fitted_model(fitted):
    model, X = fitted
    _, second = split_documents(X, 5)
    V = model.transform(split_documents(X, 5)[0]).astype(float)
    p = V @ model.components_.astype(float)
    p /= p.sum(axis=1, keepdims=True)
    expected = (second.toarray() * np.log(p)).sum() / second.sum()
    found = completion_log_likelihood(model, X, seed=5)
    assert isinstance(found, float)
    assert found == pytest.approx(expected, rel=1e-5)
    assert completion_log_likelihood(model, X.toarray(), seed=5) == found
    assert completion_log_likelihood(model, X, seed=6) != found


def test_structure_is_rewarded():
    """Two components of blocks are better than one, which is as good as guessing."""
    X = 5 * np.kron(np.eye(2), np.ones((20, 8)))
    two, one = (
        completion_log_likelihood(VBNMF(K, random_state=0).fit(X[::2]), X[1::2]) for K in (2, 1)
    )
    assert one == pytest.approx(-np.log(16), abs=0.01)
    assert -np.log(8) - 0.1 < two < -np.log(8) + 1e-6


def test_number_of_threads_does_not_matter(fitted):
    model, X = fitted
    found = [completion_log_likelihood(model.set_params(n_jobs=n), X) for n in (1, 2)]
    assert found[0] == found[1]


def test_supervised_and_empty_documents(fitted):
    _, X = fitted
    y = np.arange(X.shape[0]) % 2
    model = SupervisedVBNMF(3, random_state=0, max_iter=20).fit(X, y)
    found = completion_log_likelihood(model, X)
    more = sparse.vstack([X, sparse.csr_array((3, X.shape[1]), dtype=X.dtype)], format="csr")
    assert completion_log_likelihood(model, more) == pytest.approx(found, rel=1e-9)


def test_terms_of_no_probability():
    model = Given([[1.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]])
    seen = next(s for s in range(9) if split_documents([[1.0, 1.0]], s)[1].indices[0] == 1)
    found = completion_log_likelihood(model, [[1.0, 1.0]], seen)
    assert found == pytest.approx(np.log(np.finfo(float).tiny))


def test_refused(fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="none of 4 documents has two terms"):
        completion_log_likelihood(model, np.eye(4, X.shape[1]))
    with pytest.raises(ValueError, match="features"):
        completion_log_likelihood(model, X[:, :20])
