"""Engines hold the documents of a fit, in memory or on disk. They contain no formulas.

An engine maps the functions of ``vbnmf.core.shardwork`` over the shards of a corpus and adds up
their results (``mapping``). Its interface is ``vbnmf.core.model.Engine``.
"""
