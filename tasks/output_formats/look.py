"""How pages look, light and dark, on a desktop and a phone."""

import functools
import importlib.resources

from jinja2 import Environment, StrictUndefined, Template


@functools.cache
def colours() -> str:
    """Return the colours that all pages have in common, by their names in the style."""
    return importlib.resources.files("tasks.output_formats").joinpath("colours.css").read_text("utf-8")


@functools.cache
def look() -> str:
    """Return the style that pages without plots have in common."""
    return colours() + importlib.resources.files("tasks.output_formats").joinpath("look.css").read_text("utf-8")


@functools.cache
def template(package: str, name: str) -> Template:
    """Return a page's template, compiled once for all pages of a process."""
    text = importlib.resources.files(package).joinpath(name).read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
