"""Convert files of documents to a shard folder, in bounded memory and with several processes.

Texts are split into terms once. Their counts are kept in parts in ``FOLDER/counts`` until the
shards are written (``vbnmf.text.outofcore``). A run that was stopped is resumed: parts and shards
that are on disk are not made again. The bytes of the folder do not depend on the number of
processes.
"""

import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import vbnmf
from vbnmf import store
from vbnmf.data import Documents, ReaderError, iter_documents
from vbnmf.data.documents import BadRows
from vbnmf.data.renaming import LabelCase
from vbnmf.files import only_user, replacing
from vbnmf.shards.folder import MANIFEST, VECTORIZER, Shards
from vbnmf.shards.shard import SHARD_NONZEROS
from vbnmf.shards.writing import PARTIAL, ShardWriter
from vbnmf.text import DocumentVectorizer
from vbnmf.text.checks import check_parameters
from vbnmf.text.markup import decide
from vbnmf.text.outofcore import (
    MAX_VOCABULARY,
    PartsOfCounts,
    count_part,
    fit_parts,
    weigh_texts,
)
from vbnmf.text.state import check_can_be_saved
from vbnmf.workers import Workers

NAME = "DocumentVectorizer"
COUNTS, RECIPE = "counts", "recipe.json"
PART = 4000
"""Maximum number of documents that are split at a time."""

ShowProgress = Callable[[str, int], None]
Note = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """How documents are read; see ``vbnmf.data.iter_documents``."""

    text: str | list[str] | None = None
    label: str | list[str] | None = None
    labels: str | None = None
    label_separator: str | None = None
    label_case: LabelCase | None = None
    label_map: str | None = None
    terms: str | None = None
    encoding: str = "utf-8"
    format: str | None = None
    bad_rows: BadRows = "error"


def vectorize_to_shards(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    vectorizer: DocumentVectorizer | None = None,
    *,
    only_labelled: bool = False,
    shard_nonzeros: int = SHARD_NONZEROS,
    max_vocabulary: int = MAX_VOCABULARY,
    n_jobs: int = 1,
    progress: ShowProgress = lambda doing, n: None,
    note: Note = lambda text: None,
    **reading: Any,
) -> Shards:
    r"""Convert documents to a matrix in a shard folder, in bounded memory.

    If a run with the same files and parameters was stopped, it is resumed. The result depends
    neither on interruptions nor on the number of processes.

    Parameters
    ----------
    files : path or sequence of paths
        Files or folders of texts, or matrices with the same columns.
    out : path
        The shard folder. What an earlier run wrote there is replaced.
    vectorizer : DocumentVectorizer or None, default=None
        How texts are converted. A fitted vectorizer is used as it is: pass that of a model for
        documents whose labels the model is to predict. Otherwise a copy is fitted to the documents,
        with the same result as in memory. None is ``DocumentVectorizer()``.
    only_labelled : bool, default=False
        Whether to leave out documents without a label.
    shard_nonzeros : int, default=8388608
        Maximum number of non-zeros in a shard.
    max_vocabulary : int, default=2000000
        Maximum number of different terms in memory. If more terms pass `min_df` and `max_df` of
        the vectorizer, `min_df` is raised as far as necessary.
    n_jobs : int, default=1
        Number of processes that split texts. If it is not 1, a script must call this function under
        ``if __name__ == "__main__":``.
    progress : callable
        Called as ``progress("reading", n_documents)``, then ``progress("weighting", part)`` and
        ``progress("writing", part)``.
    note : callable
        Called with a sentence about each thing that the user should know: guessed columns, a run
        that is continued, a raised `min_df`, documents that are empty or were left out.
    **reading
        How files are read: `text`, `label`, `labels`, `label_separator`, `label_case`,
        `label_map`, `terms`, `encoding`, `format` and `bad_rows` of ``vbnmf.data.read_documents``.

    Returns
    -------
    Shards
        The shard folder, for ``fit``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vbnmf import vectorize_to_shards
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lines = ["text,label", "green tea,drink", "black tea,drink", "rye bread,food"]
    >>> _ = (folder / "a.csv").write_text("\n".join(lines))
    >>> shards = vectorize_to_shards(folder / "a.csv", folder / "shards", label="label")
    >>> shards.shape, shards.terms
    ((3, 5), ['black', 'bread', 'green', 'rye', 'tea'])
    """
    sources = [os.fspath(file) for file in _listed(files)]
    how = Reading(**reading)
    fitted = vectorizer is not None and hasattr(vectorizer, "vocabulary_")
    vectorizer = vectorizer or DocumentVectorizer()
    vectorizer = vectorizer if fitted else clone(vectorizer)
    check_parameters(vectorizer.get_params())
    check_can_be_saved(vectorizer)
    made_by = [asdict(how), only_labelled, PART, shard_nonzeros, max_vocabulary]
    recipe = _recipe(sources, vectorizer, fitted, made_by)
    parts = _documents(sources, how, only_labelled, note)
    # First of all: a file that cannot be read must not cost an older folder.
    if (first := next(parts, None)) is None:
        raise ValueError(f"{', '.join(sources)}: no document has a label. Check --label.")
    parts = chain([first], parts)
    if first.matrix is None and not fitted:
        vectorizer._prepare()
        _, vectorizer.strip_ = decide(first.texts or [], vectorizer.strip)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with only_user(folder), Workers(n_jobs, vectorizer) as workers:
        if _begin(folder, recipe):
            note(f"Resuming the interrupted run in {folder}.")
        sink = _Sink(folder, how, first, recipe, shard_nonzeros)
        if first.matrix is not None:
            sink.of_matrices(parts, progress)
        elif fitted:
            sink.of_texts(vectorizer, parts, workers, progress)
        else:
            sink.fit(vectorizer, parts, workers, max_vocabulary, progress, note)
        if first.matrix is None:
            write_vectorizer(folder / VECTORIZER, vectorizer)
        sink.finish(note)
        shutil.rmtree(folder / COUNTS, ignore_errors=True)
        (folder / RECIPE).unlink(missing_ok=True)
    return Shards(folder)


