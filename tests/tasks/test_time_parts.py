"""Times in two columns, beside a document's list, and in paths: one rule, and the same in every format."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reading import ingest, refusal
from support import DATE, Dataset

from tasks.base.errors import BadConfig
from tasks.base.file_patterns import filled, said_by_path
from tasks.records.init.path_times import path_times
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given
from tasks.records.input_formats.times import joined_times

JOINED = [
    ("2026-01-15", "7", "2026-01-15 07:00"),
    ("2026-01-15", "23.0", "2026-01-15 23:00"),
    ("20260115", "07", "2026-01-15 07:00"),
    ("2026-01-15 00:00:00", "7", "2026-01-15 07:00"),
    ("2026-01-15T00:00:00.000Z", "7", "2026-01-15 07:00"),
    ("2026-01-15", "08:15:30.123456789", "2026-01-15 08:15:30.123456789"),
    ("15.01.2026", "08.15.30", "15.01.2026 08.15.30"),
    ("2026-01-15", "08:15:00-0500", "2026-01-15 08:15:00-0500"),
    ("2026-01-15", "", None),
    ("2026-01-15", None, None),
    (None, "7", None),
    ("2026-01-15T08:00:00Z", "2026-01-15T09:00:00Z", "2026-01-15T08:00:00Z"),
    ("", "2026-01-15T09:00:00Z", "2026-01-15T09:00:00Z"),
    (None, "1768464000", "1768464000"),
    ("0", "1768464000", "1768464000"),
    ("N/A", "1768464000", "1768464000"),
    ("1768464001", "1768464000", "1768464001"),
    ("1768464001", None, "1768464001"),
    ("2026-01-15", "2026-01-15 09:00", "2026-01-15 09:00"),
    ("2026-01-15", "15 Jan 2026 09:00", "15 Jan 2026 09:00"),
    (None, None, None),
]


@pytest.mark.parametrize(("first", "second", "whole"), JOINED)
def test_the_second_completes_a_date_or_stands_in(first: str | None, second: str | None, whole: str | None) -> None:
    assert joined_times([first], [second]) == [whole]


def two(dataset: Dataset, first: str, second: str) -> None:
    dataset.edit('time = "time"', f'time = ["{first}", "{second}"]')


def at(dataset: Dataset) -> list[str | None]:
    ingest(dataset)
    return [one for (one,) in dataset.query("select observed_at::varchar from raw_record order by row_number")]


SOME: list[dict[str, Any]] = [
    {"bus": "a", "lat": 47.0, "lon": 8.0, "speed": 1, "date": "2026-01-15", "hour": 7},
    {"bus": "b", "lat": 47.0, "lon": 8.0, "speed": 1, "date": "2026-01-15", "hour": None},
    {"bus": "c", "lat": 47.0, "lon": 8.0, "speed": 1, "date": "2026-01-15", "hour": 23},
]
NAMES = ["a.csv", "a.parquet", "a.ndjson", "a.json"]


def write(dataset: Dataset, name: str, records: list[dict[str, Any]]) -> Path:
    path = dataset.write(name, b"") if "/" not in name else dataset.folder / "raw" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(records)
    if name.endswith("parquet"):
        frame = frame.with_columns(pl.col(one).str.to_date() for one in ("date",) if one in frame.columns)
        frame.write_parquet(path)
    elif name.endswith("csv"):
        frame.write_csv(path)
    else:
        path.write_text(
            json.dumps(records) if name.endswith(".json") else "".join(f"{json.dumps(r)}\n" for r in records)
        )
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_date_and_the_number_of_an_hour_are_a_time(dataset: Dataset, name: str) -> None:
    two(dataset, "date", "hour")
    write(dataset, name, SOME)
    assert at(dataset) == ["2026-01-15 07:00:00+00", None, "2026-01-15 23:00:00+00"]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_time_that_is_there_counts(dataset: Dataset, name: str) -> None:
    two(dataset, "ts", "sent")
    times = [(1768464000, 1768464060), (None, 1768464060), (0, 1768464060), (1768464030, None)]
    place = {"bus": "a", "lat": 47.0, "lon": 8.0, "speed": 1}
    write(dataset, name, [{**place, "ts": ts, "sent": sent} for ts, sent in times])
    read = [f"2026-01-15 08:0{minute}+00" for minute in ("0:00", "1:00", "1:00", "0:30")]
    assert at(dataset) == read


def test_a_time_beside_the_list_is_of_all_its_records_in_each_document(dataset: Dataset) -> None:
    two(dataset, "vehicle.timestamp", "header.timestamp")
    dataset.edit('timezone = "UTC"', 'timezone = "UTC"\nrecords = "entity"')
    records = [{"bus": "a", "lat": 47.0, "lon": 8.0, "speed": 1, "vehicle": {"timestamp": 1768464000}}, {}]
    records += [{"bus": "b", "lat": 47.0, "lon": 8.0, "speed": 1, "vehicle": {}}]
    for number in range(3):
        document = {"header": {"timestamp": 1768464060 + 60 * number}, "entity": records, "footer": {"x": [1]}}
        dataset.write(f"{number}.json", json.dumps(document))
    ingest(dataset)
    read = dataset.query("select user_id, minute(observed_at) from raw_record order by file_id, row_number")
    assert read == [one for n in range(1, 4) for one in (("a", 0), (None, n), ("b", n))]


def test_init_finds_the_time_beside_the_list(dataset: Dataset) -> None:
    place = {"vehicle_id": "a", "lat": 47.0, "lon": 8.0, "speed": 1}
    documents = [{"last_updated": 1768464060, "bikes": [place]}]
    path = dataset.write("bikes.json", json.dumps(documents[0]))
    assert propose_source([path], dataset.folder, Given()).settings["columns"]["time"] == "last_updated"
    dataset.write("bikes.json", json.dumps({**documents[0], "bikes": [{**place, "timestamp": 1768464000}, place]}))
    assert propose_source([path], dataset.folder, Given()).settings["columns"]["time"] == ["timestamp", "last_updated"]


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [one.removeprefix("a.") for one in NAMES])
@pytest.mark.parametrize("hour", ["07", "7"])
def test_a_path_says_date_and_hour(dataset: Dataset, name: str, hour: str) -> None:
    dataset.edit('time = "time"', 'time = "{date}T{hour}"')
    dataset.set(files=[f"raw/date={{date}}/hour={{hour}}/*.{name}"], timezone="Europe/Zurich")
    write(dataset, f"date={DATE}/hour={hour}/part.{name}", [SOME[0]])
    assert at(dataset) == ["2026-01-15 07:00:00+01"]


@pytest.mark.parametrize("name", [one.removeprefix("a.") for one in NAMES])
def test_a_path_says_the_date_and_a_column_the_hour(dataset: Dataset, name: str) -> None:
    two(dataset, "{date}", "hour")
    dataset.set(files=[f"raw/{{date:%Y%m%d}}.{name}"])
    write(dataset, f"20260115.{name}", SOME)
    assert at(dataset) == ["2026-01-15 07:00:00+00", None, "2026-01-15 23:00:00+00"]


@pytest.mark.slow
def test_each_of_many_files_has_the_hour_of_its_own_path(dataset: Dataset) -> None:
    dataset.edit('time = "time"', 'time = "{date}T{hour}"')
    dataset.set(files=["raw/{date}_{hour}.csv"])
    for hour in range(24):
        dataset.write(f"{DATE}_{hour:02}.csv", f"bus,lat,lon,speed\nb{hour},47,8,1\n")
    ingest(dataset)
    assert dataset.query("select distinct user_id = 'b' || hour(observed_at) from raw_record") == [(True,)]
    assert dataset.query("select count(*) from raw_record") == [(24,)]


@pytest.mark.parametrize(
    ("time", "files", "why"),
    [
        ("{date}", "raw/*.csv", "takes the date from the path, and a pattern of dataset.files has no {date}"),
        ("{hour}", "raw/{date}.csv", "takes the hour from the path, and a pattern of dataset.files has no {hour}"),
        ("{date}T{minute}", "raw/{date}.csv", "may have {date} and {hour} alone in braces"),
        ("time", "raw/{date:%Y}.csv", "must have year, month and day"),
        ("time", "raw/{hour}/**/{hour}.csv", "may have {hour} once, and no"),
    ],
)
def test_a_path_that_cannot_say_a_time_is_refused(dataset: Dataset, time: str, files: str, why: str) -> None:
    dataset.edit('time = "time"', f'time = "{time}"')
    dataset.set(files=[files])
    with pytest.raises(BadConfig) as caught:
        _ = dataset.config
    assert why in str(caught.value)


PATHS = {
    "raw/date=2026-01-15/hour=07/part-0.parquet": ("raw/date={date}/hour={hour}/*.parquet", 7),
    "raw/year=2026/month=01/day=15/hour=7/x.csv": (
        "raw/year={date:%Y}/month={date:%m}/day={date:%d}/hour={hour}/*.csv",
        7,
    ),
    "raw/2026/01/15/23/x.json": ("raw/{date:%Y/%m/%d}/{hour}/*.json", 23),
    "raw/2026-01-15_07.csv.gz": ("raw/{date}_{hour}.csv.gz", 7),
    "raw/2026011507.csv": ("raw/{date:%Y%m%d}{hour}.csv", 7),
    "raw/city_2026-01-15T07-part2.csv": ("raw/city_{date}T{hour}*.csv", 7),
    "raw/2026-01-15_0715.csv": ("raw/{date}*.csv", None),
}


@pytest.mark.parametrize("path", PATHS)
def test_the_pattern_of_a_path_finds_it_and_its_hour(path: str, tmp_path: Path) -> None:
    pattern, hour = PATHS[path]
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.touch()
    found = path_times([file], tmp_path)
    assert found is not None
    assert (found.patterns, found.dates) == ([pattern], [DATE])
    assert {one for place in filled(pattern, DATE) for one in tmp_path.glob(place)} == {file}
    said = said_by_path(found.time, file, DATE, found.patterns)
    assert said == (f"{DATE}" if hour is None else f"{DATE}T{hour:02}")


@pytest.mark.parametrize(
    ("times", "column"),
    [
        ({"tijd": "2026-01-15T05:10:00Z"}, "tijd"),
        ({"t": "15/01/2026 05:10"}, "t"),
        ({"epoch_ms": "1768453800000"}, "epoch_ms"),
        ({"order": "1768453800", "door": "2019-05-01 08:00:00", "logged_on": "2026-01-16 00:10:00"}, None),
        ({"order": "1668453800", "door": "2019-05-01 08:00:00", "logged_on": "20260115051000"}, "logged_on"),
        ({"order": "9" * 400, "uploaded": "2026-01-16 00:10:00"}, None),
        ({"order": "17", "door": "2026-01-15"}, "{date}T{hour}"),
    ],
)
def test_the_hour_of_a_path_is_the_time_only_where_no_column_has_times(
    dataset: Dataset, times: dict[str, str], column: str | None
) -> None:
    """A file of six hours has the first of them in its name: all its records would be of that hour."""
    line = ",".join(["bus1", "47.05", "8.31", "30", *times.values()])
    file = dataset.write("city_2026-01-15_05.csv", f"bus,lat,lon,speed,{','.join(times)}\n{line}\n")
    found = propose_source([file], dataset.folder, Given(time_format="%d/%m/%Y %H:%M" if "t" in times else None))
    assert found.settings["columns"].get("time") == column
    assert ("time" in found.missing) == (column is None)


@pytest.mark.parametrize(
    ("path", "user", "pattern"),
    [
        ("raw/date=2026-01-15/{}/hour=07.ndjson", "{folder}", "raw/date={date}/*/hour={hour}.ndjson"),
        ("raw/2026/01/15/07/{}/a.ndjson", "{folder}", "raw/{date:%Y/%m/%d}/{hour}/*/*.ndjson"),
        ("raw/{}/2026-01-15/07.ndjson", "{folder/..}", "raw/*/{date}/{hour}.ndjson"),
    ],
)
def test_the_folder_of_a_user_is_left_open_where_the_path_has_the_time(
    path: str, user: str, pattern: str, dataset: Dataset
) -> None:
    line = json.dumps({"lat": 47.0, "lon": 8.0, "speed": 1}) + "\n"
    files = [dataset.folder / path.format(one) for one in ("car-x", "car-y")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(line)
    columns = propose_source(files, dataset.folder, Given(columns={"user": user})).settings
    assert (columns["columns"]["time"], columns["dataset"]["files"]) == ("{date}T{hour}", [pattern])


def test_an_hour_that_the_clock_shows_twice_is_not_guessed(dataset: Dataset) -> None:
    two(dataset, "date", "hour")
    dataset.set(timezone="Europe/Zurich")
    dataset.write("a.csv", "bus,date,hour,lat,lon,speed\nb,2026-10-25,2,47,8,1\nb,2026-10-25,4,47,8,1\n")
    ingest(dataset)
    assert dataset.query("select clock_shift from raw_record order by row_number") == [(-3_600_000_000,), (None,)]


def test_a_feed_of_positions_has_one_time(dataset: Dataset) -> None:
    two(dataset, "date", "hour")
    dataset.set(format="gtfs-rt")
    dataset.write("a.pb", b"")
    assert "in which a time is one column" in refusal(dataset)
