"""Files that were damaged, or made to harm: a ``ModelFileError`` or a model that works.

Never another exception, never a crash, never code from the file. Damage to single entries of the
header is in ``test_hostile_headers``.
"""

import pickle
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from modelfiles import assert_refused, model_file, outcome
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from vbnmf import VBNMF, SupervisedVBNMF, load

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:the fit did not converge"),
]
MODELS = [VBNMF, SupervisedVBNMF]
EXHAUSTIVE = [pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture
def labelled():
    return model_file(SupervisedVBNMF)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


@pytest.mark.parametrize("model", MODELS)
def test_the_parts_make_a_whole(model, path):
    file = model_file(model)
    for content in (file.raw, file.with_tensors(file.tensors), file.with_arrays()):
        path.write_bytes(content)
        assert outcome(path) == "works"


# Every byte


@pytest.mark.parametrize("every", [97, pytest.param(1, marks=EXHAUSTIVE)])
@pytest.mark.parametrize("model", MODELS)
def test_flipped_bits(model, every, path):
    """A sample of all bits, or each of them."""
    raw = model_file(model).raw
    path.write_bytes(raw)
    outcomes, flipped = Counter(), range(0, 8 * len(raw), every)
    with open(path, "r+b", buffering=0) as file:
        for at, bit in (divmod(number, 8) for number in flipped):
            put(file, at, [raw[at] ^ 1 << bit])
            outcomes[outcome(path)] += 1
            put(file, at, raw[at : at + 1])
    assert path.read_bytes() == raw
    assert outcomes.keys() == {"refused", "works"}, outcomes
    assert outcomes["refused"] > 5 / 8 * len(flipped)


@pytest.mark.parametrize("model", MODELS)
def test_many_wrong_bytes(model, path):
    raw, rng = model_file(model).raw, np.random.default_rng(0)
    path.write_bytes(raw)
    outcomes = Counter()
    with open(path, "r+b", buffering=0) as file:
        for _ in range(1500):
            for at in rng.integers(0, len(raw), rng.integers(1, 4)):
                # mostly what has a meaning in JSON, to get past the first checks
                new = rng.choice(list(b'0123456789-+.eE"[]{}:,\\ nultrasf\x00\x7f\x80\xff'))
                put(file, at, [new])
            outcomes[outcome(path)] += 1
            put(file, 0, raw)
    assert outcomes.keys() == {"refused", "works"}, outcomes


def put(file, at, new):
    """Change bytes in place: much faster than writing the file anew."""
    file.seek(at)
    file.write(bytes(new))


@pytest.mark.parametrize("model", MODELS)
def test_every_way_to_cut_a_file_short(model, path):
    raw = model_file(model).raw
    cuts = [*range(20), *range(20, len(raw) - 20, 11), *range(len(raw) - 20, len(raw))]
    for cut in cuts:
        assert_refused(path, raw[:cut])
    for more in (b"\0", b"x" * 100, raw):
        assert_refused(path, raw + more)


# Files that are something else


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        b"hello, this is only some text of no meaning\n",
        b"\xff" * 8 + b"{}",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 99_000_000) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"null",
        struct.pack("<Q", 200_000) + b"[" * 100_000 + b"]" * 100_000,
        b"\x80\x04\x95",
        b"PK\x03\x04" + b"\0" * 50,
    ],
)
def test_files_that_are_no_safetensors(content, path):
    assert_refused(path, content)


def test_another_safetensors_file(path, labelled):
    arrays = {"weight": np.ones((2, 3), dtype=np.float32)}
    message = "is a safetensors file, but not a vbnmf model"
    assert_refused(path, save_tensors(arrays), message)
    assert_refused(path, save_tensors(arrays, metadata={"format": "pt"}), message)
    metadata = {"VBNMF": labelled.metadata["vbnmf"]}
    assert_refused(path, labelled.with_tensors(labelled.tensors, metadata=metadata), message)


@pytest.mark.parametrize("version", [0, 3, 9, 1.0, True, None, "1", "x" * 50])
def test_unknown_versions(version, path, labelled):
    content = labelled.with_header(format_version=version)
    assert_refused(
        path, content, f"format version {version!r}", "reads version 1 to version 2.", "Update"
    )


@pytest.mark.parametrize("place", ["vbnmf.store.safe_open", "vbnmf.store._unpack",
                                   "vbnmf.estimators.saving.from_state"])  # fmt: skip
def test_too_little_memory_is_no_damage(place, path, labelled, monkeypatch):
    path.write_bytes(labelled.raw)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(place, full)
    with pytest.raises(MemoryError, match=rf"{path.name} does not fit into memory"):
        load(path)


def test_memory_is_tried_before_a_library_panics(path, labelled, monkeypatch):
    path.write_bytes(labelled.raw)

    def full(n, _):
        assert n == len(labelled.raw)
        raise MemoryError

    monkeypatch.setattr("vbnmf.store.np.empty", full)
    with pytest.raises(MemoryError, match="does not fit into memory"):
        load(path)


