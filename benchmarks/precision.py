"""Compare fits in single and in double precision: how many documents get the same label.

The same documents are fitted as float32 and as float64, with the same seed, and labels of held-out
documents are predicted with both. The corpora are CSV files of a folder, with a column of texts and
a column of labels. The table also has the number of components and the prediction head of both
fits, because these are decisions, which rounding may turn. With ``--noise``, the first fit is in
double precision too, and its weights of documents are changed at random by about this part.
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
    parser.add_argument("--noise", type=float, default=0.0, help="such as 1e-7 (default: float32)")
    options = parser.parse_args(argv)
    files = [p for p in sorted(options.folder.iterdir()) if ".csv" in p.name]
    print("| corpus | documents | same label | largest difference of a probability | "
          "components | heads |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    same: list[bool] = []
    for file in files:
        name = file.name.split(".")[0]
        if options.corpora and name not in options.corpora:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agree, difference, decided = compare(file, options.documents, options.noise)
        same += agree.tolist()
        print(f"| {name} | {len(agree):,} | {agree.mean():.4f} | {difference:.1e} | {decided} |",
              flush=True)  # fmt: skip
    print(f"| all | {len(same):,} | {np.mean(same):.4f} | | | |")


def compare(file: Path, most: int, noise: float = 0.0) -> tuple[np.ndarray, float, str]:
    """Return which held-out documents get the same label, the largest difference, and decisions."""
    read = read_documents(file, label="auto", bad_rows="skip")
    labels = np.array([str(label) for label in read.labels])
    rows = np.random.default_rng(0).permutation(len(labels))[:most]
    rows, held = train_test_split(rows, test_size=0.5, random_state=0)
    vectorizer = DocumentVectorizer(min_df=2, dtype=np.float64)
    X = vectorizer.fit_transform([read.texts[row] for row in rows])
    X_new = vectorizer.transform([read.texts[row] for row in held])
    other = X.astype(np.float64 if noise else np.float32)
    if noise:
        other.data *= 1 + noise * np.random.default_rng(1).standard_normal(other.nnz)
    models = [SupervisedVBNMF(random_state=0).fit(of, labels[rows]) for of in (other, X)]
    single, double = (
        model.predict_proba(X_new.astype(of.dtype))
        for model, of in zip(models, (other, X), strict=True)
    )
    same = single.argmax(axis=1) == double.argmax(axis=1)
    components = ", ".join(str(model.n_components_) for model in models)
    heads = ", ".join(str(model.classifier_) for model in models)
    return same, float(np.abs(single - double).max()), f"{components} | {heads}"
