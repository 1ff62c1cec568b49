"""The configuration: one TOML file, read here and nowhere else."""

import datetime as dt
import difflib
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from dpmath.bias import rounding_errors
from tasks.errors import BadConfig

DATE_PLACEHOLDER = "{date}"
LEAST_EPSILON_PER_DAY = Decimal("1e-6")


def _finite_decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number = Annotated[Decimal, BeforeValidator(_finite_decimal), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Dataset(_Section):
    """Which files hold the records, and in which time zone their days are."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    files: tuple[str, ...] = Field(min_length=1)
    timezone: str
    purpose: str = "not stated"
    delimiter: str = Field(default=",", min_length=1, max_length=1)

    @field_validator("files", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in available_timezones() - {"localtime", "Factory", "posixrules"}:
            close = difflib.get_close_matches(value, available_timezones(), n=1)
            raise ValueError("must be an IANA time zone" + (f"; did you mean {close[0]}?" if close else ""))
        return value


class Columns(_Section):
    """What the source calls the five things that are read of each record."""

    user: str
    time: str
    latitude: str
    longitude: str
    value: str

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [self.user, self.time, self.latitude, self.longitude, self.value]
        if len(set(names)) < len(names):
            raise ValueError("must name five different columns")
        return self


class Value(_Section):
    """The measured quantity: its name, unit, public bounds, and the tick it is counted in."""

    name: str
    unit: str
    lower: Number
    upper: Number
    tick: Positive

    @model_validator(mode="after")
    def _whole_ticks(self) -> Self:
        if self.upper <= self.lower:
            raise ValueError(f"upper = {self.upper} must be above lower = {self.lower}")
        if self.span % Fraction(self.tick):
            raise ValueError(f"tick = {self.tick} must divide upper - lower = {self.upper - self.lower}")
        if self.n_ticks > 1 << 20:
            raise ValueError(f"tick = {self.tick} must leave at most {1 << 20} ticks from lower to upper")
        return self

    @property
    def span(self) -> Fraction:
        """Upper minus lower, in the value's unit, exact."""
        return Fraction(self.upper) - Fraction(self.lower)

    @property
    def n_ticks(self) -> int:
        """The largest value R in ticks; ``lower`` is 0."""
        return int(self.span / Fraction(self.tick))


class Grid(_Section):
    """The cells: H3 hexagons of one resolution, and slots counted from local midnight."""

    h3_resolution: int = Field(ge=0, le=15)
    slot_minutes: int = Field(gt=0, le=1440)

    @field_validator("slot_minutes")
    @classmethod
    def _divides_a_day(cls, value: int) -> int:
        if 1440 % value:
            raise ValueError("must divide a day of 1440 minutes")
        return value


class Validation(_Section):
    """How much of a day may be unusable, and where its records may lie."""

    max_quarantined_share: Number = Field(default=Decimal("0.05"), ge=0, le=1)
    south: Number = Field(default=Decimal(-90), ge=-90, le=90)
    north: Number = Field(default=Decimal(90), ge=-90, le=90)
    west: Number = Field(default=Decimal(-180), ge=-180, le=180)
    east: Number = Field(default=Decimal(180), ge=-180, le=180)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.north <= self.south or self.east <= self.west:
            raise ValueError("north must be above south and east above west")
        return self


class Privacy(_Section):
    """What one day's release may cost a user, and how the day is planned."""

    epsilon_per_day: Number = Field(ge=LEAST_EPSILON_PER_DAY, le=Decimal(1_000_000))
    mechanism: Literal["planned", "clip-user"] = "planned"
    target_error: Positive | None = None
    target_error_variance: Positive | None = None


class Budget(_Section):
    """What all releases together may cost a user: for ever, or within any ``window_days`` days in a row."""

    epsilon_total: Positive
    window_days: int | None = Field(default=None, ge=1, le=3660)

    @property
    def in_words(self) -> str:
        """What a user may lose, as people read it."""
        return f"{self.epsilon_total}" + (f" within any {self.window_days} days" if self.window_days else "")


class Statistics(_Section):
    """Which statistics of each cell are published."""

    mean: Literal[True] = True
    variance: bool = False


class Publish(_Section):
    """Whether each day's files include the map, a page of under 2 MB."""

    map: bool = True


class Storage(_Section):
    """Where the warehouse, the ledger and the published files lie, and the memory DuckDB may use."""

    path: str
    memory_limit: str = Field(default="4GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$")


class Monitoring(_Section):
    """When people are warned: where the budget pays fewer than ``budget_low_days`` more days in full."""

    budget_low_days: int = Field(default=14, ge=1)


class Config(_Section):
    """One dataset's whole configuration. Paths are relative to the file it was read from."""

    dataset: Dataset
    columns: Columns
    value: Value
    grid: Grid
    validation: Validation = Validation()
    privacy: Privacy
    budget: Budget
    statistics: Statistics = Statistics()
    publish: Publish = Publish()
    storage: Storage
    monitoring: Monitoring = Monitoring()
    folder: Path = Field(exclude=True)

    @model_validator(mode="after")
    def _promise_for_a_statistic(self) -> Self:
        if self.privacy.target_error_variance is not None and not self.statistics.variance:
            raise ValueError("privacy.target_error_variance needs statistics.variance = true")
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

    @property
    def storage_path(self) -> Path:
        """The folder of the warehouse, the ledger and the published files."""
        return (self.folder / self.storage.path).resolve()

    def day_bounds(self, date: dt.date) -> tuple[dt.datetime, dt.datetime]:
        """Return the first instant of a local day and of the day after, in UTC."""
        zone = ZoneInfo(self.dataset.timezone)
        midnights = (dt.datetime.combine(day, dt.time(), zone) for day in (date, date + dt.timedelta(days=1)))
        start, end = (midnight.astimezone(dt.UTC) for midnight in midnights)
        return start, end

    def reading_settings(self) -> dict[str, Any]:
        """Return the settings on which depends what is read from a file."""
        settings = self.public_settings()
        del settings["dataset"]["purpose"]
        return {"columns": settings["columns"], "dataset": settings["dataset"]}

    def public_settings(self) -> dict[str, Any]:
        """Return the settings that the ledger records: all but where things lie and who is warned when."""
        settings = self.model_dump(mode="json", exclude={"storage", "monitoring"})
        del settings["dataset"]["files"]
        return settings

    def with_settings(self, settings: dict[str, Any]) -> Self:
        """Return the configuration that recorded public settings were written under, with the files of this one."""
        here = self.model_dump(mode="json")
        whole = {
            **settings,
            "dataset": {**settings["dataset"], "files": here["dataset"]["files"]},
            "storage": here["storage"],
            "monitoring": here["monitoring"],
            "folder": str(self.folder),
        }
        return type(self).model_validate(whole, strict=False)


def load_config(path: Path) -> Config:
    """Read and check a configuration file.

    Args:
        path: The TOML file.

    Returns:
        The frozen configuration.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadConfig(f"{path}: cannot be read ({problem}); give a TOML file with --config") from None
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path}: not valid TOML: {error}") from None
    if "folder" in settings:
        raise BadConfig(f"{path}: unknown key folder; remove it")
    try:
        return Config(**settings, folder=path.resolve().parent)
    except ValidationError as error:
        problems = "\n".join(f"  {_explain(problem)}" for problem in error.errors())
        raise BadConfig(f"{path}: cannot be used\n{problems}") from None


def _explain(problem: Any) -> str:
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location) or "file"
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key}{_suggestion(location)}"
    if problem["type"] == "missing":
        return f"missing key {key}"
    message = str(problem["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    return f"{key}: {message}" + ("" if isinstance(problem["input"], dict) else f", not {problem['input']}")


def _suggestion(location: list[str]) -> str:
    model: Any = Config
    for part in location[:-1]:
        model = model.model_fields[part].annotation
    close = difflib.get_close_matches(location[-1], model.model_fields, n=1)
    return f"; did you mean {close[0]}?" if close else "; remove it"
