"""Save and resume the state of ``tune``.

The rows are in a CSV file. Until the search ends, a folder beside it has the sums of each
validation document, from which candidates are compared.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from math import isnan
from pathlib import Path
from shutil import rmtree
from typing import Any

from vbnmf import store
from vbnmf.evaluation.measures import TUNE, measures_for
from vbnmf.files import replacing
from vbnmf.selection.advice import Candidate, Trial
from vbnmf.selection.heldout import DocumentScores
from vbnmf.store import ModelFileError

_FIELDS = tuple(field.name for field in fields(Trial))
_WHOLE = tuple(field.name for field in fields(Trial) if field.type is int)


class SearchRecord:
    """Rows of the candidates so far, and the sums of their validation documents.

    The sums are written before their row. So a search can be resumed, whenever it was interrupted.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self._path, self._key = path, key
        found = _read_rows(path, key) if path is not None and path.exists() else []
        self._rows = {row.candidate: row for row in found}
        self._documents: dict[Candidate, DocumentScores] = {}

    @classmethod
    @contextmanager
    def opened(cls, path: Any, key: str) -> Iterator["SearchRecord"]:
        """Open a checkpoint. Without a path, nothing is written."""
        if path is None:
            yield cls(None, key)
            return
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")
        kept = cls(path, key)
        yield kept
        rmtree(_folder(path), ignore_errors=True)

    @property
    def rows(self) -> dict[Candidate, Trial]:
        """Rows by candidate."""
        return self._rows

    def add(self, row: Trial, documents: DocumentScores) -> None:
        """Add a row and save."""
        if self._path is not None:
            _folder(self._path).mkdir(exist_ok=True)
            store.write(self._file(row.candidate), {"tuning": self._key}, documents._asdict())
        self._documents[row.candidate] = documents
        self._rows[row.candidate] = row
        self._save()

    def documents(self, candidate: Candidate) -> DocumentScores:
        """Return the sums of the validation documents, for a candidate that has a row."""
        if candidate not in self._documents:
            file = self._file(candidate)
            try:
                self._documents[candidate] = DocumentScores(**store.read(file)[1])
            except (FileNotFoundError, ModelFileError, TypeError) as error:
                raise ValueError(
                    f"the search in {self._path} cannot be resumed, because {file} is missing or "
                    "damaged. Remove both to start again."
                ) from error
        return self._documents[candidate]

    def settle(self, rows: Sequence[Trial]) -> None:
        """Save the rows of all candidates, which have been compared, in this order."""
        self._rows = {row.candidate: row for row in rows}
        self._save()

    def _file(self, candidate: Candidate) -> Path:
        assert self._path is not None
        k, shape = candidate
        return _folder(self._path) / f"{k}-{shape}.safetensors"

    def _save(self) -> None:
        if self._path is None:
            return
        with replacing(self._path) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_columns())
            for row in self._rows.values():
                writer.writerow([self._key, *map(_text, row.as_row().values())])


def _columns() -> list[str]:
    """Return the names of the columns: fields of ``Trial``, and the measures of ``tune``."""
    at = _FIELDS.index("measures")
    keys = [measure.key for measure in measures_for(TUNE)]
    return ["data", *_FIELDS[:at], *keys, *_FIELDS[at + 1 :]]


def _folder(path: Path) -> Path:
    return path.with_name(path.name + ".parts")


def _read_rows(path: Path, key: str) -> list[Trial]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            names, *lines = list(csv.reader(file)) or [[]]
        if names != _columns():
            raise ValueError("it has other columns than this version writes")
        keys = {line[0] for line in lines}
        rows = [_row(names[1:], line[1:]) for line in lines]
    except (csv.Error, KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{path} is not a table of `tune`, or is damaged: {error}. Move it away to start "
            "again, or choose another path."
        ) from error
    if keys - {key}:
        raise ValueError(
            f"{path} has results of other documents or settings, or of another version of vbnmf, "
            "so the search cannot be resumed. Move it away, or choose another path."
        )
    return rows


def _row(names: Sequence[str], cells: Sequence[str]) -> Trial:
    values = {name: _value(name, text) for name, text in zip(names, cells, strict=True)}
    known = {name: values.pop(name) for name in names if name in _FIELDS}
    return Trial(**known, measures=values)


def _text(value: Any) -> Any:
    """Return a value as it is written; a number that is not known is empty."""
    return "" if isinstance(value, float) and isnan(value) else value


def _value(name: str, text: str) -> Any:
    if name == "label_shape" and text == "auto":
        return text
    if name in _WHOLE:
        return int(text)
    return float(text) if text else float("nan")
