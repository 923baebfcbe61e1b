"""
How good is a list of suspects?
===============================

Four of a hundred labels were made wrong on purpose. Documents are ranked by the left-out
probability of their own label, the lowest first. The curve shows which part of the first documents
of the list has a wrong label indeed.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from tickets import month

from vbnmf import DocumentModel

rows = month("05", 3000, 1, random.Random(1))
texts, given, true = ([row[i] for row in rows] for i in (2, 3, 4))
model = DocumentModel().fit(texts, given)
own = [model.classes_.tolist().index(label) for label in given]
doubt = model.estimator_.left_out_proba_[np.arange(len(rows)), own]
wrong = (np.array(given) != np.array(true))[np.argsort(doubt)]

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
n = np.arange(1, 401)
ax.plot(n, wrong[:400].cumsum() / n, color="#2c6fbb", label="of these, wrong")
ax.plot(n, wrong[:400].cumsum() / wrong.sum(), color="#c8641e", label="of all wrong labels, found")
ax.axvline(wrong.sum(), color="#444444", lw=0.8, ls=":", label="number of wrong labels")
ax.set(xlabel="documents looked at", ylabel="part", ylim=(0, 1.02))
ax.legend(frameon=False)
