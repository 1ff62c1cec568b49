"""Ingest: input files into raw_record, each file once, every row counted."""

import datetime as dt
import logging
import os
from pathlib import Path
from typing import Any

from prefect import task

from tasks import source, warehouse
from tasks.config import Config
from tasks.errors import BadInput, HexveilError, contained
from tasks.progress import progress

log = logging.getLogger("hexveil.ingest")


@task
@contained
def ingest_records(date: dt.date, config: Config) -> None:
    """Read into the warehouse the files for a day that it does not hold yet.

    A file is known by its content: read again, under any name, it adds nothing. Every row that was read is in
    raw_record, or in quarantine where it could not be told apart into fields.

    Args:
        date: The local day.
        config: Says which files.

    Raises:
        BadInput: No file is there, or one cannot be read; nothing of that file is kept.
    """
    for path, file_date in progress(source.find_files(date, config), "reading files"):
        _ingest_file(path, file_date, config)


def _ingest_file(path: Path, file_date: dt.date | None, config: Config) -> None:
    kind = source.file_format(path)
    status = path.stat()
    seen: dict[str, Any] = {"path": str(path), "n_bytes": status.st_size, "modified_ns": status.st_mtime_ns}
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "warehouse/known_path", seen):
            return
        digest = source.content_hash(path)
        known = warehouse.rows(connection, "warehouse/known_content", {"content_hash": digest})
        with warehouse.transaction(connection):
            file_id = known[0][0] if known else _read_file(connection, path, kind, file_date, digest, config)
            warehouse.run(connection, "warehouse/raw_path", {**seen, "file_id": file_id})


def _read_file(
    connection: warehouse.Connection, path: Path, kind: str, file_date: dt.date | None, digest: str, config: Config
) -> int:
    """Read one new file whole and return its number."""
    source.check_whole(path)
    file_id = warehouse.rows(connection, "warehouse/next_file_id")[0][0]
    try:
        n_malformed = _READERS[kind](connection, path, file_id, file_date, config)
    except warehouse.EngineError as error:
        problem = type(error).__name__
        raise BadInput(
            f"{path}: cannot be read as {kind} ({problem}); check its encoding (UTF-8), line ends and quotes"
        ) from None
    n_told_apart = warehouse.rows(connection, "warehouse/incoming_rows")[0][0]
    n_rows = n_told_apart + (n_malformed if kind == "csv" else 0)
    warehouse.run(connection, "warehouse/raw_record", {"file_id": file_id, "file_date": file_date})
    n_undated = _count(warehouse.run(connection, "warehouse/undated", {"file_id": file_id}))
    counts = {"n_rows": n_rows, "n_malformed": n_malformed, "n_undated": n_undated}
    identity = {"file_id": file_id, "content_hash": digest, "file_date": file_date}
    name = os.path.relpath(path, config.folder)
    warehouse.run(connection, "warehouse/raw_file", {**identity, "name": name, **counts})
    if warehouse.rows(connection, "checks/file_rows", {"file_id": file_id}):
        raise HexveilError(f"{path}: rows read are not rows kept plus rows quarantined; this is a defect, report it")
    log.info("%s: %d rows read, %d malformed, %d without a day", path.name, n_rows, n_malformed, n_undated)
    return file_id


def _read_csv(
    connection: warehouse.Connection, path: Path, file_id: int, file_date: dt.date | None, config: Config
) -> int:
    columns = dict.fromkeys(_csv_names(path, config), "VARCHAR")
    parameters = {"path": str(path), "columns": columns, "delimiter": config.dataset.delimiter}
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
    warehouse.run(connection, "warehouse/incoming_parquet", {"path": str(path), **source.source_names(config)})
    return 0


def _read_ndjson(
    connection: warehouse.Connection, path: Path, file_id: int, file_date: dt.date | None, config: Config
) -> int:
    warehouse.run(connection, "warehouse/incoming_ndjson", {"path": str(path), **source.source_names(config)})
    return _count(warehouse.run(connection, "warehouse/rejected_ndjson", {"file_id": file_id, "file_date": file_date}))


_READERS = {"csv": _read_csv, "parquet": _read_parquet, "ndjson": _read_ndjson}


def _count(inserted: warehouse.Connection) -> int:
    row = inserted.fetchone()
    return int(row[0]) if row else 0
