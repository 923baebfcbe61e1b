"""
Which label uses which component
================================

A row is a label, a column a component. The first block is common to all teams, the second is shared
by some of them, and the rest belongs to one team each.
"""

import random

from tickets import month

from vbnmf import DocumentModel, LabelMapDisplay

rows = month("05", 3000, 1, random.Random(1))  # id, date, text, given team, true team, subject
model = DocumentModel().fit([row[2] for row in rows], [row[3] for row in rows])
LabelMapDisplay.from_estimator(model)
