"""vbnmf fit: its options, its configuration, what it says and where it writes."""

import gzip
import io
import json
import sys

import numpy as np
import pytest
from cliruns import FIT, LABELS, TEXTS, fitted, make_corpus, ok, run, write_csv

from vbnmf import load
from vbnmf.cli import progress
from vbnmf.core.fit import Progress
from vbnmf.estimators.validation import default_components
from vbnmf.text import DocumentVectorizer


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of documents in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_csv(tmp_path / "tickets.csv", names=("text", "team"))


LABEL = ("--label", "team")


def fit(*args):
    """Fit tickets.csv, and load what was written."""
    return load(ok("fit", "tickets.csv", *LABEL, *FIT, "--force", "--json", *args).json["model"])


def test_json(table):
    result = ok("fit", table, *LABEL, *FIT, "--json").json
    model = load("tickets.vbnmf")
    assert set(result) == {
        *("model", "documents", "documents_without_known_term", "terms", "components", "labels"),
        *("iterations", "bound", "hyperparameters", "documents_without_label", "passages"),
        "components_reason",
        "components_glued",
        *("classifier", "classifier_reason", "component_share", "features", "features_reason"),
        *("left_out_accuracy", "commonest_label", "left_out_by_chance"),
    }
    assert result["model"] == "tickets.vbnmf"
    assert result["documents"] == 42
    assert result["documents_without_known_term"] == 0
    assert result["terms"] == len(model.terms_) == 25
    assert result["components"] == 6
    assert result["labels"] == 3
    assert result["iterations"] == model.estimator_.n_iter_ <= 15
    assert result["bound"] == model.estimator_.bound_
    assert result["hyperparameters"] == model.estimator_.hyperparameters_


def test_messages(table):
    run = ok("fit", table, *LABEL, "-k", "2", "--max-iter", "3")
    assert run.out == ""
    assert "Text column 'text' was chosen" in run.err
    assert "Fitting 2 components to 42 documents with 3 labels." in run.err
    assert "Note: the fit did not converge in max_iter=3 iterations" in run.err
    assert "Wrote tickets.vbnmf: 2 components of 25 terms" in run.err
    assert "vbnmf topics tickets.vbnmf" in run.err


def test_accuracy_of_left_out_documents(tmp_path):
    """Predictions without each document are counted, and labels drawn by lot are named as such."""
    rng = np.random.default_rng(0)
    said = {}
    for name in ("topic", "lot"):
        labels = rng.integers(2, size=120)
        words = rng.integers(30, size=(120, 12)) + 30 * (labels[:, None] if name == "topic" else 0)
        texts = [" ".join(f"w{word}" for word in row) for row in words]
        file = tmp_path / f"{name}.csv"
        write_csv(file, texts, [f"l{label}" for label in labels], names=("text", "team"))
        target = tmp_path / f"{name}.vbnmf"
        command = ("fit", file, *LABEL, "--out", target, "--force", "-k", "4", "--max-iter", "10")
        result, said[name] = ok(*command, "--json").json, ok(*command).err
        predicted = load(target).estimator_.left_out_proba_.argmax(axis=1)
        assert result["left_out_accuracy"] == pytest.approx((predicted == labels).mean(), abs=1e-4)
        share = np.bincount(labels).max() / 120
        assert result["commonest_label"] == pytest.approx(share, abs=1e-4)
        assert result["left_out_by_chance"] == (name == "lot")
    assert (
        "100.0 % of the training documents get their own label if they are left out"
        in (said["topic"])
    )
    assert "better than chance" in said["lot"]
    assert "better than chance" not in said["topic"]


