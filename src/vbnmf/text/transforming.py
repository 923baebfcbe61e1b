"""Convert texts to weights with a vectorizer that was fitted, without scikit-learn.

``DocumentVectorizer`` inherits this, and so does ``LoadedVectorizer``, which a program loads that
only predicts. Importing scikit-learn takes several times as long as predicting a document.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from vbnmf.text.analyzers import WithoutMarkup, build_analyzer, splits_by_script
from vbnmf.text.counting import (
    Analyzer,
    KnownTerms,
    count_documents,
    count_known,
    merge_columns,
    numbered,
)
from vbnmf.text.markup import strip_html
from vbnmf.text.notices import report_empty
from vbnmf.text.state import from_state
from vbnmf.text.weighting import (
    Weighting,
    inverse_document_frequency,
    squared_lengths,
    weigh,
)
from vbnmf.text.words import stem_terms


class TransformsTexts:
    """Mixin with all that converts texts to weights after a fit; see ``DocumentVectorizer``."""

    weighting: Weighting
    lowercase: bool
    token_pattern: str
    ngram_range: tuple[int, int]
    min_df: float
    stem: str | None
    analyzer: str | Analyzer | None
    dtype: DTypeLike
    n_documents_: int
    length_: float
    strip_: str | None
    _stop_words: list[str]

    def transform(self, documents: Iterable[str]) -> sp.csr_matrix:
        """Convert documents to a weighted document-term matrix.

        Parameters
        ----------
        documents : iterable of str
            Texts. Terms that are not in the vocabulary are ignored.

        Returns
        -------
        csr_matrix of shape (n_documents, n_terms)
            Weights of terms. A document without any known term has a row of zeros. An
            `EmptyDocumentWarning` says how many there are.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer(weighting="counts").fit(["red apples", "red cars"])
        >>> vectorizer.transform(["red red cars"]).toarray().tolist()
        [[0.0, 1.0, 2.0]]
        """
        check_fitted(self)
        analyze = self._build_analyzer()
        if self.stem is None:
            merged = count_known(documents, analyze, self._known)
        else:
            counts, forms = count_documents(documents, analyze)
            merged = merge_columns(counts, stem_terms(forms, self.stem), self._numbers)
        weights, _ = weigh(merged, self._idf, self.weighting, self.length_)
        X = self._finish(weights)
        report_empty(X)
        return self._contained(X, documents)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the name of each column: the term, or the commonest form of a stem.

        Parameters
        ----------
        input_features : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str objects of shape (n_terms,)
            Names, which are unique.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer(stem="english").fit(["apples and apples", "an apple"])
        >>> vectorizer.get_feature_names_out().tolist()
        ['an', 'and', 'apples']
        """
        check_fitted(self)
        return np.array(self._forms, dtype=object)

    def without_markup(self, document: str) -> str:
        """Return the text of a document as it is split into terms, after `strip`.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer(strip="html").fit(["<b>red</b> apples", "red cars"])
        >>> vectorizer.without_markup("<b>red</b> cars").split()
        ['red', 'cars']
        """
        check_fitted(self)
        return document if self.strip_ is None else strip_html(document)

    def split_stems(self, text: str) -> list[str]:
        """Return the terms of a text without markup in their order, stemmed, known or not.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer(stem="english").fit(["red apples", "red cars"])
        >>> vectorizer.split_stems("Blue cars, red apples")
        ['blue', 'car', 'red', 'appl']
        """
        check_fitted(self)
        return stem_terms(list(self._terms_of(self.ngram_range, self._stop_words)(text)), self.stem)

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], *, trusted: bool = False
    ) -> Self:
        """Rebuild a fitted vectorizer from the result of `to_state`.

        Parameters
        ----------
        meta : dict
            Parameters and terms.
        arrays : dict of str to ndarray
            Document frequencies and columns of terms.
        trusted : bool, default=False
            Whether to accept any `token_pattern`, not only a simple one (``patterns``).

        Returns
        -------
        DocumentVectorizer or LoadedVectorizer
            A vectorizer whose `transform` gives identical results.

        Raises
        ------
        ValueError
            If the state is incomplete or inconsistent.
        UnsafePatternError
            If the pattern is not simple and the state is not trusted.

        Warns
        -----
        StemmerChangedWarning
            If the installed stemmer gives other stems than in training.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer().fit(["red apples", "red cars"])
        >>> again = DocumentVectorizer.from_state(*vectorizer.to_state())
        >>> again.get_feature_names_out().tolist()
        ['apples', 'cars', 'red']
        """
        return from_state(cls, meta, arrays, trusted=trusted)

    def _set_terms(
        self, passed: list[str], idf: NDArray[np.float64], columns: NDArray[np.intp]
    ) -> None:
        """Set the terms that passed `min_df` and `max_df`, and those of them that have a column.

        Terms without a column affect the largest count and the length of new documents.
        """
        self._known = KnownTerms(passed)
        self._idf = idf
        self._columns = columns.astype(np.int32)
        self._omits_none = np.array_equal(columns, np.arange(len(passed)))
        terms = [passed[number] for number in columns]
        self.vocabulary_: dict[str, int] = numbered(terms)
        self._forms = terms
        self.idf_ = idf[columns]

    @property
    def _numbers(self) -> dict[str, int]:
        """Number of each term that passed `min_df` and `max_df`."""
        return self._known.numbers

    def _finish(self, weights: sp.csr_matrix) -> sp.csr_matrix:
        """Remove terms without a column and explicit zeros, and cast to `dtype`."""
        X = (weights if self._omits_none else weights[:, self._columns]).astype(self.dtype)
        X.eliminate_zeros()
        X.sort_indices()
        return X

    @property
    def splits_by_script(self) -> bool:
        """Whether texts are split by script (``splitting``)."""
        return splits_by_script(self.analyzer, self.token_pattern)

    @property
    def stop_tokens_(self) -> frozenset[str]:
        """Stop words as tokens, split and lower-cased like the documents."""
        return frozenset(self._stop_words)

    def _build_analyzer(self) -> Analyzer:
        """Return the function from a document to its terms, not stemmed."""
        analyze = self._terms_of(self.ngram_range, self._stop_words)
        return analyze if self.strip_ is None else WithoutMarkup(analyze)

    def _terms_of(self, ngram_range: tuple[int, int], stop_words: Sequence[str]) -> Analyzer:
        """Return the function from a text without markup to its terms."""
        return build_analyzer(
            self.analyzer, self.token_pattern, self.lowercase, ngram_range, stop_words
        )

    def _contained(self, X: sp.csr_matrix, documents: object) -> Any:
        """Convert the weights to the container that was asked for."""
        return X


