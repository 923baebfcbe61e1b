"""Engines hold the documents of a fit, in memory or on disk. They contain no formulas.

An engine maps the functions of ``vbnmf.shards.work`` over the shards of a corpus and adds up
their results (``mapping``). Its interface is ``vbnmf.core.model.Engine``. Clusters have engines of
their own, behind the protocols of ``backends``.
"""
