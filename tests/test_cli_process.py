"""What only a process shows: streams, exit codes, pipes, Ctrl-C, and what is imported."""

import os
import signal
import subprocess
import sys
import time

import pytest
from cliruns import FIT, TEXTS, command, make_corpus, ok, process, write_csv

from vbnmf import cli

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("process")
    write_csv(home / "a.csv", [f"{text} 茶" for text in TEXTS], labels=["ü", "茶"] * 21)
    ok("fit", home / "a.csv", "--label", "label", *FIT, "--out", home / "a.vbnmf")
    return home


def test_help_is_light():
    """No array library is imported for --help, --version and the help of commands."""
    code = (
        "import sys\nfrom vbnmf.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'narwhals', 'rich'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or 0)"
    )
    for args in (["--help"], ["--version"], ["fit", "--help"], ["demo", "--help"]):
        run = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        assert "vbnmf" in run.stdout


def test_streams_and_exit_codes(home):
    good = process("predict", home / "a.vbnmf", home / "a.csv", text=True, encoding="utf-8")
    assert good.returncode == 0
    assert good.stdout.startswith("id,label,score,note\n2,")
    assert good.stderr == ""
    taken = process("fit", home / "a.csv", "--out", home / "a.vbnmf", text=True)
    assert (taken.returncode, taken.stdout) == (2, "")
    assert taken.stderr.endswith("a.vbnmf exists. Add --force to replace it.\n")
    bad = process("predict", home / "a.vbnmf", home / "nowhere.csv", text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.endswith("nowhere.csv: no such file or folder.\n")
    assert bad.stderr.count("\n") == 1


def test_debugging_shows_where(home):
    environment = os.environ | {"VBNMF_DEBUG": "1"}
    bad = process("predict", home / "a.vbnmf", home / "nowhere.csv", text=True, env=environment)
    assert bad.returncode == 1
    assert "Traceback" in bad.stderr
    assert "ReaderError" in bad.stderr


@pytest.mark.parametrize(
    ("encoding", "args"),
    [("ascii", ["predict", "a.csv"]), ("latin-1", ["topics"]), ("cp1252", ["topics", "--json"])],
)
def test_output_is_utf8_wherever_it_goes(home, encoding, args):
    """A pipe or file of Windows has a code page that lacks most letters."""
    environment = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    rest = [home / arg if arg.endswith(".csv") else arg for arg in args[1:]]
    run = process(args[0], home / "a.vbnmf", *rest, env=environment)
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode("utf-8")
    assert "茶" in text
    assert "ü" in text


@posix
def test_names_of_files_that_are_no_text(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        name = os.fsencode(folder / f"{i:02}") + b"\xff.txt"
        try:
            with open(name, "w") as file:
                file.write(text)
        except OSError:
            pytest.skip("the file system takes names that are UTF-8 only")
    (tmp_path / "labels.txt").write_text("\n".join(["a", "b"] * 21))
    model = tmp_path / "m.vbnmf"
    ok("fit", folder, "--label-file", tmp_path / "labels.txt", *FIT, "--out", model)
    printed = process("predict", model, folder)
    assert printed.returncode == 0
    assert printed.stdout.decode("utf-8").splitlines()[1].startswith(r"00\udcff.txt,")
    for out in ("p.csv", "p.jsonl"):
        ok("predict", model, folder, "--out", tmp_path / out)
    for out in ("c.csv", "c.parquet", "c.npz"):
        ok("transform", model, folder, "--out", tmp_path / out)


@posix
@pytest.mark.parametrize(
    ("lines", "flags"), [(3, ()), (20_000, ("--json",))], ids=["less than a buffer holds", "more"]
)
def test_reader_that_has_had_enough(home, tmp_path, lines, flags):
    """`vbnmf predict … | head` ends without a word."""
    write_csv(tmp_path / "b.csv", ["kettle"] * lines, labels=[""] * lines)
    args = command("predict", home / "a.vbnmf", tmp_path / "b.csv", "--quiet", *flags)
    # with buffers, as in a terminal: unbuffered output fails at the first write
    environment = {key: os.environ[key] for key in os.environ if key != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    os.close(read)
    try:
        run = subprocess.run(  # noqa: S603
            args, stdout=write, stderr=subprocess.PIPE, env=environment, check=False
        )
    finally:
        os.close(write)
    assert run.stderr == b""
    assert run.returncode == 1


@pytest.mark.parametrize(
    "where",
    ["vbnmf.cli._open_closed_streams", "click.Group._main_shell_completion",
     "click.Group.parse_args", "click.Group.invoke", "click.Context.close",
     "vbnmf.cli.signal.signal"],
)  # fmt: skip
def test_interrupt_at_any_moment(monkeypatch, capsys, where):
    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    monkeypatch.setattr("sys.argv", ["vbnmf", "data", "--help"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "\nStopped.\n"


@posix
def test_interrupted_fit_leaves_nothing(tmp_path):
    texts, labels = make_corpus(3, n_each=400)
    path, out = write_csv(tmp_path / "a.csv", texts, labels), tmp_path / "m.vbnmf"
    out.write_text("the model of yesterday")
    args = command("fit", path, "--label", "label", "--force", "--out", out)
    fit = subprocess.Popen(  # noqa: S603
        [*args, "--tol", "0", "--max-iter", "1000000", "-k", "50"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = fit.stderr.readline() + fit.stderr.readline()
        assert "Fitting 50 components" in said
        time.sleep(0.3)  # into the iterations
        fit.send_signal(signal.SIGINT)
        stdout, stderr = fit.communicate(timeout=60)
    finally:
        fit.kill()
    assert fit.returncode == 130
    assert "Traceback" not in stderr
    assert stdout == ""
    assert out.read_text() == "the model of yesterday"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "m.vbnmf"]


class TestClosedStandardError:
    """Messages are lost, and everything else is done."""

    @pytest.fixture
    def args(self, home, tmp_path):
        return command("fit", home / "a.csv", "--label", "label", "-k", "6", "--max-iter", "15",
                       "--out", tmp_path / "m.vbnmf")  # fmt: skip

    @posix
    @pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
    def test_from_the_beginning(self, args, home, tmp_path, closed):
        shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *args]
        assert subprocess.run(shell, check=False).returncode == 0  # noqa: S603
        assert (tmp_path / "m.vbnmf").read_bytes() == (home / "a.vbnmf").read_bytes()

    @posix
    def test_an_error_has_its_exit_code(self, args, tmp_path):
        (tmp_path / "m.vbnmf").write_text("taken")
        shell = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *args]
        assert subprocess.run(shell, check=False).returncode == 2  # noqa: S603

    @posix
    def test_by_its_reader(self, args, home, tmp_path):
        read, write = os.pipe()
        os.close(read)
        try:
            run = subprocess.run(args, stderr=write, check=False)  # noqa: S603
        finally:
            os.close(write)
        assert run.returncode == 0
        assert (tmp_path / "m.vbnmf").read_bytes() == (home / "a.vbnmf").read_bytes()
