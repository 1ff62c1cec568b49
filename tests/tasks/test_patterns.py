"""Patterns of files: `{date}` stands where the path of each file says the local day that it holds."""

import datetime as dt
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from feeds import MIDNIGHT, snapshot
from support import DATE, HEADER, Dataset

from tasks.records.init import patterns
from tasks.records.init.proposal import propose_source
from tasks.records.init.proposed_files import are_of_day
from tasks.records.input_formats.input_format import Given
from tasks.records.read.source import find_files

DAYS = [DATE + dt.timedelta(days=number) for number in range(3)]


def test_without_dates_one_file_is_named_and_several_are_by_folder_and_ending() -> None:
    here = Path("/data")
    assert patterns.patterns([here / "raw" / "a.csv.gz"], here) == ["raw/a.csv.gz"]
    several = [here / "raw" / name for name in ("a.csv.gz", "b.csv.gz", "c.csv")]
    assert patterns.patterns([*several, Path("/other/d.csv")], here) == ["../other/*.csv", "raw/*.csv", "raw/*.csv.gz"]


def test_many_folders_have_one_pattern() -> None:
    here = Path("/data")
    archive = [f"gz/locationid={n}/year=2026/location-{n}.csv.gz" for n in range(9)]
    assert patterns.patterns([here / one for one in archive], here) == ["gz/*/year=2026/*.csv.gz"]
    lines = [here / f"2026-11-24/line{n}/a.pb" for n in range(9)]
    assert patterns.dated_patterns(lines, here) == ["{date}/*/a.pb"]
    assert len(patterns.patterns([*lines, here / "2026-11-24" / "b.pb"], here)) == 10


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["buses-2026-11-24.csv"], ["buses-{date}.csv"]),
        (["2026-11-24.csv.gz", "2026-11-25.csv.gz"], ["{date}.csv.gz"]),
        (["raw/line12_2026-11-24_all.parquet"], ["raw/line12_{date}_all.parquet"]),
        (["a-2026-11-24.csv", "b-2026-11-24.csv"], ["*{date}.csv"]),
        (["b-2026-11-24-part1.csv", "b-2026-11-24-part2.csv"], ["b-{date}*.csv"]),
        (["b-2026-11-24T080000.json"], ["b-{date}*.json"]),
        (["raw/2026-11-24/2026-11-25T03-00-00.5Z.pb"], ["raw/{date}/*.pb"]),
        (["raw/2026-11-24/buses.csv", "raw/2026-11-25/buses.csv"], ["raw/{date}/buses.csv"]),
        (["raw/2026-11-24/07/a.pb", "raw/2026-11-24/08/b.pb"], ["raw/{date}/*/*.pb"]),
        (["date=2026-11-24/hour=7/p1.parquet"], ["date={date}/hour=*/*.parquet"]),
        (["2026-11-24/line7/a.pb", "2026-11-24/line08/b.pb"], ["{date}/line08/*.pb", "{date}/line7/*.pb"]),
        (["x/2026-11-24.csv", "y/2026-11-24.csv"], ["x/{date}.csv", "y/{date}.csv"]),
    ],
)
def test_the_date_is_found_in_the_name_or_in_the_folder(names: list[str], pattern: list[str]) -> None:
    here = Path("/data")
    files = [here / name for name in names]
    dates = patterns.dates_of(files, here)
    assert dates is not None
    assert {str(date) for date in dates} <= {"2026-11-24", "2026-11-25"}
    assert patterns.dated_patterns(files, here) == pattern


@pytest.mark.parametrize(
    "name",
    [
        "buses.csv",
        "buses-20261124.csv",
        "b-2026-13-24.csv",
        "2026-11-24_2026-11-25.csv",
        "12026-11-24.csv",
        "1-2-3.csv",
    ],
)
def test_a_date_of_another_form_is_none(name: str) -> None:
    assert patterns.dates_of([Path("/data") / name, Path("/data/2026-11-24.csv")], Path("/data")) is None


def days(dataset: Dataset, hour: int = 8) -> list[Path]:
    return [dataset.write(f"buses-{day}.csv", HEADER + f"b1,{day}T{hour:02}:00:00Z,47.0,8.3,9\n" * 3) for day in DAYS]


@pytest.mark.parametrize("n_files", [1, 3])
def test_a_day_reads_its_own_file_alone(dataset: Dataset, n_files: int) -> None:
    files = days(dataset)
    found = propose_source(files[:n_files], dataset.folder, Given())
    assert found.settings["dataset"]["files"] == ["raw/buses-{date}.csv"]
    assert next(iter(found.settings["dataset"])) == "files"
    assert any("a day reads only its own files" in reason for reason in found.reasons)
    if n_files == 1:
        assert any("will read 2 more that are there" in reason for reason in found.reasons)
    dataset.set(files=["raw/buses-{date}.csv"])
    for file, day in zip(files, DAYS, strict=True):
        assert find_files(day, dataset.config) == [(file, day)]


