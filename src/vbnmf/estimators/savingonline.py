"""What ``partial_fit`` needs of a model file: documents seen, and the sample of the head."""

from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators.reservoir import Reservoir
from vbnmf.store import ModelFileError, check_array, read_rows

_MOST_DOCUMENTS = 1e15
_LARGEST = 1e30


def online_to_state(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return entries of the header, and arrays."""
    header: dict[str, Any] = {
        "samples_seen": model.n_samples_seen_,
        "samples_total": model.n_samples_total_,
        "steps": model.n_steps_,
    }
    if hasattr(model, "n_labelled_seen_"):
        header["labelled_seen"] = model.n_labelled_seen_
    arrays: dict[str, Array] = {}
    if hasattr(model, "head_sample_"):
        of = model.head_sample_
        header["head_follows"] = model.head_follows_
        arrays = {
            "sample.data": of.X.data,
            "sample.terms": of.X.indices.astype(np.int32),
            "sample.ends": of.X.indptr[1:].astype(np.int64),
            "sample.labels": of.indicators.indices.astype(np.int32),
            "sample.label_ends": of.indicators.indptr[1:].astype(np.int64),
            "sample.weight": of.weight,
        }
    return {"online": header}, arrays


def set_online(model: Any, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Set the attributes of a model whose other attributes are set."""
    labelled = hasattr(model, "classes_")
    stored = header["online"]
    model.n_samples_seen_ = _count(stored, "samples_seen")
    model.n_samples_total_ = _count(stored, "samples_total")
    model.n_steps_ = int(_count(stored, "steps", least=0))
    if labelled:
        model.n_labelled_seen_ = _count(stored, "labelled_seen")
    if labelled and "sample.data" in arrays:
        model.head_sample_ = _sample(model, arrays)
        model.head_follows_ = stored["head_follows"]
        if not isinstance(model.head_follows_, bool):
            raise ModelFileError("head_follows is neither true nor false: the file is damaged.")


def _sample(model: Any, arrays: dict[str, Array]) -> Reservoir:
    """Read and check the sample."""
    weight = check_array(arrays, "sample.weight", (None,), positive=True, most=_LARGEST)
    data = check_array(arrays, "sample.data", (None,), least=0, most=_LARGEST)
    n_docs, dtype = len(weight), model.component_shapes_.dtype
    if data.dtype != dtype or not n_docs or not data.any():
        raise ModelFileError("the sample of documents is damaged.")
    X = read_rows(arrays, "sample.terms", "sample.ends", data, (n_docs, model.n_features_in_))
    ones = np.ones(arrays["sample.labels"].size)
    shape = (n_docs, len(model.classes_))
    indicators = read_rows(arrays, "sample.labels", "sample.label_ends", ones, shape)
    n_labels = np.diff(indicators.indptr)
    if n_labels.min() < 1 or (n_labels.max() > 1 and not model.multilabel_):
        raise ModelFileError("the labels of the sample of documents are damaged.")
    return Reservoir(X, indicators, weight.astype(np.float64, copy=False))


def _count(stored: Any, key: str, least: float = 1e-9) -> float:
    value = stored[key]
    if type(value) not in (int, float) or not least <= value <= _MOST_DOCUMENTS:
        raise ModelFileError(f"{key} must be a number of documents; the file has {value!r}.")
    return float(value)
