import csv
import datetime as dt
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import ROW, ingest, refusal, rows_of
from support import DATE, HEADER, Dataset

from tasks.base import warehouse
from tasks.base.errors import TemporaryFailure
from tasks.records.read.ingest import ingest_records
from tasks.upkeep.forget import forget_days


def test_every_format_gives_the_same_records(dataset: Dataset) -> None:
    records = [
        {
            "bus": f"bus{n}",
            "time": f"{DATE}T08:0{n}:00Z",
            "lat": 47.0 + n,
            "lon": 8.5,
            "speed": None if n == 3 else n / 7,
        }
        for n in range(6)
    ]
    frame = pl.DataFrame(records)
    (dataset.folder / "raw").mkdir()
    raw = dataset.folder / "raw"
    contents = {}
    frame.write_csv(raw / "a.csv")
    frame.write_parquet(raw / "a.parquet")
    frame.with_columns(pl.col("time").str.to_datetime(time_zone="UTC")).write_parquet(raw / "b.parquet")
    frame.write_ndjson(raw / "a.ndjson")
    (raw / "a.csv.gz").write_bytes(gzip.compress((raw / "a.csv").read_bytes()))
    (raw / "a.jsonl.gz").write_bytes(gzip.compress((raw / "a.ndjson").read_bytes()))
    for path in sorted(raw.iterdir()):
        dataset.set(files=[f"raw/{path.name}"])
        dataset.set(path=f"store-{path.name}")
        ingest(dataset)
        contents[path.name] = rows_of(dataset)
        dataset.edit(f'path = "store-{path.name}', 'path = "store')
        dataset.edit(f'files = ["raw/{path.name}"]', 'files = ["raw/*"]')
    assert len(contents) == 6
    assert all(rows == contents["a.csv"] for rows in contents.values())
    assert len(contents["a.csv"]) == 6


@pytest.mark.quick(3)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_parquet_times_of_any_unit_are_read(dataset: Dataset, unit: Any, zone: str | None) -> None:
    time = pl.Series([f"{DATE}T08:00:00", f"{DATE}T09:30:00"]).str.to_datetime(time_unit=unit, time_zone=zone)
    frame = pl.DataFrame({"bus": ["a", "b"], "time": time, "lat": 47.0, "lon": 8.0, "speed": 1.0})
    frame.write_parquet(dataset.write("a.parquet", b""))
    dataset.prepare()
    assert dataset.query("select sum(n_records) from user_cell") == [(2,)]


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["a.b", "$x", "/x", "[0]", "*", "~1", "0"])
def test_a_member_is_found_by_its_name_to_the_letter(dataset: Dataset, name: str) -> None:
    dataset.set(value=name)
    record = {"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, name: 30.5}
    dataset.write("a.ndjson", json.dumps(record) + "\n")
    ingest(dataset)
    assert dataset.query("select value from raw_record") == [(30.5,)]


def test_a_member_that_no_line_has_is_refused(dataset: Dataset) -> None:
    dataset.write("a.ndjson", json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8}) + "\n")
    assert 'no column "speed" (columns.value) in any line' in refusal(dataset)


@pytest.mark.parametrize(("column", "values"), [("bus", [1.0]), ("speed", [[1]]), ("speed", [{"a": 1}]), ("time", [5])])
def test_a_parquet_column_of_a_type_that_says_nothing_is_refused(
    dataset: Dataset, column: str, values: list[object]
) -> None:
    record = {"bus": ["a"], "time": [f"{DATE}T08:00:00Z"], "lat": [47.0], "lon": [8.0], "speed": [1.0]}
    path = dataset.write("a.parquet", b"")
    pl.DataFrame(record | {column: values}).write_parquet(path)
    assert f'column "{column}"' in refusal(dataset)


def test_line_breaks_within_quotes_are_counted_right(dataset: Dataset) -> None:
    dataset.write("a.csv", "note," + HEADER + f'"two\nlines",{ROW}\n\nplain,{ROW.replace("bus1", "bus2")}')
    ingest(dataset)
    assert dataset.query("select n_rows from raw_file") == [(2,)]


def test_a_row_with_the_wrong_number_of_fields_is_kept_count_of_with_its_line(dataset: Dataset) -> None:
    dataset.write(
        "a.csv", HEADER + ROW + "bus2,short\n" + ROW.replace("30", "31,extra,extra") + ROW.replace("08:", "09:")
    )
    ingest(dataset)
    assert dataset.query("select line_number, reason from quarantine order by all") == [
        (3, "malformed_row"),
        (4, "malformed_row"),
    ]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(4, 2)]


