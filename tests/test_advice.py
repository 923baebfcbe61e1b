"""What tune recommends, by tables made by hand, and in which words."""

from itertools import permutations

import pytest

from vbnmf.selection.advice import Trial, best_of, recommended_of, words


def row(k, below=0.0, error=0.01, *, shape="auto", worse=0.0, worse_error=0.01, **others):
    """A candidate, by how much its likelihood and its accuracy are below those of the best."""
    found = {"n_found": k, "shared": 10, "agreeing": 5, "glued": 0, **others}
    return Trial(
        n_components=k, label_shape=shape, iterations=20,
        log_likelihood=-6.0 - below, log_likelihood_error=0.04,
        accuracy=0.9 - worse, accuracy_error=0.02, macro_accuracy=0.8,
        measures={"fidelity": 0.9, "inter_label_sparsity": 0.5, "npmi_documents": 0.1}, seconds=1.0,
        likelihood_below=below, likelihood_below_error=error,
        accuracy_below=worse, accuracy_below_error=worse_error, **found,
    )  # fmt: skip


BEST = row(60, error=0.0, worse_error=0.0)


def chosen(*rows):
    """The recommended candidate, which must not depend on the order of the rows."""
    (found,) = {recommended_of(each).candidate for each in permutations(rows)}
    return found


def said(*rows, measure="accuracy", n_validation=400):
    return words(rows, measure, n_validation)


def test_the_fewest_within_one_standard_error_of_the_paired_difference():
    assert chosen(row(12, 0.09), row(24, 0.011), row(48, 0.01), BEST) == (48, "auto")
    # the error of the difference decides, and not that of the likelihood, which is 0.04
    assert chosen(row(24, 0.03, 0.029), row(48, 0.03, 0.031), BEST) == (48, "auto")
    assert chosen(row(48, 0.02, 0.01), BEST, row(90, 0.001)) == (60, "auto")


def test_accuracy_may_not_be_lower_by_more_than_one_standard_error():
    assert chosen(row(24, 0.005, worse=0.011), row(48, 0.005, worse=0.01), BEST) == (48, "auto")
    assert chosen(row(24, 0.005, worse=-0.3), BEST) == (24, "auto")  # better is no objection
    assert chosen(row(24, 0.005, worse=0.2), BEST) == (60, "auto")


def test_no_glue():
    assert chosen(row(24, 0.005, glued=1), row(48, 0.005), BEST) == (48, "auto")
    # what is clearly less likely is not recommended, even if it is the only one without glue
    glued = row(60, error=0.0, worse_error=0.0, glued=2)
    assert chosen(row(24, 0.5), glued) == (60, "auto")
    # if all have some, the smallest share of the shared components is best
    few = [row(24, 0.005, glued=2, shared=4), row(48, 0.005, glued=3, shared=20)]
    assert chosen(*few, row(60, error=0.0, glued=3, shared=19)) == (48, "auto")
    assert chosen(row(24, 0.005, shared=0), BEST) == (24, "auto")


def test_ties():
    twin = row(48, error=0.0, worse_error=0.0)
    assert chosen(BEST, twin) == (48, "auto")
    assert best_of([BEST, twin]) is best_of([twin, BEST]) is twin
    shapes = [row(48, 0.005, shape=shape) for shape in (10, "auto", 30)]
    assert chosen(*shapes, BEST) == (48, "auto")
    shapes = [row(48, 0.006, shape=10), row(48, 0.005, shape=30), row(48, 0.2)]
    assert chosen(*shapes, BEST) == (48, 30)


def test_components_that_were_found_count():
    grown = row(24, 0.005, n_found=70)
    assert chosen(grown, BEST) == (60, "auto")
    assert chosen(row(90, 0.005, n_found=50), BEST) == (90, "auto")
    text = said(row(40, 0.004, n_found=54), BEST)
    assert text.startswith("Recommended: 54 components (40 asked for), the fewest within")


