"""score: labels in any form, and labels that the model does not know."""

import numpy as np
import pandas as pd
import pytest
from conftest import make_corpus
from scipy import sparse

from vbnmf import SupervisedVBNMF

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

X, CODES = make_corpus(40, 31, 3)
NAMES = np.array(["a", "b", "c"])
ONE = NAMES[CODES].tolist()
BITS = np.eye(3, dtype=int)[CODES]
BITS[::5, 0] = 1


def fit(y):
    return SupervisedVBNMF(4, max_iter=12, random_state=0).fit(X, y)


def lists(bits, names):
    return [[names[k] for k in np.flatnonzero(row)] for row in bits]


FORMS = {
    "lists of strings": lists(BITS, ["a", "b", "c"]),
    "lists of integers": lists(BITS, [30, 10, 20]),
    "lists of small integers": lists(BITS, [2, 1, 0]),
    "indicator": BITS,
    "sparse indicator": sparse.csr_array(BITS),
    "named columns": pd.DataFrame(BITS, columns=["c", "a", "b"]),
    "numbered columns": pd.DataFrame(BITS, columns=[2, 0, 1]),
}


@pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
def test_what_is_predicted_is_right(y):
    model = fit(y)
    predicted = model.predict(X)
    assert model.score(X, predicted) == 1.0
    assert model.score(X, sparse.coo_array(predicted)) == 1.0
    assert model.score(X, lists(predicted, model.classes_.tolist())) == 1.0
    assert model.score(X, pd.DataFrame(predicted, columns=model.classes_)) == 1.0
    other = predicted.copy()
    other[:10] = 1 - other[:10]
    known = other.any(axis=1)  # a row of zeros is a document of unknown labels
    same = np.arange(40) >= 10
    assert model.score(X, other) == pytest.approx((known & same).sum() / known.sum())


def test_names_do_not_depend_on_the_order_of_columns():
    model = fit(FORMS["named columns"])
    frame = pd.DataFrame(model.predict(X), columns=model.classes_)
    assert model.score(X, frame[["b", "c", "a"]]) == 1.0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lists(BITS, ["x", "y", "z"]), "does not know: 'x', 'y', 'z'. It knows 0, 1, 2."),
        (lists(BITS, [0, 1, 3]), "does not know: 3. It knows 0, 1, 2."),
        (pd.DataFrame(BITS, columns=["x", "y", "z"]), "does not know: 'x', 'y', 'z'"),
        (BITS[:, :2], "2 columns without names, but the model has 3 labels"),
        (["x", "y"] * 20, "does not know: 'x', 'y'"),
        ([str(code) for code in CODES], "does not know: '0', '1', '2'. It knows 0, 1, 2."),
    ],
)
def test_labels_that_the_model_does_not_know_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        fit(BITS).score(X, y)


def test_many_unknown_labels_are_not_all_told():
    with pytest.raises(ValueError, match=r"… \(40 in all\)") as error:
        fit(BITS).score(X, [[f"label {i}" * 1000] for i in range(40)])
    assert len(str(error.value)) < 1000


def test_one_label_a_document_in_any_form():
    model = fit(ONE)
    accuracy = np.mean(model.predict(X) == ONE)
    frame = pd.DataFrame(np.eye(3, dtype=int)[CODES][:, ::-1], columns=["c", "b", "a"])
    for y in (ONE, np.array(ONE), pd.Series(ONE), [[label] for label in ONE], frame):
        assert model.score(X, y) == accuracy


def test_an_unknown_label_among_others_is_a_wrong_prediction():
    """As in scikit-learn: a fold may have a label that its training documents have not."""
    model = fit(ONE)
    y = model.predict(X).astype(object)
    y[:10] = "new"
    assert model.score(X, y) == 0.75
    y[:10] = None
    assert model.score(X, y) == 1.0


def test_a_fold_of_new_labels_alone_is_all_wrong():
    assert fit(ONE).score(X[:2], ["new", "other"]) == 0.0


def test_several_labels_where_the_model_gives_one_are_not_right():
    model = fit(ONE)
    y = [[label] for label in model.predict(X)]
    y[0] = ["a", "b"]
    assert model.score(X, y) == 39 / 40


def test_weights():
    model = fit(ONE)
    y = model.predict(X).astype(object)
    y[0] = "a" if y[0] != "a" else "b"
    weight = np.ones(40)
    weight[0] = 41
    assert model.score(X, y, weight) == pytest.approx(39 / 80)
    y[1:] = None
    with pytest.raises(ValueError, match="nothing to score"):
        model.score(X, y, np.arange(40))
    with pytest.raises(ValueError, match="no label for any of the 40 documents"):
        model.score(X, [None] * 40)
