"""The benchmarks run on a tiny matrix and print what they say; how fast, no test asks."""

import json
import re

import pytest

from benchmarks import __main__, corpus, iteration, memory, scaling


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


def test_all_are_listed(capsys):
    __main__.main([])
    listed = capsys.readouterr().out
    for name in ("iteration", "scaling", "memory", "defaults", "weighting", "text"):
        assert re.search(rf"^  {name} ", listed, re.MULTILINE)
