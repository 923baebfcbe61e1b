"""Measure the memory that may be used, and estimate the memory that a fit to a file takes."""

import gzip
import os
import re
from pathlib import Path

VARIABLE = "VBNMF_MEMORY"
"""Environment variable with the memory that may be used, such as ``500M`` or ``16G``."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_FIXED, _PER_BYTE = 300_000_000, 15
"""Memory of a fit: of any, and for each byte of text; measured in `docs/guide/scale.md`."""
_ZSTD_RATIO = 5  # of JSON lines with texts; other files may be larger
_SAMPLE = 1 << 20  # bytes that are inflated to estimate the size of a compressed file


def available() -> int | None:
    """Return the memory that may be used, in bytes; None if it is not known.

    It is that of the environment variable ``VBNMF_MEMORY``, or what the system says is available,
    within the limit of a container.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", given, re.IGNORECASE)
        if match is None:
            raise ValueError(
                f"{VARIABLE}={given!r} is not an amount of memory. Use a number of bytes, or a "
                "number with K, M, G or T, such as 16G."
            )
        return int(float(match[1]) * _UNITS[match[2].upper()])
    limits = [_of_system(), _of_container()]
    return min((limit for limit in limits if limit is not None), default=None)


def needed(path: str | os.PathLike[str], kind: str) -> int:
    """Estimate the memory in bytes that a fit to a file of texts takes.

    Parameters
    ----------
    path : path
        A file, or a folder of files.
    kind : str
        Its format, of ``vbnmf.data.readers.FORMATS``.
    """
    return _FIXED + _PER_BYTE * text_bytes(Path(path), kind)


def text_bytes(path: Path, kind: str) -> int:
    """Estimate the size of a file without compression, or of all files in a folder, in bytes."""
    if path.is_dir():
        files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        files = (file for file in files if file.is_file())
        if kind == "parquet":
            return sum(max(file.stat().st_size, _of_parquet(file)) for file in files)
        return sum(file.stat().st_size for file in files)
    size = path.stat().st_size
    if kind == "parquet":
        return max(size, _of_parquet(path))
    with open(path, "rb") as raw:
        start = raw.read(4)
        raw.seek(0)
        if start == b"\x28\xb5\x2f\xfd":
            return _ZSTD_RATIO * size
        if start[:2] != b"\x1f\x8b":
            return size
        try:
            inflated = len(gzip.GzipFile(fileobj=raw).read(_SAMPLE))
        except (OSError, EOFError):  # a broken file, of which the reader tells
            return size
        return int(size * inflated / max(raw.tell(), 1))


def _of_parquet(path: Path) -> int:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata

        about = read_metadata(path)
    except (ImportError, OSError, ArrowException):  # of which the reader tells
        return 0
    return sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))


def _of_system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_container() -> int | None:
    """Return what is left of the limit of a control group (version 2)."""
    folder = Path("/sys/fs/cgroup")
    try:
        most = int((folder / "memory.max").read_text(encoding="ascii"))
        return most - int((folder / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):  # there is none, or it is "max"
        return None
