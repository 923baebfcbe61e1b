"""vbnmf predict: a label and its score for each document."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import click

from vbnmf.cli import common

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson", ".json")


@click.command(short_help="Predict labels of documents.")
@click.argument("model")
@click.argument("file")
@click.option("--out", metavar="PREDICTIONS", help="File to write: .csv, .tsv or .jsonl; "
              "standard output if left out.")  # fmt: skip
@common.reading
@common.jobs
@common.force
@common.config
@common.quiet
@common.as_json
def predict(
    model: str, file: str, out: str | None, jobs: int | None, force: bool, quiet: bool,
    as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Predict a label for each document in FILE.

    The score is the probability of the label. A document without any term that the model knows is
    marked, and gets the commonest label with its frequency.

    \b
    Examples:
      vbnmf predict tickets.vbnmf new.csv
      vbnmf predict tickets.vbnmf new.csv --out predictions.csv
      echo '{"text": "the printer is on fire"}' | vbnmf predict tickets.vbnmf - --json
    """  # noqa: D301
    from vbnmf.store import replacing

    target = None if out is None else common.check_out(out, force, model, file)
    ending = ".csv" if target is None else target.suffix.lower()
    if ending not in (*_DELIMITERS, *_JSON_LINES):
        raise click.BadParameter(
            f"{out} must end in one of {', '.join((*_DELIMITERS, *_JSON_LINES))}, which tells the "
            "format."
        )
    fitted = common.load_model(model)
    fitted.estimator_.set_params(n_jobs=jobs)
    documents = common.read_for(fitted, file, quiet, label=None, **reading)
    rows = list(_rows(fitted, documents))
    content = (
        _lines(rows) if as_json or ending in _JSON_LINES else _table(rows, _DELIMITERS[ending])
    )
    if target is None:
        click.echo(content, nl=False)
        return
    with replacing(target) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="")
    common.say(f"Wrote {target}: {len(rows):,} predictions.", quiet)


def _rows(fitted: Any, documents: Any) -> Iterator[dict[str, Any]]:
    from vbnmf.documents import is_empty

    X = fitted.vectorize(common.content(fitted, documents))
    labels, scores = fitted.predict_with_score(X)
    ids, empty = common.ids(documents), is_empty(X)
    for name, label, score, nothing in zip(ids, labels.tolist(), scores, empty, strict=True):
        yield {
            "id": name,
            "label": label,
            "score": round(float(score), 4),
            "note": "no known term" if nothing else "",
        }


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _table(rows: list[dict[str, Any]], delimiter: str) -> str:
    text = StringIO()
    names = ["id", "label", "score", "note"]
    writer = csv.DictWriter(text, names, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
