"""A fit as a map over shards: what engines share, wherever their shards are.

All work on documents is in ``vbnmf.core.shardwork``. Here it is mapped over shards, and the sums
are added in a tree whose shape depends on the number of shards alone. So engines that hold the same
shards in different places come to the same bits.
"""

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse

from vbnmf.core import shardwork
from vbnmf.core.model import Array, State, Statistics, Totals
from vbnmf.core.shardwork import Local, OpenShard, Shard

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

SHARD_NONZEROS = 1 << 23
"""Non-zeros of a shard. 20 Newsgroups, with about a million, is one shard."""

FAN_IN = 16
"""Sums that are added one after the other before they are carried to the next level."""


class Addable(Protocol):
    """Anything with a plus."""

    def __add__(self, other: Any, /) -> Any:
        """Add another one, possibly in place."""
        ...


Sum = TypeVar("Sum", bound=Addable)
Work = Callable[[OpenShard, Local], tuple[Local, Any]]


def tree_sum(
    parts: Iterable[Sum],
    hold: Callable[[Sum], Sum] = lambda part: part,
    park: Callable[[Sum], Any] = lambda part: part,
) -> Sum:
    """Add up parts in a tree whose shape depends on their number alone.

    ``FAN_IN`` parts are added in order, their sum is carried to the next level, and so on. One sum
    a level is held at a time. ``hold(part)`` is what a sum begins with, where the memory of a part
    is used again by the next one. ``park(sum)`` takes the place of the sums of higher levels while
    that of the lowest is formed: anything to which a sum can be added. It is also called with what
    it returned before.
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


def cut(nonzeros: Array, size: int = SHARD_NONZEROS) -> Array:
    """Boundaries of shards, from the non-zeros of each document: the fewest of at most ``size``.

    A document is never divided. One with more than ``size`` non-zeros is a shard by itself.
    """
    ends = np.cumsum(nonzeros, dtype=np.int64)
    cuts = [0]
    while cuts[-1] < len(ends):
        before = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + size, side="right"))))
    return np.array(cuts if len(cuts) > 1 else [0, 0])


class ShardEngine(ABC):
    """An engine by two maps: one over shards, one over open shards and what they keep."""

    kernel: "AnyKernel"

    def __init__(self, kernel: "AnyKernel") -> None:
        self.kernel = kernel
        self._scratch = kernel.scratch()
        self.totals: Totals = tree_sum(shardwork.totals(shard) for shard in self.shards())
        self.K = 1
        self.in_scope: Array | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:  # noqa: B027 - memory needs no tidying
        """Let go of what the shards keep outside of memory."""

    def close(self) -> None:  # noqa: B027 - not every engine holds anything
        """Let go of what only sweeps need; coefficients can still be had."""

    @property
    @abstractmethod
    def n_shards(self) -> int:
        """Number of shards."""

    @abstractmethod
    def shards(self) -> Iterable[Shard]:
        """All shards, in order."""

    @abstractmethod
    def start(self, work: Callable[[OpenShard], Local]) -> None:
        """Let each shard keep what ``work`` returns, in place of what it kept."""

    @abstractmethod
    def map(self, work: Work) -> Iterator[Any]:
        """Apply work to each shard in order: keep the new local state, yield the sums."""

    def begin(self, portions: Array, in_scope: Array | None = None) -> None:
        """Start anew with each document's weight spread over the components by its group.

        ``portions`` is (n_groups, K), or (1, K) for all groups alike; rows sum to one, and are zero
        for components that are not ``in_scope``, (n_groups, K) of bool. None: all are.
        """
        self.K, self.in_scope = portions.shape[1], in_scope
        self.start(lambda shard: shardwork.begin(shard, portions, in_scope))

    def sweep(self, state: State, *, bound: bool, update: bool = True) -> Statistics:
        """Finish q(z) and q(v) with what is shared, then form all sums over the documents.

        With ``update``, R_t takes the memory of ``state.terms.shape``, which nothing needs any
        more.
        """
        out = state.terms.shape if update else None
        parts = self.map(
            lambda shard, local: shardwork.sweep(shard, state, local, bound=bound, out=out)
        )
        if self.n_shards == 1 or out is None:
            return tree_sum(parts)
        stats = tree_sum(parts, hold=_in_double_precision, park=self.park)
        assert stats.R_t is not None
        np.copyto(out, stats.R_t, casting="same_kind")
        return replace(stats, R_t=out)

    def park(self, stats: Any) -> Any:
        """Put sums of many shards where they do not take memory, if the engine has such a place."""
        return stats

    def coefficients_by_shard(self, state: State) -> Iterator[Array]:
        """E_v of the documents of each shard, (n_docs, K), as the last sweep left it."""
        return self.map(lambda shard, local: (local, shardwork.coefficients(shard, state, local)))

    def coefficients(self, state: State, rows: Array | None = None) -> Array:
        """E_v, (n_docs, K), as the last sweep left it; of ``rows``, ascending, or of all."""
        if rows is None:
            return _joined(list(self.coefficients_by_shard(state)))
        parts, first = [], 0
        for E_v in self.coefficients_by_shard(state):
            begin, end = np.searchsorted(rows, (first, first + len(E_v)))
            parts.append(E_v[rows[begin:end] - first])
            first += len(E_v)
        return _joined(parts)

    def group_term_sums(self) -> sparse.csr_array:
        """Σ_d x_dw by group, (n_groups, n_terms)."""
        sums = (shardwork.group_term_sums(shard) for shard in self.shards())
        return tree_sum(sums if self.n_shards == 1 else (each.astype(np.float64) for each in sums))

    def snapshot(self, folder: Path) -> None:
        """Write what each shard keeps to a file in a folder."""
        for number, local in enumerate(self.map(lambda shard, local: (local, local))):
            write_local(local_path(folder, number), local)

    def restore(self, folder: Path, K: int, in_scope: Array | None) -> None:
        """Let the shards keep what ``snapshot`` wrote, of K components; as ``begin`` otherwise."""
        self.K, self.in_scope = K, in_scope
        numbers = itertools.count()

        def read(shard: OpenShard) -> Local:
            memory = shard.documents.begin(
                K, None if in_scope is None else shard.by_group(in_scope)
            )
            return read_local(local_path(folder, next(numbers)), memory)

        self.start(read)

    @property
    def Sigma_v(self) -> Array:
        """Σ_w ⟨s⟩ of each document, (n_docs, K); not to be written to."""
        return _joined(list(self.map(lambda shard, local: (local, local.Sigma_v[:, : self.K]))))

    @property
    def latent(self) -> Array:
        """q(z) of the documents of unknown label, (n_unknown, n_labels), of the last sweep."""
        parts = self.map(lambda shard, local: (local, local.latent))
        return _joined([part for part in parts if len(part)])


def local_path(folder: Path, number: int) -> Path:
    """The file of what a shard keeps."""
    return folder / f"{number:05d}.local"


def write_local(path: Path, local: Local) -> None:
    """Write what a shard keeps to a file, which is replaced by renaming."""
    temporary = path.with_suffix(".part")
    with open(temporary, "wb") as file:
        np.save(file, local.latent)
        np.save(file, local.E_v)
        file.write(local.Sigma_v.data.cast("B"))
    os.replace(temporary, path)


def read_local(path: Path, Sigma_v: Array) -> Local:
    """Read what a shard keeps; its Sigma_v goes into the memory that is given."""
    with open(path, "rb") as file:
        latent, E_v = (np.load(file, allow_pickle=False) for _ in range(2))
        n_read = file.readinto(Sigma_v.data.cast("B"))
        if n_read != Sigma_v.nbytes or file.read(1):
            raise OSError(f"{path} is not whole, or is of other documents.")
    return Local(Sigma_v, latent, E_v)


def _in_double_precision(stats: Statistics) -> Statistics:
    """The same with a copy of R_t, to which that of other shards is added."""
    assert stats.R_t is not None
    return replace(stats, R_t=stats.R_t.astype(np.float64))


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.vstack(parts)
