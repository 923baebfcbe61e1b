"""Which classifier predicts: the one that was asked for, or the one that is better."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_heads import drawn, model


def few_documents(n_docs):
    """Twenty labels of words of their own, of which a few documents show a part."""
    rng = np.random.default_rng(0)
    words = 0.5 * rng.dirichlet(np.full(1000, 0.5)) + 0.5 * rng.dirichlet(np.full(1000, 0.05), 20)
    y = np.arange(20 * n_docs) % 20
    return np.array([rng.multinomial(40, words[label]) for label in y], dtype=float), y


@pytest.mark.parametrize(("n_docs", "expected"), [(4, "generative"), (60, "regression")])
def test_with_few_documents_a_label_the_better_one_predicts(n_docs, expected):
    X, y = few_documents(n_docs + 4)
    train, new = slice(0, 20 * n_docs), slice(20 * n_docs, None)
    fits = {
        name: model(n_components=20, classifier=name).fit(X[train], y[train])
        for name in ("auto", "regression", "generative")
    }
    assert fits["auto"].classifier_ == expected
    assert_array_equal(fits["auto"].predict_proba(X), fits[expected].predict_proba(X))
    accuracy = {name: fitted.score(X[new], y[new]) for name, fitted in fits.items()}
    assert accuracy["auto"] >= max(accuracy.values()) - 0.02


def test_what_predicts_is_what_was_fitted():
    X, y = drawn()
    fitted = model(classifier="regression").fit(X, y)
    before = fitted.predict_proba(X)
    fitted.set_params(classifier="generative")
    assert_array_equal(fitted.predict_proba(X), before)
    assert fitted.classifier_ == "regression"
