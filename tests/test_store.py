"""Models to files and back, and files that are written whole or not at all.

Files that were damaged or made to harm are in ``test_hostile_files``.
"""

import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap
from dataclasses import fields, is_dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import safe_open
from scipy import sparse
from sklearn.exceptions import NotFittedError

import vbnmf
from vbnmf import VBNMF, Batches, Shards, SupervisedVBNMF, load, store
from vbnmf.core.filled import FilledRows
from vbnmf.estimators import heads
from vbnmf.shards import write_shards
from vbnmf.text import EmptyDocumentWarning

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

MODELS = [VBNMF, SupervisedVBNMF]
X, Y = make_corpus(14, 9, 3)
NEW, _ = make_corpus(6, 9, 2, seed=5)


def quick(model, **parameters):
    return model(**{"n_components": 3, "max_iter": 8, "random_state": 0, **parameters})


def assert_same(one, other, name):
    """Same type and value, to the last bit; of records, all fields."""
    one, other = (np.asarray(a) if isinstance(a, FilledRows) else a for a in (one, other))
    assert type(one) is type(other), name
    if isinstance(one, np.ndarray):
        assert_array_equal(one, other, err_msg=name, strict=True)
    elif sparse.issparse(one):
        for part in ("data", "indices", "indptr", "shape"):
            assert_array_equal(getattr(one, part), getattr(other, part), strict=True)
    elif is_dataclass(one):
        for field in fields(one):
            of_field = f"{name}.{field.name}"
            assert_same(getattr(one, field.name), getattr(other, field.name), of_field)
    else:
        assert one == other, name


def assert_same_model(one, other):
    """Same class, parameters and fitted attributes, to the last bit and type."""
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    ours, theirs = (
        {name: value for name, value in vars(m).items() if name.endswith("_")} for m in (one, other)
    )
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert_same(value, theirs[name], name)
    for dtype in (np.float32, np.float64):
        given = NEW.astype(dtype)
        assert_array_equal(one.transform(given), other.transform(given), strict=True)


def by_save(model, path):
    model.save(path)
    return load(path)


def by_pickle(model, path):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


@pytest.mark.parametrize("trip", [by_save, by_pickle, by_joblib])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_round_trip(model, dtype, trip, tmp_path):
    batches = Batches(np.float64(3), head_samples=7)
    fitted = quick(model, term_shape="learned", batches=batches).fit(X.astype(dtype), Y)
    same = trip(fitted, tmp_path / "model")
    assert_same_model(fitted, same)
    assert_same_model(same, trip(same, tmp_path / "again"))
    # the loaded one can be fitted anew and changed without harm to the file
    assert_array_equal(
        same.fit(X, Y).components_, quick(model, term_shape="learned").fit(X, Y).components_
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e-30, 1e27])
@pytest.mark.parametrize("model", MODELS)
def test_round_trip_of_very_large_and_very_small_numbers(model, factor, dtype, tmp_path):
    fitted = quick(model).fit((X * factor).astype(dtype), Y)
    assert_same_model(fitted, by_save(fitted, tmp_path / "model"))


LABELS = {
    "ints": [7, -2, 30],
    "small ints": np.array([200, 3, 0], dtype=np.uint8),
    "big-endian ints": np.array([200, 3, 0], dtype=">i4"),
    "largest ints": np.array([2**64 - 1, 3, 0], dtype=np.uint64),
    "floats": [0.0, -1e300, 7.0],
    "single floats": np.array([1.0, 1e30, -2], dtype=np.float32),
    "half floats": np.array([1.0, 1e3, -2], dtype=np.float16),
    "strings": ['"', "tea\n\t\\u0041", "Ω é 茶 🍵"],
    "empty string": ["", "a", "b" * 50],
    "bools": [True, False],
    "object strings": np.array(["b", "a", "c"], dtype=object),
    "object ints": np.array([3, 10**30, -5], dtype=object),
    "object floats": np.array([0.5, 0.25, -1.0], dtype=object),
    "object bools": np.array([True, False], dtype=object),
    "object numpy ints": np.array([np.int64(4), np.int64(2)], dtype=object),
}


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS)
def test_round_trip_of_labels(names, tmp_path):
    names = np.asarray(names)
    fitted = quick(SupervisedVBNMF).fit(X, names[Y % len(names)])
    same = by_save(fitted, tmp_path / "model")
    if names.dtype == object and isinstance(names[0], np.generic):
        assert_array_equal(same.classes_, fitted.classes_)
    else:
        assert_same_model(fitted, same)
        assert [type(a) for a in same.classes_] == [type(a) for a in fitted.classes_]


