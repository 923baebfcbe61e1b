"""The offline corpus: docstrings of the installed NumPy, SciPy and scikit-learn, by sub-package.

A document is the docstring of one public function, class or method with its code examples taken
out; its label is the sub-package (``scipy.stats``). Loading by name, subsets and the other corpora
are in :mod:`vbnmf.data.corpora`.
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

# Named one by one, not searched for: a search would import deprecated modules, and the labels
# would change with every release. A module that a release lacks is passed over. Left out are
# modules with few functions, and numpy.ma, whose docstrings are NumPy's with a word changed.
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
MIN_WORDS = 20  # shorter docstrings ("Scalar method identical to ...") say nothing of their subject
MIN_DOCUMENTS = 30  # fewer in a sub-package: no label of its own
TEST_SHARE = 0.3

# numpydoc's Examples section, and the paragraph on array backends that SciPy puts into hundreds of
# docstrings word for word: up to the next heading or the end.
_EXAMPLES = re.compile(
    r"^(?:Examples?\n-{3,}\n|\*\*Array API Standard Support\*\*).*?(?=^\S[^\n]*\n-{3,}\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Doctests elsewhere: from a prompt to the next empty line, output included.
_DOCTEST = re.compile(r"^[ \t]*>>>.*?(?:\n[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_UNDERLINE = re.compile(r"^[ \t]*[-=~^]{3,}[ \t]*$", re.MULTILINE)
_VERSION_NOTE = re.compile(r"^[ \t]*\.\. (?:version\w+|deprecated|index)::.*$", re.MULTILINE)
_ROLE = re.compile(r":(?:[a-z]+:)?[a-z]+:(?=`)")
# "scipy.stats.norm" would give the label away; "norm" is what the sentence is about.
_DOTTED = re.compile(r"\b(?:numpy|np|scipy|sklearn)\.(?:\w+\.)*(?=\w)")
_BLANKS = re.compile(r"\n\s*\n+")


@cache  # train and test parts are asked for one after the other
def read_docstrings() -> tuple[tuple[str, str, str], ...]:
    """Collect the corpus from the libraries that are installed.

    Returns
    -------
    tuple of (name, label, text)
        Qualified name (``scipy.stats.skew``), sub-package and cleaned docstring, by name. No text
        comes twice, and every label has at least ``MIN_DOCUMENTS`` documents.
    """
    found: dict[str, tuple[str, str]] = {}  # text -> (name, label), the first to come keeps it
    # A docstring must not be read at the price of a warning on the user's screen.
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
    """Say whether the document of this name belongs to the test part: fixed by the name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4]) < TEST_SHARE * 2**32


def clean_docstring(doc: str) -> str:
    """Strip a docstring of its code examples and markup; prose and parameter tables stay."""
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
        # Ufuncs and C functions may have no module; what comes from another library is not ours.
        home = getattr(thing, "__module__", None) or root
        if not _is_documented(thing) or home.split(".")[0] != root:
            continue
        yield f"{module.__name__}.{name}", _doc(thing)
        if inspect.isclass(thing):
            for method in sorted(vars(thing)):
                # scikit-learn makes its set_..._request methods from one template.
                member = None if method.endswith("_request") else _public(thing, method)
                if _is_documented(member):
                    yield f"{module.__name__}.{name}.{method}", _doc(member)


def _is_documented(thing: object) -> bool:
    """Tell functions and classes from objects that can be called, documented by a template."""
    # Such objects are the distributions of scipy.stats: a hundred times the same text.
    return inspect.isroutine(thing) or inspect.isclass(thing) or isinstance(thing, np.ufunc)


def _public(owner: object, name: str) -> object:
    """Get a public attribute, or None: lazy modules raise what they like (scikit-learn does)."""
    try:
        return None if name.startswith("_") else getattr(owner, name, None)
    except Exception:  # a docstring that cannot be had is left out, whatever the reason
        return None


def _doc(thing: object) -> str:
    doc = getattr(thing, "__doc__", None)
    return doc if isinstance(doc, str) else ""
