"""Choose the number of components on held-out documents: ``vbnmf.tune``.

``search`` fits the candidates. ``heldout`` holds out documents, and scores and compares candidates
on them. ``checkpoint`` stores the state of an interrupted search. ``advice`` chooses and explains
the recommended settings. ``report.tuning`` draws the results.
"""
