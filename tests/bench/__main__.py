"""`make bench`: measures the daily flow beside its limit and its peers, and writes one page and the numbers."""

import argparse
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from tests.bench import measure, page, year
from tests.bench.days import Size
from tests.bench.peers.run import measure_peers

OUT = Path("var/bench")
SIZES = ((1_000_000, "parquet"), (10_000_000, "parquet"), (100_000_000, "parquet"))
TEXT_SIZES = ((1_000_000, "csv"), (10_000_000, "csv"))
QUICK_SIZES = ((1_000_000, "parquet"), (1_000_000, "csv"))
GROWTH = {
    "records": [Size(n) for n in (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)],
    "users": [Size(1_000_000, n_users=n) for n in (500, 1_000, 2_000, 4_000)],
    "cells": [Size(1_000_000, radius_km=radius) for radius in (2.0, 4.0, 7.0, 12.0)],
}
PARTS = ("sizes", "growth", "days", "backfill", "peers", "planner")

console = Console()


def measure_parts(chosen: Iterable[str], n_runs: int, n_days: int, quick: bool) -> None:
    """Measure the chosen parts and write their numbers, so that the page can be made of what is there."""
    chosen = set(chosen)
    if "sizes" in chosen:
        rows = []
        for n_records, kind in QUICK_SIZES if quick else (*SIZES, *TEXT_SIZES):
            console.print(f"{n_records:,} records, {kind}, {n_runs} runs", highlight=False)
            rows += measure.measure_size(Size(n_records), kind, n_runs)
            _write("runs", rows)
    if "growth" in chosen:
        rows = []
        for axis, sizes in GROWTH.items():
            console.print(f"growth in {axis}", highlight=False)
            rows += [{"axis": axis, **row} for row in measure.measure_growth(sizes[: 3 if quick else None], n_runs)]
        _write("growth", rows)
    if "days" in chosen:
        console.print("growth in days", highlight=False)
        rows, in_turn = year.measure_days(20 if quick else year.AFTER[-1])
        _write("days", rows)
        _write("days_in_turn", in_turn)
    if "backfill" in chosen:
        console.print(f"a backfill of {n_days} days", highlight=False)
        whole, rows = year.measure_backfill(n_days, Size(1_000_000))
        _write("backfill", [whole])
        _write("backfill_days", rows)
    if "peers" in chosen:
        console.print("the peers, each in an environment of its own", highlight=False)
        rows, missing = measure_peers(n_runs)
        _write("peers", rows)
        _write("peers_missing", [{"peer": peer, "reason": reason} for peer, reason in missing.items()])
    if "planner" in chosen:
        subprocess.run([sys.executable, "-m", "tests.bench.planner"], check=True)


def _write(name: str, rows: list[dict[str, Any]]) -> None:
    pl.DataFrame(rows, infer_schema_length=None).write_csv(OUT / f"{name}.csv")


def main() -> None:
    """Measure what was asked for, and make the page of all numbers there are."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million records at most, two runs: minutes in all")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS, help="measure these again, keep the others")
    parser.add_argument("--runs", type=int, default=0, help="how often each is run; 5, or 2 when quick")
    parser.add_argument(
        "--days", type=int, default=0, help="of a million records each, backfilled; 12, or 3 when quick"
    )
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    n_runs, n_days = given.runs or (2 if given.quick else 5), given.days or (3 if given.quick else 12)
    measure_parts(given.only, n_runs, n_days, given.quick)
    console.print(f"page  {page.write_page(OUT, platform.python_version())}", highlight=False)
    for claim in page.read_claims(OUT):
        mark = {True: "[green]holds[/]", False: "[red]does not hold[/]", None: "[yellow]not measured[/]"}[claim.holds]
        console.print(f"{mark}  {claim.statement}: {claim.measured}", highlight=False)


if __name__ == "__main__":
    main()
