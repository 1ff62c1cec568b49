"""hexveil by the command that a user gives, with some settings; withheld cells are not written."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.bench.measure import ALONE, HEXVEIL
from tests.bench.peers.data import DATE, cell_number, write_config


def main() -> None:
    """Publish the day and write what was published of it as the peers do."""
    settings, path, epsilon, *_, out = sys.argv[1:]
    folder = Path(path).parent
    store = folder / "hexveil"
    shutil.rmtree(store, ignore_errors=True)
    config = write_config(folder, store.name, float(epsilon), settings)
    command = [HEXVEIL, "run", "--config", str(config), "--date", str(DATE)]
    subprocess.run(command, env=os.environ | ALONE, check=True, capture_output=True)
    rows = pl.read_parquet(store / "published" / f"date={DATE}" / "statistics.parquet", hive_partitioning=False)
    with Path(out).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("cell", "mean"))
        for hexagon, start, mean in rows.select("h3_cell", "slot_start", "mean").iter_rows():
            writer.writerow((cell_number(hexagon, start.hour), mean))
    shutil.rmtree(store)


if __name__ == "__main__":
    main()
