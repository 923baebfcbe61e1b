"""Validate parameters and documents, in memory or in shards.

Messages say what is wrong, expected, found and what to do.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import repeat
from numbers import Integral, Real
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf import memory
from vbnmf.core.hyper import LEAST_TERM_SHAPE
from vbnmf.core.model import Array
from vbnmf.engines.backends import PlacedSource, computed
from vbnmf.prediction.thresholds import AIMS
from vbnmf.shards.shard import ShardSource
from vbnmf.shards.values import (
    ValueSummary,
    as_rows,
    check,
    check_weighted_sum,
    fit_type,
    summarize,
    weighted_sum,
)

_SHAPES = (1e-8, 1e6)  # range of shapes of terms and coefficients that float32 resolves
LABEL_SHAPES = (1e-8, 1e12)
_SCALES = (1e-30, 1e30)
USUAL_SHAPES = (0.1, 0.2)  # of the priors of terms and of coefficients, for "auto"
_MOST_COMPONENTS = 1_000_000  # far more than any corpus has
_SMALL = 100_000_000  # bytes that any machine has
_FEWEST, _MOST = 20, 300  # limits of the number that "auto" starts from


def check_matrix(
    estimator: Any, X: Any, *, reset: bool, only_terms: bool = False
) -> sparse.csr_array:
    """Validate documents and return them as a canonical CSR array of float32 or float64.

    The caller's matrix is never modified. In a fit (``reset``), float32 data with large values is
    converted to float64. With ``only_terms``, X may lack the columns of ``head_features``.
    """
    _check_kind("X", X)
    if sparse.issparse(X):
        _check_structure(X)
    if reset or not _is_as_fitted(estimator, X):
        X = _checked_by_sklearn(estimator, X, reset=reset, only_terms=only_terms)
    X = as_rows(X)
    found = summarize(X)
    check(found, fit=reset)
    return X.astype(fit_type(X.dtype, found.largest), copy=False) if reset else X


def _is_as_fitted(estimator: Any, X: Any) -> bool:
    """Return whether X is of the form to which scikit-learn would convert it for a prediction."""
    return bool(
        sparse.issparse(X)
        and X.format == "csr"
        and X.dtype in (np.float64, np.float32)
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def _checked_by_sklearn(estimator: Any, X: Any, *, reset: bool, only_terms: bool) -> Any:
    """Convert documents to an array that is dense or CSR; refuse all that is no matrix."""
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_array, validate_data

    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": False,  # ``check_matrix`` says where values are not finite
    }
    others = getattr(estimator, "head_features", 0)
    if only_terms and others and np.shape(X)[1:] == (estimator.n_features_in_ - others,):
        return check_array(X, **options)
    if not isinstance(estimator, BaseEstimator):  # ``DocumentPredictor`` checks the columns
        return check_array(X, **options)
    return validate_data(estimator, X, reset=reset, **options)


def check_fitted(estimator: Any, attribute: str = "fitted_") -> None:
    """Raise scikit-learn's ``NotFittedError`` unless a model was fitted and has this attribute."""
    if attribute not in vars(estimator):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator, attribute)


def _check_kind(name: str, values: Any) -> None:
    """Refuse masked values and times, of which a conversion to numbers would lose the meaning."""
    masked = isinstance(values, np.ma.MaskedArray) and int(np.ma.getmaskarray(values).sum())
    if masked:
        raise ValueError(
            f"{name} is a masked array, and {masked:,} of its values are masked. Pass "
            f"numbers: {name}.filled(0) if missing values are zeros."
        )
    if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"{name} must hold numbers; got times ({values.dtype}).")


