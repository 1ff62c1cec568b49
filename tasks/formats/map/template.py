"""Puts the parts of a page into its template: one HTML file that needs no network."""

import importlib.resources
from collections.abc import Mapping
from typing import Any

from bokeh.document import Document
from bokeh.embed import file_html
from bokeh.resources import INLINE
from jinja2 import Environment, FunctionLoader, StrictUndefined


def whole_page(document: Document, template: str, words: Mapping[str, Any]) -> bytes:
    """Return a page as HTML in UTF-8, which contains all scripts, styles and numbers.

    Args:
        document: The parts, as Bokeh models.
        template: The name of the template in this folder.
        words: The variables of the template; ``title`` is one of them.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_text))
    filled = environment.get_template(template)
    return file_html(document, INLINE, str(words["title"]), template=filled, template_variables=dict(words)).encode()


def _text(name: str) -> str:
    return importlib.resources.files("tasks.formats.map").joinpath(name).read_text("utf-8")
