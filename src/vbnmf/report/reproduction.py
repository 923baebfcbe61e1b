"""The page of the reproduction, as one HTML file and as Markdown with the figures beside it.

``sections`` decides the content and its order; ``to_html`` and ``to_markdown`` render it. The
records come from ``experiments``, and ``drawing`` draws the figures.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import isfinite
from pathlib import Path
from string import ascii_lowercase

from vbnmf.experiments.claims import CONFIRMED, REFUTED, UNKNOWN, Claim
from vbnmf.experiments.figures import Figure, Lines, Map
from vbnmf.experiments.result_tables import ResultTable
from vbnmf.files import replacing
from vbnmf.report.drawing import save_figure
from vbnmf.report.style import frame

SIGNS = {CONFIRMED: "✓", REFUTED: "✗", UNKNOWN: "–"}


@dataclass(frozen=True)
class Reproduction:
    """Content of the pages.

    Attributes
    ----------
    title : str
    command : str
        The command that made the pages.
    facts : dict
        Corpus, calibration, runs and versions, by name.
    figures, tables, claims : list
        In the order in which they are shown; Table 1 comes before the figures.
    commands : dict
        The command that makes a single item, by item; ``fig3a`` belongs to item ``fig3``.
    notes : list of str
        Further remarks.
    """

    title: str
    command: str
    facts: dict[str, str]
    figures: list[Figure]
    tables: list[ResultTable]
    claims: list[Claim]
    commands: dict[str, str]
    notes: list[str]


@dataclass(frozen=True)
class Heading:
    """Heading of a section; ``key`` is its anchor."""

    text: str
    key: str


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Command:
    """A command line, and a few words before it."""

    about: str
    line: str


@dataclass(frozen=True)
class TextTable:
    """A table; without ``columns`` it has no header."""

    columns: list[str]
    rows: list[list[str]]
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A figure with its heading and command."""

    heading: str
    figure: Figure
    command: str


@dataclass(frozen=True)
class Gallery:
    """Figures, side by side where there is room."""

    pictures: list[Picture]


@dataclass(frozen=True)
class Bullets:
    """A list of remarks."""

    items: list[str]


Block = Heading | Paragraph | Command | TextTable | Gallery | Bullets


def write_pages(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write ``figures/``, ``reproduction.html`` and ``reproduction.md`` into the folder."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    paths = [path for figure in reproduction.figures for path in save_figure(figure, pictures)]
    blocks = sections(reproduction)
    pages = {
        "reproduction.html": to_html(reproduction.title, blocks, pictures),
        "reproduction.md": to_markdown(reproduction.title, blocks, pictures.name),
    }
    for name, content in pages.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
    return [*paths, *(folder / name for name in pages)]


def sections(reproduction: Reproduction) -> list[Block]:
    """Return the content of the pages from top to bottom; empty sections are left out."""
    first = [table for table in reproduction.tables if table.key == "table1"]
    others = [table for table in reproduction.tables if table.key != "table1"]
    blocks: list[Block] = [
        Heading("What was done", "done"),
        Command("Command:", reproduction.command),
        TextTable([], [[name, value] for name, value in reproduction.facts.items()]),
    ]
    if reproduction.claims:
        blocks += _claims(reproduction)
    for table in first:
        blocks += _table(table, reproduction)
    if reproduction.figures:
        blocks += [Heading("Figures", "figures"), Gallery([
            Picture(heading(figure), figure, command(figure.key, reproduction))
            for figure in reproduction.figures
        ])]  # fmt: skip
    for table in others:
        blocks += _table(table, reproduction)
    if reproduction.notes:
        blocks += [Heading("Notes", "notes"), Bullets(reproduction.notes)]
    return blocks


def _claims(reproduction: Reproduction) -> Iterator[Block]:
    yield Heading("The paper's claims", "claims")
    counts = Counter(claim.verdict for claim in reproduction.claims)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in SIGNS if counts[verdict])
    yield Paragraph(f"Verdicts on {len(reproduction.claims)} claims by our data: {said}.")
    rows = [
        [f"{SIGNS.get(claim.verdict, '')} {claim.verdict}".strip(), claim.text, claim.evidence]
        for claim in reproduction.claims
    ]
    yield TextTable(["verdict", "the paper's claim", "our data"], rows)
    yield from _this_alone("claims", reproduction)


