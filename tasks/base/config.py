"""The configuration of a dataset: one TOML file."""

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from dpmath.core.bias import rounding_errors
from tasks.base.config_calendar import Calendar
from tasks.base.config_presets import filled_in
from tasks.base.config_privacy import Privacy, recorded_privacy
from tasks.base.config_publisher import Publisher
from tasks.base.config_reading import parsed, text_of
from tasks.base.config_sections import (
    Budget,
    Engine,
    Estimate,
    Grid,
    Monitoring,
    Publish,
    Statistics,
    Storage,
    Validation,
    Value,
)
from tasks.base.config_source import OF_PATH, SPEED, Columns, Dataset
from tasks.base.config_types import Section, file_in_the_way
from tasks.base.errors import BadConfig
from tasks.base.file_patterns import is_of_path, time_problem

SPEED_UNITS = {"m/s": 1.0, "km/h": 3.6, "mph": 2.2369362920544, "kn": 1.9438444924406}
"""The units of a speed that is derived, each by how many make a metre a second."""


class _Parts(Protocol):
    @property
    def dataset(self) -> Dataset: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def storage(self) -> Storage: ...
    @property
    def folder(self) -> Path: ...


def refuse_odd_speed(columns: Columns, value: Value) -> None:
    """Check that a speed that is derived has one of the units, and nothing that is for values of the source.

    Raises:
        ValueError: It is not so.
    """
    if columns.is_speed and value.unit not in SPEED_UNITS:
        raise ValueError(f"columns.value = {SPEED} needs a value.unit of {', '.join(SPEED_UNITS)}")
    if columns.is_speed and (value.factor != 1 or value.missing or value.change):
        raise ValueError(f"columns.value = {SPEED} is in value.unit: remove value.factor, missing and change")


class OfDataset:
    """What a configuration of a dataset is, in either model: its name, its zones, its folder and its days."""

    @property
    def name(self: _Parts) -> str:
        """The name of the dataset."""
        return self.dataset.name

    @property
    def timezone(self: _Parts) -> str:
        """The time zone of the schedules."""
        return self.dataset.timezone

    @property
    def time_zone(self: _Parts) -> str:
        """The time zone of times without an offset."""
        return self.columns.time_zone or self.dataset.timezone

    @property
    def resource(self: _Parts) -> str:
        """What the scheduler's events are about."""
        return f"hexveil.dataset.{self.dataset.name}"

    @property
    def storage_path(self: _Parts) -> Path:
        """The folder of the warehouse, the ledger and the published files."""
        return (self.folder / self.storage.path).resolve()

    def period_of(self: _Parts, date: dt.date) -> str:
        """Return the name of a local day, which is what a dataset publishes."""
        return date.isoformat()

    def last_over(self: _Parts, today: dt.date) -> dt.date:
        """Return the last local day that is over on a day."""
        return today - dt.timedelta(days=1)

    def day_bounds(self: _Parts, date: dt.date) -> tuple[dt.datetime, dt.datetime]:
        """Return the first instants of a local day and of the next day, in UTC."""
        return day_bounds(date, self.dataset.timezone)


