"""A small model file in parts, and what loading a changed one comes to."""

import json
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import fitted_attributes
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from vbnmf import load
from vbnmf.store import ModelFileError


class ModelFile:
    """A small model file in parts, to be put together otherwise."""

    def __init__(self, raw):
        self.raw = raw
        length = struct.unpack("<Q", raw[:8])[0]
        self.length = 8 + length
        self.tensors = json.loads(raw[8 : self.length])
        self.metadata = self.tensors.pop("__metadata__")
        self.header = json.loads(self.metadata["vbnmf"])
        self.data = raw[self.length :]

    def with_tensors(self, tensors, data=None, metadata=None):
        text = json.dumps({"__metadata__": metadata or self.metadata, **tensors}).encode()
        return struct.pack("<Q", len(text)) + text + (self.data if data is None else data)

    def with_tensor(self, name, **changes):
        return self.with_tensors(
            {**self.tensors, name: {**self.tensors[name], **changes}},
        )

    def with_header(self, **changes):
        return self.with_header_text(json.dumps({**self.header, **changes}))

    def with_header_text(self, text):
        return self.with_tensors(self.tensors, metadata={"vbnmf": text})

    def with_arrays(self, **arrays):
        known = {name: array.copy() for name, array in load_tensors(self.raw).items()}
        kept = {name: a for name, a in {**known, **arrays}.items() if a is not None}
        return save_tensors(kept, metadata=self.metadata)


@cache
def model_file(model):
    """A file that is as small as can be, with single digits where a flipped bit could matter."""
    X = np.array([[3, 1, 0], [2, 0, 0], [0, 1, 4], [0, 0, 2]], dtype=np.float32)
    fitted = model(2, random_state=0, max_iter=1, n_jobs=1)
    fitted.fit(X, ["a", "a", "b", "b"])
    fitted.feature_names_in_ = np.array(["x", "é", '"'], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model")
        return ModelFile((Path(folder) / "model").read_bytes())


def outcome(path, use=None):
    """Load and use a file: "refused", "works", or what went wrong."""
    try:
        model = load(path)
    except ModelFileError as error:
        return "refused" if path.name in str(error) else f"a message without the path: {error}"
    except BaseException as error:
        return f"loading: {error!r}"
    try:
        return (use or transformed)(model)
    except BaseException as error:
        return f"using: {error!r}"


def transformed(model):
    V = model.transform(np.ones((2, model.n_features_in_), dtype=np.float32))
    for name, value in fitted_attributes(model).items():
        numbers = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        expected = model.scopes_ if name == "label_rates_" else True  # infinite outside scopes
        if name == "component_agreement_" and numbers:  # NaN for components that are not shared
            expected = ~np.isnan(value)
        if numbers and not (np.isfinite(value) == expected).all():
            return f"{name} is not finite"
        if isinstance(value, np.ndarray) and value.nbytes > 10_000:
            return f"{name} takes {value.nbytes} bytes"
    return "works" if np.isfinite(V).all() else "coefficients are not finite"


def assert_refused(path, content, *parts):
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    for part in (path.name, *parts):
        assert part in str(caught.value)
