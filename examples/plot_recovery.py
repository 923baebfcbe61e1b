"""
Are the components the planted ones?
====================================

The tickets of May were drawn from twelve subjects. Each column shows in which tickets a component
is the strongest one. A single dark cell means that the component is one subject.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from tickets import month

from vbnmf import DocumentModel

rows = month("05", 3000, 1, random.Random(1))
texts, teams, subjects = ([row[i] for row in rows] for i in (2, 3, 5))
model = DocumentModel().fit(texts, teams)
names = sorted(set(subjects))
strongest = model.transform(texts).argmax(axis=1)
found = np.zeros((len(names), model.estimator_.n_components_))
np.add.at(found, ([names.index(subject) for subject in subjects], strongest), 1)
used = found.sum(axis=0) >= 20
found = found[:, used] / found[:, used].sum(axis=0)
order = np.argsort(found.argmax(axis=0), kind="stable")

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
shades = ax.imshow(found[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_yticks(range(len(names)), names)
ax.set_xticks(range(used.sum()), np.flatnonzero(used)[order])
ax.set(xlabel="component", ylabel="planted subject")
fig.colorbar(shades, label="part of its tickets")
