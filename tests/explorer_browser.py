"""What tests of the explorer in a browser have in common; its fixtures are in ``conftest``."""

import os

import pytest


def ready(tab):
    """Wait until all that is unpacked later is there."""
    tab.wait_for_selector("main:not(:has([aria-busy]))")
    return tab


def jump(tab, place):
    tab.evaluate("place => { location.hash = place; }", place)
    return ready(tab)


def heading(tab):
    return tab.inner_text("#heading")


def unavailable(reason):
    """What tests need is not there: they are skipped, but not in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; these tests must not be skipped here")
    pytest.skip(reason)
