"""Train the prediction head of documents in several shards, in memory or on disk.

The head is first trained on a sample of the documents. With ``classifier="auto"``, the sample also
decides the kind of head. The machines of the head are then trained on all documents, by a map over
the shards (``vbnmf.prediction.shardheads``).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.fit import HEAD_ON_SHARDS
from vbnmf.core.model import Array, State
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.heads import HeadTrainer
from vbnmf.estimators.labels import Targets
from vbnmf.estimators.posterior import TrainedHead
from vbnmf.estimators.streaming import is_source
from vbnmf.prediction.dividing import held_out
from vbnmf.prediction.shardheads import Task, held_out_share, train_on_shards
from vbnmf.shards.shard import SHARD_NONZEROS

HEAD_NONZEROS = SHARD_NONZEROS
"""Approximate maximum number of non-zeros in the sample that a head is first trained on."""

HEAD_DOCUMENTS = 200_000
"""Maximum number of documents in this sample."""

_DOCUMENTS_AT_ONCE = 1 << 16


def has_several_shards(X: Any) -> bool:
    """Return whether an engine divides these documents into several shards."""
    if is_source(X):
        return len(X.starts) > 2
    return bool(X.nnz > SHARD_NONZEROS)


def fit_head_on_shards(
    trainer: HeadTrainer,
    X: Any,
    engine: ShardEngine,
    state: State,
    targets: Targets,
    weight: Array | None,
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
    """
    takes_part = targets.known if weight is None else targets.known & (weight > 0)
    n_docs = int(takes_part.sum())
    share = held_out_share(n_docs)
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
    if found.machine is not None:
        task = Task(
            state, begun.posterior, targets.of_groups, targets.sums(weight), share,
            targets.multilabel, trainer.n_threads,
        )  # fmt: skip
        report = partial(trainer.reporter.stage, HEAD_ON_SHARDS)
        found, n_passes = train_on_shards(engine, task, found, report)
        reason += f", then trained on all {n_docs:,} documents of known label in {n_passes} passes"
    elif found.rows is not None:
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
    sample = X.take(rows) if is_source(X) else X[rows]
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
