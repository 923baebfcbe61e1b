"""Convert the records of a fitted model to arrays and headers of model files, and back.

Each record of ``posterior`` has a function that writes it and one that reads and checks it. The
prediction head converts itself (``prediction.training``). Nothing here needs the estimators, so
that a program that only predicts starts fast (``labelpredictor``).
"""

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from vbnmf.core.filled import FilledRows, column_limits
from vbnmf.core.model import Array
from vbnmf.estimators.posterior import (
    Components,
    Course,
    DocumentCounts,
    Fitted,
    FittedLabels,
    HeadSample,
    LabelPosterior,
    PredictingState,
    Reservoir,
    Seen,
    TermView,
    TrainedHead,
    UsedHead,
)
from vbnmf.estimators.validation import LABEL_SHAPES
from vbnmf.prediction.training import head_from_state, head_to_state
from vbnmf.store import (
    LARGEST,
    ModelFileError,
    check_array,
    check_doubles,
    check_mask,
    check_number,
    check_packed,
    check_sentence,
    check_whole,
    packed,
    read_rows,
    with_prefix,
)

if TYPE_CHECKING:
    from vbnmf.metrics.passages import Passages

_LARGEST_RATE = 1e100  # of a label: quotients and products with components stay finite
_LARGEST_BOUND = 1e100
_LARGEST_IN_SAMPLE = 1e30  # values and weights of documents
_LARGEST_AGREEMENT = 1e12  # the cosine of random halves is at least 10⁻¹²
_NO_AGREEMENT = -1.0  # of components that are not shared
_MOST_DOCUMENTS = 1e15  # by their weights
_MOST_COUNTED = np.iinfo(np.int32).max  # documents
_SUM_TO_ONE = 1e-6  # tolerance of the sum of frequencies
_ROUNDING = 1e-2  # relative tolerance of sums in another order or precision

_HYPERPARAMETERS = ("term_shape", "term_scale", "coef_shape", "coef_scale")
_OF_LABELS = ("label_shape", "label_scale")

State = tuple[dict[str, Any], dict[str, Array]]
"""Entries of a header, in types of JSON, and arrays."""

NOT_FOR_PREDICTIONS = (
    "label_terms.", "term_documents", "left_out_proba", "head_document", "component_agreement",
    "component_share_by_label", "sample.", "bound_history",
)  # fmt: skip
"""Beginnings of the names of arrays that ``predicting_from_state`` does not read."""


def to_state(of: Fitted) -> State:
    """Return entries of a header and the arrays of a fitted model."""
    header: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    parts = [_from_components(of.components), _from_course(of.course, of.seen)]
    if isinstance(of, FittedLabels):
        head = _from_head(of.head, of.counts.n_docs)
        parts += [_from_labels(of.labels), _from_counts(of.counts), head]
        parts += [_from_sample(of.sample)] if of.sample is not None else []
    for more_header, more_arrays in (*parts, _from_terms(of.terms)):
        header, arrays = header | more_header, arrays | more_arrays
    return header, arrays


def from_state(
    header: dict[str, Any], arrays: dict[str, Array], *, labelled: bool, n_features: int
) -> Fitted:
    """Rebuild the records of a model. Damaged content raises ``ValueError`` or similar errors.

    Parameters
    ----------
    header, arrays
        The result of ``to_state``.
    labelled : bool
        Whether the model has labels.
    n_features : int
        Number of columns of X that only the head uses.
    """
    names = (*_HYPERPARAMETERS, *_OF_LABELS) if labelled else _HYPERPARAMETERS
    components = _to_components(header, arrays, names)
    n_terms, K = components.shapes.shape
    course, seen = _to_course(header, arrays), _to_seen(header)
    n_columns = n_terms + n_features
    terms = TermView(_describing_terms(arrays, K, n_terms), read_passages(header, arrays, n_terms))
    if not labelled:
        return Fitted(components, course, seen, terms)
    labels = _to_labels(header, arrays, K)
    return FittedLabels(
        components,
        course,
        seen,
        terms,
        labels,
        _to_counts(header, arrays, labels, n_terms),
        _to_head(header, arrays, labels, K, n_columns),
        _to_sample(header, arrays, labels, components, n_columns),
    )


def predicting_from_state(
    header: dict[str, Any], arrays: dict[str, Array], n_features: int
) -> PredictingState:
    """Rebuild only what predictions need; see ``from_state``."""
    components = _to_components(header, arrays, (*_HYPERPARAMETERS, *_OF_LABELS))
    n_terms, K = components.shapes.shape
    terms = TermView(_describing_terms(arrays, K, n_terms), read_passages(header, arrays, n_terms))
    labels = _to_labels(header, arrays, K)
    head = _to_used_head(header, arrays, labels, K, n_terms + n_features)
    return PredictingState(components, terms, labels, head)


