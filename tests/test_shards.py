"""Shard folders: what is written is read, and what is damaged is refused with its name."""

import json
import os
import pickle
import shutil
import zlib
from itertools import pairwise

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import examples
from scipy import sparse

from vbnmf import Shards
from vbnmf.shards import ShardsError, ShardWriter, values, write_shards
from vbnmf.shards import folder as shards_module
from vbnmf.shards.shard import cut

LABELS = ["b", None, "a", "b", "c", "a"] * 5


def matrix(dtype=np.float32):
    return sparse.csr_array(make_corpus(30, 20, 3)[0], dtype=dtype)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "shards"
    weight = np.arange(30) % 4
    write_shards(
        path, matrix(), LABELS, weight, terms=[f"t{i}" for i in range(20)], shard_nonzeros=60
    )
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("size", [1, 60, 10**6])
def test_what_is_written_is_read(tmp_path, dtype, size):
    X = matrix(dtype)
    write_shards(tmp_path, X, LABELS, shard_nonzeros=size)
    shards = Shards(tmp_path)
    assert shards.shape == X.shape
    assert shards.nnz == X.nnz
    assert shards.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert_array_equal(shards.starts, cut(np.diff(X.indptr), size))
    numbers = range(shards.n_shards)
    for kind in (shards.rows, shards.by_term):
        assert_array_equal(sparse.vstack([kind(i) for i in numbers]).toarray(), X.toarray())
    rows = np.array([0, 3, 4, 17, 29])
    assert_array_equal(shards.take(rows).toarray(), X[rows].toarray())
    indicators = shards.indicators().toarray()
    names = [[shards.labels[j] for j in np.flatnonzero(row)] for row in indicators]
    assert names == [[] if label is None else [label] for label in LABELS]
    assert shards.weights() is None


def test_a_folder_says_what_it_holds(folder, tmp_path):
    shards = Shards(folder)
    about = (
        f"30 documents × 20 terms, 3 labels, {shards.nnz:,} non-zeros in {shards.n_shards} shards"
    )
    assert repr(shards) == f"Shards({str(folder)!r}): {about}"
    assert len(shards) == 30
    write_shards(tmp_path / "one", matrix())
    assert repr(Shards(tmp_path / "one")).endswith(f"20 terms, {shards.nnz:,} non-zeros in 1 shard")


@pytest.mark.parametrize("labels", [[0.5, 1.5], ["a", 1], [True, False]])
def test_labels_that_a_folder_cannot_hold(tmp_path, labels):
    writer = ShardWriter(tmp_path, 20, labelled=True)
    with pytest.raises(ValueError, match="must all be strings, or all be whole numbers; got"):
        [writer.add(matrix()[:1], [label]) for label in labels]


def test_lists_of_labels_and_weights(tmp_path):
    sets = [["x", "y"], [], None, ["y"], ["z", "x", "x"]] * 6
    write_shards(tmp_path, matrix(), sets, np.arange(30) / 2, shard_nonzeros=60)
    shards = Shards(tmp_path)
    assert shards.multilabel
    assert shards.labels == ["x", "y", "z"]
    expected = [[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert_array_equal(shards.indicators().toarray()[:5], expected)
    assert_array_equal(shards.weights(), np.arange(30) / 2)


@examples(20)
@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 200), st.integers(0, 30))
def test_parts_and_interruptions_change_no_byte(tmp_path_factory, cuts, size, stop):
    X, root = matrix(), tmp_path_factory.mktemp("shards")

    def run(path, cuts, until=None):
        writer = ShardWriter(path, 20, labelled=True, recipe="same", shard_nonzeros=size)
        bounds = sorted({writer.n_done, 30, *(c for c in cuts if c > writer.n_done)})
        for a, b in pairwise(bounds):
            if until is not None and b > until:
                return
            writer.add(X[a:b], LABELS[a:b])
        writer.finish()

    run(root / "whole", [])
    run(root / "parts", cuts, until=stop)
    run(root / "parts", [])
    assert contents(root / "whole") == contents(root / "parts")


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_another_recipe_begins_anew(tmp_path):
    for recipe, n_done in [("one", 0), ("one", 20), ("two", 0)]:
        writer = ShardWriter(tmp_path, 20, recipe=recipe, shard_nonzeros=1)
        assert writer.n_done == n_done
        if recipe == "one" and not n_done:
            writer.add(matrix()[:21])