def test_malformed_rows_of_one_file_are_not_counted_in_the_next(dataset: Dataset) -> None:
    """All files of a day are read in one open warehouse, and what a file rejects is in temporary tables."""
    dataset.write("a.csv", HEADER + ROW + "bus2,short\n")
    dataset.write("b.csv", HEADER + ROW.replace("bus1", "bus3"))
    with warehouse.kept_open(dataset.config):
        ingest(dataset)
    assert dataset.query("select name, n_rows, n_malformed from raw_file order by name") == [
        ("raw/a.csv", 2, 1),
        ("raw/b.csv", 1, 0),
    ]


def test_a_line_that_is_not_an_object_is_kept_count_of_with_its_line(dataset: Dataset) -> None:
    good = json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, "speed": 3})
    dataset.write("a.ndjson", f"{good}\nnot json\n[1]\n{good.replace('3}', 'NaN}')}\n")
    ingest(dataset)
    assert dataset.query("select line_number from quarantine order by all") == [(2,), (3,)]
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(4, 2)]
    assert dataset.query("select count(*), count(value) from raw_record") == [(2, 2)]


def test_rows_read_are_those_that_an_independent_reader_counts(dataset: Dataset, city: Path) -> None:
    content = gzip.decompress(next(city.glob("*.gz")).read_bytes())
    dataset.write("city.csv", content)
    dataset.set(value="speed_kmh")
    ingest(dataset)
    counted = list(csv.reader(io.StringIO(content.decode())))[1:]
    n_rows, n_malformed = dataset.query("select n_rows, n_malformed from raw_file")[0]
    assert n_rows == len(counted)
    assert n_malformed == sum(len(row) != 5 for row in counted)


@pytest.mark.quick(10)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.csv",
            HEADER.replace("speed", "pace") + ROW,
            'no column "speed" (columns.value); check the header, [columns] and dataset.delimiter',
        ),
        ("a.csv", ROW, 'no header with the columns "bus", "time", "lat", "lon", "speed"; check dataset.delimiter'),
        (
            "a.csv",
            ROW.replace("bus1", "bus").replace("30", "time"),
            'no header with the columns "bus", "time", "lat", "lon", "speed"',
        ),
        ("a.csv", HEADER.replace("lat", "bus") + ROW, 'more than one column "bus" (columns.user)'),
        ("a.csv", "", "the file is empty, or its first line is"),
        ("a.csv.gz", gzip.compress((HEADER + ROW * 999).encode())[:-20], "truncated or damaged"),
        ("a.csv.gz", b"plain text", "truncated or damaged"),
        ("a.csv", (HEADER + ROW).encode() + b"bus\xff,2026-01-15T08:00:00Z,47,8,1\n", "not UTF-8; convert"),
        ("a.csv", (HEADER + ROW).encode("utf-16"), "not UTF-8"),
        (
            "a.csv",
            HEADER + ROW + f'bus2,{DATE}T08:00:00Z,47,8,"30\n' + ROW * 3,
            "a quote opened in record 3 does not close",
        ),
        ("a.parquet", b"PAR1 but not really", "not a whole Parquet file"),
        ("a.xlsx", b"PK", "unknown kind of file"),
        ("a.csv", (HEADER + ROW).replace("\n", "\r"), "cannot be read as csv; check its encoding (UTF-8), line ends"),
        ("a.csv", "\n" + HEADER + ROW, "its first line is"),
        ("a.csv", HEADER + ROW.replace("30", "3" * 70_000), "a record is longer than 64 KiB"),
        ("a[1].csv", HEADER + ROW, "cannot be part of a file's path"),
        ("a.csv/b.csv", HEADER + ROW, "is a folder, and dataset.files names files. For those in it write "),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(
    dataset: Dataset, name: str, content: str | bytes, said: str
) -> None:
    path = dataset.folder / "raw" / name
    path.parent.mkdir(parents=True)
    dataset.write(name, content)
    message = refusal(dataset)
    assert said in message
    assert str(path).removesuffix("/b.csv") in message


@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize(
    "content", [(HEADER + ROW).replace("\n", "\r\n").encode("utf-16"), (HEADER + ROW).replace("bus", "b\rus").encode()]
)
def test_files_with_odd_line_ends_are_refused_together_as_one_is(
    dataset: Dataset, content: bytes, has_header: bool
) -> None:
    if not has_header:
        dataset.set(header=HEADER.strip().split(","))
    path = dataset.write("a.csv", content)
    alone = refusal(dataset)
    assert alone == f"{path}: cannot be read as csv; check its encoding (UTF-8), line ends and quotes"
    dataset.write("b.csv", content)
    assert refusal(dataset) == alone


