"""Beginning: `hexveil init` makes a configuration of a feed that can be run, reads no value, and says what it lacks."""

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from feeds import FEEDS, N_BUSES, N_PINGS
from support import DATE, HEADER, Dataset, Hexveil

from flows import beginning
from flows.questions import Asker, asked_columns
from tasks.account import ledger
from tasks.base.config import load_config
from tasks.records.init.looking import look_at
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given
from tasks.records.input_formats.roles import recognise_roles, unit_of

OPTIONS = {
    "austin": ("--unit", "km/h", "--factor", "1.609344", "--missing", "255", "--upper", "120"),
    "san_francisco": (
        *("--format", "csv", "--delimiter", "space", "--header", "latitude,longitude,occupied,time"),
        *("--value", "occupied"),
        *("--unit", "share", "--lower", "0", "--upper", "1"),
    ),
    "warsaw": ("--unit", "km/h"),
    "buffalo": ("--missing", "99999"),
}


def written(name: str, dataset: Dataset) -> list[Path]:
    FEEDS[name][1](dataset)
    return sorted((dataset.folder / "raw").iterdir())


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_is_published_by_init_and_run(name: str, dataset: Dataset, hexveil: Hexveil) -> None:
    files, path = written(name, dataset), dataset.folder / "mine.toml"
    made = hexveil("init", *files, "--to", path, "--name", "mine", "--yes", *OPTIONS[name])
    assert made.returncode == 0, made.stderr
    assert f"{DATE} was read: {N_BUSES * N_PINGS} rows kept" in made.stdout
    assert ledger.read_entries(load_config(path)) == []
    next_command = re.findall(r"hexveil (run .*?) +#", made.stdout)[0].split()
    ran = hexveil(*next_command)
    assert ran.returncode == 0, ran.stderr
    assert f"{N_BUSES * N_PINGS} of {N_BUSES * N_PINGS} records, 100.0%" in ran.stdout
    text = path.read_text()
    assert tomllib.loads(text)["value"]["screen"] is True
    assert text.startswith("#:schema ./hexveil.schema.json\n")
    schema = json.loads((dataset.folder / "hexveil.schema.json").read_text())
    jsonschema.validate(tomllib.loads(text), schema, jsonschema.Draft7Validator)


@pytest.mark.slow
def test_no_value_changes_what_init_says_and_writes(dataset: Dataset, hexveil: Hexveil) -> None:
    (file,) = written("austin", dataset)
    plain = file.read_text()
    changed = re.sub(r"^(\d+,801,[^,]*),\d+,", r"\1,N/A,", plain, count=200, flags=re.MULTILINE)
    assert changed != plain
    said = []
    for content in (plain, changed):
        file.write_text(content)
        made = hexveil("init", file, "--to", dataset.folder / "mine.toml", "--yes", "--unit", "km/h", "--force")
        assert made.returncode == 0, made.stderr
        said.append((made.stdout, (dataset.folder / "mine.toml").read_text()))
    assert said[0] == said[1]


