"""
How many labels are enough?
===========================

Accuracy on new tickets, if only some of the training tickets have a label. Documents without a
label take part in the fit, or are left out. With few labels they make a large difference.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from tickets import month

from vbnmf import DocumentModel

rng = random.Random(1)
train, test = month("05", 1500, 1, rng), month("05", 1000, 1, rng)
texts, teams = np.array([row[2] for row in train]), np.array([row[4] for row in train], object)
order = np.random.default_rng(0).permutation(len(train))
numbers, scores = [30, 75, 150, 400, 1500], {"with the other documents": [], "without": []}
for n in numbers:
    known = np.isin(np.arange(len(train)), order[:n])
    both = DocumentModel().fit(texts, np.where(known, teams, None))
    alone = DocumentModel().fit(texts[known], teams[known])
    for name, model in zip(scores, (both, alone), strict=True):
        scores[name].append(model.score([row[2] for row in test], [row[4] for row in test]))

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, values), colour in zip(scores.items(), ("#2c6fbb", "#c8641e"), strict=True):
    ax.plot(numbers, values, "o-", color=colour, label=name)
ax.set(xscale="log", xlabel="labels", ylabel="accuracy on new tickets")
ax.set_xticks(numbers, [str(n) for n in numbers])
ax.set_xticks([], minor=True)
ax.legend(frameon=False)
