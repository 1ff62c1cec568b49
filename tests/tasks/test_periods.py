"""Weeks and months beside the days: made when they are over, from published files alone, and made again by verify."""

import datetime as dt
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from estimates import write_day
from support import Dataset

from tasks.account import ledger, private_files
from tasks.account.chain import releases
from tasks.answers.ask import ask
from tasks.answers.places import Everything
from tasks.base import durable, frames
from tasks.base.errors import LedgerBroken
from tasks.kinds.estimated import release, stored_questions
from tasks.kinds.estimated.hindsight import LEARNING, days_of_the_week
from tasks.kinds.estimated.replay import Replay
from tasks.kinds.estimated.stored_arrays import Arrays, write_arrays
from tasks.kinds.table import load_plan
from tasks.output_formats.hindsight import day_of, hindsight_of
from tasks.output_formats.joint import JOINT
from tasks.release import periods, publish
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


def begin(dataset: Dataset) -> None:
    """Write the days of the first week, of which none is run."""
    dataset.set(mechanism="estimated", target_error=None, epsilon_per_day=4.0, epsilon_total=60.0)
    for number, date in enumerate(DAYS[:3]):
        write_day(dataset, date, seed=number, n_places=3)


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


def test_a_week_is_not_compared_with_a_weekend(weeks: Dataset) -> None:
    """What it differs by is what weekdays differ by. Saturdays are compared, as in every week."""
    days = periods._days(releases(ledger.read_entries(weeks.config)))
    here, weekend = [days[date] for date in DAYS[3:]], [days[date] for date in DAYS[1:3]]
    found = periods._table(Everything(), here, weekend, {}, weeks.config)
    compared = {kind: some["change"].null_count() == 0 for (kind,), some in found.group_by("kind_of_day")}
    assert compared == {"all": False, "weekday": False, "saturday": True, "sunday": True}
    assert found.filter(kind_of_day="all")["changed"].is_null().all()


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
    begin(dataset)
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


def hindsight(dataset: Dataset, date: dt.date) -> pl.DataFrame:
    """Return the table of a day that a later release has."""
    (path,) = published(dataset).glob(f"date=*/{hindsight_of(date)}")
    return pl.read_parquet(path, hive_partitioning=False)


def holders(dataset: Dataset) -> dict[dt.date, list[dt.date]]:
    """Return of which days each release has such a table."""
    found: dict[dt.date, list[dt.date]] = {}
    for one in releases(ledger.read_entries(dataset.config)):
        days = sorted(day for name in one.files if (day := day_of(name)))
        found |= {one.date: days} if days else {}
    return found


def test_a_week_that_is_over_is_known_with_the_sums_of_all_its_days(weeks: Dataset) -> None:
    """The week ends on the last day of the fixture, and the one before it on the third."""
    assert holders(weeks) == {DAYS[2]: DAYS[:2], DAYS[6]: DAYS[3:6]}
    joint = pl.read_parquet(published(weeks) / f"date={DAYS[3]}" / JOINT, hive_partitioning=False)
    here = hindsight(weeks, DAYS[3])
    keys = ["h3_cell", "slot_start", "n_records"]
    assert here.select(keys).equals(joint.select(keys))
    assert here["moved"].to_numpy() == pytest.approx((here["cell_mean"] - joint["cell_mean"]).to_numpy(), abs=1e-9)
    assert np.abs(here["moved"].to_numpy()).max() > 0
    assert here["again"].n_unique() == 1
    assert here["again"][0] >= 1
    package = json.loads((published(weeks) / "datapackage.json").read_text())
    (described,) = [one for one in package["resources"] if one["path"].endswith(hindsight_of(DAYS[3]))]
    assert described["type"] == "file"


def test_later_weeks_stay_as_released(weeks: Dataset) -> None:
    *chain, last = releases(ledger.read_entries(weeks.config))
    assert [one.entry.date for one in days_of_the_week(last.date, chain, weeks.config)] == DAYS[3:6]
    many = [*chain[:1] * (LEARNING - 4), *chain[1:]]
    assert [one.entry.date for one in days_of_the_week(last.date, many, weeks.config)] == DAYS[3:5]


