"""load_predictor: the predictions of a model file, without scikit-learn."""

import subprocess
import sys

import numpy as np
import pytest
from cliruns import LABELS, TEXTS, counts, make_corpus, process, write_csv

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load, load_predictor
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

NEW = [*make_corpus(5, n_each=5, mixed=0.95)[0], "Ünknown words, 茶 and ☕!", ""]
SEVERAL = [[label, "hot"] if i % 3 else [label] for i, label in enumerate(LABELS)]
HEAVY = ("sklearn", "pandas", "scipy.stats", "scipy.optimize", "scipy.linalg", "joblib", "narwhals")


def estimator(**options):
    return SupervisedVBNMF(5, **{"random_state": 0, "max_iter": 10} | options)


MODELS = {
    "one label": lambda: DocumentModel(estimator()).fit(TEXTS, LABELS),
    "several labels": lambda: DocumentModel(estimator()).fit(TEXTS, SEVERAL),
    "pieces": lambda: DocumentModel(
        estimator(classifier="words and components"), features=("marks", "pairs", "pieces")
    ).fit(TEXTS * 2, LABELS * 2),
    "generative": lambda: DocumentModel(
        estimator(classifier="generative"), DocumentVectorizer(stem="english", strip="html")
    ).fit(TEXTS, LABELS),
}


@pytest.fixture(scope="module", params=MODELS)
def pair(request, tmp_path_factory):
    """Return a loaded model, and the predictor of the same file."""
    path = tmp_path_factory.mktemp("predictor") / "model.vbnmf"
    MODELS[request.param]().save(path)
    return load(path), load_predictor(path)


@pytest.mark.filterwarnings("ignore:.*no known term")
class TestSameResults:
    def test_probabilities_have_the_same_bits(self, pair):
        model, predictor = pair
        expected = model.predict_proba(NEW)
        np.testing.assert_array_equal(predictor.predict_proba(NEW), expected, strict=True)
        np.testing.assert_array_equal(predictor.novelty(NEW), model.novelty(NEW), strict=True)

    def test_labels(self, pair):
        model, predictor = pair
        assert list(predictor.predict(NEW)) == list(model.predict(NEW))
        assert [list(a) for a in predictor.predict_with_proba(NEW)] == [
            list(a) for a in model.predict_with_proba(NEW)
        ]
        for found, expected in zip(predictor.ranked(NEW, 2), model.ranked(NEW, 2), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_explanations(self, pair):
        model, predictor = pair
        assert predictor.explain(NEW) == model.explain(NEW)

    def test_facts(self, pair):
        model, predictor = pair
        assert predictor.classes_.tolist() == model.classes_.tolist()
        assert predictor.terms_.tolist() == model.terms_.tolist()
        assert predictor.feature_names_.tolist() == model.feature_names_.tolist()
        assert predictor.features_ == model.features_
        assert predictor.label_form_ == model.label_form_
        assert predictor.columns_ == model.columns_

    def test_a_matrix(self, pair):
        model, predictor = pair
        X = model.vectorize(NEW)
        expected = model.predict_proba(X)
        np.testing.assert_array_equal(predictor.predict_proba(X), expected)
        np.testing.assert_array_equal(predictor.predict_proba(X.toarray()), expected)


def test_a_model_of_a_matrix(tmp_path):
    X, terms = counts()
    DocumentModel(estimator()).fit(X, LABELS, terms=terms).save(tmp_path / "m")
    predictor = load_predictor(tmp_path / "m")
    np.testing.assert_array_equal(
        predictor.predict_proba(X), load(tmp_path / "m").predict_proba(X), strict=True
    )
    with pytest.raises(ValueError, match="fitted to a matrix"):
        predictor.predict(["text"])
    with pytest.raises(ValueError, match="columns"):
        predictor.predict_proba(X[:, 1:])


def test_files_that_cannot_predict(tmp_path):
    X, _terms = counts()
    DocumentModel(VBNMF(3, random_state=0, max_iter=2)).fit(TEXTS).save(tmp_path / "unlabelled")
    estimator().fit(X, LABELS).save(tmp_path / "estimator")
    with pytest.raises(ModelFileError, match="was fitted without labels"):
        load_predictor(tmp_path / "unlabelled")
    with pytest.raises(ModelFileError, match="a SupervisedVBNMF without terms"):
        load_predictor(tmp_path / "estimator")
    with pytest.raises(FileNotFoundError):
        load_predictor(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["one label", "pieces"])
@pytest.mark.parametrize("options", [(), ("--explain",), ("--novelty", "--json")])
def test_vbnmf_predict_is_light(name, options, tmp_path):
    """A prediction imports neither scikit-learn nor other packages that are slow to import."""
    MODELS[name]().save(tmp_path / "m.vbnmf")
    write_csv(tmp_path / "new.csv", NEW[:3], LABELS[:3])
    code = (
        "import sys\nfrom vbnmf.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        f"sys.exit(' '.join(set({HEAVY}) & set(sys.modules)) or 0)"
    )
    arguments = ["predict", tmp_path / "m.vbnmf", tmp_path / "new.csv", *options]
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == process(*arguments, text=True).stdout
    assert len(run.stdout.splitlines()) > 3 - ("--json" in options)
