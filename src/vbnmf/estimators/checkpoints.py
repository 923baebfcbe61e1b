"""Checkpoints: a fit that was stopped, even by ``kill -9``, is resumed and gives the same bits.

    FOLDER/000120/state.vbnmf     what all documents share, and where the loop is
    FOLDER/000120/00000.local     what the documents of each shard keep
    FOLDER/000120/checksums.json  CRC-32 of the other files

A checkpoint is written under a hidden name and renamed. After that, all are removed but the last
two. So there is a whole one at any moment, and if a disk damages the last one, the one before it is
used. It says which documents and parameters it belongs to. What is read is compared with its
checksums and with the documents, labels and settings of the fit, before anything is computed with
it.

A start that had written a checkpoint writes a last one at its end, from which its result can be
restored. With several starts (``n_init``), each has a folder of its own in FOLDER, such as
``start-02``. Only the checkpoint of the best start so far is kept. The others leave a small file,
so that they do not run again.
"""

import hashlib
import json
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
from vbnmf.core.extrapolation import MOST, Before, Momentum
from vbnmf.core.fit import Loop
from vbnmf.core.model import Array, Labels, Prior, Rates, Scopes, State, Terms
from vbnmf.discovery.componentsearch import Found
from vbnmf.discovery.drafts import Draft
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.validation import check_finite
from vbnmf.files import replacing
from vbnmf.kernels import describe
from vbnmf.shards.folder import checksum
from vbnmf.shards.shard import ShardSource
from vbnmf.shards.states import read_small
from vbnmf.store import ModelFileError, check_array, check_mask, check_number

_LOST = "lost"  # the file of a start that ended and was not the best
_CHECKSUMS = "checksums.json"
_UNFINISHED = ".part"  # ending of the hidden folder of a checkpoint that is being written
_INVALID = (LookupError, TypeError, ValueError, AttributeError, OverflowError, EOFError,
            MemoryError)  # fmt: skip

_LEAST, _MOST = 1e-150, 1e150  # of positive values, whose products stay finite

_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback", "checkpoint", "engine",
                   "batches", "classifier")  # fmt: skip


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
    VBNMF(checkpoint=Checkpoint(path='checkpoints', iterations=1, seconds=600), n_components=20)
    """

    path: str | os.PathLike[str]
    iterations: int = 1
    seconds: float = 60.0


class CheckpointWarning(UserWarning):
    """Warning that a checkpoint is not used."""


def check_checkpoint(value: Any) -> Checkpoint | None:
    """Check the parameter ``checkpoint``: a path, or settings."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        value = Checkpoint(value)
    if not isinstance(value, Checkpoint):
        raise ValueError(f"checkpoint must be a path, a Checkpoint or None; got {value!r}.")
    return value


def has_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a checkpoint of any fit."""
    folder = Path(path)
    places = [folder, *folder.glob("start-*")] if folder.is_dir() else []
    return any(_numbered(place) or (place / _LOST).exists() for place in places if place.is_dir())


def is_unused(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is empty, but for what a fit without a whole checkpoint left."""
    left = [entry for entry in Path(path).iterdir() if not entry.name.endswith(_UNFINISHED)]
    return not has_checkpoint(path) and all(
        entry.name.startswith("start-") and entry.is_dir() and is_unused(entry) for entry in left
    )


