"""vbnmf contrast: what makes a label different from another label, or from the rest."""

from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import one_line, percent, table

_EXCERPT = 200  # characters of a text


@click.command(cls=options.GroupedCommand, short_help="Compare the words of two labels.",
               main=("by", "n_terms"))  # fmt: skip
@click.argument("model")
@click.argument("file")
@click.argument("first", metavar="A")
@click.argument("second", metavar="[B]", required=False)
@options.labels_of_model
@click.option("--by", metavar="COL", help="Compare values of this column in place of labels.")
@click.option("--n-terms", type=click.IntRange(min=1), default=15, show_default=True, metavar="N",
              help="Maximum number of words in each list.")  # fmt: skip
@options.reading
@options.identified
@options.n_jobs
@options.trusted
@options.config
@options.quiet
@options.as_json
def contrast(
    model: str, file: str, first: str, second: str | None, label: tuple[str, ...], by: str | None,
    n_terms: int, n_jobs: int, quiet: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Compare the documents in FILE of label A with those of label B, or with all others.

    Prints the words that are in more documents of A, in both, and in more documents of B, with
    counts of documents and log-odds with an interval of 95 %. A word is listed as more frequent on
    one side if this is significant after correction for the number of words, and if it is above the
    noise floor: the largest difference of any word between random halves of one side. Then come the
    components of A, of both and of B, the documents of each label that are predicted as the other,
    and the two closest documents. To swap A and B mirrors the result.

    \b
    Examples:
      vbnmf contrast tickets.vbnmf tickets.csv billing hardware
      vbnmf contrast tickets.vbnmf tickets.csv billing
      vbnmf contrast tickets.vbnmf tickets.csv north south --by region
    """  # noqa: D301
    fitted = common.load_model(model)
    fitted.estimator_.set_params(n_jobs=n_jobs)
    with_labels = by is None or (fitted.has_labels and label != ("auto",))
    columns = common.column_names(label) if with_labels else None
    keep = () if by is None else (by,)
    documents = common.read_for(fitted, file, quiet, label=columns, keep=keep, **reading)
    unknown = common.UnknownDocuments()
    with unknown.among(documents), Waiting(quiet, "comparing"):
        part, found = _contrasted(fitted, documents, first, second, by is not None, n_terms)
    unknown.report(quiet)
    result = _as_dict(part, found, common.ids(documents))
    if as_json:
        common.print_json(result)
    else:
        click.echo(_text(result))


def _contrasted(
    fitted: Any, documents: Any, first: str, second: str | None, by_column: bool, n_terms: int
) -> tuple[Any, Any]:
    import numpy as np

    from vbnmf.data.labels import label_name
    from vbnmf.evaluation.truth import read_part
    from vbnmf.reviewing.contrast import contrast as contrast_sides
    from vbnmf.reviewing.contrast import contrast_labels
    from vbnmf.reviewing.labelerrors import judge

    part = read_part(fitted, common.content(fitted, documents), documents.labels)
    if by_column:
        (cells,) = documents.kept.values()
        values = np.array(["" if cell is None else label_name(cell) for cell in cells], object)
        known = sorted(set(values.tolist()))
        _check_known(first, second, known, "value")
        a = values == first
        b = ~a if second is None else values == second
        return part, contrast_sides(part, a, b, (first, second or "the rest"), n_terms=n_terms)
    names = part.subject.names
    _check_known(first, second, names, "label")
    probabilities = judge(part).probabilities if fitted.has_labels else None
    places = [None if name is None else names.index(name) for name in (first, second)]
    return part, contrast_labels(
        part, places[0] or 0, places[1], n_terms=n_terms, probabilities=probabilities
    )


def _check_known(first: str, second: str | None, known: list[str], what: str) -> None:
    for name in (first, second):
        if name is not None and name not in known:
            shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
            raise ValueError(f"{name!r} is not a {what} of these documents. There are: {shown}.")
    if first == second:
        raise ValueError(f"both sides are {first!r}. Name two different ones.")


def _as_dict(part: Any, found: Any, ids: list[str]) -> dict[str, Any]:
    """Convert a contrast to types of JSON."""
    closest = None
    if found.closest is not None:
        rows = found.closest.rows
        texts = [None if part.texts is None else part.texts[row] for row in rows]
        closest = {"ids": [ids[row] for row in rows], "cosine": found.closest.cosine,
                   "texts": texts}  # fmt: skip

    def terms(listed: Any) -> list[dict[str, Any]]:
        return [
            {"term": t.term, "documents": list(t.documents), "log_odds": round(t.log_odds, 4),
             "low": round(t.low, 4), "high": round(t.high, 4), "p_value": t.p_value}
            for t in listed
        ]  # fmt: skip

    return {
        "names": list(found.names),
        "documents": list(found.documents),
        "documents_in_both": found.in_both,
        "more_in_first": terms(found.more_in_a),
        "in_both": terms(found.in_both_terms),
        "more_in_second": terms(found.more_in_b),
        "noise_floor": round(found.floor, 4),
        "words_tested": found.tested,
        "components": [
            {"component": c.component, "name": c.name, "shares": [round(s, 4) for s in c.shares],
             "low": round(c.low, 4), "high": round(c.high, 4),
             "side": {"a": "first", "b": "second"}.get(c.side, c.side)}
            for c in found.components
        ],
        "confused": None if found.confused is None else list(found.confused),
        "closest": closest,
    }  # fmt: skip


def _text(found: dict[str, Any]) -> str:
    """Format a contrast for a terminal."""
    a, b = found["names"]
    n, m = found["documents"]
    blocks = [f"{a}: {common.counted(n, 'document')}; {b}: {common.counted(m, 'document')}."]
    if found["documents_in_both"]:
        blocks[0] += f" {common.counted(found['documents_in_both'], 'document')} of both left out."
    titles = {
        "more_in_first": f"More in {a}:",
        "in_both": "In both:",
        "more_in_second": f"More in {b}:",
    }
    for key, title in titles.items():
        rows = [
            [
                one["term"],
                *(
                    f"{k:,} ({percent(k / of)})"
                    for k, of in zip(one["documents"], (n, m), strict=True)
                ),
                f"{one['log_odds']:+.1f}",
                f"{one['low']:+.1f} to {one['high']:+.1f}",
            ]
            for one in found[key]
        ]
        head = ["word", a, b, "log-odds", "95 %"]
        shown = table(head, rows, right=(1, 2, 3)) if rows else "no word"
        blocks.append(f"{title}\n{shown}")
    blocks.append(
        f"Noise floor: |z| of {found['noise_floor']:.1f}; {found['words_tested']:,} words tested."
    )
    if found["components"]:
        where = {"first": a, "both": "both", "second": b}
        rows = [
            [str(c["component"]), c["name"], *(percent(s) for s in c["shares"]), where[c["side"]]]
            for c in found["components"]
        ]
        blocks.append(table(["component", "terms", a, b, "of"], rows, right=(0, 2, 3)))
    if found["confused"] is not None:
        to_b, to_a = found["confused"]
        blocks.append(f"{to_b:,} of {a} predicted as {b}; {to_a:,} of {b} predicted as {a}.")
    if found["closest"] is not None:
        lines = [f"Closest documents (cosine {found['closest']['cosine']:.2f}):"]
        closest = found["closest"]
        for name, document, text in zip((a, b), closest["ids"], closest["texts"], strict=True):
            lines.append(f"  {name} {document}: {one_line(text or '')[:_EXCERPT]}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
