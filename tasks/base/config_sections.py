"""The sections of a configuration, each with what may be written in it."""

import difflib
import functools
import importlib.util
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from zoneinfo import available_timezones

from fsspec.registry import known_implementations
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tasks.mechanisms.table import MECHANISMS, Mechanism

LEAST_EPSILON_PER_DAY = Decimal("1e-6")
if TYPE_CHECKING:
    MechanismName = str
else:
    MechanismName = Literal[tuple(MECHANISMS)]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_remote(place: str) -> bool:
    """Tell whether a place is an fsspec address, such as ``s3://bucket/folder``, and not a path."""
    return "://" in place


_SERVERS = ("ftp", "http", "https", "sftp", "smb", "ssh", "webdav", "webhdfs")


def _known_address(place: str) -> str:
    protocol, _, path = place.partition("://")
    if is_remote(place) and protocol not in known_implementations:
        raise ValueError(f"{protocol}:// is no address that fsspec knows")
    if is_remote(place) and protocol in _SERVERS:
        raise ValueError(f"{protocol}:// names a server, which the paths of files lack; take an object store")
    if is_remote(place) and "@" in path.partition("/")[0] and not protocol.startswith("ab"):
        raise ValueError("an address holds no credentials, for it is written down; they come from the environment")
    return place


def _finite_decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number = Annotated[Decimal, BeforeValidator(_finite_decimal), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
Place = Annotated[str, Field(min_length=1), AfterValidator(_known_address)]


def shown(text: str) -> str:
    """Return a text with its control characters spelled out: shown as they are, they would steer the terminal."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class Section(BaseModel):
    """What every section is: frozen, strict about names and types, and fit to be shown."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @field_validator("*")
    @classmethod
    def _shown(cls, value: Any, info: ValidationInfo) -> Any:
        texts = [text for text in (value if isinstance(value, tuple) else [value]) if isinstance(text, str)]
        if info.field_name != "delimiter" and any(
            _CONTROL.search(text.replace("\n", "").replace("\t", "")) for text in texts
        ):
            raise ValueError("must hold no control characters")
        return value


@functools.cache
def _time_zones() -> frozenset[str]:
    """Return the names of all time zones, for which a thousand files are looked at."""
    return frozenset(available_timezones() - {"localtime", "Factory", "posixrules"})


class Dataset(Section):
    """Which files hold the records, and in which time zone their days are."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    files: tuple[Place, ...] = Field(min_length=1)
    timezone: str
    purpose: str = "not stated"
    delimiter: str = Field(default=",", pattern=r'^[^"\r\n]$')

    @field_validator("files", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in _time_zones():
            close = difflib.get_close_matches(value, _time_zones(), n=1)
            raise ValueError("must be an IANA time zone" + (f"; did you mean {close[0]}?" if close else ""))
        return value


class Columns(Section):
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


class Value(Section):
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


class Grid(Section):
    """The cells: H3 hexagons of one resolution, and slots counted from local midnight."""

    h3_resolution: int = Field(ge=0, le=15)
    slot_minutes: int = Field(gt=0, le=1440)

    @field_validator("slot_minutes")
    @classmethod
    def _divides_a_day(cls, value: int) -> int:
        if 1440 % value:
            raise ValueError("must divide a day of 1440 minutes")
        return value


class Validation(Section):
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


class Privacy(Section):
    """What one day's release may cost a user, and how the day is planned."""

    epsilon_per_day: Number = Field(ge=LEAST_EPSILON_PER_DAY, le=Decimal(1_000_000))
    mechanism: MechanismName = "planned"
    target_error: Positive | None = None
    target_error_variance: Positive | None = None
    cell_epsilon: Number | None = Field(default=None, ge=LEAST_EPSILON_PER_DAY)

    @model_validator(mode="after")
    def _what_the_mechanism_can(self) -> Self:
        projected = not self.planned_by.promises
        if projected and (self.target_error is not None or self.target_error_variance is not None):
            raise ValueError(
                f"mechanism {self.mechanism} can promise no error, because what it clips depends on the values: remove "
                "target_error"
            )
        if projected and self.cell_epsilon is None:
            raise ValueError(f"mechanism {self.mechanism} needs cell_epsilon, what one cell may cost a user")
        if self.cell_epsilon is not None and not projected:
            raise ValueError(f"mechanism {self.mechanism} finds itself what a cell costs: remove cell_epsilon")
        if self.cell_epsilon is not None and self.cell_epsilon > self.epsilon_per_day:
            raise ValueError(f"cell_epsilon = {self.cell_epsilon} must be at most epsilon_per_day")
        return self

    @property
    def planned_by(self) -> Mechanism:
        """The mechanism of that name."""
        return MECHANISMS[self.mechanism]


class Budget(Section):
    """What all releases together may cost a user: for ever, or within any ``window_days`` days in a row."""

    epsilon_total: Positive
    window_days: int | None = Field(default=None, ge=1, le=3660)

    @property
    def in_words(self) -> str:
        """What a user may lose, as people read it."""
        return f"{self.epsilon_total}" + (f" within any {self.window_days} days" if self.window_days else "")


class Statistics(Section):
    """Which statistics of each cell are published."""

    mean: Literal[True] = True
    variance: bool = False


class Publish(Section):
    """Whether each day's files include the map, a page of under 2 MB."""

    map: bool = True


class Storage(Section):
    """Where the warehouse, the ledger and the published files lie, and what DuckDB may use in each process."""

    path: str
    threads: int | None = Field(default=None, ge=1, le=1024)
    memory_limit: str = Field(default="4GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$")


class Engine(Section):
    """Where records are read and indexed: in this process, or shard by shard on the workers of a Dask cluster."""

    name: Literal["local", "dask"] = "local"
    address: str | None = Field(default=None, pattern=r"^(tcp|tls|ws|wss)://[^/]+:\d+$")
    n_shards: int = Field(default=8, ge=1, le=1024)
    shards: Place | None = None
    scratch: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _what_the_engine_can(self) -> Self:
        if self.name == "local" and self.model_fields_set - {"name"}:
            given = ", ".join(sorted(self.model_fields_set - {"name"}))
            raise ValueError(f'name = "local" has no use for {given}: remove it, or set name = "dask"')
        if self.name == "dask" and importlib.util.find_spec("prefect_dask") is None:
            raise ValueError("name = \"dask\" needs Prefect's Dask task runner: pip install 'hexveil[dask]'")
        return self


class Monitoring(Section):
    """When people are warned: where the budget pays fewer than ``budget_low_days`` more days in full."""

    budget_low_days: int = Field(default=14, ge=1)
