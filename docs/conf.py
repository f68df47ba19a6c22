"""`make docs`: these pages and the API from its docstrings, as a site. Warnings are errors."""

from sojourn import __version__

project = "Sojourn"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Sojourn"
myst_heading_anchors = 3
autodoc_typehints = "none"  # they are in the signatures
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "inherited-members": True}
suppress_warnings = ["myst.xref_missing"]  # links to files outside docs/ are checked by the tests
