"""How little documents resemble those in training."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest

import vbnmf
from benchmarks.many import draw
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.prediction.novelty import Novelty
from vbnmf.text import DocumentVectorizer
from vbnmf.text.transforming import known_parts

WORDS = {
    "tea": ["leaf", "pot", "green", "kettle", "steep", "cup", "milk", "black"],
    "coffee": ["bean", "roast", "espresso", "grinder", "filter", "crema", "barista", "dark"],
    "bread": ["flour", "yeast", "oven", "dough", "crust", "loaf", "knead", "sour"],
}


def texts(n_docs, seed=0, words=WORDS):
    rng = np.random.default_rng(seed)
    y = [list(words)[i % len(words)] for i in range(n_docs)]
    return [" ".join(rng.choice(words[label], 6)) for label in y], y


@pytest.fixture(scope="module")
def fitted():
    return DocumentModel(SupervisedVBNMF(n_components=3)).fit(*texts(300))


@pytest.fixture(scope="module")
def of_matrix():
    corpus = draw(40, n_docs=2000, n_test=2000, n_terms=1500, own=30)
    return corpus, SupervisedVBNMF(n_components=20, max_iter=20).fit(corpus.X, corpus.y)


def test_documents_like_those_in_training_are_uniform(of_matrix):
    corpus, model = of_matrix
    novelty = model.novelty(corpus.X_test)
    assert kstest(novelty, "uniform").statistic < 0.12
    assert 0.02 < (novelty > 0.95).mean() < 0.08


@pytest.mark.parametrize("weighted", [False, True])
def test_training_documents_are_uniform_when_left_out(weighted):
    rng = np.random.default_rng(0)
    values = rng.normal(size=3000).round(2)
    weight = rng.integers(1, 4, 3000).astype(float) if weighted else np.ones(3000)
    found = Novelty.of(values, weight).novelty(values)
    assert kstest(np.repeat(found, weight.astype(int)), "uniform").statistic < 0.01


@pytest.mark.parametrize(
    ("classifier", "more"),
    [("words and components", 0.3), ("components", 0.3), ("generative", 0.1)],
)
def test_documents_of_no_label_are_new(of_matrix, classifier, more):
    corpus, _ = of_matrix
    known = corpus.y < 30
    model = SupervisedVBNMF(n_components=20, max_iter=20, classifier=classifier)
    model.fit(corpus.X[known], corpus.y[known])
    novelty = model.novelty(corpus.X_test)
    new = corpus.y_test >= 30
    assert novelty[new].mean() > novelty[~new].mean() + more


def test_several_labels(of_matrix):
    corpus, _ = of_matrix
    Y = np.eye(40, dtype=int)[corpus.y][:, :30]
    some = Y.any(axis=1)
    model = SupervisedVBNMF(n_components=20, max_iter=20).fit(corpus.X[some], Y[some])
    novelty, new = model.novelty(corpus.X_test), corpus.y_test >= 30
    assert novelty[new].mean() > novelty[~new].mean() + 0.2


def test_unknown_words_make_a_document_newer(fitted):
    plain = fitted.novelty(["leaf pot kettle cup", "leaf pot kettle cup zeppelin quasar nebula"])
    assert plain[1] > plain[0]
    assert fitted.novelty(["zeppelin quasar"]).tolist() == [1.0]
    assert fitted.novelty([]).shape == (0,)


def test_a_saved_model_gives_the_same_bits(fitted, tmp_path):
    fitted.save(tmp_path / "drinks.vbnmf")
    again = vbnmf.load(tmp_path / "drinks.vbnmf")
    new = [*texts(50, seed=1)[0], "leaf zeppelin"]
    np.testing.assert_array_equal(again.novelty(new), fitted.novelty(new))
    X = fitted.vectorize(new)
    one, two = X[:20], X[20:]
    parts = [fitted.novelty(part) for part in (one, two)]
    np.testing.assert_array_equal(np.concatenate(parts), fitted.novelty(X))


def test_known_parts():
    vectorizer = DocumentVectorizer(weighting="counts").fit(["red apple", "red car"])
    found = known_parts(vectorizer, ["red red apple", "red boat", "boat", ""])
    np.testing.assert_allclose(found, [1, np.sqrt(0.5), 0, 1])
    log = DocumentVectorizer().fit(["red apple", "red car"])
    found = known_parts(log, ["apple boat boat", "red boat"])  # red is in all documents: no weight
    known, unknown = np.log(2) * np.log(2), np.log(3) * np.log(2)
    np.testing.assert_allclose(found, [known / np.hypot(known, unknown), 0])
    rare = DocumentVectorizer(min_df=2).fit(["red apple", "red car", "blue"])
    assert known_parts(rare, ["red boat"]).tolist() == [1.0]


def test_quantiles_of_weighted_values():
    twice = Novelty.of(np.array([1.0, 2.0, 2.0, 5.0]), np.ones(4))
    weighted = Novelty.of(np.array([1.0, 2.0, 5.0, 9.0]), np.array([1.0, 2.0, 1.0, 0.0]))
    assert twice.novelty(np.array([0.0, 6.0])).tolist() == [1, 0]
    assert weighted.novelty(np.array([0.0, 9.0])).tolist() == [1, 0]
    assert twice.novelty(np.array([2.0])) == pytest.approx(0.5, abs=0.001)
    values = np.random.default_rng(0).normal(size=5000)
    uniform = np.sort(Novelty.of(values, np.ones(5000)).novelty(values))
    np.testing.assert_allclose(uniform, (np.arange(5000) + 0.5) / 5000, atol=0.002)
    assert Novelty.of(np.zeros(0), np.zeros(0)) is None


def test_bad_parts_are_refused(of_matrix):
    corpus, model = of_matrix
    for known in ([0.5], np.full(2000, 2.0)):
        with pytest.raises(ValueError, match=r"known must have a number from 0 to 1"):
            model.novelty(corpus.X_test, known)


def test_one_label(tmp_path):
    with pytest.warns(UserWarning, match="same label"):
        model = SupervisedVBNMF(n_components=1).fit(np.eye(60) + 1, ["only"] * 60)
    assert model.novelty(sparse.csr_array((1, 60))).tolist() == [1]
    assert model.novelty(np.ones((1, 60))).tolist() == [0]
