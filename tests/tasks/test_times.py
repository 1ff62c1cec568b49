"""Times in every form that sources write: as the same instants, or refused with what can be read."""

import datetime as dt
import itertools
import json
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from reading import ingest, refusal
from support import HEADER, Dataset, slow

from tasks.base.config import Config
from tasks.base.config_source import TimeUnit
from tasks.base.errors import BadConfig, BadInput
from tasks.records.input_formats import recognise

INSTANT = dt.datetime(2026, 1, 15, 8, 30, 15, tzinfo=dt.UTC)
EPOCH = int(INSTANT.timestamp())
REST = {"bus": "bus1", "lat": 47.0, "lon": 8.0, "speed": 30.0}


def instants(dataset: Dataset) -> list[Any]:
    ingest(dataset)
    return [micros / 1e6 for (micros,) in dataset.query("select epoch_us(observed_at) from raw_record order by 1")]


def write_parquet(dataset: Dataset, time: pl.Series) -> None:
    columns = {name: pl.Series([value] * time.len()) for name, value in REST.items()}
    pl.DataFrame({**columns, "time": time}).write_parquet(dataset.write("a.parquet", b""))


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    "written",
    [
        f"{EPOCH}",
        f"{EPOCH}.000",
        f"{EPOCH}000",
        f"{EPOCH}000000",
        f"{EPOCH}000000000",
        f"{EPOCH / 1e9:.9f}e9",
    ],
)
def test_numbers_since_1970_are_read_as_text_in_the_unit_that_their_range_shows(dataset: Dataset, written: str) -> None:
    dataset.write("a.csv", f"{HEADER}bus1,{written},47,8,30\n")
    dataset.write("b.ndjson", f'{{"bus":"b","time":{written},"lat":47,"lon":8,"speed":1}}\n')
    dataset.write("c.ndjson", f'{{"bus":"c","time":"{written}","lat":47,"lon":8,"speed":1}}\n')
    assert instants(dataset) == [EPOCH] * 3


KINDS = (pl.Int64, pl.UInt64, pl.Float64, pl.Decimal(28, 3), pl.String)
UNITS = (1, 10**3, 10**6, 10**9)
IN_BRIEF = {(pl.Int64, 1), (pl.UInt64, 10**3), (pl.Float64, 10**9), (pl.Decimal(28, 3), 10**6), (pl.String, 1)}


@pytest.mark.parametrize(
    ("kind", "unit"), [one if one in IN_BRIEF else slow(*one) for one in itertools.product(KINDS, UNITS)]
)
def test_and_in_every_parquet_column_that_can_hold_them(dataset: Dataset, unit: int, kind: Any) -> None:
    write_parquet(dataset, pl.Series([EPOCH * unit, None, (EPOCH + 1) * unit]).cast(kind))
    ingest(dataset)
    read = dataset.query("select epoch_us(observed_at) from raw_record order by row_number")
    assert read == [(EPOCH * 10**6,), (None,), ((EPOCH + 1) * 10**6,)]


def test_a_nanosecond_is_not_lost_in_a_double(dataset: Dataset) -> None:
    write_parquet(dataset, pl.Series([EPOCH * 10**9 + 1_999_999_000]))
    assert instants(dataset) == [EPOCH + 1.999999]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.json", "a.parquet"])
@pytest.mark.parametrize("unit", recognise.UNITS)
def test_a_declared_unit_reads_times_of_the_years_that_recognition_knows(
    dataset: Dataset, unit: TimeUnit, name: str
) -> None:
    """Seconds read as milliseconds would be of 1970: rows of another day, of which nothing is said."""
    first, end = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) for year in (1990, 2100))
    whole = [second * recognise.UNITS[unit] for second in (first, end - 1, first - 1, end, 86400, 0)]
    dataset.set(time_unit=unit, files=["raw/*"])
    if name == "a.parquet":
        write_parquet(dataset, pl.Series(whole))
    else:
        rows = [{"bus": "b", "time": time, "lat": 47, "lon": 8, "speed": 1} for time in whole]
        lines = {"a.json": json.dumps(rows), "a.ndjson": "\n".join(map(json.dumps, rows))}
        dataset.write(name, lines.get(name, HEADER + "".join(f"b,{time},47,8,1\n" for time in whole)))
    ingest(dataset)
    read = dataset.query("select epoch(observed_at) from raw_record order by row_number")
    assert read == [(first,), (end - 1,), (None,), (None,), (None,), (0,)]
    assert [recognise.time_unit([time]) == unit for time in whole] == [True, True, False, False, False, False]


