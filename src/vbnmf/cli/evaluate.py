"""vbnmf evaluate: how well a model predicts the labels of documents."""

from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.tables import percent, table


@click.command(short_help="Score a model on labelled documents.")
@click.argument("model")
@click.argument("file")
@click.option("--label", metavar="COL", default="auto", show_default=True,
              help="Column of labels; that of the fit if it is there.")  # fmt: skip
@common.reading
@common.jobs
@common.config
@common.quiet
@common.as_json
def evaluate(
    model: str, file: str, label: str, jobs: int | None, quiet: bool, as_json: bool, **reading: Any
) -> None:
    """Score the predictions of MODEL on the labelled documents in FILE.

    Micro accuracy is the part of documents whose label was found; macro accuracy is the mean of
    that part over labels, rare ones counting as much as common ones.

    \b
    Example:
      vbnmf evaluate tickets.vbnmf held-out.csv --label team
    """  # noqa: D301
    fitted = common.load_model(model)
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so there is nothing to score.")
    fitted.estimator_.set_params(n_jobs=jobs)
    documents = common.read_for(fitted, file, quiet, label=label, **reading)
    scores = score(fitted, common.content(fitted, documents), documents.labels)
    if as_json:
        common.print_json(scores)
    else:
        click.echo(score_table(scores))


def score(fitted: Any, contents: Any, labels: Any) -> dict[str, Any]:
    """Accuracies, sparsities, and a row for each label."""
    import numpy as np
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    from vbnmf.core.sparsity import hoyer_sparsity, inter_label_sparsity
    from vbnmf.documents import is_empty

    y = np.array([str(label) for label in labels], dtype=object)
    has_label = np.array([label is not None for label in labels])
    if not has_label.any():
        raise ValueError("no document has a label, so there is nothing to score. Check --label.")
    X = fitted.vectorize(contents)[has_label]
    estimator = fitted.estimator_
    V, empty, y = estimator.transform(X), is_empty(X), y[has_label]
    predicted = estimator.labels_from(estimator.probabilities_of(V, X))
    predicted = np.array([str(label) for label in predicted], dtype=object)
    names = sorted(set(y))
    precision, recall, _, support = precision_recall_fscore_support(
        y, predicted, labels=names, zero_division=0.0
    )
    known = {str(label) for label in fitted.estimator_.classes_}
    commonest = str(fitted.estimator_.classes_[np.argmax(fitted.estimator_.label_counts_)])
    return {
        "documents": len(y),
        "documents_without_known_term": int(empty.sum()),
        "micro_accuracy": float(accuracy_score(y, predicted)),
        "macro_accuracy": float(np.mean(recall)),
        "most_frequent_label_accuracy": float(np.mean(y == commonest)),
        "coefficient_sparsity": hoyer_sparsity(V),
        "inter_label_sparsity": inter_label_sparsity(V, y),
        "labels": [
            {
                "label": name,
                "documents": int(n),
                "found": float(r),
                "right": float(p),
                "known": name in known,
            }
            for name, n, r, p in zip(names, support, recall, precision, strict=True)
        ],
    }


def score_table(scores: dict[str, Any]) -> str:
    """The scores for people."""
    rows = [
        [
            row["label"] + ("" if row["known"] else " (not in the model)"),
            f"{row['documents']:,}",
            percent(row["found"]),
            percent(row["right"]),
        ]
        for row in scores["labels"]
    ]
    by_label = table(["label", "documents", "found", "right"], rows, right=(1, 2, 3))
    return (
        f"{by_label}\n\n"
        f"micro accuracy         {scores['micro_accuracy']:.4f}   of {scores['documents']:,} "
        f"documents ({scores['most_frequent_label_accuracy']:.4f} by saying the commonest label)\n"
        f"macro accuracy         {scores['macro_accuracy']:.4f}   mean over labels\n"
        f"coefficient sparsity   {scores['coefficient_sparsity']:.4f}\n"
        f"inter-label sparsity   {scores['inter_label_sparsity']:.4f}\n\n"
        "found: part of the label's documents that were given it; right: part of the documents "
        "given it that have it."
    )
