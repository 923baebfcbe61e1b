"""vbnmf contrast, vbnmf compare and evaluate --accept: recounted from the raw files."""

import csv

import numpy as np
import pytest
from cliruns import make_corpus, ok, run

from vbnmf import load


def write(path, rows, head):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    texts, labels = make_corpus(0, n_each=30, mixed=0.2)
    months = [f"2026-{1 + i % 6:02d}" for i in range(90)]
    rows = list(zip(texts, labels, months, strict=True))
    write(folder / "old.csv", rows, ("text", "label", "month"))
    more, given = make_corpus(9, n_each=30, mixed=0.2)
    kept = [(t, y) for i, (t, y) in enumerate(zip(more, given, strict=True))
            if y != "bike" or i % 3 == 0]  # fmt: skip
    kept = [(f"{t} zeppelin", y) if y == "tea" else (t, y) for t, y in kept]
    write(folder / "new.csv", [(*row, "2026-07") for row in kept], ("text", "label", "month"))
    ok("fit", folder / "old.csv", "--label", "label", "-k", "3", "--quiet",
       "--out", folder / "m.vbnmf")  # fmt: skip
    return folder


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def has(row, word):
    return word in row["text"].replace(",", " ").replace('"', " ").split()


def test_contrast_counts_documents_of_the_file(folder):
    rows = rows_of(folder / "old.csv")
    found = ok("contrast", folder / "m.vbnmf", folder / "old.csv", "tea", "bike", "--json").json
    assert found["documents"] == [30, 30]
    terms = [*found["more_in_first"], *found["in_both"], *found["more_in_second"]]
    assert len(terms) > 8
    for term in terms:
        assert term["documents"] == [
            sum(has(row, term["term"]) for row in rows if row["label"] == label)
            for label in ("tea", "bike")
        ]
    back = ok("contrast", folder / "m.vbnmf", folder / "old.csv", "bike", "tea", "--json").json
    assert [t["term"] for t in back["more_in_second"]] == [
        t["term"] for t in found["more_in_first"]
    ]
    assert [-t["log_odds"] for t in back["more_in_second"]] == [
        t["log_odds"] for t in found["more_in_first"]
    ]
    assert back["confused"] == found["confused"][::-1]
    assert back["closest"]["ids"] == found["closest"]["ids"][::-1]
    text = ok("contrast", folder / "m.vbnmf", folder / "old.csv", "tea", "bike").out
    assert "More in tea:" in text
    assert found["in_training"] == 90
    fitted_to = "The model was fitted to {} of this file with their labels."
    assert fitted_to.format("90 documents") in text
    new = ok("contrast", folder / "m.vbnmf", folder / "new.csv", "tea", "bike").out
    assert fitted_to[:24] not in new
    assert "Closest documents" in text


def test_contrast_with_the_rest_and_by_a_column(folder):
    rest = ok("contrast", folder / "m.vbnmf", folder / "old.csv", "tea", "--json").json
    assert (rest["names"], rest["documents"]) == (["tea", "the rest"], [30, 60])
    by = ok("contrast", folder / "m.vbnmf", folder / "old.csv", "2026-01", "2026-02", "--by",
            "month", "--json").json  # fmt: skip
    assert by["documents"] == [15, 15]
    assert by["confused"] is None
    assert by["more_in_first"] == by["more_in_second"] == []
    bad = run("contrast", folder / "m.vbnmf", folder / "old.csv", "tea", "juice")
    assert bad.code == 2
    assert "'juice' is not a label of these documents. There are: bike, coffee, tea." in bad.err
    assert run("contrast", folder / "m.vbnmf", folder / "old.csv", "tea", "tea").code == 2