# Components


def _from_components(of: Components) -> State:
    header = {
        "hyperparameters": of.hyperparameters,
        "background": of.background,
        "n_components_reason": of.reason,
    }
    return header, {
        **packed("component_shapes", of.shapes),
        "component_scales": of.scales,
        "component_sums": of.sums,
    }


def _to_components(
    header: dict[str, Any], arrays: dict[str, Array], names: tuple[str, ...]
) -> Components:
    scales = check_doubles(arrays, "component_scales", (None,), positive=True)
    K = len(scales)
    # the digamma function of smaller shapes is not finite
    shapes = check_packed(arrays, "component_shapes", (None, K), least=1 / LARGEST, most=LARGEST)
    if len(shapes) < 1 or K < 1:
        raise ModelFileError("the components are empty: the file is damaged.")
    background = header["background"]
    if background is not None and check_whole(background) >= K:
        raise ModelFileError(f"the background is component {background}, but there are {K}.")
    of = Components(
        shapes,
        scales,
        check_doubles(arrays, "component_sums", (K,), positive=True),
        {key: _positive(header["hyperparameters"], key) for key in names},
        check_sentence(header, "n_components_reason"),
        background,
    )
    low, high, sums = _by_component(shapes)
    with np.errstate(over="ignore", under="ignore"):  # the least and largest means
        low, high = (ends * scales.astype(shapes.dtype) for ends in (low, high))
        totals = of.sums / scales
    if not np.isfinite(high).all() or totals.max() > LARGEST:
        raise ModelFileError("the components are too large: the file is damaged.")
    if not (low > 0).all():
        raise ModelFileError("the components are too small: the file is damaged.")
    if not np.allclose(sums, totals, rtol=_ROUNDING, atol=0):
        raise ModelFileError("the sums do not match the components: the file is damaged.")
    return of


def _by_component(shapes: Array | FilledRows) -> tuple[Array, Array, Array]:
    """Return the least and the largest shape of each component, and their sums, (K,) each."""
    low, high = column_limits(shapes)
    if not isinstance(shapes, FilledRows):
        return low, high, shapes.sum(axis=0, dtype=np.float64)
    sums = np.bincount(shapes.columns, shapes.values, shapes.width)
    return low, high, sums + shapes.n_filled * np.float64(shapes.fill)


# The course of the fit, and the documents seen


def _from_course(of: Course, seen: Seen) -> State:
    header = {
        "bound": float(of.bound),
        "n_iter": int(of.n_iter),
        "seen": {"documents": seen.n_docs, "total": seen.total, "steps": seen.n_steps},
    }
    return header, {"bound_history": of.history}


def _to_course(header: dict[str, Any], arrays: dict[str, Array]) -> Course:
    most = _LARGEST_BOUND
    history = check_array(arrays, "bound_history", (None,), least=-most, most=most)
    if not len(history):
        raise ModelFileError("the history of the bound is empty: the file is damaged.")
    bound = check_number(header, "bound", least=-most, most=most)
    return Course(bound, history, check_whole(header["n_iter"]))


def _to_seen(header: dict[str, Any]) -> Seen:
    stored = header["seen"]
    steps = check_whole(stored["steps"])
    if steps > _MOST_DOCUMENTS:
        raise ModelFileError(f"the number of batches is {steps}: the file is damaged.")
    return Seen(_documents(stored, "documents"), _documents(stored, "total"), steps)


def _documents(stored: Any, key: str) -> float:
    """Read a number of documents by their weights."""
    return check_number(stored, key, least=1e-9, most=_MOST_DOCUMENTS)


# The terms that describe components, and passages


def _from_terms(of: TermView) -> State:
    passages = of.passages
    header = {"passages": {"number": len(passages), "examined": passages.examined}}
    arrays = {} if of.describing is None else {"describing_terms": of.describing}
    if not len(passages):
        return header, arrays
    return header, arrays | {
        "passages.terms": np.array([w for terms in passages.terms for w in terms], np.int32),
        "passages.ends": np.cumsum([len(terms) for terms in passages.terms], dtype=np.int64),
        "passages.documents": np.array(passages.documents, np.int32),
    }


