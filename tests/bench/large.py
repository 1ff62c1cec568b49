"""Days of ten million to a billion records: hexveil's default, bare DuckDB, and a peer as far as it gets.

The day that is measured is a later one: a small day was released before, so that the estimate has a state.
"""

import datetime as dt
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import polars as pl
from matplotlib.figure import Figure

from tests.bench.days import FIRST, Size, write_dataset, write_day
from tests.bench.measure import ALONE, DAYS, MEMORY_LIMIT, Row, estimated_of
from tests.bench.memory import measured
from tests.bench.peers.run import CELLS_PER_USER, HERE, PEERS, RECORDS_PER_CELL, environment

SIZES = (10_000_000, 100_000_000, 1_000_000_000)
PEER = next(one for one in PEERS if one.name == "OpenDP")
PEER_SIZES = (1_000_000, 10_000_000, 100_000_000)
"""The peer is asked for less: it gets numbered cells, and publishes one mean of each."""
_MOST_MEMORY_KIB = 20 << 20
"""What the peer may ask for: without a limit it would take the machine's memory from all else."""
MEASURED = FIRST + dt.timedelta(days=1)
_COLOURS = {"hexveil": "#1b6ca8", "bare DuckDB": "#777777", PEER.name: "#c8553d"}
_NUMBERED = """
copy (
    select substr(bus, 5)::bigint as user_id,
        (floor(lat * 100)::bigint * 1000 + floor(lon * 100)::bigint) % 200 as cell,
        coalesce(speed, 0) as value
    from read_parquet('{path}')
) to '{to}' (format parquet)
"""


def measure_large(sizes: Sequence[int], n_runs: int) -> Iterator[Row]:
    """Yield one row for each program, size and run: seconds, and the most memory, in MiB.

    Args:
        sizes: Records of a day.
        n_runs: How often each is run, in turn.
    """
    for n_records in (*(one for one in PEER_SIZES if one < min(sizes)), *sizes):
        folder = DAYS / f"large-{n_records}"
        config = _dataset(folder, n_records)
        for run in range(n_runs if n_records in sizes else 0):
            row = {"n_records": n_records, "run": run}
            yield {"program": "bare DuckDB", **row, **_limit(folder)}
            yield {"program": "hexveil", **row, **_day(config)}
        if n_records in PEER_SIZES:
            yield {"program": PEER.name, "n_records": n_records, "run": 0, **_peer(folder)}
        shutil.rmtree(folder)


def _dataset(folder: Path, n_records: int) -> Path:
    """Write a small day and the large one after it, and release the small one."""
    shutil.rmtree(folder, ignore_errors=True)
    config = estimated_of(write_dataset(folder, Size(1_000_000), memory_limit=MEMORY_LIMIT)[0])
    write_day(_file(folder), MEASURED, Size(n_records), "parquet", MEASURED.toordinal())
    measured([sys.executable, "-m", "tests.bench.whole", str(config), str(FIRST)], ALONE)
    (folder / "store").rename(folder / "before")
    return config


def _file(folder: Path) -> Path:
    return folder / "raw" / f"day_{MEASURED}.parquet"


def _limit(folder: Path) -> Row:
    database = folder / "limit.duckdb"
    command = [sys.executable, "-m", "tests.bench.limit", str(_file(folder)), str(database)]
    finished = measured([*command, "--memory-limit", MEMORY_LIMIT])
    database.unlink()
    return {"seconds": json.loads(finished.output)["seconds"], "peak_mib": finished.peak_mib}


def _day(config: Path) -> Row:
    """Publish the day by the command line, and return what it took without its start."""
    store, before = config.parent / "store", config.parent / "before"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(before, store)
    finished = measured([sys.executable, "-m", "tests.bench.whole", str(config), str(MEASURED)], ALONE)
    shutil.rmtree(store)
    return {"seconds": float(finished.output.split()[-1]), "peak_mib": finished.peak_mib}


def _peer(folder: Path) -> Row:
    """Run the peer on the day's cells, numbered before; without numbers if it cannot be installed or fails."""
    numbered, out = (folder / name for name in ("numbered.parquet", "peer.csv"))
    duckdb.execute(_NUMBERED.format(path=_file(folder), to=numbered))
    bounds = map(str, (1, CELLS_PER_USER, RECORDS_PER_CELL, 100, out.resolve()))
    try:
        python = environment(PEER)
        program = [str(python), str(HERE / f"{PEER.stem}.py"), str(numbered.resolve()), *bounds]
        command = ["bash", "-c", f'ulimit -v {_MOST_MEMORY_KIB}; exec "$@"', "peer", *program]
        finished = measured(command, folder=folder)
    except subprocess.CalledProcessError:
        return {"seconds": None, "peak_mib": None}
    return {"seconds": finished.seconds, "peak_mib": finished.peak_mib}


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each size: the medians of each program, and hexveil over bare DuckDB."""
    medians = rows.group_by("n_records", "program").agg(pl.col("seconds", "peak_mib").median()).sort("n_records")
    found = []
    for (n_records,), of_size in medians.group_by("n_records", maintain_order=True):
        by = {row["program"]: row for row in of_size.iter_rows(named=True)}
        ours, limit = (by.get(name, {}).get("seconds") for name in ("hexveil", "bare DuckDB"))
        ratio = f"{ours / limit:.2f}" if ours and limit else ""
        named = {name: _in_words(by.get(name)) for name in _COLOURS}
        found.append({"records of a day": f"{n_records:,}", **named, "hexveil / bare DuckDB": ratio})
    return pl.DataFrame(found)


def _in_words(row: Row | None) -> str:
    if row is None:
        return ""
    return "fails" if row["seconds"] is None else f"{row['seconds']:.3g} s, {row['peak_mib'] / 1024:.2g} GiB"


def draw(rows: pl.DataFrame) -> Figure:
    """Draw time and memory over records, both on logarithmic scales."""
    medians = rows.drop_nulls().group_by("n_records", "program").agg(pl.col("seconds", "peak_mib").median())
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, column, label in zip(
        figure.subplots(1, 2), ("seconds", "peak_mib"), ("seconds of a day", "most memory, MiB"), strict=True
    ):
        for program, colour in _COLOURS.items():
            part = medians.filter(program=program).sort("n_records")
            axes.plot(part["n_records"], part[column], color=colour, marker="o", label=program)
        axes.set(xscale="log", yscale="log", xlabel="records of a day", ylabel=label)
        axes.grid(color="#dddddd", linewidth=0.6)
    figure.axes[0].legend(frameon=False)
    return figure
