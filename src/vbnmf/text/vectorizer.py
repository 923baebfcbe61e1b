"""The scikit-learn transformer from raw documents to a weighted CSR matrix.

It only puts the parts together: HTML is dropped in ``markup``, texts are split in ``splitting``,
counts and stems are made in ``counting`` and ``words``, weights in ``weighting``. Parameters and
model files are checked in ``checks``; what looks wrong is said in ``notices``. The defaults of the
command line are those of this class.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from vbnmf.text import splitting
from vbnmf.text.checks import check_parameters, check_state, complete_state, is_int
from vbnmf.text.counting import (
    Analyzer,
    check_iterable,
    commonest_forms,
    count_documents,
    document_frequencies,
    merge_columns,
)
from vbnmf.text.frames import as_frame, check_container
from vbnmf.text.markup import DEFAULT_STRIP, Strip, decide, strip_html
from vbnmf.text.notices import (
    report_changed_stems,
    report_cut,
    report_empty,
    report_suspicious,
)
from vbnmf.text.patterns import check_simple
from vbnmf.text.weighting import (
    DEFAULT_WEIGHTING,
    Weighting,
    choose_terms,
    inverse_document_frequency,
    weigh,
)
from vbnmf.text.words import StopWords, stem_terms, stop_word_list

TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # noqa: S105 - scikit-learn's default: words of two letters or more

# Enough for all words of some hundred thousand documents; with 100 components, a matrix of 160 MB.
DEFAULT_MAX_TERMS = 200_000


class DocumentVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Turn raw documents into a weighted sparse matrix, documents in rows and terms in columns.

    Parameters
    ----------
    weighting : {"paper", "counts", "log"}
        "paper": count ÷ largest count in the document × ln(N / n), where n of the N training
        documents have the term. The largest count is over the terms that pass stop words, stemming,
        `min_df` and `max_df`, whether `max_terms` keeps them or not. "counts": the plain
        count. "log": ln(1 + count) × ln(N / n), with all documents scaled to one Euclidean
        length, at which a term that a training document has weighs 3 on average.
    max_terms : int or None
        Keep this many terms, those in most training documents; None keeps all. Ties go to the
        alphabetically first. With ``weighting="paper"`` terms are chosen as in the paper: those
        with the largest weight in any training document, ties by the number of documents. Terms
        are only left out: the weights of the others stay what they are without `max_terms`.
    lowercase : bool
        Lower-case the documents first.
    token_pattern : str
        Regular expression of a word. Any other than the default is used for all scripts.
    ngram_range : (int, int)
        Shortest and longest run of words that makes a term.
    stop_words : None, str, path or iterable of str
        Words to leave out, before stemming and before n-grams are formed: a language ("english",
        or another with the package stop-words), a file with one word a line (a path with a folder
        or an extension), or the words. They are lower-cased and split like the documents:
        "don't" stands for its parts of two letters or more.
    min_df, max_df : int or float
        Leave out terms in fewer than `min_df` or more than `max_df` training documents: a number
        of documents (int) or a share of them (float), counted after stemming.
    stem : str, optional
        Snowball algorithm, such as "english", "german" or "porter": words with the same stem are
        one term, shown by its commonest form.
    analyzer : {"auto", "word", "char", "char_wb", None} or callable
        "auto": words where spaces separate them, overlapping pairs of characters in scripts
        without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar, …), and emoji. "word" or None: what
        `token_pattern` finds, in all scripts. "char", "char_wb": runs of characters (see
        scikit-learn's ``CountVectorizer``). A callable returns the terms of a document, without
        HTML if `strip` drops it, and replaces `lowercase`, `token_pattern`, `ngram_range` and
        `stop_words`; it cannot be stored in a model file.
    strip : {"auto", "html", None}
        Drop HTML first: tags, comments, scripts and styles go, entities become characters. "auto"
        does so if most of the first 1,000 training documents look like HTML, and warns of it.
    dtype : {numpy.float32, numpy.float64}
        Of the result; weights are computed in float64.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each term; with `stem` the terms are stems.
    idf_ : ndarray, shape (n_terms,)
        ln(N / n) of each term, whatever the weighting.
    n_documents_ : int
        Number of training documents N.
    n_empty_ : int
        Training documents without any term of non-zero weight; their rows are zero.
    length_ : float
        Length that "log" scales documents to.
    strip_ : {"html", None}
        What is dropped from documents.
    stop_tokens_ : frozenset of str
        The stop words as tokens of documents; a file of stop words is read only by `fit`.

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
        """Learn terms and weights from an iterable of strings; `y` is ignored."""
        self.fit_transform(documents)
        return self

    def fit_transform(self, documents: Iterable[str], y: object = None) -> sp.csr_matrix:
        """Learn terms and weights, and return the weighted documents.

        Parameters
        ----------
        documents : iterable of str
            Read once, so that a generator will do.
        y : ignored

        Returns
        -------
        csr_matrix, shape (n_documents, n_terms)
            The same as `fit` and then `transform`, to the bit.
        """
        check_parameters(self.get_params())
        self._prepare()
        documents, self.strip_ = decide(check_iterable(documents), self.strip)
        counts, forms = count_documents(documents, self._build_analyzer())
        n_documents = counts.shape[0]
        if not forms:
            raise ValueError(
                f"No term in {n_documents} documents. Expected at least one document with a word "
                f"that matches token_pattern={self.token_pattern!r} and is no stop word."
            )
        report_suspicious(counts, forms, document_frequencies(counts))
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
        self.n_empty_ = report_empty(X)
        return self._contained(X, documents)

    def transform(self, documents: Iterable[str]) -> sp.csr_matrix:
        """Weight new documents with the terms and idf of the training documents.

        Parameters
        ----------
        documents : iterable of str
            Words that no training document had are left out.

        Returns
        -------
        csr_matrix, shape (n_documents, n_terms)
            A document without any known term has a row of zeros, and an `EmptyDocumentWarning`
            tells how many there are.
        """
        check_is_fitted(self)
        counts, forms = count_documents(documents, self._build_analyzer())
        merged = merge_columns(counts, stem_terms(forms, self.stem), self._numbers)
        weights, _ = weigh(merged, self._idf, self.weighting, self.length_)
        X = self._finish(weights)
        report_empty(X)
        return self._contained(X, documents)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas"} or None
            "default" is a sparse matrix. "pandas" is a data frame with a sparse column for each
            term, which is slow to make where there are many terms. None changes nothing.
            ``sklearn.set_config(transform_output=...)`` has no effect here.
        """
        check_container(transform)
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # clones keep it
        return self

    def _contained(self, X: sp.csr_matrix, documents: object) -> Any:
        """Put the weights into the container that `set_output` asked for."""
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return X
        return as_frame(X, self.get_feature_names_out(), documents)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the name of each column: the term, or the commonest form of a stem; all differ."""
        check_is_fitted(self)
        return np.array(self._forms, dtype=object)

    def without_markup(self, document: str) -> str:
        """Return the text of a document that is split into terms: without HTML if it is dropped."""
        check_is_fitted(self)
        return document if self.strip_ is None else strip_html(document)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Describe the fitted vectorizer without pickle.

        Returns
        -------
        meta : dict
            Fit for JSON. Stop words are stored as words, whichever way they were given.
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        if callable(self.analyzer):
            raise ValueError(
                "A callable analyzer cannot be stored, for a model file holds no code. Use "
                "token_pattern or analyzer='char_wb', or store a model of the matrix and keep "
                "the analyzer in your program."
            )
        meta = self.get_params() | {
            "max_terms": None if self.max_terms is None else int(self.max_terms),
            "lowercase": bool(self.lowercase),
            "ngram_range": [int(n) for n in self.ngram_range],
            "stop_words": self._stop_words,
            "min_df": _plain(self.min_df),
            "max_df": _plain(self.max_df),
            "stripped": self.strip_,
            "dtype": np.dtype(self.dtype).name,
            "terms": list(self._numbers),
            "forms": None if self.stem is None else self._forms,
            "n_documents": self.n_documents_,
            "n_empty": self.n_empty_,
            "length": self.length_,
        }
        return meta, {"idf": self._idf, "columns": self._columns}

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], *, trusted: bool = False
    ) -> Self:
        """Rebuild a vectorizer from `to_state`, so that `transform` gives the same bits.

        Parameters
        ----------
        meta : dict
        arrays : dict of str to ndarray
        trusted : bool, default=False
            Whether any `token_pattern` is accepted, not only a simple one (``patterns``).

        Raises
        ------
        ValueError
            If the description is incomplete, inconsistent or not one of a vectorizer.
        UnsafePatternError
            If the pattern is not simple and the description is not trusted.

        Warns
        -----
        StemmerChangedWarning
            If the stemmer installed gives other stems than the one of training.
        """
        meta = complete_state(meta)
        check_state(meta, arrays)
        vectorizer = cls(**{name: meta[name] for name in cls().get_params()})
        vectorizer.ngram_range = tuple(meta["ngram_range"])
        vectorizer.stop_words = meta["stop_words"] or None
        check_parameters(vectorizer.get_params())
        if not trusted:
            check_simple(meta["token_pattern"])
        vectorizer._stop_words = meta["stop_words"]
        vectorizer.strip_ = meta["stripped"]
        vectorizer.n_documents_ = meta["n_documents"]
        vectorizer.n_empty_ = meta["n_empty"]
        vectorizer.length_ = meta["length"]
        vectorizer._set_terms(meta["terms"], arrays["idf"], arrays["columns"])
        if vectorizer.stem is not None:
            vectorizer._forms = meta["forms"]
            report_changed_stems(list(vectorizer.vocabulary_), meta["forms"], vectorizer.stem)
        return vectorizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _prepare(self) -> None:
        """Find the stop words, which splitting documents needs."""
        self._stop_words = self._split_stop_words()

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

    def _set_terms(
        self, passed: list[str], idf: NDArray[np.float64], columns: NDArray[np.intp]
    ) -> None:
        """Set the terms that passed `min_df` and `max_df`, and those of them that have a column.

        The others have a say in the largest count and the length of new documents.
        """
        self._numbers = numbered(passed)
        self._idf = idf
        self._columns = columns.astype(np.int32)
        terms = [passed[number] for number in columns]
        self.vocabulary_: dict[str, int] = numbered(terms)
        self._forms = terms
        self.idf_ = idf[columns]

    def _finish(self, weights: sp.csr_matrix) -> sp.csr_matrix:
        """Leave out the terms without a column and the explicit zeros, and cast."""
        X = weights[:, self._columns].astype(self.dtype)
        X.eliminate_zeros()
        X.sort_indices()
        return X

    @property
    def splits_by_script(self) -> bool:
        """Whether texts are split by their script, in the way of ``splitting``."""
        return bool(self.analyzer == "auto" and self.token_pattern == TOKEN_PATTERN)

    @property
    def stop_tokens_(self) -> frozenset[str]:
        """The stop words as tokens: split and lower-cased like the documents when fitting."""
        return frozenset(self._stop_words)

    def _build_analyzer(self) -> Analyzer:
        """Return the function from a document to its terms, not stemmed."""
        analyze = self._terms_of(self.ngram_range, self._stop_words)
        return analyze if self.strip_ is None else lambda text: analyze(strip_html(text))

    def _split_stop_words(self) -> list[str]:
        """Return the stop words in the shape that they have in documents, sorted."""
        words = stop_word_list(self.stop_words)
        if self.splits_by_script:
            found = (t for word in words for t in splitting.tokens(word, lowercase=self.lowercase))
            return sorted({token.form for token in found if not token.is_part})
        split = self._terms_of((1, 1), ())
        return sorted({token for word in words for token in split(word)})

    def _terms_of(self, ngram_range: tuple[int, int], stop_words: Sequence[str]) -> Analyzer:
        """Return the function from a text without markup to its terms."""
        counter = CountVectorizer(
            lowercase=self.lowercase,
            token_pattern=self.token_pattern,
            ngram_range=ngram_range,
            stop_words=list(stop_words) or None,
            analyzer="word" if self.analyzer in (None, "auto") else self.analyzer,
        )
        analyze: Analyzer = counter.build_analyzer()
        if not self.splits_by_script:
            return analyze
        return splitting.analyzer(
            analyze, lowercase=self.lowercase, ngram_range=ngram_range, stop_words=stop_words
        )

    def _passing(self, frequencies: NDArray[np.int64], n_documents: int) -> NDArray[np.intp]:
        """Return the columns that pass `min_df` and `max_df`, ascending."""
        # Shares are divided, not multiplied: 7 of 100 documents are a share of 0.07 to the bit.
        shares = frequencies / n_documents
        low = frequencies if is_int(self.min_df) else shares
        high = frequencies if is_int(self.max_df) else shares
        (passed,) = np.nonzero((low >= self.min_df) & (high <= self.max_df))
        if not passed.size:
            raise ValueError(
                f"None of the {len(frequencies)} terms is in at least min_df={self.min_df} and at "
                f"most max_df={self.max_df} of the {n_documents} documents. "
                "Lower min_df or raise max_df."
            )
        return passed


def numbered(terms: Sequence[str]) -> dict[str, int]:
    """Return the position of each term."""
    return {term: number for number, term in enumerate(terms)}


def _plain(value: float) -> float:
    """Return a NumPy number as Python's int or float, which JSON knows."""
    return int(value) if is_int(value) else float(value)
