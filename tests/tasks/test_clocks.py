"""Times without an offset: those that a clock skipped or showed twice are counted so, and told where order tells."""

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import HEADER, Dataset, slow

from tasks.base.errors import BadConfig, BadInput
from tasks.base.time_zones import clock_changes
from tasks.planning.cautions import row_cautions
from tasks.records.judge.count_outcomes import prepared_rows

SKIPPED = [
    ("Europe/Zurich", "2026-03-29", "02:30"),
    ("America/New_York", "2026-03-08", "02:30"),
    ("Australia/Lord_Howe", "2026-10-04", "02:15"),
    ("Africa/Cairo", "2026-04-24", "00:30"),
    ("America/Santiago", "2026-09-06", "00:30"),
]
TWICE = [
    ("Europe/Zurich", "2026-10-25", 2, 60),
    ("America/New_York", "2026-11-01", 1, 60),
    ("Atlantic/Azores", "2026-10-25", 0, 60),
    ("America/Havana", "2026-11-01", 0, 60),
    ("America/Santiago", "2026-04-04", 23, 60),
]
FORMS = {
    "iso": (None, "%Y-%m-%d %H:%M:%S"),
    "t": (None, "%Y-%m-%dT%H:%M"),
    "basic": (None, "%Y%m%dT%H%M%S"),
    "slashes": (None, "%Y/%m/%d %H:%M:%S"),
    "one digit of the hour": (None, "%Y-%m-%d %-H:%M:%S"),
    "declared": ("%d/%m/%Y %H.%M", "%d/%m/%Y %H.%M"),
}
IN_BRIEF = ("iso", "one digit of the hour", "declared")
"""The others are tried where other clocks skipped an hour."""


def prepared(dataset: Dataset, day: str) -> dict[str, int]:
    dataset.prepare(dt.date.fromisoformat(day))
    return prepared_rows(dt.date.fromisoformat(day), dataset.config)


def write(dataset: Dataset, form: str, rows: Sequence[tuple[str, dt.datetime]]) -> None:
    """Write users and local times in a form, in every format of text."""
    declared, written = FORMS[form]
    dataset.set(time_format=declared)
    lines = [f"{user},{time:{written}},47.05,8.31,30" for user, time in rows]
    dataset.write("a.csv", HEADER + "\n".join(lines) + "\n")


