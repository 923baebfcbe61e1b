"""vbnmf review: list labels that are probably wrong, and write decisions into the file."""

import csv
from pathlib import Path
from typing import IO, Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, rounded, table

_COLUMNS = ("id", "kind", "given", "p_given", "suggested", "p_suggested", "words_given",
            "words_suggested", "left_out", "decision", "label")  # fmt: skip
_WORDS = 5  # for each label
_COPIES, _EXCERPT = 10, 60  # groups of copies in the terminal, and characters of a text


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
              help="Number of suspects to print.")  # fmt: skip
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
    found["suspects"] = found["suspects"][:most] if most else []
    if as_json:
        common.print_json(found)
    elif target is None or not quiet:
        click.echo(_text(found))


def reviewed(fitted: Any, documents: Any, most: int | None) -> dict[str, Any]:
    """Return suspects, estimates, copies and spellings in types of JSON.

    ``most`` suspects of each kind are listed; None lists all.
    """
    from vbnmf.evaluation.truth import read_part
    from vbnmf.reviewing.copies import copies_that_differ, spelt_alike
    from vbnmf.reviewing.labelerrors import find_label_errors

    part = read_part(fitted, common.content(fitted, documents), documents.labels)
    if not part.labelled.n_docs:
        raise ValueError("no document has a label, so there is nothing to review. Check --label.")
    errors = find_label_errors(part)
    names, ids = part.subject.names, common.ids(documents)
    suspects = errors.suspects
    if most is not None:
        kinds = {one.kind for one in suspects}
        suspects = [one for kind in sorted(kinds)
                    for one in [s for s in suspects if s.kind == kind][:most]]  # fmt: skip
    counts = part.Y.sum(axis=0).ravel().tolist()
    copies = copies_that_differ(part)
    return {
        "documents": part.n_docs,
        "judged": errors.n_judged,
        "judged_by": errors.judged.in_words(),
        "in_training": int(errors.judged.left_out.sum()),
        "estimated": {
            kind: {"number": round(one.number, 1), "low": round(one.low, 1),
                   "high": round(one.high, 1), "at_most": one.at_most}
            for kind, one in errors.estimates.items()
        },
        "found": len(errors.suspects),
        "suspects": [
            _row(one, ids, names, words)
            for one, words in zip(suspects, _words(part, errors, suspects), strict=True)
        ],
        "copies": [
            {
                "ids": [ids[row] for row in one.rows],
                "labels": [[names[label] for label in labels] for labels in one.labels],
                "identical": one.identical,
                "text": None if part.texts is None else part.texts[one.rows[0]][:_EXCERPT],
            }
            for one in copies
        ],
        "spellings": [
            {"labels": one.labels, "documents": one.documents}
            for one in spelt_alike(names, [int(n) for n in counts])
        ],
        "labels": sum(n > 0 for n in counts),
    }  # fmt: skip


def _words(part: Any, errors: Any, suspects: Any) -> list[dict[int, str]]:
    """Return the words that speak for the given and for the suggested label of suspects."""
    if not suspects:
        return []
    rows = [one.row for one in suspects]
    also = [
        [label for label in (one.given, one.suggested) if label is not None] for one in suspects
    ]
    model, texts = part.subject.model, part.texts
    explained = part.subject.estimator.explain(
        part.encoded[rows], n_terms=_WORDS, n_components=1, names=model.feature_names_, also=also,
        probabilities=errors.judged.probabilities[rows],
        regroup=None if texts is None else model.pieces_in_words([texts[row] for row in rows]),
    )  # fmt: skip
    place = {str(label): i for i, label in enumerate(part.subject.estimator.classes_.tolist())}
    return [
        {place[str(why.label)]: " ".join(_quoted(term.term) for term in why.terms) for why in both}
        for both in explained
    ]


def _quoted(term: Any) -> str:
    """Return a term; a pair of words in quotation marks."""
    return f'"{term}"' if " " in str(term) else str(term)


def _row(one: Any, ids: list[str], names: list[str], words: dict[int, str]) -> dict[str, Any]:
    given, suggested = (
        None if label is None else names[label] for label in (one.given, one.suggested)
    )
    return {
        "id": ids[one.row],
        "kind": one.kind,
        "given": given,
        "p_given": None if one.p_given is None else rounded(one.p_given),
        "suggested": suggested,
        "p_suggested": None if one.p_suggested is None else rounded(one.p_suggested),
        "words_given": words.get(one.given, ""),
        "words_suggested": words.get(one.suggested, ""),
        "left_out": one.left_out,
    }


def _write(stream: IO[str], suspects: list[dict[str, Any]]) -> None:
    """Write suspects as CSV, with empty columns for decisions."""
    from vbnmf.reviewing.corrections import guarded

    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in suspects:
        cells = [row.get(name) for name in _COLUMNS]
        cells[_COLUMNS.index("left_out")] = "yes" if row["left_out"] else "no"
        writer.writerow(guarded(c) if isinstance(c, str) else "" if c is None else c for c in cells)


def _text(found: dict[str, Any]) -> str:
    """Format what was found for a terminal."""
    blocks = []
    for kind, estimate in found["estimated"].items():
        rows = [row for row in found["suspects"] if row["kind"] == kind]
        numbers = f"{estimate['number']:.0f} ({estimate['low']:.0f} to {estimate['high']:.0f})"
        what = {"wrong": "wrong labels", "missing": "missing labels",
                "superfluous": "superfluous labels"}[kind]  # fmt: skip
        limit = "at most " if estimate["at_most"] else ""
        said = f"Estimated number of {what}: {limit}{numbers}, in {found['judged']:,} documents."
        blocks.append(said)
        if rows:
            blocks.append(_suspect_table(kind, rows))
    blocks.append(found["judged_by"])
    if found["copies"]:
        some = found["copies"][:_COPIES]
        title = f"{common.counted(len(found['copies']), 'group')} of copies with different labels:"
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
