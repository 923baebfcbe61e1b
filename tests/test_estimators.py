"""The scikit-learn contract of both models, and the forms that X may come in.

What the fitted attributes hold is in ``test_fitted``; errors are in ``test_bad_input``.
"""

from functools import cache

import numpy as np
import pytest
from conftest import fitted_attributes, make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import vbnmf
from vbnmf import VBNMF, Batches, SupervisedVBNMF

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

MODELS = [VBNMF, SupervisedVBNMF]
# its data are centred, though the tags say that X must be positive
EXCUSED = {"check_class_weight_classifiers": "scikit-learn's own data are negative"}


def excused(estimator):
    return {} if isinstance(estimator, VBNMF) else EXCUSED


@parametrize_with_checks(
    [VBNMF(n_components=3), SupervisedVBNMF(n_components=3, init="label")],
    expected_failed_checks=excused,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SupervisedVBNMF(n_components=3)], expected_failed_checks=excused)
def test_scikit_learn_checks_of_the_default(estimator, check):
    check(estimator)


def corpus():
    return make_corpus(23, 31, 3)


def quick(model, **parameters):
    return model(**{"n_components": 4, "max_iter": 12, "random_state": 0, **parameters})


RECORDS = ("fitted_", "head_")


def assert_same_fit(one, other):
    """Same bits in every fitted attribute."""
    ours, theirs = (
        {key: value for key, value in fitted_attributes(m).items() if key not in RECORDS}
        for m in (one, other)
    )
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        other_value = theirs[key]
        if sparse.issparse(value):
            value, other_value = value.toarray(), other_value.toarray()
        assert_array_equal(value, other_value, err_msg=key, strict=isinstance(value, np.ndarray))


# Parameters


@pytest.mark.parametrize("model", MODELS)
def test_clone_copies_every_parameter_and_nothing_fitted(model):
    X, y = corpus()
    fitted = quick(model, tol=0.5, term_shape="learned", batches=Batches(learning_decay=0.5)).fit(
        X, y
    )
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "components_")
    assert_same_fit(copy.fit(X, y), fitted)


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_can_be_read_and_set(model):
    names = set(model().get_params())
    assert names >= {
        "n_components", "coef_shape", "term_shape", "term_scale", "init", "n_init", "max_iter",
        "tol", "burn_in", "bound_every", "batches", "random_state", "n_jobs", "verbose", "callback",
    }  # fmt: skip
    assert ("label_shape" in names) == (model is SupervisedVBNMF)
    for name in names:
        marker = object()
        assert model().set_params(**{name: marker}).get_params()[name] is marker
    with pytest.raises(ValueError, match="Invalid parameter 'components'"):
        model().set_params(components=3)


def test_everything_public_can_be_imported_from_the_top():
    for name in vbnmf.__all__:
        assert getattr(vbnmf, name) is not None
    assert set(dir(vbnmf)) == set(vbnmf.__all__)
    with pytest.raises(AttributeError, match="no attribute 'NMF'"):
        vbnmf.NMF  # noqa: B018


def test_versions_are_shown(capsys):
    vbnmf.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert shown["vbnmf"] == vbnmf.__version__
    assert shown["numpy"] == np.__version__
    assert shown["kernel"].startswith(("native, ", "scipy"))


# Pipelines

TEXTS = [
    f"{first} {second} {first}"
    for first, second in [
        ("tea", "leaf"), ("leaf", "pot"), ("pot", "tea"), ("cup", "tea"), ("leaf", "cup"),
        ("goal", "team"), ("team", "ball"), ("ball", "goal"), ("kick", "ball"), ("team", "kick"),
    ]
] * 2  # fmt: skip
TOPICS = (["kitchen"] * 5 + ["sport"] * 5) * 2


@pytest.mark.parametrize("model", MODELS)
def test_pipeline_from_texts_to_classes(model):
    pipe = make_pipeline(
        CountVectorizer(),
        TfidfTransformer(),
        quick(model, n_components=2, max_iter=100),
        LogisticRegression(C=100),
    )
    assert pipe.fit(TEXTS, TOPICS).score(TEXTS, TOPICS) == 1.0
    assert_array_equal(pipe.predict(["pot of tea leaf", "kick the ball"]), ["kitchen", "sport"])
    assert_array_equal(pipe[:-1].get_feature_names_out(), ["component_0", "component_1"])


