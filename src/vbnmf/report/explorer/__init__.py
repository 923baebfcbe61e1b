"""The explorer: one HTML file that shows a model and, if given, documents.

``payload`` computes the numbers about the model, ``documents`` and ``quality`` those about
documents. ``bundle`` combines them with the scripts in ``static``, which draw them.
"""

from vbnmf.report.explorer.page import Report, explore

__all__ = ["Report", "explore"]
