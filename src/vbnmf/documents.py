"""DocumentModel: raw documents in, coefficients and labels out, all of it in one file.

It joins a ``DocumentVectorizer`` and a ``VBNMF`` or ``SupervisedVBNMF``. The command line is built
on it; pipelines of scikit-learn are free to combine the parts otherwise.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators import VBNMF, SupervisedVBNMF, saving
from vbnmf.estimators.explaining import Explanation
from vbnmf.estimators.validation import is_empty
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer

NAME = "DocumentModel"


class DocumentModel(BaseEstimator):  # type: ignore[misc]
    """Components of raw documents, and their labels.

    Parameters
    ----------
    estimator : VBNMF, SupervisedVBNMF or None, default=None
        The model of the matrix. None takes ``SupervisedVBNMF()`` where there are labels and
        ``VBNMF()`` where there are none.
    vectorizer : DocumentVectorizer or None, default=None
        How texts become a matrix; None takes ``DocumentVectorizer()``. Not used where documents
        are given as a matrix.

    Attributes
    ----------
    estimator_ : VBNMF or SupervisedVBNMF
        The fitted model.
    vectorizer_ : DocumentVectorizer or None
        The fitted vectorizer; None if the model was fitted to a matrix.
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
    >>> model.estimator_.classes_.tolist()
    ['coffee', 'green', 'tea']
    >>> [len(given) == len(scores) for given, scores in zip(*model.predict_with_score(["tea"]))]
    [True]
    """

    def __init__(
        self,
        estimator: Any = None,
        vectorizer: DocumentVectorizer | None = None,
    ) -> None:
        self.estimator = estimator
        self.vectorizer = vectorizer

    def fit(self, documents: Any, labels: Any = None, *, terms: Any = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts, or weights of terms.
        labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            One label a document, None or NaN where it is not known. Several: a list of labels for
            each document, or a matrix of zeros and ones of shape (n_docs, n_labels); an empty list
            or a row of zeros is not known. None for all of them gives an unsupervised model.
        terms : sequence of str or None
            Names of the columns, where documents are a matrix.
        """
        from sklearn.base import clone

        default = VBNMF() if labels is None else SupervisedVBNMF()
        estimator = default if self.estimator is None else clone(self.estimator)
        if labels is not None and not isinstance(estimator, SupervisedVBNMF):
            raise ValueError(
                f"labels were given, but `estimator` is a {type(estimator).__name__}, which does "
                "not use them. Use SupervisedVBNMF, or leave the labels out."
            )
        vectorizer = None
        if _is_matrix(documents):
            X, names = documents, terms
        else:
            vectorizer = clone(self.vectorizer or DocumentVectorizer())
            X = vectorizer.fit_transform(documents)
            names = vectorizer.get_feature_names_out()
        estimator.fit(X, labels)
        self.vectorizer_ = vectorizer
        self.estimator_ = estimator
        self.columns_: dict[str, Any] = {}
        self.terms_ = _names(names, X.shape[1])
        self.n_empty_ = int(is_empty(X).sum())
        return self

    def transform(self, documents: Any) -> Array:
        """Coefficients, (n_docs, n_components), of texts or of rows of a matrix."""
        X = self.vectorize(documents)
        return self.estimator_.transform(X)

    def predict(self, documents: Any) -> Any:
        """Labels of documents.

        Returns
        -------
        ndarray of shape (n_docs,), or list of n_docs lists of labels
            The most probable label of each document. Where documents may have several, all that
            are probable enough, the most probable first, in a list, which may be empty: the form
            that ``fit`` takes.
        """
        return self.predict_with_score(documents)[0]

    def predict_with_score(self, documents: Any) -> tuple[Any, Any]:
        """Labels of documents, as from ``predict``, and the probability of each in the same form.

        Nothing is known about a document without any known term: its probabilities are the parts
        of all training documents that have each label. With one label a document it gets the
        commonest.
        """
        self._check_labels()
        P = self.estimator_.predict_proba(self.vectorize(documents))
        given = self.estimator_.labels_from(P)
        if self.has_several_labels:
            return _lists(P, given, self.estimator_.classes_.tolist())
        return given, P.max(axis=1)

    def predict_proba(self, documents: Any) -> Array:
        """Probabilities of labels, (n_docs, n_labels), in the order of ``estimator_.classes_``."""
        self._check_labels()
        return self.estimator_.predict_proba(self.vectorize(documents))

    def score(self, documents: Any, labels: Any) -> float:
        """Part of the documents whose label, or whole set of labels, is predicted."""
        self._check_labels()
        return self.estimator_.score(self.vectorize(documents), labels)

    def explain(
        self, documents: Any, *, n_terms: int = 8, n_components: int = 3
    ) -> list[list[Explanation]]:
        """What spoke for the most probable label of documents, and for the runner-up.

        See ``SupervisedVBNMF.explain``; terms are called by their names.
        """
        self._check_labels()
        X = self.vectorize(documents)
        return self.estimator_.explain(
            X, n_terms=n_terms, n_components=n_components, names=self.terms_
        )

    def vectorize(self, documents: Any) -> Any:
        """Matrix of documents; rows of a matrix pass through."""
        check_is_fitted(self, "estimator_")
        if _is_matrix(documents):
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
        # a page is made by a room above this one, which only those load who want one
        explorer = import_module("vbnmf.report.explorer")
        return explorer.explore(self, documents, labels, ids=ids, title=title)

    def _check_labels(self) -> None:
        if not self.has_labels:
            raise ValueError(
                "this model was fitted without labels and cannot predict any. Fit it with labels."
            )

    @property
    def has_labels(self) -> bool:
        """Whether the model was fitted with labels."""
        check_is_fitted(self, "estimator_")
        return isinstance(self.estimator_, SupervisedVBNMF)

    @property
    def has_several_labels(self) -> bool:
        """Whether the model was fitted to documents that may have several labels."""
        return self.has_labels and bool(self.estimator_.multilabel_)

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


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``save`` wrote: a ``DocumentModel``, ``VBNMF`` or ``SupervisedVBNMF``.

    Nothing in the file is run or imported. The loaded model gives the same bits as before on the
    same machine.

    Raises
    ------
    ModelFileError
        A ``ValueError``: the file is no vbnmf model, is damaged, or is of another version.
    """
    header, arrays = store.read(path)
    try:
        if header["model"] == NAME:
            return _document_model(header, arrays)
        return saving.from_state(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} has a header that no model has ({type(error).__name__}: {error}). "
            "It is damaged; save the model again."
        ) from None


def _document_model(header: dict[str, Any], arrays: dict[str, Array]) -> DocumentModel:
    model = DocumentModel()
    model.estimator_ = saving.from_state(header["estimator"], _part(arrays, "estimator."))
    n_terms = model.estimator_.n_features_in_
    model.n_empty_ = saving.whole(header["n_empty"])
    model.columns_ = _columns(header["columns"])
    if "vectorizer" in header:
        model.vectorizer_ = DocumentVectorizer.from_state(
            header["vectorizer"], _part(arrays, "vectorizer.")
        )
        names = model.vectorizer_.get_feature_names_out()
    else:
        model.vectorizer_, names = None, header["terms"]
    model.terms_ = saving.names(list(names), n_terms)
    return model


def _columns(stored: Any) -> dict[str, Any]:
    sound = isinstance(stored, dict) and all(
        key in ("text", "label", "label_separator")
        and (isinstance(value, str) or (key != "label_separator" and _is_names(value)))
        for key, value in stored.items()
    )
    if not sound or stored.get("label_separator") == "":
        raise ModelFileError("the names of columns are damaged.")
    return dict(stored)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(v, str) for v in value)


def _part(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def _is_matrix(documents: Any) -> bool:
    if hasattr(documents, "columns"):  # it iterates over the names of its columns, not over rows
        raise TypeError(
            f"documents must be texts or a matrix; got a {type(documents).__name__}. Give one "
            "column of texts, or an array of weights."
        )
    return sparse.issparse(documents) or (isinstance(documents, np.ndarray) and documents.ndim == 2)


def _names(names: Any, n_terms: int) -> Array:
    """Names of terms, made up where there are none."""
    if names is None:
        names = [f"term {i}" for i in range(n_terms)]
    if len(names) != n_terms:
        raise ValueError(f"there are {n_terms} terms but {len(names)} names of them in `terms`.")
    return np.array([str(name) for name in names], dtype=object)


def default_components(n_labels: int | None) -> int:
    """Number of components where none is asked for: two a label, and enough for few labels."""
    return 20 if n_labels is None else int(np.clip(2 * n_labels, 20, 300))
