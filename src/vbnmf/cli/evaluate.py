"""vbnmf evaluate: how well a model predicts the labels of documents."""

from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.tables import percent, table

Names = list[list[str]]  # labels of each document
Rows = list[dict[str, Any]]
Line = tuple[str, float | None, str]  # a measure's name, value and meaning


@click.command(short_help="Score a model on labelled documents.")
@click.argument("model")
@click.argument("file")
@click.option("--label", metavar="COL", multiple=True, default=("auto",), show_default=True,
              help="Column of labels; that of the fit if it is there. Again for more "
              "columns.")  # fmt: skip
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

    Micro accuracy is the part of documents whose label was found; macro accuracy is the mean of
    that part over labels, rare ones counting as much as common ones. If documents may have several
    labels: F1 of all labels given, its mean over labels, and the part of documents that were given
    all their labels and no other. Measures of the components follow: how sparse, readable and
    distinct they are, and how well they tell the half of a document from the other half.

    \b
    Example:
      vbnmf evaluate tickets.vbnmf held-out.csv --label team
    """  # noqa: D301
    fitted = common.load_model(model)
    if not fitted.has_labels:
        raise ValueError(f"{model} was fitted without labels, so there is nothing to score.")
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
    """Accuracies (F1 where documents have several labels), components, a row for each label."""
    import numpy as np

    from vbnmf.core.rows import is_empty
    from vbnmf.data.labels import KnownLabels
    from vbnmf.metrics import hoyer_sparsity, inter_label_sparsity

    has_label = np.array([label is not None for label in labels])
    if not has_label.any():
        raise ValueError("no document has a label, so there is nothing to score. Check --label.")
    known = KnownLabels(fitted.estimator_.classes_.tolist())
    y = [known.match(label) for label in labels if label is not None]
    several = fitted.has_several_labels
    if not several and any(isinstance(label, list) for label in labels):
        raise ValueError(
            "the documents have several labels each, but the model was fitted to documents of one "
            "and gives one. Fit it to documents with several labels, or check --label."
        )
    X = fitted.vectorize(contents)[has_label]
    is_matrix = getattr(contents, "ndim", 1) == 2
    texts = None if is_matrix else [contents[i] for i in np.flatnonzero(has_label)]
    estimator = fitted.estimator_
    V = estimator.transform(X)
    P = estimator.predict_proba(X)
    given = estimator.labels_from(P)
    if several:
        predicted = [[known.names[i] for i in np.flatnonzero(row)] for row in given]
    else:
        predicted = [known.match(label) for label in given.tolist()]
    commonest = known.names[int(np.argmax(estimator.label_counts_))]
    numbers, rows = (_f1 if several else _accuracies)(y, predicted, commonest)
    shares, best = estimator.component_share(X), P.argmax(axis=1)
    by_label = {
        name: float(shares[best == at].mean()) for at, name in enumerate(known.names) if at in best
    }
    repeats = [len(names) for names in y]  # a document counts for each of its labels
    return {
        "documents": len(y),
        "documents_without_known_term": int(is_empty(X).sum()),
        **numbers,
        "calibration_error": _calibration_error(P, y, predicted, known.names, several=several),
        "component_share": float(shares.mean()),
        "coefficient_sparsity": hoyer_sparsity(V),
        "inter_label_sparsity": inter_label_sparsity(np.repeat(V, repeats, axis=0), _flat(y)),
        **_of_components(fitted, X, texts),
        "faded_components": int(estimator.faded_.sum()),
        "labels": [
            {
                **row,
                "component_share": by_label.get(row["label"]),
                "known": row["label"] in known.names,
            }
            for row in rows
        ],
    }


def _calibration_error(
    P: Any, y: Names, predicted: Names, known: list[str], *, several: bool
) -> float:
    """Distance of probabilities from how often they were right."""
    import numpy as np

    from vbnmf.metrics import calibration_error

    if several:
        right = np.array([[name in names for name in known] for names in y])
        return calibration_error(P.ravel(), right.ravel())
    return calibration_error(P.max(axis=1), [a == b for a, b in zip(y, predicted, strict=True)])


def _of_components(fitted: Any, X: Any, texts: list[str] | None) -> dict[str, float | None]:
    """How readable and distinct the components are, and how well they tell unseen terms."""
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


def _accuracies(y: Names, predicted: Names, commonest: str) -> tuple[dict[str, float], Rows]:
    """Of documents with one label."""
    import numpy as np
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    truth, given = _flat(y), _flat(predicted)
    names = sorted(set(truth))
    precision, recall, _, support = precision_recall_fscore_support(
        truth, given, labels=names, zero_division=0.0
    )
    numbers = {
        "micro_accuracy": float(accuracy_score(truth, given)),
        "macro_accuracy": float(np.mean(recall)),
        "most_frequent_label_accuracy": float(np.mean([name == commonest for name in truth])),
    }
    return numbers, _rows(names, support, recall, precision)


def _f1(y: Names, predicted: Names, commonest: str) -> tuple[dict[str, float], Rows]:
    """Of documents with several labels."""
    import numpy as np
    from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    names = sorted({*_flat(y), *_flat(predicted), commonest})
    table = MultiLabelBinarizer(classes=names)
    truth, given = table.fit_transform(y), table.transform(predicted)
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, given, zero_division=0.0
    )
    simplest = table.transform([[commonest]] * len(y))
    had = np.flatnonzero(support)  # a label that no document has can be given, but not found
    numbers = {
        "micro_f1": float(f1_score(truth, given, average="micro", zero_division=0.0)),
        "macro_f1": float(np.mean(f1[had])),
        "subset_accuracy": float(accuracy_score(truth, given)),
        "most_frequent_label_f1": float(
            f1_score(truth, simplest, average="micro", zero_division=0.0)
        ),
    }
    return numbers, _rows([names[i] for i in had], support[had], recall[had], precision[had])


def _rows(names: list[str], support: Any, recall: Any, precision: Any) -> Rows:
    return [
        {"label": name, "documents": int(n), "found": float(r), "right": float(p)}
        for name, n, r, p in zip(names, support, recall, precision, strict=True)
    ]


def _flat(names: Names) -> list[str]:
    return [name for labels in names for name in labels]


def score_table(scores: dict[str, Any]) -> str:
    """The scores for people."""
    rows = [
        [
            row["label"] + ("" if row["known"] else " (not in the model)"),
            f"{row['documents']:,}",
            percent(row["found"]),
            percent(row["right"]),
            "–" if row["component_share"] is None else percent(row["component_share"]),
        ]
        for row in scores["labels"]
    ]
    names = ["label", "documents", "found", "right", "components"]
    by_label = table(names, rows, right=(1, 2, 3, 4))
    lines = [*_prediction_lines(scores), *_component_lines(scores)]
    known = [(name, f"{value:.4f}", said) for name, value, said in lines if value is not None]
    width = max(len(name) for name, _, _ in known)
    numbers = "\n".join(
        f"{name:{width}}   {value:>7}   {said}".rstrip() for name, value, said in known
    )
    n_faded = scores["faded_components"]
    faded = f"{n_faded} faded components are left out of NPMI, diversity and exclusivity.\n"
    return (
        f"{by_label}\n\n{numbers}\n{faded if n_faded else ''}\n"
        "found: part of the label's documents that were given it; right: part of the documents "
        "given it that have it; components: share of the decisions for it that they carry."
    )


def _prediction_lines(scores: dict[str, Any]) -> list[Line]:
    of = f"of {scores['documents']:,} documents"
    if "micro_f1" in scores:
        simplest = f"{scores['most_frequent_label_f1']:.4f} by saying the commonest label"
        return [
            ("micro F1", scores["micro_f1"], f"{of} ({simplest})"),
            ("macro F1", scores["macro_f1"], "mean over labels"),
            ("subset accuracy", scores["subset_accuracy"], "all labels of a document and no other"),
            *_trust_lines(scores),
        ]
    simplest = f"{scores['most_frequent_label_accuracy']:.4f} by saying the commonest label"
    return [
        ("micro accuracy", scores["micro_accuracy"], f"{of} ({simplest})"),
        ("macro accuracy", scores["macro_accuracy"], "mean over labels"),
        *_trust_lines(scores),
    ]


def _trust_lines(scores: dict[str, Any]) -> list[Line]:
    off = "mean distance of probabilities from how often they are right"
    share = "share of the decisions that components carry; the rest is single words"
    return [
        ("calibration error", scores["calibration_error"], off),
        ("component share", scores["component_share"], share),
    ]


def _component_lines(scores: dict[str, Any]) -> list[Line]:
    from vbnmf.report.measures import DIVERSE, TOP, WINDOW

    together = f"of the {TOP} strongest terms: -1 never together, 0 by chance, 1 always"
    distinct = f"part of all components' {DIVERSE} strongest terms that is distinct"
    share = f"mean share of a component in its {TOP} strongest terms"
    half = "a unit of weight: half of each document by the other half"
    return [
        ("coefficient sparsity", scores["coefficient_sparsity"], ""),
        ("inter-label sparsity", scores["inter_label_sparsity"], ""),
        ("NPMI by documents", scores["npmi_documents"], together),
        (f"NPMI by windows of {WINDOW} tokens", scores["npmi_windows"], "the same"),
        ("diversity", scores["diversity"], distinct),
        ("exclusivity", scores["exclusivity"], share),
        ("held-out log-likelihood", scores["held_out_log_likelihood"], half),
    ]
