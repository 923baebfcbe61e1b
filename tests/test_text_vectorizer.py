"""Documents to weights: the formulas by hand, options, odd documents, scikit-learn's rules."""

import warnings
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from vbnmf.text import WEIGHTINGS, DocumentVectorizer, EmptyDocumentWarning

FRUIT = ["apple apple pear", "apple plum", "apple pear pear pear"]

words = st.sampled_from(
    ["run", "runs", "running", "cat", "cats", "happy", "happily", "über", "東京"]
)
corpora = st.lists(st.lists(words, max_size=12).map(" ".join), min_size=1, max_size=8).filter(
    lambda documents: any(documents)
)
# Small examples have empty rows by design; the tests of the warning itself use pytest.warns.
pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")


def same_bits(A, B):
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and A.data.tobytes() == B.data.tobytes()
        and np.array_equal(A.indices, B.indices)
        and np.array_equal(A.indptr, B.indptr)
    )


def test_paper_weighting_by_hand():
    vectorizer = DocumentVectorizer(weighting="paper", dtype=np.float64)
    X = vectorizer.fit_transform(FRUIT)
    # "apple" is in all three documents: ln(3/3) = 0. Largest counts are 2, 1 and 3.
    expected = [
        [0, 1 / 2 * log(3 / 2), 0],
        [0, 0, log(3 / 1)],
        [0, 3 / 3 * log(3 / 2), 0],
    ]
    assert_array_equal(vectorizer.get_feature_names_out(), ["apple", "pear", "plum"])
    assert_allclose(X.toarray(), expected, rtol=1e-15)
    assert X.nnz == 3  # the zeros of "apple" are not stored
    assert_allclose(vectorizer.idf_, [0, log(3 / 2), log(3)], rtol=1e-15)
    assert vectorizer.vocabulary_ == {"apple": 0, "pear": 1, "plum": 2}
    assert vectorizer.n_documents_ == 3
    assert vectorizer.n_empty_ == 0


def test_new_documents_use_idf_of_training_and_no_unknown_word():
    vectorizer = DocumentVectorizer(weighting="paper", dtype=np.float64).fit(FRUIT)
    X = vectorizer.transform(["pear pear plum plum plum plum kiwi kiwi kiwi kiwi kiwi kiwi"])
    assert_allclose(X.toarray(), [[0, 2 / 4 * log(3 / 2), log(3)]], rtol=1e-15)


def test_counts_are_those_of_count_vectorizer():
    documents = [*FRUIT, "A plum, a Pear; the APPLE."]
    X = DocumentVectorizer(weighting="counts").fit_transform(documents)
    assert_array_equal(X.toarray(), CountVectorizer().fit_transform(documents).toarray())
    assert X.dtype == np.float32


def test_log_weighting_by_hand():
    vectorizer = DocumentVectorizer(weighting="log", dtype=np.float64)
    X = vectorizer.fit_transform(["pear pear plum", "plum fig", "fig fig fig"])
    half = log(3 / 2)
    raw = np.array(
        [
            [0, log(3) * log(3), log(2) * half],
            [log(2) * half, 0, log(2) * half],
            [log(4) * half, 0, 0],
        ]
    )
    directions = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    length = 3 / directions[directions > 0].mean()
    assert_array_equal(vectorizer.get_feature_names_out(), ["fig", "pear", "plum"])
    assert_allclose(X.toarray(), directions * length, rtol=1e-14)
    assert_allclose(X.data[X.data > 0].mean(), 3)
    assert vectorizer.length_ == pytest.approx(length)
    new = vectorizer.transform(["fig fig unknown"]).toarray()
    assert_allclose(new, [[length, 0, 0]], rtol=1e-14)


def test_max_terms_only_leaves_terms_out():
    # "base" has the largest count of the first document and the lowest score.
    documents = ["base base base base rare", "base other", "rare other other", "last"]
    full = DocumentVectorizer(weighting="paper", dtype=np.float64)
    X = full.fit_transform(documents).toarray()
    few = DocumentVectorizer(weighting="paper", dtype=np.float64, max_terms=2)
    Y = few.fit_transform(documents).toarray()
    scores = dict(zip(full.get_feature_names_out(), X.max(axis=0), strict=True))
    assert scores["last"] == log(4)
    assert scores["base"] == scores["other"] == log(2)  # a tie, and "base" comes first
    assert scores["rare"] == 0.5 * log(2)
    assert_array_equal(few.get_feature_names_out(), ["base", "last"])
    assert_array_equal(Y, X[:, [0, 1]])
    # A term left out still has a say in the largest count of a new document.
    assert_allclose(few.transform(["base other other"]).toarray(), [[log(2) / 2, 0]])


