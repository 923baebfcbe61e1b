"""Fidelity of descriptions: corpora small enough to count by hand."""

import numpy as np
import pytest
from scipy import sparse

from vbnmf.metrics import component_fidelity, label_fidelity, share_that_holds
from vbnmf.metrics.fidelity import DescribedDocuments

#        0  1  2  3  4
X = np.array(
    [
        [1, 2, 0, 0, 0],  # a
        [1, 1, 1, 0, 0],  # a
        [3, 0, 0, 0, 0],  # a
        [0, 1, 0, 0, 0],  # a
        [0, 0, 2, 1, 0],  # b
        [1, 1, 0, 1, 0],  # b
        [0, 0, 0, 0, 0],  # c
    ]
)
Y = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 2 + [[0, 0, 1]])


def test_labels_by_hand():
    inside, elsewhere = label_fidelity(X, Y, [[0, 1], [2, 3], [0, 1, 2, 3]])
    assert inside.tolist() == [2 / 4, 1 / 2, 0]
    assert elsewhere.tolist() == [1 / 3, 0, 4 / 6]


def test_a_label_of_one_document_and_one_of_none():
    inside, elsewhere = label_fidelity(X[[0, 4]], Y[[0, 4]], [[0, 1], [2, 3], [0, 1]])
    np.testing.assert_array_equal(inside, [1, 1, np.nan])
    np.testing.assert_array_equal(elsewhere, [0, 0, 1 / 2])


def test_terms_that_nobody_has_and_lists_that_say_nothing():
    inside, elsewhere = label_fidelity(X, Y, [[4, 0], [], [3]])
    assert inside.tolist() == [0, 0, 0]
    assert elsewhere.tolist() == [0, 0, 0]


def test_a_term_that_is_listed_twice_counts_once():
    inside, _ = label_fidelity(X, Y, [[0, 0], [3, 3], [1, 1]])
    assert inside.tolist() == [0, 0, 0]


def test_one_label_has_no_elsewhere():
    inside, elsewhere = label_fidelity(X, np.ones((7, 1)), [[0, 1]])
    assert inside.tolist() == [3 / 7]
    assert np.isnan(elsewhere).all()


def test_documents_with_several_labels_count_for_each():
    both = Y.copy()
    both[0] = [1, 1, 0]
    inside, elsewhere = label_fidelity(X, both, [[0, 1], [0, 1], [0, 1]])
    assert inside.tolist() == [2 / 4, 2 / 3, 0]
    assert elsewhere.tolist() == [1 / 3, 1 / 4, 3 / 6]


def test_components_by_hand():
    found = component_fidelity(sparse.csr_array(X), sparse.csr_array(Y), [[0, 1], [2, 3, 4]])
    assert found.tolist() == [[2 / 4, 0], [1 / 2, 1 / 2], [0, 0]]
    found = component_fidelity(X[:4], Y[:4], [[0, 1]])
    np.testing.assert_array_equal(found, [[2 / 4], [np.nan], [np.nan]])


def test_weights_that_are_stored_but_zero_are_not_terms():
    stored = sparse.csr_array((np.array([1.0, 0.0]), ([0, 0], [0, 1])), shape=(1, 2))
    assert label_fidelity(stored, [[1]], [[0, 1]])[0].tolist() == [0]


def test_many_lists_against_loops():
    rng = np.random.default_rng(0)
    some = rng.random((50, 30)) < 0.2
    labels = rng.random((50, 4)) < 0.4
    lists = [rng.choice(30, rng.integers(0, 8), replace=False) for _ in range(150)]
    counted = DescribedDocuments.count(some, labels, lists)
    for number in (0, 63, 64, 149):
        described = some[:, lists[number]].sum(axis=1) >= 2
        for label in range(4):
            has = labels[:, label]
            assert counted.inside[label, number] == described[has].mean()
            assert counted.elsewhere[label, number] == described[~has].mean()


def test_parts_add_up():
    lists = [[0, 1], [2, 3]]
    whole = DescribedDocuments.count(X, Y, lists)
    parts = DescribedDocuments.count(X[:3], Y[:3], lists) + DescribedDocuments.count(
        X[3:], Y[3:], lists
    )
    np.testing.assert_array_equal(parts.inside, whole.inside)
    np.testing.assert_array_equal(parts.elsewhere, whole.elsewhere)


def test_what_is_said_of_components_holds():
    use = [[0.6, 0.3, 0.05], [0.1, 0.9, 0.0]]
    fidelity = [[0.3, 0.14, 0.0], [0.05, np.nan, 0.0]]
    assert share_that_holds(use, fidelity) == (2 / 3, 3)
    share, n_said = share_that_holds([[0.05]], [[1.0]])
    assert np.isnan(share)
    assert n_said == 0


def test_shapes_that_do_not_match():
    with pytest.raises(ValueError, match="X has 7 documents, but Y has 6"):
        label_fidelity(X, Y[1:], [[]] * 3)
    with pytest.raises(ValueError, match="there are 3 labels, but 2 lists of terms"):
        label_fidelity(X, Y, [[0, 1], [2]])
