"""Numbers too large or too small to work with are refused, in X, in parameters and in results."""

import warnings

import numpy as np
import pytest
from conftest import make_corpus
from test_bad_input import FORMS, assert_refuses, quick, spoiled

from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
X, Y = make_corpus(12, 9, 3)


@pytest.mark.parametrize("value", [1e30, 1e200, 1.7e308])
@pytest.mark.parametrize("form", FORMS)
def test_values_too_large_for_products(form, value):
    given = form(spoiled(value) + spoiled(value, row=5))
    parts = "too large", "more than 1e+30", "Divide X by a constant"
    assert_refuses(parts, quick(VBNMF).fit, given)
    fitted = quick(VBNMF).fit(X)
    assert_refuses(parts, fitted.transform, given)


@pytest.mark.parametrize("value", [1e-310, 1e-39, 5e-324])
@pytest.mark.parametrize("form", FORMS)
def test_values_too_small_to_divide_by(form, value):
    parts = f"too small: {value:.3g} at row 3, column 4", "at least 1.18e-38", "zero"
    assert_refuses(parts, quick(VBNMF).fit, form(spoiled(value)))
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    for method in (fitted.transform, fitted.predict_proba, fitted.explain):
        assert_refuses(parts, method, form(spoiled(value)))


@pytest.mark.parametrize("value", [1e-300, 1e-100, 1e-40, 1e40, 1e100, 1e300])
@pytest.mark.parametrize(
    ("model", "name"),
    [(VBNMF, n) for n in ("term_shape", "term_scale", "coef_shape", "coef_scale")]
    + [(SupervisedVBNMF, n) for n in ("label_shape", "label_scale", "term_shape", "coef_shape")],
)
def test_priors_out_of_range(model, name, value):
    given = X.astype(np.float32)
    assert_refuses(
        (f"{name} must be between", f"{value:g}"), quick(model, **{name: value}).fit, given, Y
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [VBNMF, SupervisedVBNMF])
def test_values_too_unequal_for_the_bound(model, dtype):
    """The bound is what is left of sums as large as the largest value: rounding lets it fall."""
    given, y = make_corpus(40, 30, 3)
    for value, is_said in ((1e8, False), (1e11, False), (1e15, True), (1e20, True)):
        spoiled = given.toarray().astype(dtype)
        spoiled[3, 5] = value
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = quick(model, bound_every=1, max_iter=40).fit(spoiled, y)
        assert any("the bound is inaccurate" in str(w.message) for w in said) == is_said
        history = fitted.bound_history_
        rises = (np.diff(history) >= -1e-6 * np.abs(history[1:])).all()
        assert rises or is_said


@pytest.mark.parametrize("factor", [1e10, 1e20])
@pytest.mark.parametrize("model", [VBNMF, SupervisedVBNMF])
def test_large_values_of_equal_size_leave_the_bound_accurate(model, factor):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the bound is inaccurate")
        quick(model).fit(X * factor, Y)


@pytest.mark.parametrize("prior", ["term", "coef"])
def test_results_out_of_range(prior):
    """Each number is within its range, but single precision cannot hold what follows from them."""
    given = (X * (1e6 / X.max())).astype(np.float32)
    model = quick(VBNMF, **{f"{prior}_scale": 1e-30, f"{prior}_shape": 1e-8})
    parts = "too large or too small", "float64", "defaults"
    assert_refuses(parts, lambda: model.fit(given).transform(given))
