"""JSON documents where presence is secret: a record is read by itself, whatever others hold, in bounded memory."""

import gzip
import io
import json
import random
import tarfile
import tracemalloc
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pytest
from present import AREA, CONFIG, NESTED, SPEEDS_IN_JSON, document, made
from present import ODD_RECORDS as ODD
from support import DATE, Dataset

from dpmath.presence.user_cells import UserCells
from tasks.base.errors import BadInput
from tasks.presence import json_rows
from tasks.presence.config import PresenceConfig
from tasks.presence.reading import read_day, report_path

LATITUDE, LONGITUDE = h3.cell_to_latlng(AREA[0])


def record(user: Any, minute: int = 0, speed: Any = 50) -> dict[str, Any]:
    place = {"lat": LATITUDE, "lng": LONGITUDE, "speed": speed}
    return {"device_id": user, "time": f"{DATE}T08:{minute:02}:00Z", "location": place}


GOOD = [json.dumps(record(f"u{n % 7}", n, n), indent=n % 3 or None) for n in range(40)]


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset", NESTED)


def as_rows(day: UserCells) -> list[tuple[int, int, int, int]]:
    return sorted(zip(day.user, day.cell, day.n_records, day.total, strict=True))


def texts(content: bytes, at: str | None, tmp_path: Path) -> list[str]:
    _, config = made(
        tmp_path / "texts", NESTED.replace('records = "data.telemetry"', f'records = "{at}"' if at else "")
    )
    path = tmp_path / "texts" / "some.json"
    path.write_bytes(content)
    return json_rows.JsonRows([path], config).reader().read_all()["line"].to_pylist()


def test_records_are_those_that_python_finds(tmp_path: Path) -> None:
    lists: dict[str | None, Any] = {
        None: [record(1), [2, {"a": "]"}], "x", None, 4.5],
        "a.b": {"a": {"c": [0], "b": [record(1), "\\", '"', "[{,:"]}, "b": [7]},
        "a[1].b": {"a": [{"b": [0]}, {"b": [record("ü"), {}]}]},
        "a[*].b": {"a": [{"b": [1, 2]}, 5, {"b": "none"}, {"b": []}, {"b": [3]}]},
        "[*].b": [{"b": [1]}, {"c": [2]}, {"b": [{"b": [3]}]}],
        "[*]": [[1, 2], 3, [[4]]],
    }
    for at, whole in lists.items():
        found = [json.loads(one) for one in texts(json.dumps(whole).encode(), at, tmp_path) if one.strip()]
        assert found == _records(whole, at)


