"""Numbers too large or too small to work with are refused, in X, in parameters and in results."""

import numpy as np
import pytest
from conftest import make_corpus
from test_bad_input import FORMS, assert_refuses, quick, spoiled

from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = pytest.mark.filterwarnings("ignore:after max_iter")
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


@pytest.mark.parametrize("prior", ["term", "coef"])
def test_results_out_of_range(prior):
    """Each number is within its range, but single precision cannot hold what follows from them."""
    given = (X * (1e6 / X.max())).astype(np.float32)
    model = quick(VBNMF, **{f"{prior}_scale": 1e-30, f"{prior}_shape": 1e-8})
    parts = "too large or too small", "float64", "defaults"
    assert_refuses(parts, lambda: model.fit(given).transform(given))