def mean_of(joint: pl.DataFrame) -> float:
    return float(np.average(joint["cell_mean"].to_numpy(), weights=joint["n_records"].to_numpy()))


def test_ask_answers_with_what_is_known_at_the_end_of_the_week(weeks: Dataset) -> None:
    expected = mean_of(hindsight(weeks, DAYS[4]))
    day = str(DAYS[4])
    found = ask(published(weeks), first=day, last=day)
    assert found.table["mean"][0] == pytest.approx(expected)
    assert "1 of 1 days are as known when their week was over, not as first released." in found.notes
    last = pl.read_parquet(published(weeks) / f"date={DAYS[6]}" / JOINT, hive_partitioning=False)
    expected = mean_of(last)
    day = str(DAYS[6])
    assert ask(published(weeks), first=day, last=day).table["mean"][0] == pytest.approx(expected), "none came after it"


def test_another_table_is_found_though_every_hash_agrees(weeks: Dataset) -> None:
    config = weeks.config
    entries, folder = ledger.read_entries(config), private_files.releases(config)
    replay, entry = Replay(), releases(entries)[-1]
    table = private_files.read_frame(folder, entry.files["statistics.parquet"])
    name = hindsight_of(DAYS[4])
    again = private_files.read_frame(folder, entry.files[name])

    def problems(changed: pl.DataFrame | None, other: str = name) -> list[str]:
        """Return what is said of the last release with another such table, or without one."""
        files = {one: digest for one, digest in entry.files.items() if one != name}
        if changed is not None:
            files[other] = durable.write_named_by_hash(folder, frames.parquet_bytes(changed))
        changed_entry = replace(entry, stated={**entry.stated, "files": files})
        before = entries[: entries.index(entry)]
        return list(replay.problems(changed_entry, load_plan(entry.plan, config), table, before, config))

    assert not problems(again), "what is only written again is sound"
    for changed in (
        again.with_columns(pl.col("cell_mean") + 0.01),
        again.with_columns(pl.col("moved") + 0.01),
        again.with_columns(pl.col("again") + 0.01),
        again.with_columns(pl.col("variance") + 1),
        again.head(3),
        again.drop("moved"),
    ):
        assert problems(changed) == [f"{name} does not follow from the noisy answers"]
    kept = ", ".join(hindsight_of(one) for one in (DAYS[3], DAYS[5]))
    assert problems(None) == [f"its tables of earlier days are {kept}, and should be of 3 days"]
    assert "should be of 3 days" in problems(again, hindsight_of(DAYS[2]))[0]


def test_a_missing_file_of_an_earlier_day_stops_the_release_before_anything_is_drawn(
    weeks: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = releases(ledger.read_entries(weeks.config))[3]
    next_sunday = DAYS[6] + dt.timedelta(days=7)
    for date in (DAYS[6] + dt.timedelta(days=1), next_sunday):
        write_day(weeks, date, seed=9, n_places=3)
    weeks.run_day(DAYS[6] + dt.timedelta(days=1))
    last = releases(ledger.read_entries(weeks.config))[-1]
    assert last.plan != first.plan
    (private_files.plans(weeks.config) / last.plan).unlink()
    monkeypatch.setattr(release, "ask", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(LedgerBroken, match="missing"):
        weeks.run_day(next_sunday)


def without_readings(folder: Path, arrays: Arrays) -> str:
    return write_arrays(folder, {name: one for name, one in arrays.items() if not name.startswith("reading.")})


def test_releases_of_a_version_that_did_not_keep_readings_stay_as_they_are(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(dataset)
    with monkeypatch.context() as before:
        before.setattr(stored_questions, "write_arrays", without_readings)
        dataset.run_day(DAYS[0])
    for date in DAYS[1:3]:
        dataset.run_day(date)
    assert holders(dataset) == {DAYS[2]: [DAYS[1]]}
    assert verify_ledger(dataset.config).n_releases == 3
    day = str(DAYS[0])
    assert ask(published(dataset), first=day, last=day).table.height == 1
