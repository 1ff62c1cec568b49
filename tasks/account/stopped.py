"""A stopped day: most of its users had no readable value, so nothing but the noisy count of them was spent."""

from collections.abc import Iterable
from dataclasses import dataclass

from tasks.account.entry import STOPPED, Charge, Entry, Stated


@dataclass(frozen=True)
class Stopped(Charge):
    """The entry of a day that was stopped by its screening. It has published nothing but the noisy count."""

    kind = STOPPED
    objects = ("settings", "screening")

    @property
    def screening(self) -> Stated:
        """The noisy count, of how many users, and what follows from it."""
        screening: Stated = self.stated["screening"]
        return screening

    @property
    def n_asked(self) -> int:
        """How many users were asked."""
        return int(self.screening["n_asked"])

    @property
    def n_unreadable(self) -> int:
        """Of how many of them most values could not be read or were missing, as the noisy count says."""
        return max(0, int(self.screening["noisy_count"]))


def stops(entries: Iterable[Entry]) -> list[Stopped]:
    """Return the stopped days among the ledger's entries, in order."""
    return [entry for entry in entries if isinstance(entry, Stopped)]
