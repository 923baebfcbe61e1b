"""Coherence and diversity against loops, tomotopy, and cases that can be worked out by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.cli.evaluate import score, score_table
from vbnmf.metrics.coherence import npmi_coherence, topic_diversity


def coherence_by_loops(components, X, top):
    scores = []
    for weights in components:
        terms = sorted(range(len(weights)), key=lambda w: -weights[w])[:top]
        pairs = []
        for i, j in itertools.combinations(terms, 2):
            docs = [(row[i] > 0, row[j] > 0) for row in X]
            p_i, p_j = (sum(has[n] for has in docs) / len(X) for n in (0, 1))
            both = sum(all(has) for has in docs) / len(X)
            if p_i == 0 or p_j == 0 or both == 1:
                pairs.append(0.0)
            elif both == 0:
                pairs.append(-1.0)
            else:
                pairs.append(math.log(both / (p_i * p_j)) / -math.log(both))
        scores.append(sum(pairs) / len(pairs))
    return scores


@settings(max_examples=60, deadline=None)
@given(
    X=hnp.arrays(np.float64, (7, 6), elements=st.sampled_from([0.0, 0.0, 0.5, 3.0])),
    seed=st.integers(0, 99),
    top=st.integers(2, 9),
)
def test_coherence_equals_loops(X, seed, top):
    components = np.random.default_rng(seed).integers(0, 4, (3, 6)).astype(float)
    found = npmi_coherence(components, sparse.csr_array(X), top)
    np.testing.assert_allclose(found, coherence_by_loops(components, X, top), atol=1e-12)
    assert (np.abs(found) <= 1 + 1e-12).all()


def test_coherence_equals_tomotopys():
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
    np.testing.assert_allclose(npmi_coherence(components, X, 6), expected, atol=1e-9)


def test_terms_by_chance_have_no_coherence():
    X = np.array(list(itertools.product([0, 1], repeat=3)) * 2)
    np.testing.assert_allclose(npmi_coherence(np.ones((1, 3)), X, 3), 0, atol=1e-12)


def test_sizes_do_not_matter_and_zeros_may_be_stored():
    X = sparse.csr_array(np.array([[1.0, 2.0, 5.0], [3.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    components = [[3.0, 2.0, 1.0]]
    expected = npmi_coherence(components, X > 0)
    np.testing.assert_array_equal(npmi_coherence(components, X * 0.01), expected)
    X.data[1] = 0.0
    np.testing.assert_array_equal(
        npmi_coherence(components, X), npmi_coherence(components, X.toarray())
    )
    assert npmi_coherence(components, X) != expected


def test_diversity():
    assert topic_diversity(np.eye(4), top=1) == 1
    assert topic_diversity(np.tile([4.0, 3.0, 2.0, 1.0], (5, 1)), top=2) == pytest.approx(1 / 5)
    assert topic_diversity([[3, 2, 1, 0], [0, 3, 2, 1]], top=3) == pytest.approx(4 / 6)
    assert topic_diversity([[3.0, 2.0], [2.0, 3.0]]) == 0.5  # fewer terms than asked for


def test_one_term_has_no_pairs():
    assert npmi_coherence([[1.0]], [[1.0], [0.0]]).tolist() == [0.0]


def test_refused():
    X = np.eye(3)
    with pytest.raises(ValueError, match="X has 3 terms, but the components have 2"):
        npmi_coherence(np.ones((1, 2)), X)
    with pytest.raises(ValueError, match="top must be at least 2; got 1"):
        npmi_coherence(X, X, top=1)
    with pytest.raises(ValueError, match="no documents"):
        npmi_coherence(X, X[:0])
    for components in (np.ones(3), np.ones((0, 3))):
        with pytest.raises(ValueError, match=r"shape \(K, n_terms\)"):
            topic_diversity(components)


def test_evaluate_tells_both_of_components_that_have_not_faded():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = sparse.csr_array(rng.poisson(np.kron([[4, 0.1], [0.1, 4]], np.ones(30))[y]).astype(float))
    model = DocumentModel(SupervisedVBNMF(9, label_shape=1, random_state=0, max_iter=500))
    fitted = model.fit(X, y)
    scores = score(fitted, X, y.tolist())
    faded = fitted.estimator_.faded_
    kept = fitted.estimator_.components_[~faded]
    assert 0 < scores["faded_components"] == faded.sum() < 8
    assert scores["coherence"] == npmi_coherence(kept, X).mean()
    assert scores["diversity"] == topic_diversity(kept)
    lines = score_table(scores).splitlines()
    assert any(
        line.startswith(f"coherence              {scores['coherence']:.4f}") for line in lines
    )
    assert any(
        line.startswith(f"diversity              {scores['diversity']:.4f}") for line in lines
    )
    assert f"{faded.sum()} faded components are left out of the last two." in lines
