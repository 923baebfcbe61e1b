"""Options that commands share, and what they do with them: read, say, write, never overwrite."""

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
"""Columns that a matrix may have beyond its number of entries; as many as hashing gives."""
PART = 4000
"""Documents that are predicted or transformed at a time."""


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which help lists them."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


reading = options(
    click.option("--text", metavar="COL", multiple=True, help="Column of texts; that of the fit, "
                 "or guessed from usual names. Again to join more columns to one text."),
    click.option(
        "--labels", metavar="FILE", help="File of labels, one a line, where they are kept apart."
    ),
    click.option("--terms", metavar="FILE", help="File of terms, one a line, for a matrix."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the file."),
    click.option("--format", metavar="NAME", help="Format, where the file's name does not tell."),
    click.option("--skip-empty", is_flag=True, help="Leave out rows without text."),
)  # fmt: skip

identified = click.option(
    "--id", metavar="COL", help="Column that names the documents; their lines if left out."
)
kept = click.option(
    "--keep", metavar="COL", multiple=True, help="Column to copy to the output. Again for more."
)

label_separator = click.option(
    "--label-separator", metavar="SEP", help="What stands between several labels in one cell."
)

quiet = click.option("--quiet", is_flag=True, help="Say nothing but results and errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
force = click.option("--force", is_flag=True, help="Replace files that exist.")
_TRUSTED = "vbnmf.trusted"


def _remember_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_TRUSTED] = value


trust = click.option("--trust", is_flag=True, expose_value=False, callback=_remember_trust,
                     help="Accept any word pattern in MODEL; some would never end.")  # fmt: skip
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

    documents = read_documents(source, **_columns(options))
    for note in documents.notes:
        say(note, quiet)
    return documents


def column_names(names: tuple[str, ...]) -> str | list[str] | None:
    """What a reader takes for columns: none, one, or several of them."""
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


def parts_for(model: Any, source: str, quiet: bool, **reading: Any) -> "Iterator[Documents]":
    """Read documents without labels for a model, a part at a time; there may be none at all."""
    from vbnmf.data import iter_documents

    for documents in iter_documents(
        source, fitted_columns=model.columns_, allow_empty=True, chunk=PART, **_columns(reading)
    ):
        for note in documents.notes:
            say(note, quiet)
        yield documents


def _columns(reading: dict[str, Any]) -> dict[str, Any]:
    """The same options with the columns of texts as a reader takes them."""
    return reading | {"text": column_names(reading["text"])}


class Kept:
    """Columns of the input that are copied to the output, under names that are free there.

    Parameters
    ----------
    parts : iterator of Documents
        Of which the first tells the names.
    taken : iterable of str
        Names of the output's own columns. A kept column "label" is called "input_label".

    Attributes
    ----------
    names : list of str
    parts : iterator of Documents
        All of them, the first included.
    """

    def __init__(self, parts: "Iterator[Documents]", taken: Iterable[str]) -> None:
        first = next(parts)
        self.parts = chain([first], parts)
        self.names = [f"input_{name}" if name in taken else name for name in first.kept]

    def cells(self, documents: "Documents") -> list[tuple[Any, ...]]:
        """The kept cells of each document, plain enough for JSON."""
        columns = [map(_plain, column) for column in documents.kept.values()]
        return list(zip(*columns, strict=True)) if columns else [()] * len(documents)


def _plain(cell: Any) -> Any:
    from vbnmf.data.documents import is_missing

    if is_missing(cell):
        return None
    return cell if isinstance(cell, str | bool | int | float | list | dict) else str(cell)


class UnknownDocuments:
    """Collect the documents without a known term, and tell of them once, by their ids."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._total = 0

    @contextmanager
    def among(self, documents: "Documents") -> Iterator[None]:
        """Take note of the warnings about these documents instead of showing them."""
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
        """Say how many there were, and the ids of the first."""
        names = list(dict.fromkeys(self._names))  # a document may have been counted twice
        if not names:
            return
        first = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        say(
            f"Note: {len(names):,} of {self._total:,} documents have no known term of non-zero "
            f"weight (ids {first}). They say nothing about a label. Check the text, its language "
            "and the options, or leave these documents out.",
            quiet,
        )


@contextmanager
def output(target: Path | None, force: bool) -> Iterator[IO[str]]:
    """Open a text file that takes its place when whole; without a target, standard output.

    Standard output too gets all of it or nothing: it is kept in a temporary file until the block
    ends well.
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
    """A ``DocumentModel`` from a file."""
    from vbnmf.loading import load
    from vbnmf.pipeline import DocumentModel

    model = load(path, trusted=click.get_current_context().meta.get(_TRUSTED, False))
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


def check_width(documents: "Documents") -> None:
    """Refuse a matrix with far more columns than entries: a model has numbers for each column."""
    if documents.matrix is None or documents.terms is not None:
        return
    columns, entries = documents.matrix.shape[1], documents.matrix.nnz
    if columns > entries + FREE_COLUMNS:
        raise ValueError(
            f"{documents.origin}: {columns:,} columns, but only {entries:,} entries. Is the header "
            "right? If it is, leave out empty columns, or name all terms with --terms."
        )


def ids(documents: "Documents") -> list[str]:
    """What each document is called: its line, its row (from 1) or its file."""
    names = documents.ids or []
    # the name of a file may be bytes that are no text, and would spoil what is written
    return [printable(name).encode("utf-8", "backslashreplace").decode("utf-8") for name in names]


class Refusal(click.ClickException):
    """Something that the user can put right."""

    exit_code = 2

    def format_message(self) -> str:
        """The message without what would control a terminal."""
        return printable(self.message)


def printable(text: str) -> str:
    r"""Show control characters as ``\x1b``: the name of a file may hold commands for a terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def check_out(path: str | Path, force: bool, *sources: str) -> Path:
    """Check where to write before any work: it is free, no source, and its folder takes files."""
    from vbnmf.files import check_writable

    path = Path(path)
    if path.exists() and not path.is_file():  # /dev/null must not be replaced either
        raise Refusal(f"{path} is not a file; --out takes the name of one.")
    if any(path.resolve() == Path(source).resolve() for source in sources):
        raise Refusal(f"{path} is what is read here; --out must be another file.")
    if path.exists() and not force:
        raise Refusal(f"{path} exists. Add --force to replace it.")
    if not path.parent.is_dir():
        raise Refusal(f"there is no folder {path.parent} to write {path.name} to.")
    check_writable(path)
    return path


def say(message: str, quiet: bool = False) -> None:
    """Tell the user something that is not a result."""
    if not quiet:
        click.echo(printable(message), err=True)


def print_json(value: Any) -> None:
    """Print a result for machines."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
