"""Choose and train a prediction head.

``HEADS`` lists the kinds of heads. "auto" compares them on held-out documents: "components" is
preferred to "words and components" if it is as good with some certainty, and the generative head is
tried if documents are few.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.core.rows import effective_terms, leading
from vbnmf.metrics.shares import predicted_by_chance
from vbnmf.prediction.calibration import Calibration
from vbnmf.prediction.generative import GenerativeHead
from vbnmf.prediction.head import Head, Posterior, Sizes, Trained
from vbnmf.prediction.linear import (
    LEAST_DOCUMENTS,
    ComponentsHead,
    WordsHead,
    has_many_labels,
)
from vbnmf.prediction.machines import Report
from vbnmf.prediction.novelty import Novelty
from vbnmf.prediction.thresholds import Thresholds
from vbnmf.prediction.trainingdata import Training, TrainingDocuments, Without
from vbnmf.store import LARGEST, ModelFileError, check_number, with_prefix

HEADS: dict[str, type[Head]] = {
    WordsHead.name: WordsHead,
    ComponentsHead.name: ComponentsHead,
    GenerativeHead.name: GenerativeHead,
}
"""The kinds of prediction heads, by the names that ``classifier`` takes besides "auto"."""

FEW = 25
"""Number of documents per label below which "auto" also tries the generative head.

It is used if it is better by more than one standard error of the difference: on nine corpora with
ten documents per label, machines were better on new documents by two to 23 points.
"""

MOST_EVIDENCE = 100_000_000
"""Maximum of documents times components for which evidence is computed; a sample has less."""

AS_GOOD = -0.02
"""Loss of accuracy, or F1, up to which components alone are used, at one standard error of it.

It is negative: components must be better by two points. They were found with the labels of the
documents, and sweeps without a fold do not undo all of this, so their scores of held-out documents
may be too high (docs/explanation/deviations.md).
"""

SEEMS = 0.1
"""Accuracy above chance below which words alone must confirm that labels can be predicted.

Of random labels, left-out predictions with components were right up to 0.05 more often than by
chance, and those with words alone were not (docs/explanation/deviations.md).
"""

_DOCUMENTS_TO_COMPARE = 5_000  # documents on which two heads are compared
_DOCUMENTS_TO_BEGIN = 1_000  # documents on which they are compared first, and at least FEW a label
_FAR_BELOW = 0.1  # loss of quality on these with which the others are not needed
_TINY = np.finfo(float).tiny
_DOCUMENTS_TO_TRY = 500  # documents on which a head is compared with the commonest label


def train(
    documents: TrainingDocuments,
    posterior: Posterior,
    classifier: str,
    *,
    all_known: bool,
    others: TrainingDocuments | None = None,
    n_threads: int = 1,
    report: Report | None = None,
    without: Without | None = None,
) -> Trained:
    """Train a prediction head. "auto" returns the head that is best on held-out documents.

    Parameters
    ----------
    documents : TrainingDocuments
        Documents with known labels.
    posterior : Posterior
        The fitted model.
    classifier : str
        "auto" or a name in ``HEADS``.
    all_known : bool
        Whether the labels of all training documents are known.
    others : TrainingDocuments or None
        Documents with unknown labels that machines are trained on too (``selftraining``).
    n_threads : int
        Number of threads.
    report : callable or None
        Called with the number of steps that are done and the total number of steps.
    without : callable or None
        Returns the models without each fold; None subtracts single documents from the model. Not
        used for a sample of very many documents.

    Returns
    -------
    Trained
    """
    if documents.n_labels == 1:
        return ComponentsHead.only_label(documents, len(posterior.scales))
    sample = even_sample(documents, -(-documents.V.size // MOST_EVIDENCE))
    some = documents if sample is None else documents.at(sample)
    if classifier not in ("auto", WordsHead.name):
        others = None
    if sample is not None or others is not None:  # machines without a fold see the others' words
        without = None
    training = Training(some, posterior, n_threads, report, without, others)
    if without is not None and not training.can_be_divided:
        training.without = None
    if classifier == "auto":
        found = _choose(training, all_known=all_known)
    else:
        kind, reason = HEADS[classifier], "as requested"
        while (other := kind.replacement(some)) is not None:
            kind, reason = HEADS[other.name], other.reason
        found = kind.train(training, reason)
    if sample is None:
        return found
    return replace(found, rows=sample if found.rows is None else sample[found.rows])


def even_sample(documents: TrainingDocuments, every: int) -> Array | None:
    """Return every n-th document of each label, and at least one; None if n is one."""
    if every <= 1:
        return None
    labels = documents.labels
    first = labels.indices[np.minimum(labels.indptr[:-1], max(labels.nnz - 1, 0))]
    order = np.argsort(first, kind="stable")
    of_label = first[order]
    begins = np.searchsorted(of_label, of_label)
    return np.sort(order[(np.arange(len(order)) - begins) % every == 0])


def head_to_state(head: Head) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header, in types of JSON, and the arrays of a head."""
    header, arrays = head.to_state()
    of_calibration, more = head.calibration.to_state()
    header |= {"name": head.name, "threshold": head.threshold, "calibration": of_calibration}
    arrays |= {f"calibration.{name}": array for name, array in more.items()}
    if head.thresholds is not None:
        header["thresholds"], more = head.thresholds.to_state()
        arrays |= {f"thresholds.{name}": array for name, array in more.items()}
    if head.novelty is not None:
        arrays["novelty.quantiles"] = head.novelty.quantiles
    return header, arrays


