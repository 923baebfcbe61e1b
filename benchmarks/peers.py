"""Time an iteration of other libraries: one function for each, all with the same signature.

Iterations of different methods do different work. An LDA iteration runs an inner loop for every
document. A Gibbs sweep draws one topic for each token. The table names the kind of iteration. How
many iterations a method needs is not measured here.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from benchmarks.inputs import BenchmarkMatrix
from benchmarks.measure import Samples, clock, seconds_per_iteration


@dataclass(frozen=True)
class Peer:
    """A peer: its option, its name in tables, its package, its input and its timer."""

    key: str
    name: str
    package: str
    wants_counts: bool
    seconds: Callable[[sp.csr_matrix, int, int, bool], Samples]

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.package) is not None

    def time(
        self, corpus: BenchmarkMatrix, K: int, threads: int, quick: bool = False
    ) -> Samples | None:
        """Sample the seconds of an iteration; None if the package is not installed."""
        if not self.installed:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "did not converge" is what is asked for here
            return self.seconds(corpus.counts if self.wants_counts else corpus.X, K, threads, quick)


def sklearn_nmf(X: sp.csr_matrix, K: int, threads: int, quick: bool = False) -> Samples:
    """NMF of scikit-learn with KL loss, one multiplicative update of both factors.

    It works in the precision of X, so it is timed in both: in float32 like vbnmf, and in float64,
    the default of scikit-learn's vectorizers.
    """
    from sklearn.decomposition import NMF
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    def run(n: int) -> None:
        NMF(
            K, init="random", solver="mu", beta_loss="kullback-leibler", max_iter=n, tol=0,
            random_state=0,
        ).fit(X)  # fmt: skip

    with threadpool_limits(threads):
        return seconds_per_iteration(run, 1, 6, 3 if quick else 5, clock(threads))


def sklearn_nmf64(X: sp.csr_matrix, K: int, threads: int, quick: bool = False) -> Samples:
    """NMF of scikit-learn in float64."""
    return sklearn_nmf(X.astype(np.float64), K, threads, quick)


def sklearn_lda(X: sp.csr_matrix, K: int, threads: int, quick: bool = False) -> Samples:
    """LDA of scikit-learn, batch: one pass over the documents with its inner loop."""
    from sklearn.decomposition import LatentDirichletAllocation

    stamps: list[float] = []

    class Stamps(io.TextIOBase):
        """Output stream that records the time when LDA prints the end of an iteration."""

        def write(self, text: str) -> int:
            if text.startswith("iteration"):
                stamps.append(clock(threads)())
            return len(text)

    model = LatentDirichletAllocation(
        K, learning_method="batch", max_iter=4 if quick else 6, n_jobs=threads, verbose=1,
        random_state=0,
    )  # fmt: skip
    # A fit ends with one more pass that costs as much as several iterations: a difference of two
    # fits would drown in it. The first iteration, which starts the workers, is not counted.
    with contextlib.redirect_stdout(Stamps()):
        model.fit(X)
    return [after - before for before, after in pairwise(stamps)]


def hpfrec_hpf(X: sp.csr_matrix, K: int, threads: int, quick: bool = False) -> Samples:
    """HPF of hpfrec: one coordinate-ascent pass of hierarchical Poisson factorisation."""
    HPF = import_module("hpfrec").HPF
    triplets = sp.coo_array(X)

    def run(n: int) -> None:
        HPF(
            K, ncores=threads, maxiter=n, stop_crit="maxiter", check_every=n, reindex=False,
            random_seed=1, verbose=False, keep_data=False, produce_dicts=False,
        ).fit(triplets.copy())  # fmt: skip

    return seconds_per_iteration(run, 1, 3, 2 if quick else 3, clock(threads))


def tomotopy_lda(X: sp.csr_matrix, K: int, threads: int, quick: bool = False) -> Samples:
    """LDA of tomotopy: one Gibbs sweep over every token."""
    model = import_module("tomotopy").LDAModel(k=K, seed=1)
    tokens = np.repeat(X.indices, X.data).astype(str)
    ends = np.concatenate([[0], np.cumsum(X.data)])[X.indptr]
    for first, last in pairwise(ends):
        if last > first:
            model.add_doc(tokens[first:last].tolist())
    model.train(5, workers=threads)  # builds the tables of the model, once
    samples = []
    for _ in range(3):
        begin = clock(threads)()
        model.train(10, workers=threads)
        samples.append((clock(threads)() - begin) / 10)
    return samples


PEERS = (
    Peer("nmf", "scikit-learn NMF, KL, float32", "sklearn", False, sklearn_nmf),
    Peer("nmf64", "scikit-learn NMF, KL, float64", "sklearn", False, sklearn_nmf64),
    Peer("lda", "scikit-learn LDA, batch", "sklearn", True, sklearn_lda),
    Peer("hpfrec", "hpfrec, one pass", "hpfrec", False, hpfrec_hpf),
    Peer("tomotopy", "tomotopy LDA, one Gibbs sweep", "tomotopy", True, tomotopy_lda),
)
