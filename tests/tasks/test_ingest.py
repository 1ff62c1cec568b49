import datetime as dt
import json
import os
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import ROW, ingest, refusal
from support import CONFIG, DATE, ENGINES, HEADER, Campaign, Dataset, examples, slow

from tasks.base.errors import HexveilError
from tasks.engines.prepare import preparation
from tasks.records.read.ingest import ingest_records
from tasks.upkeep.forget import days_older_than, forget_days, held_days


@pytest.mark.parametrize("engine", ENGINES)
def test_the_log_does_not_tell_whether_a_file_that_came_again_has_the_same_values(
    engine: str, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    dataset.config_file.write_text(CONFIG + engine)
    said = []
    for seconds, value in enumerate(["30", "30", "77"]):
        path = dataset.write("a.csv", HEADER + ROW.replace(",30", f",{value}"))
        os.utime(path, (seconds, seconds))
        caplog.clear()
        preparation(dataset.config)[0].fn(DATE, dataset.config)
        said.append(caplog.messages)
    assert said == [["read file=a.csv n_rows=1 n_malformed=0 n_undated=0 n_left_out=0 n_forgotten=0"]] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_nor_does_it_when_a_day_of_the_file_was_forgotten(
    engine: str, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    dataset.config_file.write_text(CONFIG + engine)
    read, next_day = preparation(dataset.config)[0].fn, DATE + dt.timedelta(days=1)
    rows = [ROW, ROW.replace("08:", "09:"), ROW.replace(f"{DATE}", f"{next_day}"), "bus1,never,47,8,30\n", "short\n"]
    dataset.write("a.csv", HEADER + "".join(rows))
    read(DATE, dataset.config)
    forget_days([DATE], dataset.config)
    said = []
    for seconds, value in enumerate(["30", "77"]):
        path = dataset.write("a.csv", HEADER + "".join(rows).replace(",30", f",{value}"))
        os.utime(path, (seconds, seconds))
        caplog.clear()
        read(next_day, dataset.config)
        said.append([line for line in caplog.messages if line.startswith("read ")])
    assert said == [["read file=a.csv n_rows=5 n_malformed=1 n_undated=1 n_left_out=0 n_forgotten=2"]] * 2


def test_a_time_beyond_every_calendar_cannot_be_read_and_is_forgotten_with_its_file(dataset: Dataset) -> None:
    odd = ("infinity", "-infinity", "20260-01-15T08:00:00Z", "0044-03-15 (BC) 08:00:00Z")
    dataset.set(max_quarantined_share=0.9)
    dataset.write("a.csv", HEADER + "".join(f"bus1,{time},47,8,1\n" for time in (f"{DATE}T08:00:00Z", *odd)))
    ingest_records.fn(DATE, dataset.config)
    assert dataset.query("select count(*) from raw_record where observed_at is null and local_date is null") == [(4,)]
    assert days_older_than(1, held_days(dataset.config), dataset.config) == [DATE]
    forget_days([DATE], dataset.config)
    assert dataset.query("select count(*) from raw_record") == [(0,)]


def test_a_file_read_twice_adds_nothing(dataset: Dataset) -> None:
    path = dataset.write("a.csv", HEADER + ROW)
    ingest(dataset)
    path.touch()
    ingest(dataset)
    assert dataset.query("select count(*) from raw_record") == [(1,)]
    assert dataset.query("select count(*) from raw_file") == [(1,)]


def test_a_copy_adds_no_record_and_looks_like_any_re_delivery(dataset: Dataset) -> None:
    """Were an identical copy passed over, counts would tell it from one that differs in a single value."""
    dataset.write("a.csv", HEADER + ROW)
    counts = []
    for copy in (ROW, ROW.replace(",30", ",31")):
        dataset.write("b.csv", HEADER + copy)
        dataset.prepare()
        assert dataset.query(f"select value_ticks from record('{DATE}')") == [(3000,)]
        counts.append(dataset.query("select reason, count(*) from quarantine group by all"))
    assert counts == [[("duplicate", 1)]] * 2


@pytest.mark.parametrize(
    ("old", "new", "ticks"),
    [
        ('value = "speed"', 'value = "pace"', 7000),
        ('latitude = "lat"\nlongitude = "lon"', 'latitude = "lon"\nlongitude = "lat"', 3000),
    ],
)
def test_what_was_read_under_other_settings_is_not_used(dataset: Dataset, old: str, new: str, ticks: int) -> None:
    dataset.write("a.csv", f"bus,time,lat,lon,speed,pace\nbus1,{DATE}T08:00:00Z,47,8,30,70\n")
    dataset.prepare()
    before = dataset.query(f"select h3_cell, value_ticks from record('{DATE}')")
    dataset.edit(old, new)
    dataset.prepare()
    after = dataset.query(f"select h3_cell, value_ticks from record('{DATE}')")
    assert len(after) == 1
    assert after != before
    assert after[0][1] == ticks


def test_rows_of_files_that_changed_or_are_gone_are_not_used(dataset: Dataset) -> None:
    path = dataset.write("a.csv", HEADER + ROW)
    dataset.write("b.csv", HEADER + ROW.replace("bus1", "bus2"))
    dataset.prepare()
    path.write_text(HEADER + ROW.replace(",30", ",90"))
    (dataset.folder / "raw" / "b.csv").unlink()
    dataset.prepare()
    assert dataset.query(f"select user_id, value_ticks from record('{DATE}')") == [("bus1", 9000)]


def test_two_datasets_do_not_share_a_storage(dataset: Dataset) -> None:
    dataset.write("a.csv", HEADER + ROW)
    ingest(dataset)
    dataset.set(dataset={"name": "other"})
    with pytest.raises(HexveilError, match=r"holds the dataset test, not the dataset other"):
        ingest(dataset)


def test_what_is_private_can_be_entered_by_its_owner_alone(dataset: Dataset) -> None:
    private = dataset.folder / "store" / "private"
    private.mkdir(parents=True, mode=0o755)
    dataset.write("a.csv", HEADER + ROW)
    ingest(dataset)
    assert private.stat().st_mode & 0o077 == 0


def test_ids_that_differ_in_white_space_alone_are_one_user(dataset: Dataset) -> None:
    rows = [ROW.replace("bus1", one) for one in ("bus1", "bus1 ", "\tbus1", "\u00a0bus1\u2003")]
    dataset.write("a.csv", HEADER + "".join(rows))
    ingest(dataset)
    assert dataset.query("select distinct user_id from raw_record") == [("bus1",)]


BLANK = "".join(one for one in map(chr, range(0x110000)) if one.isspace())
CHARACTER = st.one_of(
    st.sampled_from(BLANK.replace("\r", "")), st.sampled_from(" !~a\x7f"), st.characters(codec="utf-8")
)
IDS = st.lists(st.text(CHARACTER.filter(lambda one: one not in "\0\r"), max_size=6), min_size=1, max_size=60)


@examples(4, 30)
def test_white_space_of_any_kind_is_trimmed_off_any_id(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int, campaign: Campaign
) -> None:
    @settings(max_examples=campaign.size(n_examples))
    @given(ids=IDS)
    def same(ids: list[str]) -> None:
        dataset = Dataset(tmp_path_factory.mktemp("ids"))
        dataset.config_file.write_text(CONFIG)
        quoted = ['"' + one.replace('"', '""') + '"' for one in ids]
        dataset.write("a.csv", HEADER + "".join(ROW.replace("bus1", one) for one in quoted))
        places = {"time": dt.datetime.combine(DATE, dt.time(), dt.UTC), "lat": 47.0, "lon": 8.0, "speed": 1.0}
        pl.DataFrame({"bus": ids}).with_columns(**places).write_parquet(dataset.write("b.parquet", b""))
        record = {**places, "time": f"{DATE}T00:00:00Z"}
        dataset.write("c.ndjson", "".join(json.dumps({"bus": one, **record}) + "\n" for one in ids))
        ingest(dataset)
        for name in ("raw/a.csv", "raw/b.parquet", "raw/c.ndjson"):
            of_file = f"from raw_record join raw_file using (file_id) where name = '{name}'"
            read = dataset.query(f"select user_id {of_file} order by row_number")
            assert read == [(one.strip() or None,) for one in ids], name

    same()


def test_times_with_an_offset_without_one_and_through_a_clock_change(dataset: Dataset) -> None:
    dataset.set(timezone="America/Chicago")
    times = {
        "2016-11-06T00:30:00-05:00": 1478410200,
        "2016-11-06T05:30:00Z": 1478410200,
        "2016-11-06 00:30:00": 1478410200,
        "2016-11-06T01:30:00-05:00": 1478413800,
        "2016-11-06T01:30:00-06:00": 1478417400,
        "2016-11-06T07:30:00+00:00": 1478417400,
    }
    dataset.write("a.csv", HEADER + "".join(f"bus,{time},47,8,1\n" for time in times))
    ingest(dataset)
    assert dataset.query("select epoch(observed_at)::bigint from raw_record order by row_number") == [
        (epoch,) for epoch in times.values()
    ]


def test_nothing_of_a_refused_file_is_kept_and_the_files_before_it_are(dataset: Dataset) -> None:
    dataset.write("a.csv", HEADER + ROW)
    dataset.write("b.csv", HEADER + ROW.replace("bus1", "bus2") + f'bus3,{DATE}T08:00:00Z,47,8,"30\n' + ROW)
    refusal(dataset)
    assert dataset.query("select user_id from raw_record") == [("bus1",)]
    assert dataset.query("select count(*) from quarantine") == [(0,)]
    assert dataset.query("select count(*) from raw_file") == [(1,)]


def test_no_file_for_the_day_is_said_with_the_pattern(dataset: Dataset) -> None:
    dataset.set(files=["raw/day_{date}.csv"])
    dataset.write("day_2026-01-14.csv", HEADER + ROW)
    assert "no file for 2026-01-15 matches dataset.files = raw/day_{date}.csv" in refusal(dataset)


def test_an_error_of_a_library_says_its_class_and_keeps_its_text_private(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.write("a.csv", HEADER + ROW)
    monkeypatch.setattr("tasks.records.read.source.content_hash", lambda _: [][secret_position])
    secret_position = 7_654_321
    with pytest.raises(HexveilError) as caught:
        ingest(dataset)
    log = dataset.folder / "store" / "private" / "errors.log"
    assert "IndexError" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "content_hash" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("zone", "date"),
    [
        ("America/St_Johns", dt.date(2005, 10, 30)),
        ("America/Sao_Paulo", dt.date(2018, 2, 18)),
        ("Pacific/Apia", dt.date(2011, 12, 31)),
        slow("Australia/Lord_Howe", dt.date(2024, 4, 7)),
        slow("Africa/Monrovia", dt.date(1972, 1, 7)),
        slow("Africa/Cairo", dt.date(2024, 4, 26)),
        ("Asia/Kathmandu", DATE),
    ],
)
def test_a_record_is_of_the_day_that_its_time_zone_says_whatever_its_hour_holds(
    dataset: Dataset, zone: str, date: dt.date
) -> None:
    """In St John's a clock that was put back at 00:01 showed the day before again. Most times are about midnights."""
    dataset.set(timezone=zone)
    noon = dt.datetime.combine(date, dt.time(12), ZoneInfo(zone)).astimezone(dt.UTC)
    minutes = sorted({*range(-2000, 2000, 40), *range(-840, -600, 5), *range(600, 840, 5)})
    shifts = [(n, us) for n in minutes for us in (-1, 0, 60_000_000)]
    instants = [noon + dt.timedelta(minutes=n, microseconds=us) for n, us in shifts]
    far = [*instants, noon + dt.timedelta(days=9000)]
    dataset.write("a.csv", HEADER + "".join(f"bus1,{one.isoformat()},47,8,30\n" for one in instants))
    columns = {"bus": "bus1", "lat": 47.0, "lon": 8.0, "speed": 30.0}
    for name, times in (("b", instants), ("c", far)):
        frame = pl.DataFrame({"time": pl.Series(times, dtype=pl.Datetime("us", "UTC"))})
        frame = frame.with_columns(**{column: pl.lit(value) for column, value in columns.items()})
        frame.write_parquet(dataset.write(f"{name}.parquet", b""))
    ingest_records.fn(date, dataset.config)
    for name, times in {"raw/a.csv": instants, "raw/b.parquet": instants, "raw/c.parquet": far}.items():
        expected = [one.astimezone(ZoneInfo(zone)).date() for one in times]
        days = dataset.query(
            f"select local_date from raw_record join raw_file using (file_id) where name = '{name}' order by row_number"
        )
        assert [day for (day,) in days] == expected, name
