"""Where a fit begins: random, by label, or as given."""

import numpy as np
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose, assert_array_equal

from vbnmf import SupervisedVBNMF
from vbnmf.core import starts
from vbnmf.engines.local import LocalEngine
from vbnmf.kernels.reference import ReferenceKernel


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 30])
def test_every_label_has_a_component_and_every_component_a_label(K):
    portions = starts.label_portions(np.array([5, 50, 1]), K)
    assert portions.shape == (3, K)
    assert_allclose(portions.sum(axis=1), 1)
    favoured = portions > portions.min(axis=1, keepdims=True) * 1.5
    if K > 1:
        assert favoured.any(axis=1).all()
    if K >= 3:
        assert_array_equal(favoured.sum(axis=0), 1)
        counts = favoured.sum(axis=1)
        assert counts.max() - counts.min() <= 1
        assert counts[1] == counts.max()  # the commonest label comes first


def test_favour_is_as_documented():
    portions = starts.label_portions(np.array([3, 3]), 2)
    assert_allclose(portions, np.array([[10, 1], [1, 10]]) / 11)


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
    engine.spread(portions)
    assert_allclose(engine.Sigma_v, X.sum(axis=1)[:, None] * portions[y])
    engine.spread(starts.even_portions(4))
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
