"""Measure how a fit grows with the documents: in memory, from shards on disk, on Dask workers.

Documents are drawn with Zipf words, about 100 different ones each, and one of 20 labels. They are
written to a shard folder. A child process then fits ``SupervisedVBNMF`` to the folder (stream), or
loads all of it into memory first (memory), or starts Dask workers of one thread, as many as the
others have threads (dask). The bytes that workers send are compared with a prediction
(``benchmarks.cluster``). The fit is initialised at random and uses the generative prediction head,
so that only its iterations are measured, without the search for components and the training of
other heads. Times are between callbacks. On a busy machine, compare the processor time, which is
that of all threads and workers. With ``--repeats``, all kinds of fits run in turn several times,
and the fastest of each counts, because other work only makes a fit slower. Memory is the peak of
the child process above its memory after all imports, without that of Dask workers. Linux only: the
numbers come from /proc/self/status.

With ``--whole``, the model is fitted from shards with all defaults but the number of components:
the search, all iterations until it has converged, and the prediction head. The table has the
seconds and the processor time of each stage, and the accuracy on new documents.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks import cluster, measure
from vbnmf.shards.shard import SHARD_NONZEROS

N_TERMS = 50_000
N_LABELS = 20
TOKENS = 104  # about 100 different terms
PART = 20_000  # documents that are drawn at a time, and new documents of a whole fit
KINDS = ("memory", "stream", "dask")


def main(argv: list[str]) -> None:
    """Print and write the table, and the growth with the number of documents."""
    parser = argparse.ArgumentParser(prog="benchmarks scale", description=__doc__)
    measure.add_output_options(parser)
    parser.add_argument(
        "--documents", type=int, nargs="+", metavar="N", help="10000 100000 1000000"
    )
    parser.add_argument("--components", type=int, nargs="+", metavar="K", help="20 100")
    parser.add_argument("--iterations", type=int, default=6, help="of each fit (default 6)")
    parser.add_argument("--repeats", type=int, default=1, help="of each fit (default 1)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of fits")
    parser.add_argument("--whole", action="store_true", help="from the search to the head")
    parser.add_argument("--words", type=int, default=TOKENS, help=f"of a document ({TOKENS})")
    parser.add_argument(
        "--shard-nonzeros", type=int, metavar="N", help=f"of a shard ({SHARD_NONZEROS:,})"
    )
    parser.add_argument("--folder", type=Path, help="where shards are written and kept")
    options = parser.parse_args(argv)
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}")
    sizes = options.documents or ([10_000, 40_000] if options.quick else [10**4, 10**5, 10**6])
    components = options.components or ([20] if options.quick else [20, 100])
    machine = measure.machine(options.threads)
    rows: list[dict[str, object]] = []
    sent: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for n_docs in sizes:
            folder = (options.folder or Path(temporary)) / f"{n_docs}x{options.words}"
            size = options.shard_nonzeros or SHARD_NONZEROS
            nnz = _written(folder, n_docs, options.words, size)
            for K in components:
                if options.whole:
                    found = _in_child(folder, "whole", K, options)
                    rows.append({"documents": f"{n_docs:,}", "non-zeros": f"{nnz:,}", **found})
                    continue
                found = _fastest(folder, K, options)
                same_shards = options.shard_nonzeros is None  # memory is always cut like this
                rows.append(_row(n_docs, nnz, K, found, same_shards))
                if "dask" in found:
                    sent.append(_sent(folder, n_docs, K, options.threads, found["dask"]["sent"]))
                print(rows[-1], file=sys.stderr, flush=True)
    slopes = [] if options.whole else _slopes(rows)
    text = f"drawn documents, {N_TERMS:,} terms, {N_LABELS} labels; {machine}\n\n"
    text += "\n\n".join(measure.markdown(table) for table in (rows, slopes, sent) if table)
    numbers = {"machine": machine, "rows": rows, "slopes": slopes, "sent": sent}
    measure.report(options, text, numbers)


def draw(
    n_docs: int, words: int = TOKENS, new: bool = False
) -> Iterator[tuple[sp.csr_array, NDArray[np.int64]]]:
    """Yield parts of documents with their labels; half of the words of a label are shifted."""
    rng = np.random.default_rng(0)
    frequencies = (1.0 / (np.arange(N_TERMS) + 20.0)).cumsum()
    shift = rng.integers(N_TERMS, size=N_LABELS)
    if new:  # other documents of the same labels
        rng = np.random.default_rng(1)
    for first in range(0, n_docs, PART):
        n = min(PART, n_docs - first)
        y = rng.integers(N_LABELS, size=n)
        ranks = np.searchsorted(frequencies, rng.uniform(0, frequencies[-1], n * words))
        doc = np.repeat(np.arange(n), words)
        own = rng.random(n * words) < 0.5
        terms = np.where(own, (ranks + shift[y[doc]]) % N_TERMS, ranks)
        cells, counts = np.unique(doc * N_TERMS + terms, return_counts=True)
        where = np.divmod(cells, N_TERMS)
        yield sp.csr_array((counts.astype(np.float32), where), shape=(n, N_TERMS)), y


def _written(folder: Path, n_docs: int, words: int, size: int) -> int:
    """Write the shards, unless they exist, and return the number of non-zeros."""
    from vbnmf.shards import Shards, ShardWriter, is_shards

    if not is_shards(folder):
        writer = ShardWriter(folder, N_TERMS, labelled=True, shard_nonzeros=size)
        for X, y in draw(n_docs, words):
            writer.add(X, y.tolist())
        writer.finish()
    return Shards(folder).nnz


def _in_child(folder: Path, kind: str, K: int, options: argparse.Namespace) -> dict[str, float]:
    numbers = [K, options.iterations, options.threads, options.words]
    command = [sys.executable, "-m", "benchmarks.scale", str(folder), kind, *map(str, numbers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _fastest(folder: Path, K: int, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Run all kinds of fits in turn, and return the fastest of each, with its highest peak."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(options.repeats):
        for kind in options.kinds:
            new = _in_child(folder, kind, K, options)
            best = min(found.get(kind, new), new, key=lambda of: of["seconds"])
            found[kind] = best | {"peak": max(new["peak"], best["peak"])}
    return found


def _row(
    n_docs: int, nnz: int, K: int, found: dict[str, dict[str, float]], same_shards: bool
) -> dict[str, object]:
    row: dict[str, object] = {"documents": f"{n_docs:,}", "non-zeros": f"{nnz:,}", "K": K}
    row |= {f"{kind}, s an iteration": of["seconds"] for kind, of in found.items()}
    row |= {f"{kind}, processor s": of["processor"] for kind, of in found.items()}
    row |= {f"{kind}, peak MB": of["peak"] / 1e6 for kind, of in found.items()}
    others = [kind for kind in found if kind != "memory"]
    if "memory" in found:
        row |= {f"{k} / memory": found[k]["seconds"] / found["memory"]["seconds"] for k in others}
    if len(found) > 1:
        alike = [found[kind]["bound"] for kind in (found if same_shards else others)]
        row["same bits"] = "yes" if len(set(alike)) == 1 else "no"
    return row


def _sent(folder: Path, n_docs: int, K: int, n_workers: int, sent: float) -> dict[str, object]:
    """Return the bytes that Dask workers sent in an iteration, and the predicted bytes."""
    from vbnmf.shards import Shards

    nonzeros = [entry.nnz for entry in Shards(folder).entries]
    predicted = cluster.predicted_bytes(nonzeros, n_workers, N_TERMS, K)
    sizes: dict[str, object] = {"documents": f"{n_docs:,}", "shards": len(nonzeros), "K": K}
    return sizes | {
        "workers": n_workers,
        "sent an iteration, MB": sent / 1e6,
        "predicted, MB": predicted / 1e6,
        "sent / predicted": sent / predicted if predicted else "–",
    }


def _slopes(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Compute the slopes of the logarithms of times over those of the non-zeros."""
    found: list[dict[str, object]] = []
    for K in sorted({int(str(row["K"])) for row in rows}):
        of = [row for row in rows if row["K"] == K]
        work = np.log([float(str(row["non-zeros"]).replace(",", "")) for row in of])
        line: dict[str, object] = {"K": K, "sizes": len(of)}
        for kind in KINDS:
            name = f"{kind}, s an iteration"
            if len(of) > 1 and name in of[0]:
                seconds = np.array([row[name] for row in of], dtype=float)
                line[f"{kind}, slope"] = float(np.polyfit(work, np.log(seconds), 1)[0])
        found.append(line)
    return found


