"""What a dataset and a collection have in common, which is all that storage, databases and the server ask of either."""

import datetime as dt
from pathlib import Path
from typing import ClassVar, Protocol

from tasks.base.config_sections import Monitoring, Storage


class Owner(Protocol):
    """The configuration of who owns a storage: a dataset, or a collection.

    Attributes:
        kind: The word for what it is.
    """

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def timezone(self) -> str:
        """The time zone of its days and schedules."""
        ...

    @property
    def resource(self) -> str:
        """What the scheduler's events are about."""
        ...

    @property
    def storage_path(self) -> Path:
        """The folder of its ledger, its databases and its published files."""
        ...

    @property
    def storage(self) -> Storage:
        """The limits of its databases."""
        ...

    @property
    def monitoring(self) -> Monitoring:
        """Who is told what."""
        ...

    def period_of(self, date: dt.date) -> str:
        """Return the name of the day or the week of a date, for which it publishes."""
        ...

    def last_over(self, today: dt.date) -> dt.date:
        """Return a date in the last day or week that is over on a day."""
        ...
