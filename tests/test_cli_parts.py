"""predict and transform read and write in parts, whose number and size make no difference."""

import gzip
import io
import json
import re
import sys
import tracemalloc

import numpy as np
import pyarrow.parquet
import pytest
from cliruns import FIT, LABELS, TEXTS, counts, ok, run, write_csv
from scipy import sparse

from vbnmf.cli import common, progress
from vbnmf.cli.progress import Display, DocumentProgress, Waiting

WRITERS = [
    *(("predict", name) for name in ("p.csv", "p.tsv", "p.jsonl")),
    *(("transform", name) for name in ("c.csv", "c.tsv", "c.parquet", "c.npz")),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("parts")
    write_csv(home / "a.csv", [*TEXTS, "…"], [*LABELS, ""])
    sparse.save_npz(home / "a.npz", counts()[0])
    (home / "labels.txt").write_text("\n".join(LABELS), encoding="utf-8")
    ok("fit", home / "a.csv", "--label", "label", *FIT, "--out", home / "csv.vbnmf")
    labels = ("--label-file", home / "labels.txt")
    ok("fit", home / "a.npz", *labels, *FIT, "--out", home / "npz.vbnmf")
    return home


def read(path):
    """What a file of results holds."""
    if path.suffix == ".npz":
        with np.load(path) as stored:
            return {name: stored[name].tolist() for name in stored}
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pydict()
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["p.csv", "p.tsv"])
def test_tables_hold_no_formulas(tmp_path, name):
    labels = [{"sport": "=cmd|x", "food": "+1+1"}.get(label, label) for label in LABELS]
    write_csv(tmp_path / "a.csv", TEXTS, labels)
    model, out = tmp_path / "m.vbnmf", tmp_path / name
    ok("fit", tmp_path / "a.csv", "--label", "label", *FIT, "--out", model)
    ok("predict", model, tmp_path / "a.csv", "--keep", "label", "--out", out)
    found = out.read_text(encoding="utf-8")
    cells = {cell for line in found.splitlines() for cell in re.split(r"[,\t]", line)}
    assert {f"'{label}" if label[:1] in "=+" else label for label in labels} <= cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    ok("transform", model, tmp_path / "a.csv", "--keep", "label", "--out", tmp_path / f"c{name}")
    assert not re.search(r"(^|[,\t])[=+@]", (tmp_path / f"c{name}").read_text("utf-8"))


@pytest.mark.parametrize(("command", "name"), WRITERS)
@pytest.mark.parametrize("source", ["csv", "npz"])
def test_any_number_of_parts_gives_the_same(home, tmp_path, monkeypatch, command, name, source):
    files = home / f"{source}.vbnmf", home / f"a.{source}"
    whole = ok(command, *files, "--out", tmp_path / f"whole-{name}")
    monkeypatch.setattr(common, "PART", 5)
    parts = ok(command, *files, "--out", tmp_path / f"parts-{name}")
    assert read(tmp_path / f"parts-{name}") == read(tmp_path / f"whole-{name}")
    assert parts.err == whole.err.replace("whole-", "parts-")
    if source == "csv":
        assert "1 of 43 documents has no known term of non-zero weight (id 44)," in parts.err


