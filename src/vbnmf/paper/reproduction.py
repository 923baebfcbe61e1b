"""Write the page of the reproduction, as one HTML file and as Markdown with the figures beside it.

The templates ``reproduction.html`` and ``reproduction.md`` have the order of the page. Each name in
them, such as ``$table1``, is replaced once by a part that is made here. A section without content
is empty. All text is escaped before it becomes a part of a page.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import isfinite
from pathlib import Path
from string import Template

import vbnmf
from vbnmf.files import replacing
from vbnmf.paper.claims import Claim, all_claims, claims_table
from vbnmf.paper.experiments import Experiment
from vbnmf.paper.figures import Figure, Lines, Map, all_figures
from vbnmf.paper.plots import save_figure
from vbnmf.paper.result_tables import ResultTable, all_tables
from vbnmf.paper.results import VERSIONS, ResultRow
from vbnmf.paper.specification import ITEMS


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


def collect(
    experiment: Experiment,
    items: list[str],
    *,
    seconds: float,
    command: Callable[[str | None], str],
) -> Reproduction:
    """Collect the figures, tables and claims of the requested items.

    Parameters
    ----------
    experiment : Experiment
    items : list of str
        Some of ``ITEMS``.
    seconds : float
        How long the command ran.
    command : callable
        Returns the command line that makes some items, separated by commas, or all if None.
    """
    rows, specification = experiment.rows, experiment.specification
    spent = sum(row["seconds"] or 0 for row in rows)
    is_whole = set(items) == set(ITEMS)
    return Reproduction(
        title="The paper's experiments on 20 Newsgroups",
        command=command(None if is_whole else ",".join(items)),
        facts={
            "corpus": experiment.about,
            "calibration": experiment.calibration,
            "runs": f"{len(rows):,}, {spent / 60:.0f} minutes of computing in total",
            "this command": f"{seconds / 60:.1f} minutes, without earlier runs",
            "versions": _versions(rows),
        },
        figures=[
            figure
            for figure in all_figures(rows, experiment.maps, specification)
            if _item_of(figure.key) in items
        ],
        tables=[table for table in all_tables(rows, specification) if table.key in items],
        claims=all_claims(rows, specification) if "claims" in items else [],
        commands={item: command(item) for item in ITEMS},
        notes=notes_on(rows),
    )


def _versions(rows: Sequence[ResultRow]) -> str:
    """Return the versions that the runs used. Resumed runs may have used several."""
    found = {name: sorted({str(row[name]) for row in rows if row[name]}) for name in VERSIONS}
    return ", ".join(f"{name} {' and '.join(values)}" for name, values in found.items())


def notes_on(rows: Sequence[ResultRow]) -> list[str]:
    """List the runs without results and those that did not converge, with the reasons."""
    notes = []
    for status in ("failed", "impossible", "done"):
        reasons = [row["reason"] for row in rows if row["status"] == status and row["reason"]]
        for reason in sorted(set(reasons)):
            n = reasons.count(reason)
            outcome = "with a warning" if status == "done" else status
            notes.append(f"{n} {'run' if n == 1 else 'runs'} {outcome}: {reason.rstrip('.:')}.")
    return notes


def write_pages(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write ``figures/``, ``reproduction.html`` and ``reproduction.md`` into the folder."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    paths = [path for figure in reproduction.figures for path in save_figure(figure, pictures)]
    pages = {
        "reproduction.html": to_html(reproduction, pictures),
        "reproduction.md": to_markdown(reproduction, pictures.name),
    }
    for name, content in pages.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="\n")
    return [*paths, *(folder / name for name in pages)]


def to_html(reproduction: Reproduction, pictures: Path) -> str:
    """Return one HTML file; the figures are read from ``pictures`` and embedded."""

    def section(table: ResultTable) -> str:
        line = command(table.key, reproduction)
        alone = f'<p class="command">Only this item: {_html_code(line)}</p>' if line else ""
        return (
            f'<h2 id="{escape(table.key)}">{_html_text(table.title)}</h2>\n'
            f"<p>{_html_text(table.caption)}</p>\n"
            f"{_html_table(table.columns, table.rows, table.right)}\n{alone}"
        )

    figures = "\n".join(_html_figure(f, reproduction, pictures) for f in reproduction.figures)
    notes = "".join(f"<li>{_html_text(note)}</li>" for note in reproduction.notes)
    return _template("reproduction.html").substitute(
        style=_read("reproduction.css"),
        version=escape(vbnmf.__version__),
        title=escape(reproduction.title),
        command=_html_code(reproduction.command),
        facts=_html_table([], [list(fact) for fact in reproduction.facts.items()]),
        figures=figures and f'<h2 id="figures">Figures</h2>\n<div class="gallery">{figures}</div>',
        notes=notes and f'<h2 id="notes">Notes</h2>\n<ul>{notes}</ul>',
        **{name: "\n".join(map(section, some)) for name, some in _tables(reproduction).items()},
    )


def to_markdown(reproduction: Reproduction, pictures: str) -> str:
    """Return GitHub's Markdown; the figures are files in the folder ``pictures``."""

    def section(table: ResultTable) -> str:
        line = command(table.key, reproduction)
        alone = f"Only this item: {_md_code(line)}" if line else ""
        return (
            f"## {_md_text(table.title)}\n\n{_md_text(table.caption)}\n\n"
            f"{_md_table(table.columns, table.rows, table.right)}\n\n{alone}"
        )

    figures = "\n\n".join(_md_figure(f, reproduction, pictures) for f in reproduction.figures)
    notes = "\n".join(f"- {_md_text(note)}" for note in reproduction.notes)
    page = _template("reproduction.md").substitute(
        title=_md_text(reproduction.title),
        command=_md_code(reproduction.command),
        facts=_md_table([], [list(fact) for fact in reproduction.facts.items()]),
        figures=figures and f"## Figures\n\n{figures}",
        notes=notes and f"## Notes\n\n{notes}",
        **{name: "\n\n".join(map(section, some)) for name, some in _tables(reproduction).items()},
    )
    return re.sub("\n{3,}", "\n\n", page).rstrip("\n") + "\n"  # of sections without content


