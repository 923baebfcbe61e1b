"""One set of defaults: Python and the command line give the same model."""

import numpy as np
import pytest
from cliruns import LABELS, TEXTS, ok, write_csv
from conftest import make_corpus

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load
from vbnmf.estimators.validation import default_components
from vbnmf.store import read

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

TEXTS = TEXTS * 2  # every word occurs in two documents at least
LABELS = [*LABELS] * 2
MOSTLY_UNKNOWN = [label if i % 4 == 0 else None for i, label in enumerate(LABELS)]
SEVERAL = [["coffee", label] if label == "bike" else [label] for label in LABELS]


def test_number_of_components():
    numbers = {n: default_components(n) for n in (None, 1, 10, 11, 50, 150, 1000)}
    assert numbers == {None: 20, 1: 20, 10: 20, 11: 22, 50: 100, 150: 300, 1000: 300}


@pytest.mark.parametrize("n_labels", [3, 12])
def test_the_estimators_go_by_it(n_labels):
    X, y = make_corpus(40, 31, n_labels)
    fitted = SupervisedVBNMF(max_iter=2).fit(X, y)
    assert n_labels > 3 or fitted.n_components_ < default_components(n_labels)
    assert f"{default_components(n_labels)} components by default" in fitted.n_components_reason_
    assert "fewer, as others were alike or explained less" in fitted.n_components_reason_
    assert "by default: two for each label, from 20 to 300" in fitted.n_components_reason_
    fitted = VBNMF(max_iter=2).fit(X)
    assert 2 < fitted.n_components_ < default_components(None)
    assert fitted.n_components_reason_.startswith("20 components by default; ")


@pytest.mark.parametrize("model", [VBNMF, SupervisedVBNMF])
def test_an_array_says_how_many_components_there_are(model):
    X, y = make_corpus(40, 31, 3)
    start = np.random.default_rng(0).random((5, 31))
    fitted = model(init=start, max_iter=2).fit(X, y)
    assert fitted.n_components_ == 5
    assert fitted.n_components_reason_ == "5 components, the number of rows of init"


def test_the_number_by_default_survives_a_file(tmp_path):
    X, y = make_corpus(40, 31, 12)
    fitted = SupervisedVBNMF(max_iter=2).fit(X, y)
    fitted.save(tmp_path / "m")
    same = load(tmp_path / "m")
    assert same.n_components == "auto"
    assert same.n_components_ == fitted.n_components_
    assert "24 components by default" in same.n_components_reason_


@pytest.mark.parametrize(
    ("labels", "flags"),
    [
        (None, ()),
        (LABELS, ("--label", "label")),
        (MOSTLY_UNKNOWN, ("--label", "label")),
        (SEVERAL, ("--label", "label", "--label-separator", ";")),
    ],
    ids=["unlabelled", "one label", "mostly unknown", "several"],
)
def test_the_same_model_from_python_and_the_command_line(labels, flags, tmp_path):
    """Every array of the model file is the same, to the bit, and so are its settings."""
    cells = [";".join(x) if isinstance(x, list) else (x or "") for x in labels or TEXTS]
    path = write_csv(tmp_path / "a.csv", texts=TEXTS, labels=cells)
    ok("fit", path, *flags, "--out", tmp_path / "cli", "--quiet")
    DocumentModel().fit(TEXTS, labels).save(tmp_path / "python")
    (theirs, arrays), (ours, same) = (read(tmp_path / name) for name in ("cli", "python"))
    assert arrays.keys() == same.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, same[name], err_msg=name, strict=True)
    for estimator in (ours["estimator"], theirs["estimator"]):
        estimator.get("classes", {}).pop("dtype", None)  # files have objects, lists have strings
    assert ours["estimator"] == theirs["estimator"]
