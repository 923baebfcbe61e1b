"""vbnmf update: bring a saved model up to date with new documents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from vbnmf.cli import common, options
from vbnmf.cli.progress import DocumentProgress
from vbnmf.cli.terminal import percent, table

_SHOWN = 5  # labels and components in the tables
_MOST_NAMES = 10  # new labels in the sentence about them
_NAME_TERMS = 4  # terms that name a component


@click.command(
    cls=options.GroupedCommand, short_help="Bring a model up to date with new documents."
)
@click.argument("model")
@click.argument("file")
@options.labels_of_model
@click.option("--out", metavar="NEW", help="Model file to write.  [default: MODEL is replaced]")
@options.reading
@options.n_jobs
@options.force
@options.trusted
@options.config
@options.quiet
@options.as_json
def update(
    model: str, file: str, label: tuple[str, ...], label_separator: str | None, out: str | None,
    n_jobs: int, force: bool, quiet: bool, as_json: bool, **reading: Any,
) -> None:  # fmt: skip
    """Learn from the documents in FILE, in addition to those that MODEL has seen.

    Components and label rates move towards the new documents. The more documents the model has
    seen, the less they move. New labels are added. The vocabulary does not change. Prints what has
    changed.

    A model that was fitted with `vbnmf fit --updatable` holds a sample of its documents, on which
    its prediction head is trained again. Other models keep their prediction head until the files
    given to `update` have enough documents of each label.

    \b
    Examples:
      vbnmf update tickets.vbnmf june.csv
      vbnmf update tickets.vbnmf june.csv --label team --out tickets-june.vbnmf
    """  # noqa: D301
    target = Path(model) if out is None else common.check_out(out, force, model, file)
    fitted = common.load_model(model)
    if out is None:
        common.check_writable_file(target)
    n_jobs_before = fitted.estimator_.n_jobs
    fitted.estimator_.set_params(n_jobs=n_jobs)
    columns = common.column_names(label) if fitted.has_labels else None
    separator = label_separator if fitted.has_labels else None
    documents = common.read_for(
        fitted, file, quiet, label=columns, label_separator=separator, **reading
    )
    unknown = common.UnknownDocuments()
    with unknown.among(documents):
        labels = None if documents.labels is None else matched(fitted, documents.labels)
        with DocumentProgress(quiet, "updating", len(documents)) as progress:
            result = learn(fitted, common.content(fitted, documents), labels, progress)
    unknown.report(quiet)
    fitted.estimator_.set_params(n_jobs=n_jobs_before)
    common.save_model(fitted, target, overwrite=force or out is None)
    common.message(f"Wrote {target}.", quiet)
    if as_json:
        common.print_json({"model": str(target), **result})
    else:
        click.echo(described(result))


def matched(fitted: Any, labels: Any) -> list[Any]:
    """Return labels with the names and types that they have in the model; None if unknown."""
    from vbnmf.data.labels import KnownLabels

    classes = fitted.classes_.tolist()
    known = KnownLabels(classes, fitted.estimator_.unlabelled)
    values = dict(zip(known.names, classes, strict=True))
    whole = all(isinstance(label, int) for label in classes)

    def value(name: str) -> Any:
        is_number = whole and name.lstrip("-").isdecimal()
        return values.get(name, int(name) if is_number else name)

    found = [[value(name) for name in known.match(label)] for label in labels]
    if fitted.has_several_labels or any(len(row) > 1 for row in found):
        return found
    return [row[0] if row else None for row in found]


def learn(
    fitted: Any, contents: Any, labels: Any, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Learn from documents, and return what has changed."""
    from vbnmf.core.rows import is_empty
    from vbnmf.evaluation import accuracy
    from vbnmf.text.vectorizer import unknown_terms

    before = Snapshot(fitted)
    X = fitted.vectorize(contents)
    words = None
    if X is not contents:
        words = unknown_terms(fitted.vectorizer_, contents)
    right, n_labelled = None, 0
    if labels is not None and not fitted.has_several_labels:
        right, n_labelled = accuracy(fitted, X, labels)
    done = 0
    progress(done)
    for rows in in_batches(X.shape[0], fitted.estimator_.n_samples_seen_):
        some = None if labels is None else [labels[i] for i in rows]
        fitted.partial_fit(X[rows], some)
        done += len(rows)
        progress(done)
    return {
        "documents": X.shape[0],
        "labelled_documents": n_labelled,
        "documents_seen": round(fitted.estimator_.n_samples_seen_),
        "documents_without_known_term": int(is_empty(X).sum()),
        "unknown_word_share": None if words is None else words.share,
        "unknown_words": [] if words is None else [word for word, _ in words.commonest],
        "accuracy_before": right,
        **before.changes(fitted),
    }


