"""Marks, pairs of words and pieces of words as features of the prediction head."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from cliruns import make_corpus, ok, write_csv
from scipy import sparse

from vbnmf import DocumentModel, SupervisedVBNMF, load
from vbnmf.pipeline import headfeatures as pipeline_features
from vbnmf.pipeline.headfeatures import check_features
from vbnmf.prediction import featurechoice
from vbnmf.text import DocumentVectorizer, LabelsOfMarksWarning
from vbnmf.text import features as text_features
from vbnmf.text.features import KINDS, TrainingTexts, split_parts, split_pieces, split_tokens
from vbnmf.text.splitting import words_and_marks

pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")


def fitted(texts, kinds=KINDS, most=10_000):
    vectorizer = DocumentVectorizer()
    X = vectorizer.fit_transform(texts)
    of = TrainingTexts(texts, X, vectorizer.idf_, vectorizer.vocabulary_, most)
    return vectorizer, X, *of.fit(kinds)


def model_of(features="auto", n_jobs=1, **options):
    options = {"max_iter": 15, "random_state": 0, "n_jobs": n_jobs} | options
    return DocumentModel(SupervisedVBNMF(4, **options), features=features)


def spelled(seed, n=120):
    """Two labels with the same words, told apart by how they are written."""
    rng = np.random.default_rng(seed)
    words = ["tea", "cup", "leaf", "kettle", "water", "hot", "green", "steep"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(n)]
    loud = [i % 2 == 0 for i in range(n)]
    return [t.upper() if up else t for t, up in zip(texts, loud, strict=True)], [
        "loud" if up else "quiet" for up in loud
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't panic!! 👍🏽", ["don", "'", "t", "panic", "!", "!", "👍"]),
        ("👨‍👩‍👧 🇩🇪", ["👨‍👩‍👧", "🇩🇪"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("ที่นี่ ดี!", ["ที่นี่", "ดี", "!"]),
        ("नमस्ते", ["नमस्ते"]),
        ("#tag @me a.b/c", ["#", "tag", "@", "me", "a", ".", "b", "/", "c"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_words_and_marks(text, expected):
    assert words_and_marks(text) == expected


def test_tokens_are_marks_and_pairs():
    terms = frozenset({"5"})
    assert split_tokens("A 5 is it?", ("marks",), terms) == ["a", "?"]
    assert split_tokens("A 5 is it?", ("pairs",), terms) == ["a 5", "5 is", "is it", "it ?"]
    assert split_tokens("", KINDS, terms) == []


def test_pieces_are_written_as_in_the_text():
    padded = " Tea "
    expected = {padded[i : i + n] for n in (2, 3, 4) for i in range(len(padded) - n + 1)}
    assert set(split_pieces("Tea")) == expected | {"T", "e", "a"}
    assert len(split_pieces("Tea")) == len(expected) + 3
    assert split_parts("cafe\u0301 is\nopen") == ["café", "is", "open"]


def test_weights_by_hand():
    """Counts of tokens and pieces, ln(1 + count) · ln(N / n), and the lengths of both groups."""
    texts = ["ab ab!", "ab cd", "cd ef?", "ef gh!"]
    vectorizer, X, found, F = fitted(texts)
    dense, names = F.toarray().astype(np.float64), found.names
    counts = np.array([[split_tokens(t, KINDS, found.terms).count(n) for n in found.tokens.names]
                       for t in texts])  # fmt: skip
    df = (counts > 0).sum(axis=0)
    assert found.tokens.names == ["!"]  # other marks and pairs are in one document
    T = np.log1p(counts) * np.log(4 / df)
    pieces = [[p for part in t.split() for p in split_pieces(part)] for t in texts]
    in_documents = {p: sum(p in of for of in pieces) for of in pieces for p in of}
    assert found.pieces.names == sorted(p for p, n in in_documents.items() if 2 <= n < 4)
    P = np.array([[np.log1p(of.count(p)) * np.log(4 / in_documents[p]) for p in found.pieces.names]
                  for of in pieces])  # fmt: skip
    present = (X.toarray() > 0) * vectorizer.idf_ * np.log(2)
    words = np.sqrt((present**2).sum(axis=1))
    together = np.sqrt(words**2 + (T**2).sum(axis=1))
    unit = np.sqrt((X.toarray() ** 2).sum(axis=1)) / words
    n_tokens = len(found.tokens.names)
    assert dense[:, :n_tokens] == pytest.approx(T * unit[:, None], rel=1e-5)
    scaled = P * (unit * together / np.sqrt((P**2).sum(axis=1)))[:, None]
    assert dense[:, n_tokens:] == pytest.approx(scaled, rel=1e-5)
    assert len(names) == F.shape[1]


def test_transform_is_what_fit_computed_and_documents_do_not_depend_on_others():
    texts, _ = make_corpus(3, n_each=12)
    texts += ["", "!?", "unheard words 北京大学"]
    vectorizer, X, found, F = fitted(texts)
    again = found.transform(texts, X, vectorizer.idf_)
    assert (again != F).nnz == 0
    for d in (0, len(texts) - 3, len(texts) - 2, len(texts) - 1):
        alone = found.transform(texts[d : d + 1], X[[d]], vectorizer.idf_)
        assert (alone.toarray() == F[[d]].toarray()).all()


def test_features_of_many_documents_are_chosen_by_a_part_of_them(monkeypatch):
    """Every second document decides; all documents are counted, a few at a time."""
    texts, _ = make_corpus(3, n_each=12)
    vectorizer, X, found, _ = fitted(texts[::2])
    monkeypatch.setattr(text_features, "MOST_CHARACTERS", sum(map(len, texts)) // 2 + 1)
    monkeypatch.setattr(text_features, "_AT_ONCE", 5)
    X = vectorizer.transform(texts)
    of = TrainingTexts(texts, X, vectorizer.idf_, vectorizer.vocabulary_, 10_000)
    some, F = of.fit(KINDS)
    assert some.names == found.names
    assert F.shape == (len(texts), len(found))
    assert (found.transform(texts, X, vectorizer.idf_) != F).nnz == 0


def test_at_most_so_many_features():
    texts = [f"{a}{b} {b}{a}!" for a in "abcdefgh" for b in "ijklmnop"]
    _, _, found, F = fitted(texts, most=7)
    assert len(found.tokens.names) <= 7
    assert len(found.pieces.names) == 7
    assert F.shape[1] == len(found)


def test_auto_finds_what_is_written_differently():
    texts, labels = spelled(0)
    new, truth = spelled(1)
    model = model_of().fit(texts, labels)
    assert model.features_ == KINDS
    assert "with words alone" in model.features_reason_
    assert (model.predict(new) == truth).all()
    assert (model_of("none").fit(texts, labels).predict(new) == truth).mean() < 0.7


def test_auto_leaves_out_features_that_do_not_help():
    rng = np.random.default_rng(0)
    texts, labels = make_corpus(0, n_each=60)
    noisy = [f"{text} {''.join(rng.choice(list('abcdefghij'), 40))}" for text in texts]
    model = model_of().fit(noisy, labels)
    assert model.features_ == ()
    assert model.estimator_.head_features == 0


def test_few_documents_have_no_features():
    texts, labels = make_corpus(0, n_each=10)
    model = model_of().fit(texts, labels)
    assert model.features_ == ()
    assert model.features_reason_ == "30 documents are too few to compare features"


@pytest.mark.parametrize("kinds", [("marks",), ("pairs",), ("pieces",), ("marks", "pairs")])
def test_kinds_can_be_asked_for(kinds):
    texts, labels = spelled(0)
    texts[::3] = [f"{text}!" for text in texts[::3]]
    model = model_of(kinds).fit(texts, labels)
    assert model.features_ == kinds
    assert model.features_reason_ == "as requested"
    assert model.vectorize(texts[:2]).shape == (2, len(model.feature_names_))


@pytest.mark.parametrize("wrong", ["letters", ("marks", "letters"), 3, [None]])
def test_other_kinds_are_refused(wrong):
    with pytest.raises(ValueError, match='features must be "auto", "none", or some of marks'):
        check_features(wrong)


def whole(model, texts):
    """All contributions to the two best labels: by columns, and by what is shown."""
    X = model.vectorize(texts)
    everything = {"n_terms": 10**6, "n_components": 10**3}
    by_column = model.estimator_.explain(X, names=model.feature_names_, **everything)
    return by_column, model.explain(texts, **everything)


def test_contributions_add_up_with_every_kind(monkeypatch):
    """Sums over items, over columns and the difference of scores are one number."""
    from vbnmf.prediction import explanation

    monkeypatch.setattr(
        explanation, "_largest", lambda parts, names, n: list(zip(names, parts, strict=True))
    )
    texts, labels = spelled(0)
    model = model_of(KINDS).fit(texts, labels)
    new = ["TEA cup!! unheard-of", "tea", "北京 leaf", "Hot hot HOT"]
    by_column, shown = whole(model, new)
    of, X = model.estimator_.fitted_, sparse.csr_array(model.vectorize(new))
    head, n_terms = of.head.head, len(model.terms_)
    by_components, by_words = head.parts(X, of.for_prediction)
    from vbnmf.core.rows import effective_terms

    growth = effective_terms(X[:, :n_terms]) ** head.calibration.length_exponent
    scores = growth[:, None] * (by_components + by_words)
    for d in range(len(new)):
        for one, other in zip(by_column[d], shown[d], strict=True):
            total = sum(part for _, part in other.terms)
            assert sum(part for _, part in one.terms) == pytest.approx(total, abs=1e-10)
            label = model.classes_.tolist().index(one.label)
            assert total == pytest.approx(scores[d, label] - scores[d].mean(), abs=1e-9)
            assert one.component_share == pytest.approx(other.component_share)


def test_every_addend_can_be_found_in_the_text():
    texts, labels = spelled(0)
    model = model_of(KINDS).fit(texts, labels)
    new = ["TEA cup!! unheard-of", "Kettle: HOT hot", "北京大学 tea", "5 % off"]
    for text, both in zip(new, model.explain(new, n_terms=50), strict=True):
        for why in both:
            for item in why.terms:
                lexemes = words_and_marks(text)
                pairs = [" ".join(two) for two in pairwise(lexemes)]
                assert item.term in text.lower() or item.term in text or item.term in pairs


def test_pieces_belong_to_the_word_they_lie_in():
    texts, labels = spelled(0)
    model = model_of(("pieces",)).fit(texts, labels)
    (why, _), *_ = model.explain(["KETTLE kettles"], n_terms=20)
    named = {item.term for item in why.terms}
    assert named <= {"kettle", "kettles"}  # a known term, and a word that is none
    assert why.label == "loud" or why.label == "quiet"


def test_saved_and_loaded_and_any_number_of_threads(tmp_path):
    texts, labels = spelled(0)
    new = spelled(1)[0] + ["", "!!", "北京"]
    model = model_of(KINDS).fit(texts, labels)
    P = model.predict_proba(new)
    model.save(tmp_path / "m.vbnmf")
    loaded = load(tmp_path / "m.vbnmf")
    assert (loaded.predict_proba(new) == P).all()
    assert loaded.features_ == KINDS
    assert loaded.features_reason_ == "as requested"
    assert loaded.explain(new[:3]) == model.explain(new[:3])
    other = model_of(KINDS, n_jobs=3).fit(texts, labels)
    assert (other.predict_proba(new) == P).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("kinds", ["letters"]), ("tokens", ["b", "a"]), ("pieces", None), ("tokens", [1])],
)
def test_damaged_features_are_refused(name, value, tmp_path, monkeypatch):
    from vbnmf.store import ModelFileError
    from vbnmf.text.features import TextFeatures

    texts, labels = spelled(0)
    model = model_of(KINDS).fit(texts, labels)
    header, arrays = model.text_features_.to_state()
    monkeypatch.setattr(TextFeatures, "to_state", lambda self: (header | {name: value}, arrays))
    model.save(tmp_path / "m.vbnmf")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m.vbnmf")


def test_batches_go_on_with_features():
    texts, labels = spelled(0)
    more, truth = spelled(1)
    model = model_of(KINDS).partial_fit(texts, labels)
    model.partial_fit(more, truth)
    assert model.estimator_.fitted_.sample.documents.X.shape[1] == len(model.feature_names_)
    assert (model.predict(spelled(2)[0]) == spelled(2)[1]).mean() > 0.95


def test_components_do_not_see_features():
    texts, labels = spelled(0)
    with_features = model_of(KINDS).fit(texts, labels)
    without = model_of("none").fit(texts, labels)
    assert (with_features.estimator_.components_ == without.estimator_.components_).all()
    assert (with_features.transform(texts[:5]) == without.transform(texts[:5])).all()


def test_a_document_of_marks_only_has_a_prediction():
    texts, labels = spelled(0)
    texts = [f"{t} {'!!' if y == 'loud' else '..'}" for t, y in zip(texts, labels, strict=True)]
    model = model_of(("marks",)).fit(texts, labels)
    assert model.predict(["!!", ".."]).tolist() == ["loud", "quiet"]


def test_too_many_labels_leave_no_room(monkeypatch):
    texts, labels = spelled(0)
    monkeypatch.setattr(pipeline_features, "MOST_WEIGHTS", 100)
    model = model_of(KINDS).fit(texts, labels)
    assert model.features_ == ()
    assert "leave no room" in model.features_reason_


def test_pieces_of_many_documents_are_left_out(monkeypatch):
    texts, labels = spelled(0)
    monkeypatch.setattr(pipeline_features, "MOST_VALUES", 1000)
    model = model_of().fit(texts, labels)
    assert model.features_ == ("marks", "pairs")
    assert "would not fit into memory" in model.features_reason_


def test_the_sample_has_the_commonest_labels(monkeypatch):
    monkeypatch.setattr(featurechoice, "MOST_LABELS", 2)
    monkeypatch.setattr(featurechoice, "MOST_DOCUMENTS", 4)
    codes = [0, 1, 1, 2, 2, 2, 1, 2, 0, 1]
    labels = sparse.csr_array((np.ones(10), codes, np.arange(11)), shape=(10, 3))
    rows, chosen = featurechoice.sample(labels)
    assert rows.tolist() == [1, 3, 5, 7]
    assert chosen.toarray().tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]


def test_a_matrix_has_its_own_columns_for_the_head():
    """Columns that only the head uses decide the label, and components are made of the others."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 30), density=0.3, rng=rng, format="csr")
    y = np.arange(120) % 2
    F = sparse.csr_array(np.eye(2)[y] * 0.5)
    wide = sparse.hstack([X, F], format="csr")
    model = SupervisedVBNMF(
        4, head_features=2, classifier="words and components", random_state=0, max_iter=10
    ).fit(wide, y)
    assert model.components_.shape == (4, 30)
    assert model.n_features_in_ == 32
    assert model.score(wide, y) == 1
    assert (model.transform(wide) == model.transform(X)).all()
    with pytest.raises(ValueError, match="30 features, but SupervisedVBNMF is expecting 32"):
        model.predict(X)
    with pytest.raises(ValueError, match="head_features must leave at least one term"):
        SupervisedVBNMF(4, head_features=32).fit(wide, y)


