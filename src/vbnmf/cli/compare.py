"""vbnmf compare: what has changed between two files, or two periods of one file."""

import re
import warnings
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, percent, table

_IN_ORDER = re.compile(r"\d{4}(?!\d)(-\d\d(?!\d)|$)")
"""How a date begins whose order is that of its characters."""


@click.command(cls=options.GroupedCommand, short_help="Show what has changed between two files.",
               main=("by", "since", "most"))  # fmt: skip
@click.argument("files", nargs=-1, required=True, metavar="[MODEL] OLD [NEW]")
@options.labels_of_model
@click.option("--by", metavar="COL", help="Column, such as a date, that divides one file into two "
              "periods.")  # fmt: skip
@click.option("--since", metavar="VALUE", help="First value of the new period in this column.")
@click.option("--most", type=click.IntRange(min=0), default=15, show_default=True, metavar="N",
              help="Number of rows to print of each table.")  # fmt: skip
@options.reading
@options.identified
@options.n_jobs
@options.trusted
@options.config
@options.quiet
@options.as_json
def compare(
    files: tuple[str, ...], label: tuple[str, ...], by: str | None, since: str | None, most: int,
    n_jobs: int, quiet: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Compare the documents in NEW with those in OLD.

    Prints the shares of labels and components then and now, with intervals of 95 % of their
    differences, words that more documents have now, and the documents that look newest. MODEL is a
    file that ends in .vbnmf; without it, a model is fitted to OLD and not saved. Labels are the
    given ones if both files have labels, and predictions otherwise. With --by and --since, one file
    is divided into two periods.

    \b
    Examples:
      vbnmf compare tickets.vbnmf may.csv june.csv
      vbnmf compare may.csv june.csv --label team
      vbnmf compare tickets.vbnmf tickets.csv --by opened --since 2026-06-01
    """  # noqa: D301
    has_model = files[0].endswith(".vbnmf")
    sources = files[1:] if has_model else files
    if (by is None) != (since is None):
        raise click.UsageError("--by and --since divide one file; give both or none.")
    expected = 1 if by is not None else 2
    if len(sources) != expected:
        what = "one file with --by" if by is not None else "two files, OLD and NEW"
        raise click.UsageError(f"expected {what}; got {len(sources)}.")
    fitted = common.load_model(files[0]) if has_model else None
    keep = () if by is None else (by,)
    read = [_read(fitted, source, label, keep, quiet, reading) for source in sources]
    if by is not None:
        read = _divided(read[0], str(since), quiet)
    fitted_to_then = fitted is None
    if fitted is None:
        fitted = _fitted(read[0], quiet)
    fitted.estimator_.set_params(n_jobs=n_jobs)
    with Waiting(quiet, "comparing"):
        result = _compared(fitted, read, most, fitted_to_then, quiet)
    if as_json:
        common.print_json(result)
    else:
        click.echo(_text(result))


def _read(
    fitted: Any, source: str, label: tuple[str, ...], keep: tuple[str, ...], quiet: bool,
    reading: dict[str, Any],
) -> Any:  # fmt: skip
    """Read documents, with labels if there are any."""
    columns = common.column_names(label)
    options_ = {**reading, "keep": keep, "labels_required": label != ("auto",)}
    if fitted is None:
        return common.read(source, quiet, label=columns, **options_)
    if not fitted.has_labels:
        options_.pop("label_separator", None)
        columns = None
    return common.read_for(fitted, source, quiet, label=columns, **options_)


def _divided(documents: Any, since: str, quiet: bool) -> list[Any]:
    """Divide documents by the values of the kept column: below ``since``, and from it on.

    Documents without a value are in neither period.
    """
    import numpy as np

    from vbnmf.data.documents import is_missing
    from vbnmf.data.labels import label_name

    [(column, cells)] = documents.kept.items()
    values = ["" if is_missing(cell) else label_name(cell).strip() for cell in cells]
    has_value = np.array([value != "" for value in values], dtype=bool)
    given = [value for value in values if value]
    if len(given) < len(values):
        common.message(
            f"Note: {len(values) - len(given):,} of {common.counted(len(values), 'document')} "
            f"have no value in {column!r}, and are in neither period.", quiet,
        )  # fmt: skip
    try:
        is_new = np.array([bool(value) and float(value) >= float(since) for value in values])
    except ValueError:  # dates and other texts
        is_new = np.array([value >= since for value in values])
        unlike = next((one for one in [*given, since] if not _IN_ORDER.match(one)), None)
        if unlike is not None:
            common.message(
                f"Note: the values of {column!r} are compared as texts, from the first character "
                f"on, and {unlike!r} does not begin like 2026-06-01. If they are dates, write them "
                "so, or the periods are wrong.", quiet,
            )  # fmt: skip
    periods = []
    for chosen in (has_value & ~is_new, has_value & is_new):
        rows = np.flatnonzero(chosen)
        if not len(rows):
            raise ValueError(f"all documents are on one side of {since!r}. Check --by and --since.")
        periods.append(documents.rows(rows.tolist()))
    return periods


def _fitted(documents: Any, quiet: bool) -> Any:
    """Fit a model to the old documents."""
    from vbnmf.pipeline import DocumentModel

    with Waiting(quiet, "fitting a model to the old documents"):
        return DocumentModel().fit(documents.contents, documents.labels, terms=documents.terms)


def _compared(fitted: Any, read: list[Any], most: int, fitted_to_then: bool, quiet: bool) -> Any:
    """Return what ``vbnmf.compare`` finds."""
    from vbnmf.evaluation.truth import read_part
    from vbnmf.reviewing.findings import compare_findings
    from vbnmf.text import EmptyDocumentWarning

    unknown = common.UnknownDocuments()
    parts = []
    for documents in read:
        with unknown.among(documents):
            labels = documents.labels if fitted.has_labels else None
            parts.append(read_part(fitted, common.content(fitted, documents), labels))
            _ = parts[-1].coefficients
    then, now = parts
    unknown.report(quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)  # reported above
        return compare_findings(then, now, common.ids(read[1]), most, fitted_to_then=fitted_to_then)


def _text(found: dict[str, Any]) -> str:
    """Format what has changed for a terminal."""
    n, m = found["documents"]
    most = found["most"]
    blocks = [f"Then: {common.counted(n, 'document')}; now: {common.counted(m, 'document')}."]
    titles = (("labels", f"Shares of {found['labels_are']} labels:"),
              ("components", "Shares of components:"))  # fmt: skip
    for key, title in titles:
        changes = found[key][:most]
        with_intervals = all(one["low"] is not None for one in changes)
        rows = [
            [one["name"], percent(one["then"]), percent(one["now"]),
             f"{100 * (one['now'] - one['then']):+z.1f}",
             *([f"{100 * one['low']:+z.1f} to {100 * one['high']:+z.1f}",
                "*" if one["p_value"] < 0.05 else ""] if with_intervals else ())]
            for one in changes
        ]  # fmt: skip
        if rows:
            head = [key[:-1], "then", "now", "change", *(("95 %", "") if with_intervals else ())]
            blocks.append(f"{title}\n{table(head, rows, right=(1, 2, 3))}")
            if not with_intervals:
                blocks[-1] += f"\n\n{_without_intervals(found['in_training'])}"
    blocks.append("Changes are in percentage points. * p < 0.05 after correction for their number.")
    rows = [
        [one["term"], f"{one['documents'][0]:,}", f"{one['documents'][1]:,}",
         f"{one['log_odds']:+z.1f}", "" if one["known"] else "not in the model"]
        for one in found["words"]
    ]  # fmt: skip
    if rows:
        head = ["word", "documents then", "now", "log-odds", ""]
        blocks.append(f"Words of more documents now:\n{table(head, rows, right=(1, 2, 3))}")
    else:
        blocks.append("No word is in significantly more documents now.")
    if found["novel"] is not None:
        above = f"Documents of a novelty above {found['novel_above']}"
        shares = zip(found["novel"], ("then", "now"), strict=True)
        known = [f"{percent(share)} {when}" for share, when in shares if share is not None]
        title = f"{above}: {', '.join(known)}"
        title += "." if len(known) == 2 else "; of documents like those in training, 5 % are."
        rows = [
            [one["id"], fraction(one["novelty"], 3), one["text"] or ""]
            for one in found["new_documents"]
        ]
        blocks.append(f"{title}\n{table(['id', 'novelty', 'text'], rows, right=(1,))}")
    return "\n\n".join(blocks)


def _without_intervals(in_training: list[float]) -> str:
    """Say why changes of components have no intervals."""
    then, now = (percent(share) for share in in_training)
    return (
        f"The model was fitted to {then} of the documents then and to {now} now. Its components "
        "explain such\ndocuments better, so shares differ for this reason too, and have no "
        "interval. For intervals, compare\ndocuments that the model was not fitted to."
    )
