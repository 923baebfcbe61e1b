"""Apply a method of a fitted model to documents in memory, in shards or on a cluster."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.engines.backends import matrix_of
from vbnmf.estimators.posterior import FittedAttribute
from vbnmf.estimators.validation import check_matrix
from vbnmf.shards.shard import ShardSource
from vbnmf.shards.values import number_type


class AppliesToDocuments:
    """Mixin of fitted models: the attributes of components, and documents in all forms."""

    n_features_in_: int

    components_ = FittedAttribute("components.means")
    component_shapes_ = FittedAttribute("components.by_component")
    component_scales_ = FittedAttribute("components.scales")
    component_sums_ = FittedAttribute("components.sums")
    component_mass_ = FittedAttribute("components.mass")
    faded_ = FittedAttribute("components.faded")
    hyperparameters_ = FittedAttribute("components.hyperparameters")
    n_components_ = FittedAttribute("components.number")
    n_components_reason_ = FittedAttribute("components.reason")
    background_ = FittedAttribute("components.background")
    describing_terms_ = FittedAttribute("terms.describing")
    passages_ = FittedAttribute("terms.passages")

    def _apply(
        self, X: Any, work: Callable[[sparse.csr_array], Array], *, only_terms: bool = False
    ) -> Array:
        """Check documents and apply a method: in memory, shard by shard, or later on a cluster.

        With ``only_terms``, X in memory may lack the columns of ``head_features``.
        """
        n_terms = self.n_features_in_
        if not sparse.issparse(X) and isinstance(X, ShardSource):
            if X.shape[1] != n_terms:
                raise ValueError(
                    f"{X!r} must have the {n_terms:,} terms that {type(self).__name__} was fitted "
                    "to. Vectorize the documents with its vocabulary."
                )
            return np.concatenate([work(X.rows(i)) for i in range(len(X.entries))])
        lazy = matrix_of(X)
        if lazy is None:
            return work(check_matrix(self, X, reset=False, only_terms=only_terms))
        like = work(sparse.csr_array((1, n_terms), dtype=number_type(X.dtype)))
        found: Array = lazy.map(partial(self._on_block, work.__name__), like, n_terms)
        return found

    def _on_block(self, name: str, block: Any) -> Array:
        """Apply the method of this name to a block of documents, which may be empty."""
        if block.shape[0]:
            block = check_matrix(self, block, reset=False)
        else:
            block = sparse.csr_array(np.zeros((0, self.n_features_in_)))
        return np.asarray(getattr(self, name)(block))
