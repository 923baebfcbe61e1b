"""vbnmf transform: coefficients of documents into a file."""

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common

Write = Callable[[list[str], Any], None]
_ENDINGS = (".csv", ".tsv", ".parquet", ".npz")


@click.command(short_help="Write coefficients of documents.")
@click.argument("model")
@click.argument("file")
@click.option("--out", required=True, metavar="COEFS", help="File to write: .csv, .tsv, .parquet "
              "or .npz.")  # fmt: skip
@common.reading
@common.jobs
@common.force
@common.config
@common.quiet
def transform(
    model: str, file: str, out: str, jobs: int | None, force: bool, quiet: bool, **reading: Any
) -> None:
    """Write the coefficients of the documents in FILE, with the components of MODEL.

    \b
    Examples:
      vbnmf transform tickets.vbnmf new.csv --out coefficients.csv
      vbnmf transform tickets.vbnmf new.csv --out coefficients.npz
    """  # noqa: D301
    from vbnmf.store import replacing

    target = common.check_out(out, force, model, file)
    if target.suffix.lower() not in _ENDINGS:
        raise click.BadParameter(
            f"{out} must end in one of {', '.join(_ENDINGS)}, which tells the format."
        )
    fitted = common.load_model(model)
    fitted.estimator_.set_params(n_jobs=jobs)
    parts = common.parts_for(fitted, file, quiet, **reading)
    number = 0
    unknown = common.UnknownDocuments()
    K = fitted.estimator_.n_components_
    with replacing(target) as temporary, _writer(temporary, target.suffix.lower(), K) as write:
        for documents in parts:
            if len(documents):
                with unknown.among(documents):
                    V = fitted.transform(common.content(fitted, documents))
                write(common.ids(documents), V)
                number += len(documents)
        unknown.tell(quiet)
    common.say(f"Wrote {target}: {number:,} documents × {K} components.", quiet)


def _writer(path: Path, ending: str, K: int) -> AbstractContextManager[Write]:
    """Open a file to which ids and coefficients are written part by part."""
    names = ["id", *(f"component_{k}" for k in range(K))]
    if ending == ".npz":
        return _npz_writer(path, K)
    if ending == ".parquet":
        return _parquet_writer(path, names)
    return _table_writer(path, names, "\t" if ending == ".tsv" else ",")


@contextmanager
def _table_writer(path: Path, names: list[str], delimiter: str) -> Iterator[Write]:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(names)

        def write(ids: list[str], V: Any) -> None:
            writer.writerows(
                [name, *map(repr, row)] for name, row in zip(ids, V.tolist(), strict=True)
            )

        yield write


@contextmanager
def _parquet_writer(path: Path, names: list[str]) -> Iterator[Write]:
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

        def write(ids: list[str], V: Any) -> None:
            nonlocal writer
            columns = [pa.array(ids, pa.string()), *(pa.array(V[:, k]) for k in range(V.shape[1]))]
            part = pa.table(columns, names=names)
            if writer is None:
                writer = stack.enter_context(pyarrow.parquet.ParquetWriter(path, part.schema))
            writer.write_table(part)

        yield write
        if writer is None:
            write([], np.zeros((0, len(names) - 1), dtype=np.float32))


@contextmanager
def _npz_writer(path: Path, K: int) -> Iterator[Write]:
    """Keep all coefficients until the end: the file has one array of them."""
    import numpy as np

    all_ids: list[str] = []
    parts: list[Any] = []

    def write(ids: list[str], V: Any) -> None:
        all_ids.extend(ids)
        parts.append(V)

    yield write
    V = np.concatenate(parts) if parts else np.zeros((0, K), dtype=np.float32)
    with open(path, "wb") as file:
        np.savez_compressed(file, ids=np.array(all_ids, dtype=str), coefficients=V)
