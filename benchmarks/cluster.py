"""Measure the bytes that Dask workers send in an iteration of a fit, and predict them.

Used by ``benchmarks scale``. Workers count the bytes that they send to one another and, through the
scheduler, to the client. The prediction follows docs/guide/scale.md: shards are divided by
non-zeros, and sums are sent when the next shard of their run is on another worker. The values that
all shards share, and the sum of all shards, are files and are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from vbnmf.distributed import connect
from vbnmf.shards.shard import even_cuts

FAN_IN = 16  # sums that are added one after the other; vbnmf.engines.mapping


class Part(NamedTuple):
    """A sum: the worker that has it, and its bytes."""

    place: int
    size: int


def predicted_bytes(
    nonzeros: list[int], n_workers: int, n_terms: int, K: int, item: int = 4
) -> int:
    """Predict the bytes that workers of one thread each send in an iteration, from their shards."""
    single, double = n_terms * K * item, n_terms * K * 8
    moved = 0

    def in_order(parts: list[Part]) -> Part:
        nonlocal moved
        total: Part | None = None
        for place, run in groupby(parts, lambda part: part.place):
            several = list(run)
            if total is not None:
                moved += total.size
            alone = total is None and len(several) == 1
            total = several[0] if alone else Part(place, double)
        assert total is not None
        return total

    cuts = even_cuts(np.array(nonzeros), n_workers).tolist()
    parts = [
        Part(place, single) for place, (a, b) in enumerate(pairwise(cuts)) for _ in range(a, b)
    ]
    held: list[Part] = []
    while len(parts) >= FAN_IN:
        runs = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        sums = [in_order(run) for run in runs]
        if len(runs[-1]) < FAN_IN:
            held.append(sums.pop())
        parts = sums
    held += [in_order(parts)] if parts else []
    total = held[0]
    for higher in held[1:]:
        total = in_order([higher, total])
    return moved


@contextmanager
def workers(n_workers: int) -> Iterator[Callable[[], tuple[int, float]]]:
    """Start workers of one thread each; yield a function that reports on them.

    It returns the bytes that they sent so far, and the seconds of processor time that they took.
    """
    with connect(None, n_workers, n_threads=1) as client:

        def count() -> tuple[int, float]:
            sent, seconds = zip(*client.run(_done).values(), strict=True)
            return sum(sent), sum(seconds)

        yield count


def _done(dask_worker: object) -> tuple[int, float]:
    sent = getattr(dask_worker, "transfer_outgoing_bytes_total")  # noqa: B009
    return int(sent), time.process_time()
