"""Backfills as a user runs them: through the command line and the scheduler, killed and run again."""

import datetime as dt
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from configurations import with_settings
from scipy import stats
from support import CLIP_USER, CONFIG, DATE, HEADER, Campaign, Dataset, Hexveil, all_files

from tasks.account import ledger
from tasks.upkeep import verify

N_DAYS = 90
FIRST = dt.date(2026, 3, 1)
"""So that the range holds a month's end and the change of the clock."""

MADE_ANEW = ("hash", "previous_hash", "files", "intended_at", "committed_at", "attempt")
NOISY = ("mean", "mean_ci95_low", "mean_ci95_high")


def dates_of(n_days: int) -> list[dt.date]:
    return [FIRST + dt.timedelta(days=n) for n in range(n_days)]


def make(folder: Path, n_days: int) -> Dataset:
    """Return a dataset of so many days, each with other buses about, in one file a day."""
    folder.mkdir()
    text = CONFIG.replace('"raw/*"', '"raw/{date}.csv"').replace('"UTC"', '"Europe/Zurich"')
    text = with_settings(text, mechanism="planned", target_error=40.0, epsilon_total=200.0)
    (folder / "dataset.toml").write_text(text)
    dataset = Dataset(folder)
    for number, date in enumerate(dates_of(n_days)):
        lines = [
            f"bus{bus:02},{date}T{9 + minute // 60:02}:{minute % 60:02}:00Z,47.05,8.31,{(bus * 7 + minute) % 60}"
            for bus in range(number % 5, 12 + number % 3)
            for minute in range(0, 120, 5 + number % 2)
        ]
        dataset.write(f"{date}.csv", HEADER + "\n".join(lines) + "\n")
    return dataset


def range_of(dataset: Dataset, n_days: int) -> tuple[Any, ...]:
    last = FIRST + dt.timedelta(days=n_days - 1)
    return ("--config", dataset.config_file, "--from", FIRST, "--to", last)


def n_released(dataset: Dataset) -> int:
    path = ledger.ledger_path(dataset.config)
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_after(n_releases: int, n_days: int, dataset: Dataset, environment: dict[str, str]) -> None:
    """Run the backfill and kill it when it has made so many releases."""
    command = [sys.executable, "-m", "flows.cli", "backfill", *map(str, range_of(dataset, n_days))]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while n_released(dataset) < n_releases:
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.01)
        process.kill()


