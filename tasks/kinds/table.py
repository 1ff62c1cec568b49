"""The kinds of release by name, and stored plans with the kind that their settings name."""

import json
from typing import Any

from tasks.account import private_files
from tasks.base.config import Config
from tasks.kinds.arrays.kind import Arrays
from tasks.kinds.clipped.kind import Clipped
from tasks.kinds.estimated.kind import Estimated
from tasks.kinds.kind import Kind
from tasks.kinds.stored_plan import StoredPlan
from tasks.proposals.mechanisms import MECHANISMS

KINDS: dict[str, Kind] = {"clipped": Clipped(), "arrays": Arrays(), "estimated": Estimated()}


def kind_of(config: Config) -> Kind:
    """Return the kind of a configuration's releases."""
    return kind_named(config.privacy.mechanism)


def kind_named(mechanism: str) -> Kind:
    """Return the kind of a mechanism's releases."""
    return KINDS[MECHANISMS[mechanism].kind]


def load_plan(name: str, config: Config) -> StoredPlan:
    """Return the stored plan with that hash.

    Raises:
        LedgerBroken: It is missing or changed.
    """
    folder = private_files.plans(config)
    stored: dict[str, Any] = json.loads(private_files.read(folder, name))
    settings = stored["settings"]
    return StoredPlan(name, settings, stored["files"], folder, kind_named(settings["privacy"]["mechanism"]).published)
