"""Checkpoints that were damaged, or made to harm, are refused before anything is computed."""

import json
import shutil
import zlib

import numpy as np
import pytest
from scipy import sparse

from vbnmf import Checkpoint, SupervisedVBNMF, store
from vbnmf.estimators.checkpoints import CheckpointWarning
from vbnmf.files import only_user

PARAMETERS = {"max_iter": 6, "tol": 0, "random_state": 0, "n_jobs": 1, "bound_every": 2}


class Stopped(Exception):
    pass


def stop(progress):
    if progress.iteration == 4 and progress.stage == "fitting":
        raise Stopped


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Documents, labels, and the folder of a fit that was stopped."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    rates = np.full((3, 12), 0.2) + 3 * np.kron(np.eye(3), np.ones(4))
    X = sparse.csr_array(rng.poisson(rates[y]).astype(float))
    labels = [None if n % 5 == 0 else f"label {code}" for n, code in enumerate(y)]
    folder = tmp_path_factory.mktemp("kept")
    with pytest.raises(Stopped):
        model(folder, callback=stop).fit(X, labels)
    return X, labels, folder


def model(folder, **more):
    return SupervisedVBNMF(5, checkpoint=Checkpoint(folder, seconds=0), **PARAMETERS, **more)


@pytest.fixture
def copy(made, tmp_path):
    X, labels, folder = made
    shutil.copytree(folder, tmp_path / "kept")
    before, last = sorted((tmp_path / "kept").iterdir())
    shutil.rmtree(before)
    return X, labels, tmp_path / "kept", last


def signed(folder):
    """Make the checksums match, as someone who means harm would."""
    sums = {path.name: zlib.crc32(path.read_bytes()) for path in sorted(folder.iterdir())}
    sums.pop("checksums.json")
    (folder / "checksums.json").write_text(json.dumps(sums))


def changed(last, header=None, **arrays):
    before, held = store.read(last / "state.vbnmf")
    store.write(last / "state.vbnmf", before | (header or {}), held | arrays)
    signed(last)


def assert_refused(X, labels, folder):
    message = r"the checkpoint in .* is damaged .*Remove the folder"
    with pytest.raises(ValueError, match=message) as error:
        model(folder).fit(X, labels)
    assert len(str(error.value)) < 600


def test_a_sound_one_goes_on_to_the_same_bits(copy, tmp_path):
    X, labels, folder, _last = copy
    whole = model(tmp_path / "other").fit(X, labels)
    resumed = model(folder).fit(X, labels)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


def test_single_precision_goes_on_without_a_warning(made, tmp_path):
    X, labels, _folder = made
    X = X.astype(np.float32)
    with pytest.raises(Stopped):
        model(tmp_path, callback=stop).fit(X, labels)
    whole = model(tmp_path / "other").fit(X, labels)
    resumed = model(tmp_path).fit(X, labels)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


@pytest.mark.parametrize("part", [0.1, 0.4, 0.6, 0.9])
@pytest.mark.parametrize("name", ["state.vbnmf", "00000.local"])
def test_a_flipped_bit_is_found(copy, name, part):
    X, labels, folder, last = copy
    raw = bytearray((last / name).read_bytes())
    at = int(part * len(raw)) if name.endswith("local") else -int(part * 500) - 1
    raw[at] ^= 4
    (last / name).write_bytes(raw)
    assert_refused(X, labels, folder)


