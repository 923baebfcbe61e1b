"""Long lists of strings are outside of a model file's header, which may hold 100 MB."""

import json
import struct

import numpy as np
import pytest
from modelfiles import ModelFile, assert_refused
from numpy.testing import assert_array_equal

from vbnmf import VBNMF, DocumentModel, load, store
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

STRINGS = ["", "x" * 20_000, "кофе", "new\nline", "\x00", "\udce9", "🍵", ""]


def header_of(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return length, json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["vbnmf"])


def test_strings_come_back_as_they_were(tmp_path):
    header = {
        "model": "m", "long": STRINGS, "short": ["a"], "mixed": ["x" * 20_000, 1], "none": [],
        "inside": {"deep": {"terms": [str(i) for i in range(5000)]}, "n": 3},
    }  # fmt: skip
    store.write(tmp_path / "m", header, {"a": np.ones(2)})
    found, arrays = store.read(tmp_path / "m")
    assert found == header
    assert list(arrays) == ["a"]
    _, stored = header_of(tmp_path / "m")
    assert stored["packed"] == [["long"], ["inside", "deep", "terms"]]
    assert "long" not in stored
    assert stored["short"] == ["a"]


def test_an_empty_list_outside_of_the_header_is_sound():
    assert store._strings(np.zeros(0, np.uint8), np.zeros(0, np.int64), "terms") == []


def test_the_header_does_not_grow_with_the_terms(tmp_path):
    """It did, to more than safetensors takes, and the trained model was lost."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"слово{i}" for i in rng.integers(0, 3000, 60)) for _ in range(200)]
    model = DocumentModel(
        VBNMF(2, max_iter=2), DocumentVectorizer(ngram_range=(1, 2), min_df=1, stem="russian")
    ).fit(texts)
    assert len(model.terms_) > 10_000
    model.save(tmp_path / "m")
    length, _ = header_of(tmp_path / "m")
    assert length < 10_000
    same = load(tmp_path / "m")
    assert_array_equal(same.terms_, model.terms_)
    assert_array_equal(same.transform(texts[:5]), model.transform(texts[:5]))


@pytest.fixture
def file(tmp_path):
    X = np.eye(3) + 1
    model = DocumentModel(VBNMF(2, max_iter=2)).fit(X, terms=["a" * 5000, "b" * 5000, "c" * 5000])
    model.save(tmp_path / "m.vbnmf")
    return ModelFile((tmp_path / "m.vbnmf").read_bytes())


@pytest.mark.parametrize(
    "places",
    [None, "terms", {}, [None], [[]], [["nothing", "terms"]], [["model", "terms"]], [[1]],
     [["a"]] * 101, [["terms"], ["terms"]]],
)  # fmt: skip
def test_places_that_are_none_are_refused(tmp_path, file, places):
    assert_refused(tmp_path / "x.vbnmf", file.with_header(packed=places))


@pytest.mark.parametrize(
    "arrays",
    [
        {"packed.0.ends": None},
        {"packed.0.bytes": None},
        {"packed.0.ends": np.array([5000, 9000, 15_001])},
        {"packed.0.ends": np.array([5000, 4000, 15_000])},
        {"packed.0.ends": np.array([-1, 4000, 15_000])},
        {"packed.0.ends": np.array([], dtype=np.int64)},
        {"packed.0.ends": np.array([5000.0, 10_000.0, 15_000.0])},
        {"packed.0.ends": np.array([[5000, 10_000, 15_000]])},
        {"packed.0.ends": np.array([7000, 15_000])},
        {"packed.0.bytes": np.full(15_000, 255, dtype=np.uint8)},
        {"packed.0.bytes": np.zeros(15_000, dtype=np.int8)},
    ],
)
def test_strings_that_are_damaged_are_refused(tmp_path, file, arrays):
    assert_refused(tmp_path / "x.vbnmf", file.with_arrays(**arrays))