@pytest.mark.parametrize("model", MODELS)
def test_round_trip_of_names_of_terms(model, tmp_path):
    pd = pytest.importorskip("pandas")
    names = ["plain", "q\"uo'te", "new\nline", "tab\t\\", "", "Ω茶🍵", "\x00\x1f", "{}", "NaN"]
    fitted = quick(model).fit(pd.DataFrame(X.toarray(), columns=names), Y)
    same = by_save(fitted, tmp_path / "model")
    assert_array_equal(same.feature_names_in_, names)
    assert same.feature_names_in_.dtype == object
    frame = pd.DataFrame(NEW.toarray(), columns=names)
    assert_array_equal(same.transform(frame), fitted.transform(frame))
    assert_array_equal(same.get_feature_names_out(), fitted.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names should match"):
        same.transform(frame.rename(columns={"plain": "other"}))


@pytest.mark.parametrize("model", MODELS)
def test_text_that_is_no_unicode(model, tmp_path):
    """Names from files read with ``errors="surrogateescape"`` are lone surrogates."""
    labels = np.array(["caf\udce9", "tea", "mate"])[Y]
    fitted = quick(model).fit(X, labels)
    fitted.feature_names_in_ = np.array([f"\udce9{w}" for w in range(9)], dtype=object)
    same = by_save(fitted, tmp_path / "model")
    assert_array_equal(same.feature_names_in_, fitted.feature_names_in_)
    if model is SupervisedVBNMF:
        assert_array_equal(same.classes_, fitted.classes_)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_kept_goes_back_to_its_default(model, tmp_path):
    init = np.random.default_rng(0).random((3, 9))
    given = {
        "init": init, "random_state": np.random.RandomState(3), "callback": lambda progress: None,
        "n_components": np.int64(3), "tol": np.float64(0.01), "n_jobs": 2, "verbose": False,
    }  # fmt: skip
    fitted = quick(model, **given).fit(X, Y)
    same = by_save(fitted, tmp_path / "model")
    lost = {name: model().get_params()[name] for name in ("init", "random_state", "callback")}
    assert same.get_params() == fitted.get_params() | lost
    assert type(same.n_components) is int
    assert_array_equal(same.transform(NEW), fitted.transform(NEW))


def test_another_process_finds_the_same_bits(tmp_path):
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    fitted.save(tmp_path / "model")
    np.save(tmp_path / "new.npy", NEW.toarray())
    script = textwrap.dedent(
        """
        import sys
        import numpy as np
        import vbnmf
        V = vbnmf.load(sys.argv[1]).transform(np.load(sys.argv[2]))
        np.save(sys.argv[3], V)
        """
    )
    paths = [str(tmp_path / name) for name in ("model", "new.npy", "V.npy")]
    subprocess.run([sys.executable, "-c", script, *paths], check=True)  # noqa: S603
    assert_array_equal(np.load(tmp_path / "V.npy"), fitted.transform(NEW))


def test_the_file_is_safetensors_with_a_readable_header(tmp_path):
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    fitted.save(str(tmp_path / "model"))
    with safe_open(tmp_path / "model", framework="numpy") as file:
        metadata = file.metadata()
        assert_array_equal(file.get_tensor("component_shapes"), fitted.component_shapes_.T)
    header = json.loads(metadata["vbnmf"])
    assert header["format_version"] == 2
    assert header["model"] == "SupervisedVBNMF"
    assert header["vbnmf"] == vbnmf.__version__
    assert header["parameters"]["n_components"] == 3
    assert header["hyperparameters"] == fitted.hyperparameters_
    assert header["classes"]["values"] == [0, 1, 2]


@pytest.mark.parametrize("saved_again", [False, True])
def test_files_of_format_1_load_and_predict_the_same(saved_again, tmp_path):
    """Every later version must load this file."""
    folder = Path(__file__).parent / "data"
    expected = json.loads((folder / "model-format-1.json").read_text(encoding="utf-8"))
    model = load(folder / "model-format-1.vbnmf")
    if saved_again:
        model.save(tmp_path / "model")
        model = load(tmp_path / "model")
    with pytest.warns(EmptyDocumentWarning, match=r"rows 3"):
        proba = model.predict_proba(expected["texts"])
    with pytest.warns(EmptyDocumentWarning, match=r"rows 3"):
        coefficients = model.transform(expected["texts"])
    assert_allclose(proba, expected["proba"], rtol=1e-5, atol=1e-9)
    assert_allclose(coefficients, expected["coefficients"], rtol=1e-5)
    assert_allclose(model.estimator_.left_out_proba_[:3], expected["left_out"], rtol=1e-5)
    assert model.estimator_.classifier_ == expected["classifier"]
    assert model.columns_ == {"text": "body", "label": "kind"}
    assert "кофе" in model.terms_


def test_left_out_probabilities_are_saved(tmp_path):
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.left_out_proba_, fitted.left_out_proba_, strict=True)
    assert again.left_out_proba_.shape == (14, 3)
    assert not hasattr(again, "head_documents_")


