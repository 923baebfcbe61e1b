"""Tables: frames of every package, and the same numbers as the command line and the page."""

import copy
import csv
import json
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cliruns import LABELS, TEXTS, fitted, make_corpus, ok
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import vbnmf
from vbnmf import (
    VBNMF,
    DocumentModel,
    SupervisedVBNMF,
    Table,
    accept,
    compare,
    contrast,
    evaluate,
    load,
    review,
    tune,
)
from vbnmf import tabular as tables
from vbnmf.core.fit import HEAD, Progress
from vbnmf.description.components import label_use
from vbnmf.progressbars import ProgressBar, in_notebook, part_of_fit
from vbnmf.report.explorer.payload import model_payload
from vbnmf.report.explorer.quality import quality_payload

HOSTILE = "<img src=x onerror=alert(1)>&\"'"
ROWS = [
    {"label": "tea", "n": 2, "share": 0.5, "terms": ["leaf", "pot"], "shape": "auto", "none": None},
    {"label": "mate", "n": 1, "share": None, "terms": [], "shape": 30.0, "none": None},
]
OTHERS = make_corpus(1, mixed=0.4)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def home(tmp_path_factory, model):
    """A model file and two files of documents."""
    folder = tmp_path_factory.mktemp("tables")
    model.save(folder / "m.vbnmf")
    for name, (texts, labels) in {"old.csv": (TEXTS, LABELS), "new.csv": OTHERS}.items():
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows(zip(texts, labels, strict=True))
    return folder


def plain(value):
    """What JSON makes of a value."""
    return json.loads(json.dumps(value))


