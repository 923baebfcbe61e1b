"""The description in a model file: small, plain, exact, and checked when it comes back."""

import copy
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import WEIGHTINGS, DocumentVectorizer, StemmerChangedWarning

pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")

TEXTS = [
    "running cats run",
    "a cat and a dog",
    "dogs ran",
    "the über-dog 東京",
    "cats, dogs, birds",
]
NEW = ["run dogs run", "birds and unknowns", "nothing", "東京 über birds"]


def through_json(vectorizer):
    meta, arrays = vectorizer.to_state()
    return json.loads(json.dumps(meta)), {name: array.copy() for name, array in arrays.items()}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stem": "english", "stop_words": "english", "max_terms": np.int64(3), "dtype": float},
        {"ngram_range": (1, 2), "min_df": np.int64(1), "max_df": np.float64(0.9)},
        {"analyzer": "word", "strip": "html"},
        {"analyzer": "char_wb", "ngram_range": (2, 3), "lowercase": False, "max_terms": 7},
    ],
)
def test_restored_vectorizer_gives_the_same_bits(weighting, options):
    vectorizer = DocumentVectorizer(weighting=weighting, **options).fit(TEXTS)
    restored = DocumentVectorizer.from_state(*through_json(vectorizer))
    for documents in (TEXTS, NEW):
        X, Y = vectorizer.transform(documents), restored.transform(documents)
        assert X.dtype == Y.dtype
        assert X.shape == Y.shape
        assert X.data.tobytes() == Y.data.tobytes()
        assert_array_equal(X.indices, Y.indices)
        assert_array_equal(X.indptr, Y.indptr)
    assert_array_equal(restored.get_feature_names_out(), vectorizer.get_feature_names_out())
    assert_array_equal(restored.idf_, vectorizer.idf_)
    for name in ("vocabulary_", "n_documents_", "n_empty_", "length_"):
        assert getattr(restored, name) == getattr(vectorizer, name)
    assert restored.to_state()[0] == vectorizer.to_state()[0]
    # The parameters survive too, so that it can be fitted again.
    assert_array_equal(
        restored.fit_transform(TEXTS).toarray(), vectorizer.transform(TEXTS).toarray()
    )


def test_files_from_before_scripts_and_markup():
    """They have no entry about markup, and words by the pattern alone, as they had."""
    texts = ["東京タワー <b>हिन्दी</b> cafe\u0301", "tea 👍 東京"]
    meta, arrays = through_json(
        DocumentVectorizer(analyzer=None, strip=None, max_terms=None).fit(texts)
    )
    assert (meta.pop("strip"), meta.pop("stripped")) == (None, None)
    restored = DocumentVectorizer.from_state(meta, arrays)
    before = CountVectorizer().fit(texts)
    assert_array_equal(restored.get_feature_names_out(), before.get_feature_names_out())
    counts = before.transform(texts).toarray()
    assert_array_equal(restored.transform(texts).toarray() > 0, (counts > 0) & (restored.idf_ > 0))
    assert restored.strip_ is None


def test_what_was_found_in_training_is_stored():
    html = DocumentVectorizer(strip="html").fit(["<p>green tea</p>", "<p>red car</p>"])
    restored = DocumentVectorizer.from_state(*through_json(html))
    assert restored.strip_ == "html"
    assert restored.transform(["<p class=green>red"]).nnz == 1


def test_callable_analyzer_cannot_be_stored():
    vectorizer = DocumentVectorizer(analyzer=str.split).fit(TEXTS)
    with pytest.raises(ValueError, match="callable analyzer cannot be saved"):
        vectorizer.to_state()


def state_with(change):
    vectorizer = DocumentVectorizer(stem="english", stop_words=["and"], max_terms=3).fit(TEXTS)
    meta, arrays = copy.deepcopy(through_json(vectorizer))
    change(meta, arrays)
    return meta, arrays


def setting(name, value):
    return lambda meta, arrays: meta.update({name: value})


