"""Learning from batches: equations, growth, new labels, unknown labels, weights, scopes, files."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from vbnmf import VBNMF, SupervisedVBNMF, load
from vbnmf.core import fit as loop
from vbnmf.core import stochastic
from vbnmf.core.stochastic import BatchStep
from vbnmf.estimators.labels import check_targets
from vbnmf.estimators.online import Batch, Batches, batch_knobs, batch_labels, prior_of
from vbnmf.estimators.starting import FitData

FEW = {"random_state": 0, "n_jobs": 1, "max_iter": 30, "tol": 0.0}
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def documents(n_docs=120, n_labels=3, seed=0):
    """Counts of documents whose labels have words of their own, in double precision."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % n_labels
    rates = np.full((n_labels, 4 + 5 * n_labels), 0.15)
    rates[:, :4] = 1.5
    for label in range(n_labels):
        rates[label, 4 + 5 * label : 9 + 5 * label] = 2.5
    return sparse.csr_array(rng.poisson(rates[y]).astype(float)), np.array(list("abcdefgh"))[y]


def attributes(model):
    names = ("component_shapes_", "component_scales_", "components_")
    found = {name: getattr(model, name) for name in names}
    if hasattr(model, "classes_"):
        labels = model.fitted_.labels
        found |= {"rate_shapes": labels.rate_shapes, "rate_scales": labels.rate_scales}
        found |= {"label_activations_": labels.activations}
        found |= {"weights": getattr(model.head_, "weights", None)}
    return found


def opened(model, data):
    """The hyperparameters that a batch learns, and the batch."""
    of = model.fitted_.components
    if data.labels is None:
        knobs = batch_knobs(of, model.term_shape, model.term_scale, model.coef_scale)
        return knobs, Batch(of, None, prior_of(of), data, 1)
    labels, stream = model.fitted_.labels, model._stream(Batches())
    return stream.knobs(of, labels), Batch(of, labels, stream.prior(of, labels), data, 1)


def assert_same(a, b, without="", **tolerance):
    for name, values in attributes(a).items():
        if name == without:
            continue
        np.testing.assert_allclose(attributes(b)[name], values, err_msg=name, **tolerance)


@pytest.mark.parametrize("how", ["scopes", "all", "no labels", "unknown", "several", "weights"])
@pytest.mark.parametrize("term_shape", [0.1, "learned"])
def test_a_full_step_on_everything_is_a_batch_step(how, term_shape):
    X, y = documents()
    weight = np.linspace(0.5, 2, len(y)) if how == "weights" else None
    if how == "no labels":
        model = VBNMF(4, term_shape=term_shape, **FEW).fit(X)
        targets = labels = None
        group, n_groups = np.zeros(len(y), np.int32), 1
    else:
        y = y.astype(object)
        y[::5] = None if how == "unknown" else y[::5]
        if how == "several":
            y = [[label, "a"] if n % 7 == 0 else [label] for n, label in enumerate(y)]
        scopes = "all" if how == "all" else "auto"
        model = SupervisedVBNMF(5, term_shape=term_shape, scopes=scopes, **FEW)
        model.fit(X, y, weight)
        targets = check_targets(model, y, X.shape[0])
        labels = batch_labels(model.fitted_.components, model.fitted_.labels, targets)
        group, n_groups = targets.group, targets.n_groups
    n_docs = float(X.shape[0] if weight is None else weight.sum())
    data = FitData(X, group, n_groups, labels, weight)
    knobs, batch = opened(model, data)
    with batch:
        stats = batch.engine.sweep(batch.state, bound=False)
        step = BatchStep(rho=1.0, growth=1.0, factor=1.0)
        shapes = model.component_shapes_.T
        after, _ = stochastic.global_step(
            batch.kernel, batch.state, shapes, batch.used, stats, n_docs, step, knobs
        )
        if labels is not None and knobs.a_lam is None:
            knobs = replace(knobs, a_lam=after.prior.a_lam)
            prior = replace(batch.state.prior, a_lam=after.prior.a_lam)
            batch.state = replace(batch.state, prior=prior)
        expected = loop.global_step(
            batch.engine, batch.state, stats, knobs, inverse_temperature=1.0, tally=True
        )
    K = shapes.shape[1]
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(after.terms.shape, expected.terms.shape[:, :K], **close)
    np.testing.assert_allclose(after.terms.scale, expected.terms.scale, **close)
    np.testing.assert_allclose(after.terms.E_sums, expected.terms.E_sums, **close)
    for name in ("a_t", "b_t", "b_v", "a_lam", "b_lam"):
        found, wanted = (getattr(state.prior, name) for state in (after, expected))
        if wanted is not None:
            np.testing.assert_allclose(found, wanted, err_msg=name, **close)
    if labels is not None:
        np.testing.assert_allclose(after.rates.E, expected.rates.E, **close)


