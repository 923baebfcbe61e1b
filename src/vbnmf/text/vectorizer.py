"""DocumentVectorizer: convert raw documents to a weighted document-term matrix.

Two functions use a fitted vectorizer in other ways: ``token_sequences`` keeps the order of tokens,
and ``unknown_terms`` finds words that the vocabulary lacks.

``markup`` removes HTML, ``analyzers`` and ``splitting`` split texts into terms, ``counting`` and
``words`` count and stem terms, and ``weighting`` computes weights. ``checks`` validates parameters
and model files, ``state`` converts a fitted vectorizer to the contents of a model file and back,
and ``notices`` has the warnings. The command line has the defaults of this class.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from vbnmf.text.analyzers import (
    TOKEN_PATTERN,
    split_stop_words,
)
from vbnmf.text.checks import check_parameters
from vbnmf.text.counting import (
    LONGEST_TERM,
    Analyzer,
    check_iterable,
    commonest_forms,
    count_documents,
    document_frequencies,
    merge_columns,
    no_term,
    none_passes,
    numbered,
    passes,
    without_long,
)
from vbnmf.text.markup import DEFAULT_STRIP, Strip, decide
from vbnmf.text.notices import report_cut, report_empty, report_long, report_suspicious
from vbnmf.text.state import to_state
from vbnmf.text.transforming import TransformsTexts, check_fitted
from vbnmf.text.weighting import (
    DEFAULT_WEIGHTING,
    Weighting,
    choose_terms,
    inverse_document_frequency,
    weigh,
)
from vbnmf.text.words import StopWords, stem_terms, stop_word_list

# Enough for all words of some hundred thousand documents; with 100 components, a matrix of 160 MB.
DEFAULT_MAX_TERMS = 200_000


class DocumentVectorizer(
    TransformsTexts,
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    """Convert raw documents to a weighted sparse document-term matrix.

    Parameters
    ----------
    weighting : {"paper", "counts", "log"}, default="log"
        Weighting of counts. N is the number of training documents, n of which have the term.

        - "paper": count ÷ largest count in the document × ln(N / n). The largest count is over all
          terms that remain after stop words, stemming, `min_df` and `max_df`, before `max_terms`.
        - "counts": the count.
        - "log": ln(1 + count) × ln(N / n). All documents are then scaled to the same Euclidean
          length, such that the mean non-zero weight in the training documents is 3.
    max_terms : int or None, default=200000
        Maximum number of terms. The terms in most training documents are kept, and ties are broken
        alphabetically. With ``weighting="paper"``, the terms with the largest weight in any
        training document are kept, as in the paper, and ties are broken by the number of documents.
        The weights of the remaining terms do not depend on `max_terms`. None keeps all terms, but
        not those of more than 255 characters, which are never kept.
    lowercase : bool, default=True
        Whether to convert documents to lower case.
    token_pattern : str
        Regular expression of a word. A pattern other than the default is used for all scripts.
    ngram_range : (int, int), default=(1, 1)
        Minimum and maximum length of n-grams.
    stop_words : None, str, path or iterable of str, default=None
        Words to ignore: a language ("english", or another one with the package stop-words), a file
        with one word per line (a path with a folder or an extension), or the words. They are
        removed before stemming and before n-grams are formed. They are lower-cased and split like
        the documents, so "don't" stands for its parts of two letters or more.
    min_df, max_df : int or float, default=1 and 1.0
        Ignore terms in fewer than `min_df` or more than `max_df` training documents, counted after
        stemming. An int is a number of documents, and a float is a fraction.
    stem : str or None, default=None
        Snowball algorithm, such as "english", "german" or "porter". Words with the same stem are
        one term, which is shown by its commonest form.
    analyzer : {"auto", "word", "char", "char_wb", None} or callable, default="auto"
        How documents are split into terms.

        - "auto": words in scripts with spaces, overlapping pairs of characters in scripts without
          spaces (Han, Kana, Thai, Lao, Khmer, Myanmar, …), and emoji.
        - "word" or None: matches of `token_pattern`, in all scripts.
        - "char", "char_wb": character n-grams, as in scikit-learn's ``CountVectorizer``.
        - callable: a function that returns the terms of a document, after `strip`. It replaces
          `lowercase`, `token_pattern`, `ngram_range` and `stop_words`, and cannot be saved in a
          model file.
    strip : {"auto", "html", None}, default="auto"
        Whether to remove HTML first: tags, comments, scripts and styles are removed, and entities
        are converted to characters. "auto" does so if most of the first 1,000 training documents
        look like HTML, with a warning.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the result. Weights are computed in float64.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each term. With `stem` the terms are stems.
    idf_ : ndarray of shape (n_terms,)
        ln(N / n) of each term, for any weighting.
    n_documents_ : int
        Number of training documents N.
    n_empty_ : int
        Number of training documents without any term of non-zero weight. Their rows are zero.
    length_ : float
        Euclidean length of documents with ``weighting="log"``.
    strip_ : {"html", None}
        Markup that is removed from documents.
    stop_tokens_ : frozenset of str
        Stop words as tokens of documents. A file of stop words is read only in `fit`.

    Examples
    --------
    >>> from vbnmf.text import DocumentVectorizer
    >>> vectorizer = DocumentVectorizer(stem="english")
    >>> X = vectorizer.fit_transform(["red apples, red cars", "an apple", "many cars"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['an', 'apple', 'cars', 'many', 'red']
    >>> print(X[0].toarray().round(3))
    [[0.    1.173 1.173 0.    5.036]]
    """

    def __init__(
        self,
        *,
        weighting: Weighting = DEFAULT_WEIGHTING,
        max_terms: int | None = DEFAULT_MAX_TERMS,
        lowercase: bool = True,
        token_pattern: str = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        stop_words: StopWords = None,
        min_df: float = 1,
        max_df: float = 1.0,
        stem: str | None = None,
        analyzer: str | Analyzer | None = "auto",
        strip: Strip = DEFAULT_STRIP,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.weighting = weighting
        self.max_terms = max_terms
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.stem = stem
        self.analyzer = analyzer
        self.strip = strip
        self.dtype = dtype

    def fit(self, documents: Iterable[str], y: object = None) -> Self:
        """Learn the vocabulary and the document frequencies of terms.

        Parameters
        ----------
        documents : iterable of str
            Texts. They are read once, so a generator can be used.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        DocumentVectorizer
            The fitted vectorizer.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> DocumentVectorizer().fit(["red apples", "red cars"]).vocabulary_
        {'apples': 0, 'cars': 1, 'red': 2}
        """
        self.fit_transform(documents)
        return self

    def fit_transform(self, documents: Iterable[str], y: object = None) -> sp.csr_matrix:
        """Learn the vocabulary, and return the weighted document-term matrix.

        Parameters
        ----------
        documents : iterable of str
            Texts. They are read once, so a generator can be used.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        csr_matrix of shape (n_documents, n_terms)
            Weights of terms, identical to `fit` followed by `transform`.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer(weighting="counts")
        >>> vectorizer.fit_transform(["red apples", "red red"]).toarray().tolist()
        [[1.0, 1.0], [0.0, 2.0]]
        """
        check_parameters(self.get_params())
        self._prepare()
        documents, self.strip_ = decide(check_iterable(documents), self.strip)
        counts, forms = count_documents(documents, self._build_analyzer())
        n_documents = counts.shape[0]
        if not forms:
            raise no_term(n_documents, self.token_pattern)
        report_suspicious(counts, forms, document_frequencies(counts))
        counts, forms, omitted = without_long(counts, forms)
        report_long(omitted, LONGEST_TERM)
        if not forms:
            raise no_term(n_documents, self.token_pattern)
        stems = stem_terms(forms, self.stem)
        all_stems = sorted(set(stems))
        merged = merge_columns(counts, stems, numbered(all_stems))
        frequencies = document_frequencies(merged)
        passed = self._passing(frequencies, n_documents)
        frequencies, merged = frequencies[passed], merged[:, passed]
        idf = inverse_document_frequency(frequencies, n_documents)

        weights, length = weigh(merged, idf, self.weighting)
        n_kept = len(passed) if self.max_terms is None else self.max_terms
        columns = choose_terms(weights, frequencies, n_kept, self.weighting)
        if n_kept == DEFAULT_MAX_TERMS < len(passed):
            report_cut(frequencies, columns)
        shown = commonest_forms(counts, forms, stems) if self.stem is not None else None
        names = [all_stems[column] for column in passed]
        self._set_fitted(names, idf, columns, shown, n_documents, length)
        X = self._finish(weights)
        all_alike = self.weighting != "counts" and not self.idf_.any()
        self.n_empty_ = report_empty(X, all_alike=all_alike)
        return self._contained(X, documents)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `transform` and `fit_transform` return.

        ``sklearn.set_config(transform_output=...)`` has no effect on this class.

        Parameters
        ----------
        transform : {"default", "pandas"} or None
            "default" is a sparse matrix. "pandas" is a data frame with a sparse column for each
            term, which is slow for many terms. None changes nothing.

        Returns
        -------
        self
            The vectorizer itself.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> vectorizer = DocumentVectorizer().set_output(transform="pandas")
        >>> vectorizer.fit_transform(["red apples", "red cars"]).columns.tolist()
        ['apples', 'cars', 'red']
        """
        if transform not in ("default", "pandas", None):
            raise ValueError(
                f'transform must be "default" (a sparse matrix) or "pandas" (a data frame with '
                f"sparse columns); got {transform!r}. polars has no sparse columns."
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # clones keep it
        return self

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state of the fitted vectorizer for a model file.

        Returns
        -------
        meta : dict
            Parameters and terms, in types of JSON. Stop words are saved as a list of words.
        arrays : dict of str to ndarray
            Document frequencies and columns of terms.

        Examples
        --------
        >>> from vbnmf.text import DocumentVectorizer
        >>> meta, arrays = DocumentVectorizer().fit(["red apples", "red cars"]).to_state()
        >>> meta["terms"]
        ['apples', 'cars', 'red']
        """
        check_fitted(self)
        return to_state(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _prepare(self) -> None:
        """Find the stop words, which splitting documents needs."""
        self._stop_words = split_stop_words(
            stop_word_list(self.stop_words), self.analyzer, self.token_pattern, self.lowercase
        )

    def _set_fitted(
        self,
        passed: list[str],
        idf: NDArray[np.float64],
        columns: NDArray[np.intp],
        shown: dict[str, str] | None,
        n_documents: int,
        length: float,
    ) -> None:
        """Set what a fit found; ``shown`` has the form in which each stem is shown."""
        self._set_terms(passed, idf, columns)
        if shown is not None:
            self._forms = [shown[stem] for stem in self.vocabulary_]
        self.n_documents_, self.length_ = n_documents, length

    def _contained(self, X: sp.csr_matrix, documents: object) -> Any:
        """Convert the weights to the container of `set_output`.

        scikit-learn does not convert sparse matrices to data frames. pandas has sparse columns,
        which estimators of scikit-learn read without making them dense.
        """
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return X
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                'set_output(transform="pandas") needs pandas. Install it, or use '
                'transform="default".'
            ) from None
        index = documents.index if isinstance(documents, pd.Series) else None
        names = self.get_feature_names_out()
        return pd.DataFrame.sparse.from_spmatrix(X, index=index, columns=names)

    def _passing(self, frequencies: NDArray[np.int64], n_documents: int) -> NDArray[np.intp]:
        """Return the columns that pass `min_df` and `max_df`, ascending."""
        (passed,) = np.nonzero(passes(frequencies, n_documents, self.min_df, self.max_df))
        if not passed.size:
            raise none_passes(len(frequencies), n_documents, self.min_df, self.max_df)
        return passed


def token_sequences(
    vectorizer: DocumentVectorizer, documents: Iterable[str]
) -> list[list[str]] | None:
    """Split documents into the tokens that a fitted vectorizer counts, in their order.

    Parameters
    ----------
    vectorizer : DocumentVectorizer
        A fitted vectorizer. Its `vocabulary_` has the tokens that have a column.
    documents : iterable of str
        Texts.

    Returns
    -------
    list of lists of str, or None
        Tokens in the order of the text, lower-cased, stemmed and without stop words as the
        parameters of the vectorizer say. Words that are not terms are included. Pairs of characters
        (``analyzer="auto"``) are in the order of their first characters. None for n-grams and for
        the character analyzers, which have no order.

    Examples
    --------
    >>> vectorizer = DocumentVectorizer(stem="english", stop_words=["the"]).fit(["red apples"])
    >>> token_sequences(vectorizer, ["The apple is red"])
    [['appl', 'is', 'red']]
    """
    if vectorizer.analyzer in ("char", "char_wb") or tuple(vectorizer.ngram_range) != (1, 1):
        return None
    analyze = vectorizer._build_analyzer()
    stems: dict[str, str] = {}
    sequences = []
    for document in documents:
        words = list(analyze(document))
        new = [word for word in dict.fromkeys(words) if word not in stems]
        stems.update(zip(new, stem_terms(new, vectorizer.stem), strict=True))
        sequences.append([stems[word] for word in words])
    return sequences


def documents_of_terms(vectorizer: DocumentVectorizer, documents: Iterable[str]) -> dict[str, int]:
    """Count the documents that have each term, also terms that are not in the vocabulary.

    Stop words are not counted, and words of one stem are one term.
    """
    counts, forms = count_documents(documents, vectorizer._build_analyzer())
    stems = stem_terms(forms, vectorizer.stem)
    numbers = {stem: i for i, stem in enumerate(dict.fromkeys(stems))}
    merged = merge_columns(counts, stems, numbers)
    has = document_frequencies(merged)
    return dict(zip(numbers, has.tolist(), strict=True))


class UnknownTerms(NamedTuple):
    """Terms that are not in a vocabulary.

    Attributes
    ----------
    share : float
        Part of all occurrences of terms that are of unknown terms; 0 if there is no term.
    commonest : list of (str, int)
        Unknown terms in most documents, with their numbers of documents.
    """

    share: float
    commonest: list[tuple[str, int]]


def unknown_terms(
    vectorizer: DocumentVectorizer, documents: Sequence[str], n_terms: int = 10
) -> UnknownTerms:
    """Find the terms of documents that a fitted vectorizer ignores.

    Stop words are not counted.
    """
    counts, forms = count_documents(documents, vectorizer._build_analyzer())
    stems = stem_terms(forms, vectorizer.stem)
    known = np.fromiter((stem in vectorizer._numbers for stem in stems), bool, len(stems))
    totals = np.asarray(counts.sum(axis=0)).ravel()
    share = float(totals[~known].sum() / max(totals.sum(), 1))
    frequencies = np.where(known, 0, document_frequencies(counts))
    order = np.argsort(-frequencies, kind="stable")[:n_terms]
    return UnknownTerms(share, [(forms[i], int(frequencies[i])) for i in order if frequencies[i]])
