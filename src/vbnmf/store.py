"""Model files: named arrays and a JSON header in one safetensors file, without pickle or code.

safetensors limits the header to 100 MB, which the terms of a large corpus can exceed. Long lists of
strings are therefore stored outside the header, as two arrays each: the bytes, and the end of each
string. Callers of ``write`` and ``read`` do not notice this.

Writing is atomic (:mod:`vbnmf.files`). Reading checks that the file is a vbnmf model with a known
format version. Callers check the content of the arrays.
"""

import json
import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy import sparse

from vbnmf import memory
from vbnmf.core.filled import FilledRows, column_type
from vbnmf.core.model import Array
from vbnmf.files import replacing

KEY = "vbnmf"
VERSION = 2
_READABLE = (1, 2)  # version 1 has all matrices in full
_PACKED = "packed"
_LONG = 10_000  # characters of a list that is taken out of the header
_MOST_PACKED = 100  # lists; a model has a few
_LONGEST_MESSAGE = 500  # characters
_LONGEST_SENTENCE = 1000  # characters

LARGEST = 1e38
"""Largest value of a file, in single precision."""

LARGEST_WEIGHT = 1e30
"""Largest weight of a prediction head: scores and their sums stay finite."""


class ModelFileError(ValueError):
    """Error about a file that is not a usable vbnmf model.

    A damaged file can have values of any length, so the middle of a long message is omitted.
    """

    def __init__(self, message: str) -> None:
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE - 150]} … {message[-147:]}"
        super().__init__(message)


def write(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: dict[str, Array],
    *,
    overwrite: bool = True,
) -> None:
    """Write a model file. An existing file is replaced only when the new one is complete.

    Raises
    ------
    OSError
        The file cannot be written: the disk is full, or the folder is not writable.
    """
    short, packed = _pack(header)
    # a single entry, because safetensors does not fix the order of several
    metadata = {KEY: json.dumps({"format_version": VERSION, **short}, allow_nan=False)}
    arrays = arrays | packed
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with replacing(path, overwrite=overwrite) as temporary:
        try:
            save_file(contiguous, temporary, metadata=metadata)
        except SafetensorError as error:  # such as a full disk
            raise OSError(str(error)) from error