def test_the_documents_of_left_out_probabilities_are_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(heads, "HEAD_NONZEROS", 30)
    write_shards(tmp_path / "shards", X, Y.tolist(), shard_nonzeros=20)
    fitted = quick(SupervisedVBNMF).fit(Shards(tmp_path / "shards"))
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.left_out_proba_, fitted.left_out_proba_, strict=True)
    assert_array_equal(again.head_documents_, fitted.head_documents_)
    assert len(again.head_documents_) == len(again.left_out_proba_) < len(Y)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        quick(SupervisedVBNMF).fit(X, Y).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# What cannot be saved


@pytest.mark.parametrize("model", MODELS)
def test_a_model_must_be_fitted_to_be_saved(model, tmp_path):
    with pytest.raises(NotFittedError, match=f"This {model.__name__} instance is not fitted yet"):
        quick(model).save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_folders_must_exist(tmp_path):
    fitted = quick(VBNMF).fit(X)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none\. Create it first"):
        fitted.save(tmp_path / "none" / "model")
    with pytest.raises(FileNotFoundError, match=r"there is no model file .*none"):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        load(tmp_path)
    with pytest.raises(OSError, match="directory"):
        fitted.save(tmp_path)
    assert os.listdir(tmp_path) == []
    assert [name for name in os.listdir(tmp_path.parent) if name.endswith(".part")] == []


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    "names",
    [
        objects(("a", 1), ("b", 2)),
        objects(b"a", b"b"),
        np.array([b"a", b"b"]),
        np.array([1, 2], dtype="M8[D]"),
        np.array([1, 2], dtype="M8[ns]"),
        np.array([1, 2], dtype="m8[ns]"),
        np.array([1, 2 + 1j]),
        objects(1.0, np.inf),
    ],
    ids=lambda names: str(names.dtype),
)
def test_labels_that_files_cannot_hold_are_refused_when_saving(names, tmp_path):
    fitted = quick(SupervisedVBNMF).fit(X, names[Y % 2])
    path = tmp_path / "model"
    path.write_text("what was there")
    with pytest.raises(TypeError, match=r"cannot be saved in a model file.*Fit with str"):
        fitted.save(path)
    assert path.read_text() == "what was there"
    assert os.listdir(tmp_path) == ["model"]


def test_a_class_that_load_does_not_know_is_refused_when_saving(tmp_path):
    class Mine(VBNMF):
        pass

    with pytest.raises(TypeError, match="Mine"):
        quick(Mine).fit(X).save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


# All or nothing


def fail(error):
    def failing(*args, **kwargs):
        raise error

    return failing


