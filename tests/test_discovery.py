"""How components and scopes are found: clusters, merges, a background, their number."""

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse
from scipy.special import gammaln

from benchmarks import drawn
from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core.model import Labels
from vbnmf.core.starts import Knobs
from vbnmf.discovery import componentsearch, drafts
from vbnmf.discovery.clusters import cluster_term_sums
from vbnmf.discovery.drafts import Draft, Plan
from vbnmf.discovery.merging import Merges, _Column, _gains, merge_order
from vbnmf.estimators import starting
from vbnmf.kernels import open_kernel

QUICK = "mixed and common"
NO_GROUPS = np.zeros((0, 3), dtype=bool)


OTHER = [pytest.param(kind, marks=pytest.mark.slow) for kind in drawn.KINDS if kind != QUICK]


@pytest.fixture(scope="module", params=[QUICK, *OTHER])
def found(request):
    """A corpus of each kind, smaller than those of the benchmark, and the default fit to it."""
    corpus = drawn.draw(request.param, 0, n_docs=1200, n_terms=300)
    model = SupervisedVBNMF(len(corpus.components), classifier="generative")
    return request.param, corpus, model.fit(corpus.X, corpus.y)


def test_components_are_found_again(found):
    kind, corpus, model = found
    cosines, ours, true = drawn.match(model.components_, corpus)
    assert (cosines > 0.9).mean() >= (0.95 if kind == "mixed" else 0.85)
    right = (model.scopes_[:, ours] == corpus.scopes[:, true]).all(axis=0)
    assert right.mean() >= 0.75


@pytest.mark.slow
def test_seeds_make_no_difference_and_starts_do(found):
    _, corpus, model = found
    other = SupervisedVBNMF(len(corpus.components), classifier="generative", random_state=7).fit(
        corpus.X, corpus.y
    )
    assert_array_equal(other.components_, model.components_)
    more = SupervisedVBNMF(
        len(corpus.components), classifier="generative", n_init=2, random_state=0
    ).fit(corpus.X, corpus.y)
    assert more.bound_ >= model.bound_


def test_a_background_is_found_where_there_is_one():
    rng = np.random.default_rng(0)
    common, own = np.zeros(60), np.zeros((4, 60))
    common[:20] = rng.dirichlet(np.ones(20))
    for label in range(4):
        own[label, 20 + 10 * label : 30 + 10 * label] = rng.dirichlet(np.ones(10))
    y = np.arange(400) % 4
    part = rng.beta(2, 2, (400, 1))
    X = rng.poisson(60 * (part * common + (1 - part) * own[y]))
    model = SupervisedVBNMF(5).fit(X, y)
    shared = np.flatnonzero(model.scopes_.all(axis=0))
    assert len(shared) == 1
    assert model.components_[shared[0], :20].sum() > 0.95 * model.component_sums_[shared[0]]


def test_documents_without_labels_are_recovered_too():
    corpus = drawn.draw("mixed", 1, n_docs=1200, n_terms=300)
    model = VBNMF(len(corpus.components)).fit(corpus.X)
    assert (drawn.match(model.components_, corpus)[0] > 0.9).mean() >= 0.8


@examples(25, ordinary=8)
@given(st.integers(1, 6), st.integers(1, 9), st.sampled_from([1, 2, 7, 30]), st.integers(0, 10**6))
def test_as_many_components_as_asked_for(n_labels, K, docs_of_a_label, seed):
    """Whatever there is of labels and documents; every label has one and every one has a label."""
    X, _ = make_corpus(n_labels * docs_of_a_label, 12, 1, seed)
    y = np.arange(X.shape[0]) % n_labels
    model = SupervisedVBNMF(K, max_iter=3, tol=0).fit(X, y)
    assert model.components_.shape == (K, 12)
    assert model.scopes_.any(axis=0).all()
    assert model.scopes_.any(axis=1).all()
    assert np.isfinite(model.components_).all()


