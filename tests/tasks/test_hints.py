"""What is said of a day that cannot be used follows the reason, and what is said of a file says what it has."""

import json
import os
from pathlib import Path

import polars as pl
import pytest
from reading import ROW, ingest, refusal, rows_of
from support import DATE, Dataset

from tasks.base.errors import BadInput
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given
from tasks.records.judge.hints import OF_DAY

HEADER = "bus,time,lat,lon,speed\n"


HINTS = [
    (ROW.replace("bus1", ""), 'They have nothing in columns.user = "bus"'),
    (ROW.replace("47.05", "5234000"), "if they are metres of a projection, convert them"),
    (ROW.replace("8.31", "286.5"), "if these go to 360, set columns.longitude_to = 360"),
    (ROW.replace("47.05,8.31", "0,0"), "They have 0 in columns.latitude"),
    (ROW.replace("47.05,8.31", "-12,-8"), "and the area in [validation]"),
    (ROW.replace("47.05", "north"), "set dataset.decimal"),
    (ROW.replace("47.05,8.31", "POINT (8 47),POINT (8 47)"), "is a column for columns.geometry"),
    (ROW.replace("30\n", "30,x,y\n"), "If rows end in a delimiter, the header must end in one too"),
    (ROW.replace(f"{DATE}T08:00:00Z", "08:00:00"), "columns.time names both"),
    (ROW.replace("Z,", " BST,"), "Of zones in them are read offsets, UTC, GMT and names such as Europe/Paris"),
    (ROW.replace(f"{DATE}", "2026-01-19"), OF_DAY),
]


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("row", "said", "n_good", "dated"),
    [(*one, *given) for one in HINTS for given in ((0, False), (1, True))] + [(*HINTS[-1], 0, True)],
)
def test_the_hint_follows_the_reason(row: str, said: str, n_good: int, dated: bool, dataset: Dataset) -> None:
    name = f"{DATE}.csv" if dated else "a.csv"
    dataset.set(files=["raw/{date}.csv" if dated else "raw/*.csv"])
    dataset.edit("[value]", "[validation]\nsouth = 0.0\n[value]")
    dataset.write(name, HEADER + ROW * n_good + row * 3)
    with pytest.raises(BadInput) as caught:
        dataset.prepare()
    assert said in str(caught.value)
    assert (OF_DAY in str(caught.value)) == (said == OF_DAY)


def test_a_folder_that_may_not_be_read_is_named(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.set(files=["raw/*/{date}/*.csv"])
    closed = dataset.folder / "raw" / "bus"
    closed.mkdir(parents=True)
    assert "no file for" in refusal(dataset)
    monkeypatch.setattr(os, "access", lambda folder, _: Path(folder) != closed)
    assert f"{closed}: you may not read this folder" in refusal(dataset)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.ndjson", "a.json"])
def test_a_wrong_column_lists_the_columns(name: str, dataset: Dataset) -> None:
    dataset.set(value="pace", files=["raw/*"])
    row = {"bus": "b", "time": f"{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": 30}
    path = dataset.write(name, HEADER + ROW)
    if name == "a.parquet":
        pl.DataFrame([row]).write_parquet(path)
    elif name != "a.csv":
        path.write_text(json.dumps([row] * 20 if name == "a.json" else row) + "\n")  # fewer of a snapshot do not tell
    assert "bus, time, lat, lon, speed" in refusal(dataset)


@pytest.mark.parametrize("said", ["sep=;", "SEP=,", "sep=\t"])
def test_a_line_that_says_the_delimiter_is_named(said: str, dataset: Dataset) -> None:
    dataset.write("a.csv", f"{said}\r\n{HEADER}{ROW}")
    expected = "its first line only says what the delimiter is, and must be the header; remove it"
    assert expected in refusal(dataset)
    with pytest.raises(BadInput, match=expected):
        propose_source([dataset.folder / "raw" / "a.csv"], dataset.folder, Given())


def test_a_column_that_is_in_the_path_alone_is_said_to_be_there(dataset: Dataset) -> None:
    dataset.set(files=["raw/**/a.*"], user="vehicle")
    (dataset.folder / "raw" / "vehicle=12").mkdir(parents=True)
    dataset.write("vehicle=12/a.csv", HEADER + ROW)
    assert "it is in the path alone, of which columns.time can have {date} and {hour}" in refusal(dataset)


def test_rows_that_end_in_a_delimiter_are_read(dataset: Dataset) -> None:
    for name, header in (("a.csv", HEADER), ("b.csv", HEADER.replace("\n", ",\n"))):
        dataset.write(name, header + ROW.replace("\n", ",\n"))
    ingest(dataset)
    assert [row[2:] for row in rows_of(dataset)] == [(47.05, 8.31, 30)] * 2
