"""vbnmf fit: fit a model to a file of documents and save it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli import clusteroptions, common, options
from vbnmf.cli.modeloptions import TEXT_OPTIONS, build, given, how_many, model_options, text_options
from vbnmf.cli.progress import FitProgress
from vbnmf.cli.terminal import percent, rounded

if TYPE_CHECKING:
    from vbnmf.pipeline import DocumentModel

_STREAMED = ("csv", "tsv", "jsonl", "parquet", "arrow", "folder")
"""Formats that can be converted to shards, a part of the documents at a time."""

_KINDS_IN_WORDS = {"marks": "marks", "pairs": "pairs of words", "pieces": "pieces of words"}


@click.command(
    cls=options.GroupedCommand,
    main=(
        "label", "text", "label_separator", "n_components", "stop_words", "stem", "min_df",
        "random_state", "out", "force",
    ),
    short_help="Fit a model to a file of documents.",
)  # fmt: skip
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, help="Label column. 'auto' guesses it by "
              "its name, or uses the names of sub-folders. Can be repeated. Without it the model "
              "is unsupervised.")  # fmt: skip
@options.label_names
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
@options.reading
@model_options
@text_options
@options.config
@options.random_state
@options.n_jobs
@options.force
@options.quiet
@options.as_json
def fit(
    file: str, label: tuple[str, ...], label_separator: str | None, only_labelled: bool,
    out: str | None, force: bool, quiet: bool, as_json: bool,
    text: tuple[str, ...], labels: str | None, terms: str | None, encoding: str, format: str | None,  # noqa: A002
    label_case: str | None, label_map: str | None, bad_rows: str | None,
    updatable: bool, checkpoint: str | None, resume: bool, **settings: Any,
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
    if common.is_shard_folder(file):
        of_reading = {
            "label": label, "label-separator": label_separator, "label-case": label_case,
            "label-map": label_map, "only-labelled": only_labelled,
            "text": text, "label-file": labels, "terms": terms, "strict": bad_rows,
            "updatable": updatable,
        }  # fmt: skip
        cores = clusteroptions.cores_each(on_cluster, settings["n_jobs"])
        with clusteroptions.connected(on_cluster, cores, quiet) as engine:
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
    reading: dict[str, Any] = {
        "text": text, "label": columns, "labels": labels, "label_separator": label_separator,
        "terms": terms, "encoding": encoding, "format": format, "bad_rows": bad_rows or "skip",
        "label_case": label_case, "label_map": label_map,
    }  # fmt: skip
    if not updatable and is_beyond_memory(file, format, quiet):
        reading["only_labelled"] = only_labelled
        fit_beyond_memory(file, target, reading, settings, force, quiet, as_json)
        return
    documents = common.read(file, quiet, **reading)
    contents, y = labelled(documents, quiet, only=only_labelled)
    _report_copies(documents, quiet)
    n_labels = None if y is None else len(_distinct(y))
    model = build(n_labels, **settings)
    n_docs = len(y) if y is not None else len(documents)
    common.message(f"Fitting {_subject(model, n_docs, n_labels)}.", quiet)
    columns_of_file = {
        "text": documents.text_column,
        "label": documents.label_column,
        "label_separator": label_separator,
        "label_case": label_case if label_case == "fold" else None,
    }
    used = documents
    if documents.labels is not None and y is not None and len(y) < len(documents):
        used = documents.rows([i for i, one in enumerate(documents.labels) if one is not None])
    unknown = common.UnknownDocuments()
    with FitProgress(quiet) as progress, unknown.among(used):
        model.estimator.set_params(callback=progress)
        if updatable:
            model.partial_fit(contents, y, terms=documents.terms)
            model.columns_ = given(columns_of_file)
        else:
            model.fit(contents, y, terms=documents.terms, columns=given(columns_of_file))
    unknown.report(quiet)
    common.save_model(model, target, overwrite=force)
    n_unknown = 0 if y is None else sum(label is None for label in y)
    of_left_out = {} if y is None else _left_out(model, y)
    report_result(model, target, n_docs, n_unknown, of_left_out, quiet=quiet, as_json=as_json)


def check_resume(checkpoint: str | None, resume: bool) -> None:
    """Check the folder of checkpoints: it must exist to resume, and be empty otherwise."""
    if checkpoint is None:
        if resume:
            raise click.UsageError("--resume needs --checkpoint FOLDER.")
        return
    folder = Path(checkpoint)
    if folder.exists() and not folder.is_dir():
        raise common.Refusal(f"{folder} is not a folder; --checkpoint takes the name of one.")
    from vbnmf.estimators.checkpoints import has_checkpoint, is_unused

    if not resume:
        if folder.is_dir() and not is_unused(folder):
            raise common.Refusal(
                f"{folder} is not empty. Add --resume to resume the fit, or remove the folder."
            )
        return
    if not folder.is_dir():
        raise common.Refusal(
            f"there is no folder {folder}, so there is nothing to resume. Check the name after "
            "--checkpoint, or leave out --resume to fit from the beginning."
        )
    if not has_checkpoint(folder):
        raise common.Refusal(
            f"{folder} has no checkpoint, so there is nothing to resume. The first one is written "
            "after a minute: the earlier fit ended or was stopped before that. Leave out --resume "
            "to fit from the beginning."
        )


def labelled(documents: Any, quiet: bool, *, only: bool = True) -> tuple[Any, Any]:
    """Return texts or matrix, and labels. With `only`, drop documents without a label."""
    common.check_width(documents)
    labels = documents.labels
    if labels is None:
        return documents.contents, None
    kept = [i for i, label in enumerate(labels) if label is not None]
    if not kept:
        raise ValueError(f"{documents.origin}: no document has a label. Check --label.")
    missing = len(labels) - len(kept)
    if not missing:
        return documents.contents, labels
    n_missing = common.counted(missing, "document")
    if not only:
        used = "is used too; its label is" if missing == 1 else "are used too; their labels are"
        common.message(f"{n_missing} without a label {used} inferred.", quiet)
        return documents.contents, labels
    common.message(f"Ignored {n_missing} without a label.", quiet)
    documents = documents.rows(kept)
    y = documents.labels
    if not isinstance(y[0], list):
        y = y.tolist()  # without missing labels they may be plain numbers
    return documents.contents, y


def _report_copies(documents: Any, quiet: bool) -> None:
    """Say how many documents have the text of another, and how many of them other labels."""
    if documents.texts is None:
        return
    copies = others = 0
    first: dict[str, Any] = {}  # labels of the first copy that has any
    y = [None] * len(documents) if documents.labels is None else documents.labels
    for text, label in zip(documents.texts, y, strict=True):
        copies += text in first
        known = first.get(text)
        label = frozenset(label) if isinstance(label, list) else label
        others += known is not None and label is not None and label != known
        first[text] = label if known is None else known
    if 100 * copies < len(documents):
        return
    have = "has" if copies == 1 else "have"
    more = f", {others:,} of them with another label (`vbnmf review` lists these)" if others else ""
    common.message(
        f"{copies:,} of {common.counted(len(documents), 'document')} {have} the same text as one "
        f"before{more}. All of them are used.",
        quiet,
    )


def _subject(model: "DocumentModel", n_docs: int, n_labels: int | None) -> str:
    """Say what is fitted to what: "4 components to 12 documents with 2 labels"."""
    labels = "without labels" if n_labels is None else f"with {common.counted(n_labels, 'label')}"
    components = how_many(model.estimator.n_components, n_labels)
    return f"{components} to {common.counted(n_docs, 'document')} {labels}"


def _distinct(labels: Any) -> set[Any]:
    lists = (item if isinstance(item, list) else [item] for item in labels)
    return {label for labels in lists for label in labels} - {None}


def _default_name(file: str) -> str:
    if file == "-":
        return "model.vbnmf"
    path = Path(file).resolve()  # a folder called "." has a name
    if path.is_dir():
        return path.name.removesuffix(".shards") + ".vbnmf"
    return Path(path.name.removesuffix(".gz").removesuffix(".zst")).stem + ".vbnmf"


def fit_shards(
    file: str,
    target: Path,
    given: dict[str, Any],
    settings: dict[str, Any],
    *,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fit a model to a shard folder with its labels, and save it."""
    import numpy as np

    from vbnmf.shards import Shards

    texts = {name: settings.get(name.replace("-", "_")) is not None for name in TEXT_OPTIONS}
    common.refuse_settled({**given, **texts})
    shards = Shards(file)
    n_labels = None if shards.labels is None else len(shards.labels)
    model = build(n_labels, **settings)
    about = _subject(model, shards.shape[0], n_labels)
    common.message(f"Fitting {about}, in {common.counted(shards.n_shards, 'shard')}.", quiet)
    with FitProgress(quiet) as progress:
        model.estimator.set_params(callback=progress)
        model.fit(shards)
    model.columns_ = dict(shards.source_columns)
    common.save_model(model, target, overwrite=force)
    n_unknown = 0
    if n_labels is not None:
        n_unknown = sum(int((np.diff(part.indptr) == 0).sum()) for part in shards.label_parts())
    report_result(model, target, shards.shape[0], n_unknown, {}, quiet=quiet, as_json=as_json)


