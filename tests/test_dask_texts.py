"""Dask bags and data frames of texts: as texts in memory. The cluster is in this process."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vbnmf import VBNMF, Dask, DocumentModel, SupervisedVBNMF
from vbnmf.text import DocumentVectorizer

pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")
db = pytest.importorskip("dask.bag")
TEXTS = [
    "green tea leaves and hot water", "black tea with milk", "tea, leaves, teas", "hot milk",
    "coffee beans, roasted", "black coffee with milk", "beans and hot water", "!",
    "white tea leaf", "a roast of coffee", "coffees and beans", "water",
]  # fmt: skip
LABELS = ["tea", "tea", "tea", None] + ["coffee"] * 3 + [None, "tea", "coffee", "coffee", None]
pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
PARAMETERS = {"max_iter": 5, "tol": 0, "random_state": 0, "classifier": "components"}


def lazy(kind, values=TEXTS):
    if kind == "bag":
        return db.from_sequence(values, npartitions=3)
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"text": values, "label": LABELS})
    return dd.from_pandas(frame, npartitions=3)["text"]


def state(vectorizer):
    meta, arrays = vectorizer.to_state()
    return meta, {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize("kind", ["bag", "column"])
@pytest.mark.parametrize("weighting", ["log", "paper"])
def test_the_same_vocabulary_and_bits_as_in_memory(client, tmp_path, kind, weighting):
    from vbnmf.distributed.texts import vectorized

    options = {"stem": "english", "min_df": 2, "max_terms": 8, "weighting": weighting}
    expected = DocumentVectorizer(**options)
    X = expected.fit_transform(TEXTS)
    found = DocumentVectorizer(**options)
    with vectorized(lazy(kind), found, Dask(tmp_path)) as source:
        assert len(source.starts) == 4
        assert_array_equal(source.take(np.arange(len(TEXTS))).toarray(), X.toarray())
    assert state(found) == state(expected)
    assert found.n_empty_ == expected.n_empty_ > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["bag", "column"])
def test_a_document_model_of_lazy_texts(client, tmp_path, kind):
    model = DocumentModel(SupervisedVBNMF(4, engine=Dask(tmp_path), **PARAMETERS))
    texts = lazy(kind)
    model.fit(texts, db.from_sequence(LABELS, npartitions=2))
    assert not list(tmp_path.iterdir())
    assert model.n_empty_ == 1
    assert model.classes_.tolist() == ["coffee", "tea"]
    V, P, labels = model.transform(texts), model.predict_proba(texts), model.predict(texts)
    scores = model.predict_with_proba(texts)[1]
    assert all(hasattr(found, "dask") for found in (V, P, labels, scores))  # nothing is computed
    assert_array_equal(V.compute(), model.transform(TEXTS))
    assert_array_equal(P.compute(), model.predict_proba(TEXTS))
    assert_array_equal(labels.compute(), model.predict(TEXTS))
    assert_array_equal(scores.compute(), model.predict_with_proba(TEXTS)[1])
    assert_array_equal(model.vectorize(texts).compute().toarray(), model.vectorize(TEXTS).toarray())
    model.save(tmp_path / "a.vbnmf")


def test_lists_of_labels_and_no_labels(client, tmp_path):
    labels = [[label, "drink"] if label else [] for label in LABELS]
    model = DocumentModel(SupervisedVBNMF(4, engine="dask", **PARAMETERS))
    model.fit(lazy("bag"), labels)
    assert model.predict(lazy("bag")).compute() == model.predict(TEXTS)
    assert model.predict_with_proba(lazy("bag"))[1].compute() == model.predict_with_proba(TEXTS)[1]
    model = DocumentModel(VBNMF(3, max_iter=4, tol=0, engine="dask"))
    V = model.fit_transform(lazy("bag"))
    assert_array_equal(V.compute(), model.transform(TEXTS))
    assert DocumentModel().fit(lazy("bag"), LABELS).estimator_.engine == Dask()


def of_parts(*parts):
    import dask

    return db.from_delayed([dask.delayed(list)(part) for part in parts])


@pytest.mark.parametrize("several", [False, True])
def test_partitions_without_documents(client, tmp_path, several):
    labels = [[label, "drink"] if label else [] for label in LABELS] if several else LABELS
    model = DocumentModel(SupervisedVBNMF(4, engine=Dask(tmp_path), **PARAMETERS))
    texts = of_parts([], TEXTS[:5], [], TEXTS[5:], [])
    model.fit(texts, labels)
    expected = DocumentModel(SupervisedVBNMF(4, engine=Dask(tmp_path), **PARAMETERS))
    expected.fit(of_parts(TEXTS[:5], TEXTS[5:]), labels)
    assert_array_equal(model.estimator_.components_, expected.estimator_.components_)
    assert (model.n_empty_, model.terms_.tolist()) == (expected.n_empty_, expected.terms_.tolist())
    assert_array_equal(model.transform(texts).compute(), model.transform(TEXTS))
    assert_array_equal(model.predict_proba(texts).compute(), model.predict_proba(TEXTS))
    found = [model.predict(texts), *model.predict_with_proba(texts)]
    wanted = [model.predict(TEXTS), *model.predict_with_proba(TEXTS)]
    for a, b in zip(found, wanted, strict=True):
        assert list(a.compute()) == list(b)
    V = DocumentModel(VBNMF(3, max_iter=4, tol=0, engine="dask")).fit_transform(texts)
    assert V.compute().shape == (len(TEXTS), 3)


def test_one_task_has_the_model(client):
    import dask.array as da

    labels = [[label, "drink"] if label else [] for label in LABELS]
    model = DocumentModel(SupervisedVBNMF(4, **PARAMETERS)).fit(TEXTS, labels)
    P = model.predict_proba(TEXTS)
    found = model.labels_with_proba(da.from_array(P, chunks=(3, -1)))
    for bag, expected in zip(found, model.labels_with_proba(P), strict=True):
        sent = [cloudpickle.dumps(task) for task in dict(bag.dask).values()]
        assert sum(b"SupervisedVBNMF" in task for task in sent) == 1
        assert bag.compute() == expected


def slow(*_args, **_options):
    raise TimeoutError("the document server did not answer")


def test_an_error_of_a_task_is_not_a_lost_scheduler(client, monkeypatch):
    from vbnmf.distributed.remote import ClusterError
    from vbnmf.distributed.tasks import Tasks

    with pytest.raises(TimeoutError, match="document server") as error:
        list(Tasks(client, None).map(slow, [(1,)]))
    assert not isinstance(error.value, ClusterError)
    with pytest.raises(TimeoutError, match="document server"):
        DocumentModel(vectorizer=DocumentVectorizer(strip=None)).fit(lazy("bag").map(slow), LABELS)
    tasks = Tasks(client, None)
    monkeypatch.setattr(client, "submit", slow)
    with pytest.raises(ClusterError, match="scheduler is lost"):
        list(tasks.map(slow, [(1,)]))


def test_what_is_refused(client):
    with pytest.raises(ValueError, match="use engine='dask'"):
        DocumentModel(SupervisedVBNMF(4)).fit(lazy("bag"), LABELS)
    with pytest.raises(ValueError, match="one partition after the other"):
        DocumentModel().partial_fit(lazy("bag"), LABELS)
    with pytest.raises(TypeError, match="must be strings"):
        DocumentModel().fit(lazy("bag", [3] * 4))
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"text": TEXTS}), npartitions=2)
    with pytest.raises(TypeError, match="Pass one column"):
        DocumentModel().fit(frame)
