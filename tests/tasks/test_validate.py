import datetime as dt
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import h3
import pytest
from configurations import with_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CONFIG, DATE, HEADER, Campaign, Dataset, examples

from tasks.base import warehouse
from tasks.base.errors import BadInput, HexveilError
from tasks.occupancy.user_cells import build_occupancy
from tasks.records.judge.count_outcomes import rows_without_day
from tasks.records.judge.validate import validate_records
from tasks.records.read.ingest import ingest_records


def write_rows(dataset: Dataset, rows: list[str], name: str = "a.csv") -> None:
    dataset.write(name, HEADER + "".join(row + "\n" for row in rows))


def validate(dataset: Dataset, date: dt.date = DATE) -> None:
    ingest_records.fn(date, dataset.config)
    validate_records.fn(date, dataset.config)


def refusal(dataset: Dataset, date: dt.date = DATE) -> str:
    with pytest.raises(BadInput) as caught:
        validate(dataset, date)
    return str(caught.value)


GOOD = f"bus1,{DATE}T08:00:00Z,47.05,8.31,30"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f",{DATE}T08:00:00Z,47.05,8.31,30", "no_user"),
        (f"   ,{DATE}T08:00:00Z,47.05,8.31,30", "no_user"),
        (f"bus1,{DATE}T08:01:00Z,,8.31,30", "place_unreadable"),
        (f"bus1,{DATE}T08:01:00Z,north,8.31,30", "place_unreadable"),
        (f"bus1,{DATE}T08:01:00Z,nan,8.31,30", "place_unreadable"),
        (f"bus1,{DATE}T08:01:00Z,inf,8.31,30", "place_outside_world"),
        (f"bus1,{DATE}T08:01:00Z,91,8.31,30", "place_outside_world"),
        (f"bus1,{DATE}T08:01:00Z,47,181,30", "place_outside_world"),
        (f"bus1,{DATE}T08:01:00Z,0.0,-0.0,30", "place_zero"),
        (f"bus1,{DATE}T08:01:00Z,12,8.31,30", "place_outside_area"),
        ("bus1,soon,47.05,8.31,30", "time_unreadable"),
        ("bus1,2025-01-15T08:01:00Z,47.05,8.31,30", "time_outside_day"),
        (GOOD.replace(",30", ",99"), "duplicate"),
    ],
)
def test_a_rule_on_user_place_or_time_quarantines_a_record_with_its_reason(
    dataset: Dataset, row: str, reason: str
) -> None:
    dataset.set(max_quarantined_share=1, south=40)
    dataset.set(files=["raw/{date}.csv"])
    write_rows(dataset, [GOOD, row], f"{DATE}.csv")
    validate(dataset)
    assert dataset.query("select reason, row_number from quarantine") == [(reason, 2)]
    assert dataset.query(f"select user_id, value_ticks from record('{DATE}')") == [("bus1", 3000)]


SIZES = ("inf", "12", "12.000001", "90", "90.000001", "180", "180.000001")
PLACES = [
    "",
    "nan",
    "0",
    *(sign + size for sign in ("", "-") for size in SIZES),
]  # no two are equal: nobody is a duplicate
TIMES = ["soon", f"{DATE}T00:00:00Z", f"{DATE}T23:59:59.999999Z", "2026-01-16T00:00:00Z", "2026-01-14T23:59:59.999999Z"]


def first_broken_rule(user: str, time: str, latitude: str, longitude: str, area: int) -> str | None:
    """Return which rule a record breaks first, told in Python; the area reaches as many degrees from 0 either way."""
    north, east = (abs(float(one or "nan")) for one in (latitude, longitude))
    broken = {
        "time_unreadable": time == "soon",
        "time_outside_day": not time.startswith(f"{DATE}T"),
        "no_user": not user,
        "place_unreadable": math.isnan(north) or math.isnan(east),
        "place_outside_world": north > 90 or east > 180,
        "place_zero": north == east == 0,
        "place_outside_area": north > min(area, 90) or east > area,
    }
    return next((rule for rule, is_broken in broken.items() if is_broken), None)


