"""
Words of components, with intervals
===================================

The most relevant words of four components, as parts of the component. The lines are intervals of
90 % of the posterior. They are too narrow, because the approximation treats the unknowns as
independent.
"""

import random

from tickets import month

from vbnmf import ComponentTermsDisplay, DocumentModel

rows = month("05", 3000, 1, random.Random(1))
model = DocumentModel().fit([row[2] for row in rows], [row[3] for row in rows])
heaviest = model.estimator_.component_mass_.argsort()[::-1][1:5]  # after the background
ComponentTermsDisplay.from_estimator(model, components=heaviest, n_terms=6, n_columns=2)
