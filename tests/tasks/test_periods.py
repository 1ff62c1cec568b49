"""Weeks and months beside the days: made when they are over, from published files alone, and made again by verify."""

import datetime as dt
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from estimates import write_day
from support import Dataset

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.answers.ask import ask
from tasks.base.errors import LedgerBroken
from tasks.release import publish
from tasks.release.periods import write_periods
from tasks.upkeep.verify import verify_ledger

FIRST = dt.date(2026, 1, 23)
"""A Friday. Its week ends on the 25th, the next on 1 February, one day after its month."""
DAYS = [FIRST + dt.timedelta(days=number) for number in (0, 1, 2, 4, 5, 8, 9)]


@pytest.fixture
def weeks(dataset: Dataset) -> Dataset:
    """Return seven released days of two weeks, of which three days are missing."""
    dataset.set(mechanism="estimated", target_error=None, epsilon_per_day=4.0, epsilon_total=60.0)
    for number, date in enumerate(DAYS):
        write_day(dataset, date, seed=number, n_places=3)
        dataset.run_day(date)
    return dataset


def published(dataset: Dataset) -> Path:
    return dataset.folder / "store" / "published"


def read(dataset: Dataset, period: str) -> pl.DataFrame:
    return pl.read_parquet(published(dataset) / period / "statistics.parquet", hive_partitioning=False)


def test_a_period_is_published_as_soon_as_it_is_over(weeks: Dataset) -> None:
    folders = sorted(path.name for path in published(weeks).iterdir() if path.name[:4] in ("week", "mont"))
    assert folders == ["month=2026-01", "week=2026-W04", "week=2026-W05"]
    for folder in folders:
        assert {path.name for path in (published(weeks) / folder).iterdir()} == {
            "statistics.parquet",
            "statistics.csv",
            "manifest.json",
        }
    manifest = json.loads((published(weeks) / "week=2026-W05" / "manifest.json").read_text())
    assert manifest["days"] == [str(date) for date in DAYS[3:]]
    assert manifest["compared_with"] == [str(date) for date in DAYS[:3]]
    assert "costs no user anything" in manifest["cost"]
    assert verify_ledger(weeks.config).n_releases == 7


def test_its_rows_are_what_ask_answers(weeks: Dataset) -> None:
    found = read(weeks, "week=2026-W05")
    week, before = partial(ask, published(weeks), first=str(DAYS[3]), last=str(DAYS[6])), f"{DAYS[0]}:{DAYS[2]}"
    for by, of_city in (("", True), ("hour", True), ("area", False), ("area,hour", False)):
        expected = week(compare=before, by=by).table.drop("share_with_records", "changed")
        some = found.filter(
            pl.col("kind_of_day") == "all",
            (pl.col("area") == "all") == of_city,
            pl.col("hour").is_null() == ("hour" not in by),
        )
        assert some.select(expected.columns).sort("area", "n_records").equals(expected.sort("area", "n_records"))
    weekdays = week(days="mon-fri").table
    row = found.filter(pl.col("area") == "all", pl.col("kind_of_day") == "weekday", pl.col("hour").is_null())
    assert row["mean_sd"][0] == pytest.approx(weekdays["mean_sd"][0])
    assert set(found["kind_of_day"]) == {"all", "weekday", "saturday", "sunday"}
    assert found["changed"].null_count() == 0 or found["p_value"].null_count() > 0


@pytest.mark.slow
def test_a_day_that_comes_late_is_in_its_week_and_changes_the_next(weeks: Dataset) -> None:
    late = FIRST - dt.timedelta(days=1)
    write_day(weeks, late, seed=9, n_places=3)
    weeks.run_day(late)
    assert str(late) in json.loads((published(weeks) / "week=2026-W04" / "manifest.json").read_text())["days"]
    later = json.loads((published(weeks) / "week=2026-W05" / "manifest.json").read_text())
    assert str(late) in later["compared_with"]
    assert verify_ledger(weeks.config).n_releases == 8


def test_what_is_published_again_is_not_written_again(weeks: Dataset) -> None:
    path = published(weeks) / "week=2026-W05" / "statistics.parquet"
    before = path.stat().st_mtime_ns
    weeks.run_day(DAYS[-1])
    assert path.stat().st_mtime_ns == before


def test_a_changed_or_missing_period_is_found_and_made_again(weeks: Dataset) -> None:
    folder = published(weeks) / "week=2026-W05"
    table = read(weeks, "week=2026-W05")
    table.with_columns(pl.col("mean") * 1.001).write_parquet(folder / "statistics.parquet")
    with pytest.raises(LedgerBroken, match="week=2026-W05 does not follow from the published days"):
        verify_ledger(weeks.config)
    (folder / "manifest.json").unlink()
    with pytest.raises(LedgerBroken, match="week=2026-W05 is missing a file"):
        verify_ledger(weeks.config)
    weeks.run_day(DAYS[-1])
    assert verify_ledger(weeks.config).n_releases == 7
    (published(weeks) / "week=2025-W01").mkdir()
    with pytest.raises(LedgerBroken, match="week=2025-W01 is of no complete period; remove it"):
        verify_ledger(weeks.config)


@pytest.mark.slow
def test_a_crash_before_the_period_is_written_is_mended_by_running_the_day_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.set(mechanism="estimated", target_error=None, epsilon_per_day=4.0, epsilon_total=60.0)
    for number, date in enumerate(DAYS[:3]):
        write_day(dataset, date, seed=number, n_places=3)
    dataset.run_day(DAYS[0])
    with monkeypatch.context() as changed:
        changed.setattr(publish, "write_periods", lambda *_: None)
        dataset.run_day(DAYS[2])
    assert not (published(dataset) / "week=2026-W04").exists()
    assert verify_ledger(dataset.config).n_releases == 2, "a run may be at work"
    dataset.run_day(DAYS[2])
    assert (published(dataset) / "week=2026-W04" / "manifest.json").exists()
    write_periods(releases(ledger.read_entries(dataset.config)), DAYS[0], dataset.config)
    assert verify_ledger(dataset.config).n_releases == 2
