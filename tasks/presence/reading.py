"""Reads a day: what each user brought to each cell. Private from the first byte to the last, how many there are too.

Each row is read by itself, and repeats are decided within a user: so a user who is taken away takes nothing along. The
form of times is declared, not guessed from a file. What the curator wants to know of a day is in ``private/reports``.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from dpmath.presence.user_cells import UserCells, capped
from tasks.base import durable, warehouse
from tasks.base.config import SPEED_UNITS
from tasks.base.errors import BadInput
from tasks.base.storage import private_folder
from tasks.occupancy.boxed_area import cells_about
from tasks.presence.config import FORMATS, PresenceConfig
from tasks.presence.json_rows import JsonRows
from tasks.presence.lines import count_lines
from tasks.presence.parquet_rows import parquet_rows
from tasks.records.input_formats.archives import ENDINGS as ARCHIVES
from tasks.records.input_formats.archives import is_archive
from tasks.records.input_formats.columns import place_form, rows_that_count
from tasks.records.input_formats.compressed import PACKINGS, open_binary
from tasks.records.input_formats.incoming import BLANK
from tasks.records.input_formats.recognise import split
from tasks.records.input_formats.text_lines import LONGEST_RECORD
from tasks.records.input_formats.times import TEXT, TimeForm, define_times, of_format, of_unit, use_zones
from tasks.records.judge.duplicates import repeated
from tasks.records.read.fetched import at_hand
from tasks.records.read.inputs import find_inputs

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "json",
}
_MACROS = (
    "scratch/lines_of",
    "scratch/without_mark",
    "scratch/number_of",
    "scratch/cell_index",
    "scratch/place_of",
    "scratch/is_larger",
    "scratch/hexagon_of",
    "scratch/trimmed_id",
    "scratch/means_missing",
    "scratch/is_among",
    "scratch/present_reason",
)
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def read_day(date: dt.date, config: PresenceConfig, read_for: str = "") -> UserCells:
    """Return what each user brought to each public cell of a local day, and leave a report for the curator.

    Args:
        date: The local day.
        config: Names the files, the columns and the area.
        read_for: What the report's name has beside the day: nothing for its first release, whose report stays as it is.

    Raises:
        BadInput: There is no file, or a file is damaged or lacks a column. Nothing else is refused: a day without
            records is a day as any other.
    """
    value, grid = config.value, config.grid
    ticks = {"lower": float(value.lower), "tick": config.tick, "n_ticks": value.n_ticks}
    places = {"resolution": grid.h3_resolution, "slot_minutes": grid.slot_minutes, "day_zone": config.timezone}
    with warehouse.in_memory(config.time_zone, config, h3_cell=cells_about(config.hexagons)) as connection:
        further = _read_files(connection, date, config)
        _derive_speeds(connection, config)
        cells = pl.Series([int(one, 16) for one in config.hexagons], dtype=pl.UInt64)
        connection.register("area_hexagon", pl.DataFrame({"h3_cell": cells}).with_row_index("number"))
        n_rows = warehouse.rows(connection, "read/n_present_rows")[0][0]
        connection.register("repeated_hash", repeated(connection, "read/present_hashes", {}, n_rows))
        factor = {"factor": float(value.factor_on(date))}
        warehouse.run(connection, "scratch/present_pair", {**ticks, **places, **factor, **_day_of(date, config)})
        warehouse.run(connection, "scratch/plain_id")
        outcomes = dict(warehouse.rows(connection, "read/present_outcomes"))
        pairs = warehouse.frame(connection, "read/present_pairs")
    durable.write_whole(report_path(date, config, read_for), durable.readable_json(outcomes | further))
    columns = (pairs[name].cast(pl.Int64).to_numpy() for name in ("user", "cell", "n_records", "total"))
    n_cells = len(config.hexagons) * config.n_slots
    return capped(*columns, n_cells=n_cells, cap=config.privacy.cap, value_range=value.n_ticks)


def report_path(date: dt.date, config: PresenceConfig, read_for: str = "") -> Path:
    """Return where the curator finds what was read of a day, and what was not used."""
    return private_folder(config) / "reports" / f"{date}{read_for and '-'}{read_for}.json"


def _day_of(date: dt.date, config: PresenceConfig) -> dict[str, dt.datetime]:
    return dict(zip(("day_start", "day_end"), config.day_bounds(date), strict=True))


def _derive_speeds(connection: warehouse.Connection, config: PresenceConfig) -> None:
    """Let the speed from the same user's fix before be the value of each row, if it is to be."""
    if config.columns.is_speed:
        gap = {"longest_gap": config.value.longest_gap * 1_000_000}
        warehouse.run(connection, "scratch/speed_of")
        of_unit = {"per_metre_a_second": SPEED_UNITS[config.value.unit]}
        warehouse.run(connection, "scratch/present_speed", {**gap, **of_unit})


