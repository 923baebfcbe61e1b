"""
The bound never falls
=====================

Three fits of the paper's model from random starts, and one from the default initialisation. The
default ends higher, after fewer iterations.
"""

import random

from tickets import month

from vbnmf import BoundDisplay, SupervisedVBNMF
from vbnmf.text import DocumentVectorizer

rows = month("05", 2000, 1, random.Random(1))
X = DocumentVectorizer().fit_transform([row[2] for row in rows])
y = [row[3] for row in rows]
models = {
    f"random start {seed}": SupervisedVBNMF(20, init="random", random_state=seed).fit(X, y)
    for seed in range(3)
}
models["default"] = SupervisedVBNMF(20).fit(X, y)
BoundDisplay.from_estimator(models)