def test_most_documents_decide_unless_weights_are_those_of_the_paper():
    documents = ["usual usual rare rare rare", "usual other", "usual other", "usual last"]
    for weighting, kept in [("paper", ["last", "rare"]), ("log", ["other", "usual"])]:
        vectorizer = DocumentVectorizer(weighting=weighting, max_terms=2).fit(documents)
        assert_array_equal(vectorizer.get_feature_names_out(), kept)


def test_ties_go_to_more_documents_then_to_the_alphabet():
    # By counts all have 2 at most; "yy" is in two documents, the others in one.
    documents = ["bb bb yy yy", "dd dd yy", "cc cc"]
    for n, kept in [(1, ["yy"]), (2, ["bb", "yy"]), (3, ["bb", "cc", "yy"])]:
        vectorizer = DocumentVectorizer(weighting="counts", max_terms=n).fit(documents)
        assert_array_equal(vectorizer.get_feature_names_out(), kept)


@examples(60)
@given(
    documents=corpora,
    weighting=st.sampled_from(WEIGHTINGS),
    max_terms=st.sampled_from([None, 1, 3]),
    stem=st.sampled_from([None, "english"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    data=st.data(),
)
def test_properties(documents, weighting, max_terms, stem, dtype, data):
    vectorizer = DocumentVectorizer(
        weighting=weighting, max_terms=max_terms, stem=stem, dtype=dtype
    )
    X = vectorizer.fit_transform(documents)
    assert X.dtype == dtype
    assert X.has_sorted_indices
    assert (X.data > 0).all()
    assert np.isfinite(X.data).all()
    assert same_bits(X, vectorizer.transform(documents))
    names = vectorizer.get_feature_names_out()
    assert len(set(names)) == X.shape[1] == len(vectorizer.vocabulary_) == len(vectorizer.idf_)
    assert vectorizer.n_empty_ == (X.getnnz(axis=1) == 0).sum()

    order = data.draw(st.permutations(range(len(documents))))
    other = clone(vectorizer)
    Y = other.fit_transform([documents[row] for row in order])
    assert_array_equal(other.get_feature_names_out(), names)
    assert_allclose(Y.toarray(), X[list(order)].toarray(), rtol=1e-6)


def test_document_frequency_bounds():
    documents = ["aa bb", "aa bb cc", "aa", "aa dd"]
    for options, kept in [
        ({"min_df": 2}, ["aa", "bb"]),
        ({"min_df": 0.5}, ["aa", "bb"]),
        ({"max_df": 3}, ["bb", "cc", "dd"]),
        ({"max_df": 0.25}, ["cc", "dd"]),
        ({"min_df": 2, "max_df": 0.9}, ["bb"]),
        ({"min_df": np.int64(2)}, ["aa", "bb"]),
    ]:
        vectorizer = DocumentVectorizer(weighting="counts", **options).fit(documents)
        assert_array_equal(vectorizer.get_feature_names_out(), kept)


def test_share_of_documents_is_exact():
    # 0.07 * 100 is 7.000000000000001 in floating point.
    documents = ["aa bb"] * 7 + ["aa"] * 93
    vectorizer = DocumentVectorizer(weighting="counts", min_df=0.07).fit(documents)
    assert "bb" in vectorizer.vocabulary_


def test_largest_count_is_over_terms_that_pass():
    documents = ["once once once once twice", "twice aa", "aa"]
    X = DocumentVectorizer(weighting="paper", min_df=2, dtype=float).fit_transform(documents)
    assert_allclose(X.toarray()[0], [0, log(3 / 2)])  # "once" is not counted


def test_token_options():
    documents = ["One two, one TWO", "two three"]

    def fit(**options):
        return DocumentVectorizer(**options).fit(documents).get_feature_names_out()

    assert_array_equal(fit(lowercase=False), ["One", "TWO", "one", "three", "two"])
    assert_array_equal(fit(token_pattern=r"t\w+"), ["three", "two"])  # noqa: S106
    assert_array_equal(fit(ngram_range=(2, 2)), ["one two", "two one", "two three"])
    assert_array_equal(fit(ngram_range=(1, 2), stop_words=["two"]), ["one", "one one", "three"])
    assert "th" in fit(analyzer="char", ngram_range=(2, 2))


def test_callable_analyzer():
    vectorizer = DocumentVectorizer(weighting="counts", analyzer=list)
    X = vectorizer.fit_transform(["東京都", "京都"])
    assert_array_equal(vectorizer.get_feature_names_out(), ["京", "東", "都"])
    assert_array_equal(X.toarray(), [[1, 1, 1], [1, 0, 1]])
    with pytest.raises(TypeError, match="analyzer must return strings; got int"):
        DocumentVectorizer(analyzer=lambda text: [len(text)]).fit(["a"])


def test_odd_documents():
    odd = [
        "",
        "single",
        "ÄPFEL Straße naïve данные 東京 \x00 🙂 e\u0301te\u0301",
        "<script>alert('x')</script> &lt;b&gt; =HYPERLINK(evil)",
        "broken \ud800 surrogate",
    ]
    vectorizer = DocumentVectorizer(weighting="counts")
    with pytest.warns(EmptyDocumentWarning, match=r"1 of 5 documents .* \(rows 0\)"):
        X = vectorizer.fit_transform(odd)
    names = vectorizer.get_feature_names_out()
    found = [set(names[X[row].indices]) for row in range(5)]
    assert found[0] == set()
    assert found[1] == {"single"}
    assert {"äpfel", "straße", "naïve", "данные", "東京"} <= found[2]
    assert found[3] == {"script", "alert", "lt", "gt", "hyperlink", "evil"}  # markup stays text
    assert found[4] == {"broken", "surrogate"}


def test_very_long_document():
    pieces = [f"word{number}" for number in range(1000)]
    long = " ".join(pieces * 1300)
    assert len(long) > 10e6
    X = DocumentVectorizer(weighting="counts").fit_transform([long, "word1"])
    assert_array_equal(X[0].toarray(), np.full((1, 1000), 1300))


def test_generator_is_read_once():
    X = DocumentVectorizer().fit_transform(text for text in FRUIT)
    assert same_bits(X, DocumentVectorizer().fit_transform(FRUIT))


def test_documents_without_known_term_are_reported():
    vectorizer = DocumentVectorizer()
    with pytest.warns(EmptyDocumentWarning, match="1 of 4"):
        vectorizer.fit([*FRUIT, "?"])
    assert vectorizer.n_empty_ == 1
    with pytest.warns(EmptyDocumentWarning, match=r"7 of 8 .*\(rows 0, 2, 3, 4, 5, …\).*leave"):
        X = vectorizer.transform(["kiwi", "plum", *["kiwi"] * 6])
    assert_array_equal(X.getnnz(axis=1), [0, 1, 0, 0, 0, 0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vectorizer.transform([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ("one string", ValueError, "single str"),
        ([], ValueError, "There are no documents"),
        (["", "?!"], ValueError, "No term in 2 documents"),
        (["fine", None], TypeError, r"number 1 \(from 0\) is NoneType"),
        (["fine", b"bytes"], TypeError, "Decode bytes"),
        (["fine", float("nan")], TypeError, "replace missing text"),
    ],
)
def test_wrong_documents(documents, error, message):
    with pytest.raises(error, match=message):
        DocumentVectorizer().fit(documents)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weighting": "bm25"}, "weighting must be one of"),
        ({"max_terms": 0}, "max_terms must be None or an int from 1; got 0"),
        ({"max_terms": True}, "max_terms"),
        ({"min_df": 0}, "min_df must be a number of documents"),
        ({"max_df": 1.5}, r"max_df must .*got 1.5"),
        ({"min_df": "2"}, "min_df"),
        ({"ngram_range": (2, 1)}, "ngram_range must be two ints"),
        ({"ngram_range": 2}, "ngram_range"),
        ({"ngram_range": (1, 21)}, "1 <= first <= second <= 20"),
        ({"token_pattern": "a{99999999999}"}, "not a regular expression"),
        ({"token_pattern": "a" * 10_001}, "at most 10000 characters"),
        ({"ngram_range": "12"}, "ngram_range"),
        ({"token_pattern": "("}, "not a regular expression"),
        ({"token_pattern": None}, "not a regular expression"),
        ({"dtype": int}, "dtype must be float32 or float64"),
        ({"dtype": "number"}, "dtype must be float32 or float64"),
        ({"analyzer": "phoneme"}, "analyzer must be 'auto'"),
        ({"analyzer": list, "stop_words": "english"}, "stop_words need analyzer"),
        ({"analyzer": "char", "stem": "english"}, "stem needs words"),
        ({"stem": "klingon"}, "one of: arabic"),
        ({"min_df": 4}, r"None of the 3 terms .* min_df=4"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        DocumentVectorizer(**options).fit(FRUIT)


def test_clone_and_pipeline():
    vectorizer = DocumentVectorizer(stem="english", ngram_range=(1, 2), min_df=1)
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    texts = ["good nice", "bad awful", "nice good good", "awful bad bad"]
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=100)).fit(texts, [1, 0, 1, 0])
    assert_array_equal(pipeline.predict(["good", "awful"]), [1, 0])
    names = pipeline[:-1].get_feature_names_out()
    assert_array_equal(names, vectorizer.get_feature_names_out())


@parametrize_with_checks([DocumentVectorizer()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
