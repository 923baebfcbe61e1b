"""vbnmf predict: predict labels with their probabilities, and explain them."""

import csv
import json
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any, NamedTuple

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import DocumentProgress, count_documents
from vbnmf.cli.terminal import fraction, percent, rounded, table

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".json")
_PARQUET = ".parquet"
_CONTRIBUTIONS = ["why_label", "why_kind", "why_name", "contribution"]
"""Columns of explanations in a table, which has a row for each contribution."""
_REJECTED = "rejected"
_NAMES = ("id", "label", "score", "note")
Rows = Iterator[dict[str, Any]]


@click.command(cls=options.GroupedCommand, short_help="Predict labels of documents.")
@click.argument("model")
@click.argument("file")
@click.option("--out", metavar="PREDICTIONS", help="File to write: .csv, .tsv, .jsonl or "
              ".parquet.  [default: standard output]")  # fmt: skip
@click.option("--label-separator", metavar="SEP", help="Separator to write between several labels "
              "of a document.  [default: that of the fit, or ';']")  # fmt: skip
@click.option("--explain", is_flag=True, help="Show the contributions of components and terms to "
              "the two most probable labels.")  # fmt: skip
@click.option("--novelty", is_flag=True, help="Add a column with the novelty of each document, "
              "from 0 to 1: 5 % of documents like those in training exceed 0.95.")  # fmt: skip
@click.option("--reject", type=click.FloatRange(0, 1), metavar="NOVELTY", help="Write no label for "
              "documents of at least this novelty, such as 0.95.")  # fmt: skip
@click.option("--threshold", metavar="AIM", help="If documents may have several labels: micro, "
              "macro or samples, for the best micro F1, mean F1 of labels or mean F1 of "
              "documents, or the least probability of a label.  [default: micro]")  # fmt: skip
@click.option("--at-most", type=click.IntRange(1), metavar="N", help="If documents may have "
              "several labels: list the N most probable of them at most.")  # fmt: skip
@click.option("--ranked", type=click.IntRange(1), metavar="N", help="List the N most probable "
              "labels of each document, whatever their probabilities.")  # fmt: skip
