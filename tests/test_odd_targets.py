"""Labels that make no sense, or only at a second look: refused kindly, or read as meant."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vbnmf import SupervisedVBNMF, load
from vbnmf.estimators.targets import check_targets


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (5, "one-dimensional"),
        ([["a"], "bc", ["b"]], "row 1 is 'bc'"),
        ([[["a"]], ["b"], ["a"]], "lists inside of lists"),
        ([[1.0], [np.inf], [1.0]], "infinite"),
        (pd.DataFrame([[1, 0], [0, 1], [1, 1]], columns=["z", "z"]), "several columns of one name"),
        (sparse.coo_array(np.ones(3)), "indicator matrix"),
    ],
)
def test_what_makes_no_sense_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_targets(SupervisedVBNMF(), y, 3)


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