def _numbered(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the last one first."""
    found = (f for f in folder.iterdir() if f.name.isdecimal())
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
        self._remove_unfinished()
        self._last = (0, time.monotonic())
        self.header, self._arrays, self._found_in = self._find()
        self._newest = self._found_in  # the last whole checkpoint of this fit
        self.loop: Loop | None = None  # where the earlier run was, if there was one
        if self.header is not None:
            try:
                self.loop = _checked_loop(self.header["loop"], max_iter)
                _check_found(self.header["found"], _number(self._arrays))
            except _INVALID as error:
                raise self._damaged(str(error)) from None

    @property
    def is_lost(self) -> bool:
        """Whether an earlier run ended this start, and another one was better."""
        path = self._folder / _LOST
        return path.is_file() and path.read_bytes() == self._belongs_to.encode("ascii")

    def lose(self) -> None:
        """Note that another start was better, and remove the checkpoints of this one."""
        with replacing(self._folder / _LOST) as temporary:
            temporary.write_text(self._belongs_to, encoding="ascii")
        for old in _numbered(self._folder):
            shutil.rmtree(old, ignore_errors=True)

    @property
    def found(self) -> Found | None:
        """What the search for components had found, without its arrays."""
        held = None if self.header is None else self.header["found"]
        if held is None:
            return None
        nothing = np.empty((0, 0))
        draft = Draft(nothing, nothing, nothing, background=held["background"])
        return Found(draft, int(held["asked"]))

    def restore(self, engine: ShardEngine, labels: Labels | None, dtype: np.dtype[Any]) -> State:
        """Bring the documents to where they were, and return the state that goes with it.

        Raises
        ------
        ValueError
            The checkpoint is damaged, or does not fit the documents.
        """
        assert self.header is not None
        assert self._found_in is not None
        header, arrays = self.header, self._arrays
        try:
            n_terms = len(engine.totals.term_sums)
            shape, L = (engine.kernel.zeros(n_terms, _number(arrays), dtype) for _ in range(2))
            state = _checked_state(header, arrays, labels, shape, L)
            K, in_scope = len(state.terms.scale), None
            n_labels = 0
            if state.labels is not None:
                in_scope, n_labels = state.labels.in_scope, state.labels.known.shape[1]
            before = _checked_before(arrays, state, engine.kernel.zeros(n_terms, K, dtype))
            _check_locals(self._found_in, K, n_labels, extrapolates=before is not None)
            engine.restore(self._found_in, K, in_scope)
        except _INVALID as error:
            raise self._damaged(str(error)) from None
        self._arrays = {}
        assert self.loop is not None
        self.loop = replace(self.loop, before=before)
        return state

    def _damaged(self, why: str) -> ValueError:
        return ValueError(
            f"the checkpoint in {self._folder} is damaged ({why:.200}). Remove the folder, and "
            "the fit starts from the beginning."
        )

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
        hidden = self._folder / f".{loop.iteration:06d}{_UNFINISHED}"
        target = self._folder / f"{loop.iteration:06d}"
        try:
            for old in (hidden, target):
                shutil.rmtree(old, ignore_errors=True)
            hidden.mkdir()
            engine.snapshot(hidden)
            header, arrays = _state(state)
            numbers = (*loop.history, *header["terms"], *header["prior"])
            check_finite(*(x for x in numbers if x is not None))
            arrays |= _before(loop.before)
            header |= {"loop": _loop(loop), "found": _found(found), "belongs_to": self._belongs_to}
            store.write(hidden / "state.vbnmf", header, arrays)
            sums = json.dumps(_checksums(hidden))
            (hidden / _CHECKSUMS).write_text(sums, encoding="ascii")
            hidden.rename(target)
        except BaseException as error:
            shutil.rmtree(hidden, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            reason = error.strerror or str(error)
            whole = "The last one is whole." if exists else "There is no earlier one."
            raise OSError(
                f"cannot write a checkpoint to {self._folder}: {reason}. {whole}"
            ) from error
        for old in _numbered(self._folder):
            if old not in (target, self._newest):
                shutil.rmtree(old, ignore_errors=True)
        self._newest = target
        self._last = (loop.iteration, time.monotonic())

    def _remove_unfinished(self) -> None:
        """Remove what a killed run had begun to write."""
        for old in self._folder.glob(f".*{_UNFINISHED}"):
            if old.is_dir():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.unlink(missing_ok=True)

    def _find(self) -> tuple[dict[str, Any] | None, dict[str, Array], Path | None]:
        """Read the last whole checkpoint of the same fit, and say so if a later one is damaged."""
        damage: ValueError | None = None
        folders = _numbered(self._folder)
        for folder in folders:
            try:
                header, arrays = store.read(folder / "state.vbnmf")
                if header.get("belongs_to") != self._belongs_to:
                    continue
                self._check_sums(folder)
            except (OSError, ValueError) as error:
                damage = damage or self._damaged(f"{folder.name}: {error}")
                continue
            if damage is not None:
                self._warn(f"{damage} Until then, the one before it, {folder.name}, is used.")
            return header, arrays, folder
        if damage is not None:
            raise damage
        if folders:
            self._warn(
                f"the checkpoint in {self._folder} is of other documents, parameters or kernels. "
                "The fit starts from the beginning, and will replace it."
            )
        return None, {}, None

    def _warn(self, message: str) -> None:
        warnings.warn(message, CheckpointWarning, stacklevel=callers_level())

    def _check_sums(self, folder: Path) -> None:
        """Compare the files of a checkpoint with their checksums."""
        try:
            expected = json.loads((folder / _CHECKSUMS).read_text(encoding="ascii"))
        except (OSError, ValueError):
            raise ModelFileError("its checksums cannot be read") from None
        if _checksums(folder) != expected:
            raise ModelFileError("its files have other checksums")


def _checksums(folder: Path) -> dict[str, int]:
    """Compute the checksum of each file of a checkpoint."""
    paths = sorted(path for path in folder.iterdir() if path.name != _CHECKSUMS)
    return {path.name: checksum(path) for path in paths}


def fingerprint(parameters: dict[str, Any], X: Any, group: Array, weight: Array | None) -> str:
    """Compute a hash of documents and of the parameters that a fit depends on."""
    digest = hashlib.sha256(describe().encode())  # other kernels round otherwise
    for name, value in sorted(parameters.items()):
        if name not in _WITHOUT_EFFECT:
            digest.update(f"{name}={type(value).__name__}".encode())
            digest.update(
                value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            )
    if isinstance(X, ShardSource):
        digest.update(str(X.shape).encode())
        digest.update(repr(getattr(X, "entries", None)).encode())
    else:
        digest.update(str(X.shape).encode())
        for array in (X.data, X.indices, X.indptr):
            digest.update(np.ascontiguousarray(array).data)
    digest.update(np.ascontiguousarray(group).data)
    digest.update(b"" if weight is None else np.ascontiguousarray(weight).data)
    return digest.hexdigest()


def _loop(loop: Loop) -> dict[str, Any]:
    return {
        "iteration": loop.iteration,
        "history": list(loop.history),
        "rise": None if math.isnan(loop.rise) else loop.rise,
        "converged": bool(loop.converged),
        "best": None if math.isnan(loop.best) else loop.best,
        "momentum": list(astuple(loop.momentum)),
    }


def _before(before: Before | None) -> dict[str, Array]:
    """Convert what the next sweep extrapolates from to arrays."""
    if before is None:
        return {}
    arrays = {"before.shape": before.shape, "before.scale": before.scale}
    if before.rate_scale is not None:
        arrays["before.rate_scale"] = before.rate_scale
    return arrays


def _found(found: Found | None) -> dict[str, Any] | None:
    if found is None:
        return None
    background = found.draft.background
    return {
        "background": None if background is None else int(background),
        "asked": int(found.asked),
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


# Checks of what is read


def _number(arrays: dict[str, Array]) -> int:
    """Return the number of components of a checkpoint."""
    scale = arrays["terms.scale"]
    if scale.ndim != 1 or not len(scale):
        raise ModelFileError("the number of components is missing")
    return len(scale)


def _checked_loop(at: Any, max_iter: int) -> Loop:
    iteration, history, converged = at["iteration"], at["history"], at["converged"]
    rise, best = (math.nan if at[name] is None else _finite(at[name]) for name in ("rise", "best"))
    momentum = Momentum(*at["momentum"])
    sound = (
        type(iteration) is int
        and 0 <= iteration <= max_iter
        and isinstance(history, list)
        and min(iteration, 1) <= len(history) <= iteration
        and all(type(bound) is float and math.isfinite(bound) for bound in history)
        and isinstance(converged, bool)
        and all(type(x) is float and 0 < x <= MOST for x in astuple(momentum))
    )
    if not sound:
        raise ModelFileError("the state of the loop is not one of this fit")
    return Loop(iteration, tuple(history), rise, converged, best, momentum)


def _checked_before(arrays: dict[str, Array], state: State, shape: Array) -> Before | None:
    """Return what the next sweep extrapolates from, with its shapes in memory of the kernel."""
    if "before.shape" not in arrays:
        return None
    K = len(state.terms.scale)
    shape[:] = _checked(arrays, "before.shape", shape.shape, shape.dtype)
    if not _in_range(shape[:, :K]):
        raise ModelFileError("the components before are not positive, or out of range")
    rate_scale = None
    if state.rates is not None:
        of_rates = state.rates.scale.shape
        rate_scale = _positive(arrays, "before.rate_scale", of_rates)
    scale = _positive(arrays, "before.scale", (K,))
    return Before(shape, scale, rate_scale)


def _check_found(found: Any, K: int) -> None:
    if found is None:
        return
    background = found["background"]
    sound = (background is None or (type(background) is int and 0 <= background < K)) and type(
        found["asked"]
    ) is int
    if not sound:
        raise ModelFileError("what the search found is not sound")


def _checked_state(
    header: dict[str, Any],
    arrays: dict[str, Array],
    labels: Labels | None,
    shape: Array,
    L: Array,
) -> State:
    """Return the state of a checkpoint, with its terms in memory of the kernel."""
    K, n_terms = _number(arrays), len(shape)
    for name, into in (("terms.shape", shape), ("terms.L", L)):
        into[:] = _checked(arrays, name, into.shape, into.dtype)
    if not _in_range(shape[:, :K]) or (L[:, :K] < 0).any():
        raise ModelFileError("the components are not positive, or out of range")
    psi, entropy = (math.nan if x is None else _finite(x) for x in header["terms"])
    terms = Terms(
        shape,
        _positive(arrays, "terms.scale", (K,)),
        L,
        check_array(arrays, "terms.offset", (n_terms,)),
        _positive(arrays, "terms.shape_sums", (K,)),
        psi,
        entropy,
    )
    n_labels = 0 if labels is None else labels.known.shape[1]
    rates = None
    if labels is not None:
        flat = arrays["rates.shape"].ndim == 1
        of_shape = (n_labels,) if flat else (n_labels, K)
        rates = Rates(
            _positive(arrays, "rates.shape", of_shape),
            _positive(arrays, "rates.scale", (n_labels, K)),
        )
    if labels is not None and "scopes.mask" in arrays:
        mask = check_mask(arrays, "scopes.mask", (n_labels, K))
        if not mask.any(axis=0).all() or not mask.any(axis=1).all():
            raise ModelFileError("a label or a component is in no scope")
        labels = replace(labels, scopes=Scopes(mask, _finite(header["outside"], positive=True)))
    prior = _checked_prior(header["prior"], arrays, n_labels)
    heat = check_number(header, "inverse_temperature", least=0, most=1)
    return State(prior, terms, rates, labels, heat)


def _checked_prior(stored: Any, arrays: dict[str, Array], n_labels: int) -> Prior:
    """Return the hyperparameters: four numbers, and two more of labels, numbers or arrays."""
    if not isinstance(stored, list) or len(stored) != 6:
        raise ModelFileError("the hyperparameters are not six")
    values: list[Any] = [_finite(value, positive=True) for value in stored[:4]]
    for i, value in enumerate(stored[4:], start=4):
        if not n_labels:
            values.append(None)
        elif f"prior.{i}" in arrays:
            values.append(_positive(arrays, f"prior.{i}", (n_labels,)))
        else:
            values.append(_finite(value, positive=True))
    return Prior(*values)


def _checked(
    arrays: dict[str, Array], name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    array = check_array(arrays, name, shape)
    if array.dtype != dtype:
        raise ModelFileError(f"{name} is of {array.dtype} and not of {dtype}")
    return array


def _positive(arrays: dict[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    array = check_array(arrays, name, shape, positive=True)
    if not _in_range(array):
        raise ModelFileError(f"array {name!r} has values out of range")
    return array


def _in_range(array: Array) -> bool:
    """Return whether all values are positive and in range; single precision cannot hold it."""
    return not array.size or _LEAST <= float(array.min()) <= float(array.max()) <= _MOST


def _finite(value: Any, *, positive: bool = False) -> float:
    low = _LEAST if positive else -_MOST
    if type(value) not in (int, float) or not low <= value <= _MOST:
        raise ModelFileError(f"{value!r:.60} is not a number that it can have")
    return float(value)


def _check_locals(folder: Path, K: int, n_labels: int, *, extrapolates: bool) -> None:
    """Check the small arrays of the local states: q(z), and E_v for the next one."""
    for path in sorted(folder.glob("*.local")):
        with open(path, "rb") as file:
            states = read_small(file)
        if extrapolates and len(states) == 1:
            raise ModelFileError(f"{path.name} has no state before")
        for latent, E_v in states:
            sound = (
                latent.ndim == E_v.ndim == 2
                and len(latent) == len(E_v) == len(states[0][0])
                and latent.shape[1] in (0, n_labels)
                and E_v.shape[1] in (0, K)
                and latent.dtype.kind == E_v.dtype.kind == "f"
                and np.isfinite(latent).all()
                and np.isfinite(E_v).all()
            )
            if not sound:
                raise ModelFileError(f"{path.name} does not fit the labels and components")
