"""DocumentModel: raw documents in, coefficients and labels out, all of it in one file.

It joins a ``DocumentVectorizer`` and a ``VBNMF`` or ``SupervisedVBNMF``. The command line is built
on it; pipelines of scikit-learn are free to combine the parts otherwise.
"""

import os
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators import VBNMF, SupervisedVBNMF, saving
from vbnmf.estimators.targets import check_targets
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
        Columns that texts and labels came from, ``{"text": …, "label": …}``, as far as told; the
        command line looks for them in new files.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee beans"]
    >>> labels = ["tea", "tea", "coffee", "coffee"]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=2, random_state=0)).fit(texts, labels)
    >>> model.predict(["coffee roast"]).tolist()
    ['coffee']
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
        labels : array-like of shape (n_docs,) or None
            One label a document, None or NaN where it is not known; None for all of them gives an
            unsupervised model.
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
        if labels is not None and _has_several(estimator, labels, X):
            raise ValueError(
                "a DocumentModel takes one label a document, or None where it is not known; got "
                "several. Use SupervisedVBNMF on the matrix of a DocumentVectorizer."
            )
        estimator.fit(X, labels)
        self.vectorizer_ = vectorizer
        self.estimator_ = estimator
        self.columns_: dict[str, str] = {}
        self.terms_ = _names(names, X.shape[1])
        self.n_empty_ = int(is_empty(X).sum())
        return self

    def transform(self, documents: Any) -> Array:
        """Coefficients, (n_docs, n_components), of texts or of rows of a matrix."""
        X = self.vectorize(documents)
        return self.estimator_.transform(X)

    def predict(self, documents: Any) -> Array:
        """Labels of documents."""
        return self.predict_with_score(documents)[0]

    def predict_with_score(self, documents: Any) -> tuple[Array, Array]:
        """Labels of documents and their probabilities.

        Nothing is known about a document without any known term: it gets the commonest label, and
        the part of all training documents that have that.
        """
        if not self.has_labels:
            raise ValueError(
                "this model was fitted without labels and cannot predict any. Fit it with labels."
            )
        P = self.estimator_.predict_proba(self.vectorize(documents))
        return self.estimator_.labels_from(P), P.max(axis=1)

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

    @property
    def has_labels(self) -> bool:
        """Whether the model was fitted with labels."""
        check_is_fitted(self, "estimator_")
        return isinstance(self.estimator_, SupervisedVBNMF)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which ``vbnmf.load`` reads; whole or not at all."""
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
        store.write(path, header, arrays)


def _has_several(estimator: SupervisedVBNMF, labels: Any, X: Any) -> bool:
    return check_targets(estimator, labels, X.shape[0], estimator.unlabelled).multilabel


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
    if model.has_labels and model.estimator_.multilabel_:
        raise ModelFileError("the model has several labels a document, which none of these has.")
    return model


def _columns(stored: Any) -> dict[str, str]:
    sound = isinstance(stored, dict) and all(
        key in ("text", "label") and isinstance(value, str) for key, value in stored.items()
    )
    if not sound:
        raise ModelFileError("the names of columns are damaged.")
    return dict(stored)


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


def is_empty(X: Any) -> Array:
    """Which rows of a matrix have no weight at all."""
    return np.asarray(X.sum(axis=1)).ravel() == 0


def default_components(n_labels: int | None) -> int:
    """Number of components where none is asked for: more than labels, and enough for few."""
    return 20 if n_labels is None else int(np.clip(n_labels + n_labels // 2, 20, 100))
