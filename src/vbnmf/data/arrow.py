"""Read Parquet and Arrow files in small batches, so that a small file cannot fill the memory.

Both formats can store a long text once and refer to it from millions of rows. Such texts are kept
once in memory too, and the total size of rows is compared with the size of the file.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vbnmf.data.documents import ReaderError
from vbnmf.data.folders import visible_files
from vbnmf.data.streams import BOMB_BYTES, BOMB_RATIO, origin_of
from vbnmf.data.tables import Row, SourceTable

_BATCH = 1000  # rows
_PARQUET = (".parquet", ".pq")
_ROW_BYTES = 64  # the least that a row takes in memory


def open_arrow(path: Path, parquet: bool) -> SourceTable:
    """Open Parquet, also a folder of it, or Arrow in the file (Feather) or the stream format."""
    origin = str(path)
    pa, pq = _pyarrow(origin)
    # pyarrow raises KeyError and ValueError for damage in the tables of a file.
    damage = (pa.ArrowException, OSError, KeyError, ValueError)
    paths = _parquet_files(path) if path.is_dir() else [path]
    if not paths:
        raise ReaderError(f"{origin}: there are no Parquet files in it.")

    def open_file(one: Path) -> tuple[Any, list[str]]:
        try:
            file = _open_parquet(pq, one) if parquet else _open_ipc(pa, one)
            return file, list((file.schema_arrow if parquet else file.schema).names)
        except damage as error:
            raise ReaderError(f"{one}: not a complete Parquet or Arrow file: {error}") from error

    first, columns = open_file(paths[0])

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        names = [columns[i] for i in chosen]
        number = 0
        for one in paths:
            file, found = (first, columns) if one is paths[0] else open_file(one)
            if missing := [name for name in names if name not in found]:
                raise ReaderError(f"{one}: no column {missing[0]!r}, which {paths[0].name} has.")
            meter = _Meter(one)
            try:
                for batch in _batches(file, sorted(set(names)), parquet):
                    for cells in _cells(pa, batch, names):
                        number += 1
                        meter.add(cells)
                        yield str(number), cells
            except damage as error:
                if isinstance(error, ReaderError):
                    raise
                raise ReaderError(f"{one}, after row {number}: cannot be read: {error}") from error

    return SourceTable(origin, columns, rows)


def open_stream(source: Any) -> SourceTable:
    """Open an object with ``__arrow_c_stream__``, whose batches are read once, one at a time."""
    origin = origin_of(source)
    pa, _ = _pyarrow(origin)
    reader = pa.RecordBatchReader.from_stream(source)
    columns = list(reader.schema.names)

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        names = [columns[i] for i in chosen]
        number = 0
        for batch in reader:
            for cells in _cells(pa, batch, names):
                number += 1
                yield str(number), cells

    return SourceTable(origin, columns, rows)


def holds_parquet(folder: Path) -> bool:
    """Return whether all files of a folder are Parquet, but for those that Spark adds to it."""
    names = [name for name in _first_names(folder) if not _is_of_spark(name)]
    return bool(names) and all(_is_parquet(name) for name in names)


def _first_names(folder: Path) -> Iterator[str]:
    """Yield the names of files up to the first that is not Parquet: a folder may have millions."""
    for name in visible_files(folder, []):
        yield name
        if not _is_parquet(name) and not _is_of_spark(name):
            return


def _parquet_files(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(visible_files(folder, [])) if _is_parquet(name)]


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(_PARQUET) and not _is_of_spark(name)


def _is_of_spark(name: str) -> bool:
    return name.rpartition("/")[2].startswith("_")


def _pyarrow(origin: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ReaderError(
            f"{origin}: reading it needs pyarrow. Install it with: pip install 'vbnmf[io]'"
        ) from error
    return pa, pq


def _cells(pa: Any, batch: Any, names: list[str]) -> Iterator[tuple[object, ...]]:
    batch.validate(full=True)  # Arrow trusts offsets: wrong ones would end the process
    for begin in range(0, batch.num_rows, _BATCH):
        piece = batch.slice(begin, _BATCH)
        yield from zip(*(_values(pa, piece.column(name)) for name in names), strict=True)


def _open_parquet(pq: Any, path: Path) -> Any:
    """Open a Parquet file such that texts shared by rows stay shared."""
    file = pq.ParquetFile(path)
    texts = [field.name for field in file.schema_arrow if str(field.type).endswith("string")]
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    size = path.stat().st_size
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked > max(BOMB_BYTES, BOMB_RATIO * size):
        raise ReaderError(_too_much(path, unpacked, size))
    return pq.ParquetFile(path, read_dictionary=texts)


def _open_ipc(pa: Any, path: Path) -> Any:
    mapped = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(mapped)
    except pa.ArrowInvalid:
        mapped.seek(0)
        return pa.ipc.open_stream(mapped)


def _batches(file: Any, names: list[str], parquet: bool) -> Iterator[Any]:
    if parquet:
        yield from file.iter_batches(batch_size=_BATCH, columns=names)
    elif hasattr(file, "num_record_batches"):
        yield from (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        yield from file


def _values(pa: Any, column: Any) -> list[object]:
    """Return the cells of a column. Rows that share a text get the same object."""
    if not pa.types.is_dictionary(column.type):
        values: list[object] = column.to_pylist()
        return values
    used = column.indices.unique().drop_null()
    places = used.to_pylist()
    shared = dict(zip(places, column.dictionary.take(used).to_pylist(), strict=True))
    return [shared.get(place) for place in column.indices.to_pylist()]


class _Meter:
    """Sum the memory of rows, and refuse a file whose rows are far larger than the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = path.stat().st_size
        self._most = max(BOMB_BYTES, BOMB_RATIO * self._size)
        self._total = 0

    def add(self, cells: tuple[object, ...]) -> None:
        self._total += _ROW_BYTES
        for cell in cells:
            if isinstance(cell, str | bytes | list | dict):
                self._total += len(cell)
        if self._total > self._most:
            raise ReaderError(_too_much(self._path, self._total, self._size))


def _too_much(path: Path, total: int, size: int) -> str:
    return (
        f"{path}: {size:,} bytes that hold more than {total:,} bytes of rows. If that is right, "
        "save it as CSV."
    )
