"""The tables of pages are those that the commands above them print."""

from datetime import date

from benchmarks.pages import replaced, sections

PAGE = """\
# Title

| a | b |
| --- | ---: |
| not | printed |

## Speed

    python -m benchmarks fit --quick \\
        --threads 1
    python -m benchmarks memory

Two tables.

| corpus | ratio |
| --- | ---: |
| old | 1 |

| K |
| ---: |
| 9 |

## Other

    python -m benchmarks one

| x |
| --- |
| old |
""".splitlines()

PRINTED = """\
a line
| corpus | seconds | ratio |
| --- | ---: | ---: |
| new | 3 | 2.5 |
| more | 1 |  |

| other |
| --- |
| x |
"""

DAY = date(2026, 3, 5)


def test_sections():
    first, second = sections(PAGE)
    assert first.commands == ["fit --quick --threads 1", "memory"]
    assert PAGE[first.end] == "## Other"
    assert second.commands == ["one"]
    assert second.end == len(PAGE)


def test_tables_with_the_same_columns_are_replaced(capsys):
    first = next(sections(PAGE))
    lines = replaced(PAGE[first.begin : first.end], PRINTED, DAY, "page")
    text = "\n".join(lines)
    assert "\n*Printed on 5 March 2026 by vbnmf " in text
    assert "| corpus | ratio |\n| --- | ---: |\n| new | 2.5 |\n| more |  |\n" in text
    assert "old" not in text
    assert "Two tables." in text
    assert "| 9 |" in text  # no printed table has this column
    assert "['K']" in capsys.readouterr().err
    assert replaced(lines, PRINTED, DAY, "page") == lines  # the date is not added again
