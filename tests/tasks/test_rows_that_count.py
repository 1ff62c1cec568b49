"""Rows that count, by what other columns have: in each format, beside the same rows without the others."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.transit import gtfs_realtime_pb2
from reading import ingest
from support import CONFIG, DATE, ENGINES, HEADER, Dataset

from tasks.account.chain import releases
from tasks.account.ledger import read_entries
from tasks.account.screenings import changed_value
from tasks.base.config import config_of
from tasks.base.errors import BadConfig, BadInput, NoRecords
from tasks.engines.late import count_late_records
from tasks.engines.prepare import by_itself, prepare_day
from tasks.kinds.estimated.states import chain_before
from tasks.records.judge.count_outcomes import prepared_rows
from tasks.reporting.day_report import report_day
from tasks.upkeep.forget import forget_days

Row = dict[str, Any]
KINDS = ["pm25", " pm25 ", "no2", "PM25", "", "pm25", "o3", None]
COUNTED = {"pm25", " pm25 "}


def rows(kinds: list[Any] = KINDS, date: object = DATE) -> list[Row]:
    """Return two rows of each kind: the first at one time and place of one user, whatever the kind."""
    places = [("s1", "08:00:00", 47.05), *((f"s{n}", f"09:{n:02}:00", 47.05 + n / 1000) for n in range(len(kinds)))]
    some = []
    for number, kind in enumerate(kinds):
        for user, clock, latitude in (places[0], places[number + 1]):
            row = {"bus": user, "time": f"{date}T{clock}Z", "lat": latitude, "lon": 8.31, "speed": 10.0 + number}
            some.append({**row, "kind": kind})
    return some


def only(dataset: Dataset, written: str = '{ kind = "pm25" }') -> None:
    dataset.edit('value = "speed"', f'value = "speed"\nonly = {written}')


def csv(some: list[Row], end: str = "\n") -> str:
    header = ",".join(some[0])
    return "".join(
        f"{line}{end}" for line in [header, *(",".join("" if x is None else str(x) for x in r.values()) for r in some)]
    )


def as_csv(dataset: Dataset) -> None:
    dataset.write("a.csv", csv(rows()))


def as_quoted_csv(dataset: Dataset) -> None:
    some = [{"kind": f'"{one.pop("kind") or ""}"', **one} for one in rows()]
    dataset.write("a.csv", csv(some, "\r\n"))


def as_lines(dataset: Dataset) -> None:
    dataset.write("a.ndjson", "".join(json.dumps(one) + "\n" for one in rows()))
    dataset.edit("kind = ", '"of.kind" = ')
    nested = ({**one, "of": {"kind": one.pop("kind")}} for one in rows())
    dataset.write("a.ndjson", "".join(json.dumps(one) + "\n" for one in nested))


def as_document(dataset: Dataset) -> None:
    lacking = [{name: x for name, x in one.items() if x is not None} for one in rows()]
    dataset.write("a.json", json.dumps(lacking))


def as_xml(dataset: Dataset) -> None:
    dataset.edit("[columns]", 'records = "fix"\n[columns]')
    inner = ("".join(f"<{name}>{'' if x is None else x}</{name}>" for name, x in one.items()) for one in rows())
    dataset.write("a.xml", f"<all>{''.join(f'<fix>{one}</fix>' for one in inner)}</all>")


def as_parquet(dataset: Dataset) -> None:
    (dataset.folder / "raw").mkdir()
    table = pa.Table.from_pylist(rows())
    pq.write_table(table.set_column(5, "kind", table["kind"].dictionary_encode()), dataset.folder / "raw/a.parquet")


def as_nested_parquet(dataset: Dataset) -> None:
    (dataset.folder / "raw").mkdir()
    dataset.edit("kind = ", '"of.kind" = ')
    nested = [{**one, "of": {"kind": one.pop("kind")}} for one in rows()]
    pq.write_table(pa.Table.from_pylist(nested), dataset.folder / "raw/a.parquet")


def as_many_files(dataset: Dataset) -> None:
    some = rows()
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w") as pack:
        for number in range(0, len(some), 2):
            content = csv(some[number : number + 2]).encode()
            of_file = tarfile.TarInfo(f"{number}.csv")
            of_file.size = len(content)
            pack.addfile(of_file, io.BytesIO(content))
    dataset.write("a.tar", packed.getvalue())


def as_feed(dataset: Dataset) -> None:
    message: Any = gtfs_realtime_pb2.FeedMessage()
    message.header.gtfs_realtime_version = "2.0"
    for number, one in enumerate(rows()):
        vehicle = message.entity.add(id=str(number)).vehicle
        vehicle.vehicle.id, vehicle.timestamp = one["bus"], 1768435200 + 28800 + number // 2 * (number % 2)
        vehicle.position.latitude, vehicle.position.longitude = one["lat"], one["lon"]
        vehicle.position.speed = one["speed"]
        if one["kind"] is not None:
            vehicle.trip.route_id = one["kind"]
    dataset.write("a.pb", message.SerializeToString())
    text = dataset.config_file.read_text()
    for old, new in [
        ('"bus"', '"vehicle.id"'),
        ('"time"', '"timestamp"'),
        ('"lat"', '"position.latitude"'),
        ('"lon"', '"position.longitude"'),
        ('value = "speed"', 'value = "position.speed"'),
        ("kind = ", '"trip.route_id" = '),
    ]:
        text = text.replace(old, new)
    dataset.config_file.write_text(text)


FORMS = [
    *(as_csv, as_quoted_csv, as_lines, as_document, as_xml, as_parquet, as_nested_parquet, as_many_files, as_feed),
]


@pytest.mark.parametrize("write", FORMS)
def test_the_rows_of_one_text_are_used_as_if_the_others_were_not_there(dataset: Dataset, write: Any) -> None:
    only(dataset)
    write(dataset)
    dataset.prepare()
    used = [one["speed"] for one in rows() if one["kind"] in COUNTED]
    # The first of the rows at one time and place counts, and the others repeat it: none that is left out does.
    assert sum(dataset.query("select sum(total_ticks) from user_cell")[0]) == 100 * (sum(used[1::2]) + used[0])
    assert prepared_rows(DATE, dataset.config) == {"kept": 4, "duplicate": 2, "left_out": 10}
    assert dataset.query("select count(*) from raw_record") == [(6,)]


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_both_engines_leave_out_the_same_rows_of_each_day(dataset: Dataset, engine: str) -> None:
    dataset.config_file.write_text(CONFIG + engine)
    only(dataset)
    dataset.write("a.csv", csv([*rows(), *rows(["pm25", "o3"], "2026-01-16"), *rows(["pm25", "o3"], "soon")[3:]]))
    prepare_day(DATE, dataset.config, by_itself)
    assert prepared_rows(DATE, dataset.config) == {"kept": 4, "duplicate": 2, "left_out": 10}
    forget_days([DATE], dataset.config)
    assert dataset.query("select count(*) from quarantine where reason = 'left_out'") == [(3,)]
    (dataset.folder / "raw/a.csv").write_text(csv([*rows(), *rows(["pm25", "o3"], "2026-01-16")]) + "\n")
    prepare_day(DATE.replace(day=16), dataset.config, by_itself)
    assert prepared_rows(DATE.replace(day=16), dataset.config) == {"kept": 2, "left_out": 2}


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_files_in_which_no_row_counts_are_files_of_the_day_too(dataset: Dataset, engine: str) -> None:
    assert engine in dataset.config_file.read_text()
    only(dataset)
    as_csv(dataset)
    others = [*rows(["o3"] * 4), *rows(["no2"], DATE.replace(day=16))]
    dataset.write("others.csv", csv([{**one, "bus": "s9"} for one in others]))
    prepare_day(DATE, dataset.config, by_itself)
    assert prepared_rows(DATE, dataset.config) == {"kept": 4, "duplicate": 2, "left_out": 10 + 8}
    assert forget_days([DATE], dataset.config).files == ["raw/a.csv", "raw/others.csv"]
    assert dataset.query("select name from raw_file") == []


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_whole_number_is_the_same_where_it_went_through_a_floating_point_one(dataset: Dataset, form: str) -> None:
    """Whole numbers of which one is absent, as pandas writes them."""
    only(dataset, "{ kind = [70, 0] }")
    kinds: list[Any] = [70.0, 0.0, None, 7.0, 70.5, -70.0, 700.0, float("nan")]
    kinds += [] if form == "parquet" else ["70.01", " 70.0 ", "70.", "070.0"]
    some = rows(kinds)
    if form == "parquet":
        (dataset.folder / "raw").mkdir()
        pq.write_table(pa.Table.from_pylist(some), dataset.folder / "raw/a.parquet")
    else:
        text = csv(some) if form == "csv" else "".join(json.dumps(one) + "\n" for one in some)
        dataset.write(f"a.{form}", text)
    ingest(dataset)
    counted = {10.0, 11.0} | ({19.0} if form != "parquet" else set())
    assert {value for (value,) in dataset.query("select value from raw_record")} == counted


def test_of_several_columns_each_must_have_one_of_its_texts(dataset: Dataset) -> None:
    only(dataset, '{ kind = ["pm25", "pm10"], unit = 3 }')
    some = [{**one, "unit": number % 4} for number, one in enumerate(rows(["pm25", "o3", "pm10", "pm25"] * 2))]
    dataset.write("a.csv", csv(some))
    ingest(dataset)
    used = [one["speed"] for one in some if one["kind"] != "o3" and one["unit"] == 3]
    assert dataset.query("select list(value order by value) from raw_record") == [(used,)]


def test_a_day_with_no_row_that_counts_says_which_texts_are_meant(dataset: Dataset) -> None:
    only(dataset, '{ kind = "pm2.5" }')
    as_csv(dataset)
    why = r'16 left_out\); the files hold 2026-01-15 to .*The rows have none of pm2\.5 in "kind" \(columns\.only\):'
    with pytest.raises(NoRecords, match=why):
        dataset.prepare()
    with pytest.raises(NoRecords, match=r"2026-01-16 has no valid records; the files hold 2026-01-15 to 2026-01-15"):
        dataset.prepare(DATE.replace(day=16))


def test_what_is_left_out_neither_refuses_a_day_nor_hides_what_is_unusable(dataset: Dataset) -> None:
    only(dataset)
    bad = [{**one, "lat": ""} for one in rows(["pm25"])]
    dataset.write("a.csv", csv([*rows(["o3"] * 50), *rows(["pm25"] * 5), *bad]))
    with pytest.raises(
        BadInput, match=r"2 of 8 rows are unusable \(2 place_unreadable; not counted: 100 left_out, 4 duplicate\)"
    ):
        dataset.prepare()


def test_a_file_without_the_column_is_refused_where_files_have_columns(dataset: Dataset) -> None:
    only(dataset)
    dataset.write("a.csv", HEADER + f"b1,{DATE}T08:00:00Z,47.05,8.31,30\n")
    with pytest.raises(BadInput, match=r'no column "kind" \(columns\.only\)'):
        ingest(dataset)


def test_the_report_says_how_many_rows_were_left_out(dataset: Dataset) -> None:
    only(dataset)
    as_csv(dataset)
    dataset.release()
    report = report_day(DATE, {}, dataset.config)
    assert (report.n_rows, report.n_kept, report.n_left_out, report.quarantined) == (16, 4, 10, {"duplicate": 2})


def test_other_texts_are_read_anew_and_are_in_the_settings_that_the_ledger_records(dataset: Dataset) -> None:
    as_csv(dataset)
    dataset.prepare()
    assert prepared_rows(DATE, dataset.config)["kept"] == 9
    assert "only" not in dataset.config.public_settings()["columns"]
    only(dataset, '{ kind = ["no2"] }')
    dataset.prepare()
    assert prepared_rows(DATE, dataset.config) == {"kept": 2, "left_out": 14}
    recorded = dataset.config.public_settings()
    assert recorded["columns"]["only"] == {"kind": ["no2"]}
    assert dataset.config.with_settings(recorded) == dataset.config


def test_with_other_rows_a_release_is_of_another_quantity_and_nothing_is_learned_from_those_before(
    dataset: Dataset,
) -> None:
    only(dataset)
    as_csv(dataset)
    dataset.run_day()
    entries, later = read_entries(dataset.config), DATE.replace(day=16)
    assert len(chain_before(later, [], entries, dataset.config)) == 1
    dataset.edit('"pm25"', '"no2"')
    assert chain_before(later, [], entries, dataset.config) == []
    before, now = releases(entries)[0].settings, dataset.config.public_settings()
    assert changed_value(before, now) == ["columns.only.kind from pm25 to no2"]


def test_without_the_warehouse_the_rows_that_count_are_compared(dataset: Dataset) -> None:
    only(dataset)
    as_csv(dataset)
    dataset.run_day()
    (dataset.folder / "store" / "private" / "warehouse.duckdb").unlink()
    dataset.write("late.csv", csv([{**one, "bus": "b9"} for one in rows(["pm25", "o3"])]))
    assert count_late_records.fn(DATE, dataset.config) == ({DATE: 2}, [])


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ('{ speed = "30" }', "only must not name speed, the value: which rows count is public"),
        ('{ bus = "b1" }', "must name different columns"),
        ('{ "{file}" = "b1" }', "only user may be {file}"),
        ('{ "{date}" = "2026-01-15" }', "only time may be {date}"),
        ('"pm25"', 'must name columns and their texts, as in { parameter = "pm25" }'),
        ("{ kind = [] }", '"kind" must have a text, or a list of texts'),
        ("{ kind = true }", '"kind" must have a text, or a list of texts'),
        ('{ kind = " " }', '"kind" must have a text, or a list of texts'),
        ('{ kind = "a\\u0007b" }', "must hold no control characters"),
    ],
)
def test_what_cannot_say_which_rows_count_is_refused(written: str, why: str) -> None:
    with pytest.raises(BadConfig) as caught:
        config_of(CONFIG.replace('value = "speed"', f'value = "speed"\nonly = {written}'), Path("a.toml"))
    assert why in str(caught.value)


def test_a_column_within_the_value_may_not_say_which_rows_count(dataset: Dataset) -> None:
    only(dataset, '{ "speed.kind" = "pm25" }')
    dataset.write("a.ndjson", json.dumps({**rows()[0], "speed": {"kind": "pm25"}}) + "\n")
    with pytest.raises(BadInput, match=r'"speed\.kind" \(columns\.only\) and columns\.value are parts of one another'):
        ingest(dataset)


@pytest.mark.parametrize("place", ['geometry = "at"', 'latitude = "at.lat"\nlongitude = "at.lon"'])
def test_where_places_are_private_no_part_of_them_may_say_which_rows_count(dataset: Dataset, place: str) -> None:
    text = dataset.config_file.read_text().replace('latitude = "lat"\nlongitude = "lon"', place)
    dataset.config_file.write_text(text.replace('value = "speed"', 'value = "{speed}"'))
    named = "at.coordinates[0]" if "geometry" in place else "at"
    dataset.edit("[value]", f'only = {{ "{named}" = "8.31" }}\n[value]')
    at = {"type": "Point", "coordinates": [8.31, 47.05], "lat": 47.05, "lon": 8.31}
    dataset.write("a.ndjson", "".join(json.dumps({**one, "at": at}) + "\n" for one in rows()))
    with pytest.raises(BadInput, match=r"\(columns\.only\) and columns\.(geometry|latitude) are parts of one another"):
        ingest(dataset)


@pytest.mark.parametrize("name", ["kind", "file_row_number"])
def test_a_parquet_column_that_the_engine_cannot_tell_from_another_is_refused(dataset: Dataset, name: str) -> None:
    only(dataset, f'{{ {name} = "pm25" }}')
    (dataset.folder / "raw").mkdir()
    some = [{"KIND": "pm25", **one, "file_row_number": one["kind"]} for one in rows()]
    pq.write_table(pa.Table.from_pylist(some), dataset.folder / "raw/a.parquet")
    with pytest.raises(BadInput, match=rf'column "{name}" has the same name as .*, but for capital letters; rename'):
        ingest(dataset)