@pytest.mark.parametrize(
    ("delimiter", "row", "said"),
    [
        (";", f"bus1;{DATE}T08:00:00Z;47,05;8,31;30", 'If places are written like 47,05, set dataset.decimal = ","'),
        (",", f"bus1,{DATE}T08:00:00Z,47,05,8,31,30", "A number with a decimal comma must be in quotes"),
    ],
)
def test_a_decimal_comma_is_pointed_at(dataset: Dataset, delimiter: str, row: str, said: str) -> None:
    dataset.set(delimiter=delimiter)
    dataset.write("a.csv", HEADER.replace(",", delimiter) + f"{row}\n" * 9)
    assert said in refusal(dataset)


def test_a_decimal_point_is_pointed_at_where_a_comma_was_said(dataset: Dataset) -> None:
    dataset.set(decimal=",")
    write_rows(dataset, ["bus1,2026-01-15T08:00:00Z,47.05.1,8.31,30"])
    assert 'If places are written like 47.05, set dataset.decimal = "."' in refusal(dataset)


@pytest.mark.parametrize("area", [12, 180])
def test_whatever_else_is_wrong_the_first_rule_that_a_record_breaks_is_its_reason(dataset: Dataset, area: int) -> None:
    sides = f"south = {-min(area, 90)}\nnorth = {min(area, 90)}\nwest = {-area}\neast = {area}"
    dataset.edit("[privacy]", f"[validation]\nmax_quarantined_share = 1\n{sides}\n[privacy]")
    dataset.set(files=["raw/{date}.csv"])
    records = list(itertools.product(["bus1", ""], TIMES, PLACES, PLACES))
    write_rows(dataset, [",".join([*record, "30"]) for record in records], f"{DATE}.csv")
    validate(dataset)
    found = dict(dataset.query("select row_number, reason from quarantine"))
    expected = {number: first_broken_rule(*record, area) for number, record in enumerate(records, 1)}
    assert found == {number: rule for number, rule in expected.items() if rule}


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("value", "ticks", "repair"),
    [
        ("12.34", 1234, None),
        ("12.345", 1235, None),
        ("0", 0, None),
        ("100", 10000, None),
        ("", 5000, "missing"),
        ("fast", 5000, "missing"),
        ("NaN", 5000, "missing"),
        ("-3", 0, "below_lower"),
        ("-inf", 0, "below_lower"),
        ("291", 10000, "above_upper"),
        ("2e400", 10000, "above_upper"),
        ("inf", 10000, "above_upper"),
    ],
)
def test_a_value_is_never_a_reason_it_is_clamped_and_counted_where_only_the_owner_sees(
    dataset: Dataset, value: str, ticks: int, repair: str | None
) -> None:
    write_rows(dataset, [f"bus1,{DATE}T08:00:00Z,47.05,8.31,{value}"])
    validate(dataset)
    assert dataset.query(f"select value_ticks from record('{DATE}')") == [(ticks,)]
    assert dataset.query("select repair, n_records from value_repair") == ([(repair, 1)] if repair else [])


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("value", "ticks", "repair"),
    [
        ("255", 5000, "missing"),
        ("255.0", 5000, "missing"),
        ("-1", 5000, "missing"),
        ("254.9", 10000, "above_upper"),
        ("10", 1609, None),
        ("0", 0, None),
        ("62.1", 9994, None),
        ("62.2", 10000, "above_upper"),
        ("-0.5", 0, "below_lower"),
    ],
)
def test_a_sentinel_of_the_source_means_missing_and_other_values_are_brought_to_the_unit(
    dataset: Dataset, value: str, ticks: int, repair: str | None
) -> None:
    dataset.set(factor=1.609344, missing=[255, -1])
    write_rows(dataset, [f"bus1,{DATE}T08:00:00Z,47.05,8.31,{value}"])
    validate(dataset)
    assert dataset.query(f"select value_ticks, was_missing from record('{DATE}')") == [(ticks, repair == "missing")]
    assert dataset.query("select repair, n_records from value_repair") == ([(repair, 1)] if repair else [])


FIELD = st.text(st.characters(codec="utf-8", exclude_characters='\r\n\x00"'), max_size=12)
NUMBER_LIKE = st.one_of(FIELD, st.floats(allow_nan=True, allow_infinity=True).map(str), st.just(""))


