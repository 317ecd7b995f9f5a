"""How Sphinx makes the site out of these pages: nox -s docs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extension"))

from docutils import nodes  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402 - the path comes first

import ltocompat  # noqa: E402
from ltocompat.model.version import SITE_URL, VERSION  # noqa: E402

project = "ltocompat"
author = "the authors of ltocompat"
project_copyright = "the authors of ltocompat, Apache-2.0"
version = release = VERSION
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "accessible_html",
    "compatibility_tables",
    "error_search",
    "reference_pages",
]
exclude_patterns = ["extension", "example"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "ltocompat"
html_baseurl = SITE_URL
html_static_path = ["_static", "../ltocompat/report/schemas"]
html_css_files = ["site.css"]
html_js_files = ["search-form.js"]
html_copy_source = False
html_additional_pages = {"search": "search.html"}  # Sphinx writes none without its own index
html_show_sphinx = False
html_theme_options = {
    "light_logo": "wordmark-light.svg",
    "dark_logo": "wordmark-dark.svg",
    "sidebar_hide_name": True,
    "top_of_page_buttons": [],
}

nitpicky = True
# Types of the standard library and of inner modules have no page here.
nitpick_ignore_regex = [("py:.*", ".*")]
smartquotes = False  # quotation marks of commands are copied as they are
myst_heading_anchors = 3
autosummary_generate = False  # a table of the values, no page for each
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]
pygments_style = "default"
pygments_dark_style = "github-dark"


def _typed(_app: object, _what: str, name: str, *_: object) -> tuple[str, str] | None:
    """The signature of a function that is made of options, with the types that its stub has."""
    stub = Path(ltocompat.__file__).with_suffix(".pyi").read_text("utf-8")
    for node in ast.parse(stub).body:
        if isinstance(node, ast.FunctionDef) and name == f"ltocompat.{node.name}":
            return f"({ast.unparse(node.args)})", ast.unparse(node.returns or node)
    return None


def _prompted(_app: object, tree: nodes.document) -> None:
    """Show a command with its answer as a terminal does, not as words of a shell."""
    for block in tree.findall(nodes.literal_block):
        if block.get("language") == "sh" and block.astext().startswith("$ "):
            block["language"] = "console"


def setup(app: Sphinx) -> None:
    """Have the types of functions shown, and answers without the colours of a shell."""
    app.connect("doctree-read", _prompted)
    app.connect("autodoc-process-signature", _typed)