def _check_structure(X: Any) -> None:
    """Refuse index arrays that point outside the matrix, before compiled code uses them."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            # check a view, because the check may modify its input
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
        elif X.format == "coo":
            sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}. Build it again.") from None


def check_head_features(value: Any, n_columns: int) -> int:
    """Check ``head_features``; return the number of terms, the first columns of X."""
    others = check_count("head_features", value, least=0)
    if others >= n_columns:
        raise ValueError(
            f"head_features must leave at least one term: it is {others:,}, and X has "
            f"{n_columns:,} columns. Pass the number of its last columns that only the head uses."
        )
    return n_columns - others


def check_count(name: str, value: Any, *, least: int = 1, most: float = math.inf) -> int:
    """Check an integer parameter."""
    if not _is_number(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    if value > most:
        raise ValueError(f"{name} must be an integer of at most {most}; got {value!r}.")
    return int(value)


def check_nonnegative(name: str, value: Any) -> float:
    """Check a finite, non-negative number, such as a tolerance."""
    if not _is_number(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}.")
    return float(value)


def check_verbose(value: Any) -> None:
    """Check ``verbose``."""
    if not isinstance(value, Integral):
        raise ValueError(f"verbose must be 0, 1 or 2; got {value!r}.")


def check_positive(name: str, value: Any) -> float:
    """Check a finite number greater than zero."""
    if not _is_number(value, Real) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


def check_scale(name: str, value: Any) -> float | None:
    """Check a positive number; return None for "auto"."""
    if _is_auto(value):
        return None
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range(name, float(value), _SCALES)
    raise ValueError(f'{name} must be a positive number or "auto", which learns it; got {value!r}.')


def _in_range(name: str, value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    if low <= value <= high:
        return value
    raise ValueError(f"{name} must be between {low:g} and {high:g}; got {value:g}.")


def check_label_shape(value: Any) -> float | None:
    """Check ``label_shape``, a_λ; return None for "auto"."""
    return None if _is_auto(value) else _shape_or_auto("label_shape", value, LABEL_SHAPES)


def check_coef_shape(value: Any, usual: float) -> float:
    """Check ``coef_shape``, a_v; "auto" is the usual one."""
    return _shape_or_auto("coef_shape", usual if _is_auto(value) else value, _SHAPES)


def _shape_or_auto(name: str, value: Any, limits: tuple[float, float]) -> float:
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range(name, float(value), limits)
    raise ValueError(f'{name} must be a positive number or "auto"; got {value!r}.')


def check_term_shape(value: Any, usual: float) -> tuple[float | None, float]:
    """Check ``term_shape``; return a_t (None if it is learned) and the lower limit of learning.

    "auto" is the usual shape.
    """
    if learns_term_shape(value):
        return None, LEAST_TERM_SHAPE if value == "learned" else 0.0
    value = usual if _is_auto(value) else value
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range("term_shape", float(value), _SHAPES), LEAST_TERM_SHAPE
    raise ValueError(
        'term_shape must be a positive number, "auto", "learned" (with a lower limit) or "free" '
        f"(learned without a limit); got {value!r}."
    )


def learns_term_shape(value: Any) -> bool:
    """Return whether ``term_shape`` is a way of learning it."""
    return isinstance(value, str) and value in ("learned", "free")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


def default_components(n_labels: int | None) -> int:
    """Return the number that "auto" starts from: two for each label, from 20 to 300.

    With 300 to 600 labels there is one for each label, and one more. Without labels (None) it is
    20. Python and the command line both use this function.
    """
    if n_labels is None:
        return _FEWEST
    from vbnmf.discovery.componentsearch import MOST_LABELS

    usual = min(max(2 * n_labels, _FEWEST), _MOST)
    return max(usual, n_labels + 1) if n_labels <= MOST_LABELS else usual


def check_n_components(value: Any, init: Any, n_labels: int | None) -> tuple[int, str]:
    """Check ``n_components``; return the number and the reason for it."""
    if _is_auto(value):
        if not isinstance(init, str) and np.ndim(init) == 2:
            return len(init), f"{len(init)} components, the number of rows of init"
        K = default_components(n_labels)
        rule = "" if n_labels is None else f": two for each label, from {_FEWEST} to {_MOST}"
        if K > _MOST:
            rule = ": one for each label, and one more"
        return K, f"{K} components by default{rule}"
    if value is None or isinstance(value, str):
        raise ValueError(f'n_components must be an integer or "auto"; got {value!r}.')
    K = check_count("n_components", value, most=_MOST_COMPONENTS)
    return K, f"{K} components, as requested"


def check_memory(K: int, shape: tuple[int, ...], size: int) -> None:
    """Refuse a number of components whose arrays alone do not fit into memory.

    There are two arrays of terms. That of documents may be on disk.

    Parameters
    ----------
    K : int
        Number of components.
    shape : tuple of int
        Numbers of documents and terms.
    size : int
        Bytes of a number.
    """
    needed, available = 2 * K * shape[1] * size, memory.available()
    if available is not None and needed > max(available, _SMALL):
        raise MemoryError(
            f"n_components={K:,} with {shape[1]:,} terms needs at least {needed / 1e9:,.1f} GB of "
            f"memory, and {available / 1e9:,.1f} GB are available. Use fewer components, or fewer "
            "terms (max_terms or min_df of the vectorizer)."
        )


def check_scopes(scopes: Any, n_labels: int, n_components: int) -> Array | str:
    """Check ``scopes``: "auto", "all" or a mask of bool of shape (n_labels, n_components)."""
    if isinstance(scopes, str) and scopes in ("auto", "all"):
        return scopes
    expected = f"(n_labels, n_components) = ({n_labels}, {n_components})"
    if isinstance(scopes, str) or scopes is None:
        raise ValueError(f'scopes must be "auto", "all" or a mask {expected}; got {scopes!r}.')
    mask = np.asarray(scopes)
    if mask.shape != (n_labels, n_components) or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"scopes must be a mask of zeros and ones of shape {expected}; got an array of shape "
            f"{mask.shape}."
        )
    mask = mask.astype(bool)
    if not mask.any(axis=1).all() or not mask.any(axis=0).all():
        raise ValueError("scopes must give every label a component and every component a label.")
    return mask


def check_init(init: Any, names: tuple[str, ...], n_components: int, n_terms: int) -> Array | str:
    """Check ``init``: a name, or initial components of shape (n_components, n_terms)."""
    if isinstance(init, str) and init in names:
        return init
    if isinstance(init, str) or init is None:
        known = " or ".join(f'"{name}"' for name in names)
        raise ValueError(f"init must be {known}, or an array of components; got {init!r}.")
    try:
        components = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"init must be an array of numbers; got {init!r}.") from None
    if components.shape != (n_components, n_terms):
        raise ValueError(
            f"init must have the shape of the components, (n_components, n_terms) = "
            f"{(n_components, n_terms)}; got {components.shape}."
        )
    if not np.isfinite(components).all() or (components < 0).any():
        raise ValueError("init must have finite, non-negative values.")
    if not components.any():
        raise ValueError("init must have at least one non-zero value.")
    return components


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Check a parameter that must be one of a few strings."""
    if isinstance(value, str) and value in choices:
        return value
    *first, last = (f'"{choice}"' for choice in choices)
    raise ValueError(f"{name} must be {', '.join(first)} or {last}; got {value!r}.")


