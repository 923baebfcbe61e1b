"""Read bytes and lines of a file or of standard input, also compressed, with errors by line."""

import codecs
import gzip
import io
import os
import queue
import re
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from vbnmf.data.documents import ReaderError

STDIN = "-"
# Maximum number of characters of a line, field or file. It is far above any real document, and
# stops a stray quote or a binary file before it fills the memory.
MAX_DOCUMENT = 100_000_000
# Text compresses to a third or a tenth; a file crafted to fill the memory reaches 1:1032. A file
# with more bytes and a higher ratio than these is refused. The limit of bytes is low, because a row
# of two bytes takes hundreds of bytes in memory.
BOMB_BYTES = 2_000_000
BOMB_RATIO = 200
# Bytes that are counted at a time. BOMB_RATIO times as many are below BOMB_BYTES, so that a crafted
# file is refused as soon as it has unpacked to BOMB_BYTES.
_AT_ONCE = 1 << 13

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW = 1 << 27  # bytes that a file may ask for; what `zstd` itself accepts
# surrogateescape turns a byte that cannot be decoded into one of these, which keeps its line.
_UNDECODED = re.compile("[\udc80-\udcff]")
_OF_WINDOWS = re.compile("[\udc80-\udc9f]")


def origin_of(source: object) -> str:
    """Return the name of a source for messages: a path, or the type of an object."""
    if not isinstance(source, str | os.PathLike):
        return f"the {type(source).__name__}"
    return "standard input" if source == STDIN else str(source)


@contextmanager
def open_bytes(source: str | Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input. gzip and Zstandard are detected by their first bytes."""
    origin = origin_of(source)
    stream: BinaryIO
    with (
        reading(origin),
        nullcontext(sys.stdin.buffer) if source == STDIN else Path(source).open("rb") as raw,
    ):
        stream = buffered = io.BufferedReader(_Meter(raw), 1 << 16)
        start = buffered.peek(4)[:4]
        compressed = _Meter(buffered)
        if start[:2] == _GZIP:
            unpacked: Any = gzip.GzipFile(fileobj=compressed)
        elif start == _ZSTD:
            unpacked = _open_zstd(compressed, origin)
        elif start and origin.endswith((".gz", ".zst")):
            kind = "gzip" if origin.endswith(".gz") else "Zstandard"
            raise ReaderError(f"{origin}: broken {kind}: the file does not begin as a {kind} file.")
        else:
            yield stream
            return
        yield io.BufferedReader(_Meter(unpacked, origin, compressed), 1 << 16)


def _open_zstd(compressed: "_Meter", origin: str) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise ReaderError(
            f"{origin}: reading it needs zstandard. Install it with: pip install 'vbnmf[io]'"
        ) from error
    unpacker: Any = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    # frames that follow one another are one file, as for gzip
    return _Zstd(unpacker.stream_reader(compressed, read_across_frames=True), zstandard.ZstdError)


class _Zstd:
    """Stream of Zstandard whose errors are those that :func:`reading` knows."""

    def __init__(self, stream: Any, error: type[Exception]) -> None:
        self._stream, self._error = stream, error

    def read1(self, size: int) -> bytes:
        try:
            found: bytes = self._stream.read1(size)
        except self._error as error:
            raise zlib.error(str(error)) from error
        return found


def read_lines(source: str | Path, encoding: str, *, checked: bool = True) -> Iterator[str]:
    """Yield the lines of a text with line ends. A line that cannot be decoded is an error.

    If `checked` is False, such lines are yielded too; :func:`problem_of_line` describes them.
    """
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
            if len(line) > MAX_DOCUMENT:
                raise ReaderError(
                    f"{origin}, line {number}: longer than {MAX_DOCUMENT:,} characters. Check that "
                    "it is a text file, or split the line."
                )
            if checked and (problem := problem_of_line(line, encoding, number)):
                raise ReaderError(f"{origin}, line {number}: {problem}")
            yield line


class LinesAhead(Iterator[str]):
    """Lines that a thread reads ahead, so that one can ask whether more have arrived.

    Parameters
    ----------
    lines : iterator of str
        The lines. An error that it raises is raised when the lines before it were taken.
    """

    _MOST = 1000  # lines that wait at the same time; more wait in the pipe

    def __init__(self, lines: Iterator[str]) -> None:
        self._queue: queue.Queue[str | BaseException] = queue.Queue(self._MOST)
        self._thread = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._thread.start()

    def has_next(self) -> bool:
        """Return whether a line, or the end, has arrived."""
        return not self._queue.empty()

    def __next__(self) -> str:
        item = self._queue.get()
        if isinstance(item, BaseException):
            self._queue.put(item)  # for whoever asks again after the end
            raise item
        return item

    def _read(self, lines: Iterator[str]) -> None:
        try:
            for line in lines:
                self._queue.put(line)
            self._queue.put(StopIteration())
        except BaseException as error:
            self._queue.put(error)


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
    """Convert errors while reading bytes to :class:`ReaderError`."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ReaderError(
            f"{origin}: broken {'Zstandard' if origin.endswith('.zst') else 'gzip'}: {error}. The "
            "file is damaged or truncated."
        ) from error
    except FileNotFoundError as error:
        raise ReaderError(f"{origin}: no such file or folder.") from error
    except OSError as error:
        raise ReaderError(f"{origin}: cannot be read: {error.strerror or error}.") from error
    except UnicodeError as error:
        raise ReaderError(
            f"{origin}: cannot be decoded: {error}. Set the encoding of the file with "
            "encoding='...' (--encoding on the command line)."
        ) from error
    except MemoryError as error:
        raise ReaderError(f"{origin}: does not fit into memory.") from error


def problem_of_line(line: str, encoding: str, number: int) -> str | None:
    """Return why a line is not a text, and what to do; None if it is one."""
    if not line.isascii() and (bad := _UNDECODED.search(line)):
        byte = ord(bad.group()) - 0xDC00
        # Bytes that are letters and dashes to Windows, but control characters in latin-1.
        other = "cp1252" if _OF_WINDOWS.search(line) else "latin-1"
        other = "utf-16" if byte >= 0xFE and number == 1 else other
        return (
            f"byte 0x{byte:02x} is not {encoding}. Set the encoding of the file, for "
            f"example encoding={other!r} (--encoding {other} on the command line)."
        )
    if "\0" in line:
        return (
            "NUL byte: it is not a text file, or has another encoding. Set the encoding, "
            "for example encoding='utf-16' (--encoding utf-16 on the command line)."
        )
    return None


class _Meter(io.RawIOBase):
    """Count bytes that are read, and compare inflated with compressed bytes."""

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
        # read1 returns what a pipe has, without waiting for more
        data: bytes = self._stream.read1(min(len(buffer), _AT_ONCE))
        buffer[: len(data)] = data
        self.count += len(data)
        if self._compressed and self.count > BOMB_BYTES:
            ratio = self.count / max(self._compressed.count, 1)
            if ratio > BOMB_RATIO:
                raise ReaderError(
                    f"{self._origin}: it unpacks to more than {self.count:,} bytes, {ratio:.0f} "
                    "times its size. If that is right, unpack it first."
                )
        return len(data)
