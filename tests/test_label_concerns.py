"""Labels that look like a mistake are told; others are not."""

import warnings

import numpy as np
import pytest

from vbnmf import SupervisedVBNMF
from vbnmf.estimators.labelwarnings import LabelWarning

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

rng = np.random.default_rng(0)
X = rng.poisson(1.0, (40, 12)).astype(float)
TWO = ["a", "b"] * 20


def quick(**parameters):
    return SupervisedVBNMF(3, max_iter=2, tol=1, **parameters)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (["only"] * 40, "all 40 documents have the same label"),
        ([f"ticket {i}" for i in range(40)], "40 different labels"),
        (["a|b", "b|c", "a|c", "a", "a|b|c"] * 8, r"pass them as lists .* --label-separator '\\|'"),
        (["Spam", "ham", "spam", "ham"] * 10, "'Spam' and 'spam' differ only in case"),
        (["new york", "new  york"] * 20, "differ only in case or spaces"),
        ([-1, 0, 1, 2] * 10, "unlabelled=-1"),
        (["a", "b", "NaN", "c"] * 10, "'NaN' is used as a label .* unlabelled='NaN'"),
        ([["a"], ["b", "n/a"]] * 20, "'n/a' is used as a label"),
    ],
)
def test_odd_labels_are_told(y, said):
    with pytest.warns(LabelWarning, match=said):
        quick().fit(X, y)


@pytest.mark.parametrize(
    ("y", "parameters"),
    [
        (TWO, {}),
        ([-1, 1] * 20, {}),  # two classes, as many write them
        ([-1, 0, 1, 2] * 10, {"unlabelled": -1}),
        (["a", "b", "NaN", "c"] * 10, {"unlabelled": "NaN"}),
        (["na", "none", "other"] * 13 + ["na"], {}),  # Namibia, and nothing
        (["comp.os, windows", "sci, space"] * 20, {}),  # nothing repeats
        ([["a", "b"], ["b"]] * 20, {}),
    ],
)
def test_usual_labels_are_not(y, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelWarning)
        quick(**parameters).fit(X, y)


def test_a_handful_of_documents_is_an_example():
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelWarning)
        quick().fit(X[:4], ["a", "b", "c", "d"])