def outcomes(folder: Path, values: list[str]) -> tuple[list[Any], list[Any]]:
    """Return which rows of six values survive in a new dataset, and why the others do not."""
    (folder / "dataset.toml").write_text(with_settings(CONFIG, max_quarantined_share=1))
    dataset = Dataset(folder)
    rows = [f'bus{n % 4},{DATE}T08:0{n % 5}:00Z,{47 + n % 2},8.3,"{value}"' for n, value in enumerate(values)]
    write_rows(dataset, [*rows, f"bus0,{DATE}T08:00:00Z,47,8.3,1"])
    validate(dataset)
    kept = dataset.query(
        f"select slot_start, h3_cell, user_id, count(*) from record('{DATE}') group by all order by all"
    )
    return kept, dataset.query("select row_number, reason from quarantine order by all")


@examples(4, 40)
def test_which_records_survive_does_not_depend_on_any_value(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int, campaign: Campaign
) -> None:
    """Quoted fields of any text, duplicates among the rows: users, cells and counts stay the same."""
    plain = outcomes(tmp_path_factory.mktemp("plain"), ["1"] * 6)

    @settings(max_examples=campaign.size(n_examples))
    @given(values=st.lists(NUMBER_LIKE, min_size=6, max_size=6))
    def same(values: list[str]) -> None:
        assert outcomes(tmp_path_factory.mktemp("survival"), values) == plain

    same()


def test_of_duplicates_the_first_by_file_name_and_row_is_kept_whatever_was_read_first(dataset: Dataset) -> None:
    write_rows(dataset, [GOOD.replace(",30", ",2")], "b.csv")
    validate(dataset)
    write_rows(dataset, [GOOD.replace(",30", ",1"), GOOD.replace(",30", ",3")], "a.csv")
    validate(dataset)
    assert dataset.query(f"select value_ticks from record('{DATE}')") == [(100,)]
    assert dataset.query("select count(*) from quarantine") == [(2,)]


def test_rows_add_up_for_the_file_and_for_each_of_its_days(dataset: Dataset) -> None:
    dataset.set(max_quarantined_share=1)
    next_day = DATE + dt.timedelta(days=1)
    rows = [GOOD, GOOD, GOOD.replace(str(DATE), str(next_day)), "bus,never,1,1,1", "short", f",{DATE}T08:00:00Z,1,1,1"]
    write_rows(dataset, rows)
    for date in (DATE, next_day, DATE):
        validate(dataset, date)
    assert dataset.query("select n_rows, n_malformed, n_undated from raw_file") == [(6, 1, 1)]
    for date in (DATE, next_day):
        assert dataset.query(f"select count(*) from record('{date}')") == [(1,)]
    assert dataset.query("select reason, local_date, count(*) from quarantine group by all order by all") == [
        ("duplicate", DATE, 1),
        ("malformed_row", None, 1),
        ("no_user", DATE, 1),
        ("time_unreadable", None, 1),
    ]


def test_too_large_a_share_of_unusable_rows_fails_the_day_and_says_why(dataset: Dataset) -> None:
    write_rows(dataset, [GOOD, f"bus3,{DATE}T09:00:00Z,0,0,1", f",{DATE}T09:00:00Z,47,8,1", GOOD])
    message = refusal(dataset)
    assert "2 of 3 rows are unusable (1 no_user, 1 place_zero; not counted: 1 duplicate), more than" in message
    assert "nothing was spent" in message


def test_too_many_rows_without_a_day_fail_the_file_and_say_why(dataset: Dataset) -> None:
    write_rows(dataset, [GOOD, "bus2,never,47,8,1", "short"])
    assert "1 malformed rows and 1 with a time that cannot be read, of 3" in refusal(dataset)


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize(("n_without", "fails"), [(1, False), (9, False), (20, True)])
def test_snapshots_are_judged_together(n_without: int, fails: bool, dataset: Dataset) -> None:
    dataset.edit("[columns]", 'records = "buses"\n[columns]')
    dataset.set(files=["raw/*.json"], max_quarantined_share=0.3)
    for number in range(20):
        time = "never" if number < n_without else f"{DATE}T08:00:{number:02}Z"
        bus = {"bus": "b1", "time": f"{DATE}T07:00:{number:02}Z", "lat": 47.0, "lon": 8.0, "speed": 1}
        dataset.write(f"{number}.json", json.dumps({"buses": [bus, {**bus, "bus": "b2", "time": time}]}))
    if fails:
        with pytest.raises(BadInput, match=r"\.json and 19 others: 0 malformed rows and 20 with a time .* of 40"):
            dataset.prepare()
    else:
        dataset.prepare()
        found = rows_without_day(DATE, dataset.config)
        assert list(found.items())[4:] == [("5 other files", (0, 5))] * (n_without == 9)
        assert sum(n for _, n in found.values()) == n_without


