"""Convert fitted models to arrays and headers of model files and back, and validate files."""

import math
import os
import re
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators.base import BaseVBNMF, component_means
from vbnmf.estimators.componentterms import passages_to_state, read_passages
from vbnmf.estimators.documentcounts import counts_to_state, read_counts
from vbnmf.estimators.savingonline import online_to_state, set_online
from vbnmf.estimators.supervised import SupervisedVBNMF
from vbnmf.estimators.unsupervised import VBNMF
from vbnmf.estimators.validation import (
    LABEL_SHAPES,
    MOST_ITERATIONS,
    check_choice,
    check_count,
    check_nonnegative,
    count_threads,
)
from vbnmf.prediction.training import head_from_state, head_to_state
from vbnmf.store import (
    LARGEST,
    ModelFileError,
    check_array,
    check_doubles,
    check_mask,
    check_number,
)

_LARGEST_RATE = 1e100  # of a label: quotients and products with components stay finite
_LARGEST_BOUND = 1e100
_SUM_TO_ONE = 1e-6  # tolerance of the sum of frequencies
_ROUNDING = 1e-2  # relative tolerance of sums in another order or precision
_LONGEST_SENTENCE = 1000  # characters
_LARGEST_AGREEMENT = 1e12  # the cosine of random halves is at least 10⁻¹²
_NO_AGREEMENT = -1.0  # of components that are not shared

_MODELS: dict[str, type[BaseVBNMF]] = {"VBNMF": VBNMF, "SupervisedVBNMF": SupervisedVBNMF}
_HYPERPARAMETERS = {
    "VBNMF": ("term_shape", "term_scale", "coef_shape", "coef_scale"),
    "SupervisedVBNMF": (
        "term_shape", "term_scale", "coef_shape", "coef_scale", "label_shape", "label_scale",
    ),
}  # fmt: skip


def save(model: BaseVBNMF, path: str | os.PathLike[str]) -> None:
    """Save a fitted model; see ``BaseVBNMF.save``."""
    store.write(path, *to_state(model))


