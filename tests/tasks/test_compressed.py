"""Compressed input files are limited while they are decompressed, in every format, and the message names the file."""

import gzip
import random
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from feeds import FEEDS, configure, snapshot
from hostile import MIB, zeros
from reading import ingest, refusal, rows_of
from support import Dataset

from tasks.base.errors import BadInput
from tasks.records.init.looking import look_at
from tasks.records.input_formats import compressed, gtfs_realtime, json_documents, parquet_files, parquet_members
from tasks.records.input_formats.input_format import Given

GOOD = snapshot([("bus1", 1768464000, 11)])
HEADER, ROW = b"bus,time,lat,lon,speed\n", b"a,2026-01-15T12:00:00Z,47.1,8.1,5\n"


@pytest.mark.parametrize(
    ("name", "start", "part", "said"),
    [
        ("a.pb.gz", GOOD, b"\0", "has more than 32 MiB, as no feed of vehicles has; fetch it again"),
        ("a.json.gz", b"[", b"[],", "a JSON document of more than 256 MiB"),
        ("a.csv.gz", HEADER, ROW, "becomes 200 times longer when it is decompressed"),
        ("a.tsv.gz", HEADER, b"\n", "becomes 200 times longer when it is decompressed"),
        ("a.ndjson.gz", b"", b"{}\n", "becomes 200 times longer when it is decompressed"),
        ("a.jsonl.gz", b"", b"\n", "becomes 200 times longer when it is decompressed"),
    ],
)
def test_a_bomb_is_refused_by_its_name(
    name: str, start: bytes, part: bytes, said: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 2 * MIB)
    monkeypatch.setattr(json_documents, "_LARGEST", MIB)
    monkeypatch.setattr(gtfs_realtime, "_LARGEST_FEED", MIB)
    if name == "a.pb.gz":
        configure(dataset, FEEDS["buffalo"][0])
    dataset.set(files=["raw/*.gz"])
    dataset.write(name, zeros(5, start, part))
    message = refusal(dataset)
    assert f"{name}: {said}" in message


def test_a_text_may_be_long_or_well_compressed_but_not_both(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 1 << 16)
    rows = b"".join(ROW.replace(b"47.1", b"47.%d" % (number**7)) for number in range(20_000))
    dataset.set(files=["raw/*.gz"])
    dataset.write("a.csv.gz", gzip.compress(HEADER + rows))
    dataset.write("b.csv.gz", gzip.compress(HEADER + ROW * 1000))
    ingest(dataset)
    assert len(rows_of(dataset)) == 21_000
    dataset.write("c.csv.gz", gzip.compress(HEADER + ROW * 20_000))
    assert "c.csv.gz: becomes 200 times longer" in refusal(dataset)


def parquet(n_rows: int, **long: str) -> pl.DataFrame:
    """Return equal rows; some columns have a long text in the first one."""
    row = {"bus": "b1", "time": "2026-01-15T12:00:00Z", "lat": 47.1, "lon": 8.1, "speed": "5"}
    return pl.DataFrame({name: [long.get(name, one), *[one] * (n_rows - 1)] for name, one in row.items()})


@pytest.mark.quick(2)
@pytest.mark.parametrize("column", ["rows", "bus", "time", "speed"])
def test_a_few_bytes_of_parquet_are_no_gigabytes(
    column: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 2 * MIB)
    bomb = parquet(500_000) if column == "rows" else parquet(3, **{column: "x" * (4 * MIB)})
    bomb.write_parquet(file := dataset.write("a.parquet", b""), compression="zstd", statistics=False)
    assert file.stat().st_size < MIB // 50
    for refused in (refusal(dataset), refused_look(file)):
        assert "a.parquet: becomes 200 times longer when it is decompressed, as no records do" in refused
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 200 * MIB)
    ingest(dataset)


def refused_look(file: Path) -> str:
    with pytest.raises(BadInput) as refused:
        look_at(file, Given())
    return str(refused.value)


def test_nor_are_they_where_the_file_says_less_of_itself(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages are read by the engine alone, within its limit: a page may become more than the footer says."""
    monkeypatch.setattr(parquet_members, "_MEMORY", "16MB")
    monkeypatch.setattr(parquet_files, "_metadata", pq.read_metadata)
    file = dataset.write("a.parquet", b"")
    parquet(3, time="x" * (64 * MIB)).write_parquet(file, compression="zstd", statistics=False)
    assert "a.parquet: cannot be read as parquet" in refusal(dataset)
    with pytest.raises(BadInput, match="cannot be read as parquet"):
        look_at(file, Given()).column("time")


def test_a_damaged_footer_of_parquet_is_said_to_be_one_whatever_the_library_calls_it(dataset: Dataset) -> None:
    parquet(3).write_parquet(file := dataset.write("a.parquet", b""))
    whole, chosen = file.read_bytes(), random.Random(1)
    length, said = int.from_bytes(whole[-8:-4], "little"), []
    for _ in range(40):
        broken = bytearray(whole)
        broken[len(whole) - 9 - chosen.randrange(length)] = chosen.randrange(256)
        file.write_bytes(broken)
        try:
            look_at(file, Given())
        except BadInput as error:
            said.append(str(error))
    assert len(said) > 10
    assert set(said) == {f"{file}: not a whole Parquet file; fetch it again"}
