"""Every public name has a docstring with an example, and the examples run."""

import doctest
import inspect
import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import vbnmf

NAMES = [name for name in vbnmf.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, monkeypatch):
    mpl.use("Agg")
    found = getattr(vbnmf, name)
    assert ">>>" in (inspect.getdoc(found) or ""), f"{name} has no example"
    module = sys.modules[found.__module__]
    tests = [
        test
        for owner in (found, *_methods(found))
        for test in doctest.DocTestFinder(recurse=False).find(owner, name, module)
        if test.examples
    ]
    assert not any(doctest.SKIP in one.options for test in tests for one in test.examples)
    runner = doctest.DocTestRunner(verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in tests:
            runner.run(test)
    plt.close("all")
    assert runner.summarize(verbose=False).failed == 0


def _methods(found):
    """The public methods, also inherited ones, of a class."""
    if not inspect.isclass(found):
        return []
    return [
        method
        for name, method in inspect.getmembers(found, inspect.isfunction)
        if not name.startswith("_") and method.__module__.startswith("vbnmf")
    ]