def test_partial_fit_takes_that_step():
    X, y = documents()
    model = SupervisedVBNMF(5, batches=Batches(0, total_samples=len(y)), **FEW).fit(X, y)
    targets = check_targets(model, y, len(y))
    labels = batch_labels(model.fitted_.components, model.fitted_.labels, targets)
    group = np.searchsorted(model.classes_, y)
    knobs, batch = opened(model, FitData(X, group, 3, labels, None))
    with batch:
        stats = batch.engine.sweep(batch.state, bound=False)
        expected = loop.global_step(
            batch.engine, batch.state, stats, knobs, inverse_temperature=1.0, tally=False,
        )  # fmt: skip
    model.partial_fit(X, y)
    scale = expected.terms.scale
    np.testing.assert_allclose(model.component_shapes_.T, expected.terms.shape[:, : len(scale)])
    np.testing.assert_allclose(model.component_scales_, scale, rtol=1e-12)
    in_scope = model.scopes_
    np.testing.assert_allclose(model.label_rates_[in_scope], expected.rates.E[in_scope], rtol=1e-9)


@pytest.mark.parametrize(
    ("seen", "n_docs", "offset", "decay", "rho"),
    [(1000, 1000, 1, 1, 0.5), (9000, 1000, 1, 1, 0.1), (3, 1, 1, 0.5, 0.5), (0, 5, 0, 0.7, 1)],
)
def test_step_size(seen, n_docs, offset, decay, rho):
    assert stochastic.step_size(seen, n_docs, offset, decay) == pytest.approx(rho)


def test_without_decay_all_documents_count_alike():
    before, batch = np.array([6.0]), np.array([2.0])  # sums of 3 documents, and of 1
    rho = stochastic.step_size(3, 1, 1, 1)
    np.testing.assert_allclose(BatchStep(rho, 4 / 3, 4.0).blended(before, batch), before + batch)


def test_new_components_begin_with_the_batch():
    sums, batch = np.array([6.0, 6.0]), np.array([2.0, 2.0])
    found = BatchStep(0.25, 2.0, 10.0).with_new(1, 2).blended(sums, batch)
    np.testing.assert_allclose(found, [0.75 * 12 + 0.25 * 20, 2.0])


def test_sums_are_those_of_the_fit():
    """The posterior of a fit that has converged holds the sums over its documents."""
    X, y = documents()
    model = SupervisedVBNMF(5, max_iter=2000, tol=1e-12, random_state=0, n_jobs=1)
    V = model.fit_coefficients(X, y)
    prior = prior_of(model.fitted_.components, model.fitted_.labels)
    found = stochastic.coefficient_sums(prior, model.component_scales_)
    np.testing.assert_allclose(found, V.sum(axis=0), rtol=1e-3)


