"""DocumentModel as scikit-learn sees it: a classifier and a transformer of texts."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cliruns import LABELS, TEXTS, make_corpus
from modelfiles import ModelFile
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load
from vbnmf.description.components import component_titles
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings(
    "ignore::vbnmf.text.EmptyDocumentWarning", "ignore:the fit did not converge"
)

NEW = make_corpus(5, n_each=5, mixed=0.95)[0]
BITS = np.array(
    [[name in (label, "tea") for name in ("bike", "coffee", "tea")] for label in LABELS]
)
LISTS = [[label, "tea"] if label != "tea" else ["tea"] for label in LABELS]


def supervised(**options):
    return SupervisedVBNMF(5, **{"random_state": 0, "max_iter": 15} | options)


def make():
    return DocumentModel(supervised())


@pytest.fixture(scope="module")
def model():
    return make().fit(TEXTS, LABELS)


# What it is


@pytest.mark.parametrize("estimator", [None, SupervisedVBNMF()])
def test_it_is_a_classifier_of_texts(estimator):
    tags = get_tags(DocumentModel(estimator))
    assert is_classifier(DocumentModel(estimator))
    assert tags.classifier_tags.multi_label
    assert tags.input_tags.string
    assert tags.target_tags.required == (estimator is not None)
    check_estimator(DocumentModel(estimator))


def test_without_labels_it_is_none():
    assert not is_classifier(DocumentModel(VBNMF()))
    fitted = DocumentModel().fit(TEXTS)
    assert not is_classifier(fitted)
    assert not hasattr(fitted, "classes_")
    assert is_classifier(clone(fitted))


def test_classes(model):
    assert model.classes_.tolist() == ["bike", "coffee", "tea"]
    assert not hasattr(make(), "classes_")
    with pytest.raises(NotFittedError):
        make().classes_  # noqa: B018


# Folds


def test_dividing_are_stratified():
    """Documents sorted by label: each fold of an unstratified split would lack a label."""
    assert sorted(LABELS) == LABELS
    assert cross_val_score(make(), TEXTS, LABELS, cv=3).min() > 0.9
    assert cross_val_score(make(), TEXTS, LABELS, cv=KFold(3), error_score="raise").max() == 0


def test_probabilities_across_folds():
    P = cross_val_predict(make(), TEXTS, LABELS, cv=3, method="predict_proba")
    assert P.shape == (len(TEXTS), 3)
    assert_allclose(P.sum(axis=1), 1)
    assert np.mean(np.array(["bike", "coffee", "tea"])[P.argmax(axis=1)] == LABELS) > 0.9


def test_several_metrics():
    scoring = ["accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr"]
    found = cross_validate(make(), TEXTS, LABELS, cv=3, scoring=scoring, error_score="raise")
    assert found["test_accuracy"].min() > 0.9
    assert found["test_neg_log_loss"].min() > -0.5


def test_several_labels_across_folds():
    scores = cross_val_score(make(), TEXTS, BITS.astype(int), cv=KFold(3, shuffle=True))
    assert scores.min() > 0.8
    scores = cross_val_score(make(), TEXTS, LISTS, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.min() > 0.8


def test_unknown_labels_across_folds():
    labels = [None if i % 3 == 0 else label for i, label in enumerate(LABELS)]
    assert cross_val_score(make(), TEXTS, labels, cv=KFold(3, shuffle=True)).min() > 0.8


@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(ensemble):
    calibrated = CalibratedClassifierCV(make(), cv=3, ensemble=ensemble).fit(TEXTS, LABELS)
    assert calibrated.classes_.tolist() == ["bike", "coffee", "tea"]
    assert calibrated.predict_proba(NEW).shape == (len(NEW), 3)
    assert calibrated.score(TEXTS, LABELS) > 0.9


# Parameters of the parts


@pytest.mark.parametrize("start", [DocumentModel(), DocumentModel(supervised())])
def test_grid_search_over_nested_parameters(start):
    grid = {"estimator__n_components": [1, 6], "vectorizer__min_df": [1, 2]}
    search = GridSearchCV(start, grid, cv=3, error_score="raise").fit(TEXTS, LABELS)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.estimator_.n_components_ == search.best_params_["estimator__n_components"]
    assert best.vectorizer_.min_df == search.best_params_["vectorizer__min_df"]


def test_grid_search_without_labels():
    start = DocumentModel(VBNMF(random_state=0, max_iter=15))
    search = GridSearchCV(start, {"estimator__n_components": [1, 3]}, cv=KFold(3, shuffle=True))
    search.fit(TEXTS)
    assert search.best_params_ == {"estimator__n_components": 3}


def test_setting_parameters_of_parts_that_are_none():
    model = DocumentModel().set_params(estimator__n_components=4, vectorizer__min_df=3)
    assert model.estimator.get_params() == SupervisedVBNMF(4, random_state=0).get_params()
    assert model.vectorizer.get_params() == DocumentVectorizer(min_df=3).get_params()
    model = DocumentModel().set_params(estimator=VBNMF(), estimator__n_components=4)
    assert isinstance(model.estimator, VBNMF)
    with pytest.raises(ValueError, match="Invalid parameter 'components'"):
        DocumentModel().set_params(components=3)


def test_metadata_routing_knows_the_weights():
    with config_context(enable_metadata_routing=True):
        model = make().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weights = {"sample_weight": np.ones(len(TEXTS))}
        found = cross_validate(model, TEXTS, LABELS, cv=3, params=weights, error_score="raise")
    assert found["test_score"].min() > 0.9


def test_parameters_have_the_names_of_scikit_learn():
    model = make().fit(X=TEXTS, y=LABELS)
    assert model.score(X=TEXTS, y=LABELS) > 0.9
    assert model.predict(X=TEXTS).tolist() == make().fit(TEXTS, LABELS).predict(TEXTS).tolist()
    assert model.transform(X=TEXTS[:2]).shape == (2, 5)
    assert make().partial_fit(X=TEXTS, y=LABELS).classes_.tolist() == model.classes_.tolist()
    assert make().fit_transform(X=TEXTS, y=LABELS).shape == (len(TEXTS), 5)


# Other vectorizers


@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(sublinear_tf=True),
        CountVectorizer(binary=True),
        make_pipeline(CountVectorizer(), TfidfTransformer()),
    ],
    ids=lambda one: type(one).__name__,
)
class TestOtherVectorizers:
    def test_the_same_as_its_parts(self, vectorizer):
        model = DocumentModel(make().estimator, vectorizer).fit(TEXTS, LABELS)
        X = clone(vectorizer).fit_transform(TEXTS)
        expected = clone(make().estimator).fit(X, LABELS)
        assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(X))
        assert model.terms_.tolist() == model.vectorizer_.get_feature_names_out().tolist()
        assert model.explain(TEXTS[:1])[0][0].terms
        assert cross_val_score(model, TEXTS, LABELS, cv=3, error_score="raise").min() > 0.9

    def test_batches(self, vectorizer):
        model = DocumentModel(make().estimator, vectorizer).partial_fit(TEXTS, LABELS)
        assert model.partial_fit(TEXTS, LABELS).unknown_share_ is None
        assert model.score(TEXTS, LABELS) > 0.9

    def test_a_file_cannot_hold_it(self, vectorizer, tmp_path):
        model = DocumentModel(make().estimator, vectorizer).fit(TEXTS, LABELS)
        with pytest.raises(ValueError, match=f"a {type(vectorizer).__name__} cannot be saved"):
            model.save(tmp_path / "m.vbnmf")
        assert not (tmp_path / "m.vbnmf").exists()


def test_a_vectorizer_without_names_is_refused():
    with pytest.raises(TypeError, match="HashingVectorizer has no get_feature_names_out"):
        DocumentModel(vectorizer=HashingVectorizer()).fit(TEXTS, LABELS)


# A transformer


@pytest.mark.parametrize("labels", [LABELS, None], ids=["labels", "none"])
@pytest.mark.parametrize("kind", [list, iter], ids=["list", "iterator"])
def test_fit_transform_is_fit_and_then_transform(labels, kind):
    def new():
        return DocumentModel((VBNMF if labels is None else SupervisedVBNMF)(4, max_iter=9))

    expected = new().fit(TEXTS, labels).transform(TEXTS)
    assert_array_equal(new().fit_transform(kind(TEXTS), labels), expected, strict=True)


def test_a_step_of_a_pipeline():
    pipe = make_pipeline(make(), LogisticRegression(C=100)).fit(TEXTS, LABELS)
    assert pipe.score(TEXTS, LABELS) > 0.9
    names = pipe[:-1].get_feature_names_out().tolist()
    titles = component_titles(pipe[0], 2)
    titles = [title.removesuffix(" (faded)") for title in titles]
    assert names == [f"component_{title[1:]}".replace(" ", "_") for title in titles]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_output_as_data_frames(package, model):
    framed = make().set_output(transform=package)
    for V in (framed.fit_transform(TEXTS, LABELS), framed.transform(TEXTS)):
        assert type(V).__module__.startswith(package)
        assert list(V.columns) == model.get_feature_names_out().tolist()
        assert_array_equal(V.to_numpy(), model.transform(TEXTS))


# Documents in other forms


DOCUMENTS = {
    "tuple": tuple,
    "array of strings": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "pandas, other index": lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
    "pandas strings": lambda texts: pd.Series(texts, dtype="string"),
    "polars": pl.Series,
}


@pytest.mark.parametrize("form", DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_and_labels_of_any_kind(form, model):
    given = make().fit(form(TEXTS), form(LABELS))
    assert_array_equal(given.transform(form(NEW)), model.transform(NEW))
    assert_array_equal(given.predict(form(NEW)), model.predict(NEW))
    assert given.score(form(TEXTS), form(LABELS)) == model.score(TEXTS, LABELS)
    assert cross_val_score(make(), form(TEXTS), form(LABELS), cv=3).min() > 0.9


def test_a_column_of_texts_as_a_matrix(model):
    for column in (np.array(TEXTS)[:, None], np.array(TEXTS, dtype=object)[:, None]):
        with pytest.raises(TypeError, match=r"shape \(42, 1\). Pass one column of texts"):
            model.predict(column)


# Weights


def test_weights_of_documents():
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(TEXTS))
    X = DocumentVectorizer().fit_transform(TEXTS)
    model = make().fit(TEXTS, LABELS, weight)
    expected = supervised().fit(X, LABELS, weight)
    assert_array_equal(model.estimator_.components_, expected.components_)
    wrong = ["bike", *LABELS[1:]] if LABELS[0] != "bike" else ["tea", *LABELS[1:]]
    heavy = np.r_[1000.0, np.ones(len(TEXTS) - 1)]
    assert model.score(TEXTS, wrong, heavy) == expected.score(X, wrong, heavy) < 0.1


# The form of labels


FORMS = {
    "one": (LABELS, "one"),
    "lists": (LISTS, "lists"),
    "series of lists": (pd.Series(LISTS), "lists"),
    "indicator": (BITS.astype(int), "indicator"),
    "sparse indicator": (sparse.csr_array(BITS.astype(int)), "indicator"),
    "columns": (pd.DataFrame(BITS.astype(int), columns=["bike", "coffee", "tea"]), "indicator"),
}


@pytest.mark.parametrize(("labels", "form"), FORMS.values(), ids=FORMS)
def test_labels_come_back_in_the_form_they_were_given(labels, form, tmp_path):
    fitted = make().fit(TEXTS, labels)
    assert fitted.label_form_ == form
    fitted.save(tmp_path / "m")
    for model in (fitted, load(tmp_path / "m")):
        given, lists = model.predict(NEW), model.predict_with_proba(NEW)[0]
        if form == "indicator":
            assert given.shape == (len(NEW), 3)
            rows = [{model.classes_[k] for k in np.flatnonzero(row)} for row in given]
            assert rows == [set(labels) for labels in lists]
        else:
            assert isinstance(given, list if form == "lists" else np.ndarray)
            assert list(given) == list(lists)
        assert model.score(TEXTS, model.predict(TEXTS)) == 1.0
        assert model.score(TEXTS, labels) > 0.8


def test_older_files_give_lists(tmp_path):
    make().fit(TEXTS, BITS.astype(int)).save(tmp_path / "m")
    file = ModelFile((tmp_path / "m").read_bytes())
    for form in ("one", None, [], "other"):
        (tmp_path / "m").write_bytes(file.with_header(label_form=form))
        with pytest.raises(ModelFileError, match="form of labels"):
            load(tmp_path / "m")
    older = {key: value for key, value in file.header.items() if key != "label_form"}
    (tmp_path / "m").write_bytes(file.with_header_text(json.dumps(older)))
    assert load(tmp_path / "m").label_form_ == "lists"


# No documents at all


@pytest.mark.parametrize("none", [[], (), np.array([]), pd.Series([], dtype=str), iter([])])
def test_no_documents(none, model):
    none = list(none) if hasattr(none, "__next__") else none
    assert model.predict(none).tolist() == []
    assert model.predict(none).dtype == model.classes_.dtype
    assert model.predict_proba(none).shape == (0, 3)
    assert model.transform(none).shape == (0, 5)
    assert model.transform(none).dtype == model.transform(TEXTS).dtype
    assert model.explain(none) == []
    assert [part.tolist() for part in model.predict_with_proba(none)] == [[], []]
    with pytest.raises(ValueError, match="0 sample"):
        model.score(none, [])


def test_no_rows_and_no_labels():
    assert make().fit(TEXTS, LISTS).predict([]) == []
    assert make().fit(TEXTS, BITS.astype(int)).predict([]).shape == (0, 3)
    matrix = make().fit(DocumentVectorizer().fit_transform(TEXTS), LABELS)
    empty = sparse.csr_array((0, len(matrix.terms_)))
    assert matrix.predict_proba(empty).shape == (0, 3)
    with pytest.raises(ValueError, match="2 columns, but the model has"):
        matrix.predict(np.empty((0, 2)))
    with pytest.raises(ValueError, match="There are no documents"):
        make().fit([], [])
