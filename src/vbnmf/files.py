"""Write files atomically, and lock folders for one process at a time.

A file is written under a hidden name in the same folder, synced, and renamed. A reader sees either
the old file or the complete new one. Failures raise an :class:`OSError` that names the requested
file, not the hidden file.
"""

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Age in seconds after which a hidden file is taken to be left by a killed run.
_ABANDONED = 3600.0
_HIDDEN = re.compile(r"\.(?P<name>.+)\.[0-9a-z_]{8}\.part")


@contextmanager
def replacing(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path
        The file to write. If it is a link, the file that it points to is replaced.
    overwrite : bool, default=True
        Whether to replace a file that exists at the end of the block. If False, the new file is
        kept under a free name in the same folder, and a ``FileExistsError`` has that name.

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
        os.chmod(temporary, mode)  # the writer may have replaced the file
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
    """Raise an ``OSError`` if a file cannot be created in the folder of ``path``."""
    path = Path(os.path.realpath(path))
    temporary = _hidden_name(path)
    try:
        _create(temporary, path)
        temporary.unlink()
    except OSError as error:
        raise _explained(error, path) from error


def sweep(path: Path) -> None:
    """Remove temporary files of ``path`` that were left by killed runs."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            match = _HIDDEN.fullmatch(entry.name)
            if match and match["name"] == path.name:
                with suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED:
                        os.unlink(entry.path)


@contextmanager
def only_user(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder for this process; a second process gets a ``BlockingIOError``.

    The system releases the lock when the process ends. On systems without such locks (Windows), the
    folder is not locked.
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
    """Create an empty file, and return its final permissions.

    They are those of the file that is replaced, or the default for new files.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # The system applies the umask. Reading it would change it for all threads.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    os.close(os.open(temporary, flags, 0o666 if mode is None else mode))
    return temporary.stat().st_mode & 0o777 if mode is None else mode


def _move_to_free_name(temporary: Path, path: Path) -> None:
    """Rename a file to ``path``, or to the next free name if ``path`` exists."""
    number = 1
    free = path
    while not _moved(temporary, free):
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    if free != path:
        raise FileExistsError(
            f"{path} was created by another program during this run, and was not replaced. The "
            f"result was written to {free}."
        )


def _moved(temporary: Path, path: Path) -> bool:
    """Rename a file unless the name exists, as one atomic step."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: check and rename in two steps
        if path.exists():
            return False
        os.replace(temporary, path)
    else:
        os.unlink(temporary)
    return True


def _explained(error: OSError, path: Path) -> OSError:
    """Return an error of the same type, with a message for the user."""
    reason = error.strerror or str(error)
    return type(error)(f"cannot write {path}: {reason}.")


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename survives a crash."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
