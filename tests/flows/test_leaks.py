"""User ids and values are planted, days are run well and badly, and everything they wrote is searched for them."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from configurations import with_settings
from planted import LATE_VALUE, USER, VALUE, files_of, leaks
from support import DATE, HEADER, Dataset, slow

RUN_EACH = """
import contextlib
import datetime as dt
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tasks.base import logs, schemas, steps
from tasks.records.judge import validate
from tasks.base.config import load_config
from tasks.upkeep.forget import forget_days
from tasks.kinds.cell_sums.plan import SumsPlan

if os.environ.get("PREFECT_API_URL"):
    from flows.deployed import backfill, daily
    surroundings = contextlib.nullcontext
else:
    from flows.backfill import backfill
    from flows.daily import daily
    surroundings = steps.run
    logs.show_lines(True)
date = dt.date(2026, 1, 15)
for name in sys.argv[1:]:
    if name.endswith("raw-pandera.toml"):
        def check(frame, schema, table):
            schema.columns["value_ticks"].checks.clear()
            from pandera.polars import Check, Column, DataFrameSchema
            DataFrameSchema({"user_id": Column(pl.String, Check.eq("nobody"))}).validate(frame, lazy=True)
        schemas.check = check
    if name.endswith("raw-text.toml"):
        def read(*_):
            raise ValueError("PLANTED-USER-7Q was at 73.193726")
        validate.warehouse.rows = read
    try:
        with surroundings():
            daily(Path(name), date)
        print(name, "released")
    except Exception as error:
        print(name, "failed:", type(error).__name__, error, error.__context__, error.__cause__)
    if name.endswith(("repaired.toml", "sharded.toml")):
        with (Path(name).parent / "raw" / "late.csv").open("w") as late:
            late.write("bus,time,lat,lon,speed\\nPLANTED-USER-7Q-99,2026-01-15T08:07:00Z,47.05,8.31,88.441359\\n")
        for run in (lambda: daily(Path(name), date, "again"), lambda: backfill(Path(name), date, date.replace(day=17))):
            try:
                with surroundings():
                    run()
            except Exception as error:
                print("backfill failed:", error, error.__context__, error.__cause__)
        forget_days([date], load_config(Path(name)))
