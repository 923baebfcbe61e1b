"""Time one iteration of both models and of scikit-learn, hpfrec and tomotopy, in one run.

A time is the difference between two fits of different length, or between callbacks of two
iterations, so that it does not include the preparation. vbnmf is timed before and after the other
libraries. The limit is the time to read X in both orders, and to read and write both factors, once,
at the copy bandwidth measured in the same run. The share of the limit is this time divided by the
measured time. With one thread, times are those of the processor, so that other programs hardly
change them. With more threads they are those of the clock, so run it on a machine that does nothing
else. ``scaling`` measures how the time grows, ``memory`` measures memory.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from itertools import pairwise

import scipy.sparse as sp

from benchmarks import inputs, measure, peers

OURS = {"SupervisedVBNMF": "vbnmf, supervised", "VBNMF": "vbnmf, unsupervised"}


def main(argv: list[str]) -> None:
    """Print and write the table of milliseconds an iteration and of ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks iteration", description=__doc__)
    measure.add_output_options(parser)
    inputs.add_options(parser)
    keys = [peer.key for peer in peers.PEERS]
    parser.add_argument("--components", type=int, nargs="+", metavar="K", help="20 100 200")
    parser.add_argument("--peers", nargs="*", choices=keys, default=keys, help="default: all")
    parser.add_argument("--peers-only", action="store_true", help="leave vbnmf itself out")
    options = parser.parse_args(argv)
    data = inputs.load(options)
    sizes = options.components or ([100] if options.quick else [20, 100, 200])
    machine = measure.machine(options.threads)
    bandwidth = measure.copy_bandwidth(options.threads)
    rows: list[dict[str, object]] = []
    for K in sizes:
        rows += _rows(data, K, bandwidth, options)
    missing = sorted({p.package for p in _chosen(options) if not p.installed})
    text = (
        f"{data.name}; {machine}; copy bandwidth {bandwidth / 1e9:.1f} GB/s\n\n"
        + measure.markdown(rows)
        + (f"\n\nNot installed, so not timed: {', '.join(missing)}." if missing else "")
    )
    results = {"corpus": data.name, "machine": machine, "bandwidth": bandwidth}
    measure.report(options, text, results | {"missing": missing, "rows": rows})


class _Timed(Exception):
    """Ends a fit after the iterations that were timed."""


def our_seconds(
    model: str, data: inputs.BenchmarkMatrix, K: int, threads: int, quick: bool, **settings: object
) -> measure.Samples:
    """Sample the seconds of an iteration of the estimator `model`, between callbacks of one fit.

    The search before the fit and the first iterations are not timed.
    """
    import vbnmf
    from vbnmf.core.fit import FITTING

    first, runs, length = 5, 3 if quick else 9, 5  # each sample is the mean of `length` iterations
    clock, stamps = measure.clock(threads), []

    def stamp(progress: vbnmf.core.fit.Progress) -> None:
        if progress.stage != FITTING or progress.iteration < first:
            return
        if (progress.iteration - first) % length == 0:
            stamps.append(clock())
        if len(stamps) > runs:
            raise _Timed

    with contextlib.suppress(_Timed):
        getattr(vbnmf, model)(
            n_components=K, max_iter=100, tol=0, random_state=0, n_jobs=threads, callback=stamp,
            **settings,
        ).fit(data.X, data.y)  # fmt: skip
    return [(after - before) / length for before, after in pairwise(stamps)]


def _rows(
    data: inputs.BenchmarkMatrix, K: int, bandwidth: float, options: argparse.Namespace
) -> list[dict[str, object]]:
    """Return a row for each method at this K; ratios are relative to both models of vbnmf."""
    ours: dict[str, measure.Samples] = {}
    others: dict[str, measure.Samples | None] = {}

    def time_ours() -> None:
        for model, name in () if options.peers_only else OURS.items():
            samples = our_seconds(model, data, K, options.threads, options.quick)
            _tell(K, name, samples)
            ours[name] = ours.get(name, []) + samples

    # Ours before and after: if the machine got busier meanwhile, the range of ours shows it.
    time_ours()
    for peer in _chosen(options):
        others[peer.name] = peer.time(data, K, options.threads, options.quick)
        _tell(K, peer.name, others[peer.name])
    time_ours()

    limit = _bytes_moved(data.X, K) / bandwidth
    rows: list[dict[str, object]] = []
    for name, samples in (ours | others).items():
        row = {"K": K, "method": name, **measure.milliseconds(samples)}
        for our_name, our_samples in ours.items():
            row[f"× {our_name}"] = measure.ratio(samples, our_samples)
        row["share of the limit"] = measure.ratio([limit], samples) if name in ours else None
        rows.append(row)
    return rows


def _tell(K: int, name: str, samples: measure.Samples | None) -> None:
    """Print each result at once, because slow libraries take minutes and a run may be stopped."""
    print(f"K = {K}, {name}: {measure.milliseconds(samples)}", file=sys.stderr, flush=True)


def _chosen(options: argparse.Namespace) -> list[peers.Peer]:
    return [peer for peer in peers.PEERS if peer.key in options.peers]


def _bytes_moved(X: sp.csr_matrix, K: int) -> int:
    """Compute the bytes to read X in both orders, and to read and write both factors, once."""
    factors = int(sum(X.shape) * K * X.dtype.itemsize)
    return measure.both_orders(X) + 2 * factors
