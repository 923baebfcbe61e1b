"""vbnmf tune: what it prints and writes, how it goes on, and what it refuses."""

import csv
import re
import shlex
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from cliruns import LABELS, TEXTS, counts, make_corpus, ok, run, write_csv
from scipy import sparse
from test_advice import row as candidate

from vbnmf import SupervisedVBNMF, tune
from vbnmf.evaluation.measures import TUNE, measures_for
from vbnmf.selection.advice import Trial
from vbnmf.selection.search import Tuning
from vbnmf.text import DocumentVectorizer

FEW = ("-k", "3,6", "--label-shape", "10,100")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    texts, labels = make_corpus(1, n_each=20, mixed=0.4)
    return write_csv(tmp_path_factory.mktemp("tune") / "a.csv", texts, labels)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


def test_prints_the_table_the_words_and_the_next_command(file, here):
    result = ok("tune", file, "--label", "label", *FEW)
    texts, labels = make_corpus(1, n_each=20, mixed=0.4)
    found = tune(
        texts, labels, n_components=[3, 6], label_shapes=[10, 100],
        estimator=SupervisedVBNMF(random_state=0),
        vectorizer=DocumentVectorizer(),
    )  # fmt: skip
    assert found.recommendation in " ".join(result.out.split())
    assert result.out.count("ecommended:") == 1
    lines = result.out.splitlines()
    head = lines[0].split("  ")
    names = [name.strip() for name in head if name.strip()]
    assert names == [
        "components", "label shape", "likelihood", "below best", "accuracy", "agree", "glued",
        "fidelity", "sparsity", "NPMI", "seconds",
    ]  # fmt: skip
    for line, row in zip(lines[2:6], found.rows, strict=True):
        own = f"{row.log_likelihood:.3f} ± {row.log_likelihood_error:.3f}"
        below = f"{row.likelihood_below:.3f} ± {row.likelihood_below_error:.3f}"
        if row.parameters == found.best:
            below = ""
        start = f"{row.n_found} {row.label_shape:g} {own} {below} {row.accuracy:.3f} "
        assert " ".join(line.split()).startswith(" ".join(start.split()))
        assert line.endswith(" recommended") == (row.parameters == found.recommended)
        other = row.parameters == found.best != found.recommended
        assert line.endswith(" best") == other
    k, shape = found.recommended.values()
    assert lines[-1].strip() == (f"vbnmf fit {file} --label label -k {k} --label-shape {shape:g}")
    assert {path.name for path in (here / "vbnmf-tune").iterdir()} == {
        "tune.csv", "tune.png", "tune.svg",
    }  # fmt: skip
    table = rows_of(here / "vbnmf-tune" / "tune.csv")
    for name in ("accuracy", "log_likelihood", "likelihood_below", "likelihood_below_error"):
        assert [float(row[name]) for row in table] == [getattr(row, name) for row in found.rows]


def test_columns_that_say_nothing_are_left_out(file, here):
    lines = ok("tune", file, "--label", "label", "-k", "3,6", "--quiet").out.splitlines()
    assert "label shape" not in lines[0]
    assert "asked" not in lines[0]
    assert [line.split()[0] for line in lines[2:4]] == ["3", "6"]


def test_numbers_asked_for_and_found(here):
    from vbnmf.cli.tune import _table

    rows = [candidate(40, 0.004, n_found=54), candidate(60, error=0.0)]
    lines = _table(
        Tuning(tuple(rows), rows[1].parameters, rows[0].parameters, "", None, "accuracy", 9)
    ).splitlines()
    assert lines[0].split()[:2] == ["components", "asked"]
    assert [line.split()[:2] for line in lines[2:]] == [["54", "40"], ["60", "60"]]
    assert lines[2].endswith("recommended")
    assert lines[3].endswith("best")