def read(
    path: str | os.PathLike[str], without: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and the arrays of a model file.

    Arrays whose names begin with one of ``without`` are not read.

    Raises
    ------
    ModelFileError
        If the file is not a vbnmf model, is damaged, or was written by a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model file {path}.")
    path.open("rb").close()  # missing permissions are not reported as a damaged file
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = _header(path, metadata)
            np.empty(path.stat().st_size, np.uint8)  # safetensors panics if memory is short
            names = [name for name in file.keys() if not name.startswith(without)]  # noqa: SIM118
            arrays = {name: file.get_tensor(name) for name in names}
    except ModelFileError:
        raise
    except MemoryError:
        raise too_large(path) from None
    except BaseException as error:
        # a panic of the Rust library is not an Exception, and its class cannot be imported
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelFileError(
            f"{path} is damaged or is not a vbnmf model ({error}). Save the model again."
        ) from None
    try:
        _unpack(header, arrays)
    except MemoryError:
        raise too_large(path) from None
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    return header, arrays


def too_large(path: str | os.PathLike[str]) -> MemoryError:
    """Return the error for a file that does not fit into memory."""
    return MemoryError(
        f"{os.fspath(path)} does not fit into memory. Free some memory, or load it on a larger "
        "machine."
    )


def _pack(header: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Convert long lists of strings in a header to arrays.

    Returns
    -------
    short : dict
        The header without these lists. Its entry "packed" has the keys that lead to each list.
    arrays : dict of str to ndarray
        For list number i, ``packed.i.bytes`` (UTF-8) and ``packed.i.ends`` (in bytes).
    """
    arrays: dict[str, Array] = {}
    places: list[list[str]] = []

    def shortened(value: Any, place: list[str]) -> Any:
        if isinstance(value, Mapping):
            items = {key: shortened(item, [*place, key]) for key, item in value.items()}
            return {key: item for key, item in items.items() if item is not _TAKEN}
        if not _is_long(value):
            return value
        pieces = [text.encode("utf-8", "surrogatepass") for text in value]
        name = f"{_PACKED}.{len(places)}"
        arrays[f"{name}.bytes"] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
        arrays[f"{name}.ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        places.append(place)
        return _TAKEN

    short = shortened(header, [])
    return (short | {_PACKED: places} if places else short), arrays


_TAKEN = object()


def _is_long(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    return sum(map(len, value)) + len(value) > _LONG


def _unpack(header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Put lists of strings back into a header."""
    places = header.pop(_PACKED, [])
    if not isinstance(places, list) or len(places) > _MOST_PACKED:
        raise ModelFileError(f"{_PACKED!r} in the header is not a list of keys: it is damaged.")
    for number, place in enumerate(places):
        name = f"{_PACKED}.{number}"
        inside: Any = header
        keys = place if isinstance(place, list) else []
        for key in keys[:-1]:
            inside = inside.get(key) if isinstance(inside, dict) else None
        if not isinstance(inside, dict) or not keys or not isinstance(keys[-1], str):
            raise ModelFileError(
                f"the header has no place for the strings {name!r}: it is damaged."
            )
        inside[keys[-1]] = _strings(
            arrays.pop(f"{name}.bytes", None), arrays.pop(f"{name}.ends", None), name
        )


def _strings(data: Any, ends: Any, name: str) -> list[str]:
    sound = (
        isinstance(data, np.ndarray)
        and isinstance(ends, np.ndarray)
        and (data.dtype, ends.dtype, data.ndim, ends.ndim) == (np.uint8, np.int64, 1, 1)
        and (np.diff(ends, prepend=0) >= 0).all()
        and (ends[-1] if ends.size else 0) == data.size
    )
    if not sound:
        raise ModelFileError(f"the strings {name!r} do not fit together: the file is damaged.")
    raw, bounds = data.tobytes(), [0, *ends.tolist()]
    try:
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
    except UnicodeDecodeError:
        raise ModelFileError(f"the strings {name!r} are not UTF-8: the file is damaged.") from None


def with_prefix(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin with a prefix, by their names without it."""
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def check_array(
    arrays: Mapping[str, Array],
    name: str,
    shape: tuple[int | None, ...],
    *,
    least: float = -math.inf,
    most: float = math.inf,
    positive: bool = False,
    half: bool = False,
) -> Array:
    """Return a float array of a file after checking its shape and values.

    With ``half``, it may be in half precision.
    """
    if name not in arrays:
        raise ModelFileError(f"the model file lacks the array {name!r}: it is damaged.")
    array = arrays[name]
    if array.dtype not in (np.float32, np.float64) and not (half and array.dtype == np.float16):
        raise ModelFileError(f"array {name!r} must hold floats; the file has {array.dtype}.")
    fits = len(shape) == array.ndim and all(
        want is None or want == got for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ModelFileError(f"array {name!r} must have shape {shape}; the file has {array.shape}.")
    if not np.isfinite(array).all():
        raise ModelFileError(f"array {name!r} has values that are not finite: it is damaged.")
    with np.errstate(over="ignore"):  # a limit beyond half precision
        outside = (array < least).any() or (array > most).any()
    if outside or (positive and (array <= 0).any()):
        raise ModelFileError(f"array {name!r} has values out of range: it is damaged.")
    return array


def check_doubles(
    arrays: Mapping[str, Array],
    name: str,
    shape: tuple[int | None, ...],
    *,
    least: float = -LARGEST,
    most: float = LARGEST,
    positive: bool = False,
) -> Array:
    """Return an array of a file in double precision, so that sums and products stay finite."""
    array = check_array(arrays, name, shape, least=least, most=most, positive=positive)
    return array.astype(np.float64, copy=False)


def packed(name: str, matrix: Array | FilledRows, fill: Any = None) -> dict[str, Array]:
    """Return the arrays of a matrix: as entries that differ from one value, if that is smaller.

    The value is ``fill``, by default the least one.
    """
    if not isinstance(matrix, FilledRows):
        filled = FilledRows.of(matrix, matrix.min() if fill is None else fill)
        if filled.nbytes >= matrix.nbytes:
            return {name: matrix}
        matrix = filled
    return {
        f"{name}.values": matrix.values,
        f"{name}.columns": matrix.columns,
        f"{name}.ends": matrix.ends[1:],
        f"{name}.fill": np.array([matrix.fill]),
    }


def check_packed(
    arrays: Mapping[str, Array],
    name: str,
    shape: tuple[int | None, int],
    *,
    least: float = -math.inf,
    most: float = math.inf,
    half: bool = False,
) -> Array | FilledRows:
    """Return a matrix of a file that ``packed`` wrote, after checking its shape and values."""
    if f"{name}.values" not in arrays:
        return check_array(arrays, name, shape, least=least, most=most, half=half)
    values = check_array(arrays, f"{name}.values", (None,), least=least, most=most, half=half)
    fill = check_array(arrays, f"{name}.fill", (1,), least=least, most=most, half=half)
    columns, ends = arrays[f"{name}.columns"], arrays[f"{name}.ends"]
    n_rows, width = shape
    sound = (
        fill.dtype == values.dtype
        and ends.dtype == np.int64
        and ends.ndim == 1
        and n_rows in (None, len(ends))
        and columns.dtype == column_type(width)
        and columns.shape == values.shape
        and (np.diff(ends, prepend=0) >= 0).all()
        and (ends[-1] if len(ends) else 0) == len(values)
        and (len(columns) == 0 or 0 <= columns.min() <= columns.max() < width)
    )
    if not sound:
        raise ModelFileError(f"the parts of {name!r} do not fit together: the file is damaged.")
    room = memory.available()
    if room is not None and len(ends) * width * values.itemsize > room:
        raise MemoryError  # of the whole matrix, which a small file may claim to have
    first = np.zeros(len(columns) + 1, dtype=bool)
    first[ends] = True  # of a row, where columns may begin again
    if (np.diff(columns.astype(np.int64)) <= 0)[~first[1:-1]].any():
        raise ModelFileError(f"the columns of {name!r} are not in order: the file is damaged.")
    return FilledRows(values, columns, np.append(0, ends), fill[0], width)


def check_number(values: Any, key: str, *, least: float, most: float) -> float:
    """Return a number of a header after checking its range."""
    value = values[key]
    if type(value) not in (int, float) or not least <= value <= most:
        raise ModelFileError(
            f"{key} must be a number from {least:g} to {most:g}; the file has {value!r}."
        )
    return float(value)


def check_whole(value: Any) -> int:
    """Return a count of a header after checking that it is a whole number, not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ModelFileError(f"a count must be a whole number; the file has {value!r}.")
    return value


def check_names(values: Any, n_terms: int) -> Array:
    """Return the names of terms of a header, of which there must be one for each term."""
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        raise ModelFileError("names of terms must be strings: the file is damaged.")
    if len(values) != n_terms:
        raise ModelFileError(f"there are {n_terms} terms but {len(values)} names of them.")
    return np.array(values, dtype=object)


def check_sentence(header: dict[str, Any], key: str) -> str:
    """Return a short text of a header after checking its length."""
    stored = header[key]
    if not isinstance(stored, str) or len(stored) > _LONGEST_SENTENCE:
        raise ModelFileError(f"{key} is not a short text: the file is damaged.")
    return stored


def check_mask(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return an array of zeros and ones of a file as bool, after checking its shape."""
    if name not in arrays:
        raise ModelFileError(f"the model file lacks the array {name!r}: it is damaged.")
    array = arrays[name]
    if array.dtype != np.uint8 or array.shape != shape or (array > 1).any():
        raise ModelFileError(
            f"array {name!r} must hold zeros and ones in the shape {shape}; the file has "
            f"{array.dtype} in {array.shape}."
        )
    return array.astype(bool)


def read_rows(
    arrays: Mapping[str, Array], columns: str, ends: str, data: Array, shape: tuple[int, int]
) -> sparse.csr_array:
    """Read a sparse matrix whose columns are ascending in each row."""
    at, last = arrays[columns], arrays[ends]
    sound = (
        at.dtype == np.int32
        and last.dtype == np.int64
        and at.shape == data.shape
        and last.shape == shape[:1]
        and (np.diff(last, prepend=0) >= 0).all()
        and last[-1] == len(data)
        and (at.size == 0 or (at.min() >= 0 and at.max() < shape[1]))
    )
    if not sound:
        raise ModelFileError(f"array {columns!r} does not fit the model: the file is damaged.")
    indptr = np.concatenate([[0], last])
    row = np.repeat(np.arange(shape[0]), np.diff(indptr))
    if (np.diff(row * np.int64(shape[1]) + at) <= 0).any():
        raise ModelFileError(f"array {columns!r} is not in order: the file is damaged.")
    return sparse.csr_array((data, at, indptr.astype(np.int32)), shape=shape)


def _header(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not a vbnmf model.")
    header = json.loads(metadata[KEY], parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise ModelFileError(f"the header of {path} is not an object: the file is damaged.")
    version = header.pop("format_version", None)
    if type(version) is not int or version not in _READABLE:
        raise ModelFileError(
            f"{path} has format version {version!r}; this vbnmf reads version {_READABLE[0]} to "
            f"version {_READABLE[-1]}. Update vbnmf, or fit the model again with this one."
        )
    return header


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the header has the invalid value {name}")
