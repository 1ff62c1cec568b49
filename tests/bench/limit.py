"""The limit: bare DuckDB on the same file, computing nothing but sums per user, H3 cell and slot.

It judges no record, finds no duplicate, keeps no account and publishes nothing. What the daily flow takes beyond it is
the price of all that.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType
from h3ronpy.vector import coordinates_to_cells

from tests.bench.memory import peak_mib

_QUERY = """
create table user_cell as
select
    bus,
    h3_cell(lat, lon) as h3_cell,
    epoch_ms(time) // ({slot_minutes} * 60000) as slot,
    count(*) as n_records,
    sum(speed) as total
from {source}
group by all
"""
_CSV = """read_csv(
    '{path}',
    columns = {{'bus': 'VARCHAR', 'time': 'TIMESTAMPTZ', 'lat': 'DOUBLE', 'lon': 'DOUBLE', 'speed': 'DOUBLE'}},
    header = true
)"""


def run_limit(files: Path, database: Path, resolution: int, slot_minutes: int, memory_limit: str) -> dict[str, float]:
    """Group a file's records by user, hexagon and slot into a table of a new database.

    Args:
        files: A Parquet or CSV file of ``tests.bench.days``.
        database: Where the table is written, a file that is not there yet.
        resolution: Of the hexagons.
        slot_minutes: Of the slots.
        memory_limit: What DuckDB may use.

    Returns:
        Seconds without the imports, peak memory in MiB, and how many pairs and cells there are.
    """
    began = time.perf_counter()
    connection = duckdb.connect(
        str(database), config={"memory_limit": memory_limit, "preserve_insertion_order": "false"}
    )

    def h3_cell(latitude: pa.ChunkedArray, longitude: pa.ChunkedArray) -> pa.Array:
        return pa.array(coordinates_to_cells(latitude.combine_chunks(), longitude.combine_chunks(), resolution))

    connection.create_function("h3_cell", h3_cell, ["DOUBLE", "DOUBLE"], "UBIGINT", type=PythonUDFType.ARROW)
    source = _CSV.format(path=files) if files.suffix == ".csv" else f"read_parquet('{files}')"
    connection.execute(_QUERY.format(source=source, slot_minutes=slot_minutes)).fetchall()
    connection.execute("checkpoint").fetchall()
    seconds = time.perf_counter() - began
    held = connection.execute("select count(*), count(distinct (h3_cell, slot)) from user_cell").fetchall()[0]
    connection.close()
    return {"seconds": seconds, "peak_mib": peak_mib(), "n_pairs": held[0], "n_cells": held[1]}


def main() -> None:
    """Run the limit once and print what it took as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.limit", description=__doc__)
    parser.add_argument("files", type=Path)
    parser.add_argument("database", type=Path)
    parser.add_argument("--resolution", type=int, default=7)
    parser.add_argument("--slot-minutes", type=int, default=60)
    parser.add_argument("--memory-limit", default="2GiB")
    given = parser.parse_args()
    found = run_limit(given.files, given.database, given.resolution, given.slot_minutes, given.memory_limit)
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
