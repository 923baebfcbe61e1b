"""Read documents and models, print messages, and write files, for all commands."""

import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli.options import TRUSTED

if TYPE_CHECKING:
    from vbnmf.data import Documents
    from vbnmf.pipeline import DocumentModel

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and line feeds
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as is usual."""
FREE_COLUMNS = 2**20
"""Number of columns that a matrix may have beyond its number of entries, as with hashing."""
PART = 4000
"""Number of documents that are predicted or transformed at a time."""


def read(source: str, quiet: bool, **options: Any) -> "Documents":
    """Read documents, and print which columns were guessed and which rows were skipped."""
    from vbnmf.cli.progress import Waiting
    from vbnmf.data import read_documents

    with Waiting(quiet, "reading"):
        documents = read_documents(source, **_columns(options))
    for note in documents.notes:
        message(note, quiet)
    return _with_named_fractions(documents, quiet)


def _with_named_fractions(documents: "Documents", quiet: bool) -> "Documents":
    """Give labels such as 1.5 their names, as in a CSV file; estimators take them for measures."""
    import numpy as np

    from vbnmf.data.labels import label_name

    def named(label: Any) -> Any:
        if isinstance(label, list):
            return [label_name(one) for one in label]
        return None if label is None else label_name(label)

    labels = [] if documents.labels is None else documents.labels.tolist()
    every = chain.from_iterable(one if isinstance(one, list) else [one] for one in labels)
    if not any(isinstance(label, float) for label in every):
        return documents
    message("Labels that are numbers with fractions are used as names, such as '1.5'.", quiet)
    names = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):  # one by one: lists of one length would make a matrix
        names[i] = named(label)
    return replace(documents, labels=names)


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
        reading["label_case"] = reading.get("label_case") or model.columns_.get("label_case")
    return read(source, quiet, label=label, fitted_columns=model.columns_, **reading)


def parts_for(
    model: Any, source: str, quiet: bool, *, live: bool = False, **reading: Any
) -> "Iterator[Documents]":
    """Read documents without labels for a model in parts. All rows keep their places."""
    from vbnmf.data import iter_documents

    for documents in iter_documents(
        source, fitted_columns=model.columns_, allow_empty=True, chunk=PART,
        live=live, **_columns(reading, "keep"),
    ):  # fmt: skip
        for note in documents.notes:
            message(note, quiet)
        yield documents


def _columns(reading: dict[str, Any], bad_rows: str = "skip") -> dict[str, Any]:
    """Return the same options with the text columns and bad rows as readers accept them."""
    read = {"text": column_names(reading["text"]), "bad_rows": reading["bad_rows"] or bad_rows}
    return reading | read


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
        self._problems: list[str] = []
        self._total = 0

    @contextmanager
    def among(self, documents: "Documents") -> Iterator[None]:
        """Collect the warnings about these documents instead of showing them."""
        from vbnmf.text import EmptyDocumentWarning

        names = ids(documents)
        self._total += len(names)
        self._problems += [names[row] for row in documents.problems]
        with warnings.catch_warnings():
            warnings.simplefilter("always", EmptyDocumentWarning)
            show = warnings.showwarning

            def collect(message: Warning | str, *args: Any, **kwargs: Any) -> None:
                if isinstance(message, EmptyDocumentWarning) and message.rows:
                    rows = set(message.rows) - set(documents.problems)
                    self._names += [names[row] for row in sorted(rows)]
                else:
                    show(message, *args, **kwargs)

            warnings.showwarning = collect
            yield

    def report(self, quiet: bool) -> None:
        """Print how many there were, and the ids of the first five."""
        if self._problems:
            message(
                f"Note: {len(self._problems):,} of {self._total:,} rows without text or that "
                f"cannot be read ({_first(self._problems)}) keep their places, with no result. To "
                "stop at such rows, add --strict.",
                quiet,
            )
        names = list(dict.fromkeys(self._names))  # a document may have been recorded twice
        if not names:
            return
        one = len(names) == 1
        message(
            f"Note: {len(names):,} of {self._total:,} documents {'has' if one else 'have'} no "
            f"known term of non-zero weight ({_first(names)}), from which a label "
            "could be predicted. Check the text, its language and the options, or leave out such "
            "documents.",
            quiet,
        )


def _first(names: list[str]) -> str:
    first = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{'id' if len(names) == 1 else 'ids'} {first}"


@contextmanager
def output(
    target: Path | None, force: bool, *, live: bool = False, binary: bool = False
) -> Iterator[Any]:
    """Open a file that replaces the target when it is complete; a text file, unless `binary`.

    Without a target, the text goes to standard output. It is kept in a temporary file until the
    block ends without an error, so that standard output gets either everything or nothing. If it
    is `live`, standard output gets each line at once.
    """
    from vbnmf.files import replacing

    if live:
        yield _Live()
        return

    if target is not None:
        with (
            replacing(target, overwrite=force) as temporary,
            (
                open(temporary, "wb")
                if binary
                else open(temporary, "w", encoding="utf-8", newline="")
            ) as file,
        ):
            yield file
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file:
        yield file
        file.seek(0)
        while content := file.read(1 << 20):
            click.echo(content, nl=False)


class _Live(io.TextIOBase):
    """Standard output, flushed after each write."""

    def write(self, text: str) -> int:
        click.echo(text, nl=False)  # flushes
        return len(text)


def load_model(path: str) -> Any:
    """Load a ``DocumentModel`` from a file."""
    from vbnmf.loading import load
    from vbnmf.pipeline import DocumentModel

    with _is_model(path):
        model = load(path, trusted=click.get_current_context().meta.get(TRUSTED, False))
    if not isinstance(model, DocumentModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__} without terms and without a vectorizer. The "
            "command line needs a model that was saved by `vbnmf fit` or DocumentModel.save."
        )
    return model


def load_predictor(path: str) -> Any:
    """Load a ``DocumentPredictor`` from a file, without importing scikit-learn."""
    from vbnmf.loading import load_predictor

    with _is_model(path):
        return load_predictor(path, trusted=click.get_current_context().meta.get(TRUSTED, False))


@contextmanager
def _is_model(path: str) -> Iterator[None]:
    """Say what MODEL is if another file, such as that of the documents, is in its place."""
    from vbnmf.store import ModelFileError

    try:
        yield
    except ModelFileError as error:
        if Path(path).suffix == ".vbnmf":
            raise
        raise ModelFileError(
            f"{error} MODEL comes first, and is a file that `vbnmf fit` wrote, such as "
            "tickets.vbnmf."
        ) from None


def read_names(path: str | None) -> Any:
    """Read a JSON file of names and notes; None without one."""
    if path is None:
        return None
    from vbnmf.description.naming import check_names

    try:
        return check_names(json.loads(Path(path).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise Refusal(f"--names {path}: no such file.") from None
    except (OSError, ValueError) as error:
        raise Refusal(f"--names {path}: {error}") from None


def is_shard_folder(file: str) -> bool:
    """Return whether a source is a shard folder, without reading it."""
    return Path(file).joinpath("manifest.json").is_file() and Path(file).is_dir()


def refuse_settled(given: dict[str, Any]) -> None:
    """Refuse options that were settled when a shard folder was written."""
    for name, value in given.items():
        if value:
            raise click.UsageError(
                f"--{name} cannot change a shard folder. Pass it to `vbnmf vectorize` instead."
            )


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


def safe_cell(cell: Any) -> Any:
    """Return a cell of a CSV file that no spreadsheet takes as a formula."""
    from vbnmf.data.spreadsheets import guarded

    return guarded(cell) if isinstance(cell, str) else cell


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


def save_model(model: "DocumentModel", target: Path, *, overwrite: bool) -> None:
    """Save a fitted model, in another folder if its file cannot be written.

    Raises
    ------
    OSError
        The file cannot be written. The message says why, and where the model is now.
    """
    try:
        model.save(target, overwrite=overwrite)
    except FileExistsError:  # the model was saved beside the other program's file
        raise
    except OSError as error:
        kept = _save_elsewhere(model, target.name)
        if kept is None:
            raise type(error)(
                f"{error} No other folder had room for the model, so it is lost. Free some space "
                "and run the command again."
            ) from error
        raise type(error)(
            f"{error} The model was saved to {kept} instead. Move it to where you need it."
        ) from error


def _save_elsewhere(model: "DocumentModel", name: str) -> Path | None:
    """Save a model to a new folder in the first place that has room, and return its file."""
    for place in _places():
        with suppress(OSError):
            folder = tempfile.mkdtemp(prefix="vbnmf-", dir=place)
            try:
                model.save(Path(folder, name))
            except BaseException:
                rmtree(folder, ignore_errors=True)
                raise
            return Path(folder, name)
    return None


def _places() -> list[str]:
    places = [os.path.expanduser("~"), "/dev/shm"]  # noqa: S108
    with suppress(FileNotFoundError):  # no temporary folder can be written to
        places.insert(0, tempfile.gettempdir())
    return places


def message(text: str, quiet: bool = False) -> None:
    """Print a message to standard error. If nobody can read it, the command goes on."""
    if quiet:
        return
    try:
        click.echo(printable(text), err=True)
    except OSError:  # such as a pipe whose reader has ended; Python would fail again at the end
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 document", "1,200 documents"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))
