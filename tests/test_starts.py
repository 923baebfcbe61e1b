"""Where a fit begins: random, by label, or as given."""

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from vbnmf import SupervisedVBNMF
from vbnmf.core import starts
from vbnmf.engines.local import LocalEngine
from vbnmf.estimators.labels import check_targets
from vbnmf.estimators.starting import Start
from vbnmf.kernels.reference import ReferenceKernel

pytestmark = pytest.mark.kernel


def begin(engine, init, K, knobs, labels, rng, dtype, burn_in=0):
    groups = np.zeros((0, labels.known.shape[1]), dtype=bool)
    start = Start(init, K, False, burn_in, scopes=None, scoped=False, groups=groups)
    return start.begin(engine, None, knobs, labels, rng, dtype)


sizes_of_labels = st.lists(st.integers(0, 10**5), min_size=1, max_size=12).map(np.array)


@given(sizes_of_labels, st.integers(1, 60))
def test_every_label_has_its_own_components(n_docs, K):
    n_labels = len(n_docs)
    portions = starts.label_portions(n_docs, K)
    assert portions.shape == (n_labels, K)
    assert_allclose(portions.sum(axis=1), 1)
    own = portions > (1 - starts.OWN_PART) / K * (1 + 1e-9)
    assert own.any(axis=1).all()
    assert_allclose((portions * own).sum(axis=1), starts.OWN_PART + own.sum(axis=1) * 0.01 / K)
    if n_labels <= K:
        assert own.sum(axis=0).max() == 1
        assert own.any(axis=0).all()
        counts = own.sum(axis=1)
        more = n_docs[:, None] > n_docs[None]
        assert (counts[:, None] >= counts[None])[more].all()
        # nor would any of them be worth more with another label
        worth = np.sqrt(n_docs)
        assert (worth / (counts + 0.5)).max() <= (worth / (counts - 0.5))[counts > 1].min(
            initial=np.inf
        ) * (1 + 1e-9)
    else:
        assert_array_equal(own.sum(axis=1), 1)
        uses = own.sum(axis=0)
        assert uses.max() - uses.min() <= 1


def test_components_go_by_the_roots_of_sizes():
    portions = starts.label_portions(np.array([10_000, 100, 2_500]), 80)
    assert_array_equal((portions > 0.001).sum(axis=1), [50, 5, 25])


def test_as_many_components_as_labels_are_one_each():
    portions = starts.label_portions(np.array([3, 3]), 2)
    assert_allclose(portions, [[0.995, 0.005], [0.005, 0.995]])


def test_the_commonest_labels_share_last():
    """Three components for five labels: the two rarest join the commonest, in turn."""
    favoured = starts.label_portions(np.array([5, 50, 1, 20, 9]), 3).argmax(axis=1)
    assert_array_equal(favoured[[1, 3, 4]], [0, 1, 2])
    assert_array_equal(favoured[[0, 2]], [0, 1])


@pytest.mark.parametrize("K", [2, 3, 5])
def test_rounding_does_not_decide(K):
    """class_weight="balanced" makes labels equal, but for the last bit."""
    equal, rounded = np.full(3, 15.0), np.array([15.0, 15 * (1 + 2**-51), 15.0])
    assert_array_equal(starts.label_portions(equal, K), starts.label_portions(rounded, K))


@pytest.mark.parametrize("kind", ["label", "random"])
def test_burn_in_goes_by_the_start(kind):
    seen = {}
    for burn_in in ("auto", 0, 10):
        X, y = make_corpus(30, 20, 3)
        parameters = {"init": kind, "burn_in": burn_in, "max_iter": 12, "tol": 0}
        seen[burn_in] = SupervisedVBNMF(4, random_state=0, **parameters).fit(X, y).components_
    assert_array_equal(seen["auto"], seen[0 if kind == "label" else 10])
    assert not np.array_equal(seen[0], seen[10])


