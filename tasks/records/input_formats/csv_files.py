"""CSV files, also without a header, and with other delimiters."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats import recognise, text_lines
from tasks.records.input_formats.columns import column_roles, place_form, roles_of, rows_that_count, source_names
from tasks.records.input_formats.compressed import open_binary, packed
from tasks.records.input_formats.csv_merged import merged_csv
from tasks.records.input_formats.csv_rows import count_csv_rows, csv_records, first_line_end
from tasks.records.input_formats.file_users import needed_user
from tasks.records.input_formats.incoming import BLANK, blaming, keep_incoming
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged, Snapshot
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly
from tasks.records.input_formats.times import N_LOOKED_AT, time_form, written_times

_MOST_NOT_IN_A_HEADER = 1  # if the header is missing, a value of the first record could equal a column's name
_FEWEST_COLUMNS = 4


def _look(path: Path, given: Given) -> Look:
    if given.header and given.delimiter is None:
        raise BadInput("--delimiter is missing: a file without a header does not show it. For example: --delimiter ,")
    delimiter, names = _header(path, given)
    records = list(itertools.islice(_rows(path, delimiter, given), MOST_RECORDS))
    rows = [row for row in records if len(row) == len(names)]
    if records and not rows:
        n_columns = Counter(map(len, records)).most_common(1)[0][0]
        said = f"--header names {len(names)}" if given.header else f"its header has {len(names)}"
        raise BadInput(
            f"{path}: has {n_columns} columns, and {said}; check --header and --delimiter. If rows end in a delimiter, "
            "the header must end in one too"
        )

    def column(name: str) -> list[str]:
        position = names.index(name)
        return [row[position] for row in rows]

    def spread(name: str) -> list[str]:
        position = names.index(name)
        fields = (row[position] for row in _rows(path, delimiter, given) if len(row) == len(names))
        return evenly(fields, MOST_RECORDS)

    return Look(CSV, list(filter(str.strip, names)), column, spread, delimiter, given.header)


def _rows(path: Path, delimiter: str, given: Given) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, without its header and blank lines."""
    return filter(None, itertools.islice(csv_records(path, delimiter), 0 if given.header else 1, None))


