"""Checkpoints: a fit that was stopped, even by ``kill -9``, is resumed and gives the same bits.

    FOLDER/000120/state.vbnmf   what all documents share, and where the loop is
    FOLDER/000120/00000.local   what the documents of each shard keep

A checkpoint is written under a hidden name and renamed, and older ones are removed after that. So
there is a whole one at any moment. It says which documents and parameters it belongs to.

A start that had written a checkpoint writes a last one at its end, from which its result can be
restored. With several starts (``n_init``), each has a folder of its own in FOLDER, such as
``start-02``. Only the checkpoint of the best start so far is kept. The others leave a small file,
so that they do not run again.
"""

import hashlib
import math
import os
import shutil
import time
import warnings
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vbnmf import store
from vbnmf.callers import callers_level
from vbnmf.core.fit import Loop
from vbnmf.core.model import Array, Labels, Prior, Rates, Scopes, State, Terms
from vbnmf.discovery.componentsearch import Found
from vbnmf.discovery.drafts import Draft
from vbnmf.engines.mapping import ShardEngine
from vbnmf.kernels import describe
from vbnmf.shards.shard import ShardSource

_LOST = "lost"  # the file of a start that ended and was not the best

_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback", "checkpoint", "engine",
                   "transform_max_iter", "transform_tol", "classifier")  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """Settings of checkpoints: where and how often the state of a fit is written to disk.

    Parameters
    ----------
    path : str or path
        A folder. If it holds a checkpoint of the same documents and parameters, the fit is resumed
        from it. The folder is not removed when the fit ends.
    iterations, seconds : int and float
        Minimum number of iterations, and of seconds, between two checkpoints.

    Examples
    --------
    >>> from vbnmf import VBNMF, Checkpoint
    >>> VBNMF(20, checkpoint=Checkpoint("checkpoints", seconds=600))
    VBNMF(checkpoint=Checkpoint(path='checkpoints', iterations=1, seconds=600),
          n_components=20)
    """

    path: str | os.PathLike[str]
    iterations: int = 1
    seconds: float = 60.0


class CheckpointWarning(UserWarning):
    """Warning that a checkpoint is not used."""


def check_checkpoint(value: Any) -> Checkpoint | None:
    """The checkpoint of a fit, from a path or ready-made."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        value = Checkpoint(value)
    if not isinstance(value, Checkpoint):
        raise ValueError(f"checkpoint must be a path, a Checkpoint or None; got {value!r}.")
    return value


def has_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a checkpoint of any fit."""
    folder = Path(path)
    places = [folder, *folder.glob("start-*")] if folder.is_dir() else []
    return any(_numbered(place) or (place / _LOST).exists() for place in places if place.is_dir())


def _numbered(folder: Path) -> list[Path]:
    """Checkpoints in a folder, the last one first."""
    found = (f for f in folder.iterdir() if f.name.isdigit())
    return sorted(found, key=lambda f: int(f.name), reverse=True)