def test_memory_does_not_grow_with_the_file(home, tmp_path, monkeypatch):
    monkeypatch.setattr(common, "PART", 100)
    peaks = []
    for n in (500, 500, 4000):
        path = write_csv(tmp_path / f"{n}.csv", [f"{TEXTS[0]} " * 30] * n, [""] * n)
        tracemalloc.start()
        ok(
            "predict",
            home / "csv.vbnmf",
            path,
            "--quiet",
            "--n-jobs",
            1,
            "--out",
            tmp_path / "p.csv",
            "--force",
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert path.stat().st_size > 7e6
    assert peaks[2] < 1.3 * peaks[1] + 1e6


def test_an_error_in_a_later_part_leaves_nothing(home, tmp_path, monkeypatch):
    monkeypatch.setattr(common, "PART", 5)
    path = write_csv(tmp_path / "b.csv", [*TEXTS, " "], [*LABELS, "tea"])
    for out in ((), ("--out", tmp_path / "p.csv")):
        result = run("predict", home / "csv.vbnmf", path, "--strict", *out)
        assert (result.code, result.out) == (2, "")
        assert "b.csv, line 44: no text" in result.err
    assert [file.name for file in tmp_path.iterdir()] == ["b.csv"]


EMPTY = {"a.csv": "text,label\n", "b.tsv": "text\tlabel\n\n", "c.jsonl": ""}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize(("command", "out"), WRITERS)
def test_no_documents_give_an_empty_result(home, tmp_path, command, out, name):
    """The night without tickets."""
    (tmp_path / name).write_text(EMPTY[name], encoding="utf-8")
    model = home / "csv.vbnmf"
    result = ok(command, model, tmp_path / name, "--out", tmp_path / out)
    assert "0 " in result.err
    found = read(tmp_path / out)
    if isinstance(found, str):
        assert len(found.splitlines()) == (0 if out == "p.jsonl" else 1)
    else:
        assert len(found.get("ids", found.get("id"))) == 0
    if out == "c.npz":
        with np.load(tmp_path / out) as stored:
            assert stored["coefficients"].shape == (0, 6)


def test_no_documents_are_printed(home, tmp_path):
    path = write_csv(tmp_path / "a.csv", [], [])
    assert ok("predict", home / "csv.vbnmf", path).out == "id,label,score,note\n"
    assert ok("predict", home / "csv.vbnmf", path, "--json").out == ""
    assert ok("predict", home / "csv.vbnmf", path, "--explain").out.startswith("id")
    (tmp_path / "nothing.csv").write_bytes(b"")
    for command in (["predict"], ["evaluate"]):
        refused = run(*command, home / "csv.vbnmf", tmp_path / "nothing.csv")
        assert refused.code == 2
        assert "nothing.csv: empty; expected a line with the names of the columns" in refused.err
    assert "there are no documents in it" in run("evaluate", home / "csv.vbnmf", path).err


def test_a_model_without_labels_predicts_nothing_of_nothing(tmp_path):
    write_csv(tmp_path / "a.csv")
    ok("fit", tmp_path / "a.csv", *FIT, "--out", tmp_path / "m")
    (tmp_path / "b.jsonl").write_text("")
    assert "fitted without labels" in run("predict", tmp_path / "m", tmp_path / "b.jsonl").err


def test_json_lines_are_one_object_each(home):
    lines = ok("predict", home / "csv.vbnmf", home / "a.csv", "--json").out.splitlines()
    assert [json.loads(line)["label"] for line in lines][:-1] == LABELS


@pytest.mark.parametrize("quiet", [False, True])
def test_transform_shows_progress(home, tmp_path, monkeypatch, quiet):
    monkeypatch.setattr(common, "PART", 5)
    monkeypatch.setattr(Display, "_seconds_between_lines", 0.0)
    arguments = ("transform", home / "csv.vbnmf", home / "a.csv", "--out", tmp_path / "c.csv")
    lines = ok(*arguments, *(["--quiet"] if quiet else [])).err.splitlines()
    shown = [line for line in lines if line.startswith("transforming: ")]
    ends = [*range(5, len(TEXTS) + 1, 5), len(TEXTS) + 1]
    total = len(TEXTS) + 1
    assert [line.partition(";")[0] for line in shown] == (
        [] if quiet else [f"transforming: {n} of {total} documents" for n in ends]
    )
    assert all(line.endswith(" s left") for line in shown)


def test_predict_shows_progress(home, tmp_path, monkeypatch):
    monkeypatch.setattr(common, "PART", 20)
    monkeypatch.setattr(Display, "_seconds_between_lines", 0.0)
    said = ok("predict", home / "csv.vbnmf", home / "a.csv", "--out", tmp_path / "p.csv").err
    assert re.search(r"^predicting: 20 of 43 documents; about \d+ s left$", said, re.MULTILINE)
    piped = ok("predict", home / "csv.vbnmf", "-", "--format", "csv",
               stdin=(home / "a.csv").read_bytes())  # fmt: skip
    assert "predicting: 20 documents\n" in piped.err


def test_progress_of_documents_on_a_terminal(monkeypatch):
    monkeypatch.setattr(Display, "_seconds_between_lines", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with DocumentProgress(quiet=False, doing="transforming") as show:
        show(4000)
    assert "4,000 documents" in stream.getvalue()
    assert "transforming" in stream.getvalue()
    with DocumentProgress(quiet=False, doing="transforming", total=9000) as show:
        show(4000)
    assert "4,000 of 9,000 documents" in stream.getvalue()


def test_short_work_has_no_bar(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with DocumentProgress(quiet=False, doing="transforming") as show:
        show(40)
    with Waiting(quiet=False, doing="reading"):
        pass
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("quiet", "terminal"), [(False, True), (True, True), (False, False)])
def test_long_work_of_unknown_length(monkeypatch, quiet, terminal):
    monkeypatch.setattr(Display, "_seconds_between_lines", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with Waiting(quiet, "reading") as waiting:
        if waiting._timer.ident is not None:
            waiting._timer.join()
    assert ("reading" in stream.getvalue()) == (terminal and not quiet)


@pytest.mark.parametrize(
    ("name", "content", "number"),
    [
        ("a.csv", "text,label\nx,1\ny,2\n", 2),
        ("a.csv", 'text,label\n"one\ntwo ""three""\n",1\ny,2', 2),
        ("a.tsv", 'text\tlabel\n5" pipe\t1\n6" pipe\t1\n', 2),
        ("a.jsonl", '{"text": "x"}\n{"text": "y"}\n', 2),
        ("a.csv", "", 0),
        ("a.txt.csv.gz", gzip.compress(b"text\nx\n", mtime=0), None),
        ("nowhere.csv", None, None),
    ],
)
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_documents_of_a_file(tmp_path, monkeypatch, name, content, number, at_once):
    monkeypatch.setattr(progress, "_AT_ONCE", at_once if number is not None else 1 << 20)
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert progress.count_documents(str(tmp_path / name), None) == number


def test_documents_of_folders(tmp_path):
    (tmp_path / "docs").mkdir()
    for i in range(3):
        (tmp_path / "docs" / f"{i}.txt").write_text("kettle")
    assert progress.count_documents(str(tmp_path / "docs"), None) == 3
    write_csv(tmp_path / "a.csv")
    ok("vectorize", tmp_path / "a.csv", "--out", tmp_path / "s", "--quiet")
    assert progress.count_documents(str(tmp_path / "s"), None) == len(TEXTS)
    assert progress.count_documents("-", "csv") is None


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux that cannot be read")
def test_documents_of_a_file_that_cannot_be_read():
    assert progress.count_documents("/proc/self/mem", "csv") is None
