"""What the readers of all formats share: how errors are told, and how the rows that were read are kept.

A reader leaves the rows of a file in the table ``incoming``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.forgotten import forgotten_parameters
from tasks.records.input_formats.columns import rows_that_count
from tasks.records.input_formats.input_format import Left
from tasks.records.input_formats.text_lines import unreadable
from tasks.records.input_formats.times import N_LOOKED_AT, time_form

BLANK = {"blank": "".join(chr(one) for one in range(0x3001) if chr(one).isspace())}
"""What is trimmed off user ids."""


@contextmanager
def blaming(path: Path, kind: str) -> Iterator[None]:
    """Replace an error of the engine, which may quote the file's content, by one that only names the file."""
    try:
        yield
    except warehouse.EngineError:
        raise unreadable(path, kind) from None


def keep_rows(
    connection: warehouse.Connection, path: Path, kind: str, rows: pa.Table, file: dict[str, Any], config: Config
) -> Left:
    """Keep the rows of a file that were decoded without the engine.

    Args:
        connection: Connection to the warehouse.
        path: The file.
        kind: The name of its format.
        rows: ``row_number``, ``is_whole``: whether it could be decoded, ``user``, ``time``, ``latitude``,
            ``longitude`` and ``value``, and further columns by their roles.
        file: The file's id and day.
        config: Says how times are written.
    """
    for role in {"value", "age"}.difference(rows.column_names):
        rows = rows.append_column(role, pa.nulls(rows.num_rows, pa.float64()))
    times = time_form(rows["time"].slice(0, N_LOOKED_AT).to_pylist(), config)
    written = {**times, **BLANK, **rows_that_count(config), "decimal": config.dataset.decimal}
    with blaming(path, kind):
        connection.register("source_row", rows)
        warehouse.run(connection, "scratch/incoming_positions", written)
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return keep_incoming(connection, file, n_malformed, config)


def keep_incoming(connection: warehouse.Connection, file: dict[str, Any], n_malformed: int, config: Config) -> Left:
    """Keep the rows that a reader left in ``incoming``, except those of forgotten days and those that do not count."""
    is_declared = config.columns.time_unit is not None or config.columns.time_format is not None
    if warehouse.rows(connection, "checks/merged_otherwise", {"is_declared": is_declared}):
        raise BadInput("files differ in form; this is a defect, report it")  # who merged them reads them one by one
    n_readable = warehouse.rows(connection, "read/n_incoming_rows")[0][0]
    days = {**file, **forgotten_parameters(config)}
    if file["file_date"] is None:
        warehouse.run(connection, "scratch/file_hour_of_incoming")
    with warehouse.any_order(connection):
        n_kept = warehouse.changed(connection, "write/raw_record_from_incoming", days)
        n_left_out = warehouse.changed(connection, "write/quarantine_left_out", days) if config.columns.only else 0
    return Left(n_malformed, n_readable - n_kept - n_left_out, n_left_out)
