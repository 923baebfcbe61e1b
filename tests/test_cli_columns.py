"""Which columns commands read: decided by the header alone, text and label apart."""

import csv
import json

import pytest
from cliruns import FIT, LABELS, TEXTS, ok, run

from vbnmf import load

TITLES = ["leaf and wheel"] * len(TEXTS)  # says nothing of the label
NAMES = ("id", "title", "question", "team")
ROWS = [
    [f"T-{i}", title, body, team]
    for i, (title, body, team) in enumerate(zip(TITLES, TEXTS, LABELS, strict=True))
]
READERS = [
    ("predict", ()),
    ("evaluate", ()),
    ("transform", ("--out", "c.csv")),
    ("report", ("--out", "p.html")),
]


def write(path, rows=ROWS, names=NAMES):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("columns")
    path = write(home / "a.csv")
    ok("fit", path, "--text", "question", "--label", "team", *FIT, "--out", home / "m.vbnmf")
    return home


@pytest.fixture
def use(home, tmp_path, monkeypatch):
    """Run a command with the model on a file, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def use(command, file, *args, **options):
        files = ["--documents", file] if command == "report" else [file]
        return run(command, home / "m.vbnmf", *files, *args, **options)

    return use


@pytest.mark.parametrize(("command", "args"), READERS)
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"T-9,leaf,,tea\n", "line 3: no text. Fill it in"),
        (b"T-9,leaf,\xff\xff,tea\n", "line 3: byte 0xff is not utf-8"),
        (b"T-9,leaf,kettle\n", "line 3: 3 fields, but the first line names 4 columns"),
    ],
    ids=["empty cell", "bad byte", "ragged row"],
)
def test_a_bad_cell_is_an_error_and_no_reason_to_read_another_column(
    use, tmp_path, command, args, row, message
):
    path = tmp_path / "b.csv"
    path.write_bytes(b"id,title,question,team\nT-1,leaf,kettle,tea\n" + row)
    result = use(command, path, *args, "--quiet")
    assert (result.code, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize(
    "names", [("id", "title", "question", "category"), ("y", "text", "question", "z")]
)
def test_a_renamed_label_column_does_not_change_the_text_column(use, home, tmp_path, names):
    path = write(tmp_path / "b.csv", [[r[3], *r[1:]] for r in ROWS], names)
    assert use("evaluate", path, "--json").json["micro_accuracy"] == 1.0
    result = use("report", path, "--out", "p.html")
    assert result.code == 0
    assert "Text column" not in result.err


def test_a_report_of_documents_without_a_label_column(use, tmp_path):
    path = write(tmp_path / "b.csv", [row[:3] for row in ROWS], NAMES[:3])
    assert use("report", path, "--out", "p.html").code == 0
    refused = use("evaluate", path)
    assert refused.code == 2
    assert "no column has a usual name for labels" in refused.err


def test_another_text_column_is_guessed_and_said_where_that_of_the_fit_is_not_there(use, tmp_path):
    path = write(tmp_path / "b.csv", names=("id", "title", "text", "team"))
    result = use("predict", path)
    assert "'text' was chosen because of its name; the model was fitted to 'question'" in result.err
    assert [row["label"] for row in result.rows] == LABELS


def test_standard_input_uses_the_columns_of_the_fit(use, home):
    result = use("predict", "-", stdin=(home / "a.csv").read_bytes())
    assert [row["label"] for row in result.rows] == LABELS
    line = json.dumps({"title": "leaf", "question": TEXTS[0]})
    assert use("predict", "-", stdin=line.encode()).rows[0]["label"] == LABELS[0]


def test_part_of_the_columns_of_the_fit_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    is_tea = [label == "tea" for label in LABELS]
    rows = [[text, int(tea), int(not tea)] for text, tea in zip(TEXTS, is_tea, strict=True)]
    write("a.csv", rows, ("text", "hot", "cold"))
    ok("fit", "a.csv", "--label", "hot", "--label", "cold", *FIT)
    write("b.csv", rows, ("text", "hot", "label"))
    result = run("evaluate", "a.vbnmf", "b.csv")
    assert result.code == 2
    assert "fitted to the label columns 'hot', 'cold', but 'cold' is not there" in result.err
    assert load("a.vbnmf").columns_["label"] == ["hot", "cold"]