@pytest.mark.filterwarnings("ignore:.*different labels")
@pytest.mark.slow
@pytest.mark.parametrize(  # more than 600 labels are clustered first
    ("n_labels", "K"), [(500, 30), (700, 30), (700, "auto")]
)
def test_many_labels_of_one_document(n_labels, K):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (n_labels, 40)).astype(float) + np.eye(n_labels, 40))
    model = SupervisedVBNMF(K, max_iter=3, tol=0, classifier="generative")
    model.fit(X, np.arange(n_labels))
    assert model.n_components_ == 30 if K == 30 else model.n_components_ > 1
    assert model.scopes_.shape == (n_labels, model.n_components_)
    assert model.scopes_.any(axis=1).all()


def test_labels_that_are_alike_begin_together():
    """Of many labels, those with the same words share their components."""
    rng = np.random.default_rng(0)
    kind = np.arange(630) % 3
    X = np.zeros((630, 60))
    for k in range(3):
        X[kind == k, 20 * k : 20 * k + 20] = rng.poisson(2, (210, 20))
    model = SupervisedVBNMF(3, max_iter=5, tol=0, classifier="generative")
    model.fit(np.vstack([X, X]), np.tile(np.arange(630), 2))
    strongest = np.argmax(model.label_activations_, axis=1)
    assert all(len(set(strongest[kind == k])) == 1 for k in range(3))
    assert len(set(strongest)) == 3


def g(c, a):
    """The log marginal likelihood of counts, as the module writes it."""
    W = len(c)
    return (gammaln(a + c) - gammaln(a)).sum() - gammaln(W * a + c.sum()) + gammaln(W * a)


def test_gains_are_the_formula():
    counts = np.random.default_rng(0).gamma(1, 5, (30, 4)) * (
        np.random.default_rng(1).random((30, 4)) < 0.5
    )
    counts[counts < 0.06] = 0
    columns = [_Column.of(np.flatnonzero(c), c[c > 0], 0.3) for c in counts.T]
    gains, cosines = _gains(columns[0], columns[1:], 0.3, 30)
    expected = [g(counts[:, 0] + c, 0.3) - g(counts[:, 0], 0.3) - g(c, 0.3) for c in counts.T[1:]]
    assert_allclose(gains, expected, rtol=1e-9)
    unit = counts / np.linalg.norm(counts, axis=0)
    assert_allclose(cosines, unit[:, 0] @ unit[:, 1:], rtol=1e-9)


def test_what_says_the_same_merges_first():
    rng = np.random.default_rng(0)
    T = rng.dirichlet(np.full(50, 0.1), 3)
    counts = np.column_stack([400 * T[0], 300 * T[1], 200 * T[0], 300 * T[2], 100 * T[1]])
    assert merge_order(counts, 0.1, 3).groups(3) == [[0, 2], [1, 4], [3]]


def test_families_merge_last():
    rng = np.random.default_rng(0)
    t = rng.dirichlet(np.full(50, 0.1))
    counts = 200 * np.column_stack([t, t, rng.dirichlet(np.full(50, 0.1)), t])
    merges = merge_order(counts, 0.1, 1, family=np.array([0, 1, 0, 1]))
    assert merges.groups(2) == [[0, 2], [1, 3]]
    assert merges.groups(1) == [[0, 1, 2, 3]]


@given(st.integers(1, 12), st.integers(0, 100))
def test_groups_are_a_partition(K, seed):
    counts = np.random.default_rng(seed).gamma(0.2, 3, (15, K))
    merges = merge_order(counts, 0.2)
    for n in range(1, K + 1):
        groups = merges.groups(n)
        assert len(groups) == n
        assert sorted(k for group in groups for k in group) == list(range(K))
    assert Merges(K, []).groups(1) == [[k] for k in range(K)]


def test_clusters_do_not_depend_on_the_order_of_documents():
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.full(40, 0.1), 3)
    X = sparse.csr_array(rng.poisson(50 * centres[np.arange(90) % 3]).astype(float))
    members = sparse.csc_array(np.ones((90, 1)))
    sums = cluster_term_sums(X, members, np.array([3]), None)
    order = rng.permutation(90)
    again = cluster_term_sums(X[order], members, np.array([3]), None)
    sums, again = sums.toarray(), again.toarray()
    assert_allclose(np.sort(sums, axis=0), np.sort(again, axis=0))
    truth = np.stack([X[np.arange(90) % 3 == k].sum(axis=0) for k in range(3)])
    assert_allclose(np.sort(sums, axis=0), np.sort(truth, axis=0))