def test_a_file_in_another_unit_than_the_declared_one_is_counted_and_the_hint_names_the_unit(dataset: Dataset) -> None:
    dataset.set(time_unit="ms")
    for name, unit in (("a.csv", 1000), ("b.csv", 1)):
        rows = (f"bus{one},{(EPOCH + one) * unit},47.05,8.31,30\n" for one in range(9))
        dataset.write(name, HEADER + "".join(rows))
    with pytest.raises(BadInput, match=r"b\.csv: 0 malformed .* and 9 with a time that cannot be read") as caught:
        dataset.prepare()
    assert 'Times must be numbers of 1990 to 2100 in columns.time_unit = "ms".' in str(caught.value)
    dataset.set(time_unit=None)
    dataset.prepare()


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%m/%d/%Y %I:%M:%S %p", " 01/15/2026 02:30:15 AM "),
        ("%d.%m.%Y %H:%M:%S", "15.01.2026 02:30:15"),
        ("%Y%m%d%H%M%S", "20260115023015"),
        ("%d-%b-%Y %H:%M:%S %z", "15-Jan-2026 09:30:15 +0100"),
    ],
)
def test_a_declared_form_is_read_in_the_time_zone_of_the_dataset(dataset: Dataset, form: str, written: str) -> None:
    dataset.set(timezone="America/Chicago")
    dataset.set(time_format=form)
    dataset.write("a.csv", f"{HEADER}bus1,{written},47,8,30\n")
    write_parquet(dataset, pl.Series([written]))
    assert instants(dataset) == [EPOCH] * 2


ZONES = {
    "Europe/Zurich": {"CET": 1, "CEST": 2, "Europe/Zurich": 1, "BST": None, "IST": None, "PST": None, "MESZ": None},
    "Europe/London": {"GMT": 0, "BST": 1, "Europe/London": 0, "CET": None, "EST": None},
    "Asia/Kolkata": {"IST": 5.5, "Asia/Kolkata": 5.5, "CST": None},
    "America/Chicago": {"CST": -6, "CDT": -5, "Asia/Shanghai": 8, "EST": None},
    "Asia/Shanghai": {"CST": 8, "America/New_York": -5},
    "UTC": {"UTC": 0, "GMT": 0, "utc": 0, "Zulu": 0, "Europe/Paris": 1, "CET": None, "Mars/City": None, "PM": None},
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("form", "written"),
    [
        (None, "2026-01-15 08:30:15 {}"),
        (None, "2026-01-15T08:30:15.000[{}]"),
        ("%d.%m.%Y %H:%M:%S %Z", "15.01.2026 08:30:15 {}"),
        ("%a %b %d %H:%M:%S %Z %Y", "Thu Jan 15 08:30:15 {} 2026"),
    ],
)
def test_the_name_of_a_zone_is_read_where_it_can_mean_one_thing_only(
    dataset: Dataset, zone: str, form: str | None, written: str
) -> None:
    """Abbreviations are those of the zone of the times: the engine would take BST for Bangladesh, CST for Chicago."""
    dataset.set(timezone="UTC", time_zone=zone, time_format=form)
    rows = [f"{name},{written.format(name)},47,8,30" for name in ZONES[zone]]
    dataset.write("a.csv", HEADER + "\n".join(rows) + "\n")
    ingest(dataset)
    naive = dt.datetime(2026, 1, 15, 8, 30, 15, tzinfo=dt.UTC).timestamp()
    expected = {name: None if hours is None else naive - 3600 * hours for name, hours in ZONES[zone].items()}
    assert dict(dataset.query("select user_id, epoch(observed_at) from raw_record")) == expected


@pytest.mark.parametrize("name", ["[Europe/Paris]", "[u-ca=iso8601]"])
def test_behind_an_offset_a_name_in_brackets_says_nothing(dataset: Dataset, name: str) -> None:
    lines = [f"bus1,{INSTANT.isoformat()}{name},47,8,30", f"bus1,{INSTANT:%Y-%m-%dT%H:%M:%S}Z{name},47,8,30"]
    dataset.write("a.csv", HEADER + "\n".join(lines) + "\n")
    assert instants(dataset) == [EPOCH] * 2


def test_the_hour_that_occurs_twice_is_told_by_an_abbreviation_and_not_by_the_name_of_a_zone(dataset: Dataset) -> None:
    names = ("CET", "CEST", "Europe/Zurich", "")
    dataset.set(timezone="Europe/Zurich")
    rows = [f"{name or 'none'},2026-10-25 02:30:00 {name},47,8,30" for name in names]
    dataset.write("a.csv", HEADER + "\n".join(rows) + "\n")
    ingest(dataset)
    found = dict(dataset.query("select user_id, (epoch(observed_at) % 86400)::int // 60 from raw_record"))
    assert (found["CEST"], found["CET"]) == (30, 90)
    doubtful = dataset.query("select user_id from raw_record where clock_shift < 0 order by 1")
    assert doubtful == [("Europe/Zurich",), ("none",)]