def head_from_state(
    header: Any,
    arrays: dict[str, Array],
    n_components: int,
    n_columns: int,
    frequencies: Array,
    *,
    multilabel: bool,
) -> Head:
    """Rebuild a head. Damaged content raises ``ModelFileError`` or similar errors."""
    name = header["name"]
    if name not in HEADS:
        raise ModelFileError(f"the prediction head {name!r} is not one of {', '.join(HEADS)}.")
    if multilabel and not HEADS[name].predicts_several:
        raise ModelFileError(f"the prediction head {name!r} cannot predict several labels.")
    calibration = Calibration.from_state(
        header["calibration"], with_prefix(arrays, "calibration."), frequencies, multilabel
    )
    threshold = check_number(header, "threshold", least=1 / LARGEST, most=1)
    sizes = Sizes(len(frequencies), n_components, n_columns)
    head = HEADS[name].from_state(header, arrays, sizes, calibration, threshold)
    thresholds = None
    if multilabel and "thresholds" in header:
        thresholds = Thresholds.from_state(
            header["thresholds"], with_prefix(arrays, "thresholds."), len(frequencies)
        )
    novelty = Novelty.from_array(with_prefix(arrays, "novelty."))
    return replace(head, thresholds=thresholds, novelty=novelty)


def _choose(training: Training, *, all_known: bool) -> Trained:
    """Return the head that is best on held-out documents."""
    documents = training.documents
    if not documents.multilabel:
        n_docs = documents.weight.sum()
        if n_docs < LEAST_DOCUMENTS:
            reason = f"{n_docs:.0f} documents are too few to train another head"
            return GenerativeHead.train(training, reason)
    found = _with_or_without_words(training)
    training.release()
    if documents.multilabel:
        return found
    few = len(documents.weight) < FEW * documents.n_labels and all_known
    wrong = not found.by_chance and _is_worse_than_none(found, documents, training.posterior)
    if not (few or wrong or found.rows is not None):
        return found
    judged = found.judged(documents)
    if found.rows is not None:
        training = Training(judged, training.posterior, training.n_threads)
    generative = replace(GenerativeHead.train(training, ""), rows=found.rows)
    accuracy, other_accuracy = (judged.quality(one.left_out) for one in (generative, found))
    measure = "accuracy on held-out documents"
    reason = compared(measure, accuracy, "it", other_accuracy, found.head.name)
    better = wrong or judged.largest_loss(generative.left_out, found.left_out) < 0
    return generative.because(reason, found) if better else found


def compared(measure: str, one: float, way: str, other: float, other_way: str) -> str:
    """Compare two ways in words, with as many digits as it takes to tell their scores apart."""
    for digits in range(3, 16):
        first, second = f"{one:.{digits}f}", f"{other:.{digits}f}"
        if first != second:
            return f"{measure} is {first} with {way} and {second} with {other_way}"
    return f"{measure} is {one:.3f} both with {way} and with {other_way}"