@options.names
@options.writing_rows
@options.as_json
def predict(
    model: str, file: str, out: str | None, label_separator: str | None, explain: bool,
    names: str | None,
    novelty: bool, reject: float | None, threshold: str | None, at_most: int | None,
    ranked: int | None,
    n_jobs: int, force: bool, quiet: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Predict a label for each document in FILE.

    The score is the probability of the label. A document without any known term gets the commonest
    label, with its frequency as the score, and a note. If documents may have several labels, all
    labels above a probability threshold are listed, the most probable first. --explain prints a
    table; with --json or --out FILE.jsonl it writes all numbers, and with --out FILE.csv or
    FILE.parquet a row for each contribution.

    The novelty of a document is high if it resembles the training documents of no label, for
    instance because of unknown words. --reject leaves the label of such documents empty, and
    writes the reason to the notes.

    \b
    Examples:
      vbnmf predict tickets.vbnmf new.csv
      vbnmf predict tickets.vbnmf new.csv --out predictions.csv
      vbnmf predict tickets.vbnmf new.csv --id ticket --keep opened --out predictions.csv
      vbnmf predict tickets.vbnmf new.csv --explain
      vbnmf predict tickets.vbnmf new.csv --novelty --reject 0.95
      echo '{"text": "the printer is on fire"}' | vbnmf predict tickets.vbnmf - --json
    """  # noqa: D301
    target = None if out is None else common.check_out(out, force, model, file)
    ending = ".csv" if target is None else target.suffix.lower()
    endings = (*_DELIMITERS, *_JSON_LINES, _PARQUET)
    if ending not in endings:
        raise click.BadParameter(
            f"{out} must end in one of {', '.join(endings)}: the ending sets the format."
        )
    if explain and reading["keep"] and target is None and not as_json:
        raise click.UsageError(
            "the table of --explain has no room for --keep; add --json or --out FILE."
        )
    from vbnmf.estimators.validation import check_threshold

    called = common.read_names(names)
    fitted = common.load_predictor(model)
    fitted.estimator_.n_jobs = n_jobs
    if not fitted.has_several_labels and (threshold is not None or at_most is not None):
        raise click.UsageError(
            "--threshold and --at-most are for documents with several labels, and those of "
            f"{model} have one label each. Use --ranked N to list several labels."
        )
    if threshold is not None:
        fitted.estimator_.threshold = check_threshold(_number(threshold))
    live = file == "-" and target is None and (as_json or not explain)
    parts = common.parts_for(fitted, file, quiet, live=live, **reading)
    several = fitted.has_several_labels or ranked is not None
    separator = _separator(fitted, label_separator, quiet, several=several)
    unknown = common.UnknownDocuments()
    heads = [*_NAMES, *(["novelty"] if novelty else [])]
    kept = common.Kept(parts, (*_NAMES, "novelty", "explanation"))
    total = None if quiet else count_documents(file, reading["format"])
    binary = ending == _PARQUET
    with common.output(target, force, live=live, binary=binary) as stream:
        with DocumentProgress(quiet, "predicting", total) as progress:
            titles = _titles(fitted, called) if explain else []
            renamed = {} if called is None else called["labels"]
            how = _How(explain, novelty, reject, at_most, ranked, titles, renamed)
            rows = _all_rows(fitted, kept, unknown, progress, how)
            columns = [*heads, *kept.names]
            if explain and ending not in _JSON_LINES and target is not None:
                rows = _one_row_each(rows, separator)
                columns += _CONTRIBUTIONS
            if ending == _PARQUET:
                number = _write_parquet(stream, rows, columns, separator)
            elif as_json or ending in _JSON_LINES:
                number = _write_lines(stream, rows)
            elif explain and target is None:
                number = _write_explanations(stream, rows)
            else:
                number = _write_table(stream, rows, columns, _DELIMITERS[ending], separator)
        unknown.report(quiet)
    if target is not None:
        common.message(f"Wrote {target}: {common.counted(number, 'prediction')}.", quiet)


class _How(NamedTuple):
    """What is written of each document."""

    explain: bool
    novelty: bool
    reject: float | None
    at_most: int | None
    ranked: int | None
    titles: list[str]  # of components
    renamed: dict[str, str]  # labels

    def label(self, name: Any) -> Any:
        """Return the name that a label was given, or its own."""
        return self.renamed.get(str(name)) or name


def _titles(fitted: Any, names: Any) -> list[str]:
    from vbnmf.description.components import component_titles
    from vbnmf.description.naming import given_names

    titles = component_titles(fitted)
    if names is None:
        return titles
    pairs = enumerate(zip(given_names(fitted, names), titles, strict=True))
    return [f"#{k} {given}" if given else title for k, (given, title) in pairs]


def _all_rows(
    fitted: Any,
    kept: common.Kept,
    unknown: common.UnknownDocuments,
    progress: DocumentProgress,
    how: "_How",
) -> Rows:
    number = 0
    for documents in kept.parts:
        if len(documents):
            with unknown.among(documents):
                rows = list(_rows(fitted, documents, kept, how))
            number += len(documents)
            progress(number)
            yield from rows


def _rows(fitted: Any, documents: Any, kept: common.Kept, how: _How) -> Rows:
    from vbnmf.core.rows import is_empty

    content = common.content(fitted, documents)
    X = fitted.vectorize(content)
    if how.explain:
        whys, P = fitted.estimator_.explain(
            X, n_terms=6, n_components=2, names=fitted.feature_names_, return_proba=True,
            regroup=fitted.pieces_in_words(content),
        )  # fmt: skip
    else:
        P = fitted.predict_proba(X)
        whys = [None] * len(P)
    novelty = [0.0] * len(P)
    if how.novelty or how.reject is not None:
        known = None if content is X else fitted.known_parts(content)
        novelty = fitted.estimator_.novelty(X, known).tolist()
    labels, scores = fitted.labels_with_proba(P, how.at_most)
    several = fitted.has_several_labels or how.ranked is not None
    if how.ranked is not None:
        order = (-P).argsort(axis=1, kind="stable")[:, : how.ranked]
        labels = fitted.classes_[order].tolist()
        scores = [row[best].tolist() for row, best in zip(P, order, strict=True)]
    elif not several:
        labels, scores = labels.tolist(), scores.tolist()
    ids, empty = common.ids(documents), is_empty(X)
    columns = (ids, labels, scores, novelty, empty, whys, kept.cells(documents))
    for row, (name, label, score, new, nothing, why, cells) in enumerate(
        zip(*columns, strict=True)
    ):
        note = "no known term" if nothing else "no probable label" if several and not label else ""
        score = [rounded(p) for p in score] if several else rounded(score)
        if how.reject is not None and new >= how.reject:
            note = f"{_REJECTED}: {note or f'novelty {new:.3f}'}"
            label, score = ([], []) if several else ("", "")
        if row in documents.problems:
            note, why = documents.problems[row], [] if how.explain else None
            label, score = ([], []) if several else ("", "")
        yield {
            "id": name,
            "label": [how.label(one) for one in label] if several else how.label(label),
            "score": score,
            "note": note,
            **({"novelty": rounded(new)} if how.novelty else {}),
            **dict(zip(kept.names, cells, strict=True)),
            **({} if why is None else {"explanation": [_as_dict(part, how) for part in why]}),
        }


def _number(threshold: str) -> str | float:
    """Return a number if the text is one."""
    try:
        return float(threshold)
    except ValueError:
        return threshold


def _as_dict(why: Any, how: _How) -> dict[str, Any]:
    """Convert an explanation to a dict for JSON."""
    return {
        "label": how.label(why.label),
        "score": rounded(why.probability),
        "components": [
            {
                "component": component,
                "name": how.titles[component],
                "part": round(part, 4),
                "terms": {term: round(share, 4) for term, share in terms},
            }
            for component, part, terms in why.components
        ],
        "terms": {term: round(share, 4) for term, share in why.terms},
        "words_alone": {term: round(share, 4) for term, share in why.words},
        "component_share": rounded(why.component_share),
    }


def _write_explanations(stream: IO[str], rows: Rows) -> int:
    """Write a table of the largest contributions to the two most probable labels of documents."""
    cells = []
    number = 0
    for row in rows:
        number += 1
        name = row["id"]
        rejected = row["note"].startswith(_REJECTED)
        for why in [] if rejected else row["explanation"]:
            # numbers first, because long names are cut
            parts = "  ".join(f"{by['part']:+.2f} {by['name']}" for by in why["components"])
            score, share = fraction(why["score"]), percent(why["component_share"])
            by = [parts, share, _parts(why["terms"])]
            cells.append([name, str(why["label"]), score, *by])
            name = ""
        if rejected or not row["explanation"]:
            cells.append([name, _text(row["label"]), _text(row["score"]), "", "", row["note"]])
    head = ["id", "label", "score", "by components", "share", "by terms"]
    stream.write(f"{table(head, cells, right=(2, 4))}\n")
    return number


def _parts(parts: dict[Any, float]) -> str:
    return "  ".join(f"{name} {part:+.2f}" for name, part in parts.items())


def _text(cell: Any) -> str:
    return " ".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _one_row_each(rows: Rows, separator: str) -> Rows:
    """Yield a row for each contribution of a component or a term, and one if there are none."""
    for row in rows:
        whys = row.pop("explanation")
        parts = [
            (why["label"], kind, name, part)
            for why in whys
            for kind, found in (
                ("component", {by["name"]: by["part"] for by in why["components"]}),
                ("term", why["terms"]),
            )
            for name, part in found.items()
        ]
        for part in parts or [("", "", "", "")]:
            yield row | dict(zip(_CONTRIBUTIONS, part, strict=True))


def _write_parquet(stream: Any, rows: Rows, names: list[str], separator: str) -> int:
    """Write Parquet in parts. Numbers are numbers, and all other cells are texts."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "Parquet needs pyarrow: pip install 'vbnmf[io]', or write .csv or .jsonl."
        ) from None
    numbers = {"score", "novelty", "contribution"}
    schema = pa.schema([(name, pa.float64() if name in numbers else pa.string()) for name in names])

    def cell(name: str, value: Any) -> Any:
        if name in numbers:
            value = value[0] if isinstance(value, list) and value else value
            return value if isinstance(value, float | int) else None
        value = separator.join(map(str, value)) if isinstance(value, list) else value
        return None if value is None else str(value)

    number = 0
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        while part := list(islice(rows, common.PART)):
            number += len(part)
            cells = [{name: cell(name, row[name]) for name in names} for row in part]
            writer.write_table(pa.Table.from_pylist(cells, schema=schema))
    return number


def _write_lines(stream: IO[str], rows: Rows) -> int:
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - how many there were
        stream.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return number


def _separator(fitted: Any, given: str | None, quiet: bool, *, several: bool) -> str:
    """Return the separator of labels, with a note if a label contains it."""
    separator: str = given or fitted.columns_.get("label_separator", ";")
    labels = fitted.estimator_.classes_.tolist() if several else []
    unclear = [label for label in labels if separator in str(label)]
    if unclear:
        common.message(
            f"The label {unclear[0]!r} contains the separator {separator!r}. "
            "Choose another one with --label-separator, or write JSON lines.",
            quiet,
        )
    return separator


def _write_table(
    stream: IO[str], rows: Rows, names: list[str], delimiter: str, separator: str
) -> int:
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(common.safe_cell, names))
    number = 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - how many there were
        writer.writerow(
            common.safe_cell(separator.join(map(str, cell)) if isinstance(cell, list) else cell)
            for cell in row.values()
        )
    return number
