"""Allocate and free large arrays such that their memory returns to the system.

The C library keeps freed memory (of arrays up to 32 MB) for later use. The search for components
frees many arrays of different sizes. Without this module, the process would hold much more memory
than it uses.
"""

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from operator import index
from typing import Any

import numpy as np

from vbnmf.core.model import Array

_LARGE = 1 << 20  # bytes from which an array gets pages of its own
_USUAL_ARRAY = 1 << 22  # smallest array whose memory returns when it is freed, in bytes
_USUAL_HEAP_END = 1 << 23  # bytes at the end of a heap that may stay unused
_MOST_ARRAY = 1 << 25  # the largest limit that the C library accepts, in bytes
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of options in malloc.h


def return_freed(array: int = _USUAL_ARRAY, heap_end: int = _USUAL_HEAP_END) -> None:
    """Let the C library (glibc) return the memory of freed large arrays, in the whole process.

    It then returns the memory of arrays of at least ``array`` bytes, and the unused end of a heap
    of at least ``heap_end`` bytes. Without this function, it raises both limits whenever a large
    array is freed, up to 32 and 64 MB. Then ``release`` cannot return the ends of the heaps of
    threads.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, array)
        set_option(_TRIM_THRESHOLD, heap_end)


@contextmanager
def large_heaps() -> Iterator[None]:
    """Keep freed memory, so that the next large arrays of the same sizes can reuse it."""
    return_freed(_MOST_ARRAY, 2 * _MOST_ARRAY)
    try:
        yield
    finally:
        return_freed()
        release()


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