def _read_files(connection: warehouse.Connection, date: dt.date, config: PresenceConfig) -> dict[str, int]:
    """Fill ``present_row`` with all rows of a day's files; return what else the curator should know of a format."""
    inputs = find_inputs(date, config)
    connection.execute("set enable_progress_bar = false")  # it tells how many rows there are
    define_times(connection)
    use_zones(connection, config.time_zone, config.timezone)
    for made in _MACROS:
        warehouse.run(connection, made)
    with ExitStack() as held:
        folder = private_folder(config)
        paths = [held.enter_context(at_hand(one, folder / f"fetched-{n}")) for n, one in enumerate(inputs)]
        kind = _format_of(paths, config)
        if kind != "csv" and len(config.columns.of_time) > 1:
            raise BadInput("only CSV files may have date and time in two columns: give columns.time one")
        try:
            statement, parameters, further = _READERS[kind](connection, paths, config)
            missing = [float(one) for one in config.value.missing]
            of_day = {**_day_of(date, config), "missing": missing}
            of_values = {"decimal": config.dataset.decimal, "is_measured": config.is_measured}
            shared = {**of_day, **of_values, **BLANK, **place_form(config), **_times(config)}
            (n_rows,) = warehouse.run(connection, statement, {**shared, **parameters}).fetchall()[0]
            return further(n_rows)
        except (warehouse.EngineError, pa.ArrowException, OSError, ValueError):
            pass
    raise BadInput(  # one sentence for all, for how much memory a day takes is private
        f"a file for {date} of dataset.files is damaged, or no {kind} in UTF-8: mend or replace it; if it is neither, "
        "storage.memory_limit is too small"
    )


def _format_of(paths: list[Path], config: PresenceConfig) -> str:
    """Return the one format of all files, by what is declared or by their names."""
    packed = (*ARCHIVES, *PACKINGS)
    names = [min((path.name.removesuffix(one) for one in packed), key=len) for path in paths]
    kinds = {config.dataset.format or _ENDINGS.get(Path(name).suffix) for name in names}
    if len(kinds) != 1 or None in kinds:
        raise BadInput(
            f"dataset.files must name files of one of {', '.join(FORMATS)} where presence is secret, and all of one; "
            "if their names do not say it, set dataset.format"
        )
    if kinds != {"json"} and (config.dataset.records is not None or any(map(is_archive, paths))):
        raise BadInput("only JSON documents may be in archives or have dataset.records where presence is secret")
    return str(kinds.pop())


def _times(config: PresenceConfig) -> TimeForm:
    columns = config.columns
    if columns.time_format is not None:
        return of_format(columns.time_format)
    return TEXT if columns.time_unit is None else of_unit(columns.time_unit)


_Further = Callable[[int], dict[str, int]]
_Reader = tuple[str, dict[str, Any], _Further]
"""A statement, its parameters, and what the curator should know besides, by how many rows there are."""


