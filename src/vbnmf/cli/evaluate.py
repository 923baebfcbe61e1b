"""vbnmf evaluate: score the predictions and the components of a model."""

from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, percent, table


@click.command(cls=options.GroupedCommand, short_help="Score a model on labelled documents.")
@click.argument("model")
@click.argument("file")
@options.labels_of_model
@options.reading
@options.n_jobs
@options.trusted
@options.config
@options.quiet
@options.as_json
def evaluate(
    model: str, file: str, label: tuple[str, ...], n_jobs: int, quiet: bool, as_json: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Score the predictions of MODEL on the labelled documents in FILE.

    Use documents that the model was not fitted to. Prints recall and precision of each label, then
    micro accuracy (the part of the documents whose label was predicted correctly) and macro
    accuracy (the mean recall over labels, in which rare labels count as much as common ones). If
    documents may have several labels, it prints micro F1, macro F1 and subset accuracy instead. It
    also prints whether statements about labels hold in these documents: whether labels that share a
    component take the same terms from it (agreement), and how many documents have the terms that
    are said of their label (fidelity). Measures of the components need no labels, so they are of
    all documents in FILE: sparsity, coherence and held-out log-likelihood. A shard folder of `vbnmf
    vectorize` is scored a part at a time, so it need not fit into memory.

    \b
    Example:
      vbnmf evaluate tickets.vbnmf held-out.csv --label team
    """  # noqa: D301
    fitted = common.load_model(model)
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so it has no predictions to score.")
    fitted.estimator_.set_params(n_jobs=n_jobs)
    if common.is_shard_folder(file):
        given = {"label-file": reading["labels"], **{n: reading[n] for n in ("text", "terms")}}
        common.refuse_settled({"label": label != ("auto",), **given})
        scores = _score_shards(fitted, file, quiet)
    else:
        columns = common.column_names(label)
        documents = common.read_for(fitted, file, quiet, label=columns, **reading)
        unknown = common.UnknownDocuments()
        with unknown.among(documents), Waiting(quiet, "evaluating"):
            scores = score(fitted, common.content(fitted, documents), documents.labels)
        unknown.report(quiet)
    if as_json:
        common.print_json(scores)
    else:
        click.echo(score_table(scores))


def score(fitted: Any, contents: Any, labels: Any) -> dict[str, Any]:
    """Score predictions, components and each label on documents in memory."""
    from vbnmf.evaluation import evaluate as measure

    return _checked(measure(fitted, contents, labels))


def _score_shards(fitted: Any, file: str, quiet: bool) -> dict[str, Any]:
    """Score a model on the documents of a shard folder, without loading them all."""
    from vbnmf.evaluation import evaluate as measure
    from vbnmf.shards import Shards

    with Waiting(quiet, "evaluating"):
        scores = _checked(measure(fitted, Shards(file)))
    n_empty = scores["documents_without_known_term"]
    if n_empty:
        have = "has" if n_empty == 1 else "have"
        common.message(
            f"Note: {n_empty:,} of {scores['documents']:,} documents {have} no known term of "
            "non-zero weight. Their labels cannot be predicted from their text.",
            quiet,
        )
    return scores


def _checked(scores: dict[str, Any]) -> dict[str, Any]:
    if not scores["labelled_documents"]:
        raise ValueError("no document has a label, so there is nothing to score. Check --label.")
    return scores


def score_table(scores: dict[str, Any]) -> str:
    """Format the scores for a terminal."""
    rows = [
        [
            row["label"] + ("" if row["known"] else " (not in the model)"),
            f"{row['documents']:,}",
            percent(row["recall"]),
            *("–" if row[n] is None else percent(row[n]) for n in ("precision", "component_share")),
        ]
        for row in scores["labels"]
    ]
    names = ["label", "documents", "recall", "precision", "component share"]
    by_label = table(names, rows, right=(1, 2, 3, 4))
    n_faded = scores["faded_components"]
    n = common.counted(n_faded, "faded component")
    faded = f"NPMI, diversity and exclusivity ignore {n}.\n"
    return (
        f"{by_label}\n\n{_measures(scores)}\n{faded if n_faded else ''}\n"
        "recall: of the documents with this label, the part that was predicted as this label\n"
        "precision: of the documents predicted as this label, the part that has it\n"
        "component share: of the label's score, the part that comes from components"
    )


def _measures(scores: dict[str, Any]) -> str:
    """Format the measures that are known, by the documents that they are of."""
    from vbnmf.evaluation.measures import EVALUATE, measures_for

    known = [one for one in measures_for(EVALUATE) if scores.get(one.key) is not None]
    longest = max(len(one.name) for one in known)
    blocks: dict[str, list[str]] = {}
    for one in known:
        value = fraction(scores[one.key], 4)
        line = f"{one.name:{longest}}   {value:>7}   {one.explained(scores)}"
        blocks.setdefault(scores["measured_on"][one.key], []).append(line)
    return "\n\n".join("\n".join([f"Of {of}:", *lines]) for of, lines in blocks.items())
