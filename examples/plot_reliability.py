"""
Is a probability of 0.9 right nine times of ten?
================================================

Predictions for tickets of the next month, in bins of their probability. Points on the diagonal are
calibrated. Some teams of these tickets were made wrong on purpose, and a new subject is among them.
"""

import random

from tickets import month

from vbnmf import DocumentModel, ReliabilityDisplay

rng = random.Random(1)
may, june = month("05", 3000, 1, rng), month("06", 1000, 2, rng)
model = DocumentModel().fit([row[2] for row in may], [row[3] for row in may])
ReliabilityDisplay.from_estimator(model, [row[2] for row in june], [row[3] for row in june])
