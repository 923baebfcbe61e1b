"""Tables in the terminal."""

import io
import sys
import unicodedata
from types import SimpleNamespace

import click
import pytest

from vbnmf.cli.terminal import fraction, percent, rounded, table, width


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")


def test_layout():
    assert table(["label", "n", "terms"], [["tea", "5", "green leaf"], ["coffee", "12", "bean"]],
                 right=(1,)) == (
        "label    n  terms\n"
        "──────────────────────\n"
        "tea      5  green leaf\n"
        "coffee  12  bean"
    )  # fmt: skip


def test_without_rows():
    assert table(["a", "b"], []) == "a  b\n────"


@pytest.mark.parametrize("columns", [20, 50, 120])
def test_the_last_column_takes_what_is_left(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, line, row = table(["a", "b"], [["x", "word" * 100]]).splitlines()
    assert row == "x  " + ("word" * 100)[: columns - 4] + "…"
    assert len(line) == len(row) == columns


def test_long_cells_leave_room_for_the_last_column():
    """Names of labels must not push the terms out of sight."""
    row = table(["labels", "n", "terms"], [["L" * 90, "7", "t" * 90]]).splitlines()[2]
    labels, number, terms = row.split()
    assert labels == "L" * 19 + "…"  # two fifths of 50
    assert number == "7"
    assert terms == "t" * 24 + "…"
    assert len(row) == 50


def test_long_cells_stay_whole_where_there_is_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert "L" * 90 in table(["labels", "terms"], [["L" * 90, "t" * 90]])


def test_very_long_cells():
    """Cutting takes a time that grows with the length, not with its square."""
    row = table(["a", "b"], [["x", "é" * 400_000]]).splitlines()[2]
    assert row == "x  " + "é" * 46 + "…"


class TestOnATerminal:
    def begin(self, monkeypatch):
        """In the test itself: pytest sets standard output after its fixtures."""
        stream = io.StringIO()
        stream.isatty = lambda: True
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("TERM", "xterm")

    def plain(self, text):
        return "\n".join(line.rstrip() for line in click.unstyle(text).splitlines())

    @pytest.mark.parametrize(
        "rows",
        [
            [["tea", "5", "green leaf"], ["coffee", "12", "bean"]],
            [["L" * 90, "7", "t" * 90]],
            [["茶" * 40, "7", "e\u0301 [bold]not markup[/bold] :tea:"]],
            [],
        ],
    )
    def test_the_same_with_styles(self, rows, monkeypatch):
        self.begin(monkeypatch)
        head = ["label", "n", "terms"]
        styled = table(head, rows, right=(1,))
        assert "\x1b[1m" in styled
        monkeypatch.setenv("TERM", "dumb")
        plain = table(head, rows, right=(1,))
        assert "\x1b" not in plain
        assert self.plain(styled).replace("─", "") == plain.replace("─", "")
        assert all(width(line) <= 50 for line in self.plain(styled).splitlines())

    def test_control_characters(self, monkeypatch):
        self.begin(monkeypatch)
        shown = table(["x"], [["a\x1b[31mb\x07"]]).splitlines()[-1]
        assert "\x1b[31m" not in shown
        assert "\x07" not in shown


def test_narrow_terminals_get_something(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1")
    assert table(["a", "b"], [["x" * 30, "y" * 30]]).splitlines()[2] == f"{'x' * 11}…  {'y' * 11}…"


@pytest.mark.parametrize("word", ["x", "茶", "e\u0301"])
def test_a_long_word_takes_time_in_proportion_to_its_length(word, monkeypatch):
    """Removing one letter at a time, and measuring again, took minutes for 20,000 letters."""
    looked_up = []

    def category(char):
        looked_up.append(char)
        return unicodedata.category(char)

    counting = SimpleNamespace(category=category, east_asian_width=unicodedata.east_asian_width)
    monkeypatch.setattr("vbnmf.tabular.unicodedata", counting)
    text = word * 3000
    row = table(["a", "b"], [[text, text]]).splitlines()[2]
    assert row.count("…") == 2
    assert len(looked_up) < 10 * 2 * len(text)


def test_a_cut_text_is_as_long_as_fits():
    """The accent stays with its letter; half a Chinese character is not shown."""
    texts = {
        "e\u0301" * 60: "e\u0301" * 19 + "…",
        "茶" * 60: "茶" * 9 + "…",
        "a b " * 30: "a b " * 4 + "a b…",
    }
    for text, expected in texts.items():
        row = table(["a", "b"], [[text, "y" * 60]]).splitlines()[2]
        assert row.startswith(expected + " ")


def test_wide_characters_and_marks():
    """Chinese takes two columns a character, an accent that stands alone none."""
    rows = [["茶", "|"], ["e\u0301", "|"], ["ก\u0e34", "|"], ["か\u3099", "|"], ["abc", "|"]]
    assert table(["", ""], rows).splitlines()[2:] == [
        "茶   |", "e\u0301    |", "ก\u0e34    |", "か\u3099   |", "abc  |",
    ]  # fmt: skip
    cut = table(["a", "b"], [["x", "茶" * 60]]).splitlines()[2]
    assert cut == "x  " + "茶" * 23 + "…"


def test_control_characters_do_not_reach_the_terminal():
    """Nor line breaks, escape sequences, marks that turn the direction, and the like."""
    hostile = "a\nb\tc\x1b[31md\x07\x00\u202ee\u200f\x9b"
    row = table(["x", "y"], [[hostile, "z"]]).splitlines()[2]
    assert row == "a b c[31mde  z"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0, "0 %"),
        (1e-9, "<1 %"),
        (0.0099, "<1 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.625, "63 %"),
        (0.994, "99 %"),
        (0.995, ">99 %"),
        (0.99999, ">99 %"),
        (1, "100 %"),
        (-0.2, "-20 %"),
    ],
)
def test_percent(part, text):
    assert percent(part) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0000"),
        (3e-5, "<0.0001"),
        (6e-5, "0.0001"),
        (0.25, "0.2500"),
        (0.99994, "0.9999"),
        (0.99996, ">0.9999"),
        (1, "1.0000"),
        (1.00001, "1.0000"),
        (-4.05, "-4.0500"),
    ],
)
def test_fraction(value, text):
    assert fraction(value, 4) == text


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        (0, 0),
        (3.1e-7, 3e-7),
        (0.00012, 0.0001),
        (0.5, 0.5),
        (0.9998, 0.9998),
        (0.99996, 0.99996),
        (1 - 2.4e-9, 0.999999998),
        (1 - 2**-53, 1 - 2**-53),
        (1, 1),
    ],
)
def test_rounded(p, kept):
    assert rounded(p) == kept
