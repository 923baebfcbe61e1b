"""vbnmf evaluate: score the predictions and the components of a model."""

from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import Waiting
from vbnmf.cli.terminal import fraction, one_line, percent, table

_RECUR = 0.1  # share of documents with the words of a training document that says nothing


@click.command(cls=options.GroupedCommand, short_help="Score a model on labelled documents.")
@click.argument("model", required=False)
@click.argument("file", required=False)
@options.labels_of_model
@click.option("--accept", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
              help="Find the probability from which on predictions can be accepted without a look, "
              "so that this share of them is right, such as 0.95.")  # fmt: skip
@click.option("--human", metavar="ANSWERS", multiple=True, help="File of answers, which Test "
              "yourself on the page of `vbnmf report` saves, to score the components by. Can be "
              "repeated, for several people. Without FILE, only answers are scored.")  # fmt: skip
@options.reading
@options.n_jobs
@options.trusted
@options.config
@options.quiet
@options.as_json
def evaluate(
    model: str | None, file: str | None, label: tuple[str, ...], accept: float | None,
    human: tuple[str, ...], n_jobs: int | None, quiet: bool, as_json: bool, **reading: Any,
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
    Examples:
      vbnmf evaluate tickets.vbnmf held-out.csv --label team
      vbnmf evaluate tickets.vbnmf held-out.csv --accept 0.95
      vbnmf evaluate --human answers.json
    """  # noqa: D301
    if not human and (model is None or file is None):
        raise click.UsageError(f"Missing argument '{'MODEL' if model is None else 'FILE'}'.")
    fitted = None if model is None else common.load_model(model)
    answered = _human(human, fitted)
    if fitted is None or file is None:
        common.print_json(answered) if as_json else click.echo(human_table(answered))
        return
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so it has no predictions to score.")
    fitted.estimator_.set_params(n_jobs=n_jobs)
    if common.is_shard_folder(file):
        given = {"label-file": reading["labels"], **{n: reading[n] for n in ("text", "terms")}}
        common.refuse_settled({"label": label != ("auto",), **given})
        if accept is not None:
            raise click.UsageError("--accept needs a file of documents, not a shard folder.")
        scores = _score_shards(fitted, file, quiet)
    else:
        from vbnmf.evaluation.truth import read_part

        columns = common.column_names(label)
        documents = common.read_for(fitted, file, quiet, label=columns, **reading)
        unknown = common.UnknownDocuments()
        with unknown.among(documents), Waiting(quiet, "evaluating"):
            part = read_part(fitted, common.content(fitted, documents), documents.labels)
            scores = _score_part(part, accept)
        unknown.report(quiet)
        _warn_of_training(part, quiet)
    _warn_of_unknown_labels(scores["labels"], quiet)
    if answered:
        scores["human"] = answered
    if as_json:
        common.print_json(scores)
    else:
        click.echo(score_table(scores))
        if answered:
            click.echo(f"\n{human_table(answered)}")
        if "accept" in scores:
            click.echo(f"\n{accept_table(scores['accept'])}")


def _human(files: tuple[str, ...], fitted: Any) -> dict[str, Any]:
    """Score the answers of people; nothing without files."""
    from vbnmf.reviewing.intrusion import check_model, human_scores, read_answers

    answers = []
    for file in files:
        try:
            answers += read_answers(file)
        except OSError as error:
            raise common.Refusal(f"--human {file}: {error.strerror}.") from None
    if fitted is not None:
        check_model(answers, fitted)
    return human_scores(answers) | {"people": len(files)} if files else {}


def human_table(found: dict[str, Any]) -> str:
    """Format the scores of people for a terminal."""
    rows = [
        [
            one["task"],
            f"{one['answers']:,}",
            f"{one['right']:,}",
            percent(one["share"]),
            f"{percent(one['low'])} to {percent(one['high'])}",
            percent(one["by_chance"]),
        ]
        for one in found["tasks"]
    ]
    names = ["find the odd one of", "answers", "right", "share", "95 % interval", "by chance"]
    blocks = [
        f"Answers of {common.counted(found['people'], 'file')}.",
        table(names, rows, right=(1, 2, 3, 4, 5)),
    ]
    if found["missed"]:
        missed = [
            [f"{one['component']} {one['name']}", one["task"], one["does_not_belong"],
             one["chosen"] or "(cannot tell)"]
            for one in found["missed"]
        ]  # fmt: skip
        blocks.append(table(["not found, of component", "", "does not belong", "chosen"], missed))
    blocks.append(
        "share: of the questions, those in which the word or document was found that does not "
        "belong to the\ncomponent. Components were drawn at random, so the interval is for all of "
        "them."
    )
    return "\n\n".join(blocks)


def score(fitted: Any, contents: Any, labels: Any) -> Any:
    """Score predictions, components and each label on documents in memory."""
    from vbnmf.evaluation.truth import read_part

    return _score_part(read_part(fitted, contents, labels))


def _score_part(part: Any, accept: float | None = None) -> Any:
    from vbnmf.evaluation.evaluation import evaluate_part

    scores = _checked(evaluate_part(part))
    if accept is not None:
        from vbnmf.reviewing.findings import accepted_of

        scores["accept"] = accepted_of(part, accept)
    return scores


def _warn_of_training(part: Any, quiet: bool) -> None:
    """Say that documents were in training, unless they are few: short texts recur."""
    n, of = int(part.judged.left_out.sum()), part.n_docs
    if part.judged.are_training:
        _report_left_out(n, of, quiet)
    elif n > _RECUR * of:
        common.message(
            f"Note: {n:,} of {of:,} documents have the same words as a document in training, so "
            "these scores are too good. Use documents that the model was not fitted to.",
            quiet,
        )


def _report_left_out(n: int, of: int, quiet: bool) -> None:
    """Say that documents were in training, and which of their scores are those of new ones."""
    common.message(
        f"Note: {n:,} of {of:,} documents were in training. They are predicted by models that did "
        "not see them, so `vbnmf predict` is right more often on them. All other measures are of "
        "the model that saw them, and too good, such as the held-out log-likelihood.",
        quiet,
    )


def _warn_of_unknown_labels(labels: list[dict[str, Any]], quiet: bool) -> None:
    """Say how many labels of the documents the model cannot predict."""
    of = [row for row in labels if row["documents"]]
    unknown = [one_line(row["label"]) for row in of if not row["known"]]
    if not unknown:
        return
    some = ", ".join(map(repr, unknown[:3])) + (", …" if len(unknown) > 3 else "")
    all_of_them = " Check --label." if len(unknown) == len(of) else ""
    are, them = ("is", "it") if len(unknown) == 1 else ("are", "them")
    common.message(
        f"Note: {len(unknown):,} of the {len(of):,} labels of these documents {are} not in the "
        f"model, which never predicts {them}: {some}.{all_of_them}", quiet,
    )  # fmt: skip


def _score_shards(fitted: Any, file: str, quiet: bool) -> Any:
    """Score a model on the documents of a shard folder, without loading them all."""
    from vbnmf.evaluation import evaluate as measure
    from vbnmf.shards import Shards

    with Waiting(quiet, "evaluating"):
        scores = _checked(measure(fitted, Shards(file)))
    if scores["left_out_documents"]:
        _report_left_out(scores["left_out_documents"], scores["documents"], quiet)
    n_empty = scores["documents_without_known_term"]
    if n_empty:
        have = "has" if n_empty == 1 else "have"
        common.message(
            f"Note: {n_empty:,} of {scores['documents']:,} documents {have} no known term of "
            "non-zero weight. Their labels cannot be predicted from their text.",
            quiet,
        )
    return scores


def _checked(scores: Any) -> Any:
    if not scores["labelled_documents"]:
        raise ValueError("no document has a label, so there is nothing to score. Check --label.")
    return scores


def score_table(scores: Any) -> str:
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


def accept_table(found: dict[str, Any]) -> str:
    """Format which predictions can be accepted, for a terminal."""
    wanted = percent(found["wanted"])
    if found["threshold"] is None:
        head = (
            f"No threshold: no probability accepts at least 20 predictions (or all, if there are "
            f"fewer) with {wanted} of them right."
        )
    else:
        head = (
            f"Accept predictions of probability {fraction(found['threshold'], 3)} or more, for at "
            f"least {wanted} right: {percent(found['share_accepted'])} of the predictions "
            f"({found['accepted']:,} of {found['predictions']:,}), {_one_decimal(found)} of them "
            f"right ({found['right']:,}; {100 * found['low']:.1f} % to {100 * found['high']:.1f} "
            "%)."
        )
    rows = [
        [
            row["label"],
            f"{row['predictions']:,}",
            f"{row['accepted']:,}",
            f"{row['right']:,}",
            "–" if row["share_right"] is None else _one_decimal(row),
            "–" if row["own_threshold"] is None else fraction(row["own_threshold"], 3),
        ]
        for row in found["labels"]
    ]
    names = ["predicted label", "predicted", "accepted", "right", "share", "own threshold"]
    return (
        f"{head}\n{found['judged_by']}\n\n{table(names, rows, right=(1, 2, 3, 4, 5))}\n\n"
        f"own threshold: the one from which on {wanted} of this label's predictions are right"
    )


def _one_decimal(found: dict[str, Any]) -> str:
    """Format the share of accepted predictions that are right; only all is 100 %."""
    share = 100 * found["share_right"]
    return ">99.9 %" if 99.95 <= share < 100 else f"{share:.1f} %"


def _measures(scores: Any) -> str:
    """Format the measures that are known, by the documents that they are of."""
    known = scores.measures
    longest = max(map(len, known["measure"]))
    blocks: dict[str, list[str]] = {}
    for one in known:
        value = fraction(one["value"], 4)
        line = f"{one['measure']:{longest}}   {value:>7}   {one['meaning']}"
        blocks.setdefault(one["of"], []).append(line)
    return "\n\n".join("\n".join([f"Of {of}:", *lines]) for of, lines in blocks.items())