def test_components_that_are_given_have_no_burn_in():
    X, y = make_corpus(30, 20, 3)
    init = np.random.default_rng(0).gamma(1, 1, (4, 20))
    auto, none, ten = (
        SupervisedVBNMF(4, init=init, burn_in=burn_in, max_iter=12, tol=0).fit(X, y).components_
        for burn_in in ("auto", 0, 10)
    )
    assert_array_equal(auto, none)
    assert not np.array_equal(auto, ten)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_documents_of_unknown_label_take_no_part(kernel, dtype):
    """Their terms begin with the prior alone in all components."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.gamma(1, 1, (12, 10)).astype(dtype) * (np.arange(10) < 5))
    X = sparse.vstack([X, sparse.csr_array(np.eye(10, dtype=dtype)[5:] * dtype(50))]).tocsr()
    targets = check_targets(SupervisedVBNMF(), [0, 1] * 6 + [None] * 5, 17)
    engine = LocalEngine(kernel, X, targets.group, targets.n_groups, 3, unknown=True)
    knobs = starts.Knobs(a_t=0.5, b_t=None, a_v=1.0, b_v=None, a_lam=2.0)
    state = begin(engine, "label", 3, knobs, targets.labels, rng, np.dtype(dtype))
    shapes = state.terms.shape[:, :3]
    assert_allclose(shapes[5:], 0.5)
    assert_allclose((shapes[:5] - 0.5).sum(axis=1), X[:12].sum(axis=0)[:5], rtol=1e-5)
    # but their own weight is spread as their labels would have it
    own = starts.label_portions(targets.labels.documents(engine.totals.n_docs), 3)
    assert_allclose(
        engine.Sigma_v[12:], np.repeat(50 * own.mean(axis=0)[None], 5, axis=0), rtol=1e-5
    )


def test_weights_count_in_the_start():
    X, y = make_corpus(12, 9, 3)
    weight = np.random.default_rng(0).integers(0, 3, 12).astype(float)
    engine = LocalEngine(ReferenceKernel(), X, y, 3, 4, weight)
    dense = np.eye(3)[y].T @ (weight[:, None] * X.toarray())
    assert_allclose(engine.group_term_sums().toarray(), dense)


def test_random_shapes_deal_out_all_weight():
    X, y = make_corpus(30, 20, 3)
    totals = LocalEngine(ReferenceKernel(), X, y, 3, 4).totals
    shapes = np.empty((20, 4))
    starts.random_shapes(np.random.default_rng(0), totals, 0.5, shapes)
    assert_allclose((shapes - 0.5).sum(axis=1), totals.term_sums, rtol=1e-5, atol=1e-5)
    assert shapes.std(axis=1)[totals.term_sums > 0].min() > 0


def test_label_shapes_follow_the_labels():
    X, y = make_corpus(60, 20, 2)
    engine = LocalEngine(ReferenceKernel(), X, y, 2, 2)
    portions = np.array([[1.0, 0.0], [0.0, 1.0]])
    shapes = np.empty((20, 2))
    starts.label_shapes(np.random.default_rng(0), engine.group_term_sums(), portions, 0.5, shapes)
    assert_allclose((shapes - 0.5).sum(axis=1), engine.totals.term_sums, rtol=1e-6, atol=1e-9)
    only_first = X.copy()
    only_first.data = only_first.data * np.repeat(y == 0, np.diff(X.indptr))
    sums = LocalEngine(ReferenceKernel(), only_first, y, 2, 2).group_term_sums()
    starts.label_shapes(np.random.default_rng(0), sums, portions, 0.5, shapes)
    assert_allclose(shapes[:, 1], 0.5)
    assert_allclose(shapes[:, 0] - 0.5, only_first.sum(axis=0), rtol=1e-6)


def test_spread_follows_portions():
    X, y = make_corpus(12, 9, 3)
    engine = LocalEngine(ReferenceKernel(), X, y, 3, 4)
    portions = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    engine.begin(portions)
    assert_allclose(engine.Sigma_v, X.sum(axis=1)[:, None] * portions[y])
    engine.begin(starts.even_portions(4))
    assert_allclose(engine.Sigma_v, np.repeat(X.sum(axis=1)[:, None] / 4, 4, axis=1))


def test_given_components_are_where_it_begins():
    X, y = make_corpus(40, 20, 2)
    init = np.random.default_rng(0).gamma(0.3, 1, (3, 20))
    totals = LocalEngine(ReferenceKernel(), X, y, 2, 3).totals
    shapes = np.empty((20, 3))
    starts.given_shapes(init, totals, 0.5, shapes)
    assert_allclose((shapes - 0.5) / (shapes - 0.5).sum(), init.T / init.sum())


def test_label_start_separates_labels_that_share_no_term():
    """Blocks of terms by label: the label start has found them before the first iteration."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 20)
    X = rng.poisson(3.0, (120, 30)) * (y[:, None] == np.arange(30) // 5)
    for seed in range(5):
        model = SupervisedVBNMF(6, max_iter=3, tol=0, random_state=seed).fit(X, y)
        assert len(set(model.label_activations_.argmax(axis=1))) == 6


def test_sums_are_in_double_precision():
    X, y = make_corpus(3000, 5, 2)
    totals = LocalEngine(ReferenceKernel(), X.astype(np.float32), y, 2, 2).totals
    assert_allclose(
        totals.term_sums, X.astype(np.float32).toarray().astype(float).sum(axis=0), rtol=1e-12
    )


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
def test_fitted_portions_explain_labels_better_than_even_ones(n_labels, K, seed):
    rng = np.random.default_rng(seed)
    shapes = rng.gamma(0.3, 1, (15, K)) + 0.01
    T = shapes / shapes.sum(axis=0)
    B = rng.poisson(rng.dirichlet(np.full(K, 0.2), n_labels) @ T.T * 200)
    portions = starts.fitted_portions(sparse.csr_array(B.astype(float)), shapes)
    assert_allclose(portions.sum(axis=1), 1)
    assert portions.min() >= (1 - starts.OWN_PART) / K * (1 - 1e-9)
    fitted = (portions - (1 - starts.OWN_PART) / K) / starts.OWN_PART
    likelihood = [(B * np.log(P @ T.T)).sum(axis=1) for P in (fitted, starts.even_portions(K))]
    assert (likelihood[0] >= likelihood[1] - 1e-9).all()


def test_fitted_portions_find_the_parts():
    T = np.array([[0.5, 0.5, 1e-9, 1e-9], [1e-9, 1e-9, 0.2, 0.8]]).T
    B = sparse.csr_array([[3.0, 3, 0, 0], [0, 0, 2, 8], [1, 1, 0.4, 1.6], [0, 0, 0, 0]])
    B.data[:2] *= 7  # how much there is of a label does not matter
    rest = (1 - starts.OWN_PART) / 2
    expected = starts.OWN_PART * np.array([[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]]) + rest
    got = starts.fitted_portions(B, 40 * T)
    assert_allclose(got[:3], expected[:3], atol=1e-6)
    assert np.isfinite(got).all()  # where there is nothing to go by


def test_documents_begin_in_given_components_by_their_label(kernel):
    """Unless a burn-in holds labels off."""
    X = sparse.csr_array(np.array([[4.0, 4, 0, 0], [2, 2, 0, 0], [0, 0, 3, 3], [5, 0, 0, 1]]))
    targets = check_targets(SupervisedVBNMF(), ["a", "a", "b", None], 4)
    init = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    knobs = starts.Knobs(a_t=1e-6, b_t=None, a_v=1.0, b_v=None, a_lam=2.0)
    spread = {}
    for burn_in in (0, 10):
        engine = LocalEngine(kernel, X, targets.group, targets.n_groups, 2, unknown=True)
        rng = np.random.default_rng(0)
        begin(engine, init, 2, knobs, targets.labels, rng, np.dtype(float), burn_in)
        spread[burn_in] = engine.Sigma_v / engine.Sigma_v.sum(axis=1, keepdims=True)
    a, b = [0.995, 0.005], [0.005, 0.995]
    unknown = np.array([2 * np.array(a) + b]) / 3
    assert_allclose(spread[0], np.vstack([a, a, b, unknown]), atol=1e-5)
    assert_allclose(spread[10], 0.5)
