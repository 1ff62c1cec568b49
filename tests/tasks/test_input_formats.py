"""An input format is one value: a new one is a module, as here, and a row of all_formats.py."""

from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from reading import ROW, ingest, rows_of
from support import DATE, HEADER, Dataset

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_source import Format
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats import all_formats
from tasks.records.input_formats.columns import roles_of
from tasks.records.input_formats.incoming import keep_rows
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look
from tasks.records.recorder import recorder

MARK = "%piped "


def lines_of(path: Path) -> list[list[str]]:
    """Return the header and the records of a file in the format of these tests."""
    return [line.split("|") for line in path.read_text().removeprefix(MARK).splitlines()]


def look(path: Path, _: Given) -> Look:
    header, *records = lines_of(path)

    def column(name: str) -> list[str]:
        return [one[header.index(name)] for one in records]

    return Look(PIPED, header, column, column)


def read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    header, *records = lines_of(path)
    columns: dict[str, Any] = {
        "row_number": range(1, len(records) + 1),
        "is_whole": [len(one) == len(header) for one in records],
    }
    for position, role in roles_of(path, header, "mend it", config).items():
        written = [one[position] if len(one) == len(header) else None for one in records]
        is_text = role in ("user", "time")
        columns[role] = written if is_text else [None if one is None else float(one) for one in written]
    return keep_rows(connection, path, PIPED.name, pa.table(columns), file, config)


PIPED = InputFormat(
    name="piped",
    endings=(".piped",),
    domain="between bars any text",
    begins=lambda start: start.startswith(MARK.encode()),
    look=look,
    count=lambda path, _: len(lines_of(path)) - 1,
    read=read,
)


@pytest.fixture(autouse=True)
def with_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_formats, "INPUT_FORMATS", (PIPED, *all_formats.INPUT_FORMATS))


def piped(csv: str) -> str:
    return MARK + csv.replace(",", "|")


def test_a_day_in_a_new_format_is_read_and_published_as_one_in_csv(busy_dataset: Dataset) -> None:
    csv = busy_dataset.folder / "raw" / "day.csv"
    ingest(busy_dataset)
    records = rows_of(busy_dataset)
    busy_dataset.write("day.piped", piped(csv.read_text()))
    csv.unlink()
    busy_dataset.set(path="store-piped")
    ingest(busy_dataset)
    assert rows_of(busy_dataset) == records
    busy_dataset.run_day()
    assert (busy_dataset.config.storage_path / "published" / f"date={DATE}" / "statistics.csv").exists()


def test_its_rows_are_counted_and_those_that_are_none_kept_count_of(dataset: Dataset) -> None:
    dataset.write("a.piped", piped(HEADER + ROW + "bus2,short\n"))
    ingest(dataset)
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(2, 1)]
    assert dataset.query("select line_number, reason from quarantine") == [(2, "malformed_row")]


def test_init_reads_its_fields(dataset: Dataset) -> None:
    path = dataset.write("a.piped", piped(HEADER + ROW))
    found = propose_source([path], dataset.folder, Given())
    columns = {"user": "bus", "time": "time", "latitude": "lat", "longitude": "lon", "value": "speed"}
    assert (found.missing, found.settings["columns"], found.date) == ([], columns, DATE)
    assert found.reasons[0] == "the files are piped, by their names"


def test_the_recorder_names_its_snapshots() -> None:
    assert recorder._ending(piped(HEADER + ROW).encode(), set()) == ".piped"


def test_settings_name_each_format_that_the_table_has() -> None:
    assert set(get_args(Format)) == {one.name for one in all_formats.INPUT_FORMATS} - {PIPED.name}
