"""Options that several commands share, and the functions that read, print and write for them."""

import json
import re
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from vbnmf.data import Documents

Command = Callable[..., Any]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line feeds
FREE_COLUMNS = 2**20
"""Number of columns that a matrix may have beyond its number of entries, as with hashing."""
PART = 4000
"""Number of documents that are predicted or transformed at a time."""


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options into one decorator, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


reading = options(
    click.option("--text", metavar="COL", multiple=True, help="Text column. Can be repeated, to "
                 "join several columns.  [default: the text column of the model, if there is a "
                 "model and the file has the column; else a column with a usual name, such as "
                 "'text']"),
    click.option("--labels", metavar="FILE", help="Separate file with one label per line."),
    click.option("--terms", metavar="FILE", help="File with the names of a matrix's "
                 "columns, one per line."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text files."),
    click.option("--format", metavar="NAME", help="File format, such as csv or jsonl.  [default: "
                 "by the file's ending]"),
    click.option("--skip-empty", is_flag=True, help="Skip rows without text."),
)  # fmt: skip

identified = click.option(
    "--id", metavar="COL", help="Column with the ids of the documents.  [default: line numbers]"
)
kept = click.option(
    "--keep", metavar="COL", multiple=True, help="Column to copy to the output. Can be repeated."
)

label_separator = click.option(
    "--label-separator", metavar="SEP", help="Separator between several labels in one cell."
)

labels_of_model = options(
    click.option("--label", metavar="COL", multiple=True, default=("auto",), show_default=True,
                 help="Label column. 'auto' uses that of the model, or guesses it by its name. Can "
                 "be repeated."),
    label_separator,
)  # fmt: skip

quiet = click.option("--quiet", is_flag=True, help="Print only results and errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
force = click.option("--force", is_flag=True, help="Overwrite existing files.")
_TRUSTED = "vbnmf.trusted"


def _remember_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_TRUSTED] = value


trust = click.option("--trust", is_flag=True, expose_value=False, callback=_remember_trust,
                     help="Accept any token pattern in MODEL. Use it only for models from a source "
                     "that you trust: with some patterns a command never ends.")  # fmt: skip
jobs = click.option("--jobs", type=int, metavar="N", help="Threads to use.  [default: all cores]")
seed = click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")


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
            f"{path} has the unknown options {', '.join(unknown)}. "
            f"`{context.info_name}` has {', '.join(sorted(known))}."
        )
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        option = known[key.replace("-", "_")]
        multiple = getattr(option, "multiple", False)
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

writing_rows = options(reading, identified, kept, jobs, force, trust, config, quiet)
"""Options of commands that read documents and write a row for each."""


def read(source: str, quiet: bool, **options: Any) -> "Documents":
    """Read documents, and print which columns were guessed and which rows were skipped."""
    from vbnmf.data import read_documents

    documents = read_documents(source, **_columns(options))
    for note in documents.notes:
        say(note, quiet)
    return documents


def column_names(names: tuple[str, ...]) -> str | list[str] | None:
    """Convert names from the command line to what readers accept: None, a str or a list."""
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
    """Read documents for a model. Columns of the fit are used if the header has them."""
    if label is not None:
        reading["label_separator"] = label_separator or model.columns_.get("label_separator")
    return read(source, quiet, label=label, fitted_columns=model.columns_, **reading)


def parts_for(model: Any, source: str, quiet: bool, **reading: Any) -> "Iterator[Documents]":
    """Read documents without labels for a model in parts. The file may have no rows."""
    from vbnmf.data import iter_documents

    for documents in iter_documents(
        source, fitted_columns=model.columns_, allow_empty=True, chunk=PART, **_columns(reading)
    ):
        for note in documents.notes:
            say(note, quiet)
        yield documents


def _columns(reading: dict[str, Any]) -> dict[str, Any]:
    """Return the same options with the text columns as readers accept them."""
    return reading | {"text": column_names(reading["text"])}


class Kept:
    """Columns of the input that are copied to the output.

    Parameters
    ----------
    parts : iterator of Documents
        The documents. The names of the kept columns are read from the first part.
    taken : iterable of str
        Names of the output's own columns. A kept column "label" is renamed to "input_label".

    Attributes
    ----------
    names : list of str
        Names of the kept columns in the output.
    parts : iterator of Documents
        All parts, including the first.
    """

    def __init__(self, parts: "Iterator[Documents]", taken: Iterable[str]) -> None:
        first = next(parts)
        self.parts = chain([first], parts)
        self.names = [f"input_{name}" if name in taken else name for name in first.kept]

    def cells(self, documents: "Documents") -> list[tuple[Any, ...]]:
        """Return the kept cells of each document, in types that JSON can hold."""
        columns = [map(_plain, column) for column in documents.kept.values()]
        return list(zip(*columns, strict=True)) if columns else [()] * len(documents)


def _plain(cell: Any) -> Any:
    from vbnmf.data.documents import is_missing

    if is_missing(cell):
        return None
    return cell if isinstance(cell, str | bool | int | float | list | dict) else str(cell)


