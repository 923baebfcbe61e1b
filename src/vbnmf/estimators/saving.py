"""Convert fitted estimators to headers and arrays of model files and back, and validate files.

``records`` converts the records of the fitted state. This module adds the class and its parameters.
"""

import math
import os
from dataclasses import asdict
from typing import Any

import numpy as np

import vbnmf
from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators import records
from vbnmf.estimators.base import BaseVBNMF
from vbnmf.estimators.online import Batches, check_batches
from vbnmf.estimators.records import State
from vbnmf.estimators.supervised import SupervisedVBNMF
from vbnmf.estimators.unsupervised import VBNMF
from vbnmf.estimators.validation import (
    check_count,
    check_fitted,
    check_threshold,
    count_threads,
)
from vbnmf.store import ModelFileError, check_names

_MOST_COLUMNS = (1 << 31) - 1

_MODELS: dict[str, type[BaseVBNMF]] = {"VBNMF": VBNMF, "SupervisedVBNMF": SupervisedVBNMF}


def save(model: BaseVBNMF, path: str | os.PathLike[str]) -> None:
    """Save a fitted model; see ``BaseVBNMF.save``."""
    store.write(path, *to_state(model))


def to_state(model: BaseVBNMF) -> State:
    """Return the header, in types of JSON, and the arrays of a fitted model."""
    check_fitted(model)
    if type(model) not in _MODELS.values():
        raise TypeError(
            f"a {type(model).__name__} cannot be saved in a model file, only "
            f"{' and '.join(_MODELS)}. Use pickle for your own classes."
        )
    header: dict[str, Any] = {
        "model": type(model).__name__,
        "vbnmf": vbnmf.__version__,
        "parameters": _storable_parameters(model),
    }
    if hasattr(model, "feature_names_in_"):
        header["feature_names"] = [str(name) for name in model.feature_names_in_]
    more, arrays = records.to_state(model.fitted_)
    return header | more, arrays


def from_state(header: dict[str, Any], arrays: dict[str, Array]) -> BaseVBNMF:
    """Rebuild a model. Damaged content raises ``ValueError``, ``KeyError`` or similar errors."""
    name = header["model"]
    if name not in _MODELS:
        raise ModelFileError(f"model {name!r} is not one of {', '.join(_MODELS)}.")
    model = _MODELS[name](**_checked_parameters(name, header["parameters"]))
    check_batches(model.batches)
    model._schedule(burn_in=0)  # validates the parameters that reports show
    count_threads(model.n_jobs)
    labelled, n_features = isinstance(model, SupervisedVBNMF), _n_head_features(model)
    model.fitted_ = records.from_state(header, arrays, labelled=labelled, n_features=n_features)
    model.n_features_in_ = len(model.fitted_.components.shapes) + n_features
    if "feature_names" in header:
        model.feature_names_in_ = check_names(header["feature_names"], model.n_features_in_)
    return model


def _n_head_features(model: BaseVBNMF) -> int:
    """Return the number of columns that only the head uses."""
    if not isinstance(model, SupervisedVBNMF):
        return 0
    return check_count("head_features", model.head_features, least=0, most=_MOST_COLUMNS)


def _storable_parameters(model: BaseVBNMF) -> dict[str, Any]:
    """Return the parameters that JSON can hold; others are not saved."""
    stored: dict[str, Any] = {}
    for key, value in model.get_params(deep=False).items():
        if key in ("callback", "checkpoint", "engine"):
            continue
        value = _plain(value)
        if isinstance(value, float) and not math.isfinite(value):
            continue  # JSON has no NaN; unlabelled=nan is the same as the default
        if isinstance(value, Batches):
            stored[key] = {name: _plain(number) for name, number in asdict(value).items()}
        if value is None or isinstance(value, (bool, int, float, str)):
            stored[key] = value
    return stored


def _plain(value: Any) -> Any:
    """Convert a number of NumPy to one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _checked_parameters(name: str, parameters: Any) -> dict[str, Any]:
    known = _MODELS[name]().get_params(deep=False)
    checked = dict(parameters)
    if isinstance(checked.get("batches"), dict):
        checked["batches"] = Batches(**checked["batches"])
    for key, value in parameters.items():
        if key == "batches" and isinstance(checked[key], Batches):
            continue
        if key not in known or (key in ("callback", "checkpoint") and value is not None):
            raise ModelFileError(f"{name} has no parameter {key!r}.")
        if not (value is None or isinstance(value, (bool, int, float, str))):
            raise ModelFileError(f"parameter {key!r} has the value {value!r}.")
    if "threshold" in checked:  # predictions use it; fits check the others
        check_threshold(checked["threshold"])
    return checked
