"""Linear prediction heads: support vector machines on evidence for components, and on words.

    s_dl = b_l + Σ_k w_lk e_dk + Σ_w u_lw x_dw / ‖x_d‖

e is the evidence for components (``evidence``). The other sum is over single words of the document
and its further features, scaled to unit length; ``ComponentsHead`` has no such weights. Machines
are trained on scaled evidence (``scaling``, ``machines``). Their scores of held-out documents
calibrate the head.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from vbnmf.core.filled import FilledRows
from vbnmf.core.model import Array
from vbnmf.core.products import one_blas_thread, product_with_rows
from vbnmf.core.rows import leading, of_unit_length, without_unused_terms
from vbnmf.prediction import machines, manylabels, selftraining
from vbnmf.prediction.calibration import Calibration, calibrate
from vbnmf.prediction.evidence import mean_over_terms
from vbnmf.prediction.head import (
    CERTAIN,
    Head,
    Posterior,
    Replacement,
    Sizes,
    Trained,
    unfinished_calibration,
)
from vbnmf.prediction.novelty import Novelty
from vbnmf.prediction.scaling import Scaling, standardise, whiten
from vbnmf.prediction.selftraining import Featured
from vbnmf.prediction.thresholds import Thresholds
from vbnmf.prediction.trainingdata import Training, TrainingDocuments
from vbnmf.store import (
    LARGEST_WEIGHT,
    ModelFileError,
    check_array,
    check_doubles,
    check_packed,
    packed,
)

EVIDENCE_SIZE = 0.1
"""Mean squared length of the evidence, relative to words of length one.

Chosen on held-out training documents (docs/explanation/deviations.md).
"""

EVIDENCE_SIZE_FEW = 0.01
"""The same if most labels are unknown.

Known labels then decide the components of many other documents, and the evidence of a document
depends on its label even if the document itself is left out. With larger evidence, scores of
held-out documents would be too good (docs/explanation/deviations.md).
"""

EVIDENCE_SIZE_ALONE = 4.0
"""Mean squared length of the evidence in a head without words: an inverse penalty."""

MOST_WEIGHTS = 100_000_000
"""Maximum of labels times terms for which the weights of single words are a dense array.

With more, they are a sparse array of at most as many numbers, the largest of each label.
"""

MOST_WORK = 3_000_000_000
"""Maximum of labels times non-zero features for which machines are trained on all documents.

With more, each is trained on a part of them (``manylabels``).
"""

TOO_CERTAIN = 0.25
"""Part of the growth of scores, from machines of four folds to those of all, that is taken back.

