"""The entries of the ledger that release nothing: they change the budget, or the definition of privacy."""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from dpmath.core.currency import Currency, currency_of
from tasks.account.entry import (
    BUDGET,
    DEFINITION,
    FIRST_WITH_LOSSES,
    Entry,
    Release,
    Stated,
    problem_with_currency,
)

_CONVERSION_TEXTS = ("dataset", "definition_before", "epsilon_total_before", "totals", "reason", "code", "committed_at")


@dataclass(frozen=True)
class Amendment(Entry):
    """A public entry that loosens the budget."""

    @property
    def budget(self) -> Stated:
        """The budget from this entry on."""
        budget: Stated = self.stated["budget"]
        return budget

    @property
    def budget_before(self) -> Stated:
        """The budget before this entry."""
        budget: Stated = self.stated["budget_before"]
        return budget

    @property
    def reason(self) -> str:
        """Why users may lose more."""
        return str(self.stated["reason"])


@dataclass(frozen=True)
class Conversion(Entry):
    """A public entry that changes the account from pure epsilon to zCDP, with the losses of all earlier releases."""

    @property
    def budget(self) -> Stated:
        """The budget from this entry on."""
        budget: Stated = self.stated["budget"]
        return budget

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
        types = [(_CONVERSION_TEXTS, str), (("losses", "budget"), dict), (("format",), int)]
        for names, kind in types:
            for name in names:
                if type(self.stated.get(name)) is not kind:
                    return name
        if self.stated["format"] < FIRST_WITH_LOSSES:
            return "format"
        return problem_with_currency(self.stated)

    @property
    def loss_used_after(self) -> int:
        """What counts against the limit for the day after the last release, in the new currency's unit."""
        return int(self.stated["loss_window_after"] or self.stated["loss_total_after"])

    @property
    def loss_total_after(self) -> int:
        """What all earlier releases cost the worst user, in the new currency's unit."""
        return int(self.stated["loss_total_after"])

    @property
    def reason(self) -> str:
        """Why the definition changes."""
        return str(self.stated["reason"])


def entry_of(stated: Stated) -> Release | Amendment | Conversion:
    """Return the entry that a line of the ledger states."""
    kinds: dict[Any, type[Release | Amendment | Conversion]] = {BUDGET: Amendment, DEFINITION: Conversion}
    return kinds.get(stated.get("kind"), Release)(stated)
