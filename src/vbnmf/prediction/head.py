"""The prediction head: an object that scores the labels of documents and explains the scores.

A kind of head is a subclass of ``Head``, in a file of its own, and a line in ``training.HEADS``.
The part of a fitted model that prediction needs (``Posterior``) and the result of a training
(``Trained``) are here too. ``trainingdata`` has what heads are trained on.

Scores are sums over the terms of a document, so that explanations are exact. ``calibration``
converts scores to probabilities, for all heads alike.

A document is a row of X: the weights of its terms, which components are made of, and behind them
the values of further features, which only heads use (marks, pairs of words, pieces of words).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import effective_terms, is_empty, leading
from vbnmf.prediction.calibration import Calibration
from vbnmf.prediction.evidence import term_evidence
from vbnmf.prediction.explanation import component_share
from vbnmf.prediction.novelty import Novelty
from vbnmf.prediction.thresholds import Thresholds

if TYPE_CHECKING:
    from vbnmf.prediction.trainingdata import Training, TrainingDocuments

CERTAIN = 20.0
"""Logit of a label that all documents have. Its negative is that of a label that none has."""

_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior quantities of a fitted model that prediction needs.

    Attributes
    ----------
    shapes : array or FilledRows of shape (n_terms, K)
        Shapes of the gamma posteriors of terms.
    scales : array of shape (K,)
        Scales of these posteriors.
    sums : array of shape (K,)
        Sums of the expected components over the terms.
    rates : array of shape (n_labels, K)
        Expected rates of the labels.
    frequencies : array of shape (n_labels,)
        Frequencies of the labels.
    smoothing : float
        Pseudo-count that is added to the shapes in the evidence.
    """

    shapes: Any
    scales: Array
    sums: Array
    rates: Array
    frequencies: Array
    smoothing: float

    @property
    def n_terms(self) -> int:
        """Number of terms, the first columns of X."""
        return len(self.shapes)

    @property
    def log_prior(self) -> Array:
        """Log-frequencies of the labels, (n_labels,); zeros count as the smallest number."""
        return np.asarray(np.log(np.maximum(self.frequencies, _TINY)))

    def components(self, terms: Array | slice) -> Array:
        """Compute the expected weights of some of the terms, (K, n)."""
        shapes = self.shapes[terms]
        return np.asarray(shapes * self.scales.astype(shapes.dtype)).T

    def term_evidence(self, terms: Array | slice) -> Array:
        """Compute the evidence of some of the terms for each component, (n, K)."""
        totals = self.sums / self.scales + len(self.shapes) * self.smoothing
        return term_evidence(self.shapes[terms], totals, self.smoothing)

    def with_evidence(self, terms: Array) -> "Posterior":
        """Return the same with the evidence of some terms, ascending, which is computed once."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        return _WithEvidence(**held, terms=terms, evidence=self.term_evidence(terms))


@dataclass(frozen=True, eq=False)
class _WithEvidence(Posterior):
    """Posterior that holds the evidence of some terms; it is asked for these only."""

    terms: Array  # ascending, (n,)
    evidence: Array  # (n, K)

    def term_evidence(self, terms: Array | slice) -> Array:
        assert not isinstance(terms, slice)
        return np.asarray(self.evidence[np.searchsorted(self.terms, terms)])


class Sizes(NamedTuple):
    """Sizes that the arrays of a head must have."""

    n_labels: int
    n_components: int
    n_columns: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Head(ABC):
    """A trained prediction head.

    Attributes
    ----------
    calibration : Calibration
        Map from scores to probabilities.
    threshold : float
        Probability from which a label is predicted, if documents may have several.
    thresholds : Thresholds or None
        Which labels are predicted for each aim, if documents may have several; None otherwise.
    novelty : Novelty or None
        How documents are compared with the training documents; None if there is only one label.
    name : str
        The kind of head, as the parameter ``classifier`` names it.
    predicts_several : bool
        Whether documents may have several labels.
    """

    calibration: Calibration
    threshold: float = 0.5
    thresholds: Thresholds | None = None
    novelty: Novelty | None = None
    name: ClassVar[str]
    predicts_several: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def train(cls, training: "Training", reason: str) -> "Trained":
        """Train a head; ``reason`` explains why it is of this kind."""

    @classmethod
    def replacement(cls, documents: "TrainingDocuments") -> "Replacement | None":
        """Return what to train if these documents do not permit this kind of head."""
        return None

    @abstractmethod
    def scores(self, X: sparse.csr_array, posterior: Posterior) -> Array:
        """Compute the scores of labels before calibration, (n_docs, n_labels)."""

    def probabilities(self, X: sparse.csr_array, posterior: Posterior) -> Array:
        """Compute the probabilities of labels, (n_docs, n_labels).

        A document without any term gets the frequencies of the labels.
        """
        now = replace(self.calibration, frequencies=posterior.frequencies)
        terms = leading(X, posterior.n_terms)
        P = now.probabilities(self.scores(X, posterior), effective_terms(terms))
        P[is_empty(X)] = posterior.frequencies
        return P

    def predicted(self, probabilities: Array, aim: str | float = "micro") -> Array:
        """Return the labels that probabilities predict, (n_docs, n_labels) of zeros and ones.

        If documents may have several labels, ``aim`` is one of ``thresholds.AIMS``, or a threshold.
        """
        if self.calibration.multilabel:
            if self.thresholds is not None:
                return self.thresholds.predicted(probabilities, aim).astype(np.int64)
            least = self.threshold if isinstance(aim, str) else aim
            return (probabilities >= least).astype(np.int64)
        given = np.zeros(probabilities.shape, dtype=np.int64)
        np.put_along_axis(given, probabilities.argmax(axis=1)[:, None], 1, axis=1)
        return given

    def rounded(self, X: sparse.csr_array, posterior: Posterior) -> Self:
        """Return the head with less precise weights, if no label of these documents changes."""
        return self

    def highest(self, X: sparse.csr_array, posterior: Posterior, known: Array) -> Array:
        """Compute the value of documents that novelty compares, (n_docs,): see ``novelty``.

        ``known`` is the part of the length of each document that its known terms have, (n_docs,).
        """
        return np.asarray(self.probabilities(X, posterior).max(axis=1))

    def novelties(self, X: sparse.csr_array, posterior: Posterior, known: Array) -> Array:
        """Compute the novelty of documents, (n_docs,); it is one without any known term."""
        if self.novelty is None:
            return np.where(is_empty(X), 1.0, 0.0)
        found = self.novelty.novelty(self.highest(X, posterior, known))
        return np.where(is_empty(X), 1.0, found)

    @property
    def uses_words(self) -> bool:
        """Whether single words have weights, besides components."""
        return False

    def parts(self, X: sparse.csr_array, posterior: Posterior) -> tuple[Array, Array]:
        """Compute the contributions of components and of single features, (n_docs, n_labels) each.

        Features are words, and the further columns of X.
        """
        by_components = self.scores(X, posterior)
        return by_components, np.zeros(by_components.shape)

    def component_share(self, X: sparse.csr_array, posterior: Posterior, label: Array) -> Array:
        """Compute the share of components in the scores of labels, (n_docs,).

        Parameters
        ----------
        X : csr_array of shape (n_docs, n_terms + n_features)
            Documents.
        posterior : Posterior
            The fitted model.
        label : array of int of shape (n_docs,)
            A label of each document.
        """
        if not self.uses_words:
            return np.ones(X.shape[0])
        by_components, by_words = (
            part[np.arange(len(label)), label]
            - (0 if self.calibration.multilabel else part.mean(axis=1))
            for part in self.parts(X, posterior)
        )
        return component_share(by_components, by_words)

    @abstractmethod
    def term_parts(self, terms: Array, posterior: Posterior, label: int) -> tuple[Array, Array]:
        """Compute what an occurrence of each term adds to the score of a label above the mean.

        Returns an array of shape (n, K), by component, and which components the label uses, (K,).
        """

    def word_parts(self, terms: Array, label: int) -> Array | None:
        """Compute the same of single words and further features, (n,); None without weights."""
        return None

    def contributions(
        self, terms: Array, x: Array, posterior: Posterior, label: int
    ) -> tuple[Array, Array]:
        """Compute the contributions of a document's terms to the score of a label.

        Parameters
        ----------
        terms, x : arrays of shape (n,)
            Terms and further features of the document, as columns of X, and their values.
        posterior : Posterior
            The fitted model.
        label : int
            Index of the label.

        Returns
        -------
        parts : ndarray of shape (n, K + 1)
            By component, and in the last column by single words and further features.
        uses : ndarray of bool of shape (K,)
            Components that the label uses.
        """
        x, is_term = x.astype(np.float64), terms < posterior.n_terms
        x_terms = x[is_term]
        found, uses = self.term_parts(terms[is_term], posterior, label)
        by_component = np.zeros((len(x), found.shape[1]))
        growth = 1.0
        if len(x_terms):
            by_component[is_term] = found * (x_terms / x_terms.sum())[:, None]
            effective = x_terms.sum() ** 2 / (x_terms**2).sum()
            growth = max(effective, 1.0) ** self.calibration.length_exponent
        words = self.word_parts(terms, label)
        alone = np.zeros(len(x)) if words is None else words * x / np.sqrt((x**2).sum())
        return growth * np.column_stack([by_component, alone]), uses

    def above_mean(self, weights: Array, label: int) -> Array:
        """Return the weights of a label minus the mean over labels (not if multilabel)."""
        own = weights[label].astype(np.float64)
        of_several = self.calibration.multilabel
        return own if of_several else own - weights.mean(axis=0, dtype=np.float64)

    def bias_of_new_labels(self) -> float:
        """Return the bias of a label that the head was not trained on: it is never predicted."""
        return -CERTAIN

    def with_labels(self, order: Array, n_components: int) -> Self:
        """Return the head for more labels and components, about which it knows nothing yet.

        Parameters
        ----------
        order : array of int of shape (n_labels,)
            The place of each label among those so far; new labels come after them.
        n_components : int
            Number of components; new ones come after those so far.
        """
        new = len(order) - len(self.calibration.biases)
        wider = self.calibration.with_labels(new, self.bias_of_new_labels(), order)
        thresholds = self.thresholds
        if thresholds is not None:
            thresholds = thresholds.with_labels(new, order)
        return replace(self, calibration=wider, thresholds=thresholds)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return entries of a header, in types of JSON, and arrays, besides the calibration."""
        return {}, {}

    @classmethod
    def from_state(
        cls,
        header: dict[str, Any],
        arrays: dict[str, Array],
        sizes: Sizes,
        calibration: Calibration,
        threshold: float,
    ) -> Self:
        """Rebuild a head. Damaged content raises ``ModelFileError`` or similar errors."""
        return cls(calibration=calibration, threshold=threshold)


