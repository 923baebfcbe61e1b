"""vbnmf vectorize with several processes: the same bytes, also after a signal, and no orphans."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cliruns import LABELS, TEXTS, run, write_csv
from test_shards import contents

from vbnmf import vectorizing
from vbnmf.text import DocumentVectorizer
from vbnmf.vectorizing import vectorize_to_shards

N_JOBS = 2
SMALL_PARTS = "from vbnmf import cli, vectorizing; vectorizing.PART = 20; cli.main()"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("jobs") / "a.csv"
    return write_csv(path, TEXTS * 25, LABELS * 25)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(vectorizing, "PART", 20)


@pytest.fixture(scope="module")
def whole(table, tmp_path_factory):
    """The shard folder that every run must come to."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectorizing, "PART", 20)
        vectorize_to_shards(table, folder, text="text", label="label")
    return contents(folder)


@pytest.mark.usefixtures("small_parts")
def test_the_bytes_do_not_depend_on_the_number_of_processes(table, whole, tmp_path):
    vectorize_to_shards(table, tmp_path / "s", text="text", label="label", n_jobs=N_JOBS)
    assert contents(tmp_path / "s") == whole


@pytest.mark.usefixtures("small_parts")
def test_a_fitted_vectorizer(table, tmp_path):
    fitted = DocumentVectorizer(stem="english").fit(TEXTS)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, n_jobs in zip(folders, (1, N_JOBS), strict=True):
        vectorize_to_shards(table, folder, fitted, text="text", label="label", n_jobs=n_jobs)
    assert contents(folders[0]) == contents(folders[1])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs the processes of Linux")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_signal_leaves_a_run_that_continues_and_no_process(table, whole, tmp_path, number, code):
    folder = tmp_path / "s"
    command = [sys.executable, "-c", SMALL_PARTS, "vectorize", table, "--label", "label", "--text",
               "text", "--out", folder, "--n-jobs", str(N_JOBS)]  # fmt: skip
    stopped = subprocess.Popen(  # noqa: S603
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (folder / "counts" / "000004.npz").exists():
        assert stopped.poll() is None, stopped.stderr.read()
        time.sleep(0.01)
    if number == signal.SIGINT:  # a terminal sends it to all processes
        os.killpg(stopped.pid, number)
    else:
        stopped.send_signal(number)
    _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == code
    assert "Traceback" not in said
    for _ in range(200):
        if not (left := _processes(stopped.pid)):
            break
        time.sleep(0.05)
    assert left == []
    assert not (folder / "manifest.json").exists()
    again = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert again.returncode == 0, again.stderr
    assert "Resuming the interrupted run" in again.stderr
    assert contents(folder) == whole


def _processes(session):
    """Processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(path.parent.name)
    return found


@pytest.mark.usefixtures("small_parts")
def test_an_error_in_a_worker_is_one_line(table, tmp_path, monkeypatch):
    folder = tmp_path / "s"
    monkeypatch.setattr(vectorizing.PartsOfCounts, "path", lambda *_: tmp_path / "none" / "a.npz")
    said = run("vectorize", table, "--label", "label", "--text", "text", "--out", folder,
               "--n-jobs", N_JOBS, "--quiet")  # fmt: skip
    assert said.code == 2
    assert said.err.startswith("Error: cannot write ")
    assert said.err.count("\n") == 1


def test_jobs_must_be_a_number_of_processes(table, tmp_path):
    said = run("vectorize", table, "--out", tmp_path / "s", "--n-jobs", 0)
    assert said.code == 2
    assert "--n-jobs" in said.err
