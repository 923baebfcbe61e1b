"""Functions that the workers of a cluster apply to shards.

Every task is a pure function of files that do not change as long as it can run. So a task may run
twice, even at the same time. A file is written under a unique name and then renamed. The local
states of each iteration have their own folder, so a task never reads a file that another run of the
same task writes. Files of older iterations are overwritten (:func:`_write`).

Values that all tasks of an iteration need are in a file (:class:`Shared`), which is mapped into
memory. So the workers of a machine share one copy of the components, also in the cache of the
processor. Sums are sent as plain buffers (:func:`pack`), because Dask estimates their size
correctly. For a dataclass or a sparse matrix it would assume a few dozen bytes, and workers could
run out of memory.
"""

import mmap
import os
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from vbnmf import __version__
from vbnmf.core.model import Array, Statistics
from vbnmf.core.pages import large_heaps
from vbnmf.engines.mapping import FAN_IN, tree_sum
from vbnmf.kernels import describe, open_kernel
from vbnmf.shards import work as shardwork
from vbnmf.shards.shard import Local, OpenShard, Shard, ShardSource
from vbnmf.shards.states import load_array, local_path, read_local, write_local

Packed = list[Any]
_ALIGNED = mmap.ALLOCATIONGRANULARITY  # of arrays in files: kernels need whole cache lines
_MEMORY: dict[Path, dict[int, dict[str, Any]]] = {}  # by job and thread; see _memory_of


class ClusterError(OSError):
    """Error of a fit on a cluster that cannot continue. The message says why and what to do."""


@dataclass(frozen=True)
class Job:
    """Settings that all tasks of a fit share."""

    folder: Path  # folder of the local states
    n_groups: int
    unknown: bool
    weighted: bool
    software: str  # version and kernel, which must be the same everywhere

    def groups(self, number: int) -> Path:
        """Return the file with the group of each document of a shard."""
        return self.folder / f"{number:05d}.group.npy"

    def weights(self, number: int) -> Path:
        """Return the file with the weight of each document of a shard."""
        return self.folder / f"{number:05d}.weight.npy"

    def iteration(self, number: int) -> Path:
        """Return the folder of the local states with this number."""
        return self.folder / f"{number:06d}"

    def spare(self, number: int) -> Path:
        """Return the folder of replaced local states, whose files are used again."""
        return self.folder / f"{number:06d}.spare"


def software() -> str:
    """Describe the version and the kernel, on which the last bits of results depend."""
    return f"vbnmf {__version__}, kernel {describe()}"


