"""vbnmf fit: fit a model to a file of documents and save it."""

from pathlib import Path
from typing import Any

import click

from vbnmf.cli import clusteroptions, common
from vbnmf.cli.beyond import fit_beyond_memory, is_beyond_memory
from vbnmf.cli.fitresult import tell_result
from vbnmf.cli.fitshards import fit_shards, is_shard_folder
from vbnmf.cli.modeloptions import build, given, how_many, model_options, text_options
from vbnmf.cli.progress import FitProgress
from vbnmf.cli.savemodel import save_model


@click.command(short_help="Fit a model to a file of documents.")
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, help="Label column. 'auto' guesses it by "
              "its name, or uses the names of sub-folders. Can be repeated. Without it the model "
              "is unsupervised.")  # fmt: skip
@common.label_separator
@click.option("--only-labelled", is_flag=True, help="Ignore documents without a label. Without "
              "this flag they are used too, and their labels are inferred.")  # fmt: skip
@click.option("--out", metavar="MODEL", help="Model file to write.  [default: FILE's name.vbnmf]")
@click.option("--updatable", is_flag=True, help="Keep a sample of the documents in the model, so "
              "that `vbnmf update` can train the prediction head again.")  # fmt: skip
@click.option("--checkpoint", metavar="FOLDER", help="Save the state of the fit to this "
              "folder once a minute.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Resume an interrupted fit from the last checkpoint "
              "in the folder given by --checkpoint.")  # fmt: skip
@clusteroptions.options
@common.reading
@model_options
@text_options
@common.config
@common.seed
@common.jobs
@common.force
@common.quiet
@common.as_json
def fit(
    file: str, label: tuple[str, ...], label_separator: str | None, only_labelled: bool,
    out: str | None, force: bool, quiet: bool, as_json: bool,
    text: tuple[str, ...], labels: str | None, terms: str | None, encoding: str, format: str | None,  # noqa: A002
    skip_empty: bool, updatable: bool, checkpoint: str | None, resume: bool, **settings: Any,
) -> None:  # fmt: skip
    """Fit a model to the documents in FILE, and save it.

    FILE is CSV, TSV or JSON lines (also .gz, or - for standard input), Parquet, Arrow, a folder of
    text files, a matrix (svmlight, Matrix Market, .npz), or a shard folder written by `vbnmf
    vectorize`, which need not fit into memory.

    \b
    Examples:
      vbnmf fit tickets.csv --label team
      vbnmf fit articles.csv --label topics --label-separator ";"
      vbnmf fit reviews.jsonl.gz --text body --label stars -k 60
      vbnmf fit newsgroups/ --label auto --label-tree . -k 60 --out newsgroups.vbnmf
      vbnmf fit tickets.csv --label team -k auto
    """  # noqa: D301
    target = common.check_out(out or _default_name(file), force, file)
    check_resume(checkpoint, resume)
    settings["checkpoint"] = checkpoint
    on_cluster = clusteroptions.pop_options(settings)
    if is_shard_folder(file):
        of_reading = {
            "label": label, "label-separator": label_separator, "only-labelled": only_labelled,
            "text": text, "labels": labels, "terms": terms, "skip-empty": skip_empty,
            "updatable": updatable,
        }  # fmt: skip
        with clusteroptions.connected(on_cluster, settings.get("jobs"), quiet) as engine:
            settings["engine"] = engine
            fit_shards(
                file, target, of_reading, settings, force=force, quiet=quiet, as_json=as_json
            )
        return
    if clusteroptions.is_wanted(on_cluster):
        raise click.UsageError(
            "--scheduler and --workers need a shard folder: run `vbnmf vectorize` first."
        )
    columns = common.column_names(label or (("auto",) if labels else ()))
    if only_labelled and columns is None:
        raise click.UsageError("--only-labelled needs --label.")
    reading = {
        "text": text, "label": columns, "labels": labels, "label_separator": label_separator,
        "terms": terms, "encoding": encoding, "format": format, "skip_empty": skip_empty,
    }  # fmt: skip
    if not updatable and is_beyond_memory(file, format, quiet):
        reading["only_labelled"] = only_labelled
        fit_beyond_memory(file, target, reading, settings, force, quiet, as_json)
        return
    documents = common.read(file, quiet, **reading)
    contents, y = labelled(documents, quiet, only=only_labelled)
    n_labels = None if y is None else len(_distinct(y))
    model = build(n_labels, **settings)
    n_docs = len(y) if y is not None else len(documents)
    about = "without labels" if y is None else f"with {n_labels} labels"
    k = model.estimator.n_components
    common.say(f"Fitting {how_many(k, n_labels)} to {n_docs:,} documents {about}.", quiet)
    columns_of_file = {
        "text": documents.text_column,
        "label": documents.label_column,
        "label_separator": label_separator,
    }
    with FitProgress(quiet) as progress:
        model.estimator.set_params(callback=progress)
        if updatable:
            model.partial_fit(contents, y, terms=documents.terms)
            model.columns_ = given(columns_of_file)
        else:
            model.fit(contents, y, terms=documents.terms, columns=given(columns_of_file))
    save_model(model, target, overwrite=force)
    n_unknown = 0 if y is None else sum(label is None for label in y)
    tell_result(model, target, n_docs, n_unknown, quiet=quiet, as_json=as_json)