def hours_of(dataset: Dataset) -> dict[dt.datetime, int]:
    found = dataset.query("select epoch(slot_start)::bigint, sum(n_records)::int from user_cell group by 1 order by 1")
    return {dt.datetime.fromtimestamp(at, dt.UTC): n for at, n in found}


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("zone", "day", "time", "form"),
    [(*SKIPPED[0], form) if form in IN_BRIEF else slow(*SKIPPED[0], form) for form in FORMS]
    + [(*one, form) for one, form in zip(SKIPPED[1:], FORMS, strict=False)],
)
def test_a_time_that_the_clock_skipped_is_no_duplicate_of_the_next_hour(
    dataset: Dataset, zone: str, day: str, time: str, form: str
) -> None:
    dataset.set(timezone=zone, max_quarantined_share=0.2)
    skipped = dt.datetime.fromisoformat(f"{day} {time}")
    real = [skipped + dt.timedelta(hours=n) for n in range(1, 9)]
    write(dataset, form, [("bus1", one) for one in [skipped, *real]])
    assert prepared(dataset, day) == {"kept": 8, "time_never": 1}
    (said,) = row_cautions({"time_never": 1}, dataset.config)
    assert f"1 rows have times that do not exist in {zone}" in said
    dataset.set(max_quarantined_share=0.05)
    with pytest.raises(
        BadInput, match=f"Times that were never show that they are not of {zone}: set columns.time_zone"
    ):
        dataset.prepare(dt.date.fromisoformat(day))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("zone", "day", "hour", "shift", "is_backwards"),
    [(*one, number % 2 == 1) for number, one in enumerate(TWICE)],
)
def test_a_users_order_tells_which_of_two_hours_it_was(
    dataset: Dataset, zone: str, day: str, hour: int, shift: int, is_backwards: bool
) -> None:
    dataset.set(timezone=zone)
    start = dt.datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
    n = 6 * (24 + shift // 60)
    instants = [start + dt.timedelta(minutes=10 * number) for number in range(n)]
    local = [one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for one in instants]
    assert sum(one.hour == hour and one.date().isoformat() == day for one in local) == 12
    rows = [(user, one) for user in ("bus1", "bus2") for one in local]
    write(dataset, "iso", rows[::-1] if is_backwards else rows)
    assert prepared(dataset, day) == {"kept": 2 * n}
    assert set(hours_of(dataset).values()) == {12}
    assert len(hours_of(dataset)) == 25


def test_so_does_the_order_of_a_file_whose_users_have_one_record_in_it(dataset: Dataset) -> None:
    dataset.set(timezone="Europe/Zurich")
    start = dt.datetime(2026, 10, 24, 23, 30, tzinfo=dt.UTC)
    local = [(start + dt.timedelta(minutes=n)).astimezone(ZoneInfo("Europe/Zurich")) for n in range(180)]
    late = [max(0, n - (n % 7 == 3) * 5) for n in range(180)]  # some rows come five minutes late
    write(dataset, "iso", [(f"bus{n}", local[late[n]].replace(tzinfo=None)) for n in range(180)])
    assert prepared(dataset, "2026-10-25") == {"kept": 180}
    truth = pl.Series([local[one].astimezone(dt.UTC).hour for one in late]).value_counts()
    assert {at.hour: n for at, n in hours_of(dataset).items()} == dict(truth.iter_rows())


@pytest.mark.parametrize(
    "times",
    [["01:50", "02:10", "02:30", "03:10"], ["02:30", "02:10", "05:00", "02:20", "01:00"]],
    ids=["once", "in no order"],
)
def test_where_no_order_tells_the_rows_are_said_and_stop_no_day(dataset: Dataset, times: list[str]) -> None:
    dataset.set(timezone="Europe/Zurich")
    write(dataset, "iso", [("bus1", dt.datetime.fromisoformat(f"2026-10-25 {time}")) for time in times])
    n_twice = sum(time.startswith("02") for time in times)
    assert prepared(dataset, "2026-10-25") == {"kept": len(times) - n_twice, "time_twice": n_twice}
    (said,) = row_cautions({"time_twice": n_twice}, dataset.config)
    assert f"{n_twice} rows are of an hour that occurs twice in Europe/Zurich" in said


@pytest.mark.parametrize("written", ["2026-10-25T00:30:00Z", "2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+02"])
def test_a_time_with_an_offset_is_never_in_doubt(dataset: Dataset, written: str) -> None:
    dataset.set(timezone="Europe/Zurich")
    dataset.write("a.csv", f"{HEADER}bus1,{written},47.05,8.31,30\n")
    dataset.write("b.ndjson", f'{{"bus":"bus2","time":"{written}","lat":47,"lon":8,"speed":1}}\n')
    assert prepared(dataset, "2026-10-25") == {"kept": 2}
    assert [at.hour for at in hours_of(dataset)] == [0]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.json", "a.parquet"])
def test_times_may_be_of_another_zone_than_days(dataset: Dataset, name: str) -> None:
    dataset.set(timezone="Europe/Zurich", time_zone="UTC")
    times = ["2026-03-28 23:30:00", "2026-03-29 02:30:00", "2026-03-29 21:30:00", "2026-03-29 22:30:00"]
    rows = [{"bus": "bus1", "time": time, "lat": 47.05, "lon": 8.31, "speed": 30} for time in times]
    if name == "a.parquet":
        frame = pl.DataFrame(rows).with_columns(pl.col("time").str.to_datetime())
        frame.write_parquet(dataset.write(name, b""))
    elif name == "a.csv":
        pl.DataFrame(rows).write_csv(dataset.write(name, b""))
    else:
        text = pl.DataFrame(rows).write_ndjson()
        dataset.write(name, f"[{','.join(text.splitlines())}]" if name == "a.json" else text)
    assert prepared(dataset, "2026-03-29") == {"kept": 3}, "the local day is 23 hours from 23:00 UTC on"
    assert [at.hour for at in hours_of(dataset)] == [23, 2, 21]
    dataset.set(time_zone="Europe/Zürich")
    with pytest.raises(BadConfig, match="must be an IANA time zone"):
        _ = dataset.config


def write_parquet(dataset: Dataset, times: Sequence[dt.datetime], kind: pa.DataType, int96: bool) -> None:
    n = len(times)
    columns = {"bus": ["bus1"] * n, "lat": [47.05] * n, "lon": [8.31] * n, "speed": [30.0] * n}
    table = pa.table({**columns, "time": pa.array(times, kind)})
    pq.write_table(table, dataset.write("a.parquet", b""), use_deprecated_int96_timestamps=int96)


@pytest.mark.parametrize(
    ("is_int96", "declared", "hour"),
    [(True, None, 6), (True, "Europe/Zurich", 5), (False, None, 5), (False, "UTC", 6)],
)
def test_int96_is_utc_and_a_time_that_is_not_adjusted_to_utc_is_local(
    dataset: Dataset, is_int96: bool, declared: str | None, hour: int
) -> None:
    dataset.set(timezone="Europe/Zurich", time_zone=declared)
    write_parquet(dataset, [dt.datetime(2026, 3, 2, 6, 30)], pa.timestamp("us"), is_int96)
    assert prepared(dataset, "2026-03-02") == {"kept": 1}
    assert [at.hour for at in hours_of(dataset)] == [hour]


def test_parquet_times_that_are_local_are_told_too(dataset: Dataset) -> None:
    dataset.set(timezone="Europe/Zurich")
    zone = ZoneInfo("Europe/Zurich")
    start = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
    local = [(start + dt.timedelta(minutes=10 * n)).astimezone(zone).replace(tzinfo=None) for n in range(150)]
    write_parquet(dataset, local, pa.timestamp("ms"), False)
    assert prepared(dataset, "2026-10-25") == {"kept": 150}
    assert set(hours_of(dataset).values()) == {6}


@pytest.mark.parametrize("zone", ["Europe/Zurich", "Pacific/Apia", "Australia/Lord_Howe", "UTC", "Africa/Casablanca"])
def test_the_changes_of_a_clock_are_all_found(zone: str) -> None:
    first = dt.datetime(2009, 1, 1, tzinfo=dt.UTC)
    ahead = [(first + dt.timedelta(hours=n)).astimezone(ZoneInfo(zone)).utcoffset() for n in range(24 * 365 * 8)]
    changed = [first + dt.timedelta(hours=n) for n in range(1, len(ahead)) if ahead[n] != ahead[n - 1]]
    last = first + dt.timedelta(hours=len(ahead) - 1)
    found = [one.instant for one in clock_changes(zone) if first < one.instant <= last]
    assert len(found) == len(changed)
    assert all(
        dt.timedelta(0) <= hour - instant < dt.timedelta(hours=1) for hour, instant in zip(changed, found, strict=True)
    )


@pytest.mark.slow
def test_moved_times_are_the_same_with_shards(dataset: Dataset) -> None:
    dataset.set(timezone="Europe/Zurich", engine={"name": "dask", "n_shards": 3})
    start = dt.datetime(2026, 10, 24, 22, tzinfo=dt.UTC)
    zone = ZoneInfo("Europe/Zurich")
    local = [(start + dt.timedelta(minutes=10 * n)).astimezone(zone).replace(tzinfo=None) for n in range(150)]
    write(dataset, "iso", [(f"bus{n}", one) for n in range(4) for one in local] + [("last", local[13])])
    assert prepared(dataset, "2026-10-25") == {"kept": 600, "time_twice": 1}
    assert set(hours_of(dataset).values()) == {24}


@pytest.mark.parametrize(("n_repeated", "files", "n_said"), [(2, "raw/*", 1), (1, "raw/*", 0), (2, "raw/*.json", 0)])
def test_rows_that_times_do_not_tell_apart_are_said(n_repeated: int, files: str, n_said: int, dataset: Dataset) -> None:
    dataset.set(files=[files])
    found = row_cautions({"kept": 3, "duplicate": n_repeated}, dataset.config)
    assert [one[:6] for one in found] == ["2 rows"] * n_said
