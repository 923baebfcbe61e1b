"""Map the work on documents over shards, and add up the sums: the base of all engines.

The work itself is in ``vbnmf.shards.work``. Sums are added in a tree whose shape depends only on
the number of shards. Engines that hold the same shards in different places therefore give the same
bits.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array, State, Statistics, Totals
from vbnmf.shards import work as shardwork
from vbnmf.shards.shard import Local, OpenShard, Shard
from vbnmf.shards.states import local_path, read_local, write_local

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

FAN_IN = 16
"""Number of sums that are added in order to one sum of the next level of the tree."""


class Addable(Protocol):
    """Type of objects that can be added with ``+``."""

    def __add__(self, other: Any, /) -> Any:
        """Add another object, possibly in place."""
        ...


Sum = TypeVar("Sum", bound=Addable)
Work = Callable[[OpenShard, Local], tuple[Local, Any]]


def tree_sum(
    parts: Iterable[Sum],
    hold: Callable[[Sum], Sum] = lambda part: part,
    park: Callable[[Sum], Any] = lambda part: part,
) -> Sum:
    """Add up parts in a tree whose shape depends only on their number.

    ``FAN_IN`` parts are added in order to one sum of the next level, and so on. Only one sum per
    level is held.

    Parameters
    ----------
    parts : iterable
        The parts. A part may reuse the memory of the part before.
    hold : callable
        Returns a part to which others can be added: a copy, if memory is reused.
    park : callable
        Called with the sums of higher levels while the lowest level is being added. It may return
        anything to which a sum can be added, such as a file, and is also called with that.
    """
    levels: list[tuple[int, Sum | None]] = []
    for part in parts:
        carried, level = part, 0
        while True:
            if level == len(levels):
                levels.append((0, None))
            count, held = levels[level]
            if held is not None:
                carried = held + carried
            elif level == 0:
                levels[1:] = [(n, None if s is None else park(s)) for n, s in levels[1:]]
                carried = hold(carried)
            if count + 1 < FAN_IN:
                levels[level] = (count + 1, carried)
                break
            levels[level] = (0, None)
            level += 1
    left = [held for _count, held in levels if held is not None]
    total = left[0]
    for held in left[1:]:
        total = held + total
    return total


class ShardEngine(ABC):
    """Base class of engines. Subclasses hold the shards and their local states."""

    kernel: "AnyKernel"

    def __init__(self, kernel: "AnyKernel") -> None:
        self.kernel = kernel
        self.totals: Totals = self.add_up(shardwork.totals)
        self.K = 1
        self.in_scope: Array | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:  # noqa: B027 - memory needs no tidying
        """Remove the local states that are stored outside memory."""

    def close(self) -> None:  # noqa: B027 - not every engine holds anything
        """Free the memory that only sweeps need. Coefficients can still be computed."""

    @property
    @abstractmethod
    def n_shards(self) -> int:
        """Number of shards."""

    @abstractmethod
    def shards(self) -> Iterable[Shard]:
        """Return all shards in order."""

    @abstractmethod
    def start(self, work: Callable[[OpenShard], Local]) -> None:
        """Set the local state of each shard to what ``work`` returns."""

    @abstractmethod
    def map(self, work: Work) -> Iterator[Any]:
        """Apply work to each shard in order. Store the new local state, and yield the sums."""

    def add_up(self, work: Callable[[Shard], Sum]) -> Sum:
        """Apply work to each shard and add up the results."""
        return tree_sum(work(shard) for shard in self.shards())

    def begin(self, portions: Array, in_scope: Array | None = None) -> None:
        """Initialise all documents: spread the weight of each over the components, by its group.

        ``portions`` is (n_groups, K), or (1, K) if all groups have the same. Rows sum to one, and
        are zero for components outside scopes. ``in_scope`` is (n_groups, K) of bool, or None if
        all groups may use all components.
        """
        self.K, self.in_scope = portions.shape[1], in_scope
        self.start(partial(shardwork.begin, portions=portions, in_scope=in_scope))

    def sweep(
        self, state: State, *, bound: bool, update: bool = True, beta: float | None = None
    ) -> Statistics:
        """Complete q(z) and q(v) from the shared state, then compute all sums over documents.

        With ``update``, R_t is written to the memory of ``state.terms.shape``, which is no longer
        needed. With a number ``beta``, the documents can step back behind this sweep, and q(v) is
        extrapolated by ``beta`` from the sweep before.
        """
        out = state.terms.shape if update else None
        parts = self.map(
            lambda shard, local: shardwork.sweep(
                shard, state, local, bound=bound, out=out, beta=beta
            )
        )
        if self.n_shards == 1 or out is None:
            return tree_sum(parts)
        stats = tree_sum(parts, hold=in_double_precision, park=self.park)
        assert stats.R_t is not None
        np.copyto(out, stats.R_t, casting="same_kind")
        return replace(stats, R_t=out)

    def step_back(self) -> None:
        """Bring the documents to where they were before the last sweep."""
        self.change(shardwork.step_back)

    def change(self, work: Callable[[OpenShard, Local], Local]) -> None:
        """Set the local state of each shard to the result of ``work``."""
        for _none in self.map(lambda shard, local: (work(shard, local), None)):
            pass

    def park(self, stats: Any) -> Any:
        """Put sums of many shards where they do not take memory, if the engine has such a place."""
        return stats

    def relax(self, state: State) -> Statistics:
        """Update the coefficients with what is shared, without sums over terms."""
        return tree_sum(
            self.map(
                lambda shard, local: shardwork.sweep(
                    shard, state, local, bound=False, out=None, update=True
                )
            )
        )

    def coefficients_by_shard(self, state: State) -> Iterator[Array]:
        """Yield E_v of the last sweep, (n_docs, K), for the documents of each shard."""
        return self.map(partial(coefficients_of, state=state))

    def coefficients(self, state: State, rows: Array | None = None) -> Array:
        """Compute E_v of the last sweep, (n_docs, K), for ``rows`` (ascending) or all documents."""
        if rows is None:
            return joined(list(self.coefficients_by_shard(state)))
        parts, first = [], 0
        for E_v in self.coefficients_by_shard(state):
            begin, end = np.searchsorted(rows, (first, first + len(E_v)))
            parts.append(E_v[rows[begin:end] - first])
            first += len(E_v)
        return joined(parts)

    def group_term_sums(self) -> sparse.csr_array:
        """Compute Σ_d x_dw by group, (n_groups, n_terms)."""
        return self.add_up(
            shardwork.group_term_sums if self.n_shards == 1 else _group_term_sums_in_double
        )

    def label_term_documents(self, known: sparse.csr_array) -> sparse.csr_array:
        """Count the documents that have each term: by label, and all, (n_labels + 1, n_terms)."""
        counts = self.add_up(partial(shardwork.label_term_documents, known=known))
        return counts.copy()  # of a cluster, the sum is in memory that cannot be written to

    def snapshot(self, folder: Path) -> None:
        """Write the local state of each shard to a file in a folder."""
        for number, local in enumerate(self.map(lambda shard, local: (local, local))):
            write_local(local_path(folder, number), local)

    def restore(self, folder: Path, K: int, in_scope: Array | None) -> None:
        """Read the local states that ``snapshot`` wrote; other arguments are as in ``begin``."""
        self.K, self.in_scope = K, in_scope
        numbers = itertools.count()

        def read(shard: OpenShard) -> Local:
            memory = shard.documents.begin(
                K, None if in_scope is None else shard.by_group(in_scope)
            )
            path = local_path(folder, next(numbers))
            local = read_local(path, memory, shard.documents.memory)
            if len(local.latent) != shard.n_unknown:
                raise ValueError(f"{path.name} belongs to other documents")
            return local

        self.start(read)

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s⟩ of each document, (n_docs, K). It must not be changed."""
        return joined(list(self.map(partial(_Sigma_v, K=self.K))))

    @property
    def latent(self) -> Array:
        """q(z) of the last sweep for documents with unknown labels, (n_unknown, n_labels)."""
        return joined([part for part in self.map(_latent) if len(part)])


def in_double_precision(stats: Statistics) -> Statistics:
    """Return the sums with a copy of R_t in double precision, to which other R_t are added."""
    if stats.R_t is None:
        return stats
    return replace(stats, R_t=stats.R_t.astype(np.float64))


# Unlike lambdas, these functions can be sent to other processes.


def coefficients_of(shard: OpenShard, local: Local, state: State) -> tuple[Local, Array]:
    """Compute E_v of the documents of a shard; its local state does not change."""
    return local, shardwork.coefficients(shard, state, local)


def _Sigma_v(shard: OpenShard, local: Local, K: int) -> tuple[Local, Array]:
    return local, local.Sigma_v[:, :K]


def _latent(shard: OpenShard, local: Local) -> tuple[Local, Array]:
    return local, local.latent


def _group_term_sums_in_double(shard: Shard) -> sparse.csr_array:
    return shardwork.group_term_sums(shard).astype(np.float64)


def joined(parts: list[Array]) -> Array:
    """Stack the rows of all parts."""
    return parts[0] if len(parts) == 1 else np.vstack(parts)
