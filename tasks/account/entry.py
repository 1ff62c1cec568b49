"""An entry of the ledger as a value. ``docs/reference/ledger.md`` explains each of its fields."""

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

from dpmath.core.currency import Currency, currency_of
from tasks.account.fields import first_of_another_type, is_canonical_date, problem_with_currency
from tasks.account.in_words import paid_in_part_in_words
from tasks.account.said_first import WHOLE_DAY, said_first

Stated = dict[str, Any]
"""The fields of an entry, as in its line of the ledger. It contains no float."""

_TEXTS = ("release_id", "dataset", "date", "committed_at", "code")
_OF_USERS = ("plan", "losses", "totals", "user_key_fingerprint")
_NUMBERS = ("epsilon", "epsilon_total_after", "epsilon_left", "epsilon_total_limit")
_LOSSES = ("definition", "in_words", "loss_unit", "loss", "loss_total_after", "loss_total_limit", "loss_left")
BUDGET = "budget"
"""The kind of the entries that loosen the budget."""
STOPPED = "stopped"
"""The kind of the entry of a day that was stopped. All others are releases."""
FORMAT = 4
"""Written into every entry, so that a later version can tell them apart. Entries of another format are not read."""


@dataclass(frozen=True)
class Entry(ABC):
    """One line of the ledger.

    Attributes:
        stated: All its fields. To read one field, use the property below; this is for the whole.
        kind: What the line does, in a word.
    """

    stated: Stated

    kind: ClassVar[str]

    @property
    def number(self) -> int:
        """Its place in the ledger, from 1."""
        return int(self.stated["number"])

    @property
    def hash(self) -> str:
        """The SHA-256 of all its fields except this one."""
        return str(self.stated["hash"])

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return str(self.stated["dataset"])

    @property
    def committed_at(self) -> dt.datetime:
        """When it was appended."""
        return dt.datetime.fromisoformat(self.stated["committed_at"])

    @property
    @abstractmethod
    def budget(self) -> Stated:
        """The budget that it was made with, or puts in force."""
        ...


