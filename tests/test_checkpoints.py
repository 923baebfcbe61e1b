"""Checkpoints: a fit that was stopped at any moment goes on to the same bits."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cliruns import FIT, LABELS, TEXTS, ok, run, write_csv
from numpy.testing import assert_array_equal
from smallfits import drawn, value_of

from vbnmf import VBNMF, Checkpoint, Shards, SupervisedVBNMF
from vbnmf.core.fit import FITTING, HEAD, HEAD_ON_SHARDS
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators import heads
from vbnmf.estimators.checkpoints import CheckpointWarning
from vbnmf.shards import write_shards

ATTRIBUTES = ["component_shapes_", "component_scales_", "bound_history_", "n_iter_", "background_"]


class Stopped(Exception):
    pass


def stop_at(iteration):
    def stop(progress):
        if progress.stage == FITTING and progress.iteration == iteration:
            raise Stopped

    return stop


def same(a, b):
    names = [*ATTRIBUTES, "n_components_reason_", "hyperparameters_"]
    names += ["label_rates_", "head_.words", "scopes_"] if hasattr(a, "classes_") else []
    for name in names:
        assert_array_equal(value_of(a, name), value_of(b, name), err_msg=name)


# a stop in the middle is in the ordinary run, one at either end is not
FIRST, LAST = (pytest.param(stop, marks=pytest.mark.slow) for stop in (1, 14))
CASES = {
    "auto": (SupervisedVBNMF, {"n_components": 5}),
    "number found": (SupervisedVBNMF, {"n_components": "auto"}),
    "shape for each label": (SupervisedVBNMF, {"n_components": 4, "scopes": "all"}),
    "random": (SupervisedVBNMF, {"n_components": 4, "init": "random", "burn_in": 3}),
    "unsupervised": (VBNMF, {"n_components": 4, "term_shape": "learned"}),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow if c == "number found" else ()) for c in CASES],
)
@pytest.mark.parametrize("stop", [FIRST, 6, LAST])
@pytest.mark.parametrize("where", ["memory", "shards"])
def test_a_stopped_fit_goes_on_to_the_same_bits(case, stop, where, tmp_path):
    make, parameters = CASES[case]
    X, y = drawn()
    y = [None if i % 4 == 0 else f"label {code}" for i, code in enumerate(y)]
    if where == "shards":
        write_shards(tmp_path / "shards", X, y, shard_nonzeros=400)
        X, y = Shards(tmp_path / "shards"), None
    parameters = parameters | {"max_iter": 14, "tol": 0, "random_state": 0, "bound_every": 4}
    whole = make(**parameters).fit(X, y)
    checkpoint = Checkpoint(tmp_path / "kept", seconds=0)
    model = make(**parameters, checkpoint=checkpoint, callback=stop_at(stop))
    with pytest.raises(Stopped):
        model.fit(X, y)
    kept = [f"{number:06d}" for number in range(max(stop - 1, 1), stop + 1)]
    assert sorted(os.listdir(tmp_path / "kept")) == kept
    seen = []
    resumed = make(**parameters, checkpoint=checkpoint, callback=seen.append).fit(X, y)
    assert {p.iteration for p in seen if p.stage == FITTING} == set(range(stop + 1, 15))
    same(resumed, whole)


def test_other_documents_or_parameters_begin_anew(tmp_path):
    X, _ = drawn()
    checkpoint = Checkpoint(tmp_path, seconds=0)
    VBNMF(3, max_iter=4, tol=0, random_state=0, checkpoint=checkpoint).fit(X)
    for changed, other in [(X[1:], {}), (X, {"coef_shape": 0.5})]:
        seen = []
        parameters = {"max_iter": 4, "tol": 0, "random_state": 0} | other
        with pytest.warns(CheckpointWarning, match="other documents, parameters or kernels"):
            VBNMF(3, checkpoint=checkpoint, callback=seen.append, **parameters).fit(changed)
        assert min(p.iteration for p in seen if p.stage == FITTING) == 1


def test_a_full_disk_leaves_the_last_one_whole(tmp_path, monkeypatch):
    X, _ = drawn()
    whole = VBNMF(3, max_iter=6, tol=0, random_state=0).fit(X)
    write, calls = ShardEngine.snapshot, []

    def full(self, folder):
        calls.append(1)
        write(self, folder)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(ShardEngine, "snapshot", full)
    model = VBNMF(3, max_iter=6, tol=0, random_state=0, checkpoint=Checkpoint(tmp_path, seconds=0))
    with pytest.raises(OSError, match=r"No space left on device.* last one is whole"):
        model.fit(X)
    assert sorted(os.listdir(tmp_path)) == ["000001", "000002"]
    same(model.fit(X), whole)


def test_a_disk_that_is_full_from_the_beginning(tmp_path, monkeypatch):
    def full(self, folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ShardEngine, "snapshot", full)
    model = VBNMF(3, max_iter=6, tol=0, random_state=0, checkpoint=Checkpoint(tmp_path, seconds=0))
    with pytest.raises(OSError, match=r"No space left on device\. There is no earlier one\."):
        model.fit(drawn()[0])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", [3, True, object()])
def test_refusals(value):
    with pytest.raises(ValueError, match="checkpoint must be"):
        VBNMF(2, checkpoint=value).fit(drawn()[0])


@pytest.mark.parametrize("where", ["memory", "shards"])
@pytest.mark.parametrize(
    "restart", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)]
)
def test_several_starts(restart, where, tmp_path):
    X, y = drawn()
    if where == "shards":
        write_shards(tmp_path / "shards", X, y, shard_nonzeros=400)
        X, y = Shards(tmp_path / "shards"), None
    parameters = {"init": "random", "n_init": 3, "max_iter": 6, "tol": 0, "random_state": 1}
    whole = SupervisedVBNMF(4, **parameters).fit(X, y)

    def stop(progress):
        if (progress.stage, progress.restart, progress.iteration) == (FITTING, restart, 4):
            raise Stopped

    checkpoint = Checkpoint(tmp_path / "kept", seconds=0)
    with pytest.raises(Stopped):
        SupervisedVBNMF(4, **parameters, checkpoint=checkpoint, callback=stop).fit(X, y)
    seen = []
    resumed = SupervisedVBNMF(4, **parameters, checkpoint=checkpoint, callback=seen.append)
    same(resumed.fit(X, y), whole)
    steps = [(p.restart, p.iteration) for p in seen if p.stage == FITTING]
    assert min(steps) == (restart, 5)
    kept = [list(f.iterdir()) for f in sorted((tmp_path / "kept").iterdir())]
    assert sorted(f.name for folder in kept for f in folder) == [
        "000005", "000006", "lost", "lost",
    ]  # fmt: skip
    seen.clear()
    same(resumed.fit(X, y), whole)  # once more: nothing is left to do
    assert not [p for p in seen if p.stage == FITTING]


SCRIPT = """
import sys, time
import numpy as np
from vbnmf import Checkpoint, Shards, SupervisedVBNMF
slow = lambda progress: time.sleep(0.03)
SupervisedVBNMF(5, init="label", max_iter=40, tol=0, random_state=0, callback=slow,
                checkpoint=Checkpoint(sys.argv[2], seconds=0)).fit(Shards(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no kill -9")
def test_kill_9_at_random_moments(tmp_path):
    X, y = drawn()
    write_shards(tmp_path / "shards", X, y, shard_nonzeros=400)
    parameters = {"init": "label", "max_iter": 40, "tol": 0, "random_state": 0}
    whole = SupervisedVBNMF(5, **parameters).fit(Shards(tmp_path / "shards"))
    rng = np.random.default_rng(0)
    kept = tmp_path / "kept"
    for _ in range(3):
        arguments = [sys.executable, "-c", SCRIPT, tmp_path / "shards", kept]
        child = subprocess.Popen(list(map(str, arguments)))  # noqa: S603
        begun = time.monotonic()
        before = set(os.listdir(kept)) if kept.exists() else set()
        while child.poll() is None and time.monotonic() - begun < 60:
            if kept.exists() and {f for f in os.listdir(kept) if f.isdigit()} - before:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        child.kill()
        child.wait()
    assert any(name.isdigit() for name in os.listdir(kept))
    checkpoint = Checkpoint(kept, seconds=0)
    resumed = SupervisedVBNMF(5, **parameters, checkpoint=checkpoint).fit(
        Shards(tmp_path / "shards")
    )
    same(resumed, whole)


IN_HEAD = """
import os, signal, sys
from vbnmf import Checkpoint, Shards, SupervisedVBNMF
from vbnmf.estimators import heads
heads.HEAD_NONZEROS = 600
def kill(progress):
    if progress.stage == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
SupervisedVBNMF(5, init="label", max_iter=10, tol=0, random_state=0, callback=kill,
                classifier="words and components",
                checkpoint=Checkpoint(sys.argv[2], iterations=4, seconds=0)
                ).fit(Shards(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no kill -9")
@pytest.mark.parametrize("stage", [HEAD, HEAD_ON_SHARDS])
def test_kill_9_in_the_training_of_the_head(tmp_path, monkeypatch, stage):
    monkeypatch.setattr(heads, "HEAD_NONZEROS", 600)
    X, y = drawn()
    write_shards(tmp_path / "shards", X, y, shard_nonzeros=400)
    shards, kept = Shards(tmp_path / "shards"), tmp_path / "kept"
    parameters = {"init": "label", "max_iter": 10, "tol": 0, "random_state": 0}
    parameters["classifier"] = "words and components"
    whole = SupervisedVBNMF(5, **parameters).fit(shards)
    arguments = [sys.executable, "-c", IN_HEAD, shards.path, kept, stage]
    done = subprocess.run(list(map(str, arguments)), check=False)  # noqa: S603
    assert done.returncode == -signal.SIGKILL
    # although not four iterations after the last one, which is kept beside it
    assert sorted(os.listdir(kept)) == ["000008", "000010"]
    seen = []
    checkpoint = Checkpoint(kept, iterations=4, seconds=0)
    resumed = SupervisedVBNMF(5, **parameters, checkpoint=checkpoint, callback=seen.append)
    same(resumed.fit(shards), whole)
    assert {p.stage for p in seen} == {HEAD, HEAD_ON_SHARDS}


def test_the_command_line(tmp_path):
    write_csv(tmp_path / "a.csv", TEXTS, LABELS)
    kept, fit = tmp_path / "kept", ("fit", tmp_path / "a.csv", "--label", "label", *FIT)
    result = run(*fit, "--resume", "--checkpoint", kept, "--out", tmp_path / "m")
    assert (result.code, "no folder" in result.err) == (2, True)
    aloud = [part for part in fit if part not in ("-q", "--quiet")]
    said = ok(*aloud, "--checkpoint", kept, "--out", tmp_path / "m").err
    assert "less than a minute, so no checkpoint was written" in said
    result = run(*fit, "--resume", "--checkpoint", kept, "--out", tmp_path / "n")
    assert (result.code, "ended or was stopped before that" in result.err) == (2, True)
    kept.joinpath("000000").mkdir(parents=True, exist_ok=True)
    result = run(*fit, "--checkpoint", kept, "--out", tmp_path / "n")
    assert (result.code, "Add --resume" in result.err) == (2, True)
    shutil.rmtree(kept)
    # a kill before the first checkpoint, with several starts
    (kept / "start-01" / ".000001.part").mkdir(parents=True)
    ok(*fit, "--checkpoint", kept, "--out", tmp_path / "n")
    result = run(*fit, "--resume", "--out", tmp_path / "o")
    assert (result.code, "--resume needs --checkpoint" in result.err) == (2, True)
