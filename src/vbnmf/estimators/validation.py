"""Checks of what users pass in; every message says what is wrong, expected, found and to do."""

import math
import os
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from vbnmf.core.hyper import LEAST_TERM_SHAPE
from vbnmf.core.model import Array

_LARGEST_SUM = 1e30  # float32 holds products of two factors up to here
_LEAST = float(np.finfo(np.float32).tiny)  # of what is not zero
_LARGEST_SINGLE = 1e6  # beside a larger value, float32 rounds away what matters to the bound
_SHAPES = (1e-8, 1e6)  # of priors of terms and coefficients; float32 rounds others away
_LABEL_SHAPES = (1e-8, 1e12)
_SCALES = (1e-30, 1e30)
_FEWEST, _MOST = 20, 300  # components where no number is given


def check_matrix(estimator: Any, X: Any, *, reset: bool) -> sparse.csr_array:
    """Documents as a canonical CSR array of float32 or float64, never the caller's to change.

    A fit (``reset``) to single precision is done in double precision where values are large.
    """
    if sparse.issparse(X):
        _check_structure(X)
    X = validate_data(
        estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
    )
    if not sparse.issparse(X):
        _check_signs(estimator, X)
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    _check_signs(estimator, X)
    _check_size(X)
    with np.errstate(over="ignore"):  # infinity is told below
        total = X.data.sum(dtype=np.float64)
    if total > _LARGEST_SUM:
        raise ValueError(
            f"X is too large to work with: its values add up to {total:.3g}, more than "
            f"{_LARGEST_SUM:.0e}. Divide X by a constant."
        )
    if reset and total == 0:
        raise ValueError(
            "X has no value other than zero, so there is nothing to learn from. Check the "
            "vocabulary: no document has any of its terms."
        )
    if reset and X.dtype == np.float32 and X.data.max() > _LARGEST_SINGLE:
        return X.astype(np.float64)
    return X


