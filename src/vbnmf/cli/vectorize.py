"""vbnmf vectorize: write documents to a shard folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.modeloptions import build, text_options
from vbnmf.cli.progress import Display, count_documents

if TYPE_CHECKING:
    from vbnmf.shards import Shards
    from vbnmf.text import DocumentVectorizer


@click.command(
    cls=options.GroupedCommand,
    main=("label", "text", "label_separator", "out", "force"),
    short_help="Write a corpus that does not fit into memory to a shard folder.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", required=True, metavar="FOLDER", help="Shard folder to write.")
@click.option("--label", metavar="COL", multiple=True, help="Label column. 'auto' guesses it by "
              "its name, or uses the names of sub-folders. Can be repeated.")  # fmt: skip
@options.label_names
@click.option("--only-labelled", is_flag=True, help="Ignore documents without a label.")
@click.option("--model", metavar="MODEL", help="Use the terms and weights of this model. Use "
              "it for documents whose labels the model is to predict.")  # fmt: skip
@click.option("--shard-nonzeros", type=click.IntRange(1, 2**30), metavar="N", help="Maximum "
              "number of non-zeros in a shard.  [default: 8388608]")  # fmt: skip
@click.option("--max-vocabulary", type=click.IntRange(1), metavar="N", help="Maximum number of "
              "different terms in memory. If more terms pass --min-df, it is raised.  [default: "
              "2000000]"
              )  # fmt: skip
@options.n_jobs
@options.reading
@text_options
@options.config
@options.force
@options.quiet
@options.as_json
def vectorize(
    files: tuple[str, ...], out: str, label: tuple[str, ...], label_separator: str | None,
    only_labelled: bool, model: str | None, shard_nonzeros: int | None, max_vocabulary: int | None,
    n_jobs: int, force: bool, quiet: bool, as_json: bool,
    text: tuple[str, ...], labels: str | None, terms: str | None, encoding: str, format: str | None,  # noqa: A002
    label_case: str | None, label_map: str | None, bad_rows: str | None, **settings: Any,
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
    folder = Path(out)
    _check_folder(folder, force)
    vectorizer: Any = build(None, **settings).vectorizer
    if model is not None:
        if any(value is not None for value in settings.values()):
            raise click.UsageError(
                "with --model, terms and weights are those of the model. Leave out text options."
            )
        vectorizer = common.load_model(model).vectorizer_
        if vectorizer is None:
            raise ValueError(f"{model} was fitted to a matrix, so it has no vectorizer for texts.")
    columns = common.column_names(label or (("auto",) if labels else ()))
    if only_labelled and columns is None:
        raise click.UsageError("--only-labelled needs --label.")
    limits = {"shard_nonzeros": shard_nonzeros, "max_vocabulary": max_vocabulary}
    shards = write_shards(
        list(files), folder, vectorizer, quiet=quiet, n_jobs=n_jobs, only_labelled=only_labelled,
        **{name: limit for name, limit in limits.items() if limit is not None},
        text=common.column_names(text), label=columns, labels=labels,
        label_separator=label_separator, terms=terms, encoding=encoding, format=format,
        bad_rows=bad_rows or "skip", label_case=label_case, label_map=label_map,
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
    about = "" if shards.labels is None else f", {common.counted(len(shards.labels), 'label')}"
    common.message(
        f"Wrote {folder}: {common.counted(n_docs, 'document')} × "
        f"{common.counted(n_terms, 'term')}{about}, {common.counted(shards.nnz, 'non-zero')} in "
        f"{common.counted(shards.n_shards, 'shard')}.\n"
        + (
            f"Fit a model with: vbnmf fit {folder}"
            if model is None
            else f"Predict labels with: vbnmf predict {model} {folder}"
        ),
        quiet,
    )


def write_shards(
    files: list[str],
    folder: Path,
    vectorizer: "DocumentVectorizer | None",
    *,
    quiet: bool,
    n_jobs: int,
    **reading: Any,
) -> "Shards":
    """Write a shard folder with ``vectorize_to_shards``, and show progress and notes."""
    from vbnmf.estimators.validation import count_threads
    from vbnmf.vectorizing import vectorize_to_shards

    counts = [] if quiet else [count_documents(file, reading.get("format")) for file in files]
    total = sum(filter(None, counts)) if all(counts) else None
    with VectorizeProgress(quiet, total) as progress:
        return vectorize_to_shards(
            files,
            folder,
            vectorizer,
            n_jobs=count_threads(n_jobs),
            progress=progress,
            note=lambda text: common.message(text, quiet),
            **reading,
        )


class VectorizeProgress(Display):
    """A callback of ``vbnmf.vectorizing.vectorize_to_shards``."""

    _doing = "vectorizing"
    _shares = {"reading": (0.0, 0.8), "weighting": (0.8, 0.9), "writing": (0.9, 1.0)}  # noqa: RUF012

    def __init__(self, quiet: bool, total: int | None) -> None:
        super().__init__(quiet)
        self._n_parts = 0
        self._total = total

    def __call__(self, doing: str, n: int) -> None:
        """Show the number of documents, then the parts of them that are done."""
        first, last = self._shares[doing]
        if doing == "reading":
            self._n_parts += 1
            part = min(n / self._total, 1.0) * last if self._total else first
            self._show(part, f"reading: {common.counted(n, 'document')}")
            return
        done = (n + 1) / self._n_parts
        text = f"{doing}: part {n + 1:,} of {self._n_parts:,}"
        self._show(first + (last - first) * done, text)


def _check_folder(folder: Path, force: bool) -> None:
    """Check that the folder does not contain files of other programs."""
    from vbnmf.files import is_unfinished
    from vbnmf.shards import is_shards
    from vbnmf.vectorizing import is_begun

    if folder.exists() and not folder.is_dir():
        raise common.Refusal(f"{folder} is not a folder; --out takes the name of one.")
    if is_shards(folder) and not force:
        raise common.Refusal(f"{folder} exists. Add --force to replace it.")
    known = is_shards(folder) or is_begun(folder)
    left = folder.iterdir() if folder.is_dir() and not known else ()
    if not all(is_unfinished(entry) for entry in left):
        raise common.Refusal(f"{folder} holds other files. Choose a new folder.")
