"""Train the machines of a prediction head on the documents of all shards.

Training starts from a head that was trained on a sample. Then all documents are used, shard by
shard:

1. Each shard computes the held-out evidence of its documents from their coefficients, scales it as
   in the sample, and stores it in place of ``Sigma_v``, which is no longer needed.
2. The machines are trained on all documents except those of ``held_out`` (``fullbatch``). These
   were not part of the sample either. So their scores can be used to calibrate the head.
3. The machines are trained on all documents, starting from those of step 2.

All sums are added by ``tree_sum``, so engines with the same shards give the same bits.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array, State
from vbnmf.core.products import one_blas_thread
from vbnmf.core.rows import effective_terms, of_unit_length
from vbnmf.engines.mapping import ShardEngine, tree_sum
from vbnmf.prediction import fullbatch
from vbnmf.prediction.dividing import held_out
from vbnmf.prediction.evidence import evidence_left_out
from vbnmf.prediction.fullbatch import Features, HingeSums, Solved
from vbnmf.prediction.head import Posterior, Trained, unfinished_calibration
from vbnmf.prediction.linear import HeldOut, Linear, LinearHead, assemble
from vbnmf.prediction.machines import ENOUGH, Report
from vbnmf.prediction.scaling import Scaling
from vbnmf.shards import work as shardwork
from vbnmf.shards.shard import Local, OpenShard

LARGEST_SHARE = 0.2
"""Maximum share of the documents that are held out to calibrate the head."""

CALIBRATING = 20_000
"""Approximate maximum number of documents that are held out to calibrate the head."""

_MOST_TIMES_EXPECTED = 4  # identical documents are held out together, which may be many
_TINY = np.finfo(float).tiny


def held_out_share(n_docs: int) -> float:
    """Return the share of documents to hold out for calibration, by the number of documents."""
    return min(LARGEST_SHARE, CALIBRATING / max(n_docs, 1))


@dataclass(frozen=True, eq=False)
class Task:
    """Values that all shards need.

    Attributes
    ----------
    state : State
        The fitted state, whose large arrays are not needed.
    posterior : Posterior
        The fitted model.
    of_groups : csr_array of shape (n_known + 1, n_labels)
        Labels of the groups of documents; the last one has none, because they are unknown.
    counts : ndarray of shape (n_labels,)
        Sum of the sample weights of the documents with each label.
    share : float
        Share of held-out documents.
    multilabel : bool
        Whether documents may have several labels.
    n_threads : int
        Does not change the result.
    """

    state: State
    posterior: Posterior
    of_groups: sparse.csr_array
    counts: Array
    share: float
    multilabel: bool
    n_threads: int = 1


def train_on_shards(
    engine: ShardEngine,
    task: Task,
    found: Trained,
    report: Report | None = None,
) -> tuple[Trained, int]:
    """Train the machines of a head on all documents, and calibrate them.

    Parameters
    ----------
    engine : ShardEngine
        The documents after the fit. The local states of its shards are replaced.
    task : Task
        Values that all shards need.
    found : Trained
        A head with machines, trained on documents that are not held out.
    report : callable or None
        Called with the number of iterations that are done, and with their maximum.

    Returns
    -------
    trained : Trained
        The head. Its ``left_out`` is still that of the sample.
    n_passes : int
        Passes over all documents.
    """
    begun, kind = found.machine, type(found.head)
    assert isinstance(begun, Linear)
    assert issubclass(kind, LinearHead)
    engine.change(partial(_features, task=task, scaling=begun.scaling))
    halves = _Halves(engine, task, begun, report)
    before = halves.solve(_stacked(begun), without_held_out=True)
    held = halves.held_out(before.weights)
    after = halves.solve(before.weights, without_held_out=False)
    machine, smaller = (_linear(solved.weights, begun) for solved in (after, before))
    growth = machine.length / smaller.length if smaller.length > 0 else 1.0
    made = assemble(kind, machine, held, growth, task.counts > 0, multilabel=task.multilabel)
    unfinished = found.unfinished
    if not (before.converged and after.converged):
        most = fullbatch.MOST_ITERATIONS
        unfinished += (f"its machines on all documents in {most} iterations",)
    trained = replace(
        found,
        head=made.head,
        unfinished=(*unfinished, *unfinished_calibration(made.head.calibration)),
        machine=machine,
    )
    return trained, before.n_passes + after.n_passes + 2


@dataclass(frozen=True, eq=False)
class _View:
    """Convert the documents of a shard to features."""

    of_groups: sparse.csr_array
    share: float
    n_threads: int
    words: bool  # whether the head uses single words
    K: int

    def batch(self, shard: OpenShard, local: Local) -> Features:
        """Return the features of documents. Scaled evidence is stored in ``Sigma_v``."""
        known = shard.group < shard.n_known
        labels = self.of_groups[np.minimum(shard.group, shard.n_known)]
        X = of_unit_length(shard.X, np.float32) if self.words else shard.X[:, :0]
        dense = np.ascontiguousarray(local.Sigma_v[:, : self.K], dtype=np.float32)
        return Features(X, dense, labels, known * _weight(shard))


class _Halves:
    """Train without and with the held-out documents. Each is half of the progress."""

    def __init__(
        self,
        engine: ShardEngine,
        task: Task,
        begun: Linear,
        report: Report | None,
    ) -> None:
        self.engine, self.report = engine, report
        words, K = begun.words.size > 0, begun.dense.shape[1]
        self.view = _View(task.of_groups, task.share, task.n_threads, words, K)
        self.boosts = np.maximum(ENOUGH / np.maximum(task.counts, 1.0), 1.0)

    def solve(self, start: Array, *, without_held_out: bool) -> Solved:
        """Train from these weights, (n_features, n_labels)."""

        def evaluate(weights: Array, first: int, curvature: bool) -> HingeSums:
            boosts = self.boosts[first : first + weights.shape[1]]
            work = partial(
                _sums, view=self.view, weights=weights, first=first, boosts=boosts,
                curvature=curvature, without_held_out=without_held_out,
            )  # fmt: skip
            sums: HingeSums = tree_sum(self.engine.map(work), hold=HingeSums.owned)
            return sums

        def reported(done: int, of: int) -> None:
            if self.report is not None:
                self.report(done + (0 if without_held_out else of), 2 * of)

        return fullbatch.solve(start, evaluate, reported)

    def held_out(self, weights: Array) -> HeldOut:
        """Score the held-out documents of known label."""
        parts = list(self.engine.map(partial(_held_out, view=self.view, weights=weights)))
        return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


# What engines map over shards: functions that can be sent to another process.


def _features(shard: OpenShard, local: Local, task: Task, scaling: Scaling) -> Local:
    """Replace ``Sigma_v`` by the scaled held-out evidence of the documents."""
    of = task.posterior
    V = shardwork.coefficients(shard, task.state, local)
    evidence = evidence_left_out(
        shard.X, V, of.shapes, of.scales, of.smoothing, _weight(shard), task.n_threads
    )
    with one_blas_thread():
        local.Sigma_v[:, : V.shape[1]] = scaling.features(evidence)
    return replace(local)


def _sums(
    shard: OpenShard,
    local: Local,
    view: _View,
    weights: Array,
    first: int,
    boosts: Array,
    curvature: bool,
    without_held_out: bool,
) -> tuple[Local, HingeSums]:
    batch = view.batch(shard, local)
    if without_held_out:
        batch = batch._replace(weight=batch.weight * ~held_out(shard.X, view.share))
    return local, fullbatch.hinge_sums(
        batch, weights, first, boosts, curvature=curvature, n_threads=view.n_threads
    )


def _held_out(shard: OpenShard, local: Local, view: _View, weights: Array) -> tuple[Local, HeldOut]:
    batch = view.batch(shard, local)
    rows = np.flatnonzero(held_out(shard.X, view.share) & (batch.weight > 0))
    rows = rows[: 1 + int(_MOST_TIMES_EXPECTED * view.share * len(batch.weight))]
    batch = Features(*(part[rows] for part in batch))
    return local, HeldOut(
        fullbatch.scores(batch, weights),
        batch.labels.toarray() > 0,
        effective_terms(shard.X[rows]),
        batch.weight,
        np.ones(len(rows)),
    )


def _weight(shard: OpenShard) -> Array:
    return np.ones(shard.X.shape[0]) if shard.weight is None else shard.weight


def _stacked(machine: Linear) -> Array:
    """Return weights in the form of ``fullbatch``, (n_features, n_labels) in float32."""
    parts = (machine.words, machine.dense, machine.intercepts[:, None])
    return np.ascontiguousarray(np.hstack([part.astype(np.float32) for part in parts]).T)


def _linear(weights: Array, like: Linear) -> Linear:
    n_terms = like.words.shape[1]
    return Linear(
        np.ascontiguousarray(weights[:n_terms].T),
        np.ascontiguousarray(weights[n_terms:-1].T, dtype=np.float64),
        weights[-1].astype(np.float64),
        like.scaling,
    )
