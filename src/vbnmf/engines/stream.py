"""Run sweeps over shards on disk, with two shards in memory at a time.

A sweep visits the shards in order. During the work on one shard, a thread writes the local state of
the previous one and then reads the next one, so that memory holds two of them at any time. The
local state of each shard is a file, which is overwritten. Sums are added as for all engines
(``mapping``), so the result is the same as in memory, bit for bit.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbnmf.core.model import Array, Statistics
from vbnmf.engines.mapping import ShardEngine, Work
from vbnmf.files import OwnedFolder
from vbnmf.shards.shard import Local, OpenShard, Shard, ShardSource
from vbnmf.shards.states import local_path, read_local, write_local

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

_AT_ONCE = 1 << 16  # numbers of parked sums that are read at a time


class StreamEngine(ShardEngine):
    """Run sweeps over shards that are not in memory. Use it as a context manager.

    Parameters
    ----------
    kernel : kernel
        From ``vbnmf.kernels.open_kernel``.
    source : ShardSource
        The shards.
    group : array of int, shape (n_docs,)
        The group of each document.
    n_groups : int
        Number of groups.
    weight : array of shape (n_docs,) or None
        Sample weights; None for one each.
    unknown : bool
        Whether the last group holds the documents with unknown labels.
    folder : path or None
        Parent of the temporary folder for local states; None for the system's default.
    """

    def __init__(
        self,
        kernel: "AnyKernel",
        source: ShardSource,
        group: Array,
        n_groups: int,
        weight: Array | None = None,
        *,
        unknown: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._source, self._group, self._n_groups = source, group, n_groups
        self._weight, self._unknown = weight, unknown
        self._temporary = OwnedFolder("vbnmf-states-", folder=folder)
        self._folder = Path(self._temporary.name)
        self._parked = itertools.count()
        self._free: list[Array] = []  # memory of local states that have been written
        # one thread: the next shard is not read before the previous one is written
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="vbnmf-stream")
        super().__init__(kernel)

    def __exit__(self, *exc: object) -> None:
        """Remove the local states."""
        self._pool.shutdown()
        self._temporary.cleanup()

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._source.starts) - 1

    def shards(self) -> Iterable[Shard]:
        """Return all shards in order."""
        return (self._shard(number) for number in range(self.n_shards))

    def start(self, work: Callable[[OpenShard], Local]) -> None:
        """Set the local state of each shard to what ``work`` returns."""
        for number in range(self.n_shards):
            self._keep(number, work(OpenShard(self._shard(number), self.kernel)))

    def map(self, work: Work) -> Iterator[Any]:
        """Apply work to each shard in order. Store the new local state, and yield the sums."""
        kept: Future[None] | None = None
        following = self._pool.submit(self._open, 0)
        for number in range(self.n_shards):
            shard, local, memories = following.result()
            if number + 1 < self.n_shards:
                following = self._pool.submit(self._open, number + 1)
            new, sums = work(shard, local)
            if kept is not None:
                kept.result()
            kept = None
            if new is not local:  # the sums of such work do not refer to the local state
                kept = self._pool.submit(self._keep, number, new, memories)
            del shard, local, memories, new
            yield sums
            del sums
        if kept is not None:
            kept.result()

    def park(self, stats: Any) -> Any:
        """Put the large array of sums into a file, until other sums are added to it."""
        if isinstance(stats, Parked):
            return stats
        with self._explained(stats.R_t.nbytes, "sums"):
            return Parked(stats, self._folder / f"{next(self._parked)}.sums")

    def _shard(self, number: int) -> Shard:
        at = slice(*self._source.starts[number : number + 2].tolist())
        return Shard(
            self._source.rows(number),
            self._group[at],
            self._n_groups,
            self._unknown,
            None if self._weight is None else self._weight[at],
            self._source.by_term(number),
        )

    def _open(self, number: int) -> tuple[OpenShard, Local, list[Array]]:
        """Open a shard for a sweep; return it, its local state and the memory of this state."""
        shard = OpenShard(self._shard(number), self.kernel)
        in_scope = None if self.in_scope is None else shard.by_group(self.in_scope)
        shape = shard.documents.begin(self.K, in_scope).shape
        memories: list[Array] = []

        def memory() -> Array:
            rows = self._free.pop() if self._free else None
            if rows is None or rows.shape[1] != shape[1]:
                most_docs = int(np.diff(self._source.starts).max())
                rows = self.kernel.zeros(most_docs, self.K, self._source.dtype)
            memories.append(rows)
            return rows[: shape[0]]

        return shard, read_local(local_path(self._folder, number), memory(), memory), memories

    def _keep(self, number: int, local: Local, memories: Sequence[Array] = ()) -> None:
        """Write a local state to a file. Afterwards its memory can be used again."""
        n_bytes = local.Sigma_v.nbytes * (1 if local.before is None else 2)
        with self._explained(n_bytes, f"each of {self.n_shards} shards"):
            path = local_path(self._folder, number)
            write_local(path, local, spare=path)
        self._free.extend(memories)

    @contextmanager
    def _explained(self, n_bytes: int, of: str) -> Iterator[None]:
        """Say what could not be written, and what to do."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(
                f"cannot write the state of a shard to {self._folder.parent}: {reason}. It takes "
                f"{n_bytes:,} bytes for {of}. Set TMPDIR to a folder with more space."
            ) from error


class Parked:
    """Sums whose R_t is in a file. Adding other sums brings it back, a part at a time."""

    def __init__(self, stats: Statistics, path: Path) -> None:
        assert stats.R_t is not None
        stats.R_t.tofile(path)
        self._rest, self._path = replace(stats, R_t=None), path

    def __add__(self, other: Statistics) -> Statistics:
        """Add to the R_t of ``other``, in place; the file is removed."""
        assert other.R_t is not None
        flat = other.R_t.reshape(-1)
        with open(self._path, "rb") as file:
            for begin in range(0, len(flat), _AT_ONCE):
                part = flat[begin : begin + _AT_ONCE]
                part += np.fromfile(file, np.float64, len(part))
        self._path.unlink()
        return replace(self._rest + other, R_t=other.R_t)
