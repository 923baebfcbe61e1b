"""Readers under fire: any bytes in any format give documents or a ReaderError, nothing else."""

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy import io as scipy_io
from scipy import sparse

from vbnmf.data import Documents, ReaderError, iter_documents, read_documents

try:
    import pyarrow as pa
    from pyarrow import feather
    from pyarrow import parquet as pq
except ImportError:
    pa = None

SUFFIXES = [".csv", ".tsv", ".jsonl", ".svm", ".mtx", ".npz", ".csv.gz"]
SUFFIXES += [".parquet", ".arrow"] if pa else []
# Pieces that mean something to one of the formats, so that fuzzing goes deeper than the first byte.
PIECES = (
    *("text", "label", "1", "2", "0", "-1", "1:2", "3:4.5", "nan", "1e999", "qid:1", "99999999999"),
    *(",", ";", "\t", "\n", "\r", "\r\n", '"', '""', " ", "#", ":", "\0", "\ufeff", "é", "\u2028"),
    *('{"text": "a"}', '{"text": ', "[", "]", "{", "}", "null", '"\\ud800"', '"label": '),
    *("%%MatrixMarket matrix coordinate real general\n", "2 2 1\n", "1 1 1\n", "% remark\n"),
    *("%%MatrixMarket matrix array integer symmetric\n", "pattern", "complex", "2 2\n"),
)


def valid_files() -> dict[str, bytes]:
    """One sound file of each format, to be damaged."""
    rows = [{"text": f'document {i}, "quoted"', "label": i % 2} for i in range(4)]
    frame = pd.DataFrame(rows)
    matrix = sparse.random(4, 5, density=0.5, format="csr", random_state=0)
    market, packed, parquet, arrow = (io.BytesIO() for _ in range(4))
    if pa:
        pq.write_table(pa.Table.from_pandas(frame), parquet)
        feather.write_feather(pa.Table.from_pandas(frame), arrow, compression="uncompressed")
    scipy_io.mmwrite(market, matrix)
    sparse.save_npz(packed, matrix, compressed=False)
    table = frame.to_csv(index=False).encode()
    return {
        ".csv": table,
        ".tsv": frame.to_csv(index=False, sep="\t").encode(),
        ".jsonl": "\n".join(map(json.dumps, rows)).encode(),
        ".svm": b"1 1:2 3:4\n-1 2:1\n1 1:1 2:1 3:1\n0 3:5\n",
        ".mtx": market.getvalue(),
        ".npz": packed.getvalue(),
        ".parquet": parquet.getvalue(),
        ".arrow": arrow.getvalue(),
        ".csv.gz": gzip.compress(table, mtime=0),
    }


VALID = valid_files()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(path: Path, data: bytes, **options: object) -> Documents | None:
    """Read and check the promises of Documents; None for a refusal that names its source."""
    path.write_bytes(data)
    refusal = ""
    try:
        got = read_documents(path, **options)
    except ReaderError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith((str(path), "labels: "))
        return None
    assert len(got) > 0
    if got.texts is not None:
        assert len(got.texts) == len(got.ids)
        assert all(isinstance(text, str) and text.strip() for text in got.texts)
        "".join(got.texts).encode("utf-8")
    else:
        assert got.matrix.shape[0] == len(got)
        assert np.all(got.matrix.indices < got.matrix.shape[1])
        got.matrix.sum(axis=0)
    if got.labels is not None:
        assert len(got.labels) == len(got)
        sorted(label for label in got.labels if label is not None)
    return got


options = st.fixed_dictionaries(
    {},
    optional={
        "label": st.sampled_from([None, "auto", "label", "2"]),
        "text": st.sampled_from([None, "text", "1"]),
        "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-7", "idna", "shift_jis"]),
        "bad_rows": st.sampled_from(["error", "skip", "keep"]),
        "labels": st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers()), max_size=4),
    },
)
soup = st.lists(st.sampled_from(PIECES), max_size=30).map(lambda pieces: "".join(pieces).encode())


@pytest.mark.parametrize("suffix", SUFFIXES)
@examples(60, derandomize=True)
@given(data=st.one_of(soup, st.binary(max_size=200)), options=options)
def test_any_bytes(folder: Path, suffix: str, data: bytes, options: dict[str, object]) -> None:
    read(folder / f"any{suffix}", data, **options)


@pytest.mark.parametrize("suffix", SUFFIXES)
@examples(60, derandomize=True)
@given(draw=st.data())
def test_damaged_files(folder: Path, suffix: str, draw: st.DataObject) -> None:
    whole = VALID[suffix]
    assert read(folder / f"whole{suffix}", whole) is not None
    damaged = bytearray(whole)
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(damaged)))
        gone = draw.draw(st.sampled_from([0, 1, 2, 8, len(damaged)]))
        damaged[at : at + gone] = draw.draw(st.one_of(st.binary(max_size=3), soup.map(bytes)))
    read(
        folder / f"damaged{suffix}",
        bytes(damaged),
        label=draw.draw(st.sampled_from([None, "auto"])),
    )


@examples(60, derandomize=True)
@given(
    rows=st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6),
    suffix=st.sampled_from([".csv", ".tsv", ".jsonl"]),
    chunk=st.integers(1, 7),
)
def test_what_is_written_is_read(
    folder: Path, rows: list[tuple[str, str]], suffix: str, chunk: int
) -> None:
    rows = [(f"x{text}".replace("\0", ""), label.replace("\0", "")) for text, label in rows]
    frame = pd.DataFrame(rows, columns=["text", "label"])
    path = folder / f"round{suffix}"
    if suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    else:
        delimiter = "," if suffix == ".csv" else "\t"
        frame.to_csv(path, index=False, sep=delimiter, quoting=csv.QUOTE_ALL)
    want_labels = [label.strip() or None for _, label in rows]
    got = read_documents(path, label="label")
    assert got.texts == [text for text, _ in rows]
    assert list(got.labels) == want_labels
    parts = list(iter_documents(path, label="label", chunk=chunk))
    assert [text for part in parts for text in part.texts] == got.texts
    assert [label for part in parts for label in part.labels] == want_labels


values = st.one_of(st.none(), st.text(max_size=5), st.integers(), st.floats(), st.booleans())


@examples(60, derandomize=True)
@given(
    texts=st.lists(values, max_size=5),
    labels=st.lists(st.one_of(values, st.lists(values, max_size=2), st.dates()), max_size=5),
)
def test_frames_of_any_values(texts: list[object], labels: list[object]) -> None:
    size = min(len(texts), len(labels))
    frame = pd.DataFrame(
        {"text": pd.Series(texts[:size], dtype=object), "y": pd.Series(labels[:size], dtype=object)}
    )
    try:
        got = read_documents(frame, label="y", bad_rows="skip")
    except ReaderError:
        return
    assert len(got.texts) == len(got.labels) > 0