def array(name, value):
    return lambda meta, arrays: arrays.update({name: np.asarray(value)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta, arrays: meta.pop("terms"), r"missing: \['terms'\]"),
        (setting("pickle", "x"), r"unknown: \['pickle'\]"),
        (lambda meta, arrays: arrays.pop("idf"), r"arrays missing: \['idf'\]"),
        (setting("weighting", 3), "'weighting' must be str; found int"),
        (setting("weighting", "bm25"), "weighting must be one of"),
        (setting("max_terms", True), "'max_terms' must be int or NoneType; found bool"),
        (setting("max_terms", 2), "'columns' must be max_terms"),
        (setting("max_terms", -1), "'columns'|max_terms"),
        (setting("min_df", "1"), "'min_df' must be int or float"),
        (setting("min_df", -1), "min_df must be"),
        (setting("ngram_range", [1]), "ngram_range must be two ints"),
        (setting("ngram_range", [1, "2"]), "ngram_range must be two ints"),
        (setting("ngram_range", [1, 2**31]), "second <= 20"),
        (setting("token_pattern", "(z+)+!"), "could take very long"),
        (setting("token_pattern", "["), "not a regular expression"),
        (setting("dtype", "object"), "dtype must be float32 or float64"),
        (setting("analyzer", "os.system"), "analyzer must be 'auto'"),
        (setting("strip", "sh"), "strip must be 'auto'"),
        (setting("strip", 1), "'strip' must be str"),
        (setting("stripped", "sh"), "'stripped' must be 'html'"),
        (setting("stem", "klingon"), "not a Snowball algorithm"),
        (setting("stem", None), "'forms' must be given if and only if 'stem'"),
        (setting("stop_words", [1]), "'stop_words' must have strings only"),
        (setting("stop_words", "english"), "'stop_words' must be list"),
        (setting("terms", ["b", "a"]), "ascending order"),
        (setting("terms", [1, 2]), "'terms' must have strings only"),
        (setting("terms", []), "'idf' must have 0"),
        (setting("forms", ["x", "x", "y"]), "'forms' must have 3 different words"),
        (setting("forms", ["x"]), "'forms' must have 3 different words"),
        (setting("n_documents", 0), "'n_documents' must be at least 1"),
        (setting("n_empty", 6), "'n_empty' no larger"),
        (setting("length", float("nan")), "'length' must be positive"),
        (setting("length", 0.0), "'length' must be positive"),
        (array("idf", [1.0]), "'idf' must have"),
        (array("idf", 1.0), "'idf' must be a vector"),
        (array("idf", ["x"]), "'idf' must be a vector"),
        (lambda meta, arrays: arrays["idf"].__setitem__(0, np.inf), "between 0 and ln"),
        (lambda meta, arrays: arrays["idf"].__setitem__(0, -1), "between 0 and ln"),
        (lambda meta, arrays: arrays.update(idf=arrays["idf"].tolist()), "'idf' must be a vector"),
        (array("columns", [0, 0, 1]), "'columns' must be"),
        (array("columns", [-1, 0, 1]), "'columns' must be"),
        (array("columns", [0, 1, 99]), "'columns' must be"),
        (array("columns", [0.0, 1.0, 2.0]), "'columns' must be a vector"),
        (array("columns", np.zeros(0, int)), "'columns' must be"),
    ],
)
def test_nonsense_is_refused(change, message):
    DocumentVectorizer.from_state(*state_with(lambda meta, arrays: None))  # fine without the change
    with pytest.raises(ValueError, match=message):
        DocumentVectorizer.from_state(*state_with(change))


def test_another_stemmer_is_noticed():
    # "dog" shown as the form of the stem "cat": what a changed algorithm looks like.
    state = state_with(lambda meta, arrays: meta["forms"].__setitem__(0, "unrelated"))
    with pytest.warns(StemmerChangedWarning, match="1 of 3 words have another stem"):
        DocumentVectorizer.from_state(*state)
