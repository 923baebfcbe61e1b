"""vbnmf labels: show what makes each label, counted from its documents."""

import shutil
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.terminal import fraction, one_line, percent, rounded, table, width


@click.command(short_help="Show what makes each label: documents, terms, components.")
@click.argument("model")
@click.option("--label", metavar="LABEL", help="Show only this label.")
@click.option("--n-terms", type=click.IntRange(1), metavar="N", default=10, show_default=True,
              help="Number of terms of each label. The table shows as many of each of its "
              "components.")  # fmt: skip
@options.trusted
@options.as_json
def labels(model: str, label: str | None, n_terms: int, as_json: bool) -> None:
    """Show what makes each label of MODEL.

    The terms of a label are more frequent in its documents than elsewhere. Beside each term is the
    number of training documents that have it, in the label and elsewhere. Terms that may be chance
    come last: half or more of them could be there if documents had their labels at random. The
    shares of components are expected by the model; their terms are terms that the label's documents
    have, of which --json lists at least 20. Of a passage that recurs, such as a signature, one term
    is shown, with the number of documents that have at least half of the passage. The nearest
    labels are those whose documents have the most similar terms.

    \b
    Examples:
      vbnmf labels tickets.vbnmf
      vbnmf labels tickets.vbnmf --label billing --n-terms 20
    """  # noqa: D301
    from vbnmf.description.labels import COMPONENT_TERMS, Compared, describe_labels

    loaded, chosen = common.load_model(model), None if label is None else [label]
    found = describe_labels(
        loaded,
        n_terms=n_terms,
        n_component_terms=max(n_terms, COMPONENT_TERMS),
        labels=chosen,
    )
    if as_json:
        common.print_json([plain(one) for one in found])
    else:
        click.echo("\n\n".join(_block(one, n_terms) for one in found))
        unlabelled = Compared.of(loaded.estimator_).unlabelled
        if unlabelled != 0:
            some = "any" if unlabelled is None else f"{unlabelled:,}"
            click.echo(f"\nElsewhere includes {some} without a label, which may have it.")


def plain(one: Any) -> dict[str, Any]:
    """Return the description of a label in types of JSON."""
    return {
        "label": str(one.label),
        "documents": one.documents,
        "elsewhere": one.elsewhere,
        "terms": [
            {
                "term": term.term,
                "documents": term.documents,
                "elsewhere": term.elsewhere,
                "log_odds": round(term.log_odds, 4),
                "interval": [round(term.low, 4), round(term.high, 4)],
                "by_chance": rounded(term.by_chance),
                "passage": term.passage,
            }
            for term in one.terms
        ],
        "components": [
            {
                "component": part.component,
                "share": part.share,
                "scope": part.scope,
                "faded": part.faded,
                "terms": [term.term for term in part.terms],
                "term_documents": [term.documents for term in part.terms],
                "term_passages": [term.passage for term in part.terms],
            }
            for part in one.components
        ],
        "nearest": [
            {"label": str(label), "similarity": rounded(near)} for label, near in one.nearest
        ],
    }


def _block(one: Any, n_terms: int) -> str:
    """Return the lines about a label, with the first terms of each component."""
    lines = [f"{one_line(str(one.label))}: {common.counted(one.documents, 'document')}"]
    said = [_counted(term, one) for term in one.terms if not term.may_be_chance]
    chance = [_counted(term, one) for term in one.terms if term.may_be_chance]
    if said or not chance:
        lines.append(_wrapped("terms: ", said or [_no_term(one)]))
    if chance:
        lines.append(_wrapped("may be chance: ", chance))
    if one.components:
        rows = [
            [str(part.component), percent(part.share), part.scope or "", part.name(n_terms)]
            for part in one.components
        ]
        head = ["#", "expected share", "scope", "terms there"]
        shown = [0, 1, 2, 3] if any(part.scope for part in one.components) else [0, 1, 3]
        cells = [[row[i] for i in shown] for row in [head, *rows]]
        lines.append(table(cells[0], cells[1:], right=(0, 1)))
    if one.nearest:
        near = [f"{one_line(str(label))} {fraction(part)}" for label, part in one.nearest]
        lines.append(_wrapped("nearest by terms (cosine): ", near))
    return "\n".join(lines)


def _no_term(one: Any) -> str:
    """Say why there are no terms: a term of a single document is not said of several."""
    from vbnmf.description.labels import LEAST_DOCUMENTS

    if one.documents < LEAST_DOCUMENTS:
        return "none is more frequent here than elsewhere"
    return f"none is in {LEAST_DOCUMENTS} or more of these documents and more frequent there"


def _counted(term: Any, one: Any) -> str:
    """Return a term with its documents; the last numbers are the same for all terms."""
    counts = f"{term.documents:,} of {one.documents:,}"
    if one.elsewhere:
        counts += f", elsewhere {term.elsewhere:,} of {one.elsewhere:,}"
    if term.passage is not None:
        counts += f"; of a passage in {common.counted(term.passage, 'document')}"
    return f"{one_line(term.term)} ({counts})"


def _wrapped(head: str, items: list[str]) -> str:
    """Join items with commas, and break lines only between them."""
    terminal = shutil.get_terminal_size((100, 24)).columns
    lines = [head + items[0]]
    for item in items[1:]:
        lines[-1] += ","
        if width(lines[-1]) + 1 + width(item) < terminal:
            lines[-1] += f" {item}"
        else:
            lines.append(f"  {item}")
    return "\n".join(lines)
