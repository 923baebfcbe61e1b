"""The tables of the report, on rows made by hand."""

import pytest
from paper_rows import PAPER, led, paper, pca, row

from vbnmf.paper.result_tables import all_tables

FIGURES = paper(hull_dimensions=(20, 60, 100), map_dimension=40)

TABLED = [
    pca(100, 0.60, macro=0.58, heads=True, micro_logistic=0.70, micro_svm=0.71),
    pca(200, 0.64, macro=0.62, heads=True, micro_logistic=0.72, micro_svm=0.73),
    pca(100, 0.66, fold="validation"),
    pca(200, 0.65, fold="validation"),
    led(40, 10.0, 0.70, macro=0.68, seed=0, sparsity=0.80, inter_label_sparsity=0.90, heads=True,
        micro_projected=0.69, micro_logistic=0.75, micro_svm=0.76),
    led(40, 10.0, 0.76, macro=0.74, seed=1, sparsity=0.84, inter_label_sparsity=0.94),
    led(40, 100.0, 0.72, macro=0.70, seed=0, sparsity=0.5, inter_label_sparsity=0.5),
    led(40, 100.0, 0.72, fold="validation"),
    led(40, 10.0, 0.71, fold="validation"),
    led(40, 1000.0, 0.99, term_shape="free"),
    row("svm", 10000, micro_svm=0.81),
    row("svm", 0, micro_svm=0.83),
]  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    made = {table.key: table for table in all_tables(TABLED, FIGURES)}
    assert list(made) == ["table1", "sparsities", "classifiers", "grid"]
    for table in made.values():
        assert {len(line) for line in table.rows} == {len(table.columns)}
        assert max(table.right) < len(table.columns)
    return made


def test_table_1_has_the_paper_beside_ours(tables):
    lines = tables["table1"].rows
    peak, validated = "peak on the test split", "chosen on validation documents"
    assert lines[:3] == [
        ["micro-averaged", "PCA", f"paper: {peak}", "200", "", "0.6330", "", "", ""],
        ["", "", peak, "200", "", "0.6400", "+0.0070", "", "1"],
        ["", "", validated, "100", "", "0.6000", "−0.0330", "", "1"],
    ]
    # nothing of ours for the method without labels: the paper's alone
    assert lines[3] == [
        "micro-averaged", "unsupervised vbNMF", f"paper: {peak}", "40", "", "0.5532", "",
        "[0.5190, 0.5796]", "",
    ]  # fmt: skip
    assert lines[4:7] == [
        ["micro-averaged", "supervised vbNMF", f"paper: {peak}", "100", "", "0.7141", "",
         "[0.6890, 0.7418]", ""],
        ["", "", peak, "40", "a^λ = 10", "0.7300", "+0.0159", "[0.7000, 0.7600]", "2"],
        ["", "", validated, "40", "a^λ = 100", "0.7200", "+0.0059", "", "1"],
    ]  # fmt: skip
    assert lines[7][0] == "macro-averaged"
    assert lines[8][5:7] == ["0.6200", "+0.0021"]
    assert lines[12][5:8] == ["0.7100", "+0.0103", "[0.6800, 0.7400]"]
    assert len(lines) == 14
    assert lines[0][5].replace(".", "").isdigit()
    assert tables["table1"].columns[5:7] == ["mean", "− paper"]


def test_sparsities_are_beside_the_papers(tables):
    table = tables["sparsities"]
    assert "K = 40" in table.title
    assert table.rows == [
        ["supervised vbNMF", "peak on the test split", "40", "a^λ = 10", "0.8752", "0.8200",
         "−0.0552", "0.8578", "0.9200", "+0.0622", "0.7300"],
        ["supervised vbNMF", "chosen on validation documents", "40", "a^λ = 100", "0.8752",
         "0.5000", "−0.3752", "0.8578", "0.5000", "−0.3578", "0.7200"],
    ]  # fmt: skip


def test_classifiers_are_of_the_runs_that_have_them(tables):
    peak, validated = "peak on the test split", "chosen on validation documents"
    assert tables["classifiers"].rows == [
        ["PCA", peak, "200", "", "0.6400", "–", "0.7200", "0.7300"],
        ["PCA", validated, "100", "", "0.6000", "–", "0.7000", "0.7100"],
        # of its two starts, one trained the others: k-NN is of the same one
        ["supervised vbNMF", peak, "40", "a^λ = 10", "0.7000", "0.6900", "0.7500", "0.7600"],
        ["linear SVM on TF-IDF", "10,000 terms", "", "", "", "", "", "0.8100"],
        ["linear SVM on TF-IDF", "all terms", "", "", "", "", "", "0.8300"],
    ]


def test_the_grid_has_every_point(tables):
    table = tables["grid"]
    assert table.columns == ["a^λ", "accuracy, K = 40", "sparsity, K = 40"]
    assert table.rows == [["10", "0.730", "0.920"], ["100", "0.720", "0.500"]]


def test_tables_are_as_full_as_the_rows():
    assert all_tables([], PAPER) == []
    assert [table.key for table in all_tables(TABLED[:2], FIGURES)] == ["table1", "classifiers"]
    # a choice on validation documents that was never tried on the test split shows nothing
    untried = [pca(200, 0.64), pca(100, 0.70, fold="validation")]
    (table,) = all_tables(untried, FIGURES)
    assert {line[2] for line in table.rows if line[-1]} == {"peak on the test split"}
