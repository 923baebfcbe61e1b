"""vbnmf tune: what it prints and writes, how it goes on, and what it refuses."""

import csv
import shlex
import subprocess
import sys

import pytest
from cliruns import LABELS, TEXTS, counts, make_corpus, ok, run, write_csv
from scipy import sparse

from vbnmf import SupervisedVBNMF, tune
from vbnmf.text import DocumentVectorizer

FEW = ("-k", "3,6", "--label-shapes", "10,100")


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
    lines = result.out.splitlines()
    assert [line.split()[:2] for line in lines[2:6]] == [
        [str(k), str(a)] for k in (3, 6) for a in (10, 100)
    ]
    k, shape = found.recommended.values()
    assert lines[-1].strip() == (f"vbnmf fit {file} --label label -k {k} --label-shape {shape:g}")
    assert {path.name for path in (here / "vbnmf-tune").iterdir()} == {
        "tune.csv", "tune.png", "tune.svg",
    }  # fmt: skip
    table = rows_of(here / "vbnmf-tune" / "tune.csv")
    assert [float(row["accuracy"]) for row in table] == [row.accuracy for row in found.rows]


def test_the_next_command_runs(file, here):
    options = ("--label", "label", "--min-df", "1", "--keep-case", "--text", "text", "--seed", "4")
    result = ok("tune", file, *options, *FEW, "--jobs", "1", "--json", "--quiet").json
    command = shlex.split(result["command"])
    assert command[:3] == ["vbnmf", "fit", str(file)]
    assert " ".join(command[3:]).startswith(
        "--label label --text text --min-df 1 --keep-case --seed 4 --jobs 1 -k "
    )
    fitted = ok(*command[1:], "--json").json
    assert fitted["components"] == result["recommended"]["n_components"]
    assert fitted["hyperparameters"]["label_shape"] == result["recommended"]["label_shape"]


def test_auto_is_the_default_of_fit(file, here):
    options = ("--label", "label", "-k", "3", "--label-shapes", "10, auto")
    result = ok("tune", file, *options)
    lines = result.out.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["3", "auto"], ["3", "10"]]
    assert lines[-1].strip() == f"vbnmf fit {file} --label label -k 3"
    table = here / "vbnmf-tune" / "tune.csv"
    before = table.read_bytes()
    again = ok("tune", file, *options, "--json", "--quiet").json  # read back, not run again
    assert table.read_bytes() == before
    assert [row["label_shape"] for row in again["rows"]] == ["auto", 10]
    assert again["recommended"] == {"n_components": 3, "label_shape": "auto"}


def test_json(file, here):
    result = ok("tune", file, *FEW, "--out", "there", "--json", "--quiet")
    assert result.err == ""
    assert set(result.json) == {
        "best", "recommended", "recommendation", "measure", "n_validation", "rows", "command",
        "files",
    }  # fmt: skip
    assert result.json["n_validation"] == 15
    assert len(result.json["rows"]) == 4
    assert "--label auto" in result.json["command"]


def test_goes_on_and_begins_anew(file, here, monkeypatch):
    ok("tune", file, *FEW, "--quiet")
    table = here / "vbnmf-tune" / "tune.csv"
    before = table.read_bytes()
    lines = before.splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:3]))  # as a stop after two candidates leaves it
    ok("tune", file, *FEW, "--quiet")
    after = table.read_bytes().splitlines(keepends=True)
    assert [line.split(b",")[:9] for line in after] == [line.split(b",")[:9] for line in lines]
    other = run("tune", file, *FEW, "--seed", "1", "--quiet")
    assert other.code == 2
    assert "results of other documents or settings" in other.err
    ok("tune", file, *FEW, "--seed", "1", "--quiet", "--force")
    assert rows_of(table)[0]["data"] != lines[1].split(b",")[0].decode()


def test_ctrl_c_keeps_what_is_done(file, here, monkeypatch):
    from vbnmf.cli.tune import _TuneProgress

    def stop(self, step):
        if step.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(_TuneProgress, "__call__", stop)
    result = run("tune", file, *FEW)
    assert result.code == 1
    assert "Repeat the command to resume" in result.err
    assert [path.name for path in (here / "vbnmf-tune").iterdir()] == ["tune.csv"]
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
    result = ok("tune", "a.npz", "--labels", "labels.txt", *FEW, "--json", "--quiet").json
    assert "--labels labels.txt" in result["command"]
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
        (("--label-shapes", "-3"), "must be a positive number"),
        (("--label-shapes", "auto,much"), "'auto,much' is not a list such as auto,30,300"),
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
    from vbnmf.report.tuning import draw

    texts, labels = make_corpus(1, n_each=20, mixed=0.4)
    vectorizer = DocumentVectorizer(min_df=2)
    found = tune(
        texts, labels, n_components=[3, 6], label_shapes=["auto", 1, 10, 100], vectorizer=vectorizer
    )
    above, below = draw(found).axes
    last = max(row.rung for row in found.rows)
    lines = {line.get_label(): line for line in below.lines}
    alone = [tuple(line.get_ydata()) for line in below.lines]
    for k in (3, 6):
        line = lines[f"{k} components"]
        rows = {r.label_shape: r.inter_label_sparsity for r in found.rows if r.n_components == k}
        assert list(line.get_ydata()) == [rows[shape] for shape in (1, 10, 100)]
        assert (rows["auto"],) in alone
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["auto", "1", "10", "100"]
    assert list(below.get_xticks()) == [0, 1, 2, 3]
    bars = [bar for container in above.containers for bar in container[2][0].get_segments()]
    assert len(bars) == sum(row.rung == last for row in found.rows)
