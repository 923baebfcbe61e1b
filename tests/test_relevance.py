"""Ranks of terms: those that tell a component apart, neither too common nor too rare."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracle_uses import relevance as by_definition
from scipy import sparse

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.description.components import term_parts, term_units
from vbnmf.metrics.relevance import relevance
from vbnmf.text import DocumentVectorizer


def corpus():
    """Documents of two labels, with a word of all documents, and a rare word of one document."""
    common = ["the cat sat near the door", "the cat ran to the cat", "a cat and the door"]
    other = ["the dog sat near the gate", "the dog ran to the dog", "a dog and the gate"]
    return [*common * 8, "the cat zyzzyva", *other * 8], ["cat"] * 25 + ["dog"] * 24


@pytest.fixture(scope="module")
def model():
    return DocumentModel(SupervisedVBNMF(2, init="label", random_state=0)).fit(*corpus())


def test_is_as_defined(model):
    of = model.estimator_
    parts = term_parts(model)
    expected = by_definition(of.components_, model.vectorizer_.idf_, of.faded_)
    tops = np.argsort(-expected, axis=1, kind="stable")[:, :4]
    assert parts.top_terms(4).tolist() == tops.tolist()
    assert parts.top_terms(4, [1]).tolist() == [tops[1].tolist()]
    for lam in (0.0, 0.4, 1.0, 2.0):
        expected = by_definition(of.components_, model.vectorizer_.idf_, of.faded_, lam)
        for k in range(2):
            np.testing.assert_allclose(parts.relevance(k, lam), expected[k], atol=1e-12)
            best = np.argsort(-expected[k], kind="stable")[:5]
            assert parts.most_relevant(k, 5, lam).tolist() == best.tolist()


def test_rare_words_do_not_come_first(model):
    """A word of one document is specific and has a large weight, but says little of a component."""
    parts = term_parts(model)
    place = {term: w for w, term in enumerate(model.terms_)}
    ranks = [parts.most_relevant(k, len(place)).tolist() for k in range(2)]
    firsts = {model.terms_[row[0]] for row in ranks}
    assert firsts == {"cat", "dog"}
    assert min(row.index(place["zyzzyva"]) for row in ranks) > 0
    assert min(row.index(place["the"]) for row in ranks) > 0


def test_units():
    texts, labels = corpus()
    estimator = SupervisedVBNMF(2, max_iter=5)
    by_weight = DocumentModel(estimator).fit(texts, labels)
    unit = term_units(by_weight)
    idf = by_weight.vectorizer_.idf_
    assert (idf < 0.1).any()  # "the" is in nearly all documents
    np.testing.assert_array_equal(unit, np.sqrt(np.maximum(idf, 0.1)))
    counted = DocumentModel(estimator, DocumentVectorizer(weighting="counts")).fit(texts, labels)
    assert (term_units(counted) == 1).all()
    assert (term_units(by_weight.estimator_) == 1).all()  # it does not know the idf


def test_a_single_component_is_ranked_by_frequency():
    X = sparse.csr_array([[1.0, 5.0, 3.0], [2.0, 6.0, 3.0]])
    parts = term_parts(VBNMF(1, random_state=0).fit(X))
    assert parts.most_relevant(0, 3).tolist() == [1, 2, 0]


def test_terms_that_do_not_occur():
    q = np.array([0.0, 0.5, 0.5])
    average = np.array([0.2, 0.2, 0.6])
    assert relevance(q, average)[0] == 0
    assert relevance(q, average, 0.0)[0] == 0
    assert relevance(q, average)[1] == pytest.approx(0.5 * np.log(2.5))


def test_a_vectorizer_that_knows_no_document_frequencies(model):
    """One of another kind: weights are taken as they are."""
    other = SimpleNamespace(estimator_=model.estimator_, vectorizer_=object())
    assert (term_units(other) == 1).all()
