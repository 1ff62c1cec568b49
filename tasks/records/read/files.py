"""Files: reads input files into raw_record, one, an archive, or many small ones at once, and counts every row."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.base.file_patterns import is_of_path
from tasks.base.storage import own_folder, private_folder
from tasks.records.input_formats.all_formats import format_of
from tasks.records.input_formats.archives import is_archive, naming, unpacked
from tasks.records.input_formats.columns import USUAL_PLACE, place_form
from tasks.records.input_formats.compressed import put_on_disk
from tasks.records.input_formats.input_format import InputFormat, Left, Merged
from tasks.records.input_formats.merged import note_parts
from tasks.records.input_formats.text_lines import unreadable
from tasks.records.input_formats.times import define_times, note_clock_changes, use_parts, use_zones

_MADE_TO_READ = (
    "scratch/number_of",
    "scratch/cell_index",
    "scratch/place_of",
    "scratch/readable_json",
    "scratch/trimmed_id",
    "scratch/is_among",
    "scratch/taken_at",
    "scratch/was_forgotten",
    "scratch/empty_file_hour",
    "scratch/whole_hour",
)

_MINUTE = 60_000_000
_ORDERS: tuple[dict[str, Any], ...] = (
    {"by_user": True, "tolerance": _MINUTE, "jump": 24 * 60 * _MINUTE},
    {"by_user": False, "tolerance": 30 * _MINUTE, "jump": 30 * _MINUTE},
)
"""What may tell in which of two hours a time was: the order of a user's rows, then that of all rows of a file."""

Identity = dict[str, str]
"""A file's name, content_hash and settings_hash."""


def read_file(
    connection: warehouse.Connection,
    path: Path,
    file_date: dt.date | None,
    identity: Identity,
    config: Config,
    *,
    together: bool = True,
) -> int:
    """Read all of one new file into a warehouse and return the file's id.

    The engine notices a truncated gzip file but not a wrong checksum, and silently drops lines beyond some length. So
    every text file is read once more to count its rows without the engine.

    Args:
        connection: Connection to the warehouse, in a transaction.
        path: The file, or an archive of files, which is one file then.
        file_date: The day it is for, if it is for one.
        identity: What identifies it.
        config: Says how to read.
        together: Whether small files in an archive may be read at once.

    Raises:
        BadInput: It cannot be read; the caller must roll back. An archive may still be read one by one.
    """
    file_id = warehouse.rows(connection, "read/next_file_id")[0][0]
    reader = _Reader(connection, file_date, config, path)
    if is_archive(path):
        n_rows, left, folder = 0, Left(0, 0), private_folder(config) / "unpacked"
        is_declared = config.dataset.format is not None
        with naming(path, folder), closing(unpacked(path, folder, is_declared)) as unpacking:
            for members in unpacking:
                counts, more = reader.read(members, [file_id] * len(members), together=together)
                n_rows, left = n_rows + sum(counts), left.plus(more)
    else:
        (n_rows,), left = reader.read([path], [file_id], together=False)
    n_undated = reader.finish([file_id])
    counts = {
        "n_rows": n_rows,
        "n_undated": n_undated,
        "n_malformed": left.n_malformed,
        "n_forgotten": left.n_forgotten,
    }
    warehouse.run(connection, "write/raw_file", {"file_id": file_id, "file_date": file_date, **identity, **counts})
    if warehouse.rows(connection, "checks/rows_unaccounted", {"file_id": file_id}):
        raise unreadable(path, "archive" if is_archive(path) else format_of(path, config).name)
    return file_id


def read_files(
    connection: warehouse.Connection,
    paths: Sequence[Path],
    file_date: dt.date | None,
    identities: Sequence[Identity],
    config: Config,
) -> list[int]:
    """Read several new files, none of which is an archive, and return their ids; as ``read_file``, but at once.

    Raises:
        BadInput: One cannot be read, or they cannot be read at once; the caller must roll back.
    """
    first = warehouse.rows(connection, "read/next_file_id")[0][0]
    ids = list(range(first, first + len(paths)))
    reader = _Reader(connection, file_date, config)
    n_rows, left = reader.read(paths, ids, together=True)
    reader.finish(ids)
    new = pl.DataFrame(identities).with_columns(
        pl.Series("file_id", ids, pl.Int32), pl.Series("n_rows", n_rows, pl.Int64), file_date=pl.lit(file_date, pl.Date)
    )
    connection.register("new_file", new.to_arrow())
    warehouse.run(connection, "write/raw_file_of_several")
    found = warehouse.rows(connection, "read/n_lost_rows", {"file_ids": ids})[0]
    if tuple(found) != (left.n_malformed, left.n_forgotten, left.n_left_out):
        raise unreadable(paths[0], format_of(paths[0], config).name)
    return ids


