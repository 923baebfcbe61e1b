"""Save a fitted model, in another folder if its file cannot be written."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vbnmf.pipeline import DocumentModel


def save_model(model: "DocumentModel", target: Path, *, overwrite: bool) -> None:
    """Save a fitted model, in another folder if its file cannot be written.

    Raises
    ------
    OSError
        The file cannot be written. The message says why, and where the model is now.
    """
    try:
        model.save(target, overwrite=overwrite)
    except FileExistsError:  # the model was saved beside the other program's file
        raise
    except OSError as error:
        kept = _save_elsewhere(model, target.name)
        if kept is None:
            raise type(error)(
                f"{error} No other folder had room for the model, so it is lost. Free some space "
                "and run the command again."
            ) from error
        raise type(error)(
            f"{error} The model was saved to {kept} instead. Move it to where you need it."
        ) from error


def _save_elsewhere(model: "DocumentModel", name: str) -> Path | None:
    """Save a model to a new folder in the first place that has room, and return its file."""
    for place in _places():
        with suppress(OSError):
            folder = tempfile.mkdtemp(prefix="vbnmf-", dir=place)
            try:
                model.save(Path(folder, name))
            except BaseException:
                rmtree(folder, ignore_errors=True)
                raise
            return Path(folder, name)
    return None


def _places() -> list[str]:
    places = [os.path.expanduser("~"), "/dev/shm"]  # noqa: S108
    with suppress(FileNotFoundError):  # no temporary folder can be written to
        places.insert(0, tempfile.gettempdir())
    return places