def test_pickled_code_is_not_run(path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (path.with_name("sprung"),)

    assert_refused(path, pickle.dumps(Trap()))
    assert not path.with_name("sprung").exists()
    pickle.loads(path.read_bytes())
    assert path.with_name("sprung").exists()  # the trap was a real one


class PanicException(BaseException):
    """Stands for what Rust code raises when it gives up; pyo3 does not let it be imported."""

    __module__ = "pyo3_runtime"


@pytest.mark.parametrize("where", ["open", "get_tensor"])
def test_a_panic_of_the_rust_library_is_a_damaged_file(where, path, labelled, monkeypatch):
    class Panicking:
        def __init__(self, *args, **kwargs):
            if where == "open":
                raise PanicException("index out of bounds")

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            pass

        def metadata(self):
            return labelled.metadata

        def keys(self):
            return list(labelled.tensors)

        def get_tensor(self, name):
            raise PanicException("index out of bounds")

    monkeypatch.setattr("vbnmf.store.safe_open", Panicking)
    assert_refused(path, labelled.raw, "damaged")


def test_an_interruption_is_not_taken_for_damage(path, labelled, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("vbnmf.store.safe_open", interrupted)
    path.write_bytes(labelled.raw)
    with pytest.raises(KeyboardInterrupt):
        load(path)


# Arrays

ARRAYS = [
    "component_shapes", "component_scales", "component_sums", "bound_history",
    "label_activations", "label_rate_shapes", "label_rate_scales",
]  # fmt: skip


@pytest.mark.parametrize("name", [*ARRAYS, "scopes"])
def test_arrays_that_are_missing_or_of_another_shape(name, path, labelled):
    array = load_tensors(labelled.raw)[name]
    assert_refused(path, labelled.with_arrays(**{name: None}), f"lacks the array {name!r}")
    wrong = [array[None], array.ravel()[0], array[..., None]]
    wrong += [] if name == "bound_history" else [array[:-1], np.concatenate([array, array])]
    wrong += [array[:, :1], array.T[:1]] if array.ndim == 2 else []
    for other in wrong:
        assert_refused(path, labelled.with_arrays(**{name: np.array(other, order="C")}))


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_values_that_no_model_has(name, path, labelled):
    array = load_tensors(labelled.raw)[name]
    wrong = [np.nan, np.inf, -np.inf]
    wrong += [] if name == "bound_history" else [-1.0]
    wrong += [] if name in ("bound_history", "label_activations") else [0.0, -0.0]
    for value in wrong:
        other = array.copy()
        other.flat[-1] = value
        assert_refused(path, labelled.with_arrays(**{name: other}), repr(name))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("dtype", ["i4", "i8", "u1", "?", "f2", "c8"])
def test_arrays_of_another_type(name, dtype, path, labelled):
    array = np.ceil(load_tensors(labelled.raw)[name]).astype(dtype)
    content = labelled.with_arrays(**{name: array})
    assert_refused(path, content, f"array {name!r} must hold floats", np.dtype(dtype).name)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3"])
def test_types_that_numpy_does_not_have(dtype, path, labelled):
    bits = {"BF16": 16, "F4": 4, "F6_E2M3": 6}.get(dtype, 8)
    count = 6 * 32 // bits
    assert_refused(path, labelled.with_tensor("component_shapes", dtype=dtype, shape=[count]))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": []},
        {"shape": [-3, -2]},
        {"shape": [2**63, 2]},
        {"shape": [2**62, 2**62]},
        {"shape": [10**30]},
        {"shape": [1] * 70 + [3, 2]},
        {"shape": [1] * 100_000 + [3, 2]},
        {"shape": "32"},
        {"data_offsets": [0, 2**62]},
        {"data_offsets": [2**63, 2**63 + 24]},
        {"data_offsets": [24, 0]},
        {"data_offsets": [0]},
        {"dtype": "F128"},
        {"dtype": None},
        {"dtype": 7},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_tensors_that_claim_impossible_sizes(changes, path, labelled):
    assert_refused(path, labelled.with_tensor("component_shapes", **changes))


def test_arrays_that_nobody_asked_for(path, labelled):
    """Are ignored, but must not do harm."""
    end = len(labelled.data)
    for extra in (
        {"dtype": "F64", "shape": [0], "data_offsets": [end, end]},
        {"dtype": "F32", "shape": [2**40, 0], "data_offsets": [end, end]},
        {"dtype": "U8", "shape": [2**63, 0], "data_offsets": [end, end]},
        {"dtype": "BF16", "shape": [0], "data_offsets": [end, end]},
    ):
        path.write_bytes(labelled.with_tensors({**labelled.tensors, "extra": extra}))
        assert outcome(path) in ("refused", "works")


def test_scopes_that_are_none(path, labelled):
    scopes = load_tensors(labelled.raw)["scopes"]
    for wrong in (scopes + 1, scopes * 255, scopes.astype(np.float32), scopes.astype(bool)):
        assert_refused(
            path, labelled.with_arrays(scopes=wrong), "'scopes' must hold zeros and ones"
        )
    for empty in (scopes * [[1], [0]], scopes * [1, 0]):
        assert_refused(path, labelled.with_arrays(scopes=empty.astype(np.uint8)), "in no scope")


def test_components_without_terms_are_refused(path, labelled):
    for shape in ((0, 2), (3, 0), (0, 0)):
        empty = np.ones(shape, dtype=np.float32)
        assert_refused(path, labelled.with_arrays(component_shapes=empty))


@pytest.mark.parametrize("name", ["component_shapes", "component_scales", "component_sums"])
@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e-40, 1e38, 1e39, 1e300, 1.7e308])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_but_finite_arrays(name, value, dtype, path, labelled):
    array = load_tensors(labelled.raw)[name]
    with np.errstate(over="ignore", under="ignore"):
        extreme = np.full(array.shape, value).astype(dtype)
    path.write_bytes(labelled.with_arrays(**{name: extreme}))
    assert outcome(path) in ("refused", "works")


def test_extreme_label_rates(path, labelled):
    for shape in (2, (2, 2)):  # format 3 and since
        huge = {"label_rate_shapes": np.full(shape, 1e308)}
        huge["label_rate_scales"] = np.full((2, 2), 1e308)
        path.write_bytes(labelled.with_arrays(**huge))
        assert outcome(path) in ("refused", "works")