class _Reader:
    """Reads files on one connection, one after the other or at once."""

    def __init__(
        self, connection: warehouse.Connection, file_date: dt.date | None, config: Config, whole: Path | None = None
    ) -> None:
        self._connection, self._file_date, self._config = connection, file_date, config
        self._whole = whole  # the file that the others are in, or that they are
        self._zone: str | None = None

    def read(self, paths: Sequence[Path], ids: Sequence[int], *, together: bool) -> tuple[list[int], Left]:
        """Read some files, each with its id, and return how many rows each has, and what was lost of all."""
        n_rows, left, of_kind = [0] * len(paths), Left(0, 0), defaultdict[str, list[int]](list)
        for number, path in enumerate(paths):
            kind = format_of(path, self._config)
            _refuse_columns(path, kind, self._config)
            of_kind[kind.name].append(number)
        for numbers in of_kind.values():
            kind, done = format_of(paths[numbers[0]], self._config), set[int]()
            if together and len(numbers) > 1 and not any(map(is_of_path, self._config.columns.of_time)):
                with own_folder(private_folder(self._config) / "merged") as folder:
                    for one in kind.merge([paths[number] for number in numbers], folder, self._config):
                        left = left.plus(self._read_merged(one, [ids[number] for number in numbers]))
                        for part in one.parts:
                            n_rows[numbers[part.which]] = part.n_rows
                            done.add(numbers[part.which])
            for number in (one for one in numbers if one not in done):
                put_on_disk(paths[number])
                n_rows[number] = kind.count(paths[number], self._config)
                left = left.plus(self._read_alone(paths[number], kind, ids[number], self._n_before(ids)))
        return n_rows, left

    def finish(self, ids: list[int]) -> int:
        """Tell the times that were twice, quarantine rows without a day, and return how many those are."""
        for (file_id,) in warehouse.rows(self._connection, "checks/times_twice", {"file_ids": ids}):
            self._tell_times(file_id)
        zone = self._config.dataset.timezone
        use_zones(self._connection, zone, zone)
        return warehouse.changed(self._connection, "write/quarantine_undated_rows", {"file_ids": ids})

    def _read_merged(self, one: Merged, ids: Sequence[int]) -> Left:
        self._use(self._config.time_zone)
        use_parts(self._connection, None, None, self._config)
        note_parts(self._connection, one.parts, ids, self._n_before(ids))
        return one.read(self._connection, self._file(ids[0], 0), self._config)

    def _read_alone(self, path: Path, kind: InputFormat, file_id: int, n_before: int) -> Left:
        self._use(kind.time_zone(path, self._config))
        use_parts(self._connection, self._whole or path, self._file_date, self._config)
        note_parts(self._connection, [], [], 0)
        return kind.read(self._connection, path, self._file(file_id, n_before), self._config)

    def _file(self, file_id: int, n_before: int) -> dict[str, Any]:
        return {"file_id": file_id, "file_date": self._file_date, "n_before": n_before}

    def _n_before(self, ids: Sequence[int]) -> int:
        """Return the last number of a row that is held of a file in parts."""
        if len(ids) < 2 or len(set(ids)) > 1:
            return 0
        return int(warehouse.rows(self._connection, "read/last_row_number", {"file_id": ids[0]})[0][0])

    def _use(self, zone: str) -> None:
        """Let times without an offset be of a zone."""
        if zone == self._zone:
            return
        self._zone = zone
        use_zones(self._connection, zone, self._config.dataset.timezone)
        note_clock_changes(self._connection, zone)
        define_times(self._connection)
        for made in _MADE_TO_READ:
            warehouse.run(self._connection, made)

    def _tell_times(self, file_id: int) -> None:
        """Put times that the clock showed twice into one of the two hours, where the order of rows tells which."""
        for order in _ORDERS:
            if warehouse.rows(self._connection, "checks/times_twice", {"file_ids": [file_id]}):
                warehouse.run(self._connection, "scratch/told_time", {"file_id": file_id, **order})
                warehouse.run(self._connection, "write/told_time", {"file_id": file_id, "file_date": self._file_date})


def _refuse_columns(path: Path, kind: InputFormat, config: Config) -> None:
    """Refuse columns that a file's format cannot have.

    Raises:
        BadInput: So it is.
    """
    if config.columns.is_of_path and not kind.can_name_user:
        raise BadInput(
            f'{path}: columns.user = "{config.columns.user}" is not for {kind.name} files; name the column of the user'
        )
    if config.columns.time_else is not None and kind.time_else is None:
        raise BadInput(f"{path}: columns.time_else is for GTFS-Realtime alone, and this file is {kind.name}; remove it")
    columns = config.columns
    is_parted = len(columns.of_time) > 1 or any(map(is_of_path, columns.of_time))
    is_as_usual = place_form(config)["place"] == place_form(config)["place"] | USUAL_PLACE
    if (is_parted or not is_as_usual) and not kind.has_columns:
        raise BadInput(
            f"{path}: is {kind.name}, in which a time is one column and a place has latitude and longitude in degrees; "
            "name these in [columns] alone"
        )
