"""Looks: what a source file looks like, and what its owner says himself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tasks.base.config_source import Format


@dataclass(frozen=True)
class Given:
    """What the owner says himself.

    Attributes:
        header: The names of the columns of CSV files without a header.
        delimiter: The character between the fields of CSV files.
        format: The format of the files.
        records: The path to the list of records of JSON documents; "" if the document is the list.
        columns: The column of each role that is given.
        time_format: The form of the times.
        timezone: The time zone.
    """

    header: tuple[str, ...] = ()
    delimiter: str | None = None
    format: Format | None = None
    records: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    time_format: str | None = None
    timezone: str | None = None


@dataclass(frozen=True)
class Look:
    """What a source file looks like.

    Attributes:
        format: Its format.
        names: The names of its columns, or the paths of the members of its records; none if it has no records.
        column: Returns what the first records have in the column of a name.
        spread: Returns what records from all over the file have there; it reads the whole file.
        delimiter: The character between fields, of a CSV file.
        header: The names that were given for a file without a header.
        records: The path to the list of records, of a JSON document; "" if the document is the list.
        kinds: The type of each column, of a Parquet file.
    """

    format: Format
    names: list[str]
    column: Callable[[str], list[Any]]
    spread: Callable[[str], list[Any]]
    delimiter: str = ","
    header: tuple[str, ...] = ()
    records: str = ""
    kinds: dict[str, str] | None = None

    @property
    def own_names(self) -> list[str]:
        """The names of columns that each record has itself: none leads into a list of objects in it."""
        return [name for name in self.names if self.format not in ("json", "ndjson") or "]." not in name]
