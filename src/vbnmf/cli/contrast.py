"""vbnmf contrast: what makes a label different from another label, or from the rest."""

import re
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import one_line, percent, table

_EXCERPT = 200  # characters of a text
_NUMBER = re.compile(r"-\.?\d")


class _CommandOnLabels(options.GroupedCommand):
    """A command that takes -1 for a label and not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(_NUMBER.match(word) for word in args)
        return super().parse_args(ctx, args)


@click.command(cls=_CommandOnLabels, short_help="Compare the words of two labels.",
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
        result = _contrasted(fitted, documents, first, second, by is not None, n_terms)
    unknown.report(quiet)
    if as_json:
        common.print_json(result)
    else:
        click.echo(_text(result))


def _contrasted(
    fitted: Any, documents: Any, first: str, second: str | None, by_column: bool, n_terms: int
) -> Any:
    """Return what ``vbnmf.contrast`` finds."""
    from vbnmf.reviewing.findings import contrast as find

    by = next(iter(documents.kept.values())) if by_column else None
    return find(
        fitted, common.content(fitted, documents), documents.labels, first, second, by=by,
        ids=common.ids(documents), n_terms=n_terms,
    )  # fmt: skip


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
                f"{one['log_odds']:+z.1f}",
                f"{one['low']:+z.1f} to {one['high']:+z.1f}",
            ]
            for one in found[key]
        ]
        head = ["word", a, b, "log-odds", "95 %"]
        shown = table(head, rows, right=(1, 2, 3)) if rows else "no word"
        blocks.append(f"{title}\n{shown}")
    blocks.append(
        f"{common.counted(found['words_tested'], 'word')} compared. In random halves of one side, "
        f"words differ by up to {found['noise_floor']:.1f} standard errors (the noise floor)."
    )
    if found["components"]:
        where = {"first": a, "second": b}
        rows = [
            [
                str(c["component"]),
                c["name"],
                *(percent(s) for s in c["shares"]),
                where.get(c["side"], c["side"]),
            ]
            for c in found["components"]
        ]
        blocks.append(table(["component", "terms", a, b, "of"], rows, right=(0, 2, 3)))
        if found["in_training"] and found["confused"] is not None:
            fitted_to = common.counted(found["in_training"], "document")
            blocks[-1] += (
                f"\n\nThe model was fitted to {fitted_to} of this file with their labels.\n"
                "Its components differ more between these than "
                "between new documents of the same labels."
            )
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