def check_threshold(threshold: Any) -> str | float:
    """Check the parameter ``threshold``: an aim, or a probability."""
    if isinstance(threshold, str) and threshold in AIMS:
        return threshold
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if number and 0 < threshold <= 1:
        return float(threshold)
    aims = ", ".join(f'"{aim}"' for aim in AIMS)
    raise ValueError(
        f"threshold must be one of {aims}, or a probability above 0 and at most 1; got "
        f"{threshold!r}."
    )


def check_weights(sample_weight: Any, n_docs: int, name: str = "sample_weight") -> Array | None:
    """Check sample weights; return float64 of shape (n_docs,), or None if all are one."""
    if sample_weight is None:
        return None
    _check_kind(name, sample_weight)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers; got {sample_weight!r}.") from None
    if weight.ndim == 0:
        weight = np.full(n_docs, weight)
    if weight.shape != (n_docs,):
        raise ValueError(
            f"{name} must have one weight for each of the {n_docs} documents; got the shape "
            f"{weight.shape}."
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            f"{name} must have finite, non-negative values that are not all zero; got values "
            f"between {weight.min():g} and {weight.max():g}."
        )
    return None if (weight == 1).all() else weight


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads for ``n_jobs``, as in the glossary of scikit-learn.

    -1 is all cores that this process may use, or OMP_NUM_THREADS if it is set; joblib sets it in
    its workers, to avoid oversubscription by nested parallelism. -2 is one less, and so on. None
    is one, or the number of ``joblib.parallel_config``.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # systems without affinity
        cores = os.cpu_count() or 1
    if n_jobs is None:
        from joblib import effective_n_jobs

        return min(cores, int(effective_n_jobs(None)))
    if not _is_number(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None, a positive number of threads, or -1 for all; got {n_jobs!r}."
        )
    if n_jobs > 0:
        return int(n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores
    return max(1, cores + 1 + int(n_jobs))


def check_finite(*found: Array | float) -> None:
    """Refuse results that are not finite."""
    if not all(np.isfinite(values).all() for values in found):
        raise ValueError(
            "some results of the fit are too large or too small for floating-point numbers. Divide "
            "or multiply X by a constant, pass X in double precision (float64), or leave the "
            "shapes and scales of the priors at their defaults."
        )


# Documents in shards


def is_source(X: Any) -> bool:
    """Return whether documents are in shards, such as ``vbnmf.Shards``, and not in memory."""
    return isinstance(X, ShardSource)


def check_source(estimator: Any, X: Any) -> Any:
    """Check the values of all shards for a fit, and return the shards in the type of the fit.

    The number of terms is set in the estimator.
    """
    found = reduce(add, _by_shard(X, _summarized, repeat(None)))
    check(found, fit=True)
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return X.cast(fit_type(X.dtype, found.largest))


def check_in_memory(X: Any) -> None:
    """Refuse shards if the coefficients of all documents are requested."""
    if is_source(X):
        raise ValueError(
            "fit_coefficients needs the documents in memory; got Shards. Use fit, and then "
            "transform."
        )


def source_weights(X: Any, sample_weight: Any) -> Array | None:
    """Check the sample weights: those given, or those of the shards."""
    given = X.weights() if sample_weight is None else computed(sample_weight)
    return check_weights(given, X.shape[0])


def check_terms_left(X: Any, weight: Array | None) -> None:
    """Refuse sample weights that leave only empty documents, or that overflow."""
    if weight is None:
        return
    if not is_source(X):
        check_weighted_sum(weighted_sum(X, weight))
        return
    each = (weight[a:b] for _number, a, b in _spans(X))
    check_weighted_sum(sum(_by_shard(X, weighted_sum, each)))


def _by_shard(X: Any, work: Callable[..., Any], each: Iterable[Any]) -> list[Any]:
    """Return ``work(rows, value)`` of each shard, with the value of each."""
    if isinstance(X, PlacedSource):
        return X.by_shard(work, each)
    return [work(X.rows(i), value) for (i, _a, _b), value in zip(_spans(X), each, strict=False)]


def _summarized(rows: sparse.csr_array, _value: None) -> ValueSummary:
    return summarize(rows)


def batches(
    X: Any, y: Any, sample_weight: Any, *, labelled: bool
) -> Iterator[tuple[sparse.csr_array, Any, Array | None]]:
    """Yield the documents, labels and weights of each shard, as batches of ``partial_fit``.

    Labels and weights are those given, or those of the shards. A document without a label has the
    label None.
    """
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _num_samples

    weight = source_weights(X, sample_weight)
    y = computed(y)
    if y is not None and _num_samples(y) != X.shape[0]:
        raise ValueError(f"y has {_num_samples(y):,} labels; {X!r} needs one for each document.")
    own = y is None and labelled and X.labels is not None
    parts = X.label_parts() if own else repeat(None)
    for (number, a, b), part in zip(_spans(X), parts, strict=False):
        labels = _named(X, part) if part is not None else None
        if y is not None:
            labels = _safe_indexing(y, slice(a, b))
        yield X.rows(number), labels, None if weight is None else weight[a:b]


def _named(X: Any, indicators: sparse.csr_array) -> Any:
    """Return the labels of the documents of a shard in the form that ``fit`` takes."""
    names, counts = np.array(X.labels), np.diff(indicators.indptr)
    if not X.multilabel and (counts == 1).all():
        return names[indicators.indices]
    listed = [
        names[codes].tolist() for codes in np.split(indicators.indices, indicators.indptr[1:-1])
    ]
    return listed if X.multilabel else [label[0] if label else None for label in listed]


def _spans(X: Any) -> list[tuple[int, int, int]]:
    """Return the number, the first document and the end of each shard."""
    starts = X.starts.tolist()
    return list(zip(range(len(starts) - 1), starts[:-1], starts[1:], strict=True))
