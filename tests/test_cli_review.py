"""vbnmf review: suspects, ids, several labels, and corrected files that differ in changed rows."""

import csv
import gzip
import json
import re

import numpy as np
import pytest
from cliruns import make_corpus, ok, run
from explorer_pages import unpacked

from vbnmf import evaluate, explore, load
from vbnmf.data import read_documents
from vbnmf.data.spreadsheets import guarded, unguarded

NAMES = ["bike", "coffee", "tea"]


def planted():
    """60 documents of which three have a wrong label, with hostile ids."""
    texts, labels = make_corpus(3, n_each=20)
    ids = [f"=cmd|{i}" if i == 5 else f"-{i}" if i == 25 else f"doc {i}" for i in range(60)]
    given = list(labels)
    for i in (5, 25, 45):
        given[i] = NAMES[(NAMES.index(labels[i]) + 1) % 3]
    return ids, texts, labels, given


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    ids, texts, _, given = planted()
    with open(folder / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["nr", "text", "label"])
        writer.writerows(zip(ids, texts, given, strict=True))
    ok("fit", folder / "a.csv", "--label", "label", "-k", "3", "--quiet",
       "--out", folder / "a.vbnmf")  # fmt: skip
    return folder


def test_planted_errors_are_listed_first(folder):
    ids, _, labels, given = planted()
    found = ok("review", folder / "a.vbnmf", folder / "a.csv", "--id", "nr", "--json").json
    assert found["in_training"] == found["judged"] == 60
    first = found["suspects"][:3]
    assert {row["id"] for row in first} == {ids[i] for i in (5, 25, 45)}
    for row in first:
        i = ids.index(row["id"])
        assert (row["kind"], row["given"], row["suggested"]) == ("wrong", given[i], labels[i])
        assert row["p_suggested"] > row["p_given"]
        assert row["left_out"]
        assert row["words_suggested"]
    estimate = found["estimated"]["wrong"]
    assert estimate["low"] <= 3 <= estimate["high"]
    text = ok("review", folder / "a.vbnmf", folder / "a.csv", "--id", "nr").out
    assert text.startswith("Estimated number of wrong labels: ")
    assert "judged by left-out probabilities" in text
    assert "=cmd|5" in text


def test_labels_by_chance_are_not_judged(tmp_path):
    """Texts say nothing about these labels: no suspect is printed, and nothing is to check."""
    texts, _ = make_corpus(3, n_each=20)
    file, model = tmp_path / "a.csv", tmp_path / "a.vbnmf"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        rows = [(text, "rare" if i % 10 == 0 else "common") for i, text in enumerate(texts)]
        csv.writer(stream).writerows([("text", "label"), *rows])
    ok("fit", file, "--label", "label", "-k", "3", "--quiet", "--out", model)
    text = ok("review", model, file).out
    assert re.search(r"^Estimated number of wrong labels: at most \d+ \(0 to \d+\), in 60", text)
    assert "they cannot tell wrong labels from right ones" in text
    assert "suggested" not in text
    assert ok("review", model, file, "--json").json["by_chance"]


def test_evaluate_tells_training_documents(folder, tmp_path):
    model = folder / "a.vbnmf"
    note = "Note: 60 of 60 documents were in training. They are predicted by models that did not"
    said = ok("evaluate", model, folder / "a.csv").err
    assert note in said
    assert "too good" in said  # of what is not predicted
    assert not ok("evaluate", model, folder / "a.csv", "--quiet").err
    texts, labels = make_corpus(8, n_each=20)
    training = read_documents(folder / "a.csv", text="text", label="label")
    some = [*zip(training.texts[:20], training.labels[:20], strict=True)]
    for file, rows in (("b.csv", []), ("c.csv", some)):
        with open(tmp_path / file, "w", newline="", encoding="utf-8") as stream:
            all_rows = [*zip(texts, labels, strict=True), *rows]
            csv.writer(stream).writerows([("text", "label"), *all_rows])
    assert "in training" not in ok("evaluate", model, tmp_path / "b.csv").err
    note = "Note: 20 of 80 documents have the same words as a document in training"
    assert note in ok("evaluate", model, tmp_path / "c.csv").err


