import csv
import datetime as dt
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import CONFIG, DATE, ENGINES, HEADER, Dataset

from tasks import warehouse
from tasks.errors import BadInput, HexveilError, TemporaryFailure
from tasks.forget import days_older_than, forget_days, held_days
from tasks.ingest import ingest_records
from tasks.prepare import preparation

ROW = f"bus1,{DATE}T08:00:00Z,47.05,8.31,30\n"


def ingest(dataset: Dataset) -> None:
    ingest_records.fn(DATE, dataset.config)


def refusal(dataset: Dataset) -> str:
    with pytest.raises(BadInput) as caught:
        ingest(dataset)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return str(caught.value)


def rows_of(dataset: Dataset) -> list[tuple[object, ...]]:
    return dataset.query("select user_id, epoch(observed_at), latitude, longitude, value from raw_record order by all")


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
    assert said == [["read file=a.csv n_rows=1 n_malformed=0 n_undated=0 n_forgotten=0"]] * 3


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
    assert said == [["read file=a.csv n_rows=5 n_malformed=1 n_undated=1 n_forgotten=2"]] * 2


def test_every_format_gives_the_same_records(dataset: Dataset) -> None:
    records = [
        {
            "bus": f"bus{n}",
            "time": f"{DATE}T08:0{n}:00Z",
            "lat": 47.0 + n,
            "lon": 8.5,
            "speed": None if n == 3 else n / 7,
        }
        for n in range(6)
    ]
    frame = pl.DataFrame(records)
    (dataset.folder / "raw").mkdir()
    raw = dataset.folder / "raw"
    contents = {}
    frame.write_csv(raw / "a.csv")
    frame.write_parquet(raw / "a.parquet")
    frame.with_columns(pl.col("time").str.to_datetime(time_zone="UTC")).write_parquet(raw / "b.parquet")
    frame.write_ndjson(raw / "a.ndjson")
    (raw / "a.csv.gz").write_bytes(gzip.compress((raw / "a.csv").read_bytes()))
    (raw / "a.jsonl.gz").write_bytes(gzip.compress((raw / "a.ndjson").read_bytes()))
    for path in sorted(raw.iterdir()):
        dataset.set('files = ["raw/*"]', f'files = ["raw/{path.name}"]')
        dataset.set('path = "store', f'path = "store-{path.name}')
        ingest(dataset)
        contents[path.name] = rows_of(dataset)
        dataset.set(f'path = "store-{path.name}', 'path = "store')
        dataset.set(f'files = ["raw/{path.name}"]', 'files = ["raw/*"]')
    assert len(contents) == 6
    assert all(rows == contents["a.csv"] for rows in contents.values())
    assert len(contents["a.csv"]) == 6


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_parquet_times_of_any_unit_are_read(dataset: Dataset, unit: Any, zone: str | None) -> None:
    time = pl.Series([f"{DATE}T08:00:00", f"{DATE}T09:30:00"]).str.to_datetime(time_unit=unit, time_zone=zone)
    frame = pl.DataFrame({"bus": ["a", "b"], "time": time, "lat": 47.0, "lon": 8.0, "speed": 1.0})
    frame.write_parquet(dataset.write("a.parquet", b""))
    dataset.prepare()
    assert dataset.query("select sum(n_records) from user_cell") == [(2,)]


def test_a_time_beyond_every_calendar_cannot_be_read_and_is_forgotten_with_its_file(dataset: Dataset) -> None:
    odd = ("infinity", "-infinity", "20260-01-15T08:00:00Z", "0044-03-15 (BC) 08:00:00Z")
    dataset.set("[privacy]", "[validation]\nmax_quarantined_share = 0.9\n[privacy]")
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
    dataset.set(old, new)
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
    dataset.set('name = "test"', 'name = "other"')
    with pytest.raises(HexveilError, match=r"holds the dataset test, not other"):
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


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=IDS)
def test_white_space_of_any_kind_is_trimmed_off_any_id(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str]
) -> None:
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
        read = dataset.query(
            f"select user_id from raw_record join raw_file using (file_id) where name = '{name}' order by row_number"
        )
        assert read == [(one.strip() or None,) for one in ids], name