@pytest.mark.parametrize("model", MODELS)
def test_grid_search_gives_the_same_scores_in_processes(model):
    pipe = make_pipeline(CountVectorizer(), quick(model, max_iter=60), LogisticRegression(C=100))
    name = f"{model.__name__.lower()}__n_components"
    scores = []
    for n_jobs in (1, 2):
        search = GridSearchCV(pipe, {name: [1, 2, 3]}, cv=2, n_jobs=n_jobs, error_score="raise")
        search.fit(TEXTS, TOPICS)
        scores.append(search.cv_results_["mean_test_score"])
    assert_array_equal(*scores)
    # one component tells how long a text is, not what it is about
    assert scores[0][0] < 0.8
    assert scores[0][1:].max() == 1.0
    assert search.best_params_[name] > 1


# Names and containers of output


@pytest.mark.parametrize("model", MODELS)
def test_output_as_data_frames(model):
    pd = pytest.importorskip("pandas")
    X, y = corpus()
    plain = quick(model)
    expected = plain.fit_transform(X, y)
    assert_array_equal(plain.get_feature_names_out(), [f"component_{k}" for k in range(4)])

    index = [f"doc {i}" for i in range(X.shape[0])]
    framed = quick(model).set_output(transform="pandas")
    V = framed.fit_transform(pd.DataFrame(X.toarray(), index=index).add_prefix("t"), y)
    assert isinstance(V, pd.DataFrame)
    names = framed.get_feature_names_out().tolist()
    tops = [[f"t{w}" for w in row] for row in plain.describing_terms_[:, :2]]
    faded = plain.faded_
    assert names == [
        f"component_{k}" if faded[k] else f"component_{k}_{'_'.join(tops[k])}" for k in range(4)
    ]
    assert list(V.columns) == names
    assert list(V.index) == index
    assert_array_equal(V.to_numpy(), expected)
    V = framed.transform(pd.DataFrame(X.toarray(), index=index).add_prefix("t"))
    assert list(V.columns) == names
    assert_array_equal(V.to_numpy(), plain.transform(X))


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("model", MODELS)
def test_names_of_terms_come_from_data_frames(model, package):
    frames = pytest.importorskip(package)
    X, y = corpus()
    names = [f"term {w}" for w in range(X.shape[1])]
    frame = frames.DataFrame(dict(zip(names, X.toarray().T, strict=True)))
    labels = frames.Series([f"label {code}" for code in y])
    fitted = quick(model).fit(frame, labels)
    assert_array_equal(fitted.feature_names_in_, names)
    assert fitted.n_features_in_ == len(names)
    plain = quick(model).fit(X, y)
    assert_array_equal(fitted.components_, plain.components_)
    assert_array_equal(fitted.transform(frame), plain.transform(X))
    assert not hasattr(plain, "feature_names_in_")
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(frame[names[::-1]])
    # fitting anew without names forgets them
    assert not hasattr(fitted.fit(X, y), "feature_names_in_")


# Forms of X


def with_indices(dtype):
    def make(X):
        X = sparse.csr_array(X)
        made = sparse.csr_array(X.shape, dtype=X.dtype)
        made.data, made.indices, made.indptr = (
            X.data, X.indices.astype(dtype), X.indptr.astype(dtype),
        )  # fmt: skip
        assert made.indices.dtype == dtype
        return made

    return make


def scrambled(X):
    """Rows with their entries in reverse order, each split into two that add up exactly."""
    X = sparse.csr_array(X)
    rows = [slice(b, e) for b, e in zip(X.indptr, X.indptr[1:], strict=False)]
    data = np.concatenate([np.tile(X.data[row][::-1] / 2, 2) for row in rows])
    indices = np.concatenate([np.tile(X.indices[row][::-1], 2) for row in rows])
    made = sparse.csr_array((data, indices, X.indptr * 2), shape=X.shape)
    assert not made.has_sorted_indices
    assert not made.has_canonical_format
    return made


def explicit_zeros(X):
    made = sparse.csr_array(X.toarray() + 1)
    made.data -= 1
    assert made.nnz == X.shape[0] * X.shape[1]
    return made


FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "coo_matrix": sparse.coo_matrix,
    "lil_array": sparse.lil_array,
    "dok_array": sparse.dok_array,
    "dense": lambda X: X.toarray(),
    "dense in columns": lambda X: np.asfortranarray(X.toarray()),
    "strided": lambda X: np.repeat(X.toarray(), 2, axis=1)[:, ::2],
    "lists": lambda X: X.toarray().tolist(),
    "objects": lambda X: X.toarray().astype(object),
    "int32 indices": with_indices(np.int32),
    "int64 indices": with_indices(np.int64),
    "unsorted with duplicates": scrambled,
    "explicit zeros": explicit_zeros,
}


@cache
def expected_fit(model):
    """The corpus in CSR format, a model of it, and what ``fit_transform`` gives."""
    X, y = corpus()
    X.data = np.round(X.data * 8) / 8 + 0.5  # halves and their sums are exact
    return X, y, quick(model).fit(X, y), quick(model).fit_transform(X, y)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_the_form_of_x_does_not_matter(model, form):
    X, y, expected, transformed = expected_fit(model)
    given = form(X)
    got = quick(model)
    found = got.fit_transform(given, y)
    # with explicit zeros, sums over entries may be cut into blocks elsewhere: last bits may differ,
    # and the search computes in single precision
    same = assert_array_equal if form is not explicit_zeros else close
    same(got.components_, expected.components_)
    same(got.bound_history_, expected.bound_history_)
    same(got.transform(given), expected.transform(X))
    same(found, transformed)


def close(actual, desired):
    assert_allclose(actual, desired, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array", "dense", "scrambled"])
@pytest.mark.parametrize("model", MODELS)
def test_what_the_caller_gave_is_not_changed(model, form, dtype):
    X, y = corpus()
    given = {**FORMS, "scrambled": scrambled}[form](X.astype(dtype))
    before = {name: part.copy() for name, part in parts(given).items()}
    labels = y.copy()
    quick(model).fit(given, y).transform(given)
    after = parts(given)
    assert before.keys() == after.keys()
    for name, part in after.items():
        assert_array_equal(part, before[name], err_msg=name, strict=True)
    assert_array_equal(y, labels, strict=True)


def parts(X):
    """The arrays that a matrix is made of."""
    if not sparse.issparse(X):
        return {"dense": X}
    return {
        name: getattr(X, name)
        for name in ("data", "indices", "indptr", "row", "col")
        if hasattr(X, name)
    }


@pytest.mark.parametrize("model", MODELS)
def test_read_only_memory_is_enough(model):
    X, y = corpus()
    expected = quick(model).fit(X, y)
    dense, sparse_X, labels = X.toarray(), X.copy(), y.copy()
    for part in (dense, sparse_X.data, sparse_X.indices, sparse_X.indptr, labels):
        part.setflags(write=False)
    for given in (dense, sparse_X):
        got = quick(model).fit(given, labels)
        assert_same_fit(got, expected)
        assert_array_equal(got.transform(given), expected.transform(X))


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "?", "f2", ">f8", ">i4"])
@pytest.mark.parametrize("model", MODELS)
def test_other_numbers_become_doubles(model, dtype):
    X, y = corpus()
    counts = np.ceil(X.toarray()).astype(dtype)
    got = quick(model).fit(counts, y)
    assert got.components_.dtype == np.float64
    assert_same_fit(got, quick(model).fit(counts.astype(np.float64), y))
    V = got.transform(sparse.csr_array(counts) if dtype[0] not in "f>" else counts)
    assert V.dtype == np.float64
    assert_array_equal(V, got.transform(counts.astype(np.float64)))


@pytest.mark.parametrize("fit_dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [sparse.csr_array, lambda X: X.toarray()], ids=["csr", "dense"])
@pytest.mark.parametrize("model", MODELS)
def test_single_and_double_precision_are_kept(model, make, fit_dtype):
    X, y = corpus()
    fitted = quick(model)
    V = fitted.fit_transform(make(X.astype(fit_dtype)), y)
    assert V.dtype == fitted.components_.dtype == fitted.component_shapes_.dtype == fit_dtype
    assert get_tags(fitted).transformer_tags.preserves_dtype == ["float64", "float32"]
    double = quick(model).fit(X, y)
    assert_allclose(fitted.components_, double.components_, rtol=2e-3, atol=1e-5)
    for dtype in (np.float32, np.float64):
        V = fitted.transform(make(X.astype(dtype)))
        assert V.dtype == dtype
        assert_allclose(V, double.transform(X), rtol=1e-2, atol=1e-3)
