"""vbnmf evaluate: score the predictions and the components of a model."""

from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.terminal import percent, table

Line = tuple[str, float | None, str]  # a measure's name, value and meaning


@click.command(short_help="Score a model on labelled documents.")
@click.argument("model")
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, default=("auto",), show_default=True,
              help="Label column. 'auto' uses that of the model, else guesses it by its name. Can "
              "be repeated.")  # fmt: skip
@common.label_separator
@common.reading
@common.jobs
@common.trust
@common.config
@common.quiet
@common.as_json
def evaluate(
    model: str, file: str, label: tuple[str, ...], jobs: int | None, quiet: bool, as_json: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Score the predictions of MODEL on the labelled documents in FILE.

    Use documents that the model was not fitted to. Prints recall and precision of each label, then
    micro accuracy (the part of the documents whose label was predicted correctly) and macro
    accuracy (the mean recall over labels, in which rare labels count as much as common ones). If
    documents may have several labels, it prints micro F1, macro F1 and subset accuracy instead.
    Measures of the components follow: sparsity, coherence, diversity, exclusivity and held-out
    log-likelihood.

    \b
    Example:
      vbnmf evaluate tickets.vbnmf held-out.csv --label team
    """  # noqa: D301
    fitted = common.load_model(model)
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so it has no predictions to score.")
    fitted.estimator_.set_params(n_jobs=jobs)
    columns = common.column_names(label)
    documents = common.read_for(fitted, file, quiet, label=columns, **reading)
    unknown = common.UnknownDocuments()
    with unknown.among(documents):
        scores = score(fitted, common.content(fitted, documents), documents.labels)
    unknown.tell(quiet)
    if as_json:
        common.print_json(scores)
    else:
        click.echo(score_table(scores))


def score(fitted: Any, contents: Any, labels: Any) -> dict[str, Any]:
    """Score predictions, components and each label on labelled documents."""
    import numpy as np

    from vbnmf.core.rows import is_empty
    from vbnmf.metrics import hoyer_sparsity, inter_label_sparsity
    from vbnmf.report.truth import read_truth, score_labels

    truth = read_truth(fitted, labels, len(labels))
    rows = np.flatnonzero(truth.known)
    if not len(rows):
        raise ValueError("no document has a label, so there is nothing to score. Check --label.")
    X, Y = fitted.vectorize(contents)[rows], truth.indicators[rows]
    is_matrix = getattr(contents, "ndim", 1) == 2
    texts = None if is_matrix else [contents[i] for i in rows]
    estimator = fitted.estimator_
    V = estimator.transform(X)
    P = estimator.predict_proba(X)
    found = score_labels(fitted, Y, P)
    shares, best = estimator.component_share(X, P), P.argmax(axis=1)
    return {
        "documents": len(rows),
        "documents_without_known_term": int(is_empty(X).sum()),
        **_of_predictions(found),
        "calibration_error": found.probabilities.calibration_error,
        "log_loss": found.probabilities.log_loss,
        "component_share": float(shares.mean()),
        "coefficient_sparsity": hoyer_sparsity(V),
        "inter_label_sparsity": inter_label_sparsity(V, Y),
        **_of_components(fitted, X, texts),
        "faded_components": int(estimator.faded_.sum()),
        "labels": [
            {
                "label": name,
                "documents": int(found.predictions.support[at]),
                "recall": float(found.predictions.recall[at]),
                "precision": _number(found.predictions.precision[at]),
                "component_share": float(shares[best == at].mean()) if at in best else None,
                "known": at < P.shape[1],
            }
            for at, name in enumerate(truth.names)
            if found.predictions.support[at]
        ],
    }


def _of_predictions(found: Any) -> dict[str, float]:
    scores = found.predictions
    if scores.multilabel:
        return {
            "micro_f1": scores.micro_f1,
            "macro_f1": scores.macro_f1,
            "subset_accuracy": scores.accuracy,
            "most_frequent_label_f1": found.commonest,
        }
    return {
        "micro_accuracy": scores.accuracy,
        "macro_accuracy": scores.macro_accuracy,
        "most_frequent_label_accuracy": found.commonest,
    }


def _number(value: float) -> float | None:
    """Convert NaN, which JSON does not have, to None."""
    return None if value != value else float(value)


def _of_components(fitted: Any, X: Any, texts: list[str] | None) -> dict[str, float | None]:
    """Return coherence, diversity, exclusivity and held-out log-likelihood."""
    from vbnmf.metrics import document_npmi
    from vbnmf.report import measures

    estimator = fitted.estimator_
    shown = estimator.components_[measures.lasting(estimator)]
    return {
        "npmi_documents": float(document_npmi(shown, X, measures.TOP).mean()),
        "npmi_windows": measures.npmi_by_windows(fitted, texts),
        **measures.distinctness(estimator),
        "held_out_log_likelihood": measures.held_out_log_likelihood(estimator, X),
    }


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
    lines = [*_prediction_lines(scores), *_component_lines(scores)]
    known = [(name, f"{value:.4f}", said) for name, value, said in lines if value is not None]
    width = max(len(name) for name, _, _ in known)
    numbers = "\n".join(
        f"{name:{width}}   {value:>7}   {said}".rstrip() for name, value, said in known
    )
    n_faded = scores["faded_components"]
    faded = f"NPMI, diversity and exclusivity ignore {n_faded} faded components.\n"
    return (
        f"{by_label}\n\n{numbers}\n{faded if n_faded else ''}\n"
        "recall: of the documents with this label, the part that was predicted as this label\n"
        "precision: of the documents predicted as this label, the part that has it\n"
        "component share: of the label's score, the part that comes from components"
    )


def _prediction_lines(scores: dict[str, Any]) -> list[Line]:
    of = f"of {scores['documents']:,} documents"
    if "micro_f1" in scores:
        simplest = f"baseline: commonest label {scores['most_frequent_label_f1']:.4f}"
        return [
            ("micro F1", scores["micro_f1"], f"{of} ({simplest})"),
            ("macro F1", scores["macro_f1"], "mean F1 over labels"),
            ("subset accuracy", scores["subset_accuracy"], "exactly the true labels predicted"),
            *_trust_lines(scores),
        ]
    simplest = f"baseline: commonest label {scores['most_frequent_label_accuracy']:.4f}"
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
