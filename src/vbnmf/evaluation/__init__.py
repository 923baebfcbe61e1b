"""Measure a fitted model on documents, by sums that add up over parts of the documents.

``measures`` lists all measures: a new measure is an entry there. ``parts`` computes what measures
need of documents, each once. ``evaluation`` adds up parts and returns the scores. ``statements``
recounts what is said of labels, and ``truth`` matches the labels of documents with those of a
model. ``vbnmf evaluate``, the page, ``tune`` and ``update`` all use this room.
"""

from vbnmf.evaluation.evaluation import Evaluation, Scores, accuracy, evaluate
from vbnmf.evaluation.measures import MEASURES, Measure

__all__ = ["MEASURES", "Evaluation", "Measure", "Scores", "accuracy", "evaluate"]