@pytest.mark.parametrize("labelled", [True, False])
def test_batches_come_near_a_fit(labelled):
    X, y = documents(900)
    model = SupervisedVBNMF(6, **FEW) if labelled else VBNMF(6, **FEW)
    for begin in range(0, 900, 150):
        assert model.partial_fit(X[begin : begin + 150], y[begin : begin + 150]) is model
    assert model.n_samples_seen_ == 900
    assert model.n_steps_ == 5
    more, labels = documents(300, seed=1)
    if labelled:
        assert model.score(more, labels) >= 0.95
        assert model.label_counts_.tolist() == [300] * 3
        whole = SupervisedVBNMF(6, **FEW).fit(X, y)
        assert model.score(more, labels) >= whole.score(more, labels) - 0.03
    else:
        whole = VBNMF(6, **FEW).fit(X)
        first = VBNMF(6, **FEW).fit(X[:150])
        assert model.score(more) > first.score(more) - 0.01
        assert model.score(more) >= whole.score(more) - 0.05
    assert model.component_mass_.sum() == pytest.approx(1)


def test_a_small_batch_moves_a_large_fit_little():
    X, y = documents(900)
    model = SupervisedVBNMF(6, **FEW).fit(X[:890], y[:890])
    before = model.components_.copy()
    model.partial_fit(X[890:], y[890:])
    moved = np.abs(model.components_ - before).sum() / before.sum()
    assert 0 < moved < 0.06


@pytest.mark.parametrize("scopes", ["auto", "all"])
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_new_labels(scopes, first):
    X, y = documents(400, 4)
    early = np.isin(y, ["a", "c"])  # b comes between them
    model = SupervisedVBNMF(5, scopes=scopes, **FEW)
    getattr(model, first)(X[early][:150], y[early][:150])
    K = model.n_components_
    model.partial_fit(X[200:], y[200:])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.label_counts_.tolist() == [125, 50, 125, 50]
    assert model.label_frequencies_.sum() == pytest.approx(1)
    assert model.n_components_ == K + (2 if scopes == "auto" else 0)
    assert model.components_.shape == (model.n_components_, X.shape[1])
    assert model.label_rates_.shape == (4, model.n_components_)
    model.partial_fit(X[:200], y[:200])
    more, labels = documents(200, 4, seed=1)
    assert model.score(more, labels) >= 0.9
    assert model.transform(more).shape == (200, model.n_components_)
    if scopes == "auto":
        own = model.components_[K:] / model.components_[K:].sum(axis=1, keepdims=True)
        assert min(own[0, 9:14].sum(), own[1, 19:24].sum()) > 0.55
        assert model.scopes_[:, K:].tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]


def test_a_fitted_head_is_kept_until_there_are_enough_documents():
    X, y = documents(600)
    model = SupervisedVBNMF(6, classifier="words and components", **FEW).fit(X[:450], y[:450])
    words = model.head_.words
    model.partial_fit(X[450:465], np.where(y[450:465] == "a", "new", y[450:465]))
    assert not model.fitted_.sample.follows
    assert "new" in model.classes_
    known = np.flatnonzero(model.classes_ != "new")
    np.testing.assert_array_equal(model.head_.words[known], words)
    assert model.predict_proba(X)[:, model.classes_.tolist().index("new")].max() < 1e-3
    assert model.score(X, y) > 0.9
    model.partial_fit(X[450:], np.where(y[450:] == "a", "new", y[450:]))
    assert not model.fitted_.sample.follows  # it has no document of label a
    model.partial_fit(X[450:], y[450:])
    assert model.fitted_.sample.follows


def test_groups_of_a_label_tree_get_new_labels():
    X, y = documents(400, 4)
    names = dict(zip("abcd", ["x.a", "x.b", "y.c", "x.d"], strict=True))
    y = np.array([names[label] for label in y])
    early = y != "x.d"
    model = SupervisedVBNMF(7, label_tree=".", **FEW).partial_fit(X[early], y[early])
    of_group = (model.scopes_ == np.array([[1], [1], [0]])).all(axis=0)
    assert of_group.any()
    model.partial_fit(X, y)
    assert model.label_groups_["x"].tolist() == ["x.a", "x.b", "x.d"]
    assert model.scopes_[2, : len(of_group)][of_group].all()