Chosen on held-out training documents: the best value is between 0 and 0.5 on twelve of 13 corpora.
"""

LEAST_DOCUMENTS = 50
"""Minimum number of documents for learning weights of single words."""

_SPARSE_WORDS = ("words_data", "words_indices", "words_indptr")  # arrays of a model file
_USUAL_SLOPE = 3.0  # usual factor from scores of machines to logits
_DOCUMENTS_AT_ONCE = 1 << 12  # documents whose probabilities are held in double precision


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearHead(Head):
    """A head with linear scores; its subclasses differ in the features that they use.

    Attributes
    ----------
    weights : ndarray of shape (n_labels, K)
        Weights of the evidence.
    intercepts : ndarray of shape (n_labels,)
        Intercepts of the scores.
    words : ndarray or csc_array of shape (n_labels, n_terms + n_features)
        Weights of single words and of further features; of shape (n_labels, 0) if not used. It is
        sparse if there are many labels. Its type is float16 if that changes no label of the
        training documents (``rounded``), otherwise float32.
    """

    weights: Array
    intercepts: Array
    words: Any
    with_words: ClassVar[bool]

    @classmethod
    def train(cls, training: Training, reason: str) -> Trained:
        """Train machines and calibrate them."""
        of, n_docs = training.documents, len(training.fold)
        with one_blas_thread():
            scaling = cls.scaled(training.evidence, of.weight, most_known=training.most_known)
            dense = scaling.features(training.evidence)
            others = cls._others(training, scaling)
        X = of_unit_length(of.X, np.float32) if cls.with_words else sparse.csr_array((n_docs, 0))
        many = partial(manylabels.train, most_weights=MOST_WEIGHTS)
        solve = many if has_many_labels(of) else machines.train
        how: dict[str, Any] = {"n_threads": training.n_threads, "report": training.report}
        if others is None:
            found = solve(
                X, dense, of.labels, of.weight, training.fold, known=training.known, **how
            )
        else:
            labelled = Featured(X, dense, of.weight)
            found = selftraining.train(labelled, of.labels, training.fold, others, **how)
            del labelled
        del X, dense, others  # large
        machine = Linear(found.words, found.dense, found.intercepts, scaling)
        rows = slice(None) if found.held is None else found.held
        held = HeldOut(
            found.left_out, of.labels[rows].toarray() > 0, training.n_effective_terms[rows],
            of.weight[rows], training.known[rows],
        )  # fmt: skip
        occurs = np.asarray(of.weight @ of.labels) > 0
        made = assemble(cls, machine, held, found.growth, occurs, multilabel=of.multilabel)
        epochs = machines.max_epochs(n_docs)
        unfinished = [] if found.converged else [f"its machines in {epochs:,} epochs"]
        return Trained(
            made.head, reason, made.probabilities,
            (*unfinished, *unfinished_calibration(made.head.calibration)),
            machine if found.held is None else None, found.held,
        )  # fmt: skip

    @classmethod
    def _others(cls, training: Training, scaling: Scaling) -> Featured | None:
        """Return the features of documents with unknown labels, if they take part."""
        of = training.others
        if of is None or has_many_labels(training.documents):
            return None
        X = sparse.csr_array((len(of.weight), 0), dtype=np.float32)
        if cls.with_words:
            X = of_unit_length(of.X, np.float32)
        return Featured(X, scaling.features(training.evidence_of_others), of.weight)

    @classmethod
    def scaled(cls, evidence: Array, weight: Array, *, most_known: bool = True) -> Scaling:
        """Return the scaling of evidence, which sets how much of the score comes from it."""
        if cls.with_words:
            size = EVIDENCE_SIZE if most_known else EVIDENCE_SIZE_FEW
            return standardise(evidence, weight, size)
        return whiten(evidence, weight, EVIDENCE_SIZE_ALONE)

    @property
    def uses_words(self) -> bool:
        """Whether single words have weights."""
        return self.words.size > 0

    def scores(self, X: sparse.csr_array, posterior: Posterior) -> Array:
        """Compute the scores of labels before calibration, (n_docs, n_labels)."""
        by_components, by_words = self.parts(X, posterior)
        return np.asarray(by_components + self.intercepts + by_words)

    def parts(self, X: sparse.csr_array, posterior: Posterior) -> tuple[Array, Array]:
        """Compute the contributions of components and of single features to scores."""
        terms, used = without_unused_terms(leading(X, posterior.n_terms))
        evidence = mean_over_terms(terms, posterior.term_evidence(used))
        by_components = product_with_rows(evidence, self.weights)
        if not self.uses_words:
            return by_components, np.zeros(by_components.shape)
        X, used = without_unused_terms(X)
        words = self.words.T[used].astype(np.float64)  # fast if held by terms
        by_words = of_unit_length(X) @ words
        return by_components, by_words.toarray() if sparse.issparse(by_words) else by_words

    def rounded(self, X: sparse.csr_array, posterior: Posterior) -> Self:
        """Return the head with weights of words in half precision, if no label of X changes."""
        if not self.uses_words or sparse.issparse(self.words):
            return self
        with np.errstate(over="ignore", under="ignore"):
            words = self.words.astype(np.float16)
        if not np.isfinite(words).all():
            return self
        other = replace(self, words=words)
        labels, others = (
            head.predicted(head.probabilities(X, posterior)) for head in (self, other)
        )
        return other if np.array_equal(labels, others) else self

    def highest(self, X: sparse.csr_array, posterior: Posterior, known: Array) -> Array:
        """Compute the highest score of each document, with unknown terms in its length."""
        found, by_words = self.parts(X, posterior)
        found += by_words
        found *= known[:, None]
        found += self.intercepts + self.calibration.biases
        return np.asarray(found.max(axis=1))

    def term_parts(self, terms: Array, posterior: Posterior, label: int) -> tuple[Array, Array]:
        """Compute what an occurrence of each term adds to the score of a label above the mean."""
        weights = self.above_mean(self.weights, label)
        return posterior.term_evidence(terms) * weights, weights > 0

    def word_parts(self, terms: Array, label: int) -> Array | None:
        """Compute the same of terms as single words, (n,); None if they have no weights."""
        if not self.uses_words:
            return None
        words = self.words[:, terms]
        return self.above_mean(words.toarray() if sparse.issparse(words) else words, label)

    def with_labels(self, order: Array, n_components: int) -> Self:
        """Return the head for more labels and components, about which it knows nothing yet."""
        new, (n_labels, K) = len(order) - len(self.weights), self.weights.shape
        wider = super().with_labels(order, n_components)
        weights = np.zeros((n_labels + new, n_components))
        weights[:n_labels, :K] = self.weights
        return replace(
            wider,
            weights=weights[order],
            intercepts=np.pad(self.intercepts, (0, new))[order],
            words=_with_rows(self.words, new, order),
        )

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return entries of a header, and arrays."""
        arrays = {"weights": self.weights, "intercepts": self.intercepts}
        if sparse.issparse(self.words):
            parts = (self.words.data, self.words.indices, self.words.indptr)
            return {}, arrays | dict(zip(_SPARSE_WORDS, parts, strict=True))
        if not self.uses_words:
            return {}, arrays
        by_column = packed("words", self.words.T, 0)
        return {}, arrays | ({"words": self.words} if "words" in by_column else by_column)

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
        n, K, n_columns = sizes
        most = LARGEST_WEIGHT
        words = np.zeros((n, 0), np.float32)
        if cls.with_words and "words.values" in arrays:
            by_column = check_packed(
                arrays, "words", (n_columns, n), least=-most, most=most, half=True
            )
            assert isinstance(by_column, FilledRows)
            words = by_column.transposed()
        elif cls.with_words and "words" in arrays:
            words = check_array(arrays, "words", (n, n_columns), least=-most, most=most, half=True)
        elif cls.with_words and _SPARSE_WORDS[0] in arrays:
            words = _sparse_words(arrays, (n, n_columns))
        return cls(
            calibration=calibration,
            threshold=threshold,
            weights=check_doubles(arrays, "weights", (n, K), least=-most, most=most),
            intercepts=check_doubles(arrays, "intercepts", (n,), least=-most, most=most),
            words=words,
        )


