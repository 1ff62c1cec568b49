"""The entries of the ledger that release nothing: they change the budget, or the definition of privacy."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from dpmath.core.currency import Currency, currency_of
from tasks.account.entry import (
    BUDGET,
    DEFINITION,
    FORMAT,
    STOPPED,
    Entry,
    Release,
    Stated,
    first_of_another_type,
    problem_with_currency,
)
from tasks.account.stopped import Stopped
from tasks.base.errors import LedgerBroken

_CONVERSION_TEXTS = ("dataset", "definition_before", "epsilon_total_before", "totals", "reason", "code", "committed_at")


@dataclass(frozen=True)
class Change(Entry):
    """A public entry that releases nothing, with a reason."""

    @property
    def budget(self) -> Stated:
        """The budget from this entry on."""
        budget: Stated = self.stated["budget"]
        return budget

    @property
    def reason(self) -> str:
        """Why it was made."""
        return str(self.stated["reason"])


@dataclass(frozen=True)
class Amendment(Change):
    """A public entry that loosens the budget."""

    kind = "amendment"

    @property
    def budget_before(self) -> Stated:
        """The budget before this entry."""
        budget: Stated = self.stated["budget_before"]
        return budget


@dataclass(frozen=True)
class Conversion(Change):
    """A public entry that changes the account from pure epsilon to zCDP, with the losses of all earlier releases."""

    kind = "conversion"

    @cached_property
    def currency(self) -> Currency:
        """What losses are counted in from this entry on."""
        return currency_of(self.stated["definition"], Decimal(self.stated["delta"]))

    @property
    def in_words(self) -> str:
        """What is counted in before and after, as text."""
        return f"pure epsilon -> zCDP at delta {self.currency.delta:f}"

    @property
    def losses(self) -> dict[str, str]:
        """The hash of the file with the loss of each user in the new currency, by id of the earlier release."""
        losses: dict[str, str] = self.stated["losses"]
        return losses

    @property
    def totals(self) -> str:
        """The hash of the file with the loss of each user by all earlier releases, in the new currency."""
        return str(self.stated["totals"])

    def misstated(self) -> str | None:
        """Return the first field that is missing or of another type; None if there is none."""
        types = [(_CONVERSION_TEXTS, str), (("losses", "budget"), dict)]
        name = first_of_another_type(self.stated, types)
        if name is not None:
            return name
        return problem_with_currency(self.stated)

    @property
    def loss_used_after(self) -> int:
        """What counts against the limit for the day after the last release, in the new currency's unit."""
        return int(self.stated["loss_window_after"] or self.stated["loss_total_after"])

    @property
    def loss_total_after(self) -> int:
        """What all earlier releases cost the worst user, in the new currency's unit."""
        return int(self.stated["loss_total_after"])


def entry_of(stated: Stated) -> Release | Stopped | Amendment | Conversion:
    """Return the entry that a line of the ledger states.

    Raises:
        LedgerBroken: It is of another format.
    """
    if stated.get("format") != FORMAT:
        raise LedgerBroken(
            f"entry {stated['number']} of the ledger has the format {stated.get('format')}, and this version reads and "
            f"writes {FORMAT} only: use the version that wrote it"
        )
    kinds: dict[Any, type[Release | Stopped | Amendment | Conversion]] = {
        BUDGET: Amendment,
        DEFINITION: Conversion,
        STOPPED: Stopped,
    }
    return kinds.get(stated.get("kind"), Release)(stated)


def problem_with_change(entry: Change, before: list[Entry]) -> str | None:
    """Return what is wrong with the dataset or the reason of a change that follows others; None if nothing."""
    wrong = entry.dataset != before[-1].dataset or not entry.reason.strip()
    return "it is of another dataset, or gives no reason" if wrong else None
