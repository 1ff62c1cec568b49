"""What the files over all days tell: of the dataset, of its releases, and of what they cost. All of it is public."""

import datetime as dt
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.base.config import Config
from tasks.base.storage import MANIFEST
from tasks.output_formats.catalogue import Format
from tasks.output_formats.columns import meaning

_SHOWN_FIRST = ("map.html", "statistics.csv")
"""What readers open of a release: the first of these that it has, else its manifest."""


@dataclass(frozen=True)
class PublishedRelease:
    """A release as the files over all days show it.

    Attributes:
        date: The local day.
        revision: Name of a further release of the day; None for the first.
        folder: Where its files are, relative to the folder of all releases.
        files: The SHA-256 of each of its files, by name.
        n_published: Number of published cells.
        said_first: What a reader must know before the numbers, in sentences; None if nothing.
        fields: Its columns, in order, with their types as a Table Schema names them; empty if they are not known.
        whole_day: The mean over all its records, and the standard deviation of that; None if they are not known.
    """

    date: dt.date
    revision: str | None
    folder: str
    files: Mapping[str, str]
    n_published: int
    said_first: str | None
    fields: tuple[tuple[str, str], ...]
    whole_day: tuple[float, float] | None = None

    @property
    def link(self) -> str:
        """Where the file is that readers open, relative to the folder of all releases."""
        return f"{self.folder}/{next((name for name in _SHOWN_FIRST if name in self.files), MANIFEST)}"


@dataclass(frozen=True)
class Publication:
    """A dataset with its releases, at least one.

    Attributes:
        config: The configuration. Only what is public of it is shown.
        privacy: What each user is promised, as texts: the statement, and each part of the guarantee.
        share: What counts against the budget, of the user who lost most, as a share of it in what is counted.
        n_more_like_it: How many more days like the last release the budget pays.
        created: When the first release was made.
        modified: When the last release was made.
        releases: All releases, in the order in which they were made.
        formats: The files of a day.
        is_presence_secret: Whether that somebody was there at all is secret; else values alone are.
        meaning: Returns what a published column means.
    """

    config: Config
    privacy: Mapping[str, Any]
    share: float
    n_more_like_it: int
    created: dt.datetime
    modified: dt.datetime
    releases: Sequence[PublishedRelease]
    formats: Sequence[Format[Any]]
    is_presence_secret: bool = False
    meaning: Callable[[str], str] = meaning

    @functools.cached_property
    def first_ones(self) -> dict[dt.date, PublishedRelease]:
        """The first release of each day."""
        return {one.date: one for one in self.releases if one.revision is None}

    @property
    def latest(self) -> PublishedRelease:
        """The first release of the latest day."""
        return self.first_ones[max(self.first_ones)]

    @property
    def purpose(self) -> str:
        """What the publication is for; empty if that is not stated."""
        purpose = self.config.dataset.purpose
        return "" if purpose == "not stated" else purpose

    @property
    def title(self) -> str:
        """A title for people."""
        grid, value = self.config.grid, self.config.value
        cell = f"hexagon (H3 {grid.h3_resolution}) and {grid.slot_minutes} minutes"
        return f"{self.config.dataset.name}: {value.name} per {cell}"

    @property
    def description(self) -> str:
        """What the data are, what they are for, and what was done for privacy, in a few sentences."""
        value = self.config.value
        sentences = [
            self.purpose.rstrip("."),
            f"Noisy statistics of {value.name} in {value.unit} for each H3 hexagon and time slot of a day, with an "
            "interval for each number",
            f"Differential privacy: {self.privacy['statement']}",
            f"Protected is {self.privacy['unit_of_privacy']}",
            f"Not protected: {self.privacy['not_protected']}",
        ]
        return ". ".join(filter(None, sentences)) + "."