def _describing_terms(arrays: dict[str, Array], K: int, n_terms: int) -> Array | None:
    """Read the terms that describe each component; None after a batch without labels."""
    terms = arrays.get("describing_terms")
    if terms is None:
        return None
    sound = (
        terms.dtype == np.int32
        and terms.ndim == 2
        and terms.shape[0] == K
        and 1 <= terms.shape[1] <= n_terms
        and terms.min() >= 0
        and terms.max() < n_terms
        and (np.diff(np.sort(terms, axis=1), axis=1) > 0).all()
    )
    if not sound:
        raise ModelFileError("the terms that describe components are damaged.")
    return terms


def read_passages(header: dict[str, Any], arrays: dict[str, Array], n_terms: int) -> "Passages":
    """Read the passages of a model.

    Raises
    ------
    ModelFileError
        The passages contradict one another or the number of terms.
    """
    from vbnmf.metrics.passages import LEAST_TERMS, Passages  # its room imports scikit-learn

    number, examined = header["passages"]["number"], header["passages"]["examined"]
    if not all(type(n) is int and 0 <= n <= _MOST_COUNTED for n in (number, examined)):
        raise ModelFileError("the number of passages that recur is damaged.")
    if number == 0:
        return Passages((), (), examined)
    terms, documents = arrays["passages.terms"], arrays["passages.documents"]
    sound = (
        documents.dtype == terms.dtype == np.int32
        and documents.shape == (number,)
        and terms.ndim == 1
        and documents.min() >= 1
        and documents.max() <= examined
        and (np.diff(documents) <= 0).all()
        and len(np.unique(terms)) == len(terms)
    )
    if not sound:
        raise ModelFileError("the passages that recur are damaged.")
    rows = read_rows(arrays, "passages.terms", "passages.ends", terms, (number, n_terms))
    if (np.diff(rows.indptr) < LEAST_TERMS).any():
        raise ModelFileError(
            f"a passage that recurs has fewer than {LEAST_TERMS} terms: the file is damaged."
        )
    found = (tuple(part.tolist()) for part in np.split(terms, rows.indptr[1:-1]))
    return Passages(tuple(found), tuple(documents.tolist()), examined)


# Labels


def _from_labels(of: LabelPosterior) -> State:
    places = {label: place for place, label in enumerate(of.classes.tolist())}
    header = {
        "classes": _classes_to_json(of.classes),
        "label_counts": of.counts.tolist(),
        "labelled_seen": of.n_seen,
        "multilabel": of.multilabel,
        "scoped": of.scoped,
        "label_groups": {
            name: [places[label] for label in labels.tolist()] for name, labels in of.groups.items()
        },
    }
    return header, {
        "label_activations": of.activations,
        "scopes": of.scopes.astype(np.uint8),
        "label_shapes": of.shapes,
        "label_rate_shapes": of.rate_shapes,
        "label_rate_scales": of.rate_scales,
        "label_frequencies": of.frequencies,
    }


def _to_labels(header: dict[str, Any], arrays: dict[str, Array], K: int) -> LabelPosterior:
    classes = _classes_from_json(header["classes"])
    n = len(classes)
    counts = np.array([check_whole(count) for count in header["label_counts"]], dtype=np.int64)
    if len(counts) != n:
        raise ModelFileError(f"there are {n} labels but {len(counts)} counts of them.")
    for name in ("multilabel", "scoped"):
        if not isinstance(header[name], bool):
            raise ModelFileError(f"{name} is {header[name]!r}: the file is damaged.")
    of = LabelPosterior(
        classes=classes,
        counts=counts,
        frequencies=check_doubles(arrays, "label_frequencies", (n,), least=0, most=1),
        n_seen=_documents(header, "labelled_seen"),
        multilabel=header["multilabel"],
        groups=_label_groups(header["label_groups"], classes),
        scoped=header["scoped"],
        scopes=check_mask(arrays, "scopes", (n, K)),
        activations=check_doubles(arrays, "label_activations", (n, K), least=0),
        rate_shapes=check_doubles(arrays, "label_rate_shapes", (n, K), positive=True),
        rate_scales=check_doubles(arrays, "label_rate_scales", (n, K), positive=True),
        shapes=check_doubles(arrays, "label_shapes", (n,), least=LABEL_SHAPES[0]),
    )
    if not of.scopes.any(axis=0).all() or not of.scopes.any(axis=1).all():
        raise ModelFileError("a label or a component is in no scope: the file is damaged.")
    total = of.frequencies.sum()
    if not of.multilabel and not math.isclose(total, 1, abs_tol=_SUM_TO_ONE):
        raise ModelFileError(
            f"the frequencies of labels add up to {total:g}, not to one: the file is damaged."
        )
    with np.errstate(over="ignore", under="ignore"):
        rates = of.rate_shapes * of.rate_scales
    if not ((rates >= 1 / _LARGEST_RATE) & (rates <= _LARGEST_RATE)).all():
        raise ModelFileError("the rates of labels are out of range: the file is damaged.")
    return of


