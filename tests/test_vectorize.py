"""vbnmf vectorize: the matrix of DocumentVectorizer, in parts, to the same bytes after a stop."""

import sys

import numpy as np
import pytest
from cliruns import FIT, LABELS, TEXTS, counts, ok, run, write_csv
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from test_shards import contents

import vbnmf
from vbnmf import Shards, vectorizing
from vbnmf.shards import ShardWriter
from vbnmf.text import DocumentVectorizer
from vbnmf.vectorizing import read_vectorizer, vectorize_to_shards


def vectorize(*arguments, **options):
    return vectorize_to_shards(*arguments, text="text", label="label", **options)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(vectorizing, "PART", 5)
    path = tmp_path / "a.csv"
    write_csv(path, [*TEXTS, "…", "the teas and the cups, steeped"], [*LABELS, "tea", ""])
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighting": "paper", "max_terms": 12},
        {"weighting": "counts", "min_df": 3, "max_df": 0.2},
        {"stem": "english", "stop_words": ["the"], "ngram_range": (1, 2)},
        {"analyzer": "char_wb", "max_terms": 30},
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_parts_give_the_matrix_of_the_whole(table, tmp_path, options):
    texts = [*TEXTS, "…", "the teas and the cups, steeped"]
    whole = DocumentVectorizer(**options)
    X = whole.fit_transform(texts)
    made = DocumentVectorizer(**options)
    shards = vectorize(table, tmp_path / "s", made, shard_nonzeros=40)
    assert shards.n_shards > (3 if shards.nnz > 200 else 0)
    got = shards.take(np.arange(len(texts)))
    assert_array_equal(got.indices, X.indices)
    assert_array_equal(got.data, X.data)
    assert shards.terms == whole.get_feature_names_out().tolist()
    stored = read_vectorizer(shards)
    assert_array_equal(stored.transform(texts).data, X.data)
    for name in ("n_documents_", "n_empty_", "strip_", "length_"):
        assert getattr(stored, name) == getattr(whole, name)
    assert (tmp_path / "s" / "counts").exists() is False