def test_compare_counts_labels_and_words(folder):
    old, new = rows_of(folder / "old.csv"), rows_of(folder / "new.csv")
    found = ok("compare", folder / "m.vbnmf", folder / "old.csv", folder / "new.csv", "--json").json
    assert found["documents"] == [len(old), len(new)]
    assert found["labels_are"] == "given"
    for one in found["labels"]:
        counts = [sum(row["label"] == one["name"] for row in rows) for rows in (old, new)]
        assert one["documents"] == counts
        assert (one["then"], one["now"]) == (counts[0] / len(old), counts[1] / len(new))
        assert one["low"] < one["now"] - one["then"] < one["high"]
    assert found["labels"][0]["name"] == "bike"
    word = found["words"][0]
    assert (word["term"], word["known"]) == ("zeppelin", False)
    assert word["documents"] == [0, sum(has(row, "zeppelin") for row in new)]
    assert sum(one["then"] for one in found["components"]) == pytest.approx(1)
    novelty = [one["novelty"] for one in found["new_documents"]]
    assert novelty == sorted(novelty, reverse=True)
    model = load(folder / "m.vbnmf")
    expected = model.novelty([row["text"] for row in new])
    assert novelty[0] == pytest.approx(expected.max())
    text = ok("compare", folder / "m.vbnmf", folder / "old.csv", folder / "new.csv").out
    assert "zeppelin" in text
    assert "not in the model" in text


def test_compare_predicts_labels_that_are_not_given(folder, tmp_path):
    new = rows_of(folder / "new.csv")
    file = write(tmp_path / "plain.csv", [(row["text"],) for row in new], ("text",))
    found = ok("compare", folder / "m.vbnmf", folder / "old.csv", file, "--json").json
    assert found["labels_are"] == "predicted"
    predicted = load(folder / "m.vbnmf").predict([row["text"] for row in new]).tolist()
    counts = {one["name"]: one["documents"][1] for one in found["labels"]}
    assert counts == {name: predicted.count(name) for name in counts}


def test_compare_two_periods_and_without_a_model(folder):
    found = ok("compare", folder / "m.vbnmf", folder / "old.csv", "--by", "month", "--since",
               "2026-05", "--json").json  # fmt: skip
    assert found["documents"] == [60, 30]
    alone = ok("compare", folder / "old.csv", folder / "new.csv", "--label", "label", "--json",
               "--quiet").json  # fmt: skip
    assert alone["labels_are"] == "given"
    for args in (("old.csv",), ("old.csv", "new.csv", "old.csv")):
        assert run("compare", *(folder / name for name in args)).code == 2
    one_side = run("compare", folder / "m.vbnmf", folder / "old.csv", "--by", "month", "--since",
                   "2030")  # fmt: skip
    assert one_side.code == 2
    assert "on one side of '2030'" in one_side.err


def test_components_of_random_halves_do_not_differ(folder, tmp_path):
    """A model explains the documents that it was fitted to better, which is no change of theirs."""
    rng = np.random.default_rng(0)
    p = 1 / np.arange(1, 3001)
    texts = [" ".join(f"w{w}" for w in rng.choice(3000, 12, p=p / p.sum())) for _ in range(900)]
    rows = [(text, "ab"[i % 2]) for i, text in enumerate(texts)]
    old, new, other = (
        write(tmp_path / f"{name}.csv", part, ("text", "label"))
        for name, part in zip(
            ("old", "new", "other"), (rows[:500], rows[500:700], rows[700:]), strict=True
        )
    )
    model = tmp_path / "half.vbnmf"
    ok("fit", old, "--label", "label", "--quiet", "--out", model)
    for args in ((model, old, new), (old, new, "--label", "label"), (old, new)):
        found = ok("compare", *args, "--json", "--quiet").json
        assert found["in_training"] == [1, 0]
        for one in found["components"]:
            assert one["low"] is one["high"] is one["p_value"] is None
        if found["novel"] is not None:
            assert found["novel"][0] is None
            assert found["novel"][1] is not None
    said = ok("compare", model, old, new).out
    assert "The model was fitted to 100 % of the documents then and to 0 % now." in said
    assert "now; of documents like those in training, 5 % are." in said
    for files in ((new, other), (old, old)):
        found = ok("compare", model, *files, "--json", "--quiet").json
        assert found["in_training"] == [float(file == old) for file in files]
        assert all(one["p_value"] > 0.05 for one in found["components"])
        assert None not in found["novel"]


