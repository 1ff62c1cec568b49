"""The JSON Schema of a configuration file of any kind, by which editors complete and check it."""

import json
from functools import cache
from typing import Any

from tasks.base.config_schema import settings_schema, with_presets
from tasks.collect.config import CollectionConfig
from tasks.presence.config import PresenceConfig

_SAYS_SO = {"required": ["protects"], "properties": {"protects": {"const": "presence"}}}
_Schema = dict[str, Any]


def collection_schema() -> _Schema:
    """Return the schema of the configuration of a collection."""
    return settings_schema(CollectionConfig, CollectionConfig.kind)


def presence_schema() -> _Schema:
    """Return the schema of the configuration of a dataset whose users' presence is secret."""
    return settings_schema(PresenceConfig, "dataset")


@cache
def schema_text() -> str:
    """Return the schema of a configuration file as text: of a dataset, in either model, or of a collection.

    All sections and keys stand at the top, where editors look for them; conditions forbid what a kind has not.
    """
    of_dataset, of_collection, of_presence = with_presets(settings_schema()), collection_schema(), presence_schema()
    sections = of_dataset["properties"] | {"collection": of_collection["properties"]["collection"]}
    own = {name: _own_keys(one, sections[name]) for name, one in of_presence["properties"].items()}
    top = {name: {**one, "properties": one["properties"] | own.get(name, {})} for name, one in sections.items()}
    top["privacy"]["properties"]["protects"] = {
        **sections["privacy"]["properties"]["protects"],
        "enum": ["values", "presence"],
    }
    top["privacy"]["properties"]["protects"].pop("const", None)
    top["grid"]["properties"]["area"] = {**top["grid"]["properties"]["area"], "type": ["string", "array"]}
    top = {name: {key: one for key, one in section.items() if key != "required"} for name, section in top.items()}
    values: dict[str, _Schema] = {name: dict.fromkeys(keys, False) for name, keys in own.items() if keys}
    values["privacy"] = {**values["privacy"], "protects": {"const": "values"}}
    whole = {
        "$schema": of_collection["$schema"],
        "title": "A dataset or a collection of hexveil",
        "type": "object",
        "properties": top,
        "additionalProperties": False,
        "if": {"required": ["collection"]},
        "then": _branch(of_collection, sections, {}),
        "else": {
            "if": {"required": ["privacy"], "properties": {"privacy": _SAYS_SO}},
            "then": _branch(of_presence, sections, {}),
            "else": {
                "allOf": [
                    _branch(of_dataset, sections, values),
                    {key: of_dataset[key] for key in ("if", "else")},
                ]
            },
        },
    }
    return json.dumps(whole, indent=2) + "\n"


def _own_keys(section: _Schema, of_dataset: _Schema) -> _Schema:
    """Return the keys that a section has in this kind alone."""
    return {key: one for key, one in section["properties"].items() if key not in of_dataset["properties"]}


def _branch(kind: _Schema, sections: _Schema, forbidden: dict[str, _Schema]) -> _Schema:
    """Return what a kind of configuration needs and forbids of all sections and keys."""
    absent = {name: False for name in sections if name not in kind["properties"]}
    held = {}
    for name, section in kind["properties"].items():
        others = {key: False for key in sections.get(name, section)["properties"] if key not in section["properties"]}
        held[name] = {
            **({"required": section["required"]} if "required" in section else {}),
            "properties": others | forbidden.get(name, {}),
        }
    return {"required": kind["required"], "properties": {**absent, **held}}