def test_a_weight_of_two_is_a_document_twice():
    X, _ = make_corpus(20, 15, 1)
    weight = np.arange(20) % 3
    repeated = np.repeat(np.arange(20), weight)
    a = cluster_term_sums(X, sparse.csc_array(weight[:, None].astype(float)), np.array([3]), None)
    b = cluster_term_sums(
        X[repeated], sparse.csc_array(np.ones((len(repeated), 1))), np.array([3]), None
    )
    assert_allclose(np.sort(a.sum(axis=1)), np.sort(b.sum(axis=1)))


def test_a_component_that_says_nothing_widens_no_scope():
    mask = np.eye(3, dtype=bool)
    draft = Draft(np.array([[9.0, 5, 0], [1, 5, 0]]), np.eye(3), mask)
    merged = drafts.merged(draft, [[0, 2], [1]], 0, Plan(2, NO_GROUPS, background=False))
    assert_array_equal(merged.mask, [[1, 0], [0, 1], [1, 0]])  # but no label is left without
    both = Draft(np.array([[9.0, 5, 0], [1, 5, 0]]), np.eye(3), np.array(
        [[1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool))  # fmt: skip
    merged = drafts.merged(both, [[0, 2], [1]], 0, Plan(2, NO_GROUPS, background=False))
    assert_array_equal(merged.mask, [[1, 0], [0, 1], [0, 1]])


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_a_sample_has_enough_of_rare_labels(monkeypatch):
    monkeypatch.setattr(starting, "MOST_DOCUMENTS", 200)
    monkeypatch.setattr(starting, "LEAST_OF_A_LABEL", 10)
    group = np.repeat([0, 1, 2], [900, 95, 5])
    rows = starting._sample(group, np.bincount(group), sparse.csr_array(np.eye(3)))
    taken = np.bincount(group[rows])
    assert taken[2] == 5
    assert 15 <= taken[1] <= 22
    assert 170 <= taken[0] <= 190
    # with several labels a rare one may be spread over many groups
    groups = np.arange(1000) // 2
    known = np.zeros((500, 2))
    known[:, 0], known[::10, 1] = 1, 1
    rows = starting._sample(groups, np.bincount(groups), sparse.csr_array(known))
    assert 200 <= len(rows) < 220
    assert known[groups[rows], 1].sum() >= 10
    X = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (1000, 20)).astype(float))
    model = SupervisedVBNMF(4, max_iter=5, classifier="generative").fit(X, group)
    assert model.components_.shape == (4, 20)


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_a_sample_is_spread_over_documents_sorted_by_group(at_once, monkeypatch):
    monkeypatch.setattr(starting, "MOST_DOCUMENTS", 90)
    monkeypatch.setattr(starting, "_AT_ONCE", at_once)
    group = np.random.default_rng(0).choice(4, size=300, p=[0.5, 0.05, 0.25, 0.2]).astype(np.uint8)
    sizes = np.bincount(group)[:3]  # the last group has unknown labels
    order = np.argsort(group, kind="stable")[: sizes.sum()]
    place = np.arange(len(order)) * (90 / len(order))
    every_nth = order[np.floor(place + 90 / len(order)) > np.floor(place)]
    assert_array_equal(starting._sample(group, sizes, None), np.sort(every_nth))


def test_progress_tells_of_the_stages(capsys):
    X, y = make_corpus(40, 15, 3)
    seen = []
    model = SupervisedVBNMF(4, max_iter=3, tol=0, classifier="components", callback=seen.append)
    model.fit(X, y)
    stages = list(dict.fromkeys(p.stage for p in seen))
    assert stages[0] == "components of single labels"
    assert stages[-2:] == ["fitting", "prediction head"]
    assert "a background" in stages
    assert str(seen[0]).startswith("components of single labels: iteration 1 of ")


