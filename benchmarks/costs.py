"""Predict the time of an iteration on one machine and on a cluster, and check it by simulation.

The formula adds up what an iteration waits for; all numbers are for one iteration:

    compute   non-zeros × (a + b K) / threads
    files     bytes that do not stay in memory / bandwidth of the folder: 16 for each non-zero, and
              8 for each document and component, which are read and written; on a cluster the
              latter always go to the shared folder
    tasks     tasks / 4,000 a second, which is what a Dask scheduler handles
    share     terms × K × 4 bytes, which every worker reads from the shared folder at the same time:
              / network or × workers / folder, whichever takes longer
    sums      terms × K × 8 bytes / network × levels of the tree, then 4 bytes to the folder and
              from there to the client
    step      terms × K × c at the client, in one thread

a, b and c are measured first, in processor time of one thread, on documents drawn as in
``benchmarks scale`` with 20 and 100 components. Documents have 100 non-zeros and shards 2²³ of
them. Half of the memory of a machine keeps files.

The simulation runs one iteration task by task instead. The scheduler hands tasks out one after the
other. A thread has one task, or several if it has more than 16 shards. Each shard takes compute and
files times a random factor (log-normal, 20 %), and all tasks share the bandwidth of the folder.
Sums move between workers as in ``benchmarks.cluster``, one at a time for each worker. It does not
include failures, slow machines or other users of the network.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks import measure, scale

NONZEROS, SHARD, FAN_IN, TASKS = 100, 1 << 23, 16, 4000.0


@dataclass(frozen=True)
class Machines:
    """Machines of one kind, and their network and folder."""

    name: str
    workers: int
    threads: int  # of each worker
    memory: float  # bytes of each
    network: float  # bytes a second between two
    folder: float  # bytes a second of the disk, or of the shared folder for all together


# as m6i.4xlarge of AWS, with a disk of 2 GB/s, and a shared folder of 20 GB/s for all together
THREADS, MEMORY, NETWORK = 16, 64e9, 1.25e9
ONE = Machines("one machine", 1, THREADS, MEMORY, math.inf, 2e9)
MANY = Machines("100 machines", 100, THREADS, MEMORY, NETWORK, 20e9)


@dataclass(frozen=True)
class Costs:
    """Seconds of one thread: for a non-zero, for a non-zero and component, for a term's weight."""

    nonzero: float
    component: float
    weight: float


def measured(n_docs: int) -> Costs:
    """Measure the costs on this machine, in processor time."""
    from vbnmf.kernels import open_kernel

    X, y = (list(each) for each in zip(*scale.draw(n_docs), strict=True))
    documents, labels = sp.csr_array(sp.vstack(X, format="csr")), np.concatenate(y)
    K = np.array([20, 100])
    seconds = np.array([_an_iteration(documents, labels, int(each)) for each in K])
    with open_kernel() as kernel:
        R, L = (kernel.zeros(scale.N_TERMS, 100, np.dtype(np.float32)) for _ in range(2))
        R[:], L[:] = 1.0, 1.0
        begin = time.process_time()
        kernel.gamma_rows(R, L, np.ones(100), 0.1, tally=False)
        weight = (time.process_time() - begin) / (scale.N_TERMS * 100)
    component, nonzero = np.polyfit(K, (seconds - weight * scale.N_TERMS * K) / documents.nnz, 1)
    return Costs(float(nonzero), float(component), weight)


