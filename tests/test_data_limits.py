"""Readers at their limits: long documents are read, made-up files end in a message."""

import gzip
import json
import os
import subprocess
from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from cliruns import run

from vbnmf.data import ReaderError, iter_documents, read_documents
from vbnmf.data import streams as streams_module


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def refused(source: object, message: str, **options: object) -> None:
    with pytest.raises(ReaderError, match=message):
        read_documents(source, **options)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".txt"])
def test_documents_of_ten_megabytes(tmp_path: Path, suffix: str) -> None:
    text = "a long word, " * 800_000
    content = {".csv": f'text\n"{text}"\n', ".jsonl": json.dumps({"text": text}), ".txt": text}
    write(tmp_path / f"a{suffix}", content[suffix])
    source = tmp_path if suffix == ".txt" else tmp_path / f"a{suffix}"
    assert read_documents(source).texts == [text]


def test_ceilings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MAX_DOCUMENT", 1000)
    refused(write(tmp_path / "a.csv", "text\n" + "a" * 1001), "line 2: longer than 1,000")
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / "a.txt", "abcdefg\n" * 200)
    refused(tmp_path / "d", "a.txt: longer than 1,000 characters")


def test_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = write(tmp_path / "a.csv.gz", b"text\n" + b"a\n" * 50_000)
    assert len(read_documents(bomb)) == 50_000
    monkeypatch.setattr(streams_module, "BOMB_BYTES", 50_000)
    refused(bomb, "a.csv.gz: it unpacks to more than .* times its size. .* unpack it first")
    honest = write(tmp_path / "b.csv.gz", "text\n" + "\n".join(map(str, range(40_000))))
    assert len(read_documents(honest)) == 40_000


def test_broken_unicode_is_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", r'{"text": "cut \ud83d", "label": "\udc00"}')
    got = read_documents(path, label="label")
    assert got.texts == ["cut \ufffd"]
    assert list(got.labels) == ["\ufffd"]
    assert "1 texts had broken Unicode, replaced by U+FFFD." in got.notes


def shared_text(rows: int, length: int) -> pa.Table:
    """One text that all rows point to."""
    indices = pa.array(np.zeros(rows, dtype=np.int32))
    return pa.table({"text": pa.DictionaryArray.from_arrays(indices, pa.array(["a " * length]))})


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize(("rows", "length"), [(30_000, 500_000), (3_000_000, 1)])
def test_a_small_file_of_many_rows(tmp_path: Path, name: str, rows: int, length: int) -> None:
    """30 GB of text, or millions of rows, in some kilobytes."""
    table = shared_text(rows, length)
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(table, path, compression="zstd")
    else:
        feather.write_feather(table, path, compression="zstd")
    assert path.stat().st_size < 100_000
    refused(path, r"a\.\w+: [\d,]+ bytes that hold more than [\d,]+ bytes of rows")
    if length == 1:
        assert len(next(iter_documents(path, chunk=100))) == 100


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_rows_that_share_texts(tmp_path: Path, name: str) -> None:
    indices = pa.array([2, 0, None, 2], pa.int32())
    tags = pa.DictionaryArray.from_arrays(indices, pa.array(["x", "unused", "y"]))
    table = pa.table({"text": ["a", "b", "b", "a"], "tag": tags})
    write_table = pq.write_table if name == "a.parquet" else feather.write_feather
    write_table(table, tmp_path / name)
    got = read_documents(tmp_path / name, label="tag")
    assert got.texts == ["a", "b", "b", "a"]
    assert list(got.labels) == ["y", "x", None, "y"]


def test_a_small_gzip_of_many_rows(tmp_path: Path) -> None:
    """It is refused before its rows, each of which takes hundreds of bytes, fill the memory."""
    path = write(tmp_path / "a.csv.gz", b"text\n" + b"a\n" * 10_000_000)
    assert path.stat().st_size < 30_000
    lines = islice(streams_module.read_lines(path, "utf-8"), 2_500_000)
    with pytest.raises(ReaderError, match="it unpacks to more than") as caught:
        deque(lines, maxlen=0)
    n_bytes = int(str(caught.value).split("more than ")[1].split(" ")[0].replace(",", ""))
    assert n_bytes < 1.1 * streams_module.BOMB_BYTES


@pytest.mark.parametrize("kind", ["mtx", "svm"])
def test_a_matrix_of_many_empty_columns(tmp_path: Path, kind: str) -> None:
    content = {
        "mtx": "%%MatrixMarket matrix coordinate real general\n"
        "3 200000000 3\n1 1 1\n2 2 1\n3 9 1\n",
        "svm": "1 1:1\n2 2:1\n1 200000000:1\n",
    }
    path = write(tmp_path / f"a.{kind}", content[kind])
    for command in ("fit", "tune"):
        result = run(command, path, *(["--label", "auto"] if kind == "svm" else []))
        assert result.code == 2
    result = run("fit", path)
    assert "200,000,000 columns, but only 3 non-zeros. Check the header." in result.err
    assert read_documents(path).matrix.shape == (3, 200_000_000)  # it costs nothing to hold


def test_folders_inside_of_folders(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    inner = deep
    for _ in range(99):
        inner = inner / "d"
    inner.mkdir(parents=True)
    write(inner / "a.txt", "deep")
    assert read_documents(deep).texts == ["deep"]
    before = Path.cwd()
    try:  # step by step: the whole path is longer than the system takes
        os.chdir(inner)
        for _ in range(1000):
            os.mkdir("e")
            os.chdir("e")
    finally:
        os.chdir(before)
    try:
        refused(deep, "sub-folders are nested more than 100 deep")
    finally:
        os.chdir(inner)
        subprocess.run(["rm", "-r", "e"], check=True)  # noqa: S607 - pytest would recurse
        os.chdir(before)


@pytest.mark.skipif(os.name != "posix", reason="links need a right on Windows")
def test_links_inside_of_folders_are_left_out(tmp_path: Path) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    for place in (folder, outside):
        place.mkdir()
        write(place / "a.txt", place.name)
    (folder / "file").symlink_to(outside / "a.txt")
    (folder / "folder").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    got = read_documents(folder)
    assert got.texts == ["docs"]
    assert "3 symbolic links were ignored." in got.notes
    (tmp_path / "door").symlink_to(folder)
    assert read_documents(tmp_path / "door").texts == ["docs"]  # named by the user