def test_without_dates_names_must_start_alike_where_there_are_other_files(dataset: Dataset) -> None:
    row = f"b1,{DATE}T08:00:00Z,47.0,8.3,9\n"
    files = [dataset.write(f"new_{cab}.csv", HEADER + row) for cab in ("abboip", "abdyvi", "acbabwi")]
    assert propose_source(files, dataset.folder, Given()).settings["dataset"]["files"] == ["raw/*.csv"]
    dataset.write("_cabs.csv", "a list of all cabs\n")
    assert propose_source(files, dataset.folder, Given()).settings["dataset"]["files"] == ["raw/new_*.csv"]


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("%Y%m%d", "raw/{date:%Y%m%d}/*.csv"),
        ("%Y/%m/%d/08", "raw/{date:%Y/%m/%d}/*/*.csv"),
        ("year=%Y/month=%m/day=%d", "raw/year={date:%Y}/month={date:%m}/day={date:%d}/*.csv"),
    ],
)
def test_so_it_does_where_folders_have_the_date_in_another_form(form: str, pattern: str, dataset: Dataset) -> None:
    files = [dataset.folder / "raw" / f"{day:{form}}" / "buses.csv" for day in DAYS]
    for file, day in zip(files, DAYS, strict=True):
        file.parent.mkdir(parents=True)
        file.write_text(HEADER + f"b1,{day}T08:00:00Z,47.0,8.3,9\n" * 3)
    assert propose_source(files, dataset.folder, Given()).settings["dataset"]["files"] == [pattern]
    dataset.set(files=[pattern])
    assert find_files(DAYS[1], dataset.config) == [(files[1], DAYS[1])]


@pytest.mark.parametrize(
    ("name", "hour", "pattern"),
    [
        ("buses_{:%Y%m%d}.csv", 8, "raw/buses_{date:%Y%m%d}.csv"),
        ("{:%Y_%m_%d}-v2.csv", 8, "raw/{date:%Y_%m_%d}*.csv"),
        ("20260114-{:%Y%m%d}.csv", 8, "raw/20260114-20260115.csv"),
        ("buses_{:%Y%m%d}.csv", 23, "raw/buses_20260115.csv"),
        ("buses_{:%m%d}.csv", 8, "raw/buses_0115.csv"),
    ],
)
def test_a_single_file_is_named_with_its_date_left_open_if_its_records_are_of_that_day(
    name: str, hour: int, pattern: str, dataset: Dataset
) -> None:
    row = f"b1,{DATE}T{hour:02}:00:00Z,47.0,8.3,9\n"
    file = dataset.write(name.format(DATE), HEADER + row * 3)
    assert propose_source([file], dataset.folder, Given()).settings["dataset"]["files"] == [pattern]


def test_but_not_where_the_date_is_not_the_local_day_of_the_records(dataset: Dataset) -> None:
    found = propose_source(days(dataset, hour=23), dataset.folder, Given())
    assert found.settings["dataset"]["timezone"] == "Europe/Zurich"
    assert found.settings["dataset"]["files"] == ["raw/*.csv"]
    assert any("but these are not the local days of all records" in reason for reason in found.reasons)


def several_days(folder: Path, name: str, n_others: int) -> Path:
    """Write a file that is sorted by time and named by its first day, which its first records are all of."""
    times = [f"{DATE}T08:00:00Z"] * 5_500 + [f"{DATE + dt.timedelta(days=1)}T08:00:00Z"] * n_others
    frame = pl.DataFrame({"time": times}).with_columns(bus=pl.lit("b1"), lat=47.0, lon=8.3, speed=9)
    path = folder / f"buses-{DATE}{name}"
    if name == ".json":
        frame.write_json(path)
    elif name == ".pb":
        path.write_bytes(snapshot([(f"b{n}", MIDNIGHT + 86400 * (n >= 5_500), 9) for n in range(len(times))]))
    else:
        getattr(frame, f"write_{name[1:]}")(path)
    return path


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", [".csv", ".ndjson", ".parquet", ".json", ".pb"])
@pytest.mark.parametrize(("n_others", "is_dated"), [(100, True), (2_000, False)])
def test_nor_where_only_its_first_records_are_of_it(dataset: Dataset, name: str, n_others: int, is_dated: bool) -> None:
    file = several_days(dataset.folder, name, n_others)
    found = propose_source([file], dataset.folder, Given(timezone="UTC"))
    date = "{date}" if is_dated else DATE
    assert found.settings["dataset"]["files"] == [f"buses-{date}{name}"]


def test_a_snapshot_may_repeat_reports_of_earlier_days_but_holds_none_of_later_ones() -> None:
    before, after = (Counter({DATE: 6, DATE + dt.timedelta(days=shift): 4}) for shift in (-1, 1))
    assert are_of_day(DATE, before, holds_snapshots=True)
    assert not are_of_day(DATE, after, holds_snapshots=True)
    assert not are_of_day(DATE, before, holds_snapshots=False)


def test_nor_where_the_name_is_the_user(dataset: Dataset) -> None:
    files = days(dataset)
    given = Given(columns={"user": "{file}"})
    assert propose_source(files, dataset.folder, given).settings["dataset"]["files"] == ["raw/*.csv"]


@pytest.mark.parametrize(("last_hour", "is_dated"), [(24, False), (22, True)])
def test_nor_where_the_paths_have_days_of_utc_and_an_hour_of_each_is_of_the_next(
    dataset: Dataset, last_hour: int, is_dated: bool
) -> None:
    """Between 0 and 1 o'clock there would be no record on any day: few enough to be taken for stray ones."""
    files = []
    for day in DAYS:
        rows = "".join(f"b1,{day}T{n // 60:02}:{n % 60:02}:00Z,47.0,8.3,9\n" for n in range(60 * last_hour))
        files.append(dataset.write(f"{day}.csv", HEADER + rows))
    found = propose_source(files, dataset.folder, Given(timezone="Europe/Zurich"))
    assert found.settings["dataset"]["files"] == ["raw/{date}.csv" if is_dated else "raw/*.csv"]
