"""The JSON Schema of a configuration file, by which editors complete and check it."""

import ast
import functools
import inspect
import textwrap
from typing import Any

from tasks.base.config import Config
from tasks.base.config_types import Section

SCHEMA_FILE = "hexveil.schema.json"
"""The name of the schema beside a configuration."""
_RAW_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def settings_schema(configuration: type[Section] = Config, kind: str = Config.kind) -> dict[str, Any]:
    """Return the JSON Schema of a configuration file, with a text about each key, which Pydantic's schema lacks.

    Args:
        configuration: The class of its sections.
        kind: What it is the configuration of.
    """
    whole = configuration.model_json_schema()
    schema = _plainer(_inlined(whole, whole["$defs"]))
    sections: dict[str, Any] = {}
    for name, field in configuration.model_fields.items():
        model: Any = field.annotation
        if name not in schema["properties"] or not hasattr(model, "model_fields"):
            continue
        sections[name] = schema["$defs"][model.__name__]
        sections[name]["description"] = inspect.cleandoc(model.__doc__)
        texts = [field_texts(one) for one in reversed(model.__mro__) if issubclass(one, Section) and one is not Section]
        for key, text in {key: text for of_class in texts for key, text in of_class.items()}.items():
            sections[name]["properties"][key]["description"] = text
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A {kind} of hexveil",
        "type": "object",
        "properties": sections,
        "required": [name for name in schema["required"] if name in sections],
        "additionalProperties": False,
    }


def with_presets(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that requires what a preset fills in only where there is none."""
    filled = {"columns": schema["properties"]["columns"].pop("required")}
    schema["properties"]["value"]["required"].remove("name")
    schema["required"].remove("columns")
    needed = {name: {"required": keys} for name, keys in {**filled, "value": ["name"]}.items()}
    with_preset = {"properties": {"dataset": {"required": ["preset"]}}}
    return {**schema, "if": with_preset, "else": {"required": ["columns"], "properties": needed}}


@functools.cache
def field_texts(model: type) -> dict[str, str]:
    """Return the text under each field of a model's source, on one line.

    Pydantic could keep these texts itself, but would then read the source of the models whenever a command starts.
    """
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 it is the source of a class
    texts = {}
    for field, following in zip(definition.body, definition.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            texts[field.target.id] = " ".join(str(following.value.value).split())
    return texts


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with the definition of the items of each list in its place."""
    if isinstance(schema, list):
        return [_inlined(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    items = schema.get("items")
    of_items = definitions[items["$ref"].rpartition("/")[2]] if isinstance(items, dict) and "$ref" in items else items
    whole = schema if items is None else {**schema, "items": of_items}
    return {key: _inlined(value, definitions) for key, value in whole.items()}


def _plainer(schema: Any) -> Any:
    """Return a schema as TOML needs it: numbers may not be texts, and no value is null."""
    if isinstance(schema, list):
        return [_plainer(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {_RAW_BOUNDS.get(key, key): _plainer(value) for key, value in schema.items() if key != "title"}
    choices = [one for one in plain.pop("anyOf", []) if one.get("type") != "null"]
    numbers = [one for one in choices if one.get("type") == "number"]
    for choice in numbers or choices:
        plain = {**choice, **plain}
    if plain.get("type") == "number":
        plain |= {key: _number(plain[key]) for key in (*_RAW_BOUNDS.values(), "default") if plain.get(key) is not None}
    if "default" in plain and plain["default"] is None:
        del plain["default"]
    return plain


def _number(value: str | float) -> float:
    return int(float(value)) if float(value).is_integer() else float(value)
