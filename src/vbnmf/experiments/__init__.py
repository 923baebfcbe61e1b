"""The paper's experiments: what is run, how, and what the results say; drawing is in ``report``.

``paper.toml`` is the specification, ``specification`` reads it, ``folds`` prepares the matrices,
``cells`` lists what is to be run, ``measure`` runs one cell from a start of ``random_start``,
``runner`` all of them, ``results`` is the table they end up in, and ``figures``, ``result_tables``
and ``claims`` are functions of that table. ``reproduce`` puts it all together.
"""
