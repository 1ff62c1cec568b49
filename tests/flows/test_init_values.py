"""Whatever the values of a file are, `hexveil init` writes the same bytes, says the same words and refuses the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from feeds import MIDNIGHT, snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import CONFIG, DATE, Campaign, Dataset, examples, slow
from typer.testing import CliRunner

from flows.cli import app
from tasks.base.errors import HexveilError
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given

N_ROWS = 6
PLACES = [f"{DATE}T08:0{n}:00Z,47.0{n},8.31" for n in range(N_ROWS)]
INSTANTS = [(MIDNIGHT + 8 * 3600 + n * 60) * 1000 for n in range(N_ROWS)]
"""The times of ``PLACES`` in milliseconds since 1970."""
OF_STRUCTURE = '",;|\t \n\r\0\ufeff{}[]:.-0123456789'
TEXTS = st.one_of(
    st.sampled_from(("", "\0", "\ufeff", "\r\n")),
    st.text(st.sampled_from(OF_STRUCTURE), max_size=40),
    st.text(max_size=20),
)
NAMES = ("time", "lat", "lon", "bus", "id", "a.b", "")


def json_values(*names: str) -> st.SearchStrategy[Any]:
    """Return any JSON values whose objects have members of some names."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(names), inner, max_size=3)
        ),
        max_leaves=8,
    )


JSON = json_values("speed", *NAMES)


def quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def of_csv(values: list[str], delimiter: str = ",", header: bool = True, value_first: bool = False) -> bytes:
    rows = [["bus", "time", "lat", "lon", "speed"]] if header else []
    rows += [
        [f"b{n % 2}", *place.split(","), quoted(value)]
        for n, (place, value) in enumerate(zip(PLACES, values, strict=True))
    ]
    return "".join(f"{delimiter.join(row[::-1] if value_first else row)}\n" for row in rows).encode("utf-8")


def of_json(values: list[Any], name: str = "speed", lines: bool = False) -> bytes:
    records = []
    for n, (place, value) in enumerate(zip(PLACES, values, strict=True)):
        time, lat, lon = place.split(",")
        records.append({"bus": f"b{n % 2}", "at": {"time": time, "lat": float(lat), "lon": float(lon)}, name: value})
    if lines:
        return "".join(f"{json.dumps(one)}\n" for one in records).encode()
    return json.dumps({"meta": {"n": 6}, "result": records}).encode()


def of_parquet(values: list[str | None]) -> bytes:
    time, lat, lon = zip(*(place.split(",") for place in PLACES), strict=True)
    columns: dict[str, Any] = {
        "bus": ["b1"] * N_ROWS,
        "time": time,
        "lat": [*map(float, lat)],
        "lon": [*map(float, lon)],
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns | {"speed": pa.array(values, pa.string())}), sink)
    return sink.getvalue().to_pybytes()


def of_gtfs(values: list[float]) -> bytes:
    return snapshot([(f"b{n}", MIDNIGHT + 3600 * 12 + n, value) for n, value in enumerate(values)])  # type: ignore[misc]


PACE = ("--value", "pace", "--lower", "0", "--upper", "9")
HEADERLESS = ("--header", "speed,lon,lat,time,bus", "--delimiter", ",")
FORMS: dict[str, tuple[str, tuple[str, ...], Any, Callable[[list[Any]], bytes]]] = {
    "csv": ("day.csv", (), TEXTS, of_csv),
    "csv with semicolons": ("day.csv", (), TEXTS, lambda some: of_csv(some, ";")),
    "csv of another name": ("day.txt", ("--format", "csv"), TEXTS, of_csv),
    "headerless csv": ("day.csv", HEADERLESS, TEXTS, lambda some: of_csv(some, header=False, value_first=True)),
    "csv whose header is forgotten": ("day.csv", (), TEXTS, lambda some: of_csv(some, header=False)),
    "csv that begins with a value": ("day.csv", (), TEXTS, lambda some: of_csv(some, header=False, value_first=True)),
    "json": ("day.json", (), JSON, of_json),
    "ndjson": ("day.ndjson", (), JSON, lambda some: of_json(some, lines=True)),
    "json with a given value": ("day.json", PACE, JSON, lambda some: of_json(some, "pace")),
    "json with a wrong value": ("day.json", ("--value", "pce"), JSON, lambda some: of_json(some, "pace")),
    "json without a known user": ("day.json", ("--user", "nobody"), JSON, of_json),
    "parquet": ("day.parquet", (), st.none() | TEXTS, of_parquet),
    "gtfs-rt": ("day.pb", ("--timezone", "UTC"), st.floats(width=32), of_gtfs),
}
REFUSED = {
    "csv whose header is forgotten": "its first line is no header",
    "csv that begins with a value": "its first line is no header",
    "json with a wrong value": '--value: there is no column "pce"; there are: bus, at, pace',
    "json without a known user": '--user: there is no column "nobody"; there are: bus, at.time, at.lat, at.lon, speed',
}

ALIKE = ("csv with semicolons", "csv of another name", "json with a given value")
"""What is read as another form is."""


