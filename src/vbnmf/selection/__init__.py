"""Choose the number of components and ``label_shape`` on held-out documents: ``vbnmf.tune``.

``search`` fits the candidates by successive halving. ``holdout`` holds out documents and scores
candidates on them. ``checkpoint`` stores the state of an interrupted search. ``advice`` explains
the results. ``report.tuning`` draws them.
"""
