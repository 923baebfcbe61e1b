"""
Why this label?
===============

The score of a label is a sum over the words of a document, so its parts can be drawn. Words to the
right speak for the label, words to the left against it.
"""

import random

import matplotlib.pyplot as plt
from tickets import month

from vbnmf import DocumentModel

rows = month("05", 3000, 1, random.Random(1))
model = DocumentModel().fit([row[2] for row in rows], [row[3] for row in rows])
text = "The refund of 40 euros has not arrived, and the return label cannot be printed."
why = model.explain([text], n_terms=8)[0][0]

parts = sorted([*why.terms, *why.against], key=lambda part: part.part)
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
colours = ["#2c6fbb" if part.part > 0 else "#c8641e" for part in parts]
ax.barh([part.term for part in parts], [part.part for part in parts], color=colours)
ax.axvline(0, color="#444444", lw=0.8)
ax.set(xlabel="contribution to the score", title=f"{why.label}, probability {why.probability:.2f}")