def pack(value: Any) -> Packed:
    """Convert a value to bytes, followed by the buffers of its arrays."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return [head, *(np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers)]


def unpack(packed: Packed) -> Any:
    """Convert a packed value back. Its arrays are read-only."""
    return pickle.loads(packed[0], buffers=packed[1:])  # noqa: S301 - as all messages of Dask


@dataclass(frozen=True)
class Shared:
    """A value in a file of the shared folder, which is mapped into memory instead of sent."""

    path: Path
    spans: tuple[tuple[int, int], ...]  # first byte and length of the head and of each buffer

    @property
    def value(self) -> Any:
        """Read the value. Its arrays are read-only."""
        with open(self.path, "rb") as file:
            held = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            return unpack([held[first : first + size] for first, size in self.spans])


def share(path: Path, value: Any) -> Shared:
    """Write a value to a file, which appears when it is complete. Tasks may do so twice."""
    temporary = path.with_suffix(f".{uuid4().hex}.part")
    spans = []
    with open(temporary, "wb") as file:
        for buffer in pack(value):
            file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
            spans.append((file.tell(), len(buffer)))
            file.write(buffer)
    os.replace(temporary, path)
    return Shared(path, tuple(spans))


def add_up(
    job: Job, source: ShardSource, numbers: list[int], work: Callable[..., Any]
) -> list[Packed]:
    """Apply work to consecutive shards, and return their sums as :func:`_summed` does."""

    def worked(number: int) -> Any:
        with _marked(job, number):
            return work(_shard(job, source, number))

    with _located(named(numbers)):
        check_software(job.software)
        return _summed(job, numbers, worked)


def start(job: Job, source: ShardSource, numbers: list[int], shared: Shared, into: int) -> None:
    """Set the local states of shards to the results of the shared function."""
    with _located(named(numbers)), open_kernel() as kernel:
        check_software(job.software)
        work = shared.value
        for number in numbers:
            with _marked(job, number):
                local = work(OpenShard(_shard(job, source, number), kernel))
                _write(job, number, local, into)


def change(
    job: Job, source: ShardSource, numbers: list[int], shared: Shared, at: int, into: int
) -> None:
    """Replace the local state of each shard by the result of the shared function."""
    with _located(named(numbers)), open_kernel() as kernel:
        check_software(job.software)
        work, K, in_scope = shared.value
        for number in numbers:
            with _marked(job, number):
                shard, local = _opened(job, source, number, kernel, at, K, in_scope)
                _write(job, number, work(shard, local), into)


def apply(
    job: Job, source: ShardSource, number: int, shared: Shared, at: int, rows: Array | None
) -> Packed:
    """Apply the shared function to a shard, and return some rows of the result, or all."""
    with _marked(job, number), open_kernel() as kernel:
        check_software(job.software)
        work, K, in_scope = shared.value
        shard, local = _opened(job, source, number, kernel, at, K, in_scope)
        found = work(shard, local)[1]
        return pack(found if rows is None else found[rows])


def sweep(
    job: Job, source: ShardSource, numbers: list[int], shared: Shared, at: int, into: int | None
) -> list[Packed]:
    """Sweep over consecutive shards, and return their sums as :func:`_summed` does."""
    with _located(named(numbers)), large_heaps(), open_kernel() as kernel:
        check_software(job.software)
        state, bound, update, beta = shared.value
        K, in_scope = len(state.terms.scale), state.labels and state.labels.in_scope
        out = _rows(job, kernel, "sums", state.terms.L) if update else None

        def swept(number: int) -> Statistics:
            with _marked(job, number):
                shard, local = _opened(job, source, number, kernel, at, K, in_scope, reuse=True)
                new, stats = shardwork.sweep(shard, state, local, bound=bound, out=out, beta=beta)
                if into is not None:
                    _keep(job, number, local, new, at, into)
            if out is None:
                return stats
            R_t = out[:, :K]
            if not _added_here(numbers):  # the next shard overwrites it
                kept = _memory_of(job, f"sums {number}", R_t.shape, R_t.dtype, np.empty)
                np.copyto(kept, R_t)
                R_t = kept
            return replace(stats, R_t=R_t)

        return _summed(job, numbers, swept)


def _summed(job: Job, numbers: list[int], work: Callable[[int], Any]) -> list[Packed]:
    """Apply work to consecutive shards of a run, whose sums are added in order.

    If the shards begin the run, return one sum. Otherwise the sums of earlier shards must be added
    first, so return the sums of each shard.
    """
    parts = map(work, numbers)
    if _added_here(numbers):
        return [pack(tree_sum(parts, hold=partial(_own, job, f"sum from {numbers[0]}")))]
    return [pack(part) for part in parts]


def _added_here(numbers: list[int]) -> bool:
    """Return whether the sums of these shards are added up without those of other shards."""
    return numbers[0] % FAN_IN == 0 and len(numbers) > 1


def take(source: ShardSource, number: int, rows: Array) -> Packed:
    """Return some of the documents of a shard."""
    with _located(named([number])):
        return pack(source.rows(number)[rows])


def on_rows(source: ShardSource, number: int, task: tuple[Callable[..., Any], Any]) -> Packed:
    """Return ``work(rows, value)`` of the documents of a shard."""
    work, value = task
    with _located(named([number])):
        return pack(work(source.rows(number), value))


def fold(job: Job, name: str, parts: list[list[Packed]]) -> list[Packed]:
    """Add up the sums of tasks in the given order. Folds of an iteration have different names."""
    sums = (unpack(packed) for part in parts for packed in part)
    return [pack(tree_sum(sums, hold=partial(_own, job, name)))]


def finish(total: list[Packed], dtype: np.dtype[Any], path: Path) -> Shared:
    """Write the final sums to a file, with R_t in the precision of the documents."""
    stats = unpack(total[0])
    if stats.R_t is not None:
        stats = replace(stats, R_t=stats.R_t.astype(dtype, copy=False))
    return share(path, stats)


def link(source: Path, target: Path) -> None:
    """Link a file that never changes, or copy it if links are not possible."""
    temporary = target.with_suffix(f".{uuid4().hex}.part")
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    os.replace(temporary, target)
    temporary.unlink(missing_ok=True)  # still there if both names were links to the same file


def _own(job: Job, name: str, part: Any) -> Any:
    """Return a part to which others can be added in place, in the memory with this name."""
    if not isinstance(part, Statistics) or part.R_t is None:
        return part
    R_t = _memory_of(job, name, part.R_t.shape, np.dtype(np.float64), np.empty)
    np.copyto(R_t, part.R_t)
    return replace(part, R_t=R_t)


def _shard(job: Job, source: ShardSource, number: int) -> Shard:
    return Shard(
        source.rows(number),
        load_array(job.groups(number)),
        job.n_groups,
        job.unknown,
        load_array(job.weights(number)) if job.weighted else None,
        source.by_term(number),
    )


def _opened(
    job: Job,
    source: ShardSource,
    number: int,
    kernel: Any,
    at: int,
    K: int,
    in_scope: Array | None,
    *,
    reuse: bool = False,
) -> tuple[OpenShard, Local]:
    """Open a shard and read its local state. With ``reuse``, the next one uses this memory."""
    shard = OpenShard(_shard(job, source, number), kernel)
    memory = shard.documents.begin(K, None if in_scope is None else shard.by_group(in_scope))
    most = int(np.diff(source.starts).max())

    def before() -> Array:
        if not reuse:
            return shard.documents.memory()
        return _rows(job, kernel, "documents before", memory, most)

    if reuse:
        memory = _rows(job, kernel, "documents", memory, most)
    return shard, read_local(local_path(job.iteration(at), number), memory, before)


def _rows(job: Job, kernel: Any, name: str, like: Array, most: int | None = None) -> Array:
    """Return memory of this shape, which the next task of this thread reuses under this name.

    ``most`` is the largest number of rows that will be needed, if the number varies.
    """
    shape = (len(like) if most is None else most, like.shape[1])

    def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return np.asarray(kernel.zeros(*shape, dtype))

    return _memory_of(job, name, shape, like.dtype, zeros)[: len(like)]


def _memory_of(
    job: Job,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    make: Callable[..., Array],
) -> Array:
    """Return an array that the tasks of a job in this thread use again in each iteration.

    Results of tasks may refer to it, because they are not needed in the next iteration.
    """
    memory = _MEMORY.setdefault(job.folder, {}).setdefault(threading.get_ident(), {})
    held: Array | None = memory.get(name)
    if held is None or held.shape != shape or held.dtype != dtype:
        memory[name] = held = make(shape, dtype)
    return held


def free(job: Job) -> None:
    """Free the memory that tasks of a job have left in this process."""
    _MEMORY.pop(job.folder, None)


def _keep(job: Job, number: int, old: Local, new: Local, at: int, into: int) -> None:
    if new is old:
        link(local_path(job.iteration(at), number), local_path(job.iteration(into), number))
    else:
        _write(job, number, new, into)


def _write(job: Job, number: int, local: Local, into: int) -> None:
    """Write a local state, over the file of three iterations ago if there is one.

    A task may run twice, and one of the runs may be late. A late run of the previous iteration
    still reads files of two iterations ago. Late runs of earlier iterations do no harm: the folder
    that they would write to has been renamed.
    """
    spare = local_path(job.spare(into - 3), number)
    write_local(local_path(job.iteration(into), number), local, spare)


def check_software(expected: str) -> None:
    """Raise an error if results of this worker could differ in the last bits."""
    if software() != expected:
        raise ValueError(
            f"this worker has {software()}; the fit was begun with {expected}. Install the "
            "same version everywhere, and set VBNMF_SIMD to an instruction set that all have "
            "(baseline, avx2 or avx512)."
        )


def named(numbers: list[int]) -> str:
    """Name consecutive shards."""
    if len(numbers) == 1:
        return f"shard {numbers[0]:05d}"
    return f"shards {numbers[0]:05d} to {numbers[-1]:05d}"


@contextmanager
def _located(what: str) -> Iterator[None]:
    """Add the worker and the shards to the message of an error."""
    try:
        yield
    except ClusterError:  # its message names them already
        raise
    except (OSError, ValueError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise ClusterError(f"{what} on worker {_worker()}: {reason}") from None


@contextmanager
def _marked(job: Job, number: int) -> Iterator[None]:
    """Name a shard in errors. While it is processed, there is a file with its number.

    If the worker dies, the file remains.
    """
    mark = job.folder / f"{number:05d}.{uuid4().hex}.begun"
    with _located(named([number])):
        try:
            mark.touch()
            yield
        finally:
            mark.unlink(missing_ok=True)


def _worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Explain what a folder is for if it cannot be written to."""
    try:
        yield
    except OSError as error:
        raise ClusterError(
            f"cannot write to {folder}: {error.strerror or error}. A fit on a cluster keeps "
            "the state of its shards in a folder that this process and all workers can write to. "
            "Name one with engine=Dask(folder=...), or --scratch on the command line."
        ) from error