# Damage


def rewritten(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def of_manifest(change):
    return lambda folder: rewritten(folder, change)


def replaced(name, array):
    """Put another array in a file, and tell the manifest, as a stranger would."""

    def damage(folder):
        path = folder / "00000" / f"{name}.npy"
        np.save(path, array(np.load(path)))

        def change(manifest):
            crc = zlib.crc32(path.read_bytes())
            manifest["shards"][0]["files"][name] = [path.stat().st_size, crc]

        rewritten(folder, change)

    return damage


def flipped(folder):
    path = folder / "00001" / "rows.data.npy"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(bytes(data))


def truncated(folder):
    path = folder / "00001" / "columns.indices.npy"
    os.truncate(path, path.stat().st_size - 4)


def terabyte(folder):
    """A header that promises more than there is, in a file of the size that was written."""
    with open(folder / "00000" / "rows.data.npy", "r+b") as file:
        file.seek(10)
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,), }"
        file.write(header.ljust(117) + b"\n")


def header(text):
    """Put a header of this text, with the length of the old one, into a file."""

    def damage(folder):
        with open(folder / "00000" / "rows.data.npy", "r+b") as file:
            file.seek(10)
            file.write(text.ljust(117) + b"\n")

    return damage


def linked(folder):
    path = folder / "00000"
    shutil.move(path, folder.parent / "elsewhere")
    path.symlink_to(folder.parent / "elsewhere", target_is_directory=True)


def pickled(folder):
    replaced("rows.data", lambda a: np.array([{}] * len(a), dtype=object))(folder)


DAMAGE = {
    "no folder": (shutil.rmtree, "there is no folder"),
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "has no manifest.json"),
    "no JSON": (lambda f: (f / "manifest.json").write_text("{"), "not JSON"),
    "deep JSON": (lambda f: (f / "manifest.json").write_text("[" * 10**5), "not JSON"),
    "other JSON": (lambda f: (f / "manifest.json").write_text("[]"), "not the manifest"),
    "long version": (of_manifest(lambda m: m.update(version="x" * 3000)), "reads version 1"),
    "long name": (of_manifest(lambda m: m["shards"][0].update(name="x" * 3000)), "not the name"),
    "newer": (of_manifest(lambda m: m.update(version=2)), "reads version 1"),
    "terms": (of_manifest(lambda m: m["terms"].pop()), "a name for each term"),
    "dtype": (of_manifest(lambda m: m.update(dtype="O")), "float32 or float64"),
    "labels": (of_manifest(lambda m: m.update(labels=["a", "a", "b"])), "different names"),
    "flags": (of_manifest(lambda m: m.update(weights=1)), "true or false"),
    "no shards": (of_manifest(lambda m: m.update(shards=[])), "lists no shards"),
    "entry": (of_manifest(lambda m: m["shards"].append({})), "not as expected"),
    "count": (of_manifest(lambda m: m["shards"][0].update(n_docs=-1)), "out of range"),
    "text as count": (of_manifest(lambda m: m["shards"][0].update(nnz="9")), "not numbers"),
    "twice": (of_manifest(lambda m: m["shards"].append(m["shards"][0])), "00000 is listed 2 times"),
    "path": (of_manifest(lambda m: m["shards"][0].update(name="../x")), "not the name of a shard"),
    "missing": (lambda f: shutil.rmtree(f / "00001"), "00001/.* is missing"),
    "truncated": (truncated, "bytes instead of"),
    "link": (linked, "outside the folder"),
    "flipped": (flipped, "checksum"),
    "terabyte": (terabyte, "not a plain array"),
    "open header": (header(b"{'descr': '<f4', 'shape': (3,"), "not a plain array"),
    "no header": (header(b"{'descr': '<f4', 'shape': 3 3}"), "not a plain array"),
    "long header": (header(b"{'descr': '<f9999999999', 'shape': (3,)}"), "not a plain array"),
    "no labels": (of_manifest(lambda m: m.pop("labels")), "'labels' is missing"),
    "no terms": (of_manifest(lambda m: m.pop("terms")), "'terms' is missing"),
    "infinite": (
        of_manifest(lambda m: m["shards"][0]["files"].update(weight=[float("inf"), 1])),
        "not as expected",
    ),
    "pickle": (pickled, "not a plain array"),
    "index": (replaced("rows.indices", lambda a: a + 20), "outside 0 to 19"),
    "negative index": (replaced("columns.indices", lambda a: -a - 1), "outside 0 to"),
    "order": (replaced("rows.indices", lambda a: a[::-1].copy()), "not in order"),
    "pointer": (replaced("rows.indptr", lambda a: a + 1), "are not counts"),
    "nan": (replaced("rows.data", lambda a: a * np.float32(np.nan)), "X contains NaN at row 0"),
    "negative": (replaced("columns.data", lambda a: -a - 1), "Negative values in data"),
    "type": (replaced("rows.data", lambda a: a.astype(np.float64)), "found float64"),
    "length": (replaced("weight", lambda a: a[1:]), "found float64 of shape"),
    "label": (replaced("labels.indices", lambda a: a + 3), "outside 0 to 2"),
    "weight": (replaced("weight", lambda a: a - 9), "weights of documents"),
}


