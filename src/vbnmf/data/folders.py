"""Folders of text files: one sub-folder a label, or any files with a file of labels beside them.

Tables are in :mod:`vbnmf.data.tables`; what makes a row acceptable is in
:mod:`vbnmf.data.readers`.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from vbnmf.data.columns import ColumnNames
from vbnmf.data.documents import ReaderError, listed
from vbnmf.data.labels import LabelsSource, check_length, check_single, read_labels
from vbnmf.data.streams import read_text
from vbnmf.data.tables import Row

_DEEPEST = 100  # folders inside of one another


def open_folder(
    folder: Path,
    encoding: str,
    label: ColumnNames | None,
    labels: LabelsSource | None,
    notes: list[str],
    *,
    labels_required: bool = True,
) -> tuple[Iterator[Row], bool]:
    """Read the files of a folder in the order of their names.

    Parameters
    ----------
    folder : Path
        Its files at any depth are the documents; hidden files and links are left out.
    encoding : str
        The encoding of the files.
    label : str, sequence of str or None
        With no labels file: any name takes the names of the sub-folders for labels.
        With one: the column or columns of the labels.
    labels : path, iterable or None
        A labels file, or one label a file in the order of the names.
    notes : list of str
        Receives what was decided.

    labels_required : bool
        Whether a folder without sub-folders is an error when only `label` asks for labels.

    Returns
    -------
    rows : iterator of Row
        Text and label of each file.
    with_labels : bool
        Whether labels were found.
    """
    names = sorted(_visible_files(folder, notes))
    if isinstance(labels, str | os.PathLike):
        # The labels file may lie in the folder and is no document.
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
                f"{folder}: labels are asked for, but there is no sub-folder with files to name "
                "them. Make one sub-folder a label, or give a labels file."
            )
        if loose:
            notes.append(f"Files beside the sub-folders were left out: {listed(loose, 5)}.")
        names = [name for name in names if "/" in name]
        tags = [name.split("/")[0] for name in names]
        notes.append(f"The {len(set(tags))} sub-folders were taken for labels.")
    else:
        tags = [None] * len(names)
        if any("/" in name for name in names):
            notes.append("Sub-folders were not taken for labels; label='auto' would.")
    rows = (
        (name, (read_text(folder / name, encoding), tag))
        for name, tag in zip(names, tags, strict=True)
    )
    return rows, label is not None or labels is not None


def _labels_of_files(
    names: list[str],
    labels: LabelsSource,
    label: ColumnNames | None,
    encoding: str,
    notes: list[str],
) -> list[object]:
    """Line labels up with files, by name when the labels file has names, else by order."""
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


def _visible_files(folder: Path, notes: list[str]) -> Iterator[str]:
    """Yield the names of the files below a folder that are neither hidden nor links."""
    links = 0
    folders = [("", 0)]
    while folders:
        inside, depth = folders.pop()
        if depth > _DEEPEST:
            raise ReaderError(
                f"{folder}: folders are inside of folders more than {_DEEPEST} deep, as in "
                f"{inside[:60]!r}. Is it the folder you mean?"
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
        notes.append(f"Links were left out, for they may lead anywhere: {links:,}.")


def _same(path: Path, other: Path) -> bool:
    return path.name == other.name and path.resolve() == other.resolve()