def _whole(folder: str, K: int, threads: int, words: int) -> dict[str, object]:
    """Fit the default model with K components, and return what its stages took."""
    from vbnmf import Shards, SupervisedVBNMF
    from vbnmf.core.fit import FITTING, HEAD, HEAD_ON_SHARDS, WITHOUT_FOLDS, Progress

    spent: dict[str, NDArray[np.float64]] = {}  # seconds and processor time of stages

    def count(stage: str) -> None:
        nonlocal last
        now = np.array([time.perf_counter(), time.process_time()])
        spent[stage] = spent.get(stage, 0.0) + now - last
        last = now

    def note(progress: Progress) -> None:
        after = (FITTING, WITHOUT_FOLDS, HEAD, HEAD_ON_SHARDS)
        count(progress.stage if progress.stage in after else "search")
        if progress.iteration % 10 == 0:
            print(progress, file=sys.stderr, flush=True)

    model = SupervisedVBNMF(K, random_state=0, n_jobs=threads, callback=note)
    last = np.zeros(2)
    model.fit(*next(draw(200)))
    count("start")
    spent.clear()
    before = _status("VmRSS")
    model.fit(Shards(folder))
    count("rest")
    peak = _status("VmHWM") - before
    row: dict[str, object] = {"K": model.n_components_, "iterations": model.n_iter_}
    for stage, of in [*spent.items(), ("all", sum(spent.values()))]:
        row |= {f"{stage}, s": of[0], f"{stage}, processor s": of[1]}
    X_new, y_new = next(draw(PART, words, new=True))
    accuracy = float((model.predict(X_new) == y_new).mean())
    return row | {"peak MB": peak / 1e6, "head": model.classifier_, "accuracy": accuracy}


