"""Groups of labels, and scopes: which labels a component serves."""

import numpy as np
import pytest
from conftest import INSTRUCTION_SETS
from numpy.testing import assert_allclose, assert_array_equal

from vbnmf import SupervisedVBNMF, load
from vbnmf.estimators.labeltree import as_mapping, as_masks, check_label_tree

pytestmark = pytest.mark.filterwarnings("ignore:after max_iter")

NAMES = ["comp.mac.hardware", "comp.windows", "rec.autos", "rec.sport.baseball", "rec.sport.hockey"]


def groups(tree, labels=NAMES):
    """Groups by name, with their labels."""
    classes = np.array(labels, dtype=object)
    return {name: classes[at].tolist() for name, at in check_label_tree(tree, classes).items()}


# Trees of separators


def test_a_separator_groups_labels_by_what_comes_before_it():
    found = groups(".")
    assert found == {"comp": NAMES[:2], "rec": NAMES[2:], "rec.sport": NAMES[3:]}


def test_a_separator_of_several_characters():
    labels = ["a::x", "a::y", "b::x"]
    assert groups("::", labels) == {"a": ["a::x", "a::y"]}


def test_a_label_without_the_separator_is_in_no_group():
    assert groups("/", ["a/x", "a/y", "b"]) == {"a": ["a/x", "a/y"]}


def test_a_label_may_be_the_name_of_a_group_too():
    """The tree is of names before a separator, and a bare name has none."""
    assert groups("/", ["a", "a/x", "a/y", "b"]) == {"a": ["a/x", "a/y"]}


def test_nothing_before_a_separator_is_no_group():
    assert groups("/", ["/x", "/y", "a/x", "a/y"]) == {"a": ["a/x", "a/y"]}


def test_no_tree_has_no_groups():
    assert groups(None) == {}


def test_labels_as_numpy_strings():
    assert check_label_tree("/", np.array(["a/x", "a/y", "b"])).keys() == {"a"}


# Trees of mappings


def test_a_mapping_from_labels_to_groups_and_on():
    tree = {"tea": "drink", "milk": "drink", "bread": "food", "drink": "table", "food": "table",
            "rice": "food"}  # fmt: skip
    labels = ["bread", "milk", "rice", "soap", "tea"]
    assert groups(tree, labels) == {
        "food": ["bread", "rice"],
        "table": ["bread", "milk", "rice", "tea"],
        "drink": ["milk", "tea"],
    }


def test_levels_may_be_missing():
    """Leaves of unequal depth, and labels that the mapping does not have."""
    tree = {"a": "g", "b": "h", "h": "g"}
    assert groups(tree, ["a", "b", "c"]) == {"g": ["a", "b"]}


def test_labels_that_are_numbers_have_mappings():
    assert groups({1: "odd", 3: "odd", 2: "even"}, [1, 2, 3]) == {"odd": [1, 3]}


def test_a_label_may_be_above_others():
    assert groups({"x": "a", "y": "a"}, ["a", "b", "x", "y"]) == {"a": ["x", "y"]}


def test_nothing_is_above_the_root():
    assert groups({"a": "g", "b": "g", "g": None, "c": None}, ["a", "b", "c"]) == {"g": ["a", "b"]}


# Groups that say nothing new


def test_groups_of_one_and_of_all_labels_are_left_out():
    assert groups("/", ["a/x", "a/y"]) == {}
    assert groups("/", ["a/x", "b/y"]) == {}
    assert groups({"a": "g", "b": "g", "c": "h"}, ["a", "b", "c"]) == {"g": ["a", "b"]}


def test_groups_of_the_same_labels_are_one():
    assert groups("/", ["a/b/x", "a/b/y", "c"]) == {"a": ["a/b/x", "a/b/y"]}


