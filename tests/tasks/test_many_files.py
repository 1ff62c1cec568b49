"""Small files that are read at once, and archives of them, hold the same rows as each file read by itself."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from feeds import FEEDS, configure, snapshot
from reading import ROW, ingest, refusal, rows_of
from support import DATE, ENGINES, HEADER, Dataset, slow

from tasks.base.errors import BadInput
from tasks.engines.prepare import by_itself, prepare_day
from tasks.records.init.looking import looked_at_first
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats import compressed
from tasks.records.input_formats.input_format import Given
from tasks.records.read import ingest as ingesting
from tasks.records.recorder.packing import pack_hours

NOON = 1768478400
PLAIN = [f"bus{n},{DATE}T0{n}:00:00Z,47.0{n},8.3,{n}\n" for n in range(9)]
CSV: dict[str, bytes] = {
    **{f"{n}.csv": (HEADER + row + row).encode() for n, row in enumerate(PLAIN)},
    "bom.csv": b"\xef\xbb\xbf" + (HEADER + ROW).encode(),
    "blank.csv": (HEADER + "\n" + ROW + "\n\n" + ROW + "short\n" + ROW).encode(),
    "crlf.csv": (HEADER + ROW).replace("\n", "\r\n").encode(),
    "empty.csv": HEADER.encode(),
    "epoch.csv": (HEADER + f"bus1,{NOON},47.1,8.3,30\n").encode(),
    "lines.csv": (HEADER + f'bus1,{DATE}T08:00:00Z,47.1,8.3,"3\n0"\n' + ROW).encode(),
    "millis.csv": (HEADER + f"bus1,{NOON}000,47.1,8.3,30\n").encode(),
    "odd.csv": (HEADER + f'bus1,{DATE}T08:00:00Z,47.1,8.3,3"0\n' + ROW).encode(),
    "other.csv": ("lat,lon,bus,time,speed,note\n" + f"47.1,8.3,bus7,{DATE}T08:00:00Z,1,x\n").encode(),
    "quoted.csv": (HEADER + ROW.replace("bus1", '"bus, 1"') + "too,few\n" + ROW).encode(),
    "unended.csv": (HEADER + ROW.rstrip("\n")).encode(),
}


def record_of(n: int, **more: object) -> dict[str, object]:
    return {"bus": f"bus{n}", "time": f"{DATE}T08:0{n}:00Z", "lat": 47.1, "lon": 8.3, "speed": n, **more}


NDJSON = {
    **{f"{n}.ndjson": (json.dumps(record_of(n)) + "\n").encode() * 2 for n in range(5)},
    "dirt.ndjson": b'\n{"bus": \n' + json.dumps(record_of(5)).encode(),
    "epoch.ndjson": json.dumps(record_of(1, time=NOON)).encode(),
}
JSON = {
    **{f"{n}.json": json.dumps([record_of(n), record_of(n + 1)], indent=1).encode() for n in range(5)},
    "empty.json": b"[]",
    "dirt.json": b"[" + json.dumps(record_of(3)).encode() + b", 7, {}]",
    "epoch.json": json.dumps([record_of(1, time=NOON * 1000)]).encode(),
}
KINDS = {"csv": CSV, "ndjson": NDJSON, "json": JSON}


def tar_of(files: dict[str, bytes], mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(f"day/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"day/{name}", content)
    return packed.getvalue()


ARCHIVES: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": lambda files: tar_of(files, "w"),
    "tar.gz": lambda files: tar_of(files, "w:gz"),
    "tgz": lambda files: tar_of(files, "w:gz"),
    "tar.zst": lambda files: pa.compress(tar_of(files, "w"), codec="zstd", asbytes=True),
    "zip": zip_of,
}


def read_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingesting, "_LARGEST_BATCH", 0)


def held(dataset: Dataset) -> list[list[tuple[object, ...]]]:
    """Return all that is held of the files, without the ids of files."""
    return [
        dataset.query(f"select {what} order by all")
        for what in (
            "name, row_number, local_date, user_id, epoch(observed_at), latitude, value from raw_record "
            "join raw_file using (file_id)",
            "name, line_number is null, quarantine.local_date, reason from quarantine join raw_file using (file_id)",
            "name, file_date, n_rows, n_malformed, n_undated, n_forgotten from raw_file",
        )
    ]


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_small_files_read_at_once_hold_what_each_holds_alone(
    kind: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in KINDS[kind].items():
        dataset.write(name, content)
    dataset.set(files=[f"raw/*.{kind}"])
    ingest(dataset)
    at_once = held(dataset)
    read_each_alone(monkeypatch)
    dataset.set(path="store-alone")
    ingest(dataset)
    assert at_once == held(dataset)
    assert len(at_once[2]) == len(KINDS[kind])


@pytest.mark.slow
def test_snapshots_read_at_once_hold_what_each_holds_alone(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(dataset, FEEDS["buffalo"][0])
    for number in range(12):
        content = snapshot([(f"bus{bus}", NOON + number, bus) for bus in range(number + 1)])
        dataset.write(f"{number:02}.pb", content)
    ingest(dataset)
    at_once = held(dataset)
    assert len(at_once[0]) == sum(range(13))
    read_each_alone(monkeypatch)
    dataset.set(path="store-alone")
    ingest(dataset)
    assert at_once == held(dataset)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("kind", "archive"),
    [
        *(slow("csv", archive) if archive in ("tar", "tgz") else ("csv", archive) for archive in ARCHIVES),
        ("ndjson", "tar.gz"),
        ("json", "zip"),
    ],
)
def test_an_archive_holds_the_rows_of_its_files(kind: str, archive: str, dataset: Dataset) -> None:
    extra = {"README": b"no records", ".hidden.csv": b"none", "_cabs.csv": b"none", "sub/notes.md": b"none"}
    for name, content in KINDS[kind].items():
        dataset.write(name, content)
    dataset.set(files=[f"raw/*.{kind}"])
    ingest(dataset)
    rows = rows_of(dataset)
    dataset.write(f"day.{archive}", ARCHIVES[archive](KINDS[kind] | extra))
    dataset.set(files=[f"raw/day.{archive}"], path="store-archive")
    ingest(dataset)
    assert rows_of(dataset) == rows
    numbers = "select count(*), count(distinct row_number), count(distinct file_id) from raw_record"
    assert dataset.query(numbers) == [(len(rows), len(rows), 1)]
    assert list(dataset.config.storage_path.glob("private/unpacked*")) == []


def test_the_users_of_an_archive_of_a_file_each_are_the_names_of_its_files(dataset: Dataset) -> None:
    dataset.edit('user = "bus"', 'user = "{file}"')
    files = {f"cab{n}.csv": (HEADER + ROW + ROW).encode() for n in range(3)}
    dataset.write("day.zip", zip_of(files))
    for name, content in files.items():
        dataset.write(name, content)
    for pattern in ("raw/*.zip", "raw/*.csv"):
        dataset.set(files=[pattern], path=f"store-{pattern[-3:]}")
        ingest(dataset)
        assert dataset.query("select user_id, count(*) from raw_record group by all order by all") == [
            ("cab0", 2),
            ("cab1", 2),
            ("cab2", 2),
        ]


def test_a_bad_file_among_many_is_named_and_those_before_it_are_kept(dataset: Dataset) -> None:
    for number in range(8):
        dataset.write(f"{number}.csv", HEADER + ROW)
    dataset.write("5.csv", HEADER + 'bus1,"never closed\n' + ROW)
    assert "5.csv: a quote opened in record 2 does not close" in refusal(dataset)
    assert dataset.query("select count(*) from raw_file") == [(5,)]


@pytest.mark.parametrize("engine", ENGINES, ids=["local", "shards"])
def test_a_bad_file_in_an_archive_is_named_by_the_archive(dataset: Dataset) -> None:
    dataset.write("day.zip", zip_of({"a.csv": (HEADER + ROW).encode(), "b.csv": b"bus,time\n1,2\n"}))
    dataset.set(files=["raw/*.zip"])
    with pytest.raises(BadInput) as refused:
        prepare_day(DATE, dataset.config, by_itself)
    assert str(refused.value).startswith(f"{dataset.folder}/raw/day.zip/day/b.csv: ")
    assert "private" not in str(refused.value)
    assert dataset.query("select count(*) from raw_file") == [(0,)]


@pytest.mark.parametrize("archive", [one for one in ARCHIVES if one != "tar"])
def test_a_bomb_in_an_archive_is_refused_by_its_name(
    archive: str, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 1 << 20)
    content = (HEADER + ROW * 100_000).encode()
    dataset.write(f"day.{archive}", ARCHIVES[archive]({"a.csv": content, "b.csv": b"\n" * (1 << 24)}))
    dataset.set(files=[f"raw/*.{archive}"])
    assert f"day.{archive}: becomes 200 times longer" in refusal(dataset)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_cut_archive_is_refused_by_its_name(archive: str, dataset: Dataset) -> None:
    whole = ARCHIVES[archive](CSV)
    dataset.write(f"day.{archive}", whole[: len(whole) // 2])
    dataset.set(files=[f"raw/*.{archive}"])
    assert f"day.{archive}: " in refusal(dataset)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.zst", (HEADER + ROW).encode()),
        ("a.tsv.zst", (HEADER + ROW).replace(",", "\t").encode()),
        ("a.ndjson.zst", NDJSON["1.ndjson"]),
        ("a.json.zst", JSON["1.json"]),
    ],
)
def test_every_text_may_be_packed_with_zstd(name: str, content: bytes, dataset: Dataset) -> None:
    if ".tsv" in name:
        dataset.edit("[columns]", 'delimiter = "\\t"\n[columns]')
    half = len(content) // 2
    packed = [pa.compress(one, codec="zstd", asbytes=True) for one in (content[:half], content[half:])]
    dataset.write(name, b"".join(packed))
    dataset.set(files=["raw/*.zst"])
    ingest(dataset)
    rows = rows_of(dataset)
    dataset.write(name.removesuffix(".zst") + ".gz", gzip.compress(content))
    dataset.set(files=["raw/*.gz"], path="store-gz")
    ingest(dataset)
    assert rows == rows_of(dataset)
    assert rows
    dataset.write(name, packed[0][:-3])
    dataset.set(files=["raw/*.zst"], path="store-cut")
    assert f"{name}: the zstd file is truncated or damaged" in refusal(dataset)


def test_a_recorder_packs_the_hours_that_are_over_and_a_day_reads_the_packs(dataset: Dataset) -> None:
    configure(dataset, FEEDS["buffalo"][0])
    dataset.set(files=["raw/{date}/*.pb"])
    day = dataset.folder / "raw" / str(DATE)
    day.mkdir(parents=True)
    path = day
    for minute in range(0, 180, 20):
        at = NOON + 60 * minute
        path = day / f"{DATE}T{12 + minute // 60:02}-{minute % 60:02}-00.000000Z.pb"
        path.write_bytes(snapshot([("bus1", at, 11), ("bus2", at, 12)]))
    ingest(dataset)
    rows = rows_of(dataset)
    assert pack_hours(path) == 2
    assert sorted(one.name for one in day.iterdir()) == [
        f"{DATE}T12.pb.tar.zst",
        f"{DATE}T13.pb.tar.zst",
        *(f"{DATE}T14-{minute}-00.000000Z.pb" for minute in ("00", "20", "40")),
    ]
    dataset.set(path="store-packed")
    ingest(dataset)
    assert rows_of(dataset) == rows
    (day / f"{DATE}T12-40-00.000000Z.pb").write_bytes(b"left by a kill")
    assert pack_hours(path) == 1
    with pa.CompressedInputStream(str(day / f"{DATE}T12.pb.tar.zst"), "zstd") as packed:
        content = io.BytesIO(packed.read())
    with tarfile.open(fileobj=content) as archive:
        names = archive.getnames()
    assert sorted(names) == [f"{DATE}T12-{minute}-00.000000Z.pb" for minute in ("00", "20", "40")]


@pytest.mark.slow
def test_init_looks_at_files_all_over_a_source_and_into_archives(dataset: Dataset) -> None:
    files = {f"{number:03}.csv": (HEADER + ROW + ROW).encode() for number in range(60)}
    paths = [dataset.write(name, content) for name, content in files.items()]
    assert [int(path.stem) for path in looked_at_first(paths)[:20]] == list(range(0, 60, 3))
    proposal = propose_source(paths, dataset.folder, Given())
    assert "20 of 60 files are looked at, evenly spread" in proposal.reasons
    assert proposal.settings["dataset"]["files"] == ["raw/*.csv"]
    archive = dataset.write("day.tar.gz", tar_of(files, "w:gz"))
    proposal = propose_source([archive], dataset.folder, Given())
    assert "1 of 1 files are looked at, evenly spread, and 20 files in the first" in proposal.reasons
    assert proposal.settings["dataset"]["files"] == ["raw/day.tar.gz"]
    assert proposal.date == DATE
    with pytest.raises(BadInput, match=r"day.zip: has no file of records"):
        propose_source([dataset.write("day.zip", zip_of({"a.doc": b"1"}))], dataset.folder, Given())


def test_init_names_the_packs_of_a_recorder_by_the_snapshots_in_them(dataset: Dataset) -> None:
    day = dataset.folder / "raw" / str(DATE)
    day.mkdir(parents=True)
    for name in (f"{DATE}T12-00-00.000000Z.csv", f"{DATE}T13-00-00.000000Z.csv"):
        (day / name).write_text(HEADER + ROW)
    pack_hours(Path(day / name))
    proposal = propose_source(sorted(day.iterdir()), dataset.folder, Given())
    assert proposal.settings["dataset"]["files"] == ["raw/{date}/*.csv"]
