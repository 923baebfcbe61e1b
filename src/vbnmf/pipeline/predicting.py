"""Methods of ``DocumentModel`` that predict, score and explain the labels of documents.

``DocumentPredictor`` has the same methods. Neither needs scikit-learn
(``estimators.labelpredictor``).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import component_titles
from vbnmf.description.explanations import Explanations
from vbnmf.distributed import is_texts
from vbnmf.engines.backends import matrix_of
from vbnmf.estimators.labelpredictor import PredictsLabels
from vbnmf.estimators.validation import check_count, check_fitted
from vbnmf.pipeline.explaining import FeatureKinds, TermFinder
from vbnmf.pipeline.inputs import is_matrix
from vbnmf.pipeline.joining import Regroup, join_features, shown_in_words
from vbnmf.shards import Shards
from vbnmf.text.features import TextFeatures
from vbnmf.text.transforming import TransformsTexts, known_parts

NAME = "DocumentModel"
"""The kind of model, in model files."""


class PredictsDocuments:
    """Mixin with the methods of ``DocumentModel`` that predict labels."""

    estimator_: Any
    vectorizer_: Any
    label_form_: str | None
    terms_: Array
    text_features_: TextFeatures | None

    def vectorize(self, documents: Any) -> Any:
        """Convert texts to a matrix of terms and features. A matrix is returned unchanged.

        Parameters
        ----------
        documents : iterable of str, or matrix of shape (n_docs, n_terms + n_features)
            Texts, or weights of terms and features.

        Returns
        -------
        sparse or dense matrix of shape (n_docs, n_terms + n_features)
            Weights of terms, and behind them those of the features of the prediction head.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.vectorize(["tea", "coffee"]).shape[0]
        2
        """
        check_fitted(self, "estimator_")
        lazy = is_texts(documents)
        if not lazy and (isinstance(documents, Shards) or is_matrix(documents)):
            if documents.shape[1] != self.estimator_.n_features_in_:
                raise ValueError(
                    f"the matrix has {documents.shape[1]} columns, but the model has "
                    f"{len(self.terms_)} terms{self._and_features()}. Pass one column for each "
                    "term in the same order."
                )
            return documents
        if self.vectorizer_ is None:
            raise ValueError(
                "this model was fitted to a matrix, so it has no vectorizer for texts. Pass a "
                f"matrix with the same {len(self.terms_)} columns."
            )
        if lazy:
            from vbnmf.distributed.texts import weights

            return weights(documents, self.vectorizer_, self._joined)
        documents = documents if isinstance(documents, Sequence) else list(documents)
        return self._joined(documents, self.vectorizer_.transform(documents))

    def _joined(self, texts: Any, X: Any) -> Any:
        """Join the features of texts to the weights of their terms."""
        if self.text_features_ is None:
            return X
        return join_features(self.text_features_, self.vectorizer_, texts, X)

    def _and_features(self) -> str:
        n_features = 0 if self.text_features_ is None else len(self.text_features_)
        return f" and {n_features} features of texts" if n_features else ""

    @property
    def features_(self) -> tuple[str, ...]:
        """Kinds of features that the prediction head uses besides words."""
        return () if self.text_features_ is None else self.text_features_.kinds

    @property
    def feature_names_(self) -> Array:
        """Names of the columns of ``vectorize``: terms, and features of the prediction head."""
        if self.text_features_ is None:
            return self.terms_
        return self.text_features_.names_after(self.terms_)

    def pieces_in_words(self, documents: Any) -> list[Regroup] | None:
        """Return for each text how its pieces are added to its words, for ``explain``.

        None if documents are a matrix, or if the model does not use pieces of words.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.pieces_in_words(["green tea"]) is None  # this model does without pieces
        True
        """
        features = self.text_features_
        if features is None or "pieces" not in features.kinds or hasattr(documents, "shape"):
            return None
        return shown_in_words(features, self.vectorizer_, len(self.terms_), documents)

    def predict(self, X: Any) -> Any:
        """Predict the labels of documents, in the form of the labels in ``fit``.

        Parameters
        ----------
        X : iterable of str, matrix of shape (n_docs, n_terms), or texts on a cluster
            Texts or weights of terms. For texts on a cluster, the result is computed later. It is
            an array there, or a bag if the predictions are lists.

        Returns
        -------
        ndarray of shape (n_docs,), list of n_docs lists, or ndarray of shape (n_docs, n_labels)
            If ``label_form_`` is "one": the most probable label of each document. If it is "lists":
            all labels above the probability threshold, the most probable first; a list may be
            empty. If it is "indicator": an indicator matrix of the same labels, in the order of
            ``classes_``.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.predict(["a cup of coffee", "tea"]).tolist()
        ['coffee', 'tea']
        """
        P = self.predict_proba(X)
        if matrix_of(P) is not None:
            return self._lazy_labels(P, "lists")[0]
        given = self.estimator_.labels_from(P)
        return _lists(P, given, self.classes_.tolist())[0] if self.label_form_ == "lists" else given

    def predict_with_proba(self, X: Any, at_most: int | None = None) -> tuple[Any, Any]:
        """Predict the labels of documents, and their probabilities.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.
        at_most : int or None, default=None
            Maximum number of labels of a document, if documents may have several.

        Returns
        -------
        labels, probabilities : ndarrays of shape (n_docs,), or lists of n_docs lists
            One label per document. If documents may have several labels: lists of labels, even if
            ``fit`` got an indicator matrix. The probabilities of a document without any known term
            are the frequencies of labels in training.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> predicted, probabilities = model.predict_with_proba(["a cup of coffee"])
        >>> predicted.tolist(), bool(probabilities[0] > 0.5)
        (['coffee'], True)
        """
        if at_most is not None:
            at_most = check_count("at_most", at_most)
        return self.labels_with_proba(self.predict_proba(X), at_most)

    def ranked(self, X: Any, n: int = 5) -> tuple[Array, Array]:
        """Return the most probable labels of documents, whatever their probabilities.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.
        n : int, default=5
            Number of labels; all if there are fewer.

        Returns
        -------
        labels, probabilities : ndarrays of shape (n_docs, n)
            Labels and their probabilities, the most probable first.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> best, probabilities = model.ranked(["a cup of coffee"], n=2)
        >>> best.tolist()
        [['coffee', 'tea']]
        """
        self._check_labels()
        return self.estimator_.ranked(self.vectorize(X), n)

    def labels_with_proba(
        self, probabilities: Array, at_most: int | None = None
    ) -> tuple[Any, Any]:
        """Convert the result of ``predict_proba`` to that of ``predict_with_proba``.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> predicted, probabilities = model.labels_with_proba(model.predict_proba(["tea"]))
        >>> predicted.tolist()
        ['tea']
        """
        if matrix_of(probabilities) is not None:
            if at_most is not None:
                raise ValueError("at_most is for documents in memory; on a cluster, omit it.")
            return self._lazy_labels(probabilities, "lists", "indicator")
        given = self.estimator_.labels_from(probabilities)
        if self.has_several_labels:
            labels, scores = _lists(probabilities, given, self.classes_.tolist())
            return [one[:at_most] for one in labels], [one[:at_most] for one in scores]
        return given, probabilities.max(axis=1)

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of labels.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> P = model.predict_proba(["a cup of coffee", "tea"])
        >>> model.classes_[P.argmax(axis=1)].tolist()
        ['coffee', 'tea']
        """
        self._check_labels()
        X = self.vectorize(X)
        if X.shape[0] == 0:
            return np.empty((0, len(self.classes_)))
        return self.estimator_.predict_proba(X)

    def novelty(self, X: Any) -> Array:
        """Compute how little documents resemble the training documents of any label.

        Words that the vocabulary lacks make a document more novel.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.

        Returns
        -------
        ndarray of shape (n_docs,)
            Numbers from 0 to 1; see ``SupervisedVBNMF.novelty``. 5 % of documents like those in
            training exceed 0.95.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.novelty(["green tea", "tea with cold water"]).shape
        (2,)
        """
        self._check_labels()
        if is_texts(X):
            raise ValueError(
                "the novelty of texts on a cluster cannot be computed there. Pass texts in memory."
            )
        is_text = not isinstance(X, Shards) and not is_matrix(X)
        texts = list(X) if is_text else X
        weights = self.vectorize(texts)
        if weights.shape[0] == 0:
            return np.empty(0)
        return self.estimator_.novelty(weights, self.known_parts(texts) if is_text else None)

    def known_parts(self, documents: Any) -> Array | None:
        """Compute the part of the length of each text that its known terms have, (n_docs,).

        None if the vectorizer cannot tell, because it is not a ``DocumentVectorizer``.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> all_known, some_known = model.known_parts(["green tea", "tea and water"])
        >>> print(all_known, bool(some_known < 1))
        1.0 True
        """
        if not isinstance(self.vectorizer_, TransformsTexts):
            return None
        return known_parts(self.vectorizer_, documents)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the accuracy, or the held-out log-likelihood of a model without labels.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Documents that the model was not fitted to.
        y : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
            True labels in any form that ``fit`` accepts; see ``SupervisedVBNMF.score``. None for a
            model that was fitted without labels; see ``VBNMF.score``.
        sample_weight : array-like of shape (n_docs,) or None
            Sample weights. Only for a model with labels.

        Returns
        -------
        float
            Accuracy, or mean log-probability.

        Examples
        --------
        >>> from vbnmf import DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> model.score(["a cup of coffee", "hot tea"], ["coffee", "tea"])
        1.0
        """
        check_fitted(self, "estimator_")
        if not self.has_labels and y is None and sample_weight is None:
            return self.estimator_.score(self.vectorize(X))
        self._check_labels()
        return self.estimator_.score(self.vectorize(X), y, sample_weight)

    def explain(
        self,
        X: Any,
        *,
        n_terms: int = 8,
        n_components: int = 3,
        return_proba: bool = False,
    ) -> Any:
        """Compute the contributions of components and terms to the two most probable labels.

        See ``SupervisedVBNMF.explain``. Terms are given by their names.

        Parameters
        ----------
        X : iterable of str, or matrix of shape (n_docs, n_terms)
            Texts or weights of terms.
        n_terms : int, default=8
            Maximum number of terms to list for a label and for each component.
        n_components : int, default=3
            Maximum number of components to list.
        return_proba : bool, default=False
            Whether to return the probabilities too.

        Returns
        -------
        explanations : Explanations
            A list with a list for each document, which has an ``Explanation`` for each label.
            ``to_frame()`` is a data frame of all contributions, and notebooks show shaded texts.
        probabilities : ndarray of shape (n_docs, n_labels)
            The result of ``predict_proba``. Only if ``return_proba`` is True.

        Examples
        --------
        >>> from vbnmf import DocumentModel, SupervisedVBNMF
        >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
        >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
        >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
        >>> why = model.explain(["green tea"])
        >>> why[0][0].label, sorted(term for term, _ in why[0][0].terms)
        ('tea', ['green', 'tea'])
        >>> why.to_frame("pandas").columns.tolist()
        ['document', 'label', 'kind', 'name', 'contribution', 'probability']
        """
        self._check_labels()
        if not (hasattr(X, "shape") or hasattr(X, "columns") or isinstance(X, Sequence)):
            X = list(X)  # they are read twice
        regroup = self.pieces_in_words(X)
        weights = self.vectorize(X)
        if weights.shape[0] == 0:
            explained, P = Explanations(), np.empty((0, len(self.classes_)))
            return (explained, P) if return_proba else explained
        found, P = self.estimator_.explain(
            weights,
            n_terms=n_terms,
            n_components=n_components,
            names=self.feature_names_,
            return_proba=True,
            regroup=regroup,
        )
        explained = Explanations(
            found,
            component_titles(self),
            FeatureKinds(self.terms_, self.text_features_),
            *self._shown_texts(X, weights),
        )
        return (explained, P) if return_proba else explained

    def _shown_texts(self, X: Any, weights: Any) -> tuple[list[str] | None, TermFinder | None]:
        """Return texts without markup, and what finds their terms; None if they are not known."""
        if X is weights or not isinstance(self.vectorizer_, TransformsTexts):
            return None, None
        texts = [self.vectorizer_.without_markup(text) for text in X]
        return texts, TermFinder.of(self.vectorizer_, self.terms_)

    def _lazy_labels(self, P: Any, *listed: str) -> tuple[Any, Any]:
        """Return labels and their probabilities, computed later, in bags if labels are lists."""
        lazy = matrix_of(P)
        if self.label_form_ not in listed and lazy is not None:
            return self.estimator_.labels_from(P), lazy.map(_highest, np.zeros(1, P.dtype))
        from vbnmf.distributed.texts import lists_by_block

        labels, scores = lists_by_block(P, self, _part_of_lists, 2)
        return labels, scores

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
        check_fitted(self, "estimator_")
        return isinstance(self.estimator_, PredictsLabels)

    @property
    def has_several_labels(self) -> bool:
        """Whether the model was fitted to documents that may have several labels."""
        return self.has_labels and bool(self.estimator_.multilabel_)


class DocumentPredictor(PredictsDocuments):
    """A ``DocumentModel`` that only predicts labels: it is neither fitted nor saved.

    ``vbnmf.load_predictor`` reads it from the file of a model. Its methods give the same results as
    those of the model, to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    terms_ : ndarray of str of shape (n_terms,)
        Names of the terms.
    label_form_ : {"one", "lists", "indicator"}
        The form of predicted labels.
    columns_ : dict
        Columns of texts and labels in the training file, if known.
    """

    columns_: dict[str, Any]


def _highest(P: Array) -> Array:
    """Return the highest probability of each document; there may be no documents."""
    return P.max(axis=1, initial=0)


def _part_of_lists(model: Any, P: Array, part: int) -> Any:
    return model.labels_with_proba(P)[part]


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
