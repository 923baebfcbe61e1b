"""Labels as users give them, in all forms that are accepted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from vbnmf import SupervisedVBNMF
from vbnmf.estimators.labels import check_targets

pd = pytest.importorskip("pandas")

SETS = [["b"], ["a", "c"], [], ["a"], ["c", "a"], ["a", "b", "c"], [], ["b"]]
INDICATORS = np.array([[label in labels for label in "abc"] for labels in SETS], dtype=int)


def check(y, n_docs=None, unlabelled=None):
    n_docs = len(y) if n_docs is None else n_docs
    return check_targets(SupervisedVBNMF(), y, n_docs, unlabelled)


def of_objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


SEVERAL = {
    "array": INDICATORS,
    "floats": INDICATORS.astype(float),
    "booleans": INDICATORS.astype(bool),
    "csr": sparse.csr_array(INDICATORS),
    "coo of int8": sparse.coo_matrix(INDICATORS.astype(np.int8)),
    "csc of booleans": sparse.csc_array(INDICATORS.astype(bool)),
    "frame": pd.DataFrame(INDICATORS, columns=list("abc")),
    "frame of booleans": pd.DataFrame(INDICATORS.astype(bool), columns=list("abc")),
    "frame of Int64": pd.DataFrame(INDICATORS, columns=list("abc")).astype("Int64"),
    "lists": SETS,
    "lists that repeat": [[*labels, *labels] for labels in SETS],
    "sets": [set(labels) for labels in SETS],
    "frozen sets": [frozenset(labels) for labels in SETS],
    "array of lists": of_objects(SETS),
    "series of lists": pd.Series(SETS, index=range(10, 18)),
}


@pytest.mark.parametrize("way", SEVERAL)
def test_several_labels_are_the_same_in_each_way_of_giving_them(way):
    targets = check(SEVERAL[way], len(SETS))
    named = way.startswith(("frame", "lists", "sets", "frozen", "series")) or way.endswith("lists")
    assert targets.classes.tolist() == (["a", "b", "c"] if named else [0, 1, 2])
    # a; a, b, c; a, c; b; then the two of unknown label
    assert targets.group.tolist() == [3, 2, 4, 0, 2, 1, 4, 3]
    assert targets.group.dtype == np.uint8
    weights = [[1, 0, 0], [1 / 3] * 3, [0.5, 0, 0.5], [0, 1, 0]]
    assert_array_equal(targets.labels.known.toarray(), weights)
    assert targets.n_groups == 5
    assert_array_equal(targets.indicators.toarray(), INDICATORS)
    assert_array_equal(targets.known, [1, 1, 0, 1, 1, 1, 0, 1])
    assert targets.multilabel


def test_a_frequent_label_is_more_probable_by_its_parts():
    labels = check(SETS).labels
    expected = np.array([1 + 0.5 + 0.5 + 1 / 3, 1 + 1 + 1 / 3, 0.5 + 0.5 + 1 / 3]) / 6
    assert_allclose(np.exp(labels.log_prior), expected)
    assert np.exp(labels.log_prior).sum() == pytest.approx(1)
    assert_allclose(labels.latent, [expected])


def test_names_of_columns_keep_their_order():
    frame = pd.DataFrame(INDICATORS[:, ::-1], columns=list("cba"))
    targets = check(frame)
    assert targets.classes.tolist() == ["c", "b", "a"]
    assert_array_equal(targets.indicators.toarray(), INDICATORS[:, ::-1])


ONE_EACH = {
    "None among strings": (["b", None, "a", "b"], None),
    "NaN among strings": (["b", np.nan, "a", "b"], None),
    "NaN among strings in an array": (np.array(["b", np.nan, "a", "b"], dtype=object), None),
    "NA among strings": (["b", pd.NA, "a", "b"], None),
    "column of strings": (pd.Series(["b", pd.NA, "a", "b"], dtype="string"), None),
    "column of categories": (pd.Series(["b", None, "a", "b"], dtype="category"), None),
    "column of Int64": (pd.Series([2, pd.NA, 1, 2], dtype="Int64"), None),
    "column of dates": (pd.Series(pd.to_datetime(["2002", None, "2001", "2002"])), None),
    "None among numbers": ([2, None, 1, 2], None),
    "NaN among numbers": (np.array([2, np.nan, 1, 2]), None),
    "NaN in a matrix of one column": (np.array([[2], [np.nan], [1], [2]]), None),
    "NaN among single precision": (np.array([2, np.nan, 1, 2], dtype=np.float32), None),
    "-1": ([2, -1, 1, 2], -1),
    "-1 in an array": (np.array([2, -1, 1, 2]), np.int64(-1)),
    "-1 among floats": (np.array([2.0, -1, 1, 2]), -1),
    "empty string": (["b", "", "a", "b"], ""),
    "a word": (np.array(["b", "unknown", "a", "b"]), "unknown"),
    "None where something else stands for it as well": (["b", None, "a", "b"], ""),
    "NA where something else stands for it as well": (["b", pd.NA, "a", "b"], ""),
    "tuples": ([("b", 1), None, ("a", 1), ("b", 1)], None),
    "empty list": ([["b"], [], ["a"], ["b"]], None),
    "empty set": ([{"b"}, set(), {"a"}, {"b"}], None),
    "row of zeros": (np.array([[0, 1], [0, 0], [1, 0], [0, 1]]), None),
    "empty row": (sparse.csr_array(np.array([[0, 1], [0, 0], [1, 0], [0, 1]])), None),
}


@pytest.mark.parametrize("way", ONE_EACH)
def test_a_label_that_is_missing_comes_last(way):
    y, unlabelled = ONE_EACH[way]
    targets = check(y, 4, unlabelled)
    assert len(targets.classes) == 2
    assert targets.group.tolist() == [1, 2, 0, 1]
    assert_array_equal(targets.labels.known.toarray(), np.eye(2))
    assert_allclose(targets.labels.latent, [[1 / 3, 2 / 3]])
    assert_array_equal(targets.known, [True, False, True, True])
    assert targets.indicators.sum(axis=0).tolist() == [1, 2]


def test_documents_of_unknown_label_are_the_last_group():
    targets = check(["a", None, "b", None, None, "a"])
    assert targets.group.tolist() == [0, 2, 1, 2, 2, 0]
    assert targets.n_groups == 3


@pytest.mark.parametrize("unlabelled", [None, "", -2])
def test_minus_one_is_a_label_unless_it_is_said_to_be_none(unlabelled):
    targets = check([-1, 0, 1, -1], unlabelled=unlabelled)
    assert targets.classes.tolist() == [-1, 0, 1]
    assert targets.group.tolist() == [0, 1, 2, 0]
    assert len(targets.labels.latent) == 0
    assert not targets.multilabel


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "c"], ["a", "b", "c"]),
        ([3, 1, 2], [1, 2, 3]),
        ([5.0, 2.0, 7.0], [2.0, 5.0, 7.0]),
        ([True, False, True], [False, True]),
        ([[3], [1, 2], [2]], [1, 2, 3]),
        ([("b", 1), ("a", 2), ("a", 1)], [("a", 1), ("a", 2), ("b", 1)]),
    ],
)
def test_labels_are_sorted(y, classes):
    assert check(y).classes.tolist() == classes


NOTHING = "no label for any of the 3 documents"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1, "b"], "cannot be sorted: y has int, str. Use one type"),
        (["a", 1, None], "cannot be sorted: y has int, str. Use one type"),
        ([["a"], ["b", 1], []], "cannot be sorted: y has int, str. Use one type"),
        (None, "requires y to be passed, but the target y is None"),
        ([None, np.nan, pd.NA], NOTHING),
        (np.full(3, np.nan), NOTHING),
        ([[], [], []], NOTHING),
        (np.zeros((3, 2)), NOTHING),
        (sparse.csr_array((3, 2)), NOTHING),
        (np.array([[1, 0], [0, 2], [0, 1]]), "zeros and ones; it has the value 2"),
        (np.array([[1, 0], [0, 0.5], [0, 1]]), "zeros and ones; it has the value 0.5"),
        (np.array([[1, 0], [0, -1], [0, 1]]), "zeros and ones; it has the value -1"),
        (np.array([[1, 0], [0, np.nan], [0, 1]]), "zeros and ones; it has the value nan"),
        (sparse.csr_array([[1, 0], [0, 3], [0, 1]]), "zeros and ones; it has the value 3"),
        (np.array([["a", "b"], ["a", "c"], ["b", "c"]]), "or a list of labels per document"),
        (["a", "b"], "3 documents in X and 2 labels in y"),
        ([["a"], ["b"], [], []], "3 documents in X and 4 labels in y"),
        (np.eye(2), "3 documents in X and 2 labels in y"),
        (sparse.eye_array(4), "3 documents in X and 4 labels in y"),
    ],
)
def test_labels_that_are_refused(y, message):
    with pytest.raises(ValueError) as caught:
        check(y, 3)
    assert message in str(caught.value)
