"""What `init` must be told, what it says of days, places and times, and what it never takes without a word."""

import datetime as dt
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import DATE, HEADER, Dataset, Hexveil

TOLD = ("--unit", "km/h", "--lower", "0", "--upper", "100", "--epsilon", "2", "--total", "100")
USUAL = ("--yes", "--unit", "km/h")


def rows(times: list[str], latitude: float = 47.05, longitude: float = 8.31) -> str:
    return "".join(f"bus{n % 3},{time},{latitude},{longitude},30\n" for n, time in enumerate(times))


def init(dataset: Dataset, hexveil: Hexveil, *files: Path, options: tuple[str, ...] = USUAL) -> tuple[str, Any]:
    path = dataset.folder / "mine.toml"
    made = hexveil("init", *files, "--to", path, "--force", *options)
    assert made.returncode == 0, made.stderr
    return made.stdout, tomllib.loads(path.read_text())


def test_without_a_person_and_without_yes_bounds_and_budgets_must_be_told(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("day.csv", HEADER.replace("speed", "speed_kmh") + rows([f"{DATE}T08:00:00Z"]))
    ended = hexveil("init", file, "--to", dataset.folder / "mine.toml")
    assert ended.returncode == 1
    for option in ("--lower", "--upper", "--epsilon", "--total"):
        assert f"{option} is missing" in ended.stderr
    assert "--unit" not in ended.stderr, "the column's name says it"
    assert "or --yes for what is usual" in ended.stderr
    assert not (dataset.folder / "mine.toml").exists()
    _, settings = init(dataset, hexveil, file, options=(*TOLD, "--purpose", "a map"))
    assert settings["dataset"]["purpose"] == "a map"


@pytest.mark.slow
def test_the_days_that_are_there_are_said(dataset: Dataset, hexveil: Hexveil) -> None:
    days = [DATE + dt.timedelta(days=n) for n in range(20)]
    file = dataset.write("all.csv", HEADER + rows([f"{day}T08:0{n}:00Z" for day in days for n in range(3)]))
    said, _ = init(dataset, hexveil, file)
    assert f"Days found: {DATE}, " in said
    assert f"..., {days[-1]} (20 days)." in said
    dated = [dataset.write(f"{day}.csv", HEADER + rows([f"{day}T08:00:00Z"])) for day in days[:2]]
    said, _ = init(dataset, hexveil, *dated)
    assert f"Days found: {DATE}, {days[1]} (2 days)." in said


def test_the_area_is_around_all_records_and_not_the_first(dataset: Dataset, hexveil: Hexveil) -> None:
    first = rows([f"{DATE}T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z" for n in range(6000)])
    others = "".join(rows([f"{DATE}T{n:02}:00:00Z"], 36 + n / 2, -9 + n / 2) for n in range(24)) * 2
    file = dataset.write("network.csv", HEADER + first + others)
    said, settings = init(dataset, hexveil, file)
    assert "place_outside_area" not in said
    assert "The area is around 6,048 places" in said
    area = settings["validation"]
    assert area["south"] < 36
    assert area["north"] > 47.5
    assert area["west"] < -9
    assert area["east"] > 8.31
    box = ("--area", "46.8, 47.3,7.9,8.7")
    said, settings = init(dataset, hexveil, file, options=(*USUAL, *box))
    assert settings["validation"] == {"south": 46.8, "north": 47.3, "west": 7.9, "east": 8.7}
    assert "place_outside_area" in said
    for wrong in ("1,2,3", "a,b,c,d", "1,2,3,4,5"):
        ended = hexveil("init", file, "--to", dataset.folder / "b.toml", *USUAL, "--area", wrong)
        assert "must be four numbers, SOUTH,NORTH,WEST,EAST" in ended.stderr


def test_places_that_are_swapped_do_not_widen_the_area(dataset: Dataset, hexveil: Hexveil) -> None:
    times = [f"{DATE}T{n // 60:02}:{n % 60:02}:00Z" for n in range(600)]
    file = dataset.write("day.csv", HEADER + rows(times[:580]) + rows(times[580:], 8.31, 47.05))
    said, settings = init(dataset, hexveil, file)
    assert "The area is around 580 places" in said
    assert "Caution: 20 of 600 places would lie among the others if latitude and longitude were swapped" in said
    assert settings["validation"] == {"south": 46.5, "north": 47.6, "west": 7.8, "east": 8.9}
    assert "20 place_outside_area" in said


def parquet(dataset: Dataset, is_int96: bool) -> Path:
    time = pa.array([dt.datetime(2026, 3, 2, 8 + n) for n in range(6)], pa.timestamp("us"))
    columns = {"bus": ["a", "b"] * 3, "time": time, "lat": [47.05] * 6, "lon": [8.31] * 6, "speed": [30.0] * 6}
    path = dataset.write("a.parquet", b"")
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=is_int96)
    return path


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("is_int96", "zone", "said"),
    [
        (True, "UTC", "taken for UTC: they are INT96, which is UTC by the convention of Spark and Hive"),
        (False, "Europe/Zurich", "taken for times of Europe/Zurich, the zone of the places"),
    ],
)
def test_what_parquet_times_without_a_zone_are_taken_for_is_said(
    dataset: Dataset, hexveil: Hexveil, is_int96: bool, zone: str, said: str
) -> None:
    out, settings = init(dataset, hexveil, parquet(dataset, is_int96))
    assert settings["columns"]["time_zone"] == zone
    assert said in out


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("column", "times", "place", "options", "zone", "said"),
    [
        ("time", ["2026-03-29 08:00:00"], (47.0, 8.3), (), "Europe/Zurich", "taken for times of Europe/Zurich"),
        ("time", ["2026-03-29 08:00:00"], (47.0, 8.3), ("--time-zone", "UTC"), "UTC", "as --time-zone says"),
        ("time", ["2026-03-29 02:30:00"], (47.0, 8.3), (), "UTC", "1 of 1 times do not exist in Europe/Zurich"),
        ("time", ["29.03.2026 02:30", "29.03.2026 14:30"], (47.0, 8.3), (), "UTC", "1 of 2 times do not exist"),
        ("timestamp_utc", ["2026-03-29 08:00:00"], (47.0, 8.3), ("--time", "timestamp_utc"), "UTC", "is called"),
        ("BaseDateTime", ["2026-03-29T08:00:00"], (27.0, -60.0), ("--time", "BaseDateTime"), "UTC", "is called"),
        ("time", ["2026-03-29T08:00:00"], (27.0, -60.0), (), "UTC", "the places are at sea"),
    ],
)
def test_the_zone_of_times_without_an_offset_is_said_and_written(
    dataset: Dataset,
    hexveil: Hexveil,
    column: str,
    times: list[str],
    place: tuple[float, float],
    options: tuple[str, ...],
    zone: str,
    said: str,
) -> None:
    file = dataset.write("day.csv", HEADER.replace("time", column) + rows(times, *place))
    out, settings = init(dataset, hexveil, file, options=(*USUAL, *options))
    assert settings["columns"]["time_zone"] == zone
    assert said in out


