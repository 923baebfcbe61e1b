"""vbnmf topics: show components and their labels in the terminal."""

from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.terminal import fraction, percent, table

_MOST_ALIKE = 3  # components that are named as alike in the table


@click.command(short_help="Show the components, their terms and their labels.")
@click.argument("model")
@click.option("--n-terms", type=click.IntRange(1), metavar="N", default=10, show_default=True,
              help="Number of terms of each component.")  # fmt: skip
@click.option("--label", metavar="LABEL", help="Show only the components of this label.")
@options.names
@options.trusted
@options.as_json
def topics(model: str, n_terms: int, label: str | None, names: str | None, as_json: bool) -> None:
    """Show the components of MODEL with their labels and characteristic terms.

    Components common to all labels come first, then those shared by several labels, then those of
    one label. Each group is sorted by weight, which is the part of the training documents' weight
    that a component explains. Beside a label stands the component's expected part of the label's
    weight: the model expects it, it is not a count of documents. With --label, components are
    sorted by this part, and are shown with terms that the label's documents have. Components with
    nearly the same terms are shown as alike. A component whose most relevant terms are mostly those
    of a passage that recurs, such as a signature, is shown with the number of documents that have
    it; of each passage one term is listed. Faded components, whose terms depend more on the prior
    than on documents, are shown without terms.

    \b
    Examples:
      vbnmf topics tickets.vbnmf
      vbnmf topics tickets.vbnmf --label billing --n-terms 20
      vbnmf topics tickets.vbnmf --names names.json
    """  # noqa: D301
    from vbnmf.description.modeltables import topics_table
    from vbnmf.description.naming import renamed
    from vbnmf.description.summary import summarise

    called = common.read_names(names)
    loaded = common.load_model(model)
    summary = whole = summarise(loaded, n_terms=n_terms)
    if called is not None and label not in summary.labels:
        label = next((old for old, new in called["labels"].items() if new == label), label)
    if label is not None and label not in summary.labels:
        known = ", ".join(summary.labels) or "none, as it was fitted without labels"
        raise click.BadParameter(f"{label!r} is not a label of this model. Its labels: {known}.")
    if label is not None:
        summary = _with_terms_there(summary, loaded, label, n_terms)
    if called is not None:
        summary, whole = (renamed(one, loaded, called) for one in (summary, whole))
        label = called["labels"].get(label) or label if label is not None else None
    if as_json:
        rows = topics_table(whole, loaded.estimator_.n_samples_seen_)
        common.print_json(_plain(summary, label, rows))
    elif label is not None:
        click.echo(label_table(summary, label))
    else:
        click.echo(component_table(summary))


def _with_terms_there(summary: Any, model: Any, label: str, n_terms: int) -> Any:
    """Return the summary with terms that documents of the label have."""
    from dataclasses import replace

    from vbnmf.description.labels import describe_labels

    estimator = model.estimator_
    there = {
        part.component: [
            (term.term, float(estimator.components_[part.component, term.column] / size))
            for term in part.terms
            for size in [estimator.component_sums_[part.component]]
        ]
        for one in describe_labels(model, n_component_terms=n_terms, labels=[label])
        for part in one.components
    }
    components = [
        replace(one, terms=there.get(one.number, one.terms)) for one in summary.components
    ]
    return replace(summary, components=components)


def component_table(summary: Any) -> str:
    """Return a table of all components, and the weight of each kind of scope."""
    from vbnmf.description.modeltables import scope_in_words

    head = ["#", "weight", "strongest in (expected part)", "alike (cosine)", "terms"]
    if summary.blocks is not None:
        head[2] = "scope (expected part)"
    is_alike = any(component.alike for component in summary.components)
    columns = [0, 1, *([2] if summary.labels else []), *([3] if is_alike else []), 4]
    rows = [
        [
            str(component.number),
            percent(component.weight),
            scope_in_words(summary, place),
            alike_in_words(component.alike),
            _noted(component, component.name),
        ]
        for place, component in enumerate(summary.components)
    ]
    shown = [[row[i] for i in columns] for row in [head, *rows]]
    return table(shown[0], shown[1:], right=(0, 1)) + _weights(
        summary.blocks, "the training documents' weight"
    )


def label_table(summary: Any, label: str) -> str:
    """Return a table of the components of one label, and the part of each kind of scope."""
    from vbnmf.description.labels import NOT_THERE
    from vbnmf.description.summary import blocks_of_label, components_of_label

    found = components_of_label(summary, label)
    head = ["#", f"expected part of {label}", "terms"]
    rows = [
        [str(component.number), percent(use), _noted(component, component.name or NOT_THERE)]
        for component, use in found
    ]
    if summary.blocks is not None:
        head.insert(2, "scope")
        for row, (component, _) in zip(rows, found, strict=True):
            row.insert(2, component.scope.beside(label) if component.scope else "")
    return table(head, rows, right=(0, 1)) + _weights(
        blocks_of_label(summary, label), f"the weight of {label}, as the model expects it"
    )


def _noted(component: Any, name: str) -> str:
    """Return its terms, after a note if it is mostly a passage that recurs."""
    return name if component.passage is None else f"{component.passage.in_words}: {name}"


def alike_in_words(alike: list[tuple[int, float]]) -> str:
    """Name the components that are alike, the first of many: "#12 0.91, #3 0.84"."""
    shown = ", ".join(f"#{k} {fraction(cosine)}" for k, cosine in alike[:_MOST_ALIKE])
    more = len(alike) - _MOST_ALIKE
    return f"{shown} and {more} more" if more > 0 else shown


def _weights(blocks: dict[str, float] | None, whole: str) -> str:
    """Return the line below a table: the part of each kind of scope in the whole."""
    if blocks is None:
        return ""
    found = reversed([(name, part) for name, part in blocks.items() if part > 0])
    return f"\n\n{', '.join(f'{name} {percent(part)}' for name, part in found)} of {whole}"


def _plain(summary: Any, label: str | None, rows: Any) -> list[dict[str, Any]]:
    """Return rows of the table of ``DocumentModel.topics`` in the form of ``--json``."""
    from vbnmf.description.summary import components_of_label

    shown = summary.components
    if label is not None:
        shown = [component for component, _ in components_of_label(summary, label)]
    by_number = {row["component"]: row for row in rows}
    return [_with_objects(by_number[one.number], one) for one in shown]


def _with_objects(row: dict[str, Any], one: Any) -> dict[str, Any]:
    """Return a row with objects in place of lists; terms are those that are shown."""
    passage = one.passage
    alike = zip(row["alike"], row["alike_cosines"], strict=True)
    return {
        "component": row["component"],
        "name": row["name"],
        "weight": row["share"],
        "documents_expected": row["documents_expected"],
        "scope": row["scope_labels"],
        "scope_in_words": row["scope"],
        "scope_kind": row["scope_kind"],
        "agreement": row["agreement"],
        "alike": [{"component": k, "cosine": cosine} for k, cosine in alike],
        "background": row["background"],
        "faded": row["faded"],
        "passage": None
        if passage is None
        else {
            "documents": passage.documents,
            "examined": passage.examined,
            "terms": passage.terms,
            "among_most_relevant": [passage.among, passage.of],
        },
        "labels": dict(zip(row["labels"], row["label_shares"], strict=True)),
        "terms": dict(one.terms),
    }