@pytest.mark.parametrize("name", ["a.b", "$x", "/x", "[0]", "*", "~1", "0"])
def test_a_member_is_found_by_its_name_to_the_letter(dataset: Dataset, name: str) -> None:
    dataset.set('value = "speed"', f'value = "{name}"')
    record = {"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, name: 30.5}
    dataset.write("a.ndjson", json.dumps(record) + "\n")
    ingest(dataset)
    assert dataset.query("select value from raw_record") == [(30.5,)]


def test_a_member_that_no_line_has_is_refused(dataset: Dataset) -> None:
    dataset.write("a.ndjson", json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8}) + "\n")
    assert 'no column "speed" (columns.value) in any line' in refusal(dataset)


@pytest.mark.parametrize(("column", "values"), [("bus", [1.0]), ("speed", [[1]]), ("speed", [{"a": 1}]), ("time", [5])])
def test_a_parquet_column_of_a_type_that_says_nothing_is_refused(
    dataset: Dataset, column: str, values: list[object]
) -> None:
    record = {"bus": ["a"], "time": [f"{DATE}T08:00:00Z"], "lat": [47.0], "lon": [8.0], "speed": [1.0]}
    path = dataset.write("a.parquet", b"")
    pl.DataFrame(record | {column: values}).write_parquet(path)
    assert f'column "{column}"' in refusal(dataset)


def test_line_breaks_within_quotes_are_counted_right(dataset: Dataset) -> None:
    dataset.write("a.csv", "note," + HEADER + f'"two\nlines",{ROW}\n\nplain,{ROW.replace("bus1", "bus2")}')
    ingest(dataset)
    assert dataset.query("select n_rows from raw_file") == [(2,)]


def test_a_row_with_the_wrong_number_of_fields_is_kept_count_of_with_its_line(dataset: Dataset) -> None:
    dataset.write(
        "a.csv", HEADER + ROW + "bus2,short\n" + ROW.replace("30", "31,extra,extra") + ROW.replace("08:", "09:")
    )
    ingest(dataset)
    assert dataset.query("select line_number, reason from quarantine order by all") == [
        (3, "malformed_row"),
        (4, "malformed_row"),
    ]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(4, 2)]


def test_malformed_rows_of_one_file_are_not_counted_in_the_next(dataset: Dataset) -> None:
    """All files of a day are read in one open warehouse, and what a file rejects is in temporary tables."""
    dataset.write("a.csv", HEADER + ROW + "bus2,short\n")
    dataset.write("b.csv", HEADER + ROW.replace("bus1", "bus3"))
    with warehouse.kept_open(dataset.config):
        ingest(dataset)
    assert dataset.query("select name, n_rows, n_malformed from raw_file order by name") == [
        ("raw/a.csv", 2, 1),
        ("raw/b.csv", 1, 0),
    ]


def test_a_line_that_is_not_an_object_is_kept_count_of_with_its_line(dataset: Dataset) -> None:
    good = json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, "speed": 3})
    dataset.write("a.ndjson", f"{good}\nnot json\n[1]\n{good.replace('3}', 'NaN}')}\n")
    ingest(dataset)
    assert dataset.query("select line_number from quarantine order by all") == [(2,), (3,)]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(4, 2)]
    assert dataset.query("select count(*), count(value) from raw_record") == [(2, 2)]


def test_rows_read_are_those_that_an_independent_reader_counts(dataset: Dataset, city: Path) -> None:
    content = gzip.decompress(next(city.glob("*.gz")).read_bytes())
    dataset.write("city.csv", content)
    dataset.set('value = "speed"', 'value = "speed_kmh"')
    ingest(dataset)
    counted = list(csv.reader(io.StringIO(content.decode())))[1:]
    n_rows, n_malformed = dataset.query("select n_rows, n_malformed from raw_file")[0]
    assert n_rows == len(counted)
    assert n_malformed == sum(len(row) != 5 for row in counted)


