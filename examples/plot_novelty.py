"""
Documents of a new subject
==========================

A model of May meets the tickets of June, which have a subject that it has never seen: verification
codes. Nearly all of these have a novelty above 0.95. That of other tickets is spread over the whole
range, and about one in twenty is above 0.95.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from tickets import month

from vbnmf import DocumentModel

rng = random.Random(1)
may, june = month("05", 3000, 1, rng), month("06", 1000, 2, rng)
model = DocumentModel().fit([row[2] for row in may], [row[3] for row in may])
novelty = model.novelty([row[2] for row in june])
new = np.array([row[5] == "code" for row in june])

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist([novelty[~new], novelty[new]], bins, stacked=True, color=["#9bbbdd", "#c8641e"],
        label=["subjects of May", "new subject"])  # fmt: skip
ax.set(xlabel="novelty", ylabel="tickets of June")
ax.legend(frameon=False)
