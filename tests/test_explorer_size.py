"""How large pages are, and how soon a browser shows them; both are printed."""

import numpy as np
import pytest
from explorer_browser import jump

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.report.explorer import explore


@pytest.fixture
def measured(visit, capsys):
    """Open a page, and print its size and the time until it can be used; returns both."""

    def opened(what, shown):
        size = len(shown.html.encode())
        tab = visit(shown)
        took = int(tab.get_attribute("html", "data-ready"))
        with capsys.disabled():
            print(f"\n{what}: {size / 1e6:.2f} MB, {took} ms to interactive")  # noqa: T201
        return size, tab

    return opened


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_large_model(measured):
    """K = 100, 20 labels, 10,000 terms: below 1 MB."""
    rng = np.random.default_rng(0)
    topics = 300 * rng.dirichlet(np.full(10_000, 0.05), 100)
    X = rng.poisson(np.tile(topics, (4, 1)) + 0.02).astype(np.float32)
    estimator = SupervisedVBNMF(100, init=topics, max_iter=3, random_state=0)
    y = [f"label {i % 20}" for i in range(len(X))]
    model = DocumentModel(estimator).fit(X, y, terms=[f"term{i:05}" for i in range(10_000)])
    assert not model.estimator_.faded_.any()
    size, tab = measured("K = 100, 20 labels, 10,000 terms", explore(model))
    assert size < 1_000_000
    assert tab.locator(".labels tbody tr").count() == 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_many_documents(measured):
    """5,000 long documents of random words, which hardly compress: below 10 MB, all shown."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(word) for word in rng.choice(letters, (3000, 7))])
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (5001, 300))]]
    labels = [f"label {i}" for i in rng.integers(0, 20, len(texts))]
    estimator = SupervisedVBNMF(20, max_iter=2, classifier="generative", random_state=0)
    model = DocumentModel(estimator).fit(texts[:300], labels[:300])
    size, tab = measured("5,000 documents", explore(model, texts, labels))
    assert size < 10_000_000
    jump(tab, "view=document")
    assert "5,000 of 5,001 documents are on this page" in tab.inner_text("main")
    assert "Texts are cut after" in tab.inner_text("main")
