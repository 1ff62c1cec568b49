"""Ingest: input files into raw_record, each file once, every row counted."""

import datetime as dt
import logging
import os
from pathlib import Path
from typing import Any

from tasks import source, warehouse
from tasks.config import Config
from tasks.durable import canonical_json, sha256
from tasks.errors import BadInput, HexveilError
from tasks.forget import forgotten_days
from tasks.logs import say
from tasks.progress import progress
from tasks.steps import step

_BLANK = {"blank": "".join(chr(one) for one in range(0x3001) if chr(one).isspace())}

log = logging.getLogger("hexveil.ingest")


@step("ingest {config.dataset.name} {date}")
def ingest_records(date: dt.date, config: Config) -> None:
    """Read into the warehouse the files for a day that it does not hold yet.

    A file is known by its name and content: read again it adds nothing. Every row that was read is in raw_record, or
    in quarantine where it could not be told apart into fields; rows of days that were forgotten are only counted.

    Args:
        date: The local day.
        config: Says which files.

    Raises:
        BadInput: No file is there, or one cannot be read; nothing of that file is kept. Or the day was forgotten.
    """
    when = forgotten_days(config).get(date)
    if when is not None:
        raise BadInput(f"{date} was forgotten at {when}: its records were deleted for good and are not read again")
    ingest(date, config)


def ingest(date: dt.date, config: Config) -> None:
    """Do what ``ingest_records`` does, whether or not the day was forgotten."""
    files = source.find_files(date, config)
    with warehouse.connect(config) as connection:
        known = [warehouse.rows(connection, "warehouse/known_path", _seen(*file, config)) for file in files]
    new = [file for file, seen in zip(files, known, strict=True) if not seen]
    for path, file_date in progress(new, "reading files"):
        _ingest_file(path, file_date, config)


def current_files(connection: warehouse.Connection, date: dt.date, config: Config) -> list[int]:
    """Return the numbers of the files that the configuration names for a day, as they are now.

    Rows of files that were removed, changed or read with other settings stay in the warehouse and are not used.

    Raises:
        HexveilError: A file has not been read yet.
    """
    numbers = []
    for path, file_date in source.find_files(date, config):
        known = warehouse.rows(connection, "warehouse/known_path", _seen(path, file_date, config))
        if not known:
            raise HexveilError(f"{path} changed while the day was being prepared; run the day again")
        numbers.append(known[0][0])
    return numbers


def _seen(path: Path, file_date: dt.date | None, config: Config) -> dict[str, Any]:
    """Return by what a file is known without reading it."""
    status = path.stat()
    settings = {**config.reading_settings(), "file_date": file_date.isoformat() if file_date else None}
    return {
        "path": str(path),
        "n_bytes": status.st_size,
        "modified_ns": status.st_mtime_ns,
        "settings_hash": sha256(canonical_json(settings)),
    }


def _ingest_file(path: Path, file_date: dt.date | None, config: Config) -> None:
    kind = source.file_format(path)
    seen = _seen(path, file_date, config)
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "warehouse/known_path", seen):
            return
        identity = {
            "name": os.path.relpath(path, config.folder),
            "content_hash": source.content_hash(path),
            "settings_hash": seen["settings_hash"],
        }
        known = warehouse.rows(connection, "warehouse/known_content", identity)
        with warehouse.transaction(connection):
            file_id = known[0][0] if known else _read_file(connection, path, kind, file_date, identity, config)
            warehouse.run(connection, "warehouse/raw_path", {**seen, "file_id": file_id})


def _read_file(
    connection: warehouse.Connection,
    path: Path,
    kind: str,
    file_date: dt.date | None,
    identity: dict[str, str],
    config: Config,
) -> int:
    """Read one new file whole and return its number."""
    n_rows = source.count_rows(path, kind)
    file_id = warehouse.rows(connection, "warehouse/next_file_id")[0][0]
    try:
        n_malformed = _READERS[kind](connection, path, file_id, file_date, config)
    except warehouse.EngineError as error:
        problem = type(error).__name__
        raise BadInput(
            f"{path}: cannot be read as {kind} ({problem}); check its encoding (UTF-8), line ends and quotes"
        ) from None
    file = {"file_id": file_id, "file_date": file_date}
    n_told_apart, n_readable = warehouse.rows(connection, "warehouse/incoming_rows")[0]
    n_kept = _count(
        warehouse.run(connection, "warehouse/raw_record", {**file, "forgotten": list(forgotten_days(config))})
    )
    n_undated = _count(warehouse.run(connection, "warehouse/undated", {"file_id": file_id}))
    if kind == "csv" and n_told_apart + n_malformed != n_rows:
        n_rows = source.count_csv_rows(path, config)
    counts = {"n_malformed": n_malformed, "n_undated": n_undated, "n_forgotten": n_readable - n_kept}
    warehouse.run(connection, "warehouse/raw_file", {**file, **identity, "n_rows": n_rows, **counts})
    if warehouse.rows(connection, "checks/file_rows", {"file_id": file_id}):
        raise BadInput(f"{path}: {n_rows} rows were counted, but not as many were read; check its line ends and quotes")
    say(log, "read", file=path.name, n_rows=n_rows, **counts)
    return file_id


def _read_csv(
    connection: warehouse.Connection, path: Path, file_id: int, file_date: dt.date | None, config: Config
) -> int:
    columns = dict.fromkeys(_csv_names(path, config), "VARCHAR")
    parameters = {"path": str(path), "columns": columns, "delimiter": config.dataset.delimiter, **_BLANK}
    warehouse.run(connection, "warehouse/incoming_csv", parameters)
    for line in warehouse.rows(connection, "checks/not_utf8"):
        raise BadInput(f"{path}: line {line[0]} is not UTF-8; convert the file, for example with iconv")
    for line in warehouse.rows(connection, "checks/broken_quotes"):
        raise BadInput(
            f"{path}: a quote opened in line {line[0]} does not close, so the lines after it are lost; mend it"
        )
    return _count(warehouse.run(connection, "warehouse/rejected_csv", {"file_id": file_id, "file_date": file_date}))


def _csv_names(path: Path, config: Config) -> list[str]:
    names = {"user": "user_id"}
    return [names.get(role, role) for role in source.csv_columns(path, config)]


def _read_parquet(
    connection: warehouse.Connection, path: Path, _file_id: int, _file_date: dt.date | None, config: Config
) -> int:
    source.check_parquet_columns(path, config)
    warehouse.run(
        connection, "warehouse/incoming_parquet", {"path": str(path), **source.source_names(config), **_BLANK}
    )
    return 0


def _read_ndjson(
    connection: warehouse.Connection, path: Path, file_id: int, file_date: dt.date | None, config: Config
) -> int:
    pointers = source.json_pointers(config)
    warehouse.run(connection, "warehouse/incoming_ndjson", {"path": str(path), **pointers, **_BLANK})
    absent = {pointer for (pointer,) in warehouse.rows(connection, "checks/absent_members", pointers)}
    for role, name in source.source_names(config).items():
        if pointers[role] in absent:
            raise BadInput(f'{path}: no column "{name}" (columns.{role}) in any line')
    return _count(warehouse.run(connection, "warehouse/rejected_ndjson", {"file_id": file_id, "file_date": file_date}))


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "ndjson": _read_ndjson}


def _count(inserted: warehouse.Connection) -> int:
    row = inserted.fetchone()
    return int(row[0]) if row else 0