def _records(whole: Any, at: str | None) -> list[Any]:
    from tasks.records.input_formats.json_paths import records_of

    return records_of(whole, at) or []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_where_a_part_of_a_document_ends_does_not_matter(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"\xef\xbb\xbf" * (size > 2) + document([one for one in GOOD[:3] + ODD if len(one) < 500]).encode()
    whole = texts(content, "data.telemetry", tmp_path)
    monkeypatch.setattr(json_rows, "_CHUNK", size)
    assert texts(content, "data.telemetry", tmp_path) == whole
    assert len(whole) > 20


def test_no_record_alters_how_others_are_read(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", document(GOOD))
    expected = as_rows(read_day(DATE, config))
    assert len({user for user, *_ in expected}) == 7
    mixed = [one for pair in zip(GOOD, ODD, strict=False) for one in pair] + GOOD[len(ODD) :]
    files.write(f"{DATE}.json", document([*ODD, *mixed, *ODD]))
    assert as_rows(read_day(DATE, config)) == expected


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_each_odd_record_is_one_record(odd: str, tmp_path: Path) -> None:
    found = texts(document([odd, *GOOD[:2], odd]).encode(), "data.telemetry", tmp_path)
    assert [one.strip() for one in found] == [
        odd.strip() if len(odd) <= 1 << 16 else "null",
        *GOOD[:2],
        found[0].strip(),
    ]


def test_bytes_that_are_no_text_take_no_other_record_along(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", document(GOOD))
    expected = as_rows(read_day(DATE, config))
    mixed = document([*GOOD[:9], '{"device_id": "ÿþ"}', *GOOD[9:]]).encode("latin-1")
    files.write(f"{DATE}.json", mixed)
    assert as_rows(read_day(DATE, config)) == expected


@pytest.mark.parametrize(
    "whole",
    [
        '{"version": "2.0.0", "data": {"telemetry": []}}',
        '{"version": "2.0.0", "data": {"telemetry": null}}',
        '{"version": "2.0.0", "data": {}}',
        '{"version": "2.0.0", "data": []}',
        '{"version": "2.0.0"}',
        "{}",
        "[]",
        " null ",
        '{"data": {"telemetry": {"a": [1, 2]}}}',
    ],
)
def test_a_list_that_is_empty_or_absent_is_a_day_as_any_other(
    whole: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", whole)
    assert read_day(DATE, config).n_users == 0
    report = json.loads(report_path(DATE, config).read_text())
    assert report["lists"] == whole.count('"telemetry": []')


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "  \n",
        "no JSON",
        '"text"',
        "user,time\n1,2\n",
        document(GOOD)[:-4],
        document(GOOD)[:900],
        document(GOOD) + "}",
        document(GOOD) + "more",
        document(GOOD) + ",",
        "x" + document(GOOD),
        document(['{"device_id": "open}']),
        document(['{"device_id": [1}']),
        '<html lang="de">{}</html>',
    ],
)
def test_a_document_that_is_not_whole_is_refused_in_words_of_nobody(
    broken: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", broken)
    with pytest.raises(BadInput) as refused:
        read_day(DATE, config)
    assert str(refused.value) == (
        f"a file for {DATE} of dataset.files is damaged, or no json in UTF-8: mend or replace it; if it is neither, "
        "storage.memory_limit is too small"
    )


def test_pages_one_after_another_are_read(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", document(GOOD))
    expected = as_rows(read_day(DATE, config))
    files.write(f"{DATE}.json", document(GOOD[:13]) + document(GOOD[13:]))
    assert as_rows(read_day(DATE, config)) == expected


@pytest.mark.parametrize("ending", [".json.gz", ".json.zst", ".json.tar", ".json.tar.gz", ".json.tar.zst", ".json.zip"])
def test_packed_documents_are_read(ending: str, dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    files.write(f"{DATE}.json", document(GOOD))
    expected = as_rows(read_day(DATE, config))
    (files.folder / "raw" / f"{DATE}.json").unlink()
    files.write(f"{DATE}{ending}", packed([document(GOOD[:11]), document([*GOOD[11:], *GOOD[:2]])], ending))
    assert as_rows(read_day(DATE, config)) == expected
    whole = packed([document(GOOD)], ending)
    files.write(f"{DATE}{ending}", whole[: min(700, len(whole) // 3)])
    with pytest.raises(BadInput, match="is damaged") as refused:
        read_day(DATE, config)
    assert ending not in str(refused.value)


def packed(documents: list[str], ending: str) -> bytes:
    contents, to = [one.encode() for one in documents], io.BytesIO()
    whole = b"".join(contents)
    if ending.endswith("zip"):
        with zipfile.ZipFile(to, "w") as archive:
            archive.writestr("about.txt", "no document")
            for n, one in enumerate(contents):
                archive.writestr(f"{n}.json", one)
    elif "tar" in ending:
        with tarfile.open(fileobj=to, mode="w") as archive:
            for n, one in enumerate(contents):
                entry = tarfile.TarInfo(f"{n:02}.json.gz")
                entry.size = len(content := gzip.compress(one))
                archive.addfile(entry, io.BytesIO(content))
    whole = to.getvalue() or whole
    codec = {"gz": "gzip", "zst": "zstd"}.get(ending.rpartition(".")[2])
    if codec is None:
        return whole
    into = pa.BufferOutputStream()
    with pa.CompressedOutputStream(into, codec) as stream:
        stream.write(whole)
    return into.getvalue().to_pybytes()


def test_however_much_one_user_repeats_nothing_is_refused_and_memory_is_bounded(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of other files has limits, so that one user's zeros would stop the day."""
    from tasks.records.input_formats import compressed

    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 1 << 16)
    files, config = dataset
    files.write(f"{DATE}.json.gz", packed([document(GOOD + [GOOD[0], " " * 2_000_000] * 4)], ".json.gz"))
    tracemalloc.start()
    day = read_day(DATE, config)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert day.n_users == 7
    assert most < 80 << 20


def test_only_json_documents_are_in_archives_and_have_records(tmp_path: Path) -> None:
    files, config = made(tmp_path / "one", NESTED)
    files.write(f"{DATE}.ndjson", "{}")
    with pytest.raises(BadInput, match="only JSON documents"):
        read_day(DATE, config)
    files, config = made(tmp_path / "two", CONFIG)
    files.write(f"{DATE}.csv.tar", "{}")
    with pytest.raises(BadInput, match="only JSON documents"):
        read_day(DATE, config)


def test_records_that_are_lists_have_columns_by_position(tmp_path: Path) -> None:
    text = CONFIG.replace('"bus"', '"[0]"').replace('"time"', '"[1]"').replace('"lat"', '"[2][0]"')
    files, config = made(
        tmp_path / "dataset", text.replace('"lon"', '"[2][1]"').replace('= "speed"\n[v', '= "[3]"\n[v')
    )
    rows = [[f"u{n}", f"{DATE}T08:00:00Z", [LATITUDE, LONGITUDE], n] for n in range(5)]
    files.write(f"{DATE}.json", json.dumps([*rows, {"bus": 1}, [], "x"]))
    assert read_day(DATE, config).n_users == 5


def test_documents_of_random_marks_are_split_as_a_careful_reader_splits_them(tmp_path: Path) -> None:
    rng = random.Random(1)
    parts = ['"a"', '"\\""', '"\\\\"', '"[{,:"', "1", "{}", "[1,2]", '{"a":[1]}', "null", '{"a":"\\\\\\"}"}', " "]
    for _ in range(50):
        records = [rng.choice(parts) for _ in range(rng.randrange(30))]
        found = texts(document(records).encode(), "data.telemetry", tmp_path)
        assert [one.strip() for one in found] == [one.strip() for one in records] or (found, records) == ([" "], [])


def test_nothing_is_held_of_what_is_beside_the_list(tmp_path: Path) -> None:
    beside = json.dumps({"users": [{"id": n, "rides": [1] * 20} for n in range(20_000)], "text": "x" * 3_000_000})
    content = f'{beside[:-1]}, "data": {{"telemetry": [{GOOD[0]}]}}}}'.encode()
    assert np.array_equal(texts(content, "data.telemetry", tmp_path), [GOOD[0]])


POINTS = NESTED.replace('latitude = "location.lat"\nlongitude = "location.lng"', 'geometry = "location"')
POINTS = POINTS.replace('value = "location.speed"', 'value = "speed"')
PARTS = (
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\x00",
    "1e999",
    "\\u0000",
    "\\ud800",
    "null",
    "NaN",
    "//",
    "'",
    "\n",
    "9" * 400,
)


@pytest.mark.parametrize("text", [NESTED, POINTS, SPEEDS_IN_JSON], ids=["positions", "points", "speeds"])
def test_of_thousands_of_changed_records_none_alters_others(text: str, tmp_path: Path) -> None:
    """Of those that still close; what does not is no document."""
    files, config = made(tmp_path, text)
    rng, changed = random.Random(5), list[str]()
    good = [one.replace('"lat"', '"coordinates": [8.31, 47.05], "type": "Point", "speed": 1, "lat"') for one in GOOD]
    files.write(f"{DATE}.json", document(good))
    expected = users(read_day(DATE, config))
    while len(changed) < 2_000:
        record = rng.choice(good).replace('"u', '"other')
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(record))
            record = record[:at] + rng.choice(PARTS) + record[at + rng.choice([0, 0, 1, 3]) :]
        if closes(record):
            changed.append(record)
    mixed = good + changed
    rng.shuffle(mixed)
    files.write(f"{DATE}.json", document(mixed))
    assert not expected - users(read_day(DATE, config))


def users(day: UserCells) -> Counter[tuple[tuple[int, int, int], ...]]:
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for user, *cell in as_rows(day):
        found[user].append((cell[0], cell[1], cell[2]))
    return Counter(map(tuple, found.values()))


def closes(record: str) -> bool:
    """Return whether the texts and brackets of a record close, and no comma is outside, one character at a time."""
    depth, is_text, is_escaped = 0, False, False
    for mark in record:
        if mark == '"' and not is_escaped:
            is_text = not is_text
        is_escaped = mark == "\\" and not is_escaped
        if not is_text:
            depth += (mark in "[{") - (mark in "]}")
            if depth < 0 or (depth == 0 and mark == ","):
                return False
    return depth == 0 and not is_text and not is_escaped
