"""The benchmark of a whole fit on a tiny corpus; how fast, no test asks."""

import csv
import gzip
import re
import time

import numpy as np
import pytest

from benchmarks import fit


def test_a_phase_pauses_the_one_around_it(monkeypatch):
    ticks = iter([0.0, 1.0, 3.0, 7.0, 12.0])
    monkeypatch.setattr(time, "process_time", lambda: next(ticks))
    clock = fit.Clock()
    with clock.phase("search: moves"), clock.phase("search: drafts"):
        pass
    assert clock.seconds == {"rest": 1.0, "search: moves": 2.0 + 5.0, "search: drafts": 4.0}


def test_some_phases_are_whole(monkeypatch):
    ticks = iter([0.0, 1.0, 3.0, 7.0, 12.0])
    monkeypatch.setattr(time, "process_time", lambda: next(ticks))
    clock = fit.Clock()
    with clock.phase("feature choice"), clock.phase("machines"):
        pass
    assert clock.seconds == {"rest": 1.0, "feature choice": 11.0}


def test_geometric_mean_and_worst():
    rows = [
        {"corpus": name, "documents": n, "vbnmf": ratio, "SVM": 1.0, "ratio": ratio, "phases": {}}
        for name, n, ratio in (("a", 100, 8.0), ("b", 9_000, 4.0), ("c", 6_000, 2.0))
    ]
    text = fit.report(rows)
    assert "geometric mean of the ratios: 4.00" in text
    assert "worst with more than 5,000 documents: 4.00" in text


@pytest.mark.slow
def test_a_corpus(capsys, tmp_path):
    rng = np.random.default_rng(0)
    words = {"tea": ["leaf", "pot", "green"], "coffee": ["bean", "roast", "cup"]}
    with gzip.open(tmp_path / "drinks-train.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for i in range(120):
            label = ("tea", "coffee")[i % 2]
            writer.writerow([" ".join(rng.choice([*words[label], "a", "the", "hot"], 8)), label])
    fit.main(["--folder", str(tmp_path), "--corpora", "drinks", "--out", str(tmp_path / "fit.md")])
    text = capsys.readouterr().out
    header, _, row = re.findall(r"^\|.*$", text, re.MULTILINE)[:3]
    found = dict(
        zip(*([c.strip() for c in line.split("|")[1:-1]] for line in (header, row)), strict=True)
    )
    assert found["documents"] == "120"
    assert found["labels"] == "2"
    assert float(found["ratio"]) == pytest.approx(
        float(found["vbnmf"]) / float(found["SVM"]), rel=0.02
    )
    shares = re.findall(r"^\| drinks \|.*$", text, re.MULTILINE)[1]
    assert 90 <= sum(int(share) for share in re.findall(r"(\d+) %", shares)) <= 110
    assert "geometric mean" in (tmp_path / "fit.md").read_text(encoding="utf-8")
