"""vbnmf evaluate: score the predictions and the components of a model."""

from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, percent, table

Line = tuple[str, float | None, str]  # a measure's name, value and meaning


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
    model: str, file: str, label: tuple[str, ...], n_jobs: int | None, quiet: bool, as_json: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Score the predictions of MODEL on the labelled documents in FILE.

    Use documents that the model was not fitted to. Prints recall and precision of each label, then
    micro accuracy (the part of the documents whose label was predicted correctly) and macro
    accuracy (the mean recall over labels, in which rare labels count as much as common ones). If
    documents may have several labels, it prints micro F1, macro F1 and subset accuracy instead.
    Measures of the components follow: sparsity, coherence, diversity, exclusivity and held-out
    log-likelihood. Then it prints whether statements about labels hold in these documents: whether
    labels that share a component take the same terms from it (agreement), and how many documents
    have the terms that are said of their label (fidelity). A shard folder of `vbnmf vectorize` is
    scored a part at a time, so it need not fit into memory.

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


_NO_LABEL = "no document has a label, so there is nothing to score. Check --label."


def score(fitted: Any, contents: Any, labels: Any) -> dict[str, Any]:
    """Score predictions, components and each label on labelled documents in memory."""
    import numpy as np

    from vbnmf.report import measures
    from vbnmf.report.evaluation import Evaluation
    from vbnmf.report.truth import read_truth

    truth = read_truth(fitted, labels, len(labels))
    rows = np.flatnonzero(truth.known)
    if not len(rows):
        raise ValueError(_NO_LABEL)
    evaluation = Evaluation(fitted, truth.names)
    evaluation.add(fitted.vectorize(contents)[rows], truth.indicators[rows])
    is_matrix = getattr(contents, "ndim", 1) == 2
    texts = None if is_matrix else [contents[i] for i in rows]
    return evaluation.scores(measures.npmi_by_windows(fitted, texts))


def _score_shards(fitted: Any, file: str, quiet: bool) -> dict[str, Any]:
    """Score a model on the labelled documents of a shard folder, without loading them all."""
    from vbnmf.data.shards import Shards
    from vbnmf.report.evaluation import evaluate_shards

    with Waiting(quiet, "evaluating"):
        evaluation = evaluate_shards(fitted, Shards(file))
    if not evaluation.n_docs:
        raise ValueError(_NO_LABEL)
    scores = evaluation.scores()
    n_empty = scores["documents_without_known_term"]
    if n_empty:
        common.message(
            f"Note: {n_empty:,} of {scores['documents']:,} documents "
            f"{'has' if n_empty == 1 else 'have'} no known term of non-zero weight, "
            "from which a label could be predicted.",
            quiet,
        )
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
    lines = [*_prediction_lines(scores), *_component_lines(scores), *_truth_lines(scores)]
    known = [(name, fraction(value, 4), said) for name, value, said in lines if value is not None]
    width = max(len(name) for name, _, _ in known)
    numbers = "\n".join(
        f"{name:{width}}   {value:>7}   {said}".rstrip() for name, value, said in known
    )
    n_faded = scores["faded_components"]
    n = common.counted(n_faded, "faded component")
    faded = f"NPMI, diversity and exclusivity ignore {n}.\n"
    return (
        f"{by_label}\n\n{numbers}\n{faded if n_faded else ''}\n"
        "recall: of the documents with this label, the part that was predicted as this label\n"
        "precision: of the documents predicted as this label, the part that has it\n"
        "component share: of the label's score, the part that comes from components"
    )


def _prediction_lines(scores: dict[str, Any]) -> list[Line]:
    of = f"of {common.counted(scores['documents'], 'document')}"
    if "micro_f1" in scores:
        simplest = f"baseline: commonest label {fraction(scores['most_frequent_label_f1'], 4)}"
        return [
            ("micro F1", scores["micro_f1"], f"{of} ({simplest})"),
            ("macro F1", scores["macro_f1"], "mean F1 over labels"),
            ("subset accuracy", scores["subset_accuracy"], "exactly the true labels predicted"),
            *_trust_lines(scores),
        ]
    simplest = f"baseline: commonest label {fraction(scores['most_frequent_label_accuracy'], 4)}"
    return [
        ("micro accuracy", scores["micro_accuracy"], f"{of} ({simplest})"),
        ("macro accuracy", scores["macro_accuracy"], "mean recall over labels"),
        *_trust_lines(scores),
    ]


def _trust_lines(scores: dict[str, Any]) -> list[Line]:
    off = "mean distance between predicted probability and observed frequency; 0 is best"
    loss = "mean of −ln p, where p is the probability of the true label; 0 is best"
    share = "part of the scores that comes from components; the rest is from single words"
    return [
        ("calibration error", scores["calibration_error"], off),
        ("log loss", scores["log_loss"], loss),
        ("component share", scores["component_share"], share),
    ]


def _component_lines(scores: dict[str, Any]) -> list[Line]:
    from vbnmf.report.measures import DIVERSE, TOP, WINDOW

    together = f"how often the top {TOP} terms occur together: -1 never, 0 by chance, 1 always"
    distinct = f"share of distinct terms among the top {DIVERSE} terms of all components"
    share = f"mean share of a component in the weight of its top {TOP} terms"
    half = "per unit of weight, of one half of each document given the other half"
    hoyer = "Hoyer's measure: 0 if all coefficients are equal, 1 if only one is not zero"
    by_label = "Hoyer's measure of sums by label"
    return [
        ("coefficient sparsity", scores["coefficient_sparsity"], hoyer),
        ("inter-label sparsity", scores["inter_label_sparsity"], by_label),
        ("NPMI by documents", scores["npmi_documents"], together),
        (f"NPMI by windows of {WINDOW} tokens", scores["npmi_windows"], "the same in windows"),
        ("diversity", scores["diversity"], distinct),
        ("exclusivity", scores["exclusivity"], share),
        ("held-out log-likelihood", scores["held_out_log_likelihood"], half),
    ]


def _truth_lines(scores: dict[str, Any]) -> list[Line]:
    from vbnmf.metrics.agreement import AGREES, GLUED
    from vbnmf.metrics.fidelity import SAID
    from vbnmf.report.labels import COMPONENT_TERMS
    from vbnmf.report.measures import TOP

    of = f"of {scores['shared_components']} shared by some labels"
    agree = f"{of}: its two main labels take the same terms from it (agreement ≥ {AGREES})"
    glued = f"{of}: two topics under one name (agreement < {GLUED})"
    inside = f"part of a label's documents with two of the {TOP} terms said of it; mean over labels"
    elsewhere = "the same for documents without the label"
    said = f"of {scores['components_said']} said to be {100 * SAID:.0f} % of a label or more"
    holds = f"{said}: half as many of its documents have two of the {COMPONENT_TERMS} terms there"
    return [
        ("components that agree", scores["shared_that_agree"], agree),
        ("components that are glued", scores["shared_that_are_glued"], glued),
        ("fidelity of labels", scores["label_fidelity"], inside),
        ("fidelity elsewhere", scores["label_fidelity_elsewhere"], elsewhere),
        ("fidelity of components", scores["component_fidelity"], holds),
    ]
