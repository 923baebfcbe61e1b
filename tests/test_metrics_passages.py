"""Passages that recur: found with their documents, and told from topics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vbnmf.metrics import find_passages, passages
from vbnmf.metrics.passages import Passages, constancy, first_of_each

SIGNATURE = range(200, 207)


def topics(seed=0, n_docs=300):
    """Documents on ten topics of twenty terms each, of which a document has about eight."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_docs, 220))
    for d, row in enumerate(X):
        at = 20 * (d % 10) + rng.choice(20, 8, replace=False)
        row[at] = rng.poisson(1.5, 8) + 1
        row[rng.choice(200, 4, replace=False)] += 1
    return X


def signed(seed=0, docs=range(0, 300, 12)):
    """The same, and some documents on all topics have a signature of seven terms."""
    X = topics(seed)
    X[np.ix_(list(docs), SIGNATURE)] = 1
    return X


def recount(X, columns):
    """Documents with at least half of the terms, counted one by one."""
    return sum(2 * sum(row[w] > 0 for w in columns) >= len(columns) for row in X)


def test_topics_are_no_passages():
    for seed in range(3):
        assert find_passages(topics(seed)) == Passages((), (), 300)


def test_a_signature_is_found_with_its_documents():
    assert find_passages(signed()) == Passages((tuple(SIGNATURE),), (25,), 300)


def test_some_documents_have_only_a_part():
    X = signed()
    X[12, 203:] = 0  # quotes three of seven terms: less than half
    X[24, 204:207] = 0  # four of seven
    X[5, 200] = X[17, 201] = 1  # a term elsewhere
    found = find_passages(X)
    assert found.terms == (tuple(SIGNATURE),)
    assert found.documents == (24,) == (recount(X, SIGNATURE),)


def test_terms_that_other_documents_have_as_well_join():
    X = signed()
    X[:, 207] = X[:, 208] = X[:, 200]
    X[1:11, 207] = 1  # J = 25 / 35
    X[1:31, 208] = np.where(X[1:31, 200] > 0, X[1:31, 208], 1)  # J below 0.5
    found = find_passages(X)
    assert found.terms == ((*SIGNATURE, 207),)
    assert found.documents == (recount(X, found.terms[0]),)


def test_two_passages_the_more_frequent_first():
    X = signed(docs=range(0, 300, 20))
    X[np.ix_(range(3, 300, 10), range(210, 216))] = 1
    found = find_passages(X)
    assert found.terms == (tuple(range(210, 216)), tuple(SIGNATURE))
    assert found.documents == (30, 15)
    of_terms = found.of_terms(220)
    assert of_terms[[0, 199, 205, 212, 219]].tolist() == [-1, -1, 1, 0, -1]


@pytest.mark.parametrize(
    ("n_terms", "n_docs", "found"),
    [(4, 50, 0), (5, 8, 1), (5, 7, 0), (7, 6, 1), (10, 3, 0), (14, 3, 1), (20, 2, 0)],
)
def test_how_much_is_enough(n_terms, n_docs, found):
    X = np.hstack([topics(), np.zeros((300, 20))])
    X[np.ix_(range(0, 2 * n_docs, 2), range(220, 220 + n_terms))] = 1
    assert len(find_passages(X)) == found


def test_common_words_are_no_passage():
    X = topics()
    X[:280, 200:210] = 1
    assert len(find_passages(X)) == 0


def test_words_that_always_occur_together_but_not_equally_often_are_no_passage():
    # as the frequent words of a second language
    X, rng = topics(), np.random.default_rng(1)
    X[::10, 200:210] = 1 + rng.poisson(4, (30, 10))
    assert len(find_passages(X)) == 0
    X[::10, 200:210] = 1
    assert len(find_passages(X)) == 1


def test_copies_of_a_document_are_one():
    X = topics()
    X[290:, :] = 0
    X[290:, 200:215] = 1  # ten copies
    assert find_passages(X) == Passages((), (), 300)
    two_signed = signed(docs=[4, 50])
    assert len(find_passages(np.vstack([two_signed, *[two_signed[[4, 50]]] * 10]))) == 0


def test_copies_are_counted():
    X = signed()
    found = find_passages(np.vstack([X, X[:13]]))
    assert found == Passages((tuple(SIGNATURE),), (27,), 313)


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_documents_does_not_matter(seed):
    X = signed(docs=[1, 4, 9, 16, 25, 36, 49, 64])
    X[64, 204:] = 0
    order = np.random.default_rng(seed).permutation(len(X))
    assert find_passages(X[order]) == find_passages(X)
    assert len(find_passages(X)) == 1


def test_values_scaled_by_document_or_by_term_do_not_matter():
    X, rng = signed(), np.random.default_rng(2)
    scaled = X * rng.uniform(0.2, 5, (300, 1)) * rng.uniform(0.2, 5, (1, 220))
    assert find_passages(sparse.csr_array(scaled)) == find_passages(X)


def test_weights_and_stored_zeros():
    X = signed()
    weight = np.ones(300)
    weight[[0, 12, 24, 30]] = 0
    assert find_passages(X, sample_weight=weight) == Passages((tuple(SIGNATURE),), (22,), 296)
    assert find_passages(X, sample_weight=weight * 2.5) == find_passages(X, sample_weight=weight)
    stored = sparse.csr_array(X)
    stored.data[stored.indices == 203] = 0
    expected = tuple(w for w in SIGNATURE if w != 203)
    assert find_passages(stored).terms == (expected,)
    assert stored.nnz == np.count_nonzero(X)  # X is not changed


@pytest.mark.parametrize("X", [np.zeros((0, 4)), np.zeros((5, 4)), np.ones((5, 1)), np.eye(60)])
def test_little_to_find(X):
    assert find_passages(X) == Passages((), (), len(X))


def test_constancy():
    same = np.outer([1, 2, 5], [1.0, 3, 4, 2])
    assert constancy(same) == 1
    same[0, 0] = 0  # missing
    same[1, 2] *= 1.15
    assert constancy(same) == 1
    same[1, 2] *= 2
    assert constancy(same) == pytest.approx(10 / 11)


def test_the_first_of_each():
    assert first_of_each(np.array([1, -1, 0, 1, -1, 0, 2])).tolist() == [1, 1, 1, 0, 1, 0, 1]
    assert first_of_each(np.zeros(0, int)).tolist() == []


def test_candidates_have_no_effect_beyond_the_definition(monkeypatch):
    """More hashes find the same: nearly all candidates are found with those that are used."""
    expected = [find_passages(signed(seed)) for seed in range(3)]
    monkeypatch.setattr(passages, "_BANDS", 20)
    assert [find_passages(signed(seed)) for seed in range(3)] == expected
