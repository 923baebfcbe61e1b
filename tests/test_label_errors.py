"""Label errors: training documents found again, ranks, estimates, several labels, copies."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from vbnmf import DocumentModel, SupervisedVBNMF, load
from vbnmf.core.rows import content_keys
from vbnmf.evaluation.judging import judge
from vbnmf.evaluation.truth import read_part
from vbnmf.metrics.shares import predicted_by_chance
from vbnmf.report.explorer.overview import Overview
from vbnmf.reviewing.copies import copies_that_differ, spelt_alike
from vbnmf.reviewing.labelerrors import (
    Estimated,
    error_rate,
    find_label_errors,
    right_by_chance,
    suspicion,
)

_LISTS = {
    "tea": "leaf green pot steep cup jasmine oolong brew kettle china",
    "coffee": "bean roast espresso dark grind filter crema barista mocha latte",
    "bread": "flour yeast oven dough crust knead loaf rye sourdough bake",
}
WORDS = {label: words.split() for label, words in _LISTS.items()}


def drawn(n, seed=0):
    """Draw documents of ten words, eight of them of their label."""
    rng = np.random.default_rng(seed)
    everything = [word for words in WORDS.values() for word in words]
    labels = rng.choice(list(WORDS), n)
    texts = [
        " ".join([*rng.choice(WORDS[label], 8), *rng.choice(everything, 2)]) for label in labels
    ]
    return texts, labels


@pytest.fixture(scope="module")
def planted():
    """A model of 300 documents of which 15 have a wrong label, read from its file."""
    texts, labels = drawn(300)
    names = list(WORDS)
    wrong = np.random.default_rng(1).choice(300, 15, replace=False)
    given = labels.copy()
    for i in wrong:
        given[i] = names[(names.index(labels[i]) + 1) % 3]
    model = DocumentModel(SupervisedVBNMF(n_components=3, random_state=0)).fit(texts, given)
    return model, texts, labels, given, wrong


@pytest.fixture(scope="module")
def saved(planted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.vbnmf"
    planted[0].save(path)
    return load(path)


def test_keys_follow_from_terms_and_weights_alone():
    dense = np.array([[0, 1.5, 2], [0, 2, 1.5], [0, 1.5, 2], [0, 0, 0]], np.float32)
    X = sparse.csr_array(dense)
    keys = content_keys(X)
    assert keys[0] == keys[2] != keys[1]
    assert keys[3] == 0
    assert_array_equal(content_keys(sparse.csr_array(dense.astype(np.float64))), keys)
    stored = sparse.csr_array(([2.0, 0.0, 1.5], [2, 0, 1], [0, 3]), shape=(1, 3))
    assert content_keys(stored)[0] == keys[0]


def test_training_documents_are_found_in_any_order(planted, saved):
    _, texts, _, given, _ = planted
    order = np.random.default_rng(2).permutation(len(texts))
    judged = judge(read_part(saved, [texts[i] for i in order], given[order]))
    assert judged.left_out.all()
    assert_array_equal(judged.probabilities, saved.estimator_.left_out_proba_[order])
    assert judged.in_words().startswith("All documents were in training")


@pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
def test_other_documents_are_judged_by_predictions(planted, saved):
    _, texts, _, given, _ = planted
    more, labels = drawn(20, seed=5)
    part = read_part(saved, [*more, *texts[:30], "unknown"], [*labels, *given[:30], "tea"])
    judged = judge(part)
    assert_array_equal(judged.left_out, [False] * 20 + [True] * 30 + [False])
    assert_array_equal(judged.probabilities[:20], saved.predict_proba(more))
    assert "30 of 51 documents have the words of a training document and are" in judged.in_words()
    assert judged.empty.tolist() == [False] * 50 + [True]
    assert find_label_errors(part).n_judged == 50


def test_repeated_documents_are_matched_one_to_one(saved):
    from vbnmf.evaluation.judging import _places

    known = np.array([7, 3, 7, 5])
    assert_array_equal(_places(known, np.array([7, 7, 7, 3, 9])), [0, 2, 2, 1, -1])
    assert_array_equal(_places(np.zeros(0, np.int64), np.array([7])), [-1])


def test_a_model_without_keys_says_so(planted, saved):
    import copy

    _, texts, _, given, _ = planted
    older = copy.deepcopy(saved)
    older.estimator_.head_document_keys_ = None
    judged = judge(read_part(older, texts, given))
    assert not judged.left_out.any()
    assert "fit the model again" in judged.in_words()


def test_planted_errors_come_first_with_the_right_suggestion(planted, saved):
    _, texts, labels, given, wrong = planted
    part = read_part(saved, texts, given)
    found = find_label_errors(part)
    first = found.suspects[: len(wrong)]
    assert len({one.row for one in first} & set(wrong)) >= 14
    names = part.subject.names
    for one in first:
        assert names[one.given] == given[one.row]
        assert one.p_suggested > one.p_given
        if one.row in wrong:
            assert names[one.suggested] == labels[one.row]
    estimate = found.estimates["wrong"]
    assert estimate.low <= 15 <= estimate.high
    scores = [one.score for one in found.suspects]
    assert scores == sorted(scores, reverse=True)
    assert_array_equal(found.scores[[one.row for one in found.suspects]], scores)


def test_the_order_of_labels_does_not_matter():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4) / 2, 200)
    given = rng.integers(0, 4, 200)
    order = np.array([2, 0, 3, 1])
    scores, suggested = suspicion(P, given)
    again, moved = suspicion(P[:, order], np.argsort(order)[given])
    np.testing.assert_allclose(again, scores, rtol=1e-12)
    assert_array_equal(order[moved], suggested)


def test_the_error_rate_is_that_of_sure_documents():
    rng = np.random.default_rng(0)
    sure = np.linspace(0.4, 1, 4000)
    differs = rng.random(4000) < np.where(sure > 0.8, 0.05, 0.5)
    found = error_rate(sure, differs)
    assert found.low < 0.05 < found.high < 0.09
    assert error_rate(np.zeros(0), np.zeros(0, bool)).high == 0


def test_missing_and_superfluous_labels_are_apart():
    rng = np.random.default_rng(0)
    names = list(WORDS)
    texts, labels = [], []
    for _ in range(300):
        have = sorted(rng.choice(3, rng.integers(1, 3), replace=False).tolist())
        texts.append(" ".join(w for i in have for w in rng.choice(WORDS[names[i]], 6)))
        labels.append([names[i] for i in have])
    given = [list(one) for one in labels]
    both = [i for i, one in enumerate(labels) if len(one) == 2]
    single = [i for i, one in enumerate(labels) if len(one) == 1]
    for i in both[:8]:
        given[i] = given[i][:1]
    for i in single[:8]:
        given[i].append(next(name for name in names if name not in given[i]))
    model = DocumentModel(SupervisedVBNMF(n_components=3, random_state=0)).fit(texts, given)
    part = read_part(model, texts, given)
    found = find_label_errors(part)
    missing = [one for one in found.suspects if one.kind == "missing"]
    superfluous = [one for one in found.suspects if one.kind == "superfluous"]
    assert len({one.row for one in missing[:8]} & set(both[:8])) >= 7
    assert len({one.row for one in superfluous[:8]} & set(single[:8])) >= 7
    for one in missing[:8]:
        assert one.given is None
        if one.row in both[:8]:
            assert part.subject.names[one.suggested] == labels[one.row][1]
    for one in superfluous[:8]:
        assert one.suggested is None
        assert part.subject.names[one.given] in given[one.row]
    assert set(found.estimates) == {"missing", "superfluous"}
    assert found.estimates["missing"].low <= 8


def test_copies_with_different_labels(planted, saved):
    _, texts, labels, _, _ = planted
    long = " ".join(word for words in WORDS.values() for word in words)
    some = [*texts[:20], texts[3], texts[4], long, f"{long} leaf"]
    other = "bread" if labels[3] != "bread" else "tea"
    given = [*labels[:20], other, labels[4], "tea", "coffee"]
    part = read_part(saved, some, given)
    found = {tuple(one.rows): one for one in copies_that_differ(part)}
    assert set(found) == {(3, 20), (22, 23)}
    assert found[3, 20].identical
    assert not found[22, 23].identical
    assert [part.subject.names[i] for [i] in found[3, 20].labels] == [labels[3], other]


@pytest.mark.parametrize(
    ("labels", "documents", "expected"),
    [
        (["Billing", "billing ", "BILLING"], [5, 4, 3], [["Billing", "billing ", "BILLING"]]),
        (["café", "Cafes", "tea"], [5, 4, 3], [["café", "Cafes"]]),
        (["network", "netwrok", "netwrk"], [50, 2, 1], [["network", "netwrok", "netwrk"]]),
        (["network", "netwirk"], [50, 40], []),
        (["class 1", "class 2"], [50, 2], []),
        (["rec.autos", "rec_autos", "sci.med"], [1, 2, 3], [["rec_autos", "rec.autos"]]),
        (["billing", "filling"], [50, 2], []),
        (["a", "A"], [0, 4], []),
        (["!", "?"], [3, 4], []),
        (["Biling request", "Billing request"], [2, 50], [["Billing request", "Biling request"]]),
        (["log in", "login", "log-in"], [3, 2, 1], [["log in", "login", "log-in"]]),
        (["ёлка", "елка"], [3, 2], [["ёлка", "елка"]]),
        (["שלום", "שָׁלוֹם"], [3, 2], [["שלום", "שָׁלוֹם"]]),
        (["❤", "❤\ufe0f"], [3, 2], [["❤", "❤\ufe0f"]]),
        # each of these is another label
        (["made::pdf", "made::odf", "made::c", "made::r", "made::c++"], [50, 1, 40, 2, 4], []),
        (["-1", "0", "1", "+1"], [5, 4, 3, 2], []),
        (["1.5", "15", "1-5", "1 5"], [5, 4, 3, 2], []),
        (["<18", ">18", "18", "18+", "< 65", "≥ 65"], [5, 4, 3, 2, 1, 1], []),
        (["1 - 2 years", "12 years"], [5, 4], []),
        (["A", "A+", "A-", "C#", "C"], [5, 4, 3, 2, 1], []),
        (["👍 review", "👎 review", "review"], [50, 4, 5], []),
        (["reviews👍", "reviews👎"], [50, 4], []),
        (["$5", "€5"], [5, 4], []),
        (["दिन", "दान"], [5, 4], []),
        (["が", "か"], [5, 4], []),
        (["мой", "мои"], [5, 4], []),
        (["今日北京天气", "今日南京天气"], [50, 4], []),
    ],
)
def test_spellings(labels, documents, expected):
    assert [one.labels for one in spelt_alike(labels, documents)] == expected


@pytest.mark.parametrize(("sure", "limit"), [(0.97, False), (0.6, True)])
def test_an_unsure_model_gives_an_upper_limit(sure, limit):
    """Where the model is not sure, it is often the model that is wrong."""
    differs = np.arange(400) % 20 == 0
    found = error_rate(np.full(400, sure), differs)
    assert found.at_most is limit
    assert found.low < 0.05 < found.high
    assert found.times(400) == Estimated(
        400 * found.number, 400 * found.low, 400 * found.high, limit
    )


@pytest.mark.parametrize("several", [False, True])
def test_labels_that_texts_say_nothing_about_are_not_judged(several):
    """The commonest label is the most probable one everywhere, and no error is claimed."""
    texts, _ = drawn(150)
    rng = np.random.default_rng(1)
    given = rng.choice(["common", "rare", "seldom"], len(texts), p=[0.8, 0.1, 0.1]).tolist()
    y = [[one, "more"] if i % 9 == 0 else [one] for i, one in enumerate(given)]
    y = y if several else given
    model = DocumentModel(SupervisedVBNMF(n_components=3, random_state=0)).fit(texts, y)
    part = read_part(model, texts, y)
    found = find_label_errors(part)
    assert found.by_chance
    assert found.suspects
    assert not Overview(part).to_check  # on the page
    for one in found.estimates.values():
        assert one.at_most
        assert one.low == 0
    assert found.in_words().endswith("they cannot tell wrong labels from right ones.")


def test_predictions_by_chance():
    frequencies = np.array([0.8, 0.2])
    labels, right = np.zeros(100, int), np.arange(100) % 5 > 0  # as often as the label is given
    assert right_by_chance(labels, right, frequencies)
    assert not right_by_chance(labels, np.ones(100, bool), frequencies)
    assert not right_by_chance(labels[:49], right[:49], frequencies)  # too few to say
    assert right_by_chance(labels[:50], right[:50], frequencies)


def test_errors_of_labels_that_are_known_are_judged(planted, saved):
    _, texts, labels, _, _ = planted
    found = find_label_errors(read_part(saved, texts, labels))
    assert not found.by_chance
    assert found.in_words() == found.judged.in_words()


def test_training_documents_are_known_by_their_words(planted, saved):
    _, texts, labels, _, _ = planted
    part = read_part(saved, [texts[0], "leaf flour bean"], [labels[0], "tea"])
    assert part.judged.left_out.tolist() == [True, False]


@pytest.mark.parametrize("several", [False, True])
def test_labels_of_one_training_document_are_not_judged(several):
    """Without its only document a label is unknown, so the document does not seem wrong."""
    texts, labels = drawn(100)
    texts += ["cocoa chocolate marshmallow whisk steep cup pot brew", "leaf green pot steep kettle"]
    given = [*labels.tolist(), "cocoa", "coffee"]
    if several:
        given = [[label] for label in given]
    model = DocumentModel(SupervisedVBNMF(n_components=4, random_state=0)).fit(texts, given)
    found = find_label_errors(read_part(model, texts, given))
    assert found.n_alone == 1
    assert "One label that no other training document has is not judged." in found.in_words()
    cocoa = model.classes_.tolist().index("cocoa")
    assert cocoa not in [one.given for one in found.suspects]
    assert 101 in [one.row for one in found.suspects]
    assert found.n_judged == (102 if several else 101)
    new = find_label_errors(read_part(model, ["leaf green pot steep kettle cup"], given[-2:-1]))
    assert new.n_alone == 0  # the model knows the label
    assert [one.given for one in new.suspects if one.given is not None] == [cocoa]


def test_rare_labels_that_are_predicted_are_not_by_chance():
    """One label of a hundred is never the most probable one, and yet its texts are told apart."""
    rng = np.random.default_rng(0)
    given = (np.arange(5000) % 100 == 0).astype(int)
    frequencies = np.array([0.99, 0.01])
    for told in (True, False):
        rare = np.where(rng.random(5000) < (0.5 if told else 0) * given, 0.3, 0.01)
        rare[rng.random(5000) < 0.01] = 0.3
        P = np.column_stack([1 - rare, rare])
        assert right_by_chance(P.argmax(axis=1), P.argmax(axis=1) == given, frequencies)
        assert predicted_by_chance(P, given, frequencies) == (not told)
    each = np.arange(200)
    even = np.full((200, 200), 0.001)
    even[each, each] = 0.009  # labels of one document, which are unknown without it
    assert predicted_by_chance(even + 0.1 * np.eye(200)[each[::-1]], each, np.full(200, 0.005))
