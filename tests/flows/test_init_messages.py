"""What `hexveil init` says of files that it cannot use: in plain words, with advice, without a record."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support import DATE, HEADER, Dataset
from typer.testing import CliRunner

from flows.cli import app
from tasks.base.config import load_config
from tasks.base.errors import HexveilError
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given

SECRET = "4711"
ROW = f"b1,{DATE}T08:00:00Z,47.0,8.3,{SECRET}\n"
RECORD = f'{{"bus": "b1", "at": {{"time": "{DATE}T08:00:00Z", "lat": 47.0, "lon": 8.3}}, "speed": {SECRET}}}'
NAMED = HEADER.strip() + ",stra\N{LATIN SMALL LETTER SHARP S}e\n" + ROW.strip() + ",x\n"
SHARP = RECORD.replace("b1", "\N{LATIN SMALL LETTER SHARP S}")
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def begun(dataset: Dataset, *words: object) -> str:
    """Return what init says of a refusal, after which all is as it was."""
    stood = {path: path.read_bytes() for path in dataset.folder.rglob("*") if path.is_file()}
    folders = {path for path in dataset.folder.rglob("*") if path.is_dir()}
    to = dataset.folder / "new" / "deep" / "mine.toml"
    done = CliRunner().invoke(app, ["init", *map(str, words), "--to", str(to), "--yes", "--unit", "km/h"])
    assert isinstance(done.exception, HexveilError), (done.output, done.exc_info)
    assert stood == {path: path.read_bytes() for path in dataset.folder.rglob("*") if path.is_file()}
    assert folders == {path for path in dataset.folder.rglob("*") if path.is_dir()}
    said = f"{done.output}{done.exception}"
    assert SECRET not in said
    return said


def made(dataset: Dataset, *words: object, name: str = "mine.toml") -> str:
    """Return what init says of files that it can use."""
    done = CliRunner().invoke(app, ["init", *map(str, words), "--to", str(dataset.folder / name), "--yes"])
    assert done.exception is None, (done.output, done.exception)
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "", "a.csv is empty; name a file with records"),
        ("a.json", "", "a.json is empty; name a file with records"),
        ("a.parquet", "", "a.parquet is empty; name a file with records"),
        ("a.csv", "\n" + HEADER + ROW, "its first line is empty, and must be the header; remove it"),
        ("a.csv", "# exported by x\n" + HEADER + ROW, "its first line is a comment, and must be the header; remove it"),
        ("a.csv", HEADER, "a.csv: has no record; name a file with records"),
        ("a.csv", (HEADER + ROW).encode("utf-16"), "is in UTF-16, not UTF-8; convert the file, for example with iconv"),
        ("a.csv", (HEADER + ROW).encode("utf-16-le"), "is in UTF-16LE, not UTF-8; convert"),
        ("a.json", RECORD.encode("utf-16"), "is in UTF-16, not UTF-8"),
        ("a.csv", NAMED.encode("latin-1"), "is not UTF-8; convert the file, for example with iconv -f LATIN1 -t UTF-8"),
        ("a.csv", (HEADER + ROW.replace("b1", "\xdf")).encode("latin-1"), "is not UTF-8; convert the file"),
        ("a.json", f"[{SHARP}]".encode("latin-1"), "is not UTF-8; convert the file"),
        ("a.ndjson", f"{SHARP}\n".encode("latin-1"), "is not UTF-8; convert the file"),
        ("a.ndjson", f"{RECORD}\n{SHARP}\n".encode("latin-1"), "line 2 is not UTF-8; convert the file"),
        ("a.dat", HEADER + ROW, "its name does not say its format; say it with --format"),
        ("a.json", f"{RECORD}\n{RECORD}\n", "If it has one object per line, say --format ndjson"),
        ("a.ndjson", f"[{RECORD}]\n", "has no JSON object in a line. If it is one document, say --format json"),
        ("a.json", '{"result": []}', "the JSON document has no list of objects; name a file with records"),
        ("a.json", f'{{"a": {{"b": [{{"c": [{RECORD}, {RECORD}]}}]}}}}', "with jq -c '.a.b[].c[]' > new.ndjson"),
        ("a.json", f'[{{"c": [{RECORD}, {RECORD}]}}]', "with jq -c '.[].c[]' > new.ndjson"),
        ("a.ndjson", f'{{"c": [{RECORD}, {RECORD}]}}\n', "with jq -c '.c[]' > new.ndjson"),
        ("a.parquet", HEADER + ROW, "not a whole Parquet file; fetch it again"),
        ("a.pb", HEADER + ROW, "not a whole FeedMessage of GTFS-Realtime; fetch it again"),
        ("a.csv", HEADER + ROW.replace("b1", '"b1'), "a quote opened in record 2 does not close; mend it"),
        ("a.csv", (HEADER.replace("b", "1") + ROW).encode("utf-16-le"), "is in UTF-16LE, not UTF-8; convert"),
        ("a.csv", HEADER.strip() + ",N/S\n" + ROW.strip() + ",S\n", 'no number in "lat" has a minus'),
        ("a.csv", HEADER.strip() + ",lon_dir\n" + ROW.strip() + ",w\n", "Write longitudes in the W with a minus"),
        ("a.csv", HEADER + "b1,2607020005,47.0,8.3,1\n", "would be times of 2052-08-11 if they counted s since 1970"),
        (
            "a.csv",
            HEADER + ROW + ROW.replace("b1", "") * 9,
            "than validation.max_quarantined_share = 0.05 allows",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_said(dataset: Dataset, name: str, content: str | bytes, said: str) -> None:
    assert said in begun(dataset, dataset.write(name, content))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--records", "rows"), 'there is no list at --records "rows"; lists of objects are at: "data.result"'),
        (("--records", ""), 'there is no list at --records ""; lists'),
        (("--value", "spd"), '--value: there is no column "spd"; there are: bus, at, speed'),
        (("--user", "spd"), '--user: there is no column "spd"; there are: bus, at.time, at.lat, at.lon, speed'),
        (("--time-format", "%s"), "--time-format %s has the unknown directive %s; it is written as in"),
        (("--time-format", "%d.%m.%Y"), 'no time in "at.time" has the form that --time-format says, %d.%m.%Y'),
    ],
)
def test_an_option_that_does_not_fit_is_said(dataset: Dataset, options: tuple[str, ...], said: str) -> None:
    file = dataset.write("a.json", f'{{"data": {{"result": [\n{RECORD}\n]}}}}')
    assert said in begun(dataset, file, *options)


def test_lists_within_a_list_are_read_as_init_advises(dataset: Dataset) -> None:
    """The advice is taken as it stands, and every record is read."""
    document = f'{{"routes": [{{"n": 1, "buses": [{RECORD}]}}, {{"n": 2, "buses": [{RECORD.replace("b1", "b2")}]}}]}}'
    file = dataset.write("a.json", document)
    said = begun(dataset, file)
    advised = said.split('say --records "')[1].split('"')[0]
    assert advised == "routes[*].buses"
    assert "was read: 2 rows kept" in made(dataset, file, "--unit", "km/h", "--records", advised)


def test_values_of_several_quantities_are_cautioned_without_saying_which(dataset: Dataset) -> None:
    header = HEADER.strip() + ",parameter,units\n"
    for name, second, is_said in (("one", "pm25", False), ("two", "ozone", True)):
        kinds = ("pm25", second) * 5
        rows = "".join(f"s{n % 3},{DATE}T08:0{n}:00Z,47.0{n},8.3,{n},{kinds[n]},ppm\n" for n in range(9))
        file = dataset.write("a.csv", header + rows)
        said = made(dataset, file, "--unit", "ppm", "--upper", "50", name=f"{name}.toml")
        assert ("Caution: 'parameter' has 2 different entries" in said) == is_said
        assert "'units' has" not in said
        assert "ozone" not in said


def test_files_of_users_at_one_place_are_not_rows_that_a_column_tells_apart(dataset: Dataset) -> None:
    for owner in ("ann", "ben", "cid"):
        rows = "".join(f"{DATE}T08:{n:02}:00Z,47.0,8.3,{n},{owner}\n" for n in range(20))
        dataset.write(f"dev-{owner}.csv", "time,lat,lon,speed,owner\n" + rows)
    files = sorted((dataset.folder / "raw").glob("dev-*.csv"))
    said = made(dataset, *files, "--unit", "km/h", "--upper", "50", "--user", "{file}")
    assert "different entries" not in said


def test_an_archive_whose_parts_have_other_columns_is_looked_at(dataset: Dataset) -> None:
    path = dataset.write("a.zip", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", HEADER.strip() + ",note\n" + ROW.strip() + ",x\n")
        archive.writestr("b.csv", HEADER + ROW.replace("b1", "b2"))
    made(dataset, path, "--unit", "km/h", "--upper", "5000")


@pytest.mark.parametrize(("minutes", "kinds", "is_said"), [(1, "ab", True), (2, "ab", False), (1, "aa", False)])
def test_rows_that_only_a_column_of_words_tells_apart_are_cautioned_of(
    dataset: Dataset, minutes: int, kinds: str, is_said: bool
) -> None:
    """Of rows with the same user, time and place one counts, whatever the column is called."""
    rows = "".join(
        f"s1,{DATE}T{8 + n // 30:02}:{minutes * n % 60:02}:0{k if minutes > 1 else 0}Z,47.0,8.3,{n},{kind}\n"
        for n in range(30)
        for k, kind in enumerate(kinds)
    )
    said = made(dataset, dataset.write("a.csv", HEADER.strip() + ",was\n" + rows), "--unit", "km/h", "--upper", "50")
    assert ("Caution: 'was' has 2 different entries" in said) == is_said


@pytest.mark.parametrize("column", ["n_dir,S", "half,S", "lat_dir,N", "direction_long,West", "name,S"])
def test_a_column_that_says_nothing_of_the_half_of_the_earth_is_left_alone(dataset: Dataset, column: str) -> None:
    name, entry = column.split(",")
    file = dataset.write("a.csv", f"{HEADER.strip()},{name}\n{ROW.strip()},{entry}\n")
    assert propose_source([file], dataset.folder, Given()).settings["columns"]["latitude"] == "lat"


def test_the_list_may_be_named_and_a_limit_given(dataset: Dataset) -> None:
    file = dataset.write("a.json", f'{{"all": [{RECORD}], "pages": [{{"n": 1}}, {{"n": 2}}]}}')
    made(dataset, file, "--unit", "km/h", "--records", "all", "--max-quarantined-share", "0.2")
    config = load_config(dataset.folder / "mine.toml")
    assert (config.dataset.records, float(config.validation.max_quarantined_share)) == ("all", 0.2)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("b.ndjson", f"{RECORD}\n", "b.ndjson: is ndjson, and a.csv is csv. Give files of one form"),
        ("b.csv", (HEADER + ROW).replace(",", ";"), "b.csv: has the delimiter ';', and a.csv has ','"),
        ("b.csv", (HEADER + ROW).replace("lat", "latitude"), 'b.csv: has no column "lat" (latitude), which a.csv has'),
        (
            "b.csv",
            HEADER + ROW.replace(f"{DATE}T08:00:00Z", "1768464000"),
            'times in "time" are ISO 8601 in',
        ),
        ("b.csv", HEADER + ROW.replace(f"{DATE}T08:00:00Z", "15.01.2026 08:00"), "of another form in"),
    ],
)
def test_files_of_several_forms_are_refused(dataset: Dataset, name: str, content: str, said: str) -> None:
    first, second = dataset.write("a.csv", HEADER + ROW), dataset.write(name, content)
    assert said in begun(dataset, first, second)


def test_so_are_parquet_files_whose_columns_have_other_types_unless_it_is_the_value(dataset: Dataset) -> None:
    import polars as pl

    def write(name: str, **changed: Any) -> Path:
        row = {"bus": "b1", "time": f"{DATE}T08:00:00Z", "lat": 47.0, "lon": 8.3, "speed": 9}
        pl.DataFrame([row | changed]).write_parquet(dataset.folder / name)
        return dataset.folder / name

    files = [write("a.parquet"), write("b.parquet", speed=9.5), write("c.parquet", lat="47.0")]
    assert 'has the type large_string in "lat" (latitude), and a.parquet has double' in begun(dataset, *files)
    made(dataset, *files[:2], "--unit", "km/h")


def test_an_empty_snapshot_among_others_is_no_other_form(dataset: Dataset) -> None:
    files = [dataset.write("a.json", f'{{"r": [{RECORD}]}}'), dataset.write("b.json", '{"r": []}')]
    assert f"{DATE} was read: 1 rows kept" in made(dataset, *files, "--unit", "km/h")


@pytest.mark.quick(1)
@pytest.mark.parametrize("what", ["file", "folder", "to", "above"])
def test_what_may_not_be_read_or_written_is_said(dataset: Dataset, environment: dict[str, str], what: str) -> None:
    """A superuser may read all, so here it is one without that right."""
    file = dataset.write("a.csv", HEADER + ROW)
    locked = {"file": file, "folder": file.parent}.get(what, dataset.folder / "locked")
    if what in ("to", "above"):
        locked.mkdir()
    to = {"to": locked / "mine.toml", "above": locked / "new" / "mine.toml"}.get(what, dataset.folder / "mine.toml")
    mode = locked.stat().st_mode
    locked.chmod(0o500 if what == "above" else 0)
    command = [sys.executable, "-m", "flows.cli", "init", str(file), "--to", str(to), "--yes", "--unit", "km/h"]
    ended = subprocess.run(
        [*WITHOUT_RIGHTS, *command], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    locked.chmod(mode)
    said = {
        "file": f"{file}: you may not read it; give yourself the right, for example with chmod, or copy the file",
        "folder": f"{file}: you may not read it; give yourself the right",
        "to": f"--to {to}: you may not enter its folder; give another place with --to",
        "above": f"{to} cannot be written: Permission denied; mend it, or give --to",
    }
    assert said[what] in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not to.exists()


def test_the_rows_that_count_are_said_and_written(dataset: Dataset) -> None:
    rows = "".join(f"s{n % 3},{DATE}T08:0{n}:00Z,47.0{n},8.3,{n},{'NO2' if n % 2 else 'O3'}\n" for n in range(9))
    file, to = dataset.write("a.csv", f"{HEADER.strip()},Messgröße (kurz)\n{rows}"), dataset.folder / "mine.toml"
    words = ["init", file, "--to", to, "--yes", "--unit", "ppm", "--upper", "50", "--only"]
    done = CliRunner().invoke(app, [*map(str, words), "Messgröße (kurz)=NOX"])
    assert 'no row counts. The rows have none of NOX in "Messgröße (kurz)"' in str(done.exception)
    done = CliRunner().invoke(app, [*map(str, words), "Messgröße (kurz)"])
    assert "as in --only parameter=pm25,pm10" in str(done.exception)
    done = CliRunner().invoke(app, [*map(str, words), "Messgröße (kurz)=O3, CO"])
    assert done.exception is None, done.output
    assert "was read: 5 rows kept; not used: 4 left_out" in done.output
    assert load_config(to).columns.only == {"Messgröße (kurz)": ("O3", "CO")}
