"""Sphinx: the site that ``make docs`` builds from the guides, the examples and the code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import FunctionSortKey

from unseen import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from gallery_pictures import order  # noqa: E402 - it lies in the folder named above

project = "unseen"
author = copyright = "The unseen developers"
release = version = __version__
language = "en"
smartquotes = False  # two hyphens of an option stay two

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "gallery_pictures",
    "house_picture",
    "method_facts",
    "plain_docstrings",
    "reference_pages",
    "repository_links",
    "results_pages",
    "version_page",
]
exclude_patterns = [
    "_build",
    "extensions",
    "templates",
    "design/generated/*.md",
    "numbers.toml",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

templates_path = ["templates"]
autosummary_generate = True
autodoc_typehints = "none"  # the types stand in the docstrings
autodoc_default_options = {"members": True, "inherited-members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # fitted names, as a list
napoleon_use_param = False  # types are prose ("list of classes"), not names to link
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": FunctionSortKey(order),
    "image_scrapers": ("gallery_pictures.frames_scraper",),
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 320),
    "reset_modules": ("matplotlib", "gallery_pictures.set_style"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # its page would load scripts from another machine
    "show_signature": False,
    "min_reported_time": 1e6,
}

html_theme = "pydata_sphinx_theme"
html_title = f"unseen {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["names.js", "rounds.js"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["version-note", "theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "index": [],
        "gallery/index": [],
    },
    "header_links_before_dropdown": 7,
    "logo": {"text": "unseen"},
    "footer_start": ["copyright"],
    "footer_end": ["version-note"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "search": []}
suppress_warnings = ["ref.python"]  # a parameter's name that several classes share is not linked