def read_all(folder):
    shards = Shards(folder)
    shards.weights()
    shards.indicators()
    for number in range(shards.n_shards):
        shards.rows(number)
        shards.by_term(number)


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.filterwarnings("error")
def test_damage_is_named(folder, kind):
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(ShardsError, match=message) as error:
        read_all(folder)
    assert len(str(error.value)) < 300 + len(str(folder))


def test_a_full_disk_leaves_no_half_of_a_shard(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match=r"cannot write .*00000: No space left"):
        write_shards(tmp_path, matrix())
    assert list(tmp_path.iterdir()) == []


def test_parts_must_fit_together(tmp_path):
    with pytest.raises(ValueError, match="30 documents, 2 labels"):
        write_shards(tmp_path, matrix(), ["a", "b"])


INVALID = ["index", "negative index", "order", "pointer", "nan", "negative"]


@pytest.mark.parametrize("kind", INVALID)
def test_damage_is_found_by_every_read(folder, kind):
    damage, message = DAMAGE[kind]
    damage(folder)
    shards = Shards(folder)
    sent = pickle.dumps(shards)

    def read(copy):
        copy.rows(0)
        copy.by_term(0)

    for copy in (shards, shards, pickle.loads(sent), pickle.loads(sent)):
        with pytest.raises(ShardsError, match=message):
            read(copy)


def test_copies_in_another_process_check_files_once(tmp_path, monkeypatch):
    write_shards(tmp_path, sparse.csr_array([[1.0, 2], [0, 3]]))
    checked = []

    def counted(module, name):
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: checked.append(name) or whole(*args))

    counted(shards_module, "checksum")
    counted(values, "check")
    once = ["checksum"] * 3 + ["check"]
    sent = pickle.dumps(Shards(tmp_path))
    pickle.loads(sent).rows(0)
    assert checked == once
    pickle.loads(sent).rows(0)  # Dask drops a copy when no task needs it, and sends another one
    assert checked == once
    pickle.loads(sent).by_term(0)  # other files
    assert checked == 2 * once
    Shards(tmp_path).rows(0)
    assert checked == 3 * once
