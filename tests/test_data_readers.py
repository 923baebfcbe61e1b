"""Readers of texts: every format gives the same documents, every fault its own message."""

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vbnmf.data import Documents, ReaderError, iter_documents, read_documents

TEXTS = [
    'A "cat", sat;\non the mat',
    "=cmd('calc')!A1",
    "<script>alert(1)</script>",
    "naïve 猫 🐈",
    "x",
]
LABELS = ["animals", "-2+3", "<b>html</b>", "animals", "misc"]
ROWS = [
    {"id": i, "Body": t, "class": c} for i, (t, c) in enumerate(zip(TEXTS, LABELS, strict=True))
]


def as_delimited(delimiter: str) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(ROWS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue()


def as_jsonl() -> str:
    return "\n".join(json.dumps(row) for row in ROWS)


CONTENT = {".csv": as_delimited(","), ".tsv": as_delimited("\t"), ".jsonl": as_jsonl()}


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def refused(source: object, message: str, **options: object) -> None:
    with pytest.raises(ReaderError, match=message):
        read_documents(source, **options)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", CONTENT)
def test_text_tables_give_the_same_documents(tmp_path: Path, suffix: str, packed: str) -> None:
    path = write(tmp_path / f"reviews{suffix}{packed}", CONTENT[suffix])
    got = read_documents(path, label="auto")
    assert got.texts == TEXTS
    assert list(got.labels) == LABELS
    assert (got.text_column, got.label_column) == ("Body", "class")
    assert got.origin == str(path)
    assert len(got) == len(got.ids) == 5
    assert got.notes == [
        "Text column 'Body' was chosen because of its name.",
        "Label column 'class' was chosen because of its name.",
    ]


def test_ids_are_the_first_lines_of_records(tmp_path: Path) -> None:
    got = read_documents(write(tmp_path / "a.csv", CONTENT[".csv"]))
    assert got.ids == ["2", "4", "5", "6", "7"]
    assert got.labels is None


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", CONTENT)
def test_standard_input_tells_formats_apart(
    monkeypatch: pytest.MonkeyPatch, suffix: str, packed: bool
) -> None:
    data = CONTENT[suffix].encode()
    feed(monkeypatch, gzip.compress(data, mtime=0) if packed else data)
    got = read_documents("-", label="class")
    assert got.texts == TEXTS
    assert got.origin == "standard input"
    kind = "JSONL" if suffix == ".jsonl" else "CSV"
    assert f"Standard input is read as {kind} because of its first character." in got.notes
    assert not sys.stdin.buffer.closed


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize(
    ("line", "delimiter"),
    [("sep=;", ";"), ('"sep=|"', "|"), ("\ufeffSEP=,\r", ","), ("sep=\t", "\t")],
)
def test_the_delimiter_line_of_excel(tmp_path: Path, name: str, line: str, delimiter: str) -> None:
    path = write(tmp_path / name, f"{line}\ntext{delimiter}tag\na{delimiter}x\n")
    got = read_documents(path, label="tag")
    assert (got.texts, list(got.labels), got.ids) == (["a"], ["x"], ["3"])
    assert f"Columns were split at {delimiter!r}, as the first line says." in got.notes
    plain = write(tmp_path / name, "sep=x\na\n")  # a column of this name
    assert read_documents(plain).text_column == "sep=x"


def test_semicolons_are_found(tmp_path: Path) -> None:
    got = read_documents(write(tmp_path / "a.csv", as_delimited(";")), label="class")
    assert got.texts == TEXTS
    assert (
        "Columns were split at the semicolon, the commonest delimiter in the first line."
        in got.notes
    )


def test_parquet_arrow_feather_and_frames(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pyarrow.feather")
    table = pa.Table.from_pylist(ROWS)
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    pa.feather.write_feather(table, tmp_path / "a.feather")
    with (
        pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=2)
    files = [tmp_path / name for name in ("a.parquet", "a.feather", "a.arrow")]
    for source in [*files, table]:
        got = read_documents(source, label="class")
        assert got.texts == TEXTS, source
        assert list(got.labels) == LABELS
        assert got.ids == ["1", "2", "3", "4", "5"]


def test_data_frames() -> None:
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    for frame in (pd.DataFrame(ROWS), pl.DataFrame(ROWS), pl.LazyFrame(ROWS)):
        got = read_documents(frame, label="auto")
        assert (got.texts, list(got.labels)) == (TEXTS, LABELS)
        assert got.ids == ["1", "2", "3", "4", "5"]
    refused(pl.DataFrame({"text": [1, 2]}), "row 1: the text is of type int, expected a string")


def test_damaged_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist(ROWS)
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for name, data in (("b.parquet", whole[:-9]), ("c.arrow", b"nothing"), ("d.parquet", b"")):
        refused(write(tmp_path / name, data), "not a complete Parquet or Arrow file")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(write(tmp_path / "a.parquet", b"x"), r"needs pyarrow.*pip install 'vbnmf\[io\]'")


def test_missing_values_of_frames() -> None:
    frame = pd.DataFrame({"text": ["a", "b", "c"], "label": pd.array([1, None, 3], dtype="Int64")})
    got = read_documents(frame, label="label")
    assert list(got.labels) == [1, None, 3]
    assert got.notes[-1] == "1 of 3 documents have no label."
    refused(pd.DataFrame({"text": ["a", None]}), "row 2: no text")
    refused(pd.DataFrame({"text": ["a", np.nan], "x": [1, 2]}), "row 2: no text")
    refused(pd.DataFrame({"text": [1, 2]}), "row 1: the text is of type int, expected a string")
    refused(pd.DataFrame([["a", "b"]], columns=["text", "text"]), "cannot be read")
    refused(["a", "b"], "Cannot read documents from a list; expected a path")


class FakeDataset:
    """The part of a Hugging Face dataset that is used."""

    def __init__(self, rows: list[dict[str, object]], names: list[str] | None) -> None:
        self.rows = rows
        self.column_names = list(rows[0])
        self.features = {name: SimpleNamespace() for name in self.column_names}
        if names:
            self.features["label"] = SimpleNamespace(names=names)

    def select_columns(self, names: list[str]) -> "FakeDataset":
        return FakeDataset([{n: row[n] for n in names} for row in self.rows], None)

    def __iter__(self):
        return iter(self.rows)


def test_hugging_face_datasets() -> None:
    rows = [{"text": "a", "label": 1, "x": 0}, {"text": "b", "label": 0, "x": 0}]
    rows.append({"text": "c", "label": -1, "x": 0})
    got = read_documents(FakeDataset(rows, ["neg", "pos"]), label="auto")
    assert got.texts == ["a", "b", "c"]
    assert list(got.labels) == ["pos", "neg", None]
    numbers = read_documents(FakeDataset(rows, None), label="label").labels
    assert numbers.dtype == np.int64
    assert list(numbers) == [1, 0, -1]

    class Splits(dict):
        column_names = None

    refused(Splits(train=1, test=2), "has several splits: choose one of 'train', 'test'")


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("chunk", [1, 2, 5, 9])
def test_chunks_are_the_whole(tmp_path: Path, suffix: str, chunk: int) -> None:
    path = write(tmp_path / f"a{suffix}", CONTENT[suffix])
    parts = list(iter_documents(path, label="class", chunk=chunk))
    assert all(len(part) <= chunk for part in parts)
    assert [text for part in parts for text in part.texts] == TEXTS
    assert np.concatenate([part.labels for part in parts]).tolist() == LABELS
    assert all(not part.notes for part in parts[1:])


def test_streaming_reads_no_further_than_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text\nfine\nalso\n" + '"never closed\n')
    parts = iter_documents(path, chunk=1)
    assert next(parts).texts == ["fine"]
    assert next(parts).texts == ["also"]
    with pytest.raises(ReaderError, match="line 4: broken quoting"):
        next(parts)
    with pytest.raises(ValueError, match="`chunk` must be at least 1"):
        next(iter_documents(path, chunk=0))


def test_folder_with_a_sub_folder_a_label(tmp_path: Path) -> None:
    for name, text in (("b/2.txt", "two"), ("a/1.txt", "one"), ("a/deep/3", "three")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, text)
    write(tmp_path / "README", "not a document")
    write(tmp_path / "a" / ".hidden", b"\xff\0")
    got = read_documents(tmp_path, label="auto")
    assert got.ids == ["a/1.txt", "a/deep/3", "b/2.txt"]
    assert got.texts == ["one", "three", "two"]
    assert list(got.labels) == ["a", "a", "b"]
    assert "Files outside of sub-folders were ignored: 'README'." in got.notes
    assert "The names of the 2 sub-folders are used as labels." in got.notes
    unlabelled = read_documents(tmp_path)
    assert unlabelled.labels is None
    assert len(unlabelled) == 4
    assert len(list(iter_documents(tmp_path, chunk=3))) == 2


def test_folder_with_a_labels_file(tmp_path: Path) -> None:
    for name in ("x.txt", "y.txt", "z.txt"):
        write(tmp_path / name, f"text of {name}")
    by_order = write(tmp_path / "labels.txt", "one\n\ntwo\n")
    got = read_documents(tmp_path, labels=by_order)
    assert got.ids == ["x.txt", "y.txt", "z.txt"]
    assert list(got.labels) == ["one", None, "two"]
    by_order.unlink()
    by_name = write(tmp_path / "labels.csv", "File,kind\nz.txt,last\nx.txt,first\n")
    assert list(read_documents(tmp_path, labels=by_name).labels) == ["first", None, "last"]
    write(by_name, "file,kind,Label\nz.txt,0,last\nx.txt,1,first\n")
    assert list(read_documents(tmp_path, labels=by_name).labels) == ["first", None, "last"]
    got = read_documents(tmp_path, labels=by_name, label="kind")
    assert list(got.labels) == ["1", None, "0"]
    write(by_name, "file,kind\nz.txt,0\nnobody,1\n")
    refused(tmp_path, "names 'nobody', which the folder does not have", labels=by_name)
    write(by_name, "file,kind\nz.txt,0\nz.txt,1\n")
    refused(tmp_path, "names 'z.txt' more than once", labels=by_name)
    refused(tmp_path, "no sub-folder with files", label="auto")


def test_labels_kept_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,n\none,1\n ,2\nthree,3\n")
    got = read_documents(path, labels=["x", "y", "z"], bad_rows="skip")
    assert list(got.labels) == ["x", "z"]
    labels = write(tmp_path / "labels.txt.gz", "x\ny\n")
    refused(path, r"labels.txt.gz: 2 labels for 3 documents", labels=labels, bad_rows="skip")
    refused(path, "labels: 4 labels for 3 documents", labels=list("wxyz"), bad_rows="skip")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "a.csv: empty; expected a line with the names"),
        ("a.jsonl", b"\n \n", "a.jsonl: there are no documents in it"),
        ("a.csv", b"text,label\n", "a.csv: there are no documents"),
        ("a.csv", b'text,n\na,1\n"b,2\nc,3\n', "line 3: broken quoting: unexpected end.*line 4"),
        ("a.tsv", b'text\tn\n"b"c\t2\n', "line 2: broken quoting"),
        ("a.csv", b"text,n\na,1\nb,c,2\n", "line 3: 3 fields, but the first line names 2"),
        ("a.csv", b"text,n\na\n", "line 2: 1 field, but the first line names 2"),
        (
            "a.csv",
            b"text,n\na,1\n ,2\n",
            "line 3: no text. Fill it in, or leave such rows out with bad_rows='skip'",
        ),
        ("a.csv", b"text\na\ncaf\xe9\n", "line 3: byte 0xe9 is not utf-8.*--encoding latin-1"),
        ("a.csv", b"text\n1990 \x96 1995\n", "byte 0x96 is not utf-8.*--encoding cp1252"),
        ("a.csv", b"text\ncaf\xe9 \x96 1\n", "byte 0xe9 is not utf-8.*--encoding cp1252"),
        ("a.csv", b"sep=;\ntext;n\na;b;c\n", "line 3: 3 fields, but the first line names 2"),
        ("a.csv", b'sep=;\ntext\n"a', "line 3: broken quoting: unexpected end.*line 3"),
        ("a.csv", "text\na".encode("utf-16"), "line 1: byte 0xff is not utf-8.*--encoding utf-16"),
        ("a.csv", "text\na".encode("utf-16-le"), "line 1: NUL byte.*--encoding utf-16"),
        (
            "a.jsonl",
            b'{"text": "a"}\n{"text": \n',
            "line 2: not JSON.*one complete object per line",
        ),
        ("a.jsonl", b'[{"text": "a"}]', "line 1: a JSON list, expected an object"),
        ("a.jsonl", b'{"text": "a"}\n\n{"t": "b"}', "line 3: no text"),
        ("a.jsonl", b'{"text": 5}', "line 1: the text is of type int, expected a string"),
        ("a.jsonl", b"[" * 100_000, "line 1: not JSON"),
        ("a.json", b'[\n{"text": "x"}\n]\n', "line 1: not JSON.*To write an array so: jq -c"),
        ("a.json", b'[{"text": "x"}]', "line 1: a JSON list.*To write an array so: jq -c"),
        ("a.jsonl", b'{"a": 1' + b"0" * 5000 + b"}", "line 1: not JSON"),
        ("a.jsonl", b"{}", "columns: none"),
        ("a.csv.gz", b"\x1f\x8b\x08\0broken", "a.csv.gz: broken gzip"),
        (
            "a.csv.gz",
            gzip.compress(b"text\n" + b"a\n" * 999, mtime=0)[:-12],
            "a.csv.gz: broken gzip",
        ),
        ("a.csv.gz", b"text\na\n", "broken gzip: the file does not begin as a gzip file"),
        ("a.pdf", b"text", "unknown kind of file '.pdf'.*--format.*csv, tsv, jsonl"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refused(path, message)
    with pytest.raises(ReaderError, match="^" + str(path)):
        read_documents(path)


def test_bad_requests(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text\na\n")
    refused(tmp_path / "b.csv", "b.csv: no such file or folder")
    refused("a\0b.csv", "no such file")
    refused(path, "Unknown format 'xls'; expected one of csv, tsv", format="xls")
    refused(path, "unknown encoding 'klingon'; try 'utf-8'", encoding="klingon")
    refused(path, "unknown encoding 'rot13'", encoding="rot13")
    refused(path, "terms are only for a matrix", terms=["a"])
    refused(pd.DataFrame({"text": ["a"]}), "the DataFrame: terms are only", terms=["a"])
    refused(tmp_path, "no column 'text': it is not a table of texts", text="text")
    refused("-", "parquet needs a path", format="parquet")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "there are no documents")
    refused(write(tmp_path / "odd", "text\na\n").rename(tmp_path / "odd.txt"), "unknown kind")
    assert read_documents(tmp_path / "odd.txt", format="csv").texts == ["a"]


def test_encodings_and_marks(tmp_path: Path) -> None:
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-8-sig"):
        path = write(tmp_path / "a.csv", "text,label\r\ncafé,é\r\n".encode(encoding))
        got = read_documents(
            path, label="label", encoding="utf-8" if encoding == "utf-8-sig" else encoding
        )
        assert (got.texts, list(got.labels), got.text_column) == (["café"], ["é"], "text")


def test_empty_rows_can_be_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label\na,1\n,2\n \t,3\nb,\n")
    got = read_documents(path, label="label", bad_rows="skip")
    assert got.texts == ["a", "b"]
    assert got.ids == ["2", "5"]
    assert list(got.labels) == ["1", None]
    note = "2 lines left out: line 3: no text; line 4: no text. With bad_rows='error' (--strict)"
    assert any(line.startswith(note) for line in got.notes)
    assert "1 of 2 documents have no label." in got.notes


@pytest.mark.parametrize(
    ("values", "want", "dtype"),
    [
        ([1, 2], [1, 2], np.int64),
        ([True, False], [True, False], np.bool_),
        ([1.5, 2], [1.5, 2.0], np.float64),
        (["a", 1], ["a", "1"], object),
        (["a", None, "", " b "], ["a", None, None, "b"], object),
    ],
)
def test_labels_of_json(
    tmp_path: Path, values: list[object], want: list[object], dtype: type
) -> None:
    lines = [json.dumps({"text": "t", "label": value}) for value in values]
    got = read_documents(write(tmp_path / "a.jsonl", "\n".join(lines)), label="label")
    assert got.labels.tolist() == want
    assert got.labels.dtype == dtype
    several = len({type(value) for value in values if value is not None}) > 1
    assert any("several types" in note for note in got.notes) == several


@pytest.mark.parametrize(
    ("label", "kind"), [('["a", ["b"]]', "list"), ('{"a": 1}', "dict"), ('["a", {}]', "dict")]
)
def test_labels_that_are_none(tmp_path: Path, label: str, kind: str) -> None:
    path = write(tmp_path / "a.jsonl", f'{{"text": "t", "label": {label}}}')
    refused(path, f"line 1: a label is of type {kind}, expected a string, a number", label="label")


def test_rows_of_documents():
    every = Documents(
        "here",
        texts=["a", "", "c"],
        labels=np.array([1, 2, 3]),
        ids=["x", "y", "z"],
        kept={"day": [5, 6, 7]},
        problems={1: "empty"},
    )
    some = every.rows([2, 1])
    assert (some.contents, some.labels.tolist(), some.ids) == (["c", ""], [3, 2], ["z", "y"])
    assert (some.kept, some.problems, some.matrix) == ({"day": [7, 6]}, {1: "empty"}, None)
    counts = Documents("here", matrix=sparse.csr_matrix([[1, 0], [0, 2], [3, 0]]))
    assert counts.rows(range(1, 3)).contents.toarray().tolist() == [[0, 2], [3, 0]]