def _table(table: ResultTable, reproduction: Reproduction) -> Iterator[Block]:
    yield Heading(table.title, table.key)
    yield Paragraph(table.caption)
    yield TextTable(table.columns, table.rows, table.right)
    yield from _this_alone(table.key, reproduction)


def _this_alone(key: str, reproduction: Reproduction) -> Iterator[Block]:
    if line := command(key, reproduction):
        yield Command("Only this item:", line)


def command(key: str, reproduction: Reproduction) -> str:
    """Return the command that makes only this figure or table; empty if there is none."""
    commands = reproduction.commands
    return commands.get(key) or commands.get(key.rstrip(ascii_lowercase), "")


def heading(figure: Figure) -> str:
    """Return the title of a figure with its number: Figure 3 a for ``fig3a``."""
    numbered = re.fullmatch(r"fig(\d+)([a-z]?)", figure.key)
    if not numbered:
        return figure.title
    return f"Figure {' '.join(part for part in numbered.groups() if part)}. {figure.title}"


def describe(figure: Figure) -> str:
    """Describe a figure in words, for its alternative text."""
    if isinstance(figure, Map):
        return (
            f"Map of {len(figure.labels)} labels and {len(figure.components)} components: the "
            "darker a cell, the larger the part of the component in the label."
        )
    kind = "Curves" if isinstance(figure, Lines) else "Points"
    parts = figure.curves if isinstance(figure, Lines) else figure.clouds
    heights = {part.name: [y for y in part.y if isfinite(y)] for part in parts}
    ranges = [f"{name} from {min(y):.3f} to {max(y):.3f}" for name, y in heights.items() if y]
    return f"{kind} of {figure.y_label} over {figure.x_label}: {'; '.join(ranges) or 'none'}."


def to_html(title: str, blocks: list[Block], pictures: Path) -> str:
    """Return one HTML file; the figures are read from ``pictures`` and embedded."""
    return frame(title, "\n".join(_html(block, pictures) for block in blocks), _STYLE, images=True)


def _html(block: Block, pictures: Path) -> str:
    match block:
        case Heading():
            return f'<h2 id="{escape(block.key)}">{_html_text(block.text)}</h2>'
        case Paragraph():
            return f"<p>{_html_text(block.text)}</p>"
        case Command():
            return f'<p class="command">{escape(block.about)} {_html_code(block.line)}</p>'
        case TextTable():
            return _html_grid(block)
        case Gallery():
            shown = "\n".join(_html_picture(picture, pictures) for picture in block.pictures)
            return f'<div class="gallery">{shown}</div>'
        case Bullets():
            return f"<ul>{''.join(f'<li>{_html_text(item)}</li>' for item in block.items)}</ul>"


def _html_text(text: str) -> str:
    return escape(text).replace("a^λ", "<var>a</var><sup>λ</sup>")


def _html_code(line: str) -> str:
    return f"<code>{escape(line)}</code>"


def _html_grid(grid: TextTable) -> str:
    def cell(i: int, text: str, tag: str = "td", scope: str = "") -> str:
        number = ' class="number"' if i in grid.right else ""
        return f"<{tag}{scope}{number}>{_html_text(text)}</{tag}>"

    head = "".join(cell(i, name, "th", ' scope="col"') for i, name in enumerate(grid.columns))
    rows = "\n".join(
        "<tr>"
        + "".join(
            # the first cell names its row, and a row without a name belongs to the one above
            cell(i, text, "th", ' scope="row"') if i == 0 and text else cell(i, text)
            for i, text in enumerate(row)
        )
        + "</tr>"
        for row in grid.rows
    )
    head = f"<thead><tr>{head}</tr></thead>\n" if head else ""
    kind = ' class="numbers"' if grid.right else ""
    return f'<div class="wide"><table{kind}>{head}<tbody>{rows}</tbody></table></div>'


def _html_picture(picture: Picture, pictures: Path) -> str:
    figure = picture.figure
    image = b64encode((pictures / f"{figure.key}.svg").read_bytes()).decode("ascii")
    kind = ' class="map"' if isinstance(figure, Map) else ""
    line = f'<p class="command">{_html_code(picture.command)}</p>' if picture.command else ""
    return (
        f'<figure id="{escape(figure.key)}"{kind}><h3>{_html_text(picture.heading)}</h3>\n'
        f'<img alt="{escape(describe(figure))}" src="data:image/svg+xml;base64,{image}">\n'
        f"<figcaption><p>{_html_text(figure.caption)}</p>{line}</figcaption></figure>"
    )