def _label_groups(stored: Any, classes: Array) -> dict[str, Array]:
    """Read the groups of a label tree with their labels."""
    if not isinstance(stored, dict) or len(stored) > 2 * len(classes):
        raise ModelFileError("the groups of labels are damaged.")
    groups = {}
    for name, places in stored.items():
        at = [check_whole(place) for place in places]
        if not at or max(at) >= len(classes) or len(set(at)) != len(at):
            raise ModelFileError("the groups of labels are damaged.")
        groups[name] = classes[at]
    return groups


# Documents that have each term


def _from_counts(of: DocumentCounts) -> State:
    counts = of.label_terms
    return {"documents": int(of.n_docs)}, {
        "label_terms.counts": counts.data.astype(np.int32, copy=False),
        "label_terms.terms": counts.indices.astype(np.int32, copy=False),
        "label_terms.ends": counts.indptr[1:].astype(np.int64),
        "term_documents": of.terms.astype(np.int32, copy=False),
    }


def _to_counts(
    header: dict[str, Any], arrays: dict[str, Array], labels: LabelPosterior, n_terms: int
) -> DocumentCounts:
    """Read the counts, which must not contradict one another or the labels."""
    n_docs, of_terms = header["documents"], arrays["term_documents"]
    data = arrays["label_terms.counts"]
    sound = (
        type(n_docs) is int
        and 0 < n_docs <= _MOST_COUNTED
        and of_terms.dtype == data.dtype == np.int32
        and of_terms.shape == (n_terms,)
        and data.ndim == 1
        and of_terms.min() >= 0
        and of_terms.max() <= n_docs
        and (data.size == 0 or data.min() >= 1)
        and labels.counts.max() <= n_docs
        and (labels.multilabel or labels.counts.sum() <= n_docs)
    )
    if not sound:
        raise ModelFileError("the numbers of documents that have each term are damaged.")
    shape = (len(labels.classes), n_terms)
    counts = read_rows(arrays, "label_terms.terms", "label_terms.ends", data, shape)
    of_label = np.repeat(labels.counts, np.diff(counts.indptr))
    # at least: documents of the label and of the term overlap, if together they exceed all
    least = of_label + of_terms[counts.indices].astype(np.int64) - n_docs
    most = np.minimum(of_label, of_terms[counts.indices])
    listed = counts.sum(axis=0, dtype=np.int64)
    if (
        (data > most).any()
        or (data < least).any()
        or (not labels.multilabel and (listed > of_terms).any())
    ):
        raise ModelFileError(
            "the numbers of documents that have each term do not add up: the file is damaged."
        )
    return DocumentCounts(counts, of_terms, n_docs)


# The prediction head


def _from_head(of: TrainedHead, n_docs: int) -> State:
    own, parts = head_to_state(of.head)
    header = {
        "head": own,
        "classifier_reason": of.reason,
        "component_share": of.component_share,
        "smoothing": of.smoothing,
    }
    arrays = {f"head.{name}": array for name, array in parts.items()} | {
        "component_share_by_label": of.component_share_by_label,
        "component_agreement": np.nan_to_num(of.agreement, nan=_NO_AGREEMENT),
        "left_out_proba": of.left_out,
    }
    # all documents are not listed, so that one shard gives the file of a matrix in memory
    if of.documents is not None and len(of.documents) < n_docs:
        arrays["head_documents"] = of.documents
    if of.keys is not None:
        arrays["head_document_keys"] = of.keys
    return header, arrays


def _to_head(
    header: dict[str, Any], arrays: dict[str, Array], labels: LabelPosterior, K: int, n_columns: int
) -> TrainedHead:
    n = len(labels.classes)
    least, most = _NO_AGREEMENT, _LARGEST_AGREEMENT
    agreement = check_doubles(arrays, "component_agreement", (K,), least=least, most=most)
    left_out = check_array(arrays, "left_out_proba", (None, n), least=0, most=1)
    if left_out.dtype != np.float32:
        raise ModelFileError("the left-out probabilities must be in single precision.")
    documents = arrays.get("head_documents")
    if documents is not None:
        sound = documents.dtype == np.int64 and documents.shape == left_out.shape[:1]
        if not sound or (np.diff(documents, prepend=-1) < 1).any():
            raise ModelFileError("the documents of the left-out probabilities are damaged.")
    keys = arrays.get("head_document_keys")
    if keys is not None and (keys.dtype != np.int64 or keys.shape != left_out.shape[:1]):
        raise ModelFileError("the keys of the documents of the left-out probabilities are damaged.")
    used = _to_used_head(header, arrays, labels, K, n_columns)
    return TrainedHead(
        used.head,
        check_sentence(header, "classifier_reason"),
        used.smoothing,
        np.where(agreement < 0, np.nan, agreement),
        left_out,
        documents,
        keys,
        check_number(header, "component_share", least=0, most=1),
        check_doubles(arrays, "component_share_by_label", (n,), least=0, most=1),
    )


