"""The files of a day where presence is secret. All of them follow from the noisy table."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

import polars as pl

from tasks.account.entry import Stated
from tasks.base import durable
from tasks.base.storage import MANIFEST
from tasks.output_formats.catalogue import HTML, Format, of_table
from tasks.presence.config import PresenceConfig
from tasks.presence.table import COLUMNS

_WRITTEN_LATER = ("number", "previous_hash", "hash", "committed_at", "states")


@dataclass(frozen=True)
class PresenceDay:
    """What the writers get of a release. All of it is public.

    Attributes:
        table: The published table.
        config: The configuration.
        date: The local day.
        revision: Name of a further release of the day, None for the first.
        guarantee: What is promised, in a sentence.
        said_first: What a reader must know before the numbers, in sentences; None if nothing.
    """

    table: pl.DataFrame
    config: PresenceConfig
    date: dt.date
    revision: str | None
    guarantee: str
    said_first: str | None

    @property
    def has_cells(self) -> bool:
        """Whether any cell is published."""
        return not self.table.is_empty()

    @property
    def has_map(self) -> bool:
        """Whether there is a map: of means, or of users, if any cell is published."""
        return self.config.publish.map and self.has_cells


def _map(day: PresenceDay) -> bytes:
    from tasks.presence.page import page

    return page(day)


FORMATS: tuple[Format[PresenceDay], ...] = (
    *of_table("statistics", lambda day: day.table, has_hexagons=lambda day: day.has_cells),
    Format("map.html", HTML, _map, is_wanted=lambda day: day.has_map),
)
"""The files of a day beside the noisy answers and the manifest."""


def manifest(entry: Stated, hashes: dict[str, str]) -> bytes:
    """Return the manifest: what the entry says, the other files, and what the columns mean.

    Args:
        entry: The fields of the entry.
        hashes: The hashes of the other files, by name.
    """
    public: dict[str, Any] = {key: value for key, value in entry.items() if key not in _WRITTEN_LATER}
    others = {name: file_hash for name, file_hash in hashes.items() if name != MANIFEST}
    value, grid = public["settings"]["value"], public["settings"]["grid"]
    about = {"value": {name: value[name] for name in ("name", "unit")}, "grid": grid}
    return durable.readable_json(public | about | {"files": others, "columns": COLUMNS})