def test_evaluate_tells_training_documents_of_a_shard_folder(folder, tmp_path):
    ok("vectorize", folder / "a.csv", "--label", "label", "--out", tmp_path / "a.shards")
    ok("fit", tmp_path / "a.shards", "-k", "3", "--quiet", "--out", tmp_path / "m.vbnmf")
    said = ok("evaluate", tmp_path / "m.vbnmf", tmp_path / "a.shards").err
    assert "Note: 60 of 60 documents were in training" in said


def test_training_documents_are_scored_by_models_that_did_not_see_them(folder):
    """All of them, and almost only them; their number is in the JSON."""
    model, file = load(folder / "a.vbnmf"), folder / "a.csv"
    training = read_documents(file, text="text", label="label")
    left_out = model.estimator_.labels_from(model.estimator_.left_out_proba_)
    expected = np.mean(left_out == np.asarray(training.labels))
    assert expected < np.mean(model.predict(training.texts) == training.labels)
    scores = ok("evaluate", folder / "a.vbnmf", file, "--json").json
    assert scores["micro_accuracy"] == pytest.approx(expected)
    assert scores["left_out_documents"] == 60
    page = unpacked(explore(model, training.texts, training.labels).html)
    assert page["overview"]["score"][0] == pytest.approx(expected, abs=1e-4)
    recalls = [row["recall"] for row in scores["labels"]]
    assert [row[1] for row in page["quality"]["by_label"]] == pytest.approx(recalls, abs=1e-3)
    others, labels = make_corpus(8, n_each=20)
    for n_known, n_left_out in ((58, 58), (40, 0)):  # nearly all of them, and fewer
        texts = [*training.texts[:n_known], *others[: 60 - n_known]]
        given = [*training.labels[:n_known], *labels[: 60 - n_known]]
        scores = evaluate(model, texts, given)
        assert scores["left_out_documents"] == n_left_out
        right = model.predict(texts) == given
        right[:n_left_out] = (left_out == np.asarray(training.labels))[:n_left_out]
        assert scores["micro_accuracy"] == pytest.approx(np.mean(right))


def test_suspects_are_a_file_for_spreadsheets(folder, tmp_path):
    out = tmp_path / "suspects.csv"
    ok("review", folder / "a.vbnmf", folder / "a.csv", "--id", "nr", "--out", out, "--quiet")
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    listed = ok("review", folder / "a.vbnmf", folder / "a.csv", "--id", "nr", "--json").json
    assert [unguarded(row["id"]) for row in rows] == [row["id"] for row in listed["suspects"]]
    assert len(rows) == listed["found"]
    assert {"'=cmd|5", "-25"} <= {row["id"] for row in rows}
    assert not any(cell[:1] in "=+@" for row in rows for cell in row.values() if cell)
    assert {row["decision"] for row in rows} == {""}
    assert rows[0]["words_suggested"] == listed["suspects"][0]["words_suggested"]


