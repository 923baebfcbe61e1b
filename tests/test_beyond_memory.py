"""vbnmf fit of a file beyond memory: what is estimated, and the model by way of shards."""

import gzip
import os

import numpy as np
import pytest
from cliruns import LABELS, TEXTS, ok, run, write_csv
from scipy import io, sparse

from vbnmf import memory, store

SMALL = "1M"


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "a.csv", [*TEXTS, "tea"], [*LABELS, ""])


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1500", 1500), ("2k", 2000), ("0.5G", 500_000_000), ("3 MB", 3_000_000), ("1T", 10**12)],
)
def test_memory_as_given(monkeypatch, given, expected):
    monkeypatch.setenv(memory.VARIABLE, given)
    assert memory.available() == expected


def test_memory_as_the_system_says(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    found = memory.available()
    assert found is None or found > 1_000_000
    monkeypatch.setattr(memory, "_of_container", lambda: 5)
    assert memory.available() == 5


def test_sizes_of_texts(tmp_path):
    text = b"a few words that compress well\n" * 40_000
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text))
    assert memory.text_bytes(tmp_path / "a.csv", "csv") == len(text)
    assert memory.text_bytes(tmp_path / "b.csv.gz", "csv") == pytest.approx(len(text), rel=0.2)
    both = len(text) + (tmp_path / "b.csv.gz").stat().st_size
    assert memory.text_bytes(tmp_path, "folder") == both
    (tmp_path / "c.csv.gz").write_bytes(b"\x1f\x8b broken")
    assert memory.text_bytes(tmp_path / "c.csv.gz", "csv") == 9


def test_the_size_of_a_parquet_file_is_that_of_its_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [f"{i} " + "word " * 100 for i in range(1000)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": texts}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    assert memory.text_bytes(path, "parquet") > 400_000
    path.write_bytes(b"broken")
    assert memory.text_bytes(path, "parquet") == 6


@pytest.mark.parametrize(
    "options",
    [
        ("--label", "label"),
        ("--label", "label", "--only-labelled", "--stem", "english", "--min-df", "2"),
        ("--text", "text", "--ngram-range", "1,2"),
    ],
)
def test_the_model_is_that_of_memory(table, tmp_path, monkeypatch, options):
    said = {}
    for name, limit in (("memory", "100G"), ("shards", SMALL)):
        monkeypatch.setenv(memory.VARIABLE, limit)
        monkeypatch.setenv("TMPDIR", "")
        out = tmp_path / f"{name}.vbnmf"
        said[name] = ok("fit", table, *options, "-k", "6", "--max-iter", "15", "--out", out).err
    assert "needs about" not in said["memory"]
    assert "needs about 300.0 MB of memory, and 1.0 MB are available." in said["shards"]
    (a, arrays), (b, others) = (store.read(tmp_path / f"{n}.vbnmf") for n in said)
    for header in (a, b):
        header["estimator"].get("classes", {}).pop("dtype", None)  # str, or objects that are str
        header.pop("features_reason")  # shards have no texts
    assert a == b
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.csv", "memory.vbnmf", "shards.vbnmf"}


def test_nothing_is_left_after_an_error(table, tmp_path, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, SMALL)
    place = tmp_path / "t"
    place.mkdir()
    os.utime(place, (0, 0))
    monkeypatch.setenv("TMPDIR", str(place))
    options = ("--label", "label", "--tol", "-1", "--quiet")  # refused when the shards are there
    said = run("fit", table, *options, "--out", tmp_path / "m.vbnmf")
    assert (said.code, said.err) == (2, "Error: tol must be a number of at least 0; got -1.0.\n")
    assert place.stat().st_mtime > 0  # something was written there
    assert list(place.iterdir()) == []
    assert not (tmp_path / "m.vbnmf").exists()


@pytest.mark.parametrize(
    ("file", "limit", "message"),
    [
        ("a.csv", "much", "VBNMF_MEMORY='much' is not an amount of memory"),
        ("none.csv", SMALL, "none.csv: no such file or folder."),
    ],
)
def test_errors(table, tmp_path, monkeypatch, file, limit, message):
    monkeypatch.setenv(memory.VARIABLE, limit)
    said = run("fit", tmp_path / file, "--label", "label", "--out", tmp_path / "m.vbnmf")
    assert said.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1


def test_standard_input_and_matrices_are_read_into_memory(table, tmp_path, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "1")
    out = ("--max-iter", "2", "--out", tmp_path / "m.vbnmf", "--force")
    read = ok("fit", "-", "--format", "csv", *out, stdin=table.read_bytes())
    assert "needs about" not in read.err
    io.mmwrite(tmp_path / "a.mtx", sparse.csr_matrix(np.eye(30)))
    assert "needs about" not in ok("fit", tmp_path / "a.mtx", *out).err
