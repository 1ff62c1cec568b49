"""hexveil: the planned mechanism by the real steps; withheld cells are not written."""

import csv
import shutil
import sys
from pathlib import Path

import polars as pl

from tests.bench.peers.data import DATE, cell_number, write_config
from tests.bench.steps import run_steps

_TARGET_ERROR = 10


def main() -> None:
    """Publish the day and write what was published of it as the peers do."""
    path, epsilon, *_, out = sys.argv[1:]
    folder = Path(path).parent
    store = folder / "hexveil"
    shutil.rmtree(store, ignore_errors=True)
    run_steps(write_config(folder, store.name, float(epsilon), _TARGET_ERROR), [DATE])
    rows = pl.read_parquet(store / "published" / f"date={DATE}" / "statistics.parquet", hive_partitioning=False)
    with Path(out).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("cell", "mean"))
        for hexagon, start, mean in rows.select("h3_cell", "slot_start", "mean").iter_rows():
            writer.writerow((cell_number(hexagon, start.hour), mean))
    shutil.rmtree(store)


if __name__ == "__main__":
    main()
