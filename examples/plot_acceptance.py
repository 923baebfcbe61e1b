"""
Which predictions go out without a look?
========================================

The higher the threshold of probability, the more of the accepted predictions are right, and the
fewer are accepted. The chosen threshold accepts as many as possible, so that 95 % are right.
"""

import random

from tickets import month

from vbnmf import AcceptanceDisplay, DocumentModel

rng = random.Random(1)
may, june = month("05", 3000, 1, rng), month("06", 1000, 2, rng)
model = DocumentModel().fit([row[2] for row in may], [row[3] for row in may])
AcceptanceDisplay.from_estimator(model, [row[2] for row in june], [row[3] for row in june])