@pytest.mark.parametrize("stem", [None, "english"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_vocabulary_beyond_memory_raises_min_df(table, tmp_path, stem):
    """And the result is that of this min_df, whatever was written to disk in between."""
    notes, vectorizer = [], DocumentVectorizer(stem=stem)
    small = vectorize(
        table, tmp_path / "a", vectorizer, shard_nonzeros=40, max_vocabulary=20, note=notes.append
    )
    assert vectorizer.min_df == 1
    raised = read_vectorizer(small).min_df
    assert raised > 1
    assert len(small.terms) <= 20
    assert any(note.startswith(f"Raised min_df to {raised}:") for note in notes)
    asked = DocumentVectorizer(stem=stem, min_df=raised)
    vectorize(table, tmp_path / "b", asked, shard_nonzeros=40)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_vocabulary_that_is_on_disk_and_fits_is_not_cut(table, tmp_path):
    """Generations end at 20 terms, but no more than 20 terms pass."""
    options = {"min_df": 10, "stem": "english"}
    for folder, limit in (("a", 20), ("b", 10**6)):
        notes = []
        vectorize(
            table, tmp_path / folder, DocumentVectorizer(**options), max_vocabulary=limit,
            note=notes.append,
        )  # fmt: skip
        assert not any("min_df" in note for note in notes)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_only_labelled(table, tmp_path):
    notes = []
    shards = vectorize(table, tmp_path / "s", only_labelled=True, note=notes.append)
    assert shards.shape[0] == len(TEXTS) + 1
    assert shards.indicators().sum() == len(TEXTS) + 1
    assert "Ignored 1 document without a label." in notes
    write_csv(tmp_path / "b.csv", TEXTS, [""] * len(TEXTS))
    with pytest.raises(ValueError, match="no document has a label"):
        vectorize(tmp_path / "b.csv", tmp_path / "t", only_labelled=True)


def test_empty_documents_are_told_once(table, tmp_path):
    notes = []
    vectorize(table, tmp_path / "s", note=notes.append)
    assert [note for note in notes if "no known term" in note] == [
        "Note: 1 of 44 documents has no known term of non-zero weight. Check the text, its "
        "language and the options."
    ]


def test_what_cannot_be_saved_is_refused_at_once(table, tmp_path):
    with pytest.raises(ValueError, match="A callable analyzer cannot be saved"):
        vectorize(table, tmp_path / "s", DocumentVectorizer(analyzer=str.split))
    assert not (tmp_path / "s").exists()


class Stopped(Exception):
    pass


@pytest.mark.parametrize("doing", ["reading", "weighting", "writing"])
@pytest.mark.parametrize("n", [0, 3, 6])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_run_that_was_stopped_continues_to_the_same_bytes(table, tmp_path, doing, n, monkeypatch):
    vectorize(table, tmp_path / "whole", DocumentVectorizer(), shard_nonzeros=40)
    calls = []

    def stop(now, _):
        calls.append(now)
        if calls.count(doing) == n + 1:
            raise Stopped

    arguments = (table, tmp_path / "again")
    with pytest.raises(Stopped):
        vectorize(*arguments, DocumentVectorizer(), shard_nonzeros=40, progress=stop)
    with pytest.raises(ValueError, match=r"no manifest\.json"):
        Shards(tmp_path / "again")
    split = []
    monkeypatch.setattr(
        DocumentVectorizer, "_build_analyzer", _noted(DocumentVectorizer._build_analyzer, split)
    )
    vectorize(*arguments, DocumentVectorizer(), shard_nonzeros=40)
    assert contents(tmp_path / "whole") == contents(tmp_path / "again")
    n_parts = -(-(len(TEXTS) + 2) // 5)
    assert len(split) == (n_parts - n - 1 if doing == "reading" else 0)


def _stop(*_):
    raise Stopped


def _noted(function, calls):
    def wrapped(self):
        calls.append(1)
        return function(self)

    return wrapped


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_options_begin_anew(table, tmp_path):
    out, notes = tmp_path / "s", []
    vectorize(table, out, DocumentVectorizer(), shard_nonzeros=40)
    before = contents(out)
    with pytest.raises(Stopped):
        vectorize(table, out, DocumentVectorizer(max_df=5), progress=_stop)
    assert vectorizing.is_begun(out)
    vectorize(table, out, DocumentVectorizer(min_df=2), shard_nonzeros=10**6, note=notes.append)
    assert not any("Resuming" in note for note in notes)
    assert Shards(out).n_shards == 1
    vectorize(table, out, DocumentVectorizer(), shard_nonzeros=40)
    assert contents(out) == before


def test_one_run_at_a_time(table, tmp_path):
    (tmp_path / "s").mkdir()
    with (
        vectorizing.only_user(tmp_path / "s"),
        pytest.raises(BlockingIOError, match="another run"),
    ):
        vectorize(table, tmp_path / "s", DocumentVectorizer())


def test_a_vectorizer_of_other_terms_is_refused(table, tmp_path):
    shards = vectorize(table, tmp_path / "s", DocumentVectorizer())
    other = DocumentVectorizer().fit(["other words"])
    vectorizing.write_vectorizer(shards.vectorizer_file, other)
    with pytest.raises(ValueError, match="other terms"):
        read_vectorizer(shards)


# The command line


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("shards")
    write_csv(home / "a.csv", TEXTS[:20], LABELS[:20])
    write_csv(home / "b.csv", TEXTS[20:], LABELS[20:])
    write_csv(home / "all.csv", TEXTS, LABELS)
    said = ok("vectorize", home / "a.csv", home / "b.csv", "--label", "label", "--out",
              home / "all.shards", "--shard-nonzeros", 100)  # fmt: skip
    assert "42 documents" in said.err
    ok("fit", home / "all.shards", *FIT, "--out", home / "shards.vbnmf")
    ok("fit", home / "all.csv", "--label", "label", *FIT, "--out", home / "csv.vbnmf")
    return home


def test_a_model_of_shards_is_that_of_the_file(home):
    a, b = (vbnmf.load(home / name) for name in ("shards.vbnmf", "csv.vbnmf"))
    assert a.columns_ == b.columns_
    assert_allclose(a.estimator_.components_, b.estimator_.components_, rtol=1e-3, atol=1e-5)
    assert a.predict(TEXTS).tolist() == b.predict(TEXTS).tolist()
    assert a.classes_.tolist() == b.classes_.tolist()


@pytest.mark.parametrize("command", ["predict", "transform", "evaluate"])
def test_commands_take_a_shard_folder_for_a_file(home, command, tmp_path):
    ok("vectorize", home / "all.csv", "--label", "label", "--model", home / "shards.vbnmf", "--out",
       tmp_path / "s", "--shard-nonzeros", 50)  # fmt: skip
    found = []
    for source in (tmp_path / "s", home / "all.csv"):
        if command == "evaluate":
            found.append(ok(command, home / "shards.vbnmf", source, "--json").json)
            found[-1].pop("npmi_windows")  # there are no texts in shards
            found[-1].pop("held_out_log_likelihood")  # its random halves are drawn part by part
        else:
            out = tmp_path / f"{source.name}.csv"
            ok(command, home / "shards.vbnmf", source, "--out", out)
            rows = [line.split(",")[1:] for line in out.read_text().splitlines()]
            found.append(rows)
    if command != "evaluate":
        assert found[0] == found[1]
        return
    a, b = found
    assert a.pop("labels") == [pytest.approx(row) for row in b.pop("labels")]
    agreement = [np.array(one.pop("agreement"), dtype=float) for one in (a, b)]  # NaN for None
    np.testing.assert_allclose(*agreement)
    of = a.pop("measured_on")
    del of["npmi_windows"]
    assert of.items() <= b.pop("measured_on").items()
    assert a == pytest.approx(b)


@pytest.mark.slow
def test_tune_takes_a_sample_of_a_shard_folder(home, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["vbnmf.cli.tune"], "MOST_DOCUMENTS", 30)
    options = ("-k", "2,4", "--label-shape", "auto", "--out", tmp_path / "t")
    said = ok("tune", home / "all.shards", *options)
    assert "Using 30 of the 42 documents" in said.err
    assert f"vbnmf fit {home / 'all.shards'} -k" in said.out
    said = run("tune", home / "all.shards", *options, "--stop-words", "english")
    assert (said.code, "cannot change a shard folder" in said.err) == (2, True)


def test_matrices(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", counts()[0])
    (tmp_path / "labels.txt").write_text("\n".join(LABELS), encoding="utf-8")
    ok(
        "vectorize",
        tmp_path / "a.npz",
        "--label-file",
        tmp_path / "labels.txt",
        "--out",
        tmp_path / "s",
    )
    shards = Shards(tmp_path / "s")
    assert_array_equal(shards.take(np.arange(42)).toarray(), counts()[0].toarray())
    assert shards.vectorizer_file is None
    assert sorted(shards.labels) == sorted(set(LABELS))
    ok("fit", tmp_path / "s", *FIT, "--out", tmp_path / "m.vbnmf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vectorize", "all.csv", "--out", "all.shards"], "Add --force"),
        (["vectorize", "all.csv", "--out", "all.csv"], "not a folder"),
        (["vectorize", "all.csv", "--out", "."], "holds other files"),
        (
            ["vectorize", "all.csv", "--model", "csv.vbnmf", "--min-df", "2", "--out", "x"],
            "--model",
        ),
        (["fit", "all.shards", "--label", "label", "--out", "x"], "--label cannot change a shard"),
        (["fit", "all.shards", "--stem", "english", "--out", "x"], "--stem cannot change a shard"),
        (["predict", "csv.vbnmf", "all.shards", "--text", "a"], "no column 'a'"),
        (["evaluate", "csv.vbnmf", "all.shards", "--label-file", "all.csv"], "vbnmf vectorize"),
    ],
)
def test_refusals(home, arguments, message, monkeypatch):
    monkeypatch.chdir(home)
    result = run(*arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_damage_is_told_in_one_line(home, tmp_path):
    ok("vectorize", home / "all.csv", "--out", tmp_path / "s", "--label", "label")
    (tmp_path / "s" / "00000" / "rows.data.npy").write_bytes(b"")
    result = run("fit", tmp_path / "s", "--out", tmp_path / "m")
    assert result.code == 2
    assert "rows.data.npy is damaged" in result.err


def test_the_writer_needs_documents(tmp_path):
    with pytest.raises(ValueError, match="no documents"):
        ShardWriter(tmp_path, 3).finish()


def test_a_file_that_cannot_be_read_changes_nothing(home):
    """Neither is a folder begun, nor is an older one lost that was to be replaced."""
    old = home / "all.shards"
    before = contents(old)
    assert before
    for folder in (home / "begun.shards", old):
        said = run("vectorize", home / "a.csv", "--label", "x", "--out", folder, "--force")
        assert (said.code, "no label column 'x'" in said.err) == (2, True)
    assert not (home / "begun.shards").exists()
    assert contents(old) == before


def test_a_file_that_does_not_exist(tmp_path):
    said = run("vectorize", tmp_path / "none.csv", "--text", "text", "--out", tmp_path / "s")
    assert (said.code, said.out) == (2, "")
    assert "none.csv: no such file or folder." in said.err
    assert "Errno" not in said.err
    assert not (tmp_path / "s").exists()


def test_a_run_that_was_killed_before_it_began(tmp_path):
    """What it left does not make the folder one of other files."""
    write_csv(tmp_path / "a.csv")
    (tmp_path / "s" / ".recipe.json.0123abcd.part").mkdir(parents=True)
    ok("vectorize", tmp_path / "a.csv", "--label", "label", "--out", tmp_path / "s")
    assert not list((tmp_path / "s").glob(".*"))
