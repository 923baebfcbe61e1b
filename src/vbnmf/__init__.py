"""Readable components of labelled documents: variational Bayesian NMF, sparse by label.

The names below are imported when they are first used, so that ``import vbnmf`` and
``vbnmf --help`` stay fast.
"""

from importlib import import_module
from typing import Any

from vbnmf.lazily import on_first_use

__version__ = "0.1.0"

_HOMES = {
    "VBNMF": "vbnmf.estimators",
    "SupervisedVBNMF": "vbnmf.estimators",
    "hoyer_sparsity": "vbnmf.metrics",
    "inter_label_sparsity": "vbnmf.metrics",
    "DocumentModel": "vbnmf.pipeline",
    "Dask": "vbnmf.distributed",
    "Batches": "vbnmf.estimators.online",
    "Checkpoint": "vbnmf.estimators.checkpoints",
    "Shards": "vbnmf.shards",
    "vectorize_to_shards": "vbnmf.vectorizing",
    "load": "vbnmf.loading",
    "load_predictor": "vbnmf.loading",
    "tune": "vbnmf.selection.search",
    "evaluate": "vbnmf.evaluation",
    "review": "vbnmf.reviewing.findings",
    "accept": "vbnmf.reviewing.findings",
    "contrast": "vbnmf.reviewing.findings",
    "compare": "vbnmf.reviewing.findings",
    "Table": "vbnmf.tabular",
    "ProgressBar": "vbnmf.progressbars",
    "explore": "vbnmf.report.explorer",
    "LabelMapDisplay": "vbnmf.report.displays",
    "ComponentTermsDisplay": "vbnmf.report.displays",
    "BoundDisplay": "vbnmf.report.displays",
    "ContrastDisplay": "vbnmf.report.predictiondisplays",
    "ReliabilityDisplay": "vbnmf.report.predictiondisplays",
    "AcceptanceDisplay": "vbnmf.report.predictiondisplays",
    "show_versions": "vbnmf.versions",
}

__all__ = ["__version__", *_HOMES]

CLUSTERS = {"dask": "vbnmf.distributed"}
"""Room of each kind of cluster, by its name in ``engine=...``."""

COLLECTIONS = {"dask": "dask", "dask_expr": "dask"}
"""Kind of cluster, by the package that defines its arrays, bags and data frames."""


def cluster_room(kind: str) -> Any:
    """Return the room of a kind of cluster, for ``vbnmf.engines.backends``, which says what it has.

    Estimators are below these rooms and cannot import them.
    """
    return import_module(CLUSTERS[kind])


__getattr__, _ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
