"""What a fitted model is about, as plain data: components, labels, and the labels of components.

The terminal, the page, the displays and ``vbnmf.evaluation`` describe a model with these functions.
"""
