"""
Two labels side by side
=======================

Words that are in more tickets of billing, and words that are in more tickets of returns: log-odds
with intervals of 95 %.
"""

import random

from tickets import month

from vbnmf import ContrastDisplay, DocumentModel

rows = month("05", 3000, 1, random.Random(1))
texts, teams = [row[2] for row in rows], [row[3] for row in rows]
model = DocumentModel().fit(texts, teams)
ContrastDisplay.from_estimator(model, texts, teams, "billing", "returns")
