"""Settings of the documentation: ``sphinx-build -W docs docs/_build/html``."""

import sys
from pathlib import Path

import vbnmf

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "vbnmf"
author = "The vbnmf developers"
copyright = "The vbnmf developers, BSD-3-Clause"  # noqa: A001
version = release = vbnmf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
    "sphinx_markdown_builder",
    "vbnmfsite",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = False
smartquotes_action = "qe"  # options keep their two dashes
toc_object_entries_show_parents = "hide"

# MyST: anchors as GitHub makes them, so that links work there too
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
suppress_warnings = ["myst.header"]  # pages of benchmarks skip a level below a table

autosummary_generate = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "ignore_pattern": r"(?:^|/)(?!plot_)\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "capture_repr": (),  # pictures, and what examples print
}
autodoc_typehints = "none"
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "default"

html_theme = "pydata_sphinx_theme"
html_title = "vbnmf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "vbnmf"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "questions": []}
