"""The sections of a configuration that are others where presence is secret: grid, privacy, statistics, publish."""

from decimal import Decimal
from typing import Any, Literal

import h3
from pydantic import Field, field_validator

from dpmath.core.currency import Currency, currency_of
from tasks.base.config_privacy import DEFAULT_DELTA, LEAST_EPSILON_PER_DAY
from tasks.base.config_sections import Grid, Publish
from tasks.base.config_types import Number, Section

_LEAST_USERS = 500
_REASON = (
    "with few users, hiding who was there at all leaves almost nothing. On a fourth day at epsilon 2, published means "
    "explained .2 of what cells differ by for 150 buses of Austin, and nearly .9 for 500 vehicles that drive all day "
    "or 14,000 phones. If who was where is public anyway, leave out protects; else expected_users must be at least "
    f"{_LEAST_USERS}"
)


class AreaGrid(Grid):
    """The cells: all hexagons of a public area, and slots counted from local midnight."""

    area: str | tuple[str, ...] = Field(min_length=1)
    """The public area: a `.geojson` of polygons, relative to this file, or a list of H3 cells, also coarser ones. All
    its hexagons are estimated, whoever was there. Choose it without looking at the data: a city's limits, a region."""

    @field_validator("area", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("area")
    @classmethod
    def _cells(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        wrong = [one for one in value if not h3.is_valid_cell(one)] if isinstance(value, tuple) else []
        if wrong:
            raise ValueError(f"must be a file, or H3 cells: {wrong[0]} is none")
        return value


class PresencePrivacy(Section):
    """What one day costs everybody, and what is declared of users."""

    protects: Literal["presence"]
    """What is secret: `values` (the default; who was where is public), or `presence`, as in this file. It never changes
    after the first release."""
    epsilon_per_day: Number = Field(ge=LEAST_EPSILON_PER_DAY, le=Decimal(1_000_000))
    """What one day's release costs everybody, there or not."""
    definition: Literal["zcdp", "gaussian"] = "zcdp"
    """What losses are counted in: zCDP's rho, or `gaussian`, where the same epsilon and delta allow 10 to 16 % more
    rho, because the noise is Gaussian alone. It never changes after the first release."""
    delta: Number = Field(default=DEFAULT_DELTA, ge=Decimal("1e-30"), le=Decimal("1e-4"))
    """The delta at which an epsilon is meant. It never changes after the first release."""
    expected_users: int = Field(le=10**9)
    """About how many users a day has, from what is publicly known. At least 500: with fewer this model is of no use."""
    cap: int = Field(ge=1, le=1024)
    """The most records that a user counts with in one hexagon and slot; a longer stay counts as its mean, so often.
    Choose it without looking at the data: about what a typical user leaves in one slot."""

    @field_validator("expected_users")
    @classmethod
    def _enough(cls, value: int) -> int:
        if value < _LEAST_USERS:
            raise ValueError(_REASON)
        return value

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        return currency_of(self.definition, self.delta)

    @property
    def loss_per_day(self) -> int:
        """What a day costs everybody at most, in the unit of the currency."""
        return self.currency.within(self.epsilon_per_day)


class PresenceStatistics(Section):
    """Which statistics of each cell are published."""

    mean: bool = True
    """Publish means and numbers of records too. With `false` only numbers of users are published, with less noise: for
    visits, boardings and trips, which have no value. Then leave out `[value]` and `columns.value`."""


class PresencePublish(Publish):
    """What is published beside the table, and which cells are."""

    publish_from: int = Field(default=5, ge=1, le=10**6)
    """A cell is published if it had at least so many users with a probability of 90 %, as the noisy numbers say."""
