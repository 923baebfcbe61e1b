"""One HTML file that shows a model: labels × components, components by terms, quality.

Everything is text or a table; the page has no script and, by its Content-Security-Policy, can ask
the network for nothing. Whatever comes from documents is escaped.
"""

import os
from html import escape
from pathlib import Path

from vbnmf.documents import DocumentModel
from vbnmf.report.style import frame
from vbnmf.report.summary import MATTERS, Component, Summary, components_of_label, summarise
from vbnmf.store import replacing

_NAME_TERMS = 3  # terms in the name of a component


def write_page(
    model: DocumentModel, path: str | os.PathLike[str], *, title: str = "", n_terms: int = 12
) -> None:
    """Write the page; it replaces an existing file only when it is complete."""
    page = render(model, title=title or "vbnmf", n_terms=n_terms)
    with replacing(path) as temporary:
        Path(temporary).write_text(page, encoding="utf-8")


def render(model: DocumentModel, *, title: str, n_terms: int) -> str:
    """The page as a string."""
    summary = summarise(model, n_terms=n_terms)
    sections = [_intro(model, summary)]
    if summary.labels:
        sections += [_map(summary), _labels(summary)]
    sections += [_components(summary), _quality(model)]
    body = "\n".join(sections)
    return frame(title, body, _STYLE)


def _intro(model: DocumentModel, summary: Summary) -> str:
    labels = f"{len(summary.labels)} labels" if summary.labels else "no labels"
    if model.has_several_labels:
        labels += ", of which a document may have several"
    return (
        f"<p>{len(summary.components)} components of {len(model.terms_):,} terms, {labels}. Each "
        "component is a pattern of terms that occur together; a document is a sum of few of "
        "them.</p>"
    )


def _map(summary: Summary) -> str:
    """Labels × components: the picture of the paper's Figures 4 and 5, as a table."""
    shown = [i for i in range(len(summary.components)) if summary.use[:, i].max() >= MATTERS]
    # components beside the label that uses them most, so that the blocks show
    shown.sort(key=lambda i: (int(summary.use[:, i].argmax()), -float(summary.use[:, i].max())))
    head = "".join(
        f'<th scope="col"><a href="#c{summary.components[i].number}">'
        f"{escape(_name(summary.components[i]))}</a></th>"
        for i in shown
    )
    rows = "\n".join(
        f'<tr><th scope="row"><a href="#l{r}">{escape(label)}</a></th>'
        + "".join(_cell(float(summary.use[r, i])) for i in shown)
        + "</tr>"
        for r, label in enumerate(summary.labels)
    )
    hidden = len(summary.components) - len(shown)
    those = "1 component matters" if hidden == 1 else f"{hidden} components matter"
    note = f" Not shown: {those} to no label." if hidden else ""
    return f"""<section><h2>Labels and components</h2>
<p>How much of a label's documents each component makes up, in per cent.{note}</p>
<div class="wide"><table class="map"><thead><tr><td></td>{head}</tr></thead>
<tbody>{rows}</tbody></table></div></section>"""


def _cell(part: float) -> str:
    if part < MATTERS:
        return "<td></td>"
    return f'<td style="--part:{min(part, 1):.3f}">{100 * part:.0f}</td>'


def _labels(summary: Summary) -> str:
    items = []
    for r, label in enumerate(summary.labels):
        rows = "".join(
            f'<tr><td class="number">{100 * part:.0f} %</td><td><a href="#c{c.number}">'
            f"{escape(c.name)}</a></td></tr>"
            for c, part in components_of_label(summary, label)
        )
        items.append(
            f'<h3 id="l{r}">{escape(label)} <small>{summary.documents[r]:,} documents</small></h3>'
            f"<table>{rows}</table>"
        )
    return f"<section><h2>What makes each label</h2>{''.join(items)}</section>"


def _components(summary: Summary) -> str:
    items = []
    for c in summary.components:
        largest = c.terms[0][1] or 1.0  # no part of nothing, in the file of a damaged model
        bars = "".join(
            f'<tr><td>{escape(term)}</td><td class="number">{100 * part:.1f} %</td>'
            f'<td class="bar"><span style="--part:{part / largest:.3f}"></span></td></tr>'
            for term, part in c.terms
        )
        labels = ", ".join(
            f"{escape(label)} ({100 * part:.0f} %)" for label, part in c.labels if part >= MATTERS
        )
        serves = f"<p>Strongest in {labels}.</p>" if labels else ""
        items.append(
            f'<article id="c{c.number}"><h3>{escape(_name(c))} <small>component {c.number}, '
            f"{100 * c.weight:.1f} % of all weight</small></h3>{serves}"
            f"<table>{bars}</table></article>"
        )
    return f'<section><h2>Components</h2><div class="cards">{"".join(items)}</div></section>'


def _quality(model: DocumentModel) -> str:
    estimator = model.estimator_
    rows = {
        "lower bound": f"{estimator.bound_:,.1f}",
        **(
            {"probability from which a label is given": f"{estimator.threshold_:.2f}"}
            if model.has_several_labels
            else {}
        ),
        "iterations": f"{estimator.n_iter_:,}",
        "training documents without a known term": f"{model.n_empty_:,}",
        **{name: f"{value:.4g}" for name, value in estimator.hyperparameters_.items()},
    }
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<section><h2>The fit</h2><table>{cells}</table></section>"


def _name(component: Component) -> str:
    return " ".join(term for term, _ in component.terms[:_NAME_TERMS])


_STYLE = """.map th[scope=col] { writing-mode: vertical-rl; rotate: 180deg; font-size: .8rem;
  font-weight: normal; text-align: left; padding: .4rem .1rem; white-space: nowrap; }
.map tbody th { position: sticky; left: 0; background: var(--paper); font-weight: normal;
  white-space: nowrap; }
.map td { text-align: center; font-size: .8rem; border: 1px solid var(--line); min-width: 1.4rem;
  padding: .1rem; }
.map thead td { border: 0; }
.map td[style] {
  background: color-mix(in srgb, rgb(66 133 244) calc(var(--part) * 70%), var(--paper)); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(21rem, 1fr)); gap: 1rem; }
.cards article { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem; }
.cards h3 { margin: 0; font-size: 1rem; } .cards p { margin: .3rem 0; font-size: .9rem; }
.bar { width: 8rem; }
.bar span { display: block; height: .7rem; width: calc(var(--part) * 100%);
  background: rgb(66 133 244); }
"""
