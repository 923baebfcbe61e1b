"""fastText: averaged embeddings of words, trained on the labels of a corpus.

The package floret is used. Its mode "fasttext" runs the original code, and its results are
reproducible.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Array = NDArray[Any]


def lines(X: sp.csr_matrix) -> list[str]:
    """Convert documents to lines of words for fastText; a word is the number of its column."""
    words = np.repeat(X.indices, X.data.astype(np.int64)).astype(str).tolist()
    ends = np.concatenate([[0], np.cumsum(X.data, dtype=np.int64)])[X.indptr]
    return [" ".join(words[begin:end]) for begin, end in pairwise(ends.tolist())]


class FastText(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Supervised fastText on one thread, because with several threads results vary.

    Parameters
    ----------
    seed : of the embeddings at the start.
    epochs, rate : by default those of fastText.
    """

    def __init__(self, seed: int = 0, epochs: int = 5, rate: float = 0.1) -> None:
        self.seed = seed
        self.epochs = epochs
        self.rate = rate
        import_module("floret")  # now, and not while it is timed

    def fit(self, documents: list[str], y: Array) -> Self:
        """Write the file that fastText reads, and train.

        The order of documents is random. fastText does not mix them itself, and learns little from
        documents that are sorted by label.
        """
        self.classes_ = np.unique(y)
        order = np.random.default_rng(self.seed).permutation(len(y)).tolist()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "documents.txt")
            path.write_text("".join(f"__label__{y[row]} {documents[row]}\n" for row in order))
            self.model_ = import_module("floret").train_supervised(
                str(path), thread=1, seed=self.seed, verbose=0, epoch=self.epochs, lr=self.rate
            )
        return self

    def predict(self, documents: list[str]) -> Array:
        """Predict the most probable labels.

        For several documents at a time, floret repeats the first probability of each, so there are
        no probabilities here.
        """
        found = self.model_.predict(documents, k=1)[0]
        prefix = len("__label__")
        return np.array([int(labels[0][prefix:]) if labels else -1 for labels in found])
