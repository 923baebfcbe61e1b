"""vbnmf report: a page that shows a model."""

from pathlib import Path

import click

from vbnmf.cli import common


@click.command(short_help="Write a page that shows a model.")
@click.argument("model")
@click.option("--out", metavar="PAGE.html", help="Page to write.  [default: MODEL's name.html]")
@click.option("--top", type=click.IntRange(1), default=12, show_default=True,
              help="Number of terms a component.")  # fmt: skip
@common.force
@common.config
@common.quiet
def report(model: str, out: str | None, top: int, force: bool, quiet: bool) -> None:
    """Write one HTML file that shows the components and labels of a MODEL; it opens offline.

    \b
    Example:
      vbnmf report tickets.vbnmf --out tickets.html
    """  # noqa: D301
    from vbnmf.report.page import write_page

    target = common.check_out(out or Path(model).with_suffix(".html").name, force, model)
    write_page(common.load_model(model), target, title=Path(model).stem, n_terms=top)
    common.say(f"Wrote {target}.", quiet)
