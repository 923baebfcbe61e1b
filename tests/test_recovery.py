"""Data drawn from the model is recovered."""

import numpy as np
import pytest
from smallfits import draw, match

from vbnmf import VBNMF, SupervisedVBNMF, inter_label_sparsity

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_supervised_recovery(dtype):
    X, y, T, V, means = draw()
    model = SupervisedVBNMF(4, label_shape=1, n_init=3, random_state=0, max_iter=500)
    found = model.fit_coefficients(X.astype(dtype), y)
    cosines, order = match(model.components_, T.T)
    assert cosines.min() > 0.98
    activations = model.label_activations_ * model.component_sums_
    strong = means[:, order] > 1
    assert np.abs(np.log(activations[strong] / means[:, order][strong])).max() < 0.35
    assert activations[~strong].max() < 3
    sizes = found * model.component_sums_
    correlation = [np.corrcoef(sizes[:, k], V[:, order[k]])[0, 1] for k in range(4)]
    assert min(correlation) > 0.98
    expected = inter_label_sparsity(V, y)
    assert inter_label_sparsity(sizes, y) == pytest.approx(expected, abs=0.02)


def test_unsupervised_recovery():
    X, _, T, _, _ = draw()
    model = VBNMF(4, coef_shape=0.3, n_init=3, random_state=0, max_iter=500).fit(X)
    cosines, _ = match(model.components_, T.T)
    assert cosines.min() > 0.97


def test_the_bound_prefers_the_true_number_of_components():
    X, y, *_ = draw()
    bounds = {
        K: SupervisedVBNMF(K, label_shape=1, n_init=2, random_state=0, max_iter=300)
        .fit(X, y)
        .bound_
        for K in (2, 3, 4, 8)
    }
    assert max(bounds, key=bounds.get) == 4


def test_projection_of_new_documents_finds_their_coefficients():
    X, y, T, V, _ = draw()
    model = SupervisedVBNMF(4, label_shape=1, n_init=3, random_state=0).fit(X[:400], y[:400])
    _, order = match(model.components_, T.T)
    sizes = model.transform(X[400:]) * model.component_sums_
    correlation = [np.corrcoef(sizes[:, k], V[400:, order[k]])[0, 1] for k in range(4)]
    assert min(correlation) > 0.95


def test_posterior_shapes_cover_the_truth():
    """90 % intervals of strong term weights hold the truth about as often as they say."""
    from scipy.stats import gamma

    X, y, T, _, _ = draw(n_docs=2000)
    model = SupervisedVBNMF(4, label_shape=1, n_init=3, random_state=0, max_iter=500).fit(X, y)
    _, order = match(model.components_, T.T)
    truth = T[:, order].T * model.component_sums_[:, None]
    strong = truth > 1e-3
    scales = model.component_scales_[:, None]
    low, high = (gamma.ppf(q, model.component_shapes_, scale=scales) for q in (0.05, 0.95))
    covered = ((low <= truth) & (truth <= high))[strong].mean()
    assert 0.7 < covered < 0.97
