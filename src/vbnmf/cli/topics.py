"""vbnmf topics: components by label in the terminal."""

from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.tables import percent, table


@click.command(short_help="Show components, their terms and labels.")
@click.argument("model")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True,
              help="Number of terms.")  # fmt: skip
@click.option("--label", metavar="LABEL", help="Only the components of this label.")
@common.as_json
def topics(model: str, top: int, label: str | None, as_json: bool) -> None:
    """Show the components of a MODEL: strongest labels and most relevant terms.

    \b
    Examples:
      vbnmf topics tickets.vbnmf
      vbnmf topics tickets.vbnmf --label billing --top 20
    """  # noqa: D301
    from vbnmf.report.summary import summarise

    summary = summarise(common.load_model(model), n_terms=top)
    if label is not None and label not in summary.labels:
        known = ", ".join(summary.labels) or "none: it was fitted without labels"
        raise click.BadParameter(f"{label!r} is not a label of this model. It has {known}.")
    if as_json:
        common.print_json(_plain(summary, label))
    elif label is not None:
        click.echo(label_table(summary, label))
    else:
        click.echo(component_table(summary))


def component_table(summary: Any) -> str:
    """All components, the heaviest first."""
    from vbnmf.report.summary import MATTERS

    rows = [
        [
            str(component.number),
            percent(component.weight),
            ", ".join(
                f"{label} {percent(use)}" for label, use in component.labels if use >= MATTERS
            ),
            component.name,
        ]
        for component in summary.components
    ]
    head = ["#", "weight", "strongest in (part of the label)", "terms"]
    if not summary.labels:
        rows = [[row[0], row[1], row[3]] for row in rows]
        head = [head[0], head[1], head[3]]
    return table(head, rows, right=(0, 1))


def label_table(summary: Any, label: str) -> str:
    """The components that matter to one label."""
    from vbnmf.report.summary import components_of_label

    rows = [
        [str(component.number), percent(use), component.name]
        for component, use in components_of_label(summary, label)
    ]
    return table(["#", f"part of {label}", "terms"], rows, right=(0, 1))


def _plain(summary: Any, label: str | None) -> Any:
    from vbnmf.report.summary import components_of_label

    shown = summary.components
    if label is not None:
        shown = [component for component, _ in components_of_label(summary, label)]
    return [
        {
            "component": component.number,
            "weight": component.weight,
            "labels": dict(component.labels),
            "terms": dict(component.terms),
        }
        for component in shown
    ]
