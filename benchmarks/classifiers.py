"""Methods that ``accuracy`` and ``sweep`` compare: a function for each method returns a pipeline.

All pipelines take counts of words and apply their own weighting. The last step classifies. The
parameters that are selected on validation documents (``grid``) are those of the last step, so that
the steps before it are fitted only once. If a step has ``components_``, these are measured as
components. The measures are in ``accuracy``, ``sweep`` and ``splits``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise, product
from math import isqrt
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import Binarizer, Normalizer
from sklearn.svm import LinearSVC

from benchmarks.embeddings import FastText, lines
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.text import DocumentVectorizer
from vbnmf.text.counting import document_frequencies
from vbnmf.text.weighting import (
    DEFAULT_WEIGHTING,
    Weighting,
    inverse_document_frequency,
    largest_scores,
    weigh,
)

Array = NDArray[Any]
Words = list[list[str]]
Parameters = dict[str, Any]

PRINCIPAL_COMPONENTS = 200
PAPER_TERMS = 10_000


def tokens(X: sp.csr_matrix) -> Words:
    """Convert documents to lists of words for tomotopy; a word is the number of its column."""
    words = np.repeat(X.indices, X.data.astype(np.int64)).astype(str).tolist()
    ends = np.concatenate([[0], np.cumsum(X.data, dtype=np.int64)])[X.indptr]
    return [words[begin:end] for begin, end in pairwise(ends.tolist())]


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    key, name : its option, and what a table calls it.
    make : from the number of components (0: it has none to choose), seed and threads.
    grid : parameters of the last step to choose from; of equals the first is taken.
    sizes : "" where the number of components is not asked for, else whose list of them applies.
    random : whether a seed changes anything.
    reads : how it takes counts; the time of this is not counted, for anyone would start from it.
    package : what must be installed.
    several : whether it takes documents with several labels.
    of_texts : whether it takes texts instead of counts.
    """

    key: str
    name: str
    make: Callable[[int, int, int], Pipeline]
    grid: Sequence[Parameters] = ({},)
    sizes: str = ""
    random: bool = True
    reads: Callable[[sp.csr_matrix], Any] = lambda X: X
    package: str = "sklearn"
    several: bool = True
    of_texts: bool = False

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.package) is not None


def linear_svm(K: int, seed: int, threads: int) -> Pipeline:
    """A linear SVM on TF-IDF of all terms."""
    return make_pipeline(_tfidf(), LinearSVC(random_state=seed))


def svm_of_pairs(K: int, seed: int, threads: int) -> Pipeline:
    """A linear SVM on TF-IDF of words and pairs of words."""
    return make_pipeline(_words_and_pairs(), LinearSVC(random_state=seed))


def svm_of_pieces(K: int, seed: int, threads: int) -> Pipeline:
    """A linear SVM on TF-IDF of words, pairs of words, and pieces of two to five characters."""
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True)
    return make_pipeline(make_union(_words_and_pairs(), pieces), LinearSVC(random_state=seed))


def logistic(K: int, seed: int, threads: int) -> Pipeline:
    """Logistic regression on TF-IDF of all terms."""
    return make_pipeline(_tfidf(), _regression())


def naive_bayes(K: int, seed: int, threads: int) -> Pipeline:
    """Complement naive Bayes on TF-IDF of all terms."""
    return make_pipeline(_tfidf(), ComplementNB())


def naive_bayes_svm(K: int, seed: int, threads: int) -> Pipeline:
    """A linear SVM for each label on words weighted by their log-count ratio."""
    return make_pipeline(Binarizer(), OneVsRestClassifier(NaiveBayesSVM(seed)))


def pca_neighbours(K: int, seed: int, threads: int) -> Pipeline:
    """Principal components and their nearest neighbours by cosine."""
    pca = PCA(PRINCIPAL_COMPONENTS, svd_solver="arpack", random_state=seed)
    neighbours = KNeighborsClassifier(metric="cosine", algorithm="brute", n_jobs=threads)
    return make_pipeline(_tfidf(), pca, neighbours)


def nmf(K: int, seed: int, threads: int) -> Pipeline:
    """NMF of scikit-learn with its defaults (squared error), and logistic regression."""
    return make_pipeline(_tfidf(), NMF(K, random_state=seed), Normalizer(), _regression())


def lda(K: int, seed: int, threads: int) -> Pipeline:
    """LDA of scikit-learn, batch, and logistic regression."""
    model = LatentDirichletAllocation(K, max_iter=30, n_jobs=threads, random_state=seed)
    return make_pipeline(model, Normalizer(), _regression())


