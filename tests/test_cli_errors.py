"""What goes wrong ends with a message that says what and what to do, and exit code 1 or 2."""

import gzip
import os
import re
import sys

import numpy as np
import pytest
from cliruns import FIT, LABELS, TEXTS, counts, ok, run, write_all, write_csv
from sklearn.datasets import dump_svmlight_file

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load
from vbnmf.cli import main
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The corpus in all formats, and a model of texts and one of a matrix."""
    home = tmp_path_factory.mktemp("errors")
    write_all(home)
    ok("fit", home / "a.csv", "--label", "label", *FIT, "--out", home / "text.vbnmf")
    labels = ("--label-file", home / "labels.txt")
    ok("fit", home / "a.npz", *labels, *FIT, "--out", home / "npz.vbnmf")
    return home


@pytest.fixture
def refused(home, monkeypatch):
    """Run in the folder of the corpus; nothing may be written, and standard output stays empty."""
    monkeypatch.chdir(home)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}

    def refused(*args, stdin=None):
        result = run(*args, stdin=stdin)
        assert result.code == 2
        assert result.out == ""
        assert result.err.splitlines()[-1].startswith("Error: ") or "\n- " in result.err
        assert "Traceback" not in result.err
        assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
        return result

    return refused


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: no such file or folder."),
        (("a.csv", "--label", "team"), "no label column 'team'; the columns are 'text', 'label'"),
        (("a.csv", "--text", "body"), "no text column 'body'; the columns are 'text', 'label'"),
        (("a.csv", "--text", "label", "--label", "label"), "cannot be both text and label"),
        (("a.csv", "--format", "xlsx"), "Unknown format 'xlsx'; expected one of csv, tsv"),
        (("a.csv", "--format", "jsonl"), "a.csv, line 1: not JSON"),
        (("a.csv", "--encoding", "klingon"), "unknown encoding 'klingon'; try 'utf-8'"),
        (("a.csv", "--terms", "terms.txt"), "terms are only for a matrix, but this is text"),
        (("a.csv", "--label-file", "nowhere.txt"), "nowhere.txt: no such file or folder."),
        (("a.npz", "--label", "auto"), "a matrix has none. Pass a file with one label per line"),
        (("a.npz", "--text", "body"), "no column 'body': it is not a table of texts"),
        (("a.npz", "--terms", "labels.txt"), "42 terms"),
        (("flat.d", "--label", "auto"), "there is no sub-folder with files"),
        (("terms.txt",), "unknown kind of file '.txt'. Set the format with format='...' (--format"),
        (("a.csv", "--label-shape", "3"), "--label-shape needs --label"),
        (("a.csv", "-k", "0"), "n_components must be an integer of at least 1; got 0"),
        (("a.csv", "-k", "many"), "'many' is neither a number nor 'auto'"),
        (("a.csv", "--max-iter", "0"), "max_iter must be an integer of at least 1; got 0"),
        (("a.csv", "--n-init", "0"), "n_init must be an integer of at least 1; got 0"),
        (("a.csv", "--tol", "-1"), "tol must be a number of at least 0; got -1.0"),
        (("a.csv", "--coef-shape", "0"), 'coef_shape must be a positive number or "auto"; got 0.0'),
        (("a.csv", "--term-shape", "x"), "'x' is neither a number nor 'auto'"),
        (("a.csv", "--n-jobs", "0"), "0 is not a number of cores; use 1 or more, or -1 for all."),
        (("a.csv", "--random-state", "-1"), "Seed must be between 0 and 2**32 - 1"),
        (("a.csv", "--max-terms", "0"), "max_terms must be None or an int from 1; got 0"),
        (("a.csv", "--min-df", "99"), "Decrease min_df or increase max_df"),
        (
            ("a.csv", "--min-df", "1.5"),
            "min_df must be a number of documents (int from 1) or a fraction",
        ),
        (("a.csv", "--max-df", "half"), "'half' is neither a count (5) nor a fraction"),
        (("a.csv", "--ngram-range", "0,1"), "ngram_range must be two ints, 1 <= first"),
        (("a.csv", "--stem", "klingon"), "'klingon' is not a Snowball algorithm"),
        (("a.csv", "--stop-words", "none.txt"), "Cannot read the stop-word file none.txt"),
        (("a.csv", "--token-pattern", "("), "is not a regular expression"),
        (("a.csv", "--token-pattern", "(a)(b)"), "More than 1 capturing group"),
        (("a.csv", "--token-pattern", "§"), "No term in 42 documents"),
        (("a.csv", "--out", "no/where.vbnmf"), "there is no folder no to write where.vbnmf to"),
        (("a.csv", "--out", "tree"), "tree is not a regular file; --out takes"),
        (("a.csv", "--out", "tree", "--force"), "tree is not a regular file; --out takes"),
        (("a.csv", "--nonsense"), "No such option"),
        ((), "Missing argument 'FILE'"),
    ],
)
def test_fit(refused, args, message):
    assert message in refused("fit", *args).err


BAD_FILES = {
    "empty.csv": (b"", "empty.csv: empty; expected a line with the names of the columns"),
    "header.csv": (b"text,label\n", "header.csv: there are no documents in it"),
    "quote.csv": (b'text,label\n"tea,a\n', "quote.csv, line 2: broken quoting"),
    "ragged.csv": (b"text,label\ntea,a,b\n", "ragged.csv, line 2: 3 fields, but the first line"),
    "latin.csv": (
        "text,label\nthé,a\n".encode("latin-1"),
        "--encoding latin-1 on the command line",
    ),
    "hole.csv": (b"text,label\n ,a\n", "hole.csv: there are no documents in it: line 2: no text."),
    "nolabel.csv": (b"text,label\ntea,\ntea,\n", "nolabel.csv: no document has a label"),
    "cut.csv.gz": (gzip.compress(b"text,label\ntea,a\n" * 9)[:-9], "cut.csv.gz: broken gzip"),
    "a.jsonl": (b'{"text": "tea", "label": [["a"]]}', "line 1: a label is of type list"),
    "a.mtx": (b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "a.mtx: "),
    "a.npz": (b"PK\x03\x04nonsense", "a.npz: not a sparse matrix saved by scipy.sparse.save_npz"),
    "a.parquet": (b"PAR1nonsense", "a.parquet: not a complete Parquet or Arrow file"),
    "same.csv": (b"text,label\ntea,a\ntea,b\n", "all values of X are zero"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(name, tmp_path):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    result = run("fit", tmp_path / name, "--label", "label", "--out", tmp_path / "m.vbnmf")
    if name.endswith((".mtx", ".npz")):
        result = run("fit", tmp_path / name, "--out", tmp_path / "m.vbnmf")
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "m.vbnmf").exists()


def test_the_ways_out_work(tmp_path):
    """--encoding and --strict, which messages recommend."""
    rows = [f"{text} thé" if i else " " for i, text in enumerate(TEXTS)]
    write_csv(tmp_path / "utf8.csv", rows, LABELS, delimiter=";")
    content = (tmp_path / "utf8.csv").read_text(encoding="utf-8")
    (tmp_path / "a.csv").write_text(content, encoding="latin-1")
    arguments = ("fit", tmp_path / "a.csv", "--label", "label", "--max-iter", "3")
    result = run(*arguments, "--encoding", "latin-1", "--strict", "--out", tmp_path / "m")
    assert "a.csv, line 2: no text. Fill it in" in result.err
    assert result.code == 2
    result = ok(*arguments, "--encoding", "latin-1", "--out", tmp_path / "m")
    assert "1 line left out: line 2: no text. With bad_rows='error' (--strict)" in result.err
    assert "split at the semicolon" in result.err
    assert "thé" in load(tmp_path / "m").terms_


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("topics", "nowhere.vbnmf"), "there is no model file nowhere.vbnmf"),
        (("topics", "a.csv"), "a.csv is damaged or is not a vbnmf model"),
        (("predict", "a.csv", "text.vbnmf"), "MODEL comes first, and is a file that `vbnmf fit`"),
        (("review", "a.csv", "text.vbnmf"), "MODEL comes first, and is a file that `vbnmf fit`"),
        (("topics", "text.vbnmf", "--n-terms", "0"), "0 is not in the range x>=1"),
        (("report", "a.npz", "--out", "x.html"), "a.npz is damaged or is not a vbnmf model"),
        (("report", "text.vbnmf", "--out", "no/x.html"), "there is no folder no"),
        (("predict", "text.vbnmf", "nowhere.csv"), "nowhere.csv: no such file or folder"),
        (("predict", "text.vbnmf", "a.csv", "--text", "x"), "there is no text column 'x'"),
        (("predict", "text.vbnmf", "a.csv", "--n-jobs", "0"), "0 is not a number of cores"),
        (
            ("predict", "npz.vbnmf", "a.csv"),
            "fitted to a matrix, so it has no vectorizer for texts",
        ),
        (("predict", "text.vbnmf"), "Missing argument 'FILE'"),
        (("evaluate", "text.vbnmf", "a.csv", "--label", "x"), "there is no label column 'x'"),
        (("evaluate", "npz.vbnmf", "a.npz"), "labels are requested, but a matrix has none"),
        (("transform", "text.vbnmf", "a.csv"), "Missing option '--out'"),
        (("transform", "npz.vbnmf", "a.csv", "--out", "c.csv"), "it has no vectorizer for texts"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_other_commands(refused, args, message):
    assert message in refused(*args).err


def test_evaluate_wants_labels(home, tmp_path):
    path = write_csv(tmp_path / "a.csv", labels=[""] * len(TEXTS))
    result = run("evaluate", home / "text.vbnmf", path)
    assert result.code == 2
    assert "no document has a label, so there is nothing to score. Check --label." in result.err


def test_matrix_with_other_columns(home, tmp_path):
    """An svmlight file is as wide as its largest index; the terms tell how wide it is meant."""
    X = counts()[0]
    dump_svmlight_file(X[:4, :20], np.zeros(4), str(tmp_path / "b.svm"), zero_based=False)
    result = run("predict", home / "npz.vbnmf", tmp_path / "b.svm")
    assert result.code == 2
    assert "columns, but the model was fitted to 25 terms." in result.err
    assert "--terms" in result.err
    rows = ok("predict", home / "npz.vbnmf", tmp_path / "b.svm", "--terms", home / "terms.txt").rows
    assert len(rows) == 4


@pytest.mark.parametrize("command", ["topics", "predict", "evaluate", "transform", "report"])
@pytest.mark.parametrize("estimator", [VBNMF, SupervisedVBNMF])
def test_models_from_python_are_refused(command, estimator, home, tmp_path):
    """Such a file has no terms: it cannot be shown and cannot read text."""
    path = tmp_path / "python.vbnmf"
    estimator(2, max_iter=2).fit(counts()[0], LABELS).save(path)
    files = () if command in ("topics", "report") else (home / "a.csv",)
    outs = {"transform": "c.csv", "report": "r.html"}
    out = ("--out", tmp_path / outs[command]) if command in outs else ()
    result = run(command, path, *files, *out)
    assert result.code == 2
    assert f"holds a {estimator.__name__} without terms and without a vectorizer" in result.err
    assert "needs a model that was saved by `vbnmf fit` or DocumentModel.save." in result.err
    assert [file.name for file in tmp_path.iterdir()] == ["python.vbnmf"]


def test_models_of_documents_from_python_are_welcome(home, tmp_path):
    model = DocumentModel(SupervisedVBNMF(2, max_iter=3, random_state=0)).fit(TEXTS, LABELS)
    model.save(tmp_path / "m")
    rows = ok("predict", tmp_path / "m", home / "a.csv").rows
    assert [row["label"] for row in rows] == model.predict(TEXTS).tolist()


@pytest.mark.parametrize("damage", ["cut short", "not ours", "empty", "other version"])
def test_damaged_model(damage, home, tmp_path):
    content = (home / "text.vbnmf").read_bytes()
    content = {
        "cut short": content[:-100],
        "not ours": b"PK\x03\x04" + content,
        "empty": b"",
        "other version": re.sub(rb'(?<=format_version\\": )\d', b"9", content),
    }[damage]
    (tmp_path / "m.vbnmf").write_bytes(content)
    for args in (("topics",), ("predict", home / "a.csv"), ("report", "--out", tmp_path / "x")):
        result = run(args[0], tmp_path / "m.vbnmf", *args[1:])
        assert result.code == 2
        assert "m.vbnmf" in result.err
        assert (
            "Update vbnmf" in result.err if damage == "other version" else "damaged" in result.err
        )


def test_callable_analyzer_cannot_be_stored(tmp_path):
    vectorizer = DocumentVectorizer(analyzer=str.split)
    model = DocumentModel(VBNMF(2, max_iter=2), vectorizer).fit(TEXTS)
    with pytest.raises(ValueError, match="A callable analyzer cannot be saved"):
        model.save(tmp_path / "m.vbnmf")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow(home, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "c.parquet"
    result = run("transform", home / "text.vbnmf", home / "a.csv", "--out", out)
    assert result.code == 2
    assert "Parquet needs pyarrow: pip install 'vbnmf[io]'" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_only_files_are_replaced(home, tmp_path):
    """Not a pipe or a device: --out /dev/null --force, run by root, would end /dev/null."""
    out = tmp_path / "p.csv"
    os.mkfifo(out)
    result = run("predict", home / "text.vbnmf", home / "a.csv", "--out", out, "--force")
    assert result.code == 2
    assert f"{out} is not a regular file; --out takes the name of a file" in result.err
    assert out.is_fifo()


def test_what_is_read_is_not_replaced(home, tmp_path):
    source = tmp_path / "a.csv"
    source.write_bytes((home / "a.csv").read_bytes())
    for args in (("fit", source, "--out", source), ("predict", home / "text.vbnmf", source,
                 "--out", source), ("predict", home / "text.vbnmf", source, "--out",
                 home / "text.vbnmf")):  # fmt: skip
        result = run(*args, "--force")
        assert result.code == 2
        assert "is the input of this command; --out must be another file" in result.err
    assert source.read_bytes() == (home / "a.csv").read_bytes()


def test_a_thread_that_cannot_be_started_is_an_error_in_one_line(monkeypatch, capsys):
    def no_thread(**_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("vbnmf.cli.cli", no_thread)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("Error: no thread could be started")