def test_whole_numbers_may_have_a_declared_form_too(dataset: Dataset) -> None:
    dataset.set(time_format="%Y%m%d%H%M%S")
    write_parquet(dataset, pl.Series([20260115083015]))
    assert instants(dataset) == [EPOCH]


def test_digits_of_a_date_are_no_milliseconds_of_a_far_year(dataset: Dataset) -> None:
    write_parquet(dataset, pl.Series([20260115083015]))
    assert "has numbers, and its first 1000 are not seconds, milli-" in refusal(dataset)
    assert "set columns.time_unit" in refusal(dataset)


@pytest.mark.parametrize("time", [pl.Series([dt.date(2026, 1, 15)]), pl.Series([dt.time(8)]), pl.Series([True])])
def test_a_refused_type_says_what_can_be_read(dataset: Dataset, time: pl.Series) -> None:
    write_parquet(dataset, time)
    assert "timestamps, texts, and numbers since 1970 (columns.time_unit) can be read" in refusal(dataset)


def test_a_unit_of_times_that_have_their_own_type_is_refused(dataset: Dataset) -> None:
    dataset.set(time_unit="s")
    write_parquet(dataset, pl.Series([INSTANT]))
    assert "needs neither columns.time_unit nor columns.time_format: remove it" in refusal(dataset)


def test_dirt_among_iso_times_is_not_taken_for_numbers(dataset: Dataset) -> None:
    rows = "".join(f"bus{one},{INSTANT.isoformat()},47,8,30\n" for one in range(20))
    dataset.write("a.csv", f"{HEADER}{rows}bus1,{EPOCH},47,8,30\n")
    ingest(dataset)
    assert dataset.query("select count(*), count(observed_at) from raw_record") == [(21, 20)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('time_unit = "s"\ntime_format = "%Y"', "give one of them"),
        ('time_format = "%Q"', "unknown directive %Q"),
        ('time_format = "%Y %"', "single % at its end"),
        ('time_unit = "min"', "time_unit"),
        ('time_format = "%Y-%m-%dT%H:%M:%SZ"', "in the text Z, which would not be read as a time zone; write %z for Z"),
        ('time_format = "%Y-%m-%d %H:%M:%S UTC"', "ends in the text UTC, .* %Z for UTC, GMT or CET"),
        ('time_format = "%d.%m.%Y %H:%M CEST"', "ends in the text CEST"),
        ('time_format = "%d.%m.%Y %H:%M:%S (GMT)"', "ends in the text GMT"),
    ],
)
def test_a_form_of_times_that_cannot_be_is_refused(dataset: Dataset, line: str, said: str) -> None:
    dataset.edit('value = "speed"', f'value = "speed"\n{line}')
    with pytest.raises(BadConfig, match=said):
        _ = dataset.config


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S %Z", "%d/%m/%Y %H:%M:%S UTC%z"])
def test_directives_of_a_zone_are_no_text(dataset: Dataset, form: str) -> None:
    dataset.set(time_format=form)
    assert dataset.config.columns.time_format == form


def test_what_is_not_declared_is_not_recorded(dataset: Dataset) -> None:
    def recorded(config: Config) -> dict[str, Any]:
        return config.reading_settings()

    plain = recorded(dataset.config)
    assert plain["columns"].keys() == {"user", "time", "latitude", "longitude", "value"}
    assert plain["dataset"].keys() == {"name", "timezone", "delimiter"}
    dataset.set(time_unit="ms")
    assert recorded(dataset.config)["columns"]["time_unit"] == "ms"
    again = dataset.config.with_settings(dataset.config.public_settings())
    assert again == dataset.config
    assert Decimal(again.value.factor) == 1


def test_what_is_recognised_does_not_depend_on_how_long_values_are(dataset: Dataset) -> None:
    """Were only the first bytes looked at, long values would push times out of sight."""
    times = [f"{EPOCH}"] * 60 + ["soon"] * 5
    for name, value in (("a.csv", "30"), ("b.csv", "x" * 60_000)):
        dataset.write(name, HEADER + "".join(f"bus1,{time},47,8,{value}\n" for time in reversed(times)))
    ingest(dataset)
    read = "select name, count(observed_at) from raw_record join raw_file using (file_id) group by all order by all"
    assert dataset.query(read) == [("raw/a.csv", 60), ("raw/b.csv", 60)]
