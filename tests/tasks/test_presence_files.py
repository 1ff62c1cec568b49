"""Files of datasets whose users' presence is secret: what is lost of them is counted, and what is not whole refused."""

import gzip
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from present import CONFIG, made, some_lines, write
from support import DATE, HEADER, Dataset

from dpmath.presence.user_cells import UserCells
from tasks.base.errors import BadInput
from tasks.presence.config import PresenceConfig
from tasks.presence.reading import read_day, report_path
from tasks.records.input_formats import compressed

NAMES = HEADER.strip().split(",")
GOOD = some_lines(3, 8)


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset")


def report(config: PresenceConfig) -> dict[str, int]:
    read_day(DATE, config)
    return json.loads(report_path(DATE, config).read_text())


def text_of(form: str, extra: str = "") -> str:
    """Return good lines, with some text in a member or column that is not read."""
    if form == "csv":
        lines = [f"{HEADER.strip()},stop"] + [",".join((*line, extra)) for line in GOOD]
    else:
        lines = [json.dumps(dict(zip(NAMES, line, strict=True)) | {"stop": extra}, ensure_ascii=False) for line in GOOD]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_lines_that_are_no_text_are_counted(form: str, packed: bool, dataset: tuple[Dataset, PresenceConfig]) -> None:
    """As if names of stops were in Latin-1; a mark of the engine in a line is no end of a field."""
    files, config = dataset
    mark = "" if form == "ndjson" else "\x1f"
    odd = text_of(form, "Zürich").encode("latin-1").splitlines()[form == "csv" :]
    content = text_of(form, mark).encode() + b"\r\n\n".join(odd) + b"\n" + b"z" * 3_000_000
    files.write(f"{DATE}.{form}" + ".gz" * packed, gzip.compress(content) if packed else content)
    assert report(config) | {"outside_area": 0} == {
        "ids_alike": 0,
        "kept": len(GOOD),
        "malformed": len(GOOD) + 1,
        "outside_area": 0,
        "users": 8,
    }


MARK = b"\xef\xbb\xbf"
ENDS = (b"\n", b"\r\n", b"\r", b"\r\r\n", b"\n\r", b"\r\n\r")
FIRST = (b"", b"\n", b"\r", b"\r\n\r", MARK, *(b"first" + end for end in ENDS), MARK + b"first\r\n")


@pytest.mark.parametrize("form", ["csv", "csv without a header", "ndjson"])
def test_what_the_first_line_is_decides_on_no_other(form: str, tmp_path: Path) -> None:
    """Neither how it ends, nor that it is the one from which the engine takes a byte order mark, as others have too."""
    declared = f"[dataset]\nheader = {json.dumps(NAMES)}" if form == "csv without a header" else "[dataset]"
    files, config = made(tmp_path / "dataset", CONFIG.replace("[dataset]", declared))
    if form == "ndjson":
        lines = [json.dumps(dict(zip(NAMES, line, strict=True))).encode() for line in GOOD]
    else:
        lines = [
            ",".join((f'"{line[0]}"' if number % 2 else line[0], *line[1:])).encode()
            for number, line in enumerate(GOOD)
        ]
    starts = (b"", MARK, b"", MARK * 2, b"")
    rest = b"".join(starts[number % len(starts)] + line + ENDS[number % len(ENDS)] for number, line in enumerate(lines))
    days = []
    for first in FIRST:
        before = [HEADER.encode(), HEADER.replace("\n", "\r\n").encode()] if form == "csv" else [b""]
        for header in before:
            files.write(f"{DATE}.{form.split(maxsplit=1)[0]}", header + first + rest)
            days.append(by_user(read_day(DATE, config)))
    assert sum(n_records for cells in days[0] for _, n_records, _ in cells) > 0
    assert all(one == days[0] for one in days)
    assert report(config)["kept"] == len(GOOD)