def _check_structure(X: Any) -> None:
    """Refuse index arrays that point outside the matrix, before compiled code follows them."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            # a view of it, for the check tidies up what it looks at
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
        elif X.format == "coo":
            sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}. Build it anew.") from None


def _check_size(X: sparse.csr_array) -> None:
    """Refuse values so near to zero that their squares and quotients are none."""
    least = X.data.min(where=X.data > 0, initial=np.inf)
    if least >= _LEAST:
        return
    at = int(np.flatnonzero(X.data == least)[0])
    row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    raise ValueError(
        f"X has a value too small to work with: {least:.3g} at row {row}, column {column}. Values "
        f"other than zero must be at least {_LEAST:.3g}. Set smaller ones to zero, or multiply X "
        "by a constant."
    )


def _check_signs(estimator: Any, X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size == 0 or values.min() >= 0:
        return
    if sparse.issparse(X):
        at = int(np.argmin(X.data))
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = (int(i) for i in np.unravel_index(np.argmin(X), X.shape))
    raise ValueError(
        f"Negative values in data passed to {type(estimator).__name__}: found {values.min():g} at "
        f"row {row}, column {column}. X must be non-negative; use counts or TF-IDF, not centred "
        "data."
    )


MOST_ITERATIONS = 10_000
"""Most iterations for a document in a projection; a hundred times the default."""


def check_count(name: str, value: Any, *, least: int = 1, most: float = math.inf) -> int:
    """An integer parameter."""
    if not _is_number(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}.")
    if value > most:
        raise ValueError(f"{name} must be an integer of at most {most}; got {value!r}.")
    return int(value)


def check_nonnegative(name: str, value: Any) -> float:
    """Check a finite number that is not negative, such as a tolerance."""
    if not _is_number(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0; got {value!r}.")
    return float(value)


def check_shape_or_scale(name: str, value: Any, *, auto: bool = True) -> float | None:
    """A positive number, or None for "auto"."""
    if auto and isinstance(value, str) and value == "auto":
        return None
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range(name, float(value), _SCALES if name.endswith("scale") else _SHAPES)
    or_auto = ' or "auto", which learns it' if auto else ""
    raise ValueError(f"{name} must be a positive number{or_auto}; got {value!r}.")


def _in_range(name: str, value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    if low <= value <= high:
        return value
    raise ValueError(f"{name} must be between {low:g} and {high:g} to work with; got {value:g}.")


def check_label_shape(value: Any) -> float | None:
    """a_λ, or None if it goes by the labels."""
    if isinstance(value, str) and value == "auto":
        return None
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range("label_shape", float(value), _LABEL_SHAPES)
    raise ValueError(
        'label_shape must be a positive number or "auto", which goes by scopes and the number of '
        f"documents of each label; got {value!r}."
    )


def check_term_shape(value: Any) -> tuple[float | None, float]:
    """a_t, or None if it is learned, and the least that it may then become."""
    if isinstance(value, str) and value in ("auto", "free"):
        return None, LEAST_TERM_SHAPE if value == "auto" else 0.0
    if _is_number(value, Real) and 0 < value < math.inf:
        return _in_range("term_shape", float(value), _SHAPES), LEAST_TERM_SHAPE
    raise ValueError(
        'term_shape must be a positive number, "auto", which learns it above a guard, or "free", '
        f"which learns it without; got {value!r}."
    )


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


def default_components(n_labels: int | None) -> int:
    """Number of components where none is given: two for each label, from 20 to 300.

    Without labels (None) it is 20. Python and the command line both go by this function.
    """
    return _FEWEST if n_labels is None else min(max(2 * n_labels, _FEWEST), _MOST)


def check_n_components(value: Any, init: Any, n_labels: int | None) -> tuple[int | None, str]:
    """Number of components, or None if it is to be found; and why it is this number."""
    if value is None:
        if not isinstance(init, str) and np.ndim(init) == 2:
            return len(init), f"{len(init)} components, as many as init has"
        K = default_components(n_labels)
        rule = "" if n_labels is None else f": two for each label, from {_FEWEST} to {_MOST}"
        return K, f"{K} components by default{rule}"
    if not (isinstance(value, str) and value == "auto"):
        if isinstance(value, str):
            raise ValueError(f'n_components must be an integer, "auto" or None; got {value!r}.')
        K = check_count("n_components", value)
        return K, f"{K} components, as asked for"
    if isinstance(init, str) and init == "auto":
        return None, ""
    raise ValueError(
        'n_components="auto" needs init="auto": other starts do not look for components. Give a '
        "number."
    )


def check_scopes(scopes: Any, n_labels: int, n_components: int | None) -> Array | str:
    """Which labels each component serves, (n_labels, n_components) of bool, or a word for it."""
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


def check_init(
    init: Any, names: tuple[str, ...], n_components: int | None, n_terms: int
) -> Array | str:
    """Starting components, (n_components, n_terms), or the name of a kind of start."""
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
        raise ValueError("init must hold finite, non-negative weights of terms.")
    if not components.any():
        raise ValueError("init must hold some weight other than zero.")
    return components


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in choices:
        return value
    *first, last = (f'"{choice}"' for choice in choices)
    raise ValueError(f"{name} must be {', '.join(first)} or {last}; got {value!r}.")


def check_weights(sample_weight: Any, n_docs: int, name: str = "sample_weight") -> Array | None:
    """Weights of documents, (n_docs,) in float64; None where all are one."""
    if sample_weight is None:
        return None
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
            f"{name} must hold finite weights, none of them negative and not all of them zero; "
            f"they are between {weight.min():g} and {weight.max():g}."
        )
    return None if (weight == 1).all() else weight


def check_terms_left(X: sparse.csr_array, weight: Array | None) -> None:
    """Refuse weights that leave nothing but empty documents, or more than numbers can hold."""
    if weight is None:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = float((weight @ X).sum())
    if total == 0:
        raise ValueError(
            "the documents that have any term all have the weight zero, so there is nothing to "
            "learn from. Check sample_weight."
        )
    if not total <= _LARGEST_SUM:
        raise ValueError(
            f"sample_weight is too large to work with: times X it adds up to {total:.3g}, more "
            f"than {_LARGEST_SUM:.0e}. Divide it by a constant."
        )


def count_threads(n_jobs: Any) -> int:
    """Number of threads for a scikit-learn style ``n_jobs``.

    None means all that this process may use, or OMP_NUM_THREADS where it is set (joblib sets it in
    its workers, so that nested parallel runs do not crowd each other out).
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # systems without affinity
        cores = os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdecimal() and int(limit) > 0 else cores
    if not _is_number(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None, a positive number of threads, or -1 for all; got {n_jobs!r}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
