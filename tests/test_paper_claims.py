"""The checklist of claims, each way, on rows made by hand."""

import pytest
from paper_rows import PAPER, free, led, paper, pca, sparse_runs

from vbnmf.paper.claims import CONFIRMED, REFUTED, UNKNOWN, all_claims

CLAIMS = paper(hull_dimensions=(20, 60, 100), map_dimension=40)
KEYS = [
    "order", "order-validated", "predicts", "tighter", "knob", "break", "moderate", "free",
]  # fmt: skip


def judged(rows, key):
    claims = {claim.key: claim for claim in all_claims(rows, CLAIMS)}
    assert list(claims) == KEYS
    return claims[key]


def three(supervised, plain, unsupervised, fold="test"):
    """One run of each method, with these accuracies."""
    return [
        led(100, 10.0, supervised, fold=fold),
        pca(200, plain, fold=fold),
        free(40, 1.0, unsupervised, fold=fold),
    ]


def correlated(dimension, ranks):
    """Runs with inter-label sparsity in order and these ranks of accuracy."""
    return [
        led(dimension, 1.0, rank / 10, seed=i, inter_label_sparsity=i / 10)
        for i, rank in enumerate(ranks)
    ]


def shapes(sparsity_free, sparsity_fixed, learned=0.5, seed=0):
    """A run with T's shape learned unguarded, and the same with it fixed."""
    same = {"dimension": 40, "parameter": 10.0, "micro": 0.5, "seed": seed}
    return [
        led(**same, term_shape="free", sparsity=sparsity_free, learned_term_shape=learned),
        led(**same, sparsity=sparsity_fixed, learned_term_shape=0.5),
    ]


def moderate(*runs):
    """Unsupervised runs by dimension, shape and inter-label sparsity."""
    return [free(d, a, 0.5, inter_label_sparsity=s) for d, a, s in runs]


RISE = [(1.0, 0.2), (10.0, 0.4), (100.0, 0.8)]
FALL = [(100.0, 0.8), (10.0, 0.4), (1.0, 0.9)]
STRONG, MIDDLING, WEAK = [1, 2, 3, 4, 5], [2, 1, 3, 5, 4], [3, 1, 5, 2, 4]
GUESSED = three(0.9, 0.6, 0.5, "validation")
MODERATE = [(20, 0.5, 0.5), (40, 0.5, 0.4), (20, 1.0, 0.4), (40, 1.0, 0.3)]

