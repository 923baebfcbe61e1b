"""vbnmf demo: fit, score and show a model of a corpus that needs no download."""

import time
from pathlib import Path

import click

from vbnmf.cli import common, options
from vbnmf.cli.evaluate import score
from vbnmf.cli.modeloptions import build, how_many
from vbnmf.cli.progress import FitProgress, PageProgress, Waiting
from vbnmf.cli.terminal import fraction, percent, table


@click.command(short_help="Fit, show and score a model of an offline corpus.")
@click.option("--out", metavar="DIR", default="vbnmf-demo", show_default=True,
              help="Folder for the model and the page.")  # fmt: skip
@options.random_state
@options.n_jobs
@options.force
@options.quiet
def demo(out: str, random_state: int, n_jobs: int, force: bool, quiet: bool) -> None:
    """Fit a model to a corpus that needs no network, show its components, and score it.

    The documents are the docstrings of the installed NumPy, SciPy and scikit-learn. The labels are
    their sub-packages.

    \b
    Example:
      vbnmf demo --out somewhere
    """  # noqa: D301
    from vbnmf.data import load_corpus
    from vbnmf.description.summary import summarise
    from vbnmf.report.explorer import explore

    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise click.BadParameter(f"{folder} is a file; --out takes a folder.")
    for name in ("demo.vbnmf", "demo.html"):
        if (folder / name).exists():
            common.check_out(folder / name, force)
    started = time.monotonic()
    common.message("Reading the docstrings of NumPy, SciPy and scikit-learn …", quiet)
    train, test = (load_corpus("scipy-docs", subset=subset) for subset in ("train", "test"))
    model = build(
        len(train.label_names), random_state=random_state, n_jobs=n_jobs, stop_words="english",
        stem="english", min_df=2,
    )  # fmt: skip
    about = f"{len(train):,} documents with {len(train.label_names)} labels"
    common.message(f"Fitting {how_many('auto', len(train.label_names))} to {about} …", quiet)
    with FitProgress(quiet) as progress:
        model.estimator.set_params(callback=progress)
        model.fit(train.texts, train.labels)
    summary = summarise(model, n_terms=5)
    rows = []
    for label in summary.labels:
        row = summary.use[summary.labels.index(label)]
        best = row.argmax()
        rows.append([label, percent(row[best]), summary.components[best].name])
    click.echo("\nThe strongest component of each label: its expected part of the label's weight\n")
    click.echo(table(["label", "part", "terms that describe the component"], rows, right=(1,)))

    with Waiting(quiet, "evaluating"):
        scores = score(model, test.texts, test.labels)
        svm = _linear_svm(train, test)
    click.echo(f"\nAccuracy on {scores['labelled_documents']:,} held-out documents\n")
    click.echo(
        table(
            ["", "accuracy", "predicts from"],
            [
                [
                    "baseline: commonest label",
                    fraction(scores["most_frequent_label_accuracy"], 3),
                    "the frequency of labels",
                ],
                [
                    "vbnmf",
                    fraction(scores["micro_accuracy"], 3),
                    ", ".join([f"{len(summary.components)} components", "words", *model.features_]),
                ],
                ["linear SVM", fraction(svm[0], 3), f"{svm[1]:,} weights for each label"],
            ],
            right=(1,),
        )
    )
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "demo.vbnmf")
    with PageProgress(quiet) as progress_of_page:
        page = explore(
            model, test.texts, test.labels, ids=test.ids, command="vbnmf demo",
            title="vbnmf demo: sub-packages by their docstrings", progress=progress_of_page,
        )  # fmt: skip
        page.save(folder / "demo.html")
    took = time.monotonic() - started
    shown = common.printable(str(folder))
    click.echo(
        f"\nDone in {took:.0f} seconds. Next, open in a browser\n"
        f"  {Path(shown, 'demo.html')}\n"
        "or run\n"
        f"  vbnmf topics {Path(shown, 'demo.vbnmf')} --label {summary.labels[-1]}\n"
        f"  vbnmf fit YOUR.csv --label COLUMN"
    )


def _linear_svm(train: object, test: object) -> tuple[float, int]:
    """Return the accuracy of a linear SVM on TF-IDF, and its number of terms."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    svm = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC())
    svm.fit(train.texts, train.labels)  # type: ignore[attr-defined]
    accuracy = svm.score(test.texts, test.labels)  # type: ignore[attr-defined]
    return float(accuracy), len(svm[0].vocabulary_)
