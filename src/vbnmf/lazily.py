"""Import the public names of a package when they are first used.

A package whose names are imported at once makes every start as slow as its slowest module. So
``vbnmf --help`` would import SciPy, and ``vbnmf predict`` scikit-learn.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package, for messages.
    homes : mapping of str to str
        The module of each public name.
    """

    def find(name: str) -> Any:
        if name in homes:
            return getattr(import_module(homes[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted(homes)