def test_shows_how_long_the_search_still_takes(file, here, monkeypatch):
    from vbnmf.cli.tune import _TuneProgress

    monkeypatch.setattr(_TuneProgress, "_seconds_between_lines", 0.0)
    lines = [line for line in ok("tune", file, *FEW).err.splitlines() if "candidates" in line]
    assert lines[0] == "0 of 4 candidates, now 3 components, label shape 10"
    assert all("left" not in line for line in lines if line.startswith("0 of 4"))
    after = [line for line in lines if line.startswith("1 of 4")]
    assert after
    for line in after:
        assert re.fullmatch(
            r"1 of 4 candidates, now 3 components, label shape 100(; about \d+ s left)?", line
        )
    assert any(line.endswith(" s left") for line in after)
    assert lines[-1] == "4 of 4 candidates"


def test_the_next_command_runs(file, here):
    options = ("--label", "label", "--min-df", "1", "--no-lowercase", "--text", "text",
               "--random-state", "4", "--ngram-range", "1,2")  # fmt: skip
    result = ok("tune", file, *options, *FEW, "--n-jobs", "1", "--json", "--quiet").json
    command = shlex.split(result["command"])
    assert command[:3] == ["vbnmf", "fit", str(file)]
    assert " ".join(command[3:]).startswith(
        "--label label --text text --min-df 1 --ngram-range 1,2 --no-lowercase --random-state 4 "
        "--n-jobs 1 -k "
    )
    fitted = ok(*command[1:], "--json").json
    assert fitted["components"] == result["recommended"]["n_components"]
    assert fitted["hyperparameters"]["label_shape"] == result["recommended"]["label_shape"]


def test_auto_is_the_default_of_fit(file, here):
    options = ("--label", "label", "-k", "3", "--label-shape", "10, auto")
    result = ok("tune", file, *options)
    lines = result.out.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["3", "auto"], ["3", "10"]]
    table = here / "vbnmf-tune" / "tune.csv"
    before = table.read_bytes()
    again = ok("tune", file, *options, "--json", "--quiet").json  # read back, not run again
    assert table.read_bytes() == before
    assert [row["label_shape"] for row in again["rows"]] == ["auto", 10]
    default = ok("tune", file, "--label", "label", "-k", "3", "--out", "default", "--quiet")
    assert default.out.splitlines()[-1].strip() == f"vbnmf fit {file} --label label -k 3"
    assert [row["label_shape"] for row in rows_of(here / "default" / "tune.csv")] == ["auto"]


def test_json(file, here):
    result = ok("tune", file, *FEW, "--out", "there", "--json", "--quiet")
    assert result.err == ""
    assert set(result.json) == {
        "best", "recommended", "recommendation", "measure", "n_validation", "rows", "command",
        "files",
    }  # fmt: skip
    assert result.json["n_validation"] == 15
    assert len(result.json["rows"]) == 4
    expected = {field.name for field in fields(Trial)} - {"measures"}
    expected |= {measure.key for measure in measures_for(TUNE)}
    assert result.json["rows"][0].keys() == expected
    assert "--label auto" in result.json["command"]


