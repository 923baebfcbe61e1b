"""What is to be run: the specification file, and the cells that follow from it."""

import re
from dataclasses import replace
from importlib.resources import files

import pytest

from vbnmf.paper.specification import (
    ITEMS,
    METHODS,
    Cell,
    MethodGrid,
    Seeds,
    list_cells,
    read_specification,
)

PAPER = files("vbnmf.paper").joinpath("paper.toml").read_text(encoding="utf-8")
FULL = read_specification()
QUICK = read_specification(quick=True)
SPECIFICATIONS = pytest.mark.parametrize("chosen", [FULL, QUICK], ids=["full", "quick"])


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def without(table):
    """The paper's file without one of its tables."""
    return re.sub(rf"^\[{table}\][^\[]*", "", PAPER, flags=re.MULTILINE)


# --- the specification


def test_a_copy_of_the_file_is_the_same_specification(tmp_path):
    assert read_specification(written(tmp_path, PAPER)) == FULL
    assert read_specification(written(tmp_path, PAPER), quick=True) == QUICK != FULL


@SPECIFICATIONS
def test_every_grid_is_usable(chosen):
    for method in METHODS:
        grid = chosen.grid(method)
        assert grid.dimension == tuple(sorted(set(grid.dimension)))
        assert min(grid.dimension) > 0
        assert grid.parameter == tuple(sorted(set(grid.parameter)))
        if method != "pca":
            assert min(grid.parameter) > 0
            assert grid.iterations > grid.burn_in > 0
            assert grid.term_shape > 0
    assert max(chosen.unsupervised.parameter) <= 1  # sparse or exponential, as in the paper
    assert chosen.supervised.burn_in == 10
    seeds = chosen.seeds
    assert 0 < seeds.validation <= seeds.test
    assert 0 < seeds.heads <= seeds.test
    assert 0 < chosen.free.seeds <= seeds.test  # each has a partner with T's shape fixed
    assert 0 < chosen.corpus.validation < 1
    assert chosen.corpus.documents in ("corpus", "train")
    assert set(chosen.words) == {"counts", "tables", "posts"}


@SPECIFICATIONS
def test_the_figures_find_their_dimensions_in_the_grids(chosen):
    shown = chosen.figures
    for method in ("unsupervised", "supervised"):
        assert shown.map_dimension in chosen.grid(method).dimension
        assert set(chosen.free.dimension) <= set(chosen.grid(method).dimension)
    assert set(shown.hull_dimensions) <= set(chosen.supervised.dimension)
    low, high = shown.zoom
    near = [a for a in chosen.supervised.parameter if low <= a <= high]
    assert 1 <= len(near) < len(chosen.supervised.parameter)
    # PCA is read at the dimension that the paper reports
    assert chosen.reported["pca"]["dimension"] in chosen.pca.dimension


def test_the_quick_grid_is_within_the_full_one():
    for method in METHODS:
        full, quick = FULL.grid(method), QUICK.grid(method)
        assert set(quick.dimension) <= set(full.dimension)
        assert set(quick.parameter) <= set(full.parameter)
        assert quick.term_shape == full.term_shape
        assert quick.iterations <= full.iterations
    assert QUICK.seeds.test < FULL.seeds.test
    assert (QUICK.corpus, QUICK.words) == (FULL.corpus, FULL.words)
    assert QUICK.figures.map_dimension == FULL.figures.map_dimension
    assert QUICK.reported == FULL.reported


def test_what_the_paper_reports():
    assert FULL.reported["pca"]["micro"]["mean"] == 0.6330
    assert FULL.reported["unsupervised"]["micro"] == {
        "mean": 0.5532,
        "least": 0.5190,
        "most": 0.5796,
    }
    assert FULL.reported["supervised"]["macro"]["most"] == 0.7277
    assert FULL.reported["supervised"]["inter_label_sparsity"] == 0.8578
    for method in METHODS:
        for metric in ("micro", "macro"):
            said = FULL.reported[method][metric]
            assert said.get("least", 0) < said["mean"] < said.get("most", 1)


