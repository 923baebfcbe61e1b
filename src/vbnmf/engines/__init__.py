"""Places where the documents can be; they move data and know no formula.

An engine maps the functions of ``vbnmf.core.shardwork`` over the shards of a corpus and adds up
what they return (``mapping``). What the fit asks of it is ``vbnmf.core.model.Engine``.
"""