class Config(OfDataset, Section):
    """The whole configuration of one dataset. Paths are relative to the configuration file."""

    kind: ClassVar[str] = "dataset"

    dataset: Dataset
    columns: Columns
    value: Value
    grid: Grid
    validation: Validation = Validation()
    privacy: Privacy
    budget: Budget
    statistics: Statistics = Statistics()
    estimate: Estimate = Estimate()
    calendar: Calendar = Calendar()
    publish: Publish = Publish()
    publisher: Publisher = Publisher()
    storage: Storage
    engine: Engine = Engine()
    monitoring: Monitoring = Monitoring()
    folder: Path = Field(exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _what_the_preset_fills_in(cls, given: Any) -> Any:
        return filled_in(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _promise_for_a_statistic(self) -> Self:
        if self.privacy.target_error_variance is not None and not self.statistics.variance:
            raise ValueError("privacy.target_error_variance needs statistics.variance = true")
        if self.statistics.variance and not self.privacy.row.has_variance:
            raise ValueError(
                f"privacy.mechanism {self.privacy.mechanism} has no variance: set statistics.variance = false, or take "
                "another mechanism"
            )
        return self

    @model_validator(mode="after")
    def _promise_above_rounding(self) -> Self:
        rounding = rounding_errors(self.value.n_ticks)
        targets = (self.privacy.target_error, self.privacy.target_error_variance)
        for power, (target, ticks) in enumerate(zip(targets, rounding, strict=True), start=1):
            least = ticks * Fraction(self.value.tick) ** power
            if target is not None and Fraction(target) <= least:
                raise ValueError(f"a target of {target} must be above {float(least)}, which rounding to ticks takes")
        return self

    @model_validator(mode="after")
    def _a_day_pays_for_a_cell_and_the_screening(self) -> Self:
        privacy, currency = self.privacy, self.privacy.currency
        if not self.value.screen or privacy.cell_epsilon is None:
            return self
        cost, most = privacy.row.cell_cost(Fraction(privacy.cell_epsilon), currency), privacy.loss_per_day
        if cost > most - most // 100:
            raise ValueError(
                f"value.screen takes a hundredth of epsilon_per_day, and cell_epsilon = {privacy.cell_epsilon} more "
                "than the rest: lower cell_epsilon, or set value.screen = false"
            )
        return self

    @model_validator(mode="after")
    def _covariates_that_are_used(self) -> Self:
        if self.estimate.covariates is not None and not self.privacy.row.is_joint:
            raise ValueError(f"estimate.covariates is of no use to mechanism {self.privacy.mechanism}: remove it")
        return self

    @model_validator(mode="after")
    def _zones_that_can_be_added_up(self) -> Self:
        if self.publish.zones is not None and not self.privacy.row.is_joint:
            raise ValueError('publish.zones needs mechanism = "estimated", whose files say how cells err together')
        return self

    @model_validator(mode="after")
    def _percentiles_that_can_be_asked(self) -> Self:
        if not self.statistics.of_laws:
            return self
        what = "statistics.percentiles and statistics.limits"
        if not self.privacy.row.has_percentiles or self.privacy.definition == "pure":
            raise ValueError(f'{what} need mechanism = "estimated" and definition = "zcdp" or "gaussian": remove them')
        if self.engine.name != "local":
            raise ValueError(f'{what} need engine.name = "local": remove them')
        if any(not self.value.lower <= limit < self.value.upper for limit in self.statistics.limits):
            raise ValueError("statistics.limits must be at least value.lower, and below value.upper")
        return self

    @model_validator(mode="after")
    def _columns_that_the_files_have(self) -> Self:
        names = self.columns.by_role.values()
        absent = [
            name for name in names if name not in (*self.dataset.header, *OF_PATH, SPEED) and not is_of_path(name)
        ]
        if self.dataset.header and absent:
            raise ValueError(f"dataset.header must name every column of the files: it lacks {absent[0]}")
        return self

    @model_validator(mode="after")
    def _paths_that_say_times(self) -> Self:
        of_path = [name for name in self.columns.of_time if is_of_path(name)]
        problem = next(filter(None, (time_problem(name, self.dataset.files) for name in of_path)), None)
        if problem is not None:
            raise ValueError(f"columns.time {problem}")
        return self

    @model_validator(mode="after")
    def _a_speed_has_a_unit(self) -> Self:
        refuse_odd_speed(self.columns, self.value)
        return self

    def reading_settings(self) -> dict[str, Any]:
        """Return the settings that decide what is read from a file."""
        settings = self.public_settings()
        del settings["dataset"]["purpose"]
        return {"columns": settings["columns"], "dataset": settings["dataset"]}

    def public_settings(self) -> dict[str, Any]:
        """Return the settings that the ledger records: all except paths, engine, warnings and publisher."""
        settings = self.model_dump(mode="json", exclude={"storage", "engine", "monitoring", "publisher"})
        del settings["dataset"]["files"], settings["estimate"]["covariates"], settings["publish"]["places"]
        del settings["publish"]["zones"]
        return settings

    def with_settings(self, settings: dict[str, Any]) -> Self:
        """Return the configuration of recorded public settings, with all that is not recorded taken from this one."""
        here = self.model_dump(mode="json")
        whole = {
            **settings,
            "dataset": {**settings["dataset"], "files": here["dataset"]["files"]},
            "privacy": recorded_privacy(settings["privacy"]),
            "storage": here["storage"],
            "engine": self.engine,
            "monitoring": here["monitoring"],
            "publisher": here["publisher"],
            "folder": str(self.folder),
        }
        return type(self).model_validate(whole, strict=False)


def day_bounds(date: dt.date, timezone: str) -> tuple[dt.datetime, dt.datetime]:
    """Return the first instants of a day in a time zone and of the next day, in UTC."""
    midnights = (dt.datetime.combine(day, dt.time(), ZoneInfo(timezone)) for day in (date, date + dt.timedelta(days=1)))
    start, end = (midnight.astimezone(dt.UTC) for midnight in midnights)
    return start, end


def load_config(path: Path) -> Config:
    """Read and check a configuration file.

    Args:
        path: The TOML file.

    Returns:
        The frozen configuration.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    return config_of(text_of(path), path)


def config_of(text: str, path: Path) -> Config:
    """Check the text of a configuration file, which need not be written yet; the rest is as for ``load_config``.

    Args:
        text: The text.
        path: Where the file is, or will be: its paths are relative to it.
    """
    config = parsed(Config, text, path)
    storage = config.storage_path
    in_the_way = file_in_the_way(storage)
    if in_the_way is not None:
        raise BadConfig(f"{path}: storage.path is {storage}, but {in_the_way} is a file; name a folder, new or its own")
    return config