def test_seeds_are_those_asked_for():
    one = read_specification(seeds=1)
    assert one.seeds == Seeds(test=1, validation=1, heads=1)
    assert one.free.seeds == 1
    many = read_specification(seeds=20)
    assert many.seeds == replace(FULL.seeds, test=20)
    assert many.free == FULL.free
    assert replace(many, seeds=FULL.seeds) == FULL
    assert read_specification(quick=True, seeds=5).seeds.test == 5


@pytest.mark.parametrize("seeds", [0, -3])
def test_there_must_be_a_seed(seeds):
    with pytest.raises(ValueError, match=f"at least 1; got {seeds}"):
        read_specification(seeds=seeds)


BROKEN = {
    "an unknown key": PAPER.replace("[corpus]", '[corpus]\nlanguage = "english"', 1),
    "an unknown key of a grid": PAPER.replace("[pca]", "[pca]\ncolour = 3", 1),
    "an unknown list of words": PAPER.replace("[words.counts]", "[words.counts]\nmax_df = 3", 1),
    "an unknown table": PAPER + "\n[unsupervized]\ndimension = [20]\n",
    "a missing table": without("seeds"),
    "a missing key": PAPER.replace("terms = 10000", "", 1),
    "words that are no table": "words = 3\n" + re.sub(r"\[words[^[]*", "", PAPER),
    "a number for a list": PAPER.replace("dimension = [40]", "dimension = 40", 1),
    "documents of neither kind": PAPER.replace('documents = "corpus"', 'documents = "tests"', 1),
    "not TOML": "corpus = [",
    "another file": 'title = "shopping"\n',
    "no text": None,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_refused_by_name(tmp_path, text):
    path = written(tmp_path, text or "")
    if text is None:
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"mine\.toml.*paper\.toml"):
        read_specification(path)


def test_the_message_names_the_key(tmp_path):
    with pytest.raises(ValueError, match="language"):
        read_specification(written(tmp_path, BROKEN["an unknown key"]))
    with pytest.raises(ValueError, match="seeds"):
        read_specification(written(tmp_path, BROKEN["a missing table"]))


def test_a_broken_quick_is_refused(tmp_path):
    path = written(tmp_path, PAPER.replace("free.seeds = 1", "free.sedes = 1"))
    assert read_specification(path) == FULL
    with pytest.raises(ValueError, match=r"mine\.toml.*sedes"):
        read_specification(path, quick=True)


# --- the cells


SMALL = replace(
    FULL,
    seeds=Seeds(test=3, validation=2, heads=1),
    pca=MethodGrid((5, 7)),
    unsupervised=MethodGrid((4, 6), (0.5, 1.0), 1.0, 50),
    supervised=MethodGrid((4, 6, 8), (1.0, 10.0), 0.5, 30, 10),
    free=replace(FULL.free, dimension=(6,), seeds=2),
)


def of(cells, **conditions):
    return [c for c in cells if all(getattr(c, name) == v for name, v in conditions.items())]


def test_counts_by_hand():
    cells = list_cells(SMALL)
    assert len(of(cells, method="pca")) == 2 * 2  # dimensions × folds
    assert len(of(cells, method="svm")) == 2  # the terms of the others, and all
    assert len(of(cells, method="unsupervised", fold="validation")) == 2 * 2 * 2
    assert len(of(cells, method="unsupervised", fold="test", term_shape=1.0)) == 3 * 2 * 2
    assert len(of(cells, method="supervised", fold="validation")) == 2 * 3 * 2
    assert len(of(cells, method="supervised", fold="test", term_shape=0.5)) == 3 * 3 * 2
    assert len(of(cells, method="unsupervised", term_shape="free")) == 2 * 2
    assert len(of(cells, method="supervised", term_shape="free")) == 2 * 2
    assert len(cells) == 4 + 2 + 8 + 12 + 12 + 18 + 4 + 4


