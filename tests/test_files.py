"""Files that are written whole or not at all: errors, permissions, what is left behind."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from cliruns import FIT, LABELS, TEXTS, command, make_corpus, ok, process, run, write_csv
from numpy.testing import assert_array_equal
from safetensors import SafetensorError

from vbnmf import files, load, store
from vbnmf.cli import common
from vbnmf.files import check_writable, only_user, replacing

posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and locks of POSIX")
NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/some/.hidden.part")


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The folder for temporary files, and no other place for a model that cannot be saved."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(common, "_places", lambda: [str(tmp_path / "missing"), str(folder)])
    return folder


def fill_the_disk(monkeypatch, folder, error=NO_SPACE):
    """Let models be saved anywhere but in a folder and below it."""
    before = store.save_file

    def save(arrays, path, **options):
        if folder in path.parents:
            raise error
        before(arrays, path, **options)

    monkeypatch.setattr(store, "save_file", save)


@pytest.mark.parametrize("error", [NO_SPACE, SafetensorError("Error: No space left on device")])
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, monkeypatch, elsewhere, error):
    write_csv(tmp_path / "a.csv")
    fill_the_disk(monkeypatch, tmp_path, error)
    result = run("fit", tmp_path / "a.csv", *FIT, "--out", tmp_path / "m.vbnmf")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "cannot write" in result.err
    assert "m.vbnmf: " in result.err
    assert "No space left on device" in result.err
    assert "so it is lost" in result.err
    assert listed(tmp_path) == ["a.csv", "temporary"]
    assert listed(elsewhere) == []


def kept_model(result, elsewhere):
    """The one model in the folder for temporary files, which the one line names."""
    assert result.code == 2
    assert result.err.count("\n") == 1
    (folder,) = elsewhere.iterdir()
    (path,) = folder.iterdir()
    assert f"The model was saved to {path} instead. Move it" in result.err
    return load(path)


@pytest.mark.parametrize("kind", ["file", "shards"])
def test_a_full_disk_does_not_cost_the_model(tmp_path, monkeypatch, elsewhere, kind):
    data = write_csv(tmp_path / "a.csv")
    label = ("--label", "auto")
    if kind == "shards":
        ok("vectorize", data, *label, "--out", tmp_path / "a.shards", "--quiet")
        data, label = tmp_path / "a.shards", ()
    out = tmp_path / "full" / "m.vbnmf"
    out.parent.mkdir()
    fit = ("fit", data, *label, *FIT)
    fill_the_disk(monkeypatch, out.parent)
    kept = kept_model(run(*fit, "--out", out), elsewhere)
    ok(*fit, "--out", tmp_path / "m.vbnmf")
    expected = load(tmp_path / "m.vbnmf")
    assert_array_equal(kept.predict_proba(TEXTS), expected.predict_proba(TEXTS))
    assert listed(out.parent) == []


def test_a_full_disk_does_not_cost_an_update(tmp_path, monkeypatch, elsewhere):
    data = write_csv(tmp_path / "a.csv")
    model = tmp_path / "full" / "m.vbnmf"
    model.parent.mkdir()
    ok("fit", data, "--label", "auto", *FIT, "--out", model)
    before = model.read_bytes()
    fill_the_disk(monkeypatch, model.parent)
    kept = kept_model(run("update", model, data, "--quiet"), elsewhere)
    assert kept.estimator_.n_samples_seen_ == 2 * len(TEXTS)
    assert model.read_bytes() == before


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(mount, check=False).returncode:  # noqa: S603
        pytest.skip("only the superuser of a Linux system can mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607


def test_a_disk_that_is_full(small_disk, tmp_path, elsewhere):
    data = write_csv(tmp_path / "a.csv")
    (small_disk / "other").write_bytes(bytes(60_000))
    result = run("fit", data, "--label", "auto", *FIT, "--out", small_disk / "m.vbnmf")
    assert "No space left on device" in result.err
    assert kept_model(result, elsewhere).score(TEXTS, LABELS) > 0.9
    assert listed(small_disk) == ["other"]


def test_places_for_a_model_that_cannot_be_saved(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert common._places()[0] == str(tmp_path)

    def nowhere():
        raise FileNotFoundError("no usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    assert common._places()[0] == os.path.expanduser("~")


@posix
def test_a_file_that_grows_too_large(tmp_path):
    """What the system and the library of the model file make of it."""
    import resource

    write_csv(tmp_path / "a.csv")
    limited = process(
        *("fit", tmp_path / "a.csv", *FIT, "--out", tmp_path / "m.vbnmf"),
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert limited.returncode == 2, limited.stderr
    assert limited.stderr.startswith("Error: cannot write")
    assert "m.vbnmf: " in limited.stderr
    assert limited.stderr.count("\n") == 1
    assert listed(tmp_path) == ["a.csv"]


@pytest.mark.parametrize(
    ("args", "out"),
    [(("fit", "a.csv", "-k", "3"), "m.vbnmf"), (("predict", "no", "a.csv"), "p.csv"),
     (("transform", "no", "a.csv"), "c.csv"), (("report", "no"), "p.html")],
)  # fmt: skip
def test_the_output_is_tried_before_any_work(tmp_path, monkeypatch, args, out):
    monkeypatch.chdir(tmp_path)
    write_csv("a.csv")

    def refuse(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(files.os, "open", refuse)
    monkeypatch.setattr("vbnmf.data.read_documents", None)
    monkeypatch.setattr("vbnmf.loading.load", None)
    result = run(*args, "--out", out)
    assert result.code == 2
    assert result.err == f"Error: cannot write {tmp_path / out}: Permission denied.\n"


def test_trying_leaves_nothing(tmp_path):
    check_writable(tmp_path / "a")
    assert listed(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appeared_meanwhile_is_kept(tmp_path, monkeypatch, links):
    def no_link(*_):
        raise OSError("no links here")

    if not links:
        monkeypatch.setattr(files.os, "link", no_link)
    path = tmp_path / "m.vbnmf"
    for number in (2, 3):
        said = pytest.raises(FileExistsError, match=rf"written to .*m-{number}\.vbnmf")
        with said, replacing(path, overwrite=False) as temporary:
            temporary.write_text("new")
            path.write_text("of someone else")
        assert path.read_text() == "of someone else"
        assert (tmp_path / f"m-{number}.vbnmf").read_text() == "new"
    with replacing(tmp_path / "free", overwrite=False) as temporary:
        temporary.write_text("new")
    assert listed(tmp_path) == ["free", "m-2.vbnmf", "m-3.vbnmf", "m.vbnmf"]
    with replacing(path) as temporary:
        temporary.write_text("newer")
    assert path.read_text() == "newer"


def test_a_trained_model_is_not_lost_to_a_file_that_appeared(tmp_path, monkeypatch):
    write_csv(tmp_path / "a.csv")
    out = tmp_path / "m.vbnmf"
    before = store.save_file

    def late(*args, **kwargs):
        out.write_text("of someone else")
        before(*args, **kwargs)

    monkeypatch.setattr(store, "save_file", late)
    result = run("fit", tmp_path / "a.csv", *FIT, "--out", out)
    assert result.code == 2
    assert "was created by another program during this run" in result.err
    assert out.read_text() == "of someone else"
    assert load(tmp_path / "m-2.vbnmf").estimator_.n_components_ == 6
    ok("fit", tmp_path / "a.csv", *FIT, "--out", out, "--force")
    assert load(out).estimator_.n_components_ == 6


@pytest.mark.skipif(os.name != "posix", reason="permission bits are a POSIX idea")
def test_the_umask_of_the_process_is_not_touched(tmp_path, monkeypatch):
    """Another thread would create files that anyone may write to."""
    monkeypatch.setattr(os, "umask", None)
    with replacing(tmp_path / "a") as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) & 0o022 == 0
    (tmp_path / "secret").touch(0o600)
    with replacing(tmp_path / "secret") as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


@posix
def test_files_of_killed_runs_are_swept(tmp_path):
    """At once, and not those of living ones."""
    left, living = tmp_path / ".a[1].csv.0123abcd.part", tmp_path / ".a[1].csv.89abcdef.part"
    other = tmp_path / ".b.csv.0123abcd.part"
    for path in (left, living, other):
        path.mkdir()
        (path / "a[1].csv").touch()
    with only_user(living), replacing(tmp_path / "a[1].csv") as temporary:
        temporary.write_text("x")
    assert listed(tmp_path) == sorted([living.name, other.name, "a[1].csv"])


def test_files_of_killed_runs_without_locks(tmp_path, monkeypatch):
    """As on Windows: those that are old."""
    monkeypatch.setattr(files, "locks", None)
    old, young = tmp_path / ".a.csv.0123abcd.part", tmp_path / ".a.csv.89abcdef.part"
    for path in (old, young):
        path.mkdir()
    os.utime(old, (0, time.time() - 7200))
    with replacing(tmp_path / "a.csv") as temporary:
        temporary.write_text("x")
    assert listed(tmp_path) == sorted([young.name, "a.csv"])


@posix
def test_states_of_killed_fits_are_swept(tmp_path):
    """A fit from shards keeps documents × K numbers in the folder of temporary files."""
    write_csv(tmp_path / "a.csv")
    ok("vectorize", tmp_path / "a.csv", "--label", "auto", "--out", tmp_path / "s", "--quiet")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = (
        "import os, signal\n"
        "from vbnmf import Shards, SupervisedVBNMF\n"
        "def kill(progress):\n"
        "    if progress.stage == 'fitting':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"SupervisedVBNMF(3, callback=kill).fit(Shards({str(tmp_path / 's')!r}))\n"
    )
    environment = os.environ | {"TMPDIR": str(temporary)}
    args = [sys.executable, "-c", code]
    assert subprocess.run(args, env=environment, check=False).returncode < 0  # noqa: S603
    assert len(listed(temporary)) == 1
    args[2] = code.replace("SIGKILL", "SIGCONT")
    assert subprocess.run(args, env=environment, check=False).returncode == 0  # noqa: S603
    assert listed(temporary) == []


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_run_that_is_ended_leaves_nothing(tmp_path, name):
    """The signal comes while the file is written."""
    code = (
        "import os, signal, sys\n"
        "from vbnmf import store\n"
        "from vbnmf.cli import main\n"
        "before = store.save_file\n"
        "def save(*args, **kwargs):\n"
        "    before(*args, **kwargs)\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "store.save_file = save\n"
        "main()\n"
    )
    texts, labels = make_corpus(3)
    path = write_csv(tmp_path / "a.csv", texts, labels)
    args = [*command("fit", path, *FIT, "--out", tmp_path / "m.vbnmf")]
    args[2] = code
    ended = subprocess.run(args, capture_output=True, text=True, check=False)  # noqa: S603
    assert ended.returncode == 128 + getattr(signal, name)
    assert ended.stderr == ""
    assert listed(tmp_path) == ["a.csv"]


@posix
def test_a_folder_has_one_user_at_a_time(tmp_path):
    code = f"from vbnmf.files import only_user\nwith only_user({str(tmp_path)!r}): print('held')"

    def other():
        return subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )

    with only_user(tmp_path):
        assert "another run is using the folder" in other().stderr
    assert other().stdout == "held\n"
    assert listed(tmp_path) == []


@posix
def test_two_tune_in_one_folder(tmp_path):
    path = write_csv(tmp_path / "a.csv")
    (tmp_path / "out").mkdir()
    args = ("tune", path, "-k", "3", "--label-shape", "auto", "--out", tmp_path / "out", "--force")
    with only_user(tmp_path / "out"):
        result = run(*args)
    assert result.code == 2
    assert "another run is using the folder" in result.err
    ok(*args)


def test_names_of_files_do_not_control_the_terminal(tmp_path):
    evil = "\x1b[31mred\x9b.csv"
    result = run("fit", tmp_path / evil)
    assert r"\x1b[31mred\x9b.csv: no such file" in result.err
    assert "\x1b" not in result.err
    (tmp_path / evil.replace(".csv", ".vbnmf")).touch()
    taken = run("fit", "x.csv", "--out", tmp_path / evil.replace(".csv", ".vbnmf"))
    assert r"\x1b[31mred\x9b.vbnmf exists" in taken.err
    wrong = run("fit", "x.csv", "--config", tmp_path / evil)
    assert r"\x1b[31mred\x9b.csv cannot be read" in wrong.err
    folder = tmp_path / "docs"
    folder.mkdir()
    for i, text in enumerate(make_corpus(0)[0]):
        (folder / f"\x1b{i}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "labels").write_text("\n".join(["a", "b"] * 21))
    ok("fit", folder, "--label-file", tmp_path / "labels", *FIT, "--out", tmp_path / "m")
    assert r"\x1b0.txt" in ok("predict", tmp_path / "m", folder).out


def test_results_do_not_control_the_terminal(tmp_path):
    """The command that `tune` suggests, and the new labels that `update` lists."""
    evil = write_csv(tmp_path / "\x1b[31mred.csv")
    found = ok("tune", evil, "-k", "3", "--label-shape", "auto", "--out", tmp_path / "out")
    assert r"\x1b[31mred.csv" in found.out
    ok("fit", evil, "--label", "auto", *FIT, "--out", tmp_path / "m.vbnmf")
    write_csv(tmp_path / "new.csv", TEXTS[:3], ["\x1b[31mred"] * 3)
    told = ok("update", tmp_path / "m.vbnmf", tmp_path / "new.csv", "--quiet")
    assert r"New labels: \x1b[31mred." in told.out


def test_many_new_labels_are_counted(tmp_path):
    file = write_csv(tmp_path / "a.csv")
    ok("fit", file, "--label", "auto", *FIT, "--out", tmp_path / "m.vbnmf")
    write_csv(tmp_path / "new.csv", TEXTS[:12], [f"new{i:02}" for i in range(12)])
    told = ok("update", tmp_path / "m.vbnmf", tmp_path / "new.csv", "--quiet")
    assert "New labels: new00, " in told.out
    assert "new09 and 2 more." in told.out
    assert "new10" not in told.out.partition("new09")[2].splitlines()[0]


def test_threads_write_at_the_same_time(tmp_path):
    def write():
        for _ in range(20):
            with replacing(tmp_path / "a") as temporary:
                temporary.write_text("whole")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_text() == "whole"
    assert listed(tmp_path) == ["a"]
