"""Model files: named arrays and a JSON header in one safetensors file; no pickle, no code.

Writing is atomic (:mod:`vbnmf.files`). Reading checks that the file is ours and of a version we
know; what the arrays mean is checked by who asked for them.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from vbnmf.core.model import Array
from vbnmf.files import replacing

KEY = "vbnmf"
VERSION = 4
OLDEST_VERSION = 3


class ModelFileError(ValueError):
    """A file that is not a usable vbnmf model."""


def write(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: dict[str, Array],
    *,
    overwrite: bool = True,
) -> None:
    """Write a model file, replacing an existing one only when all of it is on disk.

    Raises
    ------
    OSError
        The file cannot be written: the disk is full, or the folder takes no files.
    """
    # one entry, because the library writes several in any order: the same model, the same bytes
    metadata = {KEY: json.dumps({"format_version": VERSION, **header}, allow_nan=False)}
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with replacing(path, overwrite=overwrite) as temporary:
        try:
            save_file(contiguous, temporary, metadata=metadata)
        except SafetensorError as error:  # what its library makes of a full disk
            raise OSError(str(error)) from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a model file.

    Raises
    ------
    ModelFileError
        If the file is not a vbnmf model, is damaged, or was written by a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}.")
    path.open("rb").close()  # a file that may not be read is not a damaged one
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = _header(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except ModelFileError:
        raise
    except BaseException as error:
        # a panic of the Rust library is no Exception, and no name of it can be imported
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelFileError(
            f"{path} is damaged or is not a vbnmf model ({error}). Save the model again."
        ) from None
    return header, arrays


def check_array(
    arrays: Mapping[str, Array],
    name: str,
    shape: tuple[int | None, ...],
    *,
    least: float = -math.inf,
    positive: bool = False,
) -> Array:
    """Return a float array from a file, if it has this shape and sound values."""
    if name not in arrays:
        raise ModelFileError(f"the model file lacks the array {name!r}: it is damaged.")
    array = arrays[name]
    if array.dtype not in (np.float32, np.float64):
        raise ModelFileError(f"array {name!r} must hold floats; the file has {array.dtype}.")
    fits = len(shape) == array.ndim and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ModelFileError(f"array {name!r} must have shape {shape}; the file has {array.shape}.")
    if not np.isfinite(array).all():
        raise ModelFileError(f"array {name!r} has values that are not finite: it is damaged.")
    if (array < least).any() or (positive and (array <= 0).any()):
        raise ModelFileError(f"array {name!r} has values out of range: it is damaged.")
    return array


def check_mask(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return an array of zeros and ones from a file as bool, if it has this shape."""
    if name not in arrays:
        raise ModelFileError(f"the model file lacks the array {name!r}: it is damaged.")
    array = arrays[name]
    if array.dtype != np.uint8 or array.shape != shape or (array > 1).any():
        raise ModelFileError(
            f"array {name!r} must hold zeros and ones in the shape {shape}; the file has "
            f"{array.dtype} in {array.shape}."
        )
    return array.astype(bool)


def _header(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not a vbnmf model.")
    header = json.loads(metadata[KEY], parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise ModelFileError(f"the header of {path} is not an object: the file is damaged.")
    version = header.pop("format_version", None)
    if type(version) is not int or not OLDEST_VERSION <= version <= VERSION:
        raise ModelFileError(
            f"{path} has format version {version!r}; this vbnmf reads versions {OLDEST_VERSION} to "
            f"{VERSION}. Update vbnmf, or fit the model again with this one."
        )
    return header


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the header has the value {name}, which no model has")