@SPECIFICATIONS
def test_counts_of_the_paper(chosen):
    points = [len(chosen.grid(m).dimension) * len(chosen.grid(m).parameter) for m in METHODS[1:]]
    starts = chosen.seeds.test + chosen.seeds.validation
    shapes = sum(len(chosen.grid(m).parameter) for m in METHODS[1:])
    free = shapes * len(chosen.free.dimension) * chosen.free.seeds
    n_pca = 2 * len(chosen.pca.dimension)
    assert len(list_cells(chosen)) == n_pca + 2 + sum(points) * starts + free


@SPECIFICATIONS
def test_no_cell_comes_twice(chosen):
    cells = list_cells(chosen)
    assert len(set(cells)) == len(cells)


def test_a_cell_has_what_its_method_needs():
    cells = list_cells(SMALL)
    assert Cell("pca", "test", 5, heads=True) in cells
    assert Cell("pca", "validation", 5) in cells
    assert Cell("svm", "test", SMALL.corpus.terms) in cells
    assert Cell("svm", "test", 0) in cells
    assert Cell("supervised", "test", 8, 10.0, 0.5, 30, 10, "drawn", 0, heads=True) in cells
    assert Cell("supervised", "test", 8, 10.0, 0.5, 30, 10, "drawn", 1) in cells
    assert Cell("unsupervised", "validation", 4, 0.5, 1.0, 50, 10, "drawn", 0) in cells
    assert Cell("unsupervised", "test", 6, 0.5, "free", 50, 10, "drawn", 1) in cells


def test_a_stopped_run_has_a_bit_of_everything():
    """Seed by seed: no cell of a later seed comes before one of an earlier seed."""
    seeds = [cell.seed or 0 for cell in list_cells(SMALL)]
    assert seeds == sorted(seeds)


@pytest.mark.parametrize(
    ("item", "methods"),
    {
        "fig1": {"pca"},
        "fig2": {"unsupervised"},
        "fig3": {"supervised"},
        "fig4": {"unsupervised"},
        "fig6": {"supervised"},
        "fig7": {"unsupervised", "supervised"},
        "table1": {"pca", "unsupervised", "supervised"},
        "classifiers": {"pca", "unsupervised", "supervised", "svm"},
    }.items(),
)
def test_an_item_needs_its_methods_only(item, methods):
    cells = list_cells(SMALL, [item])
    assert {cell.method for cell in cells} == methods
    assert of(cells, term_shape="free") == []
    assert set(cells) <= set(list_cells(SMALL))


def test_the_claims_need_the_free_shape():
    cells = list_cells(SMALL, ["claims"])
    assert len(of(cells, term_shape="free")) == 8
    assert of(cells, method="svm") == []


def test_items_together_are_their_union():
    both = list_cells(SMALL, ["fig1", "fig2"])
    assert set(both) == {*list_cells(SMALL, ["fig1"]), *list_cells(SMALL, ["fig2"])}
    assert list_cells(SMALL, ["fig1", "fig1"]) == list_cells(SMALL, ["fig1"])
    assert set(list_cells(SMALL, ITEMS)) == set(list_cells(SMALL))
    assert list_cells(SMALL, []) == []


def test_an_unknown_item_is_refused():
    with pytest.raises(ValueError, match=r"'fig8'.*fig1.*table1"):
        list_cells(SMALL, ["fig1", "fig8"])


@pytest.mark.parametrize("item", ITEMS)
def test_quick_has_cells_for_every_item(item):
    cells = list_cells(QUICK, [item])
    assert cells
    assert len(cells) < len(list_cells(FULL, [item])) or ITEMS[item] == ("svm",)
    if item in ("table1", "classifiers", "claims"):
        assert of(cells, fold="validation")


def test_more_work_costs_more():
    cheap = Cell("supervised", "test", 20, 1.0, 0.5, 100, 10, "drawn", 0)
    assert cheap.cost > 0
    for change in ({"dimension": 100}, {"iterations": 500}, {"heads": True}):
        assert replace(cheap, **change).cost > cheap.cost
    assert Cell("pca", "test", 200).cost > 0


def test_a_row_has_the_cells_columns():
    cell = Cell("supervised", "test", 8, 10.0, 0.5, 30, 10, "drawn", 0, heads=True)
    assert Cell(**cell.as_row()) == cell
