"""Save and resume the state of ``tune``: rows in a CSV file, components in a folder beside it."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.files import replacing
from vbnmf.selection.advice import LabelShape, Trial
from vbnmf.store import ModelFileError

_COLUMNS = ("data", *(field.name for field in fields(Trial)))
_WHOLE = ("n_components", "rung", "iterations")


class WarmStart(NamedTuple):
    """Components from which the fit of a candidate continues."""

    components: Array  # (K, n_terms)
    scopes: Array | None  # (n_labels, K) of zeros and ones; None: every label may use all


class SearchRecord:
    """Rows in a CSV file, and components of the current rung in a folder beside it.

    Components are written before their row, in files named by rung. So a search can be resumed,
    whenever it was interrupted.
    """

    def __init__(self, path: Path | None, folder: Path, key: str) -> None:
        self._path, self._folder, self._key = path, folder, key
        self._rows = _read_rows(path, key) if path is not None and path.exists() else []

    @classmethod
    @contextmanager
    def opened(cls, path: Any, key: str) -> Iterator["SearchRecord"]:
        """Open a checkpoint. Without a path, components are kept in a temporary folder."""
        if path is None:
            with TemporaryDirectory(prefix="vbnmf-tune-") as folder:
                yield cls(None, Path(folder), key)
            return
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")
        folder = path.with_name(path.name + ".parts")
        checkpoint = cls(path, folder, key)
        yield checkpoint
        rmtree(folder, ignore_errors=True)

    def row(self, rung: int, candidate: tuple[int, LabelShape]) -> Trial | None:
        """Return the row of a candidate in a rung, or None if it has not been run."""
        found = (row for row in self._rows if (row.rung, row.candidate) == (rung, candidate))
        return next(found, None)

    def add(self, row: Trial) -> None:
        """Add a row and save."""
        self._rows.append(row)
        self._save()

    def settle(self, rows: Sequence[Trial], rung: int) -> None:
        """Save the survivors of a rung, and delete the components from which the rung started."""
        ahead = [row for row in self._rows if row.rung > rung]
        changed = self._rows != [*rows, *ahead]
        self._rows = [*rows, *ahead]
        if changed:
            self._save()
        for file in self._folder.glob(f"{rung - 1}-*.safetensors"):
            file.unlink()

    def write(self, row: Trial, start: WarmStart) -> None:
        """Save the components of a row, and their scopes."""
        self._folder.mkdir(exist_ok=True)
        store.write(
            self._file(row),
            {"tuning": self._key},
            {name: array for name, array in start._asdict().items() if array is not None},
        )

    def read(self, row: Trial) -> WarmStart:
        """Read the components of a row, and their scopes."""
        try:
            arrays = store.read(self._file(row))[1]
            return WarmStart(arrays["components"], arrays.get("scopes"))
        except (FileNotFoundError, ModelFileError, KeyError) as error:
            raise ValueError(
                f"the search in {self._path} cannot be resumed, because {self._file(row)} is "
                "missing or damaged. Remove both to start again."
            ) from error

    def _file(self, row: Trial) -> Path:
        return self._folder / f"{row.rung}-{row.n_components}-{row.label_shape}.safetensors"

    def _save(self) -> None:
        if self._path is None:
            return
        with replacing(self._path) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for row in self._rows:
                values = asdict(row).values()
                writer.writerow([self._key, *("" if value is None else value for value in values)])


def _read_rows(path: Path, key: str) -> list[Trial]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            names, *lines = list(csv.reader(file)) or [[]]
        if tuple(names) != _COLUMNS:
            raise ValueError("it has other columns than this version writes")
        keys = {line[0] for line in lines}
        rows = [
            Trial(**{n: _value(n, text) for n, text in zip(names[1:], line[1:], strict=True)})
            for line in lines
        ]
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


def _value(name: str, text: str) -> Any:
    if name == "survived":
        return {"": None, "True": True, "False": False}[text]
    if name == "label_shape" and text == "auto":
        return text
    return int(text) if name in _WHOLE else float(text)
