"""Bad input: a message that says what is wrong, what was expected, what came, and what to do.

Also that nothing is lost: a fit that fails leaves the earlier one as it was.
"""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import make_corpus
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
MODELS = [VBNMF, SupervisedVBNMF]
X, Y = make_corpus(12, 9, 3)
DENSE = X.toarray()


def quick(model, **parameters):
    return model(**{"n_components": 2, "max_iter": 6, "random_state": 0, **parameters})


def assert_refuses(parts, function, *arguments, error=ValueError):
    """The call raises, and every part is in the message."""
    with pytest.raises(error) as caught:
        function(*arguments)
    assert type(caught.value) in (error, NotFittedError)
    for part in (parts,) if isinstance(parts, str) else parts:
        assert part in str(caught.value)


# X


def spoiled(value, row=3, column=4):
    given = DENSE.copy()
    given[row, column] = value
    return given


@pytest.mark.parametrize("model", MODELS)
def test_masked_values_and_times_are_no_weights(model):
    masked = np.ma.masked_array(DENSE, mask=DENSE > 2)
    fitted = quick(model).fit(np.ma.masked_array(DENSE, mask=False), Y)
    for use in (fitted.fit, fitted.transform):
        arguments = (Y,) if use == fitted.fit else ()
        assert_refuses(("X is a masked array", "X.filled(0)"), use, masked, *arguments)
        for unit in ("m8[s]", "M8[D]"):
            assert_refuses("got times", use, DENSE.astype(unit), *arguments)
    weight = np.ma.masked_array(np.ones(12), mask=[True] + [False] * 11)
    assert_refuses("sample_weight is a masked array", fitted.fit, X, Y, weight)


@pytest.mark.parametrize("model", MODELS)
def test_more_components_than_any_machine_can_hold(model, monkeypatch):
    assert_refuses("at most 1000000; got 1000000000", quick(model, n_components=10**9).fit, X, Y)
    monkeypatch.setenv("VBNMF_MEMORY", "1K")
    parts = "n_components=1,000,000 with 9 terms needs", "Use fewer components"
    assert_refuses(parts, quick(model, n_components=10**6).fit, X, Y, error=MemoryError)


