"""The table of results: how it is asked, and its file."""

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_rows import free, led, pca, row

from vbnmf.paper.results import (
    COLUMNS,
    Choice,
    choose_peak,
    choose_validated,
    distinct,
    guarded,
    key_of,
    peak,
    rank_correlation,
    read_results,
    rows_of,
    spread,
    values,
    where,
    write_results,
)

ROWS = [
    pca(20, 0.5, macro=0.4),
    pca(200, 0.63),
    pca(900, None, status="impossible", reason="too many"),
    led(20, 1.0, 0.6, seed=0),
    led(20, 1.0, 0.8, seed=1),
    led(20, 10.0, 0.7, seed=0),
    led(40, 10.0, 0.75, seed=0, status="failed", reason="out of memory"),
    led(40, 10.0, 0.9, seed=0, term_shape="free"),
    led(20, 10.0, 0.1, seed=0, fold="validation"),
]


# --- asking


def test_where_gives_what_is_done_and_fits():
    assert where(ROWS, method="pca") == ROWS[:2]
    assert where(ROWS, method="supervised", dimension=20, fold="test") == ROWS[3:6]
    assert where(ROWS, parameter=(1.0, 10.0), fold="test") == [*ROWS[3:6], ROWS[7]]
    assert where(ROWS, dimension=900) == []
    assert len(where(ROWS)) == 7


def test_guarded_leaves_out_the_free_shape():
    assert guarded(ROWS, dimension=40) == []
    assert where(ROWS, dimension=40) == [ROWS[7]]
    assert guarded(ROWS, method="pca") == ROWS[:2]


def test_summaries():
    summary = spread(where(ROWS, parameter=1.0), "micro")
    assert summary.mean == pytest.approx(0.7)
    assert (summary.least, summary.most, summary.n) == (0.6, 0.8, 2)
    # rows that a metric does not apply to are no zeros
    assert spread([*where(ROWS, parameter=1.0), row("svm", 0)], "micro") == summary
    nothing = spread([row("svm", 0)], "micro")
    assert isnan(nothing.mean)
    assert isnan(nothing.least)
    assert isnan(nothing.most)
    assert nothing.n == 0


def test_values_and_distinct():
    assert values(ROWS[:3], "micro") == [0.5, 0.63]
    assert distinct(ROWS, "dimension") == [20, 40, 200, 900]
    assert distinct(ROWS, "parameter") == [1.0, 10.0]


def test_rows_of_a_choice_are_of_the_test_split():
    chosen = Choice("supervised", 20, 10.0, "validation")
    assert rows_of(ROWS, chosen) == [ROWS[5]]
    assert rows_of(ROWS, chosen, "validation") == [ROWS[8]]
    assert rows_of(ROWS, Choice("pca", 200, None, "test")) == [ROWS[1]]
    assert rows_of(ROWS, Choice("supervised", 40, 10.0, "test")) == []


def test_the_peak_is_the_best_single_run():
    """Not the best mean: that would be 0.7 against 0.7 here. Neither failed nor free runs count."""
    assert peak(ROWS, "supervised") is ROWS[4]
    assert peak(ROWS, "supervised", parameter=10.0) is ROWS[5]
    assert peak(ROWS, "pca") is ROWS[1]
    assert peak(ROWS, "pca", "macro", dimension=20) is ROWS[0]
    assert peak(ROWS, "unsupervised") is None
    assert peak(ROWS, "pca", "sparsity") is None
    assert choose_peak(ROWS, "supervised") == Choice("supervised", 20, 1.0, "test")
    assert choose_peak(ROWS, "unsupervised") is None


VALIDATED = [
    free(20, 0.5, 0.50, seed=0, fold="validation"),
    free(20, 0.5, 0.52, seed=1, fold="validation"),
    free(40, 0.5, 0.60, seed=0, fold="validation"),  # the best single run
    free(40, 0.5, 0.30, seed=1, fold="validation"),
    free(40, 1.0, 0.40, seed=0, fold="validation"),
]


def test_validation_goes_by_the_mean():
    assert choose_validated(VALIDATED, "unsupervised") == Choice(
        "unsupervised", 20, 0.5, "validation"
    )
    at_40 = choose_validated(VALIDATED, "unsupervised", dimension=40)
    assert at_40 == Choice("unsupervised", 40, 0.5, "validation")
    assert choose_validated(VALIDATED, "supervised") is None
    assert choose_validated(ROWS[:3], "pca") is None


@given(st.lists(st.tuples(st.sampled_from([20, 40, 60]), st.floats(0, 1)), max_size=8))
def test_the_test_split_has_no_say(scores):
    test = [free(d, 1.0, micro, seed=i) for i, (d, micro) in enumerate(scores)]
    failed = [free(60, 1.0, 1.0, fold="validation", status="failed")]
    unguarded = [free(60, 1.0, 1.0, fold="validation", term_shape="free")]
    chosen = choose_validated([*test, *failed, *VALIDATED, *unguarded], "unsupervised")
    assert chosen == Choice("unsupervised", 20, 0.5, "validation")