def test_few_documents_say_nothing_about_those_left_out(tmp_path):
    """A label of one document cannot be right without it, so nothing is claimed."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.integers(60, size=8)) for _ in range(30)]
    file = tmp_path / "few.csv"
    write_csv(file, texts, [f"l{i}" for i in range(30)], names=("text", "team"))
    command = ("fit", file, *LABEL, "--out", tmp_path / "few.vbnmf", "--force", "-k", "4")
    assert ok(*command, "--json").json["left_out_accuracy"] is None
    err = ok(*command).err
    assert "get their own label" not in err
    assert "The documents are too few to say how often predictions are right" in err
    reviewed = ok("review", tmp_path / "few.vbnmf", file).out
    assert "fewer than 50 different documents" in reviewed


def test_of_a_single_label_no_accuracy_is_said(tmp_path):
    texts, _ = make_corpus(0, n_each=30)
    file = write_csv(tmp_path / "one.csv", texts, ["tea"] * 90, names=("text", "team"))
    said = ok("fit", file, *LABEL, "--out", tmp_path / "one.vbnmf", "-k", "4").err
    assert "all 90 documents have the same label" in said
    assert "if they are left out" not in said
    assert "chance" not in said


def test_labels_of_one_document_are_never_right_without_it(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.integers(22, size=6)) for _ in range(200)]
    names = [f"l{i}" for i in range(200)]
    file = write_csv(tmp_path / "ids.csv", texts, names, names=("text", "team"))
    found = ok("fit", file, *LABEL, "--out", tmp_path / "ids.vbnmf", "--json").json
    assert found["left_out_accuracy"] == 0
    assert found["left_out_by_chance"]


def test_quiet_is_silent(table):
    (table.parent / "short.csv").write_text("text,team\nzzz,a\nred car,a\nred car,b\nblue car,b")
    for file in ("tickets.csv", "short.csv"):  # the latter with a document without known terms
        run = ok("fit", file, *LABEL, "--quiet", "--max-iter", "3")
        assert run.out == run.err == ""


def test_defaults(table):
    """Components by the number of labels; texts as DocumentVectorizer does it."""
    model = load(ok("fit", table, *LABEL, "--quiet", "--max-iter", "1", "--json").json["model"])
    of_labels = f"{default_components(3)} components by default: two for each label"
    assert of_labels in model.estimator_.n_components_reason_
    found, usual = model.vectorizer_.get_params(), DocumentVectorizer().get_params()
    assert found | {"dtype": np.float32} == usual
    ok("fit", table, "--quiet", "--max-iter", "1", "--out", "u.vbnmf")
    reason = load("u.vbnmf").estimator_.n_components_reason_
    assert reason.startswith(f"{default_components(None)} components by default")


def test_many_labels_get_more_components(tmp_path):
    labels = [f"{i % 21:02}" for i in range(len(TEXTS))]
    path = write_csv(tmp_path / "a.csv", labels=labels)
    out = ("--out", tmp_path / "a.vbnmf")
    ok("fit", path, "--label", "auto", "--max-iter", "1", *out)
    reason = load(out[1]).estimator_.n_components_reason_
    assert reason.startswith(f"{default_components(21)} components by default")


def test_model_options(table):
    flags = ("--label-shape", "3", "--coef-shape", "0.7", "--term-shape", "0.4", "--tol", "0.01")
    parameters = fit(*flags, "--n-init", "2").estimator_.get_params()
    assert parameters["label_shape"] == 3
    assert parameters["coef_shape"] == 0.7
    assert parameters["term_shape"] == 0.4
    assert parameters["tol"] == 0.01
    assert parameters["n_init"] == 2
    assert parameters["max_iter"] == 15
    assert fit("--term-shape", "learned").estimator_.term_shape == "learned"


def test_seed(table):
    """The same seed gives the same file, another one another; jobs change nothing.

    Seeds are of random starts, and the first is not random.
    """
    contents = {}
    for name, flags in {
        "a": ("--random-state", "3"),
        "b": ("--random-state", "3"),
        "c": ("--random-state", "4"),
        "d": ("--random-state", "3", "--n-jobs", "1"),
        "e": ("--random-state", "3", "--n-jobs", "2"),
    }.items():
        fit(*flags, "--n-init", "4", "--out", name)
        contents[name] = load(name).estimator_.components_
    np.testing.assert_array_equal(contents["a"], contents["b"])
    assert not np.array_equal(contents["a"], contents["c"])
    first = [fit("--random-state", seed).estimator_.components_ for seed in "34"]
    np.testing.assert_array_equal(*first)
    np.testing.assert_array_equal(contents["a"], contents["d"])
    np.testing.assert_array_equal(contents["a"], contents["e"])
    predictions = {ok("predict", name, "tickets.csv", "--quiet").out for name in "ade"}
    predictions |= {ok("predict", "a", "tickets.csv", "--quiet", "--n-jobs", n).out for n in "12"}
    assert len(predictions) == 1
    result = ok("fit", "tickets.csv", *FIT, "--random-state", "3", "--out", "f", "--json").json
    assert result["labels"] == 0


def test_missing_labels_are_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = [label if i % 5 else " " for i, label in enumerate(LABELS)]
    write_csv(tmp_path / "some.csv", labels=labels)
    run = ok("fit", "some.csv", "--label", "label", "-k", "6", "--max-iter", "15")
    assert "9 of 42 documents have no label." in run.err
    used = "9 documents without a label are used too; their labels are inferred."
    assert used in run.err
    assert "Fitting 6 components to 42 documents with 3 labels." in run.err
    expected = fitted(TEXTS, [label.strip() or None for label in labels])
    assert expected.estimator_.label_counts_.sum() == 33
    np.testing.assert_array_equal(
        load("some.vbnmf").estimator_.components_, expected.estimator_.components_
    )
    result = ok("fit", "some.csv", "--label", "label", *FIT, "--force", "--json").json
    assert (result["documents"], result["documents_without_label"]) == (42, 9)


def test_missing_labels_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = [label if i % 5 else "" for i, label in enumerate(LABELS)]
    write_csv(tmp_path / "some.csv", labels=labels)
    run = ok("fit", "some.csv", "--label", "label", "-k", "6", "--max-iter", "15",
             "--only-labelled")  # fmt: skip
    assert "9 of 42 documents have no label." in run.err
    assert "Ignored 9 documents without a label." in run.err
    assert "Fitting 6 components to 33 documents with 3 labels." in run.err
    kept = [i for i, label in enumerate(labels) if label]
    expected = fitted([TEXTS[i] for i in kept], [labels[i] for i in kept])
    np.testing.assert_array_equal(
        load("some.vbnmf").estimator_.components_, expected.estimator_.components_
    )
    scores = ok("evaluate", "some.vbnmf", "some.csv", "--json").json
    assert scores["labelled_documents"] == 33


def test_numeric_labels(tmp_path, monkeypatch):
    """Numbers of JSON and Parquet stay numbers, with and without gaps; those of CSV are names."""
    monkeypatch.chdir(tmp_path)
    codes = np.unique(LABELS, return_inverse=True)[1].tolist()
    for name, values in {"all": codes, "gaps": [None, *codes[1:]]}.items():
        lines = [{"text": t, "label": c} for t, c in zip(TEXTS, values, strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        ok("fit", f"{name}.jsonl", "--label", "label", *FIT)
        assert load(f"{name}.vbnmf").estimator_.classes_.tolist() == [0, 1, 2]
        first = ok("predict", f"{name}.vbnmf", f"{name}.jsonl", "--json").out.splitlines()[1]
        assert json.loads(first)["label"] == 0
        assert ok("topics", f"{name}.vbnmf", "--label", "2").out
        write_csv(tmp_path / "numbers.csv", labels=codes)
        for file in (f"{name}.jsonl", "numbers.csv"):
            assert ok("evaluate", f"{name}.vbnmf", file, "--json").json["micro_accuracy"] > 0.9


def test_names_of_models(table, monkeypatch):
    folder = table.parent
    names = {"v1.2-data.csv": "v1.2-data", "a.b.csv.gz": "a.b", "my.docs/": "my.docs"}
    (folder / "v1.2-data.csv").write_bytes(table.read_bytes())
    (folder / "a.b.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    (folder / "my.docs").mkdir()
    for i, text in enumerate(TEXTS):
        (folder / "my.docs" / f"{i}.txt").write_text(text)
    for file, name in names.items():
        assert ok("fit", file, *FIT, "--json").json["model"] == f"{name}.vbnmf"
    assert ok("fit", "-", *FIT, "--json", stdin=table.read_bytes()).json["model"] == "model.vbnmf"
    monkeypatch.chdir(folder / "my.docs")
    assert ok("fit", ".", *FIT, "--json").json["model"] == "my.docs.vbnmf"


def test_nothing_is_overwritten_unasked(table):
    ok("fit", table, *LABEL, *FIT)
    before = (table.parent / "tickets.vbnmf").read_bytes()
    refused = run("fit", table, *LABEL, *FIT, "--random-state", "9")
    assert refused.code == 2
    assert refused.err == "Error: tickets.vbnmf exists. Add --force to replace it.\n"
    assert (table.parent / "tickets.vbnmf").read_bytes() == before
    ok("fit", table, *LABEL, *FIT, "--random-state", "9", "--force")
    assert load("tickets.vbnmf").estimator_.random_state == 9


def test_failed_fit_leaves_nothing(table):
    kept = sorted(table.parent.iterdir())
    assert run("fit", table, *LABEL, "--min-df", "99").code == 2
    assert sorted(table.parent.iterdir()) == kept


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["绿茶茶叶", "红茶茶叶", "咖啡豆子", "咖啡杯子"], ("--token-pattern", "[\u4e00-\u9fff]")),
        (["شاي أخضر", "شاي أسود", "قهوة سوداء", "قهوة عربية"], ()),
        (["Grüne Kanne", "heiße Kannen", "Röste Bohnen", "eine Bohne"], ("--stem", "german")),
    ],
    ids=["Chinese", "Arabic", "German"],
)
def test_languages(tmp_path, texts, options):
    labels = ["茶 شاي Tee", "茶 شاي Tee", "咖啡 ☕", "咖啡 ☕"]
    path, out = write_csv(tmp_path / "a.csv", texts, labels), tmp_path / "a.vbnmf"
    ok("fit", path, "--label", "auto", "-k", "2", "--quiet", "--out", out, *options)
    assert load(out).vectorizer_.n_empty_ == 0
    rows = ok("predict", out, path).rows
    assert [row["label"] for row in rows] == labels
    assert "咖啡 ☕" in ok("topics", out).out
    assert ok("topics", out, "--json", "--label", labels[0]).json[0]["labels"][labels[0]] > 0.5


class TestConfig:
    """Options from a TOML file."""

    def fit(self, content, *args):
        with open("c.toml", "w", encoding="utf-8") as file:
            file.write(content)
        return run("fit", "tickets.csv", "--config", "c.toml", "--json", *args)

    @pytest.mark.parametrize(
        "content",
        [
            'label = "team"\nn-components = 4\nmax-iter = 3\nquiet = true\nmin-df = 3',
            'label = "team"\nk = 4\nmax_iter = 3\nquiet = true\nmin_df = 3',
            '[fit]\nlabel = "team"\nk = 4\nmax-iter = 3\nquiet = true\nmin-df = 3',
            'k = 9\nquiet = true\nmin-df = 3\n[fit]\nlabel = "team"\nk = 4\nmax-iter = 3\n[demo]',
        ],
        ids=["top", "other spelling", "table", "top and table"],
    )
    def test_values(self, table, content):
        result = self.fit(content)
        assert result.code == 0
        assert result.err == ""
        assert (result.json["components"], result.json["iterations"]) == (4, 3)
        assert result.json["labels"] == 3
        assert load("tickets.vbnmf").vectorizer_.min_df == 3
        assert self.fit(content, "-k", "2").code == 2  # the model is there now

    def test_flags_win(self, table):
        content = 'label = "nonsense"\nk = 4\nmax-iter = 3\nrandom-state = 5\nforce = true\n'
        content += 'out = "x"'
        result = self.fit(content, *LABEL, "-k", "2", "--out", "y")
        assert result.json["components"] == 2
        assert result.json["iterations"] == 3
        assert result.json["model"] == "y"
        assert load("y").estimator_.random_state == 5

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                "kompnents = 3",
                "c.toml has an unknown option: kompnents. `fit` has analyzer,",
            ),
            ("[nonsense]\nk = 3", "c.toml has an unknown option: nonsense."),
            ("fit = 3", "c.toml has an unknown option: fit."),
            ("k = ", "c.toml is not a valid TOML file"),
            ("k = [3]", "c.toml has k = [3]; expected a string, a number, true or false."),
            ('k = "many"', "'many' is neither a number nor 'auto'"),
            ("k = 4.7", "'4.7' is neither a number nor 'auto'"),
            ("min-df = -1", "'-1' is neither a count (5) nor a fraction"),
            ('weighting = "heavy"', "'heavy' is not one of"),
            ('config = "d.toml"', "c.toml has an unknown option: config."),
        ],
    )
    def test_errors(self, table, content, message):
        result = self.fit(content)
        assert result.code == 2
        assert message in result.err
        assert not (table.parent / "tickets.vbnmf").exists()

    def test_unreadable(self, table):
        (table.parent / "d.toml").write_bytes(b'label = "\xff"')
        for name, message in (
            ("d.toml", "d.toml is not a valid TOML file: "),
            ("nowhere.toml", "nowhere.toml cannot be read: No such file or directory."),
        ):
            result = run("fit", table, "--config", name)
            assert result.code == 2
            assert message in result.err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show(monkeypatch, stream, *, quiet=False, rises=(float("nan"), 2e-3)):
    """What is written about iterations 7 and 8 of the second of two starts."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress.Display, "_seconds_between_lines", 0.0)
    with progress.FitProgress(quiet) as callback:
        for iteration, rise in enumerate(rises, 7):
            callback(Progress(iteration, 20, -1234.5, rise, 1, 2))
    return stream.getvalue()