def _header(path: Path, given: Given) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns; the first line alone decides, or the owner."""
    if given.header:
        return given.delimiter or ",", list(given.header)
    try:
        with open_binary(path) as file:
            lines = [file.readline(text_lines.LONGEST_RECORD) for _ in range(2)]
        line = lines[0].decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise text_lines.not_utf8(path) from None
    if not line.strip():
        raise BadInput(f"{path}: its first line is empty, and must be the header; remove it, or name another file")
    if "\0" in line:
        raise text_lines.not_utf8(path)
    text_lines.refuse_separator(path, line)
    known = given.delimiter or ("\t" if path.name.endswith(packed(".tsv")) else None)
    if recognise.is_comment(line, lines[1].decode("utf-8", "replace").rstrip("\r\n"), known):
        raise BadInput(
            f"{path}: its first line is a comment, and must be the header; remove it, for example with sed 1d"
        )
    if not recognise.is_header(line, known):
        raise BadInput(
            f"{path}: its first line is no header: a name in it is a number, or several are empty. If it is a header, "
            "give each column a name in it. If it is a record, name the columns in order with --header, and say what "
            'stands between them, for example --header "id,time,lat,lon,speed" --delimiter ","'
        )
    delimiter = known or recognise.delimiter_of(line)
    return delimiter, recognise.split(line, delimiter)


def _count(path: Path, config: Config) -> int:
    return count_csv_rows(path, config.dataset.delimiter, len(config.dataset.header))


def _read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    names = [{"user": "user_id"}.get(role, role) for role in _columns(path, config)]
    of_time = [names.index(column_roles(config)[one]) for one in ("time", "clock")]
    first, second = _first_times(path, of_time, N_LOOKED_AT, config)
    times = time_form(written_times(connection, first, second, config), config)
    parameters = {
        "path": str(path),
        "columns": dict.fromkeys(names, "VARCHAR"),
        "delimiter": config.dataset.delimiter,
        "line_end": first_line_end(path),
        "header": not config.dataset.header,
        "filename": "user_id" if config.columns.is_of_path else False,
        "user_of_file": needed_user(path, config) if config.columns.is_of_path else None,
        "decimal": config.dataset.decimal,
        **column_roles(config),
        **place_form(config),
        **rows_that_count(config),
    }
    of_path = {"path": str(path)}
    with blaming(path, "csv"):
        warehouse.run(connection, "scratch/incoming_csv", {**parameters, **times, **BLANK})
        if warehouse.rows(connection, "checks/lines_not_utf8", of_path):
            raise text_lines.not_utf8(path)
        if warehouse.rows(connection, "checks/rejected_otherwise", of_path):
            raise text_lines.unreadable(path, "csv")
        n_malformed = warehouse.changed(connection, "write/quarantine_csv_lines", {**file, **of_path})
    return keep_incoming(connection, file, n_malformed, config)


def _merged(paths: Sequence[Path], folder: Path, config: Config) -> list[Merged]:
    return merged_csv(paths, folder, config, _read)


def _columns(path: Path, config: Config) -> list[str]:
    """Return a CSV file's columns in the file's order; the five that are read are named by their role.

    Files without a header have the columns that the configuration names.

    Raises:
        BadInput: The header is missing, not UTF-8, or lacks a column. If the header is missing, the first line is a
            record: then the message depends on none of its fields.
    """
    if config.dataset.header:
        return _by_role(path, list(config.dataset.header), "mend dataset.header", config)
    try:
        first_line = text_lines.first_line(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise text_lines.not_utf8(path) from None
    header = recognise.split(first_line, config.dataset.delimiter)
    if not header:
        raise BadInput(f"{path}: the file is empty, or its first line is, without a header")
    wanted = source_names(config).values()
    text_lines.refuse_separator(path, first_line)
    held = f". It has: {', '.join(header)}" if recognise.is_header(first_line.rstrip("\r\n"), None) else ""
    if sum(name not in header for name in wanted) > _MOST_NOT_IN_A_HEADER:
        columns = ", ".join(f'"{name}"' for name in wanted)
        raise BadInput(
            f"{path}: the first line is no header with the columns {columns}; check dataset.delimiter, or name the "
            f"columns of files without a header in dataset.header{held}"
        )
    return _by_role(path, header, f"check the header, [columns] and dataset.delimiter{held}", config)


def _by_role(path: Path, header: list[str], hint: str, config: Config) -> list[str]:
    roles = roles_of(path, header, hint, config)
    return [roles.get(position, f"unused_{position}") for position in range(len(header))]


def _first_times(path: Path, positions: list[int], n: int, config: Config) -> list[list[str | None]]:
    """Return the times of the first records of a CSV file; how long or what their values are does not matter.

    Args:
        path: The file.
        positions: Which of its columns have the times, or the dates and the times.
        n: How many records to look at.
        config: Gives the delimiter, and says whether there is a header.
    """
    start = 0 if config.dataset.header else 1
    records = itertools.islice(csv_records(path, config.dataset.delimiter), start, start + n)
    whole = (record for record in records if len(record) > max(positions))
    parts = [[record[position].removeprefix("\ufeff") or None for position in positions] for record in whole]
    return [[part[number] for part in parts] for number in range(len(positions))]


def _snapshot(start: bytes, _: Callable[[], bytes]) -> Snapshot | None:
    """Return what a snapshot in CSV shows: a line alone may be a header, or a sentence with commas."""
    text = start.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if recognise.n_csv_columns(text) < _FEWEST_COLUMNS:
        return None
    return Snapshot(frozenset(lines[:1]), len(lines) > 1)


CSV = InputFormat(
    name="csv",
    endings=packed(".csv", ".tsv"),
    domain="in CSV any field of RFC 4180, its record at most 64 KiB",
    begins=lambda start: recognise.is_text(start) and bool(recognise.without_blanks(start)),
    look=_look,
    count=_count,
    read=_read,
    merge=_merged,
    snapshot=_snapshot,
    can_name_user=True,
    has_columns=True,
)
