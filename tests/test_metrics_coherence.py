"""NPMI against loops, tomotopy, and cases that can be worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import examples
from scipy import sparse

from vbnmf.metrics import coherence, document_npmi, window_npmi


def npmi_by_loops(components, contexts, top):
    """Of contexts that are sets of terms."""
    scores = []
    for weights in components:
        terms = sorted(range(len(weights)), key=lambda w: -weights[w])[:top]
        pairs = []
        for i, j in itertools.combinations(terms, 2):
            p_i, p_j = (sum(w in has for has in contexts) / len(contexts) for w in (i, j))
            both = sum(i in has and j in has for has in contexts) / len(contexts)
            if p_i == 0 or p_j == 0 or both == 1:
                pairs.append(0.0)
            elif both == 0:
                pairs.append(-1.0)
            else:
                pairs.append(math.log(both / (p_i * p_j)) / -math.log(both))
        scores.append(sum(pairs) / len(pairs) if pairs else 0.0)
    return scores


def windows_by_slicing(documents, length):
    """All runs of so many tokens, and whole documents that are shorter."""
    return [
        set(tokens[start : start + length])
        for tokens in documents
        for start in range(max(len(tokens) - length + 1, 1))
        if tokens
    ]


@examples(60)
@given(
    X=hnp.arrays(np.float64, (7, 6), elements=st.sampled_from([0.0, 0.0, 0.5, 3.0])),
    seed=st.integers(0, 99),
    top=st.integers(2, 9),
)
def test_by_documents_equals_loops(X, seed, top):
    components = np.random.default_rng(seed).integers(0, 4, (3, 6)).astype(float)
    found = document_npmi(components, sparse.csr_array(X), top)
    contexts = [set(np.flatnonzero(row)) for row in X]
    np.testing.assert_allclose(found, npmi_by_loops(components, contexts, top), atol=1e-12)
    assert (np.abs(found) <= 1 + 1e-12).all()


def test_by_documents_equals_tomotopys():
    tomotopy = pytest.importorskip("tomotopy", reason="tomotopy is not installed")
    from tomotopy.coherence import Coherence, ConfirmMeasure, ProbEstimation, Segmentation

    rng = np.random.default_rng(0)
    X = rng.poisson(0.3 + rng.gamma(0.5, 1.0, (80, 3)) @ rng.gamma(0.3, 1.0, (3, 30)))
    components = rng.random((4, 30))
    corpus = tomotopy.utils.Corpus()
    for row in X:
        corpus.add_doc([f"w{w}" for w in np.repeat(np.arange(30), row)] or ["none"])
    theirs = Coherence(
        corpus,
        coherence=(ProbEstimation.DOCUMENT, Segmentation.ONE_ONE, ConfirmMeasure.NPMI),
        targets=[f"w{w}" for w in range(30)],
        eps=1e-300,  # for pairs that never occur together, of which there is none here
    )
    top = np.argsort(-components, axis=1)[:, :6]
    expected = [theirs.get_score(words=[f"w{w}" for w in row]) for row in top]
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(document_npmi(components, X, 6), expected, atol=1e-9)


def test_terms_by_chance_have_no_coherence():
    X = np.array(list(itertools.product([0, 1], repeat=3)) * 2)
    np.testing.assert_allclose(document_npmi(np.ones((1, 3)), X, 3), 0, atol=1e-12)


def test_sizes_do_not_matter_and_zeros_may_be_stored():
    X = sparse.csr_array(np.array([[1.0, 2.0, 5.0], [3.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    components = [[3.0, 2.0, 1.0]]
    expected = document_npmi(components, X > 0)
    np.testing.assert_array_equal(document_npmi(components, X * 0.01), expected)
    X.data[1] = 0.0
    np.testing.assert_array_equal(
        document_npmi(components, X), document_npmi(components, X.toarray())
    )
    assert document_npmi(components, X) != expected


def test_one_term_has_no_pairs():
    assert document_npmi([[1.0]], [[1.0], [0.0]]).tolist() == [0.0]


def test_documents_refused():
    X = np.eye(3)
    with pytest.raises(ValueError, match="X has 3 terms, but the components have 2"):
        document_npmi(np.ones((1, 2)), X)
    with pytest.raises(ValueError, match="top must be at least 2; got 1"):
        document_npmi(X, X, top=1)
    with pytest.raises(ValueError, match="no documents"):
        document_npmi(X, X[:0])
    for components in (np.ones(3), np.ones((0, 3))):
        with pytest.raises(ValueError, match=r"shape \(K, n_terms\)"):
            document_npmi(components, X)


class TestWindows:
    @examples(150)
    @given(
        documents=st.lists(st.lists(st.integers(0, 7), max_size=14), min_size=1, max_size=6),
        seed=st.integers(0, 99),
        top=st.integers(2, 9),
        window=st.integers(2, 16),
        n_terms=st.integers(1, 6),  # tokens beyond are no terms
        at_once=st.sampled_from([1, 10, 1000]),
    )
    def test_equals_loops(self, documents, seed, top, window, n_terms, at_once):
        components = np.random.default_rng(seed).integers(0, 4, (3, n_terms)).astype(float)
        terms = [f"t{w}" for w in range(n_terms)]
        tokens = [[f"t{w}" for w in document] for document in documents]
        contexts = windows_by_slicing(documents, window)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(coherence, "_AT_ONCE", at_once)
            if not contexts:
                with pytest.raises(ValueError, match="no tokens"):
                    window_npmi(components, tokens, terms, top, window)
                return
            found = window_npmi(components, iter(tokens), terms, top, window)
        expected = npmi_by_loops(components, contexts, top)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.shape == (3,)
        assert (np.abs(found) <= 1 + 1e-12).all()

    def test_near_and_far(self):
        """Two terms in the same document are together only if they are near each other."""
        far = [["tea", *["x"] * 9, "leaf"], ["x"] * 30]
        near = [["tea", *["x"] * 8, "leaf", "x"], ["x"] * 30]
        assert window_npmi([[2, 1]], far, ["tea", "leaf"]).tolist() == [-1]
        # one of 23 windows has both, which is all that has tea, and two have leaf
        expected = math.log((1 / 23) / (1 / 23 * 2 / 23)) / -math.log(1 / 23)
        assert window_npmi([[2, 1]], near, ["tea", "leaf"]) == pytest.approx([expected])

    def test_pairs_that_say_nothing(self):
        terms = ["a", "b", "c"]
        assert window_npmi([[2, 1, 0]], [["a", "b"]] * 3, terms, top=2).tolist() == [0]  # always
        assert window_npmi([[2, 0, 1]], [["a", "b"]] * 3, terms, top=2).tolist() == [0]  # no c
        assert window_npmi([[1.0]], [["a"], ["b"]], ["a"]).tolist() == [0]  # one term
        assert window_npmi([[2, 1, 0]], [["x"], ["y"]], terms).tolist() == [0]  # none at all

    def test_repetition_does_not_matter_and_empty_documents_have_no_window(self):
        terms, documents = ["a", "b"], [["a", "b"], ["a"], ["c"], ["b", "c"]]
        expected = window_npmi([[2, 1]], documents, terms)
        again = [[], *([t for t in tokens for _ in range(2)] for tokens in documents), []]
        assert window_npmi([[2, 1]], again, terms).tolist() == expected.tolist()
        assert expected.tolist() == [0]

    def test_refused(self):
        eye, documents, terms = np.eye(2), [["a", "b"]], ["a", "b"]
        with pytest.raises(ValueError, match="terms has 1 names, but the components have 2"):
            window_npmi(eye, documents, ["a"])
        with pytest.raises(ValueError, match="'a' occurs more than once"):
            window_npmi(eye, documents, ["a", "a"])
        with pytest.raises(ValueError, match=r"window must be at least 2 tokens.* got 1"):
            window_npmi(eye, documents, terms, window=1)
        with pytest.raises(ValueError, match="top must be at least 2; got 1"):
            window_npmi(eye, documents, terms, top=1)
        with pytest.raises(TypeError, match=r"number 1 \(from 0\) is a single str. Split it"):
            window_npmi(eye, [["a"], "a b"], terms)
        for nothing in ([], [[], []]):
            with pytest.raises(ValueError, match="no tokens to count terms in"):
                window_npmi(eye, nothing, terms)