def _an_iteration(X: sp.csr_array, y: NDArray[np.int64], K: int) -> float:
    from vbnmf import SupervisedVBNMF

    stamps: list[float] = []
    model = SupervisedVBNMF(
        K, init="random", max_iter=6, tol=0, random_state=0, n_jobs=1, bound_every=6,
        classifier="generative", callback=lambda _: stamps.append(time.process_time()),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return statistics.median(np.diff(stamps[:6]).tolist())


def bytes_of_files(docs: float, K: int, on: Machines) -> float:
    """Compute the bytes that an iteration reads from the folder and writes to it."""
    shards, state = docs * NONZEROS * 16, docs * 8 * (-(-K // 16) * 16)
    stays = (shards + state if on.workers == 1 else shards) <= on.workers * on.memory / 2
    if on.workers == 1:
        return 0.0 if stays else shards + state
    return state if stays else shards + state


def share(K: int, terms: int, on: Machines) -> float:
    """Compute the seconds until all workers have read the shared values."""
    size = terms * K * 4
    return 0.0 if on.workers == 1 else max(size / on.network, size * on.workers / on.folder)


def formula(docs: float, K: int, terms: int, on: Machines, costs: Costs) -> dict[str, float]:
    """Compute the seconds of each part of an iteration."""
    nnz = docs * NONZEROS
    shards = max(1, math.ceil(nnz / SHARD))
    alone = on.workers == 1  # all threads then work on the same shard
    used = on.threads if alone else min(shards, on.workers * on.threads)
    # on a cluster, threads may be idle in the last round of shards
    rounds = 1.0 if alone else math.ceil(shards / used) * used / shards
    tasks = min(shards, used + shards / FAN_IN)
    levels = 0 if alone else math.ceil(math.log(on.workers, FAN_IN)) + 1
    return {
        "compute": nnz * (costs.nonzero + costs.component * K) / used * rounds,
        "files": bytes_of_files(docs, K, on) / on.folder,
        "tasks": 0.0 if alone else tasks / TASKS,
        "share": share(K, terms, on),
        "sums": terms * K * 8 / on.network * (levels + 1) if not alone else 0.0,
        "step": terms * K * costs.weight,
    }


def simulated(docs: float, K: int, terms: int, on: Machines, costs: Costs, seed: int = 0) -> float:
    """Simulate an iteration task by task, and return its seconds."""
    rng = np.random.default_rng(seed)
    nnz = docs * NONZEROS
    shards = max(1, math.ceil(nnz / SHARD))
    alone = on.workers == 1
    if alone:
        on = replace(on, threads=1)
        costs = Costs(costs.nonzero / THREADS, costs.component / THREADS, costs.weight)
    hop = terms * K * 4 / on.network
    n_threads = on.workers * on.threads
    work = nnz / shards * (costs.nonzero + costs.component * K)
    io = bytes_of_files(docs, K, on) / shards / (on.folder / min(shards, n_threads))
    noise = np.exp(rng.normal(-0.02, 0.2, shards))
    threads = (np.arange(shards) * n_threads // shards).tolist()
    free = [share(K, terms, on)] * n_threads
    ready: list[float] = []  # when the sums of each shard are ready: at the end of its task
    tasks = groupby(range(shards), lambda i: (threads[i], i // FAN_IN))
    for handed_out, ((thread, _), numbers) in enumerate(tasks):
        task = list(numbers)
        begin = max(free[thread], 0.0 if alone else handed_out / TASKS)
        free[thread] = begin + (work + io) * float(noise[task].sum())
        ready += [free[thread]] * len(task)
    at = [thread // on.threads for thread in threads]
    busy = [0.0] * on.workers  # until when the link of a worker is taken
    while len(ready) > 1:
        sums, places = [], []
        for first in range(0, len(ready), FAN_IN):
            total, where = ready[first], at[first]
            for i in range(first + 1, min(first + FAN_IN, len(ready))):
                if at[i] != where:
                    total = max(total, busy[where]) + 2 * hop
                    busy[where], where = total, at[i]
                total = max(total, ready[i])
            sums.append(total)
            places.append(where)
        ready, at = sums, places
    return ready[0] + (0.0 if alone else 2 * hop) + terms * K * costs.weight


def main(argv: list[str]) -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(
        prog="benchmarks costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    measure.add_output_options(parser)
    parser.add_argument("--components", type=int, default=100, metavar="K")
    parser.add_argument("--terms", type=int, default=100_000)
    parser.add_argument(
        "--costs", type=float, nargs=3, metavar=("A", "B", "C"), help="instead of measuring them"
    )
    options = parser.parse_args(argv)
    costs = Costs(*options.costs) if options.costs else measured(4000 if options.quick else 40_000)
    rows: list[dict[str, object]] = []
    for on in (ONE, MANY):
        for docs in (1e6, 1e7, 1e8, 1e9):
            parts = formula(docs, options.components, options.terms, on, costs)
            total = sum(parts.values())
            played = simulated(docs, options.components, options.terms, on, costs)
            disk = docs * (16 * NONZEROS + 8 * options.components)
            rows.append(
                {"on": on.name, "documents": f"{docs:,.0f}"}
                | {f"{name}, s": seconds for name, seconds in parts.items()}
                | {"total, s": total, "simulated, s": played, "simulated / total": played / total}
                | {"largest part": max(parts, key=parts.__getitem__), "on disk, TB": disk / 1e12}
            )
    text = (
        f"K = {options.components}, {options.terms:,} terms; a = {costs.nonzero:.3g} s, "
        f"b = {costs.component:.3g} s, c = {costs.weight:.3g} s\n\n"
    )
    text += measure.markdown(rows)
    measure.report(options, text, {"costs": vars(costs), "rows": rows})
