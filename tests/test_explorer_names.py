"""Names, notes and links by name, in a real browser; and ``report --names``."""

import csv
import io
import json

import pytest
from cliruns import ok, run
from explorer_browser import heading, jump, ready
from explorer_pages import page, scoped, usual

from vbnmf.cli import common
from vbnmf.description.components import component_names
from vbnmf.report.explorer import explore

pytestmark = pytest.mark.filterwarnings("ignore")


def fresh(visit, shown, place):
    tab = visit(shown, place)
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.wait_for_selector("#heading")
    return ready(tab)


def rename(tab, name):
    tab.click("#rename")
    tab.fill("#new-name", name)
    tab.keyboard.press("Enter")


def saved(tab, button):
    with tab.expect_download() as found:
        tab.click(f"button[aria-label='{button}']")
    return found.value.path().read_text(encoding="utf-8")


def test_a_name_shows_everywhere(visit):
    model = usual()[0]
    old = str(model.estimator_.classes_[0])
    tab = fresh(visit, explore(*usual(), title="Names"), "view=label&l=0")
    rename(tab, "Two-wheelers <b>")
    assert heading(tab) == "Label Two-wheelers <b>"
    tab.reload()
    tab.wait_for_selector("#heading")
    assert heading(tab) == "Label Two-wheelers <b>"
    for place in (
        *("view=labels", "view=map", "view=trust", "view=compare&a=0&b=1"),
        *("view=document&only=wrong", "view=term&word=wheel", "view=review&which=all"),
    ):
        jump(tab, place)
        shown = tab.inner_text("main")
        assert "Two-wheelers <b>" in shown, place
        assert f"\n{old}\n" not in shown, place
    jump(tab, "view=labels")
    rows = list(csv.reader(io.StringIO(saved(tab, "Download labels as CSV"))))
    assert "Two-wheelers <b>" in [row[0] for row in rows]
    assert "Two-wheelers" in saved(tab, "Download labels as SVG")
    # the file has the old name
    jump(tab, "view=review&which=all")
    tab.keyboard.press("c")
    decisions = saved(tab, "Download decisions as CSV")
    assert "Two-wheelers" not in decisions


def test_a_name_inside_other_words(visit):
    """The label "a" is renamed in "shared by a, b", and no other letter of it changes."""
    tab = fresh(visit, page("scopes"), "view=label&l=0")
    rename(tab, "first $& one")
    jump(tab, "view=components")
    said = tab.locator("main tbody td:nth-child(2)").all_inner_texts()
    assert {"only first $& one", "only b"} <= set(said)
    assert {"shared by first $& one, b", "shared by b, first $& one"} & set(said)


def test_components_and_notes(visit):
    shown = explore(*scoped(), title="Scopes too")
    tab = fresh(visit, shown, "view=component&k=2")
    rename(tab, "the third")
    assert heading(tab) == "Component #2 the third"
    tab.click("summary:text-is('Note')")
    tab.fill("#note", "ask Ada")
    tab.locator("#heading").focus()
    jump(tab, "view=label&l=0")
    rename(tab, "Alpha")
    jump(tab, "view=about")
    found = json.loads(saved(tab, "Download names and notes as JSON"))
    assert list(found["components"].values()) == ["the third"]
    assert found["labels"] == {"a": "Alpha"}
    assert list(found["notes"].values()) == ["ask Ada"]
    jump(tab, "view=components")
    assert "the third" in tab.inner_text("main")
    # another page takes them from the file
    again = visit(explore(*scoped(), title="Another", names=found), "view=labels")
    assert "Alpha" in again.inner_text(".labels")
    jump(again, "view=component&k=2")
    assert heading(again) == "Component #2 the third"
    assert again.input_value("#note") == "ask Ada"


def test_links_by_name(visit):
    tab = visit(page("usual"), "view=label&name=tea")
    assert heading(tab) == "Label tea"
    jump(tab, "view=label&name=gone")
    assert "This page has no label called “gone”" in tab.inner_text("#gone")


def test_names_of_a_file(tmp_path):
    model = usual()[0]
    model.save(tmp_path / "m.vbnmf")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"labels": {"tea": "Tee"}}))
    out = tmp_path / "page.html"
    ok("report", tmp_path / "m.vbnmf", "--names", names, "--out", out)
    from explorer_pages import unpacked

    assert unpacked(out.read_text(encoding="utf-8"))["names"]["labels"] == {"tea": "Tee"}
    names.write_text('{"labels": [1]}')
    done = run("report", tmp_path / "m.vbnmf", "--names", names, "--out", tmp_path / "p.html")
    assert done.code == 2
    assert "names must be" in done.err
    with pytest.raises(ValueError, match="names must be"):
        explore(model, names=[])


class TestCommands:
    """``topics`` and ``predict`` read the names that a page saved."""

    @pytest.fixture
    def files(self, tmp_path):
        model = usual()[0]
        model.save(tmp_path / "m.vbnmf")
        first = component_names(model, model.terms_)[0]
        (tmp_path / "names.json").write_text(
            json.dumps({"labels": {"tea": "Tee"}, "components": {first: "Nullte"}})
        )
        return tmp_path / "m.vbnmf", tmp_path / "names.json"

    def test_topics(self, files):
        model, names = files
        before, after = ok("topics", model).out, ok("topics", model, "--names", names).out
        assert "tea" in before
        assert "Tee" not in before
        assert "Tee" in after
        assert f"Nullte: {component_names(usual()[0], usual()[0].terms_)[0]}" in after
        of_label = ok("topics", model, "--names", names, "--label", "tea").out
        assert "expected part of Tee" in of_label
        assert ok("topics", model, "--names", names, "--label", "Tee").out == of_label
        rows = json.loads(ok("topics", model, "--names", names, "--json").out)
        assert {row["name"] for row in rows if row["component"] == 0} == {"Nullte"}
        assert "Tee" in {label for row in rows for label in row["labels"]}
        assert "tea" not in {label for row in rows for label in row["labels"]}

    def test_predict(self, files, tmp_path):
        model, names = files
        (tmp_path / "new.csv").write_text("text\nsteep the green tea leaves\n", encoding="utf-8")
        done = ok("predict", model, tmp_path / "new.csv", "--names", names, "--explain", "--json")
        row = json.loads(done.out)
        assert row["label"] == "Tee"
        assert row["explanation"][0]["label"] == "Tee"
        called = {
            c["component"]: c["name"] for why in row["explanation"] for c in why["components"]
        }
        assert all(name.startswith(f"#{k} ") for k, name in called.items())
        assert called.get(0, "#0 Nullte") == "#0 Nullte"

    def test_a_file_of_something_else(self, files):
        model, names = files
        names.write_text("[]")
        for command in ("topics", "predict"):
            rest = () if command == "topics" else (names,)
            done = run(command, model, *rest, "--names", names)
            assert done.code == 2
            assert "names must be" in done.err


def test_names_that_do_not_exist_are_an_error_in_plain_words(tmp_path):
    with pytest.raises(common.Refusal, match=r"--names .*none\.json: no such file\.$"):
        common.read_names(str(tmp_path / "none.json"))
