"""The Data Package of all releases (Frictionless): each file with its hash, and the columns of each table."""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tasks.base.durable import canonical_json, sha256
from tasks.output_formats.catalogue import Format, medium_of
from tasks.output_formats.hindsight import day_of
from tasks.output_formats.publication import Publication, PublishedRelease

_TABLE = "statistics.csv"
_WITH_LISTS = ("joint.parquet", "joint_shares.parquet", "joint_users.parquet", "measurements.parquet")
"""They have columns of lists, which no Table Schema can describe: a tool that read them as tables would fail."""
_IN_UNIT = re.compile(r"(mean|typical_mean)(_sd|_noise_scale|_error_bound|_ci95_low|_ci95_high|_clip_low|_clip_high)?")


def fields_of(schema: Mapping[str, pl.DataType]) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table, in order, with their types as a Table Schema names them."""
    return tuple((name, _type_of(dtype)) for name, dtype in schema.items())


@functools.lru_cache(maxsize=4096)
def fields_of_file(table: Path) -> tuple[tuple[str, str], ...]:
    """Return the columns of a released table; none if its file is missing. A file never changes, so it is read once."""
    return fields_of(pl.read_parquet_schema(table)) if table.exists() else ()


def data_package(publication: Publication) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the descriptor, and the schemas that it refers to by the name of their file.

    Releases with the same columns share a schema. So the descriptor stays small, and the name of a schema stays the
    same for as long as the columns do.
    """
    publisher = publication.config.publisher
    named = {
        "licenses": [{"path": publisher.licence}],
        "contributors": [{"title": publisher.name, "role": "publisher", "path": publisher.homepage}],
        "homepage": publisher.address or publisher.homepage,
    }
    fields = {one.fields for one in publication.releases if one.fields}
    described = {
        "profile": "data-package",
        "name": publication.config.dataset.name,
        "title": publication.title,
        "description": publication.description,
        "created": publication.modified.isoformat(),
        "privacy": dict(publication.privacy),
        "resources": [
            _resource(one, name, publication.formats) for one in publication.releases for name in sorted(one.files)
        ],
    }
    stated = {key: _without_none(value) for key, value in named.items() if value and publisher.name}
    return described | stated, {schema_name(one): table_schema(one, publication) for one in fields}


def schema_name(fields: tuple[tuple[str, str], ...]) -> str:
    """Return the name of the file with the schema of some columns."""
    return f"columns-{sha256(canonical_json(fields))[:8]}.json"


def table_schema(fields: tuple[tuple[str, str], ...], publication: Publication) -> dict[str, Any]:
    """Return the Table Schema of some columns, with the meaning and the unit of each."""
    return {
        "fields": [
            {"name": name, "type": kind, "description": publication.meaning(name)}
            | ({"unit": publication.config.value.unit} if _IN_UNIT.fullmatch(name) else {})
            for name, kind in fields
        ],
        "primaryKey": ["h3_cell", "slot_start"],
    }


def _resource(release: PublishedRelease, name: str, formats: Sequence[Format[Any]]) -> dict[str, Any]:
    stem, _, suffix = name.rpartition(".")
    days = [str(release.date), *([f"revision-{release.revision}"] if release.revision else [])]
    described = {
        "name": "-".join([stem, suffix, *days]),
        "path": f"{release.folder}/{name}",
        "format": suffix,
        "mediatype": medium_of(name, formats).media_type,
        "hash": f"sha256:{release.files[name]}",
    }
    if name == _TABLE and release.fields:
        described |= {"profile": "tabular-data-resource", "encoding": "utf-8", "schema": schema_name(release.fields)}
    if name in _WITH_LISTS or day_of(name):
        described["type"] = "file"
    return described


def _type_of(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "number"
    if dtype == pl.Boolean:
        return "boolean"
    return "datetime" if dtype.is_temporal() else "string"


def _without_none(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_none(one) for one in value]
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else value