def begun(folder: Path, name: str, options: tuple[str, ...]) -> tuple[str, str]:
    """Return all that init says and writes of a file."""
    config = folder / "mine.toml"
    config.unlink(missing_ok=True)
    shutil.rmtree(folder / "mine-store", ignore_errors=True)
    command = ["init", str(folder / name), "--to", str(config), "--force", "--yes", "--unit", "km/h", *options]
    done = CliRunner().invoke(app, command)
    assert done.exception is None or isinstance(done.exception, HexveilError), done.exc_info
    return f"{done.output}{done.exception}", config.read_text() if config.exists() else ""


@pytest.mark.quick(2)
@examples(2, 12)
@pytest.mark.parametrize("form", [slow(form) if form in ALIKE else form for form in FORMS])
def test_no_value_changes_what_init_says_writes_or_refuses(
    form: str, n_examples: int, campaign: Campaign, tmp_path: Path
) -> None:
    name, options, strategy, write = FORMS[form]
    (tmp_path / name).write_bytes(write([9.0] * N_ROWS if "gtfs" in form else ["9"] * N_ROWS))
    plain = begun(tmp_path, name, options)
    assert REFUSED.get(form, "6 rows kept") in plain[0]
    assert bool(plain[1]) == (form not in REFUSED)

    @settings(
        max_examples=campaign.size(n_examples),
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(st.lists(strategy, min_size=N_ROWS, max_size=N_ROWS))
    def same(values: list[Any]) -> None:
        (tmp_path / name).write_bytes(write(values))
        assert begun(tmp_path, name, options) == plain

    same()


def of_raw_json(values: list[str], lines: bool) -> bytes:
    """Return records with values that are written as they are, whatever JSON says to it."""
    content = of_json([f"<{n}>" for n in range(N_ROWS)], lines=lines).decode()
    for n, value in enumerate(values):
        content = content.replace(f'"<{n}>"', value)
    return content.encode()


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["day.json", "day.ndjson"])
@pytest.mark.parametrize("value", ["NaN", *map(slow, ("infinity", "nan", "-inf", "Infinity", "nAn"))])
def test_numbers_that_only_the_engine_knows_change_nothing(name: str, value: str, tmp_path: Path) -> None:
    said = []
    for values in (["9"] * N_ROWS, ["9"] * (N_ROWS - 1) + [value], [value] * N_ROWS):
        (tmp_path / name).write_bytes(of_raw_json(values, name == "day.ndjson"))
        said.append(begun(tmp_path, name, ()))
    assert "6 rows kept" in said[0][0]
    assert said[1:] == said[:1] * 2


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ["day.json", "day.ndjson"])
@pytest.mark.parametrize(
    "value", ["012", "1.", ".5", "+1", "0x1F", '"\\x"', '"a\tb"', "'a'", "two words", "", " ", "--"]
)
def test_nor_does_a_value_outside_the_grammar_change_what_is_recognised(name: str, value: str, tmp_path: Path) -> None:
    """Its record is a malformed row, as in each run: alone that is counted."""
    found = []
    for values in (["9"] * N_ROWS, ["9"] * (N_ROWS - 1) + [value], [value] * N_ROWS):
        file = tmp_path / name
        file.write_bytes(of_raw_json(values, name == "day.ndjson"))
        found.append(propose_source([file], tmp_path, Given()))
    assert found[0].settings["columns"]["value"] == "speed"
    assert [(one.settings, one.reasons, one.date) for one in found[1:]] == [
        (found[0].settings, found[0].reasons, found[0].date)
    ] * 2


@pytest.mark.quick(2)
@examples(2, 15)
@pytest.mark.parametrize("form", ["csv", "ndjson", "json", "gtfs-rt"])
def test_no_value_changes_the_unit_that_a_day_sees_in_its_times(
    form: str, n_examples: int, campaign: Campaign, tmp_path: Path
) -> None:
    """The times are numbers, and no unit is declared: it is recognised from the first ones."""
    name, _, strategy, write = FORMS[form]
    (tmp_path / "dataset.toml").write_text(CONFIG)
    dataset = Dataset(tmp_path)
    if form in ("ndjson", "json"):
        for role in ("time", "lat", "lon"):
            dataset.edit(f'"{role}"', f'"at.{role}"')
    if form == "json":
        dataset.set(records="result")
    if form == "gtfs-rt":
        for old, field in (("bus", "vehicle.id"), ("time", "timestamp"), ("lat", "position.latitude")):
            dataset.edit(f' = "{old}"', f' = "{field}"')
        dataset.set(longitude="position.longitude", value="position.speed")

    def read(values: list[Any]) -> list[tuple[Any, ...]]:
        content = write(values)
        for place, instant in zip(PLACES, INSTANTS, strict=True):
            content = content.replace(place.partition(",")[0].encode(), str(instant).encode())
        dataset.write(name, content)
        dataset.prepare()
        return dataset.query("select user_id, slot_start, n_records from user_cell order by all")

    plain = read([9.0] * N_ROWS if form == "gtfs-rt" else ["9"] * N_ROWS)
    assert sum(n for *_, n in plain) == N_ROWS

    @settings(
        max_examples=campaign.size(n_examples),
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(st.lists(strategy, min_size=N_ROWS, max_size=N_ROWS))
    def same(values: list[Any]) -> None:
        assert read(values) == plain

    same()