def _template(name: str) -> Template:
    return Template(_read(name))


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _tables(reproduction: Reproduction) -> dict[str, list[ResultTable]]:
    """Return the tables by their place in the templates."""
    tables = reproduction.tables
    return {
        "claims": [claims_table(reproduction.claims)] if reproduction.claims else [],
        "table1": [table for table in tables if table.key == "table1"],
        "tables": [table for table in tables if table.key != "table1"],
    }


def command(key: str, reproduction: Reproduction) -> str:
    """Return the command that makes only this figure or table; empty if there is none."""
    return reproduction.commands.get(_item_of(key), "")


def _item_of(key: str) -> str:
    """Return the item that a figure or table belongs to, such as fig3 for fig3a."""
    return key.rstrip("ab")


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


def _html_text(text: str) -> str:
    return escape(text).replace("a^λ", "<var>a</var><sup>λ</sup>")


def _html_code(line: str) -> str:
    return f"<code>{escape(line)}</code>"


def _html_table(columns: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> str:
    """Return a table, with numbers in the columns ``right``; without columns it has no header."""

    def cell(i: int, text: str, tag: str = "td", scope: str = "") -> str:
        number = ' class="number"' if i in right else ""
        return f"<{tag}{scope}{number}>{_html_text(text)}</{tag}>"

    def line(row: list[str]) -> str:
        # the first cell names its row, and a row without a name belongs to the one above
        cells = (
            cell(i, text, "th", ' scope="row"') if i == 0 and text else cell(i, text)
            for i, text in enumerate(row)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = "".join(cell(i, name, "th", ' scope="col"') for i, name in enumerate(columns))
    head = head and f"<thead><tr>{head}</tr></thead>\n"
    kind = ' class="numbers"' if right else ""
    body = "\n".join(map(line, rows))
    return f'<div class="wide"><table{kind}>{head}<tbody>{body}</tbody></table></div>'


def _html_figure(figure: Figure, reproduction: Reproduction, pictures: Path) -> str:
    image = b64encode((pictures / f"{figure.key}.svg").read_bytes()).decode("ascii")
    kind = ' class="map"' if isinstance(figure, Map) else ""
    line = command(figure.key, reproduction)
    alone = f'<p class="command">{_html_code(line)}</p>' if line else ""
    return (
        f'<figure id="{escape(figure.key)}"{kind}><h3>{_html_text(heading(figure))}</h3>\n'
        f'<img alt="{escape(describe(figure))}" src="data:image/svg+xml;base64,{image}">\n'
        f"<figcaption><p>{_html_text(figure.caption)}</p>{alone}</figcaption></figure>"
    )


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


def _md_table(columns: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> str:
    n = len(columns) or max((len(row) for row in rows), default=1)
    rule = ["---:" if i in right else "---" for i in range(n)]
    head, *lines = ([_md_text(text) for text in row] for row in [columns or [""] * n, *rows])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *lines])


def _md_figure(figure: Figure, reproduction: Reproduction, pictures: str) -> str:
    line = command(figure.key, reproduction)
    parts = [
        f"### {_md_text(heading(figure))}",
        f"![{_md_text(describe(figure))}]({pictures}/{figure.key}.png)",
        _md_text(figure.caption),
        _md_code(line) if line else "",
    ]
    return "\n\n".join(part for part in parts if part)
