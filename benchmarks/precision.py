"""Compare fits in single and in double precision: how many documents get the same label.

The same documents are fitted as float32 and as float64, with the same seed, and labels of held-out
documents are predicted with both. The corpora are CSV files of a folder, with a column of texts and
a column of labels.
"""

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from vbnmf import SupervisedVBNMF
from vbnmf.data import read_documents
from vbnmf.text import DocumentVectorizer


def main(argv: Sequence[str] | None = None) -> None:
    """Print a Markdown table: a row for each corpus, and one of all documents."""
    parser = argparse.ArgumentParser(prog="benchmarks precision", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of CSV files (also .csv.gz)")
    parser.add_argument("--corpora", nargs="*", help="names of files [default: all]")
    parser.add_argument("--documents", type=int, default=2000, help="largest number of each")
    options = parser.parse_args(argv)
    files = [p for p in sorted(options.folder.iterdir()) if ".csv" in p.name]
    print("| corpus | documents | same label | largest difference of a probability |")
    print("|---|---|---|---|")
    same: list[bool] = []
    for file in files:
        name = file.name.split(".")[0]
        if options.corpora and name not in options.corpora:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agree, difference = compare(file, options.documents)
        same += agree.tolist()
        print(f"| {name} | {len(agree):,} | {agree.mean():.4f} | {difference:.1e} |", flush=True)
    print(f"| all | {len(same):,} | {np.mean(same):.4f} | |")


def compare(file: Path, most: int) -> tuple[np.ndarray, float]:
    """Return which held-out documents get the same label, and the largest difference."""
    read = read_documents(file, label="auto", bad_rows="skip")
    labels = np.array([str(label) for label in read.labels])
    rows = np.random.default_rng(0).permutation(len(labels))[:most]
    rows, held = train_test_split(rows, test_size=0.5, random_state=0)
    vectorizer = DocumentVectorizer(min_df=2, dtype=np.float64)
    X = vectorizer.fit_transform([read.texts[row] for row in rows])
    X_new = vectorizer.transform([read.texts[row] for row in held])
    found = []
    for dtype in (np.float32, np.float64):
        model = SupervisedVBNMF(random_state=0).fit(X.astype(dtype), labels[rows])
        found.append(model.predict_proba(X_new.astype(dtype)))
    single, double = found
    return single.argmax(axis=1) == double.argmax(axis=1), float(np.abs(single - double).max())