@dataclass(frozen=True)
class Spending(Entry):
    """An entry that costs somebody. Losses are those of whoever lost most, exact."""

    texts: ClassVar[tuple[str, ...]] = _TEXTS
    objects: ClassVar[tuple[str, ...]] = ("settings",)
    counts: ClassVar[tuple[str, ...]] = ("attempt",)

    @property
    def files(self) -> dict[str, str]:
        """The hash of each published file, by name; empty if nothing is published."""
        files: dict[str, str] = self.stated.get("files", {})
        return files

    @property
    def kept(self) -> dict[str, str]:
        """The hash of each private file that stays with it, by name: what it was drawn from, which is public."""
        kept: dict[str, str] = self.stated.get("kept", {})
        return kept

    @property
    def states(self) -> dict[str, str]:
        """The hashes of what was known "before" it and "after" it, each if there is any. They can be made again."""
        states: dict[str, str] = self.stated.get("states", {})
        return states

    @property
    def whole_day(self) -> tuple[float, float] | None:
        """The mean over all records of the day, and its standard deviation; None if they are not published."""
        stated = self.stated.get(WHOLE_DAY)
        return stated and (float(stated["mean"]), float(stated["mean_sd"]))

    @property
    def said_first(self) -> str | None:
        """What a reader must know before the numbers, in sentences; None if nothing."""
        return said_first(self.stated)

    @property
    def release_id(self) -> str:
        """The id of the release, or of what was stopped."""
        return str(self.stated["release_id"])

    @cached_property
    def date(self) -> dt.date:
        """The local day."""
        return dt.date.fromisoformat(self.stated["date"])

    @cached_property
    def currency(self) -> Currency:
        """What its losses are counted in."""
        delta = self.stated["delta"]
        return currency_of(self.stated["definition"], None if delta is None else Decimal(delta))

    @property
    def loss_used_after(self) -> int:
        """What counts against the limit after it, in the unit of its currency."""
        return int(self.stated["loss_window_after"] or self.stated["loss_total_after"])

    @property
    def n_more_like_it(self) -> int:
        """How many more days that cost the worst user as much the limit pays after it."""
        return int(self.stated["loss_left"]) // max(1, int(self.stated["loss"]))

    @property
    def loss_total_after(self) -> int:
        """What all releases up to it cost the worst user, in the unit of its currency."""
        return int(self.stated["loss_total_after"])

    @property
    def revision(self) -> str | None:
        """The name of a further release of the day; None for the first."""
        name: str | None = self.stated["revision"]
        return name

    @property
    def settings(self) -> Stated:
        """The public settings that it was made with."""
        settings: Stated = self.stated["settings"]
        return settings

    @property
    def budget(self) -> Stated:
        """The budget that it was made with."""
        budget: Stated = self.settings["budget"]
        return budget

    @property
    def user_is(self) -> str | None:
        """What ``columns.user_is`` said."""
        return self.settings["columns"].get("user_is")

    @property
    def code(self) -> str:
        """The hash of the code that made it."""
        return str(self.stated["code"])

    @property
    def epsilon_per_day(self) -> Decimal:
        """The most that it was allowed to cost a user."""
        return Decimal(self.settings["privacy"]["epsilon_per_day"])

    @property
    def epsilon(self) -> Decimal:
        """What it cost."""
        return Decimal(self.stated["epsilon"])

    @property
    def epsilon_total_after(self) -> Decimal:
        """What all releases up to it cost."""
        return Decimal(self.stated["epsilon_total_after"])

    @property
    def in_words(self) -> str:
        """The guarantee of its day and of all released up to it, in a sentence."""
        return str(self.stated["in_words"])

    @property
    def epsilon_left(self) -> Decimal:
        """What is left of the limit after it."""
        return Decimal(self.stated["epsilon_left"])

    def misstated(self) -> str | None:
        """Return the first field that is missing, of another type, or spelled in another way; None if there is none.

        The properties above would read ``"20260115"`` as a date and ``"70"`` as a count. An entry never holds these.
        """
        stated = self.stated
        types = [(self.texts + _NUMBERS + _LOSSES, str), (self.objects, dict), (self.counts, int)]
        name = first_of_another_type(stated, types)
        if name is not None:
            return name
        if any(
            type(count) is not int
            for field in {"cells", "rows"}.intersection(self.objects)
            for count in stated[field].values()
        ):
            return "cells or rows"
        for name in ("revision", "epsilon_window_after", "loss_window_after", "delta"):
            if name not in stated or not isinstance(stated[name], str | None):
                return name
        name = problem_with_currency(stated)
        return name if name is not None or is_canonical_date(stated["date"]) else "date"


@dataclass(frozen=True)
class Charge(Spending):
    """An entry that costs users, each its own: a release, or a stopped day."""

    texts = _TEXTS + _OF_USERS

    @property
    def plan(self) -> str:
        """The hash of the stored plan."""
        return str(self.stated["plan"])

    @property
    def losses(self) -> str:
        """The hash of the file with the loss of each user by this entry."""
        return str(self.stated["losses"])

    @property
    def totals(self) -> str:
        """The hash of the file with the loss of each user by all entries up to this one."""
        return str(self.stated["totals"])

    @property
    def user_key_fingerprint(self) -> str:
        """The fingerprint of the secret that user ids were hashed with."""
        return str(self.stated["user_key_fingerprint"])


@dataclass(frozen=True)
class Release(Charge):
    """The release of a day."""

    kind = "release"
    objects = ("files", "rows", "cells", "settings")
    counts = ("records_covered", "attempt")

    @property
    def rows(self) -> dict[str, int]:
        """The number of the day's rows by outcome."""
        rows: dict[str, int] = self.stated["rows"]
        return rows

    @property
    def paid_in_part(self) -> str | None:
        """That the budget did not pay the day in full, in a sentence; None if it did."""
        return paid_in_part_in_words(self.stated)

    @property
    def n_cells(self) -> int:
        """Number of cells of the day."""
        return int(self.stated["cells"]["total"])

    @property
    def n_published(self) -> int:
        """Number of published cells."""
        return int(self.stated["cells"]["published"])

    @property
    def n_withheld(self) -> int:
        """Number of cells that could not keep their promise."""
        return int(self.stated["cells"]["withheld"])

    @property
    def n_records_covered(self) -> int:
        """Number of records in the published cells."""
        return int(self.stated["records_covered"])
