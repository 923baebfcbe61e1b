"""Options that several commands share, their groups in ``--help``, and options from a file."""

import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import click

Command = Callable[..., Any]

_GROUPS = {
    "Reading files": (
        "text", "labels", "label_separator", "label_case", "label_map", "only_labelled", "terms",
        "format", "encoding", "bad_rows", "id", "keep",
    ),
    "Terms and their weights": (
        "stop_words", "stem", "min_df", "max_df", "max_terms", "ngram_range", "weighting",
        "analyzer", "token_pattern", "strip", "lowercase",
    ),
    "Model": (
        "n_components", "label_tree", "label_shape", "classifier", "features", "class_weight",
        "coef_shape", "term_shape", "n_init", "max_iter", "tol", "random_state",
    ),
    "Long fits and updates": ("checkpoint", "resume", "updatable"),
    "Dask cluster": ("scheduler", "workers", "scratch", "tls_ca", "tls_cert", "tls_key"),
    "Running and printing": (
        "n_jobs", "force", "config", "trusted", "quiet", "as_json", "help",
    ),
}  # fmt: skip
"""Options under each heading of ``--help``. Those of a single command are listed before them."""


class GroupedCommand(click.Command):
    """Command whose help lists options in groups, the main ones first.

    Parameters
    ----------
    main : sequence of str
        Names of the options to list first, in this order.
    **attributes : Any
        Passed to `click.Command`.
    """

    def __init__(self, *args: Any, main: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._main = main

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group."""
        rows = {
            "help" if "--help" in option.opts else str(option.name): row
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (row := option.get_help_record(ctx)) is not None
        }
        grouped = {name for names in _GROUPS.values() for name in names}
        own = [name for name in rows if name not in grouped and name not in self._main]
        for title, names in {"Main options": (*self._main, *own), **_GROUPS}.items():
            found = [rows.pop(name) for name in names if name in rows]
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options into one decorator, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


reading = options(
    click.option("--text", metavar="COL", multiple=True, help="Text column. Can be repeated, to "
                 "join several columns.  [default: that of the model, if any; else a column with a "
                 "usual name, such as 'text']"),
    click.option("--label-file", "labels", metavar="FILE", help="Separate file with one label per "
                 "line."),
    click.option("--terms", metavar="FILE", help="File with the names of a matrix's "
                 "columns, one per line."),
    click.option("--encoding", metavar="NAME", default="utf-8", show_default=True,
                 help="Encoding of text files."),
    click.option("--format", metavar="NAME", help="File format, such as csv or jsonl.  [default: "
                 "by the file's ending]"),
    click.option("--strict", "bad_rows", flag_value="error", help="Stop at a row without text or "
                 "that cannot be read, instead of going on with a note."),
)  # fmt: skip

identified = click.option(
    "--id", metavar="COL", help="Column with the ids of the documents.  [default: line numbers]"
)
kept = click.option(
    "--keep", metavar="COL", multiple=True, help="Column to copy to the output. Can be repeated."
)

names = click.option("--names", metavar="FILE.json", help="Names of labels and components, and "
                     "notes, as About on the page saves them.")  # fmt: skip
label_names = options(
    click.option("--label-separator", metavar="SEP", help="Separator between several labels in one "
                 "cell."),
    click.option("--label-case", type=click.Choice(["keep", "fold"]), help="Whether labels are "
                 "written in lower case and with single spaces: 'Billing' is then 'billing'.  "
                 "[default: that of the model, or keep]"),
    click.option("--label-map", metavar="FILE", help="Table with the columns 'label' and "
                 "'becomes': labels to rename, after their case is folded."),
)  # fmt: skip

labels_of_model = options(
    click.option("--label", metavar="COL", multiple=True, default=("auto",), show_default=True,
                 help="Label column. 'auto' uses that of the model, or guesses it by its name. Can "
                 "be repeated."),
    label_names,
)  # fmt: skip

quiet = click.option("--quiet", is_flag=True, help="Print only results and errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
force = click.option("--force", is_flag=True, help="Overwrite existing files.")
TRUSTED = "vbnmf.trusted"
"""Key of the context under which `--trusted` is kept."""


def _remember_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[TRUSTED] = value


trusted = click.option("--trusted", is_flag=True, expose_value=False, callback=_remember_trust,
                       help="Accept any token pattern in MODEL. Use it only for models from a "
                       "source that you trust: with some patterns a command never ends."
                       )  # fmt: skip


def _not_zero(_: click.Context, __: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 is not a number of cores; use 1 or more, or -1 for all.")
    return value


n_jobs = click.option("--n-jobs", type=int, metavar="N", default=-1, callback=_not_zero,
                      help="Number of cores to use; -1 for all. Results do not depend on it.  "
                      "[default: -1]")  # fmt: skip
random_state = click.option("--random-state", type=int, metavar="SEED", default=0,
                            show_default=True, help="Random seed.")  # fmt: skip


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make the values of a TOML file the defaults of this command."""
    if path is None:
        return
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise click.BadParameter(f"{path} is not a valid TOML file: {error}") from None
    values |= _pop_tables(context, values)  # the command's own table has precedence
    known = {
        flag.lstrip("-").replace("-", "_"): option
        for option in context.command.params
        for flag in option.opts
        if option.expose_value
    }
    unknown = [key for key in values if key.replace("-", "_") not in known]
    if unknown:
        raise click.BadParameter(
            f"{path} has {'an unknown option' if len(unknown) == 1 else 'unknown options'}: "
            f"{', '.join(unknown)}. "
            f"`{context.info_name}` has {', '.join(sorted(known))}."
        )
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        option = known[key.replace("-", "_")]
        multiple = getattr(option, "multiple", False)
        if isinstance(value, list) and "," in (getattr(option, "metavar", None) or ""):
            value = ",".join(map(str, value))
        several = value if multiple and isinstance(value, list) else [value]
        if not all(isinstance(item, str | int | float) for item in several):
            raise click.BadParameter(
                f"{path} has {key} = {value!r}; expected a string, a number, true or false."
            )
        # convert to text as on the command line, so that 4.5 is not accepted as an integer
        texts = several if getattr(option, "is_flag", False) else list(map(str, several))
        defaults[str(option.name)] = texts if multiple else texts[0]
    context.default_map = defaults | dict(context.default_map or {})


def _pop_tables(context: click.Context, values: dict[str, Any]) -> dict[str, Any]:
    """Remove the tables of all commands from a configuration; return that of this command."""
    group = context.parent.command if context.parent else None
    names = list(group.commands) if isinstance(group, click.Group) else []
    tables = {name: values.pop(name) for name in names if isinstance(values.get(name), dict)}
    own: dict[str, Any] = tables.get(context.info_name or "", {})
    return own


config = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_read_config,
    help="TOML file with options, at the top level or in a table named after the command. "
    "Options on the command line have precedence.",
)

writing_rows = options(reading, identified, kept, n_jobs, force, trusted, config, quiet)
"""Options of commands that read documents and write a row for each."""