def test_documents_without_known_terms_are_named_once(folder, tmp_path):
    rows = [(row["text"], row["label"]) for row in rows_of(folder / "old.csv")]
    file = write(tmp_path / "odd.csv", [*rows, ("xyzzy", "tea")], ("text", "label"))
    err = ok("compare", folder / "m.vbnmf", file, folder / "new.csv").err
    assert err.count("no known term") == 1
    assert f"(id {len(rows) + 2})" in err


def test_labels_that_look_like_options(folder, tmp_path):
    rows = rows_of(folder / "old.csv")
    names = {name: str(i - 1) for i, name in enumerate(sorted({row["label"] for row in rows}))}
    table = [(row["text"], names[row["label"]]) for row in rows]
    file = write(tmp_path / "sent.csv", table, ("text", "label"))
    model = tmp_path / "sent.vbnmf"
    ok("fit", file, "--label", "label", "-k", "3", "--quiet", "--out", model)
    text = ok("contrast", model, file, "-1", "1", "--n-terms", "2").out
    assert text.startswith("-1: 30 documents; 1: 30 documents.")
    assert "No such option '--nterms'" in run("contrast", model, file, "0", "--nterms", "2").err


def test_periods_of_numbers_with_gaps_and_of_dates_that_are_no_order(folder, tmp_path):
    rows = rows_of(folder / "old.csv")
    columns = ("text", "label", "day", "date")
    cells = [["" if i == 7 else str(i % 20), f"{1 + i % 28} May 2026"] for i in range(len(rows))]
    table = [(row["text"], row["label"], *more) for row, more in zip(rows, cells, strict=True)]
    file = write(tmp_path / "days.csv", table, columns)
    by_number = ok("compare", folder / "m.vbnmf", file, "--by", "day", "--since", "10", "--json")
    new = sum(day != "" and int(day) >= 10 for day, _ in cells)
    assert by_number.json["documents"] == [len(rows) - 1 - new, new]
    assert "1 of 90 documents have no value in 'day', and are in neither period" in by_number.err
    assert "compared as texts" not in by_number.err
    by_date = ok("compare", folder / "m.vbnmf", file, "--by", "date", "--since", "2026-05-10")
    assert "'1 May 2026' does not begin like 2026-06-01" in by_date.err
    months = ok("compare", folder / "m.vbnmf", folder / "old.csv", "--by", "month", "--since",
                "2026-05")  # fmt: skip
    assert "compared as texts" not in months.err


@pytest.mark.parametrize("share", [0.8, 0.95])
def test_accepted_predictions_equal_a_recount(folder, share):
    new = rows_of(folder / "new.csv")
    found = ok("evaluate", folder / "m.vbnmf", folder / "new.csv", "--accept", share, "--json").json
    found = found["accept"]
    P = load(folder / "m.vbnmf").predict_proba([row["text"] for row in new])
    names = load(folder / "m.vbnmf").classes_.tolist()
    best = [names[i] for i in P.argmax(axis=1)]
    taken = [i for i in range(len(new)) if P[i].max() >= found["threshold"]]
    right = sum(best[i] == new[i]["label"] for i in taken)
    assert (found["predictions"], found["accepted"], found["right"]) == (
        len(new), len(taken), right,
    )  # fmt: skip
    assert right >= share * len(taken)
    for one in found["labels"]:
        mine = [i for i in taken if best[i] == one["label"]]
        assert one["accepted"] == len(mine)
        assert one["right"] == sum(new[i]["label"] == one["label"] for i in mine)
    text = ok("evaluate", folder / "m.vbnmf", folder / "new.csv", "--accept", share).out
    assert "Accept predictions of probability" in text
    assert run("evaluate", folder / "m.vbnmf", folder / "new.csv", "--accept", "1.5").code == 2