def test_a_few_malformed_rows_in_a_file_of_many_days_fail_none_of_them(dataset: Dataset) -> None:
    days = [DATE + dt.timedelta(days=n) for n in range(10)]
    rows = [GOOD.replace(str(DATE), str(day)).replace("bus1", f"bus{bus}") for day in days for bus in range(10)]
    write_rows(dataset, [*rows, "short", "short"])
    for day in days:
        validate(dataset, day)


def test_duplicates_never_fail_a_day(dataset: Dataset) -> None:
    write_rows(dataset, [GOOD] * 50)
    validate(dataset)
    assert dataset.query(f"select count(*) from record('{DATE}')") == [(1,)]


def test_a_day_that_is_lost_as_a_whole_is_refused_whatever_share_is_allowed(dataset: Dataset) -> None:
    dataset.set(max_quarantined_share=1, south=40, north=50)
    dataset.write("a.csv", HEADER + f"bus1,{DATE}T08:00:00Z,8,47,1\n")
    with pytest.raises(BadInput, match="swapped"):
        dataset.prepare()


def test_swapped_coordinates_are_guessed_at(dataset: Dataset) -> None:
    dataset.set(south=46, north=48, west=7, east=9)
    write_rows(dataset, [f"bus{n},{DATE}T08:00:00Z,8.31,47.05,30" for n in range(5)])
    assert "columns.latitude and columns.longitude swapped" in refusal(dataset)


def test_a_day_without_records_says_which_days_there_are(dataset: Dataset) -> None:
    write_rows(dataset, [GOOD])
    message = refusal(dataset, DATE + dt.timedelta(days=3))
    assert "2026-01-18 has no valid records; the files hold 2026-01-15 to 2026-01-15" in message


def test_a_file_with_a_header_alone_is_an_empty_day(dataset: Dataset) -> None:
    write_rows(dataset, [])
    assert "has no valid records; the files hold no readable day" in refusal(dataset)


def test_cells_are_those_of_the_reference_library(dataset: Dataset) -> None:
    places = random.Random(5)
    points = [(places.uniform(-89, 89), places.uniform(-179, 179)) for _ in range(200)]
    write_rows(dataset, [f"bus{n},{DATE}T08:00:00Z,{lat!r},{lon!r},1" for n, (lat, lon) in enumerate(points)])
    validate(dataset)
    expected = {f"bus{n}": h3.str_to_int(h3.latlng_to_cell(lat, lon, 7)) for n, (lat, lon) in enumerate(points)}
    assert dict(dataset.query(f"select user_id, h3_cell from record('{DATE}')")) == expected


@pytest.mark.parametrize(
    ("zone", "date", "n_slots", "first"),
    [
        ("America/Chicago", dt.date(2016, 3, 13), 23, "2016-03-13T06:00:00+00:00"),
        ("America/Chicago", dt.date(2016, 11, 6), 25, "2016-11-06T05:00:00+00:00"),
        ("Asia/Kolkata", dt.date(2016, 11, 6), 24, "2016-11-05T18:30:00+00:00"),
        ("Africa/Cairo", dt.date(2024, 4, 26), 23, "2024-04-25T22:00:00+00:00"),
    ],
)
def test_a_day_has_the_slots_of_its_local_hours(
    dataset: Dataset, zone: str, date: dt.date, n_slots: int, first: str
) -> None:
    dataset.set(timezone=zone)
    start = dt.datetime.fromisoformat(first)
    instants = [start + dt.timedelta(minutes=20 * n) for n in range(-3, 26 * 3)]
    write_rows(dataset, [f"bus1,{instant.isoformat()},47,8.3,1" for instant in instants])
    validate(dataset, date)
    slots = dataset.query(f"select distinct epoch(slot_start)::bigint from record('{date}') order by all")
    assert slots == [(int(start.timestamp()) + 3600 * n,) for n in range(n_slots)]


