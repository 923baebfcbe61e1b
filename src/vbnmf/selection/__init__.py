"""Choose the number of components and ``label_shape`` on held-out documents: ``vbnmf.tune``.

``search`` fits the candidates by successive halving, ``holdout`` sets documents apart and scores
candidates on them, ``checkpoint`` keeps what a stopped search has done, and ``advice`` says what
the results mean. The picture of a search is drawn in ``report.tuning``.
"""
