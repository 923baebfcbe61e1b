"""Two labels side by side: recounted, mirrored, and with a noise floor; merges and splits."""

import numpy as np
import pytest

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.evaluation.parts import Part
from vbnmf.evaluation.truth import read_part
from vbnmf.metrics.logodds import log_odds
from vbnmf.reviewing.contrast import contrast_labels
from vbnmf.reviewing.contrast import contrast_sides as contrast
from vbnmf.reviewing.structure import SEPARATES, confusions, labels_to_merge, labels_to_split

TOPICS = {
    "tea": "leaf green pot steep jasmine oolong kettle china matcha",
    "coffee": "bean roast espresso dark grind filter crema barista mocha",
    "bread": "flour yeast oven dough crust knead loaf rye sourdough",
    "wine": "grape cellar oak vintage cork bottle tannin vineyard merlot",
}
COMMON = [f"word{i}" for i in range(30)]


def drawn(n_each=120, seed=0):
    """Draw documents; tea and coffee share "cup", and "brew" is in tea more often."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for label, words in TOPICS.items():
        for _ in range(n_each):
            own = [*rng.choice(words.split(), 5), *rng.choice(COMMON, 4)]
            if label in ("tea", "coffee") and rng.random() < 0.6:
                own.append("cup")
            if rng.random() < {"tea": 0.8, "coffee": 0.2}.get(label, 0):
                own.append("brew")
            texts.append(" ".join(own))
            labels.append(label)
    return texts, labels


@pytest.fixture(scope="module")
def part():
    texts, labels = drawn()
    model = DocumentModel(SupervisedVBNMF(n_components=4, random_state=0)).fit(texts, labels)
    return read_part(model, texts, labels)


def pair(part, first, second, **options):
    names = part.subject.names
    return contrast_labels(part, names.index(first), names.index(second), **options)


def test_counts_equal_a_recount_of_the_texts(part):
    texts, labels = drawn()
    found = pair(part, "tea", "coffee", n_terms=100)
    assert found.documents == (120, 120)
    for term in [*found.more_in_a, *found.in_both_terms, *found.more_in_b]:
        counts = tuple(
            sum(term.term in text.split() for text, y in zip(texts, labels, strict=True) if y == x)
            for x in ("tea", "coffee")
        )
        assert term.documents == counts
        everywhere = sum(term.term in text.split() for text in texts) / len(texts)
        odds = log_odds(counts[0], 120, counts[1], 120, share=everywhere)
        assert (term.log_odds, term.low, term.high) == pytest.approx(
            (odds.log_odds, odds.low, odds.high)
        )
    of = {name: [t.term for t in getattr(found, name)] for name in
          ("more_in_a", "in_both_terms", "more_in_b")}  # fmt: skip
    assert set(of["more_in_a"]) == {*TOPICS["tea"].split(), "brew"}
    assert set(of["more_in_b"]) == set(TOPICS["coffee"].split())
    assert of["in_both_terms"][0] == "cup"
    assert not set(of["in_both_terms"]) & set(COMMON[:3])


def test_swapping_mirrors(part):
    one, other = pair(part, "tea", "coffee"), pair(part, "coffee", "tea")
    assert other.names == one.names[::-1]
    assert other.documents == one.documents[::-1]
    assert other.confused == one.confused[::-1]
    assert other.floor == one.floor
    assert other.closest.rows == one.closest.rows[::-1]
    mirrored = [(t.term, t.documents[::-1], -t.log_odds, -t.high, -t.low, t.p_value)
                for t in one.more_in_a]  # fmt: skip
    found = [(t.term, t.documents, t.log_odds, t.low, t.high, t.p_value) for t in other.more_in_b]
    assert found == mirrored
    assert [t.term for t in other.in_both_terms] == [t.term for t in one.in_both_terms]
    sides = {c.component: c for c in other.components}
    for c in one.components:
        back = sides[c.component]
        assert back.shares == c.shares[::-1]
        assert (back.low, back.high) == pytest.approx((-c.high, -c.low))
        assert back.side == {"a": "b", "b": "a", "both": "both", "unclear": "unclear"}[c.side]


def test_the_order_of_documents_does_not_matter(part):
    order = np.random.default_rng(0).permutation(part.n_docs)
    moved = Part(part.subject, part.X[order], part.Y[order])
    one, other = pair(part, "tea", "wine"), pair(moved, "tea", "wine")
    assert other.more_in_a == one.more_in_a
    assert other.floor == one.floor
    assert {c.component for c in other.components} == {c.component for c in one.components}


def test_halves_of_one_label_do_not_differ(part):
    tea = np.flatnonzero(part.Y[:, [part.subject.names.index("tea")]].toarray().ravel())
    a, b = np.zeros((2, part.n_docs), bool)
    a[tea[::2]], b[tea[1::2]] = True, True
    found = contrast(part, a, b)
    assert found.more_in_a == found.more_in_b == []
    assert all(c.side == "both" for c in found.components)


def test_a_difference_of_few_documents_is_unclear(part):
    tea, wine = (np.flatnonzero(part.Y[:, [part.subject.names.index(label)]].toarray().ravel())
                 for label in ("tea", "wine"))  # fmt: skip
    a, b = np.zeros((2, part.n_docs), bool)
    a[[tea[0], wine[0]]], b[tea[1:3]] = True, True
    found = contrast(part, a, b).components
    least = [c for c in found if max(c.shares) >= 2 * min(c.shares) and c.low <= 0 <= c.high]
    assert least
    assert all((c.side == "unclear") == (c in least) for c in found)


def test_the_rest_is_all_other_documents(part):
    found = contrast_labels(part, part.subject.names.index("wine"))
    assert found.names == ("wine", "the rest")
    assert found.documents == (120, 360)
    assert {t.term for t in found.more_in_a} == set(TOPICS["wine"].split())


def test_components_and_confusions(part):
    found = pair(part, "tea", "wine")
    assert [found.components[0].side, found.components[-1].side] == ["a", "b"]
    P = part.probabilities
    names = part.subject.names
    given = np.array([names[i] for i in part.Y.indices])
    predicted = np.array([names[i] for i in P.argmax(axis=1)])
    for a, b in (("tea", "wine"), ("tea", "coffee")):
        confused = pair(part, a, b).confused
        assert confused[0] == ((given == a) & (predicted == b)).sum()
        assert confused[1] == ((given == b) & (predicted == a)).sum()


def test_sides_without_documents_are_refused(part):
    nothing = np.zeros(part.n_docs, bool)
    with pytest.raises(ValueError, match="no document of 'B' alone"):
        contrast(part, ~nothing, nothing)


def test_a_model_without_labels_contrasts_any_documents():
    texts, labels = drawn(40)
    model = DocumentModel(VBNMF(n_components=4, random_state=0)).fit(texts)
    part = read_part(model, texts, [None] * len(texts))
    found = contrast(part, np.array(labels) == "tea", np.array(labels) == "wine")
    assert "leaf" in {t.term for t in found.more_in_a}
    assert found.confused is None


def test_confused_labels_with_the_same_words_are_the_first_to_merge():
    texts, labels = drawn()
    rng = np.random.default_rng(1)
    # half of the coffee is called mocha at random: nobody can tell them apart
    labels = [y if y != "coffee" or rng.random() < 0.5 else "a-mocha" for y in labels]
    model = DocumentModel(SupervisedVBNMF(n_components=5, random_state=0)).fit(texts, labels)
    more, given = drawn(seed=7)
    given = [y if y != "coffee" or rng.random() < 0.5 else "a-mocha" for y in given]
    part = read_part(model, more, given)
    best = labels_to_merge(part)[0]
    names = part.subject.names
    assert {names[best.first], names[best.second]} == {"coffee", "a-mocha"}
    C = confusions(part)
    assert best.confused == (C[best.first, best.second], C[best.second, best.first])
    predicted = np.array([names[i] for i in part.probabilities.argmax(axis=1)])
    of_first = np.array(given) == names[best.first]
    assert best.confused[0] == (of_first & (predicted == names[best.second])).sum()
    assert best.documents == (of_first.sum(), (np.array(given) == names[best.second]).sum())
    unlabelled = read_part(model, more, [None] * len(more))
    assert labels_to_merge(unlabelled)[0].confused is None


def test_fused_labels_are_flagged_and_others_are_not():
    texts, labels = drawn()
    names = ["drink" if y in ("tea", "wine") else y for y in labels]
    extra, kinds = drawn(seed=3)
    # a fifth topic beside, so that there are other labels to compare with
    texts += [t.replace("grape", "cheese").replace("oak", "goat") for t in extra[-120:]]
    names += ["cheese"] * 120
    model = DocumentModel(SupervisedVBNMF(n_components=5, random_state=0)).fit(texts, names)
    part = read_part(model, texts, names)
    splits = labels_to_split(part)
    found = splits.labels
    assert splits.separation >= SEPARATES
    assert [part.subject.names[one.label] for one in found if one.flagged] == ["drink"]
    first = found[0]
    kinds = [{labels[row] for row in rows} for rows in first.parts]
    assert sorted(map(sorted, kinds)) == [["tea"], ["wine"]]
    for rows, others, terms in zip(first.parts, first.parts[::-1], first.terms, strict=True):
        for column, n, m in terms:
            has = (part.X[:, [column]] > 0).toarray().ravel()
            assert (n, m) == (has[rows].sum(), has[others].sum())