@pytest.mark.parametrize(
    "error",
    [
        OSError("disk full"),
        pytest.param(KeyboardInterrupt(), marks=pytest.mark.slow),
        pytest.param(MemoryError(), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "where", ["save_file", "os.fsync", "os.chmod", "os.open", "os.replace", "np.ascontiguousarray"]
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    where, error, exists, tmp_path, monkeypatch
):
    path = tmp_path / "model"
    fitted = quick(VBNMF).fit(X)
    if exists:
        fitted.save(path)
    before = path.read_bytes() if exists else None
    other = quick(VBNMF, random_state=1).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr(f"vbnmf.store.{where}", fail(error))
        with pytest.raises(type(error)):
            other.save(path)
    assert os.listdir(tmp_path) == (["model"] if exists else [])
    if exists:
        assert path.read_bytes() == before
        assert_same_model(load(path), fitted)
    assert_same_model(by_save(other, path), other)


def test_a_half_written_file_is_never_seen(tmp_path, monkeypatch):
    """Look at the folder at each step of writing over a file."""
    path = tmp_path / "model"
    old = quick(VBNMF).fit(X)
    old.save(path)
    seen = []

    def watch(name, call):
        def watched(*args, **kwargs):
            result = call(*args, **kwargs)
            seen.append((name, path.read_bytes()))
            return result

        return watched

    before = path.read_bytes()
    monkeypatch.setattr(store, "save_file", watch("written", store.save_file))
    monkeypatch.setattr(os, "fsync", watch("synced", os.fsync))
    monkeypatch.setattr(os, "replace", watch("replaced", os.replace))
    quick(VBNMF, random_state=1).fit(X).save(path)
    after = path.read_bytes()
    assert before != after
    expected = [("written", before), ("synced", before), ("replaced", after)]
    assert seen[:3] == expected
    assert seen[3:] in ([], [("synced", after)])  # of the folder, where the system can
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="permission bits are a POSIX idea")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_any_new_file(mask, mode, tmp_path):
    fitted = quick(VBNMF).fit(X)
    before = os.umask(mask)
    try:
        fitted.save(tmp_path / "model")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == mode
    # and those of the old file, where there is one
    (tmp_path / "model").chmod(0o640)
    fitted.save(tmp_path / "model")
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640


def test_paths_of_every_kind(tmp_path, monkeypatch):
    fitted = quick(VBNMF).fit(X)
    monkeypatch.chdir(tmp_path)
    for path in ("here.vbnmf", Path("Ω 茶.vbnmf"), str(tmp_path / "no extension"), "x" * 240):
        assert_same_model(by_save(fitted, path), fitted)
    assert len(os.listdir(tmp_path)) == 4


ROWS = {"terms": np.array([0, 4, 1], np.int32), "ends": np.array([2, 2, 3])}  # the second is empty


def test_rows_of_a_matrix():
    found = store.read_rows(ROWS, "terms", "ends", np.array([5.0, 6.0, 7.0]), (3, 5))
    assert_array_equal(found.toarray(), [[5, 0, 0, 0, 6], [0] * 5, [0, 7, 0, 0, 0]])


@pytest.mark.parametrize(
    "changed",
    [
        {"terms": ROWS["terms"].astype(np.int64)},
        {"terms": np.array([0, 5, 1], np.int32)},
        {"terms": np.array([0, 6, 1], np.int32)},
        {"terms": np.array([-1, 4, 1], np.int32)},
        {"terms": np.array([4, 4, 1], np.int32)},
        {"terms": np.array([4, 0, 1], np.int32)},
        {"terms": np.array([0, 4], np.int32)},
        {"ends": ROWS["ends"].astype(np.int32)},
        {"ends": np.array([2, 1, 3])},
        {"ends": np.array([2, 2, 2])},
        {"ends": np.array([2, 3])},
    ],
    ids=str,
)
def test_rows_of_a_damaged_matrix(changed):
    with pytest.raises(store.ModelFileError, match="array 'terms' "):
        store.read_rows(ROWS | changed, "terms", "ends", np.array([5.0, 6.0, 7.0]), (3, 5))


def test_only_long_messages_are_cut():
    assert str(store.ModelFileError("short")) == "short"
    for length, cut in ((store._LONGEST_MESSAGE, False), (store._LONGEST_MESSAGE + 1, True)):
        said = str(store.ModelFileError("x" * length))
        assert (" … " in said) == cut
        assert len(said) == store._LONGEST_MESSAGE
