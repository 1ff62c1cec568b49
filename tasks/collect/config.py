"""The configuration of a collection from devices that trust nobody: one TOML file, with [collection] for [dataset]."""

import datetime as dt
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from dpmath.local.design import Crowd, crowd, design
from dpmath.local.protocol import LocalProtocol
from dpmath.local.sizes import SizeDistribution
from tasks.base.config_reading import read_as
from tasks.base.config_sections import Monitoring, Storage, Value
from tasks.base.config_types import Number, Positive, Section
from tasks.base.names import NAME
from tasks.base.time_zones import known_zone
from tasks.device.rules import LARGEST_ALPHA, MOST_BINS, is_label, is_number

PERIOD_PLACEHOLDER = "{period}"
MOST_DEVICES = 10**11
MOST_VALUES = 10**12
"""More than this no device measures in a week."""
_LIKE_A_CELL = re.compile(r"[0-9a-fA-F]{15,16}")


class Collection(Section):
    """What is asked of which devices, and what is publicly known of them."""

    name: str = Field(pattern=NAME)
    """Name of the collection: small letters, digits, `_` and `-`."""
    reports: str = Field(min_length=1)
    """Pattern of the files of reports, relative to this file, one report a line. It must contain `{period}`."""
    period: Literal["day", "week"] = "day"
    """How often a device reports: once a `day`, or once a `week`."""
    alpha: Positive = Field(le=LARGEST_ALPHA)
    """Privacy loss of a device in one period. With more than 4 a device does not answer, unless its owner allows it."""
    timezone: str = Field(default="UTC", exclude_if=lambda zone: zone == "UTC")
    """IANA time zone of the schedules: each step is run for the last period that is over in it."""
    areas: tuple[str, ...] = ("all",)
    """The areas that devices report for: `["all"]`, or H3 cells of one coarse resolution. A device's area is public."""
    expected_devices: int = Field(ge=2, le=MOST_DEVICES)
    """How many devices are expected in an area. The bins are made for so many."""
    least_devices: int = Field(ge=50, le=MOST_DEVICES)
    """An area with fewer reports in one of the rounds is not published."""
    counts: tuple[int, ...] = Field(min_length=1)
    """How many values a device has in a period: the possible numbers, ascending. What is known of it must be public."""
    shares: tuple[Number, ...] = Field(min_length=1)
    """The share of the devices that has each of `counts`; together 1."""
    shares_off_by: Number = Field(default=Decimal("0.05"), ge=0, lt=1)
    """By which share `counts`, and the mean weight that follows from `shares`, may be wrong. Devices vote with so many
    fewer values, and the intervals allow for it."""

    @field_validator("areas", "counts", "shares", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        return known_zone(value)

    @field_validator("areas")
    @classmethod
    def _different_areas(cls, areas: tuple[str, ...]) -> tuple[str, ...]:
        """Check the areas. If one is like an H3 cell, all must be cells: another one is a mistake in writing."""
        if len(set(areas)) < len(areas) or not areas or not all(map(is_label, areas)):
            raise ValueError("must be different names, of 1 to 64 printable characters")
        if not any(map(_LIKE_A_CELL.fullmatch, areas)):
            return areas
        import h3

        wrong = [one for one in areas if one != one.lower() or not h3.is_valid_cell(one)]
        if wrong:
            raise ValueError(f"must all be H3 cells, if one is: {wrong[0]} is none")
        if len({h3.get_resolution(one) for one in areas}) > 1:
            raise ValueError("must be H3 cells of one resolution, so that none lies in another")
        return areas

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if PERIOD_PLACEHOLDER not in self.reports:
            raise ValueError(f"reports must contain {PERIOD_PLACEHOLDER}")
        if len(self.counts) != len(self.shares):
            raise ValueError("counts and shares must be equally many")
        if list(self.counts) != sorted(set(self.counts)) or self.counts[0] < 0 or self.counts[-1] < 1:
            raise ValueError("counts must be ascending, from 0 on, with one above 0")
        if self.counts[-1] > MOST_VALUES:
            raise ValueError(f"counts must be at most {MOST_VALUES:,}")
        if min(self.shares) < 0 or sum(self.shares) != 1:
            raise ValueError("shares must be at least 0 and add up to 1")
        if not any(share for count, share in zip(self.counts, self.shares, strict=True) if count):
            raise ValueError("shares must leave some devices with values: all have none")
        return self

    @property
    def cells(self) -> tuple[str, ...]:
        """The areas if they are H3 cells, else none. They were checked: if one is like a cell, all are cells."""
        return self.areas if _LIKE_A_CELL.fullmatch(self.areas[0]) else ()


class CollectionConfig(Section):
    """The whole configuration of one collection. Paths are relative to the configuration file."""

    kind: ClassVar[str] = "collection"

    collection: Collection
    value: Value
    storage: Storage
    monitoring: Monitoring = Monitoring()
    folder: Path = Field(exclude=True)

    @model_validator(mode="after")
    def _silence_of_a_period(self) -> Self:
        if "budget_low_days" in self.monitoring.model_fields_set:
            raise ValueError("monitoring.budget_low_days is for budgets of users: each device keeps its own here")
        if self.collection.period == "week" and self.monitoring.notify and self.monitoring.silence_hours <= 7 * 24:
            raise ValueError("monitoring.silence_hours must be above 168, the hours of a week")
        return self

    @model_validator(mode="after")
    def _values_of_devices(self) -> Self:
        if self.value.factor != 1 or self.value.missing or self.value.screen or self.value.change:
            raise ValueError("value.factor, missing, change and screen are for records: devices send value.unit")
        return self

    @model_validator(mode="after")
    def _what_devices_can_use(self) -> Self:
        value = self.value
        numbers = {"lower": value.lower, "upper": value.upper, "tick": value.tick}
        for name, number in ({f"value.{name}": one for name, one in numbers.items()} | {"alpha": self.alpha}).items():
            if not is_number(str(Fraction(number))):
                raise ValueError(f"{name} must be written in fewer digits: devices read 15 on each side")
        try:
            protocol = self.protocol
            self.crowd(protocol)
        except (ValueError, ArithmeticError):
            raise ValueError("no device can answer: alpha is too small for such counts and shares") from None
        if protocol.n_bins > MOST_BINS:
            raise ValueError(f"{protocol.n_bins:,} bins are too many for a report: at most {MOST_BINS:,}; raise tick")
        return self

    @property
    def sizes(self) -> SizeDistribution:
        """How many values the devices have."""
        return SizeDistribution(
            np.array(self.collection.counts), np.array([float(share) for share in self.collection.shares])
        )

    @property
    def protocol(self) -> LocalProtocol:
        """The protocol for the expected number of devices in an area."""
        off = float(self.collection.shares_off_by)
        return design(self.sizes, self.collection.expected_devices, self.alpha, self.value.n_ticks, off)

    def crowd(self, protocol: LocalProtocol) -> Crowd:
        """Return what is known of the devices' weights."""
        return crowd(self.sizes, protocol, float(self.collection.shares_off_by))

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self.collection.name

    @property
    def timezone(self) -> str:
        """The time zone of the schedules."""
        return self.collection.timezone

    @property
    def resource(self) -> str:
        """What the scheduler's events are about."""
        return f"hexveil.{self.kind}.{self.name}"

    @property
    def storage_path(self) -> Path:
        """The folder of the reports, the ledger and the published files."""
        return (self.folder / self.storage.path).resolve()

    @property
    def alpha(self) -> Fraction:
        """Privacy loss of a device in one period, exact."""
        return Fraction(self.collection.alpha)

    def period_of(self, date: dt.date) -> str:
        """Return the name of the period of a date: the date, or the ISO week such as ``2026-W10``."""
        year, week, _ = date.isocalendar()
        return date.isoformat() if self.collection.period == "day" else f"{year:04}-W{week:02}"

    def last_over(self, today: dt.date) -> dt.date:
        """Return a date in the last period that is over on a day."""
        return today - dt.timedelta(days=1 if self.collection.period == "day" else 7)

    def periods(self, first: dt.date, last: dt.date) -> list[dt.date]:
        """Return the first day of each period of a range of days, oldest first."""
        days = (first + dt.timedelta(days=number) for number in range((last - first).days + 1))
        return [self.first_day(period) for period in dict.fromkeys(map(self.period_of, days))]

    def first_day(self, period: str) -> dt.date:
        """Return the first day of a period.

        Raises:
            ValueError: It is no name of a period.
        """
        return dt.date.fromisoformat(period if self.collection.period == "day" else f"{period}-1")

    def public_settings(self) -> dict[str, Any]:
        """Return the settings that the ledger records: all except paths."""
        settings = self.model_dump(mode="json", include={"collection", "value"})
        del settings["collection"]["reports"]
        return settings

    def with_settings(self, settings: dict[str, Any]) -> Self:
        """Return the configuration of recorded public settings, with all that is not recorded taken from this one."""
        whole = {
            **settings,
            "collection": {**settings["collection"], "reports": self.collection.reports},
            "storage": self.storage,
            "monitoring": self.monitoring,
            "folder": self.folder,
        }
        return type(self).model_validate(whole, strict=False)


def load_collection(path: Path) -> CollectionConfig:
    """Read and check the configuration of a collection.

    Raises:
        BadConfig: The file is missing, is not TOML, or a key is unknown, missing or out of range.
    """
    return read_as(CollectionConfig, path)
