"""Labels in one spelling: folded case, and a table of new names."""

import json

import pytest
from cliruns import ok, run

from vbnmf import load
from vbnmf.data import ReaderError, iter_documents, read_documents

ROWS = [
    ("green tea leaves", "Tea"),
    ("black tea pot", "tea "),
    ("tea with  milk", "TEA"),
    ("coffee beans", "Coffee"),
    ("strong coffee", "coffee"),
    ("coffee and sugar", "Kaffee"),
] * 4


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    lines = ["text,label", *(f"{text},{label}" for text, label in ROWS)]
    path.write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "map.csv").write_text("label,becomes\nkaffee,coffee\nunused,x\n", encoding="utf-8")
    return path


def test_case_is_folded_and_labels_are_renamed(file):
    labels = read_documents(file, label="label", label_case="fold").labels
    assert sorted(set(labels)) == ["coffee", "kaffee", "tea"]
    both = {"label": "label", "label_case": "fold", "label_map": file.parent / "map.csv"}
    assert sorted(set(read_documents(file, **both).labels)) == ["coffee", "tea"]
    parts = iter_documents(file, chunk=5, **both)
    assert {label for part in parts for label in part.labels} == {"coffee", "tea"}
    assert sorted(set(read_documents(file, label="label", label_map={"TEA": "T"}).labels)) == [
        *("Coffee", "Kaffee", "T", "Tea", "coffee", "tea")
    ]


def test_several_labels_become_one_and_empty_ones_are_removed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,A;a;b\nb,b\nc,\n", encoding="utf-8")
    options = {"label": "label", "label_separator": ";", "label_case": "fold"}
    assert list(read_documents(path, **options).labels) == [["a", "b"], ["b"], None]
    assert list(read_documents(path, **options, label_map={"B": ""}).labels) == [["a"], None, None]


def test_numbers_stay_numbers_unless_they_are_renamed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": 1}\n{"text": "b", "label": 2}\n', encoding="utf-8")
    kept = read_documents(path, label="label", label_case="fold").labels
    assert kept.dtype.kind == "i"
    assert list(read_documents(path, label="label", label_map={"1": "x"}).labels) == ["x", 2]


def test_a_model_folds_the_labels_of_other_files(file, tmp_path):
    result = ok("fit", file, "--label", "label", "--out", tmp_path / "a.vbnmf")
    assert "--label-case fold" in result.err
    arguments = ("--label", "label", "--label-case", "fold", "--label-map", tmp_path / "map.csv")
    result = ok("fit", file, *arguments, "--out", tmp_path / "m.vbnmf")
    assert "--label-case fold" not in result.err
    model = load(tmp_path / "m.vbnmf")
    assert model.classes_.tolist() == ["coffee", "tea"]
    assert model.columns_["label_case"] == "fold"
    scores = ok("evaluate", tmp_path / "m.vbnmf", file, "--json", "--label-map",
                tmp_path / "map.csv")  # fmt: skip
    assert json.loads(scores.out)["micro_accuracy"] == 1
    ok("vectorize", file, *arguments, "--out", tmp_path / "shards")
    ok("fit", tmp_path / "shards", "--out", tmp_path / "s.vbnmf")
    assert load(tmp_path / "s.vbnmf").columns_["label_case"] == "fold"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("from,to\na,b\n", "expected the columns 'label' and 'becomes'; found 'from', 'to'"),
        ("label,becomes\na,b\na,c\n", "line 3: 'a' becomes 'c', but 'b' in a line before"),
        ("label,becomes\na\n", "line 2: 1 field, but the first line names 2 columns"),
    ],
)
def test_bad_tables_are_refused(file, tmp_path, content, message):
    (tmp_path / "bad.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ReaderError, match=message):
        read_documents(file, label="label", label_map=tmp_path / "bad.csv")
    arguments = ("--label", "label", "--label-map", tmp_path / "bad.csv")
    result = run("fit", file, *arguments, "--out", tmp_path / "m.vbnmf")
    assert result.code == 2
    assert message in result.err


def test_a_wrong_case_is_refused(file):
    with pytest.raises(ReaderError, match="label_case is 'lower'; expected 'keep' or 'fold'"):
        read_documents(file, label="label", label_case="lower")