def by_user(day: UserCells) -> list[list[tuple[int, int, int]]]:
    found: dict[int, list[tuple[int, int, int]]] = {}
    for user, cell, n_records, total in zip(day.user, day.cell, day.n_records, day.total, strict=True):
        found.setdefault(int(user), []).append((int(cell), int(n_records), int(total)))
    return sorted(found.values())


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_file_that_is_cut_or_damaged_is_refused(
    form: str, packing: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    """The engine takes what is left for a whole file, if that is much."""
    files, config = dataset
    noise = random.Random(1).randbytes(1 << 20).hex()
    rest = [f'"{noise[start : start + 1000]}"\n' for start in range(0, len(noise), 1000)]
    content = (text_of(form) + "".join(rest)).encode()
    whole = pa.compress(content, "zstd", asbytes=True) if packing == "zst" else gzip.compress(content)
    name = f"{DATE}.{form}.{packing}"
    files.write(name, whole)
    assert report(config)["kept"] == len(GOOD)
    parts = [whole[:-1], whole[:-100_000], whole[: len(whole) // 2], whole + whole[:-100_000]]
    if packing == "gz":
        parts.append(whole[:-8] + bytes(4) + whole[-4:])  # not the sum that it says it has
    for part in parts:
        files.write(name, part)
        with pytest.raises(BadInput, match="is damaged") as caught:
            read_day(DATE, config)
        assert "raw" not in str(caught.value)


def test_a_file_that_becomes_much_longer_is_read(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How well it is compressed depends on who says the same again and again."""
    files, config = dataset
    monkeypatch.setattr(compressed, "_LARGEST_IN_ANY_CASE", 1 << 16)
    line = ",".join(GOOD[0]).encode() + b"\n"
    packed = gzip.compress(HEADER.encode() + line * 60_000, 9)
    assert max(1 << 16, len(packed) * 200) < 60_000 * len(line)
    files.write(f"{DATE}.csv.gz", packed)
    assert report(config)["kept"] == 1


def test_an_archive_that_does_not_say_its_format_is_refused_in_words(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    path = files.write(f"{DATE}.zip", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("records.json", json.dumps([dict(zip(NAMES, line, strict=True)) for line in GOOD]))
    with pytest.raises(BadInput, match=r"set dataset\.format"):
        read_day(DATE, config)
    files, config = made(files.folder, CONFIG.replace("[dataset]", '[dataset]\nformat = "json"'))
    assert report(config)["kept"] == len(GOOD)


def test_an_empty_csv_file_is_refused_in_words(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    files.write(f"{DATE}.csv", b"")
    with pytest.raises(BadInput, match=r"first line of a file is empty: it must be the header"):
        read_day(DATE, config)
    files.write(f"{DATE}.csv", HEADER)
    assert read_day(DATE, config).n_users == 0


def test_ids_that_may_be_of_one_person_are_counted(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, [(id_, *GOOD[0][1:]) for id_ in ("A7", "a7", "a007", "b-1", "b-10", "b-100", "12", "012", "C")])
    assert report(config)["ids_alike"] == 5


def parquet(files: Dataset, **changes: Any) -> Path:
    columns = dict(zip(NAMES, zip(*GOOD, strict=True), strict=True))
    path = files.write(f"{DATE}.parquet", b"")
    pq.write_table(pa.table({name: changes.get(name, list(one)) for name, one in columns.items()}), path)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_parquet_column_in_which_nobody_has_anything_is_one_without_a_type(
    name: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    """So whether somebody has decides about no refusal."""
    files, config = dataset
    parquet(files, **{name: pa.nulls(len(GOOD))})
    reasons = {"bus": "no_user", "time": "time_unreadable", "speed": "no_value"}
    assert report(config)[reasons.get(name, "place_unreadable")] == len(GOOD)


def test_a_parquet_file_without_rows_has_no_types(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    empty = pa.table({name: pa.nulls(0) for name in NAMES})
    pq.write_table(empty, files.write(f"{DATE}-0.parquet", b""))
    assert read_day(DATE, config).n_users == 0
    parquet(files)
    pq.write_table(empty, files.write(f"{DATE}-9.parquet", b""))
    assert report(config)["kept"] == len(GOOD)


def test_half_precision_is_read(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    parquet(files, speed=np.arange(len(GOOD), dtype=np.float16))
    assert report(config)["kept"] == len(GOOD)
