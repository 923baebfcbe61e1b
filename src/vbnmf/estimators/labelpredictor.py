"""Predictions and explanations of a fitted model with labels, without scikit-learn.

``SupervisedVBNMF`` inherits them, and so does ``LabelPredictor``, which a program loads that only
predicts (``vbnmf.load_predictor``). Importing scikit-learn takes several times as long as
predicting a document. So nothing that is used here imports it, until a model is fitted or X has
another form than the vectorizer gives it. The maths is in ``vbnmf.prediction``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.components import component_titles
from vbnmf.description.explanations import Explanations
from vbnmf.engines.backends import matrix_of
from vbnmf.estimators.applying import AppliesToDocuments
from vbnmf.estimators.posterior import FittedAttribute, FittedLabels, PredictingState
from vbnmf.estimators.validation import (
    check_count,
    check_fitted,
    check_matrix,
    check_threshold,
    count_threads,
)
from vbnmf.prediction.explanation import explain_documents


class PredictsLabels(AppliesToDocuments):
    """Mixin with the attributes of labels, which ``SupervisedVBNMF`` documents, and predictions."""

    fitted_: FittedLabels | PredictingState
    n_jobs: Any
    threshold: Any

    classes_ = FittedAttribute("labels.classes")
    label_counts_ = FittedAttribute("labels.counts")
    label_frequencies_ = FittedAttribute("labels.frequencies")
    multilabel_ = FittedAttribute("labels.multilabel")
    label_groups_ = FittedAttribute("labels.groups")
    scopes_ = FittedAttribute("labels.scopes")
    label_activations_ = FittedAttribute("labels.activations")
    label_rates_ = FittedAttribute("labels.rates")
    n_documents_ = FittedAttribute("counts.n_docs")
    term_documents_ = FittedAttribute("counts.terms")
    label_term_documents_ = FittedAttribute("counts.label_terms")
    head_ = FittedAttribute("head.head")
    classifier_ = FittedAttribute("head.head.name")
    classifier_reason_ = FittedAttribute("head.reason")
    component_agreement_ = FittedAttribute("head.agreement")
    left_out_proba_ = FittedAttribute("head.left_out")
    head_documents_ = FittedAttribute("head.documents", optional=True)
    head_document_keys_ = FittedAttribute("head.keys", optional=True)

    def predict(self, X: Any) -> Array:
        """Predict the labels of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training, with the columns of ``head_features`` behind
            them. The result for an array on a cluster is another one, which is computed later.

        Returns
        -------
        ndarray of shape (n_docs,), or (n_docs, n_labels) of zeros and ones
            The most probable label. If documents may have several labels: an indicator matrix of
            the labels that the parameter ``threshold`` asks for.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.predict([[1, 1, 0, 0]]).tolist()
        ['tea']
        """
        return self.labels_from(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training. The result for an array on a cluster is
            another one, which is computed later.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Probabilities in the order of ``classes_``. Rows sum to one unless documents may have
            several labels. A document without any known term gets the frequencies of the labels in
            training.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.predict_proba([[1, 1, 0, 0]]).argmax(axis=1).tolist()  # of coffee, tea
        [1]
        """
        check_fitted(self)
        count_threads(self.n_jobs)  # one thread is used here, but a wrong n_jobs is an error
        return self._apply(X, self._proba)

    def _proba(self, X: sparse.csr_array) -> Array:
        return self.fitted_.head.head.probabilities(X, self.fitted_.for_prediction)

    def ranked(self, X: Any, n: int = 5) -> tuple[Array, Array]:
        """Return the most probable labels of documents, whatever their probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        n : int, default=5
            Number of labels; all if there are fewer.

        Returns
        -------
        labels, probabilities : ndarrays of shape (n_docs, n)
            Labels and their probabilities, the most probable first.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> best, probabilities = model.ranked([[1, 1, 0, 0]], n=2)
        >>> best.tolist()
        [['tea', 'coffee']]
        """
        n = check_count("n", n)
        P = self.predict_proba(X)
        order = np.argsort(-P, axis=1, kind="stable")[:, :n]
        return self.classes_[order], np.take_along_axis(P, order, axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the log-probabilities of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.

        Returns
        -------
        ndarray of shape (n_docs, n_labels)
            Logarithms of ``predict_proba``.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.predict_log_proba([[1, 1, 0, 0]]).argmax(axis=1).tolist()  # of coffee, tea
        [1]
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def labels_from(self, probabilities: Array) -> Array:
        """Convert the result of ``predict_proba`` to that of ``predict``, also on a cluster.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.labels_from(model.predict_proba([[1, 1, 0, 0]])).tolist()
        ['tea']
        """
        lazy = matrix_of(probabilities)
        if lazy is not None:
            even = np.full((1, len(self.classes_)), 1.0 / len(self.classes_))
            found: Array = lazy.map(self.labels_from, self.labels_from(even))
            return found
        if self.multilabel_:
            return self.indicators_from(probabilities)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def indicators_from(self, probabilities: Array) -> Array:
        """Convert the result of ``predict_proba`` to an indicator matrix (n_docs, n_labels).

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.indicators_from(model.predict_proba([[1, 1, 0, 0]])).tolist()  # coffee, tea
        [[0, 1]]
        """
        return self.fitted_.head.head.predicted(probabilities, check_threshold(self.threshold))

    def explain(
        self,
        X: Any,
        *,
        n_terms: int = 8,
        n_components: int = 3,
        names: Any = None,
        also: Sequence[Iterable[int]] | None = None,
        probabilities: Array | None = None,
        return_proba: bool = False,
        regroup: Any = None,
    ) -> Any:
        """Compute the contributions of components and terms to the two most probable labels.

        Contributions are exact: their sum over all terms and components is how much the terms of
        the document raise the score of the label above the mean score of all labels. Calibration
        then converts scores to probabilities. It does not change the order of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        n_terms : int, default=8
            Maximum number of terms to list for a label and for each component.
        n_components : int, default=3
            Maximum number of components to list.
        names : sequence of str or None, default=None
            Names of the terms. None uses the names from training, or numbers if there were none.
        also : sequence of iterables of int, of length n_docs, or None, default=None
            Further labels of each document to explain, as indices into ``classes_``.
        probabilities : ndarray of shape (n_docs, n_labels) or None, default=None
            The result of ``predict_proba`` for X. None computes it.
        return_proba : bool, default=False
            Whether to return the probabilities too.
        regroup : sequence of callables, of length n_docs, or None, default=None
            How to show the columns of each document: a function from columns and their names to
            shares, (n_items, n_columns), and the names of the items. None shows columns.

        Returns
        -------
        explanations : Explanations
            A list with a list for each document, which has an ``Explanation`` for each label. It is
            empty for a document without any known term. ``to_frame()`` is a data frame of all
            contributions.
        probabilities : ndarray of shape (n_docs, n_labels)
            The result of ``predict_proba``. Only if ``return_proba`` is True.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X = [[5, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]]
        >>> y = ["tea", "tea", "coffee", "coffee"]
        >>> model = SupervisedVBNMF(n_components=2, random_state=0).fit(X, y)
        >>> best, second = model.explain([[3, 0, 0, 0]], names=["leaf", "pot", "bean", "cup"])[0]
        >>> best.label, best.terms[0].term
        ('tea', 'leaf')
        """
        n_terms = check_count("n_terms", n_terms)
        n_components = check_count("n_components", n_components)
        check_fitted(self)
        X = check_matrix(self, X, reset=False)
        P = self._proba(X) if probabilities is None else probabilities
        explained = explain_documents(
            self.fitted_.head.head, self.fitted_.for_prediction, X, P, self.classes_.tolist(),
            self._names(names), also, n_terms=n_terms, n_components=n_components, regroup=regroup,
        )  # fmt: skip
        titles = component_titles(self, terms=None if names is None else self._names(names))
        found = Explanations(explained, titles)
        return (found, P) if return_proba else found

    def novelty(self, X: Any, known: Any = None) -> Array:
        """Compute how little documents resemble the training documents of any label.

        Parameters
        ----------
        X : {array-like, sparse matrix, array on a cluster} of shape (n_docs, n_terms), or Shards
            Weights of terms, computed as for training.
        known : array-like of shape (n_docs,) or None, default=None
            Part of the length of each document that its known terms have, from 0 to 1: if it has
            unknown terms, its scores are smaller. ``DocumentModel.novelty`` computes it. None
            means that there are no unknown terms. Only for a matrix in memory.

        Returns
        -------
        ndarray of shape (n_docs,)
            Part of the training documents whose highest score was higher when they were left out.
            Documents like those in training are uniform between 0 and 1, so 5 % of them exceed
            0.95. A document without any known term has novelty 1.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X = [[5, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]]
        >>> y = ["tea", "tea", "coffee", "coffee"]
        >>> model = SupervisedVBNMF(n_components=2, random_state=0).fit(X, y)
        >>> model.novelty([[0, 0, 0, 0]])
        array([1.])
        """
        check_fitted(self)
        count_threads(self.n_jobs)
        if known is None:
            return self._apply(X, self._novelty)
        X = check_matrix(self, X, reset=False)
        known = np.asarray(known, dtype=np.float64)
        if known.shape != (X.shape[0],) or not ((known >= 0) & (known <= 1)).all():
            raise ValueError(
                f"known must have a number from 0 to 1 for each of the {X.shape[0]} documents; got "
                f"an array of shape {known.shape}."
            )
        return self._novelty(X, known)

    def _novelty(self, X: sparse.csr_array, known: Array | None = None) -> Array:
        known = np.ones(X.shape[0]) if known is None else known
        return self.fitted_.head.head.novelties(X, self.fitted_.for_prediction, known)

    def _names(self, names: Any) -> Array:
        """Check the names of terms, or return those from training."""
        if names is None:
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = np.asarray(names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"names must have one name for each of the {self.n_features_in_} columns; got "
                f"{names.size}."
            )
        return names

    def component_share(self, X: Any, probabilities: Array | None = None) -> Array:
        """Compute the share of components in the score of the most probable label.

        The rest comes from single words. The share is the absolute contribution of components,
        divided by the sum of the absolute contributions of components and of words. It is 1 if the
        head does not use words, and for a document without any known term.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_docs, n_terms)
            Weights of terms, computed as for training.
        probabilities : ndarray of shape (n_docs, n_labels) or None, default=None
            The result of ``predict_proba`` for X. None computes it.

        Returns
        -------
        ndarray of shape (n_docs,)
            Shares between 0 and 1.

        Examples
        --------
        >>> from vbnmf import SupervisedVBNMF
        >>> X, y = [[5, 4, 0, 0], [0, 0, 6, 5]] * 5, ["tea", "coffee"] * 5
        >>> model = SupervisedVBNMF(2, random_state=0).fit(X, y)
        >>> model.component_share([[1, 1, 0, 0]]).tolist()  # all, as this head does not use words
        [1.0]
        """
        check_fitted(self)
        X = check_matrix(self, X, reset=False)
        P = self._proba(X) if probabilities is None else probabilities
        of = self.fitted_
        return of.head.head.component_share(X, of.for_prediction, P.argmax(axis=1))


class LabelPredictor(PredictsLabels):
    """A fitted model with labels that only predicts: it is neither fitted nor cloned.

    Parameters
    ----------
    fitted : PredictingState
        The fitted state.
    n_columns : int
        Number of columns of X.
    n_jobs, threshold
        As in ``SupervisedVBNMF``.
    """

    def __init__(
        self, fitted: PredictingState, n_columns: int, n_jobs: Any, threshold: Any
    ) -> None:
        self.fitted_, self.n_features_in_ = fitted, n_columns
        self.n_jobs, self.threshold = n_jobs, threshold
