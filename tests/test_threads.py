"""One model, used by many threads at the same time, as in a service."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vbnmf import DocumentModel, SupervisedVBNMF

pytestmark = pytest.mark.kernel

TEXTS = ["green tea with milk", "black tea leaves", "strong coffee beans", "coffee with sugar"] * 6
LABELS = ["tea", "tea", "coffee", "coffee"] * 6


def answers(model, text):
    [why] = model.explain([text])
    return [
        *model.predict_proba([text])[0],
        *model.transform([text])[0],
        *model.novelty([text]),
        *(part for one in why for _, part in one.terms),
    ]


def test_eight_threads_get_the_bits_of_one():
    model = DocumentModel(SupervisedVBNMF(4)).fit(TEXTS, LABELS)
    texts = [f"{text} {other}" for text in TEXTS[:4] for other in TEXTS[:4]] * 8
    alone = [answers(model, text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda text: answers(model, text), texts))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True))