def _child(folder: str, kind: str, K: int, iterations: int, threads: int) -> dict[str, float]:
    from vbnmf import Shards, SupervisedVBNMF
    from vbnmf.core.fit import FITTING, Progress

    warnings.simplefilter("ignore")  # "did not converge" is what is asked for here
    ended: list[float] = []
    begun: list[float] = []  # not the same: to count what workers did takes time
    sent: list[int] = []
    processor: list[float] = []
    count = None

    def note(progress: Progress) -> None:
        if progress.stage == FITTING:
            ended.append(time.perf_counter())
            of_workers = (0, 0.0) if count is None else count()
            sent.append(of_workers[0])
            processor.append(time.process_time() + of_workers[1])
            begun.append(time.perf_counter())

    model = SupervisedVBNMF(
        K, init="random", max_iter=iterations, tol=0, random_state=0, n_jobs=threads,
        bound_every=iterations, classifier="generative", callback=note,
    )  # fmt: skip
    small, y = next(draw(200))
    model.fit(small, y)
    for each in (ended, begun, sent, processor):
        each.clear()
    before = _status("VmRSS")
    shards = Shards(folder)
    if kind == "dask":
        with cluster.workers(threads) as count:
            model.set_params(engine="dask").fit(shards)
    elif kind == "memory":
        X = shards.take(np.arange(shards.shape[0]))
        model.fit(X, np.array(shards.labels)[shards.indicators().indices])
    else:
        model.fit(shards)
    times = (np.array(ended[1:]) - np.array(begun[:-1])).tolist()
    peak = _status("VmHWM") - before
    return {
        "seconds": statistics.median(times),
        "processor": statistics.median(np.diff(processor).tolist()),
        "sent": statistics.median(np.diff(sent).tolist()),
        "peak": float(peak),
        "bound": model.bound_,
    }


def _status(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", sys.argv[5])
    K, iterations, threads, words = map(int, sys.argv[3:7])
    if sys.argv[2] == "whole":
        print(json.dumps(_whole(sys.argv[1], K, threads, words)))
    else:
        print(json.dumps(_child(sys.argv[1], sys.argv[2], K, iterations, threads)))
