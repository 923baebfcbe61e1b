"""DocumentModel of documents with several labels: what it gives, and its file."""

import random
import warnings

import numpy as np
import pandas as pd
import pytest
from cliruns import LABELS, TEXTS, make_corpus

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, explore, load
from vbnmf.store import ModelFileError

pytestmark = pytest.mark.filterwarnings(
    "ignore::vbnmf.text.EmptyDocumentWarning", "ignore:the fit did not converge"
)

NEW = make_corpus(5, n_each=5, mixed=0.95)[0]
# each bike is a coffee too, and some are not known
SEVERAL = [
    None if i % 7 == 0 else ["coffee", label] if label == "bike" else [label]
    for i, label in enumerate(LABELS)
]


def supervised():
    return SupervisedVBNMF(5, random_state=0, max_iter=15)


@pytest.fixture(scope="module")
def several():
    return DocumentModel(supervised()).fit(TEXTS, SEVERAL)


def test_lists_by_probability(several):
    documents = [*TEXTS, *NEW, "unheard-of"]
    P = several.estimator_.predict_proba(several.vectorize(documents))
    labels, scores = several.predict_with_proba(documents)
    names = several.estimator_.classes_.tolist()
    for given, found, row in zip(labels, scores, P, strict=True):
        enough = row >= several.estimator_.head_.threshold
        assert sorted(given) == [name for name, is_in in zip(names, enough) if is_in]  # noqa: B905
        assert found == sorted(row[enough], reverse=True)
        assert [row[names.index(label)] for label in given] == found
    assert several.predict(documents) == labels
    assert {len(given) for given in labels} >= {1, 2}
    assert several.has_several_labels
    known = [(set(a), set(b)) for a, b in zip(several.predict(TEXTS), SEVERAL, strict=True) if b]
    assert np.mean([a == b for a, b in known]) > 0.9


def test_indicators_and_predictions_are_labels_too(several):
    names = sorted(set(LABELS))
    bits = [[int(name in (labels or [])) for name in names] for labels in SEVERAL]
    same = DocumentModel(supervised()).fit(TEXTS, pd.DataFrame(bits, columns=names))
    assert same.predict_with_proba(NEW) == several.predict_with_proba(NEW)
    again = DocumentModel(supervised()).fit(TEXTS, several.predict(TEXTS))
    assert again.has_several_labels


def test_other_models_have_not_several():
    assert not DocumentModel(supervised()).fit(TEXTS, LABELS).has_several_labels
    assert not DocumentModel(VBNMF(2, max_iter=2)).fit(TEXTS).has_several_labels


def test_file(several, tmp_path):
    several.columns_ = {"text": "t", "label": ["a", "b"], "label_separator": "; "}
    several.save(tmp_path / "m")
    same = load(tmp_path / "m")
    assert same.predict_with_proba(NEW) == several.predict_with_proba(NEW)
    assert same.columns_ == several.columns_
    assert same.has_several_labels
    assert explore(same).html == explore(several).html
    same.save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


def test_flipped_bytes(tmp_path):
    texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "coffee beans"]
    estimator = SupervisedVBNMF(2, random_state=0, max_iter=2)
    labels = [["tea", "green"], ["tea"], None, ["coffee", "tea"]]
    columns = {"label": ["a", "b"], "label_separator": ";"}
    fitted = DocumentModel(estimator).fit(texts, labels, columns=columns)
    assert fitted.columns_ == columns
    path = tmp_path / "m.vbnmf"
    fitted.save(path)
    raw, rng, seen = path.read_bytes(), random.Random(1), set()  # noqa: S311
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(300):
            at = rng.randrange(len(raw))
            path.write_bytes(raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :])
            seen.add(outcome(path))
    assert seen == {"refused", "works"}


def outcome(path):
    """What loading and using a file comes to; any other error is one of the test."""
    try:
        model = load(path)
    except ModelFileError as error:
        assert path.name in str(error)  # noqa: PT017
        return "refused"
    labels, scores = model.predict_with_proba(["green tea", "coffee", "zzz"])
    assert len(labels) == 3
    assert np.isfinite(np.hstack(list(scores))).all()
    assert explore(model).html.endswith("</html>\n")
    return "works"
