"""Options that describe a model, and the unfitted model that they describe."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from vbnmf.cli import common
from vbnmf.cli.options import options as combined

if TYPE_CHECKING:
    from vbnmf.pipeline import DocumentModel


def _number_or_auto(_: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None or value in ("auto", "learned", "free"):
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a number nor 'auto', 'learned' or 'free'."
        ) from None


def _whole_number_or(word: str) -> Callable[..., Any]:
    """Return a callback for a whole number or a word."""

    def convert(_: click.Context, option: click.Parameter, value: str | None) -> Any:
        if value is None or value == word:
            return value
        if re.fullmatch(r"\d+", value):
            return int(value)
        raise click.BadParameter(f"{value!r} is neither a number nor {word!r}.")

    return convert


def _with_blanks(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Convert a word of the command line to that of Python: words-and-components has blanks."""
    return None if value is None else value.replace("-", " ")


def _two_numbers(_: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    if not re.fullmatch(r"\d+,\d+", value):
        raise click.BadParameter(f"{value!r} is not two numbers, such as 1,2.")
    first, last = map(int, value.split(","))
    return first, last


def _count_or_part(_: click.Context, option: click.Parameter, value: Any) -> Any:
    if value is None:
        return None
    text = str(value)
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d*\.?\d+(e-?\d+)?", text):
        return float(text)
    raise click.BadParameter(f"{text!r} is neither a count (5) nor a fraction of documents (0.01).")


def _kinds(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Read kinds of features, separated by commas; "auto" and "none" stay as they are."""
    if text is None or text in ("auto", "none"):
        return text
    return tuple(kind.strip() for kind in text.split(",") if kind.strip())


model_options = combined(
    click.option("-k", "--n-components", callback=_whole_number_or("auto"), metavar="N|auto",
                 help="Number of components. 'auto' starts from two for each label, at least 20, "
                 "at most 300.  [default: auto]"),
    click.option("--label-tree", metavar="SEPARATOR", help="Separator of the levels in "
                 "hierarchical label names, such as '.' or '/'. Each group of labels gets a "
                 "component of its own."),
    click.option("--label-shape", type=float, metavar="A", help="Pseudo-count a^λ of the label "
                 "prior. With larger values a label uses fewer components."),
    click.option("--class-weight", type=click.Choice(["balanced"]), help="'balanced' gives rare "
                 "labels the same total weight as common ones."),
    click.option("--classifier", type=click.Choice(
                     ["auto", "words-and-components", "components", "generative"]),
                 callback=_with_blanks, help="Prediction head. 'generative' uses the fitted model "
                 "without a trained head. 'auto' compares heads on held-out documents.  [default: "
                 "auto]"),
    click.option("--features", metavar="auto|none|KINDS", callback=_kinds,
                 help="What the prediction head uses of texts besides words: marks, pairs (of "
                 "words), pieces (of words), separated by commas. 'auto' uses what predicts best "
                 "on held-out documents.  [default: auto]"),
    click.option("--coef-shape", type=float, metavar="A", help="Shape of the prior of "
                 "coefficients. With smaller values a document uses fewer components."),
    click.option("--term-shape", metavar="A|learned|free", callback=_number_or_auto,
                 help="Shape of the prior of components: a number, 'learned' (with a lower limit) "
                 "or 'free' (learned without a limit).  [default: auto]"),
    click.option("--max-iter", type=int, metavar="N", help="Maximum number of iterations."),
    click.option("--tol", type=float, metavar="X", help="Stop when the relative increase of the "
                 "bound is below this value."),
    click.option("--n-init", type=int, metavar="N", help="Number of random initialisations. "
                 "The best fit is kept."),
)  # fmt: skip

# Options that are not given keep the defaults of DocumentVectorizer, as in Python.
text_options = combined(
    click.option("--weighting", type=click.Choice(["paper", "counts", "log"]),
                 help="Weighting of term counts; see docs/guide/text.md."),
    click.option("--max-terms", callback=_whole_number_or("all"), metavar="N|all",
                 help="Maximum number of terms. Keeps the terms that occur in most documents, or "
                 "with --weighting paper those with the largest weights.  [default: 200000]"),
    click.option("--min-df", metavar="N|FRACTION", callback=_count_or_part,
                 help="Ignore terms in fewer documents than this (a count or a fraction).  "
                 "[default: 1]"),
    click.option("--max-df", metavar="N|FRACTION", callback=_count_or_part,
                 help="Ignore terms in more documents than this (a count or a fraction).  "
                 "[default: 1.0]"),
    click.option("--stop-words", metavar="LANGUAGE|FILE", help="Stop words to ignore: a language, "
                 "or a file with one word per line."),
    click.option("--stem", metavar="LANGUAGE", help="Stem words of this language: english, german, "
                 "…"),
    click.option("--ngram-range", metavar="MIN,MAX", callback=_two_numbers, help="Minimum and "
                 "maximum length of n-grams.  [default: 1,1]"),
    click.option("--analyzer", type=click.Choice(["auto", "word", "char", "char_wb"]),
                 help="auto: words, and pairs of characters in scripts without spaces. word: "
                 "matches of --token-pattern. char, char_wb: character n-grams.  [default: auto]"),
    click.option("--token-pattern", metavar="REGEX", help="Regular expression that matches a "
                 "word."),
    click.option("--strip", type=click.Choice(["auto", "html", "none"]), help="Remove HTML markup. "
                 "'auto' removes it if most documents contain it.  [default: auto]"),
    click.option("--lowercase/--no-lowercase", default=None, help="Whether to convert text to "
                 "lower case.  [default: lowercase]"),
)  # fmt: skip


TEXT_OPTIONS = (
    "weighting", "max-terms", "min-df", "max-df", "stop-words", "stem", "ngram-range",
    "analyzer", "token-pattern", "strip", "lowercase",
)  # fmt: skip


def build(
    n_labels: int | None,
    *,
    random_state: int = 0,
    n_jobs: int = -1,
    n_components: Any = None,
    label_tree: str | None = None,
    label_shape: float | None = None,
    class_weight: str | None = None,
    classifier: str | None = None,
    features: Any = None,
    coef_shape: float | None = None,
    max_terms: Any = None,
    strip: str | None = None,
    term_shape: Any = None,
    max_iter: int | None = None,
    tol: float | None = None,
    n_init: int | None = None,
    checkpoint: str | None = None,
    engine: Any = None,
    **text: Any,
) -> "DocumentModel":
    """Build an unfitted model from the given options; all others keep their defaults."""
    from vbnmf.pipeline import DocumentModel, default_estimator
    from vbnmf.text import DocumentVectorizer

    about_labels = {
        "label_tree": label_tree, "label_shape": label_shape, "class_weight": class_weight,
        "classifier": classifier,
    }  # fmt: skip
    for name, value in {**about_labels, "features": features}.items():
        if n_labels is None and value is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --label.")
    settings = {
        **about_labels,
        "n_components": n_components,
        "coef_shape": coef_shape,
        "term_shape": term_shape,
        "max_iter": max_iter,
        "tol": tol,
        "n_init": n_init,
        "checkpoint": checkpoint,
        "engine": engine,
    }
    estimator = default_estimator(labelled=n_labels is not None)
    estimator.set_params(random_state=random_state, n_jobs=n_jobs, **given(settings))
    vectorizer = DocumentVectorizer(**given(text))
    if max_terms is not None:
        vectorizer.set_params(max_terms=None if max_terms == "all" else max_terms)
    if strip is not None:
        vectorizer.set_params(strip=None if strip == "none" else strip)
    return DocumentModel(estimator, vectorizer, **given({"features": features}))


def how_many(n_components: Any, n_labels: int | None) -> str:
    """Describe the number of components of an unfitted model."""
    from vbnmf.estimators.validation import default_components

    if n_components == "auto":  # the search decides how many there are
        return f"about {default_components(n_labels)} components"
    return common.counted(n_components, "component")


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Leave out the options that were not given."""
    return {name: value for name, value in options.items() if value is not None}
