"""Files of the local states of shards, and of single arrays.

A local state is a file of its own. It is written under another name and renamed, so that a reader
never sees half of one.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO
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

    Raises
    ------
    ValueError
        The file is not one of a plain array. NumPy parses headers as Python, so that a damaged one
        can end in any error of its tokenizer and parser.
    """
    try:
        with _ONE_AT_A_TIME:
            return np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(str(error)[:120]) from None


def write_local(path: Path, local: Local, spare: Path | None = None) -> None:
    """Write the local state of a shard to a file. An existing file is replaced by renaming.

    If the file ``spare`` exists, it is no longer needed. It is overwritten and renamed. This takes
    a fraction of the time of a new file, for which the system needs new memory.
    """
    temporary = path.with_suffix(f".{uuid4().hex}.part")  # two processes may write the same file
    reuse = spare is not None and _claim(spare, temporary)
    with open(temporary, "r+b" if reuse else "wb") as file:
        states = [local] if local.before is None else [local, local.before]
        np.save(file, np.array(len(states)))
        for state in states:
            np.save(file, state.latent)
            np.save(file, state.E_v)
        for state in states:
            file.write(state.Sigma_v.data.cast("B"))
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


def read_local(path: Path, Sigma_v: Array, memory: Callable[[], Array] | None = None) -> Local:
    """Read the local state of a shard, with Sigma_v into the given array.

    If there is a state before, it is read too, with its Sigma_v into an array that ``memory``
    returns. If ``memory`` is None, it is left out.
    """
    with open(path, "rb") as file:
        small = read_small(file)
        size = file.tell() + len(small) * Sigma_v.nbytes
        if os.fstat(file.fileno()).st_size != size:
            raise ValueError(f"{path} is truncated, or belongs to other documents.")
        file.readinto(Sigma_v.data.cast("B"))
        local = Local(Sigma_v, *small[0])
        if len(small) == 1 or memory is None:
            return local
        before = memory()
        file.readinto(before.data.cast("B"))
        return replace(local, before=Local(before, *small[1]))


def read_small(file: BinaryIO) -> list[tuple[Array, Array]]:
    """Read q(z) and E_v of a local state, and of the state before if there is one."""
    n_states = load_array(file)
    if n_states.shape != () or n_states not in (1, 2):
        raise ValueError("the number of its states is neither 1 nor 2")
    return [(load_array(file), load_array(file)) for _ in range(int(n_states))]
