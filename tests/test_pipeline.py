"""DocumentModel: from raw documents to labels, and its file."""

import copy
import json
import pickle
import random
import warnings

import numpy as np
import pandas as pd
import pytest
from cliruns import LABELS, TEXTS, counts, make_corpus
from modelfiles import ModelFile, outcome
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, explore, load
from vbnmf.core.rows import is_empty
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

NEW = make_corpus(5, n_each=5, mixed=0.95)[0]


def supervised(**options):
    return SupervisedVBNMF(5, **{"random_state": 0, "max_iter": 15} | options)


@pytest.fixture(scope="module")
def model():
    return DocumentModel(supervised()).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def unsupervised():
    return DocumentModel(VBNMF(4, random_state=0, max_iter=15)).fit(TEXTS)


class TestFit:
    def test_it_is_its_parts(self, model):
        X = DocumentVectorizer().fit(TEXTS).transform(NEW)
        estimator = supervised().fit(DocumentVectorizer().fit_transform(TEXTS), LABELS)
        np.testing.assert_array_equal(model.transform(NEW), estimator.transform(X))
        assert (model.vectorize(NEW) != X).nnz == 0
        assert model.terms_.tolist() == model.vectorizer_.get_feature_names_out().tolist()
        assert model.has_labels
        assert model.n_empty_ == 0

    def test_defaults(self):
        assert isinstance(DocumentModel().fit(TEXTS, LABELS).estimator_, SupervisedVBNMF)
        assert isinstance(DocumentModel().fit(TEXTS).estimator_, VBNMF)

    def test_parts_given_stay_as_they_were(self):
        estimator, vectorizer = supervised(), DocumentVectorizer(min_df=2)
        model = DocumentModel(estimator, vectorizer).fit(TEXTS, LABELS)
        assert not hasattr(estimator, "components_")
        assert not hasattr(vectorizer, "vocabulary_")
        assert model.vectorizer_.min_df == 2
        assert clone(model).get_params()["estimator__n_components"] == 5

    @pytest.mark.parametrize("kind", [list, tuple, iter, pd.Series, np.array])
    def test_documents_of_any_kind(self, kind, model):
        found = DocumentModel(supervised()).fit(kind(TEXTS), pd.Series(LABELS))
        np.testing.assert_array_equal(found.transform(kind(NEW)), model.transform(NEW))
        assert found.predict(NEW).tolist() == model.predict(NEW).tolist()

    @pytest.mark.parametrize(
        "kind", [sparse.csr_matrix, sparse.csc_array, sparse.csr_matrix.toarray]
    )
    def test_matrix(self, kind):
        X, terms = counts()
        model = DocumentModel(supervised()).fit(kind(X), LABELS, terms=terms)
        expected = supervised().fit(X, LABELS)
        np.testing.assert_array_equal(model.transform(kind(X)), expected.transform(X))
        assert model.terms_.tolist() == terms
        assert model.vectorizer_ is None
        with pytest.raises(
            ValueError, match="fitted to a matrix, so it has no vectorizer for text"
        ):
            model.predict(TEXTS)

    def test_names_of_columns(self):
        X, terms = counts()
        model = DocumentModel(VBNMF(2, max_iter=2)).fit(X)
        assert model.terms_.tolist() == [f"term {i}" for i in range(X.shape[1])]
        with pytest.raises(ValueError, match="there are 25 terms, but `terms` has 24 names"):
            DocumentModel(VBNMF(2, max_iter=2)).fit(X, terms=terms[1:])

    def test_empty_documents_are_counted(self):
        with pytest.warns(UserWarning, match="2 of 44 documents have no known term"):
            model = DocumentModel(supervised(), DocumentVectorizer(min_df=2)).fit(
                [*TEXTS, "zzz", "§"], [*LABELS, "tea", "tea"]
            )
        assert model.n_empty_ == 2
        assert is_empty(sparse.csr_array([[0, 1], [0, 0]])).tolist() == [False, True]
        assert is_empty(np.zeros((1, 2))).tolist() == [True]

    def test_fitting_again_forgets(self, unsupervised):
        model = DocumentModel().fit(TEXTS, LABELS).fit(TEXTS)
        assert not model.has_labels
        with pytest.raises(ValueError, match="fitted without labels, so it cannot predict labels"):
            model.predict(TEXTS)

    def test_pickle_and_copies(self, model):
        for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(same.transform(NEW), model.transform(NEW))


