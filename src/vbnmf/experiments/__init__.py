"""The paper's experiments: what is run, how, and what the results say; drawing is in ``report``.

``paper.toml`` is the specification, ``specification`` reads it, ``corpus`` prepares the matrices,
``cells`` lists what is to be run, ``measure`` runs one cell from a start of ``starts``, ``runner``
all of them, ``results`` is the table they end up in, and ``figures``, ``tables`` and ``claims``
are functions of that table. ``reproduce`` puts it all together.
"""
