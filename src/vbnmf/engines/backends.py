"""Where documents can be, other than in this process: the one seam to clusters.

A *backend* places the documents of a fit on a cluster. A *collection* is a matrix, or a list of
labels or weights, whose parts are on a cluster or are computed later. This file has the protocols
of both. The package itself (``vbnmf``) lists the rooms that implement them, and imports one when it
is used. So no room below knows a kind of cluster, and a new kind is a room and a line of the list.

A room has ``backend()``, which returns the default settings, and ``collection(values)``, which
returns None for values that are no collection.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from vbnmf import CLUSTERS, COLLECTIONS, cluster_room
from vbnmf.core.model import Array
from vbnmf.engines.mapping import ShardEngine
from vbnmf.shards.shard import ShardSource

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel


@runtime_checkable
class Backend(Protocol):
    """The settings of a cluster, for ``engine=...``."""

    def place(self, X: Any) -> "PlacedSource":
        """Return documents as shards that the workers of the cluster read."""
        ...


@runtime_checkable
class PlacedSource(ShardSource, Protocol):
    """Shards with their own engine, such as those on a cluster."""

    def engine(
        self,
        kernel: "AnyKernel",
        group: Array,
        n_groups: int,
        weight: Array | None,
        *,
        unknown: bool,
    ) -> ShardEngine:
        """Return an engine for these shards; arguments as for ``StreamEngine``."""
        ...

    def by_shard(self, work: Callable[..., Any], each: Iterable[Any]) -> list[Any]:
        """Return ``work(rows, value)`` of each shard, where its documents are, with its value."""
        ...

    def map_starts(
        self, work: "StartWork", numbers: Iterable[int]
    ) -> AbstractContextManager[Iterator[tuple[Any, Path]] | None]:
        """Run starts of a fit at the same time, each on one worker.

        The context yields, in the order of the starts, what ``work(source, number, folder)``
        returns, and the folder. It yields None if a start is better run on all workers. Folders
        are removed at the end of the context.
        """
        ...


StartWork = Callable[[ShardSource, int, Path], Any]


class Collection(Protocol):
    """Values whose parts are elsewhere, or are computed later."""

    name: str  # the backend, as in ``engine=...``
    is_matrix: bool

    def map(self, work: Callable[[Any], Any], like: Array, n_columns: int | None = None) -> Any:
        """Apply work to each block of rows of a matrix, later.

        ``like`` is a result of the work. The matrix must have ``n_columns``, if given.
        """
        ...

    def compute(self) -> Any:
        """Return the values in memory."""
        ...


def place(engine: Any, X: Any) -> Any:
    """Return the documents of a fit as the parameter ``engine`` needs them.

    With "auto", which runs in this process, they are returned unchanged.
    """
    if not (isinstance(engine, str) and engine == "auto"):
        return backend_of(engine).place(X)
    lazy = matrix_of(X)
    if lazy is not None:
        raise ValueError(
            f"engine='auto' takes no {lazy.name.title()} array; use engine={lazy.name!r} to fit to "
            "one."
        )
    return X


def backend_of(engine: Any) -> Backend:
    """Return the backend of the parameter ``engine``, which is a name or a backend."""
    if isinstance(engine, str) and engine in CLUSTERS:
        named: Backend = cluster_room(engine).backend()
        return named
    if isinstance(engine, str) or not isinstance(engine, Backend):
        names = ", ".join(f'"{name}"' for name in ("auto", *CLUSTERS))
        raise ValueError(f"engine must be {names} or the settings of a cluster; got {engine!r}.")
    return engine


def collection_of(values: Any) -> Collection | None:
    """Return values as a collection of their backend; None if they are in memory."""
    kind = COLLECTIONS.get(type(values).__module__.partition(".")[0])
    if kind is None:
        return None
    found: Collection | None = cluster_room(kind).collection(values)
    return found


def matrix_of(X: Any) -> Collection | None:
    """Return a matrix as a collection of its backend; None if it is in memory, or no matrix."""
    found = collection_of(X)
    return found if found is not None and found.is_matrix else None


def computed(values: Any) -> Any:
    """Return labels or weights in memory."""
    found = collection_of(values)
    return values if found is None else found.compute()