def to_state(model: BaseVBNMF) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header, in types of JSON, and the arrays of a fitted model."""
    check_is_fitted(model, "components_")
    if type(model) not in _MODELS.values():
        raise TypeError(
            f"a {type(model).__name__} cannot be saved in a model file, only "
            f"{' and '.join(_MODELS)}. Use pickle for your own classes."
        )
    header: dict[str, Any] = {
        "model": type(model).__name__,
        "vbnmf": vbnmf.__version__,
        "parameters": _storable_parameters(model),
        "hyperparameters": model.hyperparameters_,
        "bound": float(model.bound_),
        "n_iter": int(model.n_iter_),
        "background": model.background_,
        "n_components_reason": model.n_components_reason_,
    }
    arrays = {
        "component_shapes": model.component_shapes_.T,
        "component_scales": model.component_scales_,
        "component_sums": model.component_sums_,
        "bound_history": model.bound_history_,
    }
    if model.describing_terms_ is not None:
        arrays["describing_terms"] = model.describing_terms_
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = [str(name) for name in model.feature_names_in_]
    if isinstance(model, SupervisedVBNMF):
        header["classes"] = _classes_to_json(model.classes_)
        header["label_counts"] = model.label_counts_.tolist()
        arrays |= {
            "label_activations": model.label_activations_,
            "scopes": model.scopes_.astype(np.uint8),
            "label_shapes": model.label_shapes_,
            "label_rate_shapes": model.label_rate_shapes_,
            "label_rate_scales": model.label_rate_scales_,
            "label_frequencies": model.label_frequencies_,
        }
        places = {label: place for place, label in enumerate(model.classes_.tolist())}
        header["label_groups"] = {
            name: [places[label] for label in labels.tolist()]
            for name, labels in model.label_groups_.items()
        }
        header["scoped"] = model.scoped_
        header["transform_prior"] = model.transform_prior_
        header["multilabel"] = model.multilabel_
        header["head"], of_head = head_to_state(model.head_)
        arrays |= {f"head.{name}": array for name, array in of_head.items()}
        header["classifier_reason"] = model.classifier_reason_
        header["component_share"] = model.component_share_
        arrays["label_component_shares"] = model.label_component_shares_
        agreement = np.nan_to_num(model.component_agreement_, nan=_NO_AGREEMENT)
        arrays["component_agreement"] = agreement
        header["smoothing"] = model.smoothing_
        of_counts, count_arrays = counts_to_state(model)
        header, arrays = header | of_counts, arrays | count_arrays
    for more_header, more_arrays in (passages_to_state(model), online_to_state(model)):
        header, arrays = header | more_header, arrays | more_arrays
    return header, arrays


def from_state(header: dict[str, Any], arrays: dict[str, Array]) -> BaseVBNMF:
    """Rebuild a model. Damaged content raises ``ValueError``, ``KeyError`` or similar errors."""
    name = header["model"]
    if name not in _MODELS:
        raise ModelFileError(f"model {name!r} is not one of {', '.join(_MODELS)}.")
    model = _MODELS[name](**_checked_parameters(name, header["parameters"]))
    check_count("transform_max_iter", model.transform_max_iter, most=MOST_ITERATIONS)
    check_nonnegative("transform_tol", model.transform_tol)
    model._schedule(burn_in=0)  # validates the parameters that reports show
    count_threads(model.n_jobs)
    # the digamma function of smaller shapes is not finite
    shapes = check_array(arrays, "component_shapes", (None, None), least=1 / LARGEST)
    n_terms, K = shapes.shape
    if n_terms < 1 or K < 1:
        raise ModelFileError("the components are empty: the file is damaged.")
    model.component_shapes_ = shapes.T
    model.component_scales_ = check_doubles(arrays, "component_scales", (K,), positive=True)
    model.component_sums_ = check_doubles(arrays, "component_sums", (K,), positive=True)
    model.components_ = component_means(model.component_shapes_, model.component_scales_)
    with np.errstate(over="ignore"):
        totals = model.component_sums_ / model.component_scales_
    in_range = np.isfinite(model.components_).all() and totals.max() <= LARGEST
    if not in_range or shapes.max() > LARGEST:
        raise ModelFileError("the components are too large: the file is damaged.")
    if not (model.components_ > 0).all():
        raise ModelFileError("the components are too small: the file is damaged.")
    if not np.allclose(shapes.sum(axis=0, dtype=np.float64), totals, rtol=_ROUNDING, atol=0):
        raise ModelFileError("the sums do not match the components: the file is damaged.")
    most = _LARGEST_BOUND
    model.bound_history_ = check_array(arrays, "bound_history", (None,), least=-most, most=most)
    if not len(model.bound_history_):
        raise ModelFileError("the history of the bound is empty: the file is damaged.")
    model.bound_ = check_number(header, "bound", least=-most, most=most)
    model.n_iter_ = whole(header["n_iter"])
    model.n_components_ = K
    model.n_components_reason_ = _sentence(header, "n_components_reason")
    model.background_ = _background(header, K)
    model.hyperparameters_ = {
        key: _positive(header["hyperparameters"], key) for key in _HYPERPARAMETERS[name]
    }
    model.describing_terms_ = _describing_terms(arrays, K, n_terms)
    model.passages_ = read_passages(header, arrays, n_terms)
    model.n_features_in_ = n_terms
    if "feature_names" in header:
        model.feature_names_in_ = names(header["feature_names"], n_terms)
    if isinstance(model, SupervisedVBNMF):
        _set_labels(model, header, arrays, K)
    set_online(model, header, arrays)
    return model


def _set_labels(
    model: SupervisedVBNMF, header: dict[str, Any], arrays: dict[str, Array], K: int
) -> None:
    model.classes_ = _classes_from_json(header["classes"])
    n = len(model.classes_)
    counts = [whole(count) for count in header["label_counts"]]
    model.label_counts_ = np.array(counts, dtype=np.int64)
    if len(model.label_counts_) != n:
        raise ModelFileError(f"there are {n} labels but {len(model.label_counts_)} counts of them.")
    model.label_activations_ = check_doubles(arrays, "label_activations", (n, K), least=0)
    model.label_shapes_ = check_doubles(arrays, "label_shapes", (n,), least=LABEL_SHAPES[0])
    model.label_rate_shapes_ = check_doubles(arrays, "label_rate_shapes", (n, K), positive=True)
    model.scopes_ = check_mask(arrays, "scopes", (n, K))
    model.label_groups_ = _label_groups(header["label_groups"], model.classes_)
    model.scoped_ = header["scoped"] is True
    priors = ("even", "by component")
    model.transform_prior_ = check_choice("transform_prior", header["transform_prior"], priors)
    if not model.scopes_.any(axis=0).all() or not model.scopes_.any(axis=1).all():
        raise ModelFileError("a label or a component is in no scope: the file is damaged.")
    model.label_rate_scales_ = check_doubles(arrays, "label_rate_scales", (n, K), positive=True)
    model.multilabel_ = header["multilabel"]
    if not isinstance(model.multilabel_, bool):
        raise ModelFileError(f"multilabel is {model.multilabel_!r}: the file is damaged.")
    model.label_frequencies_ = check_doubles(arrays, "label_frequencies", (n,), least=0, most=1)
    total = model.label_frequencies_.sum()
    if not model.multilabel_ and not math.isclose(total, 1, abs_tol=_SUM_TO_ONE):
        raise ModelFileError(
            f"the frequencies of labels add up to {total:g}, not to one: the file is damaged."
        )
    model.component_share_ = check_number(header, "component_share", least=0, most=1)
    model.label_component_shares_ = check_doubles(
        arrays, "label_component_shares", (n,), least=0, most=1
    )
    least, most = _NO_AGREEMENT, _LARGEST_AGREEMENT
    agreement = check_doubles(arrays, "component_agreement", (K,), least=least, most=most)
    model.component_agreement_ = np.where(agreement < 0, np.nan, agreement)
    model.classifier_reason_ = _sentence(header, "classifier_reason")
    model.smoothing_ = _positive(header, "smoothing")
    prefix = "head."
    of_head = {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
    model.head_ = head_from_state(
        header["head"], of_head, K, model.n_features_in_, model.label_frequencies_,
        multilabel=model.multilabel_,
    )  # fmt: skip
    with np.errstate(over="ignore", under="ignore"):
        rates = model.label_rate_shapes_ * model.label_rate_scales_
    if not ((rates >= 1 / _LARGEST_RATE) & (rates <= _LARGEST_RATE)).all():
        raise ModelFileError("the rates of labels are out of range: the file is damaged.")
    model.label_rates_ = np.where(model.scopes_, rates, np.inf)
    read_counts(model, header, arrays)


def _label_groups(stored: Any, classes: Array) -> dict[str, Array]:
    """Read the groups of a label tree with their labels."""
    if not isinstance(stored, dict) or len(stored) > 2 * len(classes):
        raise ModelFileError("the groups of labels are damaged.")
    groups = {}
    for name, places in stored.items():
        at = [whole(place) for place in places]
        if not at or max(at) >= len(classes) or len(set(at)) != len(at):
            raise ModelFileError("the groups of labels are damaged.")
        groups[name] = classes[at]
    return groups


def _background(header: dict[str, Any], K: int) -> int | None:
    """Read the component that was initialised as the background, if any."""
    stored = header.get("background")
    if stored is not None and whole(stored) >= K:
        raise ModelFileError(f"the background is component {stored}, but there are {K}.")
    return stored


def _describing_terms(arrays: dict[str, Array], K: int, n_terms: int) -> Array | None:
    """Read the terms that describe each component; None after a batch without labels."""
    terms = arrays.get("describing_terms")
    if terms is None:
        return None
    sound = (
        terms.dtype == np.int32
        and terms.ndim == 2
        and terms.shape[0] == K
        and 1 <= terms.shape[1] <= n_terms
        and terms.min() >= 0
        and terms.max() < n_terms
        and (np.diff(np.sort(terms, axis=1), axis=1) > 0).all()
    )
    if not sound:
        raise ModelFileError("the terms that describe components are damaged.")
    return terms


def _sentence(header: dict[str, Any], key: str) -> str:
    """Read a short text from a header."""
    stored = header[key]
    if not isinstance(stored, str) or len(stored) > _LONGEST_SENTENCE:
        raise ModelFileError(f"{key} is not a short text: the file is damaged.")
    return stored


def _storable_parameters(model: BaseVBNMF) -> dict[str, Any]:
    """Return the parameters that JSON can hold; others are not saved."""
    stored = {}
    for key, value in model.get_params(deep=False).items():
        if key in ("callback", "checkpoint", "engine"):
            continue
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            continue  # JSON has no NaN; unlabelled=nan is the same as the default
        if value is None or isinstance(value, (bool, int, float, str)):
            stored[key] = value
    return stored


def _checked_parameters(name: str, parameters: Any) -> dict[str, Any]:
    known = _MODELS[name]().get_params(deep=False)
    for key, value in parameters.items():
        if key not in known or (key in ("callback", "checkpoint") and value is not None):
            raise ModelFileError(f"{name} has no parameter {key!r}.")
        if not (value is None or isinstance(value, (bool, int, float, str))):
            raise ModelFileError(f"parameter {key!r} has the value {value!r}.")
    return dict(parameters)


_JSON_KINDS = {"U": str, "i": int, "u": int, "f": float, "b": bool}


def _classes_to_json(classes: Array) -> dict[str, Any]:
    """Convert labels to JSON together with their type."""
    values = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    storable = classes.dtype.kind in ("O", *_JSON_KINDS) and all(map(_is_storable, values))
    if not storable:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"labels of type {', '.join(kinds)} cannot be saved in a model file, only strings, "
            "numbers and booleans. Fit with str(label) for each label."
        )
    return {"dtype": "object" if classes.dtype == object else classes.dtype.str, "values": values}


def _is_storable(value: Any) -> bool:
    return isinstance(value, (str, int, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _classes_from_json(stored: Any) -> Array:
    values, name = stored["values"], stored["dtype"]
    if not isinstance(values, list) or not values:
        raise ModelFileError("the model has no labels: the file is damaged.")
    sound = all(map(_is_storable, values))
    if name == "object":
        dtype: Any = object
    else:
        known = re.fullmatch(r"[<>|](U\d+|[iuf][1248]|b1)", name)
        kind = _JSON_KINDS[name[1]] if known else None
        # the types must match exactly: bool passes for int, and "1" would become 1
        sound = sound and all(type(value) is kind for value in values)
    if not sound:
        raise ModelFileError(f"labels {values[:3]!r} are not of type {name!r}: damaged file.")
    if name != "object":  # do not trust the width in the file, which could fill all memory
        dtype = f"{name[0]}U{max(1, *map(len, values))}" if kind is str else name
    with np.errstate(over="ignore"):
        classes = np.array(values, dtype)
    if classes.tolist() != values or len(sorted(set(values))) != len(values):
        raise ModelFileError("labels are repeated or do not fit their type: damaged file.")
    return classes


def names(values: Any, n_terms: int) -> Array:
    """Read the names of terms from a header; there must be one string for each term."""
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        raise ModelFileError("names of terms must be strings: the file is damaged.")
    if len(values) != n_terms:
        raise ModelFileError(f"there are {n_terms} terms but {len(values)} names of them.")
    return np.array(values, dtype=object)


def _positive(values: Any, key: str) -> float:
    return check_number(values, key, least=1 / LARGEST, most=LARGEST)


def whole(value: Any) -> int:
    """Read a count from a header."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ModelFileError(f"a count must be a whole number; the file has {value!r}.")
    return value
