"""Judge the labels of documents by probabilities of models that did not see them.

Training documents are judged by the left-out probabilities that ``fit`` has computed and the model
file holds. They are found by their content, so the file may be in another order and have more or
fewer rows. All other documents are judged by predictions.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vbnmf.core.model import Array
from vbnmf.core.rows import content_keys, is_empty
from vbnmf.prediction.trainingdata import LEAST_DIFFERENT

if TYPE_CHECKING:
    from vbnmf.evaluation.parts import Part

NEARLY_ALL = 0.95
"""Share of labelled documents that were in training, from which on these are taken for them."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Probabilities by which the labels of documents are judged.

    Attributes
    ----------
    probabilities : ndarray of shape (n_docs, n_labels)
        Left-out probabilities of training documents, and predictions of others.
    left_out : ndarray of bool of shape (n_docs,)
        Which documents were training documents.
    empty : ndarray of bool of shape (n_docs,)
        Documents without any known term, whose labels cannot be judged.
    matched : bool
        Whether the model holds what training documents are found by. If not, training documents are
        judged by predictions too, which know their labels.
    too_few : bool
        Whether the model has seen too few different documents (``too_few_to_leave_out``).
    are_training : bool
        Whether nearly all labelled documents were in training, and can be left out. Of new short
        texts, many may have the words of a training document by chance.
    """

    probabilities: Array
    left_out: Array
    empty: Array
    matched: bool = True
    too_few: bool = False
    are_training: bool = False

    def in_words(self) -> str:
        """Say what documents are judged by, in one or two sentences."""
        n, of = int(self.left_out.sum()), len(self.left_out)
        if not self.matched:
            return (
                "The model file does not hold the contents of its training documents, so all "
                "documents are judged by predictions. Predictions of training documents agree too "
                "often with their labels: fit the model again with this version."
            )
        if n == 0:
            return "No document was in training; they are judged by predictions."
        have, are = ("has", "is") if n == 1 else ("have", "are")
        said = (
            f"{n:,} of {of:,} documents {have} the words of a training document and {are} judged "
            "by left-out probabilities, the others by predictions."
        )
        if n == of:
            said = "All documents were in training; they are judged by left-out probabilities."
        if self.too_few:
            said += (
                f" These agree too often with the labels, because the model was fitted to fewer "
                f"than {LEAST_DIFFERENT} different documents."
            )
        return said


def judge(part: "Part") -> Judged:
    """Return left-out probabilities of training documents, and predictions of others.

    Parameters
    ----------
    part : Part
        Documents, and a model that was fitted with labels.
    """
    estimator, empty = part.subject.estimator, np.asarray(is_empty(part.X))
    keys = getattr(estimator, "head_document_keys_", None)
    places = training_places(part)
    found = places >= 0
    if keys is None or not found.any():
        return Judged(part.probabilities, found, empty, keys is not None)
    P = np.empty((part.n_docs, part.subject.n_labels))
    P[found] = estimator.left_out_proba_[places[found]]
    if not found.all():
        P[~found] = part.probabilities[~found]
    too_few, labelled = too_few_to_leave_out(keys), (np.diff(part.Y.indptr) > 0) & ~empty
    nearly_all = found[labelled].sum() >= NEARLY_ALL * labelled.sum() > 0
    return Judged(P, found, empty, too_few=too_few, are_training=not too_few and bool(nearly_all))


def training_places(part: "Part") -> Array:
    """Find documents among those of the training by their content, (n_docs,) of int.

    The place is -1 for other documents, for those without any known term, and for all if the model
    holds no contents.
    """
    keys = getattr(part.subject.estimator, "head_document_keys_", None)
    if keys is None:
        return np.full(part.n_docs, -1)
    return np.where(is_empty(part.X), -1, _places(keys, content_keys(part.encoded)))


def too_few_to_leave_out(keys: Array) -> bool:
    """Return whether training documents are too few for components without some of them.

    Left-out probabilities then come from components that were fitted with the labels of all
    documents, less the terms of one. They agree with the labels too often: of 30 drawn documents,
    each with a label of its own and words by chance, 25 got their own label.

    Parameters
    ----------
    keys : ndarray of int of shape (n_docs,)
        Keys of the contents of the documents.
    """
    return len(np.unique(keys)) < LEAST_DIFFERENT


def _places(known: Array, keys: Array) -> Array:
    """Find documents among known ones by their keys, (n_docs,) of int; -1 if there is none.

    The first, second, … document of a key is the first, second, … known one of this key. If there
    are more of them than known ones, they are the last known one.
    """
    order = np.argsort(known, kind="stable")
    begin = np.searchsorted(known[order], keys, side="left")
    end = np.searchsorted(known[order], keys, side="right")
    mine = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int64)
    firsts = np.searchsorted(keys[mine], keys[mine], side="left")
    ranks[mine] = np.arange(len(keys)) - firsts
    at = np.minimum(begin + ranks, end - 1)
    return np.where(end > begin, order[np.maximum(at, 0)] if len(order) else -1, -1)