def in_batches(n_docs: int, seen: float) -> list[list[int]]:
    """Divide documents into batches of no more documents than were seen before, mixed."""
    import numpy as np

    order = np.random.default_rng(0).permutation(n_docs)
    batches, begin = [], 0
    while begin < n_docs:
        size = max(int(seen), 1)
        size = n_docs - begin if n_docs - begin < 1.5 * size else size
        batches.append(np.sort(order[begin : begin + size]).tolist())
        begin, seen = begin + size, seen + size
    return batches


class Snapshot:
    """What a model is before an update, to tell what has changed after it."""

    def __init__(self, fitted: Any) -> None:
        from vbnmf.description.components import component_names, label_use, row_parts

        of = fitted.estimator_
        self._labels = of.classes_.tolist() if fitted.has_labels else []
        self._counts = dict(zip(self._labels, getattr(of, "label_counts_", ()), strict=True))
        self._use = dict(zip(self._labels, label_use(of), strict=True))
        self._terms = row_parts(of.components_)
        self._names = component_names(fitted, fitted.terms_, _NAME_TERMS)

    def changes(self, fitted: Any) -> dict[str, Any]:
        """Return new labels, the labels and components that changed most, and the head."""
        import numpy as np

        from vbnmf.description.components import component_names, label_use, row_parts

        of, K = fitted.estimator_, len(self._terms)
        names = component_names(fitted, fitted.terms_, _NAME_TERMS)
        moved = 0.5 * np.abs(row_parts(of.components_)[:K] - self._terms).sum(axis=1)
        components = [
            {
                "component": int(k),
                "change": float(moved[k]),
                "before": self._names[k],
                "after": names[k],
            }
            for k in np.argsort(-moved, kind="stable")
        ]
        if not fitted.has_labels:
            return {"components": components, "new_components": len(names) - K}
        labels: list[dict[str, Any]] = []
        for label, use, n_docs in zip(of.classes_, label_use(of), of.label_counts_, strict=True):
            known = label in self._use
            use_before = np.append(self._use[label], np.zeros(len(use) - K)) if known else 0 * use
            labels.append(
                {
                    "label": str(label),
                    "documents": int(n_docs - self._counts.get(label, 0)),
                    "documents_seen": int(n_docs),
                    "change": 0.5 * float(np.abs(use - use_before).sum()) if known else None,
                    "new": not known,
                }
            )
        labels.sort(key=lambda row: (not row["new"], -(row["change"] or 0)))
        return {
            "components": components,
            "new_components": len(names) - K,
            "labels": labels,
            "new_labels": [row["label"] for row in labels if row["new"]],
            "classifier": of.classifier_,
            "head_trained": of.fitted_.sample is not None and of.fitted_.sample.follows,
        }


def described(result: dict[str, Any]) -> str:
    """Describe what has changed, for a terminal."""
    n_new = common.counted(result["documents"], "new document")
    lines = [f"{n_new}, {result['documents_seen']:,} seen in all."]
    if result["accuracy_before"] is not None:
        of = common.counted(result["labelled_documents"], "labelled document")
        right = percent(result["accuracy_before"])
        lines.append(f"Predicted correctly before the update: {right} of {of}.")
    if result["unknown_word_share"] is not None:
        most = ", ".join(result["unknown_words"][:_SHOWN])
        share = percent(result["unknown_word_share"])
        most = common.printable(most)
        lines.append(f"{share} of their words are not in the vocabulary: {most}." if most
                     else "All of their words are in the vocabulary.")  # fmt: skip
    if "labels" in result:
        labels = result["new_labels"]
        added = result["new_components"]
        said = f" Components added for them: {added}." if added else ""
        more = len(labels) - _MOST_NAMES
        names = common.printable(", ".join(labels[:_MOST_NAMES]))
        names += f" and {more:,} more" if more > 0 else ""
        lines.append(f"New labels: {names}.{said}" if labels else "No new labels.")
        lines.append(_head(result))
        rows = [
            [
                row["label"],
                f"{row['documents']:,}",
                f"{row['documents_seen']:,}",
                "new" if row["new"] else percent(row["change"]),
            ]
            for row in result["labels"][:_SHOWN]
        ]
        head = ["label", "new documents", "seen in all", "change of components"]
        lines += ["", table(head, rows, right=(1, 2, 3))]
    rows = [
        [str(row["component"]), percent(row["change"]), row["before"], row["after"]]
        for row in result["components"][:_SHOWN]
    ]
    lines += ["", table(["component", "change", "terms before", "terms now"], rows, right=(0, 1))]
    return "\n".join(lines)


def _head(result: dict[str, Any]) -> str:
    if result["head_trained"]:
        return "The prediction head was trained again, on the sample of documents in the model."
    if result["classifier"] == "generative":
        return "The prediction head follows from the components and the label rates."
    kept = "The prediction head was kept: the model holds too few documents of each label to train"
    kept += " another one."
    if result["new_labels"]:
        kept += " It does not predict the new labels yet. Fit with --updatable to avoid this."
    return kept
