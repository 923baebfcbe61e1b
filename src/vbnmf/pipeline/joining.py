"""Join the features of texts to their document-term matrix, and show pieces in their words.

``text.features`` computes the features. ``headfeatures`` chooses them in a fit.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import side_by_side
from vbnmf.text.features import TextFeatures, split_parts, split_pieces
from vbnmf.text.transforming import TransformsTexts


def join_features(features: TextFeatures, vectorizer: Any, texts: Iterable[str], X: Any) -> Any:
    """Join the features of documents to their document-term matrix."""
    return beside(X, features.transform(without_markup(vectorizer, texts), X, vectorizer.idf_))


def without_markup(vectorizer: TransformsTexts, texts: Iterable[str]) -> list[str]:
    """Return texts as the vectorizer splits them into terms."""
    if vectorizer.strip_ is None:
        return list(texts)
    return [vectorizer.without_markup(text) for text in texts]


Regroup = Callable[[Array, Array], tuple[sparse.csr_array, Array]]
"""Function from columns of X and their names to what is shown: shares, and names."""


def shown_in_words(
    features: TextFeatures, vectorizer: Any, n_terms: int, texts: Iterable[str]
) -> list[Regroup]:
    """Return a function for each document that adds its pieces to the words that they lie in.

    The function gets n columns of X and their names. It returns the share of each column in each
    item that is shown, (n_items, n), and the names of the items. The shares of a column sum to one.
    A piece belongs to the terms of the parts of the text that have it, to such parts themselves if
    they are no known term, and is an item of its own if a part has several terms, as in scripts
    without spaces.
    """
    numbers = features.pieces.known.numbers
    first_piece = n_terms + len(features.tokens.names)
    parts = _Parts(vectorizer, numbers)

    def of_text(text: str) -> Regroup:
        return lambda columns, names: _regroup(text, columns, names, first_piece, parts)

    return [of_text(text) for text in without_markup(vectorizer, texts)]


def _regroup(
    text: str,
    columns: Array,
    names: Array,
    first_piece: int,
    parts: "_Parts",
) -> tuple[sparse.csr_array, Array]:
    """Return shares and names of the items of one document; see ``shown_in_words``."""
    place = {column: i for i, column in enumerate(columns.tolist())}
    items: dict[Any, int] = {}
    shown: list[Any] = []

    def item(key: Any, name: Any) -> int:
        if key not in items:
            items[key] = len(shown)
            shown.append(name)
        return items[key]

    rows, at, values = [], [], []
    for i, column in enumerate(columns.tolist()):
        if column < first_piece:
            rows.append(item(column, names[i]))
            at.append(i)
            values.append(1.0)
    amounts: Counter[tuple[int, int]] = Counter()
    totals: Counter[int] = Counter()
    for part, count in Counter(split_parts(text)).items():
        n_found, term, pieces = parts(part)
        for piece, number in pieces:
            i = place.get(first_piece + number, -1)
            if i < 0:
                continue
            if n_found == 1 and term in place:
                owner = item(term, names[place[term]])
            elif n_found > 1:
                owner = item(("piece", piece), piece)
            else:
                owner = item(("part", part), part)
            amounts[owner, i] += count
            totals[i] += count
    for (owner, i), amount in amounts.items():
        rows.append(owner)
        at.append(i)
        values.append(amount / totals[i])
    shares = sparse.csr_array((values, (rows, at)), shape=(len(shown), len(columns)))
    labels = np.empty(len(shown), dtype=object)
    labels[:] = shown
    return shares, labels


class _Parts:
    """The terms and pieces of parts of texts, found once for each part."""

    def __init__(self, vectorizer: Any, numbers: dict[str, int]) -> None:
        self.split, self.columns = vectorizer.split_stems, vectorizer.vocabulary_
        self.numbers = numbers
        self.known: dict[str, tuple[int, int, list[tuple[str, int]]]] = {}

    def __call__(self, part: str) -> tuple[int, int, list[tuple[str, int]]]:
        """Return the number of known terms, the column of the first, or -1, and known pieces."""
        if part not in self.known:
            found = [self.columns[s] for s in self.split(part) if s in self.columns]
            pieces = [
                (piece.strip(), self.numbers[piece])
                for piece in split_pieces(part)
                if piece in self.numbers
            ]
            self.known[part] = len(found), found[0] if found else -1, pieces
        return self.known[part]


def beside(X: Any, F: sparse.csr_array) -> sparse.csr_matrix:
    """Return a matrix of terms with features behind them."""
    return sparse.csr_matrix(side_by_side(X, F))
