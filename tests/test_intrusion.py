"""Test yourself: questions from the model, answers as a file, scores with intervals."""

import json

import numpy as np
import pytest
from cliruns import ok, run
from explorer_browser import jump
from explorer_pages import page, unpacked, usual

from vbnmf.description.components import component_names, naming_terms, term_parts
from vbnmf.metrics.shares import share_interval
from vbnmf.reviewing.intrusion import (
    KIND,
    Answer,
    document_questions,
    human_scores,
    read_answers,
    word_questions,
)

pytestmark = pytest.mark.filterwarnings("ignore")


class TestQuestions:
    def test_words(self):
        model = usual()[0]
        found = word_questions(model)
        lists, parts = naming_terms(model, 15), term_parts(model)
        assert len(found) >= 3
        assert len({one.component for one in found}) == len(found)
        for one in found:
            odd = one.items[one.intruder]
            own = [w for i, w in enumerate(one.items) if i != one.intruder]
            assert sorted(own) == sorted(lists[one.component][:5])
            assert odd in lists[one.source][:10]
            assert odd not in lists[one.component]
            assert parts.of_component(one.component)[odd] < parts.average[odd]
        assert word_questions(model) == found
        assert word_questions(model, seed=1) != found

    def test_documents(self):
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(np.full(6, 0.05), 200)
        trust = rng.uniform(0.5, 1, 200)
        trust[:40] = 0
        found = document_questions(shares, trust)
        assert {one.component for one in found} == set(range(6))
        for one in found:
            own = [d for i, d in enumerate(one.items) if i != one.intruder]
            assert (shares[own, one.component] >= 0.2).all()
            assert shares[one.items[one.intruder], one.component] < 0.01
            assert shares[one.items[one.intruder], one.source] >= 0.2
            assert (trust[one.items] > 0).all()

    def test_places_are_random(self):
        shares = np.repeat(np.eye(60), 4, axis=0)
        places = [one.intruder for one in document_questions(shares, np.ones(240), n=60)]
        assert np.bincount(places, minlength=4).min() >= 7  # of 15 expected

    def test_nothing_to_ask(self):
        assert document_questions(np.ones((5, 1)), np.ones(5)) == []


def test_by_keyboard(visit, tmp_path):
    """Blind until the end; answers survive a reload, and are read by the command."""
    model = usual()[0]
    questions = unpacked(page("usual").html)["test"]["words"]
    tab = visit(page("usual"), "view=test")
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.wait_for_selector("#question")
    names = component_names(model, model.terms_)
    for i, (_, items, intruder, _) in enumerate(questions):
        said = tab.inner_text("main")
        assert not any(name in said for name in names)
        shown = tab.locator("#question .option bdi").all_text_contents()
        assert sorted(shown) == sorted(str(model.terms_[w]) for w in terms(items))
        # the first is not found, the second cannot be told
        key = {0: (intruder + 1) % len(items) + 1, 1: 0}.get(i, intruder + 1)
        tab.keyboard.press(str(key))
        if i == 2:
            tab.reload()
            tab.wait_for_selector("#asked")
        assert tab.inner_text("#asked") == f"{i + 1} of {len(questions)} answered."
    n, right = len(questions), len(questions) - 2
    assert tab.inner_text("section h3").startswith(f"{right} of {n} right")
    with tab.expect_download() as found:
        tab.click("button[aria-label='Download answers as JSON']")
    path = tmp_path / "answers.json"
    path.write_bytes(found.value.path().read_bytes())
    answers = read_answers(path)
    assert [one.right for one in answers] == [False, False, *[True] * right]
    assert answers[1].chosen is None
    model.save(tmp_path / "m.vbnmf")
    scores = json.loads(ok("evaluate", tmp_path / "m.vbnmf", "--human", path, "--json").out)
    low, high = share_interval(right, n)
    (words,) = scores["tasks"]
    assert (words["answers"], words["right"], words["cannot_tell"]) == (n, right, 1)
    assert [words["low"], words["high"]] == [float(low), float(high)]
    assert words["by_chance"] == pytest.approx(1 / 6)
    tab.click("#start-again")
    assert tab.inner_text("#asked") == f"0 of {n} answered."
    jump(tab, "view=test&task=documents")
    assert tab.locator("#question .option").count() == 4


def terms(places):
    """Columns of terms of the page, by their names."""
    names = unpacked(page("usual").html)["terms"]["names"]
    columns = {str(term): w for w, term in enumerate(usual()[0].terms_)}
    return [columns[names[w]] for w in places]


ANSWER = {"task": "words", "component": 0, "name": "a b c", "shown": list("abcdef"), "intruder": 2,
          "chosen": 2, "seconds": 1.5}  # fmt: skip


def write(path, *answers, **changes):
    path.write_text(json.dumps({"kind": KIND, "answers": list(answers)} | changes))
    return path


class TestCommand:
    def test_several_people(self, tmp_path):
        one = write(tmp_path / "a.json", ANSWER, ANSWER | {"chosen": None})
        two = write(tmp_path / "b.json", ANSWER, ANSWER | {"task": "documents", "chosen": 0})
        out = ok("evaluate", "--human", one, "--human", two).out
        assert "Answers of 2 files." in out
        lines = [line.split() for line in out.splitlines()]
        assert ["words", "3", "2", "67", "%", "21", "%", "to", "94", "%", "17", "%"] in lines
        assert next(line for line in lines if line[:1] == ["documents"])[1:3] == ["1", "0"]
        assert "(cannot tell)" in out

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("not json", "is no file of answers"),
            ("[" * 100_000, "is no file of answers"),
            ("[]", "is no file of answers that Test yourself"),
            (json.dumps({"kind": KIND, "answers": []}), "has no answers"),
            (json.dumps({"kind": KIND, "answers": [ANSWER, {**ANSWER, "chosen": 6}]}),
             "answer 2 of 2 is damaged"),
            (json.dumps({"kind": KIND, "answers": [{**ANSWER, "intruder": True}]}), "answer 1"),
            (json.dumps({"kind": KIND, "answers": [{**ANSWER, "task": "songs"}]}), "answer 1 of 1"),
            (json.dumps({"kind": KIND, "answers": [{**ANSWER, "shown": [1, 2, 3]}]}), "damaged"),
        ],
    )  # fmt: skip
    def test_bad_files(self, tmp_path, content, message):
        (tmp_path / "x.json").write_text(content)
        result = run("evaluate", "--human", tmp_path / "x.json")
        assert result.code == 2
        assert message in result.err
        assert len(result.err.strip().splitlines()) == 1

    def test_other_refusals(self, tmp_path):
        assert run("evaluate", "--human", tmp_path / "none.json").code == 2
        result = run("evaluate")
        assert result.code == 2
        assert "Missing argument 'MODEL'" in result.err
        usual()[0].save(tmp_path / "m.vbnmf")
        result = run("evaluate", tmp_path / "m.vbnmf")
        assert "Missing argument 'FILE'" in result.err
        path = write(tmp_path / "a.json", ANSWER)
        result = run("evaluate", tmp_path / "m.vbnmf", "--human", path)
        assert result.code == 2
        assert "another model" in result.err


def test_scores():
    answers = [Answer("words", k, "n", list("abcdef"), 1, k % 2) for k in range(10)]
    (found,) = human_scores(answers)["tasks"]
    assert (found["right"], found["share"]) == (5, 0.5)
    assert len(human_scores(answers)["missed"]) == 5
