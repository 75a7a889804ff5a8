"""How Sphinx makes the documentation site: `make docs`.

Markdown is read by MyST, a CommonMark parser, so a page looks here as it looks on a code forge. The pages of the Python interface
come from the docstrings: the library is imported, with settings that name nothing but it. `sources.py` lays out what Sphinx reads.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from pygments.lexers.templates import HtmlDjangoLexer

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

settings.configure(
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "edna",
        "edna.operations",
        "edna.audiences",
        "edna.policies",
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()

project = "edna"
author = "the edna authors"
version = release = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "README"
myst_heading_anchors = 6  # named as code forges name them

default_role = "code"  # what one backtick means in the docstrings
autodoc_inherit_docstrings = False  # those of Django are not ours
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"edna {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def list_of_errors(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Below "Raises:" docstrings have an error and why in each entry, or prose."""
    if "Raises:" not in lines:
        return
    at = lines.index("Raises:")
    text = inspect.cleandoc("\n".join(["", *lines[at + 1 :]]))
    entries = [re.sub(r"\s*\n\s+", " ", entry) for entry in re.split(r"\n(?! )", text)]
    if all(re.match(r"\w+: ", entry) for entry in entries):
        lines[at:] = [f":raises {entry}" for entry in entries]
    else:
        lines[at:] = ["Raises: " + " ".join(text.split())]


def signature(app: Any, what: str, name: str, obj: object, options: object, said: str | None, returns: str) -> Any:
    """None for a class that nobody calls; and no default that is not Python."""
    import sources

    if what == "class" and sources.is_only_returned(name):
        return "", ""
    return said and (said.replace("<factory>", "..."), returns)


def setup(app: Any) -> None:
    import sources

    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", list_of_errors)
    app.add_lexer("html", HtmlDjangoLexer)
    app.connect("config-inited", lambda app, config: sources.lay_out(Path(app.srcdir)))
    app.connect("build-finished", lambda app, error: error or sources.name_the_first_page(Path(app.outdir), root_doc))
