"""Measure the peak memory of a fit above X, and compare it with the size of X and the factors.

X counts in both orders. A child process imports everything and fits a small slice, so that lazy
imports and threads do not count. Then it loads X, notes its resident memory, fits, and reports its
peak. Linux only: the numbers come from /proc/self/status.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import inputs, measure

MODELS = ("SupervisedVBNMF", "VBNMF")


def main(argv: list[str]) -> None:
    """Print and write the table of peaks and ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks memory", description=__doc__)
    measure.add_output_options(parser)
    inputs.add_options(parser)
    options = parser.parse_args(argv)
    data = inputs.load(options)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        arrays = {"data": data.X.data, "indices": data.X.indices, "indptr": data.X.indptr}
        np.savez(path, y=data.y, shape=np.array(data.X.shape), **arrays)
        for K in [100] if options.quick else [20, 100, 200]:
            factors = sum(data.X.shape) * K * data.X.dtype.itemsize
            needed = measure.both_orders(data.X) + factors
            for model in MODELS:
                peak = _in_child(path, model, K, options.threads)
                rows.append(
                    {
                        "K": K,
                        "model": model,
                        "X in both orders + factors, MB": needed / 1e6,
                        "peak above X, MB": peak / 1e6,
                        "ratio": peak / needed,
                        "ratio with X itself": (peak + measure.both_orders(data.X) / 2) / needed,
                    }
                )
    text = f"{data.name}; {options.threads} threads\n\n{measure.markdown(rows)}"
    measure.report(options, text, {"corpus": data.name, "rows": rows})


def _in_child(path: Path, model: str, K: int, threads: int) -> int:
    """Return the peak memory of a fit above the resident memory before it, in bytes."""
    command = [sys.executable, "-m", "benchmarks.memory", str(path), model, str(K), str(threads)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return int(json.loads(done.stdout))


def _child(path: str, model: str, K: int, threads: int) -> int:
    import vbnmf

    warnings.simplefilter("ignore")  # "did not converge" is what is asked for here
    estimator = getattr(vbnmf, model)(
        n_components=K, max_iter=12, tol=0, random_state=0, n_jobs=threads
    )
    with np.load(path) as held:
        y = held["y"]
        X = sp.csr_matrix((held["data"], held["indices"], held["indptr"]), shape=held["shape"])
    estimator.fit(X[:200], y[:200])
    # Sets the peak back to the present. Where that is not allowed the peak of loading stays in: an
    # overestimate at worst.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status("VmRSS")
    estimator.fit(X, y)
    return _status("VmHWM") - before


def _status(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
