"""vbnmf fit: fit a model to a file of documents and save it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli import clusteroptions, common
from vbnmf.cli.beyond import fit_beyond_memory, is_beyond_memory
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


def _whole_number_or(word: str) -> Callable[..., Any]:
    """Return a callback for a whole number or a word."""

    def convert(_: click.Context, option: click.Parameter, value: str | None) -> Any:
        if value is None or value == word:
            return value
        if re.fullmatch(r"\d+", value):
            return int(value)
        raise click.BadParameter(f"{value!r} is neither a number nor {word!r}.")

    return convert


def _count_or_part(_: click.Context, option: click.Parameter, value: Any) -> Any:
    if value is None:
        return None
    text = str(value)
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d*\.?\d+(e-?\d+)?", text):
        return float(text)
    raise click.BadParameter(f"{text!r} is neither a count (5) nor a fraction of documents (0.01).")


model_options = common.options(
    click.option("-k", "--components", callback=_whole_number_or("auto"), metavar="N|auto",
                 help="Number of components. 'auto' chooses it by the lower bound.  [default: two "
                 "for each label, at least 20, at most 300]"),
    click.option("--label-tree", metavar="SEPARATOR", help="Separator of the levels in "
                 "hierarchical label names, such as '.' or '/'. Each group of labels gets a "
                 "component of its own."),
    click.option("--label-shape", type=float, help="Pseudo-count a^λ of the label prior. With "
                 "larger values a label uses fewer components."),
    click.option("--class-weight", type=click.Choice(["balanced"]), help="'balanced' gives rare "
                 "labels the same total weight as common ones."),
    click.option("--classifier", type=click.Choice(
                     ["auto", "words and components", "components", "generative"]),
                 help="Prediction head. 'generative' uses the fitted model without a trained head. "
                 "'auto' compares heads on held-out documents.  [default: auto]"),
    click.option("--coef-shape", type=float, help="Shape of the prior of coefficients. With "
                 "smaller values a document uses fewer components."),
    click.option("--term-shape", callback=_number_or_auto, help="Shape of the prior of components: "
                 "a number, 'auto' (learned, with a lower limit) or 'free' (learned without a "
                 "limit)."),
    click.option("--max-iter", type=int, help="Maximum number of iterations."),
    click.option("--tol", type=float, help="Stop when the relative increase of the bound is below "
                 "this value."),
    click.option("--starts", "n_init", type=int, help="Number of random initialisations. The best "
                 "fit is kept."),
)  # fmt: skip

# Options that are not given keep the defaults of DocumentVectorizer, as in Python.
text_options = common.options(
    click.option("--weighting", type=click.Choice(["paper", "counts", "log"]),
                 help="Weighting of term counts; see docs/text.md."),
    click.option("--max-terms", callback=_whole_number_or("all"), metavar="N|all",
                 help="Maximum number of terms. The terms that occur in the largest number of "
                 "documents are kept; with "
                 "--weighting paper, the terms with the largest weights.  [default: 200000]"),
    click.option("--min-df", callback=_count_or_part, help="Ignore terms in fewer documents than "
                 "this (a count or a fraction).  [default: 1]"),
    click.option("--max-df", callback=_count_or_part, help="Ignore terms in more documents than "
                 "this (a count or a fraction).  [default: 1.0]"),
    click.option("--stop-words", metavar="LANGUAGE|FILE", help="Stop words to ignore: a language, "
                 "or a file with one word per line."),
    click.option("--stem", metavar="LANGUAGE", help="Stem words of this language: english, german, "
                 "…"),
    click.option("--ngrams", type=click.IntRange(1, 5), help="Maximum length of n-grams.  "
                 "[default: 1]"),
    click.option("--analyzer", type=click.Choice(["auto", "word", "char", "char_wb"]),
                 help="auto: words, and pairs of characters in scripts without spaces. word: "
                 "matches of --token-pattern. char, char_wb: character n-grams.  [default: auto]"),
    click.option("--token-pattern", metavar="REGEX", help="Regular expression that matches a "
                 "word."),
    click.option("--strip", type=click.Choice(["auto", "html", "none"]), help="Remove HTML markup. "
                 "'auto' removes it if most documents contain it.  [default: auto]"),
    click.option("--keep-case", is_flag=True, help="Do not convert to lower case."),
)  # fmt: skip


TEXT_OPTIONS = (
    "weighting", "max-terms", "min-df", "max-df", "stop-words", "stem", "ngrams", "analyzer",
    "token-pattern", "strip", "keep-case",
)  # fmt: skip


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
        given = {
            "label": label, "label-separator": label_separator, "only-labelled": only_labelled,
            "text": text, "labels": labels, "terms": terms, "skip-empty": skip_empty,
            "updatable": updatable,
        }  # fmt: skip
        with clusteroptions.connected(on_cluster, settings.get("jobs"), quiet) as engine:
            settings["engine"] = engine
            fit_shards(file, target, given, settings, force=force, quiet=quiet, as_json=as_json)
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
            model.columns_ = _given(columns_of_file)
        else:
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
    _tell_of_checkpoint(model.estimator.checkpoint, quiet)
    if as_json:
        common.print_json(result)
        return
    if model.estimator.n_components == "auto":
        common.say(f"{result['components_reason']}.", quiet)
    if model.has_labels:
        common.say(f"Prediction head: {_said(result)}.", quiet)
    common.say(
        f"Wrote {target}: {result['components']} components of {result['terms']:,} terms, bound "
        f"{result['bound']:,.0f} after {result['iterations']} iterations.\n"
        f"Show the components with: vbnmf topics {target}",
        quiet,
    )


def _tell_of_checkpoint(checkpoint: str | None, quiet: bool) -> None:
    """Say that a fit ended before its first checkpoint."""
    from vbnmf.estimators.checkpoints import has_checkpoint

    if checkpoint is not None and not has_checkpoint(checkpoint):
        common.say(
            "The fit took less than a minute, so no checkpoint was written and none is needed.",
            quiet,
        )


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


def _of_prediction(model: "DocumentModel") -> dict[str, Any]:
    """Return the prediction head, why it was chosen, and the share of components in it."""
    if not model.has_labels:
        return {"classifier": None, "classifier_reason": None, "component_share": None}
    fitted = model.estimator_
    return {
        "classifier": fitted.classifier_,
        "classifier_reason": fitted.classifier_reason_,
        "component_share": round(fitted.component_share_, 4),
    }


def _said(result: dict[str, Any]) -> str:
    """Describe the prediction head in words."""
    names = {"components": "components only", "generative": "generative, from the fitted model"}
    name = names.get(result["classifier"], result["classifier"])
    if result["classifier"] == "words and components":
        name = f"components ({result['component_share']:.0%} of the scores) and single words"
    return f"{name}. Reason: {result['classifier_reason']}"


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
    engine: Any = None,
    **text: Any,
) -> "DocumentModel":
    """Build an unfitted model from the given options; all others keep their defaults."""
    from vbnmf.pipeline import DocumentModel, default_estimator
    from vbnmf.text import DocumentVectorizer

    about_labels = {
        "label_tree": label_tree, "label_shape": label_shape, "class_weight": class_weight,
        "classifier": classifier,
    }  # fmt: skip
    for name, value in about_labels.items():
        if n_labels is None and value is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --label.")
    given = {
        **about_labels,
        "coef_shape": coef_shape,
        "term_shape": term_shape,
        "max_iter": max_iter,
        "tol": tol,
        "n_init": n_init,
        "checkpoint": checkpoint,
        "engine": engine,
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
    """Describe the number of components of an unfitted model."""
    from vbnmf.estimators.validation import default_components

    if components == "auto":
        return "a number of components chosen by the bound"
    return f"{default_components(n_labels) if components is None else components} components"


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


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
