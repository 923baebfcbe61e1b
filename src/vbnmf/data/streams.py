"""Bytes and lines of a file or of standard input, gzip inflated, with errors that name the place.

What the lines mean is decided in :mod:`vbnmf.data.tables`, :mod:`vbnmf.data.folders` and
:mod:`vbnmf.data.matrices`.
"""

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from vbnmf.data.documents import ReaderError

STDIN = "-"
# The longest line, field or file that is taken for one document, in characters. Far above any real
# document; a stray quote or a binary file ends here and not in the swap.
MAX_DOCUMENT = 100_000_000
# Text deflates to a third or a tenth, at most 1:1032 for a file made to fill the memory. Beyond
# this many bytes a ratio above this one is taken for such a file. They are few, because a row of
# two bytes takes some hundreds in memory.
BOMB_BYTES = 2_000_000
BOMB_RATIO = 200

_GZIP = b"\x1f\x8b"
# surrogateescape turns a byte that cannot be decoded into one of these, which keeps its line.
_UNDECODED = re.compile("[\udc80-\udcff]")
_OF_WINDOWS = re.compile("[\udc80-\udc9f]")


def origin_of(source: object) -> str:
    """Name a source in messages: a path as it is, an object by its type."""
    if not isinstance(source, str | os.PathLike):
        return f"the {type(source).__name__}"
    return "standard input" if source == STDIN else str(source)


@contextmanager
def open_bytes(source: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``"-"``, for reading; gzip is known by its first bytes."""
    origin = origin_of(source)
    stream: BinaryIO
    with (
        reading(origin),
        nullcontext(sys.stdin.buffer) if source == STDIN else Path(source).open("rb") as raw,
    ):
        compressed = _Meter(raw)
        stream = buffered = io.BufferedReader(compressed, 1 << 16)
        start = buffered.peek(2)[:2]
        if start == _GZIP:
            inflated = _Meter(gzip.GzipFile(fileobj=stream), origin, compressed)
            stream = io.BufferedReader(inflated, 1 << 16)
        elif start and origin.endswith(".gz"):
            raise ReaderError(f"{origin}: broken gzip: the file does not begin like one.")
        yield stream


def read_lines(source: str | Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text with their ends; a line that is no text is an error naming it."""
    origin = origin_of(source)
    with open_bytes(source) as stream:
        try:
            # A byte order mark, which Excel writes, is not part of the first column's name.
            name = codecs.lookup(encoding).name
            name = "utf-8-sig" if name == "utf-8" else name
            text = io.TextIOWrapper(stream, name, errors="surrogateescape", newline="")
        except (LookupError, ValueError, TypeError) as error:
            raise ReaderError(
                f"{origin}: unknown encoding {encoding!r}; try 'utf-8', 'latin-1', 'cp1252' or "
                "'utf-16'."
            ) from error
        number = 0
        while line := text.readline(MAX_DOCUMENT + 1):
            number += 1
            _check_line(line, f"{origin}, line {number}", encoding)
            yield line


def read_text(path: Path, encoding: str) -> str:
    """Read a whole file as one document."""
    lines, length = [], 0
    for line in read_lines(path, encoding):
        length += len(line)
        if length > MAX_DOCUMENT:
            raise ReaderError(f"{path}: longer than {MAX_DOCUMENT:,} characters; split the file.")
        lines.append(line)
    return "".join(lines)


@contextmanager
def reading(origin: str) -> Iterator[None]:
    """Turn what goes wrong below while reading bytes into a :class:`ReaderError`."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReaderError(
            f"{origin}: broken gzip: {error}. The file is damaged or was cut short."
        ) from error
    except FileNotFoundError as error:
        raise ReaderError(f"{origin}: no such file or folder.") from error
    except OSError as error:
        raise ReaderError(f"{origin}: cannot be read: {error.strerror or error}.") from error
    except UnicodeError as error:
        raise ReaderError(
            f"{origin}: cannot be decoded: {error}. Give the file's encoding with "
            "encoding='...' (--encoding on the command line)."
        ) from error
    except MemoryError as error:
        raise ReaderError(f"{origin}: does not fit into memory.") from error


def _check_line(line: str, place: str, encoding: str) -> None:
    if len(line) > MAX_DOCUMENT:
        raise ReaderError(
            f"{place}: longer than {MAX_DOCUMENT:,} characters. Is it a text file? Split the line."
        )
    if not line.isascii() and (bad := _UNDECODED.search(line)):
        byte = ord(bad.group()) - 0xDC00
        # Bytes that are letters and dashes to Windows, but control characters in latin-1.
        other = "cp1252" if _OF_WINDOWS.search(line) else "latin-1"
        other = "utf-16" if byte >= 0xFE and place.endswith("line 1") else other
        raise ReaderError(
            f"{place}: byte 0x{byte:02x} is not {encoding}. Give the file's encoding, for example "
            f"encoding={other!r} (--encoding {other} on the command line)."
        )
    if "\0" in line:
        raise ReaderError(
            f"{place}: NUL byte: not a text file, or one in another encoding. Give it, for "
            "example encoding='utf-16' (--encoding utf-16 on the command line)."
        )


class _Meter(io.RawIOBase):
    """Pass bytes on and count them; inflated ones against the compressed ones they came from."""

    def __init__(
        self,
        stream: Any,
        origin: str = "",
        compressed: "_Meter | None" = None,
    ) -> None:
        self.count = 0
        self._stream = stream
        self._origin = origin
        self._compressed = compressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # read1: a pipe hands over what it has, so that a stream can be followed.
        data: bytes = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        if self._compressed and self.count > BOMB_BYTES:
            ratio = self.count / max(self._compressed.count, 1)
            if ratio > BOMB_RATIO:
                raise ReaderError(
                    f"{self._origin}: broken gzip: it inflates {ratio:.0f}-fold to more than "
                    f"{self.count:,} bytes. If it is meant, unpack it first."
                )
        return len(data)
