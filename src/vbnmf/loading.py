"""Read the model files that ``DocumentModel``, ``VBNMF`` and ``SupervisedVBNMF`` save."""

import os
from typing import Any

from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators import saving
from vbnmf.pipeline import NAME, DocumentModel
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer
from vbnmf.text.features import TextFeatures
from vbnmf.text.patterns import UnsafePatternError


def load(path: str | os.PathLike[str], *, trusted: bool = False) -> Any:
    """Load a model from a file.

    Nothing in the file is run or imported. On the same machine, the loaded model gives identical
    results.

    Parameters
    ----------
    path : str or path
        A file saved by ``DocumentModel``, ``VBNMF`` or ``SupervisedVBNMF``, or by ``vbnmf fit``.
    trusted : bool, default=False
        Whether to accept any ``token_pattern`` in the file. Some regular expressions take years for
        a line of text, so only simple ones (``vbnmf.text.patterns``) are accepted by default. Set
        it to True only for files from a source that you trust.

    Returns
    -------
    DocumentModel, VBNMF or SupervisedVBNMF
        The fitted model.

    Raises
    ------
    ModelFileError
        A ``ValueError``: the file is not a vbnmf model, is damaged, or has another format version.
    MemoryError
        The model does not fit into memory.

    Examples
    --------
    >>> import os, tempfile
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, load
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> path = os.path.join(tempfile.mkdtemp(), "drinks.vbnmf")
    >>> model.save(path)
    >>> load(path)
    DocumentModel() fitted to 20 documents: 2 labels, 2 components, 6 terms
    >>> load(path).predict(["green tea"]).tolist()
    ['tea']
    """
    header, arrays = store.read(path)
    try:
        if header["model"] == NAME:
            return _document_model(header, arrays, trusted=trusted)
        return saving.from_state(header, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    except UnsafePatternError as error:
        raise ModelFileError(
            f"{os.fspath(path)}: {error} If you trust the source of the file, load it with "
            "load(path, trusted=True), or with --trusted on the command line."
        ) from None
    except MemoryError:
        raise store.too_large(path) from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} has an invalid header ({type(error).__name__}: {error}). "
            "The file is damaged; save the model again."
        ) from None


def _document_model(
    header: dict[str, Any], arrays: dict[str, Array], *, trusted: bool
) -> DocumentModel:
    model = DocumentModel()
    model.estimator_ = saving.from_state(header["estimator"], _part(arrays, "estimator."))
    n_terms = model.estimator_.components_.shape[1]
    model.n_empty_ = saving.whole(header["n_empty"])
    model.columns_ = _columns(header["columns"])
    model.label_form_ = _label_form(model, header)
    if "vectorizer" in header:
        model.vectorizer_ = DocumentVectorizer.from_state(
            header["vectorizer"], _part(arrays, "vectorizer."), trusted=trusted
        )
        names = model.vectorizer_.get_feature_names_out()
    else:
        model.vectorizer_, names = None, header["terms"]
    model.terms_ = saving.names(list(names), n_terms)
    header = {"features_reason": "the model is older than features"} | header
    model.features_reason_ = saving.sentence(header, "features_reason")
    model.text_features_ = None
    if "features" in header and model.vectorizer_ is not None:
        model.text_features_ = TextFeatures.from_state(
            header["features"], _part(arrays, "features."), model.vectorizer_.vocabulary_
        )
    n_features = 0 if model.text_features_ is None else len(model.text_features_)
    if n_terms + n_features != model.estimator_.n_features_in_:
        raise ModelFileError("the features of texts do not match the prediction head.")
    return model


def _label_form(model: DocumentModel, header: dict[str, Any]) -> str | None:
    """Read the form of labels. Older files do not have it, and their models predicted lists."""
    forms: tuple[str | None, ...] = ("lists", "indicator") if model.has_several_labels else ("one",)
    forms = forms if model.has_labels else (None,)
    stored = header.get("label_form", forms[0])
    if stored not in forms:
        raise ModelFileError(f"the form of labels is {stored!r}: the file is damaged.")
    return stored


def _columns(stored: Any) -> dict[str, Any]:
    sound = isinstance(stored, dict) and all(
        key in ("text", "label", "label_separator", "label_case")
        and (isinstance(value, str) or (key in ("text", "label") and _is_names(value)))
        for key, value in stored.items()
    )
    if (
        not sound
        or stored.get("label_separator") == ""
        or stored.get("label_case", "fold") != "fold"
    ):
        raise ModelFileError("the names of columns are damaged.")
    return dict(stored)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(v, str) for v in value)


def _part(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
