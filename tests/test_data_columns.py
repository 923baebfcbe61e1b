"""Columns of texts and labels, found in the header by their names."""

from pathlib import Path

import pytest

from vbnmf.data import ReaderError, read_documents


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def refused(source: object, message: str, **options: object) -> None:
    with pytest.raises(ReaderError, match=message):
        read_documents(source, **options)


@pytest.mark.parametrize(
    ("columns", "text", "label", "want"),
    [
        (["n", "TEXT", "label"], None, None, ("TEXT", None)),
        (["abstract", "body", "topic"], None, "auto", ("body", "topic")),
        (["Text", "text", "tag"], "text", "TAG", ("text", "tag")),
        (["anything"], None, None, ("anything", None)),
        (["anything", "what"], None, "what", ("anything", "what")),
        (["text", "auto", "label"], None, "auto", ("text", "auto")),
    ],
)
def test_columns(
    tmp_path: Path,
    columns: list[str],
    text: str | None,
    label: str | None,
    want: tuple[str, str | None],
) -> None:
    path = write(tmp_path / "a.csv", ",".join(columns) + "\n" + ",".join(["v"] * len(columns)))
    got = read_documents(path, text=text, label=label)
    assert (got.text_column, got.label_column) == want


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("a,b", {}, "no column has a usual name for text \\(columns: 'a', 'b'\\).*--text"),
        ("text,b", {"label": "auto"}, "usual name for labels \\(columns: 'text', 'b'\\).*--label"),
        ("a,b", {"text": "c"}, "there is no text column 'c'; the columns are 'a', 'b'"),
        ("text,b", {"label": "c"}, "there is no label column 'c'; the columns are 'text', 'b'"),
        ("A,a", {"text": "á"}, "there is no text column"),
        ("Aa,aA", {"text": "aa"}, "2 columns match the text column 'aa'"),
        ("text,b", {"label": "text", "text": "text"}, "cannot be both text and label"),
    ],
)
def test_bad_columns(tmp_path: Path, header: str, options: dict[str, str], message: str) -> None:
    refused(write(tmp_path / "a.csv", f"{header}\n1,2\n"), message, **options)


@pytest.mark.parametrize(
    ("header", "options", "want"),
    [
        ("title,q,team", {"text": "q", "label": "team"}, ("q", "team")),
        ("title,Q,kind,tag", {"text": "q", "label": "team"}, ("Q", "tag")),
        ("title,text,team,tag", {"text": "q", "label": "team"}, ("text", "team")),
        ("b,a,text", {"text": ["a", "b"]}, (["a", "b"], None)),
        ("text,one,two", {"label": ["two", "one"]}, ("text", ["two", "one"])),
        ("text,one,two", {"label": ["two"]}, ("text", ["two"])),
        ("title,q,team", {"text": "q", "label": "gone"}, ("q", None)),
    ],
)
def test_columns_of_a_fit(
    tmp_path: Path, header: str, options: dict[str, object], want: object
) -> None:
    path = write(tmp_path / "a.csv", f"{header}\n" + ",".join("1" for _ in header.split(",")))
    got = read_documents(path, label="auto", fitted_columns=options, labels_required=False)
    assert (got.text_column, got.label_column) == want
    asked = read_documents(path, text=header.split(",")[0], fitted_columns=options)
    assert (asked.text_column, asked.label_column) == (header.split(",")[0], None)