def test_all_commands_take_a_model_with_features(tmp_path, monkeypatch):
    """Each command that reads documents uses terms and features where it must."""
    monkeypatch.chdir(tmp_path)
    for seed, name in ((0, "train.csv"), (1, "new.csv")):
        write_csv(tmp_path / name, *spelled(seed))
    ok("fit", "train.csv", "--label", "label", "-k", "4", "--out", "m.vbnmf", "--quiet")
    model = load("m.vbnmf")
    assert model.features_ == KINDS
    texts, labels = spelled(1)
    scores = ok("evaluate", "m.vbnmf", "new.csv", "--label", "label", "--json").json
    assert scores["micro_accuracy"] == (model.predict(texts) == labels).mean() == 1
    said = ok("predict", "m.vbnmf", "new.csv", "--explain", "--json", "--novelty").out
    rows = [json.loads(line) for line in said.splitlines()]
    assert [row["label"] for row in rows] == labels
    ok("transform", "m.vbnmf", "new.csv", "--out", "v.csv")
    wrong = ["quiet" if i < 3 else label for i, label in enumerate(labels)]
    write_csv(tmp_path / "wrong.csv", texts, wrong)
    found = ok("review", "m.vbnmf", "wrong.csv", "--label", "label", "--json").json
    assert {row["suggested"] for row in found["suspects"][:2]} == {"loud"}
    for command in (
        ("contrast", "m.vbnmf", "new.csv", "loud", "quiet"),
        ("compare", "m.vbnmf", "train.csv", "new.csv"),
        ("report", "m.vbnmf", "--documents", "new.csv", "--out", "page.html"),
        ("update", "m.vbnmf", "new.csv", "--out", "m2.vbnmf"),
        ("labels", "m.vbnmf"),
        ("topics", "m.vbnmf"),
    ):
        ok(*command)
    assert (load("m2.vbnmf").predict(texts) == labels).all()


