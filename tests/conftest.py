"""Small corpora, the kernels under test, and the browser that opens pages.

Tests marked ``slow`` are long or exhaustive. The ordinary run leaves them out (pyproject.toml);
``.ci/run`` runs them. Tests marked ``kernel`` reach a kernel. ``.ci/run`` runs them a second time,
with ``VBNMF_KERNEL=scipy``. All other tests would only repeat the ordinary run there.
"""

import os
import shutil
import signal

if "PYTEST_XDIST_WORKER" in os.environ:  # a process for each core: no more threads by default
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import properties  # noqa: F401  # the number of examples of Hypothesis
import pytest
from explorer_browser import unavailable
from scipy import sparse

from vbnmf.kernels import describe, kernel_name
from vbnmf.kernels.reference import ReferenceKernel

INSTRUCTION_SETS = []  # as in the pure wheel; .ci/run checks that this is not why tests are missing
if kernel_name() == "native":
    from vbnmf.kernels import _native
    from vbnmf.kernels.compiled import NativeKernel

    INSTRUCTION_SETS = _native.instruction_sets()


def pytest_configure(config):
    """Let processes under test receive signals that nohup and background jobs ignore."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header(config):
    return f"vbnmf: kernel {describe()}, instruction sets {INSTRUCTION_SETS or 'none'}"


@pytest.fixture(params=["scipy", *INSTRUCTION_SETS])
def kernel(request):
    """Each kernel: SciPy, and the compiled one on each instruction set of this machine."""
    if request.param == "scipy":
        yield ReferenceKernel()
        return
    best = _native.instruction_set()
    _native.use_instruction_set(request.param)
    with NativeKernel(2) as native:
        yield native
    _native.use_instruction_set(best)


NO_KERNEL = pytest.param(None, marks=pytest.mark.skip(reason="only for the compiled kernels"))


@pytest.fixture(params=INSTRUCTION_SETS or [NO_KERNEL])
def native(request):
    """The compiled kernel on each instruction set of this machine."""
    best = _native.instruction_set()
    _native.use_instruction_set(request.param)
    with NativeKernel(2) as kernel:
        yield kernel
    _native.use_instruction_set(best)


CASES = {
    "usual": {"n_docs": 23, "n_terms": 31, "K": 5, "n_labels": 3},
    "one component": {"n_docs": 9, "n_terms": 7, "K": 1, "n_labels": 2},
    "one label": {"n_docs": 9, "n_terms": 7, "K": 3, "n_labels": 1},
    "one document": {"n_docs": 1, "n_terms": 6, "K": 2, "n_labels": 1},
    "one term": {"n_docs": 6, "n_terms": 1, "K": 2, "n_labels": 2},
    "more components than anything": {"n_docs": 5, "n_terms": 4, "K": 37, "n_labels": 2},
    "components fill a line of cache": {"n_docs": 12, "n_terms": 9, "K": 16, "n_labels": 2},
    "too many components for registers": {"n_docs": 6, "n_terms": 5, "K": 250, "n_labels": 2},
    "long rows": {"n_docs": 3, "n_terms": 900, "K": 4, "n_labels": 2},
}


def fitted_attributes(model):
    """The public fitted attributes of an estimator, by name."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def make_corpus(n_docs, n_terms, n_labels, seed=0, **_):
    """Weights with an empty document and an unused term where there is room, and label codes."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, 2.0, (n_docs, n_terms)) * (rng.random((n_docs, n_terms)) < 0.6)
    X[0, 0] = 1.5
    if n_docs > 2:
        X[n_docs // 2] = 0
    if n_terms > 2:
        X[:, n_terms // 2] = 0
    y = np.arange(n_docs) % n_labels
    return sparse.csr_array(X), rng.permutation(y).astype(np.int32)


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    """Corpus, label codes, number of components."""
    X, y = make_corpus(**request.param)
    return X, y, request.param["K"]


@pytest.fixture(scope="module")
def client():
    """A Dask cluster in this process: two workers of two threads."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 2}
    with distributed.Client(
        **options, dashboard_address="127.0.0.1:0", set_as_default=True
    ) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    """The machine's browser, offline; where there is none tests are skipped, but not in CI."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        unavailable(f"Playwright is not installed: {error}")
    path = shutil.which("chromium")
    if path is None:
        unavailable("there is no chromium on this machine")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started.new_context(offline=True, reduced_motion="reduce")
        started.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page at a place; whatever goes wrong in it, or it asks for, fails the test."""
    tabs, faults = [], []

    def opened(shown, place="", width=1200, height=900, scheme="light"):
        path = tmp_path / "page.html"
        path.write_text(getattr(shown, "html", shown), encoding="utf-8")
        tab = browser.new_page()
        tabs.append(tab)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme)
        tab.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: faults.append(request.url[:99]) if asks(request) else 0)
        tab.goto(f"{path.as_uri()}#{place}")
        if hasattr(shown, "html"):
            tab.wait_for_selector("html[data-ready]")
        return tab

    def asks(request):
        return not request.url.startswith(("file:", "blob:"))

    yield opened
    for tab in tabs:
        tab.close()
    assert faults == []