def labelled_lda(K: int, seed: int, threads: int) -> Pipeline:
    """Labelled LDA of tomotopy: a topic for each label."""
    return make_pipeline("passthrough", LabelledTopics("LLDAModel", {}, seed, threads))


def partially_labelled_lda(K: int, seed: int, threads: int) -> Pipeline:
    """Partially labelled LDA of tomotopy: topics for each label, and one for all documents."""
    model = LabelledTopics("PLDAModel", {"latent_topics": 1}, seed, threads, iterations=300)
    return make_pipeline("passthrough", model)


def ours(K: int, seed: int, threads: int) -> Pipeline:
    """SupervisedVBNMF with its defaults, on the weights that a DocumentModel uses."""
    return make_pipeline(Weights(), SupervisedVBNMF(K or "auto", random_state=seed, n_jobs=threads))


def ours_of_texts(K: int, seed: int, threads: int) -> Pipeline:
    """DocumentModel with its defaults."""
    estimator = SupervisedVBNMF(K or "auto", random_state=seed, n_jobs=threads)
    return make_pipeline(DocumentModel(estimator))


def ours_by_components(K: int, seed: int, threads: int) -> Pipeline:
    """SupervisedVBNMF whose predictions use components alone."""
    model = ours(K, seed, threads)
    model[-1].set_params(classifier="components")
    return model


def fasttext(K: int, seed: int, threads: int) -> Pipeline:
    """Averaged embeddings of words by fastText."""
    return make_pipeline("passthrough", FastText(seed))


def fasttext_long(K: int, seed: int, threads: int) -> Pipeline:
    """fastText with the epochs and the learning rate of its tutorial."""
    return make_pipeline("passthrough", FastText(seed, epochs=25, rate=1.0))


def paper(K: int, seed: int, threads: int) -> Pipeline:
    """The paper's protocol, initialised from the labels; see ``PaperClassifier``."""
    return make_pipeline(Weights("paper", PAPER_TERMS), PaperClassifier(seed=seed, threads=threads))


