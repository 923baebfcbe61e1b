"""Files that are written whole or not at all, and folders that one run uses at a time.

A file is written under a hidden name beside its place, synced, and renamed: a reader sees the old
file or the new one, never half of one. Whatever goes wrong is one :class:`OSError` that names the
file the user asked for, not the hidden one.
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A hidden file that was not written to for so long, in seconds, was left by a run that was killed.
_ABANDONED = 3600.0
_HIDDEN = re.compile(r"\.(?P<name>.+)\.[0-9a-z_]{8}\.part")


@contextmanager
def replacing(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Give a temporary file beside ``path`` that takes its place when the block ends well.

    Parameters
    ----------
    path : path
        The file to write. If it is a link, the file that it points to is replaced.
    overwrite : bool, default=True
        Whether a file that exists by the end of the block is replaced. If not, what was written is
        kept under a free name beside it, and a ``FileExistsError`` tells that name.

    Yields
    ------
    Path
        The temporary file, which exists and is empty. If the block fails, it is removed, and
        ``path`` stays as it was.

    Raises
    ------
    OSError
        The file cannot be written; the message says why.
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path}: there is no folder {path.parent}. Create it first."
        )
    sweep(path)
    temporary = _hidden_name(path)
    try:
        mode = _create(temporary, path)
        yield temporary
        os.chmod(temporary, mode)  # who wrote it may have put another file in its place
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            _move_to_free_name(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise _explained(error, path) from error
        raise
    _sync_folder(path.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an ``OSError`` now if the folder of a file to be written later takes no files."""
    path = Path(os.path.realpath(path))
    temporary = _hidden_name(path)
    try:
        _create(temporary, path)
        temporary.unlink()
    except OSError as error:
        raise _explained(error, path) from error


def sweep(path: Path) -> None:
    """Remove the temporary files of a file that were left by runs that were killed."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            match = _HIDDEN.fullmatch(entry.name)
            if match and match["name"] == path.name:
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED:
                        os.unlink(entry.path)


@contextmanager
def only_user(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a folder for this process; a second one that asks for it gets a ``BlockingIOError``.

    The system lets go of the folder when the process ends, however it ends. Where the system has no
    such locks (Windows), nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(
                f"another run is using the folder {os.fspath(folder)}. Wait for it to end, or "
                "choose another folder."
            ) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def _hidden_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _create(temporary: Path, path: Path) -> int:
    """Create an empty file, and return its permissions by the end.

    They are those of the file that is replaced, or of any new file.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # The system takes the umask off: to ask for the umask would change it for all threads.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    os.close(os.open(temporary, flags, 0o666 if mode is None else mode))
    return temporary.stat().st_mode & 0o777 if mode is None else mode


def _move_to_free_name(temporary: Path, path: Path) -> None:
    """Rename a file to ``path`` unless that exists; then to the next free name beside it."""
    number = 1
    free = path
    while not _moved(temporary, free):
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    if free != path:
        raise FileExistsError(
            f"{path} appeared while this run was at work, and was left as it is. The result was "
            f"written to {free}."
        )


def _moved(temporary: Path, path: Path) -> bool:
    """Rename a file unless there is one of that name; test and renaming are one step."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links, on which the two steps have to do
        if path.exists():
            return False
        os.replace(temporary, path)
    else:
        os.unlink(temporary)
    return True


def _explained(error: OSError, path: Path) -> OSError:
    """The same kind of error, with a message for the user."""
    reason = error.strerror or str(error)
    return type(error)(f"cannot write {path}: {reason}.")


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself last, where the system lets folders be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
