"""
Two months side by side
=======================

The mean share of each component in the tickets of May and of June. Components far from the diagonal
became more or less frequent.
"""

import random

import matplotlib.pyplot as plt
from tickets import month

from vbnmf import DocumentModel

rng = random.Random(1)
may, june = month("05", 3000, 1, rng), month("06", 1000, 2, rng)
model = DocumentModel().fit([row[2] for row in may], [row[3] for row in may])
sizes = model.estimator_.components_.sum(axis=1)


def shares(rows):
    """Return the part of the weight of documents that each component explains."""
    weight = model.transform([row[2] for row in rows]) * sizes
    return (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0)


then, now = shares(may), shares(june)
fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
most = max(then.max(), now.max()) * 1.1
ax.plot([0, most], [0, most], color="#bbbbbb", lw=0.8)
ax.scatter(then, now, color="#2c6fbb")
for k in abs(now - then).argsort()[-3:]:
    words = " ".join(model.terms_[model.estimator_.describing_terms_[k][:2]])
    ax.annotate(words, (then[k], now[k]), xytext=(7, -2), textcoords="offset points", fontsize=8)
ax.set(xlabel="share in May", ylabel="share in June", xlim=(0, most), ylim=(0, most))
