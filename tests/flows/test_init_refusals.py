"""What `hexveil init` refuses: with advice, before anything is written, and all that was there stays as it was."""

import json
from pathlib import Path

import polars as pl
import pytest
from feeds import FEEDS
from support import DATE, HEADER, Dataset, Hexveil, slow

from tasks.account import ledger
from tasks.base.config import load_config
from tasks.base.errors import BadInput
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given

ROW = f"b1,{DATE}T08:00:00Z,47.0,8.3,9\n"
USUAL = ("--yes", "--unit", "km/h")
RECORDS = [{"bus": f"b{n}", "time": f"{DATE}T08:0{n}:00Z", "lat": 47.0, "lon": 8.3, "speed": 9} for n in range(9)]


def standing(folder: Path) -> dict[str, bytes]:
    """Return all files that are in a folder, without the records."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "raw"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--timezone", "mars"), "--timezone mars must be an IANA time zone"),
        (("--timezone", "europe/zurich"), "did you mean Europe/Zurich?"),
        (("--epsilon", "0"), "privacy.epsilon_per_day: input should be greater than or equal to 0.000001, not 0"),
        (("--factor", "0"), "value.factor: input should be greater than 0, not 0"),
        (("--total", "-1"), "budget.epsilon_total: input should be greater than 0, not -1"),
        (("--name", "A"), "--name A must be of a-z, 0-9, - and _, and begin with a letter or a digit"),
        (("--name", "../x"), "--name ../x must be of a-z, 0-9, - and _"),
        (("--format", "xls"), "--format xls must be one of csv, parquet, ndjson, json, xml, gtfs-rt, plt"),
        (
            ("--value", "{file}"),
            "{file} can be the user alone, and not that of Parquet or GTFS-Realtime; name a column",
        ),
        (("--time", "{folder}"), "{folder} can be the user alone, and not that of Parquet or GTFS-Realtime; name"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_left_or_lost(
    dataset: Dataset, hexveil: Hexveil, options: tuple[str, ...], said: str
) -> None:
    file, path = dataset.write("day.csv", HEADER + ROW), dataset.folder / "mine.toml"
    for before in (None, "# of somebody's hand\n"):
        if before is not None:
            path.write_text(before)
        stood = standing(dataset.folder)
        ended = hexveil("init", file, "--to", path, "--force", *USUAL, *options)
        assert ended.returncode == 1
        assert said in ended.stderr
        assert "failed with" not in ended.stderr
        assert standing(dataset.folder) == stood


def test_a_configuration_that_is_refused_says_that_nothing_was_written(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("day.csv", HEADER + ROW)
    ended = hexveil("init", file, "--to", dataset.folder / "new" / "mine.toml", *USUAL, "--epsilon", "0")
    assert ended.stderr.endswith("Nothing was written: give other options.\n")
    assert not (dataset.folder / "new").exists()


@pytest.mark.parametrize("place", ["99999,8.3", "8.3,99999", "99999,99999", "inf,nan"])
def test_places_that_are_nowhere_are_said(dataset: Dataset, hexveil: Hexveil, place: str) -> None:
    file = dataset.write("day.csv", HEADER + ROW.replace("47.0,8.3", place))
    ended = hexveil("init", file, "--to", dataset.folder / "mine.toml", *USUAL)
    assert "no place can be read in the records: say which columns they are in" in ended.stderr
    assert "--latitude and --longitude. Latitudes must be degrees from -90 to 90" in ended.stderr


def test_a_file_without_any_time_is_said(dataset: Dataset, hexveil: Hexveil) -> None:
    rows = pl.DataFrame({"bus": ["b1"], "time": [None], "lat": [47.0], "lon": [8.3], "speed": [9]})
    file = dataset.folder / "day.parquet"
    rows.with_columns(pl.col("time").cast(pl.Datetime)).write_parquet(file)
    ended = hexveil("init", file, "--to", dataset.folder / "mine.toml", *USUAL)
    assert "no time can be read, so no day can be tried: check --time, or say --time-format" in ended.stderr
    assert {*dataset.folder.iterdir()} == {dataset.config_file, file}


def test_records_without_members_are_said(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("day.json", "[{}, {}]")
    assert f"{file}: has no record with columns; name a file with records first" in hexveil("init", file, *USUAL).stderr


def test_a_place_that_cannot_be_written_is_said(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("day.csv", HEADER + ROW)
    ended = hexveil("init", file, "--to", "/proc/mine.toml", *USUAL)
    assert "/proc/mine.toml cannot be written: " in ended.stderr
    assert "or give --to" in ended.stderr


@pytest.mark.parametrize("zone", ["", "Mars/Olympus"])
def test_places_in_no_known_time_zone_ask_for_it(dataset: Dataset, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    file = dataset.write("day.csv", HEADER + ROW)
    monkeypatch.setattr("tzfpy.get_tz", lambda *_: zone)
    with pytest.raises(BadInput, match="the places lie in no time zone that is known; give --timezone"):
        propose_source([file], dataset.folder, Given())
    assert propose_source([file], dataset.folder, Given(timezone="UTC")).settings["dataset"]["timezone"] == "UTC"


@pytest.mark.quick(1)
@pytest.mark.parametrize("user", ["{file}", "{folder}"])
def test_no_path_is_a_user_where_files_hold_tables(dataset: Dataset, hexveil: Hexveil, user: str) -> None:
    file, path = dataset.write("day.parquet", b""), dataset.folder / "mine.toml"
    pl.DataFrame(RECORDS).write_parquet(file)
    ended = hexveil("init", file, "--to", path, "--user", user, *USUAL)
    assert f"{user} can be the user alone, and not that of Parquet or GTFS-Realtime; name a column: bus, time" in (
        ended.stderr
    )
    assert hexveil("init", file, "--to", path, *USUAL).returncode == 0
    path.write_text(path.read_text().replace('user = "bus"', f'user = "{user}"'))
    run = hexveil("run", "--config", path, "--date", DATE)
    assert f'columns.user = "{user}" is not for parquet files; name the column of the user' in run.stderr


def test_what_is_in_a_file_is_no_place_for_a_configuration(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("buses-2026.csv", HEADER + ROW)
    inside = hexveil("init", file, "--to", file / "mine.toml", *USUAL).stderr
    assert f"{file} is a file and no folder; give another name with --to" in inside


def test_two_datasets_of_one_name_do_not_share_a_storage(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("buses.csv", HEADER + ROW)
    one, two = dataset.folder / "one.toml", dataset.folder / "two.toml"
    assert hexveil("init", file, "--to", one, "--name", "buses", *USUAL).returncode == 0
    shared = hexveil("init", file, "--to", two, "--name", "buses", *USUAL)
    assert "buses-store is there already, and two datasets must not share a storage; give another --name" in (
        shared.stderr
    )
    assert not two.exists()
    assert hexveil("init", file, "--to", two, "--name", "trams", *USUAL).returncode == 0
    assert (
        "buses-store is there already"
        in hexveil("init", file, "--to", two, "--name", "buses", "--force", *USUAL).stderr
    )
    again = hexveil("init", file, "--to", one, "--name", "buses", "--force", *USUAL)
    assert again.returncode == 0, again.stderr
    stores = [load_config(path).storage_path for path in (one, two)]
    assert stores == [dataset.folder / "buses-store", dataset.folder / "trams-store"]


SPEEDS = ("9" * 5_000, "[" * 20_000 + "]" * 20_000, "[" * 400 + "]" * 400, "1e999", '"N/A"')


@pytest.mark.parametrize("name", ["day.json", slow("day.ndjson")])
@pytest.mark.parametrize("odd", [SPEEDS, *(slow((one,)) for one in SPEEDS)], ids=["all", *map(str, range(len(SPEEDS)))])
def test_no_value_of_json_decides_what_is_recognised(
    dataset: Dataset, hexveil: Hexveil, odd: tuple[str, ...], name: str
) -> None:
    said, path = list[tuple[str, str]](), dataset.folder / "mine.toml"
    for speeds in (["9"] * 9, ["9", *odd, *["9"] * (8 - len(odd))]):
        rows = [
            json.dumps(one).replace('"speed": 9', f'"speed": {speed}')
            for one, speed in zip(RECORDS, speeds, strict=True)
        ]
        content = '{"result": [' + ", ".join(rows) + "]}" if name == "day.json" else "\n".join(rows) + "\n"
        file = dataset.write(name, content)
        ended = hexveil("init", file, "--to", path, "--force", *USUAL)
        assert ended.returncode == 0, ended.stderr
        said.append((ended.stdout, path.read_text()))
        assert f"{DATE} was read: 9 rows kept\n" in ended.stdout
    assert said[0] == said[1]
    assert ledger.read_entries(load_config(path)) == []


def test_a_damaged_gzip_file_is_named(dataset: Dataset, hexveil: Hexveil) -> None:
    FEEDS["warsaw"][1](dataset)
    file = dataset.write("day.json.gz", b"\x1f\x8b\x08\x00damaged")
    ended = hexveil("init", file, "--to", dataset.folder / "mine.toml", *USUAL)
    assert f"{file}: the gzip file is truncated or damaged; fetch it again" in ended.stderr
