"""The configuration of a dataset whose users' presence is secret: `[privacy] protects = "presence"`."""

from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import h3
import numpy as np
from pydantic import Field, model_validator

from dpmath.presence.user_cells import MOST_CELLS
from tasks.base.config import Config, OfDataset, refuse_odd_speed
from tasks.base.config_calendar import Calendar
from tasks.base.config_publisher import Publisher
from tasks.base.config_reading import read_as
from tasks.base.config_sections import Budget, Monitoring, Storage, Value
from tasks.base.config_source import OF_PATH, Columns, Dataset
from tasks.base.config_types import Section
from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import BadConfig
from tasks.base.file_patterns import is_of_path
from tasks.presence.area import hexagons_of
from tasks.presence.sections import AreaGrid, PresencePrivacy, PresencePublish, PresenceStatistics

FORMATS = ("csv", "parquet", "ndjson", "json")
_MOST_TICKS = 1 << 16
NO_VALUE = "{none}"
"""What `columns.value` is where numbers of users alone are published."""
_OF_COUNTS = {"name": "users", "unit": "", "lower": 0, "upper": 1, "tick": 1}


class PresenceConfig(OfDataset, Section):
    """The whole configuration of a dataset whose users' presence is secret. Paths are relative to the file."""

    kind: ClassVar[str] = "presence"

    dataset: Dataset
    columns: Columns
    value: Value
    grid: AreaGrid
    privacy: PresencePrivacy
    budget: Budget
    statistics: PresenceStatistics = PresenceStatistics()
    calendar: Calendar = Calendar()
    publish: PresencePublish = PresencePublish()
    publisher: Publisher = Publisher()
    storage: Storage
    monitoring: Monitoring = Monitoring()
    folder: Path = Field(exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _counts_have_no_value(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("statistics"), dict):
            return given
        if given["statistics"].get("mean") is not False:
            return given
        columns = dict(given.get("columns") or {})
        if "value" in given or "value" in columns:
            raise ValueError("statistics.mean = false publishes no values: leave out [value] and columns.value")
        return {**given, "value": _OF_COUNTS, "columns": {**columns, "value": NO_VALUE}}

    @model_validator(mode="after")
    def _what_each_record_says_by_itself(self) -> Self:
        """Refuse what is decided by several records, which may be of several users."""
        dataset, columns = self.dataset, self.columns
        unlike = dataset.format is not None and dataset.format not in FORMATS
        if unlike or dataset.preset is not None:
            raise ValueError(
                "files must be CSV, Parquet, NDJSON or JSON where presence is secret: remove format and preset"
            )
        if dataset.records is not None and dataset.format not in (None, "json"):
            raise ValueError("records is for JSON documents: remove it, or format")
        if columns.is_of_path or columns.time_else is not None or columns.age is not None:
            raise ValueError(
                f"columns must not be {', '.join(OF_PATH)} where presence is secret, nor have time_else or age"
            )
        refuse_odd_speed(columns, self.value)
        if any(map(is_of_path, columns.of_time)):
            raise ValueError("columns.time must be in the files where presence is secret, and not in their paths")
        if columns.user_is not in (None, "day"):
            raise ValueError(f'columns.user_is = "{columns.user_is}" protects nobody\'s presence: remove it')
        if columns.value == NO_VALUE and self.statistics.mean:
            raise ValueError("to publish no values set statistics.mean = false, and leave out columns.value")
        if self.value.screen:
            raise ValueError("value.screen counts users, which are secret here: remove it")
        if self.privacy.loss_per_day > self.privacy.currency.within(self.budget.epsilon_total):
            raise ValueError(
                "budget.epsilon_total pays no day of privacy.epsilon_per_day: raise it, or lower the other"
            )
        if "least_share" in self.budget.model_fields_set:
            raise ValueError(
                "budget.least_share is for budgets of users; here each day costs everybody the same: remove it"
            )
        return self

    @model_validator(mode="after")
    def _sums_that_fit(self) -> Self:
        n_cells = len(self.hexagons) * self.n_slots
        if n_cells > MOST_CELLS:
            raise ValueError(
                f"grid.area has {len(self.hexagons):,} hexagons, with {self.n_slots} slots each: more than "
                f"{MOST_CELLS:,} cells. Take a lower h3_resolution, longer slots or a smaller area"
            )
        if self.value.n_ticks > _MOST_TICKS:
            raise ValueError(
                f"value.tick must leave at most {_MOST_TICKS:,} ticks from lower to upper where presence is secret"
            )
        return self

    @cached_property
    def hexagons(self) -> tuple[str, ...]:
        """The hexagons of the area, sorted; its file is read once."""
        return hexagons_of(self.grid.area, self.grid.h3_resolution, self.folder)

    @property
    def n_slots(self) -> int:
        """Slots of a day by the clock on the wall; a day of 23 or 25 hours has as many."""
        return 1440 // self.grid.slot_minutes

    @property
    def tick(self) -> float:
        """A tick in the value's unit."""
        return float(Fraction(self.value.tick))

    def public_settings(self) -> dict[str, Any]:
        """Return the settings that the ledger records: all except paths, warnings and publisher. An area has a hash."""
        settings = self.model_dump(mode="json", exclude={"storage", "monitoring", "publisher"})
        del settings["dataset"]["files"], settings["publish"]["places"]
        settings["grid"]["area"] = _described(self.hexagons)
        return settings

    @property
    def as_shown(self) -> Config:
        """What the parts of the map ask of a configuration: names, units, grid and places."""
        grid = self.grid.model_dump(exclude={"area"})
        shown = {
            "dataset": self.dataset,
            "columns": self.columns,
            "value": self.value,
            "grid": grid,
            "privacy": {"epsilon_per_day": self.privacy.epsilon_per_day, "delta": self.privacy.delta},
            "budget": self.budget,
            "publisher": self.publisher,
            "validation": self._box,
            "publish": self.publish.model_dump(exclude={"publish_from"}),
            "storage": self.storage,
            "folder": self.folder,
        }
        return Config.model_validate(shown)

    @property
    def _box(self) -> dict[str, Decimal]:
        """A box around the area, in degrees."""
        corners = np.array([corner for one in self.hexagons for corner in h3.cell_to_boundary(one)])
        (south, west), (north, east) = corners.min(axis=0).round(4), corners.max(axis=0).round(4)
        sides = {"south": south, "north": north, "west": west, "east": east}
        return {name: Decimal(str(side)) for name, side in sides.items()}

    def with_settings(self, settings: dict[str, Any], hexagons: list[str]) -> Self:
        """Return the configuration of recorded public settings, with all that is not recorded taken from this one.

        Args:
            settings: The settings.
            hexagons: Those of their area.

        Raises:
            ValueError: The hexagons are not those of the settings.
        """
        if settings["grid"]["area"] != _described(tuple(hexagons)):
            raise ValueError("the hexagons are of another area")
        here = self.model_dump(mode="json")
        whole = {
            **settings,
            "dataset": {**settings["dataset"], "files": here["dataset"]["files"]},
            "grid": {**settings["grid"], "area": hexagons},
            "publish": {**settings["publish"], "places": here["publish"]["places"]},
            "storage": here["storage"],
            "monitoring": here["monitoring"],
            "publisher": here["publisher"],
            "folder": str(self.folder),
        }
        if not settings["statistics"]["mean"]:
            del whole["value"]
            whole["columns"] = {key: one for key, one in settings["columns"].items() if key != "value"}
        return type(self).model_validate(whole, strict=False)

    @property
    def is_measured(self) -> bool:
        """Whether records have a value of their own: nothing is counted alone, or derived from places."""
        return self.statistics.mean and not self.columns.is_speed

    @property
    def by_role(self) -> dict[str, str]:
        """The name of each role's column; where nothing is measured, something that every record has is the value."""
        roles = self.columns.by_role
        return roles if self.is_measured else {**roles, "value": next(iter(self.columns.of_place.values()))}

    def with_privacy(self, settings: dict[str, Any]) -> Self:
        """Return the configuration with a recorded section on privacy."""
        return self.model_copy(update={"privacy": PresencePrivacy.model_validate(settings, strict=False)})


def _described(hexagons: tuple[str, ...]) -> dict[str, Any]:
    return {"hexagons": len(hexagons), "hash": sha256(canonical_json(hexagons))}


def load_presence(path: Path) -> PresenceConfig:
    """Read and check the configuration of a dataset whose users' presence is secret.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    config = read_as(PresenceConfig, path)
    if not config.hexagons:
        raise BadConfig(f"{path}: grid.area holds no hexagon: give it a polygon, or an H3 cell")
    return config
