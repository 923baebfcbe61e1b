"""Structure and New in a real browser: labels that are one or two, and documents that look new."""

import csv
import io
from functools import cache

import numpy as np
import pytest
from explorer_browser import heading, jump, ready
from explorer_pages import analysed

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.report.explorer import explore

pytestmark = pytest.mark.filterwarnings("ignore")

TOPICS = {
    "bike": "wheel pedal chain brake saddle tyre gear spoke",
    "tea": "leaf cup kettle steep brew pot green infuse",
    "rain": "cloud storm puddle umbrella thunder drizzle wet sky",
    "chess": "pawn rook bishop queen board castle gambit mate",
    "bread": "flour oven yeast dough crust loaf knead bake",
}


def texts_of(topic, n, rng):
    words = TOPICS[topic].split()
    return [" ".join(rng.choice(words, 9)) for _ in range(n)]


@cache
def made():
    """Labels bike, wet (tea and rain), chess and knights (both of chess); bread is new."""
    rng = np.random.default_rng(0)

    def part(n):
        parts = [("bike", "bike"), ("tea", "wet"), ("rain", "wet"), ("chess", "chess"),
                 ("chess", "knights")]  # fmt: skip
        texts = [(text, label) for topic, label in parts for text in texts_of(topic, n, rng)]
        return [text for text, _ in texts], [label for _, label in texts]

    training, test = part(30), part(25)
    model = DocumentModel(SupervisedVBNMF(8, random_state=0)).fit(*training)
    new = [f"{text} sourdough" for text in texts_of("bread", 6, rng)]
    texts, labels = [*test[0], *new], [*test[1], *[None] * 6]
    return model, texts, labels, explore(model, texts, labels)


def saved(tab, name):
    with tab.expect_download() as found:
        tab.click(f"button[aria-label='Download {name} as CSV']")
    return list(csv.DictReader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))


def test_pairs_that_could_be_one(visit):
    """First those of one topic; each number is the length of the list that it opens."""
    model, texts, labels, shown = made()
    tab = ready(visit(shown, "view=structure"))
    rows = saved(tab, "merge")
    assert {rows[0]["label"], rows[0]["other"]} == {"chess", "knights"}
    given = model.predict(texts)
    for row in rows:
        pairs = list(zip(labels, given, strict=True))
        n = sum(y == row["label"] and z == row["other"] for y, z in pairs)
        assert int(row["given the first, predicted the other"]) == n
        n = sum(y == row["other"] and z == row["label"] for y, z in pairs)
        assert int(row["and back"]) == n
    links = tab.locator("table:has(caption:text-is('Pairs that could be one label')) td.right a")
    for number, href in [(x.inner_text(), x.get_attribute("href")) for x in links.all()]:
        jump(tab, href[1:])
        assert tab.inner_text("#how-many").split()[0] == number


def test_labels_that_could_be_two(visit):
    tab = ready(visit(made()[3], "view=structure"))
    rows = saved(tab, "split")
    assert rows[0]["label"] == "wet"
    assert rows[0]["could be two"] == "true"
    assert not [row for row in rows[1:] if row["could be two"] == "true"]
    first = tab.locator("details:has(.badge)").first
    assert first.locator(".card").count() == 4
    said = first.locator(".two > div > p:first-child").all_inner_texts()
    words = [set(side.split()) for side in said]
    topics = [set(TOPICS[topic].split()) for topic in ("tea", "rain")]
    sides = [[bool({w.strip(",") for w in side} & topic) for topic in topics] for side in words]
    assert sorted(sides) == [[False, True], [True, False]]


def test_new(visit):
    model, texts, _, shown = made()
    novelty = model.novelty(texts)
    tab = ready(visit(shown, "view=new"))
    assert heading(tab) == "What is new"
    n = int((novelty > 0.95).sum())
    assert tab.inner_text(".lead").startswith(f"{n} documents of {len(texts)}")
    rows = saved(tab, "new-documents")
    assert len(rows) == n
    assert sorted(float(row["novelty"]) for row in rows) == pytest.approx(
        sorted(novelty[novelty > 0.95]), abs=1e-3
    )
    assert {int(row["id"]) for row in rows} >= set(range(len(texts) - 6, len(texts)))
    unknown = {row["word"]: int(row["documents"]) for row in saved(tab, "unknown-words")}
    assert unknown["sourdough"] == 6
    groups = saved(tab, "new-groups")
    assert "sourdough" in groups[0]["words"] or "sourdough" in {
        word for row in groups[:6] for word in row["words"].split()
    }


def test_groups_have_each_document_once():
    model, texts, _, _ = made()
    new = analysed(model, texts).new
    rows = [d for _, some in new.groups() for d in some]
    assert len(rows) == len(set(rows))
    assert set(rows) <= set(new.newest)


def test_new_documents_that_are_alike_come_before_odd_ones():
    model, texts, labels, _ = made()
    odd = [f"zq{i} xv{i} wk{i} jj{i}" for i in range(6)]  # no two have a word in common
    found = analysed(model, [*texts, *odd], [*labels, *[None] * 6]).new
    n = len(texts)
    bread, strange = set(range(n - 6, n)), set(range(n, n + 6))
    assert strange <= set(np.flatnonzero(found.novelty > 0.95))
    order = [d for d in found.newest if d in bread | strange]
    assert set(order[:6]) == bread
