"""The JSON Schema of a configuration file of either kind, by which editors complete and check it."""

import json
from functools import cache
from typing import Any

from tasks.base.config_schema import settings_schema, with_presets
from tasks.collect.config import CollectionConfig


@cache
def schema_text() -> str:
    """Return the schema of a configuration file as text: of a dataset, or of a collection if it has that section."""
    of_dataset = with_presets(settings_schema())
    of_dataset.pop("$schema")
    return json.dumps(_either(collection_schema(), of_dataset), indent=2) + "\n"


def collection_schema() -> dict[str, Any]:
    """Return the schema of the configuration of a collection."""
    return settings_schema(CollectionConfig, CollectionConfig.kind)


def _either(of_collection: dict[str, Any], of_dataset: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of files of either kind. All sections stand at the top, where editors look for them."""
    sections = of_dataset["properties"] | {"collection": of_collection["properties"]["collection"]}
    absent = {name: False for name in of_dataset["properties"] if name not in of_collection["properties"]}
    value = {"required": of_collection["properties"]["value"]["required"]}
    conditions = {key: of_dataset[key] for key in ("required", "if", "else")}
    return {
        "$schema": of_collection["$schema"],
        "title": "A dataset or a collection of hexveil",
        "type": "object",
        "properties": sections,
        "additionalProperties": False,
        "if": {"required": ["collection"]},
        "then": {"required": of_collection["required"], "properties": {**absent, "value": value}},
        "else": conditions,
    }
