"""Allocate and free large arrays such that their memory returns to the system.

The C library keeps freed memory (of arrays up to 32 MB) for later use. The search for components
frees many arrays of different sizes. Without this module, the process would hold much more memory
than it uses.
"""

import ctypes
import mmap
import os
from contextlib import suppress
from math import prod
from operator import index
from typing import Any

import numpy as np

from vbnmf.core.model import Array

_LARGE = 1 << 20  # bytes from which an array gets pages of its own


def release() -> None:
    """Return all freed memory to the system, if the C library can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """Return an array of zeros. A large one returns its memory to the system when it is freed."""
    lengths = shape if isinstance(shape, tuple) else (shape,)
    shape = tuple(map(index, lengths))  # whole numbers of Python, which do not overflow
    dtype = np.dtype(dtype)
    size = prod(shape) * dtype.itemsize
    if size < _LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype)
    # private, so that processes which this one forks do not share it
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"Unable to allocate {size:,} bytes for an array of {shape}") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy does: rows are read in any order
        with suppress(OSError):  # the kernel may have no huge pages
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype, prod(shape)).reshape(shape)