FORMS = [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_values_that_are_no_weights(model, dtype, form):
    fitted = quick(model).fit(X, Y)
    infinity = "X contains infinity at row 3, column 4", "must be finite"
    expected = {
        np.nan: ("X contains NaN at row 3, column 4", "must be finite", "to zero"),
        np.inf: infinity,
        -np.inf: infinity,
        -0.25: (
            "Negative values in data",
            "found -0.25 at row 3, column 4",
            "must be non-negative",
            "use counts or TF-IDF",
        ),
    }
    for value, parts in expected.items():
        given = form(spoiled(value).astype(dtype))
        assert_refuses(parts, quick(model).fit, given, Y)
        assert_refuses(parts, fitted.transform, given)


def test_the_most_negative_value_is_named_whatever_the_order_of_entries():
    given = sparse.csr_array(
        (np.array([1.0, -1.0, 2.0, -3.0]), np.array([4, 2, 3, 1]), np.array([0, 0, 2, 4])),
        shape=(3, 5),
    )
    assert_refuses("found -3 at row 2, column 1", quick(VBNMF).fit, given)
    # entries of one cell are added up before they are judged
    summed = sparse.csr_array(([3.0, -1.0, 2.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    plain = quick(VBNMF).fit([[2.0, 0.0], [0.0, 2.0]])
    assert_array_equal(quick(VBNMF).fit(summed).components_, plain.components_)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (DENSE[0], ("Expected 2D array, got 1D array", "Reshape your data")),
        (DENSE[None], ("dim 3", "dim <= 2")),
        (3.0, ("Expected 2D array, got scalar",)),
        (None, ("Expected 2D array",)),
        ([["a", "b"], ["c", "d"]], ("could not convert string to float: 'a'",)),
        (["a text", "another"], ("could not convert string to float: 'a text'",)),
        (DENSE + 1j, ("Complex data not supported",)),
        (DENSE[:0], ("0 sample(s)", "shape=(0, 9)", "minimum of 1")),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_things_that_are_no_matrix(model, given, parts):
    fitted = quick(model).fit(X, Y)
    assert_refuses(parts, quick(model).fit, given, Y)
    assert_refuses(parts, fitted.transform, given)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_to_learn_from(model):
    parts = "all values of X are zero", "nothing to learn", "Check the vocabulary"
    for given in (np.zeros((12, 4)), sparse.csr_array((12, 4)), sparse.csr_array(DENSE) * 0):
        assert_refuses(parts, quick(model).fit, given, Y)
    assert_refuses(("0 feature(s)", "minimum of 1"), quick(model).fit, DENSE[:, :0], Y)


# Sparse matrices whose parts do not fit together


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("part", "at", "value"),
    [
        ("indices", 2, 9),
        ("indices", 2, 2**31 - 1),
        ("indices", 0, -1),
        ("indptr", -1, 10**6),
        ("indptr", 0, 1),
        ("indptr", 1, -3),
        ("indptr", 1, 10**6),
        ("indptr", 5, 0),
    ],
)
def test_compressed_rows_that_point_elsewhere(form, part, at, value):
    fitted = quick(VBNMF).fit(X)
    given = form(X, copy=True)
    getattr(given, part)[at] = value
    for call in (quick(VBNMF).fit, fitted.transform):
        assert_refuses(("X is not a valid sparse matrix", "Build it again"), call, given)


def test_other_broken_formats_do_not_bring_the_process_down():
    """In a process of its own, for SciPy's conversions write where the indices say."""
    script = textwrap.dedent(
        """
        import numpy as np
        from scipy import sparse
        from vbnmf import VBNMF

        def broken(form, part, at, value):
            X = form(np.arange(12.0).reshape(4, 3) + 1)
            getattr(X, part)[at] = value
            return X

        def broken_coo(axis, value):
            X = sparse.coo_array(np.arange(12.0).reshape(4, 3) + 1)
            X.coords[axis][5] = value
            return X

        for form in (sparse.csc_array, sparse.csc_matrix, sparse.bsr_array):
            for part, at, value in [
                ("indices", 2, 10**8), ("indices", 2, -(10**8)),
                ("indptr", -1, 10**8), ("indptr", 1, -(10**8)),
            ]:
                try:
                    VBNMF(2, max_iter=2).fit(broken(form, part, at, value))
                except ValueError as error:
                    assert "not a valid sparse matrix" in str(error), error
                    print("refused", flush=True)
        for axis, value in [(0, 10**8), (0, -(10**8)), (1, 10**8), (1, -(10**8))]:
            try:
                VBNMF(2, max_iter=2).fit(broken_coo(axis, value))
            except ValueError as error:
                assert "not a valid sparse matrix" in str(error), error
                print("refused", flush=True)
        """
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # noqa: S603
    assert (run.returncode, run.stdout.split()) == (0, ["refused"] * 16), run.stderr[-800:]


# Labels


@pytest.mark.parametrize(
    ("labels", "parts"),
    [
        (None, ("requires y", "y is None", "Pass labels", "or use VBNMF")),
        (Y[:-1], ("same length", "12 documents in X", "11 labels in y")),
        ([], ("same length", "12 documents in X", "0 labels in y")),
        (np.c_[Y, Y], ("one-dimensional", "zeros and ones", "the value 2", "(12, 2)")),
        (np.zeros((12, 1, 1)), ("one-dimensional", "(12, 1, 1)")),
        ("a" * 12, ("one-dimensional",)),
        (5, ("one-dimensional",)),
        ([None] * 12, ("no label for any of the 12 documents", "use VBNMF")),
        ([np.nan] * 12, ("no label for any of the 12 documents", "use VBNMF")),
        ([[]] * 12, ("no label for any of the 12 documents", "use VBNMF")),
        ([0.5] * 11 + [np.inf], ("infinite", "Labels must be finite")),
        (np.array(["a", 1] * 6, dtype=object), ("cannot be sorted", "int, str", "Use one type")),
        (["a", 1] * 6, ("cannot be sorted", "int, str", "Use one type")),
        (np.array([np.datetime64("NaT")] * 12), ("no label for any of the 12",)),
    ],
)
def test_labels_that_are_none(labels, parts):
    assert_refuses(parts, quick(SupervisedVBNMF).fit, X, labels)
    assert_refuses(parts, quick(SupervisedVBNMF).fit_coefficients, X, labels)


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        (["a", None] * 6, {"a": 6}),
        ([1, None] * 6, {1: 6}),
        ([5.0] * 11 + [np.nan], {5.0: 11}),
        (np.array(["a", np.nan] * 6, dtype=object), {"a": 6}),
        (["a"] * 11 + [float("nan")], {"a": 11}),
        ([[1], [1, 2]] * 6, {1: 12, 2: 6}),
    ],
)
def test_labels_that_are_missing_or_several(labels, counts):
    fitted = quick(SupervisedVBNMF).fit(X, labels)
    assert dict(zip(fitted.classes_, fitted.label_counts_, strict=True)) == counts


@pytest.mark.parametrize("dtype", ["string", "Int64", "category"])
def test_missing_labels_of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    a, b = [1, 2] if dtype == "Int64" else ["a", "b"]
    labels = pd.Series([*[a, b] * 5, pd.NA, a], dtype=dtype)
    fitted = quick(SupervisedVBNMF).fit(X, labels)
    assert dict(zip(fitted.classes_, fitted.label_counts_, strict=True)) == {a: 6, b: 5}


def test_labels_are_not_optional():
    for method in ("fit", "fit_transform"):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            getattr(quick(SupervisedVBNMF), method)(X)


# Parameters

NOT_COUNTS = [0, -1, 2.5, "a", True, None, np.nan, [3]]
NOT_POSITIVE = [0, -1.5, np.nan, np.inf, "Auto", "", None, True, [1.0]]
NOT_TOLERANCES = [-1e-9, np.nan, np.inf, "a", None, True]


def parameters():
    for name in ("n_components", "n_init", "max_iter", "bound_every"):
        for value in NOT_COUNTS:
            or_auto = name == "n_components" and (value is None or isinstance(value, str))
            expected = 'an integer or "auto"' if or_auto else "an integer of at least 1"
            yield name, value, f"{name} must be {expected}; got {value!r}."
    for value in (-1, 0.5, None):
        yield "burn_in", value, f"burn_in must be an integer of at least 0; got {value!r}."
    for value in NOT_TOLERANCES:
        yield "tol", value, f"tol must be a number of at least 0; got {value!r}."
    for value in NOT_POSITIVE:
        expected = (
            'term_shape must be a positive number, "auto", "learned" (with a lower limit) or "free"'
        )
        yield "term_shape", value, (expected, '"free"', f"got {value!r}.")
    for name in ("term_scale", "coef_scale", "label_scale"):
        for value in NOT_POSITIVE:
            expected = f'{name} must be a positive number or "auto", which learns it; got'
            yield name, value, f"{expected} {value!r}."
    for name in ("coef_shape", "label_shape"):
        for value in NOT_POSITIVE:
            yield name, value, f'{name} must be a positive number or "auto"; got {value!r}.'
    for value in (0, 1.0, "all", True):
        expected = "n_jobs must be None, a positive number of threads, or -1 for all; got"
        yield "n_jobs", value, f"{expected} {value!r}."
    for value in ("Random", "nndsvd", None):
        yield (
            "init",
            value,
            ("init must be ", f'"random", or an array of components; got {value!r}.'),
        )
    for value in (np.ones((9, 2)), np.ones(18), np.ones((2, 9, 1)), 3):
        yield "init", value, f"(n_components, n_terms) = (2, 9); got {np.shape(value)}."
    for value in (np.full((2, 9), np.nan), np.full((2, 9), np.inf), -np.ones((2, 9))):
        yield "init", value, "init must have finite, non-negative values"
    yield "init", np.zeros((2, 9)), "init must"
    yield "init", [["a"] * 9] * 2, "init must"
    yield "random_state", "seed", "'seed' cannot be used to seed"
    yield "callback", 3, "callback must be"
    yield "verbose", "loud", "verbose must be"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [pytest.param(*case, id=f"{case[0]}={case[1]!r:.25}") for case in parameters()],
)
def test_parameters_out_of_range(name, value, expected):
    for model in MODELS:
        if name in model().get_params():
            fitted = quick(model, **{name: value})
            assert_refuses(expected, fitted.fit, X, Y)
            assert not hasattr(fitted, "components_")


@pytest.mark.parametrize("model", MODELS)
def test_numbers_of_threads_of_projection_out_of_range(model):
    fitted = quick(model).fit(X, Y)
    for value in (0, "all"):
        fitted.set_params(n_jobs=value)
        assert_refuses(("n_jobs must be ", f"got {value!r}."), fitted.transform, X)


def test_numbers_of_numpy_are_numbers():
    given = {"n_components": np.int64(2), "max_iter": np.uint8(6), "tol": np.float32(0.5)}
    fitted = quick(VBNMF, **given, coef_shape=np.float64(0.5), term_shape=1).fit(X)
    assert fitted.n_iter_ == 6


def test_an_unknown_kernel_is_refused(monkeypatch):
    monkeypatch.setenv("VBNMF_KERNEL", "cuda")
    assert_refuses(("VBNMF_KERNEL", "'native' or 'scipy'", "'cuda'"), quick(VBNMF).fit, X)


# Projection of something else


@pytest.mark.parametrize("model", MODELS)
def test_projection_before_fitting(model):
    parts = f"This {model.__name__} instance is not fitted yet", "Call 'fit'"
    assert_refuses(parts, quick(model).transform, X, error=NotFittedError)
    assert_refuses(parts, quick(model).get_feature_names_out, error=NotFittedError)


@pytest.mark.parametrize("model", MODELS)
def test_projection_with_other_terms(model):
    fitted = quick(model).fit(X, Y)
    for given in (X[:, :5], DENSE[:, :5], np.c_[DENSE, DENSE]):
        parts = f"X has {given.shape[1]} features", f"{model.__name__} is expecting 9 features"
        assert_refuses(parts, fitted.transform, given)


# Nothing lost


def interrupt(progress):
    if progress.restart == 1:
        raise KeyboardInterrupt


REFITS = {
    "NaN": ({}, lambda: (np.full((12, 5), np.nan), Y)),
    "negative": ({}, lambda: (-np.ones((12, 5)), Y)),
    "all zero": ({}, lambda: (np.zeros((12, 5)), Y)),
    "too large": ({}, lambda: (np.full((12, 5), 1e30), Y)),
    "no labels": ({}, lambda: (DENSE[:, :5], None)),
    "too few labels": ({}, lambda: (DENSE[:, :5], Y[:3])),
    "no components": ({"n_components": 0}, lambda: (DENSE[:, :5], Y > 0)),
    "no threads": ({"n_jobs": 0}, lambda: (DENSE[:, :5], Y > 0)),
    "interrupted": ({"callback": interrupt, "n_init": 2}, lambda: (DENSE[:, :5], Y > 0)),
}


def copied(value):
    return value.toarray() if sparse.issparse(value) else np.copy(value)


@pytest.mark.parametrize("case", REFITS)
@pytest.mark.parametrize("model", MODELS)
def test_a_fit_that_fails_leaves_the_earlier_one(model, case):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(DENSE).add_prefix("term ")
    fitted = quick(model).fit(frame, Y)
    before = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    copies = {name: copied(value) for name, value in before.items()}
    V = fitted.transform(frame)
    parameters, arguments = REFITS[case]
    given, labels = arguments()
    if model is VBNMF and "labels" in case:
        given = given[:, :0]  # has no labels to fail for
    fitted.set_params(**parameters)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        fitted.fit(given, labels)
    after = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    for name, value in after.items():
        assert_array_equal(copied(value), copies[name], err_msg=name)
    fitted.set_params(n_jobs=None, n_components=2)
    assert_array_equal(fitted.transform(frame), V)


@pytest.mark.parametrize("name", ["term_shape", "coef_shape"])
def test_without_labels_shapes_are_numbers(name):
    """With labels None goes by scopes; without there is nothing that it could go by."""
    with pytest.raises(ValueError, match=f"{name} must be a positive number"):
        VBNMF(2, **{name: None}).fit(np.ones((3, 4)))
