"""vbnmf report: write the explorer, an HTML page that shows a model."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import PageProgress


@click.command(cls=options.GroupedCommand, short_help="Write an HTML page that shows a model.")
@click.argument("model")
@click.option("--documents", metavar="FILE", help="Documents to show and to score. Use documents "
              "that the model was not fitted to.")  # fmt: skip
@click.option("--keep", metavar="COL", multiple=True, help="Column to filter documents by, and to "
              "show shares of labels and components by, such as a date or a customer. Can be "
              "repeated.")  # fmt: skip
@click.option("--out", metavar="PAGE.html", help="Page to write.  [default: MODEL's name.html]")
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: MODEL's name]")
@options.names
@options.labels_of_model
@options.reading
@options.identified
@options.n_jobs
@options.force
@options.trusted
@options.config
@options.quiet
def report(
    model: str, documents: str | None, keep: tuple[str, ...], out: str | None, title: str | None,
    names: str | None, label: tuple[str, ...],
    n_jobs: int, force: bool, quiet: bool, **reading: Any,
) -> None:  # fmt: skip
    """Write one HTML file to explore a MODEL in any browser, offline.

    The page shows the components of each label, the characteristic terms of each component, and
    measures of their quality. With --documents it also shows the texts, with terms coloured by
    component, the contributions to each predicted label, and accuracy if the documents have labels.

    \b
    Examples:
      vbnmf report tickets.vbnmf
      vbnmf report tickets.vbnmf --documents held-out.csv --out tickets.html
      vbnmf report tickets.vbnmf --documents held-out.csv --keep opened --keep customer
    """  # noqa: D301
    from vbnmf.report.explorer import explore

    if keep and documents is None:
        raise click.UsageError("--keep names columns of the documents: add --documents FILE.")
    sources = [model] if documents is None else [model, documents]
    target = common.check_out(out or Path(model).with_suffix(".html").name, force, *sources)
    called = common.read_names(names)
    fitted = common.load_model(model)
    fitted.estimator_.set_params(n_jobs=n_jobs)
    contents = labels = ids = columns = None
    unknown = common.UnknownDocuments()
    counted: Any = nullcontext()
    if documents is not None:
        found = _read(fitted, documents, quiet, label, reading | {"keep": keep})
        columns = found.kept
        contents, labels, ids = common.content(fitted, found), found.labels, common.ids(found)
        counted = unknown.among(found)
    with PageProgress(quiet) as progress, counted:
        page = explore(
            fitted, contents, labels, ids=ids, columns=columns, title=title or Path(model).stem,
            command=shlex.join(["vbnmf", *sys.argv[1:]]), names=called, progress=progress,
        )  # fmt: skip
        page.save(target, overwrite=force)
    unknown.report(quiet)
    common.message(f"Wrote {target}.", quiet)


def _read(
    fitted: Any, source: str, quiet: bool, label: tuple[str, ...], reading: dict[str, Any]
) -> Any:
    """Read documents. Labels are optional unless `--label` or `--label-file` is given."""
    asked = label != ("auto",) or reading["labels"] is not None
    columns = common.column_names(label) if asked or fitted.has_labels else None
    return common.read_for(fitted, source, quiet, label=columns, labels_required=asked, **reading)
