"""Columns of the file: how they are divided, and shares of labels and components, recounted."""

from datetime import date, datetime

import numpy as np
import pytest
from explorer_pages import analysed, several, usual
from scipy.stats import chi2_contingency

from vbnmf.metrics.shares import adjusted, share_interval
from vbnmf.reviewing.columnshares import (
    MOST_VALUES,
    label_shares,
    read_column,
    read_dates,
    shares_of_components,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def groups(column):
    return [(one.name, one.kind, one.documents) for one in column.groups]


class TestDates:
    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            (["2024-02-29", "2024-03-01 10:00:00"], [date(2024, 2, 29), date(2024, 3, 1)]),
            (["2024/2/9", "2024-03"], [date(2024, 2, 9), date(2024, 3, 1)]),
            (["31.1.2024", "1.2.2024"], [date(2024, 1, 31), date(2024, 2, 1)]),
            (["1/31/2024", "2/1/2024, 9 am"], [date(2024, 1, 31), date(2024, 2, 1)]),
            (["Mon, 5 Apr 1993 20:18:36 GMT"], [date(1993, 4, 5)]),
            (["April 5, 1993", "5 May 1993"], [date(1993, 4, 5), date(1993, 5, 5)]),
        ],
    )
    def test_read(self, texts, expected):
        assert list(read_dates(texts).values()) == expected

    @pytest.mark.parametrize(
        "texts",
        [
            ["5/6/2024", "6/5/2024"],  # days and months cannot be told apart
            ["31/1/2024", "1/31/2024"],  # neither order fits both
            ["2023-02-29"],
            ["20240131"],  # might be a number
            ["1999", "2001"],
            ["2024-01-01", *["no date"] * 9],
            [],
        ],
    )
    def test_no_dates(self, texts):
        assert read_dates(texts) is None

    def test_months_without_documents_are_groups(self):
        cells = ["2024-01-05", date(2024, 3, 7), datetime(2024, 3, 9, 4), *["2024-04-01"] * 40]
        column = read_column("opened", [*cells, "soon", "", None, float("nan"), "  "])
        assert column.unit == "month"
        assert groups(column) == [
            ("2024-01", "value", 1),
            ("2024-02", "value", 0),
            ("2024-03", "value", 2),
            ("2024-04", "value", 40),
            ("", "odd", 1),
            ("", "empty", 4),
        ]
        assert column.of_document[:4].tolist() == [0, 2, 2, 3]

    def test_the_finest_unit_of_which_there_are_few(self):
        days = [date(2024, 1, 1 + i % 31) for i in range(40)]
        assert read_column("d", days).unit == "day"
        assert read_column("d", [*days, date(2024, 2, 1)]).unit == "month"
        years = read_column("d", [date(1900 + i, 1, 1) for i in range(50)])
        assert (years.unit, len(years.groups)) == ("month", 50)  # no month between them has any
        years = read_column("d", [date(1900 + i // 12, 1 + i % 12, 1) for i in range(500)])
        assert (years.unit, len(years.groups)) == ("year", 42)


class TestValues:
    def test_the_commonest_first_and_the_others_together(self):
        cells = [f"c{i}" for i in range(50) for _ in range(50 - i)] + ["", None]
        column = read_column("customer", cells)
        assert column.unit is None
        assert column.n_values == 50
        *named, other, empty = groups(column)
        assert named == [(f"c{i}", "value", 50 - i) for i in range(MOST_VALUES)]
        assert other == ("", "other", sum(50 - i for i in range(MOST_VALUES, 50)))
        assert empty == ("", "empty", 2)
        assert np.bincount(column.of_document).tolist() == [n for *_, n in groups(column)]

    def test_numbers_in_their_order(self):
        column = read_column("stars", ["5", "10", 2, "2", 2.0])
        assert groups(column) == [("2", "value", 2), ("2.0", "value", 1), ("5", "value", 1),
                                  ("10", "value", 1)]  # fmt: skip

    def test_a_value_called_empty_is_a_value(self):
        assert groups(read_column("x", ["empty", ""])) == [
            ("empty", "value", 1),
            ("", "empty", 1),
        ]


class TestShares:
    @pytest.mark.parametrize("make", [usual, several])
    @pytest.mark.parametrize("predicted", [False, True])
    def test_labels_are_counted(self, make, predicted):
        model, texts, labels = make()
        found = analysed(model, texts, labels)
        column = read_column("x", [["a", "b", ""][i % 3] for i in range(len(texts))])
        shares = label_shares(found.part, column, predicted=predicted)
        lists = found.predicted if predicted else found.truth
        for g in range(3):
            mine = [some for i, some in enumerate(lists) if i % 3 == g and some is not None]
            assert shares.documents[g] == len(mine)
            for label in range(len(shares.counts)):
                n = sum(label in some for some in mine)
                assert shares.counts[label, g] == n
                low, high = share_interval(n, len(mine))
                assert (shares.low[label, g], shares.high[label, g]) == (low, high)
                assert shares.shares[label, g] == n / len(mine)

    def test_differences_are_tested(self):
        """As by SciPy, where all expected numbers are large enough."""
        model, texts, labels = usual()
        found = analysed(model, texts, labels)
        column = read_column("x", ["a" if i < 30 else "b" for i in range(len(texts))])
        shares = label_shares(found.part, column)
        tables = np.stack([shares.counts, shares.documents - shares.counts], axis=1)
        large = [(t.sum(axis=1).min() * t.sum(axis=0).min() / t.sum()) >= 3 for t in tables]
        p = [chi2_contingency(t, correction=False).pvalue if ok else 1.0
             for t, ok in zip(tables, large, strict=True)]  # fmt: skip
        assert sum(large) >= 2
        np.testing.assert_allclose(shares.p_values, adjusted(p), rtol=1e-9)

    def test_components(self):
        model, texts, labels = usual()
        part = analysed(model, texts, labels).part
        column = read_column("x", ["a" if i % 2 else "b" for i in range(len(texts))])
        shares = shares_of_components(part, column)
        amounts = part.coefficients * model.estimator_.component_sums_
        amounts[np.asarray(part.X.sum(axis=1)).ravel() == 0] = 0
        for g, name in enumerate(one.name for one in column.groups):
            rows = [i for i in range(len(texts)) if ("a" if i % 2 else "b") == name]
            expected = amounts[rows].sum(axis=0) / amounts[rows].sum()
            np.testing.assert_allclose(shares.shares[:, g], expected, rtol=1e-5)
        assert (shares.low <= shares.shares).all()
        assert (shares.shares <= shares.high).all()

    def test_chance_is_not_called_a_difference(self):
        """Of shuffled columns, few labels or components seem to differ."""
        model, texts, labels = usual()
        part = analysed(model, texts, labels).part
        rng = np.random.default_rng(0)
        small = []
        for _ in range(40):
            column = read_column("x", rng.choice(["a", "b"], len(texts)).tolist())
            for shares in (label_shares(part, column), shares_of_components(part, column)):
                small.append(shares.p_values.min() < 0.05)
        assert np.mean(small) < 0.12
