"""Agreement of labels on components: corpora with known answers, and the definition in loops."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from vbnmf.core.explained import coefficients, means, ratios
from vbnmf.discovery import labelterms
from vbnmf.discovery.labelterms import Explained, LabelTerms, sampled_agreement, shared
from vbnmf.metrics import agreement, label_agreement
from vbnmf.metrics.agreement import AGREES, GLUED, _most_each, _sample


def planted(seed, *, glued, n_docs=60, n_labels=4):
    """Labels with a component each, and one component that the first two labels share.

    If glued, the first label uses one half of its terms, and the second label the other half.
    """
    rng = np.random.default_rng(seed)
    n_terms = 10 * (n_labels + 2)
    T = np.zeros((n_labels + 1, n_terms))
    for k in range(n_labels):
        T[k, 10 * k : 10 * (k + 1)] = rng.dirichlet(np.ones(10))
    T[-1, 10 * n_labels :] = rng.dirichlet(np.ones(20))
    scopes = np.hstack([np.eye(n_labels, dtype=bool), np.arange(n_labels)[:, None] < 2])
    rows, Y = [], np.repeat(np.eye(n_labels, dtype=bool), n_docs, axis=0)
    for label in np.repeat(np.arange(n_labels), n_docs):
        common = T[-1].copy()
        if glued:
            unused = 10 * (n_labels + 1 - label) if label < 2 else 0
            common[unused : unused + 10] = 0
            common /= common.sum()
        p = 0.5 * T[label] + 0.5 * common if label < 2 else T[label]
        rows.append(rng.multinomial(30, p))
    return np.array(rows), Y, T, scopes


def test_a_component_that_means_the_same_agrees():
    X, Y, T, scopes = planted(0, glued=False)
    found = agreement(X, Y, T, scopes)
    assert np.isnan(found[:-1]).all()  # each of one label
    assert found[-1] == pytest.approx(1.0, abs=0.05)


def test_two_topics_under_one_name_do_not():
    X, Y, T, scopes = planted(0, glued=True)
    assert agreement(X, Y, T, scopes)[-1] < 0.01 < GLUED < AGREES


def test_a_component_of_all_labels_has_no_agreement():
    X, Y, T, scopes = planted(0, glued=False)
    scopes[:, -1] = True
    assert np.isnan(agreement(X, Y, T, scopes)).all()


def test_scales_of_components_and_forms_of_input_do_not_matter():
    X, Y, T, scopes = planted(1, glued=False)
    expected = agreement(X, Y, T, scopes)
    scale = np.arange(1, len(T) + 1)[:, None]
    found = agreement(sparse.coo_array(X), sparse.csc_array(Y), scale * T, scopes.tolist())
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_main_labels_are_those_that_take_most():
    """A third label, which takes little, takes other terms; the pair of main labels agrees."""
    X, Y, T, scopes = planted(2, glued=False)
    scopes[2, -1] = True
    X = X.copy()
    X[120:125] = 0
    X[120:125, 40] = 3  # five documents of the third label, with one term of the component
    assert agreement(X, Y, T, scopes)[-1] > AGREES
    pairs = dict(label_agreement(X, Y, T, scopes))
    assert pairs[4][0, 2] < AGREES


def test_documents_with_two_labels_of_the_scope_are_left_out():
    X, Y, T, scopes = planted(3, glued=True)
    both = np.zeros((40, Y.shape[1]), dtype=bool)
    both[:, :2] = True
    mixed = np.vstack([X, np.tile(X[:20] + X[60:80], (2, 1))])
    assert agreement(mixed, np.vstack([Y, both]), T, scopes)[-1] < 0.01
    both[:, 1] = False  # of the first label only: it takes the terms of both halves
    assert agreement(mixed, np.vstack([Y, both]), T, scopes)[-1] > 0.1


def test_labels_without_documents_leave_it_undefined():
    X, Y, T, scopes = planted(4, glued=False)
    of_second = Y[:, 1]
    assert np.isnan(agreement(X[~of_second], Y[~of_second], T, scopes)).all()
    assert np.isnan(agreement(X, np.zeros_like(Y), T, scopes)).all()
    pairs = dict(label_agreement(X[~of_second], Y[~of_second], T, scopes))
    assert pairs[4][0, 0] == 1
    assert np.isnan(pairs[4][1]).all()


def test_a_label_of_one_document():
    X, Y, T, scopes = planted(5, glued=False)
    rows = np.r_[:60, 60, 120:240]
    found = agreement(X[rows], Y[rows], T, scopes)[-1]
    assert 0.5 < found < 1.5  # one document takes other terms by chance, and so does its half


def test_rare_terms_are_left_out():
    X, Y, T, scopes = planted(6, glued=False)
    expected = agreement(X, Y, T, scopes)
    T = np.hstack([T, np.zeros((len(T), 1))])
    T[-1, -1] = 1.0
    rare = np.zeros((len(X), 1))
    rare[:2] = 50  # in two documents
    found = agreement(np.hstack([X, rare]), Y, T, scopes)
    assert found[-1] == pytest.approx(expected[-1], abs=1e-9)


def test_the_definition_in_loops():
    """Against dense loops written from the definition."""
    rng = np.random.default_rng(7)
    X = rng.poisson(0.5, (60, 12)).astype(float)
    Y = np.zeros((60, 3), dtype=bool)
    Y[np.arange(60), np.arange(60) % 3] = True
    T = rng.gamma(0.5, size=(4, 12)) + 0.01
    scopes = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 0]], dtype=bool)
    p = T / T.sum(axis=1, keepdims=True)
    S = np.zeros((60, 12, 4))
    for d in range(60):
        v = scopes[np.flatnonzero(Y[d])[0]].astype(float)
        for _ in range(2000):
            share = v * p.T / (v @ p)[:, None] * X[d][:, None]
            v = share.sum(axis=0) / max(share.sum(), 1e-300)
        S[d] = share
    explained = Explained.of(
        sparse.csr_array(X), sparse.csr_array(Y), np.ascontiguousarray(T.T), scopes
    )
    found = agreement(X, Y, T, scopes)
    assert shared(scopes).tolist() == [0, 2]
    for k in (0, 2):
        labels = np.flatnonzero(scopes[:, k])
        sums = explained.label_terms(k).sums.toarray()
        for label in labels:
            np.testing.assert_allclose(sums[label], S[Y[:, label], :, k].sum(axis=0), atol=0.2)
        one, other = (S[Y[:, label], :, k] for label in labels)
        both = np.vstack([one, other])
        halves = []
        for _ in range(500):
            order = rng.permutation(len(both))
            halves.append(cosine(both[order[: len(one)]], both[order[len(one) :]]))
        assert found[k] == pytest.approx(cosine(one, other) / np.mean(halves), abs=0.03)


def cosine(A, B):
    a, b = A.sum(axis=0), B.sum(axis=0)
    return a @ b / np.sqrt((a @ a) * (b @ b))


def test_all_pairs_from_sums_are_near_sampled_ones():
    rng = np.random.default_rng(8)
    sizes = (30, 100, 55)
    label = np.repeat(np.arange(3), sizes)
    weight = rng.gamma(1.0, size=(3, 20))
    shares = rng.poisson(rng.gamma(0.5, size=(185, 1)) * weight[label]).astype(float)
    terms = LabelTerms.of(sparse.csr_array(shares), label, 3)
    found = terms.agreement()
    for a, b in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((label == a) | (label == b))
        sampled = sampled_agreement(
            sparse.csr_array(shares[rows]), label[rows] == b, 400, np.random.default_rng(0)
        )
        assert found[a, b] == found[b, a] == pytest.approx(sampled, abs=0.02)
    assert (found.diagonal() == 1).all()


def test_means_over_halves_are_exact():
    """The mean of s_A · s_B and |s_A|² over all halves of four documents, by enumeration."""
    shares = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0], [2.0, 0.0]])
    label = np.array([0, 1, 1, 1])

    def halves(rows):
        parts = [rows[list(A)].sum(axis=0) for A in combinations(range(4), 1)]
        pairs = [(a, rows.sum(axis=0) - a) for a in parts]
        inner, first, second = np.mean([(a @ b, a @ a, b @ b) for a, b in pairs], axis=0)
        return inner / np.sqrt(first * second)

    of_halves = halves(shares) / halves(shares.sum(axis=1, keepdims=True))
    expected = cosine(shares[:1], shares[1:]) / of_halves
    found = LabelTerms.of(sparse.csr_array(shares), label, 2).agreement()
    assert found[0, 1] == pytest.approx(expected)


def test_label_terms_of_parts_add_up():
    rng = np.random.default_rng(9)
    shares, label = sparse.csr_array(rng.poisson(0.7, (40, 9)).astype(float)), np.arange(40) % 3
    whole = LabelTerms.of(shares, label, 3)
    both = LabelTerms.of(shares[:11], label[:11], 3) + LabelTerms.of(shares[11:], label[11:], 3)
    np.testing.assert_allclose(both.agreement(), whole.agreement())


def test_ratios_add_up_to_what_components_explain_of_terms():
    rng = np.random.default_rng(10)
    X, V, T = rng.poisson(1.0, (8, 5)), rng.gamma(1.0, size=(8, 3)), rng.gamma(1.0, size=(5, 3))
    of_documents = sparse.csr_array(X.astype(float))
    np.testing.assert_allclose(means(of_documents, V, T), (V @ T.T)[X > 0])
    ratio = ratios(of_documents, V, T)
    found = T * (ratio.T @ V)
    expected = np.zeros((5, 3))
    for d, w, k in np.ndindex(8, 5, 3):
        expected[w, k] += X[d, w] * V[d, k] * T[w, k] / (V[d] @ T[w])
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found.sum(axis=1), X.sum(axis=0))


def test_coefficients_have_maximum_likelihood():
    """Two components with terms of their own: parts of the counts, where they are in scope."""
    X = sparse.csr_array(np.array([[3.0, 1.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    T = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]])
    in_scope = np.array([[True, True], [False, True], [True, True]])
    found = coefficients(X, T, in_scope, max_iter=500, tol=0)
    np.testing.assert_allclose(found, [[0.75, 0.25], [0, 1], [0, 0]], atol=1e-12)


def test_a_sample_keeps_rare_labels():
    rng = np.random.default_rng(11)
    label = rng.permutation(np.repeat(np.arange(4), [5, 30, 400, 800]))
    Y = sparse.csr_array(np.eye(4, dtype=bool)[label])
    rows, weight = _sample(Y, np.arange(len(label)), 335, seed=0)
    assert np.bincount(label[rows]).tolist() == [5, 30, 150, 150]
    sums = np.bincount(label[rows], weight)
    np.testing.assert_allclose(sums, [5, 30, 400, 800])
    again, _ = _sample(Y, np.arange(len(label)), 335, seed=0)
    assert (again == rows).all()


@pytest.mark.parametrize("total", [4, 17, 40, 99, 100])
def test_most_of_each_label(total):
    sizes = np.array([3, 40, 7, 50])
    n = _most_each(sizes, total)
    if total > 8:
        assert np.minimum(sizes, n).sum() <= total
        assert np.minimum(sizes, n + 1).sum() > total or n == 50
    else:
        assert n == 2


def test_a_sample_gives_about_the_same():
    X, Y, T, scopes = planted(12, glued=False, n_docs=300)
    few = agreement(X, Y, T, scopes, max_docs=200)[-1]
    assert few == pytest.approx(agreement(X, Y, T, scopes)[-1], abs=0.05)


def test_many_label_sets():
    """Documents with several labels, most sets of which are rare."""
    rng = np.random.default_rng(13)
    X, Y, T, scopes = planted(13, glued=False)
    Y = Y.copy()
    Y[120:, 2:] |= rng.random((120, 2)) < 0.5
    found = agreement(X, Y, T, scopes)
    assert found[-1] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("n_labels", [1, 2])
def test_label_sets_are_taken_together_until_they_have_enough_documents(monkeypatch, n_labels):
    Y = np.eye(6, dtype=int)[np.arange(80) % 6]  # 13 or 14 documents of each set
    Y |= (n_labels - 1) * np.roll(Y, 2, axis=1)  # the second label follows from the first
    for least, n_sets in ((1, 1), (20, 2)):
        monkeypatch.setattr(labelterms, "_LEAST_DOCS", least)
        groups = list(labelterms.label_sets(sparse.csr_array(Y)))
        sets = [set(map(tuple, Y[rows].tolist())) for rows in groups]
        assert list(map(len, sets)) == [n_sets] * (6 // n_sets)
        assert len(set.union(*sets)) == 6  # no set is in two groups
        assert sorted(np.concatenate(groups)) == list(range(80))


def test_shapes_that_do_not_match():
    X, Y, T, scopes = planted(0, glued=False)
    with pytest.raises(ValueError, match=r"Y must have the shape \(240, 4\).*got \(239, 4\)"):
        agreement(X, Y[1:], T, scopes)
    with pytest.raises(ValueError, match=r"components must have the shape \(5, 60\)"):
        agreement(X, Y, T[:, 1:], scopes)
    with pytest.raises(ValueError, match=r"scopes must have the shape \(4, 5\)"):
        agreement(X, Y, T, scopes[:, 1:])
