"""Columns in a real browser: filters with counts, and shares that equal a recount."""

import csv
import io

import pytest
from explorer_browser import jump
from explorer_pages import HOSTILE, analysed, kept, page, restored, unpacked, usual

from vbnmf.metrics.shares import share_interval
from vbnmf.report.explorer import explore
from vbnmf.report.explorer.keptcolumns import MOST_COLUMNS
from vbnmf.reviewing.columnshares import read_column

pytestmark = pytest.mark.filterwarnings("ignore")


def saved(tab, button):
    with tab.expect_download() as found:
        tab.click(f"button[aria-label='{button}']")
    return list(csv.reader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))


def ids(tab):
    return [int(name) for name in tab.locator(".cardhead a bdi").all_text_contents()]


def places(tab, selector):
    """Texts and addresses of links."""
    links = tab.locator(selector).all()
    return [(one.inner_text(), one.get_attribute("href")[1:]) for one in links]


def test_filters_have_counts(visit):
    n = len(usual()[1])
    cells = kept(n)["opened"]
    tab = visit(page("usual"), "view=document&order=file")
    options = tab.locator("#choose-in0 option").all_inner_texts()
    months = sorted({cell[:7] for cell in cells if cell})
    expected = [f"{m} ({sum(cell.startswith(m) for cell in cells)})" for m in months]
    assert options == ["any", *expected, f"empty ({cells.count('')})"]
    tab.select_option("#choose-in0", label=expected[2])
    found = ids(tab)
    assert found == [i for i, cell in enumerate(cells) if cell.startswith(months[2])]
    # the filter survives a document, and the table has the column
    tab.click(".cardhead a")
    tab.wait_for_selector("text=All documents")
    assert f"1 of {len(found)}" in tab.inner_text(".steps")
    assert cells[found[0]] in tab.inner_text(".facts")
    tab.click("a:text-is('All documents')")
    rows = saved(tab, "Download documents as CSV")
    at = rows[0].index("opened")
    assert [row[at] for row in rows[1:]] == [cells[i] for i in found]


def test_values_beyond_the_commonest(visit):
    tab = visit(page("usual"), "view=columns&column=1")
    customers = kept(len(usual()[1]))["customer"]
    column = read_column("customer", customers)
    different = len(set(customers))
    if different > 30:
        assert f"{different} different values: the 30 commonest" in tab.inner_text(".lead >> nth=0")
    jump(tab, "view=document")
    counts = [one.documents for one in column.groups]
    shown = tab.locator("#choose-in1 option").all_inner_texts()[1:]
    assert [int(text.rsplit("(", 1)[1][:-1]) for text in shown] == counts


@pytest.mark.parametrize("most", [5000, 20])
@pytest.mark.parametrize("of", ["given", "predicted"])
def test_counts_are_the_lengths_of_lists(visit, most, of):
    """They are of all documents; links have the number of those on the page."""
    model, texts, labels = usual()
    found = analysed(model, texts, labels)
    lists = found.truth if of == "given" else found.predicted
    cells = kept(len(texts))["opened"]
    shown = explore(model, texts, labels, columns=kept(len(texts)), max_documents=most)
    tab = visit(shown, f"view=columns&of={of}&row=1")
    tab.wait_for_function("!document.querySelector('main').textContent.includes('…')")
    rows = saved(tab, "Download shares-opened-one as CSV")[1:]
    for name, n, with_it, share, low, high in rows:
        mine = [some for cell, some in zip(cells, lists, strict=True)
                if (cell[:7] or "empty") == name and some is not None]  # fmt: skip
        k = sum(1 in some for some in mine)
        assert (int(n), int(with_it)) == (len(mine), k)
        assert float(share) == pytest.approx(k / len(mine))
        ends = share_interval(k, len(mine))
        assert [float(low), float(high)] == pytest.approx([float(end) for end in ends])
    links = places(tab, ".bygroup td a")
    assert len(links) > 6
    for number, place in links:
        jump(tab, place)
        assert len(ids(tab)) == int(number.removesuffix(" here"))


