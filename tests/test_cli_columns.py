"""Which columns commands read: decided by the header alone, text and label apart."""

import csv
import datetime
import json

import numpy as np
import pandas as pd
import pytest
from cliruns import FIT, LABELS, TEXTS, ok, run

from vbnmf import load
from vbnmf.cli.terminal import rounded
from vbnmf.data import ReaderError, read_documents

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
    result = use(command, path, *args, "--quiet", "--strict")
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


class TestJoiningResults:
    """--id names documents, --keep copies columns."""

    @pytest.mark.parametrize("out", ["p.csv", "p.tsv", "p.jsonl"])
    def test_predictions(self, use, home, tmp_path, out):
        wanted = ("--id", "ID", "--keep", "title", "--keep", "team")
        assert use("predict", home / "a.csv", *wanted, "--out", out).code == 0
        content = (tmp_path / out).read_text(encoding="utf-8").splitlines()
        if out == "p.jsonl":
            rows = [json.loads(line) for line in content]
        else:
            rows = list(csv.DictReader(content, delimiter="\t" if out == "p.tsv" else ","))
        assert list(rows[0]) == ["id", "label", "score", "note", "title", "team"]
        assert [[row["id"], row["title"], row["team"]] for row in rows] == [
            [name, title, team] for name, title, _, team in ROWS
        ]

    def test_names_that_the_output_has_itself(self, use, tmp_path):
        path = write(tmp_path / "b.csv", names=("id", "note", "question", "label"))
        result = use("predict", path, "--keep", "label", "--keep", "note", "--keep", "id")
        assert [row["input_label"] for row in result.rows] == LABELS
        assert list(result.rows[0])[4:] == ["input_label", "input_note", "input_id"]
        assert result.rows[0]["id"] == "2"

    @pytest.mark.parametrize("out", ["c.csv", "c.parquet", "c.npz"])
    def test_coefficients(self, use, home, tmp_path, out):
        assert (
            use("transform", home / "a.csv", "--id", "id", "--keep", "team", "--out", out).code == 0
        )
        if out == "c.npz":
            with np.load(tmp_path / out) as stored:
                found = list(zip(stored["ids"].tolist(), stored["kept_team"].tolist(), strict=True))
        else:
            read = pd.read_csv if out == "c.csv" else pd.read_parquet
            frame = read(tmp_path / out)
            assert list(frame.columns)[:3] == ["id", "team", "component_0"]
            found = list(zip(frame["id"], frame["team"], strict=True))
        assert found == [(row[0], row[3]) for row in ROWS]

    def test_cells_of_any_type(self, use, tmp_path):
        day = datetime.date(2024, 2, 29)
        table = {"question": TEXTS[:2], "n": [7.0, None], "day": [day, None], "tags": [["a"], []]}
        pd.DataFrame(table).to_parquet(tmp_path / "b.parquet")
        options = ("--id", "n", "--keep", "n", "--keep", "day", "--keep", "tags")
        rows = use("predict", tmp_path / "b.parquet", *options, "--json").out.splitlines()
        first, second = map(json.loads, rows)
        assert (first["id"], first["n"], first["day"], first["tags"]) == ("7", 7.0, str(day), ["a"])
        assert (second["id"], second["n"], second["day"], second["tags"]) == ("", None, None, [])
        assert use("predict", tmp_path / "b.parquet", *options).rows[0]["day"] == str(day)

    def test_of_no_documents(self, use, tmp_path):
        (tmp_path / "b.csv").write_text("id,question,team\n")
        assert use("predict", tmp_path / "b.csv", "--keep", "team").out.endswith("note,team\n")
        (tmp_path / "b.jsonl").write_text("")
        assert use("predict", tmp_path / "b.jsonl", "--keep", "team").out.endswith("note,team\n")

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (("--id", "nr"), "there is no id column 'nr'; the columns are 'id', 'title'"),
            (("--keep", "nr"), "there is no column 'nr'; the columns are 'id', 'title'"),
            (("--keep", "id", "--explain"), "the table of --explain has no room for --keep"),
        ],
    )
    def test_refused(self, use, home, args, message):
        result = use("predict", home / "a.csv", *args)
        assert result.code == 2
        assert message in result.err

    def test_messages_use_the_ids_of_the_output(self, use, tmp_path):
        rows = [["T-1", "", "Unbekanntes", ""], ["T-2", "", "", ""]]
        path = write(tmp_path / "b.csv", rows)
        assert (
            "b.csv, line 3 (id 'T-2'): no text."
            in use("predict", path, "--id", "id", "--strict").err
        )
        assert (
            "1 of 2 rows without text or that cannot be read (id T-2)"
            in use("predict", path, "--id", "id").err
        )
        path = write(tmp_path / "b.csv", rows[:1])
        for command, args in READERS[:1] + READERS[2:]:
            wanted = ("--id", "id") if command != "evaluate" else ()
            result = use(command, path, *wanted, *args)
            assert "1 of 1 documents has no known term of non-zero weight (id T-1)," in result.err


class TestSeveralTextColumns:
    def test_are_joined_and_remembered(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        halves = [text.split(" and ") for text in TEXTS]
        rows = [[i, *half, team] for i, (half, team) in enumerate(zip(halves, LABELS, strict=True))]
        write("a.csv", rows, ("id", "left", "right", "team"))
        ok("fit", "a.csv", "--text", "left", "--text", "right", "--label", "team", *FIT)
        model = load("a.vbnmf")
        assert model.columns_["text"] == ["left", "right"]
        together = ["\n".join(half) for half in halves]
        assert read_documents("a.csv", text=["left", "right"]).texts == together
        expected = model.predict_with_proba(together)
        found = ok("predict", "a.vbnmf", "a.csv").rows
        assert [row["label"] for row in found] == expected[0].tolist()
        assert [float(row["score"]) for row in found] == list(map(rounded, expected[1]))
        (tmp_path / "fit.toml").write_text('text = ["left", "right"]\nlabel = "team"')
        ok("fit", "a.csv", "--config", "fit.toml", *FIT, "--out", "b.vbnmf")
        assert load("b.vbnmf").columns_ == model.columns_
        columns = ("--text", "left", "--text", "right", "--label", "team")
        tuned = ok("tune", "a.csv", *columns, "-k", "3", "--label-shape", "auto")
        assert " ".join(columns[:4]) in tuned.out

    def test_an_empty_cell_is_passed_over(self, tmp_path):
        path = write(tmp_path / "a.csv", [["a", ""], ["", "b"], ["c", "d"]], ("one", "two"))
        assert read_documents(path, text=["two", "one"]).texts == ["a", "b", "d\nc"]
        path = write(tmp_path / "a.csv", [["", " "]], ("one", "two"))
        with pytest.raises(ReaderError, match="line 2: no text"):
            read_documents(path, text=["one", "two"])
