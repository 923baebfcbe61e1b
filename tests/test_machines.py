"""Linear machines: the compiled ones against scikit-learn's, folds, weights, threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import LinearSVC

from vbnmf.core.rows import of_unit_length
from vbnmf.kernels import kernel_name
from vbnmf.prediction import machines

compiled = pytest.mark.skipif(kernel_name() != "native", reason="no compiled kernels here")


def documents(n_docs=150, n_labels=5, n_terms=40, n_dense=3, seed=0):
    """Documents of unit length, dense features beside them, labels, weights and folds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, n_docs)
    rates = rng.gamma(0.3, 1, (n_labels, n_terms))
    X = of_unit_length(sparse.csr_array(rng.poisson(0.2 + rates[y]).astype(float)))
    dense = 0.3 * rng.normal(size=(n_labels, n_dense))[y] + 0.1 * rng.normal(size=(n_docs, n_dense))
    weight = rng.uniform(0.3, 2, n_docs)
    return X, dense, sparse.csr_array(np.eye(n_labels)[y]), weight, rng.integers(0, 5, n_docs)


def several(labels):
    """The same documents with a second label for every third of them."""
    Y = labels.toarray()
    Y[::3, 0] = 1
    return sparse.csr_array(Y)


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(machines, "_TOL", 1e-5)
    monkeypatch.setattr(machines, "_TOL_OF_FOLDS", 1e-5)


@pytest.mark.parametrize("kernel", ["native", "scipy"])
@pytest.mark.parametrize("n_labels", [2, 5, 17])
@pytest.mark.parametrize("multilabel", [False, True])
def test_each_label_has_the_machine_of_scikit_learn(
    n_labels, multilabel, kernel, exact, monkeypatch
):
    if kernel == "native" and kernel_name() != "native":
        pytest.skip("no compiled kernels here")
    monkeypatch.setenv("VBNMF_KERNEL", kernel)
    X, dense, labels, weight, fold = documents(n_labels=n_labels)
    labels = several(labels) if multilabel else labels
    found = machines.train(X, dense, labels, weight, fold)
    A = sparse.csr_matrix(sparse.hstack([X, sparse.csr_array(dense)]))
    squares = 0.0
    for label in range(n_labels):
        y = labels.toarray()[:, label] > 0
        cost = np.where(y, weight * max(50 / weight[y].sum(), 1), weight)
        alone = LinearSVC(tol=1e-8, max_iter=100_000).fit(A, y, sample_weight=cost)
        assert_allclose(found.words[label], alone.coef_[0, :40], atol=2e-4)
        assert_allclose(found.dense[label], alone.coef_[0, 40:], atol=2e-4)
        assert found.intercepts[label] == pytest.approx(alone.intercept_[0], abs=2e-4)
        for number in range(5):
            rows = fold != number
            alone.fit(A[rows], y[rows], sample_weight=cost[rows])
            expected = alone.decision_function(A[~rows])
            assert_allclose(found.left_out[~rows, label], expected, atol=1e-3)
            squares += (alone.coef_**2).sum() / 5
    whole = (found.words**2).sum() + (found.dense**2).sum()
    assert found.growth == pytest.approx(np.sqrt(whole / squares), rel=1e-3)
    assert found.growth > 1


@compiled
def test_threads_and_instruction_sets(exact, monkeypatch):
    from vbnmf.kernels import _native

    given = documents(n_labels=20)
    one, two = (machines.train(*given, n_threads=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert_array_equal(a, b)
    for name in _native.instruction_sets():
        monkeypatch.setenv("VBNMF_SIMD", name)
        assert_allclose(machines.train(*given).words, one.words, atol=1e-4)
    monkeypatch.delenv("VBNMF_SIMD")
    _native.use_instruction_set(_native.instruction_sets()[-1])


def test_weights_count_documents(exact):
    X, dense, labels, _, fold = documents()
    times = np.random.default_rng(1).integers(1, 4, 150)
    rows = np.repeat(np.arange(150), times)
    a = machines.train(X, dense, labels, times.astype(float), fold)
    b = machines.train(X[rows], dense[rows], labels[rows], np.ones(len(rows)), fold[rows])
    assert_allclose(a.words, b.words, atol=1e-3)


def test_a_label_that_no_document_has_speaks_against_all():
    X, dense, labels, weight, fold = documents()
    labels = sparse.csr_array(np.column_stack([labels.toarray(), np.zeros(150)]))
    found = machines.train(X, dense, labels, weight, fold)
    assert found.left_out[:, -1].max() < -0.5


def test_labels_of_all_documents_and_of_none_are_constants_without_compiled_kernels():
    A = sparse.csr_array(np.eye(3))
    for y, constant in ((np.ones(3, dtype=bool), 1), (np.zeros(3, dtype=bool), -1)):
        found, converged = machines._one_machine(A, y, np.ones(3), 0.1)
        assert_array_equal(found, [0, 0, 0, constant])
        assert converged


@pytest.mark.parametrize("kernel", ["native", "scipy"])
def test_documents_that_share_one_fold_have_no_left_out_scores(kernel, monkeypatch):
    """As the copies of one document do: nothing is left to train on, and nothing may leak."""
    if kernel == "native" and kernel_name() != "native":
        pytest.skip("no compiled kernels here")
    monkeypatch.setenv("VBNMF_KERNEL", kernel)
    X, dense, labels, weight, fold = documents()
    found = machines.train(X, dense, labels, weight, np.full_like(fold, 3))
    assert_array_equal(found.left_out, 0)
    assert found.growth == 1
    assert_array_equal(found.words, machines.train(X, dense, labels, weight, fold).words)


def test_a_failure_to_converge_is_told(monkeypatch):
    assert machines.train(*documents()).converged
    monkeypatch.setattr(machines, "max_epochs", lambda n_docs: 2)
    assert not machines.train(*documents()).converged


def test_progress_is_told():
    told = []
    machines.train(*documents(), report=lambda done, of: told.append((done, of)))
    assert told[-1][0] == told[-1][1] > 1
