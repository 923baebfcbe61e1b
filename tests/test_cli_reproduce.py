"""`vbnmf reproduce` end to end, on a tiny grid of the offline corpus."""

import csv
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cliruns import command, run

from vbnmf.cli.progress import CellProgress
from vbnmf.paper.experiments import Tally
from vbnmf.paper.results import METRICS, read_results
from vbnmf.paper.specification import list_cells, read_specification

SPEC = Path(__file__).with_name("tiny.toml")
FIGURES = ["fig1", "fig2", "fig3a", "fig3b", "fig4", "fig5", "fig6", "fig7a", "fig7b"]
VARYING = {"seconds", "seconds_fit"}


def table(folder):
    """The table without what varies from run to run."""
    rows = read_results(folder / "results.csv")
    return [{name: value for name, value in row.items() if name not in VARYING} for row in rows]


def reproduce(folder, *args):
    """Run it in a process of its own: what this one has imported may change the docstrings."""
    words = command("reproduce", "--spec", SPEC, "--out", folder, *args)
    run = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce") / "out"
    return folder, reproduce(folder)


@pytest.mark.slow
def test_everything_is_drawn_and_written(whole):
    folder, said = whole
    names = {f"{key}.{kind}" for key in FIGURES for kind in ("png", "svg")}
    assert {path.name for path in (folder / "figures").iterdir()} == names
    assert all((folder / "figures" / name).stat().st_size > 1000 for name in names)
    page = (folder / "reproduction.html").read_text(encoding="utf-8")
    text = (folder / "reproduction.md").read_text(encoding="utf-8")
    for shown in ("Table 1", "inter-label sparsity", "linear SVM", f"--spec {SPEC}"):
        assert shown in page
        assert shown in text
    assert {path.name for path in folder.iterdir()} == {
        "data", "figures", "maps.json", "reproduction.html", "reproduction.md", "results.csv",
    }  # fmt: skip
    assert len(re.findall(r"^(?:not )?(?:confirmed|measured): ", said.stdout, re.MULTILINE)) == 8
    assert "PCA-10 with k-NN: accuracy 0." in said.stderr


@pytest.mark.slow
def test_the_table_has_a_row_for_each_cell(whole):
    folder, said = whole
    rows = read_results(folder / "results.csv")
    assert len(rows) == len(list_cells(read_specification(SPEC)))
    done = [row for row in rows if row["status"] == "done"]
    impossible = [row for row in rows if row["status"] == "impossible"]
    assert len(done) + len(impossible) == len(rows)
    assert {row["dimension"] for row in impossible} == {100000}
    assert "1 run impossible: 100000 principal components" in said.stderr
    for row in done:
        assert row["micro"] is None or 1 / 24 < row["micro"] <= 1
        if row["method"] == "supervised":
            assert None not in [row[name] for name in METRICS[:4] + METRICS[8:]]