def check_resume(checkpoint: str | None, resume: bool) -> None:
    """Check the folder of checkpoints: it must exist to resume, and be empty otherwise."""
    if checkpoint is None:
        if resume:
            raise click.UsageError("--resume needs --checkpoint FOLDER.")
        return
    folder = Path(checkpoint)
    if folder.exists() and not folder.is_dir():
        raise common.Refusal(f"{folder} is not a folder; --checkpoint takes the name of one.")
    if not resume:
        if folder.is_dir() and any(folder.iterdir()):
            raise common.Refusal(
                f"{folder} is not empty. Add --resume to resume the fit, or remove the folder."
            )
        return
    if not folder.is_dir():
        raise common.Refusal(
            f"there is no folder {folder}, so there is nothing to resume. Check the name after "
            "--checkpoint, or leave out --resume to fit from the beginning."
        )
    from vbnmf.estimators.checkpoints import has_checkpoint

    if not has_checkpoint(folder):
        raise common.Refusal(
            f"{folder} has no checkpoint, so there is nothing to resume. The first one is written "
            "after a minute: the earlier fit ended or was stopped before that. Leave out --resume "
            "to fit from the beginning."
        )


def labelled(documents: Any, quiet: bool, *, only: bool = True) -> tuple[Any, Any]:
    """Return texts or matrix, and labels. With `only`, drop documents without a label."""
    common.check_width(documents)
    contents = documents.texts if documents.matrix is None else documents.matrix
    labels = documents.labels
    if labels is None:
        return contents, None
    kept = [i for i, label in enumerate(labels) if label is not None]
    if not kept:
        raise ValueError(f"{documents.origin}: no document has a label. Check --label.")
    missing = len(labels) - len(kept)
    if not missing:
        return contents, labels
    if not only:
        used = "is used too; its label is" if missing == 1 else ("are used too; their labels are")
        common.say(f"{_documents(missing)} without a label {used} inferred.", quiet)
        return contents, labels
    common.say(f"Ignored {_documents(missing)} without a label.", quiet)
    y = labels[kept]
    if not isinstance(y[0], list):
        y = y.tolist()  # without missing labels they may be plain numbers
    if documents.matrix is not None:
        return contents[kept], y
    return [contents[i] for i in kept], y


def _documents(number: int) -> str:
    return "1 document" if number == 1 else f"{number:,} documents"


def _distinct(labels: Any) -> set[Any]:
    lists = (item if isinstance(item, list) else [item] for item in labels)
    return {label for labels in lists for label in labels} - {None}


def _default_name(file: str) -> str:
    if file == "-":
        return "model.vbnmf"
    path = Path(file).resolve()  # a folder called "." has a name
    if path.is_dir():
        return path.name.removesuffix(".shards") + ".vbnmf"
    return Path(path.name.removesuffix(".gz")).stem + ".vbnmf"
