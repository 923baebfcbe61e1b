"""The explorer: one HTML file in which people see what makes each label.

``payload`` (the model), ``documents`` and ``quality`` (documents given with it) compute all
numbers; ``bundle`` puts them into one page with the sources in ``static``, which draw them.
"""

from vbnmf.report.explorer.page import Report, explore

__all__ = ["Report", "explore"]
