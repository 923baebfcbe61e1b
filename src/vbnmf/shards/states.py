"""Files of the local states of shards, and of single arrays.

A local state is a file of its own. It is written under another name and renamed, so that a reader
never sees half of one.
"""

import os
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from vbnmf.core.model import Array
from vbnmf.shards.shard import Local

_ONE_AT_A_TIME = threading.Lock()


def local_path(folder: Path, number: int) -> Path:
    """Return the file of the local state of a shard."""
    return folder / f"{number:05d}.local"


def load_array(file: Any, *, mapped: bool = False) -> Array:
    """Read or map an array of a .npy file. Several threads may call it.

    Without a lock, Python 3.11 sometimes fails if threads parse headers at the same time (CPython
    issue 106905).
    """
    with _ONE_AT_A_TIME:
        return np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False)


def write_local(path: Path, local: Local, spare: Path | None = None) -> None:
    """Write the local state of a shard to a file. An existing file is replaced by renaming.

    If the file ``spare`` exists, it is no longer needed. It is overwritten and renamed. This takes
    a fraction of the time of a new file, for which the system needs new memory.
    """
    temporary = path.with_suffix(f".{uuid4().hex}.part")  # two processes may write the same file
    reuse = spare is not None and _claim(spare, temporary)
    with open(temporary, "r+b" if reuse else "wb") as file:
        np.save(file, local.latent)
        np.save(file, local.E_v)
        file.write(local.Sigma_v.data.cast("B"))
        file.truncate()
    os.replace(temporary, path)


def _claim(spare: Path, name: Path) -> bool:
    """Rename a file for reuse; return False if it is gone or needed under another name."""
    try:
        os.rename(spare, name)
        if os.stat(name).st_nlink == 1:
            return True
        name.unlink()
    except OSError:  # another process has claimed it, or has it open on Windows
        pass
    return False


def read_local(path: Path, Sigma_v: Array) -> Local:
    """Read the local state of a shard, with Sigma_v into the given array."""
    with open(path, "rb") as file:
        latent, E_v = (load_array(file) for _ in range(2))
        n_read = file.readinto(Sigma_v.data.cast("B"))
        if n_read != Sigma_v.nbytes or file.read(1):
            raise OSError(f"{path} is truncated, or belongs to other documents.")
    return Local(Sigma_v, latent, E_v)
