"""vbnmf tune: choose the number of components by the likelihood of held-out documents."""

import shlex
import sys
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from shutil import get_terminal_size, rmtree
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vbnmf.cli import clusteroptions, common, options
from vbnmf.cli.fit import labelled
from vbnmf.cli.modeloptions import TEXT_OPTIONS, build, text_options
from vbnmf.cli.progress import Display
from vbnmf.cli.terminal import fraction, table
from vbnmf.progressbars import time_left
from vbnmf.selection.advice import LabelShape, order, shown

if TYPE_CHECKING:
    from vbnmf.data import Documents
    from vbnmf.selection.search import Step, Tuning

MOST_DOCUMENTS = 20_000
"""Documents of a shard folder that are used; of more, every n-th."""


def _several(kind: Callable[[str], Any], example: str) -> Callable[..., Any]:
    """Return a callback for values separated by commas."""

    def convert(_: click.Context, option: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        try:
            return [kind(part) for part in value.split(",")]
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a list such as {example}.") from None

    return convert


def _label_shape(text: str) -> LabelShape:
    return "auto" if text.strip() == "auto" else float(text)


@click.command(
    cls=options.GroupedCommand,
    main=(
        "label", "text", "label_separator", "n_components", "label_shape", "validation",
        "stop_words", "stem", "min_df", "out", "force",
    ),
    short_help="Choose --n-components for a fit.",
)  # fmt: skip
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, default=["auto"], show_default=True,
              help="Label column. 'auto' guesses it by its name, or uses the names of "
              "sub-folders. Can be repeated.")  # fmt: skip
@options.label_names
@click.option("--only-labelled", is_flag=True, help="Ignore documents without a label.")
@click.option("-k", "--n-components", metavar="N,N,…", callback=_several(int, "20,40,80"),
              help="Numbers of components to try.  [default: chosen from the number of "
              "labels]")  # fmt: skip
@click.option("--label-shape", metavar="A,A,…", callback=_several(_label_shape, "auto,30,300"),
              help="Values of the label shape to try with each number of components.  "
              "[default: auto, as `vbnmf fit`]")  # fmt: skip
@click.option("--validation", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              metavar="FRACTION", default=0.25, show_default=True,
              help="Fraction of the labelled documents to hold out for validation.")  # fmt: skip
@click.option("--out", metavar="DIR", default="vbnmf-tune", show_default=True,
              help="Folder for the table and the figure. An interrupted search in it is "
              "resumed.")  # fmt: skip
@options.reading
@text_options
@clusteroptions.for_candidates
@options.config
@options.random_state
@options.n_jobs
@options.force
@options.quiet
@options.as_json
def tune(
    file: str, label: tuple[str, ...], label_separator: str | None, only_labelled: bool,
    n_components: list[int] | None, label_shape: list[LabelShape] | None, validation: float,
    out: str, random_state: int, n_jobs: int, force: bool, quiet: bool, as_json: bool,
    text: tuple[str, ...], labels: str | None, terms: str | None, encoding: str, format: str | None,  # noqa: A002
    label_case: str | None, label_map: str | None, bad_rows: str | None, **texts: Any,
) -> None:  # fmt: skip
    """Choose the number of components by the likelihood of held-out documents.

    Fits a model for each number of components. Recommends the fewest whose held-out likelihood is
    within one standard error of the best, whose accuracy is not clearly lower, and that glue no
    unrelated topics. Writes tune.csv and, with matplotlib, tune.png and tune.svg. To resume an
    interrupted search, repeat the command. Of a large shard folder, an evenly spread sample of
    20,000 documents is used.

    \b
    Examples:
      vbnmf tune tickets.csv --label team
      vbnmf tune newsgroups/ -k 20,50,100 --stop-words english
    """  # noqa: D301
    from vbnmf.files import only_user
    from vbnmf.selection.search import tune as search

    cluster = clusteroptions.pop_options(texts)
    cores = clusteroptions.cores_each(cluster, n_jobs)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise click.BadParameter(f"{folder} is a file; --out takes a folder.")
    if common.is_shard_folder(file):
        documents = _sample(file, quiet, {
            "label": tuple(label) != ("auto",), "label-separator": label_separator, "text": text,
            "label-case": label_case, "label-map": label_map,
            "label-file": labels, "terms": terms, "strict": bad_rows,
            **{name: texts.get(name.replace("-", "_")) is not None for name in TEXT_OPTIONS},
        })  # fmt: skip
    else:
        documents = common.read(
            file, quiet, text=text, label=common.column_names(label), labels=labels,
            label_separator=label_separator, terms=terms, encoding=encoding, format=format,
            bad_rows=bad_rows or "skip", label_case=label_case, label_map=label_map,
        )  # fmt: skip
    contents, y = labelled(documents, quiet, only=only_labelled)
    model = build(1, random_state=random_state, n_jobs=cores, **texts)
    is_text = documents.matrix is None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "tune.csv"
    try:
        with (
            only_user(folder),
            clusteroptions.connected(cluster, 1, quiet) as engine,
            _TuneProgress(quiet) as progress,
        ):
            if force:
                target.unlink(missing_ok=True)
                rmtree(f"{target}.parts", ignore_errors=True)
            found = search(
                contents,
                y,
                n_components=n_components,
                label_shapes=label_shape,
                estimator=model.estimator,
                vectorizer=model.vectorizer if is_text else None,
                validation=validation,
                random_state=random_state,
                checkpoint=target,
                progress=progress,
                engine=engine,
            )
    except KeyboardInterrupt:
        common.message(
            f"Stopped. Results so far are in {folder}. Repeat the command to resume.", quiet
        )
        sys.exit(common.INTERRUPTED)
    files = [target, *_picture(found, folder, quiet)]
    command = _next_command(file, found.recommended)
    if as_json:
        common.print_json(_as_json(found) | {"command": command, "files": list(map(str, files))})
        return
    said = click.wrap_text(found.recommendation, width=get_terminal_size((100, 24)).columns)
    click.echo(f"{_table(found)}\n\n{said}\n\nNext:\n  {common.printable(command)}")
    common.message(f"Wrote {', '.join(map(str, files))}.", quiet)


