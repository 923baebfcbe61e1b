"""Features of texts for the prediction head: marks, pairs of words, and pieces of words.

Components are patterns of words. A prediction head may also use these kinds of features:

- **marks**: punctuation and other signs ("?", "$"), and words of a single letter or digit, as far
  as they are no terms of the vectorizer;
- **pairs**: two words or marks that follow each other ("not good", "free !"), in lower case;
- **pieces**: one to four neighbouring characters of a text between two spaces, as they are written
  ("Bre", "ing "). A space stands for the beginning and the end.

A feature has the weight ln(1 + count) · ln(N / n), as a term of the vectorizer has it; n of the N
training documents have the feature. Marks and pairs are in proportion to the words of a document.
All pieces of a document together are as long as its words, marks and pairs together, because
otherwise they would outweigh words in short texts. Only features in at least two documents are
kept, and of these the commonest.

The pieces of a text are those of its parts between spaces. So without compiled code, each different
part is cut into pieces only once.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.core.rows import lengths, side_by_side
from vbnmf.text.counting import (
    KnownTerms,
    Splitter,
    compiled,
    count_documents,
    count_known,
    document_frequencies,
)
from vbnmf.text.splitting import is_plain, words_and_marks

KINDS = ("marks", "pairs", "pieces")
"""Kinds of features, in the order of their columns."""

LEAST_DOCUMENTS = 2
"""Features in fewer training documents are left out."""

PIECES = (1, 4)
"""Minimum and maximum number of characters of a piece."""

MOST_CHARACTERS = 1 << 26
"""Characters of the training documents by which features are chosen, at most."""

_AT_ONCE = 4096  # documents whose features are counted at a time

Texts = Sequence[str]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Features of one way to split texts.

    Attributes
    ----------
    names : list of str
        The features, sorted.
    idf : ndarray of shape (n_features,)
        ln(N / n) of each feature, greater than zero.
    """

    names: list[str]
    idf: NDArray[np.float64]

    @cached_property
    def known(self) -> KnownTerms:
        """Column of each feature."""
        return KnownTerms(self.names)

    def weights(self, counts: sp.csr_matrix) -> sp.csr_array:
        """Return weights of these features from counts, (n_docs, n_features) both."""
        values = np.log1p(counts.data, dtype=np.float32)
        values *= self.idf.astype(np.float32)[counts.indices]
        return sp.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Fitted features of texts.

    Attributes
    ----------
    kinds : tuple of str
        The kinds that are used, of ``KINDS``.
    tokens : Vocabulary
        Marks and pairs.
    pieces : Vocabulary
        Pieces of words.
    terms : frozenset of str
        Terms of the vectorizer, which are no marks.
    """

    kinds: tuple[str, ...]
    tokens: Vocabulary
    pieces: Vocabulary
    terms: frozenset[str] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """Names of all features, in the order of their columns."""
        return [*self.tokens.names, *self.pieces.names]

    def names_after(self, terms: NDArray[np.object_]) -> NDArray[np.object_]:
        """Return the names of terms and then those of the features; computed once for a model."""
        held = self.__dict__.get("_names_after")
        if held is None or held[0] is not terms:
            joined = np.array([*terms, *self.names], dtype=object)
            held = self.__dict__["_names_after"] = terms, joined
        return held[1]

    def __len__(self) -> int:
        return len(self.tokens.names) + len(self.pieces.names)

    @cached_property
    def _tokens(self) -> "Tokens":
        return Tokens(self.kinds, frozenset(term for term in self.terms if len(term) == 1))

    def transform(self, texts: Texts, X: Any, idf: NDArray[np.float64]) -> sp.csr_array:
        """Compute the features of documents.

        Parameters
        ----------
        texts : sequence of str
            Texts without markup.
        X : sparse matrix of shape (n_docs, n_terms)
            Weights of their terms.
        idf : array of shape (n_terms,)
            ln(N / n) of each term.

        Returns
        -------
        csr_array of shape (n_docs, n_features)
            Weights of features, in the units of X and in its type.
        """
        X = X if sp.issparse(X) and X.format == "csr" else sp.csr_array(X)
        if len(texts) <= _AT_ONCE:
            return self._assemble(self._count(texts), X, idf)
        blocks = [
            self.transform(texts[begin : begin + _AT_ONCE], X[begin : begin + _AT_ONCE], idf)
            for begin in range(0, len(texts), _AT_ONCE)
        ]
        return sp.csr_array(sp.vstack(blocks, format="csr"))

    def _count(self, texts: Texts) -> "FeatureCounts":
        """Count the features of documents; what is no feature is not kept in memory."""
        n_docs = len(texts)
        has_tokens, has_pieces = bool(self.tokens.names), bool(self.pieces.names)
        return FeatureCounts(
            count_known(texts, self._tokens, self.tokens.known) if has_tokens else _none(n_docs),
            _count_pieces(texts, self.pieces.known) if has_pieces else _none(n_docs),
        )

    def _assemble(self, counted: "FeatureCounts", X: Any, idf: NDArray[np.float64]) -> sp.csr_array:
        """Join the weights of both vocabularies in the units of X."""
        T, P = self.tokens.weights(counted.tokens), self.pieces.weights(counted.pieces)
        of_words = lengths(X, np.log(2) * idf[X.indices])
        of_tokens, of_pieces = lengths(T), lengths(P)
        length = np.sqrt(of_words**2 + of_tokens**2)
        unit = np.where(of_words > 0, lengths(X) / np.where(of_words > 0, of_words, 1.0), 1.0)
        each = np.where(length > 0, length, 1.0) / np.where(of_pieces > 0, of_pieces, 1.0)
        _multiply_rows(T, unit)
        _multiply_rows(P, unit * each)
        return side_by_side(T, P).astype(X.dtype, copy=False)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return entries of a header, in types of JSON, and arrays."""
        header = {
            "kinds": list(self.kinds),
            "tokens": self.tokens.names,
            "pieces": self.pieces.names,
        }
        return header, {"token_idf": self.tokens.idf, "piece_idf": self.pieces.idf}

    @classmethod
    def from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], terms: Iterable[str]
    ) -> Self:
        """Rebuild features. Damaged content raises ``ValueError`` or similar errors."""
        kinds = check_kinds(header["kinds"])
        tokens, pieces = (
            _checked_vocabulary(header[name], arrays[key])
            for name, key in (("tokens", "token_idf"), ("pieces", "piece_idf"))
        )
        return cls(kinds, tokens, pieces, frozenset(terms))


