"""Choose and train a prediction head.

"words and components"
    Linear support vector machines on two groups of features (``machines``): the evidence for
    components, and single words. Documents have unit length. The columns of evidence are
    standardised and scaled to a small total size, ``EVIDENCE_SIZE``, which sets how much of the
    score comes from each group.
"components"
    Linear support vector machines on the evidence only.
"generative"
    The likelihood of a document under the rates of each label (``generative``). It has hardly any
    parameters to train, so it is suitable for small corpora.

"auto" compares the heads on held-out documents.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from vbnmf.core.model import Array
from vbnmf.core.rows import effective_terms, of_unit_length, without_unused_terms
from vbnmf.prediction import generative, machines
from vbnmf.prediction.assembly import CERTAIN, HeldOut, Linear, assemble
from vbnmf.prediction.calibration import Calibration, calibrate
from vbnmf.prediction.dividing import folds
from vbnmf.prediction.evidence import evidence_left_out, term_evidence
from vbnmf.prediction.heads import Head
from vbnmf.prediction.material import Posterior, Trained, TrainingDocuments
from vbnmf.prediction.scaling import standardise, whiten

EVIDENCE_SIZE = 0.2
"""Mean squared length of the evidence, relative to words of length one.

Chosen on held-out training documents of nine corpora (``python -m benchmarks heads``).
"""

EVIDENCE_SIZE_ALONE = 4.0
"""Mean squared length of the evidence in a head without words: an inverse penalty."""

MOST_WEIGHTS = 50_000_000
"""Maximum of labels times terms for which single words get weights."""

MOST_EVIDENCE = 100_000_000
"""Maximum of documents times components for which evidence is computed."""

MOST_WORK = 3_000_000_000
"""Maximum of labels times non-zero features for which machines are trained."""

FEW = 25
"""Number of documents per label below which "auto" also tries the generative head."""

LEAST_DOCUMENTS = 50
"""Minimum number of documents for learning weights of single words."""

_TINY = float(np.finfo(np.float32).tiny)
_DOCUMENTS_TO_COMPARE = 5_000  # documents on which two heads are compared
_DOCUMENTS_TO_TRY = 500  # documents on which a head is compared with the commonest label


def train(
    documents: TrainingDocuments,
    posterior: Posterior,
    classifier: str,
    *,
    all_known: bool,
    n_threads: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> Trained:
    """Train a prediction head. "auto" returns the head that is best on held-out documents.

    Parameters
    ----------
    documents : TrainingDocuments
        Documents with known labels.
    posterior : Posterior
        The fitted model.
    classifier : {"auto", "words and components", "components", "generative"}
        Kind of head.
    all_known : bool
        Whether the labels of all training documents are known.
    n_threads : int
        Number of threads.
    tell : callable or None
        Called with the number of steps that are done and the total number of steps.

    Returns
    -------
    Trained
    """
    if documents.n_labels == 1:
        return _only_label(documents, posterior)
    if classifier == "generative":
        return _generative(documents, posterior, n_threads, "as requested")
    too_much = _too_much(documents)
    if too_much and not documents.multilabel:
        return _generative(documents, posterior, n_threads, too_much)
    if classifier == "auto" and not documents.multilabel:
        n_docs = documents.weight.sum()
        if n_docs < LEAST_DOCUMENTS:
            reason = f"{n_docs:.0f} documents are too few to train another head"
            return _generative(documents, posterior, n_threads, reason)
    seen = evidence_left_out(
        documents.X, documents.V, posterior.shapes, posterior.scales, posterior.smoothing,
        documents.weight, n_threads,
    )  # fmt: skip
    run = _Run(documents, seen, folds(documents.X, documents.weight), n_threads, tell)
    if classifier == "components":
        return run.train(words=False, reason="as requested")
    no_room = _no_room(documents)
    if classifier == "words and components":
        return run.train(words=not no_room, reason=no_room or "as requested")
    found = run.choose(no_room)
    del run, seen  # large
    if documents.multilabel:
        return found
    few = len(documents.weight) < FEW * documents.n_labels and all_known
    wrong = _is_worse_than_none(found, documents, posterior)
    if not (few or wrong):
        return found
    model = _generative(documents, posterior, n_threads, "")
    accuracy, other = (documents.quality(one.left_out) for one in (model, found))
    said = f"accuracy on held-out documents is {accuracy:.3f} with it and {other:.3f} with "
    said += found.classifier
    return model.because(said, found) if wrong or accuracy > other else found


class _Run:
    """Train machines on the same documents and evidence."""

    def __init__(
        self,
        documents: TrainingDocuments,
        evidence: Array,
        fold: Array,
        n_threads: int,
        tell: Callable[[int, int], None] | None,
    ) -> None:
        self.documents, self.evidence, self.fold = documents, evidence, fold
        self.n_threads, self.tell = n_threads, tell

    def choose(self, no_room: str) -> Trained:
        """Train with words, unless components alone are as good on held-out documents."""
        if no_room:
            return self.train(words=False, reason=no_room)
        found = self.train(words=True, reason="")
        sample = self._sample()
        trial = sample.train(words=False, reason="")
        quality = sample.documents.quality(trial.left_out)
        with_words = sample.documents.quality(found.left_out[:: self._every])
        measure = "F1" if self.documents.multilabel else "accuracy"
        said = (
            f"{measure} on held-out documents is {quality:.3f} with components only and "
            f"{with_words:.3f} with components and single words"
        )
        if quality < with_words:
            return found.because(said, trial)
        alone = self.train(words=False, reason="")
        if not self.documents.multilabel:
            loss, less = (self.documents.log_loss_by_label(one.left_out) for one in (alone, found))
            if loss > less:
                said = (
                    f"log loss of held-out documents, averaged over labels, is {loss:.3f} with "
                    f"components only and {less:.3f} with components and single words"
                )
                return found.because(said, alone)
        return alone.because(said, found)

    @property
    def _every(self) -> int:
        return -(-len(self.fold) // _DOCUMENTS_TO_COMPARE)

    def _sample(self) -> "_Run":
        """Return every n-th document, as a sample for the comparison."""
        at = slice(None, None, self._every)
        return _Run(
            self.documents.every(self._every),
            self.evidence[at],
            self.fold[at],
            self.n_threads,
            None,
        )

    def train(self, *, words: bool, reason: str) -> Trained:
        """Train machines and calibrate them."""
        of, n_docs = self.documents, len(self.fold)
        X = of_unit_length(of.X, np.float32) if words else sparse.csr_array((n_docs, 0))
        with threadpool_limits(1):  # the same bits on any machine's BLAS
            scaling = (
                standardise(self.evidence, of.weight, EVIDENCE_SIZE)
                if words
                else whiten(self.evidence, of.weight, EVIDENCE_SIZE_ALONE)
            )
            dense = scaling.features(self.evidence)
        found = machines.train(
            X, dense, of.labels, of.weight, self.fold, n_threads=self.n_threads, tell=self.tell
        )  # fmt: skip
        del X, dense  # large
        machine = Linear(found.words, found.dense, found.intercepts, scaling)
        Y = of.labels.toarray() > 0
        held = HeldOut(found.left_out, Y, effective_terms(of.X), of.weight)
        made = assemble(machine, held, found.growth, Y.any(axis=0), multilabel=of.multilabel)
        name = "words and components" if words else "components"
        epochs = machines.max_epochs(n_docs)
        unfinished = [] if found.converged else [f"its machines in {epochs:,} epochs"]
        return Trained(
            name, reason, made.calibration, made.probabilities, made.head, made.threshold,
            (*unfinished, *unfinished_calibration(made.calibration)), machine,
        )  # fmt: skip


def _generative(
    documents: TrainingDocuments, posterior: Posterior, n_threads: int, reason: str
) -> Trained:
    """Calibrate the log-likelihoods of documents under each label."""
    of = documents
    scores = generative.log_likelihoods_left_out(
        of.X, of.V, posterior.shapes, posterior.scales, posterior.rates, of.weight, n_threads
    )
    Y, n_terms, fold = of.labels.toarray() > 0, effective_terms(of.X), folds(of.X, of.weight)
    fit = partial(calibrate, usual_slope=generative.USUAL_SLOPE, log_prior=posterior.log_prior)
    left_out = np.empty(Y.shape, np.float32)
    for number in np.unique(fold):
        rows, held = fold != number, fold == number
        found = fit(scores[rows], Y[rows], n_terms[rows], of.weight[rows])
        left_out[held] = found.probabilities(scores[held], n_terms[held])
    calibration = fit(scores, Y, n_terms, of.weight)
    unfinished = unfinished_calibration(calibration)
    return Trained("generative", reason, calibration, left_out, unfinished=unfinished)


def unfinished_calibration(calibration: Calibration) -> tuple[str, ...]:
    """Describe a calibration that did not converge; return an empty tuple if it converged."""
    return () if calibration.converged else ("its calibration",)


def _only_label(documents: TrainingDocuments, posterior: Posterior) -> Trained:
    K, n_docs = len(posterior.scales), len(documents.weight)
    one = np.ones(1)
    calibration = Calibration(one, CERTAIN * one, one, multilabel=documents.multilabel)
    head = Head(np.zeros((1, K)), np.zeros(1), calibration, np.zeros((1, 0), np.float32))
    left_out = np.ones((n_docs, 1), np.float32)
    return Trained("components", "there is only one label", calibration, left_out, head)


def _too_much(documents: TrainingDocuments) -> str:
    """Return why machines cannot be trained, or an empty string."""
    n_docs, K = documents.V.shape
    if n_docs * K > MOST_EVIDENCE:
        return f"evidence of {n_docs:,} documents for {K:,} components would not fit into memory"
    work = documents.n_labels * (documents.X.nnz + n_docs * K)
    if work > MOST_WORK:
        return f"training machines for {documents.n_labels:,} labels would take too long"
    return ""


def _no_room(documents: TrainingDocuments) -> str:
    """Return why single words cannot have weights, or an empty string."""
    n_docs, n_terms = documents.X.shape
    if n_docs < LEAST_DOCUMENTS:
        return f"{n_docs} documents are too few to learn weights of single words"
    if documents.n_labels * n_terms > MOST_WEIGHTS:
        return (
            f"weights of {n_terms:,} words for {documents.n_labels:,} labels would not fit into "
            "memory"
        )
    return ""


def _is_worse_than_none(found: Trained, documents: TrainingDocuments, posterior: Posterior) -> bool:
    """Return whether a head is less accurate than predicting the commonest label."""
    if documents.multilabel:
        return False
    assert found.head is not None
    if documents.quality(found.left_out) < documents.commonest():
        return True
    sample = documents.every(-(-len(documents.weight) // _DOCUMENTS_TO_TRY))
    X, used = without_unused_terms(sample.X)
    totals = posterior.shapes.sum(axis=0, dtype=np.float64)
    totals += len(posterior.shapes) * posterior.smoothing
    of_terms = term_evidence(posterior.shapes[used], totals, posterior.smoothing)
    words = found.head.words
    head = replace(found.head, words=words[:, used] if words.size else words)
    return sample.quality(head.probabilities(X, of_terms)) < sample.commonest()