def test_times_with_an_offset_without_one_and_through_a_clock_change(dataset: Dataset) -> None:
    dataset.set('timezone = "UTC"', 'timezone = "America/Chicago"')
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


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            HEADER.replace("speed", "pace") + ROW,
            'no column "speed" (columns.value); its first line has 5 fields',
        ),
        ("a.csv", HEADER.replace("lat", "bus") + ROW, 'more than one column "bus" (columns.user)'),
        ("a.csv", "", "the file is empty, or its first line is"),
        ("a.csv.gz", gzip.compress((HEADER + ROW * 999).encode())[:-20], "truncated or damaged"),
        ("a.csv.gz", b"plain text", "truncated or damaged"),
        ("a.csv", (HEADER + ROW).encode() + b"bus\xff,2026-01-15T08:00:00Z,47,8,1\n", "line 3 is not UTF-8"),
        ("a.csv", (HEADER + ROW).encode("utf-16"), "not UTF-8"),
        ("a.csv", HEADER + ROW + f'bus2,{DATE}T08:00:00Z,47,8,"30\n' + ROW * 3, "a quote opened in line 3"),
        ("a.parquet", b"PAR1 but not really", "not a whole Parquet file"),
        ("a.xlsx", b"PK", "unknown kind of file"),
        ("a.csv", (HEADER + ROW).replace("\n", "\r"), "carriage return alone"),
        ("a.csv", "\n" + HEADER + ROW, "its first line is"),
        ("a.csv", HEADER + ROW.replace("30", "3" * 70_000), "line 2 is longer than 64 KiB"),
        ("a[1].csv", HEADER + ROW, "cannot be part of a file's path"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(
    dataset: Dataset, name: str, content: str | bytes, said: str
) -> None:
    path = dataset.write(name, content)
    message = refusal(dataset)
    assert said in message
    assert str(path) in message


def test_a_gzip_file_whose_checksum_is_wrong_is_refused_though_it_unpacks(dataset: Dataset) -> None:
    whole = bytearray(gzip.compress((HEADER + ROW).encode()))
    whole[-8] ^= 1
    dataset.write("a.csv.gz", bytes(whole))
    assert "truncated or damaged" in refusal(dataset)


def test_a_parquet_file_without_a_column_is_refused(dataset: Dataset) -> None:
    path = dataset.write("a.parquet", b"")
    pl.DataFrame({"bus": ["a"]}).write_parquet(path)
    assert 'no column "time" (columns.time); the file has: bus' in refusal(dataset)


def test_nothing_of_a_refused_file_is_kept_and_the_files_before_it_are(dataset: Dataset) -> None:
    dataset.write("a.csv", HEADER + ROW)
    dataset.write("b.csv", HEADER + ROW.replace("bus1", "bus2") + f'bus3,{DATE}T08:00:00Z,47,8,"30\n' + ROW)
    refusal(dataset)
    assert dataset.query("select user_id from raw_record") == [("bus1",)]
    assert dataset.query("select count(*) from quarantine") == [(0,)]
    assert dataset.query("select count(*) from raw_file") == [(1,)]


def parquet_of(dataset: Dataset, n_rows: int) -> Path:
    path = dataset.write("a.parquet", b"")
    frame = pl.DataFrame({"bus": [f"bus{n}" for n in range(n_rows)], "lat": 47.0, "lon": 8.0, "speed": 1.0})
    frame.with_columns(time=pl.lit(f"{DATE}T08:00:00Z")).write_parquet(path, row_group_size=150_000)
    return path


def test_nothing_of_a_parquet_file_with_a_damaged_page_is_kept(dataset: Dataset) -> None:
    path = parquet_of(dataset, 600_000)
    content = bytearray(path.read_bytes())
    content[len(content) * 3 // 4 : len(content) * 3 // 4 + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    assert "cannot be read as parquet" in refusal(dataset)
    assert dataset.query("select count(*) from raw_record") == [(0,)]


def test_a_disk_that_fails_while_parquet_is_read_is_not_put_down_to_the_file(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet_of(dataset, 3)
    original = warehouse.run

    def run(connection: warehouse.Connection, name: str, *parameters: Any) -> warehouse.Connection:
        if name == "warehouse/raw_record_parquet":
            connection.execute("copy (select 1) to '/nowhere/at/all'")
        return original(connection, name, *parameters)

    monkeypatch.setattr(warehouse, "run", run)
    with pytest.raises(TemporaryFailure, match="The disk is full"):
        ingest(dataset)


def test_rows_of_forgotten_days_in_a_parquet_file_are_counted_and_not_kept(dataset: Dataset) -> None:
    parquet_of(dataset, 3)
    ingest(dataset)
    forget_days([DATE], dataset.config)
    ingest_records.fn(DATE + dt.timedelta(days=1), dataset.config)
    assert dataset.query("select count(*) from raw_record") == [(0,)]
    assert dataset.query("select n_rows, n_forgotten from raw_file") == [(3, 3)]


def test_no_file_for_the_day_is_said_with_the_pattern(dataset: Dataset) -> None:
    dataset.set('files = ["raw/*"]', 'files = ["raw/day_{date}.csv"]')
    dataset.write("day_2026-01-14.csv", HEADER + ROW)
    assert "no file for 2026-01-15 matches dataset.files = raw/day_{date}.csv" in refusal(dataset)


def test_an_error_of_a_library_says_its_class_and_keeps_its_text_private(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.write("a.csv", HEADER + ROW)
    monkeypatch.setattr("tasks.source.content_hash", lambda _: [][secret_position])
    secret_position = 7_654_321
    with pytest.raises(HexveilError) as caught:
        ingest(dataset)
    log = dataset.folder / "store" / "private" / "errors.log"
    assert "IndexError" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "content_hash" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_blank_lines_are_no_rows_in_any_format(dataset: Dataset) -> None:
    record = json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, "speed": 3})
    other = record.replace('"a"', '"b"')
    dataset.write("a.ndjson", f"{record}\n\n   \n{other}\n\n")
    later = ROW.replace("08:", "09:")
    dataset.write("b.csv", f"{HEADER}\n{ROW}\r\n\n{later}\n\n".replace("\r\n", "\n"))
    ingest(dataset)
    assert dataset.query("select n_rows, n_malformed from raw_file order by name") == [(2, 0), (2, 0)]


@pytest.mark.parametrize(
    ("zone", "date"),
    [
        ("America/St_Johns", dt.date(2005, 10, 30)),
        ("America/Sao_Paulo", dt.date(2018, 2, 18)),
        ("Pacific/Apia", dt.date(2011, 12, 31)),
        ("Australia/Lord_Howe", dt.date(2024, 4, 7)),
        ("Africa/Monrovia", dt.date(1972, 1, 7)),
        ("Africa/Cairo", dt.date(2024, 4, 26)),
        ("Asia/Kathmandu", DATE),
    ],
)
def test_a_record_is_of_the_day_that_its_time_zone_says_whatever_its_hour_holds(
    dataset: Dataset, zone: str, date: dt.date
) -> None:
    """In St John's a clock that was put back at 00:01 showed the day before again."""
    dataset.set('timezone = "UTC"', f'timezone = "{zone}"')
    noon = dt.datetime.combine(date, dt.time(12), ZoneInfo(zone)).astimezone(dt.UTC)
    shifts = [(n, us) for n in range(-2000, 2000, 5) for us in (-1, 0, 60_000_000)]
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
