"""Read folders of text files, with one sub-folder per label or with a separate labels file."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from vbnmf.data.columns import ColumnNames
from vbnmf.data.documents import ReaderError, listed
from vbnmf.data.labels import LabelsSource, check_length, check_single, read_labels
from vbnmf.data.streams import read_text
from vbnmf.data.tables import BadRow, Row

_DEEPEST = 100  # folders inside of one another


def open_folder(
    folder: Path,
    encoding: str,
    label: ColumnNames | None,
    labels: LabelsSource | None,
    notes: list[str],
    *,
    labels_required: bool = True,
) -> tuple[Iterator[Row | BadRow], bool]:
    """Read the files of a folder in the order of their names.

    Parameters
    ----------
    folder : Path
        The folder. Its files at any depth are the documents, except hidden files and links.
    encoding : str
        The encoding of the files.
    label : str, sequence of str or None
        Without a labels file, any name uses the names of sub-folders as labels. With a labels file,
        it is the label column or columns.
    labels : path, iterable or None
        A labels file, or one label per file in the order of names.
    notes : list of str
        List to which messages are added.
    labels_required : bool
        Whether a folder without sub-folders is an error if labels are requested only by `label`.

    Returns
    -------
    rows : iterator of Row
        Text and label of each file.
    with_labels : bool
        Whether labels were found.
    """
    names = sorted(visible_files(folder, notes))
    if isinstance(labels, str | os.PathLike):
        # The labels file may be in the folder, but is not a document.
        names = [name for name in names if not _same(folder / name, Path(labels))]
    if not labels_required and not any("/" in name for name in names):
        label = None
    tags: Sequence[object]
    if labels is not None:
        tags = _labels_of_files(names, labels, label, encoding, notes)
    elif label is not None:
        check_single(label, str(folder), "a folder has the names of its sub-folders for labels")
        loose = [name for name in names if "/" not in name]
        if len(loose) == len(names):
            raise ReaderError(
                f"{folder}: labels are requested, but there is no sub-folder with files. Make one "
                "sub-folder for each label, or pass a labels file."
            )
        if loose:
            notes.append(f"Files outside of sub-folders were ignored: {listed(loose, 5)}.")
        names = [name for name in names if "/" in name]
        tags = [name.split("/")[0] for name in names]
        notes.append(f"The names of the {len(set(tags))} sub-folders are used as labels.")
    else:
        tags = [None] * len(names)
        if any("/" in name for name in names):
            notes.append("Sub-folders are not used as labels. To use them, set label='auto'.")
    rows = (_read_file(folder, name, encoding, tag) for name, tag in zip(names, tags, strict=True))
    return rows, label is not None or labels is not None


def _read_file(folder: Path, name: str, encoding: str, tag: object) -> Row | BadRow:
    path = folder / name
    try:
        return name, (read_text(path, encoding), tag)
    except ReaderError as error:
        return BadRow(name, str(error).removeprefix(str(path)).lstrip(",: "))


def _labels_of_files(
    names: list[str],
    labels: LabelsSource,
    label: ColumnNames | None,
    encoding: str,
    notes: list[str],
) -> list[object]:
    """Match labels with files, by name if the labels file has names, otherwise by order."""
    named, tags = read_labels(labels, label, encoding, notes)
    if named is None:
        check_length(tags, len(names), labels)
        return tags
    twice = [name for name, times in Counter(named).items() if times > 1]
    strange = sorted(set(named) - set(names))
    if twice or strange:
        problem = (
            f"names {listed(twice, 3)} more than once"
            if twice
            else (f"names {listed(strange, 3)}, which the folder does not have")
        )
        raise ReaderError(
            f"{labels}: {problem}; expected each file's name at most once, such as "
            f"{listed(names, 2)}."
        )
    by_name = dict(zip(named, tags, strict=True))
    return [by_name.get(name) for name in names]


def visible_files(folder: Path, notes: list[str]) -> Iterator[str]:
    """Yield the names of the files below a folder that are neither hidden nor links."""
    links = 0
    folders = [("", 0)]
    while folders:
        inside, depth = folders.pop()
        if depth > _DEEPEST:
            raise ReaderError(
                f"{folder}: sub-folders are nested more than {_DEEPEST} deep, as in "
                f"{inside[:60]!r}. Check that it is the right folder."
            )
        try:
            entries = list(os.scandir(folder / inside))
        except OSError as error:
            raise ReaderError(f"{folder / inside}: cannot be read: {error.strerror}.") from error
        for entry in entries:
            if entry.name.startswith("."):
                continue
            links += entry.is_symlink()
            name = f"{inside}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders.append((f"{name}/", depth + 1))
            elif entry.is_file(follow_symlinks=False):  # no pipes: they would block
                yield name
    if links:
        notes.append(f"{links:,} symbolic links were ignored.")


def _same(path: Path, other: Path) -> bool:
    return path.name == other.name and path.resolve() == other.resolve()
