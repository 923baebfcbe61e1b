"""Fits on Dask workers in processes of their own, some of which are killed."""

import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from cliruns import ok, run
from numpy.testing import assert_array_equal
from smallfits import ATTRIBUTES, drawn, labels_of, value_of

from vbnmf import Checkpoint, Shards, SupervisedVBNMF, load
from vbnmf.core.fit import FITTING
from vbnmf.distributed import connect
from vbnmf.distributed.remote import ClusterError
from vbnmf.shards import write_shards

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.slow
PARAMETERS = {"max_iter": 8, "tol": 0, "random_state": 0, "init": "label"}
FIT = ("-k", "6", "--max-iter", "8", "--tol", "0")


@pytest.fixture(scope="module")
def client():
    """Two processes, one of which a task may kill before it is given up."""
    allowed = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1}
    with allowed, distributed.Client(**options, dashboard_address="127.0.0.1:0") as client:
        yield client


@pytest.fixture
def shards(tmp_path):
    X, y = drawn()
    write_shards(tmp_path / "a.shards", X, labels_of(y, "unknown"), shard_nonzeros=150)
    return Shards(tmp_path / "a.shards")


def test_workers_that_are_started_here_are_not_profiled():
    option = "distributed.worker.profile.enabled"
    with dask.config.set({option: True}):
        with connect(None, n_workers=1, n_threads=1) as client:
            assert set(client.run(dask.config.get, option).values()) == {False}
        assert dask.config.get(option)


def test_a_worker_that_is_killed_changes_nothing(client, shards):
    whole = SupervisedVBNMF(6, **PARAMETERS).fit(shards)
    client.wait_for_workers(2)
    victim = min(client.run(os.getpid).values())

    def kill(progress):
        if progress.stage == FITTING and progress.iteration == 3:
            deadly = getattr(signal, "SIGKILL", signal.SIGTERM)
            threading.Timer(0.01, os.kill, (victim, deadly)).start()  # during the next sweep

    model = SupervisedVBNMF(6, **PARAMETERS, engine="dask", callback=kill).fit(shards)
    for name in ATTRIBUTES:
        assert_array_equal(value_of(model, name), value_of(whole, name))
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()
    assert not list(shards.path.glob(".fit-*"))


class Deadly(Shards):
    """Shards of which one kills every process but this one."""

    def __init__(self, path, spared):
        super().__init__(path)
        self.spared = spared

    def by_term(self, number):
        if number == 1 and os.getpid() != self.spared:
            os._exit(1)
        return super().by_term(number)


def test_a_shard_that_kills_workers_is_named_with_its_size(client, shards):
    client.wait_for_workers(2)
    entry = shards.entries[1]
    expected = rf"shard 00001 \({entry.n_docs} documents, {entry.nnz} non-zeros\) killed every"
    with pytest.raises(ClusterError, match=expected):
        SupervisedVBNMF(6, **PARAMETERS, engine="dask").fit(Deadly(shards.path, os.getpid()))


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler with one worker: its process and its address."""
    options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
    address = next(filter(None, (re.search(r"tcp://[\d.:]+", line) for line in first.stderr)))[0]
    threading.Thread(target=first.stderr.read, daemon=True).start()
    options = ["--no-dashboard", "--nthreads", "1", "--no-nanny", "--death-timeout", "60"]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    second = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    yield first, address
    for process in (second, first):
        process.kill()
        process.wait()


def test_the_command_line_on_a_scheduler_that_is_lost(scheduler, shards, tmp_path, monkeypatch):
    process, address = scheduler
    command = ("fit", shards.path, *FIT, "--json")
    whole = ok(*command, "--out", tmp_path / "whole").json
    on_cluster = (*command, "--scheduler", address)
    assert ok(*on_cluster, "--out", tmp_path / "b").json | {"model": ""} == whole | {"model": ""}
    a, b = (load(tmp_path / name).estimator_.component_shapes_ for name in ("whole", "b"))
    assert_array_equal(a, b)

    from vbnmf.estimators import checkpoints

    keep, kept = checkpoints.Keeper.keep, tmp_path / "kept"

    def keep_and_kill(self, engine, loop, state, found):
        self._checkpoint = Checkpoint(kept, seconds=0)
        keep(self, engine, loop, state, found)
        if loop.iteration == 4:
            process.kill()

    monkeypatch.setattr(checkpoints.Keeper, "keep", keep_and_kill)
    result = run(*on_cluster, "--checkpoint", kept, "--out", tmp_path / "c")
    assert result.code == 2
    lost = f"Error: the connection to the Dask scheduler at {address} is lost."
    assert result.err.splitlines()[-1].startswith(lost)
    assert "Traceback" not in result.err
    assert sorted(os.listdir(kept)) == ["000003", "000004"]
    found = ok(*command, "--checkpoint", kept, "--resume", "--out", tmp_path / "c").json
    assert found | {"model": ""} == whole | {"model": ""}
    assert_array_equal(load(tmp_path / "c").estimator_.component_shapes_, a)


def test_logs_of_dask_are_not_shown_beside_the_error():
    """Dask sets the level of each of its loggers when it is imported."""
    code = "from vbnmf.distributed import turn_off_logs; turn_off_logs(); import logging\n"
    names = ("distributed.client", "distributed.core", "tornado.application", "asyncio")
    code += "\n".join(f"logging.getLogger({name!r}).error('lost')" for name in names)
    command = [sys.executable, "-c", f"{code}\nprint('end')"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert (found.stdout, found.stderr) == ("end\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scheduler", "a:1", "--workers", "2"], "exclude each other"),
        (["--scheduler", "a:1", "--tls-ca", __file__], "belong together"),
        (["--scratch", "."], "needs --scheduler or --workers"),
        (["--workers", "0"], "0 is not in the range"),
        (["--scheduler", "no such scheme://"], "cannot connect to a Dask scheduler"),
    ],
)
def test_options_that_do_not_fit(shards, options, message):
    result = run("fit", shards.path, *options)
    assert (result.code, message in result.err) == (2, True), result.err


def test_a_file_in_place_of_shards(tmp_path):
    tmp_path.joinpath("a.csv").write_text("text,label\na b,c\n", encoding="utf-8")
    result = run("fit", tmp_path / "a.csv", "--workers", "1", "--out", tmp_path / "m")
    assert (result.code, "need a shard folder" in result.err) == (2, True)


def test_tls_files_are_passed_on(shards, monkeypatch):
    seen = {}

    def refuse(address, security):
        seen.update(address=address, security=security)
        raise OSError("no")

    monkeypatch.setattr(distributed, "Client", refuse)
    files = [option for name in ("ca", "cert", "key") for option in (f"--tls-{name}", __file__)]
    result = run("fit", shards.path, "--scheduler", "host:8786", *files)
    assert (result.code, "at tls://host:8786: no" in result.err) == (2, True)
    security = seen["security"]
    assert security.require_encryption
    assert {security.tls_ca_file, security.tls_client_cert, security.tls_client_key} == {__file__}


def test_help_says_whom_to_trust():
    text = " ".join(ok("fit", "--help").out.split())
    assert "trusted network or with TLS only: messages are pickles" in text
    assert np.all([f"--{name}" in text for name in ("scheduler", "workers", "tls-key", "scratch")])