class UnknownDocuments:
    """Collect the documents without a known term, to print one note with their ids."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._total = 0

    @contextmanager
    def among(self, documents: "Documents") -> Iterator[None]:
        """Collect the warnings about these documents instead of showing them."""
        from vbnmf.text import EmptyDocumentWarning

        names = ids(documents)
        self._total += len(names)
        with warnings.catch_warnings():
            warnings.simplefilter("always", EmptyDocumentWarning)
            show = warnings.showwarning

            def collect(message: Warning | str, *args: Any, **kwargs: Any) -> None:
                if isinstance(message, EmptyDocumentWarning):
                    self._names += [names[row] for row in message.rows]
                else:
                    show(message, *args, **kwargs)

            warnings.showwarning = collect
            yield

    def tell(self, quiet: bool) -> None:
        """Print how many there were, and the ids of the first five."""
        names = list(dict.fromkeys(self._names))  # a document may have been recorded twice
        if not names:
            return
        first = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        say(
            f"Note: {len(names):,} of {self._total:,} documents have no known term of non-zero "
            f"weight (ids {first}). Their labels cannot be predicted from their text. Check the "
            "text, its language and the options, or leave these documents out.",
            quiet,
        )


@contextmanager
def output(target: Path | None, force: bool) -> Iterator[IO[str]]:
    """Open a text file that replaces the target when it is complete.

    Without a target, the text goes to standard output. It is kept in a temporary file until the
    block ends without an error, so that standard output gets either everything or nothing.
    """
    from vbnmf.files import replacing

    if target is not None:
        with (
            replacing(target, overwrite=force) as temporary,
            open(temporary, "w", encoding="utf-8", newline="") as file,
        ):
            yield file
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file:
        yield file
        file.seek(0)
        while content := file.read(1 << 20):
            click.echo(content, nl=False)


def load_model(path: str) -> Any:
    """Load a ``DocumentModel`` from a file."""
    from vbnmf.loading import load
    from vbnmf.pipeline import DocumentModel

    model = load(path, trusted=click.get_current_context().meta.get(_TRUSTED, False))
    if not isinstance(model, DocumentModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__} without terms and without a vectorizer. The "
            "command line needs a model that was saved by `vbnmf fit` or DocumentModel.save."
        )
    return model


def content(model: Any, documents: "Documents") -> Any:
    """Return the texts or the matrix of documents. A matrix must have the model's columns."""
    if documents.matrix is None:
        return documents.texts
    expected = len(model.terms_)
    if documents.matrix.shape[1] != expected:
        raise ValueError(
            f"{documents.origin} has {documents.matrix.shape[1]} columns, but the model was fitted "
            f"to {expected} terms. Use the same columns in the same order. For an svmlight file, "
            "which does not store its number of columns, list all terms with --terms."
        )
    return documents.matrix


def check_width(documents: "Documents") -> None:
    """Refuse a matrix with far more columns than entries: a model needs memory for each column."""
    if documents.matrix is None or documents.terms is not None:
        return
    columns, entries = documents.matrix.shape[1], documents.matrix.nnz
    if columns > entries + FREE_COLUMNS:
        raise ValueError(
            f"{documents.origin} has {columns:,} columns, but only {entries:,} non-zeros. Check "
            "the header. If it is right, remove empty columns or name all terms with --terms."
        )


def ids(documents: "Documents") -> list[str]:
    """Return the id of each document: its line, its row (from 1) or its file name."""
    names = documents.ids or []
    # file names may contain bytes that are not valid text and cannot be written
    return [printable(name).encode("utf-8", "backslashreplace").decode("utf-8") for name in names]


class Refusal(click.ClickException):
    """An error that the user can fix."""

    exit_code = 2


def printable(text: str) -> str:
    r"""Escape control characters as ``\x1b``, since file names may hold terminal commands."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def check_out(path: str | Path, force: bool, *sources: str) -> Path:
    """Check before any work that the output is no input, is free, and can be written."""
    from vbnmf.files import check_writable

    path = Path(path)
    if path.exists() and not path.is_file():  # /dev/null must not be replaced either
        raise Refusal(f"{path} is not a regular file; --out takes the name of a file.")
    if any(path.resolve() == Path(source).resolve() for source in sources):
        raise Refusal(f"{path} is the input of this command; --out must be another file.")
    if path.exists() and not force:
        raise Refusal(f"{path} exists. Add --force to replace it.")
    if not path.parent.is_dir():
        raise Refusal(f"there is no folder {path.parent} to write {path.name} to.")
    check_writable(path)
    return path


def check_writable_file(path: Path) -> None:
    """Check before any work that a file which is to be replaced can be written."""
    from vbnmf.files import check_writable

    check_writable(path)


def say(message: str, quiet: bool = False) -> None:
    """Print a message to standard error."""
    if not quiet:
        click.echo(printable(message), err=True)


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
