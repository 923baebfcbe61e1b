"""Submit tasks to a Dask cluster, whose workers read shards.

The shards of each task are recorded, so that an error can name them. A task has a preferred worker,
but may run on any other one, so that no task waits for a worker that died.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import dask
import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.distributed import remote
from vbnmf.distributed.arrays import open_blocks, whole_rows, write_block
from vbnmf.distributed.remote import ClusterError, named, unpack
from vbnmf.distributed.tasks import Tasks
from vbnmf.engines.backends import StartWork
from vbnmf.engines.mapping import ShardEngine
from vbnmf.shards.shard import ShardSource, even_cuts

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel


class Cluster:
    """A source of shards and a client that submits tasks for them.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    source : ShardSource
        The shards. It is sent to the workers, which must be able to read from it.
    """

    def __init__(self, client: Client, source: ShardSource) -> None:
        self.client, self.source = client, source
        self.marks: Path | None = None  # folder in which tasks leave marks while they run
        self._token, self._n_tasks = uuid4().hex[:12], 0
        self._shards_of: dict[str, list[int]] = {}
        self._place_of: dict[str, str | None] = {}
        self._cuts: dict[int, Array] = {}  # shards at which threads begin, by number of threads
        # scattered data would be lost with its worker; the result of a task is computed again
        with self.explained():
            self.sent = self.task("shards", _same, source)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.source.starts) - 1

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the first document of each shard, and that of the next one."""
        return pairwise(self.source.starts.tolist())

    def shares(self) -> list[tuple[str | None, range]]:
        """Divide the shards among threads; return the worker and the shards of each thread.

        Each thread gets consecutive shards with about the same number of non-zeros, and the same
        shards in each iteration. So shards stay in the file cache of the system of their worker,
        most sums are added without being sent, and no worker waits long for another.
        """
        workers = sorted(self.client.nthreads().items())
        threads = [address for address, n_threads in workers for _ in range(n_threads)]
        if len(threads) not in self._cuts:
            costs = np.array([entry.nnz for entry in self.source.entries], dtype=np.int64)
            self._cuts[len(threads)] = even_cuts(costs, max(len(threads), 1))
        parts = [range(a, b) for a, b in pairwise(self._cuts[len(threads)].tolist())]
        places = [threads[i * len(threads) // len(parts)] if threads else None
                  for i in range(len(parts))]  # fmt: skip
        return list(zip(places, parts, strict=True))

    def places(self) -> list[str | None]:
        """Return the preferred worker of each shard."""
        return [place for place, shards in self.shares() for _ in shards]

    def place_of(self, task: Future) -> str | None:
        """Return the preferred worker of a task."""
        return self._place_of[str(task.key)]

    def shards_of(self, task: Future) -> list[int]:
        """Return the shards of a task."""
        return self._shards_of[str(task.key)]

    def forget(self) -> None:
        """Forget all tasks. They must have finished."""
        self._shards_of.clear()
        self._place_of.clear()

    def task(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        shards: list[int] | None = None,
        place: str | None = None,
    ) -> Future:
        """Submit a task. Record its shards and its preferred worker."""
        self._n_tasks += 1
        key = f"vbnmf-{name}-{self._token}-{self._n_tasks}"
        self._shards_of[key], self._place_of[key] = shards or [], place
        where = {} if place is None else {"workers": [place], "allow_other_workers": True}
        return self.client.submit(function, *args, key=key, pure=False, **where)

    def by_shard(self, name: str, function: Callable[..., Any], each: dict[int, Any]) -> list[Any]:
        """Call ``function(source, number, value)`` for shards and their values, on workers."""
        with self.explained():
            places = self.places()
            tasks = [
                self.task(name, function, self.sent, number, value,
                          shards=[number], place=places[number])
                for number, value in each.items()
            ]  # fmt: skip
            return [unpack(task.result()) for task in tasks]

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Convert errors of the cluster to errors that say what to do."""
        try:
            yield
        except KilledWorker as error:
            raise ClusterError(self._deadly(error)) from None
        except (CancelledError, CommClosedError, TimeoutError) as error:
            raise ClusterError(self._lost()) from error
        except RuntimeError as error:  # what Dask raises depends on the moment
            if self.client.status == "running":
                raise
            raise ClusterError(self._lost()) from error

    def _deadly(self, error: KilledWorker) -> str:
        shards = self._shards_of.get(str(error.task), [])
        # Dask also blames tasks that were waiting at the same worker; marks show which had begun
        begun = Counter(path.name[:5] for path in self.marks.glob("*.begun")) if self.marks else {}
        if begun:
            shards = [int(max(begun, key=begun.__getitem__))]
        if not shards:
            return (
                f"the task {error.task} has killed every worker that it was given to, most likely "
                "for lack of memory. Give workers more memory."
            )
        n_docs = int(self.source.starts[shards[-1] + 1] - self.source.starts[shards[0]])
        nnz = sum(self.source.rows(number).nnz for number in shards)
        return (
            f"{named(shards)} ({n_docs:,} documents, {nnz:,} non-zeros) killed every worker that "
            "tried, most likely for lack of memory. Give workers more memory or fewer threads, or "
            "write smaller shards (shard_nonzeros of ShardWriter)."
        )

    def _lost(self) -> str:
        address = getattr(self.client.scheduler, "address", None) or "its address"
        return (
            f"the connection to the Dask scheduler at {address} is lost. Start the cluster again. "
            "With a checkpoint, the same fit resumes from the last one, which is complete."
        )


class ClusterSource:
    """Source of shards that the workers of a cluster read; a ``PlacedSource``.

    Parameters
    ----------
    source : ShardSource
        The shards.
    client : distributed.Client
        Connection to the cluster.
    folder : path
        A folder that this process and all workers can write to.
    """

    def __init__(self, source: ShardSource, client: Client, folder: str | os.PathLike[str]) -> None:
        self._source, self._folder = source, folder
        self._cluster = Cluster(client, source)
        self.starts, self.shape, self.dtype = source.starts, source.shape, source.dtype
        self.temporary: tempfile.TemporaryDirectory[str] | None = None  # lives as long as this

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __repr__(self) -> str:
        return repr(self._source)

    def rows(self, number: int) -> sparse.csr_array:
        """Read the documents of a shard in this process, (n_docs, n_terms)."""
        return self._source.rows(number)

    def by_term(self, number: int) -> sparse.csc_array:
        """Read the same documents by columns."""
        return self._source.by_term(number)

    def take(self, rows: Array) -> sparse.csr_array:
        """Read some of the documents on workers; ``rows`` are ascending."""
        each = {number: of for number, of in enumerate(rows_of_shards(rows, self)) if len(of)}
        parts = self._cluster.by_shard("take", remote.take, each)
        if not parts:
            return sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def by_shard(self, work: Callable[..., Any], each: Iterable[Any]) -> list[Any]:
        """Return ``work(rows, value)`` of each shard, on workers, with its value."""
        numbered = zip(range(self._cluster.n_shards), each, strict=False)
        values = {number: (work, value) for number, value in numbered}
        return self._cluster.by_shard("rows", remote.on_rows, values)

    @contextmanager
    def map_starts(
        self, work: StartWork, numbers: Iterable[int]
    ) -> Iterator[Iterator[tuple[Any, Path]] | None]:
        """Run starts of a fit at the same time, each on one worker, with a folder for each.

        If there are as many shards as threads, a start keeps all threads busy. Yield None then.
        """
        client = self._cluster.client
        if self._cluster.n_shards >= sum(client.nthreads().values()):
            yield None
            return
        scratch = Path(self._folder).absolute()
        with remote.writable(scratch):
            home = tempfile.TemporaryDirectory(prefix=".starts-", dir=scratch)
        with home:
            folders = {number: Path(home.name) / f"{number:05d}" for number in numbers}
            for folder in folders.values():
                folder.mkdir()
            tasks = Tasks(client, (work, self._source))
            yield zip(tasks.map(_start, folders.items()), folders.values(), strict=True)

    def cast(self, dtype: Any) -> "ClusterSource":
        """Return the same documents with values of another type."""
        if dtype == self.dtype:
            return self
        other = ClusterSource(self._source.cast(dtype), self._cluster.client, self._folder)
        other.temporary = self.temporary
        return other

    def engine(
        self,
        kernel: "AnyKernel",
        group: Array,
        n_groups: int,
        weight: Array | None,
        *,
        unknown: bool,
    ) -> ShardEngine:
        """Return an engine for these shards."""
        from vbnmf.distributed.engine import DaskEngine

        return DaskEngine(
            kernel, self._cluster, group, n_groups, weight, unknown=unknown, folder=self._folder
        )


def of_blocks(X: Any, client: Client, folder: str | os.PathLike[str] | None) -> ClusterSource:
    """Let workers write the blocks of a Dask array as shards."""
    X = whole_rows(X)
    home = tempfile.TemporaryDirectory(prefix=".blocks-", dir=shared_folder(client, folder))
    path = Path(home.name).absolute()
    blocks = enumerate(X.to_delayed().ravel())
    written = [
        dask.delayed(write_block, pure=False)(block, path, number, X.shape[1])
        for number, block in blocks
    ]
    parts = client.gather(client.compute(written))
    found = ClusterSource(open_blocks(path, parts, X.shape[1]), client, path)
    found.temporary = home  # removed with the source
    return found


def shared_folder(client: Client, folder: str | os.PathLike[str] | None) -> str:
    """Return the given folder, or a temporary one if all workers are on this machine."""
    if folder is not None:
        return os.fspath(folder)
    here = ("inproc://", "tcp://127.0.0.1:", "tls://127.0.0.1:")
    if all(address.startswith(here) for address in client.nthreads()):
        return tempfile.gettempdir()
    raise ClusterError(
        "a fit to a Dask collection needs a folder that this process and all workers can write "
        "to. Name one with engine=Dask(folder=...)."
    )


def rows_of_shards(rows: Array, source: ShardSource) -> list[Array]:
    """Divide ascending indices of documents by shard, and count them from its first document."""
    parts = np.split(rows, np.searchsorted(rows, source.starts[1:-1]))
    return [part - first for part, first in zip(parts, source.starts, strict=False)]


def _start(shared: tuple[StartWork, ShardSource], number: int, folder: Path) -> Any:
    work, source = shared
    return work(source, number, folder)


def _same(value: Any) -> Any:
    return value
