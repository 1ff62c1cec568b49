"""Cautions before and after a day: a promise worth less than a constant, a small total, and a wrong time zone."""

import datetime as dt
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from support import DATE, HEADER, Dataset, Hexveil, later_day, slow

from tasks.account import ledger
from tasks.account.entry import Release
from tasks.planning.cautions import cautions
from tasks.planning.other_files import zone_cautions
from tasks.planning.preview import preview_plan
from tasks.reporting.day_report import report_day
from tasks.reporting.registry import describe_deployment

FIRST = dt.datetime(2026, 1, 15, tzinfo=dt.UTC)


def cells(hours: list[int], slot_minutes: int = 60) -> pl.DataFrame:
    """Return cells with 100 records in each hour of the day in UTC that is given."""
    starts = [FIRST + dt.timedelta(hours=hour) for hour in hours if hour * 60 % slot_minutes == 0]
    return pl.DataFrame(
        {"slot_start": starts, "n_records": [100] * len(starts)},
        {"slot_start": pl.Datetime("us", "UTC"), "n_records": pl.Int64},
    )


def zones(dataset: Dataset, hours: list[int], zone: str) -> list[str]:
    dataset.set(timezone=zone)
    found = cautions(cells(hours), [], dataset.config)
    dataset.edit(f'timezone = "{zone}"', 'timezone = "UTC"')
    return found


def test_a_city_that_sleeps_by_day_has_a_wrong_zone(dataset: Dataset) -> None:
    by_day = list(range(5, 24))
    assert zones(dataset, by_day, "UTC") == []
    assert zones(dataset, by_day, "Europe/Zurich") == []
    (said,) = zones(dataset, by_day, "Asia/Tokyo")
    assert "from 1 to 5 o'clock at night in Asia/Tokyo, and hardly from 9 to 13" in said
    assert "dataset.timezone is wrong" in said
    (said,) = zones(dataset, by_day, "Asia/Dhaka")
    assert "hardly from 6 to 10" in said


@pytest.mark.parametrize("hours", [[8, 9, 10], list(range(24)), [], [22, 23, 0, 1], list(range(0, 24, 6))])
def test_a_day_that_tells_nothing_of_its_zone_is_left_alone(dataset: Dataset, hours: list[int]) -> None:
    assert zones(dataset, hours, "UTC") == []


def test_long_slots_are_spread_over_their_hours_and_very_long_ones_say_nothing(dataset: Dataset) -> None:
    nights = [*range(0, 6, 3), *range(18, 24, 3)]
    dataset.set(slot_minutes=180)
    assert len(cautions(cells(nights, 180), [], dataset.config)) == 1
    dataset.set(slot_minutes=360)
    assert cautions(cells([0, 18], 360), [], dataset.config) == []


@pytest.mark.slow
def test_a_total_below_the_epsilon_of_a_day_is_said(busy_dataset: Dataset) -> None:
    busy_dataset.set(epsilon_total=1.5)
    busy_dataset.prepare()
    (said,) = preview_plan(DATE, busy_dataset.config)["cautions"]
    assert said.startswith("budget.epsilon_total = 1.5 is below privacy.epsilon_per_day = 2.0")
    busy_dataset.set(epsilon_total=2.0)
    busy_dataset.prepare()
    assert preview_plan(DATE, busy_dataset.config)["cautions"] == []


@pytest.mark.slow
def test_a_promise_wider_than_released_values_differ_is_said_in_plan_and_run(
    stepped: Dataset, hexveil: Hexveil
) -> None:
    dataset = stepped
    where = ("--config", dataset.config_file, "--date")
    first = hexveil("run", *where, DATE)
    assert (first.returncode, "caution" in first.stdout) == (0, False), "nothing is released before the first day"
    dataset.set(epsilon_per_day=2.0)
    tomorrow = later_day(dataset, 1)
    planned = hexveil("plan", *where, tomorrow).stdout
    assert planned.startswith("The promised error of")
    assert "Lower privacy.target_error" in planned
    ran = hexveil("run", *where, tomorrow).stdout
    assert "  caution    the promised error of" in ran
    assert hexveil("run", *where, tomorrow).stdout == ran, "said again, by what was released before that day"
    assert report_day(DATE, {}, dataset.config).cautions == []


@pytest.fixture
def stepped(dataset: Dataset) -> Dataset:
    """Return a day of cells of different values, in which a large budget promises little error, a small one much."""
    lines = [
        f"bus{bus:02},{DATE}T{hour:02}:{minute:02}:00Z,47.0500,8.3100,{10 * (hour - 7)}"
        for hour in range(8, 14)
        for bus in range(24)
        for minute in range(0, 60, 20)
    ]
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")
    dataset.set(mechanism="clip-user", target_error=40.0, epsilon_per_day=60.0, epsilon_total=100.0)
    return dataset


