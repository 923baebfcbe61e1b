"""Scopes of the estimator: which labels a component serves, as given and as found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_label_tree import shelves

from vbnmf import SupervisedVBNMF

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:the fit did not converge")]

# Scopes that are given

MASK = np.array([[1, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 1, 1, 1]], dtype=bool)


def scoped(**parameters):
    given = {"scopes": MASK, "init": "label", "max_iter": 20, "random_state": 0}
    return SupervisedVBNMF(5, **given | parameters)


@pytest.mark.parametrize("start", ["label", "random", "given"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coefficients_out_of_scope_are_zero(start, dtype):
    X, y = shelves()
    init = np.random.default_rng(0).random((5, 28)) if start == "given" else start
    model = scoped(init=init)
    V = model.fit_coefficients(X.astype(dtype), y)
    of_document = MASK[np.unique(y, return_inverse=True)[1]]
    assert (V[~of_document] == 0).all()
    assert (V[of_document] > 0).all()
    assert_array_equal(model.scopes_, MASK)
    assert (model.label_activations_[~MASK] == 0).all()
    assert (model.label_activations_[MASK] > 0).all()
    assert np.isposinf(model.label_rates_[~MASK]).all()
    assert np.isfinite(model.label_rates_[MASK]).all()
    low, high = model.label_interval()
    assert (high[~MASK] == 0).all()
    assert (low <= model.label_activations_).all()
    assert (high >= model.label_activations_).all()


def test_documents_of_several_labels_use_the_components_of_each():
    X, y = shelves()
    Y = np.unique(y)[None] == y[:, None]
    Y[::3, 3] = True
    V = scoped().fit_coefficients(X, Y.astype(int))
    of_document = Y @ MASK
    assert (V[~of_document] == 0).all()
    assert (V[of_document] > 0).all()


def test_documents_of_unknown_label_may_use_all_components():
    X, y = shelves()
    labels = [None if d % 4 == 0 else label for d, label in enumerate(y.tolist())]
    V = scoped(max_iter=60).fit_coefficients(X, labels)
    of_document = MASK[np.unique(y, return_inverse=True)[1]]
    known = np.arange(len(y)) % 4 > 0
    assert (V[~known] > 0).all()
    assert (V[known][~of_document[known]] == 0).all()


@pytest.mark.parametrize("start", ["label", "random"])
def test_the_bound_never_falls_within_scopes(start):
    X, y = shelves()
    history = scoped(init=start, max_iter=40, tol=0, bound_every=1).fit(X, y).bound_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()


def test_scopes_of_all_labels_are_the_paper_s_model():
    """Given the same shapes: their defaults are others with scopes than without."""
    X, y = shelves()
    shapes = {"label_shape": 3, "term_shape": 0.5, "coef_shape": 1}
    by_mask = scoped(scopes=np.ones((4, 5)), **shapes).fit(X, y)
    by_word = scoped(scopes="all", **shapes).fit(X, y)
    assert_allclose(by_mask.components_, by_word.components_, rtol=1e-10)
    assert_allclose(by_mask.bound_history_, by_word.bound_history_, rtol=1e-10)


def test_masks_may_be_lists_or_numbers():
    X, y = shelves()
    wanted = scoped().fit(X, y).components_
    for mask in (MASK.tolist(), MASK.astype(int), MASK.astype(float)):
        assert_array_equal(scoped(scopes=mask).fit(X, y).components_, wanted)


@pytest.mark.parametrize(
    ("scopes", "parts"),
    [
        (MASK.T, ("zeros and ones of shape (n_labels, n_components) = (4, 5)", "(5, 4)")),
        (MASK[:3], ("got an array of shape (3, 5)",)),
        (MASK[0], ("got an array of shape (5,)",)),
        (0.5 * MASK, ("zeros and ones",)),
        (np.where(MASK, 1, np.nan), ("zeros and ones",)),
        (MASK * [1, 1, 1, 0, 1], ("every component a label",)),
        (MASK * np.array([[1], [1], [0], [1]]), ("every label a component",)),
        ("some", ('scopes must be "auto", "all" or a mask', "(4, 5); got 'some'")),
        (None, ("got None",)),
    ],
)
def test_scopes_that_are_none(scopes, parts):
    model = scoped(scopes=scopes)
    with pytest.raises(ValueError, match="scopes must") as caught:
        model.fit(*shelves())
    for part in parts:
        assert part in str(caught.value)
    assert not hasattr(model, "components_")


def test_scopes_are_not_given_and_looked_for_at_once():
    with pytest.raises(ValueError, match=r'cannot be combined with init="auto".*scopes="auto"'):
        scoped(init="auto").fit(*shelves())


def test_a_number_by_the_labels_suits_any_start():
    model = SupervisedVBNMF(init="label", max_iter=2, tol=0).fit(*shelves())
    assert model.n_components_ == 20
    assert model.n_components_reason_.startswith("20 components by default: two for each label")


def test_prune_keeps_scopes_that_were_given():
    X, y = shelves()
    model = scoped(max_iter=60).fit(X, y)
    lightest = int(model.component_mass_.argmin())
    pruned = model.prune(X, y, least=float(np.sort(model.component_mass_)[1]) * 0.999)
    kept = np.delete(np.arange(5), lightest)
    assert pruned.pruning_.removed.tolist() == [lightest]
    assert_array_equal(pruned.scopes_, MASK[:, kept])
    assert_array_equal(pruned.scopes, MASK[:, kept])
    assert np.isposinf(pruned.label_rates_[~MASK[:, kept]]).all()
    pruned.fit(X, y)  # parameters are those of a model of four components
    assert_array_equal(pruned.scopes_, MASK[:, kept])


# Scopes that are found


def test_scopes_that_are_found_say_which_labels_use_a_component():
    X, y = shelves()
    model = SupervisedVBNMF(7)
    V = model.fit_coefficients(X, y)
    of_document = model.scopes_[np.unique(y, return_inverse=True)[1]]
    assert not model.scopes_.all()
    assert model.scopes_.any(axis=0).all()
    assert model.scopes_.any(axis=1).all()
    assert (V[~of_document] == 0).all()
    assert_array_equal(np.isinf(model.label_rates_), ~model.scopes_)
    assert model.background_ is None or model.scopes_[:, model.background_].all()


def test_scopes_of_all_by_the_same_start():
    model = SupervisedVBNMF(7, scopes="all", max_iter=10).fit(*shelves())
    assert model.scopes_.all()
    assert np.isfinite(model.label_rates_).all()
    assert_allclose(model.fitted_.labels.shapes, 12)


def test_the_number_of_components_is_found_and_explained():
    model = SupervisedVBNMF().fit(*shelves())
    assert model.n_components == "auto"
    assert model.n_components_ == len(model.components_) == model.scopes_.shape[1] < 20
    fewer = f"; {20 - model.n_components_} fewer, as others were alike or explained less"
    assert fewer in model.n_components_reason_
    asked = SupervisedVBNMF(5, max_iter=5).fit(*shelves())
    assert asked.n_components_reason_ == "5 components, as requested"


def test_the_first_start_is_not_random_and_others_are():
    X, y = shelves()
    fits = [SupervisedVBNMF(7, max_iter=5, random_state=seed).fit(X, y) for seed in (0, 1)]
    assert_array_equal(fits[0].components_, fits[1].components_)
    more = SupervisedVBNMF(7, max_iter=5, n_init=3, random_state=0).fit(X, y)
    assert more.bound_ >= fits[0].bound_