def is_begun(folder: Path) -> bool:
    """Return whether there is an interrupted run in this folder."""
    return (folder / RECIPE).is_file()


class _Sink:
    """A shard folder to which documents are added, beginning where an earlier run was stopped."""

    def __init__(
        self, folder: Path, reading: Reading, first: Documents, recipe: str, shard_nonzeros: int
    ) -> None:
        self._folder, self._recipe, self._size = folder, recipe, shard_nonzeros
        self._labelled = first.labels is not None
        given = {
            "text": first.text_column,
            "label": first.label_column,
            "label_separator": reading.label_separator,
            "label_case": "fold" if reading.label_case == "fold" else None,
        }
        self._columns = {name: value for name, value in given.items() if value is not None}
        self._several = reading.label_separator is not None or isinstance(reading.label, list)
        self._writer: ShardWriter | None = None
        self._seen = self._n_empty = 0

    def fit(
        self,
        vectorizer: DocumentVectorizer,
        parts: Iterator[Documents],
        workers: Workers,
        max_vocabulary: int,
        progress: ShowProgress,
        note: Note,
    ) -> None:
        """Split all texts, fit the vectorizer, and add the weights of all parts."""
        counted = PartsOfCounts(self._folder / COUNTS, max_vocabulary)
        tasks = (
            (counted.path(number), None, None)
            if counted.has(number)
            else (counted.path(number), part.texts, _plain_labels(part))
            for number, part in enumerate(parts)
        )
        for _ in workers.map(count_part, tasks):
            counted.note()
            progress("reading", counted.n_documents)
        labels = counted.labels()
        terms: list[str] | None = None
        for X in fit_parts(vectorizer, counted, workers, progress, note):
            terms = terms or vectorizer.get_feature_names_out().tolist()
            self._add(X, next(labels), terms)

    def of_texts(
        self,
        vectorizer: DocumentVectorizer,
        parts: Iterator[Documents],
        workers: Workers,
        progress: ShowProgress,
    ) -> None:
        """Add the weights of texts from a fitted vectorizer."""
        terms = vectorizer.get_feature_names_out().tolist()
        labels: deque[list[Any] | None] = deque()
        for X in workers.map(weigh_texts, _texts(parts, labels)):
            self._add(X, labels.popleft(), terms)
            progress("reading", self._seen)

    def of_matrices(self, parts: Iterator[Documents], progress: ShowProgress) -> None:
        """Add rows of matrices unchanged."""
        for part in parts:
            self._add(part.matrix, _plain_labels(part), part.terms)
            progress("reading", self._seen)

    def finish(self, note: Note) -> None:
        """Write what is left, and the manifest."""
        if self._writer is None:  # no part had a document
            raise ValueError(f"there are no documents for {self._folder}.")
        self._writer.finish()
        if self._n_empty:
            note(
                f"Note: {self._n_empty:,} of {self._seen:,} documents "
                f"{'has' if self._n_empty == 1 else 'have'} no known term of non-zero "
                "weight. Check the text, its language and the options."
            )

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
        self._n_empty += int((np.diff(X.indptr) == 0).sum())
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