def test_a_run_says_which_records_it_covers_and_which_rows_have_no_day(uneven: Dataset, hexveil: Hexveil) -> None:
    text = (uneven.folder / "raw" / "day.csv").read_text()
    uneven.write("day.csv", text + "bus1,yesterday,47.05,8.31,9\nbus1,today,47.05,8.31,9\nbus1,2026\n")
    uneven.write(
        f"only_{DATE}.csv", HEADER + "bus1,yesterday,47.05,8.31,9\n" + f"bus1,{DATE}T08:00:09Z,47.05,8.31,9\n" * 1
    )
    uneven.set(files=["raw/day.csv", "raw/only_{date}.csv"])
    uneven.set(max_quarantined_share=0.5)
    said = hexveil("run", "--config", uneven.config_file, "--date", DATE)
    assert said.returncode == 0, said.stderr
    day = report_day(DATE, {}, uneven.config)
    assert f"  covered    {day.n_covered:,} of {day.n_kept:,} records, 100.0%" in said.stdout
    assert "no day     3 rows of raw/day.csv belong to no day: 1 malformed and 2 without a readable time" in said.stdout
    assert day.without_day == {"raw/day.csv": (1, 2)}
    assert "1 time_unreadable" in said.stdout, "a row of the file for one day is in the rows of the day"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"factor": 3.6}, "value.factor from unset to 3.6"),
        ({"missing": [255]}, "value.missing from unset to 255"),
        ({"upper": 120.0}, "value.upper from 100.0 to 120.0"),
        ({"lower": -10.0}, "value.lower from 0.0 to -10.0"),
        ({"unit": "mph", "name": "pace"}, "value.name from speed to pace, and value.unit from km/h to mph"),
        ({"screen": True}, ""),
    ],
)
def test_a_value_that_means_another_thing_than_in_earlier_releases_is_said_and_recorded(
    busy_dataset: Dataset, changed: dict[str, Any], said: str
) -> None:
    busy_dataset.release()
    before = ledger.read_entries(busy_dataset.config)
    assert not any("was changed" in one for one in cautions(cells([8]), before, busy_dataset.config))
    busy_dataset.set(value=changed)
    found = cautions(cells([8]), before, busy_dataset.config)
    assert any(f"since the release of {DATE} {said} was changed" in one for one in found) == bool(said)
    later = Release({**before[0].stated, "number": 2, "settings": busy_dataset.config.public_settings()})
    changes = describe_deployment([before[0], later], busy_dataset.config)["privacy_guarantee"]["changes"]
    assert changes == ([f"{later.committed_at:%Y-%m-%d}: from the day {DATE} on, {said} was changed"] if said else None)


NAIVE, WITH_OFFSET = "2026-01-15 08:00:00", "2026-01-15T08:00:00+01:00"


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("time", "form", "said"),
    [
        (NAIVE, "csv", "read as times of Europe/Zurich. If"),
        slow(NAIVE, "ndjson", "read as times of Europe/Zurich. If"),
        (dt.datetime(2026, 1, 15, 8), "parquet", "read as times of Europe/Zurich. If"),
        (dt.datetime(2026, 1, 15, 8), "int96", "read as times of UTC, as INT96 is by the convention of Spark and Hive"),
        (dt.datetime(2026, 1, 15, 8, tzinfo=dt.UTC), "parquet", None),
        slow(WITH_OFFSET, "csv", None),
        (f"{NAIVE} CET", "csv", None),
        slow("1768464000", "csv", None),
    ],
)
def test_plan_and_run_say_what_times_without_an_offset_are_taken_for(
    dataset: Dataset, time: Any, form: str, said: str | None
) -> None:
    dataset.set(timezone="Europe/Zurich")
    frame = pl.DataFrame({"bus": ["bus1"], "time": [time], "lat": [47.05], "lon": [8.31], "speed": [30]})
    file = dataset.write(f"a.{form.replace('int96', 'parquet')}", "")
    if form in ("parquet", "int96"):
        pq.write_table(frame.to_arrow(), file, use_deprecated_int96_timestamps=form == "int96")
    else:
        getattr(frame, f"write_{form}")(file)
    dataset.prepare()
    found = [one for one in preview_plan(DATE, dataset.config)["cautions"] if "no offset" in one]
    assert bool(found) == (said is not None)
    assert (said or "") in "".join(found)
    if form == "csv" and said:
        dataset.run_day()
        assert found == [one for one in report_day(DATE, {}, dataset.config).cautions if "no offset" in one]
    dataset.set(time_zone="UTC")
    assert zone_cautions(DATE, dataset.config) == []