def to_markdown(title: str, blocks: list[Block], pictures: str) -> str:
    """Return GitHub's Markdown; the figures are files in the folder ``pictures``."""
    parts = [f"# {_md_text(title)}", *(_md(block, pictures) for block in blocks)]
    return "\n\n".join(parts) + "\n"


def _md(block: Block, pictures: str) -> str:
    match block:
        case Heading():
            return f"## {_md_text(block.text)}"
        case Paragraph():
            return _md_text(block.text)
        case Command():
            return f"{block.about} {_md_code(block.line)}"
        case TextTable():
            return _md_grid(block)
        case Gallery():
            return "\n\n".join(_md_picture(picture, pictures) for picture in block.pictures)
        case Bullets():
            return "\n".join(f"- {_md_text(item)}" for item in block.items)


def _md_text(text: str) -> str:
    """Return text as one line, with Markdown's special characters escaped."""
    line = re.sub(r"([\\`*_\[\]<>|~&$#])", r"\\\1", " ".join(text.split()))
    # what makes a heading, list or rule where a line begins
    line = re.sub(r"^([+=-]|\d+(?=[.)](?:\s|$)))", _escape_first, line)
    return line.replace("a^λ", "<var>a</var><sup>λ</sup>")


def _escape_first(match: re.Match[str]) -> str:
    return match[1] + "\\" if match[1].isdigit() else "\\" + match[1]


def _md_code(line: str) -> str:
    """Return inline code, in enough backticks."""
    line = " ".join(line.split())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    space = " " if "`" in line else ""
    return f"{'`' * (longest + 1)}{space}{line}{space}{'`' * (longest + 1)}"


def _md_grid(grid: TextTable) -> str:
    n = len(grid.columns) or max((len(row) for row in grid.rows), default=1)
    rule = ["---:" if i in grid.right else "---" for i in range(n)]
    rows = [[_md_text(text) for text in row] for row in [grid.columns or [""] * n, *grid.rows]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


def _md_picture(picture: Picture, pictures: str) -> str:
    figure = picture.figure
    parts = [
        f"### {_md_text(picture.heading)}",
        f"![{_md_text(describe(figure))}]({pictures}/{figure.key}.png)",
        _md_text(figure.caption),
        _md_code(picture.command) if picture.command else "",
    ]
    return "\n\n".join(part for part in parts if part)


_STYLE = """
h1 { margin-bottom: 0; }
p { max-width: 48rem; }
sup { font-size: .75em; line-height: 0; }
code { font: .85em ui-monospace, monospace; padding: .1rem .3rem; border-radius: .2rem;
  background: color-mix(in srgb, var(--line) 40%, var(--paper)); overflow-wrap: anywhere; }
.command { font-size: .9rem; margin: .5rem 0; }
table { font-size: .9rem; margin: .6rem 0; }
th, td { vertical-align: baseline; }
thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
thead th.number { white-space: normal; }
tbody th { font-weight: normal; } .numbers td, tbody th { white-space: nowrap; }
tbody tr:has(> th) > * { border-top: 1px solid var(--line); }
.gallery { display: grid; gap: 1rem 2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 1rem 0 0; display: grid; grid-row: span 3; grid-template-rows: subgrid;
  row-gap: .5rem; align-content: start; }
figure.map { grid-column: 1 / -1; } figure[id$=a] { grid-column-start: 1; }
figure h3 { font-size: 1rem; margin: 0; align-self: end; }
figure img { width: 100%; box-sizing: border-box; height: auto; background: #fff; padding: .4rem;
  border: 1px solid var(--line); border-radius: .4rem; }
figure.map img { max-width: 60rem; }
figcaption { font-size: .9rem; } figcaption p { margin: 0 0 .4rem; }
@media print { :root { color-scheme: light; } body { font-size: 10pt; max-width: none; }
  .gallery { grid-template-columns: 1fr 1fr; } figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } table { font-size: 7.5pt; }
  td, th { padding: .1rem .25rem; } figure h3 { font-size: 9.5pt; }
  figcaption, .command { font-size: 8.5pt; }
  figure img { border: 0; padding: 0; } figure.map img { max-height: 20cm; } }
"""
