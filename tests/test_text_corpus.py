"""The paper's TF-IDF on the real counts of 20 Newsgroups, computed here from the triples alone."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vbnmf.text import DocumentVectorizer

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "20news-bydate-matlab.tgz"

pytestmark = [
    pytest.mark.skipif(not ARCHIVE.exists(), reason="the counts of 20 Newsgroups are not here"),
    pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning"),
]


@pytest.fixture(scope="module")
def rennie():
    """Return documents, words and counts of the triples, and the documents written out."""
    with tarfile.open(ARCHIVE) as tar:
        raw = {Path(m.name).name: tar.extractfile(m).read() for m in tar if m.isfile()}
    triples = np.fromstring(raw["train.data"].decode(), dtype=np.int64, sep=" ").reshape(-1, 3)
    vocabulary = np.array(raw["vocabulary.txt"].decode().split())
    documents, words, counts = (triples - [1, 1, 0]).T
    texts = [[] for _ in range(documents.max() + 1)]
    for document, word, count in zip(documents, vocabulary[words], counts, strict=True):
        texts[document].append(f"{word} " * count)
    return documents, words, counts, vocabulary, ["".join(text) for text in texts]


def test_paper_weighting(rennie):
    documents, words, counts, vocabulary, texts = rennie
    largest = np.zeros(len(texts))
    np.maximum.at(largest, documents, counts)
    in_documents = np.bincount(words)
    expected = counts / largest[documents] * np.log(len(texts) / in_documents[words])
    assert len(texts) == 11269

    vectorizer = DocumentVectorizer(
        weighting="paper",
        max_terms=10000,
        token_pattern=r"\S+",  # noqa: S106
        dtype=np.float64,
    )
    X = vectorizer.fit_transform(texts)
    assert X.shape == (11269, 10000)

    # The terms kept have the largest scores.
    score = np.zeros(len(vocabulary))
    np.maximum.at(score, words, expected)
    column = np.array([vectorizer.vocabulary_.get(word, -1) for word in vocabulary])
    kept = column >= 0
    assert kept.sum() == 10000
    assert score[kept].min() >= score[~kept].max()

    # Every entry of the matrix, and no other.
    entries = kept[words] & (expected > 0)
    found = np.asarray(X[documents[entries], column[words[entries]]]).ravel()
    assert_allclose(found, expected[entries], rtol=1e-12)
    assert X.nnz == entries.sum()

    # A document has the same weights when it comes as a new one.
    assert (vectorizer.transform(texts[:500]) != X[:500]).nnz == 0
