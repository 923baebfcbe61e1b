"""Validate the parameters of a vectorizer and its state in a model file.

A file may come from anywhere, so nothing in it is trusted. ``counting`` validates documents.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbnmf.text.markup import STRIPS
from vbnmf.text.patterns import check_time
from vbnmf.text.weighting import WEIGHTINGS
from vbnmf.text.words import check_stemmer

_OPTIONAL_INT = (int, type(None))
_OPTIONAL_STR = (str, type(None))

TYPES: dict[str, tuple[type, ...]] = {
    "weighting": (str,),
    "max_terms": _OPTIONAL_INT,
    "lowercase": (bool,),
    "token_pattern": (str,),
    "ngram_range": (list,),
    "stop_words": (list,),
    "min_df": (int, float),
    "max_df": (int, float),
    "stem": _OPTIONAL_STR,
    "analyzer": _OPTIONAL_STR,
    "strip": _OPTIONAL_STR,
    "stripped": _OPTIONAL_STR,
    "dtype": (str,),
    "terms": (list,),
    "forms": (list, type(None)),
    "n_documents": (int,),
    "n_empty": (int,),
    "length": (float,),
}
PARAMETERS = (
    "weighting", "max_terms", "lowercase", "token_pattern", "ngram_range", "stop_words", "min_df",
    "max_df", "stem", "analyzer", "strip", "dtype",
)  # fmt: skip
"""Parameters of ``DocumentVectorizer``, in the order of its signature."""

ARRAYS = {"idf": "f", "columns": "i"}

OLDER_FILES: dict[str, Any] = {"strip": None, "stripped": None}
"""Values for older files, which do not have these entries."""

WORD_ANALYZERS = ("auto", "word", None)

LONGEST_NGRAM = 20
"""Maximum length of n-grams, in words or characters."""

_LONGEST_PATTERN = 10_000  # characters
_LONGEST_DOCUMENT = 1e12  # maximum Euclidean length that documents are scaled to
_MOST_DOCUMENTS = 2**53  # maximum integer that a float represents exactly


def check_parameters(given: Mapping[str, Any], *, of_file: bool = False) -> None:
    """Raise ValueError for invalid parameters of a vectorizer.

    Patterns of model files are not tried out: they are simple, or the user trusts the file.
    """
    if given["weighting"] not in WEIGHTINGS:
        raise ValueError(f"weighting must be one of {WEIGHTINGS}; got {given['weighting']!r}.")
    max_terms = given["max_terms"]
    if max_terms is not None and not (is_int(max_terms) and max_terms >= 1):
        raise ValueError(f"max_terms must be None or an int from 1; got {max_terms!r}.")
    for name in ("min_df", "max_df"):
        value = given[name]
        is_share = isinstance(value, float | np.floating) and 0 <= value <= 1
        if not (is_share or (is_int(value) and value >= 1)):
            raise ValueError(
                f"{name} must be a number of documents (int from 1) or a fraction of them "
                f"(float from 0.0 to 1.0); got {value!r}."
            )
    match given["ngram_range"]:
        case (low, high) if is_int(low) and is_int(high) and 1 <= low <= high <= LONGEST_NGRAM:
            pass
        case other:
            raise ValueError(
                f"ngram_range must be two ints, 1 <= first <= second <= {LONGEST_NGRAM}; got "
                f"{other!r}."
            )
    pattern = given["token_pattern"]
    if isinstance(pattern, str) and len(pattern) > _LONGEST_PATTERN:
        raise ValueError(
            f"token_pattern must have at most {_LONGEST_PATTERN} characters; got {len(pattern)}."
        )
    try:
        re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"token_pattern={pattern!r} is not a regular expression: {error}."
        ) from error
    if not of_file:
        check_time(pattern)
    try:
        dtype = np.dtype(given["dtype"])
    except TypeError:
        dtype = None
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64; got {given['dtype']!r}.")
    if given["strip"] not in STRIPS:
        raise ValueError(f"strip must be 'auto', 'html' or None; got {given['strip']!r}.")
    check_stemmer(given["stem"])
    _check_analyzer(given)


def complete_state(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with default values for entries that older files do not have."""
    return OLDER_FILES | dict(meta)