# Labels that differ in marks


def of_marks(seed=0, n=200, marks=("!", "…")):
    """Two labels with the same words, each with a mark of its own."""
    rng = np.random.default_rng(seed)
    words = ["tea", "cup", "leaf", "kettle", "water", "hot", "green", "steep"]
    y = [i % 2 for i in range(n)]
    return [f"{' '.join(rng.choice(words, 6))} {marks[i]}" for i in y], y


def test_labels_that_differ_in_marks_are_said_aloud():
    texts, y = of_marks()
    with pytest.warns(LabelsOfMarksWarning, match="labels differ mostly in punctuation") as caught:
        model = model_of().fit(texts, y)
    said = "is 1.000 with marks alone and 0."
    assert said in str(caught[0].message)
    assert said in model.features_reason_


def test_labels_that_differ_in_words_get_no_note():
    texts, labels = make_corpus(0, n_each=60)
    with_marks = [f"{text}{'!' if i % 3 else '?'}" for i, text in enumerate(texts)]
    texts, y = of_marks()
    same = [text + (" apple" if label else " pear") for text, label in zip(texts, y, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelsOfMarksWarning)
        model_of().fit(with_marks, labels)
        model_of().fit(same, y)  # words and marks tell as much


@pytest.mark.parametrize(("accuracy", "said"), [(0.8, False), (0.95, True)])
def test_marks_are_no_better_than_the_commonest_label(monkeypatch, accuracy, said):
    """Words below chance, as those of random labels often are, do not make marks tell labels."""
    texts, _ = of_marks()
    y = [int(i < 150) for i in range(len(texts))]

    scores = iter([0.5, 0.9, 0.6, accuracy])  # words, marks and pairs, pieces too, marks alone
    monkeypatch.setattr(featurechoice.FeatureTrial, "score", lambda self, features: next(scores))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model_of().fit(texts, y)
    assert (LabelsOfMarksWarning in [one.category for one in caught]) == said


@pytest.mark.parametrize(
    "marks", [("👨‍👩‍👧", "👨‍👩‍👧‍👦"), ("🇩🇪", "🇫🇷"), ("☝", "✌"), ("é!", "e\u0300?")]
)
def test_emoji_of_several_characters_are_features_of_their_own(marks):
    """Joined emoji, flags and combining marks predict; explanations name what is in the text."""
    texts, y = of_marks(marks=marks)
    model = model_of(("marks",)).fit(texts, y)
    new, truth = of_marks(1, 40, marks)
    assert (model.predict(new) == truth).mean() > 0.95
    best = model.explain(new[:1])[0][0]
    assert best.terms[0].term in new[0].lower()


def test_texts_of_marks_only_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"(?s)^[^\n]+$") as caught:
        model_of().fit(["!!", "??", "!?"] * 30, ["a", "b", "c"] * 30)
    assert "term" in str(caught.value) or "word" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_auto_leaves_out_a_kind_that_hurts(kind):
    """Each text has features of this kind at random, more than it has words."""
    rng = np.random.default_rng(0)
    texts, labels = make_corpus(0, n_each=60)

    def noise():
        if kind == "marks":
            return " ".join(rng.choice(list("!?;:%&+=*~#@"), 60))
        if kind == "pairs":
            return " ".join(rng.choice(["and", "or", "not", "but", "if", "so", "as", "by"], 60))
        return "".join(rng.choice(list("abcdefghij"), 60))

    model = model_of().fit([f"{text} {noise()}" for text in texts], labels)
    assert kind not in model.features_


@pytest.mark.parametrize(("most", "said"), [(120, "documents is"), (60, "of a sample of 60, is")])
def test_the_reason_names_a_sample_only_if_it_is_one(monkeypatch, most, said):
    texts, labels = make_corpus(0, n_each=40)
    monkeypatch.setattr(featurechoice, "MOST_DOCUMENTS", most)
    assert said in model_of().fit(texts, labels).features_reason_
