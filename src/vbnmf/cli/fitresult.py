"""What a fit says when it ends, in words or as JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbnmf.cli import common
from vbnmf.cli.terminal import percent, rounded

if TYPE_CHECKING:
    from vbnmf.pipeline import DocumentModel


def tell_result(
    model: "DocumentModel", target: Path, n_docs: int, n_unknown: int, *, quiet: bool, as_json: bool
) -> None:
    """Say what was fitted, in words or as JSON."""
    result = {
        "model": str(target),
        "documents": n_docs,
        "documents_without_label": n_unknown,
        "documents_without_known_term": model.n_empty_,
        "terms": len(model.terms_),
        "components": model.estimator_.n_components_,
        "components_reason": model.estimator_.n_components_reason_,
        "components_glued": _n_glued(model),
        "labels": len(model.estimator_.classes_) if model.has_labels else 0,
        **_of_prediction(model),
        "iterations": int(model.estimator_.n_iter_),
        "bound": model.estimator_.bound_,
        "hyperparameters": model.estimator_.hyperparameters_,
        "passages": _passages(model),
    }
    _tell_of_checkpoint(model.estimator.checkpoint, quiet)
    if as_json:
        common.print_json(result)
        return
    if model.estimator.n_components == "auto":
        common.say(f"{result['components_reason']}.", quiet)
    if model.has_labels:
        if result["components_glued"]:
            common.say(_glued(model), quiet)
        common.say(f"Prediction head: {_said(result)}.", quiet)
    if result["passages"]:
        common.say(_of_passages(result["passages"]), quiet)
    common.say(
        f"Wrote {target}: {result['components']} components of {result['terms']:,} terms, bound "
        f"{result['bound']:,.0f} after {result['iterations']} iterations.\n"
        f"Show the components with: vbnmf topics {target}",
        quiet,
    )


def _n_glued(model: "DocumentModel") -> int:
    """Count the components from which labels take different terms."""
    from vbnmf.description.scopes import scopes_of

    scopes = scopes_of(model.estimator_) if model.has_labels else None
    return sum(scope.kind == "joined" for scope in scopes or ())


def _glued(model: "DocumentModel") -> str:
    """Say how many components join different terms of labels, and why."""
    n, K, n_labels = _n_glued(model), model.estimator_.n_components_, len(model.classes_)
    several = "1 component joins" if n == 1 else f"{n} components join"
    said = f"{several} different terms of several labels, as vbnmf topics shows"
    if n_labels > K:
        return f"{said}: there are {K} components for {n_labels} labels. Use a larger -k."
    return f"{said}. With a larger -k there may be fewer."


def _tell_of_checkpoint(checkpoint: str | None, quiet: bool) -> None:
    """Say that a fit ended before its first checkpoint."""
    from vbnmf.estimators.checkpoints import has_checkpoint

    if checkpoint is not None and not has_checkpoint(checkpoint):
        common.say(
            "The fit took less than a minute, so no checkpoint was written and none is needed.",
            quiet,
        )


def _passages(model: "DocumentModel") -> list[dict[str, Any]]:
    """Return the passages that recur: their terms, and the documents that have half of them."""
    passages = model.estimator_.passages_
    if passages is None:
        return []
    return [
        {"documents": n, "terms": [str(model.terms_[w]) for w in columns]}
        for columns, n in zip(passages.terms, passages.documents, strict=True)
    ]


def _of_passages(passages: list[dict[str, Any]]) -> str:
    """Say that passages recur, what was done, and how to leave them out."""
    longest = max(passages, key=lambda one: len(one["terms"]))
    many = len(passages) > 1
    return (
        f"{len(passages):,} {'passages recur' if many else 'passage recurs'} (signatures, headers, "
        f"boilerplate): {'the longest' if many else 'it'} has {len(longest['terms']):,} terms in "
        f"{longest['documents']:,} documents; lists show one term of each. To leave them out, "
        "remove them from the texts, or put their terms, which --json prints, into a file for "
        "--stop-words."
    )


def _of_prediction(model: "DocumentModel") -> dict[str, Any]:
    """Return the prediction head, why it was chosen, and the share of components in it."""
    if not model.has_labels:
        return {"classifier": None, "classifier_reason": None, "component_share": None}
    fitted = model.estimator_
    return {
        "classifier": fitted.classifier_,
        "classifier_reason": fitted.classifier_reason_,
        "component_share": rounded(fitted.component_share_),
    }


def _said(result: dict[str, Any]) -> str:
    """Describe the prediction head in words."""
    names = {"components": "components only", "generative": "generative, from the fitted model"}
    name = names.get(result["classifier"], result["classifier"])
    if result["classifier"] == "words and components":
        name = f"components ({percent(result['component_share'])} of the scores) and single words"
    return f"{name}. Reason: {result['classifier_reason']}"
