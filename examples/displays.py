"""Fit a model to the offline corpus, and draw it and its predictions of held-out documents.

Run: python examples/displays.py [FOLDER]     (needs matplotlib: pip install "vbnmf[plot]")
"""

import sys
from pathlib import Path

from vbnmf import (
    AcceptanceDisplay,
    BoundDisplay,
    ComponentTermsDisplay,
    ContrastDisplay,
    DocumentModel,
    LabelMapDisplay,
    ReliabilityDisplay,
    SupervisedVBNMF,
)
from vbnmf.data import load_corpus
from vbnmf.text import DocumentVectorizer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
corpus = load_corpus("scipy-docs", subset="train")
vectorizer = DocumentVectorizer(stop_words="english", stem="english", min_df=2)
model = DocumentModel(SupervisedVBNMF(n_components=48, random_state=0), vectorizer)
model.fit(corpus.texts, corpus.labels)
test = load_corpus("scipy-docs", subset="test")
two = ("scipy.signal", "scipy.ndimage")

displays = {
    "display-map": LabelMapDisplay.from_estimator(model),
    "display-terms": ComponentTermsDisplay.from_estimator(model, n_terms=8),
    "display-bound": BoundDisplay.from_estimator(model),
    "display-contrast": ContrastDisplay.from_estimator(model, corpus.texts, corpus.labels, *two),
    "display-reliability": ReliabilityDisplay.from_estimator(model, test.texts, test.labels),
    "display-acceptance": AcceptanceDisplay.from_estimator(
        model, test.texts, test.labels, wanted=0.99
    ),
}
for name, display in displays.items():
    display.figure_.savefig(folder / f"{name}.png")
    print(folder / f"{name}.png")