@pytest.mark.parametrize("unknown", [None, float("nan"), -1])
def test_unknown_labels(unknown):
    X, y = documents(300)
    y = np.searchsorted(["a", "b", "c"], y)
    model = SupervisedVBNMF(5, unlabelled=-1, **FEW).partial_fit(X[:150], y[:150])
    some = y[150:].astype(object)
    some[::3] = unknown
    model.partial_fit(X[150:], some)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.label_counts_.sum() == 250
    weights = model.head_.words
    model.partial_fit(X[:60], [unknown] * 60 if unknown is not None else [[]] * 60)
    assert model.label_counts_.sum() == 250
    assert model.n_samples_seen_ == 360
    np.testing.assert_array_equal(model.head_.words, weights)
    assert model.score(X, y) > 0.9


def test_several_labels():
    X, y = documents(300)
    lists = [[label, "more"] if n % 2 else [label] for n, label in enumerate(y)]
    X = sparse.csr_array(sparse.hstack([X, 5.0 * (np.arange(300) % 2)[:, None]]))
    model = SupervisedVBNMF(6, **FEW).partial_fit(X[:100], lists[:100])
    model.partial_fit(X[100:200], lists[100:200]).partial_fit(X[200:250], y[200:250])
    assert model.multilabel_
    assert model.classes_.tolist() == ["a", "b", "c", "more"]
    assert model.score(X[250:], lists[250:]) > 0.6
    one = SupervisedVBNMF(5, **FEW).partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="50 documents of this batch have several labels"):
        one.partial_fit(X[100:200], lists[100:200])
    assert one.n_steps_ == 0


def test_a_weight_of_two_is_a_document_twice():
    X, y = documents(240)
    one, two = (SupervisedVBNMF(5, **FEW).fit(X[:120], y[:120]) for _ in range(2))
    twice = np.r_[np.arange(120, 240), np.arange(120, 180)]
    one.partial_fit(X[twice], y[twice])
    two.partial_fit(X[120:], y[120:], np.where(np.arange(120) < 60, 2.0, 1.0))
    assert one.n_samples_seen_ == two.n_samples_seen_ == 300
    # not the head: identical documents share a fold
    assert_same(one, two, without="weights", rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.label_frequencies_, two.label_frequencies_)


def test_class_weights():
    X, y = documents(240)
    weights = {"a": 2.0, "c": 0.5, "later": 3.0}
    one = SupervisedVBNMF(5, class_weight=weights, **FEW)
    two = SupervisedVBNMF(5, **FEW)
    for at in (slice(0, 120), slice(120, 240)):
        one.partial_fit(X[at], y[at])
        two.partial_fit(X[at], y[at], [weights.get(label, 1.0) for label in y[at]])
    assert_same(one, two, rtol=1e-12)
    assert one.class_weight == weights
    with pytest.raises(ValueError, match="class_weight='balanced' is not supported"):
        SupervisedVBNMF(5, class_weight="balanced", **FEW).partial_fit(X, y)


