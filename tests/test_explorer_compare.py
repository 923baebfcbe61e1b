"""Compare in a real browser: counts of both sides, intervals as in Python, and mirrored lists."""

import csv
import io

import numpy as np
import pytest
from explorer_browser import heading, jump, ready
from explorer_pages import page, usual
from scipy import sparse
from scipy.stats import false_discovery_control, norm

from vbnmf.metrics import log_odds
from vbnmf.metrics.logodds import rank_scores
from vbnmf.report.explorer.payload import noise_floor
from vbnmf.reviewing.contrast import _floor

pytestmark = pytest.mark.filterwarnings("ignore")


def words(tab, a, b):
    with tab.expect_download() as found:
        tab.click(f"button[aria-label='Download compare-{a}-{b} as CSV']")
    return list(csv.reader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))


def listed(tab):
    return [
        [word.inner_text() for word in section.locator("th a").all()]
        for section in tab.locator(".three > section").all()
    ]


@pytest.mark.parametrize("other", ["1", "rest"])
def test_counts_and_intervals(visit, other):
    model = usual()[0]
    of = model.estimator_
    counts = of.label_term_documents_.toarray()
    place = {term: w for w, term in enumerate(model.terms_)}
    tab = ready(visit(page("usual"), f"view=compare&a=0&b={other}"))
    _, *rows = words(tab, 0, other)
    assert len(rows) > 10
    N = int(of.label_counts_[0])
    M = int(of.label_counts_[1]) if other == "1" else int(of.n_documents_) - N
    n = np.array([int(row[1]) for row in rows])
    m = np.array([int(row[2]) for row in rows])
    columns = [place[row[0]] for row in rows]
    assert n.tolist() == counts[0, columns].tolist()
    expected = counts[1, columns] if other == "1" else of.term_documents_[columns] - n
    assert m.tolist() == expected.tolist()
    share = of.term_documents_[columns] / of.n_documents_
    found = log_odds(n, N, m, M, share=share)
    for at, values in ((3, found.log_odds), (4, found.low), (5, found.high)):
        written = [float(row[at]) for row in rows]
        np.testing.assert_allclose(written, values, rtol=1e-3, atol=1e-3)
    q = false_discovery_control(2 * norm.sf(np.abs(found.z)))
    np.testing.assert_allclose([float(row[6]) for row in rows], q, rtol=2e-3, atol=1e-6)
    noise = [
        noise_floor(counts[i], int(of.label_counts_[i]), of.term_documents_ / of.n_documents_)
        for i in (0, 1)
    ]
    floor = max(noise) if other == "1" else noise[0]
    chance = (q >= 0.05) | (np.abs(found.z) <= float(f"{floor:.3g}"))
    assert [row[7] == "true" for row in rows] == chance.tolist()
    more, both, less = listed(tab)
    terms = [row[0] for row in rows]
    marked = {terms[i] for i in np.flatnonzero(chance)}
    for word in tab.locator(".three > section:first-child th").all_inner_texts():
        assert word.endswith("?") is (word.split()[0] in marked)
    score = rank_scores(n / N, found.low)
    assert set(more) == {terms[i] for i in np.argsort(-score, kind="stable")[:15] if score[i] > 0}
    assert all(found.high[terms.index(word)] < 0 for word in less)
    assert not set(both) & {*more, *less}


def test_the_noise_floor_is_that_of_halves_of_documents():
    """Counts alone give about the same as documents that are divided, as ``contrast`` does."""
    present = sparse.csr_array(np.random.default_rng(0).random((301, 900)) < 0.05, dtype=np.int64)
    share = np.full(900, 0.05)
    divided = _floor(present, np.arange(301), share)
    counted = noise_floor(present.sum(axis=0), 301, share)
    assert abs(divided - counted) < 0.3
    assert 2.5 < counted < 4.5
    assert noise_floor(np.array([1]), 1, np.array([0.5])) < 1  # one document has no halves


def test_swapping_mirrors(visit):
    tab = ready(visit(page("usual"), "view=compare&a=0&b=2"))
    more, both, less = listed(tab)
    tab.click("a[aria-label='Swap A and B']")
    ready(tab)
    assert heading(tab).startswith("Compare tea") or "&b=0" in tab.url
    swapped = listed(tab)
    assert swapped == [less, both, more]


def test_confusions_are_lists(visit):
    model, texts, labels = usual()
    given = model.predict(texts)
    names = model.estimator_.classes_.tolist()
    tab = visit(page("usual"))
    for a, b in ((0, 1), (1, 2), (0, 2)):
        jump(tab, f"view=compare&a={a}&b={b}")
        for line in tab.locator(".plain li").all_inner_texts():
            n, rest = line.split(" given ")
            true, predicted = rest.split(", predicted ")
            pairs = zip(labels, given, strict=True)
            assert int(n) == sum(y == true and z == predicted for y, z in pairs)
            assert {true, predicted} == {names[a], names[b]}


def test_closest_documents(visit):
    """One document of each label."""
    labels = usual()[2]
    tab = ready(visit(page("usual"), "view=compare&a=0&b=1"))
    section = tab.locator("section:has(h3:text-is('The two closest documents'))")
    ids = [int(name) for name in section.locator(".cardhead a").all_inner_texts()]
    names = usual()[0].estimator_.classes_
    assert [labels[i] for i in ids] == [names[0], names[1]]
