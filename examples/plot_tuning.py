"""
How many components?
====================

The likelihood of held-out documents rises with the number of components, by less and less. Accuracy
hardly changes, because predictions also use single words.
"""

import random

import matplotlib.pyplot as plt
from tickets import month

from vbnmf import tune
from vbnmf.text import DocumentVectorizer

rows = month("05", 1500, 1, random.Random(1))
texts, teams = [row[2] for row in rows], [row[3] for row in rows]
numbers = [5, 10, 20, 40, 80]
found = tune(texts, teams, n_components=numbers, vectorizer=DocumentVectorizer())
results = [[getattr(row, name) for row in found.rows] for name in ("log_likelihood", "accuracy")]

fig, axes = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
for ax, values, name in zip(axes, results, ("log-likelihood", "accuracy"), strict=True):
    ax.plot(numbers, values, "o-", color="#2c6fbb")
    ax.set_ylabel(name)
axes[1].set(xlabel="components", xscale="log", ylim=(0, 1))
axes[1].set_xticks(numbers, [str(n) for n in numbers])
axes[1].set_xticks([], minor=True)
