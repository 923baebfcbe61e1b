"""DocumentModel: a vectorizer and an estimator in one model, for raw documents.

It combines a ``DocumentVectorizer`` with a ``VBNMF`` or ``SupervisedVBNMF``, and saves both in one
file. The command line uses it. ``loading`` reads its files.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    TransformerMixin,
    clone,
)
from sklearn.utils import ClassifierTags

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty, leading
from vbnmf.description.showing import ShowsComponents, ShowsLabels
from vbnmf.distributed import backend, is_texts
from vbnmf.engines.backends import computed
from vbnmf.estimators import VBNMF, SupervisedVBNMF, saving
from vbnmf.estimators.labelforms import is_indicator
from vbnmf.estimators.validation import check_fitted
from vbnmf.pipeline.batches import LearnsDocuments
from vbnmf.pipeline.headfeatures import add_features, check_features
from vbnmf.pipeline.inputs import is_matrix, term_names
from vbnmf.pipeline.predicting import NAME, PredictsDocuments
from vbnmf.shards import Shards
from vbnmf.text import DocumentVectorizer
from vbnmf.text.features import TextFeatures
from vbnmf.vectorizing import read_vectorizer

_OF_VECTORIZERS = ("fit_transform", "transform", "get_feature_names_out")


def default_estimator(*, labelled: bool) -> Any:
    """Return the default estimator of ``DocumentModel`` and ``vbnmf fit``."""
    return SupervisedVBNMF(random_state=0) if labelled else VBNMF(random_state=0)


class DocumentModel(
    LearnsDocuments,
    PredictsDocuments,
    ShowsComponents,
    ShowsLabels,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A vectorizer and an estimator in one model, for raw documents.

    It is a scikit-learn transformer, and with labels also a classifier. Cross-validation makes
    stratified folds if each document has one label.

    Parameters
    ----------
    estimator : VBNMF, SupervisedVBNMF or None, default=None
        The estimator. None is ``SupervisedVBNMF(random_state=0)`` with labels, and
        ``VBNMF(random_state=0)`` without labels, as in ``vbnmf fit``.
    vectorizer : transformer or None, default=None
        The vectorizer of texts. None is ``DocumentVectorizer()``. Not used if documents are a
        matrix. Any transformer with ``fit_transform``, ``transform`` and ``get_feature_names_out``
        can be used, such as ``TfidfVectorizer``. Saving, pages with documents, and texts on a
        cluster need a ``DocumentVectorizer``.
    features : {"auto", "none"}, or some of "marks", "pairs", "pieces", default="auto"
        What the prediction head uses of texts besides words and components. "marks" are punctuation
        and single letters, "pairs" two words in succession, and "pieces" one to four characters of
        a word as it is written. "auto" uses what predicts best on documents that are left out.
        Components are always made of words. Documents in shards, on a cluster or in a matrix have
        no features.

    Attributes
    ----------
    estimator_ : VBNMF or SupervisedVBNMF
        The fitted model.
    vectorizer_ : transformer or None
        The fitted vectorizer; None if the model was fitted to a matrix.
    classes_ : ndarray of shape (n_labels,)
        The labels; only if the model was fitted with labels.
    label_form_ : {"one", "lists", "indicator"} or None
        The form of the labels in ``fit``. ``predict`` returns the same form. None if the model was
        fitted without labels.
    terms_ : ndarray of str of shape (n_terms,)
        Names of the terms.
    features_ : tuple of str
        Kinds of features that the prediction head uses besides words.
    features_reason_ : str
        Why these were chosen.
    n_empty_ : int
        Number of training documents without any known term.
    unknown_share_ : float or None
        Share of the words of the last batch that are not in the vocabulary; None if the batch was a
        matrix. Only after ``partial_fit``. Not stored in model files.
    columns_ : dict
        Columns of texts and labels in the training file, if known:
        ``{"text": …, "label": …, "label_separator": …, "label_case": …}``. Several columns are
        given as a list. The command line reads the same columns of new files.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee beans"]
    >>> labels = ["tea", "tea", "coffee", "coffee"]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=2, random_state=0)).fit(texts, labels)
    >>> model.predict(["coffee roast"]).tolist()
    ['coffee']

    Documents may have several labels, given as lists. None marks unknown labels. Predictions are
    lists too.

    >>> labels = [["tea", "green"], ["tea"], ["coffee"], None]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=3, random_state=0)).fit(texts, labels)
    >>> model.classes_.tolist()
    ['coffee', 'green', 'tea']
    >>> [len(given) == len(scores) for given, scores in zip(*model.predict_with_proba(["tea"]))]
    [True]

    A grid search can include parameters of both parts.

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"estimator__n_components": [2, 3], "vectorizer__min_df": [1, 2]}
    >>> search = GridSearchCV(DocumentModel(), grid, cv=2)
    >>> print(search.fit(texts * 2, ["tea", "tea", "coffee", "coffee"] * 2).best_score_)
    1.0
    """

    def __init__(
        self,
        estimator: Any = None,
        vectorizer: Any = None,
        features: Any = "auto",
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer
        self.features = features

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the model or of its parts, such as ``estimator__n_components``.

        If a parameter of a part is set and the part is None, it is replaced by its default first:
        ``SupervisedVBNMF`` or ``DocumentVectorizer``.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        DocumentModel
            The model itself.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> model = DocumentModel().set_params(estimator__n_components=30, vectorizer__min_df=2)
        >>> model.estimator.n_components
        30
        """
        parts = {key.partition("__")[0] for key in params if "__" in key} - set(params)
        if "estimator" in parts and self.estimator is None:
            self.estimator = default_estimator(labelled=True)
        if "vectorizer" in parts and self.vectorizer is None:
            self.vectorizer = DocumentVectorizer()
        return super().set_params(**params)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        terms: Any = None,
        columns: dict[str, Any] | None = None,
    ) -> Self:
        """Fit the vectorizer and the estimator to documents.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms), or Shards
            Texts (a list, a generator, an array or a column of a data frame), or weights of terms.
            ``Shards`` include their labels and their vectorizer. Texts on a cluster, in a bag or a
            column of a data frame, need its ``engine`` in the estimator, and are converted on the
            workers (docs/guide/scale.md).
        y : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            One label per document; None or NaN marks an unknown label. For several labels per
            document: lists of labels, or an indicator matrix of shape (n_docs, n_labels); an empty
            list or a row of zeros marks unknown labels. Without labels (None) the model is
            unsupervised.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights for the estimator. The vocabulary and the weights of terms do not depend
            on them.
        terms : sequence of str or None
            Names of the columns, if documents are a matrix.
        columns : dict or None
            Columns of texts and labels in the training file, for ``columns_``.

        Returns
        -------
        DocumentModel
            The fitted model.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> model = DocumentModel().fit(["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5)
        >>> model.classes_.tolist()
        ['coffee', 'tea']
        """
        self._fit(X, y, sample_weight, terms)
        self.columns_: dict[str, Any] = dict(columns or {})
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Array:
        """Fit the model and transform the same documents.

        The result is identical to ``fit`` followed by ``transform``, but documents are read only
        once. Coefficients are computed without labels.

        Parameters
        ----------
        X, y, sample_weight, terms
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients.

        Examples
        --------
        >>> from vbnmf import VBNMF, DocumentModel
        >>> model = DocumentModel(VBNMF(2, random_state=0))
        >>> model.fit_transform(["green tea", "roast coffee"] * 5).shape
        (10, 2)
        """
        weights = self._fit(X, y, sample_weight, terms)
        return self.transform(X) if weights is None else self.estimator_.transform(weights)

    def _fit(
        self, documents: Any, labels: Any, sample_weight: Any, terms: Any, how: str = "fit"
    ) -> Any:
        """Fit both parts, and return the document-term matrix; None for texts on a cluster."""
        asked = check_features(self.features)
        if is_texts(documents):
            return self._fit_lazy(documents, labels, sample_weight)
        streamed = isinstance(documents, Shards)
        has_labels = labels is not None or (streamed and documents.labels is not None)
        estimator = self._new_estimator(has_labels, labels)
        vectorizer = features = None
        reason = "the documents are not texts in memory"
        if streamed:
            X, vectorizer = documents, read_vectorizer(documents)
            names = documents.terms if terms is None else terms
        elif is_matrix(documents):
            X, names = documents, terms
        else:
            vectorizer = self._new_vectorizer()
            documents = documents if isinstance(documents, Sequence) else list(documents)
            X = vectorizer.fit_transform(documents)
            names = vectorizer.get_feature_names_out()
            features, X, reason = add_features(asked, documents, X, vectorizer, labels, estimator)
            if features is not None:
                estimator.set_params(head_features=len(features))
        n_terms = X.shape[1] - (0 if features is None else len(features))
        getattr(estimator.set_output(transform="default"), how)(X, labels, sample_weight)
        parts = (X.rows(i) for i in range(X.n_shards)) if streamed else (X,)
        n_empty = sum(int(is_empty(leading(rows, n_terms)).sum()) for rows in parts)
        self._set_fitted(estimator, vectorizer, term_names(names, n_terms), labels, n_empty)
        self.text_features_, self.features_reason_ = features, reason
        return X

    def _fit_lazy(self, texts: Any, labels: Any, sample_weight: Any) -> None:
        """Fit both parts to texts on a cluster, on its workers."""
        labels = computed(labels)
        estimator = self._new_estimator(labels is not None, labels)
        if self.estimator is None:
            estimator.set_params(engine=backend())
        from vbnmf.distributed.texts import vectorized

        vectorizer = self._new_vectorizer()
        if not isinstance(vectorizer, DocumentVectorizer):
            raise ValueError(
                "texts on a cluster need a DocumentVectorizer; got `vectorizer` of type "
                f"{type(vectorizer).__name__}."
            )
        with vectorized(texts, vectorizer, estimator.engine) as X:
            estimator.set_output(transform="default").fit(X, labels, sample_weight)
        names = term_names(vectorizer.get_feature_names_out(), X.shape[1])
        self._set_fitted(estimator, vectorizer, names, labels, vectorizer.n_empty_)

    def _new_vectorizer(self) -> Any:
        """Return the vectorizer to fit."""
        if self.vectorizer is None:
            return DocumentVectorizer().set_output(transform="default")
        missing = [name for name in _OF_VECTORIZERS if not hasattr(self.vectorizer, name)]
        if missing:
            raise TypeError(
                f"`vectorizer` must have the methods {', '.join(_OF_VECTORIZERS)}; "
                f"{type(self.vectorizer).__name__} has no {', '.join(missing)}. Use "
                "DocumentVectorizer, or a vectorizer of scikit-learn such as TfidfVectorizer."
            )
        vectorizer = clone(self.vectorizer)
        if isinstance(vectorizer, DocumentVectorizer):
            vectorizer.set_output(transform="default")
        return vectorizer

    def _new_estimator(self, labelled: bool, labels: Any) -> Any:
        """Return the estimator to fit."""
        default = default_estimator(labelled=labelled)
        estimator = default if self.estimator is None else clone(self.estimator)
        if labels is not None and not isinstance(estimator, SupervisedVBNMF):
            raise ValueError(
                f"labels were given, but `estimator` is a {type(estimator).__name__}, which does "
                "not use labels. Use SupervisedVBNMF, or fit without labels."
            )
        return estimator

    def _set_fitted(
        self, estimator: Any, vectorizer: Any, names: Array, labels: Any, n_empty: int
    ) -> None:
        """Set the fitted attributes."""
        self.vectorizer_ = vectorizer
        self.estimator_ = estimator
        self.columns_ = {}
        self.text_features_: TextFeatures | None = None
        self.features_reason_ = "the documents are not texts in memory"
        self.terms_ = names
        self.n_empty_ = n_empty
        self.label_form_ = None
        if self.has_labels:
            several = "indicator" if labels is not None and is_indicator(labels) else "lists"
            self.label_form_ = several if estimator.multilabel_ else "one"

    def transform(self, X: Any) -> Array:
        """Compute the coefficients of documents with fixed components.

        Parameters
        ----------
        X : iterable of str, matrix of shape (n_docs, n_terms), or texts on a cluster
            Texts or weights of terms. The result for texts on a cluster is an array there, which is
            computed later.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.transform(["tea leaves"]).shape == (1, model.estimator_.n_components_)
        True
        """
        X = self.vectorize(X)
        if X.shape[0] == 0:
            return np.empty((0, self._n_features_out), self.estimator_.components_.dtype)
        return self.estimator_.transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.estimator_.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        part = getattr(self, "estimator_", self.estimator)
        if part is None or isinstance(part, SupervisedVBNMF):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_label=True)
        tags.target_tags.required = isinstance(self.estimator, SupervisedVBNMF)
        return tags

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Save the model to a file, which ``vbnmf.load`` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            File to write.
        overwrite : bool, default=True
            Whether to overwrite an existing file. If False and the file exists, the model is saved
            under another name in the same folder, and the message of a ``FileExistsError`` contains
            that name.

        Examples
        --------
        >>> from vbnmf import DocumentModel, load
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.save("drinks.vbnmf")
        >>> load("drinks.vbnmf").predict(["tea"]).tolist()
        ['tea']
        """
        check_fitted(self, "estimator_")
        if self.vectorizer_ is not None and not isinstance(self.vectorizer_, DocumentVectorizer):
            raise ValueError(
                f"a {type(self.vectorizer_).__name__} cannot be saved in a model file. Use "
                "DocumentVectorizer, or save the two parts: `estimator_.save(path)`, and "
                "`vectorizer_` with joblib."
            )
        estimator, arrays = saving.to_state(self.estimator_)
        header: dict[str, Any] = {"model": NAME, "vbnmf": vbnmf.__version__, "estimator": estimator}
        header["n_empty"] = self.n_empty_
        header["columns"] = self.columns_
        header["label_form"] = self.label_form_
        arrays = {f"estimator.{name}": array for name, array in arrays.items()}
        if self.vectorizer_ is None:
            header["terms"] = self.terms_.tolist()
        else:
            header["vectorizer"], more = self.vectorizer_.to_state()
            arrays |= {f"vectorizer.{name}": array for name, array in more.items()}
        header["features_reason"] = self.features_reason_
        if self.text_features_ is not None:
            header["features"], more = self.text_features_.to_state()
            arrays |= {f"features.{name}": array for name, array in more.items()}
        store.write(path, header, arrays, overwrite=overwrite)
