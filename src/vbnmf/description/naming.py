"""Names that people give to labels and components, as the page saves them, in descriptions.

A component is found by its first name, the terms that describe it, and not by its number, which may
change when a model is fitted again.
"""

from dataclasses import replace
from typing import Any

from vbnmf.description.components import component_names, names_of_terms
from vbnmf.description.summary import Summary

KINDS = ("labels", "components", "notes")
"""What a file of names has: new names by first names, and notes."""

Names = dict[str, dict[str, str]]


def check_names(names: Any) -> Names:
    """Check names and notes, as the page saves them."""
    found = {kind: names.get(kind, {}) for kind in KINDS} if isinstance(names, dict) else {}
    if not found or not all(
        isinstance(of, dict) and all(isinstance(text, str) for pair in of.items() for text in pair)
        for of in found.values()
    ):
        raise ValueError(
            'names must be {"labels": {old: new}, "components": {old: new}, "notes": {of: note}}, '
            "as About on the page saves them; got something else. Save them again."
        )
    return found


def given_names(model: Any, names: Names) -> list[str]:
    """Return the name that each component was given; empty if it was given none."""
    return [
        names["components"].get(name, "") for name in component_names(model, names_of_terms(model))
    ]


def renamed(summary: Summary, model: Any, names: Names) -> Summary:
    """Return the summary of a model with the names that labels and components were given."""
    called = given_names(model, names)

    def label(name: str) -> str:
        return names["labels"].get(name) or name

    components = [
        replace(
            one,
            given_name=called[one.number],
            labels=[(label(name), part) for name, part in one.labels],
            scope=one.scope and replace(one.scope, names=[label(name) for name in one.scope.names]),
        )
        for one in summary.components
    ]
    return replace(summary, components=components, labels=[label(name) for name in summary.labels])
