"""DocumentModel: raw documents in, coefficients and labels out, all of it in one file.

It joins a ``DocumentVectorizer`` and a ``VBNMF`` or ``SupervisedVBNMF``. The command line is built
on it; pipelines of scikit-learn are free to combine the parts otherwise. Its files are read in
``loading``.
"""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import ClassifierTags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.core.rows import is_empty
from vbnmf.data.shards import Shards
from vbnmf.estimators import VBNMF, SupervisedVBNMF, saving
from vbnmf.estimators.targets import is_indicator
from vbnmf.text import DocumentVectorizer
from vbnmf.vectorizing import read_vectorizer

NAME = "DocumentModel"


def default_estimator(*, labelled: bool) -> Any:
    """Make the estimator that is used where none is given, in Python and by ``vbnmf fit``."""
    return SupervisedVBNMF(random_state=0) if labelled else VBNMF(random_state=0)


class DocumentModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Components of raw documents, and their labels.

    To scikit-learn it is a classifier, unless its estimator is a ``VBNMF`` or it was fitted without
    labels; and in either case a transformer. Cross-validation makes stratified folds where each
    document has one label.

    Parameters
    ----------
    estimator : VBNMF, SupervisedVBNMF or None, default=None
        The model of the matrix. None takes ``SupervisedVBNMF(random_state=0)`` where there are
        labels and ``VBNMF(random_state=0)`` where there are none, as ``vbnmf fit`` does.
    vectorizer : DocumentVectorizer or None, default=None
        How texts become a matrix; None takes ``DocumentVectorizer()``. Not used where documents
        are given as a matrix.

    Attributes
    ----------
    estimator_ : VBNMF or SupervisedVBNMF
        The fitted model.
    vectorizer_ : DocumentVectorizer or None
        The fitted vectorizer; None if the model was fitted to a matrix.
    classes_ : ndarray of shape (n_labels,)
        The labels; only if the model was fitted with labels.
    label_form_ : {"one", "lists", "indicator"} or None
        The form of labels in ``fit``, which is the form that ``predict`` returns; None if the model
        was fitted without labels.
    terms_ : ndarray of str
        Names of the terms.
    n_empty_ : int
        Training documents without any term that is known.
    columns_ : dict
        Columns that texts and labels came from, ``{"text": …, "label": …, "label_separator": …}``,
        as far as told; a list where there were several columns. The command line looks for them
        in new files.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee beans"]
    >>> labels = ["tea", "tea", "coffee", "coffee"]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=2, random_state=0)).fit(texts, labels)
    >>> model.predict(["coffee roast"]).tolist()
    ['coffee']

    Documents may have several labels, given as lists, and get a list of them; None is a document
    whose labels are not known.

    >>> labels = [["tea", "green"], ["tea"], ["coffee"], None]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=3, random_state=0)).fit(texts, labels)
    >>> model.classes_.tolist()
    ['coffee', 'green', 'tea']
    >>> [len(given) == len(scores) for given, scores in zip(*model.predict_with_score(["tea"]))]
    [True]

    Parameters of both parts can be searched.

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"estimator__n_components": [2, 3], "vectorizer__min_df": [1, 2]}
    >>> search = GridSearchCV(DocumentModel(), grid, cv=2)
    >>> print(search.fit(texts * 2, ["tea", "tea", "coffee", "coffee"] * 2).best_score_)
    1.0
    """

    # the target of fit and score, which scikit-learn passes by position
    __metadata_request__fit = {"labels": UNUSED}  # noqa: RUF012
    __metadata_request__score = {"labels": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any = None,
        vectorizer: DocumentVectorizer | None = None,
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the parts: ``estimator__n_components``, say.

        A part that is None becomes its default first: ``SupervisedVBNMF`` or
        ``DocumentVectorizer``.
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
        """Learn from documents.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms), or Shards
            Texts (a list, a generator, an array or a column of a data frame), or weights of terms.
            ``Shards`` bring their labels and their vectorizer.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            One label a document, None or NaN where it is not known. Several: a list of labels for
            each document, or a matrix of zeros and ones of shape (n_docs, n_labels); an empty list
            or a row of zeros is not known. None for all of them gives an unsupervised model.
        sample_weight : array-like of shape (n_docs,) or None
            How many documents each one counts as in the model. The vocabulary and the weights of
            terms do not depend on it.
        terms : sequence of str or None
            Names of the columns, where documents are a matrix.
        columns : dict or None
            Columns of the file that texts and labels came from; kept as ``columns_``.
        """
        self._fit(documents, labels, sample_weight, terms)
        self.columns_: dict[str, Any] = dict(columns or {})
        return self

    def fit_transform(
        self, documents: Any, labels: Any = None, sample_weight: Any = None, *, terms: Any = None
    ) -> Array:
        """Learn from documents, and return their coefficients, found without their labels.

        This is ``fit`` and then ``transform``, to the bit, but reads the documents once.
        """
        X = self._fit(documents, labels, sample_weight, terms)
        return self.estimator_.transform(X)

    def _fit(self, documents: Any, labels: Any, sample_weight: Any, terms: Any) -> Any:
        """Fit both parts, and return the matrix of the documents."""
        streamed = isinstance(documents, Shards)
        has_labels = labels is not None or (streamed and documents.labels is not None)
        default = default_estimator(labelled=has_labels)
        estimator = default if self.estimator is None else clone(self.estimator)
        if labels is not None and not isinstance(estimator, SupervisedVBNMF):
            raise ValueError(
                f"labels were given, but `estimator` is a {type(estimator).__name__}, which does "
                "not use them. Use SupervisedVBNMF, or leave the labels out."
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
        estimator.set_output(transform="default").fit(X, labels, sample_weight)
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
        """Coefficients, (n_docs, n_components), of texts or of rows of a matrix."""
        X = self.vectorize(documents)
        if X.shape[0] == 0:
            return np.empty((0, self._n_features_out), self.estimator_.components_.dtype)
        return self.estimator_.transform(X)

    def predict(self, documents: Any) -> Any:
        """Predict the labels of documents, in the form that ``fit`` was given.

        Returns
        -------
        ndarray of shape (n_docs,), list of n_docs lists, or ndarray of shape (n_docs, n_labels)
            One label: the most probable label of each document. Lists: all labels that are
            probable enough, the most probable first; a list may be empty. Indicator matrix: ones
            for the same labels, in the order of ``classes_``.
        """
        P = self.predict_proba(documents)
        given = self.estimator_.labels_from(P)
        return _lists(P, given, self.classes_.tolist())[0] if self.label_form_ == "lists" else given

    def predict_with_score(self, documents: Any) -> tuple[Any, Any]:
        """Predict the labels of documents, and the probability of each label that was given.

        Returns
        -------
        labels, probabilities : ndarrays of shape (n_docs,), or lists of n_docs lists
            One label a document, or lists of labels where documents may have several, also where
            ``fit`` was given an indicator matrix. Nothing is known about a document without any
            known term: its probabilities are the parts of all training documents that have each
            label. With one label a document it gets the commonest.
        """
        return self.labels_with_score(self.predict_proba(documents))

    def labels_with_score(self, probabilities: Array) -> tuple[Any, Any]:
        """Return what ``predict_with_score`` does, from what ``predict_proba`` returned."""
        given = self.estimator_.labels_from(probabilities)
        if self.has_several_labels:
            return _lists(probabilities, given, self.classes_.tolist())
        return given, probabilities.max(axis=1)

    def predict_proba(self, documents: Any) -> Array:
        """Probabilities of labels, (n_docs, n_labels), in the order of ``classes_``."""
        self._check_labels()
        X = self.vectorize(documents)
        if X.shape[0] == 0:
            return np.empty((0, len(self.classes_)))
        return self.estimator_.predict_proba(X)

    def score(self, documents: Any, labels: Any = None, sample_weight: Any = None) -> float:
        """Compute the accuracy, or without labels the held-out log-likelihood.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Documents that the model was not fitted to.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            Labels in any form that ``fit`` takes; see ``SupervisedVBNMF.score``. None for a model
            that was fitted without labels; see ``VBNMF.score``.
        sample_weight : array-like of shape (n_docs,) or None
            How many documents each one counts as; for labelled documents.
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
        """Explain the most probable label of documents, and the runner-up.

        See ``SupervisedVBNMF.explain``; terms are called by their names.
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
        """Matrix of documents; rows of a matrix pass through."""
        check_is_fitted(self, "estimator_")
        if isinstance(documents, Shards) or _is_matrix(documents):
            if documents.shape[1] != len(self.terms_):
                raise ValueError(
                    f"the matrix has {documents.shape[1]} columns, but the model knows "
                    f"{len(self.terms_)} terms. Give a column for each term, in the same order."
                )
            return documents
        if self.vectorizer_ is None:
            raise ValueError(
                "this model was fitted to a matrix and does not know how to read texts. Give it a "
                f"matrix with the same {len(self.terms_)} columns."
            )
        return self.vectorizer_.transform(documents)

    def report(
        self, documents: Any = None, labels: Any = None, *, ids: Any = None, title: str = ""
    ) -> Any:
        """Make a page in which to explore the model; notebooks display it.

        This is ``vbnmf.explore`` of the model.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms), or None
            Documents to show with it, best others than those of training.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            Their labels, in the form that ``fit`` takes; predictions are held against them.
        ids : sequence of str or None
            What each document is called; None: its number.
        title : str
            Of the page.

        Returns
        -------
        vbnmf.report.explorer.Report
            ``.save("page.html")`` writes it; ``.html`` is all of it.
        """
        check_is_fitted(self, "estimator_")
        return vbnmf.explore(self, documents, labels, ids=ids, title=title)

    def _check_labels(self) -> None:
        if not self.has_labels:
            raise ValueError(
                "this model was fitted without labels and cannot predict any. Fit it with labels."
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
        """Write the model to one file, which ``vbnmf.load`` reads; whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        overwrite : bool, default=True
            Whether to replace a file that exists. If not, the model is written under a free name
            beside it, and a ``FileExistsError`` tells that name.
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
    """Labels given to each document, the most probable first, and their probabilities."""
    labels, scores = [], []
    for probabilities, is_given in zip(P, given, strict=True):
        order = np.argsort(-probabilities, kind="stable")
        chosen = order[is_given[order] == 1]
        labels.append([classes[i] for i in chosen])
        scores.append(probabilities[chosen].tolist())
    return labels, scores


def _is_matrix(documents: Any) -> bool:
    if hasattr(documents, "columns"):  # it iterates over the names of its columns, not over rows
        raise TypeError(
            f"documents must be texts or a matrix; got a {type(documents).__name__}. Give one "
            "column of texts, or an array of weights."
        )
    if not isinstance(documents, np.ndarray) or documents.ndim != 2:
        return sparse.issparse(documents)
    if documents.dtype.kind in "UST" or any(isinstance(x, str) for x in documents[:1].flat):
        raise TypeError(
            f"documents must be texts or a matrix; got strings in an array of shape "
            f"{documents.shape}. Give one column of texts: documents[:, 0]."
        )
    return True


def _names(names: Any, n_terms: int) -> Array:
    """Names of terms, made up where there are none."""
    if names is None:
        names = [f"term {i}" for i in range(n_terms)]
    if len(names) != n_terms:
        raise ValueError(f"there are {n_terms} terms but {len(names)} names of them in `terms`.")
    return np.array([str(name) for name in names], dtype=object)
