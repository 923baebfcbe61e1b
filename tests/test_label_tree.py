"""Groups of labels, and models with groups."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vbnmf import SupervisedVBNMF, load
from vbnmf.estimators.labeltree import as_mapping, as_masks, check_label_tree

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

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


def test_scopes_of_small_groups_are_labels_groups_or_all(treed):
    allowed = {(1, 1, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), *map(tuple, np.eye(4, dtype=int).tolist())}
    found = {tuple(column) for column in treed.scopes_.T.astype(int).tolist()}
    assert found <= allowed
    assert {(1, 1, 0, 0), (0, 0, 1, 1)} <= found


def test_a_component_of_some_labels_of_a_group_does_not_serve_the_others():
    """Terms that two of three labels share: their component does not claim the third."""
    rng = np.random.default_rng(1)
    labels = ["a/one", "a/two", "a/three", "b/four"]
    y = np.repeat(np.arange(4), 80)
    rates = np.full((320, 30), 0.02)
    for place in range(4):
        rates[y == place, 5 * place : 5 * place + 5] = 2.0
    rates[y < 2, 20:25] = rng.choice([0.2, 5.0], (160, 1))  # some documents of two labels
    rates[:, 25:] = 1.5
    X, y = rng.poisson(rates).astype(float), np.array(labels)[y]
    model = SupervisedVBNMF(6, label_tree="/").fit(X, y)
    names = model.classes_.tolist()
    (of_two,) = np.flatnonzero(model.components_.argmax(axis=1) // 5 == 4)
    scope = {names[at] for at in np.flatnonzero(model.scopes_[:, of_two])}
    assert scope == {"a/one", "a/two"}


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