def _begin(folder: Path, recipe: str) -> bool:
    """Return whether a run with the same recipe was begun; remove what another recipe made."""
    path = folder / RECIPE
    if path.is_file() and path.read_text(encoding="ascii") == recipe:
        return True
    for name in (MANIFEST, PARTIAL, VECTORIZER):
        (folder / name).unlink(missing_ok=True)
    for old in folder.iterdir():
        if old.is_dir() and (old.name == COUNTS or old.name.lstrip(".")[:5].isdigit()):
            shutil.rmtree(old)
    with replacing(path) as temporary:
        temporary.write_text(recipe, encoding="ascii")
    return False


def _recipe(
    files: list[str], vectorizer: DocumentVectorizer, fitted: bool, made_by: list[Any]
) -> str:
    """Return a description of all inputs that the content of a shard folder depends on."""
    sources = [(os.path.abspath(file), *_stamp(file)) for file in files]
    parameters = {name: repr(value) for name, value in vectorizer.get_params().items()}
    terms = vectorizer.get_feature_names_out().tolist() if fitted else None
    return json.dumps([vbnmf.__version__, sources, parameters, terms, made_by])


def _stamp(file: str) -> tuple[int, int]:
    """Return the size of a file and the time of its last change. Folders are not searched.

    Standard input is different in each run.
    """
    if file == "-":
        return 0, time.time_ns()
    try:
        stat = os.stat(file)
    except FileNotFoundError:
        raise ReaderError(f"{file}: no such file or folder.") from None
    return stat.st_size, stat.st_mtime_ns


def _listed(files: Any) -> list[Any]:
    return [files] if isinstance(files, str | os.PathLike) else list(files)


def _documents(
    files: list[str], reading: Reading, only_labelled: bool, note: Note
) -> Iterator[Documents]:
    """Read the documents in parts, without those that have no label if these are not wanted."""
    n_ignored = 0
    for file in files:
        for part in iter_documents(file, chunk=PART, **asdict(reading)):
            for text in part.notes:
                note(text)
            if not only_labelled or part.labels is None:
                yield part
                continue
            kept = [i for i, label in enumerate(part.labels) if label is not None]
            n_ignored += len(part) - len(kept)
            if kept:
                yield part.rows(kept)
    if n_ignored:
        unit = "document" if n_ignored == 1 else "documents"
        note(f"Ignored {n_ignored:,} {unit} without a label.")


def _texts(
    parts: Iterator[Documents], labels: deque[list[Any] | None]
) -> Iterator[tuple[list[str]]]:
    """Yield the texts of each part, and keep its labels for when they are converted."""
    for part in parts:
        labels.append(_plain_labels(part))
        yield (part.texts or [],)


def _plain_labels(part: Documents) -> list[Any] | None:
    return None if part.labels is None else part.labels.tolist()