def test_components(visit):
    """Shares and intervals are those of Python, and documents are links."""
    payload = unpacked(page("usual").html)["columns"][0]["components"]
    tab = visit(page("usual"), f"view=columns&of=components&row={payload['rows'][0]}")
    rows = saved(tab, "Download shares-opened-one as CSV")[1:]
    values = [[float(cell) for cell in row[3:]] for row in rows]
    parts = (payload[name][0] for name in ("shares", "low", "high"))
    assert values == [list(one) for one in zip(*parts, strict=True)]


def test_other_views_are_filtered(visit):
    """Review, New and words in context list only the documents of the chosen value."""
    docs = restored(unpacked(page("usual").html, "packed"))
    group = docs["columns"][0]["groups"]
    tab = visit(page("usual"), "view=review&which=all")
    every = tab.inner_text("#decided").split(" decided")[0].split(" of ")[1]
    jump(tab, "view=review&which=all&in0=1")
    total = sum(group[d] == 1 for d, *_ in unpacked(page("usual").html)["documents"]["suspects"])
    assert tab.inner_text("#decided").startswith(f"0 of {total} decided")
    assert total < int(every)
    jump(tab, "view=term&word=wheel&in0=1")
    tab.wait_for_selector(".lines")
    for d in tab.locator(".lines .hit").evaluate_all("all => all.map((one) => one.title)"):
        assert group[int(d)] == 1
    jump(tab, "view=new&in0=1")
    assert all(group[d] == 1 for d in ids(tab))
    jump(tab, "view=document&in0=77")  # a filter that this page does not have
    assert len(ids(tab)) > 30


def test_hostile_cells_stay_text(visit):
    tab = visit(page("hostile"), "view=columns&column=1")
    assert tab.evaluate("window.hacked") is None
    assert sorted(tab.locator(".bygroup tbody th bdi").all_text_contents()) == sorted(
        text.strip() for text in HOSTILE
    )
    jump(tab, "view=document&order=file")
    assert tab.evaluate("window.hacked") is None
    first = tab.locator(".card").nth(0).locator(".cells bdi").all_text_contents()
    assert first == [HOSTILE[0]] * 10


def test_the_page_stays_small():
    """Long cells are cut, and many values are few groups."""
    model, texts, labels = usual()
    long = [f"{i} " + 5000 * "x" for i in range(len(texts))]
    shown = explore(model, texts, labels, columns={"long": long})
    plain = explore(model, texts, labels)
    assert len(shown.html) < len(plain.html) + 20_000
    docs = unpacked(shown.html, "packed")
    assert {len(cell) for cell in docs["columns"][0]["cells"]} == {80}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x"]}, "column 'a' has 1 cells, but there are 60 documents"),
        ({str(i): [] for i in range(MOST_COLUMNS + 1)}, "at most 10 columns, and 11 were given"),
    ],
)
def test_refusals(columns, message):
    model, texts, labels = usual()
    columns = {k: v if v else ["x"] * len(texts) for k, v in columns.items()}
    with pytest.raises(ValueError, match=message):
        explore(model, texts, labels, columns=columns)
    with pytest.raises(ValueError, match="pass documents too"):
        explore(model, columns=columns)


def test_the_value_of_a_document_is_a_link_only_to_documents_of_this_value(visit):
    """The documents of all values that are not shown are of other values."""
    model, texts, labels = usual()
    cells = ["often"] * 15 + [f"once {i}" for i in range(len(texts) - 15)]
    tab = visit(explore(model, texts, labels, columns={"how often": cells}))
    for d, linked in ((0, 1), (len(texts) - 1, 0)):
        jump(tab, f"view=document&d={d}")
        fact = tab.locator(".facts li", has_text="how often")
        assert fact.inner_text() == f"how often {cells[d]}"
        assert fact.locator("a").count() == linked
