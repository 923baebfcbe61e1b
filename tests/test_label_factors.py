"""Factors of the documents of each label, and the search that begins with them."""

import numpy as np
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose
from scipy import sparse

from vbnmf import SupervisedVBNMF
from vbnmf.discovery import componentsearch
from vbnmf.discovery.clusters import cluster_term_sums
from vbnmf.discovery.drafts import Plan
from vbnmf.discovery.labelfactors import _singular_vectors, factor_parts, factor_term_sums
from vbnmf.engines.local import LocalEngine
from vbnmf.metrics import matched_similarity


def mixtures(n_docs=200, n_topics=4, n_terms=60, seed=0):
    """Documents that mix topics, and the topics, (n_topics, n_terms)."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    use = rng.dirichlet(np.full(n_topics, 0.3), n_docs)
    return sparse.csr_array(rng.poisson(40 * use @ topics).astype(float)), topics


def everyone(n_docs):
    return sparse.csc_array(np.ones((n_docs, 1)))


def test_factors_are_the_topics_of_mixed_documents():
    X, topics = mixtures()
    sums = factor_term_sums(X, everyone(200), np.array([4]))
    assert matched_similarity(sums.toarray(), topics).min() > 0.8


def test_factors_divide_the_terms_of_each_label():
    X, _ = mixtures()
    Y = np.eye(3)[np.arange(200) % 3]
    Y[7] = 1.0  # a document of all labels
    sums = factor_term_sums(X, sparse.csc_array(Y), np.array([3, 1, 2])).toarray()
    of_label = [sums[:3].sum(axis=0), sums[3], sums[4:].sum(axis=0)]
    assert_allclose(of_label, Y.T @ X.toarray())
    assert (sums >= 0).all()
    assert (sums.sum(axis=1) > 0).all()


def test_start_of_factors_is_the_singular_value_decomposition():
    X, _ = mixtures()
    U = _singular_vectors(X, sparse.csr_array(X.T), 4)
    expected = np.linalg.svd(X.toarray(), full_matrices=False)[0][:, :4]
    assert_allclose(np.abs(U.T @ expected), np.eye(4), atol=1e-6)


def test_factors_do_not_depend_on_the_order_of_documents():
    X, _ = mixtures()
    order = np.random.default_rng(1).permutation(200)
    one = factor_term_sums(X, everyone(200), np.array([4]))
    other = factor_term_sums(X[order], everyone(200), np.array([4]))
    assert_allclose(one.toarray(), other.toarray(), rtol=1e-6, atol=1e-9)


def test_a_weight_of_two_is_a_document_twice():
    X, _ = mixtures(60)
    weight = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weight)
    one = factor_term_sums(X, sparse.csc_array(weight[:, None].astype(float)), np.array([3]))
    other = factor_term_sums(X[repeated], everyone(len(repeated)), np.array([3]))
    assert_allclose(one.toarray(), other.toarray(), rtol=1e-6, atol=1e-9)


def test_threads_do_not_change_factors():
    X, _ = mixtures()
    members, counts = sparse.csc_array(np.eye(3)[np.arange(200) % 3]), np.array([4, 3, 5])
    one, many = (factor_term_sums(X, members, counts, n) for n in (1, 3))
    assert (one != many).nnz == 0


@pytest.mark.parametrize(
    "X", [np.ones((1, 5)), np.ones((6, 1)), np.zeros((3, 4)), np.ones((4, 4)), np.eye(3)]
)
def test_few_or_equal_documents(X):
    parts = factor_parts(sparse.csr_array(X), np.ones(len(X)), 3)
    assert parts.shape == (len(X), 3)
    assert_allclose(parts.sum(axis=1), 1.0)


def test_a_label_without_documents_has_empty_rows():
    X, _ = mixtures(20)
    members = sparse.csc_array(np.column_stack([np.ones(20), np.zeros(20)]))
    sums = factor_term_sums(X, members, np.array([2, 2]))
    assert sums.shape == (4, 60)
    assert sums[2:].nnz == 0


def test_a_sample_changes_factors_less_than_clusters():
    found = []
    for seed in range(5):
        X, _ = mixtures(300, n_topics=8, n_terms=100, seed=seed)
        rng = np.random.default_rng(seed)
        samples = [np.flatnonzero(rng.random(300) < 0.9) for _ in range(2)]
        factors, clusters = (
            [sums(X[rows], everyone(len(rows)), np.array([5]), *more).toarray() for rows in samples]
            for sums, more in ((factor_term_sums, ()), (cluster_term_sums, (None,)))
        )
        found.append([matched_similarity(*pair).mean() for pair in (factors, clusters)])
    of_factors, of_clusters = np.mean(found, axis=0)
    assert of_factors > 0.95 > of_clusters


def test_the_default_search_is_steady(monkeypatch):
    """It begins with factors and adds nothing; a given number is searched for in all ways."""
    X, y = make_corpus(120, 40, 3)
    steps = []
    residuals, factors = componentsearch.with_residuals, LocalEngine.factor_term_sums
    monkeypatch.setattr(
        componentsearch, "with_residuals", lambda *a: steps.append("added") or residuals(*a)
    )
    monkeypatch.setattr(
        LocalEngine, "factor_term_sums", lambda *a: steps.append("factors") or factors(*a)
    )
    SupervisedVBNMF(max_iter=2, tol=0, classifier="generative").fit(X, y)
    assert steps == ["factors"]
    steps.clear()
    SupervisedVBNMF(6, max_iter=2, tol=0, classifier="generative").fit(X, y)
    assert "added" in steps
    assert "factors" not in steps


def test_a_steady_search_begins_with_as_many_components_as_requested():
    none = np.zeros((0, 3), dtype=bool)
    n_docs = np.array([100.0, 100.0, 400.0])
    steady = componentsearch.starting_counts(n_docs, Plan(12, none, background=True, soft=True))
    other = componentsearch.starting_counts(n_docs, Plan(12, none, background=True))
    assert steady.tolist() == [3, 3, 6]
    assert other.sum() == 24
