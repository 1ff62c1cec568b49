"""An entry of the ledger as a value. ``docs/reference/ledger.md`` says what each of its fields means."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

Stated = dict[str, Any]
"""What an entry states, as its line in the ledger holds it. No float is in it."""

BUDGET = "budget"
"""The kind of the entries that loosen the budget; all others are releases."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Attributes:
        stated: All that it states. Whoever reads one field takes the property below; this is for the whole.
    """

    stated: Stated

    @property
    def number(self) -> int:
        """Its place in the ledger, from 1."""
        return int(self.stated["number"])

    @property
    def hash(self) -> str:
        """The SHA-256 of all that it states but this."""
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
    def budget(self) -> Stated:
        """The budget that it holds to, or puts in force."""
        raise NotImplementedError


@dataclass(frozen=True)
class Release(Entry):
    """A release of a day. Losses are those of the user who lost most, exact."""

    @property
    def release_id(self) -> str:
        """What the release is known by."""
        return str(self.stated["release_id"])

    @cached_property
    def date(self) -> dt.date:
        """The local day."""
        return dt.date.fromisoformat(self.stated["date"])

    @property
    def revision(self) -> str | None:
        """The name of a further release of the day; None for the first."""
        name: str | None = self.stated["revision"]
        return name

    @property
    def settings(self) -> Stated:
        """The public settings that it was made under."""
        settings: Stated = self.stated["settings"]
        return settings

    @property
    def budget(self) -> Stated:
        """The budget that it was made under."""
        budget: Stated = self.settings["budget"]
        return budget

    @property
    def code(self) -> str:
        """The hash of the code that made it."""
        return str(self.stated["code"])

    @property
    def plan(self) -> str:
        """The hash of the stored plan."""
        return str(self.stated["plan"])

    @property
    def losses(self) -> str:
        """The hash of the file of what it cost each user."""
        return str(self.stated["losses"])

    @property
    def totals(self) -> str:
        """The hash of the file of what each user lost by everything up to it."""
        return str(self.stated["totals"])

    @property
    def user_key_fingerprint(self) -> str:
        """The fingerprint of the secret that user ids were hashed with."""
        return str(self.stated["user_key_fingerprint"])

    @property
    def files(self) -> dict[str, str]:
        """The hash of each published file, by name."""
        files: dict[str, str] = self.stated["files"]
        return files

    @property
    def rows(self) -> dict[str, int]:
        """The day's rows by what became of them."""
        rows: dict[str, int] = self.stated["rows"]
        return rows

    @property
    def n_cells(self) -> int:
        """Cells of the day."""
        return int(self.stated["cells"]["total"])

    @property
    def n_published(self) -> int:
        """Cells published."""
        return int(self.stated["cells"]["published"])

    @property
    def n_withheld(self) -> int:
        """Cells that could not keep their promise."""
        return int(self.stated["cells"]["withheld"])

    @property
    def n_records_covered(self) -> int:
        """Records in the published cells."""
        return int(self.stated["records_covered"])

    @property
    def epsilon_per_day(self) -> Decimal:
        """The most that it was allowed to cost."""
        return Decimal(self.settings["privacy"]["epsilon_per_day"])

    @property
    def epsilon(self) -> Decimal:
        """What it cost."""
        return Decimal(self.stated["epsilon"])

    @property
    def epsilon_total_after(self) -> Decimal:
        """What everything up to it cost."""
        return Decimal(self.stated["epsilon_total_after"])

    @property
    def epsilon_used_after(self) -> Decimal:
        """What counted against the limit after it: everything, or the most within a window of days."""
        return Decimal(self.stated["epsilon_window_after"] or self.stated["epsilon_total_after"])

    @property
    def epsilon_left(self) -> Decimal:
        """What the limit left after it."""
        return Decimal(self.stated["epsilon_left"])


@dataclass(frozen=True)
class Amendment(Entry):
    """A loosening of the budget, on purpose and in public."""

    @property
    def budget(self) -> Stated:
        """The budget from here on."""
        budget: Stated = self.stated["budget"]
        return budget

    @property
    def budget_before(self) -> Stated:
        """The budget until then."""
        budget: Stated = self.stated["budget_before"]
        return budget

    @property
    def reason(self) -> str:
        """Why users may lose more."""
        return str(self.stated["reason"])


def entry_of(stated: Stated) -> Release | Amendment:
    """Return what a line of the ledger is."""
    return Amendment(stated) if stated.get("kind") == BUDGET else Release(stated)
