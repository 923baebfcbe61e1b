"""vbnmf vectorize: write documents to a shard folder."""

from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.fit import build, text_options
from vbnmf.cli.progress import Display


@click.command(short_help="Write a corpus that does not fit into memory to a shard folder.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", required=True, metavar="FOLDER", help="Shard folder to write.")
@click.option("--label", metavar="COL", multiple=True, help="Label column. 'auto' guesses it by "
              "its name, or uses the names of sub-folders. Can be repeated.")  # fmt: skip
@common.label_separator
@click.option("--model", metavar="MODEL", help="Use the terms and weights of this model, for "
              "documents whose labels it will predict.")  # fmt: skip
@click.option("--shard-nonzeros", type=click.IntRange(1, 2**30), metavar="N", help="Maximum "
              "number of non-zeros in a shard.  [default: 8388608]")  # fmt: skip
@common.reading
@text_options
@common.config
@common.force
@common.quiet
@common.as_json
def vectorize(
    files: tuple[str, ...], out: str, label: tuple[str, ...], label_separator: str | None,
    model: str | None, shard_nonzeros: int | None, force: bool, quiet: bool, as_json: bool,
    text: tuple[str, ...], labels: str | None, terms: str | None, encoding: str, format: str | None,  # noqa: A002
    skip_empty: bool, **settings: Any,
) -> None:  # fmt: skip
    """Write the documents in FILEs to a shard folder.

    Neither this command nor `vbnmf fit FOLDER` needs all documents in memory: `vbnmf fit` holds two
    shards at a time. To resume an interrupted run, repeat the command with the same files and
    options.

    \b
    Examples:
      vbnmf vectorize tickets-*.csv --label team --out tickets.shards
      vbnmf fit tickets.shards
      vbnmf vectorize new.csv --model tickets.vbnmf --out new.shards
      vbnmf predict tickets.vbnmf new.shards --out predictions.csv
    """  # noqa: D301
    from vbnmf.data.shards import is_shards
    from vbnmf.engines.mapping import SHARD_NONZEROS
    from vbnmf.vectorizing import Reading, is_begun
    from vbnmf.vectorizing import vectorize as write

    folder = Path(out)
    _check_folder(folder, force)
    vectorizer: Any = build(None, **settings).vectorizer
    if model is not None:
        if any(settings.values()):
            raise click.UsageError(
                "with --model, terms and weights are those of the model. Leave out text options."
            )
        vectorizer = common.load_model(model).vectorizer_
        if vectorizer is None:
            raise ValueError(f"{model} was fitted to a matrix, so it has no vectorizer for texts.")
    columns = common.column_names(label or (("auto",) if labels else ()))
    reading = Reading(
        common.column_names(text), columns, labels, label_separator, terms, encoding, format,
        skip_empty,
    )  # fmt: skip
    if is_begun(folder) and not is_shards(folder):
        common.say(f"Resuming the interrupted run in {folder}.", quiet)
    with VectorizeProgress(quiet) as progress:
        shards = write(
            list(files), folder, reading, vectorizer, fitted=model is not None,
            shard_nonzeros=shard_nonzeros or SHARD_NONZEROS, tell=progress,
            note=lambda text: common.say(text, quiet),
        )  # fmt: skip
    n_docs, n_terms = shards.shape
    if as_json:
        n_labels = 0 if shards.labels is None else len(shards.labels)
        common.print_json(
            {
                "folder": str(folder), "documents": n_docs, "terms": n_terms, "labels": n_labels,
                "nonzeros": shards.nnz, "shards": shards.n_shards,
            }
        )  # fmt: skip
        return
    about = "" if shards.labels is None else f", {len(shards.labels):,} labels"
    common.say(
        f"Wrote {folder}: {n_docs:,} documents × {n_terms:,} terms{about}, {shards.nnz:,} "
        f"non-zeros in {shards.n_shards} {'shard' if shards.n_shards == 1 else 'shards'}.\n"
        + (
            f"Fit a model with: vbnmf fit {folder}"
            if model is None
            else f"Predict labels with: vbnmf predict {model} {folder}"
        ),
        quiet,
    )


class VectorizeProgress(Display):
    """Callback of ``vbnmf.vectorizing.vectorize``."""

    _doing = "vectorizing"
    _parts = {"reading": 0.0, "counting": 0.7, "weighting": 0.8, "writing": 0.9}  # noqa: RUF012

    def __call__(self, doing: str, n: int) -> None:
        """Show the current step."""
        unit = "documents" if doing == "reading" else "part"
        text = f"{doing}: {n:,} {unit}" if doing == "reading" else f"{doing}: {unit} {n + 1:,}"
        self._show(self._parts[doing], text, "")


def _check_folder(folder: Path, force: bool) -> None:
    """Check that the folder does not contain files of other programs."""
    from vbnmf.data.shards import is_shards
    from vbnmf.vectorizing import is_begun

    if folder.exists() and not folder.is_dir():
        raise common.Refusal(f"{folder} is not a folder; --out takes the name of one.")
    if is_shards(folder) and not force:
        raise common.Refusal(f"{folder} exists. Add --force to replace it.")
    known = is_shards(folder) or is_begun(folder)
    if folder.is_dir() and not known and any(folder.iterdir()):
        raise common.Refusal(f"{folder} holds other files. Choose a new folder.")