def check_state(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError unless `meta` and `arrays` can be the state of a vectorizer.

    Parameters
    ----------
    meta : mapping
        The entries of `TYPES`: parameters, and ``terms`` (n_passed strings, ascending), ``forms``
        (n_terms strings, with `stem` only), ``n_documents``, ``n_empty`` and ``length``.
    arrays : mapping of str to ndarray
        ``idf`` (n_passed,) and ``columns`` (n_terms,): those of ``terms`` that have a column.
    """
    _check_names("entries", set(meta), set(TYPES))
    _check_names("arrays", set(arrays), set(ARRAYS))
    for name, types in TYPES.items():
        value = meta[name]
        # In Python a bool is an int, but the file must distinguish them.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            wanted = " or ".join(t.__name__ for t in types)
            raise _nonsense(f"{name!r} must be {wanted}; found {type(value).__name__}")
    for name, kind in ARRAYS.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind != kind:
            raise _nonsense(f"array {name!r} must be a vector of kind {kind!r}")

    terms, forms, columns, idf = meta["terms"], meta["forms"], arrays["columns"], arrays["idf"]
    for name in ("terms", "stop_words", "forms"):
        if not all(isinstance(word, str) for word in meta[name] or ()):
            raise _nonsense(f"{name!r} must have strings only")
    if not all(a < b for a, b in pairwise(terms)):
        raise _nonsense("'terms' must be in ascending order without repetition")
    if not 0 <= meta["n_empty"] <= meta["n_documents"] or meta["n_documents"] < 1:
        raise _nonsense("'n_documents' must be at least 1 and 'n_empty' no larger")
    if meta["n_documents"] > _MOST_DOCUMENTS:
        raise _nonsense("'n_documents' is too large")
    most = np.log(meta["n_documents"]) + 1e-6  # of a term in one document
    if idf.shape != (len(terms),) or not ((idf >= 0) & (idf <= most)).all():
        raise _nonsense(f"'idf' must have {len(terms)} numbers between 0 and ln(n_documents)")
    if not (
        1 <= len(columns) == min(meta["max_terms"] or len(terms), len(terms))
        and columns[0] >= 0
        and columns[-1] < len(terms)
        and (np.diff(columns) > 0).all()
    ):
        raise _nonsense(f"'columns' must be max_terms ascending numbers of the {len(terms)} terms")
    if (forms is None) != (meta["stem"] is None):
        raise _nonsense("'forms' must be given if and only if 'stem' is given")
    if forms is not None and not len(forms) == len(set(forms)) == len(columns):
        raise _nonsense(f"'forms' must have {len(columns)} different words")
    if meta["stripped"] not in ("html", None):
        raise _nonsense(f"'stripped' must be 'html' or null; found {meta['stripped']!r}")
    if not 1 / _LONGEST_DOCUMENT <= meta["length"] <= _LONGEST_DOCUMENT:
        raise _nonsense(f"'length' must be positive and not huge; found {meta['length']}")


def is_int(value: object) -> bool:
    """Return whether `value` is an integer of Python or NumPy, but not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_analyzer(given: Mapping[str, Any]) -> None:
    """Raise ValueError for an unknown analyzer, or for word options with another analyzer."""
    analyzer = given["analyzer"]
    names = (*WORD_ANALYZERS, "char", "char_wb")
    if not (callable(analyzer) or any(analyzer == name for name in names)):
        raise ValueError(
            "analyzer must be 'auto', 'word' (or None), 'char', 'char_wb' or callable; "
            f"got {analyzer!r}."
        )
    if analyzer in WORD_ANALYZERS:
        return
    if given["stop_words"] is not None:
        raise ValueError(
            f"stop_words need analyzer='auto' or 'word'; got analyzer={analyzer!r}. Remove common "
            "words in the analyzer, or with max_df."
        )
    if isinstance(analyzer, str) and given["stem"] is not None:
        raise ValueError(f"stem needs words, but analyzer is {analyzer!r}. Use stem=None.")


def _check_names(what: str, found: set[str], expected: set[str]) -> None:
    """Raise ValueError unless the names are the expected ones."""
    if found != expected:
        raise _nonsense(
            f"{what} missing: {sorted(expected - found)}, "
            f"unknown: {sorted(map(str, found - expected))}"
        )


def _nonsense(problem: str) -> ValueError:
    """Return the error for an invalid state."""
    return ValueError(
        f"This is not the state of a DocumentVectorizer: {problem}. "
        "The file may be damaged or of another version; save the model again."
    )
