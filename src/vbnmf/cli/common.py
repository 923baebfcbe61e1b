"""Options that commands share, and what they do with them: read, say, write, never overwrite."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from vbnmf.data import Documents

Command = Callable[..., Any]


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


reading = options(
    click.option("--text", metavar="COL", help="Column of texts; guessed from usual names."),
    click.option(
        "--labels", metavar="FILE", help="File of labels, one a line, where they are kept apart."
    ),
    click.option("--terms", metavar="FILE", help="File of terms, one a line, for a matrix."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the file."),
    click.option("--format", metavar="NAME", help="Format, where the file's name does not tell."),
    click.option("--skip-empty", is_flag=True, help="Leave out rows without text."),
)

label_separator = click.option(
    "--label-separator", metavar="SEP", help="What stands between several labels in one cell."
)

quiet = click.option("--quiet", is_flag=True, help="Say nothing but results and errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
force = click.option("--force", is_flag=True, help="Replace files that exist.")
jobs = click.option("--jobs", type=int, metavar="N", help="Threads; all cores by default.")
seed = click.option("--seed", type=int, default=0, show_default=True, help="Seed of random starts.")


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Make the values of a TOML file the defaults of this command."""
    if path is None:
        return
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except (OSError, ValueError) as error:  # a ValueError: it is no TOML, or not UTF-8
        raise click.BadParameter(f"{path} cannot be read as TOML: {error}") from None
    values |= _pop_tables(context, values)  # the command's own table wins over the top
    known = {
        flag.lstrip("-").replace("-", "_"): option
        for option in context.command.params
        for flag in option.opts
        if option.expose_value
    }
    unknown = [key for key in values if key.replace("-", "_") not in known]
    if unknown:
        raise click.BadParameter(
            f"{path} has {', '.join(unknown)}, which `{context.info_name}` does not know. "
            f"It knows {', '.join(sorted(known))}."
        )
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        option = known[key.replace("-", "_")]
        multiple = getattr(option, "multiple", False)
        several = value if multiple and isinstance(value, list) else [value]
        if not all(isinstance(item, str | int | float) for item in several):
            raise click.BadParameter(
                f"{path} has {key} = {value!r}; it must be a text, a number, true or false."
            )
        # as text, as on the command line, where 4.5 is no integer
        texts = several if getattr(option, "is_flag", False) else list(map(str, several))
        defaults[str(option.name)] = texts if multiple else texts[0]
    context.default_map = defaults | dict(context.default_map or {})


def _pop_tables(context: click.Context, values: dict[str, Any]) -> dict[str, Any]:
    """Take the tables of all commands out of a configuration, and return that of this one."""
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
    help="TOML file of options, at its top or in a table named as the command; flags win.",
)


def read(source: str, quiet: bool, **options: Any) -> "Documents":
    """Read documents, and say what was decided on the user's behalf."""
    from vbnmf.data import read_documents

    documents = read_documents(source, **options)
    for note in documents.notes:
        say(note, quiet)
    return documents


def label_columns(names: tuple[str, ...]) -> str | list[str] | None:
    """What a reader takes for labels: no column, one, or several of them."""
    return list(names) if len(names) > 1 else (names[0] if names else None)


def read_for(
    model: Any,
    source: str,
    quiet: bool,
    *,
    label: str | list[str] | None,
    label_separator: str | None = None,
    **reading: Any,
) -> "Documents":
    """Read documents for a model, from the columns of the fit where the header has them."""
    if label is not None:
        reading["label_separator"] = label_separator or model.columns_.get("label_separator")
    return read(source, quiet, label=label, fitted_columns=model.columns_, **reading)


def load_model(path: str) -> Any:
    """A ``DocumentModel`` from a file."""
    from vbnmf.documents import DocumentModel, load

    model = load(path)
    if not isinstance(model, DocumentModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__} without terms or a text pipeline, saved from "
            "Python. The command line takes models that `vbnmf fit` or DocumentModel.save wrote."
        )
    return model


def content(model: Any, documents: "Documents") -> Any:
    """Texts or matrix, whichever the documents are; the matrix must fit the model."""
    if documents.matrix is None:
        return documents.texts
    expected = len(model.terms_)
    if documents.matrix.shape[1] != expected:
        raise ValueError(
            f"{documents.origin} has {documents.matrix.shape[1]} columns; the model was fitted to "
            f"{expected} terms. Use the same columns in the same order; a file of svmlight does "
            "not tell how many it has, give it a file of all terms with --terms."
        )
    return documents.matrix


def ids(documents: "Documents") -> list[str]:
    """What each document is called; its place, from 0, where the source has no names."""
    names = documents.ids or map(str, range(len(documents)))
    # the name of a file may be bytes that are no text, and would spoil what is written
    return [name.encode("utf-8", "backslashreplace").decode("utf-8") for name in names]


class Refusal(click.ClickException):
    """Something that the user can put right."""

    exit_code = 2


def check_out(path: str | Path, force: bool, *sources: str) -> Path:
    """Where to write, if that is not taken, is none of the sources, and has a folder."""
    path = Path(path)
    if path.exists() and not path.is_file():  # /dev/null must not be replaced either
        raise Refusal(f"{path} is not a file; --out takes the name of one.")
    if any(path.resolve() == Path(source).resolve() for source in sources):
        raise Refusal(f"{path} is what is read here; --out must be another file.")
    if path.exists() and not force:
        raise Refusal(f"{path} exists. Add --force to replace it.")
    if not path.parent.is_dir():
        raise Refusal(f"there is no folder {path.parent} to write {path.name} to.")
    return path


def say(message: str, quiet: bool = False) -> None:
    """Tell the user something that is not a result."""
    if not quiet:
        click.echo(message, err=True)


def print_json(value: Any) -> None:
    """Print a result for machines."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
