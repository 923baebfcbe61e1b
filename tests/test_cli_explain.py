"""vbnmf predict --explain: a table for the eye, and all numbers in JSON lines."""

import json
import re

import pandas as pd
import pytest
from cliruns import run

from vbnmf import load
from vbnmf.cli.terminal import rounded
from vbnmf.description.components import component_titles
from vbnmf.estimators import applying, labelpredictor

TICKETS = """text,team
printer out of paper and ink,hardware
paper jam in the printer,hardware
the printer prints blank paper,hardware
invoice was paid twice,billing
refund the invoice please,billing
the invoice has a wrong amount,billing
"""
LATER = """text
paper is blank
amount of the invoice
zzz
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.csv").write_text(TICKETS)
    (tmp_path / "later.csv").write_text(LATER)
    assert run("fit", "tickets.csv", "--label", "team", "-k", "3", "--quiet").code == 0
    return tmp_path


def test_the_table_names_labels_components_and_terms(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = run("predict", "tickets.vbnmf", "later.csv", "--explain", "--quiet")
    assert result.code == 0
    head, _line, *rows = result.out.splitlines()
    assert head.split() == ["id", "label", "score", "by", "components", "share", "by", "terms"]
    assert rows[0].split()[:2] == ["2", "hardware"]
    assert "paper +" in rows[0]
    assert rows[1].split()[0] == "billing"
    assert "invoice +" in rows[2]
    assert rows[-1].split()[0] == "4"
    assert "no known term" in rows[-1]


def test_json_has_what_the_model_says(folder):
    result = run("predict", "tickets.vbnmf", "later.csv", "--explain", "--json", "--quiet")
    first, *_rest, last = map(json.loads, result.out.splitlines())
    model = load("tickets.vbnmf")
    best, second = model.explain(["paper is blank"], n_terms=6, n_components=2)[0]
    assert [why["label"] for why in first["explanation"]] == [best.label, second.label]
    assert first["explanation"][0]["score"] == rounded(best.probability)
    assert first["explanation"][0]["terms"] == {t: round(p, 4) for t, p in best.terms}
    parts = first["explanation"][0]["components"][0]
    assert parts["component"] == best.components[0].component
    assert parts["name"] == component_titles(model)[parts["component"]]
    assert re.fullmatch(r"#\d+ \w+( \w+)*", parts["name"])
    topics = {row["component"]: row["name"] for row in model.topics()}
    assert parts["name"] == f"#{parts['component']} {topics[parts['component']]}"
    assert parts["part"] == round(best.components[0].part, 4)
    assert last["explanation"] == []


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_has_a_row_for_each_contribution(folder, ending):
    args = ("predict", "tickets.vbnmf", "later.csv", "--explain", "--keep", "text", "--quiet")
    assert run(*args, "--out", "why.jsonl", "--force").code == 0
    lines = [json.loads(line) for line in (folder / "why.jsonl").read_text().splitlines()]
    assert run(*args, "--out", f"why{ending}").code == 0
    read = pd.read_csv if ending == ".csv" else pd.read_parquet
    frame = read(folder / f"why{ending}", dtype_backend="pyarrow")
    names = ["id", "label", "score", "note", "text"]
    assert list(frame) == [*names, "why_label", "why_kind", "why_name", "contribution"]
    for line in lines:
        rows = frame[frame["id"].astype(str) == line["id"]]
        terms = [part for why in line["explanation"] for part in why["terms"].values()]
        assert rows.loc[rows.why_kind == "term", "contribution"].tolist() == terms
        called = [by["name"] for why in line["explanation"] for by in why["components"]]
        assert rows.loc[rows.why_kind == "component", "why_name"].tolist() == called
        whys = [len(why["components"]) + len(why["terms"]) for why in line["explanation"]]
        assert len(rows) == max(sum(whys), 1)
        assert set(rows["text"]) == {line["text"]}


@pytest.mark.parametrize("option", [("--class-weight", "balanced"), ("--classifier", "generative")])
def test_options_about_labels(folder, option):
    out = ("--out", "other.vbnmf", "--quiet", "-k", "3")
    assert run("fit", "tickets.csv", "--label", "team", *option, *out).code == 0
    name = option[0][2:].replace("-", "_")
    assert getattr(load("other.vbnmf").estimator_, name) == option[1]
    assert run("predict", "other.vbnmf", "later.csv", "--explain", "--quiet").code == 0
    refused = run("fit", "tickets.csv", *option, *out, "--force")
    assert refused.code == 2
    assert f"{option[0]} needs --label" in refused.err


@pytest.mark.parametrize("options", [[], ["--explain"]])
def test_the_matrix_is_checked_once(folder, monkeypatch, options):
    """And probabilities are computed once."""
    calls = []

    def count(name, function):
        def counted(*args, **keywords):
            calls.append(name)
            return function(*args, **keywords)

        return counted

    for module in (labelpredictor, applying):
        monkeypatch.setattr(module, "check_matrix", count("check", module.check_matrix))
    owner = labelpredictor.PredictsLabels
    monkeypatch.setattr(owner, "_proba", count("probabilities", owner._proba))
    result = run("predict", "tickets.vbnmf", "later.csv", *options, "--quiet")
    assert result.code == 0
    assert sorted(calls) == ["check", "probabilities"]
