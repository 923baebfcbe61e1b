"""Credible intervals: right quantiles, and the coverage that the documentation tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy import stats
from sklearn.exceptions import NotFittedError
from smallfits import draw, match

from vbnmf import VBNMF, SupervisedVBNMF

SEEDS = range(6)
PAPER = {"scopes": "all", "coef_shape": 1, "term_shape": 0.5}


@pytest.fixture(scope="module")
def model():
    X, y, *_ = draw(n_docs=90)
    return SupervisedVBNMF(4, label_shape=1, random_state=0, max_iter=50).fit(X, y)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantiles_of_terms(model, level):
    posterior = stats.gamma(model.component_shapes_, scale=model.component_scales_[:, None])
    low, high = model.component_interval(level)
    assert low.shape == high.shape == model.components_.shape
    np.testing.assert_allclose(posterior.cdf(low), (1 - level) / 2, atol=1e-9)
    np.testing.assert_allclose(posterior.sf(high), (1 - level) / 2, atol=1e-9)


@pytest.mark.parametrize("label_shape", [1, 100])
def test_quantiles_of_labels(label_shape):
    """Inverse gamma quantiles of the label's own documents, whatever the knob of sparsity says."""
    X, y, *_ = draw(n_docs=90)
    model = SupervisedVBNMF(
        4, label_shape=label_shape, coef_shape=0.7, random_state=0, max_iter=50
    ).fit(X, y)
    n = np.bincount(y)[:, None]
    sums = n * model.label_activations_
    low, high = model.label_interval(0.9)
    used = model.scopes_
    expected = stats.invgamma(0.7 * (n * used)[used], scale=0.7 * sums[used])
    np.testing.assert_allclose(expected.cdf(low[used]), 0.05, atol=1e-9)
    np.testing.assert_allclose(expected.sf(high[used]), 0.05, atol=1e-9)
    assert (low < model.label_activations_)[used].all()
    assert (high > model.label_activations_)[used].all()
    # a label does not use components out of whose scope it is, for certain
    assert not used.all()
    assert (low[~used] == 0).all()
    assert (high[~used] == 0).all()


def test_with_a_weak_prior_the_posterior_of_rates_says_the_same():
    X, y, *_ = draw(n_docs=600)
    model = SupervisedVBNMF(
        4, label_shape=0.01, init="label", random_state=0, max_iter=600, tol=0, **PAPER
    ).fit(X, y)
    rates = stats.gamma(model.fitted_.labels.rate_shapes, scale=model.fitted_.labels.rate_scales)
    low, high = model.label_interval(0.9)
    np.testing.assert_allclose(low, 1 / rates.ppf(0.95), rtol=0.01)
    np.testing.assert_allclose(high, 1 / rates.ppf(0.05), rtol=0.01)


def test_chosen_components(model):
    low, high = model.component_interval()
    for chosen in (2, [2], np.arange(4) == 2):
        some = model.component_interval(components=chosen)
        np.testing.assert_array_equal(some, (low[[2]], high[[2]]))
    with pytest.raises(ValueError, match=r"indices of components: index 4 is out of bounds"):
        model.component_interval(components=[4])


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_single_precision_is_kept():
    X, *_ = draw(n_docs=40)
    model = VBNMF(3, random_state=0, max_iter=20).fit(X.astype(np.float32))
    low, high = model.component_interval()
    assert low.dtype == high.dtype == np.float32
    assert (low < high).all()


@examples(25)
@given(level=st.floats(0.01, 0.99), wider=st.floats(0.001, 0.009))
def test_intervals_of_higher_level_are_wider(model, level, wider):
    for interval, at in (model.component_interval, ...), (model.label_interval, model.scopes_):
        (low, high), (lower, higher) = interval(level), interval(level + wider)
        assert (lower < low)[at].all()
        assert (low < high)[at].all()
        assert (high < higher)[at].all()


def test_nothing_is_known_of_a_label_without_documents():
    y = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]])
    model = SupervisedVBNMF(2, random_state=0, max_iter=20).fit(np.eye(4) * 3, y)
    low, high = model.label_interval()
    assert (low[2] == 0).all()
    assert np.isposinf(high[2][model.scopes_[2]]).all()
    assert (high[2][~model.scopes_[2]] == 0).all()
    assert np.isfinite(high[:2]).all()


@pytest.mark.parametrize("level", [0, 1, 90, -0.1, np.nan, "0.9", True, None])
def test_wrong_levels(model, level):
    for interval in (model.component_interval, model.label_interval):
        with pytest.raises(ValueError, match="level must be"):
            interval(level)


def test_before_the_fit():
    with pytest.raises(NotFittedError):
        VBNMF().component_interval()
    with pytest.raises(NotFittedError):
        SupervisedVBNMF().label_interval()


def draw_mixed(seed, n_docs=600, n_terms=80, K=4):
    """Documents of the model where labels differ little, so that each mixes all components."""
    rng = np.random.default_rng(seed)
    T = rng.gamma(0.5, 1.0, (n_terms, K))
    means = 1 / rng.gamma(2.0, 1 / 30, (3, K))
    y = np.arange(n_docs) % 3
    V = rng.exponential(means[y])
    return rng.poisson(V @ (T / T.sum(axis=0)).T).astype(float), y, T / T.sum(axis=0), V, means


def coverage(data, label_shape, init):
    """How often 90 % intervals hold strong term weights, and activations that matter.

    A factor can move between a component and its coefficients: components are brought to the scale
    that makes the sums of their strong terms agree with the truth.
    """
    X, y, T, _, means = data
    model = SupervisedVBNMF(
        T.shape[1], label_shape=label_shape, init=init, n_init=2, random_state=0, max_iter=500,
        **PAPER,
    ).fit(X, y)  # fmt: skip
    cosines, order = match(model.components_, T.T)
    found = cosines > 0.9
    truth, strong = T.T[order][found], (model.component_shapes_ - 0.5 >= 10)[found]
    factor = (model.components_[found] * strong).sum(axis=1) / (truth * strong).sum(axis=1)
    low, high = model.component_interval(components=found)
    truth = truth * factor[:, None]
    terms = (low <= truth) & (truth <= high)
    matters = (means > 0.1 * means.sum(axis=1, keepdims=True))[:, order][:, found]
    low, high = (ends[:, found] for ends in model.label_interval())
    activations = means[:, order][:, found] / factor
    return terms[strong], ((low <= activations) & (activations <= high))[matters]


@pytest.mark.parametrize(
    ("drawn", "label_shape", "init", "terms", "activations"),
    [
        (draw, 1, "label", (0.73, 0.85), (0.75, 0.96)),
        (draw, 100, "label", (0.73, 0.85), (0.75, 0.95)),
        (draw_mixed, 2, "random", (0.45, 0.62), (0.70, 0.92)),
    ],
)
def test_coverage_is_what_the_documentation_says(drawn, label_shape, init, terms, activations):
    """Bands around what was measured: intervals that say 90 % hold less, by how much is told."""
    results = [coverage(drawn(seed=seed), label_shape, init) for seed in SEEDS]
    for (least, most), parts in zip((terms, activations), zip(*results, strict=True), strict=True):
        assert least < np.concatenate(parts).mean() < most
