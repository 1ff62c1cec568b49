"""The sections of a configuration that have no module of their own."""

import datetime as dt
import importlib.util
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, create_model, field_validator, model_validator

from tasks.base.config_types import TILES, Number, Place, Positive, Section

if TYPE_CHECKING:

    class Change(Section):
        """A day from which the source has another unit."""

        factor: Positive
else:
    Change = create_model("Change", __base__=Section, **{"from": (dt.date, ...), "factor": (Positive, ...)})


class Value(Section):
    """The measured quantity: its name, unit, public bounds and tick."""

    name: str
    """What was measured, for example `speed`."""
    unit: str
    """The unit of the value, for example `km/h`."""
    lower: Number
    """Public lower bound of a value. Choose it without looking at the data."""
    upper: Number
    """Public upper bound of a value. Choose it without looking at the data."""
    tick: Positive
    """The step that values are counted in. It must divide `upper - lower`, into at most 1,048,576 ticks."""
    # the ledger records the next three where they are set
    factor: Positive = Field(default=Decimal(1), exclude_if=lambda factor: factor == 1)
    """What a value of the source is multiplied by to be in `unit`: `1.609344` for miles per hour in km/h."""
    change: tuple[Change, ...] = Field(default=(), max_length=64, exclude_if=lambda changes: not changes)
    """Days from which the source has another unit: `[[value.change]]` with `from = 2016-01-01` and `factor = 3.6`. From
    that local day on `factor` is this one; before the first it is the one above."""
    missing: tuple[Number, ...] = Field(default=(), max_length=64, exclude_if=lambda values: not values)
    """Values of the source, before `factor`, that mean "not measured", for example `[255]`. An empty value always does.
    Such a record stays, because it must not depend on a value which records count. In `estimated` it counts as what was
    expected, so where most are missing the map stays a guess with intervals that are too short; in all others it counts
    as the midpoint."""

    longest_gap: int = Field(default=120, ge=1, le=86400, exclude_if=lambda seconds: seconds == 120)
    """For `columns.value = "{speed}"`: after so many seconds without a fix there is no speed; the value is missing."""
    typical: Number | None = Field(default=None, exclude_if=lambda typical: typical is None)
    """What you would guess a typical value to be, without looking at the data, for example `20`. With few users or a
    small epsilon the first maps are much better for it. `[value] spread` is the other half."""
    spread: Positive | None = Field(default=None, exclude_if=lambda spread: spread is None)
    """What you would guess values to differ by from the typical one, without looking at the data, for example `10`."""
    screen: bool = Field(default=False, exclude_if=lambda screen: not screen)
    """Ask before each release, with one noisy count, of how many users most values could not be read or are missing.
    It costs a hundredth of what a day may cost, and is part of it. If they are surely more than half, the day stops
    before the rest is spent. With so few users that the count could not tell, nothing is asked or spent on it."""

    @field_validator("missing", "change", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _whole_ticks(self) -> Self:
        if self.upper <= self.lower:
            raise ValueError(f"upper = {self.upper} must be above lower = {self.lower}")
        if self.span % Fraction(self.tick):
            raise ValueError(f"tick = {self.tick} must divide upper - lower = {self.upper - self.lower}")
        if self.n_ticks > 1 << 20:
            raise ValueError(f"tick = {self.tick} must leave at most {1 << 20} ticks from lower to upper")
        if self.typical is not None and not self.lower <= self.typical <= self.upper:
            raise ValueError(f"typical = {self.typical} must be from lower = {self.lower} to upper = {self.upper}")
        if self.spread is not None and self.spread > self.upper - self.lower:
            raise ValueError(f"spread = {self.spread} must be at most upper - lower = {self.upper - self.lower}")
        return self

    @model_validator(mode="after")
    def _changes_in_order(self) -> Self:
        days = [getattr(one, "from") for one in self.change]
        if days != sorted(set(days)):
            raise ValueError("change must have its days in order, each once")
        return self

    def factor_on(self, date: dt.date) -> Decimal:
        """Return what a value of the source is multiplied by on a local day."""
        passed = [one.factor for one in self.change if getattr(one, "from") <= date]
        return passed[-1] if passed else self.factor

    @property
    def span(self) -> Fraction:
        """Upper minus lower, in the value's unit, exact."""
        return Fraction(self.upper) - Fraction(self.lower)

    @property
    def n_ticks(self) -> int:
        """The largest value R in ticks. ``lower`` is 0 ticks."""
        return int(self.span / Fraction(self.tick))


class Grid(Section):
    """The cells: H3 hexagons of one resolution, and slots counted from local midnight."""

    h3_resolution: int = Field(ge=0, le=15)
    """Resolution of the H3 hexagons, from 0 (largest) to 15 (smallest)."""
    slot_minutes: int = Field(gt=0, le=1440)
    """Length of a time slot in minutes. It must divide 1440. Slots are counted from local midnight."""

    @field_validator("slot_minutes")
    @classmethod
    def _divides_a_day(cls, value: int) -> int:
        if 1440 % value:
            raise ValueError("must divide a day of 1440 minutes")
        return value


class Validation(Section):
    """How much of a day may be unusable, and where its records may be."""

    max_quarantined_share: Number = Field(default=Decimal("0.05"), ge=0, le=1)
    """A day with a larger share of unusable rows fails before it spends anything. Duplicates, and times that the
    clock showed twice, do not count."""
    south: Number = Field(default=Decimal(-90), ge=-90, le=90)
    """Southern edge of the area where records may be. A box around the city finds swapped coordinates."""
    north: Number = Field(default=Decimal(90), ge=-90, le=90)
    """Northern edge of the area where records may be."""
    west: Number = Field(default=Decimal(-180), ge=-180, le=180)
    """Western edge of the area where records may be."""
    east: Number = Field(default=Decimal(180), ge=-180, le=180)
    """Eastern edge of the area where records may be."""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.north <= self.south or self.east <= self.west:
            raise ValueError("north must be above south and east above west")
        return self


class Budget(Section):
    """What all releases together may cost a user: in total, or within any ``window_days`` days in a row."""

    epsilon_total: Positive
    """The most privacy loss that any one user may have over all releases. To raise it, run
    `hexveil ledger amend-budget`."""
    window_days: int | None = Field(default=None, ge=1, le=3660)
    """If set, `epsilon_total` is the limit for any so many days in a row. They are days of the data, not of the clock.
    The loss over all releases is still counted and shown. To set it or to shorten it, run
    `hexveil ledger amend-budget`."""

    # the ledger records it where it is set
    least_share: Number = Field(default=Decimal("0.5"), ge=0, le=1, exclude_if=lambda share: share == Decimal("0.5"))
    """A day is withheld if its users can pay less than this share of `epsilon_per_day`, as a mean over its records.
    With more it is published, and says that it is paid in part. Users who are short count for less."""

    @property
    def in_words(self) -> str:
        """The limit as text for people."""
        return f"{self.epsilon_total}" + (f" within any {self.window_days} days" if self.window_days else "")


class Statistics(Section):
    """Which statistics of each cell are published."""

    mean: Literal[True] = True
    """The mean is always published."""
    variance: bool = False
    """Publish the variance too."""
    # the ledger records the next two where they are set
    percentiles: tuple[int, ...] = Field(default=(), max_length=5, exclude_if=lambda wanted: not wanted)
    """For `estimated` in zCDP only: percentiles of the day's records to publish, for example `[15, 50, 85]`. They take
    8 % of rho of the first day and 15 % of later ones, so the means are a little worse: `hexveil plan` says by how
    much. With few users or a small epsilon they are refused."""
    limits: tuple[Number, ...] = Field(default=(), max_length=5, exclude_if=lambda wanted: not wanted)
    """The same for the share of records above each limit, in the value's unit, for example `[30, 50]`. A share is a
    safer number than a percentile, and the two together cost no more than one."""

    @field_validator("percentiles", "limits", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if any(not 1 <= percentile <= 99 for percentile in self.percentiles):
            raise ValueError("percentiles must be from 1 to 99")
        for name in ("percentiles", "limits"):
            wanted = getattr(self, name)
            if list(wanted) != sorted(set(wanted)):
                raise ValueError(f"{name} must rise, each one once")
        return self

    @property
    def of_laws(self) -> bool:
        """Whether percentiles or shares are published."""
        return bool(self.percentiles or self.limits)


class Publish(Section):
    """What is published beside the table: the map, and whom to ask."""

    map: bool = True
    """Make a map of each day, one HTML page of less than 2 MB."""
    places: str | None = Field(default=None, min_length=1)
    """A file of public places that the map shows, relative to this file: a `.csv` with the columns `name`, `latitude`
    and `longitude`, or a `.geojson` with named points, and with lines such as main streets or a coast. The first 60
    names in the area are shown. Without it and without `tiles` the map shows hexagons alone."""
    zones: str | None = Field(default=None, min_length=1)
    """For `estimated`: a file of districts, GeoJSON or GeoParquet, relative to this file. Each day then has their means
    in `zones.csv`, in each hour and over the day, and their outlines in `zones.geojson`. Costs nothing."""
    tiles: str | None = Field(default=None, pattern=TILES, exclude_if=lambda one: one is None)
    """The address of a base map's tiles, such as `https://tiles.example.org/{z}/{x}/{y}.png`. Each reader's browser
    asks that host for them; without it a page asks the network for nothing."""
    tiles_credit: str = Field(default="", exclude_if=lambda one: not one)
    """Who made the base map, as its licence asks to be named."""
    contact: str = "not stated"
    """Whom to ask about the publication, for example an address. The text is public: it is in every ledger entry."""


class Estimate(Section):
    """What the mechanism `estimated` may learn from, beside what was released."""

    occupancy_covariates: bool = True
    """Let how long users stay in a hexagon, how far they move and how many they are tell of the value. These numbers
    are public here. They tell much of a speed, and nothing of a temperature, where they cost next to nothing."""
    similar_cells: bool = Field(default=True, exclude_if=lambda similar: similar)
    """Suppose that a cell is similar to neighbouring hexagons and to other hours of its hexagon, as far as releases
    do not say otherwise. Say `false` only if you know that two hours of one hexagon, too, have nothing in common: for
    example if place and hour only carry a number. About 2,500 cells can then be remembered from day to day."""
    covariates: str | None = Field(default=None, min_length=1)
    """A file of public facts, `.parquet` or `.csv`, relative to this file: one row per `h3_cell`, per `hour` of the
    local day (0 to 23) or both, and columns of numbers or texts, for example a speed limit and a road's class. The
    facts must be public, and must not be made from the values."""


class Storage(Section):
    """Where the warehouse, the ledger and the published files are, and what DuckDB may use in each process."""

    path: str
    """The folder of everything that is kept: warehouse, ledger, private and published files. Relative to this file."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """How many threads DuckDB may use in one process. Without it DuckDB uses every core."""
    memory_limit: str = Field(default="4GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$")
    """How much memory DuckDB may use in one process."""


class Engine(Section):
    """Where records are read and indexed: in this process, or in shards on the workers of a Dask cluster."""

    name: Literal["local", "dask"] = "local"
    """Where records are read: `local` in this process, `dask` on the workers of a cluster."""
    address: str | None = Field(default=None, pattern=r"^(tcp|tls|ws|wss)://[^/]+:\d+$")
    """Address of the Dask scheduler, `tcp://HOST:PORT` or `tls://HOST:PORT`. Without it one worker is started for each
    core of this machine."""
    n_shards: int = Field(default=8, ge=1, le=1024)
    """How many shards the users are divided into."""
    shards: Place | None = None
    """Where the shards are kept: a folder, or an address such as `s3://bucket/folder`. Without it they are in a folder
    of `storage.path`, which all workers must then share."""
    scratch: str | None = Field(default=None, min_length=1)
    """A folder on each worker's own disk for temporary files."""

    @model_validator(mode="after")
    def _what_the_engine_can(self) -> Self:
        if self.name == "local" and self.model_fields_set - {"name"}:
            given = ", ".join(sorted(self.model_fields_set - {"name"}))
            raise ValueError(f'name = "local" has no use for {given}: remove it, or set name = "dask"')
        if self.name == "dask" and importlib.util.find_spec("prefect_dask") is None:
            raise ValueError("name = \"dask\" needs Prefect's Dask task runner: pip install 'hexveil[dask]'")
        return self


class Monitoring(Section):
    """When to warn, and whom: of silence, a failed verification, a low budget, a day that is withheld as a whole."""

    budget_low_days: int = Field(default=14, ge=1)
    """Warn when the budget pays for fewer than this many more days in full."""
    silence_hours: Number = Field(default=Decimal(26), ge=Decimal("0.01"), le=8760)
    """Warn when no day was published for so many hours."""
    notify: tuple[str, ...] = Field(default=(), max_length=20)
    """Whom to tell: addresses of [Apprise](https://appriseit.com), such as `mailtos://...`, `slack://...` or
    `json://HOST/PATH`. `$NAME` stands for the address in the environment variable NAME where `hexveil up` or `deploy`
    runs, because an address may hold a password. The server of Prefect tells them, so it must run."""

    @field_validator("notify", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value
