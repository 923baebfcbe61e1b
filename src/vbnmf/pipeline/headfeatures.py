"""Choose further features of the texts of a ``DocumentModel`` for its prediction head.

``text.features`` computes marks, pairs of words and pieces of words, ``prediction.featurechoice``
compares them, and ``joining`` joins them to the document-term matrix. This module decides which are
used.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from scipy import sparse

from vbnmf.estimators import SupervisedVBNMF
from vbnmf.estimators.labels import check_targets
from vbnmf.estimators.validation import count_threads
from vbnmf.pipeline.joining import beside, without_markup
from vbnmf.prediction import featurechoice
from vbnmf.prediction.linear import MOST_WEIGHTS, WordsHead
from vbnmf.text import DocumentVectorizer
from vbnmf.text.checks import WORD_ANALYZERS
from vbnmf.text.features import KINDS, TextFeatures, TrainingTexts, check_kinds
from vbnmf.text.notices import report_marks

MOST_FEATURES = 50_000
"""Maximum number of marks and pairs, and of pieces."""

MOST_VALUES = 1 << 27
"""Maximum number of non-zero values of features of all documents, about eight bytes each."""

_LEAST_FEATURES = 1_000  # with fewer for each label, features are left out
_CANDIDATES: tuple[tuple[str, ...], ...] = ((), ("marks", "pairs"), KINDS)
_IN_WORDS = ("words alone", "marks and pairs of words too", "pieces of words too")


class Joined(NamedTuple):
    """The features that were chosen, the matrix of terms and features, and the reason."""

    features: TextFeatures | None
    X: Any
    reason: str


def check_features(features: Any) -> tuple[str, ...] | None:
    """Check the parameter ``features``; return the kinds, or None for "auto"."""
    if isinstance(features, str) and features in ("auto", "none"):
        return None if features == "auto" else ()
    return () if features is None else check_kinds(features)


def add_features(
    asked: tuple[str, ...] | None, texts: Sequence[str], X: Any, vectorizer: Any, y: Any, model: Any
) -> Joined:
    """Choose features of training documents, and join them to their document-term matrix.

    Parameters
    ----------
    asked : tuple of str or None
        Kinds of features; None chooses them by documents that are left out.
    texts : sequence of str
        Training documents.
    X : sparse matrix of shape (n_docs, n_terms)
        Weights of their terms.
    vectorizer : transformer
        Fitted vectorizer of terms.
    y : array-like
        Labels.
    model : SupervisedVBNMF or VBNMF
        The estimator to be fitted.
    """
    if reason := _without_features(asked, vectorizer, model):
        return Joined(None, X, reason)
    targets = check_targets(model, y, len(texts), model.unlabelled)
    texts = without_markup(vectorizer, texts)
    room = MOST_WEIGHTS // max(len(targets.classes), 1) - X.shape[1]
    most = min(MOST_FEATURES, room // 2)
    if most < _LEAST_FEATURES:
        return Joined(None, X, f"{len(targets.classes):,} labels leave no room for features")
    of = (vectorizer.idf_, vectorizer.vocabulary_, most)
    reason, training = "as requested", None
    if asked is None:
        rows, labels = featurechoice.sample(targets.indicators)
        some = TrainingTexts([texts[i] for i in rows], X[rows], *of)
        trial = featurechoice.FeatureTrial(
            sparse.csr_array(X[rows]), labels, targets.multilabel, count_threads(model.n_jobs)
        )
        fits = [lambda kinds=kinds: beside(X[rows], some.fit(kinds)[1]) for kinds in _CANDIDATES]
        choice = trial.choose(fits)
        asked = _CANDIDATES[choice.chosen]
        reason = _reason(choice, len(rows), int(targets.known.sum()), targets.multilabel)
        if "marks" in asked:
            marks, words = trial.score(some.marks()), choice.scores[0]
            # F1 of a label that every document gets is not a share of documents
            commonest = 0 if targets.multilabel else labels.sum(axis=0).max() / len(rows)
            if featurechoice.is_clear(marks - max(words, commonest), len(rows)):
                measure = "F1" if targets.multilabel else "accuracy"
                reason += f"; {report_marks(measure, marks, words, len(rows))}"
        if "pieces" in asked and _too_large(some.fit(asked)[1], len(texts)):
            asked = _CANDIDATES[1]
            reason = f"pieces of {len(texts):,} documents would not fit into memory"
        training = some if len(rows) == len(texts) else None
    if not asked:
        return Joined(None, X, reason)
    if training is None:
        training = TrainingTexts(texts, X, *of)
    found, F = training.fit(asked)
    if not len(found):
        return Joined(None, X, "no feature is in two documents")
    return Joined(found, beside(X, F), reason)


def _without_features(asked: tuple[str, ...] | None, vectorizer: Any, model: Any) -> str:
    """Return why no features are used, or an empty string."""
    if asked == ():
        return "as requested"
    if not isinstance(model, SupervisedVBNMF):
        return "there are no labels to predict"
    if not isinstance(vectorizer, DocumentVectorizer):
        return (
            f"features need a DocumentVectorizer; the vectorizer is a {type(vectorizer).__name__}"
        )
    if asked is None and vectorizer.analyzer not in WORD_ANALYZERS:
        return "the analyzer of the vectorizer does not split texts into words"
    if model.classifier not in ("auto", WordsHead.name):
        return f"the head {model.classifier!r} uses no features"
    return ""


def _too_large(F: sparse.csr_array, n_docs: int) -> bool:
    """Return whether features of all documents would be too large, judged by those of some."""
    return F.nnz / max(F.shape[0], 1) * n_docs > MOST_VALUES


def _reason(
    choice: featurechoice.FeatureChoice, n_docs: int, n_known: int, multilabel: bool
) -> str:
    """Say how candidates scored on some of the documents with known labels, or on all."""
    if not choice.scores:
        return f"{n_docs:,} documents are too few to compare features"
    measure = "F1" if multilabel else "accuracy"
    tried = [
        f"{score:.3f} with {name}" for score, name in zip(choice.scores, _IN_WORDS, strict=True)
    ]
    sample = f", of a sample of {n_docs:,}," if n_docs < n_known else ""
    return f"{measure} on held-out documents{sample} is {tried[0]}, {tried[1]}, and {tried[2]}"
