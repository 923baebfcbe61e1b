"""Measure the size of a model file, and the memory and time of loading it.

Documents are drawn: their words come from one Zipf distribution for all labels, and from one for
each label. A ``DocumentModel`` is fitted to them with two components for each label, and saved.
Then new processes load the file, and predict one document. Memory is that of a process after this,
minus that of a process that has imported the same modules. "in full" is what the components and the
weights of words take in single precision, without leaving out the prior and zeros.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import vbnmf
from benchmarks.measure import machine, markdown

_LOADING = """
import re, sys, time
from pathlib import Path
import vbnmf
def memory(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(name + r":\\s*(\\d+)", status)[1]) / 1000
read = getattr(vbnmf, sys.argv[2])
if sys.argv[2] == "load":
    import vbnmf.pipeline.documentmodel, vbnmf.estimators.saving
import vbnmf.text.transforming, vbnmf.prediction.training
before, begin = memory("VmRSS"), time.process_time()
model = read(sys.argv[1])
model.predict(["w1 w20 w300"])
print(time.process_time() - begin, memory("VmRSS") - before, memory("VmHWM") - before)
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(prog="benchmarks models", description=__doc__)
    add = parser.add_argument
    add("--terms", type=int, default=100_000, help="number of different words (default 100000)")
    add("--labels", type=int, default=150, help="number of labels (default 150)")
    add("--documents", type=int, default=30_000, help="number of documents (default 30000)")
    add("--words", type=int, default=60, help="words of a document (default 60)")
    add("--iterations", type=int, default=15, help="iterations of the fit (default 15)")
    options = parser.parse_args(argv)
    texts, labels = drawn(options)
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder, "model.vbnmf")
        estimator = vbnmf.SupervisedVBNMF(
            2 * options.labels, max_iter=options.iterations, random_state=0
        )
        model = vbnmf.DocumentModel(estimator, features="none").fit(texts, labels)
        model.save(path)
        fitted = model.estimator_.fitted_
        shapes, words = fitted.components.shapes, fitted.head.head.words
        in_full = 4 * (np.prod(shapes.shape) + np.prod(words.shape)) / 1e6
        rows = [
            {
                "terms × components × labels": " × ".join(
                    map(str, (*shapes.shape, len(model.classes_)))
                ),
                "loaded by": name,
                "in full, MB": float(in_full),
                "file, MB": path.stat().st_size / 1e6,
                **dict(
                    zip(
                        ("CPU seconds", "memory, MB", "at most, MB"),
                        loaded(path, name),
                        strict=True,
                    )
                ),
            }
            for name in ("load", "load_predictor")
        ]
    print(f"{machine(1)}; weights of words in {words.dtype}\n\n{markdown(rows)}")


def drawn(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Draw documents and their labels."""
    draw = np.random.default_rng(0)
    frequency = 1 / np.arange(3, options.terms + 3)
    frequency /= frequency.sum()
    order = [draw.permutation(options.terms) for _ in range(options.labels)]
    texts, labels = [], []
    for number in range(options.documents):
        label = number % options.labels
        found = draw.choice(options.terms, options.words, p=frequency)
        own = draw.random(options.words) < 0.5
        found[own] = order[label][found[own]]
        texts.append(" ".join(f"w{word}" for word in found.tolist()))
        labels.append(f"label {label}")
    return texts, labels


def loaded(path: Path, name: str) -> list[float]:
    """Return CPU seconds, memory and its maximum while a process loads a model."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _LOADING, str(path), name],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [float(number) for number in run.stdout.split()]