@given(st.permutations([(20, 0.5), (20, 1.0), (40, 0.25), (40, 0.5)]))
def test_ties_go_to_the_smaller(parameters):
    rows = [free(d, a, 0.5, fold="validation") for d, a in parameters]
    assert choose_validated(rows, "unsupervised") == Choice("unsupervised", 20, 0.5, "validation")
    plain = [pca(d, 0.4, fold="validation") for d in dict(parameters)]
    assert choose_validated(plain, "pca") == Choice("pca", 20, None, "validation")


def measured(pairs):
    return [led(20, 1.0, y, seed=i, sparsity=x) for i, (x, y) in enumerate(pairs)]


def test_rank_correlation():
    rising = measured([(0.1, 0.2), (0.2, 0.21), (0.9, 0.22), (0.95, 0.9)])
    assert rank_correlation(rising, "sparsity", "micro") == pytest.approx(1)
    falling = measured([(0.1, 0.9), (0.2, 0.5), (0.9, 0.4)])
    assert rank_correlation(falling, "sparsity", "micro") == pytest.approx(-1)
    # ranks 1 2 3 4 against 2 1 4 3: 1 - 6 · 4 / (4 · 15)
    mixed = measured([(1, 0.2), (2, 0.1), (3, 0.4), (4, 0.3)])
    assert rank_correlation(mixed, "sparsity", "micro") == pytest.approx(0.6)
    # rows without one of the two do not count
    incomplete = [*mixed, led(20, 1.0, 0.0), led(20, 1.0, None, sparsity=9.0)]
    assert rank_correlation(incomplete, "sparsity", "micro") == pytest.approx(0.6)


@pytest.mark.parametrize(
    "pairs", [[], [(0, 0)], [(0, 0), (1, 1)], [(1, 0), (1, 1), (1, 2)], [(0, 1), (1, 1), (2, 1)]]
)
def test_no_correlation_of_too_few_or_equal(pairs):
    assert isnan(rank_correlation(measured(pairs), "sparsity", "micro"))


# --- the file


def test_what_is_written_is_read(tmp_path):
    table = tmp_path / "results.csv"
    rows = [
        *ROWS,
        led(40, 1 / 3, 0.1 + 0.2, bound=-1.23456789012345e6, n_iter=200, seconds=1e-9, heads=True),
        row("svm", 0, micro_svm=0.85, reason='commas, "quotes"\nand lines', status="failed"),
    ]
    write_results(rows, table)
    again = read_results(table)
    assert again == rows
    assert [list(row) for row in again] == [list(COLUMNS)] * len(rows)
    types = {name: type(value) for name, value in again[-2].items()}
    assert (types["dimension"], types["seed"], types["n_iter"]) == (int, int, int)
    assert (types["parameter"], types["micro"], types["heads"]) == (float, float, bool)
    assert again[7]["term_shape"] == "free"
    assert again[0]["parameter"] is None
    assert again[0]["reason"] == ""
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


def test_keys_survive_the_file(tmp_path):
    """A whole number given for a float is the same cell again."""
    rows = [led(40, 100, 0.5, term_shape=1), pca(10, 0.5)]
    write_results(rows, tmp_path / "results.csv")
    again = read_results(tmp_path / "results.csv")
    assert [key_of(row) for row in again] == [key_of(row) for row in rows]
    assert len({key_of(row) for row in ROWS}) == len(ROWS)


def test_no_file_is_no_rows(tmp_path):
    assert read_results(tmp_path / "results.csv") == []
    write_results([], tmp_path / "results.csv")
    assert read_results(tmp_path / "results.csv") == []


GOOD = "supervised,test,20,1.0,"
DAMAGES = {
    "a word for a number": lambda text: text.replace(GOOD, "supervised,test,many,1.0,"),
    "a fraction for a whole number": lambda text: text.replace(GOOD, "supervised,test,2.5,1.0,"),
    "a cut line": lambda text: text[: text.index(GOOD) + len(GOOD)] + "\n",
    "a line without its versions": lambda text: text.rstrip("\n").removesuffix(",,,,,") + "\n",
    "a line too long": lambda text: text.rstrip("\n") + ",7,8\n",
    "a truth that is neither": lambda text: text.replace("False", "maybe", 1),
    "a column less": lambda text: text.replace("micro,", "", 1),
    "other columns": lambda text: "name,price\nmilk,3\n",
    "an empty file": lambda text: "",
    "a very long field": lambda text: text.replace(GOOD, "x" * 200_000 + ","),
}


def refused(table):
    before = table.read_bytes()
    with pytest.raises(ValueError, match=r"results\.csv.*Move it away"):
        read_results(table)
    assert table.read_bytes() == before


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_refused_by_name(tmp_path, damage):
    table = tmp_path / "results.csv"
    write_results(ROWS, table)
    text = table.read_text(encoding="utf-8")
    table.write_text(damage(text), encoding="utf-8")
    assert table.read_text(encoding="utf-8") != text
    refused(table)


@pytest.mark.parametrize("where", ["in the head", "in a line"])
def test_bytes_that_are_no_text_are_refused_by_name(tmp_path, where):
    table = tmp_path / "results.csv"
    write_results(ROWS, table)
    data = table.read_bytes()
    table.write_bytes(b"\xff\xfe" + data if where == "in the head" else data + b"\xff\xfe")
    refused(table)
