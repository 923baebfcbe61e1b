"""Stop words of every kind, and stems merged on the vocabulary as if token by token."""

import sys
from types import ModuleType

import numpy as np
import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import examples
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import DocumentVectorizer
from vbnmf.text.words import stem_terms, stop_word_list

pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")

TEXTS = ["the cat and the dog", "the dog runs", "it was the cat"]


def names(**options):
    return DocumentVectorizer(**options).fit(TEXTS).get_feature_names_out().tolist()


def test_no_stop_words():
    assert names() == ["and", "cat", "dog", "it", "runs", "the", "was"]


def test_stop_words_by_language_list_and_file(tmp_path):
    assert names(stop_words="english") == names(stop_words="English") == ["cat", "dog", "runs"]
    wanted = ["and", "dog", "it", "runs", "was"]
    assert names(stop_words=["The", "cat"]) == names(stop_words={"the", "cat"}) == wanted
    path = tmp_path / "words.txt"
    path.write_text("\ufeffthe\n\n  cat \n", encoding="utf-8")
    assert stop_word_list(path) == ["the", "cat"]
    assert names(stop_words=path) == names(stop_words=str(path)) == wanted


def test_stop_words_are_split_like_documents():
    texts = ["don't stop", "we stop here"]
    vectorizer = DocumentVectorizer(stop_words=["don't"]).fit(texts)
    assert vectorizer.get_feature_names_out().tolist() == ["here", "stop", "we"]


def test_stop_words_of_another_language(monkeypatch):
    package = ModuleType("stop_words")
    package.StopWordError = KeyError
    package.get_stop_words = {"german": ["the", "dog"]}.__getitem__
    monkeypatch.setitem(sys.modules, "stop_words", package)
    assert names(stop_words="german") == ["and", "cat", "it", "runs", "was"]
    with pytest.raises(ValueError, match=r"stop_words='klingon'.*Pass a list of words"):
        names(stop_words="klingon")


def test_stop_words_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "stop_words", None)
    with pytest.raises(ValueError, match=r"package stop-words.*list of words.*file.*max_df"):
        names(stop_words="german")


def test_wrong_stop_words(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Cannot read the stop-word file .*absent\.txt"):
        names(stop_words=tmp_path / "absent.txt")
    # Without a folder or an extension a string is a language, whatever files there are.
    with pytest.raises(FileNotFoundError, match="absent"):
        names(stop_words="./absent")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("für".encode("latin-1"))
    with pytest.raises(ValueError, match="is not UTF-8"):
        names(stop_words=latin)
    with pytest.raises(TypeError, match="stop_words must be strings; found 3"):
        names(stop_words=["the", 3])


def test_stop_words_go_before_stemming():
    vectorizer = DocumentVectorizer(stop_words=["running"], stem="english", weighting="counts")
    X = vectorizer.fit_transform(["running running runs", "cats"])
    assert vectorizer.vocabulary_ == {"cat": 0, "run": 1}
    assert_array_equal(X.toarray(), [[0, 1], [1, 0]])


def test_commonest_form_is_shown():
    vectorizer = DocumentVectorizer(stem="english")
    vectorizer.fit(["connected connected connection", "connections connecting cats", "cat dogs"])
    assert list(vectorizer.vocabulary_) == ["cat", "connect", "dog"]
    # "cat" and "cats" occur once each: the alphabetically first.
    assert vectorizer.get_feature_names_out().tolist() == ["cat", "connected", "dogs"]


def test_min_df_counts_merged_stems():
    texts = ["cats", "cat", "dog"]
    assert DocumentVectorizer(stem="english", min_df=2).fit(texts).vocabulary_ == {"cat": 0}
    with pytest.raises(ValueError, match="None of the 3 terms"):
        DocumentVectorizer(min_df=2).fit(texts)


def test_unseen_form_of_a_known_stem_is_found():
    vectorizer = DocumentVectorizer(stem="english", weighting="counts").fit(["walks", "dog"])
    assert_array_equal(vectorizer.transform(["walking walked dogs"]).toarray(), [[1, 2]])


words = st.sampled_from(
    ["runs", "running", "run", "generously", "generous", "cats", "cat's", "häuser", "Haus", "東京"]
) | st.text("aeinsty", min_size=1, max_size=8)


@examples(80)
@given(
    texts=st.lists(st.lists(words, max_size=10).map(" ".join), min_size=1, max_size=6),
    new=st.lists(words, max_size=8).map(" ".join),
    language=st.sampled_from(["english", "porter", "german"]),
    ngram_range=st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    min_df=st.sampled_from([1, 2]),
)
def test_vocabulary_stems_equal_token_stems(texts, new, language, ngram_range, min_df):
    stemmer = snowballstemmer.stemmer(language)
    tokenize = CountVectorizer().build_tokenizer()
    by_token = CountVectorizer(
        tokenizer=lambda text: stemmer.stemWords(tokenize(text)),
        token_pattern=None,
        ngram_range=ngram_range,
        min_df=min_df,
    )
    ours = DocumentVectorizer(
        weighting="counts",
        analyzer="word",
        stem=language,
        ngram_range=ngram_range,
        min_df=min_df,
    )
    try:
        expected = by_token.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match=r"No term in|None of the"):
            ours.fit(texts)
        return
    assert_array_equal(ours.fit_transform(texts).toarray(), expected.toarray())
    assert ours.vocabulary_ == by_token.vocabulary_
    assert_array_equal(ours.transform([new]).toarray(), by_token.transform([new]).toarray())
    # The forms shown are different words, each with the stem that it is shown for.
    forms = ours.get_feature_names_out()
    assert len(set(forms)) == len(forms)
    assert stem_terms(forms, language) == list(ours.vocabulary_)


def test_every_algorithm_is_accepted():
    for language in snowballstemmer.algorithms():
        assert DocumentVectorizer(stem=language).fit(["word", "text"]).idf_.shape == (2,)


def test_python_and_c_stemmers_agree():
    pystemmer = pytest.importorskip("Stemmer", reason="PyStemmer is optional")
    rng = np.random.default_rng(0)
    endings = ["", "s", "ing", "ed", "ation", "ational", "ness", "fulness", "ly", "ies", "ément"]
    terms = [
        "".join(rng.choice(list("aeioustrnlpc"), 6)) + str(rng.choice(endings)) for _ in range(2000)
    ]
    from snowballstemmer.english_stemmer import EnglishStemmer

    assert isinstance(snowballstemmer.stemmer("english"), pystemmer.Stemmer)
    assert stem_terms(terms, "english") == EnglishStemmer().stemWords(terms)