def check_kinds(kinds: Any) -> tuple[str, ...]:
    """Check names of kinds of features; return them in the order of ``KINDS``."""
    named = [kinds] if isinstance(kinds, str) else kinds
    try:
        given = list(named)
        unknown = [kind for kind in given if kind not in KINDS]
    except TypeError:
        given, unknown = [], [kinds]
    if unknown:
        raise ValueError(
            f'features must be "auto", "none", or some of {", ".join(KINDS)}; got {unknown[0]!r}.'
        )
    return tuple(kind for kind in KINDS if kind in given)


class FeatureCounts(NamedTuple):
    """Counts of the marks and pairs, and of the pieces, that are features, (n_docs, n) each."""

    tokens: sp.csr_matrix
    pieces: sp.csr_matrix


class TrainingTexts:
    """Training documents whose features are chosen.

    The features of very many documents are chosen by a part of them, ``MOST_CHARACTERS`` of text,
    so that memory is bounded.

    Parameters
    ----------
    texts : sequence of str
        Texts without markup.
    X, idf
        As for ``TextFeatures.transform``.
    terms : iterable of str
        Terms of the vectorizer.
    most : int
        Maximum number of marks and pairs, and of pieces.
    """

    def __init__(
        self, texts: Texts, X: Any, idf: NDArray[np.float64], terms: Iterable[str], most: int
    ) -> None:
        self.texts, self.X, self.idf = texts, sp.csr_array(X), idf
        self.terms, self.most = frozenset(terms), most
        self._counted: dict[tuple[str, ...], tuple[sp.csr_matrix, Vocabulary]] = {}

    def fit(self, kinds: tuple[str, ...]) -> tuple[TextFeatures, sp.csr_array]:
        """Choose the features of these kinds; return them with the features of the documents."""
        every = -(-sum(map(len, self.texts)) // MOST_CHARACTERS)
        if every > 1:
            some = self.texts[::every], self.X[::every]
            found, _ = TrainingTexts(*some, self.idf, self.terms, self.most).fit(kinds)
            return found, found.transform(self.texts, self.X, self.idf)
        tokens, of_tokens = self._tokens(tuple(kind for kind in kinds if kind != "pieces"))
        pieces, of_pieces = self._pieces if "pieces" in kinds else self._nothing
        found = TextFeatures(kinds, of_tokens, of_pieces, self.terms)
        return found, found._assemble(FeatureCounts(tokens, pieces), self.X, self.idf)

    def marks(self) -> sp.csr_array:
        """Return the marks among the marks and pairs of the documents, (n_docs, n_marks)."""
        found, F = self.fit(("marks", "pairs"))
        return F[:, np.array([len(name) == 1 for name in found.names], dtype=bool)]

    def _tokens(self, kinds: tuple[str, ...]) -> tuple[sp.csr_matrix, Vocabulary]:
        if kinds not in self._counted:
            split = Tokens(kinds, self.terms)
            counted = count_documents(self.texts, split) if kinds else _nothing(len(self.texts))
            self._counted[kinds] = _vocabulary(*counted, self.most)
        return self._counted[kinds]

    @cached_property
    def _pieces(self) -> tuple[sp.csr_matrix, Vocabulary]:
        return _vocabulary(*_count_commonest_pieces(self.texts, self.most), self.most)

    @property
    def _nothing(self) -> tuple[sp.csr_matrix, Vocabulary]:
        return _vocabulary(*_nothing(len(self.texts)), self.most)


def _nothing(n_docs: int) -> tuple[sp.csr_matrix, list[str]]:
    return _none(n_docs), []


def _none(n_docs: int) -> sp.csr_matrix:
    return sp.csr_matrix((n_docs, 0), dtype=np.int32)


def split_tokens(text: str, kinds: tuple[str, ...], terms: frozenset[str]) -> list[str]:
    """Return the marks and pairs of a text, as far as they are of these kinds.

    Examples
    --------
    >>> split_tokens("Not good!! A 5", ("marks", "pairs"), frozenset())
    ['!', '!', 'a', '5', 'not good', 'good !', '! !', '! a', 'a 5']
    """
    found = words_and_marks(text)
    split = []
    if "marks" in kinds:
        split = [token for token in found if len(token) == 1 and token not in terms]
    if "pairs" in kinds:
        split += map(" ".join, pairwise(found))
    return split


def split_parts(text: str) -> list[str]:
    """Return the parts of a text between spaces."""
    return _composed(text).split()


def split_pieces(part: str) -> list[str]:
    """Return the pieces of a part of a text.

    Examples
    --------
    >>> split_pieces("Go")
    ['G', 'o', ' G', 'Go', 'o ', ' Go', 'Go ', ' Go ']
    """
    padded = f" {part} "
    shortest, longest = PIECES
    return [
        padded[begin : begin + length]
        for length in range(shortest, longest + 1)
        for begin in range(length == 1, len(padded) - length + 1 - (length == 1))
    ]


class Tokens(Splitter):
    """Split texts into marks and pairs of words, as ``split_tokens`` does."""

    def __init__(self, kinds: tuple[str, ...], terms: frozenset[str]) -> None:
        self._kinds, self._terms = kinds, terms

    def __call__(self, text: str) -> list[str]:
        """Return the marks and pairs of a text."""
        return split_tokens(text, self._kinds, self._terms)

    def __getstate__(self) -> dict[str, Any]:
        return {"_kinds": self._kinds, "_terms": self._terms}  # a compiled table is no data

    @cached_property
    def _excluded(self) -> Any:
        return compiled().Terms([term for term in self._terms if len(term) == 1])

    def count(self, text: str, counts: Any) -> None:
        """Count the marks and pairs of a text with compiled code."""
        if is_plain(text):
            plain = text if text.isascii() else text.lower()
            marks, pairs = ("marks" in self._kinds), ("pairs" in self._kinds)
            counts.tokens(plain, True, marks, pairs, self._excluded)
        else:
            super().count(text, counts)


class Parts(Splitter):
    """Split texts at spaces."""

    def __call__(self, text: str) -> list[str]:
        """Return the parts of a text."""
        return split_parts(text)

    def count(self, text: str, counts: Any) -> None:
        """Count the parts of a text with compiled code."""
        counts.parts(_composed(text))


class Pieces(Splitter):
    """Split the parts of texts into pieces."""

    def __call__(self, text: str) -> list[str]:
        """Return the pieces of all parts of a text."""
        return [piece for part in split_parts(text) for piece in split_pieces(part)]

    def count(self, text: str, counts: Any) -> None:
        """Count the pieces of a text with compiled code."""
        counts.pieces(_composed(text), *PIECES)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _count_pieces(texts: Texts, known: KnownTerms) -> sp.csr_matrix:
    """Count the pieces of documents that are known."""
    if compiled() is not None:
        return count_known(texts, Pieces(), known)
    counts, parts = count_documents(texts, Parts())
    return counts @ count_known(parts, Pieces(), known)


def _count_commonest_pieces(texts: Texts, most: int) -> tuple[sp.csr_matrix, list[str]]:
    """Count about twice as many pieces as ``most``, those in most documents."""
    counts, parts = count_documents(texts, Parts())
    by_part, names = count_documents(parts, Pieces())
    if not names:
        return _nothing(len(texts))
    # documents with a piece, but counted once for each part that has it
    about = document_frequencies(counts) @ (by_part > 0)
    order = np.argsort(-about, kind="stable")[: 2 * most]
    kept = np.sort(order[about[order] >= LEAST_DOCUMENTS])
    return counts @ by_part[:, kept], [names[i] for i in kept.tolist()]


def _vocabulary(
    counts: sp.csr_matrix, names: list[str], most: int
) -> tuple[sp.csr_matrix, Vocabulary]:
    """Choose the commonest features, and return their counts too."""
    n_docs, frequencies = counts.shape[0], document_frequencies(counts)
    informative = (frequencies >= LEAST_DOCUMENTS) & (frequencies < n_docs)
    by_name = sorted(np.flatnonzero(informative).tolist(), key=names.__getitem__)
    chosen = np.array(by_name, dtype=np.intp)
    commonest = np.argsort(-frequencies[chosen], kind="stable")[:most]  # of equals, first by name
    chosen = chosen[np.sort(commonest)]
    kept = counts[:, chosen]
    kept.sort_indices()
    idf = np.log(n_docs / frequencies[chosen])
    return kept, Vocabulary([names[i] for i in chosen.tolist()], idf)


def _multiply_rows(weights: sp.csr_array, factor: NDArray[np.float64]) -> None:
    """Multiply rows by factors, in place."""
    weights.data *= np.repeat(factor.astype(np.float32), np.diff(weights.indptr))


def _checked_vocabulary(names: Any, idf: NDArray[Any]) -> Vocabulary:
    """Check the names and weights of features from a file."""
    sound = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    if not sound or names != sorted(set(names)):
        raise ValueError("the names of features are damaged.")
    if idf.dtype != np.float64 or idf.shape != (len(names),):
        raise ValueError("the weights of features do not match their names.")
    if not (np.isfinite(idf).all() and (idf > 0).all() and (idf < 100).all()):
        raise ValueError("the weights of features are damaged.")
    return Vocabulary(names, idf)