def test_progress_in_plain_lines(monkeypatch):
    first, second = show(monkeypatch, io.StringIO()).splitlines()
    assert first == "iteration 27 of at most 40: bound -1,234"  # no pace to tell the time by yet
    assert second.startswith(
        "iteration 28 of at most 40: bound -1,234, relative increase 2.0e-03; "
    )
    assert second.endswith(" s left")
    assert show(monkeypatch, io.StringIO(), quiet=True) == ""


def test_progress_before_the_fit(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress.Display, "_seconds_between_lines", 0.0)
    with progress.FitProgress(quiet=False) as callback:
        nan = float("nan")
        callback(Progress(3, 15, nan, nan, 1, 2, "a background"))
        callback(Progress(1, 20, -1234.5, nan, 1, 2))
    before, first = sys.stderr.getvalue().splitlines()
    assert before == "start 2 of 2, a background: iteration 3 of 15"
    assert first == "iteration 21 of at most 40: bound -1,234"


def test_progress_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    written = show(monkeypatch, Terminal())
    assert "28 of at most 40: bound -1,234, relative increase 2.0e-03" in written
    assert show(monkeypatch, Terminal(), quiet=True) == ""


def test_a_fit_on_a_terminal(monkeypatch, tmp_path):
    """The bar of rich holds locks, which scikit-learn's clone could not copy."""
    from vbnmf import DocumentModel, SupervisedVBNMF
    from vbnmf.cli.progress import FitProgress

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(FitProgress, "_seconds_between_lines", 0.0)
    with FitProgress(quiet=False) as progress:
        model = SupervisedVBNMF(2, max_iter=7, tol=0, callback=progress)
        DocumentModel(model).fit(*zip(*NAMED, strict=True))
        written = sys.stderr.getvalue()
    assert "of at most 7" in written + sys.stderr.getvalue()


