"""Ids that went through a float are no ids in any format; date and time may be two columns of CSV."""

import json

import polars as pl
import pytest
from reading import ingest, refusal
from support import DATE, HEADER, Dataset

from tasks.base.errors import BadConfig, BadInput

FLOATS = ["17.0", "17.", " 17.00 ", "-3.0", "17,0", "3.5E+14", "3.5e14", "1e+21", "3,5E+14", "350000000000000.0"]
IDS = ["17", "017", "4e1234", "471e50", "3e5", "1.2.0", "v1.0", "12.5", "47.1", "a,0", "2026-01-15", "0", "ünï.0"]


def users(dataset: Dataset) -> list[str | None]:
    return [user for (user,) in dataset.query("select user_id from raw_record order by row_number")]


def written(dataset: Dataset, form: str, ids: list[str]) -> None:
    records = [{"bus": one, "time": f"{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": 3} for one in ids]
    if form == "csv":
        dataset.write("a.csv", HEADER + "".join(f'"{one}",{DATE}T08:00:00Z,47.05,8.31,3\n' for one in ids))
    elif form == "parquet":
        pl.DataFrame(records).write_parquet(dataset.write("a.parquet", b""))
    else:
        dataset.write("a.ndjson", "\n".join(map(json.dumps, records)) + "\n")


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_text_that_went_through_a_float_is_no_id_in_any_format(dataset: Dataset, form: str) -> None:
    written(dataset, form, [*FLOATS, *IDS])
    ingest(dataset)
    assert users(dataset) == [None] * len(FLOATS) + IDS


def test_a_day_of_such_ids_is_refused_with_what_to_do(dataset: Dataset) -> None:
    written(dataset, "csv", [f"{1000 + n}.0" for n in range(30)])
    with pytest.raises(BadInput, match=r"30 no_user.*12\.0 or 3\.5E\+14 went through a floating-point number"):
        dataset.prepare()
    written(dataset, "csv", ["bus1", "bus2"] * 5 + ["7.0"])
    with pytest.raises(BadInput, match="Write ids as whole numbers or text"):
        dataset.prepare()


TWO = "bus,date,time,lat,lon,speed\n"


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    ("date", "time", "form"),
    [
        ("2026-01-15", "08:30:15", None),
        ("2026-01-15", "08:30:15Z", None),
        ("01/15/2026", "8:30:15 AM", "%m/%d/%Y %I:%M:%S %p"),
        ("15.01.2026", "08:30:15", "%d.%m.%Y %H:%M:%S"),
        ("20260115", "083015", "%Y%m%d %H%M%S"),
    ],
)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_date_and_time_may_be_two_columns(
    dataset: Dataset, date: str, time: str, form: str | None, is_swapped: bool
) -> None:
    dataset.set(time=["date", "time"], time_format=form)
    cells = f"bus1,{time},{date}" if is_swapped else f"bus1,{date},{time}"
    header = "bus,time,date,lat,lon,speed\n" if is_swapped else TWO
    dataset.write("a.csv", f"{header}{cells},47,8,30\nbus1,,{date},47,8,30\nbus1,{date},,47,8,30\n")
    ingest(dataset)
    read = dataset.query("select observed_at = timestamptz '2026-01-15 08:30:15Z' from raw_record order by row_number")
    assert read == [(True,), (None,), (None,)], "a date without a time is no midnight"


def test_of_two_columns_both_must_be_there_and_they_are_read_in_json_too(dataset: Dataset) -> None:
    dataset.set(time=["date", "time"])
    dataset.write("a.csv", HEADER + f"bus1,{DATE}T08:00:00Z,47,8,30\n")
    assert 'no column "date" (columns.time)' in refusal(dataset)
    (dataset.folder / "raw" / "a.csv").unlink()
    dataset.write("a.ndjson", '{"bus":"b","date":"2026-01-15","time":"08:00:00","lat":47,"lon":8,"speed":1}\n')
    ingest(dataset)
    assert dataset.query("select observed_at = timestamptz '2026-01-15 08:00:00Z' from raw_record") == [(True,)]
    for wrong in ({"time": ["time", "time"]}, {"time": ["date"]}):
        dataset.set(**wrong)
        with pytest.raises(BadConfig):
            _ = dataset.config
