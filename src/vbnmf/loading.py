"""Read the model files that ``DocumentModel``, ``VBNMF`` and ``SupervisedVBNMF`` save."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from vbnmf import store
from vbnmf.core.model import Array
from vbnmf.estimators.labelpredictor import LabelPredictor
from vbnmf.estimators.records import NOT_FOR_PREDICTIONS, predicting_from_state
from vbnmf.estimators.validation import check_count, check_threshold, count_threads
from vbnmf.pipeline.predicting import NAME, DocumentPredictor, PredictsDocuments
from vbnmf.store import ModelFileError, check_names, check_sentence, check_whole, with_prefix
from vbnmf.text.features import TextFeatures
from vbnmf.text.patterns import UnsafePatternError
from vbnmf.text.transforming import LoadedVectorizer


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
    return _read(path, partial(_model, trusted=trusted))


def load_predictor(path: str | os.PathLike[str], *, trusted: bool = False) -> DocumentPredictor:
    """Load a model that only predicts labels, in a fraction of the time of ``load``.

    scikit-learn is not imported, and what predictions do not need is not read. So this is for
    programs that start often, and for services.

    Parameters
    ----------
    path : str or path
        A file saved by ``DocumentModel`` or ``vbnmf fit``, of a model with labels.
    trusted : bool, default=False
        As for ``load``.

    Returns
    -------
    DocumentPredictor
        An object whose ``predict``, ``predict_proba``, ``explain`` and ``novelty`` give the same
        results as those of the ``DocumentModel``.

    Raises
    ------
    ModelFileError
        A ``ValueError``: the file is not a vbnmf model with labels and terms, is damaged, or has
        another format version.

    Examples
    --------
    >>> import os, tempfile
    >>> from vbnmf import DocumentModel, load_predictor
    >>> texts = ["green tea", "tea leaves", "roast coffee", "coffee beans"] * 3
    >>> model = DocumentModel().fit(texts, ["tea", "tea", "coffee", "coffee"] * 3)
    >>> path = os.path.join(tempfile.mkdtemp(), "tea.vbnmf")
    >>> model.save(path)
    >>> load_predictor(path).predict(["a cup of tea"]).tolist()
    ['tea']
    """
    predictor: DocumentPredictor = _read(
        path,
        partial(_predictor, trusted=trusted),
        without=tuple(f"estimator.{name}" for name in NOT_FOR_PREDICTIONS),
    )
    return predictor


def _read(
    path: str | os.PathLike[str], build: Callable[..., Any], without: tuple[str, ...] = ()
) -> Any:
    """Read a file, and build an object from its header and arrays. Errors name the file."""
    header, arrays = store.read(path, without)
    try:
        return build(header, arrays)
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


def _model(header: dict[str, Any], arrays: dict[str, Array], *, trusted: bool) -> Any:
    """Rebuild an estimator, or a ``DocumentModel``."""
    from vbnmf.estimators import saving
    from vbnmf.pipeline import DocumentModel
    from vbnmf.text import DocumentVectorizer

    if header["model"] != NAME:
        return saving.from_state(header, arrays)
    model = DocumentModel()
    model.estimator_ = saving.from_state(header["estimator"], with_prefix(arrays, "estimator."))
    model.n_empty_ = check_whole(header["n_empty"])
    header = {"features_reason": "the model is older than features"} | header
    model.features_reason_ = check_sentence(header, "features_reason")
    _set_texts(model, DocumentVectorizer, header, arrays, trusted=trusted)
    return model


def _predictor(
    header: dict[str, Any], arrays: dict[str, Array], *, trusted: bool
) -> DocumentPredictor:
    """Rebuild what predictions need of a ``DocumentModel``."""
    name = header["model"]
    of_labels = name == NAME and header["estimator"]["model"] == "SupervisedVBNMF"
    if not of_labels:
        raise ModelFileError(
            "the model was fitted without labels, so it cannot predict labels."
            if name == NAME
            else f"the file holds a {str(name)[:40]} without terms and without a vectorizer. A "
            "prediction needs a model that was saved by `vbnmf fit` or DocumentModel.save."
        )
    predictor, stored = DocumentPredictor(), header["estimator"]
    parameters = stored["parameters"]
    n_features = check_count("head_features", parameters["head_features"], least=0)
    fitted = predicting_from_state(stored, with_prefix(arrays, "estimator."), n_features)
    predictor.estimator_ = LabelPredictor(
        fitted,
        len(fitted.components.shapes) + n_features,
        n_jobs=parameters["n_jobs"],
        threshold=check_threshold(parameters["threshold"]),
    )
    count_threads(predictor.estimator_.n_jobs)
    _set_texts(predictor, LoadedVectorizer, header, arrays, trusted=trusted)
    return predictor


def _set_texts(
    model: Any, vectorizer: Any, header: dict[str, Any], arrays: dict[str, Array], *, trusted: bool
) -> None:
    """Set what a model knows about texts; ``vectorizer`` is the class of the vectorizer."""
    n_terms = len(model.estimator_.fitted_.components.shapes)
    model.columns_ = _columns(header["columns"])
    model.label_form_ = _label_form(model, header)
    if "vectorizer" in header:
        model.vectorizer_ = vectorizer.from_state(
            header["vectorizer"], with_prefix(arrays, "vectorizer."), trusted=trusted
        )
        terms = model.vectorizer_.get_feature_names_out()
    else:
        model.vectorizer_, terms = None, header["terms"]
    model.terms_ = check_names(list(terms), n_terms)
    model.text_features_ = None
    if "features" in header and model.vectorizer_ is not None:
        model.text_features_ = TextFeatures.from_state(
            header["features"], with_prefix(arrays, "features."), model.vectorizer_.vocabulary_
        )
    n_features = 0 if model.text_features_ is None else len(model.text_features_)
    if n_terms + n_features != model.estimator_.n_features_in_:
        raise ModelFileError("the features of texts do not match the prediction head.")


def _label_form(model: PredictsDocuments, header: dict[str, Any]) -> str | None:
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