def is_beyond_memory(file: str, format: str | None, quiet: bool) -> bool:  # noqa: A002
    """Estimate whether a file is too large for memory, and say so if it is."""
    from vbnmf import memory
    from vbnmf.data.readers import find_format

    kind = find_format(file, format)
    if file == "-" or kind not in _STREAMED or not os.path.exists(file):
        return False
    needed, available = memory.needed(file, kind), memory.available()
    if available is None or needed <= available:
        return False
    common.message(
        f"{file} needs about {_size(needed)} of memory, and {_size(available)} are available. It "
        "is converted to a temporary shard folder first, as by `vbnmf vectorize`.",
        quiet,
    )
    return True


def fit_beyond_memory(
    file: str,
    target: Path,
    reading: dict[str, Any],
    settings: dict[str, Any],
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convert a file to shards, fit a model to them, and write it.

    The shards are in ``TMPDIR`` if it is set, otherwise beside the model. They are removed at the
    end, also after an error.
    """
    from vbnmf.cli.vectorize import write_shards
    from vbnmf.files import OwnedFolder

    n_labels = None if reading["label"] is None else 1  # how many there are is not known yet
    vectorizer = build(n_labels, **settings).vectorizer
    of_text = {name.replace("-", "_") for name in TEXT_OPTIONS}
    others = {name: value for name, value in settings.items() if name not in of_text}
    place = os.environ.get("TMPDIR") or target.resolve().parent
    with OwnedFolder(f".{target.name}.", ".shards", place) as temporary:
        folder = Path(temporary, "shards")
        write_shards(
            [file], folder, vectorizer, quiet=quiet, n_jobs=settings["n_jobs"],
            **reading | {"text": common.column_names(reading["text"])},
        )  # fmt: skip
        fit_shards(str(folder), target, {}, others, force=force, quiet=quiet, as_json=as_json)


def _size(number: int) -> str:
    """Format a number of bytes."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:,} bytes"


def report_result(
    model: "DocumentModel",
    target: Path,
    n_docs: int,
    n_unknown: int,
    of_left_out: dict[str, Any],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Say what was fitted, in words or as JSON."""
    result = {
        "model": str(target),
        "documents": n_docs,
        "documents_without_label": n_unknown,
        "documents_without_known_term": model.n_empty_,
        "terms": len(model.terms_),
        "components": model.estimator_.n_components_,
        "components_reason": model.estimator_.n_components_reason_,
        "components_glued": _n_glued(model),
        "labels": len(model.estimator_.classes_) if model.has_labels else 0,
        **_of_prediction(model),
        **of_left_out,
        "iterations": int(model.estimator_.n_iter_),
        "bound": model.estimator_.bound_,
        "hyperparameters": model.estimator_.hyperparameters_,
        "passages": _passages(model),
    }
    _report_checkpoint(model.estimator.checkpoint, quiet)
    if as_json:
        common.print_json(result)
        return
    if model.estimator.n_components == "auto":
        common.message(f"{result['components_reason']}.", quiet)
    if model.has_labels:
        if result["components_glued"]:
            common.message(_glued(model), quiet)
        common.message(f"Prediction head: {_head_in_words(result)}.", quiet)
    if of_left_out:
        common.message(_accuracy_in_words(of_left_out), quiet)
    if result["passages"]:
        common.message(_of_passages(result["passages"]), quiet)
    common.message(
        f"Wrote {target}: {common.counted(result['components'], 'component')} of "
        f"{common.counted(result['terms'], 'term')}, bound {result['bound']:,.0f} after "
        f"{common.counted(result['iterations'], 'iteration')}.\n"
        f"Show the components with: vbnmf topics {target}",
        quiet,
    )


def _left_out(model: "DocumentModel", y: Any) -> dict[str, Any]:
    """Compare the labels of documents with those predicted when the documents are left out.

    A single label is predicted anyway, and nothing is said of it.
    """
    import numpy as np

    from vbnmf.evaluation.judging import too_few_to_leave_out
    from vbnmf.metrics.shares import predicted_by_chance

    fitted = model.estimator_
    P = fitted.left_out_proba_
    rows = np.flatnonzero([label is not None for label in y])
    if fitted.multilabel_ or len(fitted.classes_) < 2 or len(P) != len(y) or len(rows) == 0:
        return {}
    keys = getattr(fitted, "head_document_keys_", None)
    if keys is not None and too_few_to_leave_out(keys[rows]):
        return {"left_out_accuracy": None, "commonest_label": None, "left_out_by_chance": None}
    given = np.asarray([y[row] for row in rows.tolist()])
    right = fitted.labels_from(P[rows]) == given
    places = {label: place for place, label in enumerate(fitted.classes_.tolist())}
    codes = np.array([places[label] for label in given.tolist()])
    by_chance = predicted_by_chance(P[rows], codes, fitted.label_frequencies_)
    return {
        "left_out_accuracy": rounded(right.mean()),
        "commonest_label": rounded(np.unique(given, return_counts=True)[1].max() / len(rows)),
        "left_out_by_chance": by_chance,
    }


def _accuracy_in_words(of_left_out: dict[str, Any]) -> str:
    """Say how often left-out predictions are right, and what it means if that is chance."""
    if of_left_out["left_out_accuracy"] is None:
        return (
            "The documents are too few to say how often predictions are right; `vbnmf evaluate` "
            "says so of labelled documents that the model has not seen."
        )
    right, commonest = of_left_out["left_out_accuracy"], of_left_out["commonest_label"]
    said = (
        f"{100 * right:.1f} % of the training documents get their own label if they are left out; "
        f"{100 * commonest:.1f} % have the commonest label."
    )
    if of_left_out["left_out_by_chance"]:
        said += (
            " So the texts do not predict the labels better than chance. Words and components of "
            "labels may be chance, too."
        )
    return said


def _n_glued(model: "DocumentModel") -> int:
    """Count the components from which labels take different terms."""
    from vbnmf.description.scopes import scopes_of

    scopes = scopes_of(model.estimator_) if model.has_labels else None
    return sum(scope.kind == "joined" for scope in scopes or ())


def _glued(model: "DocumentModel") -> str:
    """Say how many components join different terms of labels, and why."""
    n, K, n_labels = _n_glued(model), model.estimator_.n_components_, len(model.classes_)
    several = "1 component joins" if n == 1 else f"{n} components join"
    said = f"{several} different terms of several labels, as vbnmf topics shows"
    if n_labels > K:
        few = f"{common.counted(K, 'component')} for {n_labels} labels"
        return f"{said}: there are only {few}. Use a larger -k."
    return f"{said}. With a larger -k there may be fewer."


def _report_checkpoint(checkpoint: str | None, quiet: bool) -> None:
    """Say that a fit ended before its first checkpoint."""
    from vbnmf.estimators.checkpoints import has_checkpoint

    if checkpoint is not None and not has_checkpoint(checkpoint):
        common.message(
            "The fit took less than a minute, so no checkpoint was written and none is needed.",
            quiet,
        )


def _passages(model: "DocumentModel") -> list[dict[str, Any]]:
    """Return the passages that recur: their terms, and the documents that have half of them."""
    passages = model.estimator_.passages_
    return [
        {"documents": n, "terms": [str(model.terms_[w]) for w in columns]}
        for columns, n in zip(passages.terms, passages.documents, strict=True)
    ]


def _of_passages(passages: list[dict[str, Any]]) -> str:
    """Say that passages recur, what was done, and how to leave them out."""
    longest = max(passages, key=lambda one: len(one["terms"]))
    many = len(passages) > 1
    return (
        f"{len(passages):,} {'passages recur' if many else 'passage recurs'} (signatures, headers, "
        f"boilerplate): {'the longest' if many else 'it'} has {len(longest['terms']):,} terms in "
        f"{common.counted(longest['documents'], 'document')}; lists show one term of each. To "
        "leave them out, remove them from the texts, or put their terms, which --json prints, into "
        "a file for --stop-words."
    )


def _of_prediction(model: "DocumentModel") -> dict[str, Any]:
    """Return the prediction head, why it was chosen, and the share of components in it."""
    if not model.has_labels:
        return {"classifier": None, "classifier_reason": None, "component_share": None}
    fitted = model.estimator_
    return {
        "classifier": fitted.classifier_,
        "classifier_reason": fitted.classifier_reason_,
        "features": list(model.features_),
        "features_reason": model.features_reason_,
        "component_share": rounded(fitted.fitted_.head.component_share),
    }


def _head_in_words(result: dict[str, Any]) -> str:
    """Describe the prediction head in words."""
    names = {"components": "components only", "generative": "generative, from the fitted model"}
    name = names.get(result["classifier"], result["classifier"])
    if result["classifier"] == "words and components":
        others = ", ".join(["single words", *(_KINDS_IN_WORDS[k] for k in result["features"])])
        name = f"components ({percent(result['component_share'])} of the scores), {others}"
        return f"{name}. Reason: {result['features_reason']}"
    return f"{name}. Reason: {result['classifier_reason']}"