@pytest.mark.slow
def test_goes_on_and_begins_anew(file, here, monkeypatch):
    from vbnmf.cli.tune import _TuneProgress

    table = here / "vbnmf-tune" / "tune.csv"
    ok("tune", file, *FEW, "--out", "whole", "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(_TuneProgress, "__call__", stop_after_two)
        assert run("tune", file, *FEW, "--quiet").code == 130
    assert len(rows_of(table)) == 2
    ok("tune", file, *FEW, "--quiet")
    whole, resumed = (rows_of(path) for path in (here / "whole" / "tune.csv", table))
    assert [{**row, "seconds": ""} for row in resumed] == [{**row, "seconds": ""} for row in whole]
    other = run("tune", file, *FEW, "--random-state", "1", "--quiet")
    assert other.code == 2
    assert "results of other documents or settings" in other.err
    ok("tune", file, *FEW, "--random-state", "1", "--quiet", "--force")
    assert rows_of(table)[0]["data"] != whole[0]["data"]


def stop_after_two(self, step):
    if step.done == 2:
        raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_done(file, here, monkeypatch):
    from vbnmf.cli.tune import _TuneProgress

    monkeypatch.setattr(_TuneProgress, "__call__", stop_after_two)
    result = run("tune", file, *FEW)
    assert result.code == 130
    assert "Repeat the command to resume" in result.err
    left = {path.name for path in (here / "vbnmf-tune").iterdir()}
    assert left == {"tune.csv", "tune.csv.parts"}
    assert len(rows_of(here / "vbnmf-tune" / "tune.csv")) == 2


def test_without_matplotlib(file, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "vbnmf.report.tuning", None)
    result = ok("tune", file, *FEW)
    assert "pip install 'vbnmf[plot]'" in result.err
    assert [path.name for path in (here / "vbnmf-tune").iterdir()] == ["tune.csv"]


def test_matrix_and_several_labels(here):
    X, _ = counts()
    sparse.save_npz(here / "a.npz", X)
    (here / "labels.txt").write_text("\n".join(LABELS), encoding="utf-8")
    result = ok("tune", "a.npz", "--label-file", "labels.txt", *FEW, "--json", "--quiet").json
    assert "--label-file labels.txt" in result["command"]
    both = [f"{label};drink" if label != "bike" else label for label in LABELS]
    write_csv(here / "b.csv", TEXTS, both)
    several = ("--label", "label", "--label-separator", ";", "--out", "b")
    result = ok("tune", "b.csv", *several, *FEW, "--json", "--quiet").json
    assert result["measure"] == "micro F1"
    assert "--label-separator ';'" in result["command"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", "3,x"), "'3,x' is not a list such as 20,40,80"),
        (("-k", "0"), "n_components must be an integer of at least 1"),
        (("--label-shape", "-3"), "must be a positive number"),
        (("--label-shape", "auto,much"), "'auto,much' is not a list such as auto,30,300"),
        (("--validation", "1.5"), "1.5"),
        (("--label", "nowhere"), "no label column 'nowhere'"),
        (("--out", "taken"), "takes a folder"),
    ],
)
def test_refusals(file, here, options, message):
    (here / "taken").write_text("")
    result = run("tune", file, *options)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_help_is_light():
    code = (
        "import sys\nfrom vbnmf.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.exit(' '.join({'numpy', 'scipy', 'sklearn'} & set(sys.modules)) or 0)"
    )
    for args in (["--help"], ["tune", "--help"]):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "tune" in done.stdout


def test_picture_shows_every_candidate(file, here):
    """A bar reaches the line of the best candidate if the candidate is within one error of it."""
    from vbnmf.report.tuning import draw

    rows = [
        candidate(20, 0.3),
        candidate(40, 0.004, n_found=54, glued=3, agreeing=6),
        candidate(60, error=0.0, glued=5),
    ]
    shapes = [candidate(20, 0.4, shape=10), candidate(60, 0.5, shape=10)]
    found = Tuning(
        (*rows, *shapes), rows[2].parameters, rows[1].parameters, "", None, "accuracy", 9
    )
    above, middle, below = draw(found).axes
    for axes, name, error in (
        (above, "log_likelihood", "likelihood_below_error"),
        (middle, "accuracy", "accuracy_below_error"),
    ):
        expected = [
            [[each.n_found, getattr(each, name) + sign * getattr(each, error)] for sign in (-1, 1)]
            for each in (*rows, *shapes)
        ]
        bars = [bar for container in axes.containers for bar in container[2][0].get_segments()]
        np.testing.assert_allclose(bars, expected)
        level = [line for line in axes.lines if len(set(line.get_ydata())) == 1]
        assert any(line.get_ydata()[0] == getattr(rows[2], name) for line in level)
        (circle,) = (line for line in axes.lines if line.get_label() == "recommended")
        assert list(circle.get_xdata()) == [54]
    lines = {line.get_label(): list(line.get_ydata()) for line in below.lines}
    assert lines["glued"] == [0, 0.3, 0.5]
    assert lines["agreeing"] == [0.5, 0.6, 0.5]
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["20", "54", "60"]
