"""What all that owns a storage has in common: all that storage, databases, the account and the server ask of it."""

import datetime as dt
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dpmath.core.currency import Currency
from tasks.base.config_sections import Budget, Monitoring, Storage
from tasks.base.config_source import Columns, Dataset


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


class Losses(Protocol):
    """What a day may cost, and in which currency."""

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        ...

    @property
    def loss_per_day(self) -> int:
        """The most that a day may cost, in the currency's unit."""
        ...


class Spender(Owner, Protocol):
    """The configuration of a dataset, whichever way it protects those in it: what the account asks."""

    @property
    def folder(self) -> Path:
        """The folder of the configuration file, where relative paths begin."""
        ...

    @property
    def dataset(self) -> Dataset:
        """Its name and files."""
        ...

    @property
    def columns(self) -> Columns:
        """Its columns."""
        ...

    @property
    def privacy(self) -> Losses:
        """What a day may cost."""
        ...

    @property
    def budget(self) -> Budget:
        """What all days together may cost."""
        ...

    def public_settings(self) -> dict[str, Any]:
        """Return the settings that the ledger records."""
        ...