class TestErrors:
    def test_labels_without_a_use(self):
        with pytest.raises(ValueError, match="`estimator` is a VBNMF, which does not use labels"):
            DocumentModel(VBNMF(2)).fit(TEXTS, LABELS)

    def test_use_without_labels(self):
        with pytest.raises(ValueError, match="requires y to be passed"):
            DocumentModel(supervised()).fit(TEXTS)

    @pytest.mark.parametrize("method", ["transform", "predict", "predict_with_proba", "vectorize"])
    def test_not_fitted(self, method):
        with pytest.raises(NotFittedError):
            getattr(DocumentModel(), method)(TEXTS)

    def test_not_fitted_cannot_be_saved(self, tmp_path):
        with pytest.raises(NotFittedError):
            DocumentModel().save(tmp_path / "m")
        assert list(tmp_path.iterdir()) == []

    def test_frames_are_not_documents(self, model):
        """They iterate over the names of their columns."""
        frame = pd.DataFrame({"text": TEXTS, "other": LABELS})
        with pytest.raises(TypeError, match=r"got a DataFrame\. Pass one column of texts"):
            DocumentModel().fit(frame)
        with pytest.raises(TypeError, match=r"got a DataFrame\. Pass one column of texts"):
            model.predict(frame)

    def test_other_lengths_and_gaps(self):
        with pytest.raises(ValueError, match="42 documents in X and 41 labels in y"):
            DocumentModel().fit(TEXTS, LABELS[1:])
        with pytest.raises(ValueError, match="mixes lists of labels with single labels: row 1"):
            DocumentModel().fit(TEXTS, [["bike"], *LABELS[1:]])

    def test_unknown_labels_take_part_but_do_not_vote(self):
        labels = [None if i % 3 else label for i, label in enumerate(LABELS)]
        model = DocumentModel(SupervisedVBNMF(6, random_state=0)).fit(TEXTS, labels)
        assert model.estimator_.label_counts_.sum() == len(LABELS) - labels.count(None)
        assert set(model.predict(NEW)) <= set(LABELS)
        assert (model.predict(TEXTS) == np.array(LABELS)).mean() > 0.9


class TestPredict:
    def test_labels_and_their_probabilities(self, model):
        P = model.estimator_.predict_proba(model.vectorize(NEW))
        labels, scores = model.predict_with_proba(NEW)
        assert labels.tolist() == model.estimator_.classes_[P.argmax(axis=1)].tolist()
        np.testing.assert_array_equal(scores, P.max(axis=1))
        assert len(set(labels)) == 3
        assert scores.min() < 1
        (given,), (score,) = model.predict_with_proba(["unheard-of"])
        counts = model.estimator_.label_counts_
        assert given == model.estimator_.classes_[counts.argmax()]
        assert score == pytest.approx(counts.max() / counts.sum())

    @pytest.mark.parametrize(
        "names", [[10, 20, 30], [False, True, True], [5.0, 1.0, 2.0], ["z", "é", "a b"]], ids=str
    )
    def test_labels_come_back_as_they_were(self, names, tmp_path):
        labels = [dict(zip(sorted(set(LABELS)), names, strict=True))[label] for label in LABELS]
        model = DocumentModel(supervised()).fit(TEXTS, labels)
        model.save(tmp_path / "m")
        for predicted in (model.predict(TEXTS), load(tmp_path / "m").predict(TEXTS)):
            assert set(predicted.tolist()) == set(names)
            assert type(predicted.tolist()[0]) is type(names[0])
            assert np.mean(predicted == np.array(labels)) > 0.9

    def test_one_label_and_one_document(self):
        model = DocumentModel(supervised()).fit(TEXTS, ["only"] * len(TEXTS))
        assert set(model.predict(NEW)) == {"only"}
        alone = DocumentModel(supervised()).fit(np.array([[1.0, 2.0]]), ["a"])
        assert alone.predict(np.array([[0.0, 1.0]])).tolist() == ["a"]


@pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
class TestFile:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"stem": "english", "stop_words": ["and"], "ngram_range": (1, 2), "max_terms": 30},
            {"analyzer": "char_wb", "ngram_range": (2, 3), "weighting": "paper"},
            {"token_pattern": r"\w", "lowercase": False, "min_df": 0.1, "weighting": "counts"},
        ],
        ids=lambda options: " ".join(options) or "defaults",
    )
    def test_texts(self, options, tmp_path):
        """All that is learned comes back; the same bits for the same documents."""
        model = DocumentModel(supervised(), DocumentVectorizer(**options)).fit(TEXTS, LABELS)
        model.save(tmp_path / "m")
        same = load(tmp_path / "m")
        assert isinstance(same, DocumentModel)
        assert (same.vectorize(NEW) != model.vectorize(NEW)).nnz == 0
        np.testing.assert_array_equal(same.transform(NEW), model.transform(NEW))
        for found, wanted in zip(
            same.predict_with_proba(NEW), model.predict_with_proba(NEW), strict=True
        ):
            assert found.tolist() == wanted.tolist()
        assert same.terms_.tolist() == model.terms_.tolist()
        assert same.n_empty_ == model.n_empty_
        assert explore(same, title="t").html == explore(model, title="t").html
        same.save(tmp_path / "again")
        files = [ModelFile((tmp_path / name).read_bytes()) for name in ("m", "again")]
        assert files[0].header == files[1].header
        assert files[0].data == files[1].data

    def test_matrix_and_unsupervised(self, tmp_path, unsupervised):
        X, terms = counts()
        for model in (DocumentModel(supervised()).fit(X, LABELS, terms=terms), unsupervised):
            model.save(tmp_path / "m")
            same = load(tmp_path / "m")
            contents = TEXTS if model is unsupervised else X
            np.testing.assert_array_equal(same.transform(contents), model.transform(contents))
            assert same.terms_.tolist() == model.terms_.tolist()
            assert same.has_labels is model.has_labels
        with pytest.raises(ValueError, match="fitted without labels"):
            same.predict(TEXTS)

    def test_other_models_are_loaded_as_such(self, tmp_path):
        supervised().fit(counts()[0], LABELS).save(tmp_path / "m")
        assert type(load(tmp_path / "m")) is SupervisedVBNMF

    def test_callable_analyzer(self, tmp_path):
        vectorizer = DocumentVectorizer(analyzer=str.split)
        model = DocumentModel(VBNMF(2, max_iter=2), vectorizer).fit(TEXTS)
        with pytest.raises(ValueError, match="A callable analyzer cannot be saved"):
            model.save(tmp_path / "m")
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file as small as can be, stems and stop words and all."""
    texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee beans"]
    vectorizer = DocumentVectorizer(stem="english", stop_words=["the"])
    estimator = SupervisedVBNMF(2, random_state=0, max_iter=2, n_jobs=1)
    path = tmp_path_factory.mktemp("small") / "m.vbnmf"
    DocumentModel(estimator, vectorizer).fit(texts, ["tea", "tea", "coffee", "coffee"]).save(path)
    return path.read_bytes()


def predicted(model):
    labels, scores = model.predict_with_proba(["green tea", "coffee", "zzz"])
    page = explore(model).html
    sound = len(labels) == 3 and np.isfinite(scores).all() and page.endswith("</html>\n")
    return "works" if sound else f"nonsense: {labels}, {scores}"


@pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
class TestDamage:
    def test_flipped_bytes(self, small, tmp_path):
        """An error of ours, or a model that works: nothing else, whichever byte is another."""
        rng = random.Random(0)  # noqa: S311
        path, seen = tmp_path / "m.vbnmf", {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for _ in range(1500):
                at, bits = rng.randrange(len(small)), rng.choice([1 << rng.randrange(8), 0xFF])
                path.write_bytes(small[:at] + bytes([small[at] ^ bits]) + small[at + 1 :])
                seen.setdefault(outcome(path, predicted), []).append((at, bits))
        assert set(seen) == {"refused", "works"}, {k: v[:3] for k, v in seen.items()}
        assert len(seen["refused"]) > 800

    def test_cut_short(self, small, tmp_path):
        path = tmp_path / "m.vbnmf"
        for length in range(0, len(small), 97):
            path.write_bytes(small[:length])
            assert outcome(path, predicted) == "refused"

    @pytest.mark.parametrize(
        "change",
        [
            {"n_empty": -1}, {"n_empty": "many"}, {"model": "Nonsense"}, {"model": None},
            {"estimator": {}}, {"estimator": []}, {"estimator": None}, {"vectorizer": {}},
            {"vectorizer": None}, {"vectorizer": []},
            {"columns": None}, {"columns": {"text": 1}}, {"columns": {"other": "a"}},
            {"columns": {"text": [1]}}, {"columns": {"label": []}},
            {"columns": {"label": ["a", 1]}}, {"columns": {"label": {"a": "b"}}},
            {"columns": {"label_separator": ""}}, {"columns": {"label_separator": [";"]}},
        ],
        ids=json.dumps,
    )  # fmt: skip
    def test_headers_of_no_model(self, change, small, tmp_path):
        (tmp_path / "m.vbnmf").write_bytes(ModelFile(small).with_header(**change))
        with pytest.raises(ModelFileError, match=r"m\.vbnmf"):
            load(tmp_path / "m.vbnmf")

    @pytest.mark.parametrize("terms", [None, [], ["a", "b"], [1] * 6, "abcdef", {"a": 1}], ids=str)
    def test_terms_that_do_not_fit(self, terms, small, tmp_path):
        file = ModelFile(small)
        header = {key: value for key, value in file.header.items() if key != "vectorizer"}
        (tmp_path / "m.vbnmf").write_bytes(
            file.with_header_text(json.dumps(header | {"terms": terms}))
        )
        with pytest.raises(ModelFileError, match=r"m\.vbnmf"):
            load(tmp_path / "m.vbnmf")

    def test_a_head_that_cannot_be(self, small, tmp_path):
        file = ModelFile(small)
        estimator = file.header["estimator"]
        head = estimator["head"] | {"name": "components"}
        file = ModelFile(file.with_header(estimator=estimator | {"head": head}))
        weights, intercepts = np.ones((2, 2)), np.zeros(2)
        sound = {"estimator.head.weights": weights, "estimator.head.intercepts": intercepts}
        path = tmp_path / "m.vbnmf"
        path.write_bytes(file.with_arrays(**sound))
        assert outcome(path, predicted) == "works"
        for change in (
            {"estimator.head.weights": weights[:1]},
            {"estimator.head.weights": weights[:, :1]},
            {"estimator.head.weights": weights * np.nan},
            {"estimator.head.weights": weights.astype(np.int32)},
            {"estimator.head.weights": None},
            {"estimator.head.intercepts": intercepts[:1]},
            {"estimator.head.intercepts": intercepts + np.inf},
            {"estimator.head.intercepts": None},
            {"estimator.head.calibration.slopes": intercepts},
            {"estimator.head.calibration.biases": intercepts[:1]},
            {"estimator.head.calibration.biases": None},
            {"estimator.label_frequencies": intercepts - 1},
            {"estimator.label_frequencies": None},
        ):
            path.write_bytes(file.with_arrays(**sound | change))
            assert outcome(path, predicted) == "refused", change
