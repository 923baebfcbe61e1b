"""Measure the peak memory of a fit, and compare it with the size of X, the factors and the weights.

X counts in both orders, and the weights are those of the prediction head: labels times words and
components. The peak includes X itself, in one order. A child process imports everything and fits a
small slice, so that lazy imports and threads do not count. Then it loads X, notes its resident
memory, fits, and reports its peak. Linux only: the numbers come from /proc/self/status.

With ``--corpora``, the documents are those of a folder, and the number of components is the default
of each model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks import inputs, measure

MODELS = ("SupervisedVBNMF", "VBNMF")
COMPONENTS = (20, 100, 200)


@dataclass(frozen=True)
class Peak:
    """A fit: its number of components, and its peak above the memory before it, in bytes."""

    n_components: int
    n_bytes: int


def main(argv: list[str]) -> None:
    """Print and write the table of peaks and ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks memory", description=__doc__)
    measure.add_output_options(parser)
    inputs.add_options(parser)
    parser.add_argument("--folder", type=Path, help="folder with NAME-train.csv.gz")
    parser.add_argument("--corpora", nargs="+", default=[], metavar="NAME", help="of the folder")
    options = parser.parse_args(argv)
    if options.corpora and options.folder is None:
        parser.error("--corpora needs --folder, in which the corpora are")
    texts, results = [], []
    for name, X, y in _corpora(options):
        rows = _rows(X, y, options)
        texts.append(f"{name}; {options.threads} threads\n\n{measure.markdown(rows)}")
        results.append({"corpus": name, "rows": rows})
    measure.report(options, "\n\n".join(texts), {"corpora": results})


def _corpora(options: argparse.Namespace) -> Iterator[tuple[str, sp.csr_matrix, NDArray[Any]]]:
    """Yield the name, the matrix and the labels of each corpus."""
    if not options.corpora:
        data = inputs.load(options)
        yield data.name, data.X, data.y
    for name in options.corpora:
        X, y = _read(options.folder / f"{name}-train.csv.gz")
        yield inputs.title(name, X), X, y


def _read(path: Path) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Read labelled documents with the defaults of ``DocumentVectorizer``."""
    from vbnmf.data import read_documents
    from vbnmf.text import DocumentVectorizer

    documents = read_documents(path, label="auto")
    X = sp.csr_matrix(DocumentVectorizer().fit_transform(documents.texts))
    return X, np.unique(documents.labels, return_inverse=True)[1]


def _rows(
    X: sp.csr_matrix, y: NDArray[Any], options: argparse.Namespace
) -> list[dict[str, object]]:
    """Measure all models on a corpus."""
    rows: list[dict[str, object]] = []
    numbers: tuple[int | None, ...] = (None,) if options.corpora else COMPONENTS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, y=y, shape=X.shape, data=X.data, indices=X.indices, indptr=X.indptr)
        for K in (100,) if options.quick and not options.corpora else numbers:
            for model in MODELS:
                n_labels = len(np.unique(y)) if model == "SupervisedVBNMF" else 0
                rows.append(_row(X, n_labels, model, _in_child(path, model, K, options.threads)))
    return rows


def _row(X: sp.csr_matrix, n_labels: int, model: str, found: Peak) -> dict[str, object]:
    """Compare a peak with what the fit has to hold."""
    K, both = found.n_components, measure.both_orders(X)
    numbers = sum(X.shape) * K + n_labels * (X.shape[1] + K)
    needed = both + numbers * X.dtype.itemsize
    return {
        "K": K,
        "model": model,
        "X in both orders + factors + weights, MB": needed / 1e6,
        "peak with X, MB": (found.n_bytes + both / 2) / 1e6,
        "ratio": (found.n_bytes + both / 2) / needed,
    }


def _in_child(path: Path, model: str, K: int | None, threads: int) -> Peak:
    """Fit in a new process. K is None for the default number of components."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        str(path),
        model,
        str(K or 0),
        str(threads),
    ]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return Peak(**json.loads(done.stdout))


def _child(path: str, model: str, K: int, threads: int) -> Peak:
    import vbnmf

    warnings.simplefilter("ignore")  # "did not converge" is what is asked for here
    estimator = getattr(vbnmf, model)(
        n_components=K or "auto", max_iter=12, tol=0, random_state=0, n_jobs=threads
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
    return Peak(len(estimator.components_), _status("VmHWM") - before)


def _status(field: str) -> int:
    """Return a field of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(asdict(_child(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))))
