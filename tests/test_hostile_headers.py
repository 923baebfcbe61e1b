"""Headers of model files that no model has: refused, or harmless.

Damage to other parts of files is in ``test_hostile_files``.
"""

import json

import pytest
from modelfiles import assert_refused, model_file, outcome

from vbnmf import SupervisedVBNMF

pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:the fit did not converge"),
]


@pytest.fixture
def labelled():
    return model_file(SupervisedVBNMF)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "not JSON", "null", "[]", "[1]", "5", '"model"', "{}", '{"model": NaN}',
        '{"model": "VBNMF", "parameters": {}, "bound": Infinity}',
        '{"bound": -Infinity}', '{"model": "VBNMF"}', "\ufeff{}", "{}{}",
        '{"n_iter": ' + "9" * 5000 + "}",
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
    ids=lambda text: repr(text)[:30],
)  # fmt: skip
def test_headers_that_no_model_has(text, path, labelled):
    assert_refused(path, labelled.with_header_text(text))


def test_a_header_that_is_missing(path, labelled):
    metadata = {"format": "vbnmf"}
    assert_refused(path, labelled.with_tensors(labelled.tensors, metadata=metadata))


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("model", ["NMF", "vbnmf", "__class__", "", None, 5, [], {}, ["VBNMF"], "VBNMF"]),
        ("parameters", [None, [], 5, "x", [["n_jobs", 1]], {"components": 1}, {"callback": "os"},
                        {"n_components": [1]}, {"init": {"a": 1}}, {"self": 1}, {"": 1}]),
        ("hyperparameters", [None, [], 5, "x", {}, {"term_shape": 1.0}]),
        ("bound", [None, "1", [], True, 10**400, {}]),
        ("n_iter", [None, -1, 1.5, "1", True, []]),
        ("classes", [None, 5, "ab", [], {}, ["a", "b"], {"dtype": "<U1"}, {"values": ["a", "b"]}]),
        ("label_counts", [None, 5, "ab", [], [1], [1, 2, 3], [-1, 2], [1.5, 2], [True, 2],
                          [None, 1], [[1], [2]], [2**63, 1], [2**70, 1]]),
        ("label_groups", [None, 5, "ab", [], {"g": []}, {"g": 1}, {"g": "ab"}, {"g": [0, 0]},
                          {"g": [2]}, {"g": [-1]}, {"g": [0.0]}, {"g": [True]}, {"g": [None]},
                          {str(n): [0, 1] for n in range(5)}]),
        ("background", [-1, 2, 0.0, "0", True, [0], {}]),
        ("n_components_reason", [None, 5, [], {}, "x" * 1001]),
        ("feature_names", [None, 5, "xyz", {}, [], ["x", "y"], ["x", "y", 3], ["x", "y", None]]),
    ],
)  # fmt: skip
def test_entries_that_no_header_has(key, values, path, labelled):
    header = {name: value for name, value in labelled.header.items() if name != key}
    # names are there only if X had them, and what was not in format 3 may be missing
    if key not in ("feature_names", "background", "n_components_reason"):
        assert_refused(path, labelled.with_header_text(json.dumps(header)))
    for value in values:
        assert_refused(path, labelled.with_header(**{key: value}))


@pytest.mark.parametrize("name", ["term_shape", "coef_shape", "coef_scale", "label_scale"])
def test_hyperparameters_that_no_model_has(name, path, labelled):
    known = labelled.header["hyperparameters"]
    for value in (0, -1.0, "1", None, True, [1.0], 10**400):
        hyperparameters = {**known, name: value}
        assert_refused(path, labelled.with_header(hyperparameters=hyperparameters))
    infinite = json.dumps(labelled.header).replace(f'"{name}": ', f'"{name}": 1e999, "_": ')
    assert_refused(path, labelled.with_header_text(infinite))
    for value in (5e-324, 1e-300, 1e-40, 1e30, 1e39, 1e300, 1.7e308):
        path.write_bytes(labelled.with_header(hyperparameters={**known, name: value}))
        assert outcome(path) in ("refused", "works"), value


@pytest.mark.parametrize(
    "parameters",
    [
        {"threshold": 2147483648}, {"threshold": "x" * 3000},
        {"n_jobs": 0}, {"n_jobs": "x"}, {"n_jobs": 1.5}, {"n_jobs": True},
        {"batches": 3}, {"batches": "x"}, {"batches": []}, {"batches": {"x": 1}},
        {"batches": {"learning_decay": 2}}, {"batches": {"learning_offset": "x"}},
        {"batches": {"total_samples": -1}}, {"batches": {"head_samples": 1.5}},
        {"bound_every": "x"}, {"transform_tol": 1e-4},
        {"n_components": -1}, {"max_iter": "x"}, {"term_shape": "Auto"}, {"init": "other"},
        {"random_state": "x"}, {"verbose": "x"},
    ],
    ids=lambda parameters: str(parameters)[:40],
)  # fmt: skip
def test_parameters_that_would_fail_later(parameters, path, labelled):
    known = labelled.header["parameters"]
    path.write_bytes(labelled.with_header(parameters={**known, **parameters}))
    assert outcome(path) in ("refused", "works")


# Labels

DTYPES = [
    "", ",", "<U", "<U0", "U", "<U-1", "<U100000000", "<U999999999999", "<i8", "<f8", "?", "O",
    "|O", "<M8[ns]", "S1", "V4", "T", "|T16", "StringDType()", "(2,)<U1", "<U1,<U1", "2U1", "(1",
    "\0", "float", "__import__('os')", "{'names': ['a'], 'formats': ['U1']}", 5, None, [1], {},
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_types_of_labels_that_do_not_fit(dtype, path, labelled):
    classes = {"dtype": dtype, "values": ["a", "b"]}
    path.write_bytes(labelled.with_header(classes=classes))
    # strings of another width are harmless; nothing else may pass, and no memory be filled
    harmless = str(dtype).lstrip("<").startswith("U")
    assert outcome(path) in (("refused", "works") if harmless else ("refused",))


@pytest.mark.parametrize("dtype", ["<U1", "object", "<i8", "<f8", "|b1"])
@pytest.mark.parametrize(
    "values",
    [[], ["a"], ["a", "b", "c"], ["a", "a"], "ab", {"a": 1, "b": 2}, [None, "a"], [["a"], ["b"]],
     [{}, {}], [1, 1], [1, True], [1, 1.0], [0.5, 0.5], [False, False], [1, 2, 3], [1e999, 1.0]],
    ids=repr,
)  # fmt: skip
def test_labels_that_are_repeated_or_too_many(dtype, values, path, labelled):
    content = labelled.with_header(classes={"dtype": dtype, "values": values})
    assert_refused(path, content.replace(b"Infinity", b"1e999   "))


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("<U1", [1, 2]), ("<i8", ["1", "2"]), ("<i8", [1.0, 2.0]), ("<i8", [True, False]),
        ("<f8", [1, 2]), ("|b1", [1, 0]), ("<U2", [True, "ac"]), ("<i1", [300, 1]),
        ("<i8", [2**70, 1]), ("<u1", [-1, 1]), ("<f2", [0.1, 0.2]), ("<f2", [1e300, 0.5]),
        ("<f4", [1e300, 0.5]), ("object", [1, "a"]),
    ],
)  # fmt: skip
def test_labels_of_another_type(dtype, values, path, labelled):
    """Labels are sorted, so others were never made by fitting."""
    assert_refused(path, labelled.with_header(classes={"dtype": dtype, "values": values}))