@pytest.mark.parametrize("name", ["state.vbnmf", "00000.local", "checksums.json"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_the_one_before_a_damaged_one_is_used(made, tmp_path, name, damage):
    X, labels, folder = made
    shutil.copytree(folder, tmp_path / "kept")
    _before, last = sorted((tmp_path / "kept").iterdir())
    raw = bytearray((last / name).read_bytes())
    raw[len(raw) // 2] ^= 4
    (last / name).unlink()
    if damage != "missing":
        (last / name).write_bytes(raw if damage == "flipped" else raw[: len(raw) // 2])
    with pytest.warns(CheckpointWarning, match="000004: .* the one before it, 000003, is used"):
        resumed = model(tmp_path / "kept").fit(X, labels)
    whole = model(tmp_path / "other").fit(X, labels)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    assert resumed.bound_ == whole.bound_


def test_what_a_killed_run_began_is_removed(copy):
    X, labels, folder, _last = copy
    (folder / ".000005.part").mkdir()
    (folder / ".000005.part" / "00000.local").write_bytes(b"x")
    model(folder).fit(X, labels)
    assert sorted(path.name for path in folder.iterdir()) == ["000005", "000006"]


def test_an_interrupted_checkpoint_leaves_nothing(copy, monkeypatch):
    X, labels, folder, _last = copy

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("vbnmf.estimators.checkpoints.store.write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model(folder).fit(X, labels)
    assert [path.name for path in folder.iterdir()] == ["000004"]


def test_one_fit_at_a_time_uses_a_folder(copy):
    X, labels, folder, _last = copy
    with only_user(folder), pytest.raises(BlockingIOError, match="another run is using the folder"):
        model(folder).fit(X, labels)


def test_missing_checksums_are_refused(copy):
    X, labels, folder, last = copy
    (last / "checksums.json").unlink()
    assert_refused(X, labels, folder)


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_short_local_state_is_refused(copy, cut):
    X, labels, folder, last = copy
    raw = (last / "00000.local").read_bytes()
    (last / "00000.local").write_bytes(raw[:-cut])
    assert_refused(X, labels, folder)
    (last / "00000.local").write_bytes(raw[:cut])
    signed(last)
    assert_refused(X, labels, folder)


@pytest.mark.parametrize("at", [6, 60, 61])
def test_a_damaged_header_of_a_local_state_is_refused(copy, at):
    X, labels, folder, last = copy
    raw = (last / "00000.local").read_bytes()
    (last / "00000.local").write_bytes(raw[:at] + b"\xff'(" + raw[at + 3 :])
    signed(last)
    assert_refused(X, labels, folder)


def test_results_out_of_range_are_not_kept(copy, monkeypatch):
    """The fit says so, instead of a library that cannot write them."""
    X, labels, folder, _last = copy
    monkeypatch.setattr("vbnmf.core.fit.lower_bound", lambda *_: float("inf"))
    with pytest.raises(ValueError, match="too large or too small for floating-point numbers"):
        model(folder).fit(X, labels)
    assert [path.name for path in folder.iterdir()] == ["000004"]


CASES = {
    "terms": lambda a: {name: a[name][:-1] for name in ("terms.shape", "terms.L", "terms.offset")},
    "more terms": lambda a: {
        name: np.concatenate([a[name]] * 9) for name in ("terms.shape", "terms.L", "terms.offset")
    },
    "one component": lambda a: {name: a[name][:1] for name in ("terms.scale", "terms.shape_sums")},
    "no component": lambda a: {name: a[name][:0] for name in ("terms.scale", "terms.shape_sums")},
    "precision": lambda a: {"terms.shape": a["terms.shape"].astype(np.float32)},
    "negative": lambda a: {"terms.shape": -a["terms.shape"]},
    "not finite": lambda a: {"terms.L": a["terms.L"] * np.nan},
    "empty scopes": lambda a: {"scopes.mask": np.zeros_like(a["scopes.mask"])},
    "other scopes": lambda a: {"scopes.mask": a["scopes.mask"][:, :1]},
    "too small": lambda a: {"rates.scale": np.full_like(a["rates.scale"], 1e-300)},
    "too large": lambda a: {"terms.scale": np.full_like(a["terms.scale"], 1e300)},
    "other labels": lambda a: {name: a[name][:2] for name in ("rates.shape", "rates.scale")},
}


@pytest.mark.parametrize("case", CASES)
def test_arrays_that_do_not_fit_the_documents_are_refused(copy, case):
    X, labels, folder, last = copy
    changed(last, **CASES[case](store.read(last / "state.vbnmf")[1]))
    assert_refused(X, labels, folder)


@pytest.mark.parametrize(
    "header",
    [
        {"loop": {"iteration": 99, "history": [], "rise": None, "converged": False}},
        {"loop": {"iteration": 4, "history": ["x"], "rise": None, "converged": False}},
        {"loop": {}},
        {"prior": [0.1, -1.0, 0.2, 1.0, 1.0, 1.0]},
        {"loop": {"iteration": 4, "history": [], "rise": None, "converged": False}},
        {"loop": {"iteration": 4, "history": [1.0], "rise": 1e200, "converged": False}},
        {"found": {"background": None, "asked": {}}},
        {"prior": [1e-200, 1.0, 0.2, 1.0, 1.0, 1.0]},
        {"terms": ["x" * 3000, None]},
        {"prior": [0.1]},
        {"found": {"background": 77, "asked": 5}},
        {"inverse_temperature": 1e9},
        {"outside": 0},
        {"terms": ["x", None]},
    ],
    ids=str,
)
def test_headers_that_do_not_fit_the_fit_are_refused(copy, header):
    X, labels, folder, last = copy
    changed(last, header)
    assert_refused(X, labels, folder)
