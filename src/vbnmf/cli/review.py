"""vbnmf review: list labels that are probably wrong, and write decisions into the file."""

import csv
from pathlib import Path
from typing import IO, Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, table

_DECISIONS = ("decision", "label")  # columns to fill in
_COPIES = 10  # groups of copies in the terminal


@click.command(cls=options.GroupedCommand, short_help="List labels that are probably wrong.",
               main=("label", "out", "apply", "most"))  # fmt: skip
@click.argument("model")
@click.argument("file")
@options.labels_of_model
@click.option("--out", metavar="CSV", help="File to write: all suspects, or with --apply the "
              "corrected file.")  # fmt: skip
@click.option("--apply", metavar="DECISIONS", help="CSV file of decisions, to write the corrected "
              "file to --out.")  # fmt: skip
@click.option("--most", type=click.IntRange(min=0), default=20, show_default=True, metavar="N",
              help="Number of suspects of each kind to print.")  # fmt: skip
@options.reading
@options.identified
@options.n_jobs
@options.force
@options.trusted
@options.config
@options.quiet
@options.as_json
def review(
    model: str, file: str, label: tuple[str, ...], out: str | None, apply: str | None, most: int,
    n_jobs: int | None, force: bool, quiet: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """List the documents in FILE whose label is probably wrong, the most suspicious first.

    Documents that MODEL was fitted to are found by their content, and are judged by probabilities
    of models that were fitted without them. Other documents are judged by predictions. The number
    of wrong labels is an estimate, with an interval of 95 %. Copies of a document with different
    labels, and labels that differ in case or spelling only, are listed apart. If documents may have
    several labels, missing and superfluous labels are listed apart.

    To correct the file, write all suspects with --out, fill in the column "decision" (change, keep
    or skip) and, if the label is not the suggested one, "label". Then pass this file to --apply.
    The page of `vbnmf report` exports such a file too. The corrected file differs from FILE in
    exactly the rows that were changed.

    \b
    Examples:
      vbnmf review tickets.vbnmf tickets.csv
      vbnmf review tickets.vbnmf tickets.csv --id ticket --out suspects.csv
      vbnmf review tickets.vbnmf tickets.csv --id ticket --apply suspects.csv --out corrected.csv
    """  # noqa: D301
    if apply is not None and out is None:
        raise click.UsageError("--apply needs --out, the name of the corrected file.")
    target = None if out is None else common.check_out(out, force, model, file, apply or file)
    fitted = common.load_model(model)
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so it cannot judge labels.")
    fitted.estimator_.set_params(n_jobs=n_jobs)
    columns = common.column_names(label)
    documents = common.read_for(fitted, file, quiet, label=columns, **reading)
    if apply is not None and target is not None:
        _apply(fitted, documents, file, apply, target, force, quiet, reading)
        return
    unknown = common.UnknownDocuments()
    with unknown.among(documents), Waiting(quiet, "judging labels"):
        found = reviewed(fitted, documents, most if target is None else None)
    unknown.report(quiet)
    if target is not None:
        with common.output(target, force) as stream:
            _write(stream, found["suspects"])
        common.message(f"Wrote {target}: {common.counted(len(found['suspects']), 'suspect')}.",
                       quiet)  # fmt: skip
        found["suspects"] = _first(found["suspects"], most)
    if as_json:
        common.print_json(found)
    elif target is None or not quiet:
        click.echo(_text(found))


def reviewed(fitted: Any, documents: Any, most: int | None) -> Any:
    """Return what ``vbnmf.review`` finds; ``most`` suspects of each kind, or all."""
    from vbnmf.reviewing.findings import review as find

    contents, names = common.content(fitted, documents), common.ids(documents)
    return find(fitted, contents, documents.labels, ids=names, most=most)


def _first(suspects: Any, most: int) -> Any:
    """Return the table of the first ``most`` suspects of each kind."""
    from vbnmf.reviewing.findings import first_of_each_kind

    rows = list(suspects)
    kept = first_of_each_kind([row["kind"] for row in rows], most)
    return type(suspects)([rows[i] for i in kept], suspects.columns)


def _write(stream: IO[str], suspects: Any) -> None:
    """Write the table of suspects as CSV, with empty columns for decisions."""
    from vbnmf.data.spreadsheets import guarded

    writer = csv.writer(stream, lineterminator="\n")
    columns = [*suspects.columns, *_DECISIONS]
    writer.writerow(columns)
    for row in suspects:
        cells = [row.get(name) for name in columns]
        cells[columns.index("left_out")] = "yes" if row["left_out"] else "no"
        writer.writerow(guarded(c) if isinstance(c, str) else "" if c is None else c for c in cells)


def _text(found: dict[str, Any]) -> str:
    """Format what was found for a terminal."""
    blocks = []
    for kind, estimate in found["estimated"].items():
        rows = [row for row in found["suspects"] if row["kind"] == kind]
        numbers = f"{estimate['number']:,.0f} ({estimate['low']:,.0f} to {estimate['high']:,.0f})"
        what = {"wrong": "wrong labels", "missing": "missing labels",
                "superfluous": "superfluous labels"}[kind]  # fmt: skip
        limit = "at most " if estimate["at_most"] else ""
        judged = common.counted(found["judged"], "document")
        blocks.append(f"Estimated number of {what}: {limit}{numbers}, in {judged}.")
        if rows and not found["by_chance"]:
            blocks.append(_suspect_table(kind, rows))
    blocks.append(found["judged_by"])
    if found["copies"]:
        some = found["copies"][:_COPIES]
        first = f"; the first {_COPIES}" if len(found["copies"]) > _COPIES else ""
        title = (
            f"{common.counted(len(found['copies']), 'group')} of documents with the same words, or "
            f"nearly, and different labels{first}:"
        )
        rows = [
            [" ".join(one["ids"]), " / ".join("; ".join(labels) for labels in one["labels"]),
             one["text"] or ""]
            for one in some
        ]  # fmt: skip
        blocks.append(f"{title}\n{table(['ids', 'labels', 'text'], rows)}")
    if found["spellings"]:
        extra = sum(len(one["labels"]) - 1 for one in found["spellings"])
        title = (
            f"Labels that differ in case or spelling only: {found['labels']} labels from "
            f"{found['labels'] - extra}:"
        )
        lines = [
            "  " + ", ".join(f"{label!r} ({n:,})" for label, n in
                             zip(one["labels"], one["documents"], strict=True))
            for one in found["spellings"]
        ]  # fmt: skip
        blocks.append("\n".join([title, *lines]))
    return "\n\n".join(blocks)


def _suspect_table(kind: str, rows: list[dict[str, Any]]) -> str:
    if kind == "wrong":
        head = ["id", "given", "p", "suggested", "p", "words for the suggested label"]
        cells = [
            [row["id"], row["given"], fraction(row["p_given"]), row["suggested"],
             fraction(row["p_suggested"]), row["words_suggested"]]
            for row in rows
        ]  # fmt: skip
        return table(head, cells, right=(2, 4))
    side = "suggested" if kind == "missing" else "given"
    head = ["id", f"{kind} label", "p", "words for it"]
    return table(
        head,
        [[r["id"], r[side], fraction(r[f"p_{side}"]), r[f"words_{side}"]] for r in rows],
        right=(2,),
    )


def _apply(
    fitted: Any, documents: Any, file: str, decisions: str, target: Path, force: bool, quiet: bool,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Write the corrected file."""
    from vbnmf.files import replacing
    from vbnmf.reviewing.corrections import apply_decisions, read_decisions

    if not isinstance(documents.label_column, str) or reading["labels"] is not None:
        raise ValueError(
            f"{file}: decisions can be applied to a file with one label column, and this one has "
            "its labels elsewhere or in several columns."
        )
    changes = read_decisions(decisions)
    if not changes:
        common.message(
            f"Note: no row of {decisions} has the decision 'change', so no label is changed.", quiet
        )
    separator = reading.get("label_separator") or fitted.columns_.get("label_separator")
    with replacing(target, overwrite=force) as temporary:
        number = apply_decisions(
            file,
            temporary,
            changes,
            label=documents.label_column,
            id_column=reading["id"],
            separator=separator,
            encoding=reading["encoding"],
            file_format=reading["format"],
            compress=target.name.endswith(".gz"),
        )
    common.message(f"Wrote {target}: {common.counted(number, 'row')} changed.", quiet)
