"""Versions of installed packages, for bug reports."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import vbnmf
from vbnmf.estimators.validation import count_threads
from vbnmf.kernels import describe

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "threadpoolctl",
    "safetensors",
    "click",
    "rich",
    "narwhals",
    "snowballstemmer",
)


def versions() -> dict[str, str]:
    """Return the versions of vbnmf and its dependencies, the kernel and the number of threads."""
    facts = {
        "vbnmf": vbnmf.__version__,
        "kernel": describe(),
        "threads": str(count_threads(-1)),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def show_versions() -> None:
    """Print the versions of vbnmf and its dependencies, and the kernel in use.

    Examples
    --------
    >>> import vbnmf
    >>> vbnmf.show_versions()  # doctest: +ELLIPSIS
    vbnmf           ...
    kernel          ...
    """
    sys.stdout.writelines(f"{name:<16}{value}\n" for name, value in versions().items())
