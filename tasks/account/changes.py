"""The entry that releases nothing and changes the budget, and which entry a line of the ledger states."""

from dataclasses import dataclass
from typing import Any

from tasks.account.entry import BUDGET, FORMAT, STOPPED, Entry, Release, Stated
from tasks.account.presence_release import PRESENCE, PresenceRelease
from tasks.account.stopped import Stopped
from tasks.base.errors import LedgerBroken


@dataclass(frozen=True)
class Amendment(Entry):
    """A public entry that loosens the budget, with a reason."""

    kind = "amendment"

    @property
    def budget_before(self) -> Stated:
        """The budget before this entry."""
        budget: Stated = self.stated["budget_before"]
        return budget

    @property
    def budget(self) -> Stated:
        """The budget from this entry on."""
        budget: Stated = self.stated["budget"]
        return budget

    @property
    def reason(self) -> str:
        """Why it was made."""
        return str(self.stated["reason"])


Kind = Release | Stopped | Amendment | PresenceRelease
"""All that an entry can be."""


def entry_of(stated: Stated) -> Kind:
    """Return the entry that a line of the ledger states.

    Raises:
        LedgerBroken: It is of another format, or of a kind that is not known.
    """
    if stated.get("format") != FORMAT:
        raise LedgerBroken(
            f"entry {stated['number']} of the ledger has the format {stated.get('format')}, and this version reads and "
            f"writes {FORMAT} only: use the version that wrote it"
        )
    kinds: dict[Any, type[Kind]] = {
        Release.kind: Release,
        BUDGET: Amendment,
        STOPPED: Stopped,
        PRESENCE: PresenceRelease,
    }
    kind = kinds.get(stated.get("kind", Release.kind))
    if kind is None:
        raise LedgerBroken(
            f"entry {stated['number']} of the ledger is of the kind {stated.get('kind')}, and this version knows only "
            f"{', '.join(kinds)}: use the version that wrote it"
        )
    return kind(stated)