def test_applied_decisions_change_exactly_these_rows(folder, tmp_path):
    ids, _, labels, _ = planted()
    suspects, corrected = tmp_path / "suspects.csv", tmp_path / "corrected.csv"
    model, file = folder / "a.vbnmf", folder / "a.csv"
    ok("review", model, file, "--id", "nr", "--out", suspects, "--quiet")
    with open(suspects, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        i = ids.index(unguarded(row["id"]))
        row["decision"] = "change" if i in (5, 25) else "keep" if i == 45 else ""
    with open(suspects, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = ok("review", model, file, "--id", "nr", "--apply", suspects, "--out", corrected)
    assert "2 rows changed" in done.err
    before, after = (path.read_bytes().split(b"\r\n") for path in (file, corrected))
    assert len(before) == len(after)
    differ = [i - 1 for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert differ == [5, 25]
    with open(corrected, newline="", encoding="utf-8") as stream:
        assert [list(csv.DictReader(stream))[i]["label"] for i in (5,)] == [labels[5]]
    # applied again, nothing is left to change
    again = tmp_path / "again.csv"
    ok("review", model, corrected, "--id", "nr", "--apply", suspects, "--out", again)
    assert again.read_bytes() == corrected.read_bytes()


def test_a_file_without_decisions_is_told(folder, tmp_path):
    """Also if labels are filled in, and only the column of decisions is empty."""
    decisions = decide(tmp_path / "d.csv", "doc 1,,tea", "doc 2,keep,")
    command = ("review", folder / "a.vbnmf", folder / "a.csv", "--id", "nr", "--apply", decisions)
    said = ok(*command, "--out", tmp_path / "b.csv").err
    assert "no row of" in said
    assert "has the decision 'change'" in said
    assert "0 rows changed" in said


AWKWARD = (
    b'\xef\xbb\xbf"nr";text;"label";other\n'
    b'1;"two\nlines; and ""quotes""";"a;b" ; 7\r\n'
    b"\n"
    b"2;plain;  a ;'\r\n"
    b'3;"x";"a";\n'
    b"4;last;a;no line end"
)


def decide(path, *rows, head="id,decision,label"):
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def apply(tmp_path, content, decisions, name="a.csv", **options):
    from vbnmf.reviewing.corrections import apply_decisions, read_decisions

    (tmp_path / name).write_bytes(content)
    changes = read_decisions(str(decisions))
    n = apply_decisions(str(tmp_path / name), tmp_path / "out", changes, label="label", **options)
    return n, (tmp_path / "out").read_bytes()


def test_all_other_bytes_are_copied(tmp_path):
    content = AWKWARD.replace(b'"a;b" ', b'"a;b"')
    decisions = decide(tmp_path / "d.csv", "2,change,c", '3,change,"b;""c"""', "4,keep,d")
    n, found = apply(tmp_path, content, decisions, id_column="nr")
    assert n == 2
    expected = content.replace(b"2;plain;  a ;", b"2;plain;c;")
    assert found == expected.replace(b'3;"x";"a";', b'3;"x";"b;""c""";')


def test_rows_are_named_by_their_first_line(tmp_path):
    content = AWKWARD.replace(b'"a;b" ', b'"a;b"')
    decisions = decide(tmp_path / "d.csv", "2,c", "5,d", "7,e", head="id,label")
    n, found = apply(tmp_path, content, decisions)
    assert n == 3
    expected = content.replace(b'"a;b"', b'"c"').replace(b"  a ;", b"d;")
    assert found == expected.replace(b"last;a;", b"last;e;")


def test_json_lines_and_gzip(tmp_path):
    lines = [json.dumps({"label": "a", "n": i}) for i in range(4)]
    content = gzip.compress("\n".join(lines).encode())
    decisions = decide(tmp_path / "d.csv", "2,b", head="id,label")
    n, found = apply(tmp_path, content, decisions, name="a.jsonl.gz", compress=True)
    after = gzip.decompress(found).decode().split("\n")
    assert n == 1
    assert [a == b for a, b in zip(lines, after, strict=True)] == [True, False, True, True]
    assert json.loads(after[1]) == {"label": "b", "n": 1}


@pytest.mark.parametrize(
    ("rows", "head", "message"),
    [
        (["9,change,b"], "id,decision,label", "no row has the id '9'"),
        (["3,change,b", "3,change,c"], "id,decision,label", "gets two labels"),
        (["3,perhaps,b"], "id,decision,label", "the decision is 'perhaps'"),
        (["3,change,"], "id,decision,label", "there is no label"),
        (["3,change,b,x"], "id,decision,label,given", "the decision was made for 'x'"),
        (["a,b"], "nr,label", "expected the columns 'id'"),
        (["1,change,b"], "id,decision,label", "two rows have the id '1'"),
    ],
)
def test_decisions_that_do_not_fit_are_refused(tmp_path, rows, head, message):
    content = b"nr,label\n1,a\n1,a\n3,a\n"
    decisions = decide(tmp_path / "d.csv", *rows, head=head)
    with pytest.raises(ValueError, match=message):
        apply(tmp_path, content, decisions, id_column="nr")


def test_labels_are_added_and_removed(tmp_path):
    content = b"nr,label\n1,a|b\n2,a\n3,b|c\n"
    head = "id,kind,given,suggested,decision,label"
    decisions = decide(
        tmp_path / "d.csv", "1,superfluous,b,,change,", "2,missing,,c,change,",
        "2,missing,,d,change,", "3,missing,,d,skip,", head=head,
    )  # fmt: skip
    n, found = apply(tmp_path, content, decisions, id_column="nr", separator="|")
    assert (n, found) == (2, b"nr,label\n1,a\n2,a|c|d\n3,b|c\n")


@pytest.mark.parametrize(
    "cell", ["=1+1", "'=1", "''@x", "-3+1", "+a", "@b", "\tx", "plain", "'x", "", "-1\n"]
)
def test_cells_for_spreadsheets(cell):
    assert guarded(cell)[:1] not in tuple("=+-@\t\r")
    assert unguarded(guarded(cell)) == cell


@pytest.mark.parametrize("cell", ["-3", "+1", "-1.5e-7", "-.5"])
def test_numbers_for_spreadsheets(cell):
    assert guarded(cell) == cell == unguarded(cell)


def test_copies_and_spellings_are_listed(folder, tmp_path):
    _, texts, _, given = planted()
    file = tmp_path / "more.csv"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        labels = [label.upper() if i % 9 == 0 else label for i, label in enumerate(given)]
        writer.writerows(zip(texts, labels, strict=True))
        writer.writerow([texts[1], "tea"])
    found = ok("review", folder / "a.vbnmf", file, "--json").json
    assert {"3", "62"} <= {name for one in found["copies"] for name in one["ids"]}
    assert sorted(len(one["labels"]) for one in found["spellings"]) == [2, 2, 2]
    text = ok("review", folder / "a.vbnmf", file).out
    assert "6 labels from 3" in text
    assert len(found["copies"]) == 1
    said = "1 group of documents with the same words, or nearly, and different labels:\n"
    assert said in text


def test_several_labels(tmp_path):
    texts, labels = make_corpus(1, n_each=30)
    rows = [
        (f"{texts[i]} {texts[(i + 30) % 90]}", f"{labels[i]};{labels[(i + 30) % 90]}")
        if i % 2
        else (texts[i], labels[i])
        for i in range(90)
    ]
    rows[1] = (rows[1][0], rows[1][1].split(";")[0])  # one label is missing
    rows[0] = (rows[0][0], rows[0][1] + ";tea")  # one is superfluous
    file = tmp_path / "a.csv"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])
    model = tmp_path / "a.vbnmf"
    ok("fit", file, "--label", "label", "--label-separator", ";", "-k", "3", "--quiet",
       "--out", model)  # fmt: skip
    found = ok("review", model, file, "--json").json
    assert set(found["estimated"]) == {"missing", "superfluous"}
    by_kind = {kind: [r for r in found["suspects"] if r["kind"] == kind]
               for kind in found["estimated"]}  # fmt: skip
    assert by_kind["missing"][0]["id"] == "3"
    assert by_kind["superfluous"][0]["id"] == "2"
    text = ok("review", model, file, "--most", 1).out
    out = ok("review", model, file, "--most", 1, "--out", tmp_path / "all.csv").out
    assert out.strip() == text.strip()  # the file has all, the terminal the first of each kind
    assert re.search(r"^id +missing label +p .*\n─+\n3 ", text, re.M)
    assert re.search(r"^id +superfluous label +p .*\n─+\n2 ", text, re.M)


def test_refusals(folder, tmp_path):
    model, file = folder / "a.vbnmf", folder / "a.csv"
    assert run("review", model, file, "--apply", file).code == 2
    assert run("review", model, file, "--out", file).code == 2
    ok("fit", file, "-k", "3", "--quiet", "--out", tmp_path / "plain.vbnmf")
    bad = run("review", tmp_path / "plain.vbnmf", file)
    assert bad.code == 2
    assert "was fitted without labels" in bad.err
