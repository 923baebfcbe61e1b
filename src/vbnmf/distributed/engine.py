"""Fit on the workers of a Dask cluster, with the same bits as on one machine.

Workers read shards from a shared folder. The local state of each shard is a file in the scratch
folder. So nothing is lost if a worker dies, and no task depends on tasks of an earlier iteration.
The client writes the values that all shards need to the scratch folder, and reads one sum from it.
Sums are added on workers, in the tree of :func:`~vbnmf.engines.mapping.tree_sum` and in order. So
the result depends neither on the order of completion nor on the number of workers.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from distributed import Future

from vbnmf.core.model import Array, State, Statistics
from vbnmf.distributed import remote
from vbnmf.distributed.cluster import Cluster, rows_of_shards
from vbnmf.distributed.remote import Job, Shared, link, share, unpack, writable
from vbnmf.engines.mapping import (
    FAN_IN,
    ShardEngine,
    Sum,
    Work,
    coefficients_of,
    joined,
)
from vbnmf.shards.shard import Local, OpenShard, Shard
from vbnmf.shards.states import local_path

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel


class DaskEngine(ShardEngine):
    """Run sweeps over shards on the workers of a cluster. Use it as a context manager.

    Parameters
    ----------
    kernel : kernel
        From ``vbnmf.kernels.open_kernel``, for what the client computes itself.
    cluster : Cluster
        The shards and the connection.
    group : array of int, shape (n_docs,)
        The group of each document.
    n_groups : int
        Number of groups.
    weight : array of shape (n_docs,) or None
        Sample weights; None for one each.
    unknown : bool
        Whether the last group holds the documents with unknown labels.
    folder : path
        A folder that this process and all workers can write to.
    """

    def __init__(
        self,
        kernel: "AnyKernel",
        cluster: Cluster,
        group: Array,
        n_groups: int,
        weight: Array | None = None,
        *,
        unknown: bool = False,
        folder: str | os.PathLike[str],
    ) -> None:
        self._cluster, self._group, self._weight = cluster, group, weight
        home = Path(folder).absolute() / f".fit-{uuid4().hex}"
        self._job = Job(home, n_groups, unknown, weight is not None, remote.software())
        self._kept = 0  # number of the current local states
        _make_folder(home)
        cluster.marks = home
        try:
            for number, (a, b) in enumerate(cluster.spans()):
                np.save(self._job.groups(number), group[a:b])
                if weight is not None:
                    np.save(self._job.weights(number), weight[a:b])
            super().__init__(kernel)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exc: object) -> None:
        """Remove the local states, and free the memory of workers."""
        shutil.rmtree(self._job.folder, ignore_errors=True)  # no task begins from now on
        client = self._cluster.client
        if client.status == "running":
            with suppress(Exception):  # a worker that is gone holds no memory
                client.run(remote.free, self._job, on_error="ignore")

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return self._cluster.n_shards

    def shards(self) -> Iterable[Shard]:
        """Yield all shards, in order, read by this process."""
        job, source = self._job, self._cluster.source
        for number, (a, b) in enumerate(self._cluster.spans()):
            weight = None if self._weight is None else self._weight[a:b]
            rows, by_term = source.rows(number), source.by_term(number)
            yield Shard(rows, self._group[a:b], job.n_groups, job.unknown, weight, by_term)

    def add_up(self, work: Callable[[Shard], Sum]) -> Sum:
        """Apply work to each shard and add up the results."""
        with self._cluster.explained():
            total = self._added(self._by_run("sum", remote.add_up, work))
            found: Sum = unpack(total.result()[0])
            return found

    def start(self, work: Callable[[OpenShard], Local]) -> None:
        """Set the local state of each shard to the result of ``work``."""
        with self._cluster.explained(), self._shared(work) as shared, self._kept_anew() as into:
            for task in self._by_run("start", remote.start, shared, into):
                task.result()

    def change(self, work: Callable[[OpenShard, Local], Local]) -> None:
        """Set the local state of each shard to the result of ``work``."""
        value = (work, self.K, self.in_scope)
        with self._cluster.explained(), self._shared(value) as shared, self._kept_anew() as into:
            for task in self._by_run("change", remote.change, shared, self._kept, into):
                task.result()

    def map(self, work: Work) -> Iterator[Any]:
        """Apply work that changes no local state to each shard, and yield the results."""
        return self._apply(work, [None] * self.n_shards)

    def sweep(
        self, state: State, *, bound: bool, update: bool = True, beta: float | None = None
    ) -> Statistics:
        """Complete q(z) and q(v) from the shared state, then compute all sums over documents.

        With ``update``, R_t is written to the memory of ``state.terms.shape``. ``beta`` is as in
        ``ShardEngine``.
        """
        changes = update or self._job.unknown
        with (
            self._cluster.explained(),
            self._shared((_light(state), bound, update, beta)) as shared,
            self._kept_anew(changes) as into,
        ):
            args = (shared, self._kept, into if changes else None)
            total = self._added(self._by_run("sweep", remote.sweep, *args))
            path, place = shared.path.with_suffix(".sums"), self._cluster.place_of(total)
            dtype = state.terms.L.dtype
            task = self._cluster.task("finish", remote.finish, total, dtype, path, place=place)
            stats = _taken_out(task.result(), state)
        _remove(path)
        return stats

    def coefficients(self, state: State, rows: Array | None = None) -> Array:
        """Compute E_v of the last sweep, (n_docs, K), for ``rows`` (ascending) or all documents."""
        if rows is None:
            return super().coefficients(_light(state))
        each = rows_of_shards(rows, self._cluster.source)
        return joined(list(self._apply(partial(coefficients_of, state=_light(state)), each)))

    def snapshot(self, folder: Path) -> None:
        """Write the local state of each shard to a file in a folder."""
        for number in range(self.n_shards):
            link(local_path(self._job.iteration(self._kept), number), local_path(folder, number))

    def restore(self, folder: Path, K: int, in_scope: Array | None) -> None:
        """Read the local states that ``snapshot`` wrote, with K components."""
        self.K, self.in_scope = K, in_scope
        with self._kept_anew() as into:
            for number in range(self.n_shards):
                link(local_path(folder, number), local_path(self._job.iteration(into), number))

    def _apply(self, work: Work, rows: list[Any]) -> Iterator[Any]:
        """Apply work to each shard and its local state, and yield these rows of each result."""
        cluster = self._cluster
        cluster.forget()
        with cluster.explained(), self._shared((work, self.K, self.in_scope)) as shared:
            places = cluster.places()
            args = (self._job, cluster.sent)
            tasks = [
                cluster.task("apply", remote.apply, *args, number, shared, self._kept, taken,
                             shards=[number], place=places[number])
                for number, taken in enumerate(rows)
                if taken is None or len(taken)
            ]  # fmt: skip
            tasks.reverse()
            while tasks:
                yield unpack(tasks.pop().result())

    def _by_run(self, name: str, function: Callable[..., Any], *args: Any) -> list[Future]:
        """Submit one task for the shards of each thread.

        A thread gets several tasks if its shards belong to several runs of ``FAN_IN``, whose sums
        are added separately. There are no more tasks than that: Dask moves waiting tasks to idle
        workers, and their sums would then have to be sent.
        """
        cluster = self._cluster
        cluster.forget()
        source = cluster.sent
        return [
            cluster.task(name, function, self._job, source, run, *args, shards=run, place=place)
            for place, shards in cluster.shares()
            for _, numbers in groupby(shards, _run_of)
            for run in [list(numbers)]
        ]

    def _added(self, parts: list[Future]) -> Future:
        """Add up the sums of tasks as ``tree_sum`` adds those of shards."""
        self._folds = count()  # numbers of folds, the same in each iteration
        runs = groupby(parts, lambda part: _run_of(self._cluster.shards_of(part)[0]))
        sums = [self._in_order(list(run)) for _, run in runs]
        n, held = self.n_shards, []  # n: parts on the level below; an incomplete run is held
        while n:
            if n % FAN_IN:
                held.append(sums.pop())
            n //= FAN_IN
            sums = [self._in_order(sums[i : i + FAN_IN]) for i in range(0, n, FAN_IN)]
        total = held[0]
        for higher in held[1:]:
            total = self._in_order([higher, total])
        return total

    def _in_order(self, parts: list[Future]) -> Future:
        """Add up parts in order. Parts of the same worker are added there."""
        cluster = self._cluster
        total: list[Future] = []
        for place, run in groupby(parts, cluster.place_of):
            total += run
            if len(total) > 1:
                name = f"fold {next(self._folds)}"
                fold = partial(remote.fold, self._job, name)
                total = [cluster.task("add", fold, total, place=place)]
        return total[0]

    @contextmanager
    def _shared(self, value: Any) -> Iterator[Shared]:
        """Share a value with all workers as a file, which is not lost if a worker dies."""
        path = self._job.folder / f"shared-{uuid4().hex}"
        try:
            with writable(path.parent.parent):
                shared = share(path, value)
            yield shared
        finally:
            _remove(path)

    @contextmanager
    def _kept_anew(self, changes: bool = True) -> Iterator[int]:
        """Number the next local states, which replace the current ones at the end of the block."""
        job, into = self._job, self._kept + 1
        if changes:
            shutil.rmtree(job.iteration(into), ignore_errors=True)
            job.iteration(into).mkdir()
        yield into
        if changes:
            with suppress(FileNotFoundError):  # there are no local states yet
                os.rename(job.iteration(self._kept), job.spare(self._kept))
            shutil.rmtree(job.spare(into - 3), ignore_errors=True)
            self._kept = into


def _run_of(number: int) -> int:
    """Return the number of the run of shards whose sums are added in order."""
    return number // FAN_IN


def _taken_out(sums: Shared, state: State) -> Statistics:
    """Read sums from a file, and copy them, so that nothing holds the file.

    R_t is written to the memory of ``state.terms.shape``.
    """
    stats: Statistics = sums.value
    if stats.R_t is None:
        return deepcopy(stats)
    K, out = len(state.terms.scale), state.terms.shape
    out[:, :K], out[:, K:] = stats.R_t, 0
    return replace(deepcopy(replace(stats, R_t=None)), R_t=out)


def _remove(path: Path) -> None:
    """Remove a file. Windows refuses while a worker maps it; it is removed with its folder then."""
    with suppress(FileNotFoundError, PermissionError):
        path.unlink()


def _light(state: State) -> State:
    """Return the state without arrays that shards do not need."""
    nothing = np.empty((0, len(state.terms.scale)))
    return replace(state, terms=replace(state.terms, shape=nothing, offset=nothing))


def _make_folder(path: Path) -> None:
    with writable(path.parent):
        path.mkdir()