def _sample(file: str, quiet: bool, given: dict[str, Any]) -> "Documents":
    """Read a sample of a shard folder, and print how large it is."""
    from vbnmf.data.shardrows import sample_shards

    common.refuse_settled(given)
    documents = sample_shards(file, MOST_DOCUMENTS)
    for note in documents.notes:
        common.message(note, quiet)
    return documents


class _TuneProgress(Display):
    """Callback of ``tune``."""

    _doing = "tuning"
    _seconds_between_lines = 10.0
    _estimates_time = True

    def __call__(self, step: "Step") -> None:
        """Show which candidate is being fitted, and how long the whole search still takes."""
        text = f"{step.done} of {step.total} candidates"
        if step.done < step.total:
            text += f", now {step.n_components} components"
            if step.label_shape != "auto":
                text += f", label shape {shown(step.label_shape)}"
        self._show(step.part, text, time_left(step.seconds_left))


def _table(found: "Tuning") -> str:
    """Format the candidates with their scores.

    Columns that would be the same in all rows, or repeat another column, are left out.
    """
    from vbnmf.evaluation.measures import TUNE, measures_for

    rows = sorted(found.rows, key=lambda row: order(row.candidate))
    best, recommended = (tuple(each.values()) for each in (found.best, found.recommended))
    columns: dict[str, list[str]] = {"components": [str(row.n_found) for row in rows]}
    if any(row.n_found != row.n_components for row in rows):
        columns["asked"] = [str(row.n_components) for row in rows]
    if any(row.label_shape != "auto" for row in rows):
        columns["label shape"] = [shown(row.label_shape) for row in rows]
    columns |= {
        "likelihood": [_plus_minus(row.log_likelihood, row.log_likelihood_error) for row in rows],
        "below best": [
            "" if row.candidate == best
            else _plus_minus(row.likelihood_below, row.likelihood_below_error)
            for row in rows
        ],
        found.measure: [_number(row.accuracy) for row in rows],
        "agree": [f"{row.agreeing}/{row.shared}" for row in rows],
        "glued": [str(row.glued) for row in rows],
        **{
            measure.column or measure.name: [_number(row.measures[measure.key]) for row in rows]
            for measure in measures_for(TUNE)
            if all(measure.key in row.measures for row in rows)
        },
        "seconds": [f"{row.seconds:.1f}" for row in rows],
        "": [
            "recommended" if row.candidate == recommended
            else "best" if row.candidate == best else ""
            for row in rows
        ],
    }  # fmt: skip
    cells = list(zip(*columns.values(), strict=True))
    return table(list(columns), cells, right=range(len(columns) - 1))


def _plus_minus(value: float, error: float) -> str:
    return f"{value:.3f} ± {f'{error:.3f}' if isfinite(error) else '–'}"


def _number(value: float) -> str:
    """Format a number; a dash if it is not known."""
    return fraction(value, 3) if isfinite(value) else "–"


def _picture(found: "Tuning", folder: Path, quiet: bool) -> list[Path]:
    try:
        from vbnmf.report.tuning import save_picture
    except ImportError:
        common.message(
            "The figure needs matplotlib: pip install 'vbnmf[plot]'. Then repeat the command; it "
            "draws the figure without another search.",
            quiet,
        )
        return []
    return save_picture(found, folder)


_NOT_OF_FIT = (
    "n_components", "label_shape", "validation", "out", "force", "quiet", "as_json",
    *clusteroptions.NAMES,
)  # fmt: skip


def _next_command(file: str, recommended: dict[str, Any]) -> str:
    """Return the `vbnmf fit` command with the recommended settings and the given options."""
    context = click.get_current_context()
    parts = ["vbnmf", "fit", file]
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) in (
            ParameterSource.COMMANDLINE,
            ParameterSource.DEFAULT_MAP,
        )
        needed = (
            name == "label" and not context.params["labels"] and not common.is_shard_folder(file)
        )
        if not isinstance(option, click.Option) or name in (*_NOT_OF_FIT, "config"):
            continue
        if given or needed:
            value = context.params[name]
            for item in value if option.multiple else [value]:
                parts += _as_words(option, item)
    k, shape = recommended["n_components"], recommended["label_shape"]
    parts += ["-k", str(k)]
    if shape != "auto":  # the default
        parts += ["--label-shape", f"{shape:g}"]
    return shlex.join(parts)


def _as_words(option: click.Option, value: Any) -> list[str]:
    """Return an option with its value as on the command line."""
    if value is False:
        return option.secondary_opts[-1:]
    if value is True:
        return option.opts[-1:]
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return [option.opts[-1], text]


def _as_json(found: "Tuning") -> dict[str, Any]:
    names = ("best", "recommended", "recommendation", "measure", "n_validation")
    return {**{name: getattr(found, name) for name in names}, "rows": found.table}
