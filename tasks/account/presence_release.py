"""The release of a day where presence is secret: it costs everybody the same, for nobody may know who was there."""

from collections.abc import Iterable
from dataclasses import dataclass

from tasks.account.entry import Entry, Spending, Stated

PRESENCE = "presence"
"""The kind of these entries. A ledger has either these or those of users, never both."""


@dataclass(frozen=True)
class PresenceRelease(Spending):
    """The release of a day."""

    kind = PRESENCE
    objects = ("settings", "files", "cells")

    @property
    def loss(self) -> int:
        """What it costs everybody, in the unit of its currency."""
        return int(self.stated["loss"])

    @property
    def area(self) -> Stated:
        """The public area: its number of hexagons, and their hash."""
        area: Stated = self.settings["grid"]["area"]
        return area

    @property
    def n_cells(self) -> int:
        """Number of public cells."""
        return int(self.stated["cells"]["total"])

    @property
    def n_published(self) -> int:
        """Number of published cells."""
        return int(self.stated["cells"]["published"])


def presence_releases(entries: Iterable[Entry]) -> list[PresenceRelease]:
    """Return the releases of this kind, in order."""
    return [entry for entry in entries if isinstance(entry, PresenceRelease)]
