"""Other topic models: their components, and their held-out likelihood by document completion.

NMF is that of scikit-learn, LDA and partially labelled LDA (PLDA) are those of tomotopy. A topic
model is described by the words of its components, and by how much of the training documents each
component makes up. Coefficients of new documents are then computed in the same way for all:

    θ_dk ∝ n_dk + c m_k,    n_dk = Σ_w x_dw θ_dk φ_kw / Σ_j θ_dj φ_jw

where m_k is the component's part of the training documents. The concentration c is the best of
``CONCENTRATIONS`` for completing some training documents, so that no method suffers from a poor
choice of its prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.labelled import LabelledCorpus
from vbnmf.core.explained import ratios
from vbnmf.metrics.likelihood import half_log_likelihood, split_documents

CONCENTRATIONS = (0.3, 1.0, 3.0, 10.0, 30.0)
SMOOTHING = 0.01  # pseudo-count of each word in a component: the default of tomotopy
MOST_OF_NMF = 200  # components of NMF on weights, with more of which it takes hours
_ITERATIONS = 50  # for the coefficients of documents
_SAMPLE = 500  # training documents by which the concentration is chosen

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TopicModel:
    """Components as distributions over words.

    Attributes
    ----------
    components_ : ndarray of shape (K, n_terms)
        Rows sum to one.
    parts : ndarray of shape (K,)
        Part of the training documents that each makes up.
    concentration : float
        Weight of ``parts`` in the coefficients of a document.
    """

    components_: Array
    parts: Array
    concentration: float = 1.0

    @classmethod
    def of_counts(cls, counts: Array) -> TopicModel:
        """Normalise the expected counts of words in components, (K, n_terms), with smoothing."""
        smooth = counts + SMOOTHING
        total = counts.sum(axis=1)
        return cls(smooth / smooth.sum(axis=1, keepdims=True), total / total.sum())

    @classmethod
    def of_components(cls, components: Array, mass: Array) -> TopicModel:
        """Normalise components, (K, n_terms), and what each makes up of the documents, (K,)."""
        components = np.asarray(components, dtype=np.float64)
        return cls(components / components.sum(axis=1, keepdims=True), mass / mass.sum())

    @property
    def component_sums_(self) -> Array:
        """Sums of components, all one."""
        return self.components_.sum(axis=1)

    def transform(self, X: sp.csr_array) -> Array:
        """Compute the coefficients of documents, (n_docs, K)."""
        T = np.ascontiguousarray(self.components_.T)
        prior = self.concentration * self.parts
        V = np.repeat(self.parts[None], X.shape[0], axis=0)
        for _ in range(_ITERATIONS):
            V = V * (ratios(X, V, T) @ T) + prior
            V /= V.sum(axis=1, keepdims=True)
        return V


def completion(model: TopicModel, X: sp.csr_array, X_new: sp.csr_array) -> float:
    """Compute the held-out log-likelihood per word of new documents.

    The concentration is chosen by some of the training documents ``X``.
    """
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:_SAMPLE])
    some, new = (split_documents(part.astype(np.float64)) for part in (X[rows], X_new))
    tried = [TopicModel(model.components_, model.parts, c) for c in CONCENTRATIONS]
    best = max(tried, key=lambda one: half_log_likelihood(one, some[1], one.transform(some[0])))
    return half_log_likelihood(best, new[1], best.transform(new[0]))


def nmf(corpus: LabelledCorpus, rows: Any, K: int, seed: int) -> Array | None:
    """Components of NMF on weights; None if K is too large."""
    from sklearn.decomposition import NMF

    if K > MOST_OF_NMF:
        return None
    return NMF(K, init="nndsvda", random_state=seed).fit(corpus.X[rows]).components_


def lda(corpus: LabelledCorpus, rows: Any, K: int, seed: int) -> Array:
    """Components of LDA on counts."""
    return _trained_lda(corpus, rows, K, seed)[0]


def plda(corpus: LabelledCorpus, rows: Any, K: int, seed: int) -> Array:
    """Components of partially labelled LDA on counts."""
    return _trained_plda(corpus, rows, K, seed)[0]


METHODS: dict[str, Callable[..., Array | None]] = {"NMF": nmf, "LDA": lda, "PLDA": plda}
"""Components of a method from a corpus, rows of its documents, K and a seed."""


def kl_nmf_model(corpus: LabelledCorpus, K: int) -> TopicModel:
    """Fit NMF with the Kullback-Leibler divergence to counts."""
    from sklearn.decomposition import NMF

    model = NMF(
        K, init="nndsvda", beta_loss="kullback-leibler", solver="mu", max_iter=200, random_state=0
    )
    W = model.fit_transform(corpus.counts.astype(np.float64))
    return TopicModel.of_counts(W.sum(axis=0)[:, None] * model.components_)


def lda_model(corpus: LabelledCorpus, K: int) -> TopicModel:
    """Fit LDA to counts."""
    return TopicModel.of_components(*_trained_lda(corpus, slice(None), K, 0))


def plda_model(corpus: LabelledCorpus, K: int) -> TopicModel:
    """Fit partially labelled LDA to counts."""
    return TopicModel.of_components(*_trained_plda(corpus, slice(None), K, 0))


MODELS: dict[str, Callable[[LabelledCorpus, int], TopicModel]] = {
    "NMF (KL)": kl_nmf_model,
    "LDA": lda_model,
    "PLDA": plda_model,
}
"""Models of counts, from a corpus and K."""


def _trained_lda(corpus: LabelledCorpus, rows: Any, K: int, seed: int) -> tuple[Array, Array]:
    import tomotopy as tp

    return _trained(tp.LDAModel(k=K, seed=seed + 1), corpus, rows, labelled_too=False)


def _trained_plda(corpus: LabelledCorpus, rows: Any, K: int, seed: int) -> tuple[Array, Array]:
    import tomotopy as tp

    each = max(1, K // len(np.unique(corpus.y)))
    latent = int(each > 1)
    model = tp.PLDAModel(latent_topics=latent, topics_per_label=each, seed=seed + 1)
    return _trained(model, corpus, rows, labelled_too=True)


def _trained(
    model: Any, corpus: LabelledCorpus, rows: Any, *, labelled_too: bool
) -> tuple[Array, Array]:
    """Train a model of tomotopy; return components over all terms, and words in each."""
    counts = corpus.counts[rows]
    for d, label in enumerate(corpus.y[rows]):
        at = slice(counts.indptr[d], counts.indptr[d + 1])
        words = np.repeat(corpus.terms[counts.indices[at]], counts.data[at].astype(int)).tolist()
        if words:
            about = {"labels": [label.replace(" ", "_")]} if labelled_too else {}
            model.add_doc(words, **about)
    model.train(150, workers=1)  # with more, the same seed does not give the same model
    place = {term: at for at, term in enumerate(corpus.terms)}
    at = np.array([place[word] for word in model.used_vocabs])
    # words that these documents lack are smoothed as those that a component lacks
    components = np.zeros((model.k, len(corpus.terms)))
    for k in range(model.k):
        components[k] = model.get_topic_word_dist(k).min()
        components[k, at] = model.get_topic_word_dist(k)
    return components, np.asarray(model.get_count_by_topics(), dtype=float)
