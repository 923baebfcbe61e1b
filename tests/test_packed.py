"""Matrices of which most entries have one value: in memory and in model files."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from cliruns import LABELS, TEXTS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from modelfiles import ModelFile
from properties import examples
from safetensors.numpy import load as load_tensors
from scipy import sparse

from vbnmf import DocumentModel, SupervisedVBNMF, load, load_predictor
from vbnmf.core.filled import FilledRows, column_limits, column_type
from vbnmf.store import ModelFileError, check_packed, packed

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

matrices = arrays_of.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]),
    arrays_of.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
    elements=st.sampled_from([0.0, 0.0, 0.0, 0.5, -3.0, 7.25]),
)


@examples(200)
@given(matrix=matrices, fill=st.sampled_from([0.0, 0.5, 2.0]), data=st.data())
def test_rows_are_those_of_the_matrix(matrix, fill, data):
    filled = FilledRows.of(matrix, fill)
    assert (filled.shape, filled.dtype, len(filled)) == (matrix.shape, matrix.dtype, len(matrix))
    np.testing.assert_array_equal(np.asarray(filled), matrix, strict=True)
    np.testing.assert_array_equal(filled.transposed(), matrix.T, strict=True)
    rows = np.array(data.draw(st.lists(st.integers(0, len(matrix) - 1), max_size=5)), np.intp)
    np.testing.assert_array_equal(filled[rows], matrix[rows], strict=True)
    np.testing.assert_array_equal(filled[1:], matrix[1:], strict=True)
    for limits, expected in zip(column_limits(filled), column_limits(matrix), strict=True):
        np.testing.assert_array_equal(limits, expected, strict=True)
    again = pickle.loads(pickle.dumps(filled))
    np.testing.assert_array_equal(np.asarray(again), matrix, strict=True)


@examples(200)
@given(matrix=matrices)
def test_files_hold_the_smaller_form(matrix):
    held = packed("m", matrix, 0)
    assert sum(a.nbytes for a in held.values()) <= matrix.nbytes + 16
    found = check_packed(held, "m", (len(matrix), matrix.shape[1]), half=True)
    assert isinstance(found, FilledRows) == ("m" not in held)
    np.testing.assert_array_equal(np.asarray(found), matrix, strict=True)
    if "m" not in held:
        assert packed("m", found).keys() == held.keys()


@pytest.mark.parametrize(
    ("width", "kind"), [(1, "u1"), (256, "u1"), (257, "u2"), (65_536, "u2"), (65_537, "i4")]
)
def test_columns_take_few_bytes(width, kind):
    assert column_type(width) == np.dtype(kind)
    wide = np.zeros((3, width), np.float32)
    wide[[0, 2, 2], [width - 1, 0, width - 1]] = 1, 2, 3
    np.testing.assert_array_equal(np.asarray(FilledRows.of(wide, 0)), wide)


def test_a_matrix_beyond_memory_is_refused(monkeypatch):
    """A small file may claim to have a matrix of any size."""
    huge = {
        "m.values": np.ones(0, np.float32), "m.columns": np.zeros(0, np.uint16),
        "m.ends": np.zeros(10**6, np.int64), "m.fill": np.ones(1, np.float32),
    }  # fmt: skip
    monkeypatch.setenv("VBNMF_MEMORY", "241G")
    assert check_packed(huge, "m", (None, 60_000))[np.arange(2)].shape == (2, 60_000)
    monkeypatch.setenv("VBNMF_MEMORY", "239G")
    with pytest.raises(MemoryError):
        check_packed(huge, "m", (None, 60_000))


@pytest.mark.parametrize("columns", [[1, 2, 2, 0], [0, 0, 1, 2]], ids=["falling", "twice"])
def test_columns_of_a_row_ascend(columns):
    parts = {
        "m.values": np.ones(4, np.float32), "m.columns": np.array(columns, np.uint8),
        "m.ends": np.array([2, 4]), "m.fill": np.zeros(1, np.float32),
    }  # fmt: skip
    with pytest.raises(ModelFileError, match="not in order"):
        check_packed(parts, "m", (2, 3))
    parts["m.columns"] = np.array([1, 2, 0, 2], np.uint8)  # they begin again in the second row
    np.testing.assert_array_equal(check_packed(parts, "m", (2, 3)), [[0, 1, 1], [1, 0, 1]])


# Model files


@pytest.fixture(scope="module")
def fitted():
    """Return a model with many labels, so that most shapes are the prior."""
    texts = [f"{text} own{i % 7} a{i % 7} b{i % 7}" for i, text in enumerate(TEXTS * 3)]
    labels = [f"{label} {i % 7}" for i, label in enumerate(LABELS * 3)]
    estimator = SupervisedVBNMF(
        30, random_state=0, max_iter=10, classifier="words and components", init="random"
    )
    estimator.set_params(scopes=np.arange(30)[None] % 21 == np.arange(21)[:, None])
    model = DocumentModel(estimator, features="none").fit(texts, labels)
    of = model.estimator_.fitted_
    words = of.head.head.words.copy()
    words[:, np.arange(words.shape[1]) % 4 > 0] = 0  # as most of them are in large models
    head = replace(of.head, head=replace(of.head.head, words=words))
    model.estimator_.fitted_ = replace(of, head=head)
    return model


@pytest.fixture(scope="module")
def file(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "model"
    fitted.save(path)
    return path


def test_a_packed_model_is_the_same_model(fitted, file):
    loaded, predictor = load(file), load_predictor(file)
    before, after = fitted.estimator_, loaded.estimator_
    assert isinstance(after.fitted_.components.shapes, FilledRows)
    assert after.fitted_.components.shapes.nbytes < before.fitted_.components.shapes.nbytes / 2
    for name in ("components_", "component_shapes_", "component_mass_", "faded_"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name), strict=True)
    for found, expected in zip(
        after.component_interval(), before.component_interval(), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    head, expected = after.head_, before.head_
    np.testing.assert_array_equal(head.words, expected.words, strict=True)
    P = fitted.predict_proba(TEXTS)
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), P)
    np.testing.assert_array_equal(predictor.predict_proba(TEXTS), P)
    np.testing.assert_array_equal(loaded.transform(TEXTS), fitted.transform(TEXTS))
    assert loaded.explain(TEXTS) == fitted.explain(TEXTS) == predictor.explain(TEXTS)


def test_saving_again_gives_the_same_arrays(file, tmp_path):
    load(file).save(tmp_path / "again")
    again, before = (load_tensors(path.read_bytes()) for path in (tmp_path / "again", file))
    assert again.keys() == before.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(again[name], array, strict=True)


def test_batches_after_loading_are_those_before_saving(fitted, file):
    batch, labels = TEXTS[:12], fitted.predict(TEXTS[:12])
    found = load(file).partial_fit(batch, labels)
    expected = pickle.loads(pickle.dumps(fitted)).partial_fit(batch, labels)
    np.testing.assert_array_equal(
        found.estimator_.components_, expected.estimator_.components_, strict=True
    )
    np.testing.assert_array_equal(found.predict_proba(TEXTS), expected.predict_proba(TEXTS))


def test_labels_do_not_change_by_rounding(fitted):
    """Weights of words are in half precision, and predictions hardly differ from exact ones."""
    words = fitted.estimator_.head_.words
    assert words.dtype == np.float16
    assert words.any()


class TestRounding:
    def head(self, factor=1.0):
        X = np.eye(6, dtype=np.float32).repeat(12, axis=0)
        y = (np.arange(len(X)) % 3).astype(str)
        model = SupervisedVBNMF(
            4, random_state=0, max_iter=5, classifier="words and components"
        ).fit(X, y)
        of = model.fitted_
        exact = (np.arange(18).reshape(3, 6) / 7 * factor).astype(np.float32)
        return replace(of.head.head, words=exact), sparse.csr_array(X), of.for_prediction

    def test_it_is_the_nearest_half(self):
        head, X, posterior = self.head()
        rounded = head.rounded(X, posterior)
        np.testing.assert_array_equal(rounded.words, head.words.astype(np.float16), strict=True)

    def test_not_if_a_weight_is_too_large(self):
        head, X, posterior = self.head(1e6)
        assert head.rounded(X, posterior) is head

    def test_not_if_a_label_changes(self, monkeypatch):
        head, X, posterior = self.head()
        kind = type(head)

        def other(self, probabilities, aim="micro"):
            return np.array([self.words.dtype == np.float16])

        monkeypatch.setattr(kind, "predicted", other)
        assert head.rounded(X, posterior) is head


DAMAGE = {
    "a column beyond the matrix": ("columns", lambda a: np.where(np.arange(len(a)) == 0, 255, a)),
    "columns not in order": ("columns", lambda a: a[::-1]),
    "wide columns": ("columns", lambda a: a.astype(np.int32)),
    "fewer columns": ("columns", lambda a: a[:-1]),
    "ends that go back": ("ends", lambda a: a[::-1].copy()),
    "ends beyond the values": ("ends", lambda a: a + 1),
    "one row less": ("ends", lambda a: a[:-1]),
    "negative ends": ("ends", lambda a: np.where(np.arange(len(a)) == 0, -1, a)),
    "ends in two dimensions": ("ends", lambda a: a[None]),
    "ends of another type": ("ends", lambda a: a.astype(np.int32)),
    "not finite": ("values", lambda a: a * np.float32(np.nan)),
    "values of another type": ("values", lambda a: a.astype(np.float64)),
    "two fills": ("fill", lambda a: np.repeat(a, 2)),
    "no fill": ("fill", lambda a: None),
    "infinite fill": ("fill", lambda a: np.full_like(a, np.inf)),
}


@pytest.mark.parametrize("matrix", ["component_shapes", "head.words"])
@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("read", [load, load_predictor])
def test_damaged_files_are_refused(name, matrix, read, file, tmp_path):
    part, change = DAMAGE[name]
    raw = file.read_bytes()
    key = f"estimator.{matrix}.{part}"
    damaged = ModelFile(raw).with_arrays(**{key: change(load_tensors(raw)[key].copy())})
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(ModelFileError):
        read(tmp_path / "damaged")
