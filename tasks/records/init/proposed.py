"""What is proposed of a configuration: the parts that the source decides, and why."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Proposal:
    """What a source looks like, and why.

    Attributes:
        settings: The sections dataset and columns, without what cannot be recognised.
        reasons: Why each choice was made, in sentences.
        missing: The roles for which no column was recognised.
        maybe_missing: Others that may lack one too; it is only seen once the value is known.
        names: The names of all columns.
        unit: The unit that the name of the value's column says, or that a preset has; None if it is not known.
        date: The local day with the most of the records that were looked at.
        dates: The local days in the paths of the files, if each file holds one day.
        holds_snapshots: Whether the files are snapshots of a feed, which repeat old reports.
    """

    settings: dict[str, dict[str, Any]]
    names: list[str]
    reasons: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    maybe_missing: list[str] = field(default_factory=list)
    unit: str | None = None
    date: dt.date | None = None
    dates: list[dt.date] = field(default_factory=list)
    holds_snapshots: bool = False
