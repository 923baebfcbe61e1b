"""Labels that make no sense, or only at a second look: refused kindly, or read as meant."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vbnmf import SupervisedVBNMF, load
from vbnmf.estimators.labels import check_targets

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (5, "one-dimensional"),
        ([["a"], "bc", ["b"]], "row 1 is 'bc'"),
        ([[["a"]], ["b"], ["a"]], "nested lists of labels"),
        ([[1.0], [np.inf], [1.0]], "infinite"),
        (pd.DataFrame([[1, 0], [0, 1], [1, 1]], columns=["z", "z"]), "columns with the same name"),
        (sparse.coo_array(np.ones(3)), "indicator matrix"),
        (["a\0", "a", "a"], r"the label 'a\\x00' ends with a NUL character"),
        (np.array(["a\0", "a", "a"], dtype=object), "ends with a NUL character"),
        ([["a\0", "a"], ["a"], []], "ends with a NUL character"),
        (pd.DataFrame([[1, 0], [0, 1], [1, 1]], columns=["a", "a\0"]), "NUL character"),
    ],
)
def test_what_makes_no_sense_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_targets(SupervisedVBNMF(), y, 3)


def test_masked_labels_are_unknown():
    y = np.ma.masked_array(["a", "b", "a"], mask=[False, False, True])
    targets = check_targets(SupervisedVBNMF(), y, 3)
    assert targets.known.tolist() == [True, True, False]
    assert targets.classes.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "y",
    [
        [["a"], None, ["b", "a"], [], float("nan")],
        (["a"], [None], ["b", "a", "b"], set(), [np.nan]),
    ],
)
def test_missing_among_and_inside_lists(y):
    targets = check_targets(SupervisedVBNMF(), y, 5)
    assert targets.classes.tolist() == ["a", "b"]
    assert targets.known.tolist() == [True, False, True, False, False]
    assert targets.indicators.toarray().tolist() == [[1, 0], [0, 0], [1, 1], [0, 0], [0, 0]]


def test_nested_rows_of_zeros_and_ones_are_an_indicator_matrix():
    nested = check_targets(SupervisedVBNMF(), [[1, 0], [0, 1], [1, 1]], 3)
    assert nested.indicators.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]


def test_a_sparse_matrix_of_labels_is_left_as_it_is():
    y = sparse.csr_array((np.array([1.0, 0.0, 1.0]), np.array([1, 0, 0]), np.array([0, 2, 3])))
    before = (y.data.copy(), y.indices.copy())
    check_targets(SupervisedVBNMF(), y, 2)
    assert np.array_equal(y.data, before[0])
    assert np.array_equal(y.indices, before[1])


def test_columns_in_their_own_order_come_back_from_a_file(tmp_path):
    y = pd.DataFrame([[1, 0], [0, 1], [1, 1], [0, 1]], columns=["z", "b"])
    X = np.random.default_rng(0).poisson(2.0, (4, 6)).astype(float)
    SupervisedVBNMF(2, max_iter=5, unlabelled=float("nan")).fit(X, y).save(tmp_path / "m.vbnmf")
    assert load(tmp_path / "m.vbnmf").classes_.tolist() == ["z", "b"]


def test_a_label_that_no_document_has_is_never_given():
    """As in a fold of a cross-validation that happens to lack a rare label."""
    rng = np.random.default_rng(0)
    X, Y = rng.poisson(2.0, (30, 8)).astype(float), rng.integers(0, 2, (30, 3))
    Y[:, 1] = 0
    model = SupervisedVBNMF(3, max_iter=20, random_state=0).fit(X, Y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.label_counts_[1] == 0
    assert np.isfinite(model.label_activations_).all()
    assert model.predict_proba(X)[:, 1].max() < 1e-6
    assert not model.predict(X)[:, 1].any()


def test_a_series_of_lists_and_floats_as_bits():
    expected = [[1, 0], [0, 1], [1, 1]]
    series = check_targets(SupervisedVBNMF(), pd.Series([["a"], ["b"], ["b", "a"]]), 3)
    assert series.indicators.toarray().tolist() == expected
    floats = check_targets(SupervisedVBNMF(), np.array(expected, dtype=float).tolist(), 3)
    assert floats.indicators.toarray().tolist() == expected


def test_frozen_sets_are_sets_of_labels_but_cannot_be_labels_themselves():
    labels = [frozenset({1}), frozenset({2})] * 2
    model = SupervisedVBNMF(2, max_iter=2).fit(np.ones((4, 3)), labels)
    assert model.classes_.tolist() == [1, 2]
    with pytest.raises(ValueError, match="cannot be sorted"):
        SupervisedVBNMF(2, max_iter=2).fit(np.ones((4, 3)), [[label] for label in labels])


def test_labels_that_are_tuples_are_fine():
    model = SupervisedVBNMF(2, max_iter=2, tol=0).fit(np.ones((4, 3)), [("b", 1), ("a", 2)] * 2)
    assert model.classes_.tolist() == [("a", 2), ("b", 1)]
    assert model.label_counts_.tolist() == [2, 2]
