"""vbnmf report: with documents in any format, with labels where there are any."""

import json

import pytest
from cliruns import LABELS, TEXTS, fitted, make_corpus, ok, run, write_csv
from explorer_pages import restored, unpacked

from vbnmf import VBNMF, DocumentModel

pytestmark = pytest.mark.filterwarnings(
    "ignore::vbnmf.text.EmptyDocumentWarning", "ignore:the fit did not converge"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    model = fitted()
    model.columns_ = {"text": "text", "label": "team"}
    model.save(folder / "m.vbnmf")
    DocumentModel(VBNMF(4, max_iter=5, random_state=0)).fit(TEXTS).save(folder / "u.vbnmf")
    texts, labels = make_corpus(7, n_each=3)
    write_csv(folder / "teams.csv", texts, labels, names=("text", "team"))
    write_csv(folder / "labels.csv", texts, labels)
    write_csv(folder / "plain.csv", texts, range(9), names=("text", "amount"))
    (folder / "plain.txt").write_text("\n".join(labels), encoding="utf-8")
    return folder


def page(path):
    """What a page says: payload, and documents."""
    text = path.read_text(encoding="utf-8")
    return unpacked(text), restored(unpacked(text, "packed"))


@pytest.mark.parametrize(
    ("file", "options", "labelled"),
    [
        ("teams.csv", (), True),  # the column of the fit
        ("labels.csv", (), True),  # a usual name
        ("labels.csv", ("--label", "label"), True),
        ("plain.csv", (), False),
        ("plain.csv", ("--label-file", "plain.txt"), True),
    ],
)
def test_documents(home, tmp_path, monkeypatch, file, options, labelled):
    monkeypatch.chdir(home)
    out = tmp_path / "x.html"
    result = ok("report", "m.vbnmf", "--documents", file, *options, "--out", out)
    assert result.err.endswith(f"Wrote {out}.\n")
    payload, documents = page(out)
    texts, labels = make_corpus(7, n_each=3)
    assert documents["texts"] == texts
    assert payload["title"] == "m"
    command = " ".join(["vbnmf report m.vbnmf --documents", file, *options, "--out", str(out)])
    assert payload["command"] == command
    if labelled:
        names = payload["documents"]["names"]
        assert [names[i] for (i,) in documents["truth"]] == labels
        assert payload["quality"]["labelled"] == 9
    else:
        assert documents["truth"] is None
        assert "accuracy" not in payload["quality"]


def test_a_column_that_is_not_there(home, tmp_path):
    out = tmp_path / "x.html"
    args = ("report", home / "m.vbnmf", "--documents", home / "plain.csv", "--out", out)
    result = run(*args, "--label", "nonsense")
    assert result.code == 2
    assert "nonsense" in result.err
    assert run(*args[:3], home / "none.csv", *args[4:]).code == 2
    assert not out.exists()


def test_kept_columns(home, tmp_path):
    rows = [{"text": text, "customer": i % 2, "opened": f"2024-0{1 + i % 3}-05"}
            for i, text in enumerate(TEXTS[:9])]  # fmt: skip
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "x.html"
    args = ("report", home / "m.vbnmf", "--documents", tmp_path / "d.jsonl", "--out", out)
    ok(*args, "--keep", "opened", "--keep", "customer")
    payload, documents = page(out)
    assert [(one["name"], one["unit"]) for one in payload["columns"]] == [
        ("opened", "month"),
        ("customer", None),
    ]
    assert [n for *_, n in payload["columns"][0]["groups"]] == [3, 3, 3]
    assert documents["columns"][1]["cells"] == [str(i % 2) for i in range(9)]
    result = run(*args, "--force", "--keep", "nonsense")
    assert result.code == 2
    assert "nonsense" in result.err
    result = run("report", home / "m.vbnmf", "--out", out, "--force", "--keep", "opened")
    assert result.code == 2
    assert "add --documents FILE" in result.err


def test_standard_input(home, tmp_path):
    out = tmp_path / "x.html"
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[:3])
    ok("report", home / "m.vbnmf", "--documents", "-", "--out", out, stdin=lines)
    assert page(out)[1]["texts"] == TEXTS[:3]
    lines = "".join(
        json.dumps({"text": text, "team": label}) + "\n"
        for text, label in zip(TEXTS[:3], LABELS[:3], strict=True)
    )
    args = ("report", home / "m.vbnmf", "--documents", "-", "--out", out, "--force")
    ok(*args, "--label", "team", stdin=lines)
    assert page(out)[0]["quality"]["labelled"] == 3


def test_unsupervised(home, tmp_path):
    out = tmp_path / "x.html"
    ok("report", home / "u.vbnmf", "--documents", home / "labels.csv", "--out", out, "--quiet")
    payload, documents = page(out)
    assert documents["given"] is documents["truth"] is None
    assert payload["labels"] == []


def test_the_source_is_not_replaced(home):
    result = run(
        *("report", home / "m.vbnmf", "--documents", home / "teams.csv"),
        *("--out", home / "teams.csv", "--force"),
    )
    assert result.code == 2
    assert "is the input of this command" in result.err


def test_progress(home, tmp_path, monkeypatch):
    """Where it takes long, what is being done is told."""
    from vbnmf.cli.progress import PageProgress

    monkeypatch.setattr(PageProgress, "_seconds_between_lines", 0.0)
    out = tmp_path / "x.html"
    args = ("report", home / "m.vbnmf", "--documents", home / "teams.csv", "--out", out)
    told = ok(*args).err
    assert "explaining document 0 of 9" in told
    assert "compressing texts" in told
    assert ok(*args, "--force", "--quiet").err == ""