@pytest.mark.slow
def test_the_same_command_runs_nothing_again(whole):
    folder, _ = whole
    before = (folder / "results.csv").read_bytes()
    pages = [(folder / name).read_bytes() for name in ("reproduction.html", "reproduction.md")]
    refused = run("reproduce", "--spec", SPEC, "--out", folder, "--only", "fig3,table1")
    assert refused.code == 2
    assert "shows other items than --only fig3,table1" in refused.err
    assert pages == [
        (folder / name).read_bytes() for name in ("reproduction.html", "reproduction.md")
    ]
    again = reproduce(folder, "--only", "fig3,table1", "--force")
    again = reproduce(folder, "--only", "fig3,table1")  # its own page
    assert (folder / "results.csv").read_bytes() == before
    page = (folder / "reproduction.md").read_text(encoding="utf-8")
    assert "fig3b.png" in page
    assert "fig1.png" not in page
    assert "--only fig3,table1" in page
    assert again.stdout == ""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_same_table(whole, tmp_path):
    folder = tmp_path / "out"
    args = command("reproduce", "--spec", SPEC, "--out", folder)
    stopped = subprocess.Popen(  # noqa: S603
        args, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        while "PCA-10 with k-NN: accuracy" not in (line := stopped.stderr.readline()):
            assert line  # the first of all runs is the calibration; the others begin after it
        stopped.send_signal(signal.SIGINT)
        _, said = stopped.communicate(timeout=600)
    finally:
        stopped.kill()
    assert stopped.returncode == 130, said
    assert "Repeat the command to resume" in said
    assert "Traceback" not in said
    assert not list(folder.rglob("*.part"))
    n_before = len(read_results(folder / "results.csv"))
    assert n_before < len(table(whole[0]))
    reproduce(folder, "--quiet")
    with open(folder / "results.csv", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == len(table(whole[0])) + 1
    assert sorted(table(folder), key=str) == sorted(table(whole[0]), key=str)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--only", "fig8"), "unknown item 'fig8'; expected some of fig1"),
        (("--seeds", "0"), "--seeds"),
        (("--spec", SPEC, "--source", "nowhere"), "nowhere: no such file"),
    ],
)
def test_bad_options_are_refused(tmp_path, args, message):
    refused = run("reproduce", "--out", tmp_path / "out", *args)
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "out" / "results.csv").exists()


def test_progress_tells_the_time_left(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(CellProgress, "_seconds_between_lines", 0.0)
    with CellProgress(quiet=False) as show:
        show(Tally(1, 8, 10.0, 40.0, 0, 60.0))
        show(Tally(7, 8, 30.0, 40.0, 2, 90.0))
    assert stream.getvalue().splitlines() == [
        "1 of 8 runs; about 3 min left",
        "7 of 8 runs, 2 failed; about 30 s left",
    ]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("mine")
    refused = run("reproduce", "--out", tmp_path / "out")
    assert (refused.code, (tmp_path / "out").read_text()) == (2, "mine")
    assert "--out takes a folder" in refused.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[corpus]", "[corpus]\ncolour = 3", "[corpus] has 'colour'; it can have name, terms"),
        ("[supervised]", "[supervised]\nx = 1", "[supervised] has 'x'; it can have dimension"),
        ("[seeds]", "[unknown]", "it has unknown tables: unknown"),
        ("[corpus]", "corpus = 3\n[other]", "it has unknown tables: other"),
        ("[4, 8", '["x"', "each value of dimension must be a whole number; got 'x'"),
        ("[4, 8]", "4", "dimension must be a list; got 4"),
        ("terms = 300", 'terms = "many"', "terms must be a whole number; got 'many'"),
        ("iterations = 15", "iterations = 1.5", "iterations must be a whole number; got 1.5"),
        ("iterations = 15", "iterations = -1", "iterations must be at least 0 and finite; got -1"),
        ("test = 2", "test = []", "test must be a whole number; got []"),
        ("validation = 0.25", "validation = 3", "validation must be between 0 and 1; got 3"),
        ("term_shape = 1.0", "term_shape = 0", "term_shape must be a positive number; got 0"),
        ("[0.25, 1.0]", "[inf]", "each value of parameter must be at least 0 and finite; got inf"),
        ("[4, 8]\nzoom", "[4, 8]\nzoom = [1.0]\n#", "zoom must have 2 values; got [1.0]"),
        ('"english"', "true", "stop_words must be a string; got True"),
    ],
)
def test_a_bad_specification_is_refused(tmp_path, old, new, message):
    text = SPEC.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "bad.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    refused = run("reproduce", "--spec", tmp_path / "bad.toml", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "bad.toml: not a specification" in refused.err
    assert message in refused.err
    assert "__init__" not in refused.err


def test_a_specification_that_lacks_most_is_refused(tmp_path):
    (tmp_path / "bad.toml").write_text("[corpus]\nname = 3")
    refused = run("reproduce", "--spec", tmp_path / "bad.toml", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "bad.toml: not a specification of the experiments: it lacks the tables" in refused.err
