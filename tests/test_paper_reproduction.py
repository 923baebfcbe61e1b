"""Both pages of the reproduction say all of it, in the same order, and text stays text."""

import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from vbnmf.paper.claims import CONFIRMED, REFUTED, UNKNOWN, Claim
from vbnmf.paper.figures import Cloud, Curve, Lines, Map, Scatter
from vbnmf.paper.reproduction import (
    Reproduction,
    command,
    describe,
    heading,
    notes_on,
    write_pages,
)
from vbnmf.paper.result_tables import ResultTable

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style></title><img src=x onerror=alert(1)>",
    "a | b || c \\| d \\",
    "# heading #",
    "- item",
    "1. first",
    "--- *bold* _it_ ~~gone~~ `code` ``more``",
    "[link](https://example.org) ![image](https://example.org/x.png) <https://example.org>",
    "$x^2$ &amp; & &lt; \"quoted\" 'twice'",
    "$title ${notes} $$ $unknown %s {title}",
    "two\nlines\n\n# of it",
    "中文 слово عربى a^λ",
]


class Page(HTMLParser):
    """Elements of a page in order: tag, attributes and all text within."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})
        if tag not in ("meta", "img"):
            self._open.append(self.elements[-1])
        if tag == "sup":
            self.handle_data("^")

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, *tags):
        return [element for element in self.elements if element["tag"] in tags]

    def texts(self, *tags):
        return [element["text"] for element in self.all(*tags)]


def read_markdown(line):
    """What a line of Markdown says, where all that means something is escaped."""
    line = line.replace("<var>a</var><sup>λ</sup>", "a^λ")
    assert not re.search(r"(?<!\\)(\\\\)*[*_\[\]<>|~&$#`]", line), line
    return re.sub(r"\\(.)", r"\1", line)


def read_tables(markdown):
    """Cells of the tables of a page, row by row, without the rule below the head."""
    tables = []
    for part in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        rows = [re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1] for line in part.splitlines()]
        assert len({len(row) for row in rows}) == 1
        assert all(set(cell.strip()) <= set("-:") for cell in rows[1])
        tables.append(
            [[read_markdown(cell.strip()) for cell in row] for row in rows[:1] + rows[2:]]
        )
    return tables


def one_line(text):
    return " ".join(text.split())


def make(text=None):
    """A reproduction with two of each; with ``text``, all that is free to be is that."""
    names = iter(range(1000))

    def say(own):
        return f"{own} {next(names)}" if text is None else text

    curve = Curve(say("curve"), [1.0, 10.0], [0.5, 0.6], [0.4, 0.5], [0.6, 0.7])
    lines = [
        Lines(key, say("title"), say("caption"), "a^λ", say("axis"), [curve], log_x=True)
        for key in ("fig3a", "fig3b")
    ]
    shown = Map("fig4", say("title"), say("caption"), ["l", "m"], ["c"], [[1.0], [1.0]])
    cloud = Cloud(say("cloud"), [0.1, 0.2], [0.3, 0.4])
    scatter = Scatter("fig6", say("title"), say("caption"), say("axis"), say("axis"), [cloud])
    tables = [
        ResultTable(
            key,
            say(f"title of {key}"),
            say("caption"),
            [say("column") for _ in range(3)],
            [[say("cell"), say("cell"), "0.5"], ["", say("cell"), ""]],
            right=(2,),
        )
        for key in ("classifiers", "table1", "grid")
    ]
    claims = [
        Claim(f"claim{i}", say("claim"), verdict, say("evidence") if i else "")
        for i, verdict in enumerate((UNKNOWN, CONFIRMED, REFUTED, CONFIRMED))
    ]
    items = ("fig3", "fig4", "fig6", "table1", "classifiers", "claims")
    return Reproduction(
        title=say("title"),
        command=say("vbnmf reproduce"),
        facts={say("name"): say("fact"), "second": say("fact")},
        figures=[*lines, shown, scatter],
        tables=tables,
        claims=claims,
        commands={item: f"vbnmf reproduce --only {item}" for item in items},
        notes=[say("note"), say("note")],
    )


def write(reproduction, folder):
    paths = write_pages(reproduction, folder)
    assert [path.name for path in paths[-2:]] == ["reproduction.html", "reproduction.md"]
    assert [str(path.relative_to(folder)) for path in paths[:-2]] == [
        f"figures/{figure.key}.{kind}" for figure in reproduction.figures for kind in ("png", "svg")
    ]
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    assert found == sorted(paths)  # and nothing that was in the making
    html, markdown = (path.read_text(encoding="utf-8") for path in paths[-2:])
    return html, markdown


def expected_tables(reproduction):
    """Cells of all tables in the order of the pages, the head first where there is one."""
    signs = {CONFIRMED: "✓", REFUTED: "✗", UNKNOWN: "–"}
    tables = {table.key: [table.columns, *table.rows] for table in reproduction.tables}
    return [
        [list(fact) for fact in reproduction.facts.items()],
        [
            ["verdict", "the paper's claim", "our data"],
            *([f"{signs[c.verdict]} {c.verdict}", c.text, c.evidence] for c in reproduction.claims),
        ],
        tables.pop("table1"),
        *tables.values(),
    ]


def check(reproduction, folder):
    """What holds for all pages, whatever they say."""
    html, markdown = write(reproduction, folder)
    page = Page(html)
    harmless = {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "table"),
        *("thead", "tbody", "tr", "th", "td", "code", "figure", "figcaption", "img", "ul", "li"),
        *("var", "sup", "footer"),
    }
    assert {element["tag"] for element in page.elements} <= harmless
    attributes = {name for element in page.elements for name in element} - {"tag", "text"}
    assert attributes <= {
        *("lang", "charset", "name", "content", "http-equiv", "class", "id", "scope", "alt", "src"),
    }
    (policy,) = (e["content"] for e in page.elements if "http-equiv" in e)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert not re.search(r"url\(|@import|https?:", page.texts("style")[0])
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(set(ids)) == len(ids)

    # the figures are part of the page, as they were saved
    prefix = "data:image/svg+xml;base64,"
    images = page.all("img")
    assert [image["alt"] for image in images] == [describe(f) for f in reproduction.figures]
    for image, figure in zip(images, reproduction.figures, strict=True):
        assert image["src"].startswith(prefix)
        saved = (folder / "figures" / f"{figure.key}.svg").read_bytes()
        assert b64decode(image["src"].removeprefix(prefix)) == saved

    # the same tables in both
    expected = expected_tables(reproduction)
    rows = [row for table in expected for row in table]
    assert page.texts("th", "td") == [cell for row in rows for cell in row]
    assert len(page.all("tr")) == len(rows)
    heads = [cell["text"] for cell in page.all("th") if cell["scope"] == "col"]
    assert heads == [cell for table in expected[1:] for cell in table[0]]
    assert {cell["scope"] for cell in page.all("th")} == {"col", "row"}
    found = read_tables(markdown)
    assert found[0].pop(0) == ["", ""]  # Markdown has no table without a head
    assert found == [[[one_line(cell) for cell in row] for row in table] for table in expected]

    # the same headings, captions and notes in both, in this order
    tables = {table.key: table for table in reproduction.tables}
    first, others = tables.pop("table1"), list(tables.values())
    titles = [
        *("What was done", "The paper's claims", first.title, "Figures"),
        *(table.title for table in others),
        "Notes",
    ]
    figures = [heading(figure) for figure in reproduction.figures]
    assert page.texts("h1") == page.texts("title") == [reproduction.title]
    assert page.texts("h2") == titles
    assert page.texts("h3") == figures
    assert page.texts("li") == reproduction.notes
    for level, said in (("#", [reproduction.title]), ("##", titles), ("###", figures)):
        found = re.findall(rf"^{level} (.*)$", markdown, re.MULTILINE)
        assert [read_markdown(line) for line in found] == [one_line(title) for title in said]
    found = re.findall(r"^- (.*)$", markdown, re.MULTILINE)
    assert [read_markdown(line) for line in found] == [one_line(n) for n in reproduction.notes]
    found = re.findall(r"^!\[(.*)\]\((.*)\)$", markdown, re.MULTILINE)
    for (alt, path), figure in zip(found, reproduction.figures, strict=True):
        assert read_markdown(alt) == one_line(describe(figure))
        assert path == f"figures/{figure.key}.png"
        assert (folder / path).is_file()
    captions = [first.caption, *(f.caption for f in reproduction.figures)]
    captions += [table.caption for table in others]
    shown = iter(page.texts("p"))
    assert all(caption in shown for caption in captions)
    lines = iter(markdown.splitlines())
    for caption in captions:
        assert any(re.sub(r"\\(.)", r"\1", line).replace("<var>a</var><sup>λ</sup>", "a^λ")
                   == one_line(caption) for line in lines)  # fmt: skip

    # the command beside each item that has one: all, claims, Table 1, figures, other tables
    keys = ["claims", "table1", *(f.key for f in reproduction.figures), *(t.key for t in others)]
    commands = [reproduction.command, *(command(key, reproduction) for key in keys)]
    commands = [line for line in commands if line]
    assert page.texts("code") == commands
    after = -1
    for line in commands:
        after = markdown.find(one_line(line), after + 1)
        assert after >= 0
    return page, markdown


def test_both_pages_say_all_of_it(tmp_path):
    page, markdown = check(make(), tmp_path)
    said = "Verdicts on 4 claims by our data: 2 confirmed, 1 not confirmed, 1 not measured."
    assert said in markdown
    assert said in page.texts("p")
    assert "`vbnmf reproduce --only fig3`" in markdown
    assert "--only grid" not in markdown  # it has no command of its own
    numbers = [cell["text"] for cell in page.all("td") if cell.get("class") == "number"]
    assert numbers == ["0.5", "", "0.5", "", "0.5", ""]
    assert markdown.count("| --- | --- | ---: |") == 3
    assert markdown.count("| 0.5 |") == 3  # readable as it is, too


@pytest.fixture
def quick_drawing(monkeypatch):
    """Small files in place of figures, where the pages around them are looked at."""

    def save(figure, folder):
        paths = [folder / f"{figure.key}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            path.write_bytes(path.name.encode())
        return paths

    monkeypatch.setattr("vbnmf.paper.reproduction.save_figure", save)


@pytest.mark.usefixtures("quick_drawing")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_stay_text(text, tmp_path):
    check(make(text), tmp_path)


@pytest.mark.usefixtures("quick_drawing")
def test_code_with_backticks_ends_where_it_should(tmp_path):
    _, markdown = write(replace(make(), command="echo `date` ``x``"), tmp_path)
    assert "Command: ``` echo `date` ``x`` ```\n" in markdown


def test_sections_without_content_are_left_out(tmp_path):
    nothing = replace(make(), figures=[], tables=[], claims=[], notes=[], facts={"only": "this"})
    html, markdown = write(nothing, tmp_path / "new" / "folder")
    assert Page(html).texts("h2") == ["What was done"]
    assert re.findall("^## (.*)$", markdown, re.MULTILINE) == ["What was done"]


@pytest.mark.usefixtures("quick_drawing")
def test_writing_again_replaces(tmp_path):
    first = write(make(), tmp_path)
    assert write(make(), tmp_path) == first
    assert write(make("other"), tmp_path) != first


def test_names_of_figures():
    named = {figure.key: heading(figure) for figure in make("said").figures}
    assert named["fig3a"] == "Figure 3 a. said"
    assert named["fig6"] == "Figure 6. said"
    assert heading(replace(make("said").figures[0], key="extra")) == "said"


def test_figures_in_words():
    lines, _, shown, scatter = make("said").figures
    assert describe(lines) == "Curves of said over a^λ: said from 0.500 to 0.600."
    assert describe(scatter) == "Points of said over said: said from 0.300 to 0.400."
    assert "2 labels and 1 components" in describe(shown)
    unknown = replace(lines, curves=[Curve("c", [1.0], [float("nan")])])
    assert describe(unknown) == "Curves of said over a^λ: none."


def test_runs_that_failed_or_did_not_converge_are_noted():
    row = {"status": "done", "reason": ""}
    unfinished = {"status": "done", "reason": "lbfgs failed to converge (status=1):"}
    failed = {"status": "failed", "reason": "ValueError: no."}
    rows = [row, unfinished, failed, unfinished]
    assert notes_on(rows) == [
        "1 run failed: ValueError: no.",
        "2 runs with a warning: lbfgs failed to converge (status=1).",
    ]
