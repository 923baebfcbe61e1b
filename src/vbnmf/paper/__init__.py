"""The paper's experiments: which runs there are, how they are run, and what their results show.

``specification`` reads ``paper.toml`` and lists the runs. ``folds`` prepares the matrices.
``measure`` makes one run, and ``experiments`` makes all of them. ``results`` is the table of
results. ``figures``, ``result_tables`` and ``claims`` are functions of this table. ``plots`` draws
the figures, and ``reproduction`` writes the pages. Only the command ``vbnmf reproduce`` imports
this package.

References
----------
I. Ivek (2014). Interpretable low-rank document representations with label-dependent sparsity
patterns.
"""
