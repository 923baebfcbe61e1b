"""vbnmf transform: coefficients of documents into a file."""

import csv
from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common

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
    documents = common.read_for(fitted, file, quiet, label=None, **reading)
    V = fitted.transform(common.content(fitted, documents))
    with replacing(target) as temporary:
        _write(temporary, target.suffix.lower(), common.ids(documents), V)
    common.say(f"Wrote {target}: {V.shape[0]:,} documents × {V.shape[1]} components.", quiet)


def _write(path: Path, ending: str, ids: list[str], V: Any) -> None:
    import numpy as np

    names = [f"component_{k}" for k in range(V.shape[1])]
    if ending == ".npz":
        with open(path, "wb") as file:
            np.savez_compressed(file, ids=np.array(ids, dtype=str), coefficients=V)
    elif ending == ".parquet":
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ImportError(
                "Parquet needs pyarrow: pip install 'vbnmf[io]', or write .csv or .npz."
            ) from None
        columns = [pyarrow.array(ids), *(pyarrow.array(V[:, k]) for k in range(V.shape[1]))]
        pyarrow.parquet.write_table(pyarrow.table(columns, names=["id", *names]), path)
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            delimiter = "\t" if ending == ".tsv" else ","
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(["id", *names])
            writer.writerows(
                [name, *map(repr, row)] for name, row in zip(ids, V.tolist(), strict=True)
            )