def test_a_person_is_asked_in_plain_words(dataset: Dataset, environment: dict[str, str]) -> None:
    (file,) = written("austin", dataset)
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "flows.cli", "init", str(file), "--to", str(dataset.folder / "asked.toml")]
    with subprocess.Popen(
        command, env=environment, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as asked:
        os.write(person, b"buses\na map for riders\n\nkm/h\n\n110 km/h\n0\n110\n0\n1.5\n6O\n60\n")
        said = asked.communicate(timeout=120)[0].decode()
    assert asked.returncode == 0, said
    for words in (
        "A name for the dataset",
        "In which unit",
        "What is the largest value that can be?",
        "How much may one day tell",
        "And all days together?",
        "--upper 110 km/h must be a number, with a decimal point",
        "--upper 0 must be above 0.0",
        "--epsilon 0 must be above 0",
        "--total 6O must be a number",
    ):
        assert words in said
    config = load_config(dataset.folder / "asked.toml")
    assert (config.dataset.name, config.value.name, float(config.value.upper)) == ("buses", "speed", 110)
    assert (float(config.privacy.epsilon_per_day), float(config.budget.epsilon_total)) == (1.5, 60)


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (HEADER, ("--yes",), "day.csv: has no record; name a file with records"),
        (HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n", ("--yes",), "--unit is missing: in which unit"),
        (
            HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--yes", "--unit", "furlongs"),
            "--upper is missing: what is the largest",
        ),
        (
            HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--yes", "--unit", "km/h", "--upper", "1,5"),
            "--upper 1,5 must be a number",
        ),
        (
            HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--yes", "--unit", "km/h", "--upper", "0"),
            "--upper 0 must be above --lower 0.0",
        ),
        (
            HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--value", "pace"),
            'no column "pace"; there are: bus, time, lat, lon, speed',
        ),
        (HEADER + "b1,8 o'clock,47.0,8.3,9\n", ("--yes", "--unit", "km/h"), 'the times in "time" have no form'),
        (
            "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            (),
            "its first line is no header: a name in it is a number, or several are empty",
        ),
        (
            "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--header", "a,b"),
            "--delimiter is missing: a file without a header",
        ),
        (
            "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--header", "a,b", "--delimiter", ","),
            "has 5 columns, and --header names 2; check --header and --delimiter",
        ),
        (HEADER, ("--delimiter", "::"), '--delimiter :: must be one character, such as , or ; or "tab" or "space"'),
        ("when,where,pace\n1,2,3\n", ("--yes",), "--user is missing: which column has the user? There are: when"),
        ("when,where,pace\n1,2,3\n", ("--yes",), "--time is missing: which column has the time? There are: when"),
        ("when,where,pace\n1,2,3\n", ("--yes",), "--value is missing: which column has the value? There are: when"),
        (
            HEADER + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n",
            ("--yes", "--unit", "km/h", "--missing", "N/A"),
            "--missing N/A must be a number, with a decimal point; what is no number always counts as not measured",
        ),
        ("", (), "day.csv is empty; name a file with records"),
    ],
)
def test_what_is_lacking_is_said(
    dataset: Dataset, hexveil: Hexveil, content: str, options: tuple[str, ...], said: str
) -> None:
    file = dataset.write("day.csv", content)
    ended = hexveil("init", file, "--to", dataset.folder / "mine.toml", *options)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert not (dataset.folder / "mine.toml").exists()


@pytest.mark.quick(1)
@pytest.mark.parametrize(("name", "delimiter"), [("day.csv", ","), ("day.tsv", "\t")])
@pytest.mark.parametrize(("before", "after"), [(",", ""), ("", ","), ("", "")])
def test_a_column_without_a_name_is_not_offered_and_tabs_are_between_those_of_tsv(
    dataset: Dataset, hexveil: Hexveil, name: str, delimiter: str, before: str, after: str
) -> None:
    lines = [HEADER.strip(), *(f"b{n},2026-01-15T08:00:00Z,47.0,8.3,9" for n in range(5))]
    content = "".join(f"{before and str(n or '') + before}{line}{after}\n" for n, line in enumerate(lines))
    file, path = dataset.write(name, content.replace(",", delimiter)), dataset.folder / "mine.toml"
    made = hexveil("init", file, "--to", path, "--yes", "--unit", "km/h")
    assert made.returncode == 0, made.stderr
    assert f"{DATE} was read: 5 rows kept" in made.stdout
    assert propose_source([file], dataset.folder, Given()).names == ["bus", "time", "lat", "lon", "speed"]


def test_rows_that_belong_to_no_day_are_said(dataset: Dataset, hexveil: Hexveil) -> None:
    rows = "".join(f"b{n % 9},2026-01-15T08:{n % 60:02}:{n // 60:02}Z,47.0,8.3,9\n" for n in range(99))
    file = dataset.write("day.csv", HEADER + "id,UTC,degrees,degrees,km/h\n" + rows)
    made = hexveil("init", file, "--to", dataset.folder / "mine.toml", "--yes", "--unit", "km/h")
    assert made.returncode == 0, made.stderr
    assert f"{DATE} was read: 99 rows kept\n1 rows of raw/day.csv belong to no day: 0 malformed and 1 without" in (
        made.stdout
    )


