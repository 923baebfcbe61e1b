"""Rows that cannot be read, or have no text, never stop the others."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from cliruns import ok, run

from vbnmf.data import ReaderError, iter_documents, read_documents

TEXTS = ["green tea with milk", "black tea leaves", "strong coffee beans", "coffee with sugar"]
LABELS = ["tea", "tea", "coffee", "coffee"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    with (folder / "train.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("text", "label"), *zip(TEXTS * 5, LABELS * 5, strict=True)])
    path = folder / "m.vbnmf"
    ok("fit", folder / "train.csv", "--label", "label", "--min-df", 1, "--out", path, "--quiet")
    return path


JSON_LINES = {
    b"": "",  # not a row
    b"not json": "not JSON: Expecting value: line 1 column 1 (char 0)",
    b'["a", "list"]': "a JSON list, expected an object such as",
    b'{"text": ""}': "no text",
    b'{"text": null}': "no text",
    b'{"text": 7}': "the text is of type int, expected a string",
    b'{"other": "x"}': "no text",
    b'{"text": "caf\xe9"}': "byte 0xe9 is not utf-8",
    b'{"text": "a\x00b"}': "NUL byte: it is not a text file, or has another encoding",
    b'{"text": "a\tb"}': "not JSON: Invalid control character at",
    b'{"text": "cut"': "not JSON: Expecting ',' delimiter",
    b"[" * 20_000: "not JSON: ",
}


def test_bad_json_lines_keep_their_places(model, tmp_path):
    """Ten thousand rows, of which every bad kind stands twice."""
    bad = [line for line in JSON_LINES if line]
    lines = [json.dumps({"text": TEXTS[i % 4]}).encode() for i in range(10_000)]
    at = {100 + 450 * i: line for i, line in enumerate(bad * 2)}
    for number, line in at.items():
        lines[number] = line
    (tmp_path / "new.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    result = ok("predict", model, tmp_path / "new.jsonl", "--out", tmp_path / "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [str(i + 1) for i in range(10_000)]
    assert {i for i, row in enumerate(rows) if row["note"]} == set(at)
    for number, line in at.items():
        assert rows[number]["note"].startswith(JSON_LINES[line])
        assert rows[number]["label"] == rows[number]["score"] == ""
    right = [row["label"] == LABELS[i % 4] for i, row in enumerate(rows) if not row["note"]]
    assert all(right)
    assert f"Note: {len(at)} of 10,000 rows without text or that cannot be read" in result.err


CSV_ROWS = {
    "a,b,c": "3 fields, but the first line names 2 columns",
    "one": "1 field, but the first line names 2 columns",
    ",x": "no text",
    '"stray quote,x': "broken quoting: ",
    '"a" b,x': "broken quoting: ",
}


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("bad", CSV_ROWS)
def test_a_bad_csv_row_takes_no_other_with_it(tmp_path, bad, last):
    good = [f"{text},x" for text in TEXTS * 3] + ['"two\nlines",x']
    rows = [*good, bad] if last else [*good[:5], bad, *good[5:]]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    kept = read_documents(tmp_path / "a.csv", label="label", bad_rows="keep")
    at = 13 if last else 5
    assert kept.texts == [
        *(TEXTS * 3 + ["two\nlines"])[:at],
        "",
        *(TEXTS * 3 + ["two\nlines"])[at:],
    ]
    assert list(kept.problems) == [at]
    assert kept.problems[at].startswith(CSV_ROWS[bad])
    assert kept.labels[at] in (None, "x")
    left = read_documents(tmp_path / "a.csv", label="label", bad_rows="skip")
    assert left.texts == [text for text in kept.texts if text]
    assert any(note.startswith("1 line left out: line ") for note in left.notes)
    number = 16 if last else 7
    with pytest.raises(ReaderError, match=f"a.csv, line {number}: "):
        read_documents(tmp_path / "a.csv", label="label")


def test_a_file_that_is_not_a_table_is_an_error_and_not_all_bad_rows(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text,label\n" + b"caf\xe9,x\n" * 40 + b"a,x\n" * 60)
    with pytest.raises(ReaderError, match=r"line 2: byte 0xe9 .* 40 of 100 lines cannot be read"):
        read_documents(tmp_path / "a.csv", bad_rows="skip")
    assert len(read_documents(tmp_path / "a.csv", bad_rows="keep").problems) == 40
    (tmp_path / "b.csv").write_bytes(b"text,label\n" + b"caf\xe9,x\n" * 3)
    with pytest.raises(ReaderError, match=r"3 of 3 lines cannot be read"):
        read_documents(tmp_path / "b.csv", bad_rows="keep")


def test_files_of_a_folder(tmp_path):
    for name, content in {"a": b"tea", "b": b"caf\xe9", "c": b""}.items():
        (tmp_path / name).write_bytes(content)
    kept = read_documents(tmp_path, bad_rows="keep")
    assert kept.texts == ["tea", "", ""]
    assert kept.problems == {1: "line 1: byte 0xe9 is not utf-8", 2: "no text"}


def test_strict_stops_and_writes_nothing(model, tmp_path):
    (tmp_path / "a.csv").write_text("text\ntea\n\n ,\n", encoding="utf-8")
    result = run("predict", model, tmp_path / "a.csv", "--strict", "--out", tmp_path / "p.csv")
    assert result.code == 2
    assert "line 4: 2 fields" in result.err
    assert not (tmp_path / "p.csv").exists()


def test_a_single_row_without_text_is_no_error(model, tmp_path):
    (tmp_path / "a.csv").write_text("text\n \n", encoding="utf-8")
    assert ok("predict", model, tmp_path / "a.csv").out == "id,label,score,note\n2,,,no text\n"
    assert "no text" in ok("predict", model, tmp_path / "a.csv", "--explain").out


def test_coefficients_of_bad_rows_are_empty(model, tmp_path):
    (tmp_path / "a.csv").write_text("text\ntea\n \n", encoding="utf-8")
    result = ok("transform", model, tmp_path / "a.csv", "--out", tmp_path / "v.csv")
    with (tmp_path / "v.csv").open(encoding="utf-8") as file:
        _, good, bad = csv.reader(file)
    assert any(float(cell) for cell in good[1:])
    assert bad[0] == "3"
    assert set(bad[1:]) == {""}
    assert "1 of 2 rows without text" in result.err
    ok("transform", model, tmp_path / "a.csv", "--out", tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz") as stored:
        assert np.isnan(stored["coefficients"]).all(axis=1).tolist() == [False, True]


def test_problems_are_those_of_their_part(tmp_path):
    (tmp_path / "a.csv").write_text("text\na\n \nb\n \n", encoding="utf-8")
    parts = list(iter_documents(tmp_path / "a.csv", bad_rows="keep", chunk=2))
    assert [part.problems for part in parts] == [{1: "no text"}, {1: "no text"}]


def start(model, *options):
    """Start `predict MODEL -`, as a service would hold it."""
    command = [sys.executable, "-m", "vbnmf", "predict", str(model), "-", "--json", *options]
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_line_is_answered_before_the_next(model):
    with start(model) as service:
        for number, text in enumerate([*TEXTS, "", TEXTS[0]], 1):
            service.stdin.write(json.dumps({"text": text}) + "\n")
            service.stdin.flush()
            answer = json.loads(service.stdout.readline())
            assert answer["id"] == str(number)
            assert answer["label"] == (LABELS[TEXTS.index(text)] if text else "")
            assert bool(answer["note"]) == (not text)
        service.stdin.close()
        assert service.stdout.read() == ""
        assert service.wait() == 0


def test_bad_first_lines_are_answered_too(model):
    lines = ["nonsense", "[]", json.dumps({"text": TEXTS[0], "ref": 7}), '{"text": 3}']
    with start(model, "--keep", "ref", "--format", "jsonl") as service:
        out, err = service.communicate("\n".join(lines))
    answers = [json.loads(line) for line in out.splitlines()]
    assert [bool(answer["note"]) for answer in answers] == [True, True, False, True]
    assert [answer["ref"] for answer in answers] == [None, None, 7, None]
    assert "Traceback" not in err


def test_csv_from_a_pipe_is_answered_as_it_arrives(model):
    command = [sys.executable, "-m", "vbnmf", "predict", str(model), "-", "--quiet"]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as service:
        service.stdin.write(f"text\n{TEXTS[0]}\n")
        service.stdin.flush()
        assert service.stdout.readline() == "id,label,score,note\n"
        assert service.stdout.readline().startswith("2,tea,")
        service.stdin.close()
        assert service.wait() == 0
