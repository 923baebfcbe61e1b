"""The benchmarks run on a tiny matrix and print what they say; how fast, no test asks."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import __main__, choices, corpus, heads, iteration, memory, scaling


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(corpus, "SHAPE", (120, 80))
    monkeypatch.setattr(corpus, "NNZ", 1500)


def test_drawn_matrix():
    X = corpus.drawn(120, 80, 1500, seed=0)
    assert X.shape == (120, 80)
    assert X.nnz == 1500
    assert X.data.min() >= 1


def test_iteration(capsys, tmp_path):
    iteration.main(
        ["--quick", "--drawn", "--components", "4", "--peers", "nmf", "--json",
         str(tmp_path / "a.json"), "--out", str(tmp_path / "a.md")]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert re.search(r"\| 4 \| vbnmf, supervised \|", out)
    assert "scikit-learn NMF, KL, float32" in out
    assert "share of the limit" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))


def test_scaling(capsys):
    scaling.main(["--quick", "--drawn"])
    assert "R²" in capsys.readouterr().out


def test_memory(capsys):
    memory.main(["--quick", "--drawn"])
    assert "peak above X, MB" in capsys.readouterr().out


def test_heads(capsys):
    heads.main(["none.whl", "--corpora", "scipy-docs", "--components", "5", "--seeds", "1"])
    out = capsys.readouterr().out
    assert len(re.findall(r"^\| scipy-docs \| 5 \| ", out, re.MULTILINE)) == len(heads.HEADS)


def test_choices(capsys):
    spec = str(Path(__file__).with_name("tiny.toml"))
    some = ["as specified", "start of the estimators"]
    choices.main(["auto", "--spec", spec, "--seeds", "1", "--changes", *some])
    out = capsys.readouterr().out
    assert "of the corpus" in out
    assert "training documents only" in out
    assert len(re.findall(r"^\| start of the estimators \| 0\.\d", out, re.MULTILINE)) == 1


def test_all_are_listed(capsys):
    __main__.main([])
    listed = capsys.readouterr().out
    for name in (
        "iteration",
        "scaling",
        "memory",
        "defaults",
        "weighting",
        "text",
        "choices",
        "heads",
    ):
        assert re.search(rf"^  {name} ", listed, re.MULTILINE)
