"""What tune makes of its results: who goes on, what is recommended, and in which words."""

from vbnmf.selection.advice import Trial, best_of, recommended_of, words
from vbnmf.selection.search import _survivors


def row(k, shape, accuracy, error=0.02, sparsity=0.5, rung=0):
    return Trial(k, shape, rung, 10, accuracy, error, accuracy, -1.0, sparsity, 0.1)


def test_survivors_keep_what_is_small_and_as_good():
    rows = [row(k, a, 0.9) for k in (40, 80) for a in (1, 2)]
    rows += [row(10, 1, 0.89), row(10, 2, 0.885), row(5, 1, 0.87), row(5, 2, 0.8)]
    kept = [r.candidate for r in _survivors(rows)]
    assert kept == [(40, 1), (40, 2), (80, 1), (80, 2), (10, 1)]
    tied = [row(40, 1, 0.9, sparsity=0.5), row(40, 2, 0.9, sparsity=0.6)]
    assert [r.candidate for r in _survivors(tied)] == [(40, 2)]
    auto = [row(40, "auto", 0.885), row(40, 1, 0.9), row(40, 2, 0.89), row(40, 3, 0.89)]
    assert [r.candidate for r in _survivors(auto)] == [(40, "auto"), (40, 1), (40, 2)]
    assert len(_survivors([row(40, "auto", 0.87), *auto[1:]])) == 2


def test_recommends_the_fewest_components_within_one_error():
    rows = [row(80, 10, 0.90), row(40, 10, 0.885), row(40, 30, 0.881, sparsity=0.8)]
    rows += [row(20, 10, 0.87)]
    assert recommended_of(rows).candidate == (40, 10)
    said = words(rows, rows, "accuracy", 400)
    assert "Best on 400 validation documents: 80 components with label_shape 10" in said
    assert "Recommended: 40 components with label_shape 10, accuracy 0.885" in said
    assert "sparser labels: 40 components with label_shape 30" in said
    assert "The best n_components is the largest that was tried. Try larger values too." in said
    assert "±0.040" in said
    assert "the best of 4" in said
    alone = words(rows[:1], rows[:1], "accuracy", 400)
    assert "It is recommended. " in alone
    assert "It is recommended: no setting with fewer" in words([rows[0], rows[3]], rows[:1], "F", 9)
    assert "tried" not in alone
    assert "The best of" not in alone


def test_recommends_auto_among_equals():
    rows = [row(40, "auto", 0.885), row(40, 10, 0.9, sparsity=0.505), row(40, 30, 0.89)]
    assert best_of(rows).candidate == (40, 10)
    assert recommended_of(rows).candidate == (40, "auto")
    said = words(rows, rows, "accuracy", 400)
    assert "Best on 400 validation documents: 40 components with label_shape 10" in said
    assert "Recommended: 40 components with label_shape auto, accuracy 0.885" in said
    assert "with the default label_shape" in said
    assert "instead of 40" not in said
    assert "sparser" not in said  # not by so little
    assert "The best label_shape is the smallest that was tried. Try smaller values too." in said
    worse = [row(40, "auto", 0.879), *rows[1:]]
    assert recommended_of(worse).candidate == (40, 10)
    fewer = [*rows, row(20, 10, 0.881)]
    assert recommended_of(fewer).candidate == (20, 10)
    best = [row(40, "auto", 0.95), *rows[1:]]
    assert "label_shape is" not in words(best, best, "accuracy", 400)  # auto is at no end
