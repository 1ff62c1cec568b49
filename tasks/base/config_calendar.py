"""The section of a configuration on the calendar: which days are unlike others."""

import datetime as dt
from typing import Any

from pydantic import field_validator

from tasks.base.config_types import Section


class Calendar(Section):
    """Which days are unlike others of their weekday. The calendar is public."""

    holidays: tuple[dt.date, ...] = ()
    """Public holidays, as dates. They count as Sundays to `estimated`, and where presence is secret."""

    @field_validator("holidays", mode="before")
    @classmethod
    def _as_dates(cls, value: Any) -> Any:
        days = [dt.date.fromisoformat(one) if isinstance(one, str) else one for one in value]
        return tuple(sorted(days))

    def kind_of_day(self, date: dt.date) -> int:
        """Return the kind of a day: 0 a weekday, 1 a Saturday, 2 a Sunday or a holiday."""
        return 2 if date in self.holidays else max(date.weekday() - 4, 0)
