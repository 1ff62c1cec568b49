"""A configuration file is of a dataset, in one of two models, or of a collection: only this module asks of which."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks.base.config import load_config
from tasks.base.owner import Owner, Spender
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


def is_presence(path: Path) -> bool:
    """Return whether a configuration file is of a dataset whose users' presence is secret."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))["privacy"]["protects"] == "presence"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def load_either(path: Path) -> Owner:
    """Read and check the configuration of a dataset, in either model, or of a collection.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    if is_collection(path):
        return load_collection(path)
    return load_spender(path)


def load_spender(path: Path) -> Spender:
    """Read and check the configuration of a dataset, in either model; raises what ``load_either`` does."""
    if not is_presence(path):
        return load_config(path)
    from tasks.presence.config import load_presence  # it needs h3, which is not small

    return load_presence(path)


def schedule_of(config: Owner) -> Schedule:
    """Return what is scheduled of a dataset or a collection."""
    if isinstance(config, CollectionConfig):
        steps = ("open", "localise", "estimate")
        return Schedule("prefect.collection.yaml", steps, _WEEKDAYS[config.collection.period])
    return Schedule("prefect.yaml", ("daily",))