def test_the_model_knows_its_columns(tmp_path):
    rows = "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(NAMED))
    (tmp_path / "a.csv").write_text("title,inhalt,sorte\n" + rows, encoding="utf-8")
    model = tmp_path / "m.vbnmf"
    ok("fit", tmp_path / "a.csv", "--text", "inhalt", "--label", "sorte", "-k", "2", "--out", model)
    assert len(ok("predict", model, tmp_path / "a.csv").rows) == len(NAMED)
    assert ok("evaluate", model, tmp_path / "a.csv", "--json").json["documents"] == len(NAMED)
    (tmp_path / "b.csv").write_text("text,label\nkettle steam,tea\n", encoding="utf-8")
    other = ok("predict", model, tmp_path / "b.csv")
    assert "Text column 'text' was chosen" in other.err
    assert len(other.rows) == 1


NAMED = [("kettle leaves steam", "tea"), ("wheel chain pedal", "bike")] * 8


def test_one_of_each(tmp_path, monkeypatch):
    """Numbers agree with their nouns."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", ["kettle"], ["tea"])
    options = ("--label", "label", "--weighting", "counts", "-k", "1", "--max-iter", "1")
    said = ok("fit", "a.csv", *options, "--out", "m").err
    assert "Fitting 1 component to 1 document with 1 label." in said
    assert "Wrote m: 1 component of 1 term, bound " in said
    assert "after 1 iteration.\n" in said
    assert "a.csv: 1 prediction.\n" in ok("predict", "m", "a.csv", "--out", "pa.csv").err
    assert "1 document × 1 component." in ok("transform", "m", "a.csv", "--out", "ca.csv").err
    assert ok("labels", "m").out.startswith("tea: 1 document\n")
    assert "Of 1 labelled document:" in ok("evaluate", "m", "a.csv").out
    assert ok("update", "m", "a.csv", "--out", "n").out.startswith("1 new document, 2 seen in all.")
    written = ok("vectorize", "a.csv", "--label", "label", "--weighting", "counts", "--out", "s")
    assert "Wrote s: 1 document × 1 term, 1 label, 1 non-zero in 1 shard." in written.err
    assert "to 1 document with 1 label, in 1 shard." in ok("fit", "s", "-k", "1", "--out", "o").err
    (tmp_path / "b.csv").write_text("text,label\nkettle,tea\nlid,tea\n")
    note = "1 of 2 documents has no known term of non-zero weight (id 3), from which"
    assert note in ok("predict", "m", "b.csv").err


def test_copies_are_counted_aloud(tmp_path):
    rows = [
        ("green tea", "tea"),
        ("green tea", "tea"),
        ("green tea", "coffee"),
        ("beans", "coffee"),
    ]
    lines = ["text,label", *(f"{text},{label}" for text, label in rows)]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    result = ok("fit", tmp_path / "a.csv", "--label", "label", "--out", tmp_path / "m.vbnmf")
    said = "2 of 4 documents have the same text as one before, 1 of them with another label"
    assert said in result.err


def test_a_copy_without_a_label_has_no_other_label(tmp_path):
    rows = ["green tea,", "green tea,tea", "green tea,", "roast beans,coffee;hot"]
    copies = ["green tea,tea", "roast beans,hot;coffee"]
    options = ("--label", "label", "--label-separator", ";", "--out", tmp_path / "m.vbnmf")
    lines = ["text,label", *rows, *copies]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    said = ok("fit", tmp_path / "a.csv", *options).err
    assert "4 of 6 documents have the same text as one before. All of them are used." in said
    lines = ["text,label", *rows[1:], "grind beans,coffee"]
    (tmp_path / "b.csv").write_text("\n".join(lines), encoding="utf-8")
    said = ok("fit", tmp_path / "b.csv", *options, "--force").err
    assert "1 of 4 documents has the same text as one before. All of them are used." in said


def test_documents_without_known_terms_are_named_by_their_lines(tmp_path):
    """As in all other commands; with --only-labelled, other rows of the file are fitted."""
    rows = [["", "a b"], ["tea", "green kettle"], ["tea", "?"], ["jam", "red jar"], ["jam", "lid"]]
    file = write_csv(tmp_path / "a.csv", *zip(*((text, y) for y, text in rows), strict=True))
    options = (
        "--label",
        "label",
        "-k",
        "2",
        "--max-iter",
        "1",
        "--out",
        tmp_path / "m.vbnmf",
        "--force",
    )
    note = "Note: 1 of {} documents has no known term of non-zero weight (id 4), from which"
    assert note.format(4) in ok("fit", file, *options, "--only-labelled").err
    alike = write_csv(tmp_path / "b.csv", ["kettle", "kettle"], ["tea", "jam"])
    assert "every document has every term" in run("fit", alike, *options).err