def test_a_column_that_is_not_there_is_asked_for_again(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = dataset.write("day.csv", HEADER.replace("bus", "who") + "b1,2026-01-15T08:00:00Z,47.0,8.3,9\n")
    answers = iter(["whom", "who"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    proposal = propose_source([file], dataset.folder, Given())
    assert asked_columns(proposal, Asker(True)) == {"user": "who"}
    assert 'there is no column "whom"' in capsys.readouterr().out


def test_a_configuration_is_not_replaced_unless_told(dataset: Dataset, hexveil: Hexveil) -> None:
    (file,) = written("austin", dataset)
    ended = hexveil("init", file, "--to", dataset.config_file, "--yes", "--unit", "km/h")
    assert "is there already; give another name with --to, or --force" in ended.stderr
    assert "is a folder; name the files in it, for example" in hexveil("init", dataset.folder, "--yes").stderr
    assert "nowhere.csv: there is no such file" in hexveil("init", dataset.folder / "nowhere.csv", "--yes").stderr


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["bus", "time", "lat", "lon", "speed_kmh"], ["bus", "time", "lat", "lon", "speed_kmh"]),
        (
            ["id", "vehicle_id", "route", "Timestamp", "Y", "X", "avgSpeed"],
            ["vehicle_id", "Timestamp", "Y", "X", "avgSpeed"],
        ),
        (
            [
                "trip_start_time",
                "observationDateTime",
                "license_plate",
                "location.coordinates[0]",
                "location.coordinates[1]",
                "speed",
            ],
            ["license_plate", "observationDateTime", "location.coordinates[1]", "location.coordinates[0]", "speed"],
        ),
        (["a", "b", "c"], [None] * 5),
    ],
)
def test_columns_are_recognised_by_their_names(names: list[str], roles: list[str | None]) -> None:
    found = recognise_roles(names)
    assert [found.get(role) for role in ("user", "time", "latitude", "longitude", "value")] == roles
    assert [unit_of(name) for name in ("speed_kmh", "Speed (mph)", "speed", "spd_ms")] == ["km/h", "mph", None, "m/s"]


def test_swapped_places_and_decimal_commas_are_seen(dataset: Dataset) -> None:
    rows = (
        "".join(f"b1;2026-01-15T08:0{n}:00Z;-97,74;30,26;9,5\n" for n in range(5))
        .replace("-97,74", "151,2")
        .replace("30,26", "-33,8")
    )
    file = dataset.write("day.csv", "bus;time;lat;lon;speed\n" + rows)
    found = propose_source([file], dataset.folder, Given())
    assert (found.settings["dataset"]["decimal"], found.settings["dataset"]["delimiter"]) == (",", ";")
    assert (found.settings["columns"]["latitude"], found.settings["columns"]["longitude"]) == ("lon", "lat")
    assert found.settings["dataset"]["timezone"] == "Australia/Sydney"
    assert look_at(file, Given()).names == ["bus", "time", "lat", "lon", "speed"]


@pytest.mark.parametrize(("delimiter", "mark"), [(";", ","), (",", None)])
def test_values_between_semicolons_may_have_a_decimal_comma(dataset: Dataset, delimiter: str, mark: str | None) -> None:
    """Places have a point, and values are never looked into; with the comma a point is read too."""
    names = ["bus", "time", "lat", "lon", "fare"]
    rows = [["b1", f"2026-01-15T08:0{n}:00Z", "47.05", "8.31", "12.5" if n % 2 else '"12,5"'] for n in range(6)]
    file = dataset.write("day.csv", "\n".join(delimiter.join(one) for one in [names, *rows]) + "\n")
    found = propose_source([file], dataset.folder, Given())
    assert found.settings["dataset"].get("decimal") == mark
    dataset.set(dataset={"delimiter": delimiter, "decimal": mark or "."}, columns={"value": "fare"})
    dataset.prepare()
    assert dataset.query("select count(value) from raw_record") == [(6 if mark else 3,)]


def test_a_named_unit_that_is_not_published_is_converted(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write("day.csv", f"bus,time,lat,lon,speed_mph\nb1,{DATE}T08:00:00Z,47.0,8.3,9\n")
    assert hexveil("init", file, "--to", dataset.folder / "a.toml", "--unit", "km/h", "--yes").returncode == 0
    assert float(load_config(dataset.folder / "a.toml").value.factor) == 1.609344
    refused = hexveil("init", file, "--to", dataset.folder / "b.toml", "--unit", "knots", "--upper", "9", "--yes")
    assert "--factor is missing: the column is named like mph" in refused.stderr


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("capmetro_austin_2015-09-06.csv.gz", "capmetro_austin"),
        ("2016.csv", "2016"),
        ("Buses & Trams.json", "buses---trams"),
        ("!.csv", "feed"),
        ("my.toml", "my"),
    ],
)
def test_a_dataset_is_named_after_its_file_without_a_date(file: str, name: str) -> None:
    assert beginning._name_of(Path(file)) == name
