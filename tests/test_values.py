"""One check of X: memory, shards and Dask arrays refuse the same values with the same words."""

import json
import zlib

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import examples
from scipy import sparse

from vbnmf import VBNMF, Shards
from vbnmf.shards import ShardsError, ShardWriter, values, write_shards

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
X, _ = make_corpus(30, 12, 3)
BAD = {
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "negative": -0.25,
    "too small": 1e-60,
    "too large": 1e31,
}


def quick(**parameters):
    return VBNMF(2, max_iter=6, random_state=0, **parameters)


def spoiled(value, dtype=np.float64):
    given = X.toarray().astype(dtype)
    given[17, 4] = value
    return given


def refusal(function, *args):
    with pytest.raises(ValueError) as caught:
        function(*args)
    return str(caught.value)


def written_anyway(folder, given, size=60):
    """A folder with values that the writer refuses, and the right checksums, from a stranger."""
    write_shards(folder, np.where(given == X.toarray(), given, 1.0), shard_nonzeros=size)
    manifest = json.loads((folder / "manifest.json").read_text())
    row = 0
    for entry in manifest["shards"]:
        part = sparse.csr_array(given[row : row + entry["n_docs"]])
        row += entry["n_docs"]
        for kind, matrix in (("rows", part), ("columns", part.tocsc())):
            path = folder / entry["name"] / f"{kind}.data.npy"
            np.save(path, matrix.data)
            content = path.read_bytes()
            entry["files"][f"{kind}.data"] = [len(content), zlib.crc32(content)]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return Shards(folder)


@pytest.mark.parametrize("kind", BAD)
def test_memory_and_shards_refuse_the_same_values_with_the_same_words(tmp_path, kind):
    given = spoiled(BAD[kind])
    words = refusal(quick().fit, given)
    assert "large" in kind or "row 17, column 4" in words
    assert refusal(quick().fit(X).transform, given) == words
    assert refusal(write_shards, tmp_path / "refused", given) == words
    shards = written_anyway(tmp_path / "stranger", given)
    assert shards.n_shards > 2
    for call in (quick().fit, quick().fit(X).transform):
        with pytest.raises(ShardsError) as caught:
            call(shards)
        path, _, said = str(caught.value).partition(": ")
        assert (path.endswith("rows.data.npy"), said) == (True, words)


@pytest.mark.parametrize("kind", BAD)
def test_dask_arrays_are_refused_with_the_same_words(client, kind):
    da = pytest.importorskip("dask.array")
    given = spoiled(BAD[kind])
    words = refusal(quick().fit, given)
    for rows in (30, 7):
        array = da.from_array(given, chunks=(rows, 12))
        assert refusal(quick(engine="dask").fit, array) == words


def test_sums_of_all_shards_count(tmp_path):
    given = X.toarray() * (4e29 / X.sum())
    write_shards(tmp_path, given, shard_nonzeros=60)
    weight = np.full(30, 3.0)
    words = refusal(quick().fit, given, None, weight)
    assert "sample_weight is too large" in words
    assert refusal(quick().fit, Shards(tmp_path), None, weight) == words
    writer = ShardWriter(tmp_path / "parts", 12)
    for _ in range(2):
        writer.add(given)
    assert "they sum to 1.2e+30" in refusal(writer.add, given)


def test_nothing_to_learn_from(tmp_path, client):
    da = pytest.importorskip("dask.array")
    write_shards(tmp_path, np.zeros((4, 3)))
    words = refusal(quick().fit, np.zeros((4, 3)))
    assert words.startswith("all values of X are zero")
    assert refusal(quick().fit, Shards(tmp_path)) == words
    assert refusal(quick(engine="dask").fit, da.zeros((4, 3))) == words
    weight = (np.arange(30) == 0).astype(float)
    given = X.toarray()
    given[0] = 0
    write_shards(tmp_path / "first", given)
    words = refusal(quick().fit, given, None, weight)
    assert refusal(quick().fit, Shards(tmp_path / "first"), None, weight) == words


# The same bits: values are cast once, and everywhere alike


def large(dtype):
    given = X.toarray().astype(dtype)
    given[3, 5] = 5_000_001
    return given


SAME = {
    "float32": X.toarray().astype(np.float32),
    "large float32": large(np.float32),
    "float64": X.toarray() / 3,
    "whole numbers": X.toarray().astype(np.int64),
    "large whole numbers": large(np.int64),
    "small whole numbers": X.toarray().astype(np.uint8),
    "truth values": X.toarray() > 0,
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_bits_in_memory_in_shards_and_of_dask_arrays(tmp_path, client, kind):
    da = pytest.importorskip("dask.array")
    given = SAME[kind]
    expected = quick().fit(given)
    dtype = np.float32 if kind == "float32" else np.float64
    assert expected.components_.dtype == dtype
    write_shards(tmp_path, given)
    shards = Shards(tmp_path)
    whole = da.from_array(given, chunks=(30, 12))
    for model in (
        quick().fit(shards),
        quick(engine="dask").fit(shards),
        quick(engine="dask").fit(whole),
    ):
        assert model.components_.dtype == dtype
        assert_array_equal(model.components_, expected.components_)
        assert_array_equal(model.bound_history_, expected.bound_history_)
        for form in (given, shards, whole):
            assert_array_equal(model.transform(form), expected.transform(given))


def test_parts_of_several_types_are_held_in_the_widest(tmp_path):
    parts = [X.toarray()[:10].astype(np.float32), X.toarray()[10:] / 3]
    writer = ShardWriter(tmp_path, 12, shard_nonzeros=20)
    for part in parts:
        writer.add(part)
    writer.finish()
    shards = Shards(tmp_path)
    assert shards.dtype == np.float64
    assert shards.rows(0).dtype == shards.by_term(0).dtype == np.float64
    assert_array_equal(shards.take(np.arange(30)).toarray(), np.vstack(parts))


def test_values_are_judged_before_they_are_rounded(tmp_path):
    """In float32, 1e-60 would be zero and 1e39 infinity."""
    for value in (1e-60, 1e39):
        writer = ShardWriter(tmp_path, 12, dtype=np.float32)
        assert refusal(writer.add, spoiled(value)) == refusal(quick().fit, spoiled(value))


# Summaries add up

VALUES = st.sampled_from([0.0, 1.0, 2.5, -1.0, -3.0, np.nan, np.inf, -np.inf, 1e-60, 1e-50, 1e29])


@examples(200)
@given(st.lists(VALUES, min_size=6, max_size=24), st.lists(st.integers(0, 8), max_size=3))
def test_summaries_of_parts_add_up(listed, cuts):
    rows = np.array(listed[: len(listed) // 3 * 3]).reshape(-1, 3)
    bounds = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    parts = [values.summarize(values.as_rows(part)) for part in np.split(rows, bounds[1:-1])]
    total = parts[0]
    for part in parts[1:]:
        total += part
    whole = values.summarize(values.as_rows(rows))
    assert said(total) == said(whole)
    assert total.n_docs == whole.n_docs == len(rows)
    bad = ~np.isfinite(rows) | (rows < 0) | ((rows > 0) & (rows < values.LEAST))
    assert (said(whole) is None) == (not bad.any() and rows.sum() <= values.LARGEST_SUM)


def said(summary):
    try:
        values.check(summary)
    except ValueError as error:
        return str(error)
    return None


def test_columns_name_the_same_cell():
    for matrix in (sparse.csr_array(spoiled(-0.25)), sparse.csc_array(spoiled(-0.25))):
        assert values.summarize(matrix).lowest == (-0.25, 17, 4)
