"""Write files atomically, and own folders: temporary ones, or those that one run may use at a time.

A file is written in a hidden folder beside it, synced, and renamed. A reader sees either the old
file or the complete new one. Failures raise an :class:`OSError` that names the requested file, not
the hidden file.

A process locks the temporary folders that it makes, and the system releases the locks when the
process ends, however it ends. So what a killed process left is known from what a living one needs,
and the next run that makes a folder of the same name removes it.
"""

import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

locks: Any = None  # Windows has none
with suppress(ImportError):
    import fcntl

    locks = fcntl

# Age in seconds after which a temporary folder is taken to be left by a killed run, on systems and
# file systems without locks.
_ABANDONED = 3600.0
_RANDOM = r"[0-9a-z_]{8}"  # of tempfile


class OwnedFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is removed at the latest by the next run, also after ``kill -9``.

    Parameters
    ----------
    prefix, suffix : str
        Beginning and end of its name. Folders of killed processes with both are removed first.
    folder : path or None
        Where to make it; None for the system's folder of temporary files.
    """

    def __init__(
        self, prefix: str, suffix: str = "", folder: str | os.PathLike[str] | None = None
    ) -> None:
        parent = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        _remove_abandoned(parent, re.compile(re.escape(prefix) + _RANDOM + re.escape(suffix)))
        while True:
            super().__init__(suffix, prefix, parent, ignore_cleanup_errors=True)
            try:
                descriptor = _locked(self.name, wait=True)
            except BaseException:
                os.rmdir(self.name)
                super().cleanup()
                raise
            if descriptor is None or os.path.isdir(self.name):
                break
            os.close(descriptor)  # another process took it for abandoned before it was locked
            super().cleanup()
        self._release = None if descriptor is None else weakref.finalize(self, os.close, descriptor)

    def cleanup(self) -> None:
        """Remove the folder."""
        super().cleanup()
        if self._release is not None:
            self._release()


def _remove_abandoned(parent: str, name: re.Pattern[str]) -> None:
    """Remove the folders of this name that no living process owns."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: "os.DirEntry[str]") -> None:
    descriptor = _locked(entry.path, wait=False)
    if descriptor is not None:
        shutil.rmtree(entry.path, ignore_errors=True)
        os.close(descriptor)
    elif locks is None and time.time() - entry.stat().st_mtime > _ABANDONED:
        shutil.rmtree(entry.path, ignore_errors=True)


def _locked(folder: str, *, wait: bool) -> int | None:
    """Open and lock a folder; None if another process has locked it, or without locks."""
    if locks is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        locks.flock(descriptor, locks.LOCK_EX | (0 if wait else locks.LOCK_NB))
    except OSError:  # it is locked, or the file system has no locks
        os.close(descriptor)
        return None
    return descriptor


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
        The temporary file, which exists, is empty, and has the same name in another folder. If the
        block fails, it is removed, and ``path`` stays as it was.

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
    try:
        with _hidden_folder(path) as folder:
            temporary = Path(folder, path.name)
            mode = _create(temporary, path)
            yield temporary
            os.chmod(temporary, mode)  # the writer may have replaced the file
            with open(temporary, "rb+") as written:
                os.fsync(written.fileno())
            if overwrite:
                os.replace(temporary, path)
            else:
                _move_to_free_name(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise _explained(error, path) from error
    _sync_folder(path.parent)


def is_unfinished(path: Path) -> bool:
    """Return whether a killed process left this, instead of the file that it was writing."""
    return re.fullmatch(rf"\..+\.{_RANDOM}\.part", path.name) is not None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an ``OSError`` if a file cannot be created in the folder of ``path``."""
    path = Path(os.path.realpath(path))
    try:
        with _hidden_folder(path) as folder:
            _create(Path(folder, path.name), path)
    except OSError as error:
        raise _explained(error, path) from error


@contextmanager
def only_user(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a folder for this process; a second process gets a ``BlockingIOError``.

    The system releases the lock when the process ends. On systems without such locks (Windows), the
    folder is not locked.
    """
    if locks is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
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


def _hidden_folder(path: Path) -> OwnedFolder:
    return OwnedFolder(f".{path.name}.", ".part", path.parent)


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
