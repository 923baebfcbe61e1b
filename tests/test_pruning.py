"""Components without weight are reported, and can be removed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from smallfits import draw, match

import vbnmf
from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = pytest.mark.kernel

X, Y, T, *_ = draw(n_docs=300)


def supervised(K=12, **parameters):
    """Labels may use all components, so that those too many fade."""
    given = {"init": "label", "scopes": "all", "coef_shape": 1, "term_shape": 0.5} | parameters
    return SupervisedVBNMF(K, label_shape=1, random_state=0, **given)


@pytest.fixture(scope="module")
def model():
    return supervised(max_iter=1000, tol=1e-6).fit(X, Y)


def test_mass_is_what_each_component_explains(model):
    explained = (model.component_shapes_ - 0.5).sum(axis=1)
    assert explained.sum() == pytest.approx(X.sum())
    np.testing.assert_allclose(model.component_mass_, explained / X.sum(), atol=1e-12)


@pytest.mark.parametrize("term_shape", [0.5, "learned", "free"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mass_sums_to_one(term_shape, dtype):
    mass = VBNMF(8, term_shape=term_shape, random_state=0).fit(X.astype(dtype)).component_mass_
    assert mass.shape == (8,)
    assert mass.min() >= 0
    assert mass.sum() == pytest.approx(1)


def test_superfluous_components_fade(model):
    assert model.faded_.sum() == 8
    assert model.component_mass_[model.faded_].max() < 1 / len(X)  # less than a document
    assert model.component_mass_[~model.faded_].min() > 0.2
    _, order = match(model.components_[~model.faded_], T.T)
    assert sorted(order) == [0, 1, 2, 3]


def test_prune(model):
    before = model.__dict__.copy()
    pruned = model.prune(X, Y)
    assert all(model.__dict__[key] is value for key, value in before.items())
    assert type(pruned) is SupervisedVBNMF
    assert pruned.get_params() == model.get_params() | {"n_components": 4}
    np.testing.assert_array_equal(pruned.pruning_.removed, np.flatnonzero(model.faded_))
    assert pruned.pruning_.bound_before == model.bound_
    assert pruned.pruning_.bound_after == pruned.bound_ > model.bound_ + 50
    cosines, order = match(pruned.components_, model.components_[~model.faded_])
    assert order.tolist() == [0, 1, 2, 3]  # components stay in their places
    assert cosines.min() > 0.99
    assert not pruned.faded_.any()
    assert (pruned.predict(X) == Y).mean() > 0.95


def test_prune_begins_where_the_fit_ended(model):
    """One iteration from the kept components is nearer to them than from a fresh start."""
    kept = model.components_[~model.faded_]
    short = {"max_iter": 1, "tol": 0.0}
    warm = clone(model).set_params(**short)
    warm.__dict__ |= {key: value for key, value in model.__dict__.items() if key.endswith("_")}
    assert match(warm.prune(X, Y).components_, kept)[0].min() > 0.99
    assert match(supervised(4, **short).fit(X, Y).components_, kept)[0].min() < 0.99


def test_prune_by_mass(model):
    mass = model.component_mass_
    least = np.sort(mass)[-3:].mean()
    pruned = model.prune(X, Y, least=least)
    np.testing.assert_array_equal(pruned.pruning_.removed, np.flatnonzero(mass < least))
    assert len(pruned.components_) == pruned.n_components == (mass >= least).sum()


def test_a_label_keeps_a_component():
    """Those of a rare label weigh little, whatever they are to it."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 60, 6])
    X = rng.poisson(np.where(np.arange(12) // 4 == y[:, None], 3.0, 0.02))
    model = SupervisedVBNMF(6).fit(X, y)
    own = np.flatnonzero(model.scopes_[2])
    least = 1.01 * model.component_mass_[own].max()
    assert model.component_mass_.max() > least
    pruned = model.prune(X, y, least=least)
    best = own[(model.label_activations_ * model.component_sums_)[2, own].argmax()]
    assert sorted(set(own) - set(pruned.pruning_.removed)) == [best]
    assert pruned.scopes_.any(axis=1).all()
    assert (pruned.predict(X) == y).mean() > 0.9


def test_nothing_to_prune():
    model = supervised(3).fit(X, Y)
    same = model.prune(X, Y)
    assert same is not model
    assert same.pruning_.removed.size == 0
    assert same.pruning_.bound_before == same.pruning_.bound_after
    np.testing.assert_array_equal(same.transform(X), model.transform(X))
    assert not hasattr(model, "pruning_")


def test_without_labels():
    model = VBNMF(12, coef_shape=0.3, random_state=0).fit(X)
    pruned = model.prune(X, least=0.02)
    assert len(pruned.pruning_.removed) > 0
    assert pruned.bound_ > model.bound_
    assert pruned.transform(X).shape == (300, 12 - len(pruned.pruning_.removed))


def test_from_a_file(model, tmp_path):
    model.save(tmp_path / "m.vbnmf")
    loaded = vbnmf.load(tmp_path / "m.vbnmf")
    np.testing.assert_array_equal(loaded.component_mass_, model.component_mass_)
    np.testing.assert_array_equal(loaded.prune(X, Y).components_, model.prune(X, Y).components_)
    pruned = model.prune(X, Y)
    pruned.save(tmp_path / "p.vbnmf")
    again = vbnmf.load(tmp_path / "p.vbnmf")
    np.testing.assert_array_equal(again.components_, pruned.components_)


def test_a_start_that_was_given_is_cut_as_well():
    start = np.random.default_rng(0).random((12, X.shape[1]))
    model = supervised(init=start, n_init=2).fit(X, Y)
    assert model.faded_.any()
    pruned = model.prune(X, Y)
    np.testing.assert_array_equal(pruned.init, start[~model.faded_])
    assert pruned.n_init == 2
    pruned.fit(X, Y)  # parameters belong together


def test_refused(model):
    with pytest.raises(
        ValueError, match=r"least=0\.9 would remove all components; the largest one has 0\."
    ):
        model.prune(X, Y, least=0.9)
    with pytest.raises(ValueError, match="least must be a number of at least 0"):
        model.prune(X, Y, least="few")
    with pytest.raises(ValueError, match="80 features"):
        model.prune(X[:, :7], Y)
    with pytest.raises(NotFittedError):
        supervised().prune(X, Y)
    with pytest.raises(AttributeError):
        supervised().component_mass_  # noqa: B018


def test_a_model_that_learned_nothing_is_told():
    model = supervised(3).fit(X * 1e-5, Y)
    assert model.faded_.all()
    with pytest.raises(ValueError, match="multiply X by a constant"):
        model.prune(X * 1e-5, Y)