class Weights(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Convert counts to the weights that ``DocumentVectorizer`` gives texts of the same words."""

    def __init__(
        self, weighting: Weighting = DEFAULT_WEIGHTING, max_terms: int | None = None
    ) -> None:
        self.weighting = weighting
        self.max_terms = max_terms

    def fit_transform(self, X: sp.csr_matrix, y: object = None) -> sp.csr_matrix:
        """Learn idf, length and terms."""
        frequencies = document_frequencies(X)
        self.idf_ = inverse_document_frequency(frequencies, X.shape[0])
        weights, self.length_ = weigh(X, self.idf_, self.weighting)
        self.columns_ = largest_scores(weights, frequencies, self.max_terms or X.shape[1])
        return self._finish(weights)

    def fit(self, X: sp.csr_matrix, y: object = None) -> Self:
        """As ``fit_transform``."""
        self.fit_transform(X)
        return self

    def transform(self, X: sp.csr_matrix) -> sp.csr_matrix:
        """Convert counts of other documents to weights."""
        return self._finish(weigh(X, self.idf_, self.weighting, self.length_)[0])

    def _finish(self, weights: sp.csr_matrix) -> sp.csr_matrix:
        kept = weights[:, self.columns_].astype(np.float32)
        kept.eliminate_zeros()
        return kept


class NaiveBayesSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """NB-SVM of Wang and Manning (2012) for two classes, with their interpolation of 0.25."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: sp.csr_matrix, y: Array) -> Self:
        """Weight words by their log-count ratio, and train."""
        self.classes_ = np.unique(y)
        p, q = (1.0 + np.asarray(X[y == c].sum(axis=0)).ravel() for c in self.classes_[::-1])
        self.ratio_ = np.log(p / p.sum()) - np.log(q / q.sum())
        machine = LinearSVC(random_state=self.seed).fit(X.multiply(self.ratio_).tocsr(), y)
        weights = machine.coef_[0]
        self.weights_ = 0.25 * weights + 0.75 * np.abs(weights).mean() * np.sign(weights)
        self.weights_ = self.weights_ * self.ratio_
        self.intercept_ = machine.intercept_[0]
        return self

    def decision_function(self, X: sp.csr_matrix) -> Array:
        """Compute the scores of the second class."""
        return np.asarray(X @ self.weights_ + self.intercept_)

    def predict(self, X: sp.csr_matrix) -> Array:
        """Predict the class with the higher score."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class PaperClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """k-NN by cosine, k = √N, among the coefficients that training documents had in training.

    The model runs as in ``vbnmf reproduce``: 300 iterations, T's shape 0.5.
    """

    def __init__(
        self, n_components: int = 20, label_shape: float = 100.0, seed: int = 0, threads: int = 1
    ) -> None:
        self.n_components = n_components
        self.label_shape = label_shape
        self.seed = seed
        self.threads = threads

    def fit(self, X: sp.csr_matrix, y: Array) -> Self:
        """Fit the model, and keep its coefficients."""
        self.model_ = SupervisedVBNMF(
            self.n_components, label_shape=self.label_shape, term_shape=0.5, init="label",
            max_iter=300, tol=0, burn_in=10, random_state=self.seed, n_jobs=self.threads,
        )  # fmt: skip
        V = self.model_.fit_coefficients(X, y)
        k = isqrt(len(y))
        self.neighbours_ = KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(V, y)
        self.components_, self.classes_ = self.model_.components_, self.neighbours_.classes_
        return self

    def transform(self, X: sp.csr_matrix) -> Array:
        """Compute coefficients without labels."""
        return self.model_.transform(X)

    def predict_proba(self, X: sp.csr_matrix) -> Array:
        """Compute the share of the neighbours with each label."""
        return self.neighbours_.predict_proba(self.transform(X))


class LabelledTopics(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Topic models of tomotopy with topics of labels; a new document may have all topics.

    If each document has one label and each label one topic, the sampler has nothing to choose.
    Iterations then change only alpha, which is learned every ten iterations unless ``learn_alpha``
    is off.

    Parameters
    ----------
    kind : name of the class of the model.
    fixed : more arguments of it.
    seed, threads, alpha, eta, iterations : of the model and its training.
    topics_per_label : of "PLDAModel" alone.
    sweeps : over a new document; more than 50 gained nothing on validation data.
    """

    def __init__(
        self, kind: str, fixed: Parameters, seed: int = 0, threads: int = 1, *,
        topics_per_label: int = 1, alpha: float = 0.1, eta: float = 0.01, learn_alpha: bool = True,
        iterations: int = 100, sweeps: int = 50,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.fixed = fixed
        self.seed = seed
        self.threads = threads
        self.topics_per_label = topics_per_label
        self.alpha = alpha
        self.eta = eta
        self.learn_alpha = learn_alpha
        self.iterations = iterations
        self.sweeps = sweeps
        import_module("tomotopy")  # now, and not while it is timed

    def fit(self, words: Words, y: Array) -> Self:
        """Sample the topics of the training documents."""
        several = {"topics_per_label": self.topics_per_label} if self.kind == "PLDAModel" else {}
        model = getattr(import_module("tomotopy"), self.kind)(
            alpha=self.alpha, eta=self.eta, seed=self.seed, **self.fixed, **several
        )
        if not self.learn_alpha:
            model.optim_interval = 0
        for document, label in zip(words, y.tolist(), strict=True):
            if document:
                model.add_doc(document, labels=[str(label)])
        model.train(self.iterations, workers=self.threads)
        self.model_ = model
        self.classes_, counts = np.unique(y, return_counts=True)
        self.frequencies_ = counts / len(y)
        self._known: tuple[Words, Array] | None = None
        return self

    @property
    def components_(self) -> Array:
        """Weights of words in topics, (n_topics, n_terms)."""
        columns = np.array(list(self.model_.used_vocabs), dtype=np.int64)
        weights = np.empty((self.model_.k, len(columns)))
        weights[:, columns] = [self.model_.get_topic_word_dist(k) for k in range(self.model_.k)]
        return weights

    def transform(self, words: Words) -> Array:
        """Compute the shares of topics in documents, (n_docs, n_topics); cache the result."""
        if self._known is None or self._known[0] is not words:
            parts = np.zeros((len(words), self.model_.k))
            some = [row for row, document in enumerate(words) if document]
            documents = [self.model_.make_doc(words[row], labels=[]) for row in some]
            found, _ = self.model_.infer(documents, iterations=self.sweeps, workers=self.threads)
            parts[some] = np.reshape(found, (len(some), -1)) if some else 0
            self._known = words, parts
        return self._known[1]

    def predict_proba(self, words: Words) -> Array:
        """Compute the shares of the topics of each label, without topics of all labels."""
        labels = [int(label) for label in self.model_.topic_label_dict]
        parts = self.transform(words)[:, : len(labels) * self.topics_per_label]
        by_label = parts.reshape(len(words), len(labels), self.topics_per_label).sum(axis=2)
        P = np.zeros((len(words), len(self.classes_)))
        P[:, np.searchsorted(self.classes_, labels)] = by_label
        P[P.sum(axis=1) == 0] = self.frequencies_
        return P / P.sum(axis=1, keepdims=True)


def _tfidf() -> TfidfTransformer:
    return TfidfTransformer(sublinear_tf=True)


def _words_and_pairs() -> Pipeline:
    """TF-IDF of words and pairs of words, which ``DocumentVectorizer`` finds in all scripts."""
    counted = DocumentVectorizer(weighting="counts", ngram_range=(1, 2), min_df=2, max_terms=None)
    return make_pipeline(counted, _tfidf())


def _regression() -> LogisticRegression:
    return LogisticRegression(max_iter=300)


def _grid(**values: Sequence[Any]) -> list[Parameters]:
    return [dict(zip(values, some, strict=True)) for some in product(*values.values())]


_C = _grid(C=(1.0, 10.0, 100.0, 1000.0))
_C_COEFFICIENTS = _grid(C=(10.0, 100.0, 1000.0, 10_000.0))
_LABELLED = _grid(alpha=(0.1, 0.01), eta=(0.01, 0.1), learn_alpha=(False,), iterations=(10,))
_LABELLED += _grid(learn_alpha=(True,), iterations=(10, 100))
_PARTIAL = _grid(topics_per_label=(1,)) + _grid(topics_per_label=(5,), learn_alpha=(True, False))
_PAPER = _grid(n_components=(20, 40, 60, 80, 100), label_shape=(100.0, 300.0, 1000.0, 3000.0))
_TOMOTOPY: dict[str, Any] = {"reads": tokens, "package": "tomotopy"}
_FLORET: dict[str, Any] = {"reads": lines, "package": "floret", "several": False, "random": False}

METHODS = (
    Method("svm", "linear SVM", linear_svm, _grid(C=(0.1, 0.3, 1.0, 3.0)), random=False),
    Method("logistic", "logistic regression", logistic, _C, random=False),
    Method(
        "bayes", "complement naive Bayes", naive_bayes, _grid(alpha=(0.03, 0.1, 0.3, 1.0)),
        random=False,
    ),
    Method("pca", "PCA + k-NN", pca_neighbours, _grid(n_neighbors=(1, 5, 10, 20)), random=False),
    Method("nmf", "scikit-learn NMF + logistic regression", nmf, _C_COEFFICIENTS, "peers"),
    Method("lda", "scikit-learn LDA + logistic regression", lda, _C_COEFFICIENTS, "peers"),
    Method("llda", "labelled LDA", labelled_lda, _LABELLED, **_TOMOTOPY),
    Method("llda-100", "labelled LDA, defaults, 100 iterations", labelled_lda, **_TOMOTOPY),
    Method("plda", "partially labelled LDA", partially_labelled_lda, _PARTIAL, **_TOMOTOPY),
    Method("vbnmf", "vbnmf", ours, sizes="ours"),
    Method("paper", "vbnmf, the paper's protocol", paper, _PAPER),
)  # fmt: skip

DEFAULTS = (
    Method("vbnmf", "vbnmf", ours_of_texts, random=False, of_texts=True),
    Method("vbnmf-words", "vbnmf, words alone", ours, random=False),
    Method("vbnmf-components", "vbnmf, components alone", ours_by_components, random=False),
    Method("svm", "linear SVM", linear_svm, random=False),
    Method("svm-pairs", "SVM, pairs", svm_of_pairs, random=False, of_texts=True),
    Method("svm-pieces", "SVM, pairs and pieces", svm_of_pieces, random=False, of_texts=True),
    Method("logistic", "logistic regression", logistic, random=False),
    Method("bayes", "complement naive Bayes", naive_bayes, random=False),
    Method("nbsvm", "NB-SVM", naive_bayes_svm, random=False),
    Method("llda", "labelled LDA", labelled_lda, several=False, **_TOMOTOPY),
    Method("fasttext", "fastText", fasttext, **_FLORET),
    Method("fasttext-25", "fastText, 25 epochs", fasttext_long, **_FLORET),
)
"""By defaults, as ``accuracy`` runs them. Seeds make no difference to vbnmf."""