def test_a_file_s_name_that_would_steer_a_terminal_is_refused_without_being_shown(dataset: Dataset) -> None:
    dataset.write("a\x1b[2J.csv", HEADER + ROW)
    message = refusal(dataset)
    assert "control characters cannot be part of a file's path" in message
    assert message.isprintable()


@pytest.mark.parametrize("kind", [pa.float16(), pa.decimal128(5, 2)])
@pytest.mark.parametrize("value", [None, 1])
def test_an_encoding_that_is_read_only_where_every_value_is_null_is_refused_for_any(
    dataset: Dataset, kind: pa.DataType, value: int | None
) -> None:
    columns = {"bus": ["a"], "time": [f"{DATE}T08:00:00Z"], "lat": [47.0], "lon": [8.0]}
    speed = pa.array([value], pa.float32()).cast(kind)
    path = dataset.write("a.parquet", b"")
    pq.write_table(
        pa.table(columns).append_column("speed", speed),
        path,
        use_dictionary=False,
        column_encoding={"speed": "BYTE_STREAM_SPLIT"},
    )
    assert "the encoding BYTE_STREAM_SPLIT, which cannot be read for its type" in refusal(dataset)


def test_a_gzip_file_whose_checksum_is_wrong_is_refused_though_it_unpacks(dataset: Dataset) -> None:
    whole = bytearray(gzip.compress((HEADER + ROW).encode()))
    whole[-8] ^= 1
    dataset.write("a.csv.gz", bytes(whole))
    assert "truncated or damaged" in refusal(dataset)


def test_a_parquet_file_without_a_column_is_refused(dataset: Dataset) -> None:
    path = dataset.write("a.parquet", b"")
    pl.DataFrame({"bus": ["a"]}).write_parquet(path)
    assert 'no column "time" (columns.time); the file has: bus' in refusal(dataset)


def parquet_of(dataset: Dataset, n_rows: int) -> Path:
    path = dataset.write("a.parquet", b"")
    frame = pl.DataFrame({"bus": [f"bus{n}" for n in range(n_rows)], "lat": 47.0, "lon": 8.0, "speed": 1.0})
    frame.with_columns(time=pl.lit(f"{DATE}T08:00:00Z")).write_parquet(path, row_group_size=150_000)
    return path


def test_nothing_of_a_parquet_file_with_a_damaged_page_is_kept(dataset: Dataset) -> None:
    path = parquet_of(dataset, 600_000)
    content = bytearray(path.read_bytes())
    content[len(content) * 3 // 4 : len(content) * 3 // 4 + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    assert "cannot be read as parquet" in refusal(dataset)
    assert dataset.query("select count(*) from raw_record") == [(0,)]


def test_a_disk_that_fails_while_parquet_is_read_is_not_put_down_to_the_file(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet_of(dataset, 3)
    original = warehouse.run

    def run(connection: warehouse.Connection, name: str, *parameters: Any) -> warehouse.Connection:
        if name == "write/raw_record_from_parquet":
            connection.execute("copy (select 1) to '/nowhere/at/all'")
        return original(connection, name, *parameters)

    monkeypatch.setattr(warehouse, "run", run)
    with pytest.raises(TemporaryFailure, match="The disk is full"):
        ingest(dataset)


def test_rows_of_forgotten_days_in_a_parquet_file_are_counted_and_not_kept(dataset: Dataset) -> None:
    parquet_of(dataset, 3)
    ingest(dataset)
    forget_days([DATE], dataset.config)
    ingest_records.fn(DATE + dt.timedelta(days=1), dataset.config)
    assert dataset.query("select count(*) from raw_record") == [(0,)]
    assert dataset.query("select n_rows, n_forgotten from raw_file") == [(3, 3)]


def test_blank_lines_are_no_rows_in_any_format(dataset: Dataset) -> None:
    record = json.dumps({"bus": "a", "time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, "speed": 3})
    other = record.replace('"a"', '"b"')
    dataset.write("a.ndjson", f"{record}\n\n   \n{other}\n\n")
    later = ROW.replace("08:", "09:")
    dataset.write("b.csv", f"{HEADER}\n{ROW}\r\n\n{later}\n\n".replace("\r\n", "\n"))
    ingest(dataset)
    assert dataset.query("select n_rows, n_malformed from raw_file order by name") == [(2, 0), (2, 0)]