CASES = [
    ("order", CONFIRMED, three(0.71, 0.63, 0.55)),
    ("order", REFUTED, three(0.62, 0.63, 0.55)),
    ("order", REFUTED, three(0.71, 0.63, 0.64)),
    ("order", REFUTED, three(0.63, 0.63, 0.55)),
    ("order", UNKNOWN, three(0.71, 0.63, 0.55)[:2]),
    ("order", UNKNOWN, GUESSED),
    # the peak is of one run, the verdict of the mean at its parameters
    ("order", REFUTED, [*three(0.71, 0.63, 0.55), led(100, 10.0, 0.5, seed=1)]),
    ("order", CONFIRMED, [*three(0.71, 0.63, 0.55), led(100, 1.0, 0.5, seed=1)]),
    ("order-validated", CONFIRMED, [*three(0.71, 0.63, 0.55), *GUESSED]),
    # what held-out documents say has no part in the verdict, only in the choice
    ("order-validated", REFUTED, [*three(0.62, 0.63, 0.55), *GUESSED]),
    ("order-validated", REFUTED, [*three(0.62, 0.63, 0.55), *GUESSED, led(60, 10.0, 0.9)]),
    ("order-validated", UNKNOWN, three(0.71, 0.63, 0.55)),
    ("order-validated", UNKNOWN, GUESSED),
    ("order-validated", UNKNOWN, [*three(0.71, 0.63, 0.55), *GUESSED[:2]]),
    ("predicts", CONFIRMED, correlated(20, STRONG)),
    ("predicts", CONFIRMED, correlated(20, MIDDLING)),  # 0.8
    ("predicts", REFUTED, correlated(20, WEAK)),  # 0.3
    ("predicts", REFUTED, correlated(20, STRONG[::-1])),
    ("predicts", UNKNOWN, correlated(20, STRONG[:2])),
    ("predicts", UNKNOWN, three(0.71, 0.63, 0.55)),
    ("tighter", CONFIRMED, correlated(20, WEAK) + correlated(100, STRONG)),
    (
        "tighter",
        CONFIRMED,
        correlated(100, STRONG) + correlated(20, WEAK) + correlated(60, MIDDLING),
    ),
    ("tighter", REFUTED, correlated(20, STRONG) + correlated(100, WEAK)),
    ("tighter", REFUTED, correlated(20, STRONG) + correlated(100, STRONG)),
    (
        "tighter",
        REFUTED,
        correlated(20, WEAK) + correlated(60, STRONG) + correlated(100, MIDDLING),
    ),
    ("tighter", UNKNOWN, correlated(100, STRONG)),
    ("tighter", UNKNOWN, correlated(40, WEAK) + correlated(80, STRONG)),  # without hulls
    ("knob", CONFIRMED, sparse_runs(20, RISE) + sparse_runs(60, RISE)),
    ("knob", CONFIRMED, sparse_runs(20, [*RISE, (1000.0, 0.1)])),  # it may fall after its peak
    ("knob", CONFIRMED, sparse_runs(20, [(0.1, 0.203), *RISE])),  # the noise of random starts
    ("knob", REFUTED, sparse_runs(20, [(0.1, 0.3), *RISE])),
    ("knob", REFUTED, sparse_runs(20, RISE) + sparse_runs(60, FALL)),
    ("knob", UNKNOWN, sparse_runs(20, RISE[:1])),
    ("knob", UNKNOWN, sparse_runs(20, RISE, method="unsupervised")),
    ("break", CONFIRMED, sparse_runs(20, [*RISE, (1e5, 0.5)]) + sparse_runs(60, [*RISE, (1e5, 0)])),
    ("break", REFUTED, sparse_runs(20, RISE)),
    ("break", REFUTED, sparse_runs(20, [*RISE, (1e5, 0.78)])),
    ("break", REFUTED, sparse_runs(20, [*RISE, (1e5, 0.5)]) + sparse_runs(60, RISE)),
    ("break", UNKNOWN, sparse_runs(20, RISE[:1])),
    ("moderate", CONFIRMED, moderate(*MODERATE)),
    ("moderate", CONFIRMED, moderate(*MODERATE, (20, 0.1, 0.8))),  # the smallest shape
    ("moderate", REFUTED, moderate(*MODERATE, (20, 0.75, 0.8))),
    ("moderate", REFUTED, moderate(*MODERATE, (20, 0.1, 0.95), (60, 0.5, 0.9))),
    ("moderate", REFUTED, moderate(*((d, a, s + 0.4) for d, a, s in MODERATE))),
    ("moderate", UNKNOWN, sparse_runs(20, RISE)),
    ("free", CONFIRMED, shapes(0.6, 0.8)),
    ("free", CONFIRMED, shapes(0.6, 0.8) + shapes(0.8, 0.7, seed=1)),
    ("free", REFUTED, shapes(0.8, 0.6)),
    ("free", REFUTED, shapes(0.6, 0.8, learned=1.2)),
    ("free", UNKNOWN, shapes(0.6, 0.8)[:1]),
    ("free", UNKNOWN, shapes(0.6, 0.8)[1:]),
    ("free", UNKNOWN, [shapes(0.6, 0.8)[0], shapes(0.6, 0.8, seed=1)[1]]),  # of another start
]


@pytest.mark.parametrize(("key", "verdict", "rows"), CASES)
def test_a_claim_is_judged_by_its_rows(key, verdict, rows):
    claim = judged(rows, key)
    assert claim.verdict == verdict
    assert claim.text.endswith(".")
    assert claim.evidence or verdict == UNKNOWN


def test_every_claim_is_tried_each_way():
    tried = {(key, verdict) for key, verdict, _ in CASES}
    assert tried == {(key, verdict) for key in KEYS for verdict in (CONFIRMED, REFUTED, UNKNOWN)}


def test_nothing_is_said_of_nothing():
    assert {claim.verdict for claim in all_claims([], PAPER)} == {UNKNOWN}
    failed = [row | {"status": "failed"} for _, _, rows in CASES for row in rows]
    assert {claim.verdict for claim in all_claims(failed, PAPER)} == {UNKNOWN}


def test_the_evidence_has_the_numbers():
    rows = [*three(0.71, 0.63, 0.55), *correlated(20, MIDDLING), *shapes(0.6, 0.8)]
    evidence = judged(rows, "order").evidence
    assert all(said in evidence for said in ("0.7100", "0.6300", "0.5500", "PCA"))
    assert "0.80 over" in judged(correlated(20, MIDDLING), "predicts").evidence
    assert "1 of 1 pairs" in judged(rows, "free").evidence
    assert "0.200 to 0.800 at a^λ = 100 (K = 20)" in judged(sparse_runs(20, RISE), "knob").evidence
    broken = judged(sparse_runs(20, [*RISE, (1e5, 0.5)]), "break").evidence
    assert "a^λ = 100000: 0.800 to 0.500 (K = 20)" in broken
