"""Readers at their limits: long documents are read, made-up files end in a message."""

import gzip
import json
from pathlib import Path

import pytest

from vbnmf.data import ReaderError, read_documents
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
    refused(bomb, "a.csv.gz: broken gzip: it inflates .*-fold to more than .* unpack it first")
    honest = write(tmp_path / "b.csv.gz", "text\n" + "\n".join(map(str, range(40_000))))
    assert len(read_documents(honest)) == 40_000


def test_broken_unicode_is_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", r'{"text": "cut \ud83d", "label": "\udc00"}')
    got = read_documents(path, label="label")
    assert got.texts == ["cut \ufffd"]
    assert list(got.labels) == ["\ufffd"]
    assert "1 texts held broken Unicode, replaced by U+FFFD." in got.notes