class Keeper:
    """Writes checkpoints of one start of a fit, and finds the last one of an earlier run.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where and how often.
    belongs_to : str
        Fingerprint of documents and parameters.
    start : int or None
        Number of the start, from 0; None if there is only one.
    max_iter : int
        Iterations after which the start ends.
    """

    def __init__(
        self, checkpoint: Checkpoint, belongs_to: str, start: int | None, max_iter: int
    ) -> None:
        self._checkpoint, self._belongs_to = checkpoint, belongs_to
        self._folder = Path(checkpoint.path)
        if start is not None:
            self._folder /= f"start-{start + 1:02d}"
        self._one_of_several, self._max_iter = start is not None, max_iter
        self._folder.mkdir(parents=True, exist_ok=True)
        self._last = (0, time.monotonic())
        self.header, self._arrays, self._found_in = self._find()

    @property
    def is_lost(self) -> bool:
        """Whether an earlier run ended this start, and another one was better."""
        path = self._folder / _LOST
        return path.is_file() and path.read_text(encoding="ascii") == self._belongs_to

    def lose(self) -> None:
        """Note that another start was better, and remove the checkpoints of this one."""
        hidden = self._folder / f".{_LOST}"
        hidden.write_text(self._belongs_to, encoding="ascii")
        hidden.replace(self._folder / _LOST)
        for old in _numbered(self._folder):
            shutil.rmtree(old, ignore_errors=True)

    @property
    def loop(self) -> Loop | None:
        """Where the earlier run was; None if there is none."""
        if self.header is None:
            return None
        at = dict(self.header["loop"])
        rise = math.nan if at["rise"] is None else at["rise"]
        return Loop(at["iteration"], tuple(at["history"]), rise, at["converged"])

    @property
    def found(self) -> Found | None:
        """What the search for components had found, without its arrays."""
        held = None if self.header is None else self.header["found"]
        if held is None:
            return None
        nothing = np.empty((0, 0))
        draft = Draft(nothing, nothing, nothing, background=held["background"])
        tried = {int(K): score for K, score in held["tried"].items()}
        return Found(draft, int(held["asked"]), tried)

    def restore(self, engine: ShardEngine, labels: Labels | None, dtype: np.dtype[Any]) -> State:
        """Bring the documents to where they were, and return the state that goes with it."""
        assert self.header is not None
        header, arrays = self.header, self._arrays
        K, n_terms = len(arrays["terms.scale"]), len(arrays["terms.offset"])
        shape, L = (engine.kernel.zeros(n_terms, K, dtype) for _ in range(2))
        if arrays["terms.shape"].shape != shape.shape or arrays["terms.shape"].dtype != dtype:
            raise ValueError(f"the checkpoint in {self._folder} was written by another kernel.")
        shape[:], L[:] = arrays["terms.shape"], arrays["terms.L"]
        terms = Terms(
            shape, arrays["terms.scale"], L, arrays["terms.offset"], arrays["terms.shape_sums"],
            *(math.nan if value is None else value for value in header["terms"]),
        )  # fmt: skip
        rates = None
        if "rates.shape" in arrays:
            rates = Rates(arrays["rates.shape"], arrays["rates.scale"])
        if labels is not None and "scopes.mask" in arrays:
            mask = arrays["scopes.mask"].astype(bool)
            labels = replace(labels, scopes=Scopes(mask, header["outside"]))
        prior = Prior(*(arrays.get(f"prior.{i}", value) for i, value in enumerate(header["prior"])))
        assert self._found_in is not None
        engine.restore(self._found_in, K, None if labels is None else labels.in_scope)
        self._arrays = {}
        return State(prior, terms, rates, labels, header["inverse_temperature"])

    def keep(self, engine: ShardEngine, loop: Loop, state: State, found: Found | None) -> None:
        """Write a checkpoint, if it is time for one or the start has ended.

        At the end of a single start, a checkpoint is written only if there is an earlier one. Then
        a run that is stopped in the training of the prediction head resumes with this training.
        """
        iteration, then = self._last
        ended = loop.converged or loop.iteration == self._max_iter
        exists = iteration > 0 or self.header is not None
        if not (ended and (self._one_of_several or exists)) and (
            loop.iteration - iteration < self._checkpoint.iterations
            or time.monotonic() - then < self._checkpoint.seconds
        ):
            return
        hidden = self._folder / f".{loop.iteration:06d}.part"
        target = self._folder / f"{loop.iteration:06d}"
        try:
            for old in (hidden, target):
                shutil.rmtree(old, ignore_errors=True)
            hidden.mkdir()
            engine.snapshot(hidden)
            header, arrays = _state(state)
            header |= {"loop": _loop(loop), "found": _found(found), "belongs_to": self._belongs_to}
            store.write(hidden / "state.vbnmf", header, arrays)
            hidden.rename(target)
        except OSError as error:
            shutil.rmtree(hidden, ignore_errors=True)
            reason = error.strerror or str(error)
            raise OSError(
                f"cannot write a checkpoint to {self._folder}: {reason}. The last one is whole."
            ) from error
        for old in _numbered(self._folder):
            if old != target:
                shutil.rmtree(old, ignore_errors=True)
        self._last = (loop.iteration, time.monotonic())

    def _find(self) -> tuple[dict[str, Any] | None, dict[str, Array], Path | None]:
        """The last checkpoint of the same fit."""
        folders = _numbered(self._folder)
        for folder in folders:
            header, arrays = store.read(folder / "state.vbnmf")
            if header.get("belongs_to") == self._belongs_to:
                return header, arrays, folder
        if folders:
            warnings.warn(
                f"the checkpoint in {self._folder} is of other documents, parameters or kernels. "
                "The fit starts from the beginning, and will replace it.",
                CheckpointWarning,
                stacklevel=callers_level(),
            )
        return None, {}, None


def fingerprint(model: Any, X: Any, group: Array, weight: Array | None) -> str:
    """A hash of documents and of the parameters that a fit depends on."""
    told = hashlib.sha256(describe().encode())  # other kernels round otherwise
    for name, value in sorted(model.get_params(deep=False).items()):
        if name not in _WITHOUT_EFFECT:
            told.update(f"{name}={type(value).__name__}".encode())
            told.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    if isinstance(X, ShardSource):
        told.update(str(X.shape).encode())
        told.update(repr(getattr(X, "entries", None)).encode())
    else:
        told.update(str(X.shape).encode())
        for array in (X.data, X.indices, X.indptr):
            told.update(np.ascontiguousarray(array).data)
    told.update(np.ascontiguousarray(group).data)
    told.update(b"" if weight is None else np.ascontiguousarray(weight).data)
    return told.hexdigest()


def _loop(loop: Loop) -> dict[str, Any]:
    return {
        "iteration": loop.iteration,
        "history": list(loop.history),
        "rise": None if math.isnan(loop.rise) else loop.rise,
        "converged": bool(loop.converged),
    }


def _found(found: Found | None) -> dict[str, Any] | None:
    if found is None:
        return None
    tried = {str(K): float(score) for K, score in found.tried.items()}
    background = found.draft.background
    return {
        "background": None if background is None else int(background),
        "asked": int(found.asked),
        "tried": tried,
    }


def _state(state: State) -> tuple[dict[str, Any], dict[str, Array]]:
    """Convert a state to a header and arrays. Of its labels, only the scopes are stored."""
    terms = state.terms
    arrays = {
        "terms.shape": terms.shape,
        "terms.scale": terms.scale,
        "terms.L": terms.L,
        "terms.offset": terms.offset,
        "terms.shape_sums": terms.shape_sums,
    }
    header: dict[str, Any] = {
        "model": "checkpoint",
        "terms": [None if math.isnan(x) else float(x) for x in (terms.psi, terms.entropy)],
        "inverse_temperature": float(state.inverse_temperature),
        "prior": [],
    }
    for i, value in enumerate(astuple(state.prior)):
        if isinstance(value, np.ndarray) and value.ndim:
            arrays[f"prior.{i}"] = value
            value = None
        header["prior"].append(None if value is None else float(value))
    if state.rates is not None:
        arrays |= {"rates.shape": state.rates.shape, "rates.scale": state.rates.scale}
    if state.labels is not None and state.labels.scopes is not None:
        arrays["scopes.mask"] = state.labels.scopes.mask.astype(np.uint8)
        header["outside"] = float(state.labels.scopes.outside)
    return header, arrays
