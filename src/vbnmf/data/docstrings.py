"""Collect the offline corpus: docstrings of the installed NumPy, SciPy and scikit-learn.

A document is the docstring of a public function, class or method, without its code examples. Its
label is the sub-package (``scipy.stats``). :mod:`vbnmf.data.corpora` loads corpora by name.
"""

import hashlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

# The modules are listed, because a search would import deprecated modules, and labels would change
# with every release. Modules that are not installed are skipped. Modules with few functions are not
# listed, nor is numpy.ma, whose docstrings are nearly the same as those of NumPy.
MODULES = (
    *("numpy", "numpy.random", "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev"),
    *("numpy.polynomial.legendre", "numpy.polynomial.hermite", "scipy.cluster.hierarchy"),
    *("scipy.cluster.vq", "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg"),
    *("scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.signal.windows", "scipy.sparse"),
    *("scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.spatial", "scipy.spatial.distance"),
    *("scipy.spatial.transform", "scipy.special", "scipy.stats", "scipy.stats.contingency"),
    *("scipy.stats.mstats", "scipy.stats.qmc", "scipy.stats.sampling", "sklearn.cluster"),
    *("sklearn.datasets", "sklearn.decomposition", "sklearn.ensemble", "sklearn.linear_model"),
    *("sklearn.metrics", "sklearn.metrics.pairwise", "sklearn.model_selection"),
    *("sklearn.neighbors", "sklearn.preprocessing"),
)
MIN_WORDS = 20  # shorter docstrings ("Scalar method identical to ...") do not describe a subject
MIN_DOCUMENTS = 30  # smaller sub-packages are left out
TEST_SHARE = 0.3

# The Examples section of numpydoc, and SciPy's paragraph on array backends, which is the same in
# hundreds of docstrings. Both end at the next heading or at the end.
_EXAMPLES = re.compile(
    r"^(?:Examples?\n-{3,}\n|\*\*Array API Standard Support\*\*).*?(?=^\S[^\n]*\n-{3,}\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Doctests elsewhere, with their output: from a prompt to the next empty line.
_DOCTEST = re.compile(r"^[ \t]*>>>.*?(?:\n[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_UNDERLINE = re.compile(r"^[ \t]*[-=~^]{3,}[ \t]*$", re.MULTILINE)
_VERSION_NOTE = re.compile(r"^[ \t]*\.\. (?:version\w+|deprecated|index)::.*$", re.MULTILINE)
_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:(?=`)")
# "scipy.stats.norm" would reveal the label, so only "norm" is kept.
_DOTTED = re.compile(r"\b(?:numpy|np|scipy|sklearn)\.(?:\w+\.)*(?=\w)")
_BLANKS = re.compile(r"\n\s*\n+")


@cache  # for calls that load the train and the test part one after the other
def read_docstrings() -> tuple[tuple[str, str, str], ...]:
    """Collect the corpus from the installed libraries.

    Returns
    -------
    tuple of (name, label, text)
        Qualified name (``scipy.stats.skew``), sub-package and cleaned docstring, sorted by name.
        All texts are different, and every label has at least ``MIN_DOCUMENTS`` documents.
    """
    found: dict[str, tuple[str, str]] = {}  # text -> (name, label) of its first occurrence
    # importing and inspecting modules must not show warnings to the user
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in MODULES:
            try:
                module = import_module(path)
            except ImportError:
                continue
            label = ".".join(path.split(".")[:2])
            for name, doc in _public_docstrings(module):
                text = clean_docstring(doc)
                if len(text.split()) >= MIN_WORDS:
                    found.setdefault(text, (name, label))
    sizes = Counter(label for _, label in found.values())
    documents = ((name, label, text) for text, (name, label) in found.items())
    return tuple(sorted(item for item in documents if sizes[item[1]] >= MIN_DOCUMENTS))


def in_test(name: str) -> bool:
    """Return whether a document belongs to the test part, which depends only on its name."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4]) < TEST_SHARE * 2**32


def clean_docstring(doc: str) -> str:
    """Remove code examples and markup from a docstring; keep prose and tables of parameters."""
    text = inspect.cleandoc(doc).replace("\r\n", "\n")
    for pattern, with_ in (
        (_EXAMPLES, ""),
        (_DOCTEST, "\n"),
        (_UNDERLINE, ""),
        (_VERSION_NOTE, ""),
        (_ROLE, ""),
        (_DOTTED, ""),
        (_BLANKS, "\n\n"),
    ):
        text = pattern.sub(with_, text)
    return text.strip()


def _public_docstrings(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield (qualified name, docstring) of a module's functions, classes and their own methods."""
    root = module.__name__.split(".")[0]
    for name in sorted(getattr(module, "__all__", None) or vars(module)):
        thing = _public(module, name)
        # ufuncs and C functions may have no module; skip objects of other libraries
        home = getattr(thing, "__module__", None) or root
        if not _is_documented(thing) or home.split(".")[0] != root:
            continue
        yield f"{module.__name__}.{name}", _doc(thing)
        if inspect.isclass(thing):
            for method in sorted(vars(thing)):
                # the docstrings of scikit-learn's set_..._request methods come from one template
                member = None if method.endswith("_request") else _public(thing, method)
                if _is_documented(member):
                    yield f"{module.__name__}.{name}.{method}", _doc(member)


def _is_documented(thing: object) -> bool:
    """Return whether an object is a function or a class, and not another callable object."""
    # the distributions of scipy.stats are callable objects with docstrings from one template
    return inspect.isroutine(thing) or inspect.isclass(thing) or isinstance(thing, np.ufunc)


def _public(owner: object, name: str) -> object:
    """Return a public attribute, or None if it raises an error, as lazy modules may do."""
    try:
        return None if name.startswith("_") else getattr(owner, name, None)
    except Exception:  # objects whose docstring cannot be read are left out
        return None


def _doc(thing: object) -> str:
    doc = getattr(thing, "__doc__", None)
    return doc if isinstance(doc, str) else ""
