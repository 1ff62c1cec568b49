"""An input format as one value: how it is recognised, what `init` sees of it, how its rows are counted and read.

All of them are listed in `all_formats.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.records.input_formats.geoparquet import Geometries


@dataclass(frozen=True)
class Given:
    """What the owner says himself.

    Attributes:
        header: The names of the columns of CSV files without a header.
        delimiter: The character between the fields of CSV files.
        format: The name of the files' format.
        records: The path to the list of records of JSON documents; "" if the document is the list.
        columns: The column of each role that is given; of the time it may be two.
        per_degree: How many of its units a degree has in places.
        time_format: The form of the times.
        timezone: The time zone of the days.
        time_zone: The time zone of times without an offset.
        only: The texts of the rows that count, by their columns.
    """

    header: tuple[str, ...] = ()
    delimiter: str | None = None
    format: str | None = None
    records: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    time_format: str | None = None
    timezone: str | None = None
    time_zone: str | None = None
    per_degree: int | None = None
    only: dict[str, list[str]] = field(default_factory=dict)


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
        records: The path to the list of records, of a JSON document; "" if the document is the list. None for others.
        kinds: The type of each column, of a Parquet file.
        files: The files that were looked at, of an archive.
        parts: What each of these looks like.
        geometries: What a Parquet file says of its geometries; None if it says nothing.
    """

    format: "InputFormat"
    names: list[str]
    column: Callable[[str], list[Any]]
    spread: Callable[[str], list[Any]]
    delimiter: str = ","
    header: tuple[str, ...] = ()
    records: str | None = None
    kinds: dict[str, str] | None = None
    files: tuple[Path, ...] = ()
    parts: tuple["Look", ...] = ()
    geometries: Geometries | None = None

    @property
    def own_names(self) -> list[str]:
        """The names of columns that each record has itself: none leads into a list of objects in it."""
        return [name for name in self.names if not self.format.has_members or "]." not in name]


class Left(NamedTuple):
    """How many rows of a file are not in raw_record, by reason."""

    n_malformed: int
    n_forgotten: int
    n_left_out: int = 0

    def plus(self, other: "Left") -> "Left":
        """Return the numbers of both together."""
        return Left(*map(sum, zip(self, other, strict=True)))


class Snapshot(NamedTuple):
    """What a recorded snapshot shows of its records.

    Attributes:
        places: Where it can have records: the paths to lists, or the header of CSV.
        has_records: Whether it has some.
    """

    places: frozenset[Any]
    has_records: bool


class Part(NamedTuple):
    """What one of several files is in what they were merged to.

    Attributes:
        which: Its position among the files that were given.
        n_rows: How many rows it has, counted without the engine.
        n_numbers: How many numbers of rows it takes up.
        first_byte: Where it begins, if they were merged as text.
        n_lines: How many lines it has then.
        user: The user that the file is named after, if files are.
    """

    which: int
    n_rows: int
    n_numbers: int
    first_byte: int = 0
    n_lines: int = 0
    user: str | None = None


class Merged(NamedTuple):
    """Some small files as one.

    Attributes:
        read: Reads all of them, as the format's ``read`` does one.
        parts: The files, in order.
    """

    read: Callable[[warehouse.Connection, dict[str, Any], Config], Left]
    parts: list[Part]


def _never_merged(*_: Any) -> list[Merged]:
    """Merge nothing."""
    return []


def _any_columns(files: Sequence[Path], looks: Sequence[Look], columns: Mapping[str, str]) -> None:
    """Refuse no columns."""


@dataclass(frozen=True)
class InputFormat:
    """A format of source files.

    Attributes:
        name: What `dataset.format` calls it.
        endings: What the names of its files end in; the first is that of snapshots that are recorded.
        domain: What a value may be in it, for the ledger: whatever it is, its record counts.
        begins: Returns whether a file is of it by its first bytes, which are not compressed any more.
        look: Returns what `init` sees of a file. No value may change it.
        count: Returns how many rows a file has, counted without the engine.
        read: Puts the rows of a file into raw_record or, what is no row, into quarantine. It gets a connection, the
            path, the parameters ``file_id``, ``file_date`` and ``n_before``, and the configuration.
        merge: Returns some small files as few, which are read faster; those in none of them are read by themselves. It
            gets the paths, a private folder for what is merged, and the configuration.
        snapshot: Returns what a snapshot shows, from its first bytes and from a function that returns all; None if it
            is no data.
        time_zone: Returns the time zone of a file's times without an offset.
        refuse_columns: Raises ``BadInput`` if files cannot have the columns that were chosen.
        holds_snapshots: Whether files are snapshots of a feed, which repeat the last report of who stands still.
        has_members: Whether columns are members of records, which can hold others.
        time_else: The usual `columns.time_else`; None if a record that has no time can have none elsewhere.
        can_name_user: Whether `columns.user` may be the name of the file.
        has_columns: Whether a source chooses its columns: a time may be two or in the path, a place a cell or a point.
    """

    name: str
    endings: tuple[str, ...]
    domain: str
    begins: Callable[[bytes], bool]
    look: Callable[[Path, Given], Look]
    count: Callable[[Path, Config], int]
    read: Callable[[warehouse.Connection, Path, dict[str, Any], Config], Left]
    merge: Callable[[Sequence[Path], Path, Config], list[Merged]] = _never_merged
    snapshot: Callable[[bytes, Callable[[], bytes]], Snapshot | None] = lambda *_: Snapshot(frozenset(), True)
    time_zone: Callable[[Path, Config], str] = lambda _, config: config.time_zone
    refuse_columns: Callable[[Sequence[Path], Sequence[Look], Mapping[str, str]], None] = _any_columns
    holds_snapshots: bool = False
    has_members: bool = False
    time_else: str | None = None
    can_name_user: bool = False
    has_columns: bool = False
