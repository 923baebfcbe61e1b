"""Terms that describe components: relevant, together in documents, and in few other lists."""

import numpy as np
import oracle_uses
import pytest
from scipy import sparse

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load
from vbnmf.description import components as description
from vbnmf.description.components import component_names, naming_terms, shown_terms, term_parts
from vbnmf.estimators import componentterms
from vbnmf.metrics import describing_terms


def terms_of(estimator):
    """The components and the passages of an estimator."""
    return estimator.fitted_.components, estimator.fitted_.terms.passages


def drawn(seed=0, n_docs=60, n_terms=25, K=4):
    """Components and documents drawn from them, with terms that no document has."""
    rng = np.random.default_rng(seed)
    components = rng.dirichlet(np.full(n_terms, 0.2), K)
    coefficients = rng.dirichlet(np.full(K, 0.3), n_docs) * 30
    X = rng.poisson(coefficients @ components).astype(float)
    X[:, 3] = 0
    X *= rng.uniform(0.5, 3, n_terms)  # weights of terms, as by IDF
    return components, X


@pytest.mark.parametrize("K", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_as_defined(seed, K):
    components, X = drawn(seed, K=K)
    found = describing_terms(components, sparse.csr_array(X), 8)
    assert found.tolist() == oracle_uses.describing_terms(components, X, 8)


def test_as_defined_with_weights():
    components, X = drawn(7)
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    found = describing_terms(components, X, 8, sample_weight=weight)
    assert found.tolist() == oracle_uses.describing_terms(components, X, 8, weight)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert found.tolist() == describing_terms(components, repeated, 8).tolist()


def test_more_terms_than_candidates():
    components, X = drawn(1, n_docs=90, n_terms=130)
    found = describing_terms(components, X, 6)
    assert found.tolist() == oracle_uses.describing_terms(components, X, 6)
    everything = describing_terms(components, X, 200)
    assert everything.shape == (4, 130)
    assert (np.sort(everything, axis=1) == np.arange(130)).all()
    assert (everything[:, :6] == found).all()  # a short list is the beginning of a long one


def test_order_of_components_and_documents_does_not_matter():
    components, X = drawn(2)
    found = describing_terms(components, X, 9)
    rng = np.random.default_rng(0)
    other = describing_terms(components[[2, 0, 3, 1]], X[rng.permutation(len(X))], 9)
    assert other.tolist() == found[[2, 0, 3, 1]].tolist()


def test_an_odd_term_comes_later():
    """Of two terms of equal weight, the one that occurs together with the others comes first."""
    X = np.kron(np.eye(2), np.ones((6, 3)))
    X = np.hstack([X, np.zeros((12, 1))])
    X[7, 6] = 1  # the odd term is in a document of the other component
    components = [[4, 3, 2, 0.1, 0.1, 0.1, 2], [0.1, 0.1, 0.1, 3, 2, 2, 0.1]]
    first = describing_terms(components, X, 3)[0].tolist()
    assert first == [0, 1, 2]


def test_a_term_is_not_repeated_in_all_lists():
    """All components have term 0. It opens no list but those in which it is the most relevant."""
    rng = np.random.default_rng(0)
    K = 6
    own = np.kron(np.eye(K), np.ones(5)) + 0.01
    shared = np.full((K, 1), 0.9)
    components = np.hstack([shared, own])
    X = (components[rng.integers(0, K, 300)] > 0.5).astype(float)
    lists = describing_terms(components, X, 5)
    assert len(np.unique(lists)) >= 0.9 * lists.size


def test_components_that_are_alike_get_different_lists():
    """They may begin with the same term, but do not add the same terms in the same rounds."""
    rng = np.random.default_rng(0)
    one = np.concatenate([rng.uniform(1, 2, 12), np.full(12, 0.01)])
    components = np.array([one, one * rng.uniform(0.99, 1.01, 24), one[::-1]])
    X = np.kron(np.eye(2), np.ones((30, 12)))
    first, second, _ = describing_terms(components, X, 5).tolist()
    assert len({*first, *second}) >= 9


def test_wrong_arguments():
    components, X = drawn()
    with pytest.raises(ValueError, match=r"X has 24 terms, but the components have 25"):
        describing_terms(components, X[:, 1:])
    with pytest.raises(ValueError, match=r"must not have negative weights; the smallest is -1"):
        describing_terms([[-1.0, 2.0]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        describing_terms(components, X, 0)


# Of models


def documents():
    tea = ["green tea leaves", "black tea leaves with milk", "green tea cup", "tea cup and milk"]
    rain = ["heavy rain clouds", "rain and wind", "grey clouds with wind", "heavy rain wind"]
    return (tea + rain) * 6, (["tea"] * 4 + ["rain"] * 4) * 6


@pytest.fixture(scope="module")
def model():
    return DocumentModel(SupervisedVBNMF(3, random_state=0)).fit(*documents())


def test_a_fit_chooses_them(model):
    of = model.estimator_
    lasting = ~of.faded_
    X = model.vectorize(documents()[0])
    n = of.describing_terms_.shape[1]
    assert n == min(componentterms.LENGTH, len(model.terms_))
    assert of.describing_terms_.dtype == np.int32
    expected = oracle_uses.describing_terms(of.components_[lasting], X.toarray(), n)
    assert of.describing_terms_[lasting].tolist() == expected


def test_names_and_lists_use_them(model):
    chosen = model.estimator_.describing_terms_
    names = component_names(model, model.terms_)
    expected = [" ".join(model.terms_[row[:3]]) for row in chosen]
    for name, words, faded in zip(names, expected, model.estimator_.faded_, strict=True):
        assert name == ("(faded)" if faded else words)
    assert shown_terms(model, 4).tolist() == chosen[:, :4].tolist()
    assert shown_terms(model, 4, [1]).tolist() == chosen[[1], :4].tolist()


def test_longer_lists_go_on_by_relevance(model, monkeypatch):
    monkeypatch.setattr(model.estimator_, "describing_terms_", np.array([[3, 1], [0, 2], [4, 0]]))
    of, n_terms, rows = model.estimator_, len(model.terms_), []
    relevant = term_parts(model).top_terms(n_terms).tolist()
    for row, first, ranked in zip(
        shown_terms(model, n_terms).tolist(), ([3, 1], [0, 2], [4, 0]), relevant, strict=True
    ):
        listed = np.array(first + [w for w in ranked if w not in first])
        prior = of.component_shapes_[len(rows), listed] < 2 * of.hyperparameters_["term_shape"]
        rows.append([*listed[~prior], *listed[prior]])
        assert row == rows[-1]
    assert shown_terms(model, 5).tolist() == [row[:5] for row in rows]


def test_models_that_lack_them_show_relevant_terms(model, monkeypatch):
    monkeypatch.setattr(model.estimator_, "describing_terms_", None)
    assert shown_terms(model, 4).tolist() == term_parts(model).top_terms(4).tolist()


def test_terms_of_the_prior_describe_nothing():
    texts = ["alpha beta gamma", "alpha beta"] * 10 + ["delta epsilon zeta", "delta epsilon"] * 10
    odd = " ".join(f"word{i}" for i in range(60))
    model = DocumentModel(SupervisedVBNMF(4, random_state=0))
    model.fit([*texts, odd], ["a"] * 20 + ["b"] * 20 + ["c"])
    lists = [set(model.terms_[row]) for row in naming_terms(model, 10)]
    assert {"gamma"} in lists  # and no word of the odd document
    assert {"alpha", "beta"} in lists
    for n in (3, 10, 40):  # others come last, so that there are n terms where a list must have n
        for shown, said in zip(shown_terms(model, n), naming_terms(model, n), strict=True):
            assert shown[: len(said)].tolist() == said


def test_a_component_is_named_by_its_heaviest_term_if_no_other_is_left(model, monkeypatch):
    of = model.estimator_
    k = int(np.flatnonzero(~of.faded_)[0])
    chosen = of.describing_terms_.copy()
    chosen[k] = of.component_shapes_[k].argmin()
    monkeypatch.setattr(of, "describing_terms_", chosen)
    assert naming_terms(model, 3)[k] == [of.components_[k].argmax()]


def test_they_are_saved(model, tmp_path):
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").estimator_
    np.testing.assert_array_equal(again.describing_terms_, model.estimator_.describing_terms_)


def test_faded_components_do_not_take_terms():
    _, X = drawn(3)
    model = VBNMF(2, random_state=0).fit(X)
    model.component_shapes_[1] = model.hyperparameters_["term_shape"]
    model.components_[1] = model.component_shapes_[1] * model.component_scales_[1]
    assert model.faded_.tolist() == [False, True]
    chosen = componentterms.choose_terms(*terms_of(model), sparse.csr_array(X), None)
    alone = describing_terms(model.components_[:1], X, componentterms.LENGTH)
    assert chosen[:1].tolist() == alone.tolist()
    model.component_shapes_[0] = model.hyperparameters_["term_shape"]
    assert (
        componentterms.choose_terms(*terms_of(model), sparse.csr_array(X), None).shape
        == chosen.shape
    )


def test_a_sample_of_many_documents(monkeypatch):
    _, X = drawn(5, n_docs=200)
    weight = np.random.default_rng(0).uniform(1, 2, len(X))
    model = VBNMF(4, random_state=0).fit(X, sample_weight=weight)
    monkeypatch.setattr(componentterms, "MOST_DOCUMENTS", 50)
    chosen = componentterms.choose_terms(*terms_of(model), sparse.csr_array(X), weight)
    expected = describing_terms(
        model.components_, X[::4], componentterms.LENGTH, sample_weight=weight[::4]
    )
    assert chosen.tolist() == expected.tolist()


def test_batches_choose_anew_or_not_at_all():
    texts, labels = documents()
    X = DocumentModel(VBNMF(2)).fit(texts).vectorize(texts)
    unsupervised = VBNMF(2, random_state=0).partial_fit(X)
    assert unsupervised.describing_terms_ is not None
    assert unsupervised.partial_fit(X).describing_terms_ is None
    supervised = SupervisedVBNMF(2, random_state=0).partial_fit(X, labels)
    supervised.partial_fit(X[:8], labels[:8])
    of = supervised.fitted_.sample.documents
    expected = componentterms.choose_terms(*terms_of(supervised), of.X, of.weight)
    assert supervised.describing_terms_.tolist() == expected.tolist()


def test_components_are_named_once_for_a_model(monkeypatch):
    """Explanations of single documents name all components each time."""
    labels = ["hot", "cold"] * 5
    model, other = (
        DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts * 5, labels)
        for texts in (["green tea", "iced water"], ["roast coffee", "cold milk"])
    )
    named, called = naming_terms(model, 3), component_names(other, other.terms_)
    calls = []
    monkeypatch.setattr(description, "shown_terms", lambda *args: calls.append(args))
    assert naming_terms(model.estimator_, 3) is named
    assert component_names(other, other.terms_) == called != component_names(model, model.terms_)
    model.explain(["green tea"])
    assert not calls
