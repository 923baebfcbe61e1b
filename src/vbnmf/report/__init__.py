"""Describe fitted models: as data, as an HTML page, and as figures."""