def _csv(_: warehouse.Connection, paths: list[Path], config: PresenceConfig) -> _Reader:
    delimiter = config.dataset.delimiter
    headers = {config.dataset.header} if config.dataset.header else set(_headers(paths, delimiter))
    if len(headers) > 1:
        raise BadInput("the files of a day must have the same first line, the header, and none may be empty")
    names = headers.pop()
    if not any(names):
        raise BadInput("the first line of a file is empty: it must be the header, also on a day without records")
    if len(set(names)) < len(names):
        raise BadInput("two columns of the header have one name; rename one")
    places = {role: names.index(name) + 1 for role, name in config.by_role.items() if name in names}
    _check_columns(places.keys(), config)
    mark = re.escape(delimiter)
    pattern = rf'{mark}("(?:[^"]|"")*"|[^{mark}"]*)'
    has_header = not config.dataset.header
    parameters = {
        "paths": list(map(str, paths)),
        "header": has_header,
        **_in_statement(places),
        **rows_that_count(config, {role: f"f{place}" for role, place in places.items()}),
        "only_places": [places[role] for role in config.columns.of_only],
        "columns": dict.fromkeys([*(f"f{place + 1}" for place in range(len(names))), "beyond"], "VARCHAR"),
        "delimiter": delimiter,
        "field": pattern,
        "n_fields": len(names),
    }
    return "scratch/present_csv", parameters, _malformed(count_lines(paths) - has_header * len(paths))


def _headers(paths: list[Path], delimiter: str) -> Iterator[tuple[str, ...]]:
    for path in paths:
        try:
            with open_binary(path) as file:
                line = file.readline(LONGEST_RECORD).decode("utf-8-sig").rstrip("\r\n")
        except BadInput:
            raise ValueError from None  # its message has the file's name, which may be private
        if "\r" in line:
            raise BadInput("lines of CSV files must end in LF or CRLF; a file's end in CR alone")
        yield tuple(split(line, delimiter))


def _ndjson(connection: warehouse.Connection, paths: list[Path], config: PresenceConfig) -> _Reader:
    connection.execute("set variable paths = $paths", {"paths": list(map(str, paths))})
    warehouse.run(connection, "scratch/json_text")
    return "scratch/present_json", _members(config), _malformed(count_lines(paths))


def _json(connection: warehouse.Connection, paths: list[Path], config: PresenceConfig) -> _Reader:
    rows = JsonRows(paths, config)
    connection.register("json_text", rows.reader())
    return "scratch/present_json", _members(config), lambda _: {"lists": rows.n_lists}


def _malformed(n_lines: int) -> _Further:
    """Return what says how many lines are no rows: of another number of fields, no UTF-8, or too long."""
    return lambda n_rows: {"malformed": n_lines - n_rows}


def _nothing(_: int) -> dict[str, int]:
    return {}


def _members(config: PresenceConfig) -> dict[str, Any]:
    members = {role: _json_path(name) for role, name in config.by_role.items()}
    only = {"only": rows_that_count(config)["only"], "only_members": [members[role] for role in config.columns.of_only]}
    return {**{name: one for name, one in _in_statement(members).items() if name != "clock"}, **only}


def _in_statement(roles: dict[str, Any]) -> dict[str, Any]:
    """Return what belongs to each role by the parameters of statements: a cell or a point is both of a place."""
    alone = [roles[role] for role in ("h3", "geometry") if role in roles] * 2
    latitude, longitude = alone or (roles["latitude"], roles["longitude"])
    named = {role: roles[role] for role in ("user", "time", "value")}
    return {**named, "clock": roles.get("clock", roles["time"]), "latitude": latitude, "longitude": longitude}


def _json_path(name: str) -> str:
    """Return the engine's path of a member, such as ``$."location"."coordinates"[1]``."""
    parts = (f"[{number}]" if number else f'."{word}"' for word, number in _PART.findall(name))
    return "$" + "".join(parts)


def _parquet(connection: warehouse.Connection, paths: list[Path], config: PresenceConfig) -> _Reader:
    connection.register("source_row", parquet_rows(paths, config))
    return "scratch/present_parquet", rows_that_count(config, {"h3": "latitude", "geometry": "latitude"}), _nothing


_READERS = {"csv": _csv, "ndjson": _ndjson, "json": _json, "parquet": _parquet}


def _check_columns(found: Any, config: PresenceConfig) -> None:
    lacking = [name for role, name in config.by_role.items() if role not in found]
    if lacking:
        raise BadInput(
            f"a file has no column {', '.join(lacking)}: mend [columns], dataset.delimiter or dataset.header; without "
            "dataset.header the first line must name the columns"
        )
