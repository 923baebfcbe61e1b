"""Convert a fitted ``DocumentVectorizer`` to the contents of a model file, and back.

``checks`` validates what is read.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbnmf.text.checks import (
    PARAMETERS,
    check_parameters,
    check_state,
    complete_state,
    is_int,
)
from vbnmf.text.notices import report_changed_stems
from vbnmf.text.patterns import check_simple


def check_can_be_saved(vectorizer: Any) -> None:
    """Raise ValueError if the parameters of a vectorizer cannot be written to a file."""
    if callable(vectorizer.analyzer):
        raise ValueError(
            "A callable analyzer cannot be saved, because a model file has no code. Use "
            "token_pattern or analyzer='char_wb', or save a model of the matrix and keep "
            "the analyzer in your program."
        )


def to_state(vectorizer: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return parameters and terms in types of JSON, and arrays."""
    check_can_be_saved(vectorizer)
    meta = vectorizer.get_params() | {
        "max_terms": None if vectorizer.max_terms is None else int(vectorizer.max_terms),
        "lowercase": bool(vectorizer.lowercase),
        "ngram_range": [int(n) for n in vectorizer.ngram_range],
        "stop_words": vectorizer._stop_words,
        "min_df": _plain(vectorizer.min_df),
        "max_df": _plain(vectorizer.max_df),
        "stripped": vectorizer.strip_,
        "dtype": np.dtype(vectorizer.dtype).name,
        "terms": list(vectorizer._known.names),
        "forms": None if vectorizer.stem is None else vectorizer._forms,
        "n_documents": vectorizer.n_documents_,
        "n_empty": vectorizer.n_empty_,
        "length": vectorizer.length_,
    }
    return meta, {"idf": vectorizer._idf, "columns": vectorizer._columns}


def from_state(
    kind: Any, meta: dict[str, Any], arrays: dict[str, NDArray[Any]], *, trusted: bool
) -> Any:
    """Return a fitted vectorizer of the class ``kind``; see ``DocumentVectorizer.from_state``."""
    meta = complete_state(meta)
    check_state(meta, arrays)
    vectorizer = kind(**{name: meta[name] for name in PARAMETERS})
    vectorizer.ngram_range = tuple(meta["ngram_range"])
    vectorizer.stop_words = meta["stop_words"] or None
    check_parameters({name: getattr(vectorizer, name) for name in PARAMETERS}, of_file=True)
    if not trusted:
        check_simple(meta["token_pattern"])
    vectorizer._stop_words = meta["stop_words"]
    vectorizer.strip_ = meta["stripped"]
    vectorizer.n_documents_ = meta["n_documents"]
    vectorizer.n_empty_ = meta["n_empty"]
    vectorizer.length_ = meta["length"]
    vectorizer._set_terms(meta["terms"], arrays["idf"], arrays["columns"])
    if vectorizer.stem is not None:
        vectorizer._forms = meta["forms"]
        report_changed_stems(list(vectorizer.vocabulary_), meta["forms"], vectorizer.stem)
    return vectorizer


def _plain(value: float) -> float:
    """Convert a NumPy number to int or float for JSON."""
    return int(value) if is_int(value) else float(value)