def _with_or_without_words(training: Training) -> Trained:
    """Train with words, unless components alone are better or perfect on held-out documents."""
    documents = training.documents
    if no_room := WordsHead.no_room(documents):
        return ComponentsHead.train(training, no_room)
    if training.others is not None and not has_many_labels(documents):
        return _with_or_without_others(training)
    found = WordsHead.train(training, "")
    if found.rows is not None:
        n = documents.n_labels
        return found.because(f"components alone are not tried with as many as {n:,} labels")
    if (words := _words_by_chance(training, found)) is not None:
        return words
    begin = min(max(_DOCUMENTS_TO_BEGIN, FEW * documents.n_labels), _DOCUMENTS_TO_COMPARE)
    for most in (begin, _DOCUMENTS_TO_COMPARE):
        every = -(-len(documents.weight) // most)
        sample = training.every(every)
        trial = ComponentsHead.train(sample, "")
        left_out = trial.left_out, found.left_out[::every]
        quality, with_words = (sample.documents.quality(P) for P in left_out)
        if most >= _DOCUMENTS_TO_COMPARE or every == 1 or quality < with_words - _FAR_BELOW:
            break
    loss_at_most = sample.documents.largest_loss(*left_out)
    measure = f"{'F1' if documents.multilabel else 'accuracy'} on held-out documents"
    if every > 1:
        measure += f", of a sample of {len(sample.documents.weight):,},"
    only, both = "components only", "components and single words"
    if documents.X.shape[1] > training.posterior.n_terms:
        both = "components, single words and further features"
    reason = compared(measure, quality, only, with_words, both)
    if loss_at_most > AS_GOOD and quality < 1:
        return found.because(reason, trial)
    if quality < 1 and not documents.multilabel and _above_chance(documents, found.left_out) < 4:
        reason += "; words are hardly better than the commonest label, so components may only seem "
        reason += "better: they were found with all labels"
        return found.because(reason, trial)
    alone = ComponentsHead.train(training, "")
    if not documents.multilabel:
        loss, less = (documents.log_loss_by_label(one.left_out) for one in (alone, found))
        if loss > less:
            measure = "log loss of held-out documents, averaged over labels,"
            reason = compared(measure, loss, only, less, both)
            return found.because(reason, alone)
    return alone.because(reason, found)


def _words_by_chance(training: Training, found: Trained) -> Trained | None:
    """Return words alone if these predict by chance, and the head found is hardly more accurate.

    Components were found with the labels of all documents. The evidence of documents that train a
    machine depends on the labels of those that are left out, too. So labels that nothing predicts
    seem to be predicted a little.
    """
    documents, frequencies = training.documents, training.posterior.frequencies
    if documents.multilabel or training.others is not None:
        return None
    best, given = found.left_out.argmax(axis=1), documents.labels.indices
    if (best == given).mean() - frequencies[best].mean() >= SEEMS:
        return None
    plain = training.every(1)
    plain.evidence = np.zeros_like(training.evidence)
    words = WordsHead.train(plain, "")
    if not predicted_by_chance(words.left_out, given, frequencies):
        return None
    accuracy, other = (documents.quality(one.left_out) for one in (words, found))
    way, other_way = "single words, which is chance", "components too, which were found with labels"
    measure = "accuracy on held-out documents"
    words = words.because(compared(measure, accuracy, way, other, other_way), found)
    return replace(words, by_chance=True)


def _with_or_without_others(training: Training) -> Trained:
    """Train on documents with unknown labels too, unless that is worse with some certainty.

    Components alone are not tried: if most labels are unknown, known labels decide the components,
    and scores by components are too good on documents that are held out.
    """
    documents, others = training.documents, training.others
    assert others is not None
    alone = WordsHead.train(training.without_others(), "")
    found = WordsHead.train(training, "")
    accuracy, of_alone = (documents.quality(one.left_out) for one in (found, alone))
    measure, too = "accuracy on held-out documents", f"{len(others.weight):,} unlabelled documents"
    reason = compared(measure, accuracy, too, of_alone, "labelled documents alone")
    gain_at_most = documents.largest_loss(alone.left_out, found.left_out)
    return alone.because(reason, found) if gain_at_most < 0 else found.because(reason, alone)


def _is_worse_than_none(found: Trained, documents: TrainingDocuments, posterior: Posterior) -> bool:
    """Return whether a head is clearly less accurate than predicting the commonest label.

    If nothing predicts the labels, every head is right by chance only, and another one is not
    better. So an accuracy up to two standard errors below the share of this label is not worse.
    """
    judged = found.judged(documents)
    if _above_chance(judged, found.left_out) < -2:
        return True
    rows = even_sample(documents, -(-len(documents.weight) // _DOCUMENTS_TO_TRY))
    sample = documents if rows is None else documents.at(rows)
    head = found.head
    P = head.calibration.probabilities(
        head.scores(sample.X, posterior),
        np.asarray(effective_terms(leading(sample.X, posterior.n_terms))),
    )
    return _above_chance(sample, P) < -2


def _above_chance(documents: TrainingDocuments, P: Array) -> float:
    """Compare accuracy with that of the commonest label, in standard errors of its share."""
    share = documents.commonest()
    error = np.sqrt(share * (1 - share) / len(documents.weight))
    return float((documents.quality(P) - share) / max(error, _TINY))
