"""vbnmf fit: from a file of documents to a model file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli import common
from vbnmf.cli.fitshards import fit_shards, is_shard_folder
from vbnmf.cli.progress import FitProgress

if TYPE_CHECKING:
    from vbnmf.pipeline import DocumentModel


def _number_or_auto(_: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None or value in ("auto", "free"):
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto' or 'free'.") from None


def _components(_: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None or value == "auto":
        return value
    if re.fullmatch(r"\d+", value):
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.")


def _number_or_all(_: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None or value == "all":
        return value
    if re.fullmatch(r"\d+", value):
        return int(value)
    raise click.BadParameter(f"{value!r} is neither a number nor 'all'.")


def _count_or_part(_: click.Context, option: click.Parameter, value: Any) -> Any:
    if value is None:
        return None
    text = str(value)
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d*\.?\d+(e-?\d+)?", text):
        return float(text)
    raise click.BadParameter(f"{text!r} is neither a count (5) nor a part of all documents (0.01).")


model_options = common.options(
    click.option("-k", "--components", callback=_components, metavar="N|auto", help="Number of "
                 "components; by the number of labels if left out. 'auto': as many as the lower "
                 "bound says."),
    click.option("--label-tree", metavar="SEPARATOR", help="What parts the levels in the names of "
                 "labels, such as '.' or '/'; each group of labels gets a component of its own."),
    click.option("--label-shape", type=float, help="The paper's a^λ, a pseudo-count: the larger, "
                 "the fewer components a label uses."),
    click.option("--class-weight", type=click.Choice(["balanced"]), help="'balanced': rare labels "
                 "count as much as common ones."),
    click.option("--classifier", type=click.Choice(
                     ["auto", "words and components", "components", "generative"]),
                 help="What predicts: components and single words, components alone, or the model "
                 "itself."),
    click.option("--coef-shape", type=float, help="Without labels: 1 or less, the smaller the "
                 "sparser the coefficients."),
    click.option("--term-shape", callback=_number_or_auto, help="Shape of the components' prior, "
                 "or 'auto' (learned above a guard) or 'free' (learned without)."),
    click.option("--max-iter", type=int, help="Most iterations."),
    click.option("--tol", type=float, help="Stop when the bound rises by less than this part."),
    click.option("--starts", "n_init", type=int, help="Random starts, of which the best is kept."),
)  # fmt: skip

# What is left out here keeps the default of DocumentVectorizer: the same model as from Python.
text_options = common.options(
    click.option("--weighting", type=click.Choice(["paper", "counts", "log"]),
                 help="How counts are weighted; see docs/text.md."),
    click.option("--max-terms", callback=_number_or_all, metavar="N|all", help="Most terms, those "
                 "of most documents ('paper': of the largest weight).  [default: 200000]"),
    click.option("--min-df", callback=_count_or_part, help="Leave out terms of fewer documents (a "
                 "count or a part).  [default: 1]"),
    click.option("--max-df", callback=_count_or_part, help="Leave out terms of more documents (a "
                 "count or a part).  [default: 1.0]"),
    click.option("--stop-words", metavar="LANGUAGE|FILE", help="Words to leave out: a language, "
                 "or a file of one word a line."),
    click.option("--stem", metavar="LANGUAGE", help="Join forms of a word: english, german, …"),
    click.option("--ngrams", type=click.IntRange(1, 5), help="Longest run of words that makes a "
                 "term.  [default: 1]"),
    click.option("--analyzer", type=click.Choice(["auto", "word", "char", "char_wb"]),
                 help="auto: words, and pairs of characters in scripts without spaces. word: what "
                 "--token-pattern finds. char, char_wb: runs of characters.  [default: auto]"),
    click.option("--token-pattern", metavar="REGEX", help="What a word is."),
    click.option("--strip", type=click.Choice(["auto", "html", "none"]), help="Drop HTML from "
                 "documents; auto: if most of them look like it.  [default: auto]"),
    click.option("--keep-case", is_flag=True, help="Do not turn letters to lower case."),
)  # fmt: skip


TEXT_OPTIONS = (
    "weighting", "max-terms", "min-df", "max-df", "stop-words", "stem", "ngrams", "analyzer",
    "token-pattern", "strip", "keep-case",
)  # fmt: skip


@click.command(short_help="Learn components from a file of documents.")
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, help="Column of labels, or 'auto' to guess "
              "it, or to take the names of sub-folders. Again for more columns. Without it the "
              "model is unsupervised.")  # fmt: skip
@common.label_separator
@click.option("--only-labelled", is_flag=True, help="Leave out documents without a label, which "
              "are otherwise learned from as well.")  # fmt: skip
@click.option("--out", metavar="MODEL", help="Model file to write.  [default: FILE's name.vbnmf]")
@click.option("--checkpoint", metavar="FOLDER", help="Write the fit to this folder once a minute.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in the folder of "
              "--checkpoint, to the same model.")  # fmt: skip
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
    skip_empty: bool, checkpoint: str | None, resume: bool, **settings: Any,
) -> None:  # fmt: skip
    """Learn components from a FILE of documents, and write a model file.

    FILE is CSV, TSV or JSON lines (also .gz, or - for standard input), Parquet, a folder, a matrix
    (svmlight, Matrix Market, .npz), or a shard folder of `vbnmf vectorize`, which need not fit into
    memory.

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
    if is_shard_folder(file):
        given = {
            "label": label, "label-separator": label_separator, "only-labelled": only_labelled,
            "text": text, "labels": labels, "terms": terms, "skip-empty": skip_empty,
        }  # fmt: skip
        fit_shards(file, target, given, settings, force=force, quiet=quiet, as_json=as_json)
        return
    columns = common.column_names(label or (("auto",) if labels else ()))
    if only_labelled and columns is None:
        raise click.UsageError("--only-labelled needs --label: it is about the documents with one.")
    documents = common.read(
        file, quiet, text=text, label=columns, labels=labels, label_separator=label_separator,
        terms=terms, encoding=encoding, format=format, skip_empty=skip_empty,
    )  # fmt: skip
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
        model.fit(contents, y, terms=documents.terms, columns=_given(columns_of_file))
    model.save(target, overwrite=force)
    n_unknown = 0 if y is None else sum(label is None for label in y)
    tell_result(model, target, n_docs, n_unknown, quiet=quiet, as_json=as_json)