class Replacement(NamedTuple):
    """Another kind of head that is trained, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of a training.

    Attributes
    ----------
    head : Head
        The head.
    reason : str
        Why this head was chosen, in words.
    left_out : ndarray of float32 of shape (n_docs, n_labels)
        Probabilities of the training documents as if each had been left out.
    unfinished : tuple of str
        Parts of the training that did not converge, in words.
    machine : Any
        What a training on all shards begins with (``linear.Linear``); None for a head that is not
        trained on shards.
    rows : ndarray of int, or None
        The documents that ``left_out`` has rows of; None if they are all documents.
    by_chance : bool
        Whether it is known that nothing but chance predicts the labels.
    """

    head: Head
    reason: str
    left_out: Array
    unfinished: tuple[str, ...] = ()
    machine: Any = None
    rows: Array | None = None
    by_chance: bool = False

    def judged(self, documents: "TrainingDocuments") -> "TrainingDocuments":
        """Return the documents that ``left_out`` has rows of."""
        return documents if self.rows is None else documents.at(self.rows)

    def because(self, reason: str, *others: "Trained") -> "Trained":
        """Return a copy with the reason why this head was preferred to others.

        Convergence failures of the others are included, because the choice depended on them.
        """
        unfinished = dict.fromkeys(what for one in (self, *others) for what in one.unfinished)
        return replace(self, reason=reason, unfinished=tuple(unfinished))


def unfinished_calibration(calibration: Calibration) -> tuple[str, ...]:
    """Describe a calibration that did not converge; return an empty tuple if it converged."""
    return () if calibration.converged else ("its calibration",)