def test_a_slot_ends_just_before_the_next_begins(dataset: Dataset) -> None:
    dataset.set(timezone="Asia/Kathmandu")
    dataset.set(slot_minutes=45)
    start = dt.datetime(2026, 1, 14, 18, 15, tzinfo=dt.UTC)
    edges = [start + n * dt.timedelta(minutes=45) for n in range(32)]
    instants = [edge + dt.timedelta(microseconds=us) for edge in edges for us in (0, 1, 2_699_999_999)]
    write_rows(dataset, [f"bus1,{instant.isoformat()},47,8.3,1" for instant in instants])
    validate(dataset)
    slots = dataset.query(f"select epoch_us(slot_start), count(*) from record('{DATE}') group by all order by all")
    assert slots == [(int(edge.timestamp()) * 1_000_000, 3) for edge in edges]


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("column", "broken", "rule"),
    [
        ("value_ticks", "if(value = 30, 102999, value_ticks)", r"value_ticks: in_range\(0, 10000\)"),
        ("value_ticks", "if(value = 30, -102999, value_ticks)", r"value_ticks: in_range\(0, 10000\)"),
        ("value_ticks", "if(value = 30, null, value_ticks)", r"value_ticks: not_nullable"),
        ("value_ticks", "value_ticks::integer", r"value_ticks: dtype\('Int64'\)"),
        ("h3_cell", "if(value = 30, 0, h3_cell)::ubigint", r"h3_cell: greater_than\(0\)"),
        ("user_id", "if(value = 30, '', user_id)", r"user_id: str_length\(1, None\)"),
        ("user_id", "if(value = 30, null, user_id)", r"user_id: not_nullable"),
        ("slot_start", "if(value = 30, null, slot_start)", r"slot_start: not_nullable"),
    ],
)
def test_one_record_that_breaks_the_contract_stops_the_day_without_showing_it(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, column: str, broken: str, rule: str
) -> None:
    """The record of 30 stands among others of its user and cell, so that it shows in none of their sums."""
    write_rows(dataset, [GOOD.replace(":00Z,", f":{n:02}Z,").replace(",30", f",{28 + n}") for n in range(5)])
    validate(dataset)
    original = warehouse.statement
    view = original("scratch/record")
    head, placed = view[view.index("create") :].split(" as table\n")
    placed = placed.replace("    user_id,", "    user_id,\n    value,")
    replaced = f"{head} as table select * exclude (value) replace ({broken} as {column}) from ({placed})"
    monkeypatch.setattr(warehouse, "statement", lambda name: replaced if name == "scratch/record" else original(name))
    with pytest.raises(HexveilError, match=rf"record does not match its schema: {rule} \(1 times\)") as caught:
        build_occupancy.fn(DATE, dataset.config)
    assert "bus1" not in str(caught.value)
    assert "102999" not in str(caught.value)
    assert dataset.query("select count(*) from user_cell") == [(0,)]


RECORDS = "record($date, apart := $apart)"


@pytest.mark.parametrize(
    "defective", [f"(from {RECORDS} union all from {RECORDS})", f"(from {RECORDS} where value_ticks <> 3000)"]
)
def test_an_occupancy_array_that_holds_a_record_twice_or_lacks_one_stops_the_day(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, defective: str
) -> None:
    write_rows(dataset, [GOOD, GOOD.replace("08:", "09:").replace(",30", ",40")])
    validate(dataset)
    original = warehouse.statement
    wrong = original("scratch/day_pair").replace(RECORDS, defective)
    monkeypatch.setattr(warehouse, "statement", lambda name: wrong if name == "scratch/day_pair" else original(name))
    with pytest.raises(HexveilError, match="does not hold as many records as are valid"):
        build_occupancy.fn(DATE, dataset.config)
    assert dataset.query("select count(*) from user_cell") == [(0,)]


def test_the_records_of_a_day_stay_as_they_were_validated_until_they_are_again(dataset: Dataset) -> None:
    next_day = DATE + dt.timedelta(days=1)
    write_rows(dataset, [GOOD, GOOD.replace(str(DATE), str(next_day))])
    for date in (DATE, next_day):
        validate(dataset, date)

    def ticks() -> list[int]:
        return [
            row[0] for date in (DATE, next_day) for row in dataset.query(f"select value_ticks from record('{date}')")
        ]

    dataset.set(tick=0.1)
    validate(dataset, next_day)
    assert ticks() == [3000, 300]
    write_rows(dataset, [GOOD.replace("T08", "T09")], "b.csv")
    ingest_records.fn(DATE, dataset.config)
    assert ticks() == [3000, 300]