@pytest.mark.slow
def test_times_with_an_offset_and_numbers_have_no_zone(dataset: Dataset, hexveil: Hexveil) -> None:
    for times in (["2026-03-29T08:00:00+02:00"], ["1774771200"], ["2026-03-29 08:00:00Z"]):
        _, settings = init(dataset, hexveil, dataset.write("day.csv", HEADER + rows(times)))
        assert "time_zone" not in settings["columns"]
    ended = hexveil(
        "init", dataset.folder / "raw" / "day.csv", "--to", dataset.folder / "b.toml", "--time-zone", "Zurich"
    )
    assert "--time-zone Zurich must be an IANA time zone" in ended.stderr


@pytest.mark.quick(1)
@pytest.mark.parametrize(("name", "form"), [("date", "%Y-%m-%d"), ("Day", "%d/%m/%Y"), ("gps_date", "%Y-%m-%d")])
def test_init_joins_the_column_of_the_dates(dataset: Dataset, hexveil: Hexveil, name: str, form: str) -> None:
    lines = [f"bus{n % 3},{DATE:{form}},{8 + n}:30:00,47.05,8.3{n},30" for n in range(9)]
    file = dataset.write("day.csv", HEADER.replace("bus", f"bus,{name}") + "\n".join(lines) + "\n")
    path: Path = dataset.folder / "mine.toml"
    made = hexveil("init", file, "--to", path, "--yes", "--unit", "km/h")
    assert made.returncode == 0, made.stderr
    assert f"the times in 'time' have no date: it is in {name!r}" in made.stdout
    assert tomllib.loads(path.read_text())["columns"]["time"] == [name, "time"]
    assert "9 rows kept" in made.stdout
