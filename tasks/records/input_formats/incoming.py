"""What the readers of all formats share: how times, numbers and ids are read, and how the rows that were read are kept.

A reader leaves the rows of a file in the table ``incoming``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import OF_FILE
from tasks.records.forgotten import forgotten_parameters
from tasks.records.input_formats.input_format import Left
from tasks.records.input_formats.text_lines import unreadable
from tasks.records.input_formats.times import N_LOOKED_AT, TimeForm, time_form

BLANK = {"blank": "".join(chr(one) for one in range(0x3001) if chr(one).isspace())}
"""What is trimmed off user ids."""
_DECIMAL_MARKS = {".": "scratch/number_with_point", ",": "scratch/number_with_comma"}


@contextmanager
def blaming(path: Path, kind: str) -> Iterator[None]:
    """Replace an error of the engine, which may quote the file's content, by one that only names the file."""
    try:
        yield
    except warehouse.EngineError:
        raise unreadable(path, kind) from None


def define(connection: warehouse.Connection, times: TimeForm, config: Config) -> None:
    """Let a connection read the times, numbers and ids of a file."""
    times.define(connection)
    warehouse.run(connection, _DECIMAL_MARKS[config.dataset.decimal])
    warehouse.run(connection, "scratch/id_of_file" if config.columns.user == OF_FILE else "scratch/id_of_column")


def keep_rows(
    connection: warehouse.Connection, path: Path, kind: str, rows: pa.Table, file: dict[str, Any], config: Config
) -> Left:
    """Keep the rows of a file that were decoded without the engine.

    Args:
        connection: Connection to the warehouse.
        path: The file.
        kind: The name of its format.
        rows: ``row_number``, ``is_whole``: whether it could be decoded, ``user``, ``time``, ``latitude``,
            ``longitude`` and ``value``.
        file: The file's id and day.
        config: Says how times are written.
    """
    times = time_form(rows["time"].slice(0, N_LOOKED_AT).to_pylist(), config)
    with blaming(path, kind):
        define(connection, times, config)
        connection.register("source_row", rows)
        warehouse.run(connection, "scratch/incoming_positions", {**times.parameters, **BLANK})
        n_malformed = warehouse.changed(connection, "write/quarantine_incoming", file)
    return keep_incoming(connection, file, n_malformed, config)


def keep_incoming(connection: warehouse.Connection, file: dict[str, Any], n_malformed: int, config: Config) -> Left:
    """Keep the rows that a reader left in ``incoming``, except rows of forgotten days."""
    n_readable = warehouse.rows(connection, "read/n_incoming_rows")[0][0]
    days = {**file, **forgotten_parameters(config)}
    if file["file_date"] is None:
        warehouse.run(connection, "scratch/file_hour_of_incoming")
    with warehouse.any_order(connection):
        n_kept = warehouse.changed(connection, "write/raw_record_from_incoming", days)
    return Left(n_malformed, n_readable - n_kept)