def check_fitted(vectorizer: Any) -> None:
    """Raise scikit-learn's ``NotFittedError`` unless a vectorizer was fitted."""
    if "vocabulary_" not in vars(vectorizer):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(vectorizer)


class LoadedVectorizer(TransformsTexts):
    """A fitted vectorizer that only transforms texts: it is neither fitted nor cloned.

    Parameters
    ----------
    **parameters : dict
        Parameters of ``DocumentVectorizer``.
    """

    def __init__(self, **parameters: Any) -> None:
        vars(self).update(parameters)


def known_parts(vectorizer: TransformsTexts, documents: Iterable[str]) -> NDArray[np.float64]:
    """Compute the part of the length of each document that its known terms have, (n_docs,).

    Lengths are Euclidean. A term that no training document has is weighted like one that a single
    training document has. The part is 1 for a document without unknown terms, and for one without
    any term. If the vectorizer omitted rare terms (`min_df`, `max_terms`), all parts are 1: then
    unknown terms are usual in training too, and do not show that a document is new.
    """
    check_fitted(vectorizer)
    counts, forms = count_documents(documents, vectorizer._build_analyzer())
    numbers = vectorizer._numbers
    omits = len(numbers) > len(vectorizer.vocabulary_) or vectorizer.min_df not in (0, 1)
    if omits or not forms:
        return np.ones(counts.shape[0])
    stems = stem_terms(forms, vectorizer.stem)
    (new,) = np.nonzero([stem not in numbers for stem in stems])
    merged = merge_columns(counts, stems, numbers)
    rarest = inverse_document_frequency(np.ones(len(new), np.int64), vectorizer.n_documents_)
    known, unknown = (
        squared_lengths(of, idf, vectorizer.weighting)
        for of, idf in ((merged, vectorizer._idf), (counts[:, new], rarest))
    )
    whole = known + unknown
    return np.sqrt(np.divide(known, whole, out=np.ones_like(whole), where=whole > 0))
