"""Measures of components, coefficients and predictions."""

from typing import TYPE_CHECKING

from vbnmf.lazily import on_first_use
from vbnmf.metrics.agreement import agreement, label_agreement
from vbnmf.metrics.calibration import calibration_bins, calibration_error
from vbnmf.metrics.coherence import document_npmi, window_npmi
from vbnmf.metrics.describing import describing_terms
from vbnmf.metrics.diversity import exclusivity, topic_diversity
from vbnmf.metrics.fidelity import component_fidelity, label_fidelity, share_that_holds
from vbnmf.metrics.likelihood import completion_log_likelihood, split_documents
from vbnmf.metrics.logodds import LogOdds, characteristic_terms, log_odds, share_by_chance
from vbnmf.metrics.passages import Passages, find_passages
from vbnmf.metrics.sparsity import hoyer_sparsity, inter_label_sparsity

if TYPE_CHECKING:
    from vbnmf.metrics.scoring import (
        PredictionScores,
        ProbabilityScores,
        score_predictions,
        score_probabilities,
    )
    from vbnmf.metrics.stability import matched_similarity, seed_stability

__all__ = [
    "LogOdds",
    "Passages",
    "PredictionScores",
    "ProbabilityScores",
    "agreement",
    "calibration_bins",
    "calibration_error",
    "characteristic_terms",
    "completion_log_likelihood",
    "component_fidelity",
    "describing_terms",
    "document_npmi",
    "exclusivity",
    "find_passages",
    "hoyer_sparsity",
    "inter_label_sparsity",
    "label_agreement",
    "label_fidelity",
    "log_odds",
    "matched_similarity",
    "score_predictions",
    "score_probabilities",
    "seed_stability",
    "share_by_chance",
    "share_that_holds",
    "split_documents",
    "topic_diversity",
    "window_npmi",
]

# slow to import, and not needed to predict
__getattr__, _ = on_first_use(
    __name__,
    {
        "PredictionScores": "vbnmf.metrics.scoring",
        "ProbabilityScores": "vbnmf.metrics.scoring",
        "matched_similarity": "vbnmf.metrics.stability",
        "score_predictions": "vbnmf.metrics.scoring",
        "score_probabilities": "vbnmf.metrics.scoring",
        "seed_stability": "vbnmf.metrics.stability",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
