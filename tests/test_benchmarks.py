"""The benchmarks run on a tiny matrix and print what they say; how fast, no test asks."""

import csv
import gzip
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import (
    __main__,
    choices,
    coherence,
    costs,
    heads,
    inputs,
    iteration,
    memory,
    missing,
    online,
    review,
    scale,
    scaling,
    shardheads,
    vectorize,
    words,
)
from vbnmf import vectorizing

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(inputs, "SHAPE", (120, 80))
    monkeypatch.setattr(inputs, "NNZ", 1500)


def rows_of(text, column):
    """The rows of the first printed table that has this column, by the names of columns."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    start = next(i for i, cells in enumerate(lines) if column in cells)
    stop = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [dict(zip(lines[start], cells, strict=True)) for cells in lines[start + 2 : stop]]


def test_drawn_matrix():
    X = inputs.drawn(120, 80, 1500, seed=0)
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
    lines = rows_of(capsys.readouterr().out, "R²")
    assert len({row["line over"] for row in lines}) == 3


def test_a_line_is_fitted_to_times():
    times = [
        {"nnz": nnz, "K": K, "ms an iteration": 3 + 2e-6 * nnz * K}
        for nnz in (1000, 4000)
        for K in (32, 128)
    ]
    for line in scaling._fits(times):
        found = [line[name] for name in ("ns per nnz·K", "fixed ms", "R²")]
        assert_allclose(found, [2, 3, 1], rtol=1e-6)


def test_memory(capsys):
    memory.main(["--quick", "--drawn"])
    rows = rows_of(capsys.readouterr().out, "peak with X, MB")
    assert rows
    assert all(float(row["peak with X, MB"]) > 0 for row in rows)


def test_scale(capsys, tmp_path):
    arguments = ["--components", "3", "--iterations", "3", "--folder", str(tmp_path)]
    scale.main(["--documents", "300", "900", "--kinds", "memory", "stream", *arguments])
    out = capsys.readouterr().out
    assert out.count("| yes |") == 2
    assert "stream, slope" in out
    arguments[-1] += "/small"
    scale.main(
        ["--documents", "900", "--kinds", "stream", "dask", "--shard-nonzeros", "8000", *arguments]
    )
    out = capsys.readouterr().out
    assert "memory" not in out
    assert out.count("| yes |") == 1
    ratio = float(out.splitlines()[-1].split("|")[-2])
    assert_allclose(ratio, 1, rtol=0.2)  # bytes that Dask workers sent, over those predicted


def test_a_whole_fit(capsys, tmp_path):
    arguments = ["--documents", "300", "--components", "3", "--words", "30", "--threads", "1"]
    scale.main(["--whole", *arguments, "--folder", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    head, row = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[-3], lines[-1])
    )
    found = dict(zip(head, row, strict=True))
    stages = [name for name in head if name.endswith("processor s")]
    assert {"search, processor s", "fitting, processor s"} < set(stages)
    assert all(float(found[name]) >= 0 for name in stages)
    assert_allclose(
        sum(float(found[name]) for name in stages[:-1]), float(found[stages[-1]]), rtol=0.05
    )
    assert 0.05 < float(found["accuracy"]) <= 1


def test_the_fastest_fit_of_each_kind_counts(monkeypatch):
    runs = {
        "memory": iter([(3.0, 5.0), (2.0, 4.0), (2.5, 9.0)]),
        "dask": iter([(1.0, 1.0), (4.0, 2.0), (5.0, 1.0)]),
    }

    def one(folder, kind, K, options):
        seconds, peak = next(runs[kind])
        return {"seconds": seconds, "peak": peak}

    monkeypatch.setattr(scale, "_in_child", one)
    found = scale._fastest(None, 3, SimpleNamespace(repeats=3, kinds=("memory", "dask")))
    assert found["memory"] == {"seconds": 2.0, "peak": 9.0}
    assert found["dask"] == {"seconds": 1.0, "peak": 2.0}
    with pytest.raises(SystemExit):
        scale.main(["--repeats", "0"])


def test_online(capsys, tmp_path, monkeypatch):
    arguments = ["--corpus", "drawn", "--batch", "120", "--threads", "1", "--out", str(tmp_path)]
    online.main(arguments)
    out = capsys.readouterr().out
    assert "| 360 | 0." in out
    assert "accuracy below that of fit, after one pass" in out
    rows = online.read_rows(tmp_path / "online.csv")
    assert [row["documents"] for row in rows] == [120, 240, 360] * 5 + [360]
    assert (tmp_path / "online.png").stat().st_size > 10_000
    monkeypatch.setattr(online.Method, "run", None)  # what is there is not run again
    online.main(arguments)
    assert online.read_rows(tmp_path / "online.csv") == rows


def test_steps_are_chosen(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(online, "DECAYS", (0.7,))
    with gzip.open(tmp_path / "drinks-train.csv.gz", "wt", encoding="utf-8") as file:
        file.write("text,label\n" + "green tea leaves,tea\nroast coffee beans,coffee\n" * 250)
    online.main(["--choose", "--folder", str(tmp_path), "--corpora", "drinks", "--threads", "1"])
    assert capsys.readouterr().out.count("| drinks | 0.7 |") == 2


def test_vectorize(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(vectorizing, "PART", 100)  # more parts than processes
    vectorize.main(["--documents", "300", "--repeats", "1", "--json", str(tmp_path / "a.json")])
    out = capsys.readouterr().out
    assert "Bytes of the shard folder: the same for any number of jobs." in out
    assert out.startswith("300 drawn documents, ")
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["rows"]
    assert [row[""] for row in rows] == [
        "CountVectorizer()",
        "vectorize --n-jobs 1",
        "vectorize --n-jobs 2",
    ]


def test_heads(capsys):
    heads.main(["--corpora", "scipy-docs", "--sizes", "0.2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| corpus")
    assert [line.split("|")[2].strip() for line in lines[2:]] == [
        "generative",
        "components",
        "words, evidence of 0.2",
    ]
    accuracy = [float(line.split("|")[3]) for line in lines[2:]]
    assert accuracy[2] > max(accuracy[:2])


def test_heads_of_shards(capsys):
    shardheads.main(["--corpora", "scipy-docs", "--samples", "6", "--iterations", "3"])
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines[-4:]]
    assert [row[2] for row in rows] == [
        "on all documents in memory",
        "on one document of 6 only",
        "on one document of 6 and on all shards, calibrated on folds of the sample",
        "on one document of 6 and on all shards",
    ]
    whole, sample, _, on_shards = (float(row[4]) for row in rows)
    assert sample < on_shards
    assert on_shards == pytest.approx(whole, abs=0.05)
    assert int(rows[3][8]) > 10


def test_missing(capsys):
    missing.main(["--corpora", "drawn", "--parts", "0.05", "0.5", "--seeds", "1"])
    rows = rows_of(capsys.readouterr().out, "gain")
    assert [row["labels kept"] for row in rows] == ["5 %", "50 %"]
    few, many = (float(row["vbnmf, all documents"]) for row in rows)
    assert 1 / 6 < few <= many <= 1


def test_the_part_that_keeps_labels():
    y = np.repeat([0, 1, 2], [500, 30, 1])
    kept = missing.keep(y, 0.1, np.random.default_rng(0))
    assert set(y[kept]) == {0, 1, 2}
    assert 30 < kept.sum() < 90


def test_coherence(capsys, tmp_path):
    coherence.main(
        ["--only", "corpora", "--seeds", "1", "--times", "1", "--corpora", "scipy-docs",
         "--out", str(tmp_path)]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert re.search(r"\| scipy-docs \| 24 \| vbnmf \| 24 \| -\d\.\d+ \|", out)
    assert "shared mass" in (tmp_path / "coherence.md").read_text(encoding="utf-8")
    assert (tmp_path / "coherence.csv").read_text(encoding="utf-8").count("\n") == 2
    assert (tmp_path / "coherence.png").exists()


def test_choices(capsys):
    spec = str(Path(__file__).with_name("tiny.toml"))
    some = ["as specified", "start of the estimators"]
    choices.main(["auto", "--spec", spec, "--seeds", "1", "--changes", *some])
    out = capsys.readouterr().out
    assert "of the corpus" in out
    assert "training documents only" in out
    assert len(re.findall(r"^\| start of the estimators \| 0\.\d", out, re.MULTILINE)) == 1


def test_words(tmp_path, capsys):
    rows = [f"{'tea green' if n % 2 else 'red car'} rare{n},{n % 2}" for n in range(40)]
    with gzip.open(tmp_path / "tiny-train.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(["text,label", *rows]))
    words.main(["min_df", "--folder", str(tmp_path), "--splits", "2"])
    table = capsys.readouterr().out
    assert "| corpus | model | min_df=1 | min_df=2 | min_df=3 | min_df=5 |" in table
    for model in ("SVM", "vbnmf"):
        assert f"| tiny | {model} |" + 4 * " 1.000 ± 0.000 |" in table


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
        "missing",
        "few",
        "accuracy",
        "sweep",
        "words",
    ):
        assert re.search(rf"^  {name} ", listed, re.MULTILINE)


def test_costs(capsys):
    costs.main(["--quick"])
    rows = [
        line.split("|") for line in capsys.readouterr().out.splitlines() if "one machine" in line
    ]
    ratios = [float(row[-4]) for row in rows]
    assert len(ratios) == 4  # on one machine
    assert_allclose(ratios, 1, rtol=0.5)  # the simulation and the formula


def test_review(capsys, tmp_path):
    rng = np.random.default_rng(0)
    topics = {"tea": "leaf pot steep cup green", "coffee": "bean roast dark grind mocha",
              "bread": "flour yeast oven dough crust"}  # fmt: skip
    path = tmp_path / "drinks.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for label, words in topics.items():
            for _ in range(80):
                writer.writerow([" ".join(rng.choice(words.split(), 8)), label])
    review.main(["--no-newsgroups", "--files", str(path)])
    printed = capsys.readouterr().out
    rows = rows_of(printed, "suggestions right")
    assert [row["errors"] for row in rows] == ["random, 12", "nearest, 12"]
    for row in rows:
        assert float(row["vbnmf"]) > 0.9
        assert float(row["suggestions right"]) > 0.9
    (few,) = rows_of(printed, "of 51 errors among the first 60")
    assert int(few["of 51 errors among the first 60"]) > 40


def test_errors_are_planted_in_as_many_documents():
    labels = np.array(["a", "b", "c"] * 40)
    texts = [f"{label}{label} common" for label in labels]
    corpus = review.Labelled("three", texts, labels)
    for kind in ("random", "nearest"):
        given, moved = review.planted(corpus, kind, 6, seed=0)
        assert moved.sum() == 6
        assert ((given != labels) == moved).all()