def _to_used_head(
    header: dict[str, Any], arrays: dict[str, Array], labels: LabelPosterior, K: int, n_columns: int
) -> UsedHead:
    own = with_prefix(arrays, "head.")
    head = head_from_state(
        header["head"], own, K, n_columns, labels.frequencies, multilabel=labels.multilabel
    )
    return UsedHead(head, _positive(header, "smoothing"))


# The sample of a stream


def _from_sample(of: HeadSample) -> State:
    sample = of.documents
    return {"head_follows": of.follows}, {
        "sample.data": sample.X.data,
        "sample.terms": sample.X.indices.astype(np.int32),
        "sample.ends": sample.X.indptr[1:].astype(np.int64),
        "sample.labels": sample.indicators.indices.astype(np.int32),
        "sample.label_ends": sample.indicators.indptr[1:].astype(np.int64),
        "sample.weight": sample.weight,
    }


def _to_sample(
    header: dict[str, Any],
    arrays: dict[str, Array],
    labels: LabelPosterior,
    components: Components,
    n_columns: int,
) -> HeadSample | None:
    if "sample.data" not in arrays:
        return None
    if not isinstance(header["head_follows"], bool):
        raise ModelFileError("head_follows is neither true nor false: the file is damaged.")
    most = _LARGEST_IN_SAMPLE
    weight = check_array(arrays, "sample.weight", (None,), positive=True, most=most)
    data = check_array(arrays, "sample.data", (None,), least=0, most=most)
    n_docs = len(weight)
    if data.dtype != components.shapes.dtype or not n_docs or not data.any():
        raise ModelFileError("the sample of documents is damaged.")
    X = read_rows(arrays, "sample.terms", "sample.ends", data, (n_docs, n_columns))
    ones = np.ones(arrays["sample.labels"].size)
    shape = (n_docs, len(labels.classes))
    indicators = read_rows(arrays, "sample.labels", "sample.label_ends", ones, shape)
    n_labels = np.diff(indicators.indptr)
    if n_labels.min() < 1 or (n_labels.max() > 1 and not labels.multilabel):
        raise ModelFileError("the labels of the sample of documents are damaged.")
    sample = Reservoir(X, indicators, weight.astype(np.float64, copy=False))
    return HeadSample(sample, header["head_follows"])


# Values of headers

_JSON_KINDS = {"U": str, "i": int, "u": int, "f": float, "b": bool}


def _classes_to_json(classes: Array) -> dict[str, Any]:
    """Convert labels to JSON together with their type."""
    values = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    storable = classes.dtype.kind in ("O", *_JSON_KINDS) and all(map(_is_storable, values))
    if not storable:
        kinds = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"labels of type {', '.join(kinds)} cannot be saved in a model file, only strings, "
            "numbers and booleans. Fit with str(label) for each label."
        )
    return {"dtype": "object" if classes.dtype == object else classes.dtype.str, "values": values}


def _is_storable(value: Any) -> bool:
    return isinstance(value, (str, int, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _classes_from_json(stored: Any) -> Array:
    values, name = stored["values"], stored["dtype"]
    if not isinstance(values, list) or not values:
        raise ModelFileError("the model has no labels: the file is damaged.")
    sound = all(map(_is_storable, values))
    if name == "object":
        dtype: Any = object
    else:
        known = re.fullmatch(r"[<>|](U\d+|[iuf][1248]|b1)", name)
        kind = _JSON_KINDS[name[1]] if known else None
        # the types must match exactly: bool passes for int, and "1" would become 1
        sound = sound and all(type(value) is kind for value in values)
    if not sound:
        raise ModelFileError(f"labels {values[:3]!r} are not of type {name!r}: damaged file.")
    if name != "object":  # do not trust the width in the file, which could fill all memory
        dtype = f"{name[0]}U{max(1, *map(len, values))}" if kind is str else name
    with np.errstate(over="ignore"):
        classes = np.array(values, dtype)
    if classes.tolist() != values or len(sorted(set(values))) != len(values):
        raise ModelFileError("labels are repeated or do not fit their type: damaged file.")
    return classes


def _positive(values: Any, key: str) -> float:
    return check_number(values, key, least=1 / LARGEST, most=LARGEST)
