"""Measure how the time of an iteration grows with non-zeros × components.

Slices of the documents vary the non-zeros, and K varies too. Fits start at random, without scopes.
The fit of a least-squares line shows how linear the times are. ``iteration`` compares with others.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from benchmarks import inputs, measure
from benchmarks.iteration import our_seconds

Vector = NDArray[np.float64]


def main(argv: list[str]) -> None:
    """Print and write the times over sizes and the fitted lines."""
    parser = argparse.ArgumentParser(prog="benchmarks scaling", description=__doc__)
    measure.add_output_options(parser)
    inputs.add_options(parser)
    parser.add_argument("--model", choices=["SupervisedVBNMF", "VBNMF"], default="SupervisedVBNMF")
    options = parser.parse_args(argv)
    whole = inputs.load(options)
    machine = measure.machine(options.threads)
    shares = (0.25, 1.0) if options.quick else (0.125, 0.25, 0.5, 1.0)
    sizes = (32, 128) if options.quick else (32, 64, 96, 128, 192, 256)
    shuffled = np.random.default_rng(0).permutation(whole.X.shape[0])
    rows: list[dict[str, object]] = []
    for share in shares:
        docs = np.sort(shuffled[: round(share * len(shuffled))])
        part = inputs.BenchmarkMatrix(whole.name, whole.counts[docs], whole.X[docs], whole.y[docs])
        for K in sizes:
            samples = our_seconds(
                options.model, part, K, options.threads, options.quick, init="random", burn_in=0
            )
            rows.append({"nnz": part.X.nnz, "K": K, **measure.milliseconds(samples)})
    fits = _fits(rows)
    text = f"{whole.name}; {options.model}, {machine}\n\n"
    text += measure.markdown(rows) + "\n\n" + measure.markdown(fits)
    measure.report(
        options, text, {"corpus": whole.name, "machine": machine, "rows": rows, "fits": fits}
    )


def _fits(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Fit lines to all times, to those of the largest K, and to those of the most non-zeros."""
    table = np.array([[row["nnz"], row["K"], row["ms an iteration"]] for row in rows], dtype=float)
    nnz, sizes, ms = table.T
    lines = {
        "nnz × K, all sizes": nnz > 0,
        f"nnz at K = {max(sizes):.0f}": sizes == max(sizes),
        f"K at nnz = {max(nnz):,.0f}": nnz == max(nnz),
    }
    return [{"line over": name, **_line((nnz * sizes)[of], ms[of])} for name, of in lines.items()]


def _line(work: Vector, ms: Vector) -> dict[str, float]:
    slope, intercept = np.polyfit(work, ms, 1)
    residual = ms - (slope * work + intercept)
    explained = 1 - residual.var() / ms.var()
    return {"ns per nnz·K": 1e6 * slope, "fixed ms": float(intercept), "R²": float(explained)}