def test_masks():
    mask = as_masks(check_label_tree(".", np.array(NAMES)), 5)
    assert_array_equal(mask, [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    assert as_masks({}, 4).shape == (0, 4)


def test_groups_as_a_tree_of_places():
    found = check_label_tree(".", np.array(NAMES))
    tree = as_mapping(found)
    assert tree == {0: "comp", 1: "comp", 2: "rec", 3: "rec.sport", 4: "rec.sport",
                    "rec.sport": "rec"}  # fmt: skip
    again = check_label_tree(tree, np.arange(5))
    assert {name: at.tolist() for name, at in again.items()} == {
        name: at.tolist() for name, at in found.items()
    }
    assert as_mapping({}) == {}


# What is refused


@pytest.mark.parametrize(
    ("tree", "labels", "parts"),
    [
        ("|", NAMES, ("label_tree='|' occurs in the name of no label", "comp.mac", "separator")),
        ("", NAMES, ("must not be empty", "''")),
        (".", [1, 2, 3], ("labels that are strings", "the label 1")),
        (3, NAMES, ("a separator", "a mapping", "or None; got 3.")),
        (["a"], NAMES, ("got ['a']",)),
        ({"a": "a"}, ["a", "b"], ("'a' is its own ancestor", "Remove one of these parents")),
        ({"a": "g", "g": "h", "h": "g"}, ["a", "b"], ("'g' is its own ancestor through 'h', 'g'",)),
        ({"a": "g", "g": "a"}, ["a", "b"], ("'a' is its own ancestor through 'g', 'a'",)),
        ({"a": "g", "z": "g"}, ["a", "b"], ("has 'z'", "neither a label nor", "'a', 'b'")),
        ({str(n): "g" for n in range(9)}, ["a", "b"], ("9 in all", "neither a label")),
        ({"a": ["g"]}, ["a", "b"], ("to the name of one group; got ['g']",)),
        ({"a": "g", "x": "y", "y": "x"}, ["a", "b"], ("has 'x', 'y'", "neither a label nor")),
    ],
)
def test_trees_that_are_none(tree, labels, parts):
    with pytest.raises(ValueError, match="label_tree") as caught:
        groups(tree, labels)
    for part in parts:
        assert part in str(caught.value)


# Models with a tree


def shelves(n=12):
    """Labels of two groups: terms of each label, of each group, and of all."""
    rng = np.random.default_rng(0)
    labels = ["drink/coffee", "drink/tea", "food/bread", "food/rice"]
    y = np.repeat(np.arange(4), n)
    rates = np.full((4 * n, 28), 0.02)
    for place in range(4):
        rates[y == place, 4 * place : 4 * place + 4] = 2.0
        rates[y == place, 16 + 4 * (place // 2) : 20 + 4 * (place // 2)] = 2.0
    rates[:, 24:] = 1.5
    return rng.poisson(rates).astype(float), np.array(labels)[y]


@pytest.fixture(scope="module")
def treed():
    return SupervisedVBNMF(8, label_tree="/").fit(*shelves())


def test_groups_are_told_with_their_labels(treed):
    told = {name: labels.tolist() for name, labels in treed.label_groups_.items()}
    assert told == {
        "drink": ["drink/coffee", "drink/tea"],
        "food": ["food/bread", "food/rice"],
    }


def test_scopes_are_labels_groups_or_all(treed):
    allowed = {(1, 1, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), *map(tuple, np.eye(4, dtype=int).tolist())}
    found = {tuple(column) for column in treed.scopes_.T.astype(int).tolist()}
    assert found <= allowed
    assert {(1, 1, 0, 0), (0, 0, 1, 1)} <= found


def test_labels_outside_of_a_group_do_not_use_its_component(treed):
    of_drink = (treed.scopes_.T == [1, 1, 0, 0]).all(axis=1)
    assert (treed.label_activations_[:2, of_drink] > 0).all()
    assert (treed.label_activations_[2:, of_drink] == 0).all()


def test_a_mapping_says_the_same_as_a_separator(treed):
    X, y = shelves()
    tree = {label: label.split("/")[0] for label in set(y.tolist())}
    other = SupervisedVBNMF(8, label_tree=tree).fit(X, y)
    assert_array_equal(other.components_, treed.components_)
    assert other.label_groups_.keys() == treed.label_groups_.keys()


def test_saving_keeps_groups_and_scopes(treed, tmp_path):
    treed.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert_array_equal(again.scopes_, treed.scopes_)
    assert again.background_ == treed.background_
    assert again.label_groups_.keys() == treed.label_groups_.keys()
    for name, labels in treed.label_groups_.items():
        assert_array_equal(again.label_groups_[name], labels)


@pytest.mark.parametrize("K", [1, 2])
def test_too_few_components_for_the_groups(K):
    with pytest.raises(ValueError, match=r"n_components=\d is too few.*its 2 groups.*at least 3"):
        SupervisedVBNMF(K, label_tree="/").fit(*shelves())


def test_as_few_components_as_can_be():
    fitted = SupervisedVBNMF(3, label_tree="/", max_iter=5).fit(*shelves())
    assert fitted.components_.shape == (3, 28)
    assert fitted.scopes_.any(axis=1).all()


@pytest.mark.parametrize("init", ["label", "random", np.ones((8, 28))])
def test_a_tree_needs_a_start_that_looks_for_components(init):
    with pytest.raises(ValueError, match='label_tree needs init="auto"'):
        SupervisedVBNMF(8, label_tree="/", init=init).fit(*shelves())


def test_a_tree_that_is_refused_leaves_no_model():
    model = SupervisedVBNMF(8, label_tree="|")
    with pytest.raises(ValueError, match="name of no label"):
        model.fit(*shelves())
    assert not hasattr(model, "components_")


# Scopes that are given

MASK = np.array([[1, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 1, 1, 1]], dtype=bool)


@pytest.fixture(params=["scipy", "native"])
def kernel_name(request, monkeypatch):
    if request.param == "native" and not INSTRUCTION_SETS:
        pytest.skip("no compiled kernels")
    monkeypatch.setenv("VBNMF_KERNEL", request.param)


def scoped(**parameters):
    given = {"scopes": MASK, "init": "label", "max_iter": 20, "random_state": 0}
    return SupervisedVBNMF(5, **given | parameters)


@pytest.mark.parametrize("start", ["label", "random", "given"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coefficients_out_of_scope_are_zero(kernel_name, start, dtype):
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


def test_documents_of_several_labels_use_the_components_of_each(kernel_name):
    X, y = shelves()
    Y = np.unique(y)[None] == y[:, None]
    Y[::3, 3] = True
    V = scoped().fit_coefficients(X, Y.astype(int))
    of_document = Y @ MASK
    assert (V[~of_document] == 0).all()
    assert (V[of_document] > 0).all()


def test_documents_of_unknown_label_may_use_all_components(kernel_name):
    X, y = shelves()
    labels = [None if d % 4 == 0 else label for d, label in enumerate(y.tolist())]
    V = scoped(max_iter=60).fit_coefficients(X, labels)
    of_document = MASK[np.unique(y, return_inverse=True)[1]]
    known = np.arange(len(y)) % 4 > 0
    assert (V[~known] > 0).all()
    assert (V[known][~of_document[known]] == 0).all()


@pytest.mark.parametrize("start", ["label", "random"])
def test_the_bound_never_falls_within_scopes(kernel_name, start):
    X, y = shelves()
    history = scoped(init=start, max_iter=40, tol=0, bound_every=1).fit(X, y).bound_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()


def test_scopes_of_all_labels_are_the_paper_s_model(kernel_name):
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


def test_a_number_of_components_to_be_found_needs_the_start_that_finds_it():
    with pytest.raises(ValueError, match='n_components="auto" needs init="auto"'):
        scoped(init="label").set_params(n_components="auto").fit(*shelves())


# Pruning


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


def test_prune_keeps_scopes_and_groups_that_were_found(treed):
    X, y = shelves()
    least = float(np.sort(treed.component_mass_)[1]) * 0.999
    pruned = treed.prune(X, y, least=least)
    kept = np.setdiff1d(np.arange(8), pruned.pruning_.removed)
    assert len(kept) == 7
    assert_array_equal(pruned.scopes_, treed.scopes_[:, kept])
    assert pruned.label_groups_ == treed.label_groups_
    assert pruned.n_components_ == 7
    assert (pruned.init, pruned.scopes, pruned.label_tree) == ("auto", "auto", "/")
    if treed.background_ is not None:
        assert kept[pruned.background_] == treed.background_


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
    assert_allclose(model.label_shapes_, 12)


def test_the_number_of_components_is_found_and_explained():
    model = SupervisedVBNMF("auto").fit(*shelves())
    assert model.n_components_ == len(model.components_) == model.scopes_.shape[1]
    assert model.n_components_reason_.startswith(f"{model.n_components_} components")
    assert "bound" in model.n_components_reason_
    asked = SupervisedVBNMF(5, max_iter=5).fit(*shelves())
    assert asked.n_components_reason_ == "5 components, as requested"


def test_the_first_start_is_not_random_and_others_are():
    X, y = shelves()
    fits = [SupervisedVBNMF(7, max_iter=5, random_state=seed).fit(X, y) for seed in (0, 1)]
    assert_array_equal(fits[0].components_, fits[1].components_)
    more = SupervisedVBNMF(7, max_iter=5, n_init=3, random_state=0).fit(X, y)
    assert more.bound_ >= fits[0].bound_
