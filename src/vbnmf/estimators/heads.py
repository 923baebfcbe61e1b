"""Train the prediction head of a fitted model.

The head of documents in several shards, in memory or on disk, is first trained on a sample of the
documents. With ``classifier="auto"``, the sample also decides the kind of head. The machines of the
head are then trained on all documents, by a map over the shards (``vbnmf.prediction.shardheads``).
Shards have terms only. A head that also uses further features is trained on the sample alone.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from vbnmf.callers import callers_level
from vbnmf.core.fit import HEAD, HEAD_ON_SHARDS, WITHOUT_FOLDS, Fit
from vbnmf.core.model import Array, State
from vbnmf.core.pages import release
from vbnmf.core.rows import content_keys, is_empty, leading
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.posterior import Components, LabelPosterior, TrainedHead, for_prediction
from vbnmf.estimators.running import Outcome, Reporter
from vbnmf.estimators.validation import check_choice
from vbnmf.metrics.agreement import fitted_agreement
from vbnmf.prediction import selftraining
from vbnmf.prediction.crossfit import CrossFit
from vbnmf.prediction.dividing import held_out
from vbnmf.prediction.evidence import mean_occurrence
from vbnmf.prediction.head import Posterior, Trained
from vbnmf.prediction.shardheads import Task, held_out_share, train_on_shards
from vbnmf.prediction.training import HEADS, train
from vbnmf.prediction.trainingdata import TrainingDocuments, Without
from vbnmf.shards.shard import SHARD_NONZEROS, ShardSource

HEAD_NONZEROS = SHARD_NONZEROS
"""Approximate maximum number of non-zeros in the sample that a head is first trained on."""

ENOUGH_KNOWN = 0.5
"""Part of the documents with known labels from which the others do not train machines."""

HEAD_DOCUMENTS = 200_000
"""Maximum number of documents in this sample."""

_DOCUMENTS_AT_ONCE = 1 << 16

_SAMPLE = 2000  # maximum number of documents for component_share, and to check the rounding
_SAMPLE_SCORES = 5_000_000  # maximum of these documents times labels


def check_classifier(classifier: object) -> str:
    """Check the parameter ``classifier``: "auto", or a kind of head."""
    return check_choice("classifier", classifier, ("auto", *HEADS))


def check_several(classifier: str) -> None:
    """Refuse a head that cannot predict several labels of a document."""
    if classifier in HEADS and not HEADS[classifier].predicts_several:
        raise ValueError(
            f'classifier="{classifier}" needs one label per document, but y has several. Use '
            'classifier="components".'
        )


class Begun(NamedTuple):
    """A head that was trained on documents in memory, with what its training found."""

    found: Trained
    posterior: Posterior
    agreement: Array


@dataclass(frozen=True, eq=False)
class HeadTrainer:
    """Trains heads of a fitted model.

    Attributes
    ----------
    components : Components
        Posterior of the components.
    labels : LabelPosterior
        Posterior of the labels.
    classifier : str
        "auto", or a kind of head.
    n_threads : int
        Number of threads. Results do not depend on it.
    reporter : Reporter
        Reports progress.
    """

    components: Components
    labels: LabelPosterior
    classifier: str
    n_threads: int
    reporter: Reporter

    def train(
        self,
        X: sparse.csr_array,
        V: Array,
        targets: Targets,
        weight: Array,
        fitted: Fit | None = None,
    ) -> TrainedHead:
        """Train a head on the documents with known labels.

        Parameters
        ----------
        X : csr_array of shape (n_docs, n_terms + n_features)
            Documents: their terms, and further features of the head.
        V : array of shape (n_docs, K)
            Their coefficients.
        targets : Targets
            Their labels.
        weight : array of shape (n_docs,)
            Their sample weights.
        fitted : Fit or None
            The fit to exactly these documents, from which folds of them can be left out.
        """
        release()
        rows = np.flatnonzero(targets.known & (weight > 0))
        without = None
        if fitted is not None:
            shapes = np.asarray(self.components.shapes)
            without = CrossFit(
                leading(X, len(shapes)), targets.group, targets.n_groups,
                None if (weight == 1).all() else weight, V, fitted.state, shapes,
                rows, self.n_threads, partial(self.reporter.stage, WITHOUT_FOLDS),
            ).posteriors  # fmt: skip
        return self.record(self.begin(X, V, targets, weight, rows, without), X, rows)

    def begin(
        self,
        X: sparse.csr_array,
        V: Array,
        targets: Targets,
        weight: Array,
        rows: Array,
        without: Without | None = None,
    ) -> Begun:
        """Train a head on some of the documents; other parameters are as for ``train``."""
        terms = leading(X, len(self.components.shapes))
        posterior = for_prediction(self.components, self.labels, mean_occurrence(terms, weight))
        labels = targets.indicators
        agreement = fitted_agreement(
            terms, sparse.csr_array(labels, dtype=np.float64), V, self.components.means,
            self.labels.scopes,
        )  # fmt: skip
        self.components.release()
        if len(rows) < len(weight):
            documents = TrainingDocuments(
                X[rows], V[rows], labels[rows], weight[rows], targets.multilabel
            )
        else:
            documents = TrainingDocuments(X, V, labels, weight, targets.multilabel)
        found = train(
            documents,
            posterior,
            self.classifier,
            all_known=bool(targets.known.all()),
            others=None if targets.multilabel else self._others(X, V, terms, targets, weight),
            n_threads=self.n_threads,
            report=partial(self.reporter.stage, HEAD),
            without=without,
        )
        return Begun(found, posterior, agreement)

    def _others(
        self,
        X: sparse.csr_array,
        V: Array,
        terms: sparse.csr_array,
        targets: Targets,
        weight: Array,
    ) -> TrainingDocuments | None:
        """Return documents with unknown labels for machines, if they are most documents."""
        if targets.known.mean() >= ENOUGH_KNOWN:
            return None
        rows = selftraining.chosen(terms, weight, targets.known)
        labels = sparse.csr_array((len(rows), len(targets.classes)), dtype=np.int8)
        found = TrainingDocuments(X[rows], V[rows], labels, weight[rows], multilabel=False)
        return found if len(rows) else None

    def record(
        self, begun: Begun, X: sparse.csr_array, rows: Array, documents: Array | None = None
    ) -> TrainedHead:
        """Return the record of a head, whose left-out probabilities are of ``rows`` of X.

        ``documents`` are the numbers of the documents of X, if these are not all documents.
        """
        found, posterior, agreement = begun
        if found.unfinished:
            warnings.warn(
                _not_converged(found.unfinished), ConvergenceWarning, stacklevel=callers_level()
            )
        calibration = replace(found.head.calibration, frequencies=posterior.frequencies)
        n_labels = len(posterior.frequencies)
        sample = X[:: -(-X.shape[0] // min(_SAMPLE, -(-_SAMPLE_SCORES // n_labels)))]
        head = replace(found.head, calibration=calibration).rounded(sample, posterior)
        left_out, judged = found.left_out, X
        if found.rows is not None:
            rows = rows[found.rows]
            judged = X[rows]
            documents = rows if documents is None else documents[rows]
        elif len(rows) < X.shape[0]:
            left_out = head.probabilities(X, posterior).astype(np.float32)
            left_out[rows] = found.left_out
        left_out[is_empty(judged)] = posterior.frequencies
        best = head.probabilities(sample, posterior).argmax(axis=1)
        shares = head.component_share(sample, posterior, best)
        n_docs = np.bincount(best, minlength=n_labels)
        sums = np.bincount(best, shares, minlength=n_labels)
        share = float(shares.mean())
        label_shares = np.where(n_docs > 0, sums / np.maximum(n_docs, 1), share)
        return TrainedHead(
            head, found.reason, posterior.smoothing, agreement, left_out, documents,
            content_keys(judged), share, label_shares,
        )  # fmt: skip


def _not_converged(unfinished: tuple[str, ...]) -> str:
    """Return the message of a prediction head that did not converge."""
    return (
        f"the prediction head did not converge ({' and '.join(unfinished)}). Its probabilities may "
        "be inaccurate. Usual causes are documents or sample weights of very unequal size. Try "
        "another weighting."
    )


# All documents of a fit


def has_several_shards(X: Any) -> bool:
    """Return whether an engine divides these documents into several shards."""
    if isinstance(X, ShardSource):
        return len(X.starts) > 2
    return bool(X.nnz > SHARD_NONZEROS)


def fit_head(
    trainer: HeadTrainer,
    X: sparse.csr_array | ShardSource,
    of_head: sparse.csr_array | ShardSource,
    outcome: Outcome,
    targets: Targets,
    weight: Array | None,
) -> TrainedHead:
    """Fit the prediction head of a fitted model to the documents of the fit.

    Parameters
    ----------
    trainer : HeadTrainer
        Trains heads of the fitted model.
    X, of_head : csr_array or Shards
        Documents: their terms, and their terms with further features of the head behind them.
    outcome : Outcome
        The fit, with the coefficients of the documents; with their engine, if they are in several
        shards.
    targets : Targets
        Labels.
    weight : array of shape (n_docs,) or None
        Sample weights.
    """
    if has_several_shards(X):
        assert outcome.engine is not None
        on_all = of_head.shape[1] == X.shape[1]
        return _fit_on_shards(
            trainer, of_head, outcome.engine, outcome.fit.state, targets, weight, on_all=on_all
        )
    assert outcome.coefficients is not None
    every, weights = np.arange(X.shape[0]), np.ones(X.shape[0]) if weight is None else weight
    in_memory = of_head.take(every) if isinstance(of_head, ShardSource) else of_head
    head = trainer.train(in_memory, outcome.coefficients, targets, weights, outcome.fit)
    return replace(head, documents=every) if isinstance(X, ShardSource) else head


def _fit_on_shards(
    trainer: HeadTrainer,
    X: Any,
    engine: ShardEngine,
    state: State,
    targets: Targets,
    weight: Array | None,
    *,
    on_all: bool,
) -> TrainedHead:
    """Fit the prediction head of a fitted model to the documents of all shards.

    Parameters
    ----------
    trainer : HeadTrainer
        Trains heads of the fitted model.
    X : csr_array or Shards
        Documents.
    engine : ShardEngine
        The same documents after the fit.
    state : State
        The fitted state.
    targets : Targets
        Labels.
    weight : array of shape (n_docs,) or None
        Sample weights.
    on_all : bool
        Whether machines are trained on all documents after the sample.
    """
    takes_part = targets.known if weight is None else targets.known & (weight > 0)
    n_docs = int(takes_part.sum())
    share = held_out_share(n_docs) if on_all else 0.0
    rows, sample = _sample(X, takes_part, n_docs, share)
    del takes_part
    of_sample = np.ones(len(rows)) if weight is None else weight[rows]
    V = engine.coefficients(state, rows)
    every = np.arange(len(rows))
    begun = trainer.begin(sample, V, targets.rows(rows), of_sample, every)
    found = begun.found
    del V
    chosen = f"chosen on a sample of {len(rows):,} documents"
    reason = f"{found.reason}; {chosen}" if found.reason else chosen
    if found.machine is not None and on_all:
        task = Task(
            state, begun.posterior, targets.of_groups, targets.sums(weight), share,
            targets.multilabel, trainer.n_threads,
        )  # fmt: skip
        report = partial(trainer.reporter.stage, HEAD_ON_SHARDS)
        found, n_passes = train_on_shards(engine, task, found, report)
        reason += f", then trained on all {n_docs:,} documents of known label in {n_passes} passes"
    elif found.machine is not None or found.rows is not None:
        reason += ", and trained on it"
    else:
        reason += ", which calibrates it"
    begun = begun._replace(found=replace(found, reason=reason))
    return trainer.record(begun, sample, every, documents=rows)


def _sample(X: Any, takes_part: Array, n_docs: int, share: float) -> tuple[Array, sparse.csr_array]:
    """Return the documents of the sample, ascending, and their rows of X.

    They are spread evenly over the ``n_docs`` documents that take part, without those that are held
    out to calibrate the head.
    """
    n_rows = max(1, min(int(n_docs * min(1.0, HEAD_NONZEROS / X.nnz)), HEAD_DOCUMENTS))
    ranks = np.floor(np.arange(n_rows) * (n_docs / n_rows)).astype(np.int64)
    rows = _at_ranks(takes_part, ranks)
    sample = X.take(rows) if isinstance(X, ShardSource) else X[rows]
    left = np.flatnonzero(~held_out(sample, share))
    left = left if len(left) else np.arange(1)
    return rows[left], sample[left]


def _at_ranks(chosen: Array, ranks: Array) -> Array:
    """Return the documents at these ranks among the chosen ones; both are ascending.

    Documents are visited in parts, so that memory never holds the numbers of all chosen ones.
    """
    found, before = [], 0
    for begin in range(0, len(chosen), _DOCUMENTS_AT_ONCE):
        here = begin + np.flatnonzero(chosen[begin : begin + _DOCUMENTS_AT_ONCE])
        a, b = np.searchsorted(ranks, (before, before + len(here)))
        found.append(here[ranks[a:b] - before])
        before += len(here)
    return np.concatenate(found)
