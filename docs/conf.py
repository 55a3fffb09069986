"""How Sphinx builds the pages: `sphinx-build -W -c docs . docs/_build/html`.

The root of the sources is that of the repository, so that a link in a file leads to the same place
here and there. Nothing is fetched and nothing executed: the tests run the notebooks.
"""

from importlib import metadata

project = "ropewalk"
author = "The ropewalk developers"
release = version = metadata.version("ropewalk")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/performance/*.md",
    "docs/reference/*.rst",
    "notebooks/*.ipynb",
    "notebooks/ja/*.ipynb",
]
templates_path = ["docs/_templates"]
default_role = "autolink"

# A page for every name in __all__, wherever the name was defined.
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say more
napoleon_google_docstring = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"

html_theme = "pydata_sphinx_theme"
html_title = f"ropewalk {release}"
html_theme_options = {"header_links_before_dropdown": 4}
