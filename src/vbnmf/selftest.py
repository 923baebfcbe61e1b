"""Check an installation: known numbers, the same bits, a rising bound, a whole model file.

The documents are drawn by a generator whose numbers are the same in all versions of NumPy. The
known bound is that of a model with one component, which has a single best fit. The dense
implementation in ``tests/oracle.py`` finds the same.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators import VBNMF, SupervisedVBNMF
from vbnmf.kernels import kernel_name
from vbnmf.loading import load
from vbnmf.pipeline import DocumentModel
from vbnmf.text import DocumentVectorizer

KNOWN_BOUND = -2097.09989074
"""Bound of ``one_component`` fitted to the drawn documents."""
TEXT = "Straße naïve café; Привет, мир! हिन्दी भाषा, שלום עולם; 3.5 e-mails"
KNOWN_TERMS = "café mails naïve straße мир привет עולם שלום भाषा हिन्दी"
"""Terms of ``TEXT``, sorted and separated by spaces."""

_CLOSE = 1e-7  # relative difference of the same sums in another order, and far below an error
_ALIKE = 1e-4  # relative difference of the compiled and the SciPy kernels after some sweeps


@dataclass(frozen=True)
class Check:
    """Outcome of a check: its name, whether it passed, and what was found."""

    name: str
    passed: bool
    found: str


def check_installation() -> Iterator[Check]:
    """Yield the outcome of each check as soon as it is known.

    A check that raises an error has failed. The others still run.

    Examples
    --------
    >>> from vbnmf.selftest import check_installation
    >>> [check.name for check in check_installation() if not check.passed]
    []
    """
    for name, check in _CHECKS.items():
        try:
            passed, found = check()
        except Exception as error:
            passed, found = False, f"{type(error).__name__}: {error}"
        yield Check(name, passed, found)


def drawn_documents() -> tuple[Array, Array]:
    """Return 60 drawn documents of 40 terms, and their labels 0, 1 and 2."""
    draw = np.random.RandomState(20)
    y = np.arange(60) % 3
    terms = draw.uniform(size=(3, 40)) ** 8
    used = 0.1 + 5.0 * (y[:, None] == np.arange(3))
    rates = (used[:, :, None] * terms).sum(axis=1)
    return draw.poisson(rates).astype(np.float64), y


def one_component() -> VBNMF:
    """Return the model of the known bound, unfitted."""
    return VBNMF(
        1, coef_shape=0.5, coef_scale=1.0, term_shape=0.5, term_scale=1.0, max_iter=200, tol=0,
        n_jobs=1,
    )  # fmt: skip


def _bound_is_known() -> tuple[bool, str]:
    bound = one_component().fit(drawn_documents()[0]).bound_
    passed = abs(bound - KNOWN_BOUND) <= _CLOSE * abs(KNOWN_BOUND)
    return passed, f"{bound:.4f}, expected {KNOWN_BOUND:.4f}"


def _labelled_fit(n_jobs: int = 1) -> SupervisedVBNMF:
    X, y = drawn_documents()
    model = SupervisedVBNMF(
        6, init="label", bound_every=1, max_iter=30, tol=0, random_state=0, n_jobs=n_jobs
    )
    return model.fit(X, y)


def _bound_rises() -> tuple[bool, str]:
    steps = np.diff(_labelled_fit().bound_history_)
    return bool((steps >= 0).all()), f"{len(steps)} steps, the smallest is {steps.min():.3g}"


def _labels_are_found() -> tuple[bool, str]:
    X, y = drawn_documents()
    right = int((_labelled_fit().predict(X) == y).sum())
    return right == len(y), f"{right} of {len(y)} drawn documents"


def _threads_agree() -> tuple[bool, str]:
    one = _labelled_fit(1).components_
    numbers = (2, 3, 8)
    same = [np.array_equal(one, _labelled_fit(number).components_) for number in numbers]
    return all(same), f"1 thread and {', '.join(map(str, numbers))} threads"


def _kernels_agree() -> tuple[bool, str]:
    if kernel_name() != "native":
        return True, "no compiled kernels are in use"
    compiled = _labelled_fit()
    with _environment("VBNMF_KERNEL", "scipy"):
        reference = _labelled_fit()
    apart = abs(compiled.bound_ / reference.bound_ - 1)
    return apart <= _ALIKE, f"bounds differ by {apart:.1g} of their value"


def _terms_are_known() -> tuple[bool, str]:
    vectorizer = DocumentVectorizer(min_df=1, weighting="counts").fit([TEXT])
    found = " ".join(sorted(vectorizer.get_feature_names_out()))
    return found == KNOWN_TERMS, found


def _file_keeps_bits() -> tuple[bool, str]:
    texts = ["red apple pear", "green pear plum", "fast car road", "slow car bus"] * 5
    labels = ["fruit", "fruit", "traffic", "traffic"] * 5
    model = DocumentModel(SupervisedVBNMF(4)).fit(texts, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.vbnmf"
        model.save(path)
        size, loaded = path.stat().st_size, load(path)
    same = np.array_equal(model.predict_proba(texts), loaded.predict_proba(texts))
    return same, f"{size:,} bytes"


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


_CHECKS: dict[str, Callable[[], tuple[bool, str]]] = {
    "the bound is the known one": _bound_is_known,
    "the bound never falls": _bound_rises,
    "drawn documents get their labels": _labels_are_found,
    "any number of threads gives the same bits": _threads_agree,
    "compiled and SciPy kernels agree": _kernels_agree,
    "texts have the known terms": _terms_are_known,
    "a saved model predicts the same bits": _file_keeps_bits,
}
