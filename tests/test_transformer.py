"""Both models as transformers: coefficients and back, and a score without labels."""

import threading

import numpy as np
import pandas as pd
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.metrics import completion_log_likelihood

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:the fit did not converge")]

MODELS = [VBNMF, SupervisedVBNMF]
X, Y = make_corpus(40, 31, 3)


def quick(model, **parameters):
    return model(**{"n_components": 4, "max_iter": 12, "random_state": 0, **parameters})


# Coefficients


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [None, np.arange(1.0, 41)], ids=["plain", "weighted"])
@pytest.mark.parametrize("init", ["auto", "random"])
@pytest.mark.parametrize("model", MODELS)
def test_fit_transform_is_fit_and_then_transform(model, init, weight, dtype):
    given = X.astype(dtype)
    V = quick(model, init=init).fit_transform(given, Y, weight)
    expected = quick(model, init=init).fit(given, Y, weight).transform(given)
    assert_array_equal(V, expected, strict=True)


@pytest.mark.parametrize(
    "y", [[None if i % 3 else "a" for i in range(40)], np.eye(3, dtype=int)[Y]]
)
def test_fit_transform_with_other_kinds_of_labels(y):
    V = quick(SupervisedVBNMF).fit_transform(X, y)
    assert_array_equal(V, quick(SupervisedVBNMF).fit(X, y).transform(X))


def test_a_pipeline_trains_on_what_it_predicts_from():
    """Labels without any meaning cannot be learned from coefficients that do not know them."""
    rng = np.random.default_rng(0)
    noise, labels = rng.poisson(1.0, (300, 40)), rng.integers(0, 2, 300)
    leaky = quick(SupervisedVBNMF, max_iter=8)
    V = leaky.fit_coefficients(noise, labels)
    assert LogisticRegression().fit(V, labels).score(V, labels) > 0.95
    pipe = make_pipeline(clone(leaky), LogisticRegression()).fit(noise, labels)
    assert pipe.score(noise, labels) < 0.8


@pytest.mark.parametrize("model", MODELS)
def test_coefficients_of_training_are_those_of_the_same_fit(model):
    one, other = quick(model), quick(model).fit(X, Y)
    V = one.fit_coefficients(X, Y)
    assert V.shape == (40, 4)
    assert_array_equal(one.components_, other.components_)
    assert np.abs(V - other.transform(X)).max() > 0


def test_coefficients_of_training_give_the_activations_of_labels():
    model = quick(SupervisedVBNMF, scopes="all", init="label")
    V = model.fit_coefficients(X, Y)
    means = [V[label == Y].mean(axis=0) for label in model.classes_]
    assert_allclose(model.label_activations_, means, rtol=1e-6)


# Back to terms


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_inverse_transform(model, dtype):
    fitted = quick(model).fit(X.astype(dtype), Y)
    V = fitted.transform(X.astype(dtype))
    mean = fitted.inverse_transform(V)
    assert_allclose(mean, V @ fitted.components_, rtol=1e-6)
    assert mean.dtype == dtype
    assert_array_equal(fitted.inverse_transform(pd.DataFrame(V)), mean)
    # the model explains the documents: nearer to them than their mean is
    error = np.abs(mean - X).mean()
    assert error < np.abs(X.toarray() - X.toarray().mean(axis=0)).mean()


@pytest.mark.parametrize("model", MODELS)
def test_inverse_transform_of_what_are_no_coefficients(model):
    with pytest.raises(NotFittedError):
        model().inverse_transform([[1.0]])
    fitted = quick(model).fit(X, Y)
    with pytest.raises(ValueError, match=r"each of the 4 components; got the shape \(40, 31\)"):
        fitted.inverse_transform(X.toarray())
    with pytest.raises(ValueError, match="NaN"):
        fitted.inverse_transform(np.full((1, 4), np.nan))


# A score without labels


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_array, lambda X: X.toarray()])
def test_score_is_document_completion(form):
    fitted = quick(VBNMF).fit(X)
    assert fitted.score(form(X)) == completion_log_likelihood(fitted, X)
    assert fitted.score(X) < 0


@pytest.mark.filterwarnings("error")
def test_score_of_data_frames():
    frame = pd.DataFrame(X.toarray()).add_prefix("t")
    fitted = quick(VBNMF, tol=0).fit(frame)
    assert fitted.score(frame) == quick(VBNMF, tol=0).fit(X).score(X)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.score(frame[frame.columns[::-1]])


def test_grid_search_finds_the_number_of_components():
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(4), np.ones((60, 8)))
    documents = rng.permutation(rng.poisson(3 * topics + 0.02))
    search = GridSearchCV(VBNMF(random_state=0), {"n_components": [1, 2, 4]}, cv=3)
    search.fit(documents)
    assert search.best_params_ == {"n_components": 4}
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < scores[1] < scores[2] < 0


def test_with_labels_the_score_is_accuracy():
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    assert fitted.score(X, Y) == np.mean(fitted.predict(X) == Y)


# Copies


@pytest.mark.parametrize("model", MODELS)
def test_cloning_does_not_touch_the_original(model):
    """Another thread that clones at the same time sees the callback at any moment."""
    seen = []

    class Watched(model):
        def __setattr__(self, name, value):
            if name == "callback" and "callback" in vars(self):
                seen.append(self)
            super().__setattr__(name, value)

    original = Watched(3, callback=print)
    copies = []
    threads = [threading.Thread(target=lambda: copies.append(clone(original))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [copy.callback for copy in copies] == [print] * 8
    assert all(changed is not original for changed in seen)
    assert original.callback is print
