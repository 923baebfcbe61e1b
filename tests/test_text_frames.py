"""DocumentVectorizer.set_output: sparse weights in a data frame."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from cliruns import LABELS, TEXTS
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")


def test_pandas_has_sparse_columns():
    plain = DocumentVectorizer()
    framed = DocumentVectorizer().set_output(transform="pandas")
    X = plain.fit_transform(TEXTS)
    for frame in (framed.fit_transform(TEXTS), framed.transform(TEXTS)):
        assert list(frame.columns) == plain.get_feature_names_out().tolist()
        assert all(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes)
        assert frame.sparse.density == pytest.approx(X.nnz / np.prod(X.shape))
        assert_array_equal(frame.sparse.to_coo().toarray(), X.toarray())
    series = pd.Series(TEXTS, index=[f"doc {i}" for i in range(len(TEXTS))])
    assert framed.transform(series).index.tolist() == series.index.tolist()


def test_the_choice_is_kept_by_clones_and_can_be_taken_back():
    framed = DocumentVectorizer().set_output(transform="pandas").fit(TEXTS)
    assert isinstance(clone(framed).fit_transform(TEXTS), pd.DataFrame)
    assert isinstance(framed.set_output().transform(TEXTS), pd.DataFrame)
    assert sparse.issparse(framed.set_output(transform="default").transform(TEXTS))


def test_the_global_setting_has_no_effect():
    with config_context(transform_output="pandas"):
        assert sparse.issparse(DocumentVectorizer().fit_transform(TEXTS))
        V = DocumentModel(SupervisedVBNMF(3, max_iter=3)).fit_transform(TEXTS, LABELS)
        assert isinstance(V, pd.DataFrame)


def test_a_pipeline_of_data_frames():
    def pipe():
        return make_pipeline(DocumentVectorizer(), SupervisedVBNMF(3, max_iter=5, random_state=0))

    fitted = pipe().set_output(transform="pandas").fit(TEXTS, LABELS)
    V = fitted.transform(TEXTS)
    names = [re.fullmatch(r"component_(\d)_(\w+)", name).groups() for name in V.columns]
    assert [number for number, _ in names] == ["0", "1", "2"]
    terms = set(fitted[0].get_feature_names_out())
    assert all(set(words.split("_")) <= terms for _, words in names)
    # scikit-learn reads sparse columns of single precision as doubles
    assert_allclose(V, pipe().fit(TEXTS, LABELS).transform(TEXTS), rtol=1e-5)


def test_a_document_model_needs_no_frame_inside():
    vectorizer = DocumentVectorizer().set_output(transform="pandas")
    estimator = SupervisedVBNMF(3, max_iter=5, random_state=0).set_output(transform="pandas")
    model = DocumentModel(estimator, vectorizer).fit(TEXTS, LABELS)
    assert sparse.issparse(model.vectorize(TEXTS))
    assert isinstance(model.transform(TEXTS), np.ndarray)


@pytest.mark.parametrize("container", ["polars", "list", 3])
def test_other_containers_are_refused(container):
    with pytest.raises(ValueError, match=r'"default" .* or "pandas" .*polars has no sparse'):
        DocumentVectorizer().set_output(transform=container)


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        DocumentVectorizer().set_output(transform="pandas").fit_transform(TEXTS)