@pytest.mark.slow
def test_many_days_backfilled_and_killed_twice_equal_days_run_one_by_one(
    hexveil: Hexveil, server: dict[str, str], campaign: Campaign, tmp_path: Path
) -> None:
    n_days = campaign.size(N_DAYS)
    backfilled, one_by_one = make(tmp_path / "backfilled", n_days), make(tmp_path / "one_by_one", n_days)
    for dataset in (backfilled, one_by_one):
        private = dataset.folder / "store" / "private"
        private.mkdir(parents=True)
        (private / "user-key").write_bytes(bytes(range(32)))
    for date in dates_of(n_days):
        one_by_one.run_day(date)
    for n_releases in (n_days // 4, n_days * 3 // 5):
        kill_after(n_releases, n_days, backfilled, server)
    ended = hexveil("backfill", *range_of(backfilled, n_days))
    assert ended.returncode == 0, ended.stderr
    assert f"{n_days} of {n_days} days are released" in ended.stdout
    assert [verify.verify_ledger(one.config).n_releases for one in (backfilled, one_by_one)] == [n_days] * 2
    pairs = zip(ledger.read_entries(backfilled.config), ledger.read_entries(one_by_one.config), strict=True)
    for ours, theirs in pairs:
        assert {key: ours.stated[key] for key in ours.stated if key not in MADE_ANEW} == {
            key: theirs.stated[key] for key in theirs.stated if key not in MADE_ANEW
        }
    n_alike = 0
    for date in dates_of(n_days):
        ours, theirs = (
            pl.read_parquet(dataset.published("statistics.parquet", date), hive_partitioning=False)
            for dataset in (backfilled, one_by_one)
        )
        assert ours.drop(NOISY).equals(theirs.drop(NOISY))
        n_alike += ours.equals(theirs)
    most = stats.binom.isf(1e-7, n_days, 0.01)  # a cell is cut to the range alike once in 120, and some days have one
    assert n_alike <= most, "each has noise of its own"


@pytest.fixture
def week(tmp_path: Path) -> Dataset:
    return make(tmp_path / "week", 7)


@pytest.mark.slow
def test_the_totals_of_a_range_run_in_the_order_of_the_releases(hexveil: Hexveil, week: Dataset) -> None:
    first, second = dates_of(2)
    week.run_day(second)
    ended = hexveil("backfill", *range_of(week, 2))
    assert ended.returncode == 0, ended.stderr
    rows = [line.split() for line in ended.stdout.splitlines() if line.strip().startswith("2026")]
    assert [row[0] for row in rows] == [str(second), str(first)]
    totals, left = ([float(row[column].replace(",", "")) for row in rows] for column in (-2, -1))
    assert totals == sorted(totals)
    assert left == sorted(left, reverse=True)
    assert totals[0] < totals[-1]


def test_one_bad_day_is_reported_and_the_others_are_done_and_done_days_are_left_alone(
    hexveil: Hexveil, week: Dataset
) -> None:
    first, _, bad = dates_of(3)
    good = (week.folder / "raw" / f"{bad}.csv").read_text()
    week.write(f"{bad}.csv", HEADER + f"bus1,{bad}T08:00:00Z,0,0,30\n")
    week.run_day(first)
    before = all_files(week)
    ended = hexveil("backfill", *range_of(week, 3))
    assert ended.returncode == 1
    assert "2 of 3 days are released" in ended.stdout
    assert "1 of 3 days have problems, the others are done:" in ended.stderr
    assert f"{bad}: {bad} has no valid records (1 place_zero)" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert before.items() <= all_files(week).items()
    week.write(f"{bad}.csv", good)
    again = hexveil("backfill", *range_of(week, 3))
    assert again.returncode == 0, again.stderr
    assert "3 of 3 days are released" in again.stdout
    assert verify.verify_ledger(week.config).n_releases == 3
    assert [entry.stated["date"] for entry in ledger.read_entries(week.config)][-1] == str(bad)


@pytest.mark.slow
def test_a_budget_too_small_is_seen_before_the_first_day_spends_and_can_be_spread_or_clipped(
    hexveil: Hexveil, week: Dataset
) -> None:
    week.set(**CLIP_USER | {"target_error": 49.0}, epsilon_total=7.0)
    refused = hexveil("backfill", *range_of(week, 7))
    assert refused.returncode == 1
    assert "pays 3 of 7 days in full, 2026-03-01 to 2026-03-03" in refused.stderr
    assert "Nothing was spent" in refused.stderr
    assert n_released(week) == 0
    both = hexveil("backfill", *range_of(week, 7), "--spread", "--clip")
    assert both.returncode == 1
    assert "not both" in both.stderr
    spread = hexveil("backfill", *range_of(week, 7), "--spread")
    assert spread.returncode == 0, spread.stderr
    entries = ledger.read_entries(week.config)
    assert [entry.stated["settings"]["privacy"]["epsilon_per_day"] for entry in entries] == ["1"] * 7
    assert float(entries[-1].stated["epsilon_total_after"]) <= 7
    assert verify.verify_ledger(week.config).n_releases == 7


@pytest.mark.slow
def test_with_clip_the_backfill_goes_as_far_as_the_budget_does(hexveil: Hexveil, week: Dataset) -> None:
    week.set(epsilon_total=5.0)
    week.set(target_error=49.0)
    ended = hexveil("backfill", *range_of(week, 7), "--clip")
    entries = ledger.read_entries(week.config)
    assert 2 < len(entries) <= 7
    assert float(entries[-1].stated["epsilon_total_after"]) <= 5
    assert f"{len(entries)} of 7 days are released" in ended.stdout
    assert ("budget.least_share asks for" in ended.stderr) == (len(entries) < 7)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--spread", "--clip"])
def test_a_budget_of_zcdp_too_small_is_spread_or_clipped(hexveil: Hexveil, week: Dataset, option: str) -> None:
    week.set(epsilon_total=5.0)
    week.set(mechanism="clip-user")
    week.set(target_error=49.0)
    week.set(definition="zcdp", noise="gaussian")
    refused = hexveil("backfill", *range_of(week, 7))
    assert "pays 5 of 7 days in full" in refused.stderr
    assert n_released(week) == 0
    ended = hexveil("backfill", *range_of(week, 7), option)
    entries = ledger.read_entries(week.config)
    assert len(entries) == 7 or (option == "--clip" and len(entries) > 2), ended.stderr
    assert float(entries[-1].stated["epsilon_total_after"]) <= 5
    assert verify.verify_ledger(week.config).n_releases == len(entries)


def test_an_empty_range_is_refused(hexveil: Hexveil, week: Dataset) -> None:
    ended = hexveil("backfill", "--config", week.config_file, "--from", DATE, "--to", DATE - dt.timedelta(days=1))
    assert ended.returncode == 1
    assert "is empty" in ended.stderr