@pytest.mark.parametrize("kind", [VBNMF, SupervisedVBNMF])
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_a_saved_model_goes_on_to_the_same_bits(kind, first, tmp_path):
    X, y = documents(400, 4)
    early = y != "b"
    model = kind(5, **FEW)
    getattr(model, first)(X[early][:150], y[early][:150])
    model.partial_fit(X[early][150:220], y[early][150:220])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for at in (slice(200, 300), slice(300, 400)):
        model.partial_fit(X[at], y[at])
        again.partial_fit(X[at], y[at])
    assert_same(model, again, rtol=0)
    assert model.n_samples_seen_ == again.n_samples_seen_ == 420
    assert model.n_steps_ == again.n_steps_ == 3
    if kind is SupervisedVBNMF:
        np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_number_of_threads_changes_nothing():
    X, y = documents(300)
    models = [SupervisedVBNMF(5, **{**FEW, "n_jobs": jobs}) for jobs in (1, 3)]
    for model in models:
        model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert_same(*models, rtol=0)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (Batches(learning_decay=1.5), "learning_decay must be between 0 and 1; got 1.5"),
        (Batches(learning_offset=-1), "learning_offset must be a number of at least 0; got -1"),
        (Batches(total_samples=0), "total_samples must be a positive number; got 0"),
        ({"learning_decay": 0.5}, "batches must be a vbnmf.Batches or None; got {'learning_decay"),
        (Batches(head_samples=0), "head_samples must be an integer of at least 1; got 0"),
    ],
)
def test_wrong_parameters(batches, message):
    X, y = documents()
    with pytest.raises(ValueError, match=message):
        SupervisedVBNMF(4, batches=batches, **FEW).partial_fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, :-1], y), "18 features"),
        (lambda X, y: (X, y[:-1]), "120 documents in X and 119 labels"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (-X, y), "Negative values"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (0 * X, y), "no document of this batch has a term"),
        (lambda X, y: (X, np.arange(120)), "of another type"),
        (lambda X, y: (X, np.eye(120)[:, :2]), "2 columns without names"),
    ],
)
def test_a_wrong_batch_changes_nothing(change, message):
    X, y = documents()
    model = SupervisedVBNMF(4, **FEW).partial_fit(X, y)
    before = {name: values.copy() for name, values in attributes(model).items()}
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*change(X, y))
    assert model.n_steps_ == 0
    for name, values in attributes(model).items():
        np.testing.assert_array_equal(values, before[name])


def test_a_failed_first_batch_leaves_no_model():
    model = SupervisedVBNMF(4, class_weight={"a": "x"}, **FEW)
    X, y = documents()
    with pytest.raises(ValueError, match="numbers as values"):
        model.partial_fit(X, y)
    assert model.class_weight == {"a": "x"}
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_fit_begins_anew():
    X, y = documents()
    model = SupervisedVBNMF(4, **FEW).partial_fit(X, y).partial_fit(X, y)
    assert_same(model.fit(X, y), SupervisedVBNMF(4, **FEW).fit(X, y), rtol=0)
    assert (model.n_samples_seen_, model.n_steps_) == (120, 0)
    assert model.fitted_.sample is None


def test_single_precision():
    X, y = documents()
    model = SupervisedVBNMF(4, **FEW).partial_fit(X.astype(np.float32), y).partial_fit(X, y)
    assert model.components_.dtype == np.float32


@pytest.mark.parametrize("names", [[0, 1, 2], ["x", "y", "z"]])
def test_declared_classes_are_those_of_the_model(names):
    X, y = documents()
    codes = np.searchsorted(["a", "b", "c"], y)
    first = codes < 2
    labels = np.array(names)[codes]
    model = SupervisedVBNMF(5, **FEW).partial_fit(X[first], labels[first], classes=names)
    assert model.classes_.tolist() == names
    assert model.label_counts_.tolist() == [40, 40, 0]
    P = model.predict_proba(X[first])
    assert P.shape == (80, 3)
    assert P[:, 2].max() < 0.01
    assert (model.predict(X[first]) == labels[first]).mean() > 0.9
    model.partial_fit(X, labels, classes=names)
    assert (model.predict(X) == labels).mean() > 0.9


def test_labels_that_are_not_declared_are_refused_by_name():
    X, y = documents()
    expected = r"y has labels that are not in classes: 'c'\. Add them"
    with pytest.raises(ValueError, match=expected):
        SupervisedVBNMF(5, **FEW).partial_fit(X, y, classes=["a", "b"])
    model = SupervisedVBNMF(5, **FEW).partial_fit(X[y != "c"], y[y != "c"], classes=["a", "b"])
    before = model.fitted_
    with pytest.raises(ValueError, match=expected):
        model.partial_fit(X, y, classes=np.array(["a", "b"]))
    assert model.fitted_ is before
