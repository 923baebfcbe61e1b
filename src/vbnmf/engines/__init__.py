"""Places where the documents can be; they move data and know no formula.

An engine has a ``kernel``, the ``totals`` of its corpus and ``sweep``: see
``vbnmf.core.model.Engine``.
"""