def test_rare_terms_are_not_in_the_search_but_in_the_fit(monkeypatch):
    rng = np.random.default_rng(0)
    common = rng.poisson(2.0, (60, 12)) * (np.arange(12) // 6 == np.arange(60)[:, None] % 2)
    rare = np.eye(60, dtype=int)  # each in one document
    X, y = np.hstack([common, rare]), np.arange(60) % 2
    seen, real = [], componentsearch.discover

    def discover(engine, *rest):
        seen.append(len(engine.totals.term_sums))
        return real(engine, *rest)

    monkeypatch.setattr(componentsearch, "discover", discover)
    monkeypatch.setattr(starting, "MOST_TERMS", 20)
    SupervisedVBNMF(2, classifier="generative").fit(X, y)
    assert seen == [72]  # a small search has room for all
    monkeypatch.setattr(starting, "MOST_NUMBERS", 100)
    model = SupervisedVBNMF(2, classifier="generative").fit(X, y)
    assert seen == [72, 12]
    assert model.components_.shape == (2, 72)
    own = model.label_activations_.argmax(axis=1)
    weight = model.components_[:, 12:]
    assert (weight[own[y], np.arange(60)] > weight[own[1 - y], np.arange(60)]).all()


def test_terms_that_hold_most_of_the_weight_stay_in_the_search(monkeypatch):
    monkeypatch.setattr(starting, "MOST_TERMS", 20)
    X = sparse.csr_array(np.eye(30))  # no term is in two documents
    corpus = starting.FitData(X, np.zeros(30, np.int64), 1, None, None)
    assert corpus.common_terms().all()
    twice = starting.FitData(X, corpus.group, 1, None, np.repeat([2.0, 1.0], [18, 12]))
    assert twice.common_terms().sum() == 18  # a weight of two stands for two documents


def test_threads_do_not_change_clusters():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (90, 40)).astype(float))
    members = sparse.csc_array(np.eye(3)[np.arange(90) % 3])
    counts = np.array([4, 3, 5])
    one, many = (cluster_term_sums(X, members, counts, None, n) for n in (1, 3))
    assert (one != many).nnz == 0


def test_clusters_of_a_label_without_documents_are_empty():
    members = sparse.csc_array(np.tile([1.0, 0.0], (300, 1)))
    sums = cluster_term_sums(sparse.csr_array(np.ones((300, 2))), members, np.array([1, 2]), None)
    assert sums.toarray().tolist() == [[300, 300], [0, 0], [0, 0]]


def test_clusters_are_smoothed_by_the_terms_of_their_label():
    """A fifth of the weight of a cluster has the distribution of the label, and no other terms."""
    X = sparse.csr_array(np.kron(np.diag([6.0, 2.0, 5.0]), np.ones((8, 2))))  # three sharp clusters
    y = np.repeat([0, 0, 1], 8)
    corpus = starting.FitData(X, y, 2, Labels.one_each(np.bincount(y)), None)
    with open_kernel(1) as kernel:
        explorer = componentsearch._Explorer(
            corpus.in_memory(kernel), corpus.labels, Knobs(0.1, None, 0.2, None), X.dtype,
            lambda *_: None,
        )  # fmt: skip
        draft = componentsearch._of_single_labels(explorer, np.array([2, 1]), None)
    strong, weak = np.argsort(-draft.counts[0, :2])
    of_label = np.array([48, 48, 16, 16, 0, 0]) / 128
    for at, own in ((strong, [48, 48, 0, 0, 0, 0]), (weak, [0, 0, 16, 16, 0, 0])):
        expected = 0.8 * np.array(own) + 0.2 * of_label * np.sum(own)
        assert_allclose(draft.counts[:, at], expected)
    assert_allclose(draft.counts[:, 2], [0, 0, 0, 0, 40, 40])


@pytest.fixture
def found_drafts(monkeypatch):
    """The drafts that searches find, in a list."""
    found, real = [], componentsearch.discover

    def discover(*given):
        result = real(*given)
        found.append(result.draft)
        return result

    monkeypatch.setattr(componentsearch, "discover", discover)
    return found


def test_the_search_is_the_same_in_both_precisions(found_drafts):
    X, y = make_corpus(60, 30, 3)
    for dtype in (np.float32, np.float64):
        SupervisedVBNMF(5, max_iter=1, classifier="generative").fit(X.astype(dtype), y)
    single, double = found_drafts
    for name in ("counts", "portions", "mask"):
        assert_array_equal(getattr(single, name), getattr(double, name), err_msg=name)


def test_the_search_computes_with_large_values_in_double_precision(found_drafts):
    X, y = make_corpus(60, 30, 3)
    SupervisedVBNMF(5, max_iter=1, classifier="generative").fit(X * 1e7, y)
    assert found_drafts[0].counts.dtype == np.float64
