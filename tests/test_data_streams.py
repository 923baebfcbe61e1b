"""Zstandard, folders of Parquet, and objects that give Arrow batches."""

import json
import tracemalloc

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from cliruns import ok

from vbnmf.data import ReaderError, iter_documents, read_documents

ROWS = [{"text": f"tea number {i}", "label": "ab"[i % 2]} for i in range(50)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def is_all(documents):
    texts = [row["text"] for row in ROWS]
    return documents.texts == texts and list(documents.labels) == [row["label"] for row in ROWS]


def test_zstandard(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstandard.compress(LINES))
    assert is_all(read_documents(path, label="label"))
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    path.write_bytes(zstandard.compress(LINES[:half]) + zstandard.compress(LINES[half:]))
    assert is_all(read_documents(path, label="label"))
    ok("fit", path, "--label", "label", "--out", tmp_path / "m.vbnmf", "--quiet")


def test_damaged_zstandard_is_refused(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    for content in (LINES, b"\x28\xb5\x2f\xfd" + LINES):
        path.write_bytes(content)
        with pytest.raises(ReaderError, match="broken Zstandard"):
            read_documents(path)


def test_a_small_zstandard_file_cannot_fill_the_memory(tmp_path):
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstandard.compress(b"text\n" + b"a\n" * 50_000_000))
    tracemalloc.start()
    with pytest.raises(ReaderError, match="times its size"):
        read_documents(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e9


def test_folder_of_parquet(tmp_path):
    folder = tmp_path / "part=1"
    folder.mkdir()
    for number in range(5):
        part = pa.Table.from_pylist(ROWS[10 * number : 10 * number + 10])
        pq.write_table(part, folder / f"{number}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert is_all(read_documents(tmp_path, label="label"))
    assert [len(part) for part in iter_documents(tmp_path, chunk=20)] == [20, 20, 10]
    pq.write_table(pa.table({"other": ["x"]}), folder / "9.parquet")
    with pytest.raises(ReaderError, match=r"9\.parquet: no column 'text', which 0\.parquet has"):
        read_documents(tmp_path)
    (folder / "9.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(ReaderError, match=r"9\.parquet: not a complete Parquet or Arrow file"):
        read_documents(tmp_path)


def test_a_folder_with_other_files_is_a_folder_of_texts(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    (tmp_path / "b.txt").write_text("tea", encoding="utf-8")
    with pytest.raises(ReaderError, match=r"a\.parquet"):
        read_documents(tmp_path)


def test_duckdb_in_and_out(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_bytes(LINES)
    relation = duckdb.sql(f"select * from read_json('{source}') order by text[12:]::int")  # noqa: S608
    assert is_all(read_documents(relation, label="label"))
    ok("fit", source, "--label", "label", "--out", tmp_path / "m.vbnmf", "--quiet")
    ok("predict", tmp_path / "m.vbnmf", source, "--out", tmp_path / "p.parquet", "--keep", "label")
    query = f"select count(*), min(score) > 0 from '{tmp_path / 'p.parquet'}'"  # noqa: S608
    assert duckdb.sql(query).fetchall() == [(50, True)]


class Batches:
    """An object that only gives batches."""

    def __init__(self, n_batches):
        schema = pa.schema({"text": pa.string(), "label": pa.string()})
        self.given = 0

        def batches():
            for _ in range(n_batches):
                self.given += 1
                yield pa.RecordBatch.from_pylist(ROWS, schema=schema)

        self._reader = pa.RecordBatchReader.from_batches(schema, batches())

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def test_any_arrow_stream_is_read_one_batch_at_a_time():
    assert is_all(read_documents(Batches(1), label="label"))
    source = Batches(1000)
    parts = iter_documents(source, label="label", chunk=50)
    assert is_all(next(parts))
    assert source.given <= 2
    assert sum(len(part) for part in parts) == 999 * 50