def tell_result(
    model: "DocumentModel", target: Path, n_docs: int, n_unknown: int, *, quiet: bool, as_json: bool
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
        "labels": len(model.estimator_.classes_) if model.has_labels else 0,
        **_of_prediction(model),
        "iterations": int(model.estimator_.n_iter_),
        "bound": model.estimator_.bound_,
        "hyperparameters": model.estimator_.hyperparameters_,
    }
    if as_json:
        common.print_json(result)
        return
    if model.estimator.n_components == "auto":
        common.say(f"{result['components_reason']}.", quiet)
    if model.has_labels:
        common.say(f"Labels are predicted by {_said(result)}.", quiet)
    common.say(
        f"Wrote {target}: {result['components']} components of {result['terms']:,} terms, bound "
        f"{result['bound']:,.0f} after {result['iterations']} iterations.\n"
        f"Look at them with: vbnmf topics {target}",
        quiet,
    )


def check_resume(checkpoint: str | None, resume: bool) -> None:
    """Refuse to go on where there is nothing, and to replace what is there unasked."""
    if checkpoint is None:
        if resume:
            raise click.UsageError("--resume needs --checkpoint FOLDER.")
        return
    folder = Path(checkpoint)
    if folder.exists() and not folder.is_dir():
        raise common.Refusal(f"{folder} is not a folder; --checkpoint takes the name of one.")
    is_there = folder.is_dir() and any(folder.iterdir())
    if is_there and not resume:
        raise common.Refusal(f"{folder} is not empty. Add --resume to go on, or remove it.")
    if resume and not is_there:
        raise common.Refusal(f"there is no checkpoint in {folder}. Leave out --resume.")


