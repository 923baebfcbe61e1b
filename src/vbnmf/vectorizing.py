"""Convert files of documents to a shard folder, with bounded memory. Runs can be resumed.

Texts are split into terms once. Their counts are stored in parts in ``FOLDER/counts`` until the
shards are written (``vbnmf.text.outofcore``). Parts and shards on disk are not computed again.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import vbnmf
from vbnmf import store
from vbnmf.data import Documents, iter_documents
from vbnmf.data.sharding import PARTIAL, ShardWriter
from vbnmf.data.shards import MANIFEST, VECTORIZER, Shards
from vbnmf.engines.mapping import SHARD_NONZEROS
from vbnmf.files import only_user, replacing
from vbnmf.text import DocumentVectorizer
from vbnmf.text.outofcore import PartsOfCounts, fit_parts

NAME = "DocumentVectorizer"
COUNTS, RECIPE = "counts", "recipe.json"
PART = 4000
"""Number of documents that are split at a time."""

Tell = Callable[[str, int], None]


@dataclass(frozen=True)
class Reading:
    """How documents are read; see ``vbnmf.data.iter_documents``."""

    text: str | list[str] | None = None
    label: str | list[str] | None = None
    labels: str | None = None
    label_separator: str | None = None
    terms: str | None = None
    encoding: str = "utf-8"
    format: str | None = None
    skip_empty: bool = False


def vectorize(
    files: list[str],
    out: str | os.PathLike[str],
    reading: Reading,
    vectorizer: DocumentVectorizer,
    *,
    fitted: bool = False,
    shard_nonzeros: int = SHARD_NONZEROS,
    tell: Tell = lambda doing, n: None,
    note: Callable[[str], None] = lambda text: None,
) -> Shards:
    """Write the documents of files to a shard folder.

    Parameters
    ----------
    files : list of str
        Sources of documents, all texts or all matrices of the same columns.
    out : path
        The folder. An interrupted run in it with the same files and options is resumed.
    reading : Reading
        How files are read.
    vectorizer : DocumentVectorizer
        Vectorizer of texts. It is fitted to the documents, unless it is ``fitted``.
    fitted : bool
        Whether the vectorizer is already fitted, as for documents that a model will predict.
    shard_nonzeros : int
        Maximum number of non-zeros in a shard.
    tell : callable
        Called with the current step, and the number of documents or parts so far.
    note : callable
        Called with messages, such as which columns were guessed.
    """
    folder = Path(out)
    recipe = _recipe(files, reading, vectorizer, fitted, shard_nonzeros)
    parts = _documents(files, reading, note)
    first = next(parts)  # read first, because an unreadable file must not delete an older folder
    parts = chain([first], parts)
    folder.mkdir(parents=True, exist_ok=True)
    with only_user(folder):
        _begin(folder, recipe)
        source = _Sink(folder, reading, first, recipe, shard_nonzeros)
        if first.matrix is not None:
            source.of_matrices(parts, tell)
        elif fitted:
            source.of_texts(vectorizer, parts, tell)
        else:
            source.fit(vectorizer, parts, tell)
        if first.matrix is None:
            write_vectorizer(folder / VECTORIZER, vectorizer)
        source.finish()
        shutil.rmtree(folder / COUNTS, ignore_errors=True)
        (folder / RECIPE).unlink(missing_ok=True)
    return Shards(folder)


def is_begun(folder: Path) -> bool:
    """Return whether there is an interrupted run in this folder."""
    return (folder / RECIPE).is_file()


class _Sink:
    """Write documents to a shard folder; resume an interrupted run."""

    def __init__(
        self, folder: Path, reading: Reading, first: Documents, recipe: str, shard_nonzeros: int
    ) -> None:
        self._folder, self._recipe, self._size = folder, recipe, shard_nonzeros
        self._labelled = first.labels is not None
        given = {
            "text": first.text_column,
            "label": first.label_column,
            "label_separator": reading.label_separator,
        }
        self._columns = {name: value for name, value in given.items() if value is not None}
        self._several = reading.label_separator is not None or isinstance(reading.label, list)
        self._writer: ShardWriter | None = None
        self._seen = 0

    def fit(self, vectorizer: DocumentVectorizer, parts: Iterator[Documents], tell: Tell) -> None:
        """Split all texts, fit the vectorizer, and add the weights of all parts."""
        counted = PartsOfCounts(self._folder / COUNTS, vectorizer)
        n_before, seen = counted.n_documents, 0
        for part in parts:
            seen += len(part)
            if seen > n_before and part.texts:
                counted.add(part.texts, _plain_labels(part))
            tell("reading", seen)
        labels = counted.labels()
        for X in fit_parts(vectorizer, counted, tell):
            self._add(X, next(labels), vectorizer.get_feature_names_out().tolist())

    def of_texts(
        self, vectorizer: DocumentVectorizer, parts: Iterator[Documents], tell: Tell
    ) -> None:
        """Add the weights of texts from a fitted vectorizer."""
        terms = vectorizer.get_feature_names_out().tolist()
        for part in parts:
            self._add(vectorizer.transform(part.texts or []), _plain_labels(part), terms)
            tell("writing", self._seen)

    def of_matrices(self, parts: Iterator[Documents], tell: Tell) -> None:
        """Add rows of matrices unchanged."""
        for part in parts:
            self._add(part.matrix, _plain_labels(part), part.terms)
            tell("writing", self._seen)

    def finish(self) -> None:
        """Write the last shard and the manifest."""
        assert self._writer is not None
        self._writer.finish()

    def _add(self, X: Any, labels: list[Any] | None, terms: list[str] | None) -> None:
        several = self._several or any(isinstance(label, list) for label in labels or [])
        if self._writer is None:
            self._writer = ShardWriter(
                self._folder,
                X.shape[1],
                terms=terms,
                labelled=self._labelled,
                multilabel=several,
                columns=self._columns,
                recipe=self._recipe,
                shard_nonzeros=self._size,
            )
            self._done = self._writer.n_done
        first = min(max(self._done - self._seen, 0), X.shape[0])  # already in shards
        self._seen += X.shape[0]
        if first < X.shape[0]:
            self._writer.add(X[first:], None if labels is None else labels[first:])


def write_vectorizer(path: Path, vectorizer: DocumentVectorizer) -> None:
    """Write a fitted vectorizer to a file."""
    header, arrays = vectorizer.to_state()
    store.write(path, {"model": NAME, "vectorizer": header}, arrays)


def read_vectorizer(shards: Shards) -> DocumentVectorizer | None:
    """Read the vectorizer of a shard folder; None if its documents were rows of a matrix."""
    path = shards.vectorizer_file
    if path is None:
        return None
    header, arrays = store.read(path)
    try:
        vectorizer = DocumentVectorizer.from_state(header["vectorizer"], arrays)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise store.ModelFileError(f"{path} is damaged: {error}") from None
    if vectorizer.get_feature_names_out().tolist() != shards.terms:
        raise store.ModelFileError(
            f"{path} has other terms than the shards. Vectorize the documents again."
        )
    return vectorizer


def _begin(folder: Path, recipe: str) -> None:
    """Keep the parts of a run with the same recipe, and remove those of another."""
    path = folder / RECIPE
    if path.is_file() and path.read_text(encoding="ascii") == recipe:
        return
    for name in (MANIFEST, PARTIAL, VECTORIZER):
        (folder / name).unlink(missing_ok=True)
    for old in folder.iterdir():
        if old.is_dir() and (old.name == COUNTS or old.name.isdigit()):
            shutil.rmtree(old)
    with replacing(path) as temporary:
        temporary.write_text(recipe, encoding="ascii")


def _recipe(
    files: list[str],
    reading: Reading,
    vectorizer: DocumentVectorizer,
    fitted: bool,
    shard_nonzeros: int,
) -> str:
    """Return a description of all inputs that the content of a shard folder depends on."""
    told = [(os.path.abspath(file), *_stamp(file)) for file in files]
    parameters = {name: repr(value) for name, value in vectorizer.get_params().items()}
    terms = vectorizer.get_feature_names_out().tolist() if fitted else None
    about = [vbnmf.__version__, told, asdict(reading), parameters, terms, PART, shard_nonzeros]
    return json.dumps(about)


def _stamp(file: str) -> tuple[int, int]:
    """Return the size of a file and the time of its last change. Folders are not searched.

    Standard input is different in each run.
    """
    if file == "-":
        return 0, time.time_ns()
    stat = os.stat(file)
    return stat.st_size, stat.st_mtime_ns


def _documents(
    files: list[str], reading: Reading, note: Callable[[str], None]
) -> Iterator[Documents]:
    for file in files:
        for part in iter_documents(file, chunk=PART, **asdict(reading)):
            for text in part.notes:
                note(text)
            yield part


def _plain_labels(part: Documents) -> list[Any] | None:
    return None if part.labels is None else part.labels.tolist()
