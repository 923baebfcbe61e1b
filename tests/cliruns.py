"""The command line in this process, and a small corpus in every format that it reads."""

import csv
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from click.testing import CliRunner
from scipy import io, sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf import DocumentModel, SupervisedVBNMF, cli
from vbnmf.text import DocumentVectorizer

WORDS = {
    "bike": ["wheel", "chain", "pedal", "saddle", "brake", "gear", "tyre", "spoke"],
    "coffee": ["bean", "roast", "espresso", "grind", "mug", "crema", "filter", "barista"],
    "tea": ["leaf", "steep", "kettle", "green", "cup", "oolong", "brew", "infusion"],
}


def make_corpus(seed, n_each=14, mixed=0.0):
    """Texts and labels, sorted by label; `mixed` is the part of words from anywhere."""
    rng = random.Random(seed)  # noqa: S311
    everything = [word for words in WORDS.values() for word in words]
    texts, labels = [], []
    for label, words in WORDS.items():
        for _ in range(n_each):
            chosen = [rng.choice(everything if rng.random() < mixed else words) for _ in range(9)]
            texts.append(f'{chosen[0]}, "{chosen[1]}" and ' + " ".join(chosen[2:]))
            labels.append(label)
    return texts, labels


TEXTS, LABELS = make_corpus(0)
# few iterations, and what they come to does not matter
FIT = ("-k", "6", "--max-iter", "15", "--quiet")


def fitted(contents=TEXTS, labels=LABELS, terms=None, **options):
    """The model that `vbnmf fit` with the options FIT must come to."""
    estimator = SupervisedVBNMF(6, max_iter=15, random_state=0)
    vectorizer = DocumentVectorizer(**options)
    return DocumentModel(estimator, vectorizer).fit(contents, labels, terms=terms)


class Entry:
    """What a console script calls, for click's runner."""

    name = "vbnmf"

    def main(self, args, prog_name, **_):
        before = sys.argv
        sys.argv = [prog_name, *args]
        try:
            cli.main()
        finally:
            sys.argv = before


class Run(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return list(csv.DictReader(self.out.splitlines()))


def run(*args, stdin=None):
    """Run the command line, whatever comes of it."""
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 keeps them apart by itself
        runner = CliRunner()
    result = runner.invoke(Entry(), [str(arg) for arg in args], input=stdin)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def ok(*args, stdin=None):
    """Run the command line, which must do what it is asked."""
    result = run(*args, stdin=stdin)
    assert result.code == 0, result.err
    return result


def process(*args, **options):
    """Run the command line in a process of its own."""
    options = {"capture_output": True, "timeout": 120} | options
    return subprocess.run(command(*args), check=False, **options)  # noqa: S603


def command(*args):
    return [sys.executable, "-c", "from vbnmf.cli import main; main()", *map(str, args)]


def write_csv(path, texts=TEXTS, labels=LABELS, names=("text", "label"), delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(names)
        writer.writerows(zip(texts, labels, strict=True))
    return path


class Source(NamedTuple):
    """A corpus in one format: its path, and options that read it without and with labels."""

    path: Path | str
    plain: tuple = ()
    labelled: tuple = ("--label", "auto")
    stdin: bytes | None = None
    is_matrix: bool = False


def counts():
    """The corpus as a matrix, and its terms."""
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(TEXTS).astype(np.float64)
    return X, vectorizer.get_feature_names_out().tolist()


def write_all(folder):
    """The corpus in every format, by name."""
    table = write_csv(folder / "a.csv")
    lines = "".join(
        json.dumps({"text": text, "label": label}) + "\n"
        for text, label in zip(TEXTS, LABELS, strict=True)
    ).encode()
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "b.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    return {
        "csv": Source(table),
        "tsv": Source(write_csv(folder / "a.tsv", delimiter="\t")),
        "jsonl": Source(folder / "a.jsonl"),
        "csv.gz": Source(folder / "b.csv.gz"),
        "jsonl.gz": Source(folder / "b.jsonl.gz"),
        "stdin csv": Source("-", stdin=table.read_bytes()),
        "stdin jsonl.gz": Source("-", stdin=gzip.compress(lines)),
        **_write_arrow(folder),
        **_write_folders(folder),
        **_write_matrices(folder),
    }


def _write_arrow(folder):
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    table = pyarrow.table({"text": TEXTS, "label": LABELS})
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    pyarrow.feather.write_feather(table, folder / "a.feather")
    return {"parquet": Source(folder / "a.parquet"), "feather": Source(folder / "a.feather")}


def _write_folders(folder):
    tree, flat = folder / "tree", folder / "flat.d"
    flat.mkdir()
    rows = ["file,kind"]
    for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        (tree / label).mkdir(parents=True, exist_ok=True)
        (tree / label / f"{i:03}.txt").write_text(text, encoding="utf-8")
        (flat / f"{i:03}.txt").write_text(text, encoding="utf-8")
        rows.insert(1, f"{i:03}.txt,{label}")  # in another order than the files
    (folder / "kinds.csv").write_text("\n".join(rows), encoding="utf-8")
    return {
        "folder": Source(tree),
        "folder + labels": Source(flat, labelled=("--label-file", folder / "kinds.csv")),
    }


def _write_matrices(folder):
    X, terms = counts()
    codes = np.unique(LABELS, return_inverse=True)[1]
    dump_svmlight_file(X, codes, str(folder / "a.svm"), zero_based=False)
    io.mmwrite(folder / "a.mtx", X)
    sparse.save_npz(folder / "a.npz", X)
    (folder / "labels.txt").write_text("\n".join(LABELS), encoding="utf-8")
    (folder / "terms.txt").write_text("\n".join(terms), encoding="utf-8")
    named = ("--terms", folder / "terms.txt")
    apart = ("--label-file", folder / "labels.txt")
    return {
        "svmlight": Source(folder / "a.svm", is_matrix=True),
        "mtx": Source(folder / "a.mtx", labelled=apart, is_matrix=True),
        "npz": Source(folder / "a.npz", named, (*apart, *named), is_matrix=True),
    }