def _of_prediction(model: "DocumentModel") -> dict[str, Any]:
    """What predicts labels, why, and how much of it is by components."""
    if not model.has_labels:
        return {"classifier": None, "classifier_reason": None, "component_share": None}
    fitted = model.estimator_
    return {
        "classifier": fitted.classifier_,
        "classifier_reason": fitted.classifier_reason_,
        "component_share": round(fitted.component_share_, 4),
    }


def _said(result: dict[str, Any]) -> str:
    """The choice of what predicts, in words."""
    names = {"components": "components alone", "generative": "the model itself"}
    name = names.get(result["classifier"], result["classifier"])
    if result["classifier"] == "words and components":
        name = f"components ({result['component_share']:.0%} of the decisions) and single words"
    return f"{name}: {result['classifier_reason']}"


def build(
    n_labels: int | None,
    *,
    seed: int = 0,
    jobs: int | None = None,
    components: Any = None,
    label_tree: str | None = None,
    label_shape: float | None = None,
    class_weight: str | None = None,
    classifier: str | None = None,
    coef_shape: float | None = None,
    ngrams: int | None = None,
    keep_case: bool = False,
    max_terms: Any = None,
    strip: str | None = None,
    term_shape: Any = None,
    max_iter: int | None = None,
    tol: float | None = None,
    n_init: int | None = None,
    checkpoint: str | None = None,
    **text: Any,
) -> "DocumentModel":
    """An unfitted model from the options that were given; all others keep their defaults."""
    from vbnmf.pipeline import DocumentModel, default_estimator
    from vbnmf.text import DocumentVectorizer

    about_labels = {
        "label_tree": label_tree, "label_shape": label_shape, "class_weight": class_weight,
        "classifier": classifier,
    }  # fmt: skip
    for name, value in about_labels.items():
        if n_labels is None and value is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --label: it is about labels.")
    given = {
        **about_labels,
        "coef_shape": coef_shape,
        "term_shape": term_shape,
        "max_iter": max_iter,
        "tol": tol,
        "n_init": n_init,
        "checkpoint": checkpoint,
    }
    estimator = default_estimator(labelled=n_labels is not None)
    estimator.set_params(n_components=components, random_state=seed, n_jobs=jobs, **_given(given))
    vectorizer = DocumentVectorizer(**_given(text))
    if keep_case:
        vectorizer.set_params(lowercase=False)
    if ngrams is not None:
        vectorizer.set_params(ngram_range=(1, ngrams))
    if max_terms is not None:
        vectorizer.set_params(max_terms=None if max_terms == "all" else max_terms)
    if strip is not None:
        vectorizer.set_params(strip=None if strip == "none" else strip)
    return DocumentModel(estimator, vectorizer)


def how_many(components: Any, n_labels: int | None) -> str:
    """Number of components of a model, in words, before it is fitted."""
    from vbnmf.estimators.validation import default_components

    if components == "auto":
        return "as many components as the bound says"
    return f"{default_components(n_labels) if components is None else components} components"


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def labelled(documents: Any, quiet: bool, *, only: bool = True) -> tuple[Any, Any]:
    """Texts or matrix, and labels; documents without one are kept unless `only` those with are."""
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
        used = (
            "is used as well: its label is"
            if missing == 1
            else ("are used as well: their labels are")
        )
        common.say(f"{_documents(missing)} without a label {used} learned.", quiet)
        return contents, labels
    common.say(f"Left out {_documents(missing)} without a label.", quiet)
    y = labels[kept]
    if not isinstance(y[0], list):
        y = y.tolist()  # without the gaps they may be plain numbers
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
