"""`make bench`: measures the daily flow beside its limit and its peers, and writes one page and the numbers."""

import argparse
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from tests.bench import (
    answers,
    large,
    made_days,
    map_tables,
    maps,
    measure,
    page,
    quantities,
    secret_presence,
    year,
    year_of_maps,
)
from tests.bench.collection import measure_collection
from tests.bench.days import Size
from tests.bench.many_files import measure_many_files
from tests.bench.peers.run import measure_peers
from tests.bench.scale import SIZES_OF_CITIES, measure_scale

OUT = Path("var/bench")
SIZES = ((1_000_000, "parquet"), (10_000_000, "parquet"), (100_000_000, "parquet"))
TEXT_SIZES = ((1_000_000, "csv"), (10_000_000, "csv"))
QUICK_SIZES = ((1_000_000, "parquet"), (1_000_000, "csv"))
GROWTH = {
    "records": [Size(n) for n in (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)],
    "users": [Size(1_000_000, n_users=n) for n in (500, 1_000, 2_000, 4_000)],
    "cells": [Size(1_000_000, radius_km=radius) for radius in (2.0, 4.0, 7.0, 12.0)],
}
Row = dict[str, Any]
Numbers = Iterator[tuple[str, list[Row]]]
"""Names of files, each with the rows that it holds so far."""

console = Console()


@dataclass(frozen=True)
class Effort:
    """How much is measured: how often each is run, maps are drawn, the days of a backfill, and whether in minutes."""

    n_runs: int
    n_draws: int
    n_days: int
    quick: bool


def _sizes(effort: Effort) -> Numbers:
    rows = []
    for n_records, kind in QUICK_SIZES if effort.quick else (*SIZES, *TEXT_SIZES):
        console.print(f"{n_records:,} records, {kind}, {effort.n_runs} runs", highlight=False)
        rows += measure.measure_size(Size(n_records), kind, effort.n_runs)
        yield "runs", rows


def _large(effort: Effort) -> Numbers:
    """Only if it is asked for: the largest day takes 20 GB of disk."""
    console.print("days of ten million to a billion records", highlight=False)
    sizes, rows = (1_000_000,) if effort.quick else large.SIZES, []
    for row in large.measure_large(sizes, 1 if effort.quick else min(effort.n_runs, 3)):
        console.print(f"{row['program']}, {row['n_records']:,}: {row['seconds']} s", highlight=False)
        rows.append(row)
        yield "large", rows


def _growth(effort: Effort) -> Numbers:
    rows = []
    for axis, sizes in GROWTH.items():
        console.print(f"growth in {axis}", highlight=False)
        found = measure.measure_growth(sizes[: 3 if effort.quick else None], effort.n_runs)
        rows += [{"axis": axis, **row} for row in found]
        yield "growth", rows


def _days(effort: Effort) -> Numbers:
    console.print("growth in days", highlight=False)
    rows, in_turn = year.measure_days(20 if effort.quick else year.AFTER[-1])
    yield "days", rows
    yield "days_in_turn", in_turn


def _backfill(effort: Effort) -> Numbers:
    console.print(f"a backfill of {effort.n_days} days", highlight=False)
    whole, rows = year.measure_backfill(effort.n_days, Size(1_000_000))
    yield "backfill", [whole]
    yield "backfill_days", rows


def _maps(effort: Effort) -> Numbers:
    console.print("the whole map beside simpler guesses", highlight=False)
    epsilons, n_draws = ((2,), 1) if effort.quick else (maps.EPSILONS, effort.n_draws)
    rows: list[Row] = []
    groups: list[Row] = []
    for city in maps.CITIES:
        if not city.is_here:
            console.print(f"{city.name}: its records are no part of the project, and not here", highlight=False)
            continue
        console.print(f"{city.name}, {n_draws} draws", highlight=False)
        found, found_groups = maps.measure_maps(city, epsilons, n_draws)
        rows, groups = rows + found, groups + found_groups
        yield "maps", rows
        yield "maps_groups", groups


def _quantities(effort: Effort) -> Numbers:
    epsilons, n_draws = ((2,), 1) if effort.quick else (maps.EPSILONS, effort.n_draws)
    console.print(f"other quantities in made cities, {n_draws} draws", highlight=False)
    rows = []
    for row in quantities.measure_quantities(epsilons, n_draws):
        rows.append(row)
        yield "quantities", rows


