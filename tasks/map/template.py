"""Puts the parts of a page into its template: one HTML file that needs no network."""

import importlib.resources
import json
import re
from collections.abc import Mapping
from typing import Any

from bokeh.document import Document
from bokeh.embed import file_html
from bokeh.resources import INLINE
from jinja2 import Environment, FunctionLoader, StrictUndefined

from tasks.output_formats.look import colours

_HERE = "tasks.map"
_ITEMS = re.compile(r"render_items = (\[.*\]);")
_DOCUMENTS = re.compile(r"docs_json = document\.getElementById\('([^']*)'\)")
_MODEL = re.compile(r'"id":"p(\d+)"')
_OF_A_MODEL = re.compile(r'("id":"|data-root-id=")(p\d+)(?=")')


def whole_page(document: Document, template: str, words: Mapping[str, Any], package: str = _HERE) -> bytes:
    """Return a page as HTML in UTF-8, which contains all scripts, styles and numbers.

    Args:
        document: The parts, as Bokeh models.
        template: The name of the template.
        words: The variables of the template; ``title`` is one of them.
        package: Where the template is; what it extends is here.
    """

    def text(name: str) -> str:
        return importlib.resources.files(package if name == template else _HERE).joinpath(name).read_text("utf-8")

    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(text))
    filled = environment.get_template(template)
    variables = {"colours": colours(), "tiles_host": "", "tiles_credit": "", **words}
    page = file_html(document, INLINE, str(words["title"]), template=filled, template_variables=variables)
    return page.encode()


def with_own_ids(page: bytes) -> bytes:
    """Return a page with ids in the place of Bokeh's, so that the same parts always give the same bytes.

    A collection's step that is killed is done again, and must give the same bytes. A day's map is drawn once.

    Bokeh draws the ids of elements at random, and numbers models from the start of the process. Only ids are replaced:
    a text of the configuration stands in JSON or HTML, where its quotes are escaped.
    """
    text = page.decode()
    stated = _ITEMS.findall(text)[-1]
    (items,), (documents,) = json.loads(stated), _DOCUMENTS.findall(text)
    first = min(map(int, _MODEL.findall(text)))

    def own(model: str) -> str:
        return f"p{int(model.removeprefix('p')) - first + 1}"

    for number, drawn in enumerate([documents, items["docid"], *items["roots"].values()], start=1):
        text = text.replace(drawn, f"part-{number}")
    roots = {own(model): f"part-{number}" for number, model in enumerate(items["roots"], start=3)}
    renamed = [{"docid": "part-2", "roots": roots, "root_ids": [own(model) for model in items["root_ids"]]}]
    text = _ITEMS.sub(lambda _: f"render_items = {json.dumps(renamed)};", text)
    return _OF_A_MODEL.sub(lambda found: found[1] + own(found[2]), text).encode()