class TestFrames:
    @pytest.mark.parametrize(
        ("kind", "frame"),
        [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
    )
    def test_of_each_package(self, kind, frame):
        found = Table(ROWS).to_frame(kind)
        assert isinstance(found, frame)
        names = found.column_names if kind == "pyarrow" else list(found.columns)
        assert names == list(ROWS[0])
        columns = {name: [*found[name]] for name in names}
        if kind == "pyarrow":
            columns = found.to_pydict()
        assert columns["label"] == ["tea", "mate"]
        assert columns["n"] == [2, 1]
        assert [list(cell) for cell in columns["terms"]] == [["leaf", "pot"], []]
        assert columns["shape"] == ["auto", "30"]  # a column has one type
        assert columns["share"][0] == 0.5
        assert columns["share"][1] is None or np.isnan(columns["share"][1])

    @pytest.mark.parametrize("kind", tables.FRAMES)
    def test_without_rows_it_has_its_columns(self, kind):
        found = Table([], ["label", "n"]).to_frame(kind)
        names = found.column_names if kind == "pyarrow" else found.columns
        assert list(names) == ["label", "n"]
        assert len(found) == 0

    def test_the_package_that_is_imported_comes_first(self, monkeypatch):
        for name in tables.FRAMES:
            monkeypatch.setitem(sys.modules, name, sys.modules[name])
        monkeypatch.delitem(sys.modules, "pandas")
        assert isinstance(Table(ROWS).to_frame(), pl.DataFrame)
        monkeypatch.delitem(sys.modules, "polars")
        assert isinstance(Table(ROWS).to_frame(), pa.Table)

    def test_without_any_package_it_is_the_table(self, monkeypatch):
        table = Table(ROWS)
        for name in tables.FRAMES:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(tables, "find_spec", lambda name: None)
        assert table.to_frame() is table

        monkeypatch.setitem(sys.modules, "polars", None)  # it cannot be imported
        with pytest.raises(ImportError, match=r"needs polars: pip install polars"):
            table.to_frame("polars")

    def test_another_package_is_refused(self):
        with pytest.raises(ValueError, match="must be one of pandas, polars, pyarrow"):
            Table(ROWS).to_frame("excel")

    def test_frames_read_the_rows_as_they_are(self):
        assert pd.DataFrame(Table(ROWS)).shape == (2, 6)
        assert pl.DataFrame(Table(ROWS[:1])).shape == (1, 6)


class TestTable:
    def test_rows_columns_and_parts(self):
        table = Table(ROWS)
        assert table[0] == ROWS[0]
        assert table["n"] == [2, 1]
        assert isinstance(table[:1], Table)
        assert table[5:].columns == table.columns
        with pytest.raises(KeyError, match="no column 'x'"):
            table["x"]

    @pytest.mark.parametrize(
        "copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
    )
    def test_copies(self, copied):
        again = copied(Table(ROWS))
        assert again == ROWS
        assert again.columns == list(ROWS[0])

    def test_text(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        many = Table([{"name": "a\nb\x1b[31m", "long": "word " * 30, "n": i} for i in range(30)])
        lines = repr(many).splitlines()
        assert lines[0].split() == ["name", "long"]
        assert lines[2].startswith("a b[31m  word ")  # no line breaks, no commands for terminals
        assert lines[2].endswith("…")
        assert max(map(len, lines)) <= 40
        assert lines[-2:] == ["… 10 more of 30 rows", "… more columns: n"]
        monkeypatch.setenv("COLUMNS", "100")
        assert repr(many).splitlines()[2].endswith("…   0")
        assert repr(tables.Findings(text="one\ntwo " * 50)).count("\n") == 0

    def test_hostile_names_stay_text(self):
        table = Table([{HOSTILE: HOSTILE, "list": [HOSTILE]}])
        for html in (
            table._repr_html_(),
            tables.Findings({HOSTILE: HOSTILE, "t": table})._repr_html_(),
        ):
            assert "<img" not in html
            assert "onerror=alert(1)&gt;" in html

    def test_findings_are_a_dict_of_json(self):
        found = tables.Findings(n=1, rows=Table(ROWS))
        assert plain(found) == plain({"n": 1, "rows": ROWS})
        assert isinstance(found | {"m": 2}, tables.Findings)
        assert list(found.tables) == ["rows"]
        assert found.facts == [{"name": "n", "value": 1}]


class TestTopics:
    def test_equals_the_command(self, model, home):
        rows = ok("topics", home / "m.vbnmf", "--json").json
        table = model.topics()
        assert [row["component"] for row in rows] == table["component"]
        for row, one in zip(rows, plain(table), strict=True):
            assert row["weight"] == one["share"]
            assert row["terms"] == dict(zip(one["terms"], one["term_shares"], strict=True))
            assert row["labels"] == dict(zip(one["labels"], one["label_shares"], strict=True))
            assert row["scope_in_words"] == one["scope"]
            assert row["scope"] == one["scope_labels"]
            for key in ("name", "documents_expected", "scope_kind", "agreement", "faded"):
                assert row[key] == one[key]

    def test_equals_the_page(self, model):
        payload, _ = model_payload(model)
        for row in model.topics():
            shown = payload["components"][row["component"]]
            assert shown["name"] == row["name"]
            assert shown["mass"] == pytest.approx(row["share"], rel=1e-3)

    def test_documents_are_counted(self, model):
        table = model.topics(TEXTS)
        V = model.transform(TEXTS) * model.estimator_.component_sums_
        counts = np.bincount(V.argmax(axis=1), minlength=V.shape[1])
        assert table["documents"] == counts[table["component"]].tolist()
        assert sum(table["documents"]) == len(TEXTS)
        with pytest.warns(vbnmf.text.EmptyDocumentWarning):
            some = model.topics(["zzz", TEXTS[0]])
        assert sum(some["documents"]) == 1
        with pytest.warns(vbnmf.text.EmptyDocumentWarning):
            none = model.topics(["zzz"])
        assert sum(none["documents"]) == 0
        expected = model.estimator_.component_mass_ * len(TEXTS)
        assert_allclose(table["documents_expected"], expected[table["component"]])

    @pytest.mark.parametrize("estimator", [VBNMF, SupervisedVBNMF])
    def test_of_an_estimator(self, estimator, model):
        X = pd.DataFrame(model.vectorize(TEXTS).toarray()[:, : len(model.terms_)])
        X.columns = model.terms_
        alone = estimator(3, max_iter=9, random_state=0).fit(X, LABELS)
        table = alone.topics(X, n_terms=2)
        assert len(table) == 3
        assert sum(table["documents"]) == len(TEXTS)
        assert set(table["terms"][0]) <= set(model.terms_)
        assert hasattr(alone, "labels") is (estimator is SupervisedVBNMF)
        if estimator is SupervisedVBNMF:
            assert alone.labels()["label"] == ["bike", "coffee", "tea"]

    def test_an_unfitted_model(self):
        with pytest.raises(NotFittedError):
            DocumentModel().topics()


class TestLabels:
    def test_equals_the_command(self, model, home):
        rows = ok("labels", home / "m.vbnmf", "--json").json
        for row, one in zip(rows, plain(model.labels()), strict=True):
            assert [row["label"], row["documents"]] == [one["label"], one["documents"]]
            for key, column in (("term", "terms"), ("documents", "term_documents"),
                                ("elsewhere", "term_elsewhere")):  # fmt: skip
                assert [term[key] for term in row["terms"]] == one[column]
            assert [part["component"] for part in row["components"]] == one["components"]
            assert [part["share"] for part in row["components"]] == one["component_shares"]
            assert [near["label"] for near in row["nearest"]] == one["nearest"]

    def test_components_have_their_names(self, model):
        names = {f"#{row['component']} {row['name']}" for row in model.topics()}
        assert {name for row in model.labels() for name in row["component_names"]} <= names

    def test_scores_are_those_of_evaluate(self, model):
        scores = evaluate(model, *OTHERS)
        table = model.labels(scores=scores)
        assert table["recall"] == [row["recall"] for row in scores["labels"]]
        assert table["precision"] == [row["precision"] for row in scores["labels"]]
        assert "recall" not in model.labels().columns

    def test_some_labels(self, model):
        assert model.labels(["tea"])["label"] == ["tea"]
        with pytest.raises(ValueError, match="'cocoa' is not a label of this model"):
            model.labels(["cocoa"])
        with pytest.raises(ValueError, match="no labels to describe"):
            DocumentModel(VBNMF(2, max_iter=9)).fit(TEXTS).labels()

    def test_labels_by_components(self, model):
        table = model.label_components()
        assert table.columns == ["label", *model.get_feature_names_out()]
        values = table.to_frame("pandas").drop(columns="label").to_numpy()
        assert_array_equal(values, label_use(model.estimator_))
        assert_allclose(values.sum(axis=1), 1)
        payload, _ = model_payload(model)
        assert_allclose(values, payload["use"], atol=1e-6)


class TestFunctions:
    """The commands print what the functions return."""

    def test_evaluate(self, model, home):
        shown = ok("evaluate", home / "m.vbnmf", home / "new.csv", "--json").json
        scores = evaluate(model, *OTHERS)
        assert shown == plain(scores)
        assert isinstance(scores["labels"], Table)
        out = ok("evaluate", home / "m.vbnmf", home / "new.csv").out
        for row in scores.measures:
            assert row["meaning"] in out
            assert row["value"] in scores.values()

    def test_accept(self, model, home):
        command = ("evaluate", home / "m.vbnmf", home / "new.csv", "--accept", "0.9", "--json")
        assert ok(*command).json["accept"] == plain(accept(model, *OTHERS, right=0.9))
        with pytest.raises(ValueError, match="right must be above 0"):
            accept(model, *OTHERS, right=95)

    def test_review(self, model, home):
        wrong = ["bike", *OTHERS[1][1:]]
        with open(home / "wrong.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *zip(OTHERS[0], wrong, strict=True)])
        shown = ok("review", home / "m.vbnmf", home / "wrong.csv", "--json").json
        ids = [row["id"] for row in shown["suspects"]]
        found = review(model, OTHERS[0], wrong, most=20)
        assert [str(row["id"] + 2) for row in found["suspects"]] == ids  # lines of the file
        without = [{**row, "id": 0} for row in found["suspects"]]
        assert plain(without) == [{**row, "id": 0} for row in shown["suspects"]]
        rest = {"suspects", "copies"}
        assert {k: v for k, v in shown.items() if k not in rest} == plain(
            {k: v for k, v in found.items() if k not in rest}
        )
        with pytest.raises(ValueError, match="no document has a label"):
            review(model, OTHERS[0], [None] * len(wrong))

    @pytest.mark.parametrize("second", ["tea", None])
    def test_contrast(self, model, home, second):
        command = ["contrast", home / "m.vbnmf", home / "old.csv", "coffee"]
        shown = ok(*command, *([second] if second else []), "--json").json
        ids = [str(line) for line in range(2, len(TEXTS) + 2)]
        assert shown == plain(contrast(model, TEXTS, LABELS, "coffee", second, ids=ids))

    def test_contrast_by_other_values(self, model):
        by = [1 if label == "tea" else 2 for label in LABELS]
        found = contrast(model, TEXTS, None, 1, 2, by=by)
        same = contrast(model, TEXTS, LABELS, "tea")
        assert found["more_in_first"] == same["more_in_first"]
        with pytest.raises(ValueError, match="'3' is not a value of these documents"):
            contrast(model, TEXTS, None, 3, by=by)

    def test_compare(self, model, home):
        command = ("compare", home / "m.vbnmf", home / "old.csv", home / "new.csv", "--json")
        ids = [str(line) for line in range(2, len(OTHERS[0]) + 2)]
        found = compare(model, TEXTS, OTHERS[0], LABELS, OTHERS[1], ids=ids)
        assert ok(*command).json == plain(found)
        with pytest.raises(ValueError, match="42 documents but 1 ids"):
            compare(model, TEXTS, OTHERS[0], ids=["a"])

    def test_tune(self, home, tmp_path):
        options = ("-k", "2,3", "--out", tmp_path / "t", "--quiet", "--json")
        shown = ok("tune", home / "old.csv", *options).json
        found = tune(TEXTS, LABELS, n_components=[2, 3], vectorizer=vbnmf.text.DocumentVectorizer())
        for row, one in zip(shown["rows"], plain(found.table), strict=True):
            assert {**row, "seconds": 0} == {**one, "seconds": 0}
        assert found.to_frame("polars")["n_components"].to_list() == [2, 3]


class TestExplanations:
    def test_a_row_for_each_contribution(self, model):
        why = model.explain(TEXTS[:3], n_terms=4)
        table = why.to_table()
        names = {f"#{row['component']} {row['name']}" for row in model.topics()}
        expected = [
            (d, one.label, kind, name, part)
            for d, labels in enumerate(why)
            for one in labels
            for kind, name, part in [
                *(("component", k, part) for k, part, _ in one.components),
                *(("word", term, part) for term, part in one.words),
            ]
        ]
        assert len(table) == len(expected) > 0
        for row, (d, label, kind, name, part) in zip(table, expected, strict=True):
            assert (row["document"], row["label"], row["contribution"]) == (d, label, part)
            if kind == "component":
                assert row["name"] in names
                assert row["name"].startswith(f"#{name} ")
            else:
                assert row["name"] == name
        frame = why.to_frame("pandas", ids=["a", "b", "c"])
        assert set(frame["document"]) == {"a", "b", "c"}
        with pytest.raises(ValueError, match="3 documents but 1 ids"):
            why.to_frame(ids=["a"])

    def test_kinds_of_features(self):
        """Labels that only marks and capitals tell apart."""
        rng = np.random.default_rng(0)
        words = ["cup", "leaf", "kettle", "water", "green", "steep"]
        texts = [" ".join(rng.choice(words, 6)) for _ in range(120)]
        texts = [f"{t} ?" if i % 2 else f"{t} !".upper() for i, t in enumerate(texts)]
        estimator = SupervisedVBNMF(4, random_state=0, max_iter=15)
        every = DocumentModel(estimator, features=["marks", "pairs", "pieces"])
        every.fit(texts, ["shout", "ask"] * 60)
        why = every.explain(["steep leaf ? kettlex"], n_terms=50)
        table = why.to_table()
        kinds = {row["name"]: row["kind"] for row in table if row["label"] == "ask"}
        assert kinds["steep"] == "word"
        assert kinds["?"] == "mark"
        assert kinds["leaf ?"] == "phrase"
        assert kinds["kettlex"] == "piece"  # it is no term; pieces of it are known
        total = sum(row["contribution"] for row in table if row["name"] == "?")
        assert total == pytest.approx(sum(p for t, p in why[0][0].words if t == "?"))
        assert [row["name"] for row in table].count("?") == 1

    def test_shaded_text(self, model):
        texts = [f"{HOSTILE} wheel", "zzz"]
        with pytest.warns(vbnmf.text.EmptyDocumentWarning):
            html = model.explain(texts)._repr_html_()
        assert "<img" not in html
        assert ">wheel</span>" in html
        assert "no known term" in html
        assert model.explain([])._repr_html_() == "<div></div>"

    def test_of_an_estimator(self, model):
        X = model.vectorize(TEXTS[:1])
        table = model.estimator_.explain(X, names=model.feature_names_).to_table()
        assert table == model.explain(TEXTS[:1]).to_table()
        numbers = model.estimator_.explain(X).to_table()
        assert [row["name"] for row in numbers if row["kind"] == "component"] == [
            row["name"].split()[0] for row in table if row["kind"] == "component"
        ]

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
    def test_copies(self, model, copied):
        why = model.explain(TEXTS[:2])
        again = copied(why)
        assert again == why
        assert again.to_table() == why.to_table()
        assert again._repr_html_() == why._repr_html_()

    def test_a_generator_is_read_once(self, model):
        assert model.explain(iter(TEXTS[:2])) == model.explain(TEXTS[:2])


class TestShown:
    def test_a_loaded_model_says_what_it_is(self, home, model):
        said = "fitted to 42 documents: 3 labels, 6 components, "
        loaded = load(home / "m.vbnmf")
        assert f"DocumentModel() {said}" in repr(loaded)
        assert said in repr(model.estimator_)
        assert repr(clone(model)).startswith("DocumentModel(estimator=SupervisedVBNMF(")
        assert "fitted" not in repr(clone(model))
        assert clone(model).get_params()["estimator__n_components"] == 6

    def test_in_a_notebook(self, model):
        shown = model._repr_mimebundle_()
        html = shown["text/html"]
        assert shown["text/plain"] == repr(model)
        assert "bike (14), coffee (14), tea (14)" in html
        assert model.estimator_.classifier_reason_ in html
        assert html == model._repr_html_()
        assert "fitted to" not in clone(model)._repr_html_()
        names = np.array([HOSTILE, *LABELS[1:]], dtype=object)
        hostile = fitted(TEXTS, names)
        hostile.terms_[:] = HOSTILE
        assert "<img" not in hostile._repr_html_()
        assert "<img" not in hostile.labels()._repr_html_()


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, html):
        self.shown.append(html.data)


class TestProgress:
    def test_a_bar_in_a_notebook(self, monkeypatch):
        shown = []

        def display(html, display_id):
            shown.append(html.data)
            return Handle(shown)

        HTML = lambda data: SimpleNamespace(data=data)  # noqa: E731
        shell = SimpleNamespace(kernel=object())
        module = SimpleNamespace(get_ipython=lambda: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        monkeypatch.setitem(
            sys.modules, "IPython.display", SimpleNamespace(HTML=HTML, display=display)
        )
        for name in ("_SECONDS_BEFORE_BAR", "_SECONDS_BETWEEN_BARS"):
            monkeypatch.setattr(vbnmf.progressbars, name, 0.0)
        assert in_notebook()
        bar = ProgressBar()
        estimator = SupervisedVBNMF(2, max_iter=9, random_state=0, callback=bar)
        DocumentModel(estimator).fit(TEXTS, LABELS)
        assert len(shown) > 5
        values = [float(html.split('value="')[1].split('"')[0]) for html in shown]
        assert values == sorted(values)
        assert values[-1] == 1
        assert any("left" in html for html in shown)
        n = len(shown)
        DocumentModel(estimator).fit(TEXTS, LABELS)  # a new bar
        assert float(shown[n].split('value="')[1].split('"')[0]) < 0.7
        pickle.loads(pickle.dumps(bar))

    def test_the_part_that_is_done_rises(self):
        nan = float("nan")
        stages = [
            "a background",
            "round 1 of at most 3: x",
            "round 3 of at most 3: y",
            "fitting",
            HEAD,
        ]
        parts = [part_of_fit(Progress(5, 10, nan, nan, 0, 1, stage)) for stage in stages]
        assert parts == sorted(parts)
        assert parts[0] == 0
        assert parts[-1] < 1
        assert part_of_fit(Progress(10, 10, nan, nan, 0, 1, HEAD)) == 1

    def test_a_callback_is_told_the_end_also_of_a_failed_fit(self):
        ends = []

        class Callback:
            def __call__(self, progress):
                if progress.stage == "fitting":
                    raise KeyboardInterrupt

            def close(self):
                ends.append(1)

        with pytest.raises(KeyboardInterrupt):
            VBNMF(2, callback=Callback()).fit(np.eye(4))
        assert ends == [1]


def test_quality_of_the_page_is_that_of_evaluate(model):
    from vbnmf.evaluation import Evaluation
    from vbnmf.evaluation.measures import PAGE
    from vbnmf.evaluation.truth import read_part

    part = read_part(model, *OTHERS)
    evaluation = Evaluation(part.subject, PAGE)
    evaluation.add_part(part)
    page = quality_payload(evaluation, part)
    for row, (n, recall, precision) in zip(
        evaluate(model, *OTHERS)["labels"], page["by_label"], strict=True
    ):
        assert row["documents"] == n
        assert row["recall"] == pytest.approx(recall, rel=1e-3)
        assert row["precision"] == pytest.approx(precision, rel=1e-3)
