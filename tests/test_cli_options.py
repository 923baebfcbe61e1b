"""The options of all commands: their names, their groups in --help, and the words of Python."""

import inspect
from itertools import combinations

import click
import pytest
from cliruns import FIT, TEXTS, ok, run, write_csv

from vbnmf import SupervisedVBNMF, load
from vbnmf.cli import cli
from vbnmf.cli.options import GroupedCommand
from vbnmf.text import DocumentVectorizer

COMMANDS = cli.commands | {
    f"data {name}": one for name, one in cli.commands["data"].commands.items()
}


def options(command):
    return [option for option in command.params if isinstance(option, click.Option)]


def flags(command):
    return [flag for option in options(command) for flag in (*option.opts, *option.secondary_opts)]


ALL = sorted({flag for command in COMMANDS.values() for flag in flags(command)})


def differ_by_one_letter(a, b):
    """Whether one letter that is changed, added or removed makes one name the other."""
    if len(a) > len(b):
        a, b = b, a
    if len(a) == len(b):
        return sum(x != y for x, y in zip(a, b, strict=True)) == 1
    return any(a == b[:i] + b[i + 1 :] for i in range(len(b)))


def test_no_two_options_differ_by_one_letter():
    assert differ_by_one_letter("--label", "--labels")
    assert not differ_by_one_letter("--label", "--label-file")
    alike = [pair for pair in combinations(ALL, 2) if differ_by_one_letter(*pair)]
    assert alike == []


@pytest.mark.parametrize(
    ("command", "old"),
    [
        *[("fit", old) for old in ("--components", "--starts", "--seed", "--jobs", "--labels")],
        *[("fit", old) for old in ("--ngrams", "--keep-case")],
        *[("tune", old) for old in ("--components", "--label-shapes", "--seed")],
        *[("vectorize", old) for old in ("--jobs", "--ngrams")],
        *[(command, "--top") for command in ("topics", "labels")],
        *[(command, "--trust") for command in ("predict", "report", "evaluate", "update")],
        ("reproduce", "--jobs"),
        ("demo", "--seed"),
    ],
)
def test_old_spellings_are_gone(command, old):
    assert old not in flags(cli.commands[command])
    assert old not in ALL


def test_the_words_of_python():
    python = {**inspect.signature(SupervisedVBNMF).parameters}
    python |= inspect.signature(DocumentVectorizer).parameters
    mine = {flag.lstrip("-").replace("-", "_") for flag in flags(cli.commands["fit"])}
    both = mine & python.keys()
    assert both == {
        "n_components", "label_tree", "label_shape", "class_weight", "classifier", "coef_shape",
        "term_shape", "max_iter", "tol", "n_init", "random_state", "n_jobs", "checkpoint",
        "weighting", "max_terms", "min_df", "max_df", "stop_words", "stem", "ngram_range",
        "analyzer", "token_pattern", "strip", "lowercase",
    }  # fmt: skip
    vectorizer = set(inspect.signature(DocumentVectorizer).parameters)
    assert vectorizer - mine == {"dtype"}


def test_jobs_mean_the_same_everywhere():
    said = {
        option.help
        for command in COMMANDS.values()
        for option in options(command)
        if "--n-jobs" in option.opts
    }
    assert len(said) == 1


def test_values_have_no_blanks():
    for command in COMMANDS.values():
        for option in options(command):
            choices = getattr(option.type, "choices", ())
            assert not any(" " in choice for choice in choices), option.name


@pytest.mark.parametrize("name", [n for n, c in COMMANDS.items() if isinstance(c, GroupedCommand)])
def test_help_lists_each_option_once(name):
    command = COMMANDS[name]
    lines = ok(*name.split(), "--help").out.split("\nMain options:\n")[1].splitlines()
    listed = [
        word.rstrip(",")
        for line in lines
        if line.startswith("  -") and not line.startswith("   ")
        for word in line.split("   ")[0].split()
        if word.startswith("--")
    ]
    assert sorted(listed) == sorted([f for f in flags(command) if f.startswith("--")] + ["--help"])


def test_help_of_fit_has_groups_and_the_main_options_first():
    lines = ok("fit", "--help").out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Main options:",
        "Reading files:",
        "Terms and their weights:",
        "Model:",
        "Long fits and updates:",
        "Dask cluster:",
        "Running and printing:",
    ]
    begin, end = (lines.index(title) for title in titles[:2])
    main = [line.split()[0] for line in lines[begin + 1 : end] if line.startswith("  -")]
    assert main == [
        "--label", "--text", "--label-separator", "-k,", "--stop-words", "--stem", "--min-df",
        "--random-state", "--out", "--force",
    ]  # fmt: skip


class TestValues:
    @pytest.fixture
    def table(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        return write_csv(tmp_path / "a.csv", TEXTS, labels=["Red", "blue"] * 21)

    def fit(self, *args):
        ok("fit", "a.csv", "--label", "label", *FIT, *args, "--out", "m.vbnmf", "--force")
        return load("m.vbnmf")

    def test_classifier(self, table):
        model = self.fit("--classifier", "words-and-components")
        assert model.estimator_.get_params()["classifier"] == "words and components"
        assert run("fit", "a.csv", "--classifier", "words and components").code == 2

    def test_ngram_range(self, table):
        assert self.fit("--ngram-range", "2,3").vectorizer_.ngram_range == (2, 3)
        (table.parent / "c.toml").write_text("ngram-range = [1, 2]")
        assert self.fit("--config", "c.toml").vectorizer_.ngram_range == (1, 2)
        assert "'2' is not two numbers, such as 1,2." in run("fit", "a.csv", "--ngram-range", 2).err

    def test_lowercase(self, table):
        assert not self.fit("--no-lowercase").vectorizer_.lowercase
        assert self.fit("--lowercase").vectorizer_.lowercase
        (table.parent / "c.toml").write_text("lowercase = false")
        assert not self.fit("--config", "c.toml").vectorizer_.lowercase

    def test_all_cores(self, table):
        assert self.fit("--n-jobs", "-1").estimator_.get_params()["n_jobs"] == -1
        ok("vectorize", "a.csv", "--n-jobs", "-1", "--out", "s", "--quiet")

    def test_lowercase_was_settled_with_the_shards(self, table):
        ok("vectorize", "a.csv", "--out", "s", "--quiet")
        refused = run("fit", "s", "--no-lowercase")
        assert refused.code == 2
        assert "--lowercase cannot change a shard folder." in refused.err
        ok("fit", "s", *FIT, "--out", "s.vbnmf")
        refused = run("vectorize", "a.csv", "--model", "s.vbnmf", "--no-lowercase", "--out", "t")
        assert "Leave out text options" in refused.err

    def test_cores_are_those_of_this_machine(self, table):
        ok("vectorize", "a.csv", "--out", "s", "--quiet")
        refused = run("fit", "s", "--scheduler", "tcp://127.0.0.1:1", "--n-jobs", "2")
        assert refused.code == 2
        assert "--n-jobs is the number of cores of this machine." in refused.err
