"""A question about areas and periods."""

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal

from tasks.answers.places import Areas, Everything
from tasks.output_formats.columns import share_above

OF = ("mean", "n_users")
ANY_DAY, ANY_HOUR = frozenset(range(7)), frozenset(range(24))


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        areas: The areas.
        first: The first local day; None for the first that is published.
        last: The last one; None for the last that is published.
        weekdays: The weekdays that count, Monday being 0.
        hours: The local hours that count.
        by: "day", "week" or "month": each is answered apart; None: all days together.
        by_hour: Whether each hour is answered apart.
        compare: The first and last day of the period that this one is compared with.
        of: What is asked for: "mean", or "n_users" where presence is secret.
        above: The limit above which the share of records is asked for, and no mean.
    """

    areas: Areas = field(default_factory=Everything)
    first: dt.date | None = None
    last: dt.date | None = None
    weekdays: frozenset[int] = ANY_DAY
    hours: frozenset[int] = ANY_HOUR
    by: str | None = None
    by_hour: bool = False
    compare: tuple[dt.date, dt.date] | None = None
    of: str = "mean"
    above: Decimal | None = None

    @property
    def name(self) -> str:
        """The name of the answer's column."""
        return self.of if self.above is None else share_above(self.above)