class ComponentsHead(LinearHead):
    """Linear support vector machines on the evidence for components."""

    name = "components"
    with_words = False

    @classmethod
    def only_label(cls, documents: TrainingDocuments, n_components: int) -> Trained:
        """Return the head of a model with a single label, which all documents get."""
        one = np.ones(1)
        calibration = Calibration(one, CERTAIN * one, one, multilabel=documents.multilabel)
        head = cls(
            calibration=calibration,
            weights=np.zeros((1, n_components)),
            intercepts=np.zeros(1),
            words=np.zeros((1, 0), np.float32),
        )
        left_out = np.ones((len(documents.weight), 1), np.float32)
        return Trained(head, "there is only one label", left_out)


class WordsHead(LinearHead):
    """Linear support vector machines on the evidence for components and on single words.

    Documents have unit length. The columns of evidence are standardised and scaled to a small total
    size, ``EVIDENCE_SIZE``, which sets how much of the score comes from each group of features.
    """

    name = "words and components"
    with_words = True

    @classmethod
    def replacement(cls, documents: TrainingDocuments) -> Replacement | None:
        """Return what to train if single words cannot have weights."""
        no_room = cls.no_room(documents)
        return Replacement(ComponentsHead.name, no_room) if no_room else None

    @staticmethod
    def no_room(documents: TrainingDocuments) -> str:
        """Return why single words cannot have weights, or an empty string."""
        n_docs = documents.X.shape[0]
        if n_docs < LEAST_DOCUMENTS:
            return f"{n_docs} documents are too few to learn weights of single words"
        return ""


def has_many_labels(documents: TrainingDocuments) -> bool:
    """Return whether machines of all labels would take too long, or too much memory."""
    n_docs, K = documents.V.shape
    n_labels = documents.n_labels
    work = n_labels * (documents.X.nnz + n_docs * K)
    return bool(work > MOST_WORK or n_labels * documents.X.shape[1] > MOST_WEIGHTS)


def _with_rows(words: Any, new: int, order: Array) -> Any:
    """Return weights with more labels, without any weight, in another order."""
    if not sparse.issparse(words):
        return np.pad(words, ((0, new), (0, 0)))[order]
    empty = sparse.csr_array((new, words.shape[1]), dtype=words.dtype)
    return sparse.csc_array(sparse.vstack([words, empty], format="csr")[order])


def _sparse_words(arrays: dict[str, Array], shape: tuple[int, int]) -> sparse.csc_array:
    """Rebuild sparse weights. Damaged content raises ``ModelFileError`` or similar errors."""
    most = LARGEST_WEIGHT
    data = check_array(arrays, _SPARSE_WORDS[0], (None,), least=-most, most=most)
    indices, indptr = (arrays[name] for name in _SPARSE_WORDS[1:])
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise ModelFileError("the weights of single words are damaged.")
    words = sparse.csc_array((data, indices, indptr), shape)
    words.check_format(full_check=True)
    return words


