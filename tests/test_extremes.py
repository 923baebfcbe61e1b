"""Extreme but valid documents: every public number is finite, or the fit says what is wrong."""

import warnings

import numpy as np
import pytest
from conftest import fitted_attributes
from scipy import sparse

from vbnmf import VBNMF, SupervisedVBNMF

RNG = np.random.default_rng(0)
Y = np.arange(48) % 3
COUNTS = RNG.poisson(0.3 + 3 * np.kron(np.eye(3), np.ones((1, 4))), (3, 12))[Y] + RNG.poisson(
    0.5, (48, 12)
)
COUNTS = COUNTS.astype(float)


def with_row(row):
    X = COUNTS.copy()
    X[5] = row
    return X


EXTREMES = {
    "tiny values": COUNTS * 1e-30,
    "smallest values": COUNTS * 2e-38,
    "large values": COUNTS * 1e12,
    "largest values": COUNTS * 1e26,
    "one huge value": with_row([1e9] + [0] * 11),
    "values of all sizes": COUNTS * 10.0 ** RNG.integers(-20, 20, COUNTS.shape),
    "terms of all sizes": COUNTS * 10.0 ** np.linspace(-15, 15, 12),
    "documents of all sizes": COUNTS * 10.0 ** np.linspace(-15, 15, 48)[:, None],
    "common terms 10,000 times as frequent": np.hstack([COUNTS, RNG.poisson(1e4, (48, 3))]),
    "one term": COUNTS[:, :1] + 1,
    "one document has a term": np.eye(48)[:, :1] * np.ones((1, 12)),
    "all documents alike": np.ones((48, 12)),
    "nearly all documents empty": np.vstack([COUNTS[:2], np.zeros((46, 12))]),
    "one term each": np.eye(12)[np.arange(48) % 12],
}
MODELS = {
    "unsupervised": lambda: VBNMF(3),
    "generative": lambda: SupervisedVBNMF(3, classifier="generative"),
    "components": lambda: SupervisedVBNMF(3, classifier="components"),
    "words and components": lambda: SupervisedVBNMF(3, classifier="words and components"),
    "one component": lambda: SupervisedVBNMF(1, scopes="all", classifier="generative"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("extreme", EXTREMES)
def test_public_numbers_are_finite(extreme, model, dtype):
    with np.errstate(over="ignore", under="ignore"):
        X = sparse.csr_array(EXTREMES[extreme].astype(dtype))
    X.eliminate_zeros()
    estimator = MODELS[model]().set_params(random_state=0, max_iter=8, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(X, Y)
        except ValueError as error:
            # named: what is wrong, and what to do
            assert any(word in str(error) for word in ("too large", "too small", "Divide"))  # noqa: PT017
            return
        found = fitted_attributes(estimator) | {"coefficients": estimator.transform(X)}
        if model != "unsupervised":
            P = estimator.predict_proba(X)
            np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
            found |= {"probabilities": P}
    for name, value in found.items():
        if name == "component_agreement_":  # NaN for components that serve one label, or all
            continue
        if name == "label_rates_":  # infinite outside scopes, as documented
            value = np.where(np.isposinf(value), 0, value)
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
            assert np.isfinite(value).all(), name


@pytest.mark.parametrize("n_docs", [200, 900])
@pytest.mark.parametrize("classifier", ["components", "generative"])
def test_frequent_common_terms_do_not_hide_the_labels(classifier, n_docs):
    """Terms that all documents have 10,000 times as often say nothing about labels."""
    y = np.arange(n_docs + 100) % 3
    rng = np.random.default_rng(1)
    X = rng.poisson((0.3 + 3 * np.kron(np.eye(3), np.ones(10)))[y]).astype(float)
    X = np.hstack([X, rng.poisson(1e4, (len(y), 5))])
    model = SupervisedVBNMF(classifier=classifier, random_state=0, n_jobs=1)
    assert model.fit(X[:n_docs], y[:n_docs]).score(X[n_docs:], y[n_docs:]) > 0.95