print("prefect" in sys.modules)
"""

MECHANISM = {"good": "estimated", "planned": "planned"}
SHARDED = '[engine]\nname = "dask"\nn_shards = 2\n'


def dataset_with(folder: Path, rows: list[str], settings: str = "") -> Dataset:
    from support import CONFIG

    folder.mkdir()
    (folder / f"{folder.name}.toml").write_text(CONFIG.replace("[privacy]", settings + "[privacy]"))
    dataset = Dataset(folder)
    dataset.write("day.csv", HEADER + "\n".join(rows) + "\n")
    return dataset


def good_rows() -> list[str]:
    return [
        f"{USER}-{bus},{DATE}T08:{minute:02}:00Z,47.05,8.31,{VALUE}" for bus in range(12) for minute in range(0, 60, 5)
    ]


FEW = ("good", "repaired", "quarantined", "quoted", "sharded", "raw-pandera", "raw-text")


def cases() -> dict[str, list[str]]:
    """Return the rows of days of many kinds."""
    good = good_rows()
    return {
        "good": good,
        "repaired": [*good, f"{USER}-1,{DATE}T08:59:00Z,47.05,8.31,1e9", f"{USER}-2,{DATE}T08:59:00Z,47.05,8.31,"],
        "quarantined": [*good, *[f"{USER}-{n},{DATE}T09:00:00Z,0,0,{LATE_VALUE}" for n in range(99)]],
        "short": [*good, *[f"{USER}-{n},{LATE_VALUE}" for n in range(99)]],
        "quoted": [*good, f'{USER}-1,{DATE}T08:59:00Z,47.05,8.31,"{LATE_VALUE}', *good],
        "unreadable": [f"{USER}-{n},{USER},{USER},{USER},{LATE_VALUE}" for n in range(9)],
        "encoded": [*good, f"{USER}-1,{DATE}T08:59:00Z,47.05,8.31,{LATE_VALUE}\udcff"],
        "headless": [],
        "sharded": good,
        "sharded-quoted": [*good, f'{USER}-1,{DATE}T08:59:00Z,47.05,8.31,"{LATE_VALUE}', *good],
        "sharded-quarantined": [*good, *[f"{USER}-{n},{DATE}T09:00:00Z,0,0,{LATE_VALUE}" for n in range(99)]],
        "planned": good,
        "raw-pandera": good,
        "raw-text": good,
    }


def searched_after(folder: Path, environment: dict[str, str], names: Sequence[str]) -> dict[str, bytes]:
    """Run days of some kinds, and return all that they wrote and said."""
    files = []
    for name, rows in ((name, cases()[name]) for name in names):
        dataset = dataset_with(folder / name, ["placeholder"], SHARDED if name.startswith("sharded") else "")
        content = HEADER + "\n".join(rows) + "\n"
        if name == "headless":
            content = "\n".join(good_rows()) + "\n"
        dataset.write("day.csv", content.encode("utf-8", "surrogateescape"))
        if name in ("good", "planned"):
            path = folder / name / f"{name}.toml"
            path.write_text(with_settings(path.read_text(), map=True, mechanism=MECHANISM[name]))
        files.append(str(folder / name / f"{name}.toml"))
    ended = subprocess.run(
        [sys.executable, "-c", RUN_EACH, *files],
        env=environment | {"PREFECT_LOGGING_EXTRA_LOGGERS": "hexveil", "PREFECT_LOGGING_LEVEL": "DEBUG"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    outcomes = [line for line in ended.stdout.splitlines() if line.startswith(str(folder))]
    assert len(outcomes) == len(names), ended.stderr[-3000:]
    n_good = len({"good", "repaired", "sharded", "planned"} & {*names})
    assert sum("released" in line for line in outcomes) == n_good, "\n".join(outcomes)
    assert all(line.endswith("None None") for line in outcomes if "failed" in line)

    assert any("read file=day.csv" in line for line in (ended.stdout + ended.stderr).splitlines()), "steps were heard"
    return {"output": (ended.stdout + ended.stderr).encode(), "prefect": ended.stdout.splitlines()[-1].encode()}


@pytest.mark.slow
def test_no_planted_id_or_value_is_found_outside_the_warehouse_or_with_the_scheduler(
    tmp_path: Path, server: dict[str, str]
) -> None:
    searched = searched_after(tmp_path, server, list(cases()))
    assert searched["prefect"] == b"True"
    searched |= files_of(tmp_path) | files_of(Path(server["PREFECT_HOME"]))
    assert any(name.endswith("prefect.db") for name in searched), "Prefect's own database is searched"
    pickled = [content for name, content in searched.items() if "/storage/" in name]
    assert any(b"tasks.base.errors" in content for content in pickled), "pickled failures are unpacked"
    assert any("published" in name for name in searched)
    assert leaks(searched) == []


@pytest.mark.parametrize("names", [FEW, slow(tuple(cases()))], ids=["few", "all"])
def test_no_planted_id_or_value_is_found_outside_the_warehouse_without_a_scheduler(
    names: Sequence[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    searched = searched_after(tmp_path, environment, names)
    assert searched["prefect"] == b"False"
    searched |= files_of(tmp_path)
    assert any("published" in name for name in searched)
    assert leaks(searched) == []


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    """The warehouse itself holds both, so the needles are the right ones."""
    dataset = dataset_with(tmp_path / "dataset", good_rows())
    dataset.release()
    content = b"".join(path.read_bytes() for path in (tmp_path / "dataset" / "store" / "private").glob("warehouse*"))
    assert leaks({"warehouse": content})
