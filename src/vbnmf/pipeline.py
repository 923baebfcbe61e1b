"""DocumentModel: a vectorizer and an estimator in one model, for raw documents.

It combines a ``DocumentVectorizer`` with a ``VBNMF`` or ``SupervisedVBNMF``, and saves both in one
file. The command line uses it. ``loading`` reads its files.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    clone,
)
from sklearn.utils import ClassifierTags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

import vbnmf
from vbnmf import store
from vbnmf.batches import LearnsDocuments
from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.data.shards import Shards
from vbnmf.estimators import VBNMF, SupervisedVBNMF, saving
from vbnmf.estimators.targets import is_indicator
from vbnmf.text import DocumentVectorizer
from vbnmf.vectorizing import read_vectorizer

NAME = "DocumentModel"


def default_estimator(*, labelled: bool) -> Any:
    """Return the default estimator of ``DocumentModel`` and ``vbnmf fit``."""
    return SupervisedVBNMF(random_state=0) if labelled else VBNMF(random_state=0)


class DocumentModel(LearnsDocuments, ClassNamePrefixFeaturesOutMixin, BaseEstimator):  # type: ignore[misc]
    """Model of raw documents: a vectorizer and an estimator.

    It is a transformer of scikit-learn. With labels it is also a classifier, and cross-validation
    makes stratified folds if each document has one label.

    Parameters
    ----------
    estimator : VBNMF, SupervisedVBNMF or None, default=None
        The estimator. None is ``SupervisedVBNMF(random_state=0)`` with labels, and
        ``VBNMF(random_state=0)`` without labels, as in ``vbnmf fit``.
    vectorizer : DocumentVectorizer or None, default=None
        The vectorizer of texts. None is ``DocumentVectorizer()``. Not used if documents are a
        matrix.

    Attributes
    ----------
    estimator_ : VBNMF or SupervisedVBNMF
        The fitted model.
    vectorizer_ : DocumentVectorizer or None
        The fitted vectorizer; None if the model was fitted to a matrix.
    classes_ : ndarray of shape (n_labels,)
        The labels; only if the model was fitted with labels.
    label_form_ : {"one", "lists", "indicator"} or None
        The form of the labels in ``fit``. ``predict`` returns the same form. None if the model was
        fitted without labels.
    terms_ : ndarray of str of shape (n_terms,)
        Names of the terms.
    n_empty_ : int
        Number of training documents without any known term.
    unknown_share_ : float or None
        Only after ``partial_fit``: the part of the words of the last batch that the vocabulary
        lacks; None if the batch was a matrix. Not stored in model files.
    columns_ : dict
        Columns of texts and labels in the training file, if known:
        ``{"text": …, "label": …, "label_separator": …}``. Several columns are a list. The command
        line reads the same columns of new files.

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
    >>> [len(given) == len(scores) for given, scores in zip(*model.predict_with_score(["tea"]))]
    [True]

    A grid search can include parameters of both parts.

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"estimator__n_components": [2, 3], "vectorizer__min_df": [1, 2]}
    >>> search = GridSearchCV(DocumentModel(), grid, cv=2)
    >>> print(search.fit(texts * 2, ["tea", "tea", "coffee", "coffee"] * 2).best_score_)
    1.0
    """

    # the target of fit and score, which scikit-learn passes by position
    __metadata_request__fit = {"labels": UNUSED}  # noqa: RUF012
    __metadata_request__score = {"labels": UNUSED}  # noqa: RUF012
    __metadata_request__partial_fit = {"labels": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any = None,
        vectorizer: DocumentVectorizer | None = None,
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer

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
        """
        parts = {key.partition("__")[0] for key in params if "__" in key} - set(params)
        if "estimator" in parts and self.estimator is None:
            self.estimator = default_estimator(labelled=True)
        if "vectorizer" in parts and self.vectorizer is None:
            self.vectorizer = DocumentVectorizer()
        return super().set_params(**params)

    def fit(
        self,
        documents: Any,
        labels: Any = None,
        sample_weight: Any = None,
        *,
        terms: Any = None,
        columns: dict[str, Any] | None = None,
    ) -> Self:
        """Fit the vectorizer and the estimator to documents.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms), or Shards
            Texts (a list, a generator, an array or a column of a data frame), or weights of terms.
            ``Shards`` bring their labels and their vectorizer.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
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
        """
        self._fit(documents, labels, sample_weight, terms)
        self.columns_: dict[str, Any] = dict(columns or {})
        return self

    def fit_transform(
        self, documents: Any, labels: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Array:
        """Fit the model and transform the same documents.

        The result is identical to ``fit`` followed by ``transform``, but the documents are read
        once. Labels are not used in ``transform``.

        Parameters
        ----------
        documents, labels, sample_weight, terms
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients.
        """
        X = self._fit(documents, labels, sample_weight, terms)
        return self.estimator_.transform(X)

    def _fit(
        self, documents: Any, labels: Any, sample_weight: Any, terms: Any, how: str = "fit"
    ) -> Any:
        """Fit both parts, and return the document-term matrix."""
        streamed = isinstance(documents, Shards)
        has_labels = labels is not None or (streamed and documents.labels is not None)
        default = default_estimator(labelled=has_labels)
        estimator = default if self.estimator is None else clone(self.estimator)
        if labels is not None and not isinstance(estimator, SupervisedVBNMF):
            raise ValueError(
                f"labels were given, but `estimator` is a {type(estimator).__name__}, which does "
                "not use labels. Use SupervisedVBNMF, or fit without labels."
            )
        vectorizer = None
        if streamed:
            X, vectorizer = documents, read_vectorizer(documents)
            names = documents.terms if terms is None else terms
        elif _is_matrix(documents):
            X, names = documents, terms
        else:
            vectorizer = clone(self.vectorizer or DocumentVectorizer())
            X = vectorizer.set_output(transform="default").fit_transform(documents)
            names = vectorizer.get_feature_names_out()
        getattr(estimator.set_output(transform="default"), how)(X, labels, sample_weight)
        self.vectorizer_ = vectorizer
        self.estimator_ = estimator
        self.columns_ = {}
        self.terms_ = _names(names, X.shape[1])
        parts = (X.rows(i) for i in range(X.n_shards)) if streamed else (X,)
        self.n_empty_ = sum(int(is_empty(rows).sum()) for rows in parts)
        self.label_form_ = None
        if self.has_labels:
            several = "indicator" if labels is not None and is_indicator(labels) else "lists"
            self.label_form_ = several if estimator.multilabel_ else "one"
        return X

    def transform(self, documents: Any) -> Array:
        """Compute the coefficients of documents with fixed components.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
            Expected coefficients.
        """
        X = self.vectorize(documents)
        if X.shape[0] == 0:
            return np.empty((0, self._n_features_out), self.estimator_.components_.dtype)
        return self.estimator_.transform(X)

    def predict(self, documents: Any) -> Any:
        """Predict the labels of documents, in the form of the labels in ``fit``.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        ndarray of shape (n_docs,), list of n_docs lists, or ndarray of shape (n_docs, n_labels)
            If ``label_form_`` is "one": the most probable label of each document. If it is "lists":
            all labels above the probability threshold, the most probable first; a list may be
            empty. If it is "indicator": an indicator matrix of the same labels, in the order of
            ``classes_``.
        """
        P = self.predict_proba(documents)
        given = self.estimator_.labels_from(P)
        return _lists(P, given, self.classes_.tolist())[0] if self.label_form_ == "lists" else given

    def predict_with_score(self, documents: Any) -> tuple[Any, Any]:
        """Predict the labels of documents, and their probabilities.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        labels, probabilities : ndarrays of shape (n_docs,), or lists of n_docs lists
            One label per document, or lists of labels if documents may have several, also if
            ``fit`` got an indicator matrix. The probabilities of a document without any known term
            are the frequencies of labels in training.
        """
        return self.labels_with_score(self.predict_proba(documents))

    def labels_with_score(self, probabilities: Array) -> tuple[Any, Any]:
        """Convert the result of ``predict_proba`` to that of ``predict_with_score``."""
        given = self.estimator_.labels_from(probabilities)
        if self.has_several_labels:
            return _lists(probabilities, given, self.classes_.tolist())
        return given, probabilities.max(axis=1)

    def predict_proba(self, documents: Any) -> Array:
        """Predict the probabilities of labels.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Probabilities in the order of ``classes_``.
        """
        self._check_labels()
        X = self.vectorize(documents)
        if X.shape[0] == 0:
            return np.empty((0, len(self.classes_)))
        return self.estimator_.predict_proba(X)

    def score(self, documents: Any, labels: Any = None, sample_weight: Any = None) -> float:
        """Compute the accuracy, or the held-out log-likelihood of a model without labels.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Documents that the model was not fitted to.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            True labels in any form that ``fit`` accepts; see ``SupervisedVBNMF.score``. None for a
            model that was fitted without labels; see ``VBNMF.score``.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights. Only for a model with labels.

        Returns
        -------
        float
            Accuracy, or mean log-probability.
        """
        check_is_fitted(self, "estimator_")
        if not self.has_labels and labels is None and sample_weight is None:
            return self.estimator_.score(self.vectorize(documents))
        self._check_labels()
        return self.estimator_.score(self.vectorize(documents), labels, sample_weight)

    def explain(
        self,
        documents: Any,
        *,
        n_terms: int = 8,
        n_components: int = 3,
        return_proba: bool = False,
    ) -> Any:
        """Compute the contributions of components and terms to the two most probable labels.

        See ``SupervisedVBNMF.explain``. Terms are given by their names.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.
        n_terms : int, default=8
            Maximum number of terms to list for a label and for each component.
        n_components : int, default=3
            Maximum number of components to list.
        return_proba : bool, default=False
            Whether to return the probabilities too.

        Returns
        -------
        explanations : list of lists of Explanation
            The explanations of each document, one for each label.
        probabilities : ndarray of shape (n_docs, n_labels)
            The result of ``predict_proba``. Only if ``return_proba`` is True.
        """
        self._check_labels()
        X = self.vectorize(documents)
        if X.shape[0] == 0:
            return ([], np.empty((0, len(self.classes_)))) if return_proba else []
        return self.estimator_.explain(
            X,
            n_terms=n_terms,
            n_components=n_components,
            names=self.terms_,
            return_proba=return_proba,
        )

    def vectorize(self, documents: Any) -> Any:
        """Convert texts to a document-term matrix. A matrix is returned unchanged.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        sparse or dense matrix of shape (n_docs, n_terms)
            Weights of terms.
        """
        check_is_fitted(self, "estimator_")
        if isinstance(documents, Shards) or _is_matrix(documents):
            if documents.shape[1] != len(self.terms_):
                raise ValueError(
                    f"the matrix has {documents.shape[1]} columns, but the model has "
                    f"{len(self.terms_)} terms. Pass one column for each term in the same order."
                )
            return documents
        if self.vectorizer_ is None:
            raise ValueError(
                "this model was fitted to a matrix, so it has no vectorizer for texts. Pass a "
                f"matrix with the same {len(self.terms_)} columns."
            )
        return self.vectorizer_.transform(documents)

    def report(
        self, documents: Any = None, labels: Any = None, *, ids: Any = None, title: str = ""
    ) -> Any:
        """Make an HTML page in which to explore the model.

        Notebooks display the page. The function is the same as ``vbnmf.explore``.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms), or None
            Documents to show. Use documents that the model was not fitted to.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            True labels of the documents in any form that ``fit`` accepts. Predictions are scored
            with them.
        ids : sequence of str or None
            Ids of the documents. None numbers them.
        title : str
            Title of the page.

        Returns
        -------
        vbnmf.report.explorer.Report
            The page. ``.save("page.html")`` saves it, and ``.html`` is its source.
        """
        check_is_fitted(self, "estimator_")
        return vbnmf.explore(self, documents, labels, ids=ids, title=title)

    def _check_labels(self) -> None:
        if not self.has_labels:
            raise ValueError(
                "this model was fitted without labels, so it cannot predict labels. Fit it with "
                "labels."
            )

    @property
    def classes_(self) -> Array:
        """The labels, (n_labels,), sorted, or in the order of the columns of an indicator matrix.

        A model without labels does not have this attribute.
        """
        if not self.has_labels:
            raise AttributeError("a DocumentModel that was fitted without labels has no classes_.")
        return self.estimator_.classes_

    @property
    def has_labels(self) -> bool:
        """Whether the model was fitted with labels."""
        check_is_fitted(self, "estimator_")
        return isinstance(self.estimator_, SupervisedVBNMF)

    @property
    def has_several_labels(self) -> bool:
        """Whether the model was fitted to documents that may have several labels."""
        return self.has_labels and bool(self.estimator_.multilabel_)

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
            under a free name beside it, and a ``FileExistsError`` has that name.
        """
        check_is_fitted(self, "estimator_")
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
        store.write(path, header, arrays, overwrite=overwrite)


def _lists(
    P: Array, given: Array, classes: Sequence[Any]
) -> tuple[list[list[Any]], list[list[float]]]:
    """Return the predicted labels of each document, most probable first, and probabilities."""
    labels, scores = [], []
    for probabilities, is_given in zip(P, given, strict=True):
        order = np.argsort(-probabilities, kind="stable")
        chosen = order[is_given[order] == 1]
        labels.append([classes[i] for i in chosen])
        scores.append(probabilities[chosen].tolist())
    return labels, scores


def _is_matrix(documents: Any) -> bool:
    if hasattr(documents, "columns"):  # a data frame iterates over names of columns, not over rows
        raise TypeError(
            f"documents must be texts or a matrix; got a {type(documents).__name__}. Pass one "
            "column of texts, or an array of weights."
        )
    if not isinstance(documents, np.ndarray) or documents.ndim != 2:
        return sparse.issparse(documents)
    if documents.dtype.kind in "UST" or any(isinstance(x, str) for x in documents[:1].flat):
        raise TypeError(
            f"documents must be texts or a matrix; got strings in an array of shape "
            f"{documents.shape}. Pass one column of texts: documents[:, 0]."
        )
    return True


def _names(names: Any, n_terms: int) -> Array:
    """Check the names of terms, or make default names."""
    if names is None:
        names = [f"term {i}" for i in range(n_terms)]
    if len(names) != n_terms:
        raise ValueError(f"there are {n_terms} terms, but `terms` has {len(names)} names.")
    return np.array([str(name) for name in names], dtype=object)