def test_words_give_one_recommendation():
    rows = [row(24, 0.3), row(48, 0.004, 0.005, worse=0.002, worse_error=0.006), BEST, row(90, 0.1)]
    assert said(*rows) == (
        "Recommended: 48 components, the fewest within one standard error of the best held-out "
        "log-likelihood (that of 60 components). On 400 validation documents, the log-likelihood "
        "per unit of weight is -6.004, which is lower by 0.004 ± 0.005. The accuracy is 0.898 "
        "instead of 0.900, a difference of -0.002 ± 0.006. None of 10 components that several "
        "labels share is glued (agreement below 0.5). The validation documents were used to "
        "choose, so evaluate the final model on other documents."
    )
    assert "a difference of 0.000 ± 0.010" in said(row(48, 0.004), BEST)
    assert "a difference of 0.000 ± 0.010" in said(row(48, 0.004, worse=1e-9), BEST)
    assert "a difference of 0.020 ± 0.010" in said(row(48, 0.004, worse=-0.02), BEST)
    unknown = said(row(48, 0.004, float("inf")), BEST)
    assert "lower by 0.004 (its standard error is not known). The" in unknown
    assert "The micro F1 is" in said(*rows, measure="micro F1")
    best = said(row(24, 0.3), BEST, row(90, 0.1), n_validation=4000)
    assert best.startswith(
        "Recommended: 60 components, with the best held-out log-likelihood. They are the fewest "
        "within one standard error of it. On 4,000 validation documents, the log-likelihood per "
        "unit of weight is -6.000 ± 0.040, and the accuracy is 0.900 ± 0.020. None of"
    )


@pytest.mark.parametrize(
    ("passed_over", "why"),
    [
        ({"glued": 1}, ", without glued components."),
        ({"worse": 0.2}, ", without losing more than one standard error of accuracy."),
    ],
)
def test_words_say_why_fewer_were_passed_over(passed_over, why):
    rows = [row(12, 0.9), row(24, 0.005, **passed_over), row(48, 0.005), BEST]
    assert f"(that of 60 components){why}" in said(*rows)
    assert f"They are the fewest within one standard error of it{why}" in said(*rows[:2], BEST)
    assert why not in said(row(24, 0.5, **passed_over), row(48, 0.005), BEST)  # not likely anyway


def test_words_about_glue():
    glued = row(60, error=0.0, worse_error=0.0, glued=2)
    text = said(row(24, 0.005, glued=3), glued)
    assert "one standard error of it, with the smallest share of glued components." in text
    assert "2 of 10 components that several labels share are glued (agreement below 0.5)." in text
    assert "1 of 1 component that several labels share is glued" in said(
        row(60, error=0.0, glued=1, shared=1)
    )
    assert "glued" not in said(row(24, 0.5), row(60, error=0.0, shared=0))


def test_words_say_what_to_try_next_only_at_an_end():
    ends = "48 is the largest number tried: try larger ones too, up to 96."
    assert ends in said(row(24, 0.3), row(48, error=0.0))
    begins = "24 is the smallest number tried: try smaller ones too, down to 12."
    assert begins in said(row(24, 0.005), BEST)
    for rows in (
        [row(24, 0.3), row(48, 0.005), BEST],  # in between, wherever the best is
        [row(24, error=0.0)],
        [row(24, error=0.0), row(24, 0.3, shape=10)],
        [row(1, error=0.0), row(2, 0.3)],  # there is nothing smaller
    ):
        assert "number tried" not in said(*rows)


def test_words_of_a_single_candidate_and_of_label_shapes():
    alone = said(row(3, error=0.0))
    assert alone.startswith("Recommended: 3 components, the only setting that was tried. On 400")
    assert "used to choose" not in alone
    assert said(row(1, error=0.0)).startswith("Recommended: 1 component, the only")
    both = said(row(48, 0.005, shape=30), row(60, error=0.0, shape="auto"))
    assert "Recommended: 48 components with label_shape 30, the fewest" in both
    assert "(that of 60 components with label_shape auto)" in both
    assert "label_shape" not in said(row(48, 0.005), BEST)
