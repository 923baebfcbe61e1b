"""vbnmf transform: write the coefficients of documents to a file."""

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import DocumentProgress, count_documents

Cells = list[tuple[Any, ...]]  # the id of a document and its kept cells
Write = Callable[[Cells, Any], None]
_ENDINGS = (".csv", ".tsv", ".parquet", ".npz")


@click.command(cls=options.GroupedCommand, short_help="Write the coefficients of documents.")
@click.argument("model")
@click.argument("file")
@click.option("--out", required=True, metavar="COEFS", help="File to write: .csv, .tsv, .parquet "
              "or .npz.")  # fmt: skip
@options.writing_rows
def transform(
    model: str, file: str, out: str, n_jobs: int, force: bool, quiet: bool, **reading: Any
) -> None:
    """Write how much each document in FILE uses each component of MODEL.

    The output has one row per document and one column per component. Rows of FILE without text, or
    that cannot be read, keep their places, with empty cells (NaN in arrays).

    \b
    Examples:
      vbnmf transform tickets.vbnmf new.csv --out coefficients.csv
      vbnmf transform tickets.vbnmf new.csv --out coefficients.npz
      vbnmf transform tickets.vbnmf new.csv --id ticket --keep team --out coefficients.csv
    """  # noqa: D301
    from vbnmf.files import replacing

    target = common.check_out(out, force, model, file)
    if target.suffix.lower() not in _ENDINGS:
        raise click.BadParameter(
            f"{out} must end in one of {', '.join(_ENDINGS)}: the ending sets the format."
        )
    fitted = common.load_model(model)
    fitted.estimator_.set_params(n_jobs=n_jobs)
    parts = common.parts_for(fitted, file, quiet, **reading)
    total = None if quiet else count_documents(file, reading["format"])
    number = 0
    unknown = common.UnknownDocuments()
    components = [f"component_{k}" for k in range(fitted.estimator_.n_components_)]
    kept = common.Kept(parts, ("id", "ids", "coefficients", *components))
    names = ["id", *kept.names, *components]
    with (
        replacing(target, overwrite=force) as temporary,
        _writer(temporary, target.suffix.lower(), names, len(components)) as write,
        DocumentProgress(quiet, "transforming", total) as progress,
    ):
        for documents in kept.parts:
            if len(documents):
                with unknown.among(documents):
                    V = fitted.transform(common.content(fitted, documents))
                V[list(documents.problems)] = float("nan")
                rows = zip(common.ids(documents), kept.cells(documents), strict=True)
                write([(name, *cells) for name, cells in rows], V)
                number += len(documents)
                progress(number)
        unknown.report(quiet)
    shape = f"{common.counted(number, 'document')} × {common.counted(len(components), 'component')}"
    common.message(f"Wrote {target}: {shape}.", quiet)


def _writer(path: Path, ending: str, names: list[str], K: int) -> AbstractContextManager[Write]:
    """Open a file for ids, kept cells and coefficients, which are written in parts."""
    if ending == ".npz":
        return _npz_writer(path, names, K)
    if ending == ".parquet":
        return _parquet_writer(path, names, K)
    return _table_writer(path, names, "\t" if ending == ".tsv" else ",")


@contextmanager
def _table_writer(path: Path, names: list[str], delimiter: str) -> Iterator[Write]:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(map(common.safe_cell, names))

        def write(cells: Cells, V: Any) -> None:
            writer.writerows(
                [
                    *map(common.safe_cell, left),
                    *("" if cell != cell else repr(cell) for cell in row),
                ]
                for left, row in zip(cells, V.tolist(), strict=True)
            )

        yield write


@contextmanager
def _parquet_writer(path: Path, names: list[str], K: int) -> Iterator[Write]:
    """Write Parquet. Kept cells are written as text, so that all parts have the same types."""
    import numpy as np

    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "Parquet needs pyarrow: pip install 'vbnmf[io]', or write .csv or .npz."
        ) from None
    with ExitStack() as stack:
        writer: Any = None

        def write(cells: Cells, V: Any) -> None:
            nonlocal writer
            left = [pa.array(column, pa.string()) for column in _columns(cells, len(names) - K)]
            part = pa.table([*left, *(pa.array(V[:, k]) for k in range(K))], names=names)
            if writer is None:
                writer = stack.enter_context(pyarrow.parquet.ParquetWriter(path, part.schema))
            writer.write_table(part)

        yield write
        if writer is None:
            write([], np.zeros((0, K), dtype=np.float32))


@contextmanager
def _npz_writer(path: Path, names: list[str], K: int) -> Iterator[Write]:
    """Write ``.npz``. All coefficients are kept until the end, since the file has one array."""
    import numpy as np

    all_cells: Cells = []
    parts: list[Any] = []

    def write(cells: Cells, V: Any) -> None:
        all_cells.extend(cells)
        parts.append(V)

    yield write
    V = np.concatenate(parts) if parts else np.zeros((0, K), dtype=np.float32)
    columns = _columns(all_cells, len(names) - K)
    arrays = ["ids", *(f"kept_{name}" for name in names[1:-K])]
    left: dict[str, Any] = {
        name: np.array([text or "" for text in column], dtype=str)
        for name, column in zip(arrays, columns, strict=True)
    }
    with open(path, "wb") as file:
        np.savez_compressed(file, **left, coefficients=V)


def _columns(cells: Cells, n: int) -> list[list[str | None]]:
    """Return the columns of cells as texts, None for an empty cell."""
    return [[None if row[i] is None else str(row[i]) for row in cells] for i in range(n)]