class Linear(NamedTuple):
    """Weights of linear machines for scaled features.

    Attributes
    ----------
    words : ndarray of float32 of shape (n_labels, n_terms + n_features), or (n_labels, 0)
        Weights of terms and further features, for documents of unit length.
    dense : ndarray of shape (n_labels, K)
        Weights of scaled evidence.
    intercepts : ndarray of shape (n_labels,)
    scaling : Scaling
        Map from evidence to scaled evidence.
    """

    words: Any
    dense: Array
    intercepts: Array
    scaling: Scaling

    @property
    def length(self) -> float:
        """Euclidean length of all weights without the intercepts."""
        return float(np.sqrt(sum(np.square(w, dtype=np.float64).sum() for w in self[:2])))


class HeldOut(NamedTuple):
    """Documents on which the machines were not trained.

    Attributes
    ----------
    scores : ndarray of shape (n_docs, n_labels)
        Their scores.
    Y : ndarray of bool of shape (n_docs, n_labels)
        Their labels.
    n_terms : ndarray of shape (n_docs,)
        Their effective number of terms.
    weight : ndarray of shape (n_docs,)
        Sample weights.
    known : ndarray of shape (n_docs,)
        Part of their length that the machines know. Scores are those of the known part alone.
    """

    scores: Array
    Y: Array
    n_terms: Array
    weight: Array
    known: Array


class Assembled(NamedTuple):
    """A calibrated head.

    Attributes
    ----------
    head : LinearHead
        The head, with weights for unscaled evidence. The slopes of its calibration are one, because
        the weights include them.
    probabilities : ndarray of float32 of shape (n_docs, n_labels)
        Calibrated probabilities of the held-out documents.
    """

    head: LinearHead
    probabilities: Array


def assemble(
    kind: type[LinearHead],
    machine: Linear,
    held: HeldOut,
    growth: float,
    occurs: Array,
    *,
    multilabel: bool,
) -> Assembled:
    """Make a head from machines, and calibrate it on held-out documents.

    Parameters
    ----------
    kind : type
        Kind of head.
    machine : Linear
        Machines that were trained on all documents.
    held : HeldOut
        Documents with scores of machines that were trained without them.
    growth : float
        Length of the weights of ``machine``, divided by that of the machines that were trained
        without the held-out documents. Scores of ``machine`` are larger by about this factor. Most
        of the growth is justified, because machines that are trained on more documents predict
        better. So slopes are divided by the factor to the power of ``TOO_CERTAIN``.
    occurs : array of bool of shape (n_labels,)
        Labels that at least one training document has; others are never predicted.
    multilabel : bool
        Whether documents may have several labels.
    """
    fitted = calibrate(
        held.scores, held.Y, held.n_terms, held.weight, usual_slope=_USUAL_SLOPE,
        multilabel=multilabel, bent=True,
    )  # fmt: skip
    probabilities = _in_parts(fitted, held)
    # new documents get the scores of the machines of all documents, which are larger
    grown = replace(fitted, slopes=fitted.slopes * growth ** (1 - TOO_CERTAIN))
    novelty = Novelty.of(_highest(grown, held, machine.intercepts, occurs), held.weight)
    thresholds = Thresholds.of(probabilities, held.Y, held.weight) if multilabel else None
    threshold = 0.5 if thresholds is None else thresholds.micro
    slopes = fitted.slopes / growth**TOO_CERTAIN
    weights, intercepts = machine.scaling.unscaled(
        machine.dense * slopes[:, None], machine.intercepts * slopes
    )
    biases = np.where(occurs, fitted.biases, -CERTAIN)
    bend = fitted.bend / float(fitted.slopes[0])  # of scores that include the slope
    calibration = replace(fitted, slopes=np.ones(len(slopes)), biases=biases, bend=bend)
    words = machine.words
    if sparse.issparse(words):
        words = words.copy()
        words.data *= slopes[words.indices].astype(np.float32)
    elif words.size:
        words = words * slopes[:, None].astype(np.float32)
    head = kind(
        calibration=calibration, threshold=threshold,
        thresholds=thresholds, novelty=novelty,
        weights=weights, intercepts=intercepts, words=words,
    )  # fmt: skip
    return Assembled(head, probabilities)


def _highest(calibration: Calibration, held: HeldOut, intercepts: Array, occurs: Array) -> Array:
    """Compute the highest score of each held-out document, (n_docs,), as ``LinearHead.highest``."""
    biases = np.where(occurs, calibration.biases, -CERTAIN)
    out = np.empty(len(held.scores))
    for begin in range(0, len(out), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        found = (held.scores[at] - intercepts) * held.known[at, None] + intercepts
        out[at] = (found * calibration.slopes + biases).max(axis=1)
    return out


def _in_parts(calibration: Calibration, held: HeldOut) -> Array:
    """Compute the probabilities of many documents in parts, (n_docs, n_labels) in float32."""
    out = np.empty(held.scores.shape, np.float32)
    for begin in range(0, len(out), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        out[at] = calibration.probabilities(held.scores[at], held.n_terms[at])
    return out
