"""Memory that returns to the system: arrays are as those of NumPy."""

import mmap
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from vbnmf.core import pages


@pytest.mark.parametrize("shape", [5, np.int64(5), (3, 4), (np.int32(700), np.int32(700)), (0, 7)])
@pytest.mark.parametrize("dtype", ["float32", np.float64, np.int64])
def test_zeros(shape, dtype):
    found, expected = pages.zeros(shape, dtype), np.zeros(shape, dtype)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert not found.any()
    found[...] = 1  # it can be written to
    assert found.sum() == expected.size


def test_too_large():
    with pytest.raises(MemoryError):
        pages.zeros((1 << 31, 1 << 31), np.float64)


def test_large_numbers_of_numpy_do_not_overflow(monkeypatch):
    sizes = []

    def full(fileno, size, **_):
        sizes.append(size)
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", full)
    with pytest.raises(MemoryError, match="8,796,093,022,208 bytes"):
        pages.zeros((np.int32(1 << 20), np.int32(1 << 20)), np.float64)
    assert sizes == [8 << 40]


def test_release():
    pages.release()


@pytest.mark.skipif(os.name != "posix", reason="the C library of POSIX is asked")
def test_options_have_the_numbers_of_the_c_library(monkeypatch):
    """M_TRIM_THRESHOLD is -1 and M_MMAP_THRESHOLD is -3 in malloc.h."""
    options = {}
    library = SimpleNamespace(mallopt=options.__setitem__)
    monkeypatch.setattr(pages.ctypes, "CDLL", lambda name: library)
    pages.return_freed(array=5, heap_end=7)
    assert options == {-1: 7, -3: 5}


FILL_AND_FREE = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from vbnmf.core import pages

def resident():
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

def fill_and_free():
    np.ones(1 << 21)  # 16 MB: to free it would raise the limits of the C library
    held = [np.ones(5 << 17) for _ in range(8)]  # 5 MB each
    end = np.ones(1000)  # behind them in a heap
    del held
    return end

{call}
with ThreadPoolExecutor(1) as pool:
    pool.submit(sum, ()).result()
    before = resident()
    end = pool.submit(fill_and_free).result()
    print(resident() - before)
"""


def left_after(call):
    """Return the bytes that a process holds after its thread has freed large arrays.

    It is a process of its own, because earlier tests leave heaps and threads behind. Dask sets
    options of the C library in the environment; they are left out.
    """
    script = FILL_AND_FREE.replace("{call}", call)
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(
    not hasattr(os, "confstr") or "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""),
    reason="only glibc has these options",
)
def test_arrays_of_a_thread_return_their_memory():
    assert left_after("pages.return_freed()") < 12 << 20
    assert left_after("") > 24 << 20  # so that the test would see it
