"""Warnings point to the line of the user's code that caused them, however deep they arise."""

import ast
import linecache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline

import vbnmf
from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.text import (
    DocumentVectorizer,
    EmptyDocumentWarning,
    MarkupWarning,
    SuspiciousWordsWarning,
)

TEXTS = ["wheel chain pedal", "leaf cup kettle", "wheel brake pedal"] * 10
MARKUP = [f"<p>{text} <b>gear</b></p>" for text in TEXTS]
LABELS = ["bike", "tea", "Bike"] * 10  # two of them differ in case only
FEW = {"max_iter": 2, "random_state": 0, "classifier": "generative"}


def lines(caught, category):
    """The lines of this file that the warnings of a category point to."""
    found = [one for one in caught if issubclass(one.category, category)]
    assert found
    assert {one.filename for one in found} == {__file__}
    return {linecache.getline(__file__, one.lineno).strip() for one in found}


def test_every_warning_asks_for_the_line_of_the_user():
    calls = [
        call
        for file in Path(vbnmf.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "warnings.warn"
    ]
    levels = {ast.unparse(word.value) for call in calls for word in call.keywords}
    assert len(calls) > 10
    assert levels == {"callers_level()"}
    assert all([word.arg for word in call.keywords] == ["stacklevel"] for call in calls)


def vectorizer():
    return DocumentVectorizer()


def classifier():
    return SupervisedVBNMF(2, **FEW)


@pytest.mark.filterwarnings("ignore:the fit did not converge")
class TestLabels:
    """Labels that look like a mistake (``LabelWarning``)."""

    X = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (30, 8)).astype(float))

    def test_fit(self):
        with pytest.warns(UserWarning, match="differ only in case") as caught:
            classifier().fit(self.X, LABELS)
        assert lines(caught, UserWarning) == {"classifier().fit(self.X, LABELS)"}

    def test_partial_fit(self):
        with pytest.warns(UserWarning, match="differ only in case") as caught:
            classifier().partial_fit(self.X, LABELS)
        assert lines(caught, UserWarning) == {"classifier().partial_fit(self.X, LABELS)"}

    def test_model_of_documents(self):
        model = DocumentModel(classifier())
        with pytest.warns(UserWarning, match="differ only in case") as caught:
            model.fit(TEXTS, LABELS)
        assert lines(caught, UserWarning) == {"model.fit(TEXTS, LABELS)"}

    def test_pipeline_of_scikit_learn(self):
        steps = make_pipeline(vectorizer(), classifier())
        with pytest.warns(UserWarning, match="differ only in case") as caught:
            steps.fit(TEXTS, LABELS)
        assert lines(caught, UserWarning) == {"steps.fit(TEXTS, LABELS)"}

    def test_column_of_labels(self):
        y = np.array(LABELS)[:, None]
        with pytest.warns(DataConversionWarning) as caught:
            classifier().fit(self.X, y)
        assert lines(caught, DataConversionWarning) == {"classifier().fit(self.X, y)"}


class TestTexts:
    """Documents with markup, without words, or with odd ones."""

    @pytest.mark.parametrize("method", ["fit", "fit_transform"])
    def test_markup(self, method):
        with pytest.warns(MarkupWarning) as caught:
            getattr(vectorizer(), method)(MARKUP)
        assert lines(caught, MarkupWarning) == {"getattr(vectorizer(), method)(MARKUP)"}

    @pytest.mark.filterwarnings("ignore:the fit did not converge")
    def test_markup_in_a_model_of_documents(self):
        model = DocumentModel(VBNMF(2, max_iter=2, random_state=0))
        with pytest.warns(MarkupWarning) as caught:
            model.fit(MARKUP)
        assert lines(caught, MarkupWarning) == {"model.fit(MARKUP)"}

    def test_documents_without_terms(self):
        fitted = vectorizer().fit(TEXTS)
        with pytest.warns(EmptyDocumentWarning) as caught:
            fitted.transform(["unheard of"])
        assert lines(caught, EmptyDocumentWarning) == {'fitted.transform(["unheard of"])'}

    def test_words_that_look_wrong(self):
        texts = [f"word{i}" for i in range(60)]
        with pytest.warns(SuspiciousWordsWarning) as caught:
            vectorizer().fit(texts)
        assert lines(caught, SuspiciousWordsWarning) == {"vectorizer().fit(texts)"}


class TestAllAlike:
    """If every document has every term, all weights are zero. The messages say so."""

    @pytest.mark.parametrize("weighting", ["log", "paper"])
    @pytest.mark.parametrize("texts", [["the same words"] * 3, ["one document"]])
    def test_warning(self, texts, weighting):
        with pytest.warns(EmptyDocumentWarning, match="every document has every term") as caught:
            X = DocumentVectorizer(weighting=weighting).fit_transform(texts)
        assert X.nnz == 0
        assert caught[0].message.rows == ()  # no document is worse than the others
        assert "--weighting counts" in str(caught[0].message)
        assert DocumentVectorizer(weighting="counts").fit_transform(texts).nnz > 0

    def test_other_empty_documents(self):
        with pytest.warns(EmptyDocumentWarning, match="1 of 3 documents has no known term"):
            DocumentVectorizer(min_df=2).fit_transform(["red cars", "red cars", "blue"])

    def test_error_of_a_fit(self):
        with (
            pytest.warns(EmptyDocumentWarning, match="every document has every term"),
            pytest.raises(ValueError, match="no document has a term of non-zero weight"),
        ):
            DocumentModel(VBNMF(2)).fit(["the same words"] * 3)
