"""What a fitted model holds, and when fitting stops.

The same bits from the same seed, and projection, are in ``test_transform``.
"""

import warnings

import numpy as np
import pytest
from conftest import fitted_attributes, make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from smallfits import value_of

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core.hyper import LEAST_TERM_SHAPE

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:the fit did not converge")]

MODELS = [VBNMF, SupervisedVBNMF]
N_DOCS, N_TERMS, K, N_LABELS = 23, 31, 4, 3
X, Y = make_corpus(N_DOCS, N_TERMS, N_LABELS)


def quick(model, **parameters):
    return model(**{"n_components": K, "max_iter": 25, "random_state": 0, **parameters})


def plain(model, **parameters):
    """A model whose start does not look for components, and whose labels may use all of them."""
    start = {"init": "random", "coef_shape": 0.5, "term_shape": 0.5}
    if model is SupervisedVBNMF:
        start |= {"init": "label", "scopes": "all", "coef_shape": 1}
    return quick(model, **start | parameters)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_shapes_and_types_of_attributes(model, dtype):
    fitted = quick(model)
    V = fitted.fit_coefficients(X.astype(dtype), Y)
    expected = {
        "components_": ((K, N_TERMS), dtype),
        "component_shapes_": ((K, N_TERMS), dtype),
        "component_scales_": ((K,), np.float64),
        "component_sums_": ((K,), np.float64),
    }
    if model is SupervisedVBNMF:
        expected |= {
            "label_activations_": ((N_LABELS, K), np.float64),
            "label_rates_": ((N_LABELS, K), np.float64),
            "fitted_.labels.rate_shapes": ((N_LABELS, K), np.float64),
            "fitted_.labels.rate_scales": ((N_LABELS, K), np.float64),
            "scopes_": ((N_LABELS, K), bool),
        }
    outside = {"label_activations_": 0.0, "label_rates_": np.inf, "scopes_": False}
    for name, (shape, kind) in expected.items():
        value = value_of(fitted, name)
        assert (value.shape, value.dtype) == (shape, kind), name
        if name in outside:
            assert (value[~fitted.scopes_] == outside[name]).all(), name
            value = value[fitted.scopes_]
        assert np.isfinite(value).all(), name
        assert (value > 0).all(), name
    assert V.shape == (N_DOCS, K)
    assert V.dtype == dtype
    in_scope = fitted.scopes_[Y] if model is SupervisedVBNMF else np.ones(V.shape, bool)
    assert (V[in_scope] > 0).all()
    assert (V[~in_scope] == 0).all()
    assert fitted.n_components_ == K
    assert fitted.n_components_reason_ == f"{K} components, as requested"
    assert fitted.background_ is None or type(fitted.background_) is int
    assert fitted.n_features_in_ == N_TERMS
    assert isinstance(fitted.bound_, float)
    assert isinstance(fitted.n_iter_, int)
    assert all(type(value) is float for value in fitted.hyperparameters_.values())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_components_are_shapes_times_scales(model, dtype):
    fitted = quick(model).fit(X.astype(dtype), Y)
    rtol = 1e-6 if dtype == np.float32 else 1e-14
    expected = fitted.component_shapes_ * fitted.component_scales_[:, None]
    assert_allclose(fitted.components_, expected, rtol=rtol)
    assert_allclose(fitted.component_sums_, expected.sum(axis=1), rtol=10 * rtol)
    # all weight of X is dealt out to the components, on top of the prior
    dealt = (fitted.component_shapes_ - fitted.hyperparameters_["term_shape"]).sum(axis=0)
    assert_allclose(dealt, X.toarray().sum(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("burn_in", [0, 10, 99])
def test_label_activations_are_mean_coefficients_by_label(dtype, burn_in):
    fitted = quick(SupervisedVBNMF, burn_in=burn_in)
    V = fitted.fit_coefficients(X.astype(dtype), Y)
    means = [V[label == Y].mean(axis=0) for label in fitted.classes_]
    rtol = 1e-5 if dtype == np.float32 else 1e-13
    assert_allclose(fitted.label_activations_, means, rtol=rtol)
    assert_array_equal(fitted.label_counts_, np.bincount(Y))


@pytest.mark.parametrize("make", [quick, plain])
def test_label_rates_are_the_fixed_point_of_their_update(make):
    fitted = make(SupervisedVBNMF, max_iter=3000, tol=1e-13, label_shape=2.0, coef_shape=1)
    fitted.fit(X, Y)
    scopes = fitted.scopes_
    assert scopes.all() == (make is plain)
    a, b = (fitted.hyperparameters_[key] for key in ("label_shape", "label_scale"))
    counts = fitted.label_counts_[:, None]
    assert_allclose(fitted.fitted_.labels.rate_shapes, a + counts * scopes, rtol=1e-14)
    scales = 1 / (1 / b + counts * fitted.label_activations_)
    assert_allclose(fitted.fitted_.labels.rate_scales, scales, rtol=1e-4)
    expected = np.where(
        scopes, fitted.fitted_.labels.rate_shapes * fitted.fitted_.labels.rate_scales, np.inf
    )
    assert_allclose(fitted.label_rates_, expected, rtol=1e-14)
    # so that a label's largest coefficients have its smallest rates
    orders = np.argsort(fitted.label_rates_, axis=1), np.argsort(-fitted.label_activations_, axis=1)
    for label, n_used in enumerate(scopes.sum(axis=1)):
        assert_array_equal(*(order[label, :n_used] for order in orders))


# The bound and the iterations


@pytest.mark.parametrize("bound_every", [1, 4, 5, 7, 100])
@pytest.mark.parametrize("model", MODELS)
def test_history_has_an_entry_an_evaluation_and_ends_with_the_bound(model, bound_every):
    fitted = quick(model, bound_every=bound_every, tol=0, max_iter=20).fit(X, Y)
    assert fitted.n_iter_ == 20
    assert len(fitted.bound_history_) == -(-20 // bound_every) + 1
    assert fitted.bound_history_[-1] == fitted.bound_
    assert (np.diff(fitted.bound_history_) >= 0).all()  # the same after a step back
    # looking more often does not change what is seen
    each = quick(model, bound_every=1, tol=0, max_iter=20).fit(X, Y)
    assert_array_equal(each.components_, fitted.components_)
    assert_array_equal(each.bound_history_[:-1:bound_every], fitted.bound_history_[:-1])
    assert each.bound_ == fitted.bound_


@pytest.mark.parametrize(("init", "burn_in"), [("random", 10), ("auto", 0)])
@pytest.mark.parametrize("model", MODELS)
def test_fitting_ends_at_the_first_rise_below_tol(model, init, burn_in):
    tol, every = 1e-3, 5
    fitted = quick(model, init=init, tol=tol, max_iter=500).fit(X, Y)
    # the last entry is one iteration, not five, after the one before
    *history, _final = fitted.bound_history_
    rises = np.diff(history) / (every * np.abs(history[1:]))
    settled = np.arange(1, len(history)) * every > burn_in + every
    below = np.flatnonzero((rises < tol) & settled)
    assert below[-1] == len(rises) - 1  # a step back is no end, though the bound does not rise
    assert fitted.n_iter_ == (len(history) - 1) * every + 1 < 500


@pytest.mark.parametrize("model", MODELS)
def test_a_warning_says_the_last_rise_and_which_knob_to_turn(model):
    fitted = quick(model, tol=1e-9, bound_every=1)
    with pytest.warns(ConvergenceWarning) as caught:
        fitted.fit(X, Y)
    before, last = fitted.bound_history_[-3:-1]
    rise = f"{(last - before) / abs(last):.2g}"
    text = str(caught[0].message)
    assert len(caught) == 1
    for part in ("max_iter=25", f"was {rise} per iteration", "tol=1e-09", "Increase max_iter"):
        assert part in text


@pytest.mark.parametrize("model", MODELS)
def test_the_warning_makes_sense_before_there_is_any_rise(model):
    with pytest.warns(ConvergenceWarning, match="max_iter=3") as caught:
        quick(model, max_iter=3).fit(X, Y)
    assert "nan" not in str(caught[0].message)


@pytest.mark.parametrize("method", ["fit", "fit_transform", "fit_coefficients"])
@pytest.mark.parametrize("model", MODELS)
def test_the_warning_points_at_the_caller(model, method):
    with pytest.warns(ConvergenceWarning) as caught:
        getattr(quick(model, tol=1e-9), method)(X, Y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("parameters", [{"tol": 0}, {"tol": 1e-3, "max_iter": 500}])
@pytest.mark.parametrize("model", MODELS)
def test_no_warning_when_converged_or_not_asked_to(model, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(model, **parameters).fit(X, Y)


@pytest.mark.parametrize("model", MODELS)
def test_restarts_keep_the_one_with_the_best_bound(model):
    # a generator goes on where it stopped, so that these are the starts of one run with n_init=4
    source = np.random.RandomState(5)
    runs = [plain(model, init="random", random_state=source) for _ in range(4)]
    coefficients = [run.fit_coefficients(X, Y) for run in runs]
    best = int(np.argmax([run.bound_ for run in runs]))
    assert best not in (0, len(runs) - 1)
    several = plain(model, init="random", n_init=4, random_state=5)
    assert_array_equal(several.fit_coefficients(X, Y), coefficients[best])
    for name, value in fitted_attributes(runs[best]).items():
        if name not in ("fitted_", "head_"):
            found = getattr(several, name)
            if name == "label_term_documents_":
                found, value = found.toarray(), value.toarray()
            assert_array_equal(found, value, err_msg=name)


# Hyperparameters


@pytest.mark.parametrize("burn_in", [0, 10])
def test_numbers_stay_and_auto_is_learned(burn_in):
    given = {"coef_shape": 0.7, "coef_scale": 1.5, "term_shape": 0.3, "term_scale": 0.25}
    fixed = quick(VBNMF, burn_in=burn_in, **given).fit(X)
    assert fixed.hyperparameters_ == given
    given = {"coef_shape": 1, "term_shape": 2, "term_scale": 3, "label_shape": 4, "label_scale": 5}
    fixed = quick(SupervisedVBNMF, burn_in=burn_in, **given).fit(X, Y)
    assert {key: fixed.hyperparameters_[key] for key in given} == given


@pytest.mark.parametrize(
    ("model", "name", "held"),
    [
        (VBNMF, "coef_scale", {"term_scale": 0.1}),
        (VBNMF, "term_scale", {"coef_scale": 2.0}),
        (VBNMF, "term_shape", {"coef_scale": 2.0}),
        (SupervisedVBNMF, "label_scale", {"term_scale": 0.1, "label_shape": 100}),
        (SupervisedVBNMF, "term_scale", {"label_scale": 0.1, "label_shape": 100}),
    ],
)
def test_each_learned_value_is_a_maximum_of_the_bound(model, name, held):
    # without one scale held, the other has no maximum: only their product matters
    held = {"max_iter": 3000, "tol": 1e-12, **held}
    learned = plain(model, **held, **{name: "learned" if name == "term_shape" else "auto"}).fit(
        X, Y
    )
    value = learned.hyperparameters_[name]
    assert value > LEAST_TERM_SHAPE or name != "term_shape"
    below, at, above = (
        plain(model, **{**held, name: factor * value, "init": learned.components_}).fit(X, Y).bound_
        for factor in (0.8, 1, 1.25)
    )
    assert at > max(below, above) + 0.01
    assert_allclose(at, learned.bound_, rtol=1e-4)


@pytest.mark.parametrize("term_scale", ["auto", 0.05, 5.0])
@pytest.mark.parametrize("model", MODELS)
def test_a_learned_term_shape_stays_above_its_guard(model, term_scale):
    # components that share no term: the bound wants a_t near zero
    apart = np.kron(np.eye(4), np.full((4, 12), 9.0))
    y = np.repeat(range(4), 4)
    fitted = quick(model, term_shape="learned", term_scale=term_scale, max_iter=200).fit(apart, y)
    assert fitted.hyperparameters_["term_shape"] == LEAST_TERM_SHAPE
    free = quick(model, term_shape="free", term_scale=term_scale, max_iter=200).fit(apart, y)
    assert free.hyperparameters_["term_shape"] < LEAST_TERM_SHAPE
    # and terms that all are the same: it wants a_t as large as can be
    even = quick(model, term_shape="learned", max_iter=100).fit(np.full((9, 12), 9.0), np.arange(9))
    assert even.hyperparameters_["term_shape"] > 10


# Burn-in


def test_label_rates_stay_equal_throughout_burn_in():
    held = plain(SupervisedVBNMF, coef_shape=1, max_iter=12, burn_in=12).fit(X, Y)
    start = X.sum() / (N_DOCS * K)  # components begin with a sum of one
    assert_allclose(held.label_rates_, 1 / start, rtol=1e-12)
    assert_allclose(held.hyperparameters_["coef_scale"], start, rtol=1e-12)
    freed = plain(SupervisedVBNMF, max_iter=13, burn_in=12).fit(X, Y)
    assert freed.label_rates_.std(axis=0).min() > 0
    at_once = plain(SupervisedVBNMF, max_iter=1, burn_in=0).fit(X, Y)
    assert at_once.label_rates_.std(axis=0).min() > 0


def test_the_scale_of_coefficients_is_held_throughout_burn_in():
    start = X.sum() / (N_DOCS * K) / 0.5
    held = quick(VBNMF, coef_shape=0.5, max_iter=12, burn_in=12)
    V = held.fit_coefficients(X)
    assert_allclose(held.hyperparameters_["coef_scale"], start, rtol=1e-12)
    freed = quick(VBNMF, coef_shape=0.5, max_iter=13, burn_in=12).fit(X)
    assert freed.hyperparameters_["coef_scale"] != pytest.approx(start, rel=1e-6)
    free = quick(VBNMF, coef_shape=0.5, max_iter=2000, tol=1e-13, burn_in=0)
    V = free.fit_coefficients(X)
    assert_allclose(free.hyperparameters_["coef_scale"], V.mean() / 0.5, rtol=1e-5)


# Labels

LABELS = {
    "ints": [7, -2, 30],
    "floats": [5.0, -1.0, 1e300],
    "strings": ["tea", "", "Ωmega"],
    "bools": [True, False],
    "object strings": np.array(["b", "a", "c"], dtype=object),
    "object ints": np.array([3, 10**30, -5], dtype=object),
    "unsigned": np.array([200, 3, 7], dtype=np.uint8),
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS)
def test_labels_of_any_type(names):
    names = np.asarray(names)
    labels = names[Y % len(names)]
    fitted = quick(SupervisedVBNMF).fit(X, labels)
    assert_array_equal(fitted.classes_, sorted(names.tolist()))
    assert fitted.classes_.dtype == names.dtype
    assert_array_equal(fitted.label_counts_, [(labels == name).sum() for name in fitted.classes_])
    as_list = quick(SupervisedVBNMF).fit(X, labels.tolist())
    assert_array_equal(as_list.classes_, fitted.classes_)
    # only which documents share a label matters, and the order of labels
    codes = np.unique(labels, return_inverse=True)[1]
    plain = quick(SupervisedVBNMF).fit(X, codes)
    assert_array_equal(fitted.label_rates_, plain.label_rates_)
    assert_array_equal(fitted.components_, plain.components_)
