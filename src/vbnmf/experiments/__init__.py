"""The paper's experiments: which runs there are, how they are run, and what their results show.

``paper.toml`` specifies the experiments, and ``specification`` reads it. ``folds`` prepares the
matrices. ``cells`` lists the runs. ``measure`` makes one run, initialised by ``random_start``, and
``runner`` makes all of them. ``results`` is the table of results. ``figures``, ``result_tables``
and ``claims`` are functions of this table. ``reproduce`` combines all steps. ``report`` draws the
figures.

References
----------
I. Ivek (2014). Interpretable low-rank document representations with label-dependent sparsity
patterns.
"""
