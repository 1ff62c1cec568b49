"""A configuration file is of a dataset or of a collection: only this module asks of which, and what follows from it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.base.config import load_config
from tasks.base.owner import Owner
from tasks.collect.config import CollectionConfig, load_collection

_WEEKDAYS = {
    "day": {"HEXVEIL_OPEN_DAY": "*", "HEXVEIL_LOCALISE_DAY": "*", "HEXVEIL_ESTIMATE_DAY": "*"},
    "week": {"HEXVEIL_OPEN_DAY": "1", "HEXVEIL_LOCALISE_DAY": "4", "HEXVEIL_ESTIMATE_DAY": "0"},
}
"""On which days the steps of a collection are scheduled, as cron writes it: 1 is Monday, 0 is Sunday."""


@dataclass(frozen=True)
class Schedule:
    """What is scheduled of a dataset or a collection.

    Attributes:
        definitions: The name of the file with its deployments, in ``deploy``.
        flows: What runs by itself; if the last does not, somebody is told.
        variables: What the file asks for besides the names.
    """

    definitions: str
    flows: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def is_collection(path: Path) -> bool:
    """Return whether a configuration file is of a collection; a file that cannot be read is of none."""
    try:
        return "collection" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def load_either(path: Path) -> Owner:
    """Read and check the configuration of a dataset, or of a collection if it has a section ``[collection]``.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    return load_collection(path) if is_collection(path) else load_config(path)


def schema_text() -> str:
    """Return the JSON Schema of a configuration file of either kind, which ``init`` writes beside a configuration."""
    from tasks.collect import schema

    return schema.schema_text()


def schedule_of(config: Owner) -> Schedule:
    """Return what is scheduled of a dataset or a collection."""
    if isinstance(config, CollectionConfig):
        steps = ("open", "localise", "estimate")
        return Schedule("prefect.collection.yaml", steps, _WEEKDAYS[config.collection.period])
    return Schedule("prefect.yaml", ("daily",))