def _answers(effort: Effort) -> Numbers:
    epsilons, n_draws, n_days = ((2,), 1, 4) if effort.quick else (answers.EPSILONS, effort.n_draws, made_days.N_LONG)
    console.print(f"answers about areas and periods, {n_draws} draws", highlight=False)
    rows = []
    for row in answers.measure_answers(epsilons, n_draws, n_days):
        rows.append(row)
        yield "answers", rows


def _presence(effort: Effort) -> Numbers:
    console.print("cities whose users' presence is secret", highlight=False)
    cities = [city for city in secret_presence.CITIES if city.is_here]
    epsilons, rows = ((2,) if effort.quick else secret_presence.EPSILONS), []
    for row in secret_presence.measure_presence(cities[1:2] if effort.quick else cities, epsilons, effort.n_draws):
        rows.append(row)
        yield "presence", rows


def _scale(effort: Effort) -> Numbers:
    console.print("the estimate of large cities", highlight=False)
    yield "scale", measure_scale(SIZES_OF_CITIES[: 1 if effort.quick else None])


def _year_of_maps(effort: Effort) -> Numbers:
    n_days = 3 if effort.quick else year_of_maps.N_DAYS
    console.print(f"a year of maps, {n_days} days of it", highlight=False)
    whole, rows = year_of_maps.measure_year(n_days)
    yield "year_of_maps", [whole]
    yield "year_of_maps_days", rows


def _peers(effort: Effort) -> Numbers:
    console.print("the peers, each in an environment of its own", highlight=False)
    rows, missing = measure_peers(effort.n_runs)
    yield "peers", rows
    yield "peers_missing", [{"peer": peer, "reason": reason} for peer, reason in missing.items()]


def _collection(effort: Effort) -> Numbers:
    n_devices = 1_000_000 if effort.quick else 10_000_000
    console.print(f"the reports of {n_devices:,} devices", highlight=False)
    yield "collection", measure_collection(n_devices, effort.n_runs)


def _many_files(effort: Effort) -> Numbers:
    console.print("many small files beside one", highlight=False)
    yield "many_files", measure_many_files(effort.n_runs, 0.2 if effort.quick else 1.0)


def _planner(_: Effort) -> Numbers:
    subprocess.run([sys.executable, "-m", "tests.bench.planner"], check=True)
    yield from ()


PARTS = {
    "sizes": _sizes,
    "large": _large,
    "growth": _growth,
    "days": _days,
    "backfill": _backfill,
    "maps": _maps,
    "quantities": _quantities,
    "answers": _answers,
    "presence": _presence,
    "scale": _scale,
    "year_of_maps": _year_of_maps,
    "many_files": _many_files,
    "collection": _collection,
    "peers": _peers,
    "planner": _planner,
}


USUAL = [name for name in PARTS if name != "large"]


def measure_parts(chosen: Iterable[str], effort: Effort) -> None:
    """Measure the chosen parts and write their numbers, so that the page can be made of what is there."""
    for name, measured in PARTS.items():
        if name in chosen:
            for file, rows in measured(effort):
                _write(file, rows)


def _write(name: str, rows: list[Row]) -> None:
    pl.DataFrame(rows, infer_schema_length=None).write_csv(OUT / f"{name}.csv")


def main() -> None:
    """Measure what was asked for, and make the page of all numbers there are."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a million records at most, two runs: minutes in all")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=USUAL, help="measure these again, keep the others")
    parser.add_argument("--runs", type=int, default=0, help="how often each is run; 5, or 2 when quick")
    parser.add_argument(
        "--days", type=int, default=0, help="of a million records each, backfilled; 12, or 3 when quick"
    )
    parser.add_argument("--draws", type=int, default=maps.N_DRAWS, help="how often each city's maps are released")
    parser.add_argument("--docs", action="store_true", help="write tables and a picture of the maps into docs/")
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    n_runs, n_days = given.runs or (2 if given.quick else 5), given.days or (3 if given.quick else 12)
    measure_parts(given.only, Effort(n_runs, given.draws, n_days, given.quick))
    if given.docs:
        map_tables.write_docs(*page.read_maps(OUT), page.tables_of_docs(OUT))
        if "large" in given.only:
            large.draw(pl.read_csv(OUT / "large.csv")).savefig(map_tables.PICTURE.with_name("large.png"), dpi=130)
    console.print(f"page  {page.write_page(OUT, platform.python_version())}", highlight=False)
    for claim in page.read_claims(OUT):
        mark = {True: "[green]holds[/]", False: "[red]does not hold[/]", None: "[yellow]not measured[/]"}[claim.holds]
        console.print(f"{mark}  {claim.statement}: {claim.measured}", highlight=False)


if __name__ == "__main__":
    main()
